//! Pages that are read for the host, and those that it writes in part.

use crate::FtlError;
use nandlab_nand::{scoped, Cause, Kind, Nand, NandError, Oob, PageBuf, Ppa, SectorMask, Time};

/// A page that stands for lost data reads as an error, never as other bytes.
#[inline]
pub(crate) fn refuse_lost(at: Ppa, oob: Oob) -> Result<(), FtlError> {
    if oob.kind == Kind::Lost {
        return Err(NandError::Uncorrectable(at).into());
    }
    Ok(())
}

/// Reads the host's `sectors` of the page at `from`; where it is nowhere, zeros.
#[inline]
pub(crate) fn read_mapped<N: Nand>(
    nand: &mut N,
    from: Ppa,
    sectors: SectorMask,
    page: &mut N::Buf,
) -> Result<(), FtlError> {
    if !from.is_some() {
        page.clear(sectors);
        return Ok(());
    }
    refuse_lost(from, nand.read(from, page)?)
}

/// A page of which the host writes these `sectors` of all that are in it, with zeros in the others.
pub(crate) fn padded<B: PageBuf>(page: &B, sectors: SectorMask, full: SectorMask) -> B {
    let mut padded = page.clone();
    padded.clear(SectorMask(full.0 & !sectors.0));
    padded
}

/// Reads the page at `from` and takes the host's `sectors` of it from `page`. What is issued next waits for the read;
/// returns the whole page, and the bound before, for [`nandlab_nand::Ctx::set_ready`].
pub(crate) fn merged<N: Nand>(
    nand: &mut N,
    from: Ppa,
    sectors: SectorMask,
    page: &N::Buf,
) -> Result<(N::Buf, Time), FtlError> {
    let mut whole = N::Buf::zeroed(nand.geometry().page_bytes());
    let read = scoped(nand, Cause::ReadModifyWrite, |nand| nand.read(from, &mut whole))?;
    refuse_lost(from, read)?;
    whole.merge(page, sectors);
    let end = nand.ctx().last();
    Ok((whole, nand.ctx().after(end)))
}
