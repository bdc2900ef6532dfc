//! The device below a tree's files: the host's requests, and those of jobs beside it.
//!
//! A job's requests are planned in one go: a read has its bytes at once, a write keeps its bytes until it begins. The
//! plan then takes place in simulated time. At most `depth` requests of a job are under way; they begin in their order,
//! and a write waits for the reads before it. The host and the jobs begin their requests in the order of their times.
//!
//! A trim of free room is never planned: a new file may have the room before a planned trim would begin. It begins at
//! once, and with jobs nobody waits for it. The same holds for a command to a zone.
//!
//! Where an append to a zone goes is known only when it begins: the zone's write pointer moves with the appends of other
//! jobs and of the host. So a plan over zones has steps beside requests. When a step is due, [`Queue::advance`] returns
//! it to the storage, which makes requests of it.

use crate::IndexError;
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_nand::{Time, SECTOR_BYTES};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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

    /// Forgets a job that ended; returns why it could not be carried out as planned, if so.
    fn forget(&mut self, job: u64) -> Option<IndexError>;

    /// The host waits until one of these jobs has ended.
    ///
    /// # Errors
    /// [`IndexError::Device`].
    fn wait(&mut self, jobs: &[u64]) -> Result<(), IndexError>;
}

/// The device, and who waits for it. A plan may have steps of type `S`.
pub(super) struct Queue<'d, S> {
    device: &'d mut dyn BlockDevice,
    is_on: bool,
    /// When the host makes its next request.
    now: Time,
    /// When the latest request began.
    begun: Time,
    plan: Option<VecDeque<Planned<S>>>,
    jobs: BTreeMap<u64, Job<S>>,
    next_job: u64,
    /// The jobs' requests under way, by number: the job, and whether it is a read.
    under_way: BTreeMap<u64, (u64, bool)>,
    /// The host's requests under way that it waits for, and the latest end of those before.
    awaited: BTreeSet<u64>,
    awaited_end: Time,
    /// The job whose step takes place, and when.
    taking_step: Option<(u64, Time)>,
}

#[derive(Debug)]
pub(super) enum Planned<S> {
    Request { request: Request, bytes: Vec<u8> },
    Step(S),
}

impl<S> Planned<S> {
    fn is_read(&self) -> bool {
        matches!(self, Self::Request { request, .. } if request.op == Op::Read)
    }
}

#[derive(Debug)]
struct Job<S> {
    planned: VecDeque<Planned<S>>,
    depth: u32,
    under_way: u32,
    /// Reads of them.
    reads: u32,
    /// When its last request ended, or when it may begin.
    last: Time,
    /// Why the rest of its plan was given up.
    failure: Option<IndexError>,
}

impl<S> Job<S> {
    fn may_begin(&self) -> bool {
        let next = self.planned.front().filter(|_| self.under_way < self.depth);
        next.is_some_and(|next| next.is_read() || self.reads == 0)
    }

    fn is_over(&self) -> bool {
        self.planned.is_empty() && self.under_way == 0
    }
}

/// What [`Queue::advance`] goes on to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until<'a> {
    Time(Time),
    /// The end of all requests that the host waits for.
    Host,
    /// The end of one of these jobs.
    Job(&'a [u64]),
}

/// Where [`Queue::advance`] stopped.
pub(super) enum Advanced {
    /// The end that was waited for, if it comes.
    Ended(Option<Time>),
    /// A job's step is due: the caller takes it ([`Queue::take_step`]) and goes on.
    Due { job: u64, at: Time },
}

impl<'d, S: std::fmt::Debug> Queue<'d, S> {
    pub(super) fn new(device: &'d mut dyn BlockDevice) -> Self {
        let (plan, jobs, under_way, awaited) = (None, BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self {
            device,
            is_on: false,
            now: 0,
            begun: 0,
            plan,
            jobs,
            next_job: 0,
            under_way,
            awaited,
            awaited_end: 0,
            taking_step: None,
        }
    }

    pub(super) fn device(&self) -> &dyn BlockDevice {
        self.device
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    pub(super) fn set_now(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    /// Whether requests belong to a plan now.
    pub(super) fn is_planning(&self) -> bool {
        self.plan.is_some() && self.taking_step.is_none()
    }

    /// The job whose step takes place.
    pub(super) fn job(&self) -> Option<u64> {
        self.taking_step.map(|(job, _)| job)
    }

    /// Whether a job has requests or steps left.
    pub(super) fn goes_on(&self, job: u64) -> bool {
        self.jobs.get(&job).is_some_and(|job| !job.planned.is_empty())
    }

    /// Carries out a request of the host, or plans it. Events take place and jobs go on meanwhile.
    pub(super) fn submit(&mut self, request: Request, data: Payload<'_>) -> Result<(), IndexError> {
        if self.is_on() && !self.is_planning() {
            self.advance_to(Until::Time(self.now))?;
        }
        self.make(request, data)?;
        self.wait_for_host()
    }

    /// Makes a request at once, for whoever makes requests now. The host still has to wait for its own.
    pub(super) fn make(&mut self, request: Request, data: Payload<'_>) -> Result<(), IndexError> {
        if let (Some(plan), None) = (&mut self.plan, self.taking_step) {
            let mut bytes = Vec::new();
            match data {
                Payload::Write(from) => bytes.extend_from_slice(from),
                Payload::Read(to) => assert!(self.device.peek(request.sector, to), "jobs need a device with bytes"),
                Payload::None => {}
            }
            plan.push_back(Planned::Request { request, bytes });
            return Ok(());
        }
        if !self.is_on() {
            self.now = self.device.submit(&Request { time: self.now, ..request }, data)?.done;
            return Ok(());
        }
        if let Some((job, at)) = self.taking_step {
            return self.begin_for(job, &request, data, at);
        }
        let number = self.begin(&request, data, self.now)?;
        self.awaited.insert(number);
        Ok(())
    }

    /// Begins a request that nobody waits for, also while requests are planned: a trim, or a command to a zone.
    pub(super) fn command(&mut self, request: Request) -> Result<(), IndexError> {
        if !self.is_on() {
            return self.make(request, Payload::None);
        }
        let at = self.taking_step.map_or(self.now, |(_, at)| at);
        self.begin(&request, Payload::None, at).map(drop)
    }

    /// Trims free room.
    pub(super) fn trim(&mut self, request: Request) -> Result<(), IndexError> {
        if self.is_on() {
            self.advance_to(Until::Time(self.now))?;
        }
        self.command(request)
    }

    fn begin(&mut self, request: &Request, data: Payload<'_>, at: Time) -> Result<u64, IndexError> {
        let queued = self.device.queued().expect("there are jobs only on a device with a queue");
        // The tree looks at its jobs between the host's requests only: events have gone on since a job ended.
        self.begun = self.begun.max(at).max(queued.now());
        Ok(queued.begin(&Request { time: self.begun, ..*request }, data)?)
    }

    fn begin_for(&mut self, id: u64, request: &Request, data: Payload<'_>, at: Time) -> Result<(), IndexError> {
        let is_read = request.op == Op::Read;
        let number = self.begin(request, data, at)?;
        let job = self.jobs.get_mut(&id).expect("the job is known");
        job.under_way += 1;
        job.reads += u32::from(is_read);
        self.under_way.insert(number, (id, is_read));
        Ok(())
    }

    /// Waits for the host's requests, over a storage whose plans have no steps.
    fn wait_for_host(&mut self) -> Result<(), IndexError> {
        if !self.awaited.is_empty() {
            let end = self.advance_to(Until::Host)?;
            self.now = self.now.max(end.unwrap_or(0));
        }
        Ok(())
    }

    fn advance_to(&mut self, until: Until<'_>) -> Result<Option<Time>, IndexError> {
        match self.advance(until)? {
            Advanced::Ended(end) => Ok(end),
            Advanced::Due { .. } => unreachable!("only plans over zones have steps"),
        }
    }

    /// Lets events take place and jobs begin their requests.
    pub(super) fn advance(&mut self, until: Until<'_>) -> Result<Advanced, IndexError> {
        let limit = if let Until::Time(limit) = until { limit } else { Time::MAX };
        let mut ended = Vec::new();
        loop {
            if let Some(end) = self.has_come(until) {
                return Ok(Advanced::Ended(Some(end)));
            }
            let ready = self.jobs.iter().filter(|(_, job)| job.may_begin());
            let next = ready.map(|(&id, job)| (job.last.max(self.begun), id)).min();
            let bound = next.map_or(limit, |(at, _)| at.min(limit));
            let queued = self.device.queued().expect("there are jobs only on a device with a queue");
            let goes_on = queued.step(bound, &mut ended);
            for one in ended.drain(..) {
                self.note_end(one.number, one.completion.done);
            }
            match next {
                _ if goes_on || self.has_come(until).is_some() => {}
                Some((at, job)) if at <= limit => {
                    if !self.begin_next(job, at)? {
                        return Ok(Advanced::Due { job, at });
                    }
                }
                _ => return Ok(Advanced::Ended(None)),
            }
        }
    }

    /// The end that was waited for, once it has come.
    fn has_come(&self, until: Until<'_>) -> Option<Time> {
        match until {
            Until::Time(_) => None,
            Until::Host => self.awaited.is_empty().then_some(self.awaited_end),
            Until::Job(waited_for) => {
                let jobs = self.jobs.iter().filter(|(id, job)| waited_for.contains(id) && job.is_over());
                jobs.map(|(_, job)| job.last).min()
            }
        }
    }

    fn note_end(&mut self, number: u64, done: Time) {
        if self.awaited.remove(&number) {
            self.awaited_end = self.awaited_end.max(done);
        }
        let Some((job, is_read)) = self.under_way.remove(&number) else { return };
        let job = self.jobs.get_mut(&job).expect("a job with requests under way is known");
        job.under_way -= 1;
        job.reads -= u32::from(is_read);
        job.last = job.last.max(done);
    }

    /// Begins a job's next request; false if it is a step, which is left to the storage.
    fn begin_next(&mut self, id: u64, at: Time) -> Result<bool, IndexError> {
        let job = self.jobs.get_mut(&id).expect("the job is known");
        let (request, mut bytes) = match job.planned.pop_front().expect("the job has a request left") {
            Planned::Request { request, bytes } => (request, bytes),
            step @ Planned::Step(_) => {
                job.planned.push_front(step);
                return Ok(false);
            }
        };
        let data = match request.op {
            Op::Read => {
                bytes.resize(request.sectors as usize * SECTOR_BYTES as usize, 0);
                Payload::Read(&mut bytes)
            }
            Op::Write => Payload::Write(&bytes),
            _ => Payload::None,
        };
        self.begin_for(id, &request, data, at)?;
        Ok(true)
    }

    /// Adds a step to the plan.
    pub(super) fn plan_step(&mut self, step: S) {
        self.plan.as_mut().expect("a plan was begun").push_back(Planned::Step(step));
    }

    /// The steps of the plan so far.
    pub(super) fn planned(&self) -> impl Iterator<Item = &S> {
        self.plan.iter().flatten().filter_map(|planned| match planned {
            Planned::Step(step) => Some(step),
            Planned::Request { .. } => None,
        })
    }

    /// Takes a job's step: until [`Self::end_step`] requests are those of the job.
    pub(super) fn take_step(&mut self, job: u64, at: Time) -> S {
        self.taking_step = Some((job, at));
        let job = self.jobs.get_mut(&job).expect("the job is known");
        match job.planned.pop_front() {
            Some(Planned::Step(step)) => step,
            other => unreachable!("{other:?} is no step"),
        }
    }

    pub(super) fn end_step(&mut self) {
        self.taking_step = None;
    }

    /// Gives up the rest of a job's plan, and returns it.
    pub(super) fn give_up(&mut self, job: u64, why: IndexError) -> VecDeque<Planned<S>> {
        let job = self.jobs.get_mut(&job).expect("the job is known");
        job.failure = Some(why);
        std::mem::take(&mut job.planned)
    }

    /// Forgets the plan, and returns it.
    pub(super) fn take_plan(&mut self) -> VecDeque<Planned<S>> {
        self.plan.take().unwrap_or_default()
    }
}

impl<S: std::fmt::Debug> Jobs for Queue<'_, S> {
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
        self.take_plan();
    }

    fn end_plan(&mut self, depth: u32, start: Time) -> u64 {
        let planned = self.take_plan();
        let id = self.next_job;
        self.next_job += 1;
        self.jobs.insert(id, Job { planned, depth, under_way: 0, reads: 0, last: start, failure: None });
        id
    }

    fn end(&self, job: u64) -> Option<Time> {
        let job = &self.jobs[&job];
        (job.is_over() && job.last <= self.now).then_some(job.last)
    }

    fn forget(&mut self, job: u64) -> Option<IndexError> {
        self.jobs.remove(&job)?.failure
    }

    fn wait(&mut self, jobs: &[u64]) -> Result<(), IndexError> {
        let end = self.advance_to(Until::Job(jobs))?;
        self.now = self.now.max(end.unwrap_or(0));
        Ok(())
    }
}
