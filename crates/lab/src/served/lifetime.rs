//! What a device did since its image was made.

use crate::json;
use crate::record::{FlashCounts, HostCounts};
use nandlab_nand::backed::Work;
use nandlab_nand::{Cell, Matrix, Origin, Time, ERASE_SHARE};
use serde::{Deserialize, Serialize};

/// What a device did since its image was made, kept in the image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lifetime {
    /// How often it was opened.
    pub sessions: u64,
    /// Simulated time without mounts, ns.
    pub time_ns: Time,
    /// What the host asked.
    pub host: HostCounts,
    /// Who asked the flash for what, and why.
    pub cells: Vec<LifetimeCell>,
    /// What is in none of the counts above.
    pub unsaved: Unsaved,
}

/// Most bytes that the host writes between two saves of the counts.
pub const SAVE_EVERY_BYTES: u64 = 1 << 20;
/// Longest time between two saves of the counts while requests come, s.
pub const SAVE_EVERY_S: u64 = 1;

/// What was done between the last save of the counts and the end of the process, where nobody closed the image: a kill.
///
/// The flash tells its programs and erases. Who asked for them, what the host asked, and how long that took is not known.
/// It was asked for less than [`SAVE_EVERY_BYTES`] of writes and within [`SAVE_EVERY_S`] after the save, each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsaved {
    /// How often the process ended so.
    pub kills: u64,
    /// What the flash did.
    pub flash: Work,
}

/// What an image keeps of the counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Saved {
    #[serde(flatten)]
    all: Lifetime,
    /// What the flash had done by then, mounts included; `None` where nothing was saved.
    work: Option<Work>,
    /// Whether requests may have come after it.
    in_use: bool,
}

impl Saved {
    pub(crate) fn new(all: Lifetime, work: Work, in_use: bool) -> Self {
        Self { all, work: Some(work), in_use }
    }

    /// Everything up to the end of the last process that had the image open; `work` is what the flash did until then.
    pub(crate) fn up_to(self, work: Work) -> Lifetime {
        let Self { mut all, work: saved, in_use } = self;
        let more = work.since(saved.unwrap_or(work));
        if in_use || more != Work::default() {
            // A process that saved has counted itself.
            all.sessions += u64::from(!in_use);
            all.unsaved.kills += 1;
            all.unsaved.flash.programs += more.programs;
            all.unsaved.flash.erases += more.erases;
        }
        all
    }

    /// Everything up to the save.
    pub(crate) fn all(self) -> Lifetime {
        self.all
    }
}

/// Counts of one origin and one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LifetimeCell {
    /// The author of the page.
    pub origin: u8,
    /// Why the flash was asked.
    pub cause: String,
    /// What was done.
    pub counts: Cell,
}

impl HostCounts {
    /// Both together.
    fn and(&self, other: &Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            trims: self.trims + other.trims,
            flushes: self.flushes + other.flushes,
            read_sectors: self.read_sectors + other.read_sectors,
            written_sectors: self.written_sectors + other.written_sectors,
            trimmed_sectors: self.trimmed_sectors + other.trimmed_sectors,
            partial_writes: self.partial_writes + other.partial_writes,
            unaligned_writes: self.unaligned_writes + other.unaligned_writes,
            unreadable: self.unreadable + other.unreadable,
        }
    }
}

impl Lifetime {
    /// Adds what was counted in `time` more.
    #[doc(hidden)]
    pub fn add(&mut self, host: &HostCounts, matrix: &Matrix, time: Time) {
        self.time_ns += time;
        self.host = self.host.and(host);
        for (origin, cause, counts) in matrix.nonzero() {
            let is_it = |cell: &&mut LifetimeCell| cell.origin == origin.0 && cell.cause == cause.name();
            match self.cells.iter_mut().find(is_it) {
                Some(cell) => cell.counts = cell.counts.and(counts),
                None => {
                    self.cells.push(LifetimeCell { origin: origin.0, cause: cause.name().to_owned(), counts: *counts });
                }
            }
        }
    }

    /// What the flash did, mounts left out but not the erases that they leave for later. The programs and erases that nobody saved are among them, of which copies are
    /// not told apart.
    pub fn flash(&self) -> FlashCounts {
        let cells = self.cells.iter().filter(|cell| usize::from(cell.origin) < Origin::COUNT);
        let Work { programs, erases } = self.unsaved.flash;
        let unsaved = Cell { page_programs: programs, erase_shares: erases * ERASE_SHARE, ..Cell::default() };
        FlashCounts::of(&cells.fold(unsaved, |sum, cell| sum.and(&cell.counts)))
    }

    /// All of it as JSON, with what the flash did, and the bounds of what is not known.
    pub fn told(&self) -> serde_json::Value {
        let mut told = json::value(self);
        told["flash"] = json::value(&self.flash());
        told["unsaved"]["written_bytes_at_most"] = (self.unsaved.kills * SAVE_EVERY_BYTES).into();
        told["unsaved"]["seconds_at_most"] = (self.unsaved.kills * SAVE_EVERY_S).into();
        told
    }
}
