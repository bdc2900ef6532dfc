//! Erases that come no earlier than what they destroy may go.

use crate::FtlError;
use nandlab_nand::{BlockId, Nand, NandError, Time};

/// Erases a block once what took the place of its contents, `replaced` by then, is on flash; false where the erase
/// failed.
pub(crate) fn erase_behind<N: Nand>(nand: &mut N, block: BlockId, replaced: Time) -> Result<bool, FtlError> {
    let before = nand.ctx().fence_at(replaced);
    let erased = nand.erase(block);
    nand.ctx().set_ready(before);
    match erased {
        Ok(_) => Ok(true),
        Err(NandError::EraseFailed(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
