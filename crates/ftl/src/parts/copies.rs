//! The newest copies of the pages of the host, found anew in the spare areas; for checks.

use nandlab_nand::{Kind, Nand, NandError, PageBuf, Ppa};

/// Sequence number and place of the newest copy of each of the first `logical_pages`; a page that cannot be read does
/// not count, nor one that `passed_over` names.
///
/// # Panics
/// With a page whose sequence number is not below `next_seq`, or one that fails in a way of its own.
pub(crate) fn newest_copies<N: Nand>(
    nand: &mut N,
    logical_pages: usize,
    next_seq: u64,
    passed_over: impl Fn(Ppa) -> bool,
) -> Vec<Option<(u64, Ppa)>> {
    let mut newest = vec![None; logical_pages];
    for page in (0..nand.geometry().pages()).map(Ppa).filter(|&page| !passed_over(page)) {
        match nand.read_spare(page) {
            Ok(Some(oob)) => {
                assert!(oob.seq.0 < next_seq, "page {page} carries a sequence number that was not given out yet");
                if !matches!(oob.kind, Kind::Data | Kind::Lost) {
                    continue;
                }
                let slot = &mut newest[oob.lpn.index()];
                // A torn page can look newer than the one it was to replace; only a page that reads counts.
                if slot.is_none_or(|(seq, _)| oob.seq.0 > seq) && is_whole(nand, page) {
                    *slot = Some((oob.seq.0, page));
                }
            }
            Ok(None) | Err(NandError::Uncorrectable(_) | NandError::BadBlock(_)) => {}
            Err(error) => panic!("page {page}: {error}"),
        }
    }
    newest
}

fn is_whole<N: Nand>(nand: &mut N, page: Ppa) -> bool {
    let mut contents = N::Buf::zeroed(nand.geometry().page_bytes());
    nand.read(page, &mut contents).is_ok()
}
