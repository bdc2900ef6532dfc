//! A device's operations in the order of events.

use super::{Ctx, Stall, Time, Waits};
use crate::timeline::{Answer, Part, Steps, Timeline};
use crate::work::Work;

impl Ctx {
    /// The device keeps time.
    pub(crate) fn set_timeline(&mut self, timeline: Timeline) {
        self.events = Some(Box::new(timeline));
    }

    /// From now on, operations take place in the order of events, if the device keeps time. It is idle.
    pub fn follow_events(&mut self) {
        if let Some(timeline) = self.events.as_mut().filter(|_| !self.follows_events) {
            timeline.restart(self.horizon);
            self.follows_events = true;
        }
    }

    /// All operations under way end; later times are sums.
    pub fn leave_events(&mut self) {
        if self.follows_events {
            self.wait_for_all();
            self.follows_events = false;
        }
    }

    /// All operations under way end.
    pub fn wait_for_all(&mut self) {
        if let Some(timeline) = self.events.as_mut().filter(|_| self.follows_events) {
            while timeline.step(Time::MAX).is_some() {}
            // So far the horizon was an estimate. What follows has waited for it.
            let last = timeline.last();
            (self.horizon, self.arrival, self.ready) = (last, last, last);
        }
    }

    /// Since when the device has been idle at `time`; `None` if operations are under way until then.
    #[inline]
    pub fn idle_since(&mut self, time: Time) -> Option<Time> {
        if let Some(timeline) = self.events.as_ref().filter(|_| self.follows_events) {
            if !timeline.is_idle() {
                return None;
            }
            self.horizon = timeline.last();
        }
        (time > self.horizon).then_some(self.horizon)
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

    /// The operations that follow are those of a request that comes at `arrival` and whose end somebody waits for
    /// ([`Self::close_alone`]); false if they belong to another request, or the device follows no events.
    pub fn open_alone(&mut self, arrival: Time) -> bool {
        let over = self.over;
        let Some(timeline) = self.timeline().filter(|timeline| !timeline.is_open()) else { return false };
        while timeline.step(arrival).is_some() {}
        timeline.open_next(over);
        if timeline.is_idle() {
            self.horizon = timeline.last();
        }
        true
    }

    /// Goes on until the open request ends; [`Self::finish`] is its end then.
    pub fn close_alone(&mut self) {
        let arrival = self.arrival;
        let Some(timeline) = self.timeline() else { return };
        let number = timeline.close(arrival);
        let end = std::iter::from_fn(|| timeline.step(Time::MAX))
            .find_map(|Answer { request, at, is_done, .. }| (is_done && request == number).then_some(at));
        self.finish = end.expect("a request ends");
    }

    /// As [`Self::issue`], but the program joins the last one on its unit; `None` if it cannot.
    pub(crate) fn issue_joined(&mut self, unit: u32, steps: Steps, estimate: Time) -> Option<Time> {
        let (part, arrival, cause) = (self.part(), self.arrival, self.cause());
        self.events.as_mut()?.join(unit, arrival, steps, (part, cause), estimate)
    }

    /// Whose the current operations are.
    fn part(&self) -> Part {
        let is_own = self.is_waited_for_at_last();
        Part { is_waited_for: is_own && !self.buffered, is_own }
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

    /// Waits of requests for flash so far.
    pub fn waits(&self) -> Waits {
        self.events.as_ref().map_or(Waits::default(), |events| events.waits())
    }

    /// A host request, carried out alone, is over; the host interface calls this after each one.
    #[inline]
    pub fn request_done(&mut self, arrival: Time, done: Time) {
        if self.follows_events {
            let over = self.over;
            if let Some(timeline) = &mut self.events {
                timeline.answered(over, arrival, done);
            }
        }
        self.over += 1;
    }

    /// Looks for the longest request from now on.
    pub fn look_for_stalls(&mut self) {
        if let Some(timeline) = &mut self.events {
            timeline.look_for_stalls();
        }
    }

    /// The longest request's breakdown since [`Self::look_for_stalls`]; `None` if no request took time.
    pub fn longest_stall(&mut self) -> Option<&Stall> {
        self.events.as_mut().and_then(|timeline| timeline.longest_stall())
    }

    /// Keeps how operations use the device from now on, for [`Self::take_work`]; counts requests from 0.
    pub fn keep_work(&mut self) {
        self.over = 0;
        if let Some(timeline) = &mut self.events {
            timeline.keep_work();
        }
    }

    /// Moves the news since the last call to `into`, an empty list.
    #[inline]
    pub fn take_work(&mut self, into: &mut Vec<Work>) {
        if let Some(works) = self.events.as_mut().and_then(|timeline| timeline.works()) {
            std::mem::swap(works, into);
        }
    }
}
