//! An LSM tree: records are gathered in memory and written as sorted tables, which are merged into larger ones.
//!
//! ## Idea
//! A put goes to a log and to the memtable. A full memtable becomes a table of level 0: no page is ever changed in
//! place. Tables are merged into larger sorted runs, so a lookup has few places to look at; a Bloom filter answers for
//! most tables that do not have the key.
//!
//! ## Write path
//! `put` and `delete` append to the log and change the memtable, and read nothing. When the memtable has
//! `write_buffer_bytes`, it is written as a table, its logs are deleted, and compaction runs until none is due; then the
//! put goes on. With `threads` all this is done by jobs in the background (`jobs.rs`), and the put goes on at once. A flush
//! pads the log's last unit and waits for the device. `leveled.rs` and `tiered.rs` have the rules of compaction.
//!
//! ## Recovery
//! The manifest names all tables and logs; a commit switches it from one version to the next (`manifest.rs`). What it
//! names was made durable before. The logs hold the memtable: after a cut everything up to the last acknowledged flush
//! is there, and of later operations the first ones, in order. A deleted file's room is used again only after the commit
//! that deleted it; until its trim (`extents/trims.rs`) the device holds it as garbage. A flipped bit in a log or in the
//! manifest is mended; any other damage is an error, since every part has a sum that depends on its place.
//!
//! On a zoned drive the files lie in zones (`zones.rs`): each zone takes files of one lifetime, and a zone whose files are
//! all deleted is emptied.
//!
//! ## Invariants
//! [`Tree::check`] asserts: tables of level 0 are ordered by age, tables of other levels do not overlap; each table has
//! the records, deleted keys and ends that the manifest notes, its keys ascend, and its filter passes all of them; the
//! last level has no deleted keys; each file has room of its own, and nothing else is taken.
//!
//! ## Differences
//! RocksDB compacts in threads beside the puts. Without `threads` one operation follows the other here, so counts depend
//! on nothing but the operations; `level0_slowdown` puts work off as far as RocksDB's threads would fall behind. With
//! `threads` flushes and compactions are jobs (`jobs.rs`); a job begins and commits between two requests of the host. A
//! job takes room for all of its tables when it begins. A memtable counts the memory
//! that RocksDB's would take. A bulk load writes tables of the last level. An insert or an update that has to know
//! whether the key exists reads it first.
//!
//! ## References
//! P. O'Neil, E. Cheng, D. Gawlick, E. O'Neil: The log-structured merge-tree. Acta Informatica 33(4), 1996.
//! S. Dong, M. Callaghan, L. Galanis, D. Borthakur, T. Savor, M. Stumm: Optimizing space amplification in RocksDB. CIDR
//! 2017.

mod beside;
mod bloom;
mod cache;
mod check;
mod codec;
mod compaction;
mod extents;
mod frames;
mod jobs;
mod manifest;
mod memtable;
mod merge;
mod options;
mod queue;
mod range;
mod stats;
mod storage;
mod table;
mod tree;
mod version;
mod wal;
mod work;
mod zones;

pub use bloom::Bloom;
pub use check::Report;
pub use compaction::tiered::Options as TieredOptions;
pub use compaction::{Backlog, FileChoice};
pub use extents::trims::{Discard, Fstrim, Trim, TrimStats};
pub use extents::{Allocation, Extents, Room};
pub use options::{Compaction, Config, Options, Placement};
pub use queue::Jobs;
pub use range::Cursor;
pub use stats::{BloomStats, Stall, Stalls, Stats};
pub use storage::{FileId, Lifetime, Storage};
pub use tree::Tree;
pub use version::LEVELS;
pub use zones::{zones_needed, ZoneFiles, ACTIVE_ZONES_MIN};
