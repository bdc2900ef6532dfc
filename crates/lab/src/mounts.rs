//! What a record says of a file system that is the engine: collections, NVRAM, what mounts cost, what stayed behind.

use crate::control::Phase;
use crate::engine::NvramState;
use crate::record::{FsCollections, FsNvramRecord, Gc, MountRecord, NvramRecord, Record};
use crate::run::{us, Mark, Run};
use nandlab_nand::Cause;

/// Paths that a sentence names.
const SHOWN: usize = 3;

impl Mark {
    /// Garbage collection since `start`, of an FTL or of a file system.
    pub(crate) fn gc_since(&self, start: &Self) -> Gc {
        let collected = self.collections.zip(start.collections);
        let collected = collected.map(|(end, start)| FsCollections::between(&start, &end));
        Gc {
            runs: self.events.gc_runs - start.events.gc_runs,
            empty_runs: self.events.empty_gc_runs - start.events.empty_gc_runs,
            passive: collected.map(|counts| counts.passive),
            aggressive: collected.map(|counts| counts.aggressive),
            emptied: collected.map(|counts| counts.emptied),
        }
    }

    /// What the NVRAM of a file system did since `start`.
    pub(crate) fn nvram_since(&self, start: &Self) -> Option<FsNvramRecord> {
        self.nvram.zip(start.nvram).map(|(end, start)| FsNvramRecord {
            bytes: end.bytes,
            used: NvramRecord::between(&start.usage, &end.usage),
        })
    }
}

impl Run<'_> {
    /// What the mount cost that came since `before`.
    pub(crate) fn mount_record(&mut self, before: &Mark) -> MountRecord {
        let now = self.mark();
        let cell = now.matrix.since(&before.matrix).sum(|_, cause| cause == Cause::Mount);
        let accesses = |state: &NvramState| state.usage.reads + state.usage.writes;
        MountRecord {
            page_reads: cell.reads(),
            spare_reads: cell.spare_reads,
            nvram_accesses: now.nvram.map(|nvram| accesses(&nvram) - before.nvram.as_ref().map_or(0, accesses)),
            time_us: self.keeps_time().then(|| us(now.time - before.time)),
        }
    }

    /// Mounts a file system on bare flash once more, as after a power cut; what it costs is in no other count.
    pub(crate) fn remount(&mut self, record: &mut Record) {
        if !self.experiment.is_bare() {
            return;
        }
        if let Some(log) = self.log {
            log.enter(Phase::Done);
        }
        let before = self.mark();
        match self.engine().on_files().remount() {
            Ok(()) => record.remount = Some(self.mount_record(&before)),
            Err(error) => record.notices.push(format!("the file system could not be mounted again: {error}")),
        }
    }

    /// Leaves a real directory as it was; a sentence about what could not be removed.
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
}
