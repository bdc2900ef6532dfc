//! A device's operations in the order of events.

use super::{Ctx, Time};
use crate::timeline::{Part, Steps, Timeline};

impl Ctx {
    /// The device can follow events.
    pub(crate) fn set_timeline(&mut self, timeline: Timeline) {
        self.events = Some(Box::new(timeline));
    }

    /// From now on, operations take place in the order of events, if the device can do that. It is idle.
    pub fn follow_events(&mut self) {
        if let Some(timeline) = &mut self.events {
            timeline.restart(self.horizon);
            self.follows_events = true;
        }
    }

    /// Back to times at issue; all operations have ended.
    pub fn leave_events(&mut self) {
        if let Some(timeline) = self.timeline() {
            assert!(timeline.is_idle(), "operations are under way");
            // So far the horizon was an estimate.
            let last = timeline.last();
            (self.follows_events, self.horizon) = (false, last);
        }
    }

    /// The device's operations in the order of events, while it follows them.
    #[inline]
    pub fn timeline(&mut self) -> Option<&mut Timeline> {
        self.events.as_deref_mut().filter(|_| self.follows_events)
    }

    #[inline]
    pub(crate) fn follows_events(&self) -> bool {
        self.follows_events
    }

    /// As [`Self::issue`] for a program that joins the last one on its unit; `None` if it cannot.
    pub(crate) fn issue_joined(&mut self, unit: u32, steps: Steps, estimate: Time) -> Option<Time> {
        let (part, arrival, cause) = (self.part(), self.arrival, self.cause());
        self.events.as_mut()?.join(unit, arrival, steps, (part, cause), estimate)
    }

    /// Whose the current operations are.
    fn part(&self) -> Part {
        Part { is_waited_for: self.is_waited_for() && !self.buffered, is_own: self.is_waited_for() }
    }

    /// Issues an operation on a unit; returns its estimated end, under which others refer to it.
    pub(crate) fn issue(&mut self, unit: u32, ready: Time, steps: Steps, is_erase: bool, estimate: Time) -> Time {
        let (part, arrival, cause) = (self.part(), self.arrival, self.cause());
        match &mut self.events {
            Some(timeline) => timeline.issue(unit, (arrival, ready), steps, (part, is_erase, cause), estimate),
            None => estimate,
        }
    }

    #[cold]
    pub(super) fn wait_for_operation(&mut self, name: Time) {
        if let Some(timeline) = &mut self.events {
            timeline.wait_for(name);
        }
    }
}
