//! Answers of a chip other than success.

use crate::nand::NandError;

/// A failure in a correct firmware, or a rule broken by a wrong one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChipError {
    /// Can hit a correct firmware.
    #[error(transparent)]
    Nand(#[from] NandError),
    /// The firmware issued a command that the chip forbids. The flash is unchanged.
    #[error("{0}")]
    Rule(String),
}

impl ChipError {
    pub(super) fn rule(sentence: impl Into<String>) -> Self {
        Self::Rule(sentence.into())
    }
}
