//! A trace's requests in memory, after the pass that checks them: a run reads a trace once, and so do runs side by side.
//!
//! A request takes 16 bytes: the time since the one before, its sectors, its first sector and its kind. One with an origin, a
//! placement, a device of several or a longer step stands whole in a second list, and a recorded duration takes 24 more. A trace that takes more than the plan's
//! `most_kept` is not kept, and each of its two passes reads the file.

#[cfg(test)]
mod tests;

use super::behind::Recorded;
use super::plan::Plan;
use super::records::Records;
use super::summary::Summary;
use super::{Config, Took};
use crate::WorkloadError;
use nandlab_block::{Op, Request};
use nandlab_nand::{Origin, PlacementId, Time};
use std::mem::size_of;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// Memory for one trace.
pub(super) const MOST_BYTES: usize = 256 << 20;

/// The kinds that take no more than a number.
const KINDS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

/// Between two looks whether another run has read the trace.
const WAIT: Duration = Duration::from_millis(5);

/// Above these bits a sector's word has the kind.
const KIND_AT: u32 = 60;

/// The kind of a request in the second list.
const WHOLE: u64 = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Short {
    step: u32,
    sectors: u32,
    kind_and_sector: u64,
}

impl Short {
    const WHOLE: Self = Self { step: 0, sectors: 0, kind_and_sector: WHOLE << KIND_AT };

    fn of(request: &Request, device: u32, before: Time) -> Option<Self> {
        let kind = KINDS.iter().position(|&op| op == request.op)? as u64;
        let is_plain = request.origin == Origin::HOST && request.placement == PlacementId::NONE && device == 0;
        let step = u32::try_from(request.time.checked_sub(before)?).ok()?;
        let is_short = is_plain && request.sector >> KIND_AT == 0;
        is_short.then_some(Self { step, sectors: request.sectors, kind_and_sector: kind << KIND_AT | request.sector })
    }
}

/// Requests in their order, with device numbers.
#[derive(Debug, Default)]
pub(super) struct Kept {
    short: Vec<Short>,
    whole: Vec<Recorded>,
    /// Recorded durations by request; empty if the trace has none.
    took: Vec<Option<Took>>,
}

/// A place in the list.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Place {
    short: usize,
    whole: usize,
    time: Time,
}

impl Kept {
    fn bytes(&self) -> usize {
        // What a growing list sets aside is no memory before it is written.
        self.short.len() * size_of::<Short>()
            + self.whole.len() * size_of::<Recorded>()
            + self.took.len() * size_of::<Option<Took>>()
    }

    fn add(&mut self, request: &Request, device: u32, took: Option<Took>, before: Time) {
        self.short.push(Short::of(request, device, before).unwrap_or_else(|| {
            self.whole.push((*request, device));
            Short::WHOLE
        }));
        if took.is_some() || !self.took.is_empty() {
            self.took.resize(self.short.len() - 1, None);
            self.took.push(took);
        }
    }

    /// The request at `place`, which moves on; none at the end.
    #[inline]
    pub(super) fn next(&self, place: &mut Place) -> Option<Recorded> {
        let short = *self.short.get(place.short)?;
        place.short += 1;
        let kind = short.kind_and_sector >> KIND_AT;
        if kind == WHOLE {
            let recorded = self.whole[place.whole];
            place.whole += 1;
            place.time = recorded.0.time;
            return Some(recorded);
        }
        place.time += Time::from(short.step);
        let sector = short.kind_and_sector & ((1 << KIND_AT) - 1);
        let request = Request::new(KINDS[kind as usize], sector, short.sectors);
        Some((Request { time: place.time, ..request }, 0))
    }

    /// Calls `each` with every request, its device and its recorded duration.
    fn for_each(&self, mut each: impl FnMut(&Request, u32, Option<Took>)) {
        let mut place = Place::default();
        for at in 0.. {
            let Some((request, device)) = self.next(&mut place) else { break };
            each(&request, device, self.took.get(at).copied().flatten());
        }
    }
}

/// A trace that was read through.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) summary: Summary,
    /// The requests, unless they are too many.
    pub(super) kept: Option<Kept>,
    has_durations: bool,
}

impl Read {
    /// Reads a trace through. `also` sees each request with its device number and duration.
    fn through(plan: &Plan, watch: &Watch, also: &mut Also) -> Result<Self, WorkloadError> {
        let (mut kept, mut before, mut has_durations) = (Some(Kept::default()), 0, false);
        let summary = Summary::of(&mut plan.records()?, watch, |request, device, took| {
            also(request, device, took);
            has_durations |= took.is_some();
            if let Some(list) = &mut kept {
                list.add(request, device, took, before);
                before = request.time;
                if list.bytes() > plan.most_kept {
                    kept = None;
                }
            }
        })?;
        Ok(Self { summary, kept, has_durations })
    }

    fn tell(&self, plan: &Plan, watch: &Watch, also: &mut Also) -> Result<(), WorkloadError> {
        match &self.kept {
            Some(kept) => kept.for_each(also),
            None => drop(Summary::of(&mut plan.records()?, watch, also)?),
        }
        Ok(())
    }
}

type Watch<'a> = dyn Fn(u64) -> bool + Sync + 'a;
type Also<'a> = dyn FnMut(&Request, u32, Option<Took>) + 'a;

/// What `also` has to see.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    Nothing,
    /// Each request with a recorded duration; the others do not matter.
    Durations,
    Requests,
}

/// Reads a trace through, or takes what a run side by side has read of it. `also` sees what it wants, with device numbers.
pub(super) fn read(plan: &Plan, watch: &Watch, wants: Wants, also: &mut Also) -> Result<Arc<Read>, WorkloadError> {
    let Some(slot) = Key::of(plan).and_then(|key| shared().slot(key)) else {
        return Read::through(plan, watch, also).map(Arc::new);
    };
    let mut slot = locked(&slot, watch)?;
    let Some(read) = slot.as_ref().map(Arc::clone) else {
        let read = Arc::new(Read::through(plan, watch, also)?);
        *slot = Some(Arc::clone(&read));
        return Ok(read);
    };
    // The others need not wait for this.
    drop(slot);
    if wants == Wants::Requests || wants == Wants::Durations && read.has_durations {
        read.tell(plan, watch, also)?;
    }
    Ok(read)
}

/// The slot, once nobody reads its trace: a run that was stopped meanwhile ends, and one whose reader was stopped reads.
fn locked<'a>(slot: &'a Slot, watch: &Watch) -> Result<MutexGuard<'a, Option<Arc<Read>>>, WorkloadError> {
    loop {
        match slot.try_lock() {
            Ok(slot) => return Ok(slot),
            Err(TryLockError::Poisoned(slot)) => return Ok(slot.into_inner()),
            Err(TryLockError::WouldBlock) if !watch(0) => return Err(WorkloadError::Stopped),
            Err(TryLockError::WouldBlock) => std::thread::sleep(WAIT),
        }
    }
}

/// What decides a trace's requests.
#[derive(PartialEq, Debug)]
struct Key {
    config: Config,
    most_kept: usize,
    file: PathBuf,
    /// The file's identity, length and last change; a file that changed is another one.
    state: Option<[i64; 7]>,
}

impl Key {
    /// `None` for what cannot be told from another trace, such as a pipe.
    fn of(plan: &Plan) -> Option<Self> {
        let Plan { config, base, .. } = plan;
        // What the player does with requests decides none of them.
        let config =
            Config { addresses: Default::default(), side_by_side: false, repeat: 1, path: None, ..config.clone() };
        if config.text.is_some() {
            return Some(Self { config, most_kept: plan.most_kept, file: PathBuf::new(), state: None });
        }
        let file = plan.config.path.as_deref().map(|path| base.join(path))?;
        let found = std::fs::metadata(&file).ok().filter(std::fs::Metadata::is_file)?;
        let (device, node, length) = (found.dev() as i64, found.ino() as i64, found.len() as i64);
        let changes = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
        let state = Some([device, node, length, changes[0], changes[1], changes[2], changes[3]]);
        Some(Self { config, most_kept: plan.most_kept, file, state })
    }
}

type Slot = Arc<Mutex<Option<Arc<Read>>>>;

/// Traces for runs side by side.
#[derive(Debug, Default)]
struct Shared {
    holders: usize,
    slots: Vec<(Key, Slot)>,
}

/// Traces that are shared at most, unless fewer fill half of [`MOST_BYTES`]; the one shared first leaves.
const MOST_TRACES: usize = 4;

impl Shared {
    /// Memory of the traces that nobody is reading just now.
    fn bytes(&self) -> usize {
        let bytes = |slot: &Slot| slot.try_lock().ok()?.as_ref()?.kept.as_ref().map(Kept::bytes);
        self.slots.iter().filter_map(|(_, slot)| bytes(slot)).sum()
    }

    /// The place of a trace; `None` if nobody shares.
    fn slot(&mut self, key: Key) -> Option<Slot> {
        if self.holders == 0 {
            return None;
        }
        if let Some((_, slot)) = self.slots.iter().find(|(known, _)| *known == key) {
            return Some(Arc::clone(slot));
        }
        while self.slots.len() == MOST_TRACES || self.bytes() > MOST_BYTES / 2 {
            self.slots.remove(0);
        }
        let slot = Slot::default();
        self.slots.push((key, Arc::clone(&slot)));
        Some(slot)
    }
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { holders: 0, slots: Vec::new() });

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While one of these lives, runs in this process share the traces that they read.
#[derive(Debug)]
pub struct Sharing(());

impl Sharing {
    /// Begins to share.
    #[must_use]
    pub fn begin() -> Self {
        shared().holders += 1;
        Self(())
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        let mut shared = shared();
        shared.holders -= 1;
        if shared.holders == 0 {
            shared.slots.clear();
        }
    }
}

/// A trace's requests, from memory or from its file.
pub(super) enum Feed {
    Memory(Place),
    File(Box<Records>),
}

impl Feed {
    /// From the start.
    pub(super) fn start(plan: &Plan, read: &Read) -> Result<Self, WorkloadError> {
        match read.kept {
            Some(_) => Ok(Self::Memory(Place::default())),
            None => plan.records().map(|records| Self::File(Box::new(records))),
        }
    }

    #[inline]
    pub(super) fn next(&mut self, read: &Read) -> Result<Option<Recorded>, WorkloadError> {
        match (self, &read.kept) {
            (Self::Memory(place), Some(kept)) => Ok(kept.next(place)),
            (Self::File(records), _) => records.next_request(),
            (Self::Memory(_), None) => Ok(None),
        }
    }
}
