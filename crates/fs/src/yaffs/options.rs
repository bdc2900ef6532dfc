//! Options of garbage collection, for the code of both years.

use super::Code;
use crate::parts::collector;
use crate::FsError;

/// Garbage collection. An option without a value is as in the code of `fs.yaffs.code`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Collection {
    /// Blocks kept for headers and collection, at least 2; file data is refused if it would leave
    /// fewer.
    pub reserved_blocks: u32,
    /// Collection is aggressive with fewer erased blocks than the reserve plus the checkpoint plus this margin.
    /// Without a value 1; 2 in the code of 2007.
    pub aggressive_margin: Option<u32>,
    /// Most live pages in a block collected passively. Without a value 4; 3 in the code of 2007, as Doh et al. say, while
    /// that code itself says 2.
    pub passive_limit: Option<u32>,
    /// Passive collection looks at one in this many blocks, plus one.
    pub passive_share: u32,
    /// Most blocks a passive search looks at, plus one. Without a value 99; 200 in the code of 2007.
    pub passive_most: Option<u32>,
    /// Code of 2007 only: after a hit, the next passive search runs at the call with this number. Without a value 4.
    pub skip: Option<u32>,
    /// Code of 2007 only: most blocks collected per call; more than one only while fewer blocks are erased than
    /// reserved. Without a value 2.
    pub tries: Option<u32>,
    /// Code of 2014 and `yaffs2` only: after this many collected blocks the oldest block is collected, whatever it
    /// holds; 0 for never. Without a value 500, as in the Linux driver.
    pub refresh_period: Option<u32>,
}

impl Default for Collection {
    fn default() -> Self {
        Self {
            reserved_blocks: 5,
            aggressive_margin: None,
            passive_limit: None,
            passive_share: 16,
            passive_most: None,
            skip: None,
            tries: None,
            refresh_period: None,
        }
    }
}

impl Collection {
    /// Refuses values that cannot work or that this code would not read.
    pub(super) fn check(&self, code: Code) -> Result<(), FsError> {
        let unread = match code {
            Code::Of2007 => [("gc.refresh_period", self.refresh_period), ("", None)],
            Code::Of2014 => [("gc.skip", self.skip), ("gc.tries", self.tries)],
        };
        for (key, given) in unread {
            if let Some(given) = given {
                let why = match code {
                    Code::Of2007 => "only the code of 2014 reads it: set fs.yaffs.code = \"2014\" or leave it out",
                    Code::Of2014 => "only the code of 2007 reads it: set fs.yaffs.code = \"2007\" or leave it out",
                };
                return Err(FsError::option(key, &given, why));
            }
        }
        self.of(code).check()
    }

    /// The options with this code's values.
    pub(super) fn of(&self, code: Code) -> collector::Config {
        let before = collector::Config::default();
        let usual = match code {
            Code::Of2007 => before,
            Code::Of2014 => collector::Config { aggressive_margin: 1, passive_limit: 4, passive_most: 99, ..before },
        };
        collector::Config {
            reserved_blocks: self.reserved_blocks,
            aggressive_margin: self.aggressive_margin.unwrap_or(usual.aggressive_margin),
            passive_limit: self.passive_limit.unwrap_or(usual.passive_limit),
            passive_share: self.passive_share,
            passive_most: self.passive_most.unwrap_or(usual.passive_most),
            skip: self.skip.unwrap_or(usual.skip),
            tries: self.tries.unwrap_or(usual.tries),
        }
    }
}
