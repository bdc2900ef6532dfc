//! Options and figures as JSON.
//!
//! A value comes from text, although serde could build one: serde would be compiled once more for every type.

use serde::Serialize;
use serde_json::Value;

/// The text. Keys are text; a number that is not finite becomes `null`.
pub fn text(of: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(of).expect("options and figures have text keys")
}

/// The value tree.
pub fn value(of: &impl Serialize) -> Value {
    serde_json::from_str(&text(of)).expect("the text is JSON")
}
