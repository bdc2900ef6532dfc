//! The part of a record that says which request took longest, and why.

use super::figures::us;
use nandlab_block::{Completion, Op, Request};
use nandlab_nand::{Cause, Stall, Time};
use serde::Serialize;

/// The request that took longest, as it was asked and done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Longest {
    /// Its number, from 1.
    pub(crate) number: u64,
    pub(crate) request: Request,
    pub(crate) completion: Completion,
}

impl Longest {
    pub(crate) fn latency(&self) -> Time {
        self.completion.done - self.completion.arrival
    }
}

/// The request that took longest; the first of those that did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LongestRequest {
    /// Its number, from 1.
    pub number: u64,
    /// What it asked: `read`, `write`, `trim` or `flush`.
    pub op: &'static str,
    /// Which part of the host asked.
    pub origin: String,
    /// When it came, us from the start of the workload.
    pub arrival_us: f64,
    /// From its arrival to its end, us: the sum of what follows.
    pub latency_us: f64,
    /// What its time went to, the most first; null unless `host.explain_longest` asks for it.
    pub parts: Option<Vec<LatencyPart>>,
    /// Time in which it waited for no operation of the flash, us: of the memories of a buffer, or of firmware. Null as
    /// `parts`.
    pub elsewhere_us: Option<f64>,
    /// Time of operations that the simulator no longer remembered, us; null as `parts`.
    pub unknown_us: Option<f64>,
}

/// Time that a request spent on operations of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyPart {
    /// Why the flash was asked.
    pub cause: &'static str,
    /// Time of operations that the request itself led to, us.
    pub own_us: f64,
    /// Time that it waited for operations that earlier requests had led to, us.
    pub waited_us: f64,
}

impl LongestRequest {
    /// `stall` is what the device knows of the request that took longest there, where it was asked; `start` is when the
    /// workload began.
    pub(crate) fn of(longest: &Longest, stall: Option<&Stall>, start: Time) -> Self {
        let Longest { number, request, completion } = longest;
        let took = completion.done - completion.arrival;
        let is_it = |stall: &Stall| (stall.arrival, stall.done) == (completion.arrival, completion.done);
        // Of a request that ended in an error of its data the device was not told.
        let (known, other) = (stall.filter(|stall| is_it(stall)), stall.filter(|stall| !is_it(stall)));
        Self {
            number: *number,
            op: name(request.op),
            origin: request.origin.name(),
            arrival_us: us(completion.arrival.saturating_sub(start)),
            latency_us: us(took),
            parts: known.map(parts).or(other.map(|_| Vec::new())),
            elsewhere_us: known.map(|stall| us(stall.elsewhere)).or(other.map(|_| 0.0)),
            unknown_us: known.map(|stall| us(stall.unknown)).or(other.map(|_| us(took))),
        }
    }
}

/// By cause, the most first.
fn parts(stall: &Stall) -> Vec<LatencyPart> {
    let part = |&cause: &Cause| LatencyPart {
        cause: cause.name(),
        own_us: us(stall.own[cause as usize]),
        waited_us: us(stall.others[cause as usize]),
    };
    let mut parts: Vec<_> = Cause::ALL.iter().map(part).filter(|part| part.total_us() > 0.0).collect();
    parts.sort_by(|a, b| b.total_us().total_cmp(&a.total_us()));
    parts
}

impl LatencyPart {
    fn total_us(&self) -> f64 {
        self.own_us + self.waited_us
    }
}

fn name(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush => "flush",
    }
}
