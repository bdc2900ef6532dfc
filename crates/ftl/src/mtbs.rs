//! MTBS: blocks with a data area and a spare area.
//!
//! ## Idea
//! Each block holds the pages of one logical block: in its first part in their places, and overwrites in its
//! second part. Every logical block has room for its own overwrites, and the FTL needs no table beside the
//! block map.
//!
//! ## Write path
//! ```text
//! page never written        -> its place in the data area
//! page written before       -> next page of the spare area
//! spare area full           -> merge: the newest pages go to their places in a new block, the page that is being
//!                              written among them; the old block is erased
//! ```
//! A logical block has `data_pages` pages, so a request may span several. With `whole_requests` the pages of
//! one request in one logical block go to the spare area together, or all go into the merged block; otherwise
//! each page is placed alone. On chips that program in ascending order the data area closes with the first page
//! of the spare area. For a partial page write the FTL first reads the page, merges the new sectors and writes
//! the whole page.
//!
//! ## Recovery
//! Mount reads every spare area of the chip. The newest copy of a page wins, and an interrupted merge is
//! dropped.
//!
//! ## Invariants
//! A logical block lies in one block; its data area holds pages in their places only.
//!
//! ## Differences
//! The patent text was not available; the B+tree study describes the scheme and uses one half for each area.
//! Trims, recovery and failing blocks are our additions.
//!
//! ## References
//! T. Shinohara: Flash Memory Card with Block Memory Address Arrangement. US Patent 5,905,993, 1999. H.-S. Yoo,
//! H. B. Chun, D. Y. Kim, S. Park: Performance Evaluation of a B+Tree on Various Page Sizes in NAND Flash
//! Memory. 2006.

use crate::parts::block_mapped::{self, BlockMapped};
use crate::parts::store::{EraseWhen, Found, Options, Store};
use crate::{FtlError, RamUse, Variant};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand};

/// The FTL.
pub type Mtbs = BlockMapped<Scheme>;

/// MTBS options.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Pages in a block's data area; the rest is its spare area. 0: half of them, the default, which the B+tree
    /// study calls optimal. The study's sectors are pages of 512 bytes. Of one paper: btree.
    pub data_pages: u32,
    /// Whether to place a request's pages together, so a multi-page host write stays whole; otherwise each page
    /// alone. Default true, the reading that fits the B+tree study. Of one paper: btree.
    pub whole_requests: bool,
    /// When to erase a block without valid pages. Default `on_free`.
    pub erase_when: EraseWhen,
    /// Blocks of the device kept free for merges; at least 1. With 1, a program failure or a torn page during a
    /// merge may leave no room; the default, 2, is safe.
    pub reserve_blocks: u32,
    /// Whether a flush makes trims survive a power cut. This costs a note page per trimmed segment of the
    /// address space, and at least one block for the notes. Default true.
    pub durable_trim: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data_pages: 0,
            whole_requests: true,
            erase_when: EraseWhen::OnFree,
            reserve_blocks: 2,
            durable_trim: true,
        }
    }
}

/// MTBS's tables.
#[derive(Debug)]
pub struct Scheme {
    /// Each logical block's block.
    map: Vec<BlockId>,
    data_pages: u32,
    whole_requests: bool,
}

impl Scheme {
    /// Whether a page goes to its place in the data area; a chip without gaps pads a gap below it.
    fn goes_home(&self, store: &Store, at: Lpn) -> bool {
        let (group, place) = store.split(at);
        !store.lookup(at).is_some() && store.reaches(self.map[group as usize], place)
    }

    /// The first free page in the spare area.
    fn next_spare(&self, store: &Store, group: u32) -> u32 {
        store.high_water(self.map[group as usize]).max(self.data_pages)
    }

    fn open<N: Nand>(&mut self, store: &mut Store, nand: &mut N, group: u32) -> Result<(), FtlError> {
        if !store.has_room() {
            return Err(store.no_block_left());
        }
        self.map[group as usize] = store.open(nand, BlockId::NONE)?;
        Ok(())
    }

    /// Gathers a logical block, with the host's pending pages, in a new block.
    fn renew<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        cause: Cause,
        group: u32,
        pending: Option<(Lpn, &[N::Buf])>,
    ) -> Result<(), FtlError> {
        let old = self.map[group as usize];
        scoped(nand, cause, |nand| {
            self.map[group as usize] = store.gather(nand, group, old, pending)?;
            store.release(nand, old)
        })
    }

    /// Writes a page; the block has room for it unless a program fails there.
    fn put<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let (group, place) = store.split(at);
        let place = if self.goes_home(store, at) { place } else { self.next_spare(store, group) };
        let is_left = place < store.geometry().pages_per_block();
        if is_left && store.put(nand, at, (self.map[group as usize], place), page)? {
            return Ok(());
        }
        self.renew(store, nand, Cause::BadBlock, group, Some((at, std::slice::from_ref(page))))
    }

    /// Writes pages in one logical block.
    fn write_in_group<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        first: Lpn,
        pages: &[N::Buf],
    ) -> Result<(), FtlError> {
        let (group, _) = store.split(first);
        let run = first.0..first.0 + pages.len() as u32;
        if !self.map[group as usize].is_some() {
            self.open(store, nand, group)?;
        }
        let pages_per_block = store.geometry().pages_per_block();
        let elsewhere = run.clone().filter(|&at| !self.goes_home(store, Lpn(at))).count() as u32;
        if elsewhere <= pages_per_block - self.next_spare(store, group) {
            // In ascending order the data area takes only pages after its last one, and closes with the first
            // page of the spare area: so these pages go first.
            let late = run.take_while(|&at| !self.goes_home(store, Lpn(at))).count();
            for index in (late..pages.len()).chain(0..late) {
                self.put(store, nand, Lpn(first.0 + index as u32), &pages[index])?;
            }
            return Ok(());
        }
        store.events.full_merges += 1;
        self.renew(store, nand, Cause::FullMerge, group, Some((first, pages)))
    }
}

impl block_mapped::Scheme for Scheme {
    type Config = Config;
    const NAME: &'static str = "mtbs";
    const SURVIVES_UNSTABLE_PAGES: bool = true;

    fn variants() -> Vec<Variant<Config>> {
        let usual = Config::default;
        vec![
            Variant::safe("data_3", Config { data_pages: 3, ..usual() }),
            Variant::safe("page_by_page", Config { whole_requests: false, ..usual() }),
            Variant::safe("on_alloc", Config { erase_when: EraseWhen::OnAlloc, ..usual() }),
            Variant::tight("reserve_1", Config { reserve_blocks: 1, ..usual() }),
            Variant::safe("forget_trims", Config { durable_trim: false, ..usual() }),
        ]
    }

    block_mapped::common_options!();

    fn options(config: &Config, geometry: &Geometry) -> Result<Options, FtlError> {
        let pages = geometry.pages_per_block();
        if config.data_pages >= pages {
            return Err(FtlError::Config(format!(
                "ftl.mtbs.data_pages = {} cannot work: a block of this device has {pages} pages, and at least one of \
                 them is for what is written again; expected 1 to {}, or 0 for one half",
                config.data_pages,
                pages - 1
            )));
        }
        let span = if config.data_pages == 0 { pages / 2 } else { config.data_pages };
        Ok(Options { span, extra_blocks: 0, ..Self::common(config, geometry) })
    }

    fn adopt<N: Nand>(store: &mut Store, _: &mut N, found: &[Found], config: &Config) -> Result<Self, FtlError> {
        let data_pages = Self::options(config, store.geometry())?.span;
        let mut map = vec![BlockId::NONE; store.groups() as usize];
        for found in found {
            let group = store.sole_group(found, Self::NAME)?;
            let misplaced = |&&(place, at): &&(u32, Lpn)| {
                let is_newest = store.lookup(at) == store.geometry().page(found.block, place);
                is_newest && place < data_pages && store.split(at).1 != place
            };
            if let Some((_, at)) = found.pages.iter().find(misplaced) {
                return Err(FtlError::Config(format!(
                    "logical page {at} lies out of its place in the data area of block {}: the device was used by \
                     another FTL or with another ftl.mtbs.data_pages",
                    found.block
                )));
            }
            if map[group as usize].is_some() {
                return Err(store.foreign(Self::NAME, group));
            }
            map[group as usize] = found.block;
        }
        Ok(Self { map, data_pages, whole_requests: config.whole_requests })
    }

    #[inline]
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        self.write_in_group(store, nand, at, std::slice::from_ref(page))
    }

    fn write_run<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        first: Lpn,
        pages: &[N::Buf],
    ) -> Result<(), FtlError> {
        let (mut at, mut left) = (first, pages);
        while !left.is_empty() {
            let rest = store.pages_of(store.split(at).0).end - at.0;
            let length = if self.whole_requests { left.len().min(rest as usize) } else { 1 };
            let (run, behind) = left.split_at(length);
            self.write_in_group(store, nand, at, run)?;
            (at, left) = (Lpn(at.0 + length as u32), behind);
        }
        Ok(())
    }

    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError> {
        let group = self.map.iter().position(|&other| other == block).expect("a failing block is in use");
        self.renew(store, nand, Cause::BadBlock, group as u32, None)
    }

    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId> {
        if !store.may_drop(1) {
            return Vec::new();
        }
        vec![std::mem::replace(&mut self.map[group as usize], BlockId::NONE)]
    }

    fn blocks(&self) -> Vec<BlockId> {
        self.map.iter().copied().filter(|block| block.is_some()).collect()
    }

    fn ram(&self, store: &Store, ram: &mut RamUse) {
        ram.sram.insert("block_map", 4 * self.map.len() as u64);
        // For each logical block, each spare-area page's offset.
        let spare = u64::from(store.geometry().pages_per_block() - self.data_pages);
        ram.sram.insert("spare_map", 2 * spare * self.map.len() as u64);
    }

    fn check(&self, store: &Store) {
        for (group, &block) in (0..).zip(&self.map) {
            store.check_group(group, BlockId::NONE, &[block]);
            for at in store.pages_of(group).map(Lpn).filter(|&at| store.lookup(at).is_some()) {
                let place = store.geometry().page_in_block(store.lookup(at));
                let at_home = place == store.split(at).1;
                assert!(
                    at_home || place >= self.data_pages,
                    "logical page {at} lies out of its place in the data area"
                );
            }
        }
    }
}
