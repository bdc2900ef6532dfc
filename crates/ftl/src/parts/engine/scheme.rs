//! A page-mapped FTL's own decisions.
//!
//! ## What a scheme must have
//! `Config`, `variants`, `max_logical_pages`, `mount`, `write`, `read`, `trim`, `prefetch`, `logical_pages`, `ram` and `check`.
//! The defaults suit a map without state of its own on flash. A map in memory implements [`super::Noted`], too: it writes,
//! unmaps and notes pages.
//!
//! | The map has an entry for | Constants and methods | Example |
//! |---|---|---|
//! | each page | `FOLLOWS`: the engine copies a page, `follow` maps the copy | `page.rs` |
//! | several pages, or parts of pages | no `FOLLOWS`: `relocate` copies by [`Pages::copy`], maps the copies, clears the old valid bits, sets the new ones by [`Pages::mapped`] | `sector_log/` |
//!
//! ## Writing
//! [`Pages::program`] returns the page's place, known only afterwards: a full block, a failed program or a weak die moves it
//! to another block. Before, an older page pays for its collection, which may move any mapped page. So look up the old
//! copy after the program, as [`super::Noted::map_stored`] does.
//!
//! ## A mount
//! Options and capacity are checked (`error::refuse_capacity`), then come a fence and the scans: `scan`, or
//! `scan_ascending` if sequence numbers of moved pages may be older. `refuse_foreign` refuses pages of other FTLs; a page with another meaning than a page map's needs a
//! [`Kind`] or an `aux` bit of its own. `Newest` finds the newest copies, [`Pages::new`] takes what the scheme [needs](super::needs),
//! and [`Pages::adopt`] sorts the blocks. A scheme without options for the engine takes `engine::Config::plain`, and
//! `room::usable_with` for its capacity.

use super::Pages;
use crate::future::Future;
use crate::parts::blocks::table::BlockTable;
use crate::parts::noted_map::Holds;
use crate::{Events, Facts, FtlError, OwnLoops, RamUse, Variant};
use nandlab_block::Op;
use nandlab_nand::{BlockId, Geometry, Kind, Lpn, Nand, Ppa, Rules, SectorMask};

/// A page-mapped FTL's scheme: its map, and how it moves pages.
pub trait Scheme: Sized + Send + std::fmt::Debug + 'static {
    /// Options in the `[ftl.<name>]` table.
    type Config: Clone + std::fmt::Debug + Send + Sync + 'static;

    /// As [`Ftl::PAGED_VARIANT`].
    const PAGED_VARIANT: Option<&'static str> = None;

    /// As [`Ftl::PADS_PAIRS`]: the scheme's pages are all at the engine's frontiers.
    const PADS_PAIRS: bool = false;

    /// As [`Ftl::OWN_LOOPS`].
    const OWN_LOOPS: OwnLoops = OwnLoops::COUNTING;

    /// As [`Ftl::variants`].
    fn variants() -> Vec<Variant<Self::Config>>;

    /// As [`Ftl::notices`].
    ///
    /// # Errors
    /// As there.
    fn notices(_config: &Self::Config, _geometry: &Geometry, _logical_pages: u32) -> Result<Vec<String>, FtlError> {
        Ok(Vec::new())
    }

    /// As [`Ftl::set_seed`].
    fn set_seed(_config: &mut Self::Config, _seed: u64) {}

    /// As [`Ftl::future_mut`].
    fn future_mut(_config: &mut Self::Config) -> Option<&mut Future> {
        None
    }

    /// As [`Ftl::facts`].
    fn facts(_config: &Self::Config) -> Facts {
        Facts::default()
    }

    /// As [`Ftl::remedy`].
    fn remedy(_geometry: &Geometry, _rules: &Rules, _config: &Self::Config, _logical_pages: u32) -> Option<String> {
        None
    }

    /// As [`Ftl::max_logical_pages`].
    ///
    /// # Errors
    /// As there.
    fn max_logical_pages(config: &Self::Config, geometry: &Geometry, rules: &Rules) -> Result<u32, FtlError>;

    /// As [`Ftl::mount`].
    ///
    /// # Errors
    /// As there.
    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Self::Config) -> Result<(Pages, Self), FtlError>;

    /// Free blocks of a die that only the scheme itself may take.
    #[inline]
    fn claim_in(&self, _die: u32) -> u32 {
        0
    }

    /// Called when the dies in `works` begin to share the scheme's blocks equally; the others take no pages.
    fn share_dies(&mut self, _works: &[bool]) {}

    /// Most pages that [`Self::emptied`] may program at frontiers.
    fn most_pending(&self, _reserve_blocks: u32, _pages_per_block: u32) -> u32 {
        0
    }

    /// As [`Ftl::write`].
    ///
    /// # Errors
    /// As there.
    fn write<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &N::Buf,
    ) -> Result<(), FtlError>;

    /// As [`Ftl::write_run`], on a device with planes that are filled side by side.
    ///
    /// # Errors
    /// As there.
    fn write_over_planes<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        first: Lpn,
        run: &[N::Buf],
    ) -> Result<(), FtlError> {
        let full = pages.geometry.full_mask();
        (first.0..).zip(run).try_for_each(|(at, page)| self.write(pages, nand, Lpn(at), full, page))
    }

    /// Whether the scheme has [`Self::write_batch`].
    const TAKES_BATCHES: bool = false;

    /// As [`Ftl::write_batch`].
    ///
    /// # Errors
    /// As there.
    fn write_batch<N: Nand>(
        &mut self,
        _pages: &mut Pages,
        _nand: &mut N,
        _batch: &[Lpn],
    ) -> Result<(), (usize, FtlError)> {
        unreachable!("this scheme takes a page at a time")
    }

    /// As [`Ftl::read`].
    ///
    /// # Errors
    /// As there.
    fn read<N: Nand>(
        &mut self,
        pages: &mut Pages,
        nand: &mut N,
        at: Lpn,
        sectors: SectorMask,
        page: &mut N::Buf,
    ) -> Result<(), FtlError>;

    /// Unmaps a whole page.
    ///
    /// # Errors
    /// As [`Ftl::trim`].
    fn trim<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, at: Lpn) -> Result<(), FtlError>;

    /// Writes whatever a mount must find, and retires the scheme's own failed blocks.
    ///
    /// # Errors
    /// As [`Ftl::flush`].
    fn flush<N: Nand>(&mut self, _pages: &mut Pages, _nand: &mut N) -> Result<(), FtlError> {
        Ok(())
    }

    /// Called before a block is opened for the host, and before victims are emptied for it: a scheme may make room in a way
    /// of its own.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn make_room<N: Nand>(&mut self, _pages: &mut Pages, _nand: &mut N) -> Result<(), FtlError> {
        Ok(())
    }

    /// The error for a die without free blocks, if the scheme never collects.
    fn full(&self, _die: usize) -> Option<FtlError> {
        None
    }

    /// Programs the pages without data at a full block's end; false if a program failed.
    ///
    /// # Errors
    /// [`FtlError::Nand`].
    fn end_block<N: Nand>(&mut self, _pages: &mut Pages, _nand: &mut N, _block: BlockId) -> Result<bool, FtlError> {
        Ok(true)
    }

    /// Called when a block is to be emptied: a scheme may have to read the block's contents first.
    ///
    /// # Errors
    /// [`FtlError::Nand`].
    #[inline]
    fn chosen<N: Nand>(&mut self, _pages: &Pages, _nand: &mut N, _block: BlockId) -> Result<(), FtlError> {
        Ok(())
    }

    /// Whether the room in open blocks counts as reserve. A mount closes these blocks, so the reserve may not be whole after one.
    const RESERVES_OPEN_ROOM: bool = false;

    /// Whether the engine copies a victim's pages; [`Self::follow`] hears of each. Otherwise [`Self::relocate`] moves them.
    const FOLLOWS: bool = true;

    /// Whether copies may be carried out together and followed later, on a device that lets them wait. Then nothing in the
    /// scheme may depend on the time of [`Self::follow`].
    const WAITS: bool = false;

    /// Maps the copy `to` in place of `from`, unless the page has been written or trimmed since: then `from` is no longer
    /// valid in `table`. Tells whether it did.
    fn follow(&mut self, _table: &BlockTable, _page: (Kind, Lpn), _copy: (Ppa, Ppa)) -> bool {
        unreachable!("this scheme moves its pages itself")
    }

    /// An unreadable valid page's contents.
    ///
    /// # Errors
    /// [`FtlError::Nand`] if the map cannot be read.
    fn holds_lost<N: Nand>(&mut self, _pages: &mut Pages, _nand: &mut N, _from: Ppa) -> Result<Holds, FtlError> {
        unreachable!("this scheme moves its pages itself")
    }

    /// Writes the note of `segment` again, among the pages moved on `die`.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn renew_note<N: Nand>(
        &mut self,
        _pages: &mut Pages,
        _nand: &mut N,
        _segment: u32,
        _die: u32,
    ) -> Result<(), FtlError> {
        unreachable!("this scheme has no notes")
    }

    /// Moves a valid page out of a victim on `die`, and maps it. The call counts as one page in the pay of a host page.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn relocate<N: Nand>(&mut self, _pages: &mut Pages, _nand: &mut N, _from: Ppa, _die: u32) -> Result<(), FtlError> {
        unreachable!("the engine copies this scheme's pages")
    }

    /// Called before a victim without valid pages on `die` is erased. A trimmed page's newest copy may lie there and
    /// older ones elsewhere: flash must record the trim before the newest copy goes, or a mount would bring back an
    /// older one.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn emptied<N: Nand>(&mut self, _pages: &mut Pages, _nand: &mut N, _die: u32) -> Result<(), FtlError> {
        Ok(())
    }

    /// As [`Ftl::look_ups`].
    fn look_ups(&self, _pages: &Pages, _op: Op, _at: Lpn, _sectors: SectorMask) -> u64 {
        1
    }

    /// As [`Ftl::expect`].
    #[inline]
    fn expect(&mut self, _first: Lpn, _pages: u32) {}

    /// As [`Ftl::prefetch`].
    fn prefetch(&self, at: Lpn);

    /// As [`Ftl::prefetch_old`].
    fn prefetch_old(&self, _table: &BlockTable, _at: Lpn) {}

    /// As [`Ftl::logical_pages`].
    fn logical_pages(&self) -> u32;

    /// As [`Ftl::ram`].
    fn ram(&self, pages: &Pages) -> RamUse;

    /// As [`Ftl::events`]; `of_pages` are the data blocks' events.
    fn events(&self, _pages: &Pages, of_pages: Events) -> Events {
        of_pages
    }

    /// Valid pages in one of the scheme's own blocks; `None` for other blocks.
    fn valid_in(&self, _block: BlockId) -> Option<u32> {
        None
    }

    /// As [`Ftl::log_blocks`].
    fn log_blocks(&self) -> Vec<BlockId> {
        Vec::new()
    }

    /// As [`Ftl::check`], for the scheme's own state.
    fn check<N: Nand>(&self, pages: &Pages, nand: &mut N);
}
