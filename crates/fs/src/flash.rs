//! File systems on bare flash: what they share beyond [`FileSystem`].

use crate::minv::{self, Minv};
use crate::parts::collector::Counts;
use crate::yaffs::{self, Yaffs};
use crate::{FileSystem, FsError};
use nandlab_nand::nvm::{NvmCost, Nvram};
use nandlab_nand::{Geometry, Nand, Rules};

/// What a file system made of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockUse {
    /// Pages that collection would have to copy.
    pub live: u32,
    /// Neither a page in use nor a void one is in it, nor is it open or bad.
    pub empty: bool,
}

/// Options of a file system on bare flash.
pub trait FlashOptions {
    /// Checks whether the file system can live on such a device.
    ///
    /// # Errors
    /// [`FsError::Option`].
    fn check_device(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FsError>;

    /// Bytes of NVRAM that it needs on such a device.
    fn nvram_bytes(&self, geometry: &Geometry) -> u64;

    /// That NVRAM, empty.
    fn nvram(&self, geometry: &Geometry) -> Nvram;

    /// Mounts what is on flash and in NVRAM; an erased device gets an empty file system.
    ///
    /// # Errors
    /// [`FsError::Option`] and [`FsError::Damaged`]; what the devices fail with.
    fn mount<N: Nand + 'static>(&self, nand: N, nvram: Nvram) -> Result<Box<dyn FlashFs<N>>, FsError>;
}

/// A mounted file system on bare flash, generic over the device.
///
/// It waits for each operation of the flash, so the time it takes is that of the flash and that of the NVRAM together.
pub trait FlashFs<N: Nand>: FileSystem {
    /// The file system.
    fn files(&mut self) -> &mut dyn FileSystem;
    /// The flash.
    fn nand(&self) -> &N;
    /// The flash.
    fn nand_mut(&mut self) -> &mut N;
    /// The NVRAM, where there is one.
    fn nvram(&self) -> Option<&Nvram>;
    /// What garbage collection did since the mount.
    fn collections(&self) -> Counts;
    /// Blocks that were retired since the mount.
    fn retired_blocks(&self) -> u64;
    /// What became of each block; looking at it costs nothing.
    fn blocks(&self) -> Vec<BlockUse>;
    /// Flash and NVRAM without the file system: a power cut.
    fn into_devices(self: Box<Self>) -> (N, Nvram);
}

/// Refuses a device with too few blocks for the reserve.
pub(crate) fn check_blocks(geometry: &Geometry, reserved_blocks: u32) -> Result<(), FsError> {
    let needed = reserved_blocks.saturating_add(2);
    if geometry.blocks() < needed {
        let why = format!("the device has {} blocks, and the reserve and files need {needed}", geometry.blocks());
        return Err(FsError::option("gc.reserved_blocks", &reserved_blocks, why));
    }
    Ok(())
}

/// An NVRAM of no bytes.
fn no_nvram() -> Nvram {
    Nvram::new(0, NvmCost::default())
}

impl FlashOptions for yaffs::Config {
    fn check_device(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FsError> {
        yaffs::Config::check_device(self, geometry, rules)
    }

    fn nvram_bytes(&self, _: &Geometry) -> u64 {
        0
    }

    fn nvram(&self, _: &Geometry) -> Nvram {
        no_nvram()
    }

    fn mount<N: Nand + 'static>(&self, nand: N, _: Nvram) -> Result<Box<dyn FlashFs<N>>, FsError> {
        Ok(Box::new(Yaffs::mount(nand, self)?))
    }
}

impl<N: Nand> FlashFs<N> for Yaffs<N> {
    fn files(&mut self) -> &mut dyn FileSystem {
        self
    }

    fn nand(&self) -> &N {
        self.nand()
    }

    fn nand_mut(&mut self) -> &mut N {
        self.nand_mut()
    }

    fn nvram(&self) -> Option<&Nvram> {
        None
    }

    fn collections(&self) -> Counts {
        self.collections()
    }

    fn retired_blocks(&self) -> u64 {
        self.retired_blocks()
    }

    fn blocks(&self) -> Vec<BlockUse> {
        self.block_uses()
    }

    fn into_devices(self: Box<Self>) -> (N, Nvram) {
        (self.into_nand(), no_nvram())
    }
}

impl FlashOptions for minv::Config {
    fn check_device(&self, geometry: &Geometry, _: &Rules) -> Result<(), FsError> {
        minv::Config::check_device(self, geometry)
    }

    fn nvram_bytes(&self, geometry: &Geometry) -> u64 {
        minv::Config::nvram_bytes(self, geometry)
    }

    fn nvram(&self, geometry: &Geometry) -> Nvram {
        Nvram::new(self.nvram_bytes(geometry), self.nvram.cost())
    }

    fn mount<N: Nand + 'static>(&self, nand: N, nvram: Nvram) -> Result<Box<dyn FlashFs<N>>, FsError> {
        Ok(Box::new(Minv::mount(nand, nvram, self)?))
    }
}

impl<N: Nand> FlashFs<N> for Minv<N, Nvram> {
    fn files(&mut self) -> &mut dyn FileSystem {
        self
    }

    fn nand(&self) -> &N {
        self.nand()
    }

    fn nand_mut(&mut self) -> &mut N {
        self.nand_mut()
    }

    fn nvram(&self) -> Option<&Nvram> {
        Some(self.nvm())
    }

    fn collections(&self) -> Counts {
        self.collections()
    }

    fn retired_blocks(&self) -> u64 {
        self.retired_blocks()
    }

    fn blocks(&self) -> Vec<BlockUse> {
        self.block_uses()
    }

    fn into_devices(self: Box<Self>) -> (N, Nvram) {
        Self::into_devices(*self)
    }
}
