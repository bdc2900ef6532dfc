//! Parts shared by the file systems on bare flash, beyond [`FileSystem`].
//!
//! The value is RAM, `drop` is the power cut, and `mount` is the only constructor. The collector,
//! the tags, paths, open files and chunked files are shared (`parts/`).
//!
//! Four rules keep flash and memory consistent:
//! * Collection writes the tags of a moved page from the object in memory. So an object changes
//!   only after the collector was called, right before its header is written.
//! * The tags of a copy claim no more bytes than the tags of the original page.
//! * In YAFFS2, a block with a header that shortened a file is collected after all older blocks
//!   with void pages.
//! * In MiNV, a change of several NVRAM words is in the intent record before the first word is
//!   stored.

use crate::parts::collector::Counts;
use crate::{FileSystem, FsError};
use nandlab_nand::nvm::Nvram;
use nandlab_nand::{Geometry, Nand, Rules};

/// A block's use by the file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockUse {
    /// Live pages, which collection would copy.
    pub live: u32,
    /// True if the block holds no live or void page and is neither open nor bad.
    pub empty: bool,
}

/// Options for a file system on bare flash.
pub trait FlashOptions {
    /// Checks whether the file system can use this device.
    ///
    /// # Errors
    /// [`FsError::Option`].
    fn check_device(&self, geometry: &Geometry, rules: &Rules) -> Result<(), FsError>;

    /// Bytes of NVRAM it needs with this device.
    fn nvram_bytes(&self, geometry: &Geometry) -> u64;

    /// An empty NVRAM of that size.
    fn nvram(&self, geometry: &Geometry) -> Nvram;

    /// Mounts the contents of flash and NVRAM; an erased device gets an empty file system.
    ///
    /// # Errors
    /// [`FsError::Option`] and [`FsError::Damaged`]; device errors.
    fn mount<N: Nand + Send + 'static>(&self, nand: N, nvram: Nvram) -> Result<Box<dyn FlashFs<N>>, FsError>;
}

/// A mounted file system on bare flash, generic over the device.
///
/// It waits for each flash operation, so its run time is the flash time plus the NVRAM time.
pub trait FlashFs<N: Nand>: FileSystem + Send {
    /// The file system.
    fn files(&mut self) -> &mut dyn FileSystem;
    /// The flash.
    fn nand(&self) -> &N;
    /// The flash.
    fn nand_mut(&mut self) -> &mut N;
    /// The NVRAM, if there is one.
    fn nvram(&self) -> Option<&Nvram>;
    /// Garbage collection counts since the mount.
    fn collections(&self) -> Counts;
    /// What the mount did not find as it was, in sentences.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
    /// Blocks retired since the mount.
    fn retired_blocks(&self) -> u64;
    /// Each block's use; reading it is not charged.
    fn blocks(&self) -> Vec<BlockUse>;
    /// Derives every invariant anew from flash and NVRAM.
    ///
    /// # Panics
    /// With the invariant that broke, or if the device fails.
    fn check(&mut self);
    /// Mounts again, if the flash is not all of its state; `None`: [`Self::into_devices`] and a mount do so.
    fn mount_again(&mut self) -> Option<Result<(), FsError>> {
        None
    }
    /// Flash and NVRAM without the file system: a power cut.
    fn into_devices(self: Box<Self>) -> (N, Nvram);
}

/// Refuses a device with pairs of pages, for a sync completes no pair, and one with unstable pages, for a mount reads a page once.
pub(crate) fn check_rules(rules: &Rules) -> Result<(), FsError> {
    if rules.pair_distance > 0 {
        let why = "a power cut during the program of an upper page would destroy synced data in its lower page; take ftl.page \
                   under a file system, or a device without pairs";
        return Err(FsError::option("device.rules.pair_distance", &rules.pair_distance, why.to_owned()));
    }
    if rules.unstable_pages {
        let why = "a page whose program was cut would be trusted after one good read; take ftl.page under a file system, or a \
                   device without unstable pages";
        return Err(FsError::option("device.rules.unstable_pages", &true, why.to_owned()));
    }
    Ok(())
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
