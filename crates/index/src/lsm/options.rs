//! Options of `[index.lsm]`.

mod jobs;

use super::bloom::Bloom;
use super::compaction::{leveled, tiered, Backlog, FileChoice, Strategy};
use super::extents::{self, trims::Trim, Allocation};
use super::frames::HEAD_BYTES;
use crate::IndexError;
pub(super) use jobs::JobOptions;
use nandlab_block::ByteCount;
use nandlab_nand::SECTOR_BYTES;

/// Options of an LSM tree: its records, its memtable and tables, its compaction, and when it is flushed. Defaults are
/// RocksDB's divided by 64, as far as they are sizes of memtables, files and levels.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Bytes of a key, 1 to 64; the number that a workload asks for, most significant byte first.
    pub key_bytes: u16,
    /// Bytes of a value, up to 65534.
    pub value_bytes: u16,
    /// Bytes of the shortest value: lengths from here to `value_bytes` are equally likely. As long as the others unless
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortest_value_bytes: Option<u16>,
    /// Memory of the memtable that makes it a table of level 0: keys, values, and 22 bytes a record.
    pub write_buffer_bytes: ByteCount,
    /// Bytes of a table that end it, in levels from 1 on.
    pub target_file_bytes: ByteCount,
    /// Tables of level 0 that start a compaction; with `compaction = { tiered = { ... } }`, sorted runs.
    pub level0_trigger: u32,
    /// Without `threads`: tables of level 0 that a put waits for; with fewer, compaction that is due is put off. As many
    /// as `level0_trigger` unless given, so that nothing is put off. With `threads`: tables of level 0 from which on puts
    /// are slowed down; RocksDB's 20 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level0_slowdown: Option<u32>,
    /// Compactions at once in the background, beside a flush of a memtable, up to 64; 0: flushes and compactions run in
    /// the foreground, and so they do on a device without times.
    pub threads: u32,
    /// Requests that each flush or compaction keeps under way, 1 to 1024, 4 unless given; with `threads` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
    /// Tables of level 0 at which puts stop, 36 unless given; with `threads` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level0_stop: Option<u32>,
    /// Bytes that compaction has still to write from which on puts are slowed down, `"1 GiB"` unless given; with
    /// `threads` only, leveled only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_slow_bytes: Option<ByteCount>,
    /// Bytes that compaction has still to write at which puts stop, `"4 GiB"` unless given; with `threads` only, leveled
    /// only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_stop_bytes: Option<ByteCount>,
    /// Bytes a second that puts may write while they are slowed down, `"16 MiB"` unless given; with `threads` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_bytes_per_s: Option<ByteCount>,
    /// Whether a run ends with level 0 merged into the first level below it, and that level into the next one: db_bench's
    /// `compact0` and `compact1`; leveled only.
    pub compact_at_end: bool,
    /// How tables are merged.
    pub compaction: Compaction,
    /// Bytes of the first level below level 0, `"4 MiB"` unless given; leveled only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_base_bytes: Option<ByteCount>,
    /// Size of a level over the one above, 2 to 100, 10 unless given; leveled only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_multiplier: Option<u32>,
    /// Whether the last level's size sets the sizes above, and level 0 goes to the first level that is needed; true
    /// unless given; leveled only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_levels: Option<bool>,
    /// Size of a table over that of a table one level above, 1 to 10, 1 unless given; leveled only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_file_multiplier: Option<u32>,
    /// Which table of a level that is too large goes down; `"least_overlap"` unless given; leveled only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_choice: Option<FileChoice>,
    /// The rule for the other levels while level 0 is behind: `"scores"`, RocksDB's from 7.5 on, unless given; `"sizes"`,
    /// RocksDB's before; counts with `dynamic_levels`, leveled only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
    /// Bits a key in a table's Bloom filter, up to 64; 0: no filter.
    pub bloom_bits_per_key: f64,
    /// Where a key's bits lie in the filter.
    pub bloom: Bloom,
    /// Bytes of a data block; a larger record has a block of its own.
    pub block_bytes: u32,
    /// Size of the block cache; 0: none.
    pub cache_bytes: ByteCount,
    /// Bytes of a unit: everything is appended and read in whole units, a power of two from 512 to 65536.
    pub write_unit_bytes: u32,
    /// Bytes of an extent on a block device, a multiple of `write_unit_bytes`; on a zoned drive it has no effect.
    pub extent_bytes: ByteCount,
    /// Bytes that a compaction asks for at once, a multiple of `write_unit_bytes` up to 64 MiB. RocksDB's
    /// `compaction_readahead_size` is 2 MiB, for tables of 64 MiB; a table here has 1 MiB unless `target_file_bytes` says
    /// otherwise, and is read in four parts.
    pub compaction_readahead_bytes: ByteCount,
    /// Bytes of a write to a table, and of a move on zones, a multiple of `write_unit_bytes` up to 64 MiB; what is left of a
    /// table's data and what is left of its index and filter are shorter writes. RocksDB's `writable_file_max_buffer_size`
    /// is 1 MiB, for tables of 64 MiB.
    pub table_write_bytes: ByteCount,
    /// Where a new file's extents are looked for on a block device.
    pub allocation: Allocation,
    /// When a deleted file's space is trimmed on a block device; a zone is reset when its last file goes.
    pub trim: Trim,
    /// Whether records go to a log first; without it a flush makes the memtable a table.
    pub wal: bool,
    /// Placement identifiers of what is written.
    pub placement: Placement,
    /// A flush after this many operations; 0: none, and what is in the memtable at the end stays there.
    pub flush_every: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            key_bytes: 4,
            value_bytes: 4,
            shortest_value_bytes: None,
            write_buffer_bytes: ByteCount(1 << 20),
            target_file_bytes: ByteCount(1 << 20),
            level0_trigger: 4,
            level0_slowdown: None,
            threads: 0,
            queue_depth: None,
            level0_stop: None,
            pending_slow_bytes: None,
            pending_stop_bytes: None,
            slow_bytes_per_s: None,
            compact_at_end: false,
            compaction: Compaction::Leveled,
            level_base_bytes: None,
            level_multiplier: None,
            dynamic_levels: None,
            target_file_multiplier: None,
            file_choice: None,
            backlog: None,
            bloom_bits_per_key: 10.0,
            bloom: Bloom::Plain,
            block_bytes: 4096,
            cache_bytes: ByteCount(1 << 20),
            write_unit_bytes: 4096,
            extent_bytes: ByteCount(64 << 10),
            compaction_readahead_bytes: ByteCount(256 << 10),
            table_write_bytes: ByteCount(256 << 10),
            allocation: Allocation::FirstFit,
            trim: Trim::AtOnce,
            wal: true,
            placement: Placement::None,
            flush_every: 0,
        }
    }
}

/// How tables are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compaction {
    /// Each level is one sorted run, some times larger than the one above.
    #[default]
    Leveled,
    /// Runs of like size are merged into one (RocksDB's universal compaction).
    Tiered(tiered::Options),
}

/// Placement identifiers of what is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// None.
    #[default]
    None,
    /// Handle 0 for the log and the manifest, 1 for level 0, 2 for level 1, and so on.
    Levels,
}

/// A checked configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub(super) key_bytes: usize,
    pub(super) value_bytes: usize,
    pub(super) write_buffer_bytes: u64,
    /// Tables of level 0 below which compaction in the foreground is put off; 0: it never is.
    pub(super) level0_slowdown: usize,
    /// Flushes and compactions in the background.
    pub(super) jobs: Option<JobOptions>,
    pub(super) compaction: Strategy,
    pub(super) bloom_bits_per_key: f64,
    pub(super) bloom: Bloom,
    pub(super) block_bytes: usize,
    pub(super) cache_bytes: u64,
    pub(super) unit_bytes: u32,
    pub(super) extent_bytes: u64,
    pub(super) compaction_readahead_bytes: u64,
    pub(super) table_write_bytes: u64,
    pub(super) allocation: Allocation,
    pub(super) trim: Trim,
    pub(super) wal: bool,
    pub(super) placement: Placement,
}

const DEFAULT_BASE: ByteCount = ByteCount(4 << 20);
/// Bytes of a request for tables at most.
const MOST_AT_ONCE: u64 = 64 << 20;

impl Options {
    /// Fills in defaults that depend on other options.
    pub fn resolve(&mut self) {
        self.shortest_value_bytes.get_or_insert(self.value_bytes);
        self.resolve_jobs();
        if self.compaction == Compaction::Leveled {
            self.level_base_bytes.get_or_insert(DEFAULT_BASE);
            self.level_multiplier.get_or_insert(10);
            self.dynamic_levels.get_or_insert(true);
            self.target_file_multiplier.get_or_insert(1);
            self.file_choice.get_or_insert(FileChoice::LeastOverlap);
            self.backlog.get_or_insert(Backlog::Scores);
        }
    }

    /// Checks the options without a device.
    ///
    /// # Errors
    /// [`IndexError::Option`].
    pub fn check(&self) -> Result<(), IndexError> {
        self.check_records()?;
        self.check_sizes()?;
        self.check_jobs()?;
        self.check_levels()
    }

    fn check_records(&self) -> Result<(), IndexError> {
        if !(1..=64).contains(&self.key_bytes) {
            return Err(IndexError::option("key_bytes", &self.key_bytes, "a key has 1 to 64 bytes"));
        }
        if self.value_bytes == u16::MAX {
            return Err(IndexError::option("value_bytes", &self.value_bytes, "a value has up to 65534 bytes"));
        }
        match self.shortest_value_bytes {
            Some(bytes) if bytes > self.value_bytes => {
                let why = format!("value_bytes, the longest, is {}", self.value_bytes);
                Err(IndexError::option("shortest_value_bytes", &bytes, why))
            }
            _ => Ok(()),
        }
    }

    fn check_sizes(&self) -> Result<(), IndexError> {
        let unit = self.write_unit_bytes;
        if !(SECTOR_BYTES..=65_536).contains(&unit) || !unit.is_power_of_two() {
            let why = "a unit is a power of two from 512 to 65536 bytes";
            return Err(IndexError::option("write_unit_bytes", &unit, why));
        }
        let extent = self.extent_bytes.0;
        if extent == 0 || extent % u64::from(unit) != 0 || extent > 1 << 30 {
            let why = format!("an extent is a whole number of units of {unit} bytes, up to 1 GiB");
            return Err(IndexError::option("extent_bytes", &extent, why));
        }
        for (key, ByteCount(bytes)) in [
            ("compaction_readahead_bytes", self.compaction_readahead_bytes),
            ("table_write_bytes", self.table_write_bytes),
        ] {
            if bytes == 0 || bytes % u64::from(unit) != 0 || bytes > MOST_AT_ONCE {
                let why = format!("a request is a whole number of units of {unit} bytes, up to 64 MiB");
                return Err(IndexError::option(key, &bytes, why));
            }
        }
        self.trim.check()?;
        if !(256..=1 << 20).contains(&self.block_bytes) {
            return Err(IndexError::option("block_bytes", &self.block_bytes, "a data block has 256 bytes to 1 MiB"));
        }
        if !(0.0..=64.0).contains(&self.bloom_bits_per_key) {
            let why = "a filter has up to 64 bits a key, or 0 for no filter";
            return Err(IndexError::option("bloom_bits_per_key", &self.bloom_bits_per_key, why));
        }
        let record = u64::from(self.key_bytes) + u64::from(self.value_bytes) + 22 + HEAD_BYTES as u64;
        for (key, bytes) in
            [("write_buffer_bytes", self.write_buffer_bytes.0), ("target_file_bytes", self.target_file_bytes.0)]
        {
            if !(record..=1 << 40).contains(&bytes) {
                let why = format!(
                    "it takes at least a record, here {record} bytes with what is around it, and at most 1 TiB"
                );
                return Err(IndexError::option(key, &bytes, why));
            }
        }
        Ok(())
    }

    fn check_levels(&self) -> Result<(), IndexError> {
        if !(1..=1000).contains(&self.level0_trigger) {
            return Err(IndexError::option(
                "level0_trigger",
                &self.level0_trigger,
                "1 to 1000 tables start a compaction",
            ));
        }
        if let Some(tables) = self.level0_slowdown.filter(|tables| !(self.level0_trigger..=1000).contains(tables)) {
            let why = format!("level0_trigger, {}, to 1000 tables make a put wait", self.level0_trigger);
            return Err(IndexError::option("level0_slowdown", &tables, why));
        }
        if let Compaction::Tiered(options) = &self.compaction {
            self.refuse_level_options()?;
            if self.level0_trigger < 2 {
                let why = "one run alone is never merged: with compaction = { tiered = { ... } } it is at least 2";
                return Err(IndexError::option("level0_trigger", &self.level0_trigger, why));
            }
            return options.check();
        }
        if let Some(ByteCount(bytes)) = self.level_base_bytes.filter(|base| !(1..=1 << 50).contains(&base.0)) {
            return Err(IndexError::option("level_base_bytes", &bytes, "a level has at least 1 byte, at most 1 PiB"));
        }
        if let Some(times) = self.level_multiplier.filter(|times| !(2..=100).contains(times)) {
            return Err(IndexError::option("level_multiplier", &times, "a level is 2 to 100 times the one above"));
        }
        if let Some(times) = self.target_file_multiplier.filter(|times| !(1..=10).contains(times)) {
            let why = "a table is 1 to 10 times as large as one a level above";
            return Err(IndexError::option("target_file_multiplier", &times, why));
        }
        Ok(())
    }

    /// Refuses options that only leveled compaction reads.
    fn refuse_level_options(&self) -> Result<(), IndexError> {
        let given: [(&'static str, Option<String>); 9] = [
            ("compact_at_end", self.compact_at_end.then(|| "true".to_owned())),
            ("level_base_bytes", self.level_base_bytes.map(|bytes| bytes.0.to_string())),
            ("level_multiplier", self.level_multiplier.map(|times| times.to_string())),
            ("dynamic_levels", self.dynamic_levels.map(|yes| yes.to_string())),
            ("target_file_multiplier", self.target_file_multiplier.map(|times| times.to_string())),
            ("file_choice", self.file_choice.map(|choice| format!("\"{}\"", choice.name()))),
            ("backlog", self.backlog.map(|backlog| format!("\"{}\"", backlog.name()))),
            ("pending_slow_bytes", self.pending_slow_bytes.map(|bytes| bytes.0.to_string())),
            ("pending_stop_bytes", self.pending_stop_bytes.map(|bytes| bytes.0.to_string())),
        ];
        match given.into_iter().find_map(|(key, given)| Some((key, given?))) {
            Some((key, given)) => {
                let why = "it counts only with compaction = \"leveled\"; tiered compaction has no level sizes";
                Err(IndexError::option(key, &given, why))
            }
            None => Ok(()),
        }
    }

    /// Checks whether a device of `sectors` has room for a tree.
    ///
    /// # Errors
    /// [`IndexError::Option`].
    pub fn check_device(&self, sectors: u64) -> Result<(), IndexError> {
        extents::Layout::new(sectors, self.write_unit_bytes, self.extent_bytes.0).map(drop)
    }

    /// What the tree is made with.
    pub fn config(&self) -> Config {
        let compaction = match self.compaction {
            Compaction::Leveled => Strategy::Leveled(leveled::Leveled {
                trigger: self.level0_trigger.into(),
                base_bytes: self.level_base_bytes.unwrap_or(DEFAULT_BASE).0,
                multiplier: self.level_multiplier.unwrap_or(10).into(),
                dynamic: self.dynamic_levels.unwrap_or(true),
                file_bytes: self.target_file_bytes.0,
                file_multiplier: self.target_file_multiplier.unwrap_or(1).into(),
                choice: self.file_choice.unwrap_or_default(),
                backlog: self.backlog.unwrap_or_default(),
            }),
            Compaction::Tiered(options) => Strategy::Tiered(tiered::Tiered {
                trigger: self.level0_trigger as usize,
                file_bytes: self.target_file_bytes.0,
                options,
            }),
        };
        let slowdown = self.level0_slowdown.filter(|&tables| tables > self.level0_trigger && self.threads == 0);
        Config {
            key_bytes: self.key_bytes.into(),
            value_bytes: self.value_bytes.into(),
            write_buffer_bytes: self.write_buffer_bytes.0,
            level0_slowdown: slowdown.unwrap_or(0) as usize,
            jobs: self.job_options(),
            compaction,
            bloom_bits_per_key: self.bloom_bits_per_key,
            bloom: self.bloom,
            block_bytes: self.block_bytes as usize,
            cache_bytes: self.cache_bytes.0,
            unit_bytes: self.write_unit_bytes,
            extent_bytes: self.extent_bytes.0,
            compaction_readahead_bytes: self.compaction_readahead_bytes.0,
            table_write_bytes: self.table_write_bytes.0,
            allocation: self.allocation,
            trim: self.trim,
            wal: self.wal,
            placement: self.placement,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::extents::trims::{Discard, Fstrim};
    use super::*;

    fn refused(change: impl FnOnce(&mut Options), key: &str) {
        let mut options = Options::default();
        change(&mut options);
        match options.check() {
            Err(IndexError::Option { key: found, .. }) => assert_eq!(found, key),
            other => panic!("{key}: {other:?}"),
        }
    }

    #[test]
    fn every_bad_value_is_refused_by_its_key() {
        let mut options = Options::default();
        options.check().unwrap();
        options.resolve();
        options.check().unwrap();
        let mut beside = Options { threads: 2, ..Options::default() };
        beside.resolve();
        beside.check().unwrap();
        let tiered = Compaction::Tiered(tiered::Options::default());
        refused(|o| o.key_bytes = 0, "key_bytes");
        refused(|o| o.value_bytes = u16::MAX, "value_bytes");
        refused(|o| o.shortest_value_bytes = Some(5), "shortest_value_bytes");
        refused(|o| o.write_unit_bytes = 1000, "write_unit_bytes");
        refused(|o| o.extent_bytes = ByteCount(4097), "extent_bytes");
        refused(|o| o.compaction_readahead_bytes = ByteCount(0), "compaction_readahead_bytes");
        refused(|o| o.compaction_readahead_bytes = ByteCount(4097), "compaction_readahead_bytes");
        refused(|o| o.table_write_bytes = ByteCount(2048), "table_write_bytes");
        refused(|o| o.table_write_bytes = ByteCount((64 << 20) + 4096), "table_write_bytes");
        refused(|o| o.block_bytes = 255, "block_bytes");
        refused(|o| o.trim = Trim::Discard(Discard { bytes: ByteCount(0) }), "trim.discard.bytes");
        refused(|o| o.trim = Trim::Fstrim(Fstrim { every_bytes: ByteCount(0) }), "trim.fstrim.every_bytes");
        refused(|o| o.bloom_bits_per_key = f64::NAN, "bloom_bits_per_key");
        refused(|o| o.write_buffer_bytes = ByteCount(9), "write_buffer_bytes");
        refused(|o| o.target_file_bytes = ByteCount(9), "target_file_bytes");
        refused(|o| o.level0_trigger = 0, "level0_trigger");
        refused(|o| o.level0_slowdown = Some(3), "level0_slowdown");
        refused(|o| o.threads = 65, "threads");
        refused(|o| o.queue_depth = Some(4), "queue_depth");
        refused(|o| (o.threads, o.queue_depth) = (1, Some(0)), "queue_depth");
        refused(|o| (o.threads, o.level0_stop) = (1, Some(19)), "level0_stop");
        refused(|o| (o.threads, o.pending_slow_bytes) = (1, Some(ByteCount(0))), "pending_slow_bytes");
        refused(|o| (o.threads, o.pending_stop_bytes) = (1, Some(ByteCount(9))), "pending_stop_bytes");
        refused(|o| (o.threads, o.slow_bytes_per_s) = (1, Some(ByteCount(0))), "slow_bytes_per_s");
        refused(|o| o.level_base_bytes = Some(ByteCount(0)), "level_base_bytes");
        refused(|o| o.level_multiplier = Some(1), "level_multiplier");
        refused(|o| o.target_file_multiplier = Some(0), "target_file_multiplier");
        refused(|o| (o.compaction, o.level0_trigger) = (tiered, 1), "level0_trigger");
        refused(|o| (o.compaction, o.dynamic_levels) = (tiered, Some(true)), "dynamic_levels");
        refused(|o| (o.compaction, o.compact_at_end) = (tiered, true), "compact_at_end");
        let pending = Some(ByteCount(1 << 30));
        refused(|o| (o.compaction, o.threads, o.pending_slow_bytes) = (tiered, 1, pending), "pending_slow_bytes");
    }
}
