//! A page-mapped FTL's own decisions.

use super::{Pages, Quota};
use crate::{Events, Facts, FtlError, RamUse, Variant};
use nandlab_block::Op;
use nandlab_nand::{BlockId, Geometry, Lpn, Nand, Ppa, SectorMask};

/// A page-mapped FTL's scheme: its map, and how it moves pages.
pub trait Scheme: Sized + Send + std::fmt::Debug + 'static {
    /// Options in the `[ftl.<name>]` table.
    type Config: Clone + std::fmt::Debug + Send + Sync + 'static;

    /// As [`Ftl::PAGED_VARIANT`].
    const PAGED_VARIANT: Option<&'static str> = None;

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

    /// As [`Ftl::facts`].
    fn facts(_config: &Self::Config) -> Facts {
        Facts::default()
    }

    /// As [`Ftl::max_logical_pages`].
    ///
    /// # Errors
    /// As there.
    fn max_logical_pages(config: &Self::Config, geometry: &Geometry) -> Result<u32, FtlError>;

    /// As [`Ftl::mount`].
    ///
    /// # Errors
    /// As there.
    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Self::Config) -> Result<(Pages, Self), FtlError>;

    /// The scheme's own blocks, at most.
    fn quota(&self) -> Quota {
        Quota::default()
    }

    /// Free blocks of a die that only the scheme itself may take.
    fn claim_in(&self, _die: u32) -> u32 {
        0
    }

    /// Called when the dies in `works` begin to share the scheme's blocks equally; the others take no pages.
    fn share_dies(&mut self, _works: &[bool]) {}

    /// Pages that must find room.
    fn needed(&self) -> u32;

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

    /// Writes whatever a mount must find, and retires failed blocks.
    ///
    /// # Errors
    /// As [`Ftl::flush`].
    fn flush<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N) -> Result<(), FtlError>;

    /// Called before a block is opened for the host, and before victims are emptied for it: a scheme may make room in a way
    /// of its own.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn make_room<N: Nand>(&mut self, _pages: &mut Pages, _nand: &mut N) -> Result<(), FtlError> {
        Ok(())
    }

    /// Moves a valid page out of a victim on `die`.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn relocate<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, from: Ppa, die: u32) -> Result<(), FtlError>;

    /// Called before a victim without valid pages on `die` is erased. A trimmed page's newest copy may lie there and
    /// older ones elsewhere: flash must record the trim before the newest copy goes, or a mount would bring back an
    /// older one.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn emptied<N: Nand>(&mut self, pages: &mut Pages, nand: &mut N, die: u32) -> Result<(), FtlError>;

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
    fn prefetch_old(&self, _at: Lpn) {}

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
