//! An FTL that maps blocks: a scheme over a [`Store`].

use crate::parts::store::{self, Found, Options, Store};
use crate::{Events, Ftl, FtlError, RamUse};
use nandlab_block::Request;
use nandlab_nand::{
    scoped, BlockId, Cause, Geometry, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa, Rules, SectorMask,
};

/// What one FTL that maps blocks does otherwise than another: which block takes a page, and what is merged when.
pub trait Scheme: Sized + std::fmt::Debug {
    /// The options of the `[ftl.<name>]` table.
    type Config: Clone + std::fmt::Debug;
    /// The name of the table.
    const NAME: &'static str;

    /// The options that schemes have in common.
    ///
    /// # Errors
    /// [`FtlError::Config`] where an option cannot work on this device.
    fn options(config: &Self::Config, geometry: &Geometry) -> Result<Options, FtlError>;

    /// Sorts the blocks that a mount found in use, the oldest first.
    ///
    /// # Errors
    /// [`FtlError::Config`] where no device of this scheme looks like that.
    fn adopt<N: Nand>(
        store: &mut Store,
        nand: &mut N,
        found: &[Found],
        config: &Self::Config,
    ) -> Result<Self, FtlError>;

    /// Tells of a host request before its pages come one by one.
    fn begin(&mut self, _store: &Store, _request: &Request) {}

    /// Stores a whole page of the host.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn write<N: Nand>(&mut self, store: &mut Store, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError>;

    /// Moves what is left in a block that failed elsewhere, and releases it.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn vacate<N: Nand>(&mut self, store: &mut Store, nand: &mut N, block: BlockId) -> Result<(), FtlError>;

    /// The last page of a logical block was trimmed: its blocks that hold nothing else, to be released.
    fn drop_group(&mut self, store: &Store, group: u32) -> Vec<BlockId>;

    /// Ends what waits for more pages of a request.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    fn settle<N: Nand>(&mut self, _store: &mut Store, _nand: &mut N) -> Result<(), FtlError> {
        Ok(())
    }

    /// Blocks in use.
    fn blocks(&self) -> Vec<BlockId>;

    /// Memory for the tables of the scheme.
    fn ram(&self, store: &Store, ram: &mut RamUse);

    /// Derives the invariants of the scheme anew.
    fn check(&self, store: &Store);
}

/// The RAM state of an FTL that maps blocks.
#[derive(Debug)]
pub struct BlockMapped<S> {
    store: Store,
    scheme: S,
}

impl<S: Scheme> BlockMapped<S> {
    /// Reads the rest of a page that the host writes in part, merges and writes it.
    fn write_part<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Lpn,
        from: Ppa,
        sectors: SectorMask,
        page: &N::Buf,
    ) -> Result<(), FtlError> {
        let mut whole = N::Buf::zeroed(self.store.geometry().page_bytes());
        let read = scoped(nand, Cause::ReadModifyWrite, |nand| nand.read(from, &mut whole))?;
        refuse_lost(from, read)?;
        whole.merge(page, sectors);
        let end = nand.ctx().last();
        nand.ctx().after(end);
        self.write_whole(nand, at, &whole)
    }

    #[inline]
    fn write_whole<N: Nand>(&mut self, nand: &mut N, at: Lpn, page: &N::Buf) -> Result<(), FtlError> {
        let before = nand.ctx().ready();
        let written = self.scheme.write(&mut self.store, nand, at, page);
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

/// A page that stands for lost data reads as an error, never as other bytes.
#[inline]
fn refuse_lost(at: Ppa, oob: Oob) -> Result<(), FtlError> {
    if oob.kind == Kind::Lost {
        return Err(NandError::Uncorrectable(at).into());
    }
    Ok(())
}

impl<S: Scheme> Ftl for BlockMapped<S> {
    type Config = S::Config;

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
    fn begin<N: Nand>(&mut self, _: &mut N, request: &Request) {
        self.scheme.begin(&self.store, request);
    }

    #[inline]
    fn write<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &N::Buf) -> Result<(), FtlError> {
        let full = self.store.full_mask();
        if sectors == full {
            return self.write_whole(nand, at, page);
        }
        let from = self.store.lookup(at);
        if from.is_some() {
            let before = nand.ctx().ready();
            let written = self.write_part(nand, at, from, sectors, page);
            nand.ctx().set_ready(before);
            return written;
        }
        let mut padded = page.clone();
        padded.clear(SectorMask(full.0 & !sectors.0));
        self.write_whole(nand, at, &padded)
    }

    #[inline]
    fn read<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask, page: &mut N::Buf) -> Result<(), FtlError> {
        let from = self.store.lookup(at);
        if !from.is_some() {
            page.clear(sectors);
            return Ok(());
        }
        refuse_lost(from, nand.read(from, page)?)
    }

    fn trim<N: Nand>(&mut self, nand: &mut N, at: Lpn, sectors: SectorMask) -> Result<(), FtlError> {
        if sectors != self.store.full_mask() || !self.store.lookup(at).is_some() {
            return Ok(());
        }
        self.scheme.settle(&mut self.store, nand)?;
        self.store.trim(at);
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
        self.scheme.settle(&mut self.store, nand)?;
        self.store.write_notes(nand)?;
        if self.store.failing().is_some() {
            self.retire_failing(nand)?;
        }
        nand.ctx().fence();
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
        self.store.events
    }

    fn check<N: Nand>(&self, nand: &mut N) {
        scoped(nand, Cause::Mount, |nand| {
            self.store.check(nand, &self.scheme.blocks());
            self.scheme.check(&self.store);
        });
    }
}
