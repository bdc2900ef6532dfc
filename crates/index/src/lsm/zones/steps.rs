//! Jobs over zones: what they append goes where the write pointers stand when it begins.
//!
//! A plan has the sectors of its reads, because nothing moves a table that a job reads. Everything else is a step: it
//! chooses its zone, and finishes or opens one, when it is due. A job takes an active zone that no other job goes on
//! with, or an empty one. Two jobs share one where the drive allows no further active zone, or where no zone but the
//! reserve is empty.
//!
//! The sectors of planned appends are promised: other files find room only beside them. A step that finds none all the
//! same, because zones were finished meanwhile, ends its job.

use super::step::Step;
use super::ZoneFiles;
use crate::lsm::queue::{Advanced, Jobs, Planned, Until};
use crate::lsm::storage::Storage;
use crate::IndexError;
use nandlab_nand::Time;

impl ZoneFiles<'_> {
    pub(super) fn plan_step(&mut self, step: Step) {
        self.promised += step.sectors();
        self.space.queue.plan_step(step);
    }

    fn give_back_promised<'a>(&mut self, planned: impl IntoIterator<Item = &'a Planned<Step>>) {
        let steps = planned.into_iter().map(|planned| match planned {
            Planned::Step(step) => step.sectors(),
            Planned::Request { .. } => 0,
        });
        self.promised -= steps.sum::<u64>();
    }

    /// What was due before the host's next request takes place.
    pub(super) fn catch_up(&mut self) -> Result<(), IndexError> {
        if self.space.queue.job().is_none() && self.space.queue.is_on() {
            self.advance(Until::Time(self.space.queue.now()))?;
        }
        Ok(())
    }

    /// The host waits for its requests.
    pub(super) fn wait_for_host(&mut self) -> Result<(), IndexError> {
        if self.space.queue.job().is_none() && !self.space.queue.is_planning() && self.space.queue.is_on() {
            let end = self.advance(Until::Host)?;
            self.space.queue.set_now(end.unwrap_or(0));
        }
        Ok(())
    }

    fn advance(&mut self, until: Until<'_>) -> Result<Option<Time>, IndexError> {
        loop {
            match self.space.queue.advance(until)? {
                Advanced::Ended(end) => return Ok(end),
                Advanced::Due { job, at } => self.take_step(job, at)?,
            }
        }
    }

    fn take_step(&mut self, job: u64, at: Time) -> Result<(), IndexError> {
        let step = self.space.queue.take_step(job, at);
        self.promised -= step.sectors();
        let taken = self.carry_out(step);
        self.space.queue.end_step();
        match taken {
            Err(why @ IndexError::NoSpace { .. }) => {
                let rest = self.space.queue.give_up(job, why);
                self.give_back_promised(&rest);
                Ok(())
            }
            taken => taken,
        }
    }

    fn carry_out(&mut self, step: Step) -> Result<(), IndexError> {
        match step {
            Step::Append { file, bytes, origin } => self.append_table(file, &bytes, origin),
            Step::Move { file, bytes } => {
                let mut moved = self.moves.remove(&file).unwrap_or_default();
                let written = self.write_moved(self.files[&file].lifetime, &bytes, &mut moved);
                self.moves.insert(file, moved);
                written
            }
            Step::Keep { file, extent } => {
                self.moves.entry(file).or_default().push(extent);
                Ok(())
            }
            Step::Root { area, offset, bytes } => self.append_root(area, offset, &bytes),
            Step::ResetRoot(area) => self.reset_root(area).map(drop),
        }
    }
}

impl Jobs for ZoneFiles<'_> {
    fn turn_on(&mut self) {
        self.space.queue.turn_on();
    }

    fn is_on(&mut self) -> bool {
        self.space.queue.is_on()
    }

    fn begin_plan(&mut self) {
        self.space.queue.begin_plan();
    }

    fn drop_plan(&mut self) {
        let plan = self.space.queue.take_plan();
        self.give_back_promised(&plan);
    }

    fn end_plan(&mut self, depth: u32, start: Time) -> u64 {
        if self.space.queue.planned().any(|step| matches!(step, Step::Append { .. })) {
            self.collections = 0;
        }
        self.space.queue.end_plan(depth, start)
    }

    fn end(&self, job: u64) -> Option<Time> {
        self.space.queue.end(job)
    }

    fn forget(&mut self, job: u64) -> Option<IndexError> {
        self.space.queue.forget(job)
    }

    fn wait(&mut self, jobs: &[u64]) -> Result<(), IndexError> {
        let end = self.advance(Until::Job(jobs))?;
        self.space.queue.set_now(end.unwrap_or(0));
        Ok(())
    }
}
