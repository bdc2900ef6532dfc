//! What the file systems on bare flash share: garbage collection, and what paths mean.

pub mod collector;
pub mod tags;
pub(crate) mod tree;

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

/// What can be put into `to`, by sectors where the device holds bytes, from the bytes of a file.
pub(crate) fn patch(page: Option<&mut [u8]>, at: usize, bytes: &[u8]) {
    if let Some(page) = page {
        page[at..at + bytes.len()].copy_from_slice(bytes);
    }
}
