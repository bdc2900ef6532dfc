//! Parts shared by the file systems on bare flash: garbage collection, tags, paths, files by
//! chunks.

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

/// Converts a flash error for the caller.
pub(crate) fn failed(geometry: &Geometry, error: NandError) -> FsError {
    FsError::Device(match error {
        NandError::PowerLost => Error::PowerLost,
        NandError::Uncorrectable(page) => {
            Error::Unreadable { sector: u64::from(page.0) * u64::from(geometry.sectors_per_page()) }
        }
        other => Error::WornOut(other.to_string()),
    })
}

/// Converts a power loss during an NVRAM access.
pub(crate) fn dark(_: PowerLost) -> FsError {
    FsError::Device(Error::PowerLost)
}

/// Waits until the chip is ready, like the driver does: acknowledged data is on flash, and
/// operations do not overlap.
pub(crate) fn wait<N: Nand>(nand: &mut N) {
    nand.ctx().fence();
}
