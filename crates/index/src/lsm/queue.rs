//! The device below a tree's files: the host's requests, and those of jobs beside it.
//!
//! A job's requests are planned in one go: a read has its bytes at once, a write keeps its bytes until it begins. The
//! plan then takes place in simulated time. At most `depth` requests of a job are under way; they begin in their order,
//! and a write waits for the reads before it. The host and the jobs begin their requests in the order of their times.
//!
//! A trim of free room is never planned: a new file may have the room before a planned trim would begin. It begins at
//! once, and with jobs nobody waits for it.

use crate::IndexError;
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_nand::{Time, SECTOR_BYTES};
use std::collections::{BTreeMap, VecDeque};

/// Requests of jobs beside the host's.
pub trait Jobs {
    /// From now on there may be jobs, if the device takes requests side by side.
    fn turn_on(&mut self);

    /// Whether there may be jobs.
    fn is_on(&mut self) -> bool;

    /// What is requested from now on belongs to a plan.
    fn begin_plan(&mut self);

    /// Forgets the plan.
    fn drop_plan(&mut self);

    /// Makes the plan a job that begins at `start` or later; returns its number.
    fn end_plan(&mut self, depth: u32, start: Time) -> u64;

    /// When the job's last request ended; `None` while it goes on.
    fn end(&self, job: u64) -> Option<Time>;

    /// Forgets a job that ended.
    fn forget(&mut self, job: u64);

    /// The host waits until one of these jobs has ended.
    ///
    /// # Errors
    /// [`IndexError::Device`].
    fn wait(&mut self, jobs: &[u64]) -> Result<(), IndexError>;
}

/// The device, and who waits for it.
pub(super) struct Queue<'d> {
    device: &'d mut dyn BlockDevice,
    is_on: bool,
    /// When the host makes its next request.
    now: Time,
    /// When the latest request began.
    begun: Time,
    plan: Option<VecDeque<Planned>>,
    jobs: BTreeMap<u64, Job>,
    next_job: u64,
    /// The jobs' requests under way, by number: the job, and whether it is a read.
    under_way: BTreeMap<u64, (u64, bool)>,
}

#[derive(Debug)]
struct Planned {
    request: Request,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Job {
    planned: VecDeque<Planned>,
    depth: u32,
    under_way: u32,
    /// Reads of them.
    reads: u32,
    /// When its last request ended, or when it may begin.
    last: Time,
}

impl Job {
    fn may_begin(&self) -> bool {
        let next = self.planned.front().filter(|_| self.under_way < self.depth);
        next.is_some_and(|next| next.request.op == Op::Read || self.reads == 0)
    }

    fn is_over(&self) -> bool {
        self.planned.is_empty() && self.under_way == 0
    }
}

/// What [`Queue::advance`] goes on to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until<'a> {
    Time(Time),
    /// The end of a request.
    Request(u64),
    /// The end of one of these jobs.
    Job(&'a [u64]),
}

impl<'d> Queue<'d> {
    pub(super) fn new(device: &'d mut dyn BlockDevice) -> Self {
        let (plan, jobs, under_way) = (None, BTreeMap::new(), BTreeMap::new());
        Self { device, is_on: false, now: 0, begun: 0, plan, jobs, next_job: 0, under_way }
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    pub(super) fn set_now(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    /// Carries out a request, or plans it.
    pub(super) fn submit(&mut self, request: Request, data: Payload<'_>) -> Result<(), IndexError> {
        if let Some(plan) = &mut self.plan {
            let mut bytes = Vec::new();
            match data {
                Payload::Write(from) => bytes.extend_from_slice(from),
                Payload::Read(to) => assert!(self.device.peek(request.sector, to), "jobs need a device with bytes"),
                Payload::None => {}
            }
            plan.push_back(Planned { request, bytes });
            return Ok(());
        }
        if !self.is_on() {
            self.now = self.device.submit(&Request { time: self.now, ..request }, data)?.done;
            return Ok(());
        }
        self.advance(Until::Time(self.now))?;
        let number = self.begin(&request, data, self.now)?;
        let end = self.advance(Until::Request(number))?;
        self.now = self.now.max(end.expect("a request ends"));
        Ok(())
    }

    /// Trims free room, also while requests are planned.
    pub(super) fn trim(&mut self, request: Request) -> Result<(), IndexError> {
        if !self.is_on() {
            return self.submit(request, Payload::None);
        }
        self.advance(Until::Time(self.now))?;
        self.begin(&request, Payload::None, self.now).map(drop)
    }

    fn begin(&mut self, request: &Request, data: Payload<'_>, at: Time) -> Result<u64, IndexError> {
        let queued = self.device.queued().expect("there are jobs only on a device with a queue");
        // The tree looks at its jobs between the host's requests only: events have gone on since a job ended.
        self.begun = self.begun.max(at).max(queued.now());
        Ok(queued.begin(&Request { time: self.begun, ..*request }, data)?)
    }

    /// Lets events take place and jobs begin their requests; returns the end that was waited for.
    fn advance(&mut self, until: Until<'_>) -> Result<Option<Time>, IndexError> {
        let limit = if let Until::Time(limit) = until { limit } else { Time::MAX };
        let mut ended = Vec::new();
        loop {
            if let Until::Job(waited_for) = until {
                let jobs = self.jobs.iter().filter(|(id, job)| waited_for.contains(id) && job.is_over());
                let over = jobs.map(|(_, job)| job.last).min();
                if over.is_some() {
                    return Ok(over);
                }
            }
            let ready = self.jobs.iter().filter(|(_, job)| job.may_begin());
            let next = ready.map(|(&id, job)| (job.last.max(self.begun), id)).min();
            let bound = next.map_or(limit, |(at, _)| at.min(limit));
            let queued = self.device.queued().expect("there are jobs only on a device with a queue");
            let goes_on = queued.step(bound, &mut ended);
            let mut found = None;
            for one in ended.drain(..) {
                self.note_end(one.number, one.completion.done);
                if until == Until::Request(one.number) {
                    found = Some(one.completion.done);
                }
            }
            if found.is_some() {
                return Ok(found);
            }
            match next {
                _ if goes_on => {}
                Some((at, job)) if at <= limit => self.begin_next(job, at)?,
                _ => return Ok(None),
            }
        }
    }

    fn note_end(&mut self, number: u64, done: Time) {
        let Some((job, is_read)) = self.under_way.remove(&number) else { return };
        let job = self.jobs.get_mut(&job).expect("a job with requests under way is known");
        job.under_way -= 1;
        job.reads -= u32::from(is_read);
        job.last = job.last.max(done);
    }

    /// Begins a job's next request.
    fn begin_next(&mut self, id: u64, at: Time) -> Result<(), IndexError> {
        let job = self.jobs.get_mut(&id).expect("the job is known");
        let Planned { request, mut bytes } = job.planned.pop_front().expect("the job has a request left");
        let is_read = request.op == Op::Read;
        job.under_way += 1;
        job.reads += u32::from(is_read);
        let data = match request.op {
            Op::Read => {
                bytes.resize(request.sectors as usize * SECTOR_BYTES as usize, 0);
                Payload::Read(&mut bytes)
            }
            Op::Write => Payload::Write(&bytes),
            _ => Payload::None,
        };
        let number = self.begin(&request, data, at)?;
        self.under_way.insert(number, (id, is_read));
        Ok(())
    }
}

impl Jobs for Queue<'_> {
    fn turn_on(&mut self) {
        self.is_on = true;
    }

    fn is_on(&mut self) -> bool {
        self.is_on && self.device.queued().is_some()
    }

    fn begin_plan(&mut self) {
        self.plan = Some(VecDeque::new());
    }

    fn drop_plan(&mut self) {
        self.plan = None;
    }

    fn end_plan(&mut self, depth: u32, start: Time) -> u64 {
        let planned = self.plan.take().unwrap_or_default();
        let id = self.next_job;
        self.next_job += 1;
        self.jobs.insert(id, Job { planned, depth, under_way: 0, reads: 0, last: start });
        id
    }

    fn end(&self, job: u64) -> Option<Time> {
        let job = &self.jobs[&job];
        (job.is_over() && job.last <= self.now).then_some(job.last)
    }

    fn forget(&mut self, job: u64) {
        self.jobs.remove(&job);
    }

    fn wait(&mut self, jobs: &[u64]) -> Result<(), IndexError> {
        let end = self.advance(Until::Job(jobs))?;
        self.now = self.now.max(end.unwrap_or(0));
        Ok(())
    }
}
