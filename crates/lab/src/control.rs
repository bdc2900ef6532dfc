//! A run's progress and cancellation: shared between the running thread and the watching thread.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering::Relaxed};
use std::sync::Arc;

/// A run's current phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    /// It reads the workload through and mounts the device.
    Opening = 0,
    /// It writes the preconditioning.
    Precondition = 1,
    /// It runs the workload.
    Workload = 2,
    /// It removes its files from a real directory; a cancelled run still finishes this.
    CleaningUp = 3,
    /// It has ended.
    Done = 4,
    /// It writes the preconditioned device to a file. Its requests are steps of about one length, and only those of this
    /// phase: [`Control::share`] stands still meanwhile.
    SavingState = 5,
}

impl Phase {
    const ALL: [Self; 6] =
        [Self::Opening, Self::Precondition, Self::Workload, Self::CleaningUp, Self::Done, Self::SavingState];

    /// Display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Precondition => "precondition",
            Self::Workload => "workload",
            Self::CleaningUp => "cleaning up",
            Self::Done => "done",
            Self::SavingState => "saving state",
        }
    }
}

/// Progress and cancellation for one run.
#[derive(Debug, Default)]
pub struct Control {
    phase: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    /// Average sectors per request in this phase, sectors in all earlier phases, and total sectors.
    sectors_each: AtomicU64,
    sectors_before: AtomicU64,
    sectors_in_all: AtomicU64,
    /// The share where a time ends this phase, in billionths and one more; 0 if unknown.
    timed_share: AtomicU64,
    cancelled: Arc<AtomicBool>,
    /// That of the run in which this is a part.
    whole: Option<Arc<AtomicBool>>,
}

impl Control {
    /// The phase, its completed requests, and its total requests; 0 if unknown.
    pub fn progress(&self) -> (Phase, u64, u64) {
        let phase = Phase::ALL[usize::from(self.phase.load(Relaxed)).min(Phase::ALL.len() - 1)];
        let (done, total) = (self.done.load(Relaxed), self.total.load(Relaxed));
        // A plan may be a guess.
        (phase, done, if total == 0 { 0 } else { total.max(done) })
    }

    /// Stops the run at the next batch; the results so far become a partial record.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Whether the run should stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed) || self.whole.as_ref().is_some_and(|whole| whole.load(Relaxed))
    }

    /// For a part of the run: it stops by itself, and with the run.
    pub(crate) fn part(&self) -> Self {
        Self { whole: Some(self.cancelled.clone()), ..Self::default() }
    }

    /// The run's completed part, 0 to 1, with each request counted by its length; `None` while unknown. Where a time and no
    /// count ends the workload, the part of the workload alone.
    pub fn share(&self) -> Option<f64> {
        if let Some(billionths) = self.timed_share.load(Relaxed).checked_sub(1) {
            return Some(billionths as f64 / 1e9);
        }
        let all = self.sectors_in_all.load(Relaxed);
        (all > 0).then(|| (self.sectors_done() as f64 / all as f64).min(1.0))
    }

    fn sectors_done(&self) -> u64 {
        let here = self.done.load(Relaxed).saturating_mul(self.sectors_each.load(Relaxed));
        self.sectors_before.load(Relaxed).saturating_add(here)
    }

    /// Sets the number of sectors touched in all phases.
    #[doc(hidden)]
    pub fn plan(&self, sectors: u64) {
        self.sectors_in_all.store(sectors, Relaxed);
    }

    /// Restarts the count from here, in a new measure.
    #[doc(hidden)]
    pub fn plan_anew(&self, sectors: u64) {
        self.done.store(0, Relaxed);
        self.sectors_before.store(0, Relaxed);
        self.plan(sectors);
    }

    /// Starts a phase with `total` requests, each about `sectors_each` long.
    #[doc(hidden)]
    pub fn enter(&self, phase: Phase, total: u64, sectors_each: u64) {
        self.sectors_before.store(self.sectors_done(), Relaxed);
        self.done.store(0, Relaxed);
        self.timed_share.store(0, Relaxed);
        self.sectors_each.store(sectors_each, Relaxed);
        self.total.store(total, Relaxed);
        self.phase.store(phase as u8, Relaxed);
    }

    /// Raises this phase's plan to at least `total` requests.
    #[doc(hidden)]
    pub fn cover(&self, total: u64) {
        let more = total.saturating_sub(self.total.fetch_max(total, Relaxed));
        if self.sectors_in_all.load(Relaxed) > 0 {
            let sectors = more.saturating_mul(self.sectors_each.load(Relaxed));
            self.sectors_in_all.fetch_add(sectors, Relaxed);
        }
    }

    /// Sets the completed part of a phase that a time ends.
    #[doc(hidden)]
    pub fn set_share(&self, share: f64) {
        self.timed_share.store(1 + (share.clamp(0.0, 1.0) * 1e9) as u64, Relaxed);
    }

    #[doc(hidden)]
    pub fn set_done(&self, requests: u64) {
        self.done.store(requests, Relaxed);
    }
}
