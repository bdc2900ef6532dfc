//! Rates and latencies by queue depth, compared with a plain event model that shares no code with the simulator.
//!
//! A run's operation log tells the model which operations each request needs, and which ones an erase waits for. The model
//! finds all times itself.

use crate::support::parse;
use nandlab_lab::record::{LatencySummary, Record};
use nandlab_lab::{run, Control, Outputs};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::path::Path;

const READ: u64 = 50_000;
const PROGRAM: u64 = 500_000;
const ERASE: u64 = 3_000_000;
/// (4096 + 128) bytes at 2.5 ns.
const TRANSFER: u64 = 10_560;
const PAGES_PER_BLOCK: u64 = 32;
const DEPTHS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// A part of an operation, ns.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Array(u64),
    Bus(u64),
}
use Phase::{Array, Bus};

#[derive(Debug)]
struct Operation {
    die: usize,
    phases: &'static [Phase],
    /// Operations that must have ended before, by their numbers in the order of issue.
    after: Vec<usize>,
    is_waited_for: bool,
}

#[derive(Debug)]
struct Request {
    is_read: bool,
    operations: Vec<Operation>,
}

/// What happens at a time: the end of an operation's phase, the next request, the choice of a channel. At the same time
/// they take place in this order, so that a channel knows all dies that are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    PhaseEnds(usize),
    RequestComes,
    ChannelChooses(usize),
}

#[derive(Debug)]
struct Issued<'r> {
    what: &'r Operation,
    request: usize,
    phase: usize,
    end: Option<u64>,
}

#[derive(Debug, Default)]
struct Die {
    /// Operations in order, by number; the one under way is in front.
    queue: VecDeque<usize>,
    has_begun: bool,
}

#[derive(Debug, Default)]
struct Channel {
    is_busy: bool,
    /// Operations with data: since when, and their numbers.
    ready: BinaryHeap<Reverse<(u64, usize)>>,
}

#[derive(Debug, Default)]
struct Model<'r> {
    requests: &'r [Request],
    events: BinaryHeap<Reverse<(u64, Event)>>,
    issued: Vec<Issued<'r>>,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// Dies whose first operation waits for another die's.
    held: Vec<usize>,
    /// By request that has come: arrival and end.
    times: Vec<(u64, u64)>,
}

impl<'r> Model<'r> {
    /// Arrivals and ends of the requests in a closed loop.
    fn times(requests: &'r [Request], (channels, dies): (usize, usize), depth: usize) -> Vec<(u64, u64)> {
        let mut model = Model { requests, ..Model::default() };
        model.channels.resize_with(channels, Channel::default);
        model.dies.resize_with(channels * dies, Die::default);
        model.events.extend((0..depth).map(|_| Reverse((0, Event::RequestComes))));
        while let Some(Reverse((now, event))) = model.events.pop() {
            match event {
                Event::PhaseEnds(operation) => model.phase_ends(now, operation),
                Event::RequestComes => model.request_comes(now),
                Event::ChannelChooses(channel) => model.channel_chooses(now, channel),
            }
        }
        model.times
    }

    fn request_comes(&mut self, now: u64) {
        let request = self.times.len();
        let Some(Request { operations, .. }) = self.requests.get(request) else { return };
        self.times.push((now, now));
        for what in operations {
            self.dies[what.die].queue.push_back(self.issued.len());
            self.issued.push(Issued { what, request, phase: 0, end: None });
            self.begin_next(now, what.die);
        }
    }

    /// Begins the first operation of the die's queue, unless it is under way or waits for another die's.
    fn begin_next(&mut self, now: u64, at: usize) {
        let die = &mut self.dies[at];
        let Some(&number) = die.queue.front() else { return };
        if die.has_begun {
            return;
        }
        let what = self.issued[number].what;
        for &other in &what.after {
            if self.issued[other].end.is_none() {
                self.held.push(at);
                return;
            }
        }
        die.has_begun = true;
        self.phase_begins(now, number);
    }

    fn phase_begins(&mut self, now: u64, number: usize) {
        let operation = &self.issued[number];
        match operation.what.phases[operation.phase] {
            Array(time) => self.events.push(Reverse((now + time, Event::PhaseEnds(number)))),
            Bus(_) => {
                let channel = operation.what.die % self.channels.len();
                self.channels[channel].ready.push(Reverse((now, number)));
                self.events.push(Reverse((now, Event::ChannelChooses(channel))));
            }
        }
    }

    /// A free channel takes the die that has been ready first. In a tie it takes the operation issued first.
    fn channel_chooses(&mut self, now: u64, channel: usize) {
        let channel = &mut self.channels[channel];
        if channel.is_busy {
            return;
        }
        let Some(Reverse((_, number))) = channel.ready.pop() else { return };
        let operation = &self.issued[number];
        let Bus(time) = operation.what.phases[operation.phase] else { panic!("an array needs no channel") };
        channel.is_busy = true;
        self.events.push(Reverse((now + time, Event::PhaseEnds(number))));
    }

    fn phase_ends(&mut self, now: u64, number: usize) {
        let channels = self.channels.len();
        let operation = &mut self.issued[number];
        let Operation { die, phases, is_waited_for, .. } = *operation.what;
        if let Bus(_) = phases[operation.phase] {
            self.channels[die % channels].is_busy = false;
            self.events.push(Reverse((now, Event::ChannelChooses(die % channels))));
        }
        operation.phase += 1;
        if operation.phase < phases.len() {
            self.phase_begins(now, number);
            return;
        }
        operation.end = Some(now);
        if is_waited_for {
            self.times[operation.request].1 = now;
            self.events.push(Reverse((now, Event::RequestComes)));
        }
        self.dies[die].queue.pop_front();
        self.dies[die].has_begun = false;
        self.begin_next(now, die);
        for die in std::mem::take(&mut self.held) {
            self.begin_next(now, die);
        }
    }
}

/// A row of the operation log.
#[derive(Debug)]
struct Row {
    ready: u64,
    end: u64,
    operation: String,
    die: usize,
    is_of_host: bool,
    /// For an erase: the rows it may wait for, and whether it has to.
    replaced_by: Vec<(usize, bool)>,
}

/// The record of a run, and the operations of its workload.
fn logged(text: &str) -> (Record, Vec<Row>) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("ops.csv");
    let outputs = Outputs { op_log: Some(&log), ..Outputs::default() };
    let record = run(&parse(text, &[]).unwrap(), Path::new("."), &Control::default(), outputs).unwrap();
    // By block: the rows that wrote anew what it held. By logical page: its block, and the one it was copied from.
    let (mut replaced, mut block_of, mut copied_from) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut rows = Vec::new();
    for line in std::fs::read_to_string(&log).unwrap().lines().skip(1) {
        let row: Vec<&str> = line.split(',').collect();
        let number = |column: usize| row[column].parse::<u64>().unwrap();
        let (is_measured, block) = (row[0] == "workload", number(5));
        let mut replaced_by = Vec::new();
        if let "program" | "copy" = row[3] {
            let page = number(8);
            let former = block_of.insert(page, block);
            let source = copied_from.remove(&page);
            for (block, has_to) in
                former.map(|block| (block, true)).into_iter().chain(source.map(|block| (block, false)))
            {
                if is_measured {
                    replaced.entry(block).or_insert_with(Vec::new).push((rows.len(), has_to));
                }
            }
            if row[3] == "copy" {
                let from = number(7) / PAGES_PER_BLOCK;
                assert_eq!(former, Some(from));
                copied_from.insert(page, from);
            }
        } else if row[3] == "erase" {
            replaced_by = replaced.remove(&block).unwrap_or_default();
            copied_from.retain(|_, from| *from != block);
        }
        if is_measured {
            let (ready, end, die) = (number(1), number(2), number(4) as usize);
            rows.push(Row {
                ready,
                end,
                operation: row[3].to_owned(),
                die,
                is_of_host: row[10] == "host",
                replaced_by,
            });
        }
    }
    (record, rows)
}

/// Requests and their operations: what the FTL does beside a request stands behind the operation of the host. An erase
/// waits for the operations that the FTL chose, and these end when it is ready.
fn requests(rows: &[Row]) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::new();
    for row in rows {
        let phases: &[Phase] = match row.operation.as_str() {
            "read" => &[Array(READ), Bus(TRANSFER)],
            "program" => &[Bus(TRANSFER), Array(PROGRAM)],
            "copy" => &[Array(READ), Bus(2 * TRANSFER), Array(PROGRAM)],
            "erase" => &[Array(ERASE)],
            other => panic!("{other} takes a time that is not told here"),
        };
        if row.is_of_host {
            requests.push(Request { is_read: row.operation == "read", operations: Vec::new() });
        }
        let after = row.replaced_by.iter().map(|&(by, _)| by).filter(|&by| rows[by].end == row.ready).collect();
        let operation = Operation { die: row.die, phases, after, is_waited_for: row.is_of_host };
        requests.last_mut().unwrap().operations.push(operation);
    }
    requests
}

fn assert_close(name: &str, (got, expected): (f64, f64), bound: f64, text: &str) {
    assert!((got / expected - 1.0).abs() < bound, "{name}: {got}, not {expected}: {text}");
}

/// Figures of the record, by the times of the model.
fn assert_figures(record: &Record, requests: &[Request], times: &[(u64, u64)], text: &str) {
    let end = times.iter().map(|&(_, end)| end).max().unwrap();
    let rate = record.throughput.as_ref().unwrap().requests_per_s;
    assert_close("rate", (rate, times.len() as f64 * 1e9 / end as f64), 1e-4, text);
    let told = record.latency_us.as_ref().unwrap();
    for (is_read, told) in [(true, &told.read), (false, &told.write)] {
        let of_kind = times.iter().zip(requests).filter(|(_, request)| request.is_read == is_read);
        let mut latencies: Vec<u64> = of_kind.map(|((arrival, end), _)| end - arrival).collect();
        latencies.sort_unstable();
        let Some(LatencySummary { p50, p99, .. }) = told else {
            assert!(latencies.is_empty(), "{text}");
            continue;
        };
        for (name, got, share) in [("p50", p50, 0.5), ("p99", p99, 0.99)] {
            let at = (share * latencies.len() as f64).ceil() as usize - 1;
            assert_close(name, (*got, latencies[at] as f64 / 1000.0), 2e-3, text);
        }
    }
}

/// A run, and its operations with the times of the model: each request comes and ends at the same nanosecond.
fn compare(workload: &str, device: &str, shape: (usize, usize), depth: usize) -> Vec<Row> {
    let (channels, dies) = shape;
    let text = format!(
        "[workload.uniform]\nrequests = {workload}\n[host]\nqueue_depth = {depth}\n[ftl.page]\n[device]\n\
         profile = \"generic-8x4\"\n{device}\n[device.shape]\nchannels = {channels}\ndies_per_channel = {dies}\n\
         pages_per_block = {PAGES_PER_BLOCK}"
    );
    let (record, rows) = logged(&text);
    let requests = requests(&rows);
    let times = Model::times(&requests, shape, depth);
    let of_host: Vec<&Row> = rows.iter().filter(|row| row.is_of_host).collect();
    assert_eq!(record.host.requests, of_host.len() as u64, "each request is one operation: {text}");
    assert_eq!(times.len(), of_host.len());
    let start = of_host[0].ready;
    for (at, (row, time)) in of_host.iter().zip(&times).enumerate() {
        assert_eq!((row.ready - start, row.end - start), *time, "request {at}: {text}");
    }
    assert_figures(&record, &requests, &times, &text);
    rows
}

#[test]
fn random_reads_take_the_times_of_an_event_model() {
    let device = "capacity = \"64 MiB\"\nover_provisioning = 0.5\n[precondition]\nfill = \"sequential\"";
    for shape in [(1, 1), (2, 8), (8, 4), (16, 2)] {
        for depth in DEPTHS {
            compare("20_000\nread_share = 1.0", device, shape, depth);
        }
    }
}

/// A device that is full enough for collection.
fn full(over_provisioning: f64) -> String {
    format!("capacity = \"128 MiB\"\nover_provisioning = {over_provisioning}\n[precondition]\nfill = \"random\"")
}

#[test]
fn reads_beside_writes_and_collection_take_the_times_of_an_event_model() {
    for (shape, over_provisioning) in [((1, 1), 0.12), ((2, 8), 0.2), ((8, 4), 0.25), ((16, 2), 0.25)] {
        for depth in DEPTHS {
            let rows = compare("20_000\nread_share = 0.7", &full(over_provisioning), shape, depth);
            assert!(rows.len() > 22_000, "{} with collection", rows.len());
        }
    }
}

/// An erase has to wait until all its block's pages are elsewhere. Few begin before that: of several operations the FTL
/// waits for the one with the latest estimated end. Few wait longer: a write of a page that was just copied may count for
/// the block that the copy came from.
#[test]
fn writes_with_collection_take_the_times_of_an_event_model() {
    for (shape, over_provisioning) in [((1, 1), 0.12), ((2, 8), 0.2), ((8, 4), 0.25), ((16, 2), 0.25)] {
        for depth in DEPTHS {
            let rows = compare("20_000", &full(over_provisioning), shape, depth);
            let erases = rows.iter().filter(|row| row.operation == "erase");
            let (mut right, mut early, mut late) = (0, 0, 0);
            for erase in erases {
                let needed = erase.replaced_by.iter().filter(|(_, has_to)| *has_to).map(|&(by, _)| rows[by].end).max();
                match needed.unwrap_or(0).cmp(&erase.ready) {
                    std::cmp::Ordering::Greater => early += 1,
                    std::cmp::Ordering::Less => late += 1,
                    std::cmp::Ordering::Equal => right += 1,
                }
            }
            assert!(right > 1000 && 50 * (early + late) < right, "{shape:?}, {depth}: {right}, {early}, {late}");
        }
    }
}
