//! When requests come: from the trace, or as earlier ones are answered.

use crate::request::Request;
use nandlab_nand::Time;

/// Decides when the next request comes.
#[derive(Clone, Debug)]
pub struct HostClock(Mode);

#[derive(Clone, Debug)]
enum Mode {
    /// At the time the request names.
    Open,
    /// When one of the outstanding requests is done.
    Closed(Outstanding),
}

impl HostClock {
    /// Requests come at their own times.
    pub fn open_loop() -> Self {
        Self(Mode::Open)
    }

    /// `queue_depth` requests are outstanding all the time; the next comes when the first of them is done.
    ///
    /// # Panics
    /// With a queue depth of 0.
    pub fn closed_loop(queue_depth: u32) -> Self {
        assert!(queue_depth > 0, "a closed loop keeps at least one request outstanding");
        Self(Mode::Closed(Outstanding::new(queue_depth as usize)))
    }

    /// When `request` comes.
    #[inline]
    pub fn arrival(&self, request: &Request) -> Time {
        match &self.0 {
            Mode::Open => request.time,
            Mode::Closed(outstanding) => outstanding.first(),
        }
    }

    /// Takes the end of the request that came last.
    #[inline]
    pub fn complete(&mut self, done: Time) {
        if let Mode::Closed(outstanding) = &mut self.0 {
            outstanding.replace_first(done);
        }
    }
}

/// End times of the outstanding requests as a binary heap, earliest first.
#[derive(Clone, Debug)]
struct Outstanding {
    ends: Vec<Time>,
}

impl Outstanding {
    fn new(depth: usize) -> Self {
        Self { ends: vec![0; depth] }
    }

    #[inline]
    fn first(&self) -> Time {
        self.ends[0]
    }

    #[inline]
    fn replace_first(&mut self, end: Time) {
        let ends = &mut self.ends[..];
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child >= ends.len() {
                break;
            }
            if child + 1 < ends.len() && ends[child + 1] < ends[child] {
                child += 1;
            }
            if ends[child] >= end {
                break;
            }
            ends[at] = ends[child];
            at = child;
        }
        ends[at] = end;
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

    #[test]
    fn open_loop_comes_when_the_trace_says() {
        let clock = HostClock::open_loop();
        assert_eq!(clock.arrival(&Request { time: 77, ..Request::new(Op::Read, 0, 1) }), 77);
    }
}
