//! The options.

use super::cmt::{Cache, Cdftl, Cmt, Leaftl, Learned, Segmented, Sftl, Tpftl};
use super::groups::{GroupOptions, Groups};
use crate::own::{self, About};
use crate::parts::engine::room::usable_with;
use crate::parts::engine::{self, Quota};
use crate::parts::flash_map::Shape;
use crate::parts::map_entries::entries_per_map_page;
use crate::parts::placement::{Dac, Placement};
use crate::parts::shares::FILLED;
use crate::parts::victim::{DChoices, Victim};
use crate::parts::wear::{Threshold, Wear};
use crate::{error, FtlError, Variant};
use nandlab_block::own::Own;
use nandlab_nand::Geometry;

/// The die that takes a host page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// The dies in turn. A partial write then mostly reads its missing sectors from another die than the one it goes
    /// to.
    #[default]
    Dynamic,
    /// The logical page's die, `logical page % dies`, as in the super-page map: a partial write keeps one die at work.
    /// A die with too many bad blocks leaves its pages to the others.
    Static,
    /// Groups of logical pages fill blocks of their own, their pages on the dies in turn, and are collected as a whole, in
    /// order: LearnedFTL.
    Groups(GroupOptions),
}

/// Which entry leaves a full memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// The one not asked for the longest among the unprotected ones.
    #[default]
    Segmented,
    /// As a class of one's own says, `module:Class`.
    Python(Own),
}

/// DFTL's options.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Memory for the map, in entries of eight bytes as DFTL has them, at least 2. Another `cache` has as many bytes, for
    /// more entries or fewer. Default 8192, as in public simulators of the paper: 6552 and 1640.
    pub cmt_entries: u32,
    /// What memory keeps of the map.
    pub cache: Cache,
    /// Protected share of the entries in memory. An entry is protected from when it was read or asked for again, until
    /// it is the one not asked for the longest. From 1 to 99 percent. Only for the cache `segmented`. Default 80.
    pub protected_percent: u32,
    /// Whether garbage collection leaves an entry in memory to be written when it is evicted; otherwise its map page is
    /// written at once. Entries not in memory are written in either case.
    pub lazy_update: bool,
    /// Whether garbage collection writes a map page once for all pages in a victim with an entry there; otherwise once
    /// for each.
    pub batch_update: bool,
    /// Whether a map page's other changed entries need no write any more once one was evicted. Without it they stay
    /// marked as changed, although the map page has them. Only for the cache `segmented`.
    pub batch_write_back: bool,
    /// Which entry leaves a full memory. Only for the cache `segmented`.
    pub replacement: Replacement,
    /// The die that takes a host page.
    pub allocation: Allocation,
    /// Which pages are kept in blocks apart, as in the page map: `one`, `two`, `origin`, `dac`, `sepbit`, `warcip` or
    /// `python`. Each kind needs an open block on every die. Others than `two` are for the allocation `dynamic`.
    pub placement: Placement,
    /// How the wear is evened out between blocks, as in the page map. Map blocks are not moved for it: they are collected
    /// apart, and an emptied one joins the die's free blocks. Groups take none.
    pub wear: Wear,
    /// The data block that garbage collection empties next; map blocks go by the fewest valid pages.
    pub victim: Victim,
    /// Blocks kept free on each die for moved pages; at least 1. With 1, a program failure or a torn page during
    /// collection may leave no room. The paper has one die and collects with fewer than 3 free.
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
            cmt_entries: 8192,
            cache: Cache::Segmented,
            protected_percent: 80,
            lazy_update: true,
            batch_update: true,
            batch_write_back: true,
            replacement: Replacement::Segmented,
            allocation: Allocation::Dynamic,
            placement: Placement::Two,
            wear: Wear::None,
            victim: Victim::Greedy,
            reserve_blocks: 2,
            map_spare_percent: 100,
            seed: 0,
        }
    }
}

/// Tells DFTL's map from other FTLs' maps.
const FORM: u16 = 1;

impl Config {
    /// The map for so many logical pages.
    pub(super) fn shape(&self, geometry: &Geometry, logical_pages: u32) -> Shape {
        let pages = logical_pages.div_ceil(entries_per_map_page(geometry));
        Shape { form: FORM, pages, spare_percent: self.map_spare_percent }
    }

    /// Protected entries among all; at least one of either kind.
    fn protected(&self, entries: u32) -> u32 {
        let part = u64::from(entries) * u64::from(self.protected_percent) / 100;
        (part as u32).clamp(1, entries.max(2) - 1)
    }

    fn check(&self, geometry: &Geometry) -> Result<(), FtlError> {
        let least = self.cache.least_entries(geometry)?;
        if self.cmt_entries < least {
            return Err(FtlError::Config(format!(
                "ftl.dftl.cmt_entries = {}: it is at least {least}{}",
                self.cmt_entries,
                self.cache.on_pages_of(geometry)
            )));
        }
        if self.cache != Cache::Segmented {
            self.refuse_unread()?;
        }
        for (key, given, least, most) in [
            ("protected_percent", self.protected_percent, 1, 99),
            ("reserve_blocks", self.reserve_blocks, 1, u32::MAX),
            ("map_spare_percent", self.map_spare_percent, 0, 1000),
        ] {
            error::in_range(&format!("ftl.dftl.{key}"), given, least..=most)?;
        }
        if let Replacement::Python(own) = self.replacement {
            own::check(own, "ftl.dftl.replacement")?;
        }
        self.victim.check("ftl.dftl.victim")?;
        self.wear.check("ftl.dftl.wear")?;
        self.check_placement()
    }

    /// Refuses placements that only the page map has, and those that the allocation does not ask.
    fn check_placement(&self) -> Result<(), FtlError> {
        self.placement.check("ftl.dftl.placement")?;
        let refuse = |why: String| Err(FtlError::Config(why));
        let name = match self.placement {
            Placement::Pools(_) => "pools",
            Placement::Fdp(_) => "fdp",
            Placement::Oracle(_) => "oracle",
            Placement::Midas(_) => "midas",
            _ => "",
        };
        if !name.is_empty() {
            return refuse(format!(
                "ftl.dftl.placement = \"{name}\" is one of the page map alone: take \"one\", \"two\", \"origin\", \"dac\", \
                 \"sepbit\", \"warcip\" or \"python\", or ftl.page"
            ));
        }
        if self.placement != Placement::Two && self.allocation != Allocation::Dynamic {
            return refuse(
                "ftl.dftl.placement is for ftl.dftl.allocation = \"dynamic\": another allocation has frontiers of its own, so \
                 take placement = \"two\""
                    .into(),
            );
        }
        if self.wear != Wear::None && matches!(self.allocation, Allocation::Groups(_)) {
            return refuse(
                "ftl.dftl.wear is not for ftl.dftl.allocation.groups, which collect by groups: take wear = \"none\""
                    .into(),
            );
        }
        Ok(())
    }

    /// The data blocks' options.
    pub(super) fn of_engine(&self) -> engine::Config {
        let plain = engine::Config::plain(self.victim, self.reserve_blocks, self.seed);
        engine::Config { placement: self.placement, wear: self.wear, ..plain }
    }

    /// Refuses options that only DFTL's own cache reads.
    fn refuse_unread(&self) -> Result<(), FtlError> {
        let usual = Self::default();
        let unread = if self.protected_percent != usual.protected_percent {
            format!("protected_percent = {}", self.protected_percent)
        } else if self.batch_write_back != usual.batch_write_back {
            format!("batch_write_back = {}", self.batch_write_back)
        } else if self.replacement != usual.replacement {
            "replacement".to_owned()
        } else {
            return Ok(());
        };
        let name = self.cache.name();
        Err(FtlError::Config(format!(
            "ftl.dftl.{unread} is for ftl.dftl.cache = \"segmented\": \"{name}\" does not read it"
        )))
    }

    /// What memory keeps of the map, empty.
    pub(super) fn cmt(&self, geometry: &Geometry, logical_pages: u32) -> Cmt {
        let per_map_page = entries_per_map_page(geometry);
        let of_group = match self.allocation {
            Allocation::Groups(groups) => Some(groups.size(geometry, logical_pages)),
            Allocation::Dynamic | Allocation::Static => None,
        };
        if let Some(cmt) = self.cache.open(geometry, logical_pages, self.cmt_entries, of_group) {
            return Cmt::Other(cmt);
        }
        let entries = self.cmt_entries.min(logical_pages.max(2));
        let own = match self.replacement {
            Replacement::Segmented => None,
            Replacement::Python(own) => {
                let about = About { geometry: *geometry, logical_pages, seed: self.seed };
                Some(own::host().map_cache(own, &about, entries))
            }
        };
        let protected = self.protected(entries);
        let segmented = Segmented::new(logical_pages, per_map_page, (entries, protected), self.batch_write_back);
        Cmt::Segmented(segmented.asking(own))
    }

    /// The groups of so many logical pages, if the allocation has them.
    pub(super) fn groups(&self, geometry: &Geometry, logical_pages: u32) -> Option<Groups> {
        match self.allocation {
            Allocation::Groups(options) => Some(Groups::new(options, geometry, logical_pages)),
            Allocation::Dynamic | Allocation::Static => None,
        }
    }

    /// Says how much of the spare area groups keep, if it is more than half.
    pub(super) fn notice_of_groups(&self, geometry: &Geometry, logical_pages: u32) -> Option<String> {
        let Allocation::Groups(groups) = self.allocation else { return None };
        let of_die = groups.filled(geometry, logical_pages) + groups.blocks(geometry, logical_pages);
        let kept = of_die.saturating_mul(geometry.dies());
        let spare = geometry.blocks().saturating_sub(logical_pages / geometry.pages_per_block());
        (2 * kept > spare).then(|| {
            format!(
                "ftl.dftl.allocation.groups.pages = {}: groups keep {kept} of {spare} spare blocks, so collection has little \
                 to gain",
                groups.size(geometry, logical_pages)
            )
        })
    }

    /// Blocks beside those for data and the reserve: the map's, and those that groups or a placement fill beyond the usual
    /// ones.
    pub(super) fn quota(&self, geometry: &Geometry, logical_pages: u32) -> Quota {
        let each = match self.allocation {
            Allocation::Groups(groups) => groups.filled(geometry, logical_pages),
            Allocation::Dynamic | Allocation::Static => self.of_engine().frontiers().saturating_sub(FILLED),
        };
        Quota { shared: self.shape(geometry, logical_pages).quota(geometry), each }
    }

    pub(super) fn max_logical_pages(&self, geometry: &Geometry) -> Result<u32, FtlError> {
        self.check(geometry)?;
        let usable = |quota| usable_with(geometry, self.reserve_blocks, quota);
        if let Allocation::Groups(groups) = self.allocation {
            // More pages leave fewer blocks for them, but for rounding: a root, then a quotient.
            let own = |pages| {
                let Quota { shared, each } = self.quota(geometry, pages);
                Quota { shared, each: each.saturating_add(groups.blocks(geometry, pages)) }
            };
            let has_room = |&pages: &u32| usable(own(pages)) >= pages;
            let (mut most, mut above) = (0, geometry.pages());
            while above - most > 1 {
                let middle = most + (above - most) / 2;
                *if has_room(&middle) { &mut most } else { &mut above } = middle;
            }
            let own = (own(1), "of the map and of groups");
            return error::refuse_reserve("dftl", self.reserve_blocks, geometry, Some(own), most);
        }
        // As many blocks as a map for all the device's pages has: a little more than for the pages left then.
        let most = usable(self.quota(geometry, geometry.pages()));
        let own = (self.quota(geometry, 1), "of the map");
        error::refuse_reserve("dftl", self.reserve_blocks, geometry, Some(own), most)
    }
}

/// The option sets for the proofs.
pub(super) fn variants() -> Vec<Variant<Config>> {
    // Few entries, so that nearly every request pages.
    let small = || Config { cmt_entries: 4, protected_percent: 50, ..Config::default() };
    // Enough for some moved pages to have their entry in memory.
    let more = || Config { cmt_entries: 24, lazy_update: false, ..small() };
    // The least for map pages of 512 entries, and enough for a few map pages.
    let cached = |cache: Cache, cmt_entries: u32| Config { cmt_entries, cache, ..Config::default() };
    let grouped = Allocation::Groups(GroupOptions { pages: 8 });
    let plain = Tpftl { batch_update: false, clean_first: false, request_prefetch: false, ..Tpftl::default() };
    vec![
        Variant::safe("cmt_2", Config { cmt_entries: 2, ..small() }),
        Variant::safe("cmt_4", small()),
        Variant::safe(
            "dac",
            Config {
                placement: Placement::Dac(Dac { regions: 3 }),
                victim: Victim::CostBenefit,
                cmt_entries: 16,
                protected_percent: 80,
                ..small()
            },
        ),
        Variant::safe("eager", more()),
        Variant::safe("one_by_one", Config { batch_update: false, batch_write_back: false, ..small() }),
        Variant::safe("eager_one_by_one", Config { batch_update: false, ..more() }),
        Variant::tight("reserve_1", Config { reserve_blocks: 1, cmt_entries: 8, ..small() }),
        Variant::safe("map_spare", Config { map_spare_percent: 0, victim: Victim::CostBenefit, ..small() }),
        Variant::safe("static", Config { allocation: Allocation::Static, cmt_entries: 16, ..small() }),
        Variant::safe("tpftl", cached(Cache::Tpftl(Tpftl::default()), 40)),
        Variant::safe("tpftl_4", cached(Cache::Tpftl(Tpftl::default()), 4)),
        Variant::safe(
            "tpftl_eager",
            Config {
                lazy_update: false,
                batch_update: false,
                ..cached(Cache::Tpftl(Tpftl { threshold: 1, ..plain }), 20)
            },
        ),
        Variant::safe("cdftl", cached(Cache::Cdftl(Cdftl::default()), 300)),
        Variant::safe("cdftl_259", cached(Cache::Cdftl(Cdftl { pages_percent: 99 }), 259)),
        Variant::safe("sftl", cached(Cache::Sftl(Sftl::default()), 310)),
        Variant::safe("sftl_273", cached(Cache::Sftl(Sftl { buffer_percent: 0, ..Sftl::default() }), 273)),
        Variant::safe("sftl_sparse", cached(Cache::Sftl(Sftl { buffer_percent: 30, sparse_entries: 3 }), 390)),
        Variant::safe("leaftl", cached(Cache::Leaftl(Leaftl { learned_at: 8, ..Leaftl::default() }), 560)),
        Variant::safe("leaftl_exact", cached(Cache::Leaftl(Leaftl { error_bound: 0, learned_at: 1 }), 530)),
        Variant::safe("learned", cached(Cache::Learned(Learned::default()), 100)),
        Variant::tight(
            "grouped",
            Config { allocation: grouped, reserve_blocks: 1, ..cached(Cache::Learned(Learned { pieces: 2 }), 80) },
        ),
        Variant::safe(
            "threshold",
            Config {
                wear: Wear::Threshold(Threshold { erases: 2 }),
                victim: Victim::DChoices(DChoices { choices: 2 }),
                ..small()
            },
        ),
    ]
}
