//! The papers that come with the program: their claims as data.

use crate::bundled::{bundled, Bundled};
use crate::config::tree::Tree;
use crate::config::Format;
use crate::error::ConfigError;

/// Every bundled paper, by its name in `nandlab reproduce`.
pub const LIST: &[Bundled] = bundled! { "papers":
    "btree",
    "drives",
    "fdp",
    "lsm",
    "migration",
    "minv",
    "placement",
    "sector-map",
    "theory",
    "wap-lru",
    "zones",
};

/// Searches of the papers, by the same names: measurements of `nandlab reproduce PAPER --search`.
pub const SEARCHES: &[Bundled] = bundled! { "papers/search", ".csv":
    "btree",
    "fdp",
    "lsm",
    "migration",
    "minv",
    "sector-map",
    "wap-lru",
};

/// A TOML text as JSON: `tree` holds the values, `lines` gives the line of each key.
///
/// `source` names the text in errors. Keys are written `claims[3].published`.
///
/// # Errors
/// The text is not TOML, or holds a date or a number without a JSON form.
pub fn toml_to_json(text: &str, source: &str) -> Result<String, ConfigError> {
    let tree = Tree::parse(text, Format::Toml, source)?;
    Ok(serde_json::json!({ "tree": tree.root, "lines": tree.lines() }).to_string())
}
