//! The `[index.<name>]` table of an experiment.

use crate::btree::{FixedRecords, Records};
use crate::pool::{self, Budget, Replacement, WriteBack};
use crate::{lsm, Config, IndexError};
use nandlab_block::ByteCount;
use nandlab_nand::SECTOR_BYTES;

/// Which index, with its options.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexConfig {
    /// A B+tree over a buffer pool.
    Btree(Options),
    /// An LSM tree.
    Lsm(lsm::Options),
}

impl IndexConfig {
    /// The chosen index's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Btree(_) => "btree",
            Self::Lsm(_) => "lsm",
        }
    }

    /// Fills in defaults that depend on other options.
    pub fn resolve(&mut self) {
        match self {
            Self::Btree(options) => options.resolve(),
            Self::Lsm(options) => options.resolve(),
        }
    }

    /// Checks the options without a device.
    ///
    /// # Errors
    /// [`IndexError::Option`].
    pub fn check(&self) -> Result<(), IndexError> {
        match self {
            Self::Btree(options) => options.check(),
            Self::Lsm(options) => options.check(),
        }
    }

    /// Checks whether a device of `sectors` has room for the index.
    ///
    /// # Errors
    /// [`IndexError::Option`].
    pub fn check_device(&self, sectors: u64) -> Result<(), IndexError> {
        match self {
            Self::Btree(options) => {
                options.config().pool.check_device(sectors / u64::from(options.page_bytes / SECTOR_BYTES))
            }
            Self::Lsm(options) => options.check_device(sectors),
        }
    }

    /// Whether the index works in the background.
    pub fn has_jobs(&self) -> bool {
        match self {
            Self::Btree(_) => false,
            Self::Lsm(options) => options.threads > 0,
        }
    }

    /// What rounding takes from the options, in a sentence.
    pub fn notice(&self) -> Option<String> {
        match self {
            Self::Btree(options) => options.notice(),
            Self::Lsm(_) => None,
        }
    }

    /// Bytes of a key.
    pub fn key_bytes(&self) -> u16 {
        match self {
            Self::Btree(options) => options.key_bytes,
            Self::Lsm(options) => options.key_bytes,
        }
    }

    /// Bytes of the shortest and of the longest value.
    pub fn value_bytes(&self) -> (u16, u16) {
        let (shortest, longest) = match self {
            Self::Btree(options) => (options.shortest_value_bytes, options.value_bytes),
            Self::Lsm(options) => (options.shortest_value_bytes, options.value_bytes),
        };
        (shortest.unwrap_or(longest), longest)
    }

    /// The largest number in a key.
    pub fn largest_key(&self) -> u64 {
        1_u64.checked_shl(8 * u32::from(self.key_bytes())).map_or(u64::MAX, |keys| keys - 1)
    }

    /// A flush after this many operations; 0: none.
    pub fn flush_every(&self) -> u64 {
        match self {
            Self::Btree(options) => options.flush_every,
            Self::Lsm(options) => options.flush_every,
        }
    }

    /// Share of a page that a bulk load fills.
    pub fn load_fill(&self) -> f64 {
        match self {
            Self::Btree(options) => options.load_fill,
            Self::Lsm(_) => 1.0,
        }
    }

    /// Memory for what the index keeps of its records: pool, or memtable and block cache.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Self::Btree(options) => match options.pool_frames {
                Some(frames) => u64::from(frames) * u64::from(options.page_bytes),
                None => options.pool_bytes.map_or(0, |bytes| bytes.0),
            },
            Self::Lsm(options) => options.write_buffer_bytes.0 + options.cache_bytes.0,
        }
    }
}

/// Options of `[index.btree]`: the tree, its records, its pool, and when it is flushed.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Bytes of a page, a power of two from 512 to 65536.
    pub page_bytes: u32,
    /// How a page holds its records.
    pub layout: Layout,
    /// Bytes of a key, 1 to 64; the number that a workload asks for, most significant byte first.
    pub key_bytes: u16,
    /// Bytes of a value.
    pub value_bytes: u16,
    /// Bytes of the shortest value, where `layout` takes values of any size: lengths from here to `value_bytes` are
    /// equally likely. As long as the others unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortest_value_bytes: Option<u16>,
    /// Bytes of a page before its first record, 8 to 64, where `layout` is `fixed`; 8 unless given. The tree needs 8;
    /// more stands for what a database keeps there. Of one paper: btree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_bytes: Option<u8>,
    /// Size of the buffer pool, rounded down to whole pages; `"1 MiB"` unless `pool_frames` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_bytes: Option<ByteCount>,
    /// Size of the buffer pool in pages, in place of `pool_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_frames: Option<u32>,
    /// Which page leaves the pool when room is needed.
    pub policy: Replacement,
    /// What is written of a changed page.
    pub write_back: WriteBack,
    /// Whether pages are written to free places, and switched to at a flush, so that the index survives power cuts.
    pub shadow: bool,
    /// Share of a page that a bulk load fills, 0.1 to 1.
    pub load_fill: f64,
    /// A flush after this many operations; 0: none, and what is changed in the pool at the end stays there.
    pub flush_every: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            page_bytes: 4096,
            layout: Layout::Fixed,
            key_bytes: 4,
            value_bytes: 4,
            shortest_value_bytes: None,
            header_bytes: None,
            pool_bytes: None,
            pool_frames: None,
            policy: Replacement::Lru,
            write_back: WriteBack::Page,
            shadow: false,
            load_fill: 1.0,
            flush_every: 0,
        }
    }
}

/// How a page holds its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Values of one size, in a sorted array.
    #[default]
    Fixed,
    /// Values of any size, behind a directory of slots.
    Slotted,
    /// Values of any size; changes are appended to the page and folded on read.
    Deltas,
}

impl Layout {
    /// The name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Slotted => "slotted",
            Self::Deltas => "deltas",
        }
    }
}

const DEFAULT_POOL: ByteCount = ByteCount(1 << 20);
/// The longest key: a workload's keys are 8-byte numbers.
const MOST_KEY_BYTES: u16 = 64;

impl Options {
    /// Fills in defaults that depend on other options.
    pub fn resolve(&mut self) {
        if self.pool_bytes.is_none() && self.pool_frames.is_none() {
            self.pool_bytes = Some(DEFAULT_POOL);
        }
        if self.layout == Layout::Fixed {
            self.header_bytes.get_or_insert(FixedRecords::default().header_bytes);
        } else {
            self.shortest_value_bytes.get_or_insert(self.value_bytes);
        }
    }

    /// Checks the options without a device.
    ///
    /// # Errors
    /// [`IndexError::Option`].
    pub fn check(&self) -> Result<(), IndexError> {
        let layout = self.layout.name();
        if let (Some(_), Some(frames)) = (self.pool_bytes, self.pool_frames) {
            let why = "pool_bytes is given too, and the pool has one size";
            return Err(IndexError::option("pool_frames", &frames, why));
        }
        if !(1..=MOST_KEY_BYTES).contains(&self.key_bytes) {
            return Err(IndexError::option("key_bytes", &self.key_bytes, "a key has 1 to 64 bytes"));
        }
        match (self.layout, self.header_bytes, self.shortest_value_bytes) {
            (Layout::Slotted | Layout::Deltas, Some(bytes), _) => {
                let why =
                    format!("it counts only with layout = \"fixed\"; pages of {layout} have a header of 16 bytes");
                return Err(IndexError::option("header_bytes", &bytes, why));
            }
            (Layout::Fixed, _, Some(bytes)) => {
                let why =
                    "with layout = \"fixed\" all values have value_bytes; layout = \"slotted\" or \"deltas\" takes any";
                return Err(IndexError::option("shortest_value_bytes", &bytes, why));
            }
            (_, _, Some(bytes)) if bytes > self.value_bytes => {
                let why = format!("value_bytes, the longest, is {}", self.value_bytes);
                return Err(IndexError::option("shortest_value_bytes", &bytes, why));
            }
            _ => {}
        }
        if !(0.1..=1.0).contains(&self.load_fill) {
            return Err(IndexError::option("load_fill", &self.load_fill, "pages are filled to a share of 0.1 to 1"));
        }
        let config = self.config();
        config.check().map_err(in_options)?;
        config.check_sizes(self.key_bytes.into(), self.value_bytes.into())
    }

    /// The tree and its pool.
    pub fn config(&self) -> Config {
        let budget = match (self.pool_frames, self.pool_bytes) {
            (Some(frames), _) => Budget::Frames(frames),
            (None, bytes) => Budget::Bytes(bytes.unwrap_or(DEFAULT_POOL).0),
        };
        let Self { page_bytes, policy, shadow, write_back, key_bytes, value_bytes, .. } = *self;
        let header_bytes = self.header_bytes.unwrap_or(FixedRecords::default().header_bytes);
        let records = match self.layout {
            Layout::Fixed => Records::Fixed(FixedRecords { key_bytes, value_bytes, header_bytes }),
            Layout::Slotted => Records::Slotted,
            Layout::Deltas => Records::Deltas,
        };
        Config { pool: pool::Config { page_bytes, budget, policy, shadow, write_back }, records }
    }

    /// The pool bytes lost to rounding, in a sentence.
    pub fn notice(&self) -> Option<String> {
        let ByteCount(bytes) = self.pool_bytes?;
        let page = u64::from(self.page_bytes);
        (bytes % page != 0).then(|| {
            let frames = bytes / page;
            format!("pool_bytes = {bytes} is no whole number of pages of {page} bytes: the pool has {frames} frames")
        })
    }
}

/// A tree or pool error with the table's own key.
fn in_options(error: IndexError) -> IndexError {
    match error {
        IndexError::Option { key: "budget.bytes", given, why } => IndexError::Option { key: "pool_bytes", given, why },
        IndexError::Option { key: "budget.frames", given, why } => {
            IndexError::Option { key: "pool_frames", given, why }
        }
        other => other,
    }
}
