//! The writes to come, for a placement that knows when each page dies.
//!
//! ## Idea
//! A first run notes every page that the host writes or trims ([`Future::noting`]). [`Future::foreseen`] turns the notes
//! into death times, and a second run of the same experiment has them. Time is counted in host page writes: a page
//! written by write `i` and overwritten by write `j` dies at `j`.
//!
//! ## Memory
//! 4 bytes a write, 8 bytes a trim while they are noted, 4 a trim afterwards, and 4 bytes a logical page.
//!
//! ## Invariants
//! The second run writes and trims what the first one wrote and trimmed, in the same order. Each death time is checked
//! when it comes, and [`Future::strayed`] counts those that were wrong: the workload depends on the device then.

use nandlab_nand::Lpn;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// A page that nobody overwrites or trims dies then.
pub(crate) const NEVER: u32 = u32::MAX;

/// What is known about the writes to come. It is no option, so two are always equal.
#[derive(Clone, Debug, Default)]
pub struct Future(Known);

#[derive(Clone, Debug, Default)]
enum Known {
    #[default]
    Nothing,
    Noting(Arc<Mutex<Notes>>),
    Deaths(Arc<Deaths>),
}

impl PartialEq for Future {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Future {}

impl Future {
    /// Nothing is known yet; a run notes its writes.
    pub fn noting() -> Self {
        Self(Known::Noting(Arc::default()))
    }

    /// Whether no run has begun to note anything.
    pub fn is_nothing(&self) -> bool {
        matches!(self.0, Known::Nothing)
    }

    /// A run's notes, as death times for the next run of the same experiment with `logical_pages`.
    pub fn foreseen(&self, logical_pages: u32) -> Self {
        match &self.0 {
            Known::Noting(notes) => {
                let notes = std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner));
                Self(Known::Deaths(Arc::new(notes.deaths(logical_pages))))
            }
            Known::Nothing | Known::Deaths(_) => self.clone(),
        }
    }

    /// Writes and trims not as foreseen: with any, the placement did not know the future.
    pub fn strayed(&self) -> u64 {
        match &self.0 {
            Known::Deaths(deaths) => deaths.strayed.load(Relaxed),
            Known::Nothing | Known::Noting(_) => 0,
        }
    }

    /// How a placement follows the run.
    pub(crate) fn follow(&self) -> Follow {
        match &self.0 {
            Known::Nothing => Follow::Nothing,
            Known::Noting(notes) => Follow::Noting(notes.clone()),
            Known::Deaths(deaths) => Follow::Deaths(deaths.clone()),
        }
    }
}

/// A run being noted, or with a known future.
#[derive(Clone, Debug)]
pub(crate) enum Follow {
    /// Neither.
    Nothing,
    /// What it does is noted.
    Noting(Arc<Mutex<Notes>>),
    /// Its death times are known.
    Deaths(Arc<Deaths>),
}

impl Follow {
    /// Notes a write.
    pub(crate) fn note_write(&self, at: Lpn) {
        if let Self::Noting(notes) = self {
            notes.lock().unwrap_or_else(PoisonError::into_inner).writes.push(at.0);
        }
    }

    /// Notes a trim.
    pub(crate) fn note_trim(&self, at: Lpn) {
        if let Self::Noting(notes) = self {
            let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            let now = notes.writes.len() as u32;
            notes.trims.push((now, at.0));
        }
    }

    /// The death times, if they are known.
    pub(crate) fn deaths(&self) -> Option<&Deaths> {
        match self {
            Self::Deaths(deaths) => Some(deaths),
            Self::Nothing | Self::Noting(_) => None,
        }
    }

    /// Bytes for the known future.
    pub(crate) fn bytes(&self) -> u64 {
        self.deaths().map_or(0, |deaths| 4 * (deaths.of_write.len() + deaths.of_trim.len() + deaths.first.len()) as u64)
    }
}

/// What a run did.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// By write: its logical page.
    writes: Vec<u32>,
    /// By trim: the writes before it, and its logical page.
    trims: Vec<(u32, u32)>,
}

impl Notes {
    fn deaths(self, logical_pages: u32) -> Deaths {
        let Self { writes: mut of_write, trims } = self;
        let mut next = vec![NEVER; logical_pages as usize];
        let mut of_trim = vec![NEVER; trims.len()];
        let mut trim = trims.len();
        let end = of_write.len() as u32;
        for now in (0..=end).rev() {
            // Trims at this time come before the write with this number.
            if now < end {
                let at = of_write[now as usize] as usize;
                of_write[now as usize] = std::mem::replace(&mut next[at], now);
            }
            while trim > 0 && trims[trim - 1].0 == now {
                trim -= 1;
                of_trim[trim] = std::mem::replace(&mut next[trims[trim].1 as usize], now);
            }
        }
        Deaths { of_write, of_trim, first: next, end, strayed: AtomicU64::new(0) }
    }
}

/// When pages die.
#[derive(Debug)]
pub(crate) struct Deaths {
    /// By write: when its page dies.
    pub(crate) of_write: Vec<u32>,
    /// By trim: when its page is written or trimmed again.
    pub(crate) of_trim: Vec<u32>,
    /// By logical page: when it is written or trimmed first.
    pub(crate) first: Vec<u32>,
    /// Writes in all.
    pub(crate) end: u32,
    strayed: AtomicU64,
}

impl Deaths {
    /// Counts a page dead at another time than foreseen.
    #[cold]
    pub(crate) fn stray(&self) {
        self.strayed.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn death_times_follow_from_the_notes() {
        let future = Future::noting();
        let follow = future.follow();
        follow.note_trim(Lpn(2));
        for at in [0, 1, 0] {
            follow.note_write(Lpn(at));
        }
        follow.note_trim(Lpn(1));
        follow.note_trim(Lpn(0));
        follow.note_write(Lpn(1));
        let foreseen = future.foreseen(4);
        let Follow::Deaths(deaths) = foreseen.follow() else { panic!("the notes are made") };
        assert_eq!(deaths.of_write, [2, 3, 3, NEVER]);
        assert_eq!(deaths.of_trim, [NEVER, 3, NEVER]);
        assert_eq!((&deaths.first[..], deaths.end), (&[0, 1, 0, NEVER][..], 4));
        assert_eq!(future.foreseen(4).follow().deaths().map(|deaths| deaths.end), Some(0), "the notes are taken once");
    }
}
