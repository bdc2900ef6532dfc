//! The host pages' newest copies, read again from the spare areas; for checks.

use nandlab_nand::{Kind, Nand, NandError, PageBuf, Ppa};

/// Sequence number and place of the newest copy for each of the first `logical_pages`; without unreadable pages and
/// pages in `passed_over`.
///
/// # Panics
/// With a page whose sequence number is not below `next_seq`, or with another read error.
pub(crate) fn newest_copies<N: Nand>(
    nand: &mut N,
    logical_pages: usize,
    next_seq: u64,
    passed_over: impl Fn(Ppa) -> bool,
) -> Vec<Option<(u64, Ppa)>> {
    let mut newest = vec![None; logical_pages];
    let mut contents = N::Buf::zeroed(nand.geometry().page_bytes());
    for page in (0..nand.geometry().pages()).map(Ppa).filter(|&page| !passed_over(page)) {
        match nand.read_spare(page) {
            Ok(Some(oob)) => {
                assert!(oob.seq.0 < next_seq, "page {page} carries a sequence number that was not given out yet");
                if !matches!(oob.kind, Kind::Data | Kind::Lost) {
                    continue;
                }
                let slot = &mut newest[oob.lpn.index()];
                // A torn page can look newer than the page it should replace; only readable pages count.
                if slot.is_none_or(|(seq, _)| oob.seq.0 > seq) && nand.read(page, &mut contents).is_ok() {
                    *slot = Some((oob.seq.0, page));
                }
            }
            Ok(None) | Err(NandError::Uncorrectable(_) | NandError::BadBlock(_)) => {}
            Err(error) => panic!("page {page}: {error}"),
        }
    }
    newest
}

/// The numbers with an owner; for checks, which run after every step of a proof.
pub(crate) struct Owned {
    has: Vec<bool>,
    count: usize,
}

impl Owned {
    /// `count` numbers without an owner.
    pub(crate) fn none_of(count: u32) -> Self {
        Self { has: vec![false; count as usize], count: 0 }
    }

    /// Adds an owner; returns whether it is the first.
    pub(crate) fn insert(&mut self, at: u32) -> bool {
        let is_new = !std::mem::replace(&mut self.has[at as usize], true);
        self.count += usize::from(is_new);
        is_new
    }

    pub(crate) fn contains(&self, at: u32) -> bool {
        self.has[at as usize]
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }
}
