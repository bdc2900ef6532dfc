//! When requests come, from the trace or as earlier ones are answered and the host has thought; and when firmware has
//! looked at them.

use crate::late::{Ended, Late};
use crate::path::{HeldUp, Path, PathTimes, PathUse, PathWaits};
use crate::request::Request;
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
    /// The path between the host and the FTL, if it takes time.
    path: Option<Box<Path>>,
    /// The requests under way, if the device follows events.
    pub(crate) late: Option<Box<Late>>,
}

#[derive(Clone, Debug)]
enum Mode {
    /// At the request's own time.
    Open,
    /// When an outstanding request is done, and the host has thought for some time.
    Closed { outstanding: Outstanding, think: Time },
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
        let outstanding = Outstanding::new(queue_depth, start);
        Self::with_mode(Mode::Closed { outstanding, think })
    }

    fn with_mode(mode: Mode) -> Self {
        Self { mode, firmware: 0, look_up: 0, free: 0, worked: 0, waited: 0, path: None, late: None }
    }

    /// Requests take time between the host and the FTL.
    pub fn with_path(self, times: &PathTimes) -> Self {
        Self { path: Path::new(times).map(Box::new), ..self }
    }

    /// How long each part between the host and the FTL worked, the firmware's processor included.
    pub fn path_use(&self) -> PathUse {
        let path = self.path.as_deref().or_else(|| self.late.as_ref().map(|late| late.path()));
        PathUse { firmware: self.worked, ..path.map(Path::used).unwrap_or_default() }
    }

    /// How long requests waited for each part between the host and the FTL.
    pub fn path_waits(&self) -> PathWaits {
        let path = self.path.as_deref().or_else(|| self.late.as_ref().map(|late| late.path()));
        PathWaits { firmware: self.waited, ..path.map(Path::waits).unwrap_or_default() }
    }

    /// The longest request's wait for space in the write buffer.
    pub fn held_up(&self) -> HeldUp {
        let path = self.path.as_deref().or_else(|| self.late.as_ref().map(|late| late.path()));
        path.map(Path::longest).unwrap_or_default()
    }

    /// One firmware processor takes `request` per request and `look_up` per map entry before the device begins.
    pub fn with_firmware(self, request: Time, look_up: Time) -> Self {
        Self { firmware: request, look_up, ..self }
    }

    /// When the FTL begins a request that came at `arrival`; `look_ups` counts its map entries, and is called only if
    /// they take time.
    #[inline]
    pub fn begin(&mut self, request: &Request, arrival: Time, look_ups: impl FnOnce() -> u64) -> Time {
        let at = match &mut self.path {
            Some(path) => path.begin(request, arrival),
            None => arrival,
        };
        self.look_up_below(at, look_ups)
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
        let path = self.path.as_deref().or_else(|| self.late.as_ref().map(|late| late.path()));
        path.and_then(Path::in_buffer)
    }

    /// The latest request as the device gets it at `time`: without sectors if the controller's write buffer answers it.
    #[inline]
    pub fn below(&self, request: &Request, time: Time) -> Request {
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
            Mode::Closed { outstanding, think } => (Some(outstanding.depth), *think),
        };
        Self { path: None, late: Some(Box::new(Late::new(times, slots, think, start))), ..self }
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

    /// When the host has the answer to a request: it came at `came.0`, the FTL began it at `came.1`, and its flash
    /// operations end at `flash`.
    #[inline]
    pub fn end(&mut self, request: &Request, came: (Time, Time), flash: Time) -> Time {
        match &mut self.path {
            Some(path) => path.end(request, came, flash),
            None => flash,
        }
    }

    /// The device failed to carry out the request that it began last; its flash operations end at `flash`.
    pub fn fail(&mut self, request: &Request, flash: Time) {
        if let Some(path) = &mut self.path {
            path.fail(request, flash);
        }
    }

    /// When `request` comes.
    #[inline]
    pub fn arrival(&self, request: &Request) -> Time {
        match &self.mode {
            Mode::Open => request.time,
            Mode::Closed { outstanding, .. } => outstanding.first(),
        }
    }

    /// Takes the end for the request that came last.
    #[inline]
    pub fn complete(&mut self, done: Time) {
        if let Mode::Closed { outstanding, think } = &mut self.mode {
            outstanding.replace_first(done + *think);
        }
    }
}

/// The outstanding requests' ends in a tournament: the earlier one goes on to the next round.
#[derive(Clone, Debug)]
struct Outstanding {
    /// The overall winner at 1, the games below it at 2 and 3, and so on; the last half are the requests.
    games: Vec<End>,
    depth: u32,
}

/// A request's end.
#[derive(Clone, Copy, Debug)]
struct End {
    time: Time,
    /// Its index among the games.
    request: u32,
}

impl Outstanding {
    fn new(depth: u32, start: Time) -> Self {
        let players = depth.next_power_of_two();
        // Dummy players fill up to a power of two and never win; times are below 2^63 ns, 292 years.
        let time = |request| if request < players + depth { start } else { i64::MAX as Time };
        let mut games: Vec<End> = (0..2 * players).map(|request| End { time: time(request), request }).collect();
        for game in (1..players as usize).rev() {
            games[game] = games[2 * game];
        }
        Self { games, depth }
    }

    #[inline]
    fn first(&self) -> Time {
        self.games[1].time
    }

    /// The request that ends first gives its place to one that ends at `time`. The earlier end is unpredictable, so
    /// arithmetic decides each game (compilers would make a branch) and the way up always has the same length.
    #[inline]
    fn replace_first(&mut self, time: Time) {
        let request = self.games[1].request;
        let mut winner = End { time, request };
        let mut game = request as usize;
        self.games[game] = winner;
        while game > 1 {
            let other = self.games[game ^ 1];
            let later = other.time.wrapping_sub(winner.time) as i64;
            // All ones if the other ends earlier.
            let wins = later >> 63;
            winner.time = winner.time.wrapping_add((later & wins) as u64);
            winner.request ^= (winner.request ^ other.request) & wins as u32;
            game /= 2;
            self.games[game] = winner;
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
        let any = Request::new(Op::Read, 0, 1);
        let mut clock = HostClock::open_loop().with_firmware(10, 0);
        let uncounted = || unreachable!("look-ups take no time");
        assert_eq!([0, 0, 5, 100].map(|arrival| clock.begin(&any, arrival, uncounted)), [10, 20, 30, 110]);
        assert_eq!(HostClock::open_loop().begin(&any, 7, uncounted), 7);
        let mut clock = HostClock::open_loop().with_firmware(10, 2);
        assert_eq!(
            [(0, 1), (0, 64), (500, 0)].map(|(arrival, entries)| clock.begin(&any, arrival, || entries)),
            [12, 150, 510]
        );
        assert_eq!(HostClock::open_loop().with_firmware(0, 3).begin(&any, 7, || 2), 13);
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
