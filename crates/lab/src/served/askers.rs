//! What each I/O queue of a host and each placement handle asked for, since the opening.
//!
//! A row is kept for each queue that asked, and for each handle that a write named. There are [`MOST_ROWS`] of a kind at
//! most: the row that was quiet longest makes room, and its counts go on in those of all others.

use crate::latency::OpMeter;
use nandlab_block::{Completion, Error, Op, Request};
use nandlab_nand::{PlacementId, PlacementIds, Time, SECTOR_BYTES};
use serde::Serialize;

/// Rows that are kept at most, of queues and of handles each.
pub const MOST_ROWS: usize = 128;

/// An I/O queue of a host's controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct QueueId {
    /// The controller's number.
    pub controller: u16,
    /// The queue's number, from 1.
    pub queue: u16,
}

/// A placement handle; both null for requests that name none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct HandleId {
    /// The reclaim group.
    pub group: Option<u8>,
    /// The reclaim unit handle.
    pub handle: Option<u8>,
}

/// Latencies of one kind of requests, us of simulated time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BriefLatency {
    /// The mean.
    pub mean: f64,
    /// The 99th percentile, to three significant digits.
    pub p99: f64,
}

/// Requests of one queue, or by one handle. A failed request counts, but its bytes do not.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct AskedCounts {
    /// All requests, flushes and trims among them.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes and appends.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Latencies of reads; null without time or without a read.
    pub read_latency_us: Option<BriefLatency>,
    /// Latencies of writes; null without time or without a write.
    pub write_latency_us: Option<BriefLatency>,
}

/// A row: who asked, and for what.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct AskedRow<K: Serialize> {
    /// The queue or the handle.
    #[serde(flatten)]
    pub who: K,
    /// Its requests.
    #[serde(flatten)]
    pub counts: AskedCounts,
}

/// Every row, in the order of first requests.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AskedRecord<K: Serialize> {
    /// The rows, [`MOST_ROWS`] at most.
    pub rows: Vec<AskedRow<K>>,
    /// Those that made room for a row, together; null while all had room.
    pub others: Option<AskedCounts>,
}

/// How a request ended.
#[derive(Clone, Copy)]
struct Outcome {
    /// `None` without time, and if a zone refused the request.
    latency: Option<Time>,
    is_done: bool,
}

#[derive(Clone, Default)]
struct Sums {
    counts: AskedCounts,
    read: OpMeter,
    write: OpMeter,
}

impl Sums {
    fn add(&mut self, request: &Request, Outcome { latency, is_done }: Outcome) {
        let bytes = if is_done { u64::from(request.sectors) * u64::from(SECTOR_BYTES) } else { 0 };
        let counts = &mut self.counts;
        counts.requests += 1;
        let meter = match request.op {
            Op::Read => {
                (counts.reads, counts.read_bytes) = (counts.reads + 1, counts.read_bytes + bytes);
                &mut self.read
            }
            Op::Write | Op::Append => {
                (counts.writes, counts.written_bytes) = (counts.writes + 1, counts.written_bytes + bytes);
                &mut self.write
            }
            Op::Trim | Op::Flush | Op::UnitUpdate | Op::Zone(_) => return,
        };
        if let Some(latency) = latency {
            meter.add(latency);
        }
    }

    fn merge(&mut self, other: &Self) {
        let (sum, more) = (&mut self.counts, &other.counts);
        sum.requests += more.requests;
        (sum.reads, sum.writes) = (sum.reads + more.reads, sum.writes + more.writes);
        (sum.read_bytes, sum.written_bytes) =
            (sum.read_bytes + more.read_bytes, sum.written_bytes + more.written_bytes);
        self.read.merge(&other.read);
        self.write.merge(&other.write);
    }

    fn told(&self) -> AskedCounts {
        let brief = |meter: &OpMeter| meter.mean_and_p99().map(|(mean, p99)| BriefLatency { mean, p99 });
        AskedCounts { read_latency_us: brief(&self.read), write_latency_us: brief(&self.write), ..self.counts }
    }
}

struct Row<K> {
    who: K,
    sums: Sums,
    /// Number of its last request among all.
    last: u64,
}

/// The rows of one kind.
struct Askers<K> {
    rows: Vec<Row<K>>,
    others: Option<Sums>,
    requests: u64,
}

impl<K: Copy + PartialEq + Serialize> Askers<K> {
    fn new() -> Self {
        Self { rows: Vec::new(), others: None, requests: 0 }
    }

    fn add(&mut self, who: K, request: &Request, outcome: Outcome) {
        self.requests += 1;
        let place = self.rows.iter().position(|row| row.who == who).unwrap_or_else(|| self.begin(who));
        let row = &mut self.rows[place];
        row.last = self.requests;
        row.sums.add(request, outcome);
    }

    /// Begins a row; returns its place.
    fn begin(&mut self, who: K) -> usize {
        if self.rows.len() >= MOST_ROWS {
            let quiet = (0..self.rows.len()).min_by_key(|&at| self.rows[at].last).expect("there are rows");
            let gone = self.rows.remove(quiet);
            self.others.get_or_insert_default().merge(&gone.sums);
        }
        self.rows.push(Row { who, sums: Sums::default(), last: 0 });
        self.rows.len() - 1
    }

    fn told(&self) -> AskedRecord<K> {
        let rows = self.rows.iter().map(|row| AskedRow { who: row.who, counts: row.sums.told() }).collect();
        AskedRecord { rows, others: self.others.as_ref().map(Sums::told) }
    }
}

/// Who asked for what since the opening.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AskedBy {
    /// By I/O queue; requests that came by no queue are in none of them.
    pub queues: AskedRecord<QueueId>,
    /// By placement handle; null where the host does not place.
    pub handles: Option<AskedRecord<HandleId>>,
}

/// The rows of queues and handles.
#[doc(hidden)]
pub struct AskedMeter {
    queues: Askers<QueueId>,
    handles: Option<(PlacementIds, Askers<HandleId>)>,
    keeps_time: bool,
}

impl AskedMeter {
    /// For a drive with these placement identifiers, if the host places.
    pub fn new(ids: Option<PlacementIds>, keeps_time: bool) -> Self {
        Self { queues: Askers::new(), handles: ids.map(|ids| (ids, Askers::new())), keeps_time }
    }

    /// Adds a request with its end.
    pub fn add(&mut self, queue: Option<QueueId>, request: &Request, done: &Completion, error: Option<&Error>) {
        let is_refused = matches!(error, Some(Error::Zone { .. }));
        let latency = (self.keeps_time && !is_refused).then(|| done.done - done.arrival);
        let outcome = Outcome { latency, is_done: error.is_none() };
        if let Some(queue) = queue {
            self.queues.add(queue, request, outcome);
        }
        if let Some((ids, handles)) = &mut self.handles {
            handles.add(named(*ids, request.placement), request, outcome);
        }
    }

    /// The rows so far.
    pub fn told(&self) -> AskedBy {
        AskedBy { queues: self.queues.told(), handles: self.handles.as_ref().map(|(_, handles)| handles.told()) }
    }
}

/// The handle through which a request goes by its identifier; an unknown one goes through handle 0 of group 0.
fn named(ids: PlacementIds, placement: PlacementId) -> HandleId {
    let is_known = u32::from(placement.group) < ids.groups && u32::from(placement.handle) < ids.handles;
    match placement.is_some() {
        true if is_known => HandleId { group: Some(placement.group), handle: Some(placement.handle) },
        true => HandleId { group: Some(0), handle: Some(0) },
        false => HandleId { group: None, handle: None },
    }
}
