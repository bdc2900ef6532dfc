//! What a mount keeps of pages that a power cut may have left unstable.
//!
//! On some chips ([`nandlab_nand::Rules::unstable_pages`]) a page whose program was cut may read well at one time and fail later.
//! Nothing on flash tells such a page from a good one. So a mount repeats a failing read, takes the page if one read succeeds, and
//! writes its contents again before it answers anything. A flush follows, so they are durable by then.
//!
//! Which pages: [`crate::parts::blocks::scan`] notes them. The youngest comes first: a cut program is the youngest of all pages,
//! so a cut while it is written again finds it, or its new copy, the youngest once more.

use crate::{Ftl, FtlError};
use nandlab_nand::{scoped, Cause, Doubted, Lpn, Nand, NandError, PageBuf};

/// How often a mount reads a failing page again. Half of the reads of an unstable page fail: of a million such pages one is lost.
const READS_AGAIN: u32 = 20;

/// Mounts an FTL. On a chip with unstable pages it then writes again what it keeps of pages that may be unstable. All of it counts
/// under the cause [`Cause::Mount`], but what the FTL names otherwise.
///
/// # Errors
/// As [`Ftl::mount`].
pub fn mount<F: Ftl, N: Nand>(nand: &mut N, logical_pages: u32, config: &F::Config) -> Result<F, FtlError> {
    reading_again(nand, |nand| {
        scoped(nand, Cause::Mount, |nand| {
            let mut ftl = F::mount(nand, logical_pages, config)?;
            write_again(&mut ftl, nand)?;
            Ok(ftl)
        })
    })
}

/// Runs `act`, which reads as a mount does: on a chip with unstable pages failing reads are repeated.
pub(crate) fn reading_again<N: Nand, T>(nand: &mut N, act: impl FnOnce(&mut N) -> T) -> T {
    if !nand.rules().unstable_pages {
        return act(nand);
    }
    nand.ctx().read_again(READS_AGAIN);
    let done = act(nand);
    nand.ctx().read_again(0);
    nand.ctx().take_doubted();
    done
}

/// Writes the noted pages' present contents again.
fn write_again<F: Ftl, N: Nand>(ftl: &mut F, nand: &mut N) -> Result<(), FtlError> {
    let mut doubted = nand.ctx().take_doubted();
    doubted.retain(|page| page.lpn != Lpn::NONE);
    if doubted.is_empty() {
        return Ok(());
    }
    doubted.sort_by_key(|page| std::cmp::Reverse(page.seq));
    let full = nand.geometry().full_mask();
    let mut contents = N::Buf::zeroed(nand.geometry().page_bytes());
    let before = nand.ctx().origin();
    for Doubted { lpn, origin, .. } in doubted {
        nand.ctx().set_origin(origin);
        match ftl.read(nand, lpn, full, &mut contents) {
            Ok(()) => {}
            // Its reads fail, as before the mount.
            Err(FtlError::Nand(NandError::Uncorrectable(_))) => continue,
            Err(error) => return Err(error),
        }
        match ftl.write(nand, lpn, full, &contents) {
            Ok(()) => {}
            // A device without room can still be read.
            Err(FtlError::WornOut { .. } | FtlError::Full(_)) => break,
            Err(error) => return Err(error),
        }
    }
    let flushed = ftl.flush(nand);
    nand.ctx().set_origin(before);
    match flushed {
        Ok(()) | Err(FtlError::WornOut { .. } | FtlError::Full(_)) => ftl.pause(nand, None),
        Err(error) => Err(error),
    }
}
