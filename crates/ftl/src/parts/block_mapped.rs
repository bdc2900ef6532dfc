//! A block-mapped FTL: a scheme over a [`Store`].

use crate::parts::partial::{merged, padded, read_mapped};
use crate::parts::store::{self, Found, Options, Store};
use crate::{BlockState, Events, Facts, Ftl, FtlError, OwnLoops, RamUse, Recycling, Trims, Uses, Variant};
use nandlab_nand::{scoped, BlockId, Cause, Geometry, Lpn, Nand, Rules, SectorMask};

/// A block-mapped FTL's scheme: it decides which block takes a page, and when to merge.
pub trait Scheme: Sized + Send + std::fmt::Debug + 'static {
    /// Options in the `[ftl.<name>]` table.
    type Config: Clone + std::fmt::Debug + Send + Sync + 'static;
    /// Table name.
    const NAME: &'static str;

    /// As [`Ftl::OWN_LOOPS`].
    const OWN_LOOPS: OwnLoops = OwnLoops::COUNTING;

    /// As [`Ftl::SURVIVES_UNSTABLE_PAGES`].
    const SURVIVES_UNSTABLE_PAGES: bool = false;

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

    /// Whether a flushed trim survives a mount.
    fn is_trim_durable(config: &Self::Config) -> bool;

    /// Store options for the common case: a logical block is as long as a block, with one log block.
    fn common(config: &Self::Config, geometry: &Geometry) -> Options;

    /// The scheme's store options.
    ///
    /// # Errors
    /// [`FtlError::Config`] if an option cannot work on this device.
    fn options(config: &Self::Config, geometry: &Geometry) -> Result<Options, FtlError> {
        Ok(Self::common(config, geometry))
    }

    /// Sorts the used blocks found by a mount, the oldest first.
    ///
    /// # Errors
    /// [`FtlError::Config`] if this scheme cannot have left the device in this state.
    fn adopt<N: Nand>(
        store: &mut Store,
        nand: &mut N,
        found: &[Found],
        config: &Self::Config,
    ) -> Result<Self, FtlError>;

    /// Stores a whole host page.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError>;

    /// Stores whole pages from one request, from `first` on.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn write_run<N: Nand>(
        &mut self,
        store: &mut Store,
        nand: &mut N,
        first: Lpn,
        pages: &[N::Buf],
    ) -> Result<(), FtlError> {
        (first.0..).zip(pages).try_for_each(|(at, page)| self.write(store, nand, Lpn(at), page))
    }

    /// Moves the remaining data elsewhere from a failed block, and releases the block.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError>;

    /// After a logical block's last page was trimmed: its blocks without other data, to be released.
    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId>;

    /// Blocks in use.
    fn blocks(&self) -> Vec<BlockId>;

    /// As [`Ftl::log_blocks`].
    fn log_blocks(&self) -> Vec<BlockId> {
        Vec::new()
    }

    /// As in [`Uses`].
    fn recyclings(&self) -> Vec<Recycling> {
        Vec::new()
    }

    /// Memory for the scheme's tables.
    fn ram(&self, store: &Store, ram: &mut RamUse);

    /// Checks the scheme's invariants.
    fn check(&self, store: &Store);
}

/// The [`Scheme`] methods for options common to all schemes.
macro_rules! common_options {
    () => {
        fn is_trim_durable(config: &Config) -> bool {
            config.durable_trim
        }

        fn common(config: &Config, geometry: &Geometry) -> $crate::parts::store::Options {
            $crate::parts::store::Options {
                span: geometry.pages_per_block(),
                reserve_blocks: config.reserve_blocks,
                extra_blocks: 1,
                durable_trim: config.durable_trim,
                erase_when: config.erase_when,
                map_update: $crate::parts::store::MapUpdate::Oob,
                scatters: false,
            }
        }
    };
}
pub(crate) use common_options;

/// A block-mapped FTL's RAM state.
#[derive(Debug)]
pub struct BlockMapped<S> {
    pub(crate) store: Store,
    pub(crate) scheme: S,
}

impl<S: Scheme> BlockMapped<S> {
    #[inline]
    fn write_whole<N: Nand>(&mut self, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        self.carry_out(nand, |store, scheme, nand| scheme.write(store, nand, at, page))
    }

    /// Carries out a write: restores the previous start bound afterwards, and retires a failed block.
    #[inline]
    fn carry_out<N: Nand>(
        &mut self,
        nand: &mut N,
        write: impl FnOnce(&mut Store, &mut S, &mut N) -> Result<(), FtlError>,
    ) -> Result<(), FtlError> {
        let before = nand.ctx().ready();
        let written = write(&mut self.store, &mut self.scheme, nand);
        nand.ctx().set_ready(before);
        written?;
        if self.store.failing().is_some() {
            self.retire_failing(nand)?;
        }
        Ok(())
    }

    #[cold]
    fn retire_failing<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        scoped(nand, Cause::BadBlock, |nand| {
            while let Some(block) = self.store.failing() {
                self.scheme.vacate(&mut self.store, nand, block)?;
                assert_ne!(self.store.failing(), Some(block), "block {block} failed and stays in use");
            }
            Ok(())
        })
    }
}

impl<S: Scheme> Ftl for BlockMapped<S> {
    type Config = S::Config;
    const OWN_LOOPS: OwnLoops = S::OWN_LOOPS;
    const SURVIVES_UNSTABLE_PAGES: bool = S::SURVIVES_UNSTABLE_PAGES;

    fn variants() -> Vec<Variant<S::Config>> {
        S::variants()
    }

    fn notices(config: &Self::Config, geometry: &Geometry, logical_pages: u32) -> Result<Vec<String>, FtlError> {
        S::notices(config, geometry, logical_pages)
    }

    fn set_seed(config: &mut Self::Config, seed: u64) {
        S::set_seed(config, seed);
    }

    fn facts(config: &Self::Config) -> Facts {
        Facts { trims: Trims::noted(S::is_trim_durable(config)), ..Facts::default() }
    }

    fn max_logical_pages(geometry: &Geometry, _: &Rules, config: &Self::Config) -> Result<u32, FtlError> {
        S::options(config, geometry)?.max_logical_pages(geometry, S::NAME)
    }

    fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Self::Config) -> Result<Self, FtlError> {
        let options = S::options(config, nand.geometry())?;
        let (mut store, found) = store::mount(nand, logical_pages, options, S::NAME)?;
        let scheme = S::adopt(&mut store, nand, &found, config)?;
        Ok(Self { store, scheme })
    }

    #[inline]
    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        let full = self.store.full_mask();
        if sectors == full {
            return self.write_whole(nand, at, page);
        }
        let from = self.store.lookup(at);
        if from.is_some() {
            let (whole, before) = merged(nand, from, sectors, page)?;
            let written = self.write_whole(nand, at, &whole);
            nand.ctx().set_ready(before);
            return written;
        }
        self.write_whole(nand, at, &padded(page, sectors, full))
    }

    fn write_run<N: Nand>(&mut self, nand: &mut N, first: Lpn, pages: &[N::Buf]) -> Result<(), FtlError> {
        self.carry_out(nand, |store, scheme, nand| scheme.write_run(store, nand, first, pages))
    }

    fn span(&self) -> u32 {
        self.store.span()
    }

    #[inline]
    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        read_mapped(nand, self.store.lookup(at), sectors, page)
    }

    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        if sectors != self.store.full_mask() || !self.store.lookup(at).is_some() {
            return Ok(());
        }
        self.store.trim(nand, at)?;
        let (group, _) = self.store.split(at);
        if self.store.mapped_in(group) > 0 {
            return Ok(());
        }
        scoped(nand, Cause::Trim, |nand| {
            for block in self.scheme.drop_group(&self.store, group) {
                self.store.release(nand, block)?;
            }
            Ok(())
        })
    }

    fn flush<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        self.store.write_notes(nand)?;
        if self.store.failing().is_some() {
            self.retire_failing(nand)?;
        }
        nand.ctx().fence();
        self.store.settled();
        let end = nand.ctx().horizon();
        nand.ctx().wait_until(end);
        Ok(())
    }

    #[inline]
    fn prefetch(&self, at: Lpn) {
        self.store.prefetch(at);
    }

    fn logical_pages(&self) -> u32 {
        self.store.logical_pages()
    }

    fn ram(&self) -> RamUse {
        let mut ram = RamUse::default();
        self.store.ram(&mut ram);
        self.scheme.ram(&self.store, &mut ram);
        ram
    }

    fn events(&self) -> Events {
        self.store.events()
    }

    fn uses(&self) -> Uses {
        Uses { recyclings: self.scheme.recyclings(), ..Uses::default() }
    }

    fn free_blocks(&self) -> u64 {
        self.store.keeper.count_all()
    }

    fn blocks(&self) -> Vec<BlockState> {
        self.store.blocks()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.scheme.log_blocks()
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        scoped(nand, Cause::Mount, |nand| {
            self.store.check(nand, &self.scheme.blocks());
            self.scheme.check(&self.store);
        });
    }
}
