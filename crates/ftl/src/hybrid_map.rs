//! Hybrid map: a map entry for every page, and for every sector of those pages that are written small.
//!
//! ## Idea
//! The sector map's authors planned this as their next step: one map of pages and sectors. A sector map is 64 times as
//! large as a super-page map, and most of its entries only say that a sector lies behind the one before it. Here every
//! logical page has an entry. It names the flash page with the whole logical page, or it says that the page is split;
//! then the page's sectors have entries of their own. A partial write splits a page; a page that is whole again folds
//! back.
//!
//! ## Write path
//! A whole page from the host is programmed as it is and its entry is changed; this folds a split page at once. Other
//! writes gather their sectors in a merge buffer as in the sector map, and its pages end in their list. When such a
//! page is programmed, each of its sectors gets an entry. If a logical page was not split before, all its sectors get
//! entries; the unwritten ones point into the old flash page.
//!
//! Garbage collection copies whole pages as they are, and gathers the sectors of split ones. A page with all sectors in
//! the victim is programmed whole. With `gather_from`, that many sectors in the victim are enough, and the rest is read
//! from other blocks. Each die collects for itself, and weak dies are passed over, as in the sector map. But folded
//! pages go to the dies in turn, since some of their sectors may come from other dies. With `collection = "tokens"` whole
//! pages move in steps, and the sectors of split pages when the victim has been read to its end.
//!
//! The map on flash is a page map followed by a sector map, in equal map pages and cached in the same way. Sector
//! entries have a fixed place. Units without split pages are never read or written. So the map needs 4 bytes of memory
//! per page, plus the units with split pages: at most the sector map's memory plus one part in 64.
//!
//! ## Recovery
//! As the sector map. The newest copies of a page's sectors tell whether it is split: it is not if they all lie in one
//! flash page without other sectors. An entry "nothing" hides older copies. Sector entries say "nothing" only if the
//! page was unmapped when it was split. They reach flash before the page's entry says "split" there.
//!
//! ## Invariants
//! Those of the sector map. In addition, a sector entry never says "nothing" unless its page is split.
//!
//! ## Differences
//! This follows no published design; other choices are possible. Sector entries at fixed places cost address space, not
//! memory or flash. Lists of split pages by length would save map pages if splits are scattered, but add a second kind
//! of garbage on flash.
//!
//! Folding only sectors found in a victim (`gather_from = 0`, the default) reads nothing extra, but folds hardly
//! anything if small writes are scattered. Folding from half a page on costs far more than it saves there: it copies
//! the other half, and the host soon writes the page in parts again. With 512 B writes all over a board with 8 % spare
//! pages it takes 1.8 times the programs and leaves a tenth of the requests per second (docs/papers/sector-map.md);
//! long reads afterwards read fewer pages. It pays if most work is long reads of data written in small pieces.
//!
//! ## References
//! K. Han, J. Ahn, D. Shin: Implementing a Sector-level Mapping FTL Algorithm at OpenSSD. KIISE, in Korean; section 5.

pub use crate::parts::collection::Collection;
use crate::parts::sectored::{self, sectored_options, Hybrid, Options, SectorMapped};
pub use crate::parts::sectored::{Replacement, Rewrite, WriteBack};
use crate::Variant;

/// The hybrid map.
pub type HybridMap = SectorMapped<Scheme>;

/// The hybrid map's own rules.
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
            Variant::safe("tokens", Config { collection: Collection::Tokens, ..usual() }),
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::safe("paged", Config { gather_from: 0, ..paged(1, 8) }),
            Variant::safe(
                "paged_fifo",
                Config {
                    replacement: Replacement::Fifo,
                    gather_from: 1,
                    collection: Collection::Tokens,
                    ..paged(2, 8)
                },
            ),
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
