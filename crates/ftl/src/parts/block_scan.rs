//! What a mount reads of a block: its spare areas, and in full the pages that a cut may have torn.

use super::frontier::RESUMED;
use crate::FtlError;
use nandlab_nand::{BlockId, Geometry, Kind, Nand, NandError, Oob, PageBuf, Ppa};

/// A page that can be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub(crate) place: u32,
    pub(crate) oob: Oob,
}

/// What a mount found in a block.
#[derive(Debug)]
pub(crate) struct BlockScan {
    /// The pages that are whole, in the order in which they were programmed.
    pub(crate) pages: Vec<Page>,
    /// Pages up to the last that is not erased.
    pub(crate) used: u32,
    /// Whether an erased page lies below a programmed one: a torn erase may have left the block so.
    gaps: bool,
    /// The highest sequence number, those of torn pages included: it is not given out again.
    pub(crate) highest: u64,
}

impl BlockScan {
    /// Whether the block may be filled further.
    pub(crate) fn can_resume(&self, geometry: &Geometry) -> bool {
        !self.gaps && self.used < geometry.pages_per_block()
    }

    /// The pages of the host.
    pub(crate) fn copies(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().filter(|page| matches!(page.oob.kind, Kind::Data | Kind::Lost))
    }

    /// The notes of trims.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().filter(|page| page.oob.kind == Kind::TrimNote)
    }
}

/// Reads every block; `None`: a bad one.
pub(crate) fn scan<N: Nand>(nand: &mut N) -> Result<Vec<Option<BlockScan>>, FtlError> {
    (0..nand.geometry().blocks()).map(|block| scan_block(nand, BlockId(block))).collect()
}

fn scan_block<N: Nand>(nand: &mut N, block: BlockId) -> Result<Option<BlockScan>, FtlError> {
    let geometry = *nand.geometry();
    let mut scan = BlockScan { pages: Vec::new(), used: 0, gaps: false, highest: 0 };
    let mut unreadable = false;
    for place in 0..geometry.pages_per_block() {
        match nand.read_spare(geometry.page(block, place)) {
            Err(NandError::BadBlock(_)) => return Ok(None),
            Ok(None) => continue,
            Ok(Some(oob)) => scan.pages.push(Page { place, oob }),
            Err(NandError::Uncorrectable(_)) => unreadable = true,
            Err(error) => return Err(error.into()),
        }
        scan.gaps |= place > scan.used;
        scan.used = place + 1;
    }
    scan.pages.sort_unstable_by_key(|page| page.oob.seq);
    scan.highest = scan.pages.last().map_or(0, |page| page.oob.seq.0);
    let mut whole = Vec::with_capacity(scan.pages.len());
    for (at, &page) in scan.pages.iter().enumerate() {
        // The page programmed last before the power went: now, or when the next one got its mark, which a page that cannot
        // be read may have carried.
        let suspect = unreadable || scan.pages.get(at + 1).is_none_or(|next| next.oob.aux & RESUMED != 0);
        if !suspect || reads(nand, geometry.page(block, page.place))? {
            whole.push(page);
        }
    }
    scan.pages = whole;
    Ok(Some(scan))
}

fn reads<N: Nand>(nand: &mut N, at: Ppa) -> Result<bool, FtlError> {
    let mut contents = N::Buf::zeroed(nand.geometry().page_bytes());
    match nand.read(at, &mut contents) {
        Ok(_) => Ok(true),
        Err(NandError::Uncorrectable(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
