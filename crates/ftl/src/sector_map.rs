//! Sector map: a map entry for every sector, most of them on flash.
//!
//! ## Idea
//! A page map pays for a one-sector write with a read and a program of the whole page. Here each sector has an entry,
//! so sectors written at the same time lie together, from any logical page: a page of 64 sectors takes 63 small writes.
//! The price is the map, 4 bytes per sector: 32 MiB for 4 GiB. It lies on flash; memory keeps 1 MiB units in a few
//! slots (CMT, cached mapping table).
//!
//! ## Write path
//! Sectors gather in a merge buffer. When it holds all sectors of a page but one, the list of their logical addresses
//! fills the last one. The page is programmed and the entries are changed; meanwhile the next buffer fills. The host
//! waits only while all buffers are being written. A flush programs a partly filled buffer. The dies take pages in
//! turn.
//!
//! An entry that is not in memory is read with its unit. The unit chosen by `replacement` leaves memory for it, and is
//! written if it has changed. A read looks up and reads each sector separately, as in the paper; with `coalesce`,
//! consecutive sectors in a flash page are read at once.
//!
//! Each die collects for itself, as in the board's firmware, down to its last block. A die with only valid sectors is
//! passed over. So is a weak die, with too few good blocks for its reserve, its share of the map and the open block.
//! Its data stays readable; the other dies take its part of the host pages and the map. The device ends when their good
//! blocks are too few for the exported sectors.
//!
//! **Blocks set aside.** Each die keeps `reserve_blocks` blocks free, plus the blocks in its share of the map that the
//! map has not taken yet. The map has a quota even while it lies in memory as a whole. With b pages per block, D dies,
//! P map pages (4 bytes per exported sector) and w = floor(P / b), the quota is
//! `w + 1 + min(max(w, 1), D) + max(1, floor(w map_spare_percent / 100))` blocks; the last term is at most the device's
//! block count. The dies get it one by one: die i has floor((quota + D - 1 - i) / D) blocks. So a small map costs 3
//! blocks. One more block per die is being filled. So each die has `blocks - share - reserve_blocks - 1` blocks for
//! exported sectors, with b - 1 pages each and S - 1 sectors per page (S is the page size in sectors). With `fdp` each
//! handle fills a block on each die, so there are `blocks - share - reserve_blocks - handles`.
//!
//! **A host page** is programmed as soon as its buffer holds S - 1 sectors. A sector that waits there is overwritten in
//! place and does not count again (`rewrite`). The dies take these pages in turn, die 0 first. A die with room in its
//! open block takes the page at once. Else its full block is closed and may be a victim later. Then these steps repeat
//! until the die has room in its open block and at least as many free blocks as are set aside:
//! ```text
//! block full                      it is closed
//! more free blocks than set aside the block free longest is opened
//! else                            the closed block with the fewest valid sectors is emptied, the lowest number among
//!                                 equals; if it has more than (b - 1)(S - 1), the die is passed over
//! ```
//! All this comes before the program, so the sectors that the page replaces still count as valid. A victim is read page
//! by page, in ascending order, until all its valid sectors are found; pages without valid sectors are read too. The
//! valid sectors fill pages of S - 1 in that order, the last one perhaps partly, in the die's open block. If that is
//! full, a free block is opened from the reserve, but none that the map has a claim to. Then the victim is erased and
//! goes behind all other free blocks of its die.
//!
//! While one die empties a victim, its page holds a merge buffer. The buffers are filled in turn, so the other dies soon
//! wait for that one. With `collection = "tokens"` the victim is chosen as soon as no more blocks are free than are set
//! aside, and moves in steps, one for each host page on the die (`parts/sectored/emptying.rs`). The freed block then comes
//! a block of pages earlier than it is needed: each die has about a block less of spare room.
//!
//! **Placement by the host.** With `fdp` each reclaim unit handle of NVMe's flexible data placement has a merge buffer and
//! blocks of its own (`parts/sectored/handles.rs`). So small writes of one handle share pages, where a page map with handles
//! programs a page for each of them. A sector that the host writes through another handle leaves the buffer in which it
//! waits. A flush programs up to a partly filled page for each handle. The mount finds a block's handle in its pages' spare
//! areas.
//!
//! ## Recovery
//! A mount reads all spare areas, the lists in all data pages, and every map page. A sector's copy with the highest
//! sequence number counts, unless a map page written later unmaps it. Entries missing in the map pages go to memory or,
//! without room there, to flash.
//!
//! Sectors in the merge buffer that were not flushed are lost, and the copies that they were to replace are still
//! there: the map, the counts and garbage collection learn of new sectors only when their page is on flash. After
//! trims, a flush writes the map pages with the trimmed entries. Garbage collection does the same before it erases
//! copies that a trim hides.
//!
//! If bit errors destroy a map page while the device runs, it is rebuilt from the pages that a mount would read;
//! trimmed sectors may come back. A mount takes an unreadable last page for torn, and its sectors for not written.
//!
//! ## Invariants
//! An unmarked entry in memory equals the one on flash. Every mapped sector is the newest copy on flash, and no address
//! has two. Block counts match the entries. Each block is free, or holds data or map pages, or is bad; the map can
//! always take the rest of its quota.
//!
//! ## Differences
//! The paper marks buffered sectors by a bit in their entries. That forgets the copy on flash, which may be needed
//! after a power cut. Here the buffer's list, kept by firmware in SRAM, tells its sectors, and an entry is looked up
//! when its page is programmed. So a write that misses waits at the end of its page, and a rewrite in the buffer looks
//! up nothing.
//!
//! A read moves a whole page for any of its sectors: sequential reads move a page per sector. A controller with partial
//! transfers loses less against a page map. A victim's last sectors are programmed at once in a page that is not full,
//! because the victim is erased. The map has a quota of blocks, with a share on each die, and collects them as DFTL
//! does here. With one-sector pages nothing gathers, and the spare area holds a sector's address.
//!
//! ## References
//! K. Han, J. Ahn, D. Shin: Implementing a Sector-level Mapping FTL Algorithm at OpenSSD. KIISE, in Korean.
//! NVM Express: TP4146, Flexible Data Placement, 2022.
//! A. Gupta, Y. Kim, B. Urgaonkar: DFTL: A Flash Translation Layer Employing Demand-based Selective Caching of
//! Page-level Address Mappings. ASPLOS 2009.

pub use crate::parts::collection::Collection;
pub use crate::parts::placement::Origins;
use crate::parts::sectored::{self, sectored_options, Options, SectorMapped};
pub use crate::parts::sectored::{Replacement, Rewrite, SectorHandles, WriteBack};
use crate::{OwnLoops, Variant};

/// The sector map.
pub type SectorMap = SectorMapped<Scheme>;

/// What makes the sector map of it.
#[derive(Clone, Copy, Debug)]
pub struct Scheme;

sectored_options! {
    /// Options of the sector map.
    {
        /// Whether sectors that lie one behind the other in a page are read at once.
        coalesce: bool = false,
        /// Data placement by the host, such as `{ handles = 4 }`: the sectors of each reclaim unit handle gather in pages and
        /// blocks of their own. Unset: no placement.
        fdp: Option<SectorHandles> = None,
    }
}

/// Tells its map from that of another FTL.
const FORM: u16 = 3;

impl sectored::Scheme for Scheme {
    type Config = Config;
    const OWN_LOOPS: OwnLoops = OwnLoops::BOTH;
    const NAME: &'static str = "sector_map";

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        let paged = |cmt_units, cmt_unit_bytes| Config { cmt_units, cmt_unit_bytes, map_spare_percent: 1, ..usual() };
        vec![
            Variant::safe("tokens", Config { collection: Collection::Tokens, ..usual() }),
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::safe(
                "fdp",
                Config { fdp: Some(SectorHandles { handles: 2, ..SectorHandles::default() }), ..usual() },
            ),
            Variant::tight(
                "fdp_reserve_1",
                Config {
                    reserve_blocks: 1,
                    fdp: Some(SectorHandles { handles: 2, origins: Origins::Each }),
                    ..usual()
                },
            ),
            Variant::safe(
                "fdp_tokens",
                Config {
                    fdp: Some(SectorHandles { handles: 2, origins: Origins::Each }),
                    collection: Collection::Tokens,
                    rewrite: Rewrite::Append,
                    ..paged(2, 16)
                },
            ),
            Variant::safe("changed", Config { changed_map_pages: 2, pages_per_die: 3, ..usual() }),
            Variant::safe("paged", paged(2, 16)),
            Variant::safe(
                "paged_fifo",
                Config {
                    replacement: Replacement::Fifo,
                    merge_buffers: 1,
                    collection: Collection::Tokens,
                    ..paged(1, 8)
                },
            ),
            Variant::safe("paged_lru", Config { replacement: Replacement::Lru, coalesce: true, ..paged(3, 64) }),
            Variant::safe(
                "map_pages",
                Config { write_back: WriteBack::Pages, rewrite: Rewrite::Append, ..paged(1, 1024) },
            ),
        ]
    }

    fn options(config: &Config) -> Options {
        Options { placing: config.fdp, ..config.common(FORM) }
    }
}
