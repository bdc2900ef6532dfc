//! Hybrid map: a map entry for every page, and for every sector of those pages that are written small.
//!
//! ## Idea
//! What the authors of the sector map wanted to do next: one map that is of pages and of sectors at once. A sector map
//! is 64 times as large as one of super-pages, and most of its entries say that a sector lies behind the one before it.
//! Here every logical page has an entry. It is the page of flash where all of it lies, or it says that the page is
//! split, and then its sectors have entries of their own. A page splits when part of it is written, and folds back when
//! it is whole again.
//!
//! ## Write path
//! A page that the host writes as a whole is programmed as it is, and its entry is changed: that folds a split page at
//! once. Sectors of other writes gather in a merge buffer as in the sector map, whose pages end in their list. When
//! such a page is programmed each of its sectors gets its entry; where its page was not split, all sectors of the page
//! get one, which point into the page where they were. Garbage collection copies whole pages as they are, and gathers
//! the sectors of split ones: a page of which all sectors are in the victim is programmed whole. With `gather_from` so
//! is one of which so many are there, and the rest is fetched from where it lies. Each die collects for itself, and
//! weak ones are passed over, as in the sector map, but a page that is made whole again goes to the dies in turn, since
//! part of it may come from others.
//!
//! The map on flash is that of the sector map behind one of the pages, in the same map pages and cached in the same
//! way: entries of sectors have their fixed place, and the units of them that nobody asks for, because nothing is split
//! there, are never read or written. So what memory the map needs is 4 bytes a page and the units in which pages are
//! split, at most the sector map's and one part in 64 more.
//!
//! ## Recovery
//! As the sector map. The newest copies of the sectors of a page say whether it is split: it is not if all lie in one
//! page of flash that holds no other. An entry that says "nothing" hides what is older. Those of sectors say so only
//! where the page was unmapped when it was split, and they are on flash before the entry of the page says "split"
//! there.
//!
//! ## Invariants
//! Those of the sector map; and an entry of a sector of a page that is not split never says "nothing".
//!
//! ## Differences
//! No published design is followed; other choices would be these. Entries of sectors at fixed places cost address space,
//! not memory or flash; lists of split pages by their length would save map pages that are split here and there, at the price of a second kind of garbage on flash. Folding only
//! what is in a victim (`gather_from = 0`, the default) reads nothing but folds hardly anything where small writes are
//! scattered. Folding from half a page on costs far more than it saves there: the other half is copied, and is soon
//! written small again. With 512 B writes all over a board with 8 % of spare pages it takes 1.8 times the programs and
//! leaves a tenth of the requests (docs/papers/sector-map.md); reads of 128 KB in a row take about a sixth of the
//! time after it. It pays where long reads of what was written small are most of the work.
//!
//! ## References
//! K. Han, J. Ahn, D. Shin: Implementing a Sector-level Mapping FTL Algorithm at OpenSSD. KIISE, in Korean; section 5.

use crate::parts::sectored::{self, sectored_options, Hybrid, Options, SectorMapped};
pub use crate::parts::sectored::{Replacement, Rewrite, WriteBack};
use crate::Variant;

/// The hybrid map.
pub type HybridMap = SectorMapped<Scheme>;

/// What makes the hybrid map of it.
#[derive(Clone, Copy, Debug)]
pub struct Scheme;

sectored_options! {
    /// Options of the hybrid map.
    {
        /// Sectors of a split page in a victim from which on garbage collection fetches the others and makes the page
        /// whole; 0: only where all of them are in the victim. At most the sectors of a page, or 32, half of a
        /// super-page, which on pages of fewer sectors is the same as 0.
        gather_from: u32 = 0,
        /// Whether sectors of split pages that lie one behind the other are read at once.
        coalesce: bool = true,
    }
}

/// Tells its map from that of another FTL.
const FORM: u16 = 4;

impl sectored::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "hybrid_map";

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        let paged = |cmt_units, cmt_unit_bytes| Config { cmt_units, cmt_unit_bytes, map_spare_percent: 1, ..usual() };
        vec![
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::safe("paged", Config { gather_from: 0, ..paged(1, 8) }),
            Variant::safe("paged_fifo", Config { replacement: Replacement::Fifo, gather_from: 1, ..paged(2, 8) }),
            Variant::safe(
                "paged_lru",
                Config { replacement: Replacement::Lru, coalesce: false, gather_from: 2, ..paged(3, 64) },
            ),
            Variant::safe(
                "map_pages",
                Config { write_back: WriteBack::Pages, rewrite: Rewrite::Append, gather_from: 1, ..paged(1, 1024) },
            ),
        ]
    }

    fn options(config: &Config) -> Options {
        Options { hybrid: Some(Hybrid { gather_from: config.gather_from }), ..config.common(FORM) }
    }
}
