//! Host reads, and partial host writes.

use crate::FtlError;
use nandlab_nand::{scoped, Cause, Kind, Nand, NandError, Oob, PageBuf, Ppa, SectorMask, Time};

/// A Lost page reads as an error, never as other bytes.
#[inline]
pub(crate) fn refuse_lost(at: Ppa, oob: Oob) -> Result<(), FtlError> {
    if oob.kind == Kind::Lost {
        return Err(NandError::Uncorrectable(at).into());
    }
    Ok(())
}

/// Reads the host's `sectors` from the page at `from`; an unmapped page reads as zeros.
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

/// The page for a host write to `sectors` only, with zeros in the others.
pub(crate) fn padded<B: PageBuf>(page: &B, sectors: SectorMask, full: SectorMask) -> B {
    let mut padded = page.clone();
    padded.clear(SectorMask(full.0 & !sectors.0));
    padded
}

/// Stores a host write to these `sectors` as a whole page, with the rest from the page at `old`, if there is one.
#[inline]
pub(crate) fn store_whole<N: Nand>(
    nand: &mut N,
    old: Ppa,
    sectors: SectorMask,
    page: &N::Buf,
    store: impl FnOnce(&mut N, &N::Buf) -> Result<(), FtlError>,
) -> Result<(), FtlError> {
    let full = nand.geometry().full_mask();
    if sectors == full {
        return store(nand, page);
    }
    if !old.is_some() {
        return store(nand, &padded(page, sectors, full));
    }
    let (whole, before) = merged(nand, old, sectors, page)?;
    let stored = store(nand, &whole);
    nand.ctx().set_ready(before);
    stored
}

/// Reads the page at `from` and replaces the host's `sectors` with those in `page`. The next operations wait for the
/// read; returns the whole page, and the bound before, for [`nandlab_nand::Ctx::set_ready`].
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
