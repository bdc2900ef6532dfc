//! When requests come, from the trace or as earlier ones are answered and the host has thought; and when firmware has
//! looked at them.

use crate::late::{Ended, Late};
use crate::path::{HeldUp, Path, PathTimes, PathUse, PathWaits};
use crate::request::Request;
use nandlab_nand::tournament::Tournament;
use nandlab_nand::{Time, Timeline};

/// Decides when the next request comes, and when the device begins with it.
#[derive(Clone, Debug)]
pub struct HostClock {
    mode: Mode,
    /// Firmware time per request; requests are served one after another.
    firmware: Time,
    /// Additional firmware time per map entry.
    look_up: Time,
    /// When the firmware's processor is free.
    free: Time,
    /// How long it worked.
    worked: Time,
    /// Total wait for it.
    waited: Time,
    /// The requests under way, if the device follows events.
    pub(crate) late: Option<Box<Late>>,
}

#[derive(Clone, Debug)]
enum Mode {
    /// At the request's own time.
    Open,
    /// When an outstanding request is done, and the host has thought for some time.
    Closed { ends: Tournament, depth: u32, think: Time },
}

impl HostClock {
    /// Requests come at their own times.
    pub fn open_loop() -> Self {
        Self::with_mode(Mode::Open)
    }

    /// `queue_depth` requests are always outstanding; the next comes when the first is done.
    ///
    /// # Panics
    /// With a queue depth of 0.
    pub fn closed_loop(queue_depth: u32) -> Self {
        Self::thinking(queue_depth, 0, 0)
    }

    /// `queue_depth` slots, each asking first at `start`, and again `think` after its last request was done.
    ///
    /// # Panics
    /// With a queue depth of 0.
    pub fn thinking(queue_depth: u32, think: Time, start: Time) -> Self {
        assert!(queue_depth > 0, "a closed loop keeps at least one request outstanding");
        let mut ends = Tournament::new(queue_depth);
        (0..queue_depth).for_each(|slot| ends.set(slot, start));
        Self::with_mode(Mode::Closed { ends, depth: queue_depth, think })
    }

    fn with_mode(mode: Mode) -> Self {
        Self { mode, firmware: 0, look_up: 0, free: 0, worked: 0, waited: 0, late: None }
    }

    /// How long each part between the host and the FTL worked, the firmware's processor included.
    pub fn path_use(&self) -> PathUse {
        let path = self.late.as_ref().map(|late| late.path());
        PathUse { firmware: self.worked, ..path.map(Path::used).unwrap_or_default() }
    }

    /// How long requests waited for each part between the host and the FTL.
    pub fn path_waits(&self) -> PathWaits {
        let path = self.late.as_ref().map(|late| late.path());
        PathWaits { firmware: self.waited, ..path.map(Path::waits).unwrap_or_default() }
    }

    /// The longest request's wait for space in the write buffer.
    pub fn held_up(&self) -> HeldUp {
        let path = self.late.as_ref().map(|late| late.path());
        path.map(Path::longest).unwrap_or_default()
    }

    /// One firmware processor takes `request` per request and `look_up` per map entry before the device begins, if it
    /// follows events.
    pub fn with_firmware(self, request: Time, look_up: Time) -> Self {
        Self { firmware: request, look_up, ..self }
    }

    /// When firmware is done with a request it was given at `at`, and the write buffer has its data if it answers it.
    /// Such a request needs no map entries.
    #[inline]
    pub(crate) fn look_up_below(&mut self, at: Time, look_ups: impl FnOnce() -> u64) -> Time {
        match self.in_buffer() {
            None => self.look_up(at, look_ups),
            Some(from) => self.look_up(at, || 0).max(from),
        }
    }

    fn in_buffer(&self) -> Option<Time> {
        let path = self.late.as_ref().map(|late| late.path());
        path.and_then(Path::in_buffer)
    }

    /// The latest request as the device gets it at `time`: without sectors if the controller's write buffer answers it.
    #[inline]
    pub(crate) fn below(&self, request: &Request, time: Time) -> Request {
        let sectors = if self.in_buffer().is_some() { 0 } else { request.sectors };
        Request { time, sectors, ..*request }
    }

    /// When firmware, given a request at `at`, has looked up its map entries.
    #[inline]
    fn look_up(&mut self, at: Time, look_ups: impl FnOnce() -> u64) -> Time {
        if self.firmware | self.look_up == 0 {
            return at;
        }
        let entries = if self.look_up == 0 { 0 } else { look_ups() };
        let takes = self.firmware + self.look_up * entries;
        self.worked += takes;
        self.waited += self.free.saturating_sub(at);
        self.free = self.free.max(at) + takes;
        self.free
    }

    /// Follows the events on a device that has them.
    pub fn follow_events(self, times: &PathTimes, start: Time) -> Self {
        let (slots, think) = match &self.mode {
            Mode::Open => (None, 0),
            Mode::Closed { depth, think, .. } => (Some(*depth), *think),
        };
        Self { late: Some(Box::new(Late::new(times, slots, think, start))), ..self }
    }

    /// Whether it follows a device's events: ends are then known later ([`Self::take_ended`]).
    #[inline]
    pub fn follows_events(&self) -> bool {
        self.late.is_some()
    }

    /// Goes on until a request ends, but not beyond `limit`; false if none ends by then.
    pub fn step(&mut self, timeline: &mut Timeline, limit: Time) -> bool {
        self.late.as_mut().is_some_and(|late| late.step(timeline, limit))
    }

    /// The requests that ended since the last call, on a device that follows events.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        self.late.as_mut().map(|late| late.take_ended()).unwrap_or_default()
    }

    /// When every request comes if none takes time, in a closed loop without thinking.
    pub fn only_arrival(&self) -> Option<Time> {
        match &self.mode {
            Mode::Closed { ends, think: 0, .. } => Some(ends.first().time()),
            _ => None,
        }
    }

    /// When `request` comes.
    #[inline]
    pub fn arrival(&self, request: &Request) -> Time {
        match &self.mode {
            Mode::Open => request.time,
            Mode::Closed { ends, .. } => ends.first().time(),
        }
    }

    /// Takes the end for the request that came last.
    #[inline]
    pub fn complete(&mut self, done: Time) {
        if let Mode::Closed { ends, think, .. } = &mut self.mode {
            ends.set(ends.winner(), done + *think);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;

    #[test]
    fn closed_loop_comes_when_the_earliest_is_done() {
        let any = Request::new(Op::Read, 0, 1);
        let mut clock = HostClock::closed_loop(3);
        for done in [50, 20, 40] {
            assert_eq!(clock.arrival(&any), 0);
            clock.complete(done);
        }
        let mut seen = Vec::new();
        for done in [90, 45, 60, 100] {
            seen.push(clock.arrival(&any));
            clock.complete(done);
        }
        assert_eq!(seen, [20, 40, 45, 50]);
    }

    /// Requests wait for the processor one behind the other, and it for them.
    #[test]
    fn firmware_looks_at_one_request_at_a_time() {
        let mut clock = HostClock::open_loop().with_firmware(10, 0);
        let uncounted = || unreachable!("look-ups take no time");
        assert_eq!([0, 0, 5, 100].map(|arrival| clock.look_up_below(arrival, uncounted)), [10, 20, 30, 110]);
        assert_eq!(HostClock::open_loop().look_up_below(7, uncounted), 7);
        let mut clock = HostClock::open_loop().with_firmware(10, 2);
        assert_eq!(
            [(0, 1), (0, 64), (500, 0)].map(|(arrival, entries)| clock.look_up_below(arrival, || entries)),
            [12, 150, 510]
        );
        assert_eq!(HostClock::open_loop().with_firmware(0, 3).look_up_below(7, || 2), 13);
    }

    #[test]
    fn a_slot_thinks_between_its_requests() {
        let any = Request::new(Op::Read, 0, 1);
        let mut clock = HostClock::thinking(2, 7, 100);
        let mut seen = Vec::new();
        for done in [150, 120, 130, 160] {
            seen.push(clock.arrival(&any));
            clock.complete(done);
        }
        assert_eq!(seen, [100, 100, 127, 137]);
    }

    #[test]
    fn open_loop_comes_when_the_trace_says() {
        let clock = HostClock::open_loop();
        assert_eq!(clock.arrival(&Request { time: 77, ..Request::new(Op::Read, 0, 1) }), 77);
    }
}
