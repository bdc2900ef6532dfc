//! How far a run is, and how it is stopped: shared between the thread that runs and the one that watches.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering::Relaxed};

/// What a run is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    /// It reads the workload through and mounts the device.
    Opening = 0,
    /// It writes what comes before the measurement.
    Precondition = 1,
    /// It runs the workload.
    Workload = 2,
    /// It has ended.
    Done = 3,
}

impl Phase {
    const ALL: [Self; 4] = [Self::Opening, Self::Precondition, Self::Workload, Self::Done];

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Precondition => "precondition",
            Self::Workload => "workload",
            Self::Done => "done",
        }
    }
}

/// Progress and cancellation of one run.
#[derive(Debug, Default)]
pub struct Control {
    phase: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

impl Control {
    /// The phase, the requests done in it, and how many it has; 0: not known.
    pub fn progress(&self) -> (Phase, u64, u64) {
        let phase = Phase::ALL[usize::from(self.phase.load(Relaxed)).min(Phase::ALL.len() - 1)];
        (phase, self.done.load(Relaxed), self.total.load(Relaxed))
    }

    /// Stops the run at the next batch; what it did until then becomes a partial record.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Whether the run is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    pub(crate) fn enter(&self, phase: Phase, total: u64) {
        self.done.store(0, Relaxed);
        self.total.store(total, Relaxed);
        self.phase.store(phase as u8, Relaxed);
    }

    pub(crate) fn set_done(&self, requests: u64) {
        self.done.store(requests, Relaxed);
    }
}
