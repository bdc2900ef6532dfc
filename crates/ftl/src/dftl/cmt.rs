//! The cached mapping table: what memory keeps of the map on flash.
//!
//! DFTL's scheme reads and writes map pages; a [`MapCache`] owns the entries in memory, their order, their marks and
//! their bytes. Each file in `cmt/` is one cache.
//!
//! ## A miss
//! [`MapCache::find`] knows nothing of the entry. Then the scheme asks [`MapCache::step`] again and again. It writes the
//! map page, or reads the map page, that the answer names, until the answer is the entry's slot. So the cache alone
//! decides what leaves, what comes along with the entry, and in which order.
//!
//! ## Slots
//! A slot stays good until the next step: collection, which may run inside a host write, changes entries and marks but
//! removes none.
//!
//! ## Marks
//! An entry is marked as changed until a map page with its value is on flash. A written map page takes along all its
//! marked entries ([`MapCache::set_changed`]), and [`MapCache::written`] clears the marks.

mod cdftl;
mod leaftl;
mod learned;
mod line;
mod segmented;
mod sftl;
mod stripes;
mod table;
mod tpftl;
mod whole_pages;

use crate::parts::map_entries::entries_per_map_page;
use crate::{FtlError, RamUse};
pub use cdftl::Options as Cdftl;
pub use leaftl::Options as Leaftl;
pub use learned::Options as Learned;
use nandlab_nand::{Geometry, Lpn, Ppa};
pub(super) use segmented::Segmented;
pub use sftl::Options as Sftl;
use std::ops::{Deref, DerefMut};
use stripes::Stripes;
pub use tpftl::Options as Tpftl;

/// An entry's place in a cache.
pub(super) type Slot = u32;

/// No slot.
const NONE: Slot = Slot::MAX;

/// Bytes of a map entry with its logical page, as DFTL counts them.
pub(super) const BYTES: u64 = 8;

/// What memory keeps of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// Single entries in a segmented LRU order: DFTL.
    #[default]
    Segmented,
    /// Entries grouped by map page, loaded ahead for sequential requests: TPFTL.
    Tpftl(Tpftl),
    /// Single entries, and behind them whole map pages: CDFTL.
    Cdftl(Cdftl),
    /// Whole map pages, as runs of sequential entries: S-FTL.
    Sftl(Sftl),
    /// Whole map pages, as lines close to the pages: LeaFTL.
    Leaftl(Leaftl),
    /// TPFTL's entries, and lines through whole map pages: LearnedFTL.
    Learned(Learned),
}

/// What a cache is made for.
#[derive(Clone, Copy, Debug)]
struct Shape {
    geometry: Geometry,
    logical_pages: u32,
    per_map_page: u32,
    dies: u32,
    budget_bytes: u64,
    /// Logical pages in a group, if groups fill their own blocks.
    of_group: Option<u32>,
}

impl Shape {
    fn map_pages(&self) -> u32 {
        self.logical_pages.div_ceil(self.per_map_page)
    }

    fn map_page(&self, at: Lpn) -> u32 {
        at.0 / self.per_map_page
    }

    /// Stripes for everybody filling blocks.
    fn stripes(&self) -> Stripes {
        let fillers = self.of_group.map_or(2, |of_group| self.logical_pages.div_ceil(of_group));
        Stripes::new(&self.geometry, fillers)
    }

    /// The filler for a logical page: its group, or the host and collection.
    fn filler(&self, at: Lpn, is_moved: bool) -> u32 {
        self.of_group.map_or(u32::from(is_moved), |of_group| at.0 / of_group)
    }

    /// The same on a device with so many dies, of four pages a block.
    #[cfg(test)]
    fn of(logical_pages: u32, per_map_page: u32, dies: u32, budget_bytes: u64) -> Self {
        let shape = nandlab_nand::Shape {
            channels: 1,
            dies_per_channel: dies,
            ..*Geometry::two_dies(256, 4, 512).expect("it is one").shape()
        };
        let geometry = Geometry::new(shape).expect("it is one");
        Self { geometry, logical_pages, per_map_page, dies, budget_bytes, of_group: None }
    }

    /// A map page's logical pages.
    fn pages_of(&self, map_page: u32) -> std::ops::Range<u32> {
        let first = map_page * self.per_map_page;
        first..self.logical_pages.min(first + self.per_map_page)
    }
}

impl Cache {
    /// The name of the choice.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Segmented => "segmented",
            Self::Tpftl(_) => "tpftl",
            Self::Cdftl(_) => "cdftl",
            Self::Sftl(_) => "sftl",
            Self::Leaftl(_) => "leaftl",
            Self::Learned(_) => "learned",
        }
    }

    /// Checks the options; returns the least `cmt_entries` for a device.
    pub(super) fn least_entries(self, geometry: &Geometry) -> Result<u32, FtlError> {
        let per_map_page = entries_per_map_page(geometry);
        let bytes = match self {
            Self::Segmented => 2 * BYTES,
            Self::Tpftl(options) => options.least_bytes()?,
            Self::Cdftl(options) => options.least_bytes(per_map_page)?,
            Self::Sftl(options) => options.least_bytes(per_map_page)?,
            Self::Leaftl(options) => options.least_bytes(per_map_page)?,
            // As many map pages as for all the device's pages: a little more than for the pages left then.
            Self::Learned(options) => options.least_bytes(per_map_page, geometry.pages().div_ceil(per_map_page))?,
        };
        Ok(bytes.div_ceil(BYTES) as u32)
    }

    /// What the least depends on, for a sentence.
    pub(super) fn on_pages_of(self, geometry: &Geometry) -> String {
        let page_bytes = geometry.page_bytes();
        match self {
            Self::Segmented => String::new(),
            Self::Learned(_) => format!(
                " with ftl.dftl.cache = \"learned\", which has lines for every map page, and {} pages of {page_bytes} bytes",
                geometry.pages()
            ),
            _ => format!(" with ftl.dftl.cache = \"{}\" and pages of {page_bytes} bytes", self.name()),
        }
    }

    /// The least `cmt_entries` with which nothing ever leaves memory.
    pub(super) fn whole_map(self, logical_pages: u32, per_map_page: u32) -> u64 {
        let map_pages = logical_pages.div_ceil(per_map_page);
        let bytes = match self {
            Self::Segmented => u64::from(logical_pages) * BYTES,
            Self::Tpftl(options) => options.whole_bytes(logical_pages, map_pages),
            Self::Cdftl(options) => options.whole_bytes(per_map_page, map_pages),
            Self::Sftl(options) => options.whole_bytes(per_map_page, map_pages),
            Self::Leaftl(options) => options.whole_bytes(per_map_page, map_pages),
            Self::Learned(options) => options.whole_bytes(logical_pages, per_map_page, map_pages),
        };
        bytes.div_ceil(BYTES)
    }

    /// An empty cache within the bytes of `cmt_entries`, for groups with `of_group` logical pages and their own blocks; none
    /// for DFTL's own, which has more options.
    pub(super) fn open(
        self,
        geometry: &Geometry,
        logical_pages: u32,
        cmt_entries: u32,
        of_group: Option<u32>,
    ) -> Option<Box<dyn MapCache>> {
        let shape = Shape {
            geometry: *geometry,
            of_group,
            logical_pages,
            per_map_page: entries_per_map_page(geometry),
            dies: geometry.dies(),
            budget_bytes: u64::from(cmt_entries) * BYTES,
        };
        match self {
            Self::Segmented => None,
            Self::Tpftl(options) => Some(Box::new(tpftl::TwoLevels::new(shape, options))),
            Self::Cdftl(options) => Some(Box::new(cdftl::EntriesAndPages::new(shape, options))),
            Self::Sftl(options) => Some(Box::new(sftl::Runs::new(shape, options))),
            Self::Leaftl(options) => Some(Box::new(leaftl::Segments::new(shape, options))),
            Self::Learned(options) => Some(Box::new(learned::Learned::new(shape, options))),
        }
    }
}

/// What a cache needs before an entry can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A map page is written with its marked entries: something must leave, and flash does not have it.
    Write(u32),
    /// A map page is read from this logical page's entry on, and comes in through [`MapCache::take_in`].
    Read(Lpn),
    /// Nothing: the entry is here.
    Found(Slot),
}

/// A cache of map entries.
pub(super) trait MapCache: std::fmt::Debug + Send {
    /// An entry's slot, if it can be used at once; this does not count as a use.
    fn find(&self, at: Lpn) -> Option<Slot>;

    /// Records a use of an entry.
    fn touch(&mut self, slot: Slot);

    /// The page an entry names.
    fn page(&self, slot: Slot) -> Ppa;

    /// Changes an entry and marks it as changed.
    fn set(&mut self, slot: Slot, page: Ppa);

    /// What has to be done next for an entry that [`Self::find`] does not have; once it is found, it counts as used.
    fn step(&mut self, at: Lpn) -> Step;

    /// Takes in what [`Step::Read`] asked for: `bytes` are the map page's entries from `first`'s on.
    fn take_in(&mut self, first: Lpn, bytes: &[u8]);

    /// Collection has moved a page: changes its entry and marks it, if it is in memory. This is no use.
    fn moved(&mut self, at: Lpn, to: Ppa) -> bool;

    /// The page an entry in memory names, whether or not it can be used at once.
    fn peek(&self, at: Lpn) -> Option<Ppa> {
        self.find(at).map(|slot| self.page(slot))
    }

    /// Sets a map page's marked entries in its bytes.
    fn set_changed(&self, map_page: u32, bytes: &mut [u8]);

    /// Fills in a map page that is in memory as a whole; then it need not be read to be written. Its marked entries may
    /// be older here than those of [`Self::set_changed`].
    fn whole(&self, _map_page: u32, _bytes: &mut [u8]) -> bool {
        false
    }

    /// A map page was written with its marked entries.
    fn written(&mut self, map_page: u32);

    /// A map page with this moved page's entry was written, after [`Self::written`]: the entry needs no write of its own.
    fn clean(&mut self, _at: Lpn) {}

    /// Takes in marked entries, if there is room for all of them without anything leaving. For a mount.
    fn adopt(&mut self, changed: &[(Lpn, Ppa)]) -> bool;

    /// A mount found a block begun with this page for `at`; it tells about blocks in the order they were begun.
    fn begun(&mut self, _first: Ppa, _at: Lpn) {}

    /// All entries: logical page, page, and whether flash may have another page there.
    fn each(&self, tell: &mut dyn FnMut(Lpn, Ppa, bool));

    /// The page for an entry outside memory, known all the same.
    fn predicted(&self, _at: Lpn) -> Option<Ppa> {
        None
    }

    /// The page read in vain before the entry's own: memory knows the place only roughly.
    fn mistaken(&self, _slot: Slot) -> Option<Ppa> {
        None
    }

    /// A map page was written: these are its entries.
    fn learn(&mut self, _map_page: u32, _bytes: &[u8]) {}

    /// The request that begins now covers so many pages.
    fn expect(&mut self, _first: Lpn, _pages: u32) {}

    /// Starts loading what leads to an entry into the processor's cache.
    fn prefetch(&self, _at: Lpn) {}

    /// Starts loading an entry; what leads to it was loaded.
    fn prefetch_entry(&self, _at: Lpn) {}

    /// Adds the memory that firmware would need.
    fn ram(&self, ram: &mut RamUse);
}

/// A cache chosen at run time. DFTL's own is called directly: a hit costs no more for the choice.
#[derive(Debug)]
pub(super) enum Cmt {
    Segmented(Segmented),
    Other(Box<dyn MapCache>),
}

impl Cmt {
    /// As [`MapCache::find`].
    #[inline]
    pub(super) fn find(&self, at: Lpn) -> Option<Slot> {
        match self {
            Self::Segmented(cache) => cache.find(at),
            Self::Other(cache) => cache.find(at),
        }
    }

    /// As [`MapCache::touch`].
    #[inline]
    pub(super) fn touch(&mut self, slot: Slot) {
        match self {
            Self::Segmented(cache) => cache.touch(slot),
            Self::Other(cache) => cache.touch(slot),
        }
    }

    /// As [`MapCache::page`].
    #[inline]
    pub(super) fn page(&self, slot: Slot) -> Ppa {
        match self {
            Self::Segmented(cache) => cache.page(slot),
            Self::Other(cache) => cache.page(slot),
        }
    }

    /// As [`MapCache::set`].
    #[inline]
    pub(super) fn set(&mut self, slot: Slot, page: Ppa) {
        match self {
            Self::Segmented(cache) => cache.set(slot, page),
            Self::Other(cache) => cache.set(slot, page),
        }
    }

    /// As [`MapCache::predicted`].
    #[inline]
    pub(super) fn predicted(&self, at: Lpn) -> Option<Ppa> {
        match self {
            Self::Segmented(_) => None,
            Self::Other(cache) => cache.predicted(at),
        }
    }

    /// As [`MapCache::mistaken`].
    #[inline]
    pub(super) fn mistaken(&self, slot: Slot) -> Option<Ppa> {
        match self {
            Self::Segmented(_) => None,
            Self::Other(cache) => cache.mistaken(slot),
        }
    }

    /// As [`MapCache::prefetch`].
    #[inline]
    pub(super) fn prefetch(&self, at: Lpn) {
        match self {
            Self::Segmented(cache) => cache.prefetch(at),
            Self::Other(cache) => cache.prefetch(at),
        }
    }

    /// As [`MapCache::prefetch_entry`].
    #[inline]
    pub(super) fn prefetch_entry(&self, at: Lpn) {
        match self {
            Self::Segmented(cache) => cache.prefetch_entry(at),
            Self::Other(cache) => cache.prefetch_entry(at),
        }
    }

    /// As [`MapCache::expect`].
    #[inline]
    pub(super) fn expect(&mut self, first: Lpn, pages: u32) {
        if let Self::Other(cache) = self {
            cache.expect(first, pages);
        }
    }
}

/// What is asked once a miss or less goes through the trait.
impl Deref for Cmt {
    type Target = dyn MapCache;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Segmented(cache) => cache,
            Self::Other(cache) => &**cache,
        }
    }
}

impl DerefMut for Cmt {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Segmented(cache) => cache,
            Self::Other(cache) => &mut **cache,
        }
    }
}
