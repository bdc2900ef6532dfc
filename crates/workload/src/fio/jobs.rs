//! All jobs at work: which one asks next, and when each begins and ends.

use super::ask::From;
use super::drive::{Drive, Zoned};
use super::flow::Flows;
use super::job::Job;
use super::layout::Region;
use super::order::Order;
use super::stream::Stream;
use super::subjob::{Pause, Subjob};
use crate::origins::{named, origins};
use crate::{Workload, WorkloadError};
use nandlab_block::{Completion, Op, Request};
use nandlab_nand::random::{self, Random};
use nandlab_nand::{Origin, Time, SECTOR_BYTES};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Requests without a clock step, after which a time-limited job would never end.
const MOST_AT_ONCE: u32 = 1 << 20;

/// All jobs at work.
#[derive(Debug)]
pub(super) struct Jobs {
    file: String,
    names: Vec<String>,
    pub(super) clones: Vec<Subjob>,
    /// By job.
    pub(super) orders: Vec<Order>,
    /// Unended clones, by job.
    pub(super) unfinished: Vec<usize>,
    pub(super) flows: Flows,
    /// The group's clones with `wait_for`, until they begin.
    pub(super) pending: Vec<usize>,
    /// The zones that jobs keep to, if any does.
    drive: Option<Drive>,
    /// The working clones' next times, with their turns at equal times, and their numbers.
    pub(super) queue: BinaryHeap<Reverse<(Time, u64, usize)>>,
    pub(super) group: usize,
    /// Clones still running in the group, and waiting ones.
    pub(super) at_work: usize,
    /// The clone with the request handed out last, and the request's time.
    waits_for: Option<(usize, Time)>,
    /// The last clone to ask.
    last_clone: Option<usize>,
    /// If ends are told later: the requests under way.
    later: Option<Later>,
    /// When the last request came, and how many came then.
    last: Time,
    at_once: u32,
    random: Random,
    notices: Vec<String>,
    count: Option<u64>,
}

impl Jobs {
    pub(super) fn new(
        file: String,
        jobs: &[Job],
        (regions, drive): (&[Region], Option<Drive>),
        (seed, orders, notices): (u64, Vec<Order>, Vec<String>),
    ) -> Self {
        let last_origin = origins().count() - 1;
        let clones: Vec<_> = (random::Stream::FioClones as u64..)
            .zip(regions)
            .map(|(number, region)| {
                let job = &jobs[region.job];
                let origin = origins().nth(region.job.min(last_origin)).expect("there are origins");
                let stream = Stream::new(job, region, Random::stream(job.seed.unwrap_or(seed), number));
                let zoned = Zoned::new(job, number as usize);
                Subjob::new(job, stream, (origin, region.job, orders[region.job].walls), zoned)
            })
            .collect();
        let count = clones.iter().map(Subjob::count).sum();
        let mut unfinished = vec![0; jobs.len()];
        regions.iter().for_each(|region| unfinished[region.job] += 1);
        let mut all = Self {
            file,
            names: jobs.iter().map(|job| job.name.clone()).collect(),
            clones,
            orders,
            unfinished,
            flows: Flows::new(regions.iter().map(|region| jobs[region.job].share)),
            pending: Vec::new(),
            drive,
            queue: BinaryHeap::new(),
            group: 0,
            at_work: 0,
            waits_for: None,
            last_clone: None,
            later: None,
            last: 0,
            at_once: 0,
            random: Random::of(seed, random::Stream::FioGaps),
            notices,
            count,
        };
        all.start_group(0);
        all
    }

    /// The request handed out last ends at `end`.
    fn complete(&mut self, end: Time) {
        let Some((number, _)) = self.waits_for.take() else { return };
        self.clones[number].complete(end);
        self.enqueue(number, 0);
    }

    /// A clone issued nothing.
    fn pause(&mut self, number: usize, pause: Pause) {
        if let Some(why) = pause.words() {
            let name = self.name(number);
            self.notices.push(format!("[{name}] ended early, as in fio: {why}"));
        }
        self.enqueue(number, 0);
    }

    /// The job's name.
    fn name(&self, number: usize) -> &str {
        &self.names[self.clones[number].job]
    }

    /// How long a group takes at most; 0 where no job of it says.
    fn most_time(&self, group: usize) -> Time {
        let of_group = self.clones.iter().filter(|clone| clone.group == group);
        of_group.filter_map(Subjob::most_time).max().unwrap_or(0)
    }

    /// No request comes: the end, unless a flow's jobs wait for one before its start.
    fn at_end(&self) -> Result<(), WorkloadError> {
        if !self.flows.has_held() || self.clones.iter().any(Subjob::has_unknown) {
            return Ok(());
        }
        let message =
            "its jobs with flow wait for ever, as in fio: one of them begins when others have ended, and these wait \
                       for its requests; give jobs that run one after the other different flow_id";
        Err(WorkloadError::File { file: self.file.clone(), message: message.to_owned() })
    }

    /// Refuses to ask for ever while no time passes.
    fn check_clock(&mut self, number: usize, time: Time) -> Result<(), WorkloadError> {
        self.at_once = if time > self.last { 0 } else { self.at_once + 1 };
        self.last = time;
        if !self.clones[number].is_time_based || self.at_once < MOST_AT_ONCE {
            return Ok(());
        }
        let message = "a job that is time_based ends when its runtime is over, and its requests take no time: trims, reads of \
                       pages that were never written and hits of a buffer take none (precondition.fill = \"sequential\" \
                       writes every page before), and nothing does on a device that keeps no time; rate_iops or thinktime \
                       let time pass, and without time_based a job ends with its size";
        Err(WorkloadError::File { file: self.file.clone(), message: message.to_owned() })
    }
}

/// Requests whose ends are told later.
#[derive(Debug, Default)]
struct Later {
    /// Requests since then.
    issued: u64,
    /// By number the requests under way: the clone, time and kind.
    requests: BTreeMap<u64, (usize, Time, Op)>,
}

impl Jobs {
    /// A clone asked; its request's end will be told later.
    fn leave_open(&mut self, number: usize, time: Time, op: Op) {
        let clone = &mut self.clones[number];
        clone.leave_open();
        self.enqueue(number, 0);
        if let Some(later) = &mut self.later {
            later.requests.insert(later.issued, (number, time, op));
            later.issued += 1;
        }
    }
}

impl Workload for Jobs {
    /// One request at a time: the next one depends on its end. If nobody tells the end, it ends on arrival.
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError> {
        if let Some((_, came)) = self.waits_for {
            self.complete(came);
        }
        if room == 0 {
            return Ok(0);
        }
        let (time, number, ask) = loop {
            let Some(Reverse((time, _, number))) = self.queue.pop() else { return self.at_end().map(|()| 0) };
            self.check_clock(number, time)?;
            match self.clones[number].issue(time, &mut self.random, self.drive.as_mut()) {
                Ok(ask) => break (time, number, ask),
                Err(pause) => self.pause(number, pause),
            }
        };
        if let Some(said) = self.clones[number].take_said() {
            let name = self.name(number);
            self.notices.push(format!("[{name}] {said}"));
        }
        let sector = u64::from(SECTOR_BYTES);
        batch.push(Request {
            time,
            sector: ask.offset / sector,
            sectors: (ask.length / sector) as u32,
            op: ask.op,
            origin: self.clones[number].origin,
            placement: ask.placement,
        });
        self.last_clone = Some(number);
        // A synchronous write includes its flush.
        let is_part = ask.op == Op::Flush && ask.from == From::Check;
        if !is_part && self.flows.count(number) {
            self.resume(time);
        }
        if self.later.is_some() {
            self.leave_open(number, time, ask.op);
        } else {
            self.waits_for = Some((number, time));
        }
        Ok(1)
    }

    fn tells_later(&mut self) {
        self.later = Some(Later::default());
    }

    fn next_time(&self) -> Option<Time> {
        self.queue.peek().map(|&Reverse((time, ..))| time)
    }

    fn ended(&mut self, number: u64, end: Time) {
        let Some((clone, issued, op)) = self.later.as_mut().and_then(|later| later.requests.remove(&number)) else {
            return;
        };
        let was_blocked = self.clones[clone].is_blocked();
        self.clones[clone].end(issued, op, end);
        let has_next = self.clones[clone].next_time().is_some();
        if was_blocked || !has_next {
            self.enqueue(clone, 0);
        }
    }

    fn failed(&mut self) {
        let Some(number) = self.last_clone else { return };
        if !self.clones[number].fail() {
            return;
        }
        let name = self.name(number);
        self.notices.push(format!(
            "[{name}] ended early, as in fio: a request failed, and continue_on_error = all goes on behind one"
        ));
        if let Some(ended) = self.orders[self.clones[number].job].ended_by_error {
            self.end_others(number, ended, self.last);
        }
        self.drop_over();
    }

    fn completed(&mut self, done: &[Completion]) {
        if let Some(last) = done.last() {
            self.complete(last.done);
        }
    }

    fn origins(&self) -> Vec<(Origin, String)> {
        let most = origins().count();
        if self.names.len() <= most {
            return named(self.names.iter().map(String::as_str));
        }
        let rest = format!("{} and {} more", self.names[most - 1], self.names.len() - most);
        named(self.names[..most - 1].iter().map(String::as_str).chain([rest.as_str()]))
    }

    fn len_hint(&self) -> Option<u64> {
        self.count
    }

    /// The slowest job of the present group says; groups count by their longest runtime.
    fn done_share(&self) -> Option<f64> {
        if self.count.is_some() {
            return None;
        }
        let groups = self.clones.last().map_or(0, |clone| clone.group) + 1;
        let time = |groups: std::ops::Range<usize>| groups.map(|group| self.most_time(group)).sum::<Time>() as f64;
        let of_group = self.clones.iter().filter(|clone| clone.group == self.group);
        let here = of_group.map(|clone| clone.done_share(self.last)).fold(1.0, f64::min);
        Some((time(0..self.group) + here * time(self.group..self.group + 1)) / time(0..groups))
    }

    fn notices(&self) -> Vec<String> {
        self.notices.clone()
    }
}
