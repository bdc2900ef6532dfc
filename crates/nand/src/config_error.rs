//! What options of a device are refused with.

/// A value that a device cannot have. The sentence names the key, what was given and what is allowed.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{key} = {value} cannot work: {allowed}")]
pub struct ConfigError {
    /// The key at fault.
    pub key: &'static str,
    /// What was given.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}
