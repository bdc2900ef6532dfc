//! File systems on bare flash: what they share beyond [`FileSystem`].
//!
//! The value is RAM, `drop` is the power cut, `mount` is the only constructor. They share the collector, the tags, paths,
//! open files and files by chunks (`parts/`). Collection tags what it moves as the object is in memory. So an object
//! changes only after the collector was asked, right before its header is written. A copy claims no more bytes than the
//! tags of the page did. In YAFFS2 a block with a header that cut a file goes after all older blocks with void pages. In
//! MiNV a change of several words of NVRAM is in the intent record before the first word is stored.

use crate::parts::collector::Counts;
use crate::{FileSystem, FsError};
use nandlab_nand::nvm::Nvram;
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
    fn mount<N: Nand + Send + 'static>(&self, nand: N, nvram: Nvram) -> Result<Box<dyn FlashFs<N>>, FsError>;
}

/// A mounted file system on bare flash, generic over the device.
///
/// It waits for each operation of the flash, so the time it takes is that of the flash and that of the NVRAM together.
pub trait FlashFs<N: Nand>: FileSystem + Send {
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
