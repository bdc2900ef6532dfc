//! Flushes and compactions beside the host's operations.
//!
//! A full memtable is frozen with its logs, and a job writes it as a table; others merge tables. A job goes through two
//! plans of requests (`queue.rs`): its reads and writes, then its commit to the manifest. Commits follow one another, and
//! the tree changes when the device has the commit: until then nothing of the old tables' room is used again. The tree
//! looks at its jobs at the begin of each operation and while an operation waits for one.
//!
//! Puts wait as in RocksDB: while two memtables are full, and while level 0 or the bytes still to be written are beyond
//! their triggers. Between the lower triggers and the upper ones puts go on at a fixed rate; RocksDB adapts this rate.

use super::beside::{Frozen, Running, Work};
use super::compaction::{Busy, Pick};
use super::options::JobOptions;
use super::queue::Jobs;
use super::stats::{Stall, Stalls};
use super::storage::{FileId, Lifetime};
use super::tree::Tree;
use super::version::{Edit, FileMeta};
use super::wal::Wal;
use super::work::Output;
use crate::IndexError;
use nandlab_nand::Time;
use std::rc::Rc;

const NS_PER_S: u128 = 1_000_000_000;

impl Tree<'_> {
    /// The options of jobs, if flushes and compactions are jobs on this device.
    pub(super) fn beside(&mut self) -> Option<JobOptions> {
        let options = self.config.jobs?;
        self.io.store.jobs().is_some_and(Jobs::is_on).then_some(options)
    }

    fn queue(&mut self) -> &mut dyn Jobs {
        self.io.store.jobs().expect("there are jobs only over a storage with a queue")
    }

    /// Goes on with jobs whose requests have ended, and begins those that are due.
    pub(super) fn settle(&mut self) -> Result<(), IndexError> {
        let Some(options) = self.beside() else { return Ok(()) };
        self.end_ended()?;
        self.begin_due(&options)
    }

    /// Lets all jobs end, those of a frozen memtable included; no compaction begins.
    ///
    /// # Errors
    /// As [`Tree::put`].
    pub fn end_jobs(&mut self) -> Result<(), IndexError> {
        self.guarded(Self::wait_for_jobs)
    }

    pub(super) fn wait_for_jobs(&mut self) -> Result<(), IndexError> {
        let Some(options) = self.beside() else { return Ok(()) };
        loop {
            self.end_ended()?;
            self.begin_flush(&options)?;
            if !self.beside.running.is_empty() {
                self.wait_for_one()?;
            } else if self.beside.frozen.is_none() {
                return Ok(());
            } else if let Some(refusal) = self.beside.take_refusal() {
                return Err(refusal);
            }
        }
    }

    /// Waits as far as a put of `bytes` has to, full memtables aside.
    pub(super) fn make_way(&mut self, options: &JobOptions, bytes: u64) -> Result<(), IndexError> {
        self.settle()?;
        let (most, slow) = (options.level0_stop, options.level0_slow);
        self.wait_while(|stalls| &mut stalls.level_0, |tree| tree.version.levels[0].len() >= most)?;
        let most = options.pending_stop;
        self.wait_while(|stalls| &mut stalls.pending, |tree| tree.beside.pending_bytes >= most)?;
        if self.version.levels[0].len() >= slow || self.beside.pending_bytes >= options.pending_slow {
            let delay = (u128::from(bytes) * NS_PER_S / u128::from(options.slow_bytes_per_s)) as Time;
            self.stats.stalls.slow.add(delay);
            let now = self.now();
            self.set_now(now + delay);
        }
        Ok(())
    }

    /// Freezes the memtable once the one before is a table.
    pub(super) fn freeze(&mut self) -> Result<(), IndexError> {
        self.wait_for_memtable()?;
        if self.memtable.is_empty() {
            return Ok(());
        }
        let logs = self.version.logs.iter().map(|log| log.id).collect();
        self.begin_log()?;
        let memtable = std::mem::take(&mut self.memtable);
        self.beside.frozen = Some(Rc::new(Frozen { memtable, logs }));
        self.settle()
    }

    /// Waits until the frozen memtable is a table.
    pub(super) fn wait_for_memtable(&mut self) -> Result<(), IndexError> {
        self.wait_while(|stalls| &mut stalls.memtables, |tree| tree.beside.frozen.is_some())
    }

    /// Logs that only have records of the memtable.
    pub(super) fn own_logs(&self) -> usize {
        self.version.logs.len() - self.beside.frozen.as_ref().map_or(0, |frozen| frozen.logs.len())
    }

    /// The host's next commit follows the one of a job.
    pub(super) fn wait_for_commit(&mut self) -> Result<(), IndexError> {
        while let Some(at) = self.beside.committing() {
            let plan = self.beside.running[at].plan;
            self.queue().wait(&[plan])?;
            self.end_commit(at)?;
        }
        Ok(())
    }

    /// Counts a stall while `holds`, unless nothing can change it.
    fn wait_while(
        &mut self,
        stall: fn(&mut Stalls) -> &mut Stall,
        holds: impl Fn(&Self) -> bool,
    ) -> Result<(), IndexError> {
        if !holds(self) {
            return Ok(());
        }
        let start = self.now();
        let waited = loop {
            self.settle()?;
            if !holds(self) {
                break Ok(());
            }
            if self.beside.running.is_empty() {
                break self.beside.take_refusal().map_or(Ok(()), Err);
            }
            self.wait_for_one()?;
        };
        let time = self.now() - start;
        stall(&mut self.stats.stalls).add(time);
        waited
    }

    /// The host waits until a plan has ended.
    fn wait_for_one(&mut self) -> Result<(), IndexError> {
        let plans: Vec<u64> = self.beside.running.iter().map(|job| job.plan).collect();
        let queue = self.queue();
        // One that has ended waits for another's commit.
        let plans: Vec<u64> = plans.into_iter().filter(|&plan| queue.end(plan).is_none()).collect();
        queue.wait(&plans)
    }

    /// Goes on with jobs whose plan has ended, the earliest first.
    fn end_ended(&mut self) -> Result<(), IndexError> {
        loop {
            let is_committing = self.beside.committing().is_some();
            let queue = self.io.store.jobs().expect("there are jobs only over a storage with a queue");
            let may_go_on =
                self.beside.running.iter().enumerate().filter(|(_, job)| job.is_committing || !is_committing);
            let ended = may_go_on.filter_map(|(at, job)| queue.end(job.plan).map(|end| (end, at))).min();
            match ended {
                Some((_, at)) if self.beside.running[at].is_committing => self.end_commit(at)?,
                Some((end, at)) => self.begin_commit(at, end)?,
                None => return Ok(()),
            }
        }
    }

    fn begin_commit(&mut self, at: usize, end: Time) -> Result<(), IndexError> {
        let plan = self.beside.running[at].plan;
        if let Some(failure) = self.queue().forget(plan) {
            let job = self.beside.running.remove(at);
            return self.give_up(&job.work, failure, job.edit.made());
        }
        let job = &mut self.beside.running[at];
        if let Work::Collection(_) = job.work {
            self.io.store.switch_to_moved();
        }
        let edit = &mut job.edit;
        // Over zones a table has its place only now.
        edit.added.iter_mut().for_each(|(_, file)| file.place = self.io.store.place(file.id));
        (edit.next_file, edit.next_age) = (self.version.next_file, self.version.next_age);
        let mut next = self.version.clone();
        next.apply(edit);
        let edit = edit.clone();
        self.queue().begin_plan();
        match self.manifest.commit(&mut *self.io.store, &edit, &next) {
            Ok(()) => {
                let plan = self.queue().end_plan(1, end);
                let job = &mut self.beside.running[at];
                (job.plan, job.is_committing) = (plan, true);
                Ok(())
            }
            Err(error) => {
                self.queue().drop_plan();
                let work = self.beside.running.remove(at).work;
                self.give_up(&work, error, edit.made())
            }
        }
    }

    /// A job that could not end as planned gives back its room, and is tried again later.
    fn give_up(&mut self, work: &Work, why: IndexError, made: Vec<FileId>) -> Result<(), IndexError> {
        match work {
            // Nobody asked for the moves themselves: what waits for their room has its own refusal.
            Work::Collection(_) if matches!(why, IndexError::NoSpace { .. }) => self.io.store.end_moves(false),
            Work::Collection(_) => Err(why),
            Work::Flush => self.refuse(why, made, true),
            Work::Compaction(..) | Work::Move(_) => {
                // A memtable may find room now that the tables are gone.
                self.beside.flush_refusal = None;
                self.beside.is_due = true;
                self.refuse(why, made, false)
            }
        }
    }

    /// A job that found no room waits; what it made is deleted.
    fn refuse(&mut self, error: IndexError, made: Vec<FileId>, is_flush: bool) -> Result<(), IndexError> {
        if !matches!(error, IndexError::NoSpace { .. }) {
            return Err(error);
        }
        for file in made {
            self.io.delete(file)?;
        }
        let refusal = if is_flush { &mut self.beside.flush_refusal } else { &mut self.beside.refusal };
        *refusal = Some(error);
        Ok(())
    }

    /// The device has a job's commit.
    fn end_commit(&mut self, at: usize) -> Result<(), IndexError> {
        let Running { plan, work, mut edit, written, .. } = self.beside.running.remove(at);
        self.queue().forget(plan);
        // Numbers were given out since.
        (edit.next_file, edit.next_age) = (self.version.next_file, self.version.next_age);
        let mut next = self.version.clone();
        next.apply(&edit);
        self.switch_to(next, &edit)?;
        match work {
            Work::Flush => {
                self.stats.flush_bytes += written;
                self.stats.memtables += 1;
                self.beside.frozen = None;
            }
            Work::Compaction(pick, dropped) => self.count_compaction(&pick, written, dropped),
            Work::Move(_) => self.stats.moves += 1,
            Work::Collection(_) => self.io.store.end_moves(true)?,
        }
        self.beside.take_refusal();
        Ok(())
    }

    fn begin_due(&mut self, options: &JobOptions) -> Result<(), IndexError> {
        self.begin_flush(options)?;
        while self.beside.is_due && self.beside.refusal.is_none() && self.beside.picks().count() < options.threads {
            let mut busy = Busy::default();
            self.beside.picks().for_each(|pick| busy.add(pick));
            let moved = self.beside.moved().unwrap_or(&[]);
            let is_moved = |(_, file): &(usize, &FileMeta)| moved.contains(&file.id);
            self.version.files().filter(is_moved).for_each(|(level, file)| busy.add_moved(level, file.id));
            match self.config.compaction.pick(&self.version, &busy) {
                Some(pick) => self.begin_compaction(pick, options)?,
                None => self.beside.is_due = false,
            }
        }
        Ok(())
    }

    fn begin_flush(&mut self, options: &JobOptions) -> Result<(), IndexError> {
        let Some(frozen) = self.beside.frozen.clone() else { return Ok(()) };
        if self.beside.is_flushing() || self.beside.flush_refusal.is_some() {
            return Ok(());
        }
        let mut output = Output::new(0, u64::MAX, frozen.memtable.bytes(), self.version.next_age);
        let write = |tree: &mut Self, output: &mut Output| tree.write(output, &mut frozen.memtable.iter());
        let Some((plan, ())) = self.plan(options, &mut output, true, write)? else { return Ok(()) };
        self.version.next_age += 1;
        let written = output.written();
        let edit = Edit { removed: frozen.logs.clone(), added: output.added(), ..Edit::default() };
        self.beside.running.push(Running { plan, is_committing: false, work: Work::Flush, edit, written });
        Ok(())
    }

    fn begin_compaction(&mut self, pick: Pick, options: &JobOptions) -> Result<(), IndexError> {
        let removed = pick.inputs.iter().map(|&(_, id)| id).collect();
        let cursor = pick.cursor.clone();
        if pick.is_move(&self.version) {
            let (level, id) = pick.inputs[0];
            let added = vec![(pick.output, self.version.file(level, id).clone())];
            let edit = Edit { removed, added, cursor, ..Edit::default() };
            let now = self.now();
            self.queue().begin_plan();
            let plan = self.queue().end_plan(1, now);
            let work = Work::Move(pick);
            self.beside.running.push(Running { plan, is_committing: false, work, edit, written: 0 });
            return Ok(());
        }
        let mut output = self.output_of(&pick);
        let planned = self.plan(options, &mut output, false, |tree, output| tree.merge(&pick, output))?;
        let Some((plan, dropped)) = planned else { return Ok(()) };
        let written = output.written();
        let edit = Edit { removed, added: output.added(), cursor, ..Edit::default() };
        let work = Work::Compaction(pick, dropped);
        self.beside.running.push(Running { plan, is_committing: false, work, edit, written });
        Ok(())
    }

    /// Plans the requests of `run`; `None` if there is no room for its tables.
    fn plan<T>(
        &mut self,
        options: &JobOptions,
        output: &mut Output,
        is_flush: bool,
        run: impl FnOnce(&mut Self, &mut Output) -> Result<T, IndexError>,
    ) -> Result<Option<(u64, T)>, IndexError> {
        let now = self.now();
        self.queue().begin_plan();
        self.beside.is_planning = true;
        let result = run(self, output);
        self.beside.is_planning = false;
        match result {
            Ok(result) => Ok(Some((self.queue().end_plan(options.depth, now), result))),
            Err(error) => {
                self.queue().drop_plan();
                self.refuse(error, output.made().to_vec(), is_flush)?;
                let bytes = output.room_for_all(self.io.store.unit_bytes());
                self.begin_collection(options, bytes, Lifetime::Level(output.level() as u8))?;
                Ok(None)
            }
        }
    }

    /// Begins a job that moves tables for the sake of new files of this size, unless one goes on or nothing can be moved.
    fn begin_collection(&mut self, options: &JobOptions, bytes: u64, lifetime: Lifetime) -> Result<(), IndexError> {
        if self.beside.moved().is_some() {
            return Ok(());
        }
        // What a job reads stays where it is.
        let is_read = |id: FileId| self.beside.picks().any(|pick| pick.inputs.iter().any(|&(_, input)| input == id));
        let files = self.version.files().filter(|(_, file)| !is_read(file.id));
        let movable: Vec<FileId> = files.map(|(_, file)| file.id).collect();
        let now = self.now();
        self.queue().begin_plan();
        let moved = match self.io.store.make_room(bytes, lifetime, &movable) {
            Ok(moved) if !moved.is_empty() => moved,
            other => {
                self.queue().drop_plan();
                return other.map(drop);
            }
        };
        let plan = self.queue().end_plan(options.depth, now);
        let of_moved = self.version.files().filter(|(_, file)| moved.contains(&file.id));
        let added = of_moved.map(|(level, file)| (level, file.clone())).collect();
        let edit = Edit { removed: moved.clone(), added, ..Edit::default() };
        let work = Work::Collection(moved);
        self.beside.running.push(Running { plan, is_committing: false, work, edit, written: 0 });
        Ok(())
    }

    /// A new log; waits while jobs make room for it.
    pub(super) fn create_log(&mut self, options: &JobOptions, file: FileId) -> Result<Wal, IndexError> {
        let bytes = self.config.write_buffer_bytes;
        loop {
            let refusal = match Wal::create(&mut *self.io.store, file, bytes) {
                Err(refusal @ IndexError::NoSpace { .. }) => refusal,
                created => return created,
            };
            let log_bytes = Wal::bytes(bytes, self.io.store.unit_bytes());
            self.begin_collection(options, log_bytes, Lifetime::Log)?;
            if self.beside.running.is_empty() {
                return Err(refusal);
            }
            self.wait_for_one()?;
            self.end_ended()?;
        }
    }
}
