//! Starts and ends: clones begin, wait for others, and end them.

use super::company::Ended;
use super::jobs::Jobs;
use nandlab_nand::Time;
use std::cmp::Reverse;

impl Jobs {
    /// Starts the present group's clones at `time`, and further groups while none has anything to ask.
    pub(super) fn start_group(&mut self, mut time: Time) {
        loop {
            for number in 0..self.clones.len() {
                if self.clones[number].group == self.group {
                    self.start(number, time);
                }
            }
            if self.at_work > 0 || !self.has_further_group() {
                return;
            }
            time = self.group_end(time);
            self.group += 1;
        }
    }

    /// Starts a clone at `time`, unless it waits for another job.
    fn start(&mut self, number: usize, time: Time) {
        self.at_work += 1;
        let waits_for = self.orders[self.clones[number].job].waits_for;
        if waits_for.is_some_and(|job| self.unfinished[job] > 0) {
            self.pending.push(number);
            return;
        }
        self.clones[number].start(time);
        // If no clone asks for anything, `start_group` ends the group.
        if self.clones[number].next_time().is_some() {
            self.enqueue(number, 0);
        } else {
            self.at_work -= 1;
            self.finish(number);
        }
    }

    fn has_further_group(&self) -> bool {
        self.clones.last().is_some_and(|last| self.group < last.group)
    }

    /// The end for the present group's last request; no earlier than `time`.
    fn group_end(&self, time: Time) -> Time {
        let of_group = self.clones.iter().filter(|clone| clone.group == self.group);
        of_group.map(|clone| clone.last_end).fold(time, Time::max)
    }

    /// A clone asks next when it can, no earlier than `earliest`; if it asks no more, it ends with its last request.
    pub(super) fn enqueue(&mut self, number: usize, earliest: Time) {
        let clone = &mut self.clones[number];
        let next = clone.next_time().map(|next| next.max(earliest));
        match next {
            Some(next) if clone.is_over(next) => clone.stop(),
            Some(next) if self.flows.holds(number) => {
                let since = if clone.has_unknown() { next } else { next.max(clone.last_end) };
                return self.flows.hold(number, since);
            }
            Some(next) => return self.queue.push(Reverse((next, clone.turn(), number))),
            None => {}
        }
        let clone = &self.clones[number];
        if clone.next_time().is_none() && !clone.has_unknown() {
            self.end_clone(number);
        }
    }

    /// Clones held by a flow look again.
    pub(super) fn resume(&mut self, time: Time) {
        for (number, earliest) in self.flows.resume(time) {
            self.enqueue(number, earliest);
        }
    }

    /// A clone has nothing more to ask, and all its requests have ended.
    fn end_clone(&mut self, number: usize) {
        let end = self.clones[number].last_end;
        self.at_work -= 1;
        self.finish(number);
        if let Some(ended) = self.orders[self.clones[number].job].ended {
            self.end_others(number, ended, end);
            self.drop_over();
        }
        self.resume(end);
        if self.at_work == 0 && self.has_further_group() {
            let end = self.group_end(end);
            self.group += 1;
            self.start_group(end);
        }
    }

    /// A clone is through. With a job's last clone the jobs waiting for it begin.
    fn finish(&mut self, number: usize) {
        let job = self.clones[number].job;
        self.unfinished[job] -= 1;
        self.flows.end(number);
        if self.unfinished[job] > 0 {
            return;
        }
        let of_job = self.clones.iter().filter(|clone| clone.job == job);
        let end = of_job.map(|clone| clone.last_end).max().unwrap_or(0);
        let orders = &self.orders;
        let waits = |number: &usize| orders[self.clones[*number].job].waits_for == Some(job);
        let (ready, pending): (Vec<usize>, _) = self.pending.iter().partition(|number| waits(number));
        self.pending = pending;
        for number in ready {
            self.at_work -= 1;
            self.start(number, end);
        }
    }

    /// A clone's end ends others at `end`.
    pub(super) fn end_others(&mut self, number: usize, ended: Ended, end: Time) {
        let of = self.clones[number].job;
        for other in 0..self.clones.len() {
            let clone = &mut self.clones[other];
            if other != number && self.orders[of].ends(ended, &self.orders[clone.job], clone.has_begun(end)) {
                clone.end_by(end);
            }
        }
    }

    /// Takes ended clones out of the queue.
    pub(super) fn drop_over(&mut self) {
        let queue = std::mem::take(&mut self.queue);
        let is_over = |&Reverse((time, _, number)): &Reverse<(Time, u64, usize)>| self.clones[number].is_over(time);
        let (over, rest): (Vec<_>, Vec<_>) = queue.into_iter().partition(is_over);
        self.queue = rest.into();
        for Reverse((time, _, number)) in over {
            self.enqueue(number, time);
        }
    }
}
