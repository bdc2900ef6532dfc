//! Converts a value tree to typed options, with errors about position and expected value.

use super::elsewhere::elsewhere;
use super::reader::{Reader, Step, What};
use super::tree::{join, Tree};
use crate::error::ConfigError;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads `value`, at `base` in `tree`.
pub fn typed<T: DeserializeOwned>(tree: &Tree, base: &str, value: &Value) -> Result<T, ConfigError> {
    T::deserialize(Reader(value)).map_err(|mut wrong| {
        // The steps are in order from the inside out.
        wrong.steps.reverse();
        let path = wrong.steps.iter().fold(base.to_owned(), |path, step| match step {
            Step::Key(key) => join(&path, key),
            Step::Index(at) => format!("{path}[{at}]"),
        });
        let given = wrong.steps.iter().try_fold(value, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Index(at) => value.get(at),
        });
        let given = given.unwrap_or(&Value::Null);
        let elsewhere = match &wrong.what {
            What::Unknown { expected } => elsewhere::<T>(base, &path, expected, given),
            _ => Vec::new(),
        };
        let (part, message) = wrong.what.message(&path, &elsewhere);
        tree.error(&path, part, message)
    })
}
