//! fio: several jobs at once, each in a closed loop of its own, as a job file of fio describes them.
//!
//! ## Idea
//! Each section in the file is a job: a pattern, sizes, a part on the device, and a number for the requests it keeps
//! outstanding. All jobs run at the same time. Each is a separate origin, so the record separates their latencies,
//! flash operations and writes. Earlier ends decide the next request: it is the job with the earliest next request, at
//! equal times the job first in the file. docs/hosts.md lists the supported keys and how they act. A notice lists keys
//! about the machine alone. An unsupported key with an effect on the requests is refused, with its line. Writes of a job
//! with `fdp` carry a placement identifier: index i of fio's list is handle i of the first reclaim group.
//!
//! ## Differences
//! From fio itself: random numbers differ, each kind of draw has a source of its own as there. A rate delays a request and
//! never changes its direction. A thinking job first waits for its outstanding requests. There is no page cache. A single
//! file is the whole device, several lie one behind the other. Where no time passes, jobs alternate by their depths.
//!
//! ## References
//! J. Axboe, "fio - Flexible I/O tester", HOWTO (Job file format, Parameter types, Job parameters); io_u.c and backend.c
//! where it leaves a choice open.

mod ask;
mod batch;
mod checks;
mod draws;
mod drive;
mod errors;
mod history;
mod job;
pub mod keys;
mod layout;
mod map;
mod notices;
mod part;
mod placing;
mod sections;
mod skew;
mod slots;
mod source;
mod stream;
mod subjob;
mod text;
mod turns;
mod values;
mod zoned;
mod zoning;

use crate::origins::{named, origins};
use crate::{Options, Setting, Workload, WorkloadError};
use drive::{Drive, Zoned};
use job::Job;
use nandlab_block::{Completion, Request};
use nandlab_nand::random::{self, Random};
use nandlab_nand::{Origin, Time, SECTOR_BYTES};
use notices::notices;
use sections::read_jobs;
use serde::{Deserialize, Serialize};
use source::Source;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::{Path, PathBuf};
use stream::Stream;
use subjob::{Pause, Subjob};

/// Options of `[workload.fio]`: either of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The job file; a relative path starts at the folder of the experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The lines of a job file, in place of a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Values of the variables `${NAME}` of the job file; what is missing comes from the environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Variable>,
}

/// What stands for a variable of a job file; a number needs no quotes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Variable {
    /// A whole number.
    Number(i64),
    /// Any text.
    Text(String),
}

impl Variable {
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// Most clones in all jobs.
const MAX_CLONES: usize = 1024;
/// Requests without a clock step, after which a time-limited job would never end.
const MOST_AT_ONCE: u32 = 1 << 20;

/// An error in a job file, at a byte of a line, both from 1.
#[derive(Debug)]
struct Malformed {
    line: u64,
    column: usize,
    message: String,
}

impl Config {
    /// Fills variables missing from `variables` from the environment, so the options hold everything a run depends on.
    /// An unreadable file is left to [`Options::open`].
    pub fn take_environment(&mut self, base: &Path, environment: &dyn Fn(&str) -> Option<String>) {
        let mut found = BTreeMap::new();
        let mut look = |name: &str| {
            let known = self.variables.get(name).map(Variable::text);
            known.or_else(|| {
                let value = environment(name)?;
                found.insert(name.to_owned(), Variable::Text(value.clone()));
                Some(value)
            })
        };
        // Opening the file reports the error.
        let _ = Source::read(self, base, &mut look);
        self.variables.extend(found);
    }

    /// The job file's folder; that of the experiment for `text`.
    fn folder(&self, base: &Path) -> PathBuf {
        let file = self.path.as_ref().map(|path| base.join(path));
        file.as_deref().and_then(Path::parent).unwrap_or(base).to_owned()
    }
}

impl Options for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        match (&self.path, &self.text) {
            (Some(_), Some(_)) => Err(WorkloadError::option("text", &"...", "with path there is a job file already")),
            (None, None) => Err(WorkloadError::option("path", &"\"\"", "it names a job file, or text has its lines")),
            _ => Ok(()),
        }
    }

    fn open(&self, setting: &Setting<'_>) -> Result<Box<dyn Workload>, WorkloadError> {
        self.check()?;
        let mut variables = |name: &str| self.variables.get(name).map(Variable::text);
        let source = Source::read(self, setting.base, &mut variables)?;
        let file = source.name();
        let in_file = |bad| source.error(bad);
        let sections = text::sections(&source.text).map_err(in_file)?;
        let (mut jobs, unfollowed) = read_jobs(&sections).map_err(in_file)?;
        if jobs.is_empty() {
            return Err(WorkloadError::File { file, message: "it has no job: a section such as `[job1]`".to_owned() });
        }
        let folder = self.folder(setting.base);
        for job in &mut jobs {
            let wrong = |message: &str| job.wrong(message);
            job.choice = job.placing.choice((job.writes(), setting.placements), (&folder, &source), wrong)?;
        }
        let sector = u64::from(SECTOR_BYTES);
        let drive = zoned::drive(&jobs, setting.zones, setting.sectors * sector).map_err(in_file)?;
        let zone = drive.as_ref().map(|drive| drive.limits.size);
        let (mut regions, needed) = layout::lay_out(&jobs, setting.sectors * sector, zone).map_err(in_file)?;
        if needed > setting.sectors * sector {
            let needed = needed.div_ceil(sector);
            let ways_out = ", or the jobs smaller sizes and offsets";
            return Err(WorkloadError::TooSmall { file, needed, device: setting.sectors, ways_out });
        }
        if let Some(drive) = &drive {
            zoned::align(&mut regions, &jobs, &drive.limits).map_err(in_file)?;
        }
        if regions.len() > MAX_CLONES {
            let message = format!("it has {} clones of jobs, and {MAX_CLONES} are possible", regions.len());
            return Err(WorkloadError::File { file, message });
        }
        Ok(Box::new(Jobs::new(file, &jobs, (&regions, drive), (setting.seed, notices(&jobs, &unfollowed)))))
    }

    fn has_times(&self) -> bool {
        false
    }

    fn paces_itself(&self) -> bool {
        true
    }
}

/// All jobs at work.
#[derive(Debug)]
struct Jobs {
    file: String,
    names: Vec<String>,
    clones: Vec<Subjob>,
    /// The zones that jobs keep to, if any does.
    drive: Option<Drive>,
    /// The working clones' next times, with their turns at equal times, and their numbers.
    queue: BinaryHeap<Reverse<(Time, u64, usize)>>,
    group: usize,
    /// Clones still running in the group.
    at_work: usize,
    /// The clone with the request handed out last, and the request's time.
    waits_for: Option<(usize, Time)>,
    /// The clone that asked last.
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
    fn new(
        file: String,
        jobs: &[Job],
        (regions, drive): (&[layout::Region], Option<Drive>),
        (seed, notices): (u64, Vec<String>),
    ) -> Self {
        let group_of = |job: usize| jobs[1..=job].iter().filter(|job| job.is_behind_wall).count();
        let clones: Vec<_> = (random::Stream::FioClones as u64..)
            .zip(regions)
            .map(|(number, region)| {
                let job = &jobs[region.job];
                let origin = origins().nth(region.job).expect("no more jobs than origins were let pass");
                let stream = Stream::new(job, region, Random::stream(job.seed.unwrap_or(seed), number));
                let zoned = Zoned::new(job, number as usize);
                Subjob::new(job, stream, (origin, group_of(region.job)), zoned)
            })
            .collect();
        let count = clones.iter().map(Subjob::count).sum();
        let mut all = Self {
            file,
            names: jobs.iter().map(|job| job.name.clone()).collect(),
            clones,
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

    /// Starts the present group's clones at `time`, and further groups while none has anything to ask.
    fn start_group(&mut self, mut time: Time) {
        let last = self.clones.last().map_or(0, |clone| clone.group);
        loop {
            for (number, clone) in self.clones.iter_mut().enumerate().filter(|(_, clone)| clone.group == self.group) {
                clone.start(time);
                if let Some(next) = clone.next_time() {
                    self.queue.push(Reverse((next, clone.turn(), number)));
                    self.at_work += 1;
                }
            }
            if self.at_work > 0 || self.group == last {
                return;
            }
            time = self.group_end(time);
            self.group += 1;
        }
    }

    /// The end for the present group's last request; no earlier than `time`.
    fn group_end(&self, time: Time) -> Time {
        let of_group = self.clones.iter().filter(|clone| clone.group == self.group);
        of_group.map(|clone| clone.last_end).fold(time, Time::max)
    }

    /// The request handed out last ends at `end`.
    fn complete(&mut self, end: Time) {
        let Some((number, _)) = self.waits_for.take() else { return };
        let clone = &mut self.clones[number];
        clone.complete(end);
        if let Some(next) = clone.next_time() {
            self.queue.push(Reverse((next, clone.turn(), number)));
            return;
        }
        self.end_clone(end);
    }

    /// A clone issued nothing.
    fn pause(&mut self, number: usize, pause: Pause) {
        let clone = &self.clones[number];
        if let Some(why) = pause.words() {
            let name = self.name(number);
            self.notices.push(format!("[{name}] ended early, as in fio: {why}"));
        }
        match clone.next_time() {
            Some(next) => self.queue.push(Reverse((next, clone.turn(), number))),
            None if clone.has_unknown() => {}
            None => self.end_clone(clone.last_end),
        }
    }

    /// The name of a clone's job.
    fn name(&self, number: usize) -> &str {
        let origin = self.clones[number].origin;
        origins().zip(&self.names).find(|(of, _)| *of == origin).map_or("", |(_, name)| name)
    }

    /// These clones ask no more; what they have outstanding still ends.
    fn stop(&mut self, which: impl Fn(usize) -> bool) {
        let numbers = (0..self.clones.len()).filter(|&number| which(number));
        numbers.for_each(|number| self.clones[number].stop());
        let queue = std::mem::take(&mut self.queue);
        let (stopped, rest): (Vec<_>, Vec<_>) = queue.into_iter().partition(|&Reverse((_, _, number))| which(number));
        self.queue = rest.into();
        for Reverse((.., number)) in stopped {
            if !self.clones[number].has_unknown() {
                self.end_clone(self.clones[number].last_end);
            }
        }
    }

    /// A clone has nothing more to ask; `end` ends its last request.
    fn end_clone(&mut self, end: Time) {
        self.at_work -= 1;
        if self.at_work == 0 && self.clones.last().is_some_and(|last| self.group < last.group) {
            let end = self.group_end(end);
            self.group += 1;
            self.start_group(end);
        }
    }

    /// How long a group takes at most; 0 where no job of it says.
    fn most_time(&self, group: usize) -> Time {
        let of_group = self.clones.iter().filter(|clone| clone.group == group);
        of_group.filter_map(Subjob::most_time).max().unwrap_or(0)
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
    /// The clones with requests under way, by request number.
    clones: BTreeMap<u64, usize>,
}

impl Jobs {
    /// A clone asked; its request's end will be told later.
    fn leave_open(&mut self, number: usize) {
        let clone = &mut self.clones[number];
        clone.leave_open();
        if let Some(next) = clone.next_time() {
            self.queue.push(Reverse((next, clone.turn(), number)));
        }
        if let Some(later) = &mut self.later {
            later.clones.insert(later.issued, number);
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
            let Some(Reverse((time, _, number))) = self.queue.pop() else { return Ok(0) };
            self.check_clock(number, time)?;
            match self.clones[number].issue(time, &mut self.random, self.drive.as_mut()) {
                Ok(ask) => break (time, number, ask),
                Err(pause) => self.pause(number, pause),
            }
        };
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
        if self.later.is_some() {
            self.leave_open(number);
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
        let Some(clone) = self.later.as_mut().and_then(|later| later.clones.remove(&number)) else { return };
        let state = &mut self.clones[clone];
        let was_blocked = state.is_blocked();
        state.end(end);
        match state.next_time() {
            Some(next) if was_blocked => self.queue.push(Reverse((next, state.turn(), clone))),
            None if !state.has_unknown() => self.end_clone(end),
            _ => {}
        }
    }

    fn failed(&mut self) {
        let Some(number) = self.last_clone else { return };
        let Some(ends_all) = self.clones[number].fail() else { return };
        let name = self.name(number);
        self.notices.push(format!(
            "[{name}] ended early, as in fio: a request failed, and continue_on_error = all goes on behind one"
        ));
        self.stop(|at| at == number || ends_all);
    }

    fn completed(&mut self, done: &[Completion]) {
        if let Some(last) = done.last() {
            self.complete(last.done);
        }
    }

    fn origins(&self) -> Vec<(Origin, String)> {
        named(self.names.iter().map(String::as_str))
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
