//! Options of LazyFTL.

use crate::parts::engine::room::usable_with;
use crate::parts::engine::Quota;
use crate::parts::flash_map::Shape;
use crate::parts::map_entries::entries_per_map_page;
use crate::parts::victim::Victim;
use crate::{error, FtlError, Variant};
use nandlab_nand::Geometry;

/// Options of LazyFTL.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most blocks with host pages that wait for their conversion, those being filled included; at least 1. Fewer if the
    /// exported pages leave less room. Default 8, a convention.
    pub update_blocks: u32,
    /// The same for blocks with moved pages; at least 1. Default 4, a convention.
    pub cold_blocks: u32,
    /// Whether a conversion writes a map page once for all waiting pages with an entry there, as in the paper; otherwise
    /// once for each. Default true.
    pub batch_conversion: bool,
    /// Map pages kept in memory, at least 1. Default 8, a convention.
    pub cached_map_pages: u32,
    /// The data block that garbage collection empties next; map blocks go by the fewest valid pages. Default greedy.
    pub victim: Victim,
    /// Blocks kept free on each die for moved pages; at least 1. With 1, a program failure or a torn page during
    /// collection may leave no room. Default 2.
    pub reserve_blocks: u32,
    /// Spare blocks for the map, in percent of the blocks that hold it once; one at least, 1000 percent at most.
    /// Default 100.
    pub map_spare_percent: u32,
    /// Seed for random choices: no option, the experiment's seed comes here.
    #[serde(skip)]
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            update_blocks: 8,
            cold_blocks: 4,
            batch_conversion: true,
            cached_map_pages: 8,
            victim: Victim::Greedy,
            reserve_blocks: 2,
            map_spare_percent: 100,
            seed: 0,
        }
    }
}

/// Tells LazyFTL's map from other FTLs' maps.
const FORM: u16 = 5;

impl Config {
    /// The map for so many logical pages.
    pub(super) fn shape(&self, geometry: &Geometry, logical_pages: u32) -> Shape {
        let pages = logical_pages.div_ceil(entries_per_map_page(geometry));
        Shape { form: FORM, pages, spare_percent: self.map_spare_percent }
    }

    fn check(&self) -> Result<(), FtlError> {
        for (key, given, most) in [
            ("update_blocks", self.update_blocks, u32::MAX),
            ("cold_blocks", self.cold_blocks, u32::MAX),
            ("cached_map_pages", self.cached_map_pages, u32::MAX),
            ("reserve_blocks", self.reserve_blocks, u32::MAX),
        ] {
            error::in_range(&format!("ftl.lazyftl.{key}"), given, 1..=most)?;
        }
        error::in_range("ftl.lazyftl.map_spare_percent", self.map_spare_percent, 0..=1000)?;
        self.victim.check("ftl.lazyftl.victim")
    }

    /// A block's pages, or half of all on a tiny device, are left for older copies that still count.
    pub(super) fn max_logical_pages(&self, geometry: &Geometry) -> Result<u32, FtlError> {
        self.check()?;
        // As many blocks as a map for all the device's pages has: a little more than for the pages left then.
        let quota = self.shape(geometry, geometry.pages()).quota(geometry);
        let usable = usable_with(geometry, self.reserve_blocks, Quota { shared: quota, each: 0 });
        let most = usable - (usable / 2).min(geometry.pages_per_block());
        let own = (Quota { shared: self.shape(geometry, 1).quota(geometry), each: 0 }, "of the map");
        error::refuse_reserve("lazyftl", self.reserve_blocks, geometry, Some(own), most)
    }
}

/// The option sets for the proofs.
pub(super) fn variants() -> Vec<Variant<Config>> {
    // Hardly any map in memory, so that nearly every request pages.
    let small = || Config { update_blocks: 1, cold_blocks: 1, cached_map_pages: 1, ..Config::default() };
    vec![
        Variant::safe("small", small()),
        Variant::safe("one_by_one", Config { batch_conversion: false, ..small() }),
        Variant::safe("update_2", Config { update_blocks: 2, ..small() }),
        Variant::safe("cold_3", Config { cold_blocks: 3, update_blocks: 3, ..small() }),
        Variant::tight("reserve_1", Config { reserve_blocks: 1, ..small() }),
        Variant::safe("map_spare", Config { map_spare_percent: 0, victim: Victim::CostBenefit, ..small() }),
    ]
}
