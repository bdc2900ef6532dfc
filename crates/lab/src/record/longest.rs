//! The record's part about the longest request and its causes.

use super::figures::us;
use nandlab_block::{Completion, HeldUp, Request};
use nandlab_nand::stall::Step;
use nandlab_nand::{Cause, Stall, Time};
use serde::Serialize;

/// The longest request, as asked and done.
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

/// The request with the longest latency; in a tie, the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LongestRequest {
    /// Its number, from 1.
    pub number: u64,
    /// Its operation: `read`, `write`, `trim` or `flush`.
    pub op: &'static str,
    /// The host part behind it.
    pub origin: String,
    /// Arrival, us from the workload's start.
    pub arrival_us: f64,
    /// Latency, us: the sum of the parts below.
    pub latency_us: f64,
    /// Its time by cause, longest part first; null unless `host.explain_longest` asks for it.
    pub parts: Option<Vec<LatencyPart>>,
    /// Time waiting for space in the controller's write buffer, us; null if `parts` is null.
    pub space_us: Option<f64>,
    /// Other time without waiting for the flash, us: spent in the memories of a buffer, in firmware, in the controller or
    /// on the link. Null if `parts` is null.
    pub elsewhere_us: Option<f64>,
    /// Time in operations already forgotten by the simulator, us; null if `parts` is null.
    pub unknown_us: Option<f64>,
    /// The time step by step: the longest 300 steps. Null if `parts` is null.
    pub steps: Option<Vec<LatencyStep>>,
}

/// A step in a request's time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyStep {
    /// Its begin, us from the request's arrival.
    pub from_us: f64,
    /// Its end, us from the request's arrival.
    pub to_us: f64,
    /// The die or the plane at work, `die 3` or `plane 3`; null outside the flash.
    pub part: Option<String>,
    /// Reason for its operation; null outside the flash.
    pub cause: Option<&'static str>,
    /// Whether the operation is the request's own, not an earlier one's.
    pub own: bool,
}

/// Most steps of a request.
const MOST_STEPS: usize = 300;

/// A request's longest steps, in time order.
fn steps(stall: &Stall, unit: &str) -> Vec<LatencyStep> {
    let mut steps = stall.steps.clone();
    if steps.len() > MOST_STEPS {
        steps.sort_by_key(|step| (std::cmp::Reverse(step.end - step.start), step.start));
        steps.truncate(MOST_STEPS);
        steps.sort_by_key(|step| step.start);
    }
    let step = |step: &Step| LatencyStep {
        from_us: us(step.start - stall.arrival),
        to_us: us(step.end - stall.arrival),
        part: step.work.map(|work| format!("{unit} {}", work.unit)),
        cause: step.work.map(|work| work.cause.name()),
        own: step.work.is_some_and(|work| work.own),
    };
    steps.iter().map(step).collect()
}

/// A request's time in operations with one cause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyPart {
    /// Reason for the operations.
    pub cause: &'static str,
    /// Time in the request's own operations, us.
    pub own_us: f64,
    /// Time waiting for earlier requests' operations, us.
    pub waited_us: f64,
}

impl LongestRequest {
    /// `stall` is the device's account of its longest request, if the experiment asks for one; `held_up` is how long it
    /// waited for the write buffer; `start` is the start of the workload; `unit` is what works independently, `die` or
    /// `plane`.
    pub(crate) fn of(longest: &Longest, stall: Option<&Stall>, held_up: &HeldUp, (start, unit): (Time, &str)) -> Self {
        let Longest { number, request, completion } = longest;
        let took = completion.done - completion.arrival;
        let is_it = |stall: &Stall| (stall.arrival, stall.done) == (completion.arrival, completion.done);
        // The device never hears about a request that ended in a data error.
        let (known, other) = (stall.filter(|stall| is_it(stall)), stall.filter(|stall| !is_it(stall)));
        let is_held_up = (held_up.arrival, held_up.done) == (completion.arrival, completion.done);
        let space = known.filter(|_| is_held_up).map_or(0, |stall| held_up.wait.min(stall.elsewhere));
        Self {
            number: *number,
            op: request.op.name(),
            origin: request.origin.name(),
            arrival_us: us(completion.arrival.saturating_sub(start)),
            latency_us: us(took),
            parts: known.map(parts).or(other.map(|_| Vec::new())),
            space_us: stall.map(|_| us(space)),
            elsewhere_us: known.map(|stall| us(stall.elsewhere - space)).or(other.map(|_| 0.0)),
            unknown_us: known.map(|stall| us(stall.unknown)).or(other.map(|_| us(took))),
            steps: known.map(|stall| steps(stall, unit)).or(other.map(|_| Vec::new())),
        }
    }
}

/// By cause, longest first.
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
