//! What mounts cost: the first one, and another one at the end of a run on bare flash.

use crate::control::Phase;
use crate::engine::NvramState;
use crate::record::{MountRecord, Record};
use crate::run::{us, Mark, Run};
use nandlab_nand::Cause;

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
}
