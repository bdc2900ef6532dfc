//! Error for invalid device options.

/// An invalid value. The sentence names the key, the given value and the allowed range.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{key} = {value} cannot work: {allowed}")]
pub struct ConfigError {
    /// The key at fault.
    pub key: &'static str,
    /// The given value.
    pub value: String,
    /// The allowed values.
    pub allowed: String,
}
