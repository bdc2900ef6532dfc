//! What the file systems on bare flash share: garbage collection, tags, what paths mean, files by their chunks.

pub(crate) mod chunks;
pub mod collector;
pub(crate) mod driver;
pub mod tags;
pub(crate) mod tree;
pub(crate) mod volume;

use crate::FsError;
use nandlab_block::Error;
use nandlab_nand::nvm::PowerLost;
use nandlab_nand::{Geometry, Nand, NandError};

/// An error of the flash as the caller sees it.
pub(crate) fn failed(geometry: &Geometry, error: NandError) -> FsError {
    FsError::Device(match error {
        NandError::PowerLost => Error::PowerLost,
        NandError::Uncorrectable(page) => {
            Error::Unreadable { sector: u64::from(page.0) * u64::from(geometry.sectors_per_page()) }
        }
        other => Error::WornOut(other.to_string()),
    })
}

/// Power went in the NVRAM.
pub(crate) fn dark(_: PowerLost) -> FsError {
    FsError::Device(Error::PowerLost)
}

/// The driver waits until the chip is ready: what was answered is on the flash, and operations do not overlap.
pub(crate) fn wait<N: Nand>(nand: &mut N) {
    nand.ctx().fence();
}
