//! Sector map: a map entry for every sector, most of them on flash.
//!
//! ## Idea
//! A map of pages pays for a write of one sector with a read and a program of the whole page. Here each sector has an
//! entry, so sectors that are written at the same time lie together, wherever they belong: a page of 64 sectors takes
//! 63 small writes. The price is the map, 4 bytes a sector: 32 MiB for 4 GiB. It lies on flash, and memory keeps units
//! of it, of 1 MiB, in a few slots (CMT, cached mapping table).
//!
//! ## Write path
//! Sectors gather in a merge buffer. When it has all sectors of a page but one, their logical addresses become the
//! last one, the page is programmed, and the entries are changed; meanwhile the next buffer is filled, and the host
//! waits only where all of them are being written. A flush programs what the buffer has. The dies take pages in turn.
//! Entries that are not in memory are read with their unit, for which the unit that `replacement` names leaves
//! memory, and is written where it has changed. A read looks up each sector and reads each for itself, as in the
//! paper; with `coalesce` sectors that lie one behind the other in a page are read at once. Each die collects for
//! itself, as in the board's firmware, down to its last block. A die where all is valid is passed over. So is a weak
//! one, which bad blocks have left too few for its reserve, its share of the map and the block that is being filled:
//! what it holds can be read, the other dies take its part of the host's pages and of the map, and the device ends
//! when their good blocks are too few for what is exported.
//!
//! **Blocks set aside.** Each die keeps `reserve_blocks` blocks free, and those of its share of the map that the map
//! has not taken. The map has a quota, also while all of it is in memory and nothing of it is on flash. With b pages
//! a block, D dies, P map pages (4 bytes for each exported sector) and w = floor(P / b), the quota is `w + 1 +
//! min(max(w, 1), D) + max(1, floor(w map_spare_percent / 100))` blocks, the last term at most those of the device.
//! It is dealt to the dies one by one: die i has floor((quota + D - 1 - i) / D) blocks of it. So a small map costs 3
//! blocks. With one more that is being filled, what holds sectors for good is `blocks - share - reserve_blocks - 1`
//! blocks of each die, of b - 1 pages each, of S - 1 sectors each (S in a page): no more is exported.
//!
//! **A page of the host** is programmed as soon as its buffer is full: S - 1 sectors. A sector that waits there is
//! overwritten in place and does not count again (`rewrite`). The dies take these pages in turn, beginning with die
//! 0. A die whose block has room takes the page without further ado. Else its full block is closed, which makes it a
//! victim for later, and these steps are repeated until the die has room in its block and at least as many free
//! blocks as are set aside:
//! ```text
//! block full                      it is closed
//! more free blocks than set aside the one that has been free longest is opened
//! else                            the closed block with the fewest valid sectors is emptied, the lowest number among equals; the die is passed
//!                                 over if that has more than (b - 1)(S - 1)
//! ```
//! All this comes before the page is programmed: what it replaces still counts as valid. A victim is read page by
//! page, in ascending order, pages without valid sectors too, until all its valid sectors are found: a read each.
//! These fill pages of S - 1 in that order, the last of them maybe not full, in the block of the die; where that is
//! full, a free block is opened that the map has no claim to, from the reserve. Then the victim is erased, and is
//! free behind all other free blocks of its die.
//!
//! ## Recovery
//! A mount reads all spare areas, the lists of all pages with data, and every map page. The copy of a sector with the
//! highest sequence number counts, unless a map page that was written later says that nothing is there. Entries that
//! the map pages do not have go to memory, or, without room there, to flash. What was in the merge buffer and not
//! flushed is lost, and what it was to replace is still there: the map, the counts and garbage collection know of new
//! sectors only when their page is on flash. A flush after trims writes the map pages of what was trimmed; so does
//! garbage collection, before it erases what they hide. A map page that is lost to bit errors while the device runs is made
//! anew of what a mount would read; what was trimmed may come back. A mount takes the page programmed last for torn where
//! it cannot be read, and what it held for not written.
//!
//! ## Invariants
//! An entry in memory that is not marked is as on flash. Every mapped sector is the newest copy on flash, no address
//! has two, and the counts of the blocks are those of the entries. Each block is free, of data, of the map or bad; the
//! map can always take what its quota leaves.
//!
//! ## Differences
//! The paper marks sectors in the buffer by a bit of their entries. That forgets where the copy on flash is, which a
//! cut may need: here the list of the buffer, which firmware keeps in SRAM, says what is in it, and an entry is asked
//! for when its page is programmed. So a write that misses waits at the end of its page, and a rewrite in the buffer
//! asks for nothing. A read moves a whole page, whatever sectors of it are asked for: in a row, a page for each
//! sector. A controller that moves parts of a page loses less beside a map of pages. The last survivors of a victim
//! are programmed at once, in a page that is not full, since the victim is erased. The map has a quota of blocks, of
//! each die its share, and collects them as DFTL here does. With pages of one sector nothing gathers, and a sector
//! has its address in the spare area.
//!
//! ## References
//! K. Han, J. Ahn, D. Shin: Implementing a Sector-level Mapping FTL Algorithm at OpenSSD. KIISE, in Korean.
//! A. Gupta, Y. Kim, B. Urgaonkar: DFTL: A Flash Translation Layer Employing Demand-based Selective Caching of
//! Page-level Address Mappings. ASPLOS 2009.

use crate::parts::sectored::{self, sectored_options, Options, SectorMapped};
pub use crate::parts::sectored::{Replacement, Rewrite, WriteBack};
use crate::Variant;

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
    }
}

/// Tells its map from that of another FTL.
const FORM: u16 = 3;

impl sectored::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "sector_map";

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        let paged = |cmt_units, cmt_unit_bytes| Config { cmt_units, cmt_unit_bytes, map_spare_percent: 1, ..usual() };
        vec![
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::safe("paged", paged(2, 16)),
            Variant::safe("paged_fifo", Config { replacement: Replacement::Fifo, merge_buffers: 1, ..paged(1, 8) }),
            Variant::safe("paged_lru", Config { replacement: Replacement::Lru, coalesce: true, ..paged(3, 64) }),
            Variant::safe(
                "map_pages",
                Config { write_back: WriteBack::Pages, rewrite: Rewrite::Append, ..paged(1, 1024) },
            ),
        ]
    }

    fn options(config: &Config) -> Options {
        config.common(FORM)
    }
}
