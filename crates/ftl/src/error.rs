use nandlab_nand::NandError;

/// Why an FTL cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FtlError {
    /// The options do not fit the device; the sentence names the key, the value and what is allowed.
    #[error("{0}")]
    Config(String),
    /// Bad blocks have used up the spare ones; data can still be read.
    #[error("{} left and at least {needed} are needed to take a write", good_blocks(*good))]
    WornOut {
        /// Blocks of the device that still work.
        good: u32,
        /// Blocks of the device that the FTL needs at least for what it exports.
        needed: u32,
    },
    /// Nothing is left to write to, and the options say that nothing is made free; the sentence names them.
    #[error("{0}")]
    Full(String),
    /// Flash answered with an error that the FTL cannot mend.
    #[error(transparent)]
    Nand(#[from] NandError),
}

fn good_blocks(good: u32) -> String {
    match good {
        1 => "1 good block is".to_owned(),
        _ => format!("{good} good blocks are"),
    }
}

/// `1 block`, `2 blocks`.
pub(crate) fn blocks(count: u32) -> String {
    format!("{count} block{}", if count == 1 { "" } else { "s" })
}

/// `1 sector`, `2 sectors`.
pub(crate) fn sectors(count: u32) -> String {
    format!("{count} sector{}", if count == 1 { "" } else { "s" })
}

/// The way out of a reserve that is too large: `most` works here; none where no reserve does.
pub(crate) fn at_most(key: &str, most: u32) -> String {
    match most {
        0 => String::new(),
        _ => format!("; a device of this size takes {key} = {most} at most"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let worn_out = |good, needed| FtlError::WornOut { good, needed }.to_string();
        assert_eq!(worn_out(1, 4), "1 good block is left and at least 4 are needed to take a write");
        assert_eq!(worn_out(0, 1), "0 good blocks are left and at least 1 are needed to take a write");
        assert_eq!([blocks(0), blocks(1), blocks(2)], ["0 blocks", "1 block", "2 blocks"]);
        assert_eq!([sectors(1), sectors(64)], ["1 sector", "64 sectors"]);
    }
}
