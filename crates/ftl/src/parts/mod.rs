//! Mechanism shared by FTLs; decisions are in the FTLs and in victim policies.
//!
//! | Question | File |
//! |---|---|
//! | Which blocks are free or bad, and when may one be erased? | `blocks/keeper.rs` |
//! | Which pages are valid, and which block may be a victim? | `blocks/table.rs`, without a bitmap `blocks/counts.rs` |
//! | Where does a block's next page go? | `blocks/frontier.rs` |
//! | Which pages did a mount find, and which copy is the newest? | `blocks/scan.rs`, `newest.rs` |
//! | Which blocks hold one kind of pages, apart from others? | `blocks/area.rs` |
//! | Where is a logical page: in memory, or on flash? | `noted_map.rs`, `flash_map.rs` with `map_entries.rs` |
//! | How does a trim survive a power cut? | `trim_notes.rs`, `trim_note.rs` |
//! | When do a victim's pages move: at once, or by tokens? | `collection.rs` |
//! | Which block is emptied, where do pages go, how is wear evened out? | `victim.rs`, `placement.rs`, `wear.rs` |
//! | What is a policy asked? | `policy.rs` |
//! | How do I write an FTL that maps pages? | `engine.rs`, with `../page.rs` as an example |
//! | An FTL that maps sectors? | `sectored.rs` |
//! | An FTL that maps blocks? | `block_mapped.rs` over `store.rs`, with `../fmax.rs` as an example |
//! | Which log blocks belong to one logical block, or are shared by several? | `bound_logs.rs`, `shared_logs.rs` |
//! | How many of a map's or a log's blocks does each die give? | `shares.rs` |
//! | How is a partial page written? | `partial.rs`, gathered with others `merge_buffer.rs` |
//! | How does `check` find the newest copies on flash? | `copies.rs` |

pub mod block_mapped;
pub mod blocks;
pub(crate) mod bound_logs;
pub mod collection;
pub(crate) mod copies;
pub mod engine;
pub(crate) mod flash_map;
pub(crate) mod map_entries;
pub(crate) mod merge_buffer;
pub(crate) mod newest;
pub(crate) mod noted_map;
pub(crate) mod partial;
pub mod placement;
pub mod policy;
pub mod sectored;
pub(crate) mod shared_logs;
pub(crate) mod shares;
pub mod store;
pub(crate) mod trim_note;
pub(crate) mod trim_notes;
pub mod victim;
pub mod wear;
