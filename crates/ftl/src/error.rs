use nandlab_nand::NandError;

/// Why an FTL cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FtlError {
    /// The options do not fit the device; the sentence names the key, the value and what is allowed.
    #[error("{0}")]
    Config(String),
    /// Bad blocks have used up the spare ones; data can still be read.
    #[error("{good} good blocks are left and {needed} are needed to take a write")]
    WornOut {
        /// Blocks that still work.
        good: u32,
        /// Blocks that the FTL needs for what it exports.
        needed: u32,
    },
    /// Flash answered with an error that the FTL cannot mend.
    #[error(transparent)]
    Nand(#[from] NandError),
}
