//! File systems in a record: a bare-flash file system's collections and NVRAM, mount costs, and leftovers in a
//! directory.

use crate::control::Phase;
use crate::record::us;
use crate::record::{
    FsCollections, FsNvramRecord, Gc, MountRecord, MountShare, NvramRecord, Record, ReliabilityRecord,
};
use crate::run::mark::Mark;
use crate::run::session::Run;
use crate::stack::{Engine, NvramState};
use nandlab_block::{Blank, BlockDevice, Completion, Error, Mirror, Payload, Request};
use nandlab_fs::{FsConfig, Over};
use std::cell::RefCell;
use std::rc::Rc;

/// Most paths named in a sentence.
const SHOWN: usize = 3;

impl Mark {
    /// Garbage collection since `start`, by an FTL or a file system.
    pub(crate) fn gc_since(&self, start: &Self) -> Gc {
        let collected = self.collections.zip(start.collections);
        let collected = collected.map(|(end, start)| FsCollections::between(&start, &end));
        Gc {
            runs: self.events.gc_runs - start.events.gc_runs,
            empty_runs: self.events.empty_gc_runs - start.events.empty_gc_runs,
            idle_runs: self.events.idle_gc_runs - start.events.idle_gc_runs,
            idle_steps: self.events.idle_steps - start.events.idle_steps,
            wear_moves: self.events.wear_moves - start.events.wear_moves,
            passive: collected.map(|counts| counts.passive),
            aggressive: collected.map(|counts| counts.aggressive),
            emptied: collected.map(|counts| counts.emptied),
        }
    }

    /// ECC activity since `start`, if cells age.
    pub(crate) fn reliability_since(&self, start: &Self) -> Option<ReliabilityRecord> {
        let (after, before) = (self.aging?, start.aging?);
        Some(ReliabilityRecord::between((&before, &start.events), (&after, &self.events)))
    }

    /// A file system's NVRAM activity since `start`.
    pub(crate) fn nvram_since(&self, start: &Self) -> Option<FsNvramRecord> {
        self.nvram.zip(start.nvram).map(|(end, start)| FsNvramRecord {
            bytes: end.bytes,
            used: NvramRecord::between(&start.usage, &end.usage),
        })
    }
}

/// The engine as a remounted volume's device.
#[derive(Clone)]
struct Again<'a>(Rc<RefCell<&'a mut dyn Engine>>);

impl BlockDevice for Again<'_> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let mut engine = self.0.borrow_mut();
        let time = request.time.max(engine.now());
        engine.requests().submit_one(&Request { time, ..*request }, data)
    }

    fn sectors(&self) -> u64 {
        self.0.borrow().sectors()
    }
}

impl Run<'_> {
    /// Mount cost between `before` and `now`.
    fn mount_between(&self, before: &Mark, now: &Mark) -> MountRecord {
        let cell = now.matrix.since(&before.matrix).total();
        let accesses = |state: &NvramState| state.usage.reads + state.usage.writes;
        MountRecord {
            page_reads: cell.reads(),
            spare_reads: cell.spare_reads,
            nvram_accesses: now.nvram.map(|nvram| accesses(&nvram) - before.nvram.as_ref().map_or(0, accesses)),
            time_us: self.keeps_time().then(|| us(now.time - before.time)),
            fs: None,
        }
    }

    /// Cost so far to open the device.
    pub(crate) fn mount_record(&mut self) -> MountRecord {
        let now = self.mark();
        self.mount_between(&Mark::default(), &now)
    }

    /// Mounts a file system once more, as after a power cut, including an FTL below it, with the volume's
    /// bytes. Its cost goes into no other count.
    pub(crate) fn remount(&mut self, record: &mut Record, volume: Option<Mirror<Blank>>) {
        let Some(fs) = &self.experiment.fs else { return };
        if let Some(log) = self.log {
            log.enter(Phase::Done);
        }
        let mounted = match volume {
            Some(volume) => self.remount_volume(fs, volume),
            None if fs.over() == Over::Flash => self.remount_bare().map(Some),
            None => Ok(None),
        };
        match mounted {
            Ok(mounted) => record.remount = mounted,
            Err(error) => record.notices.push(format!("the file system could not be mounted again: {error}")),
        }
    }

    /// Restores a real directory; returns a sentence about any leftovers.
    pub(crate) fn clean_up(&mut self) -> Option<String> {
        if !self.experiment.is_in_directory() {
            return None;
        }
        self.control.enter(Phase::CleaningUp, 0, 0);
        let left = self.engine().on_files().clean_up();
        let shown: Vec<String> = left.iter().take(SHOWN).map(|path| format!("`{path}`")).collect();
        let more = if left.len() > SHOWN { format!(" and {} more", left.len() - SHOWN) } else { String::new() };
        (!left.is_empty()).then(|| {
            format!("{}{more} could not be removed from the directory of fs.posix and stayed there", shown.join(", "))
        })
    }

    fn remount_bare(&mut self) -> Result<MountRecord, String> {
        let before = self.mark();
        self.engine().on_files().remount().map_err(|error| error.to_string())?;
        let now = self.mark();
        Ok(self.mount_between(&before, &now))
    }

    /// Mounts the FTL first, then the volume over it.
    fn remount_volume(&mut self, fs: &FsConfig, volume: Mirror<Blank>) -> Result<Option<MountRecord>, String> {
        let before = self.mark();
        if !self.engine().requests().remount().map_err(|error| error.to_string())? {
            return Ok(None);
        }
        let opened = self.mark();
        let device = Again(Rc::new(RefCell::new(self.engine())));
        let mut mirror = volume.onto(device.clone());
        let now = fs.mounted(&mut mirror, |_| Mark::of(*device.0.borrow_mut())).map_err(|error| error.to_string())?;
        let of_fs = self.mount_between(&opened, &now);
        let share = MountShare { page_reads: of_fs.page_reads, time_us: of_fs.time_us };
        Ok(Some(MountRecord { fs: Some(share), ..self.mount_between(&before, &now) }))
    }
}
