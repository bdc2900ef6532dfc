//! An index or a file system as a tenant: requests of a program that calls its device and waits.
//!
//! The program runs in a thread of its own, and takes turns with the run: only one of the two works at any moment. The
//! program's turn ends when it waits for one of its requests, or for a time ([`Queued::step`]). The run goes on with all
//! tenants, and gives the turn back at the simulated time of the end, or at the time waited for. So the order of requests
//! follows from simulated times alone, and a result is the same on each machine.
//!
//! When the run ends before the program, all requests of the program end at once from then on, uncounted: it finishes its
//! operation, so that what it leaves can be checked.

use crate::control::Control;
use nandlab_block::{BlockDevice, Completion, Ended, Error, Payload, Queued, Request};
use nandlab_nand::Time;
use nandlab_workload::{Workload, WorkloadError};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// A thread's stack; compactions and walks over trees recurse a little.
const STACK_BYTES: usize = 8 << 20;

/// What the run tells the program.
enum Told {
    /// The time that it waits for has come.
    Time,
    /// A request ended, perhaps with its data lost to bit errors.
    Ended { number: u64, end: Time, is_lost: bool },
}

/// A turn of the program.
struct Turn {
    requests: Vec<Request>,
    /// Until when it waits for an end; `None` if it is done.
    until: Option<Time>,
}

/// The program's device.
pub(super) struct Seat {
    sectors: u64,
    side_by_side: bool,
    turns: Sender<Turn>,
    told: Receiver<Told>,
    /// Cancelled when the run is over.
    control: Arc<Control>,
    /// Where the program stands in simulated time.
    now: Rc<Cell<Time>>,
    begun: u64,
    /// Begun in this turn.
    requests: Vec<Request>,
    under_way: BTreeMap<u64, Request>,
    is_over: bool,
    /// A request's data is lost; the next request tells it.
    lost: Option<Error>,
}

impl Seat {
    /// Shows the time to whoever measures operations.
    pub(super) fn clock(&self) -> Rc<Cell<Time>> {
        self.now.clone()
    }

    pub(super) fn control(&self) -> Arc<Control> {
        self.control.clone()
    }

    fn enter(&mut self, request: &Request) -> Result<u64, Error> {
        if let Some(lost) = self.lost.take() {
            return Err(lost);
        }
        if request.end() > self.sectors {
            let (sector, sectors, capacity) = (request.sector, request.sectors, self.sectors);
            return Err(Error::OutOfRange { sector, sectors, capacity });
        }
        let request = Request { time: request.time.max(self.now.get()), ..*request };
        let number = self.begun;
        self.begun += 1;
        self.under_way.insert(number, request);
        self.requests.push(request);
        Ok(number)
    }

    /// Waits for a request's end, but not beyond `until`.
    fn wait(&mut self, until: Time) -> Option<Ended> {
        if !self.is_over {
            let turn = Turn { requests: std::mem::take(&mut self.requests), until: Some(until) };
            match self.turns.send(turn).ok().and_then(|()| self.told.recv().ok()) {
                Some(Told::Time) => {
                    self.now.set(self.now.get().max(until));
                    return None;
                }
                Some(Told::Ended { number, end, is_lost }) => return Some(self.end(number, end, is_lost)),
                None => {
                    self.is_over = true;
                    self.control.cancel();
                }
            }
        }
        match self.under_way.first_key_value() {
            Some((&number, request)) => Some(self.end(number, request.time, false)),
            None => {
                self.now.set(self.now.get().max(if until == Time::MAX { 0 } else { until }));
                None
            }
        }
    }

    fn end(&mut self, number: u64, end: Time, is_lost: bool) -> Ended {
        let request = self.under_way.remove(&number).expect("a request that ends was begun");
        let done = end.max(self.now.get());
        self.now.set(done);
        if is_lost {
            self.lost = Some(Error::Unreadable { sector: request.sector });
        }
        Ended { number, request, completion: Completion { arrival: request.time, done } }
    }
}

impl Drop for Seat {
    /// Requests that nobody waits for, such as trims, are made all the same.
    fn drop(&mut self) {
        if !self.is_over && !self.requests.is_empty() {
            // The run may be over and listen no more.
            let _ = self.turns.send(Turn { requests: std::mem::take(&mut self.requests), until: None });
        }
    }
}

impl BlockDevice for Seat {
    fn submit(&mut self, request: &Request, _: Payload<'_>) -> Result<Completion, Error> {
        let number = self.enter(request)?;
        loop {
            let ended = self.wait(Time::MAX).expect("a request under way ends");
            if ended.number == number {
                return self.lost.take().map_or(Ok(ended.completion), Err);
            }
        }
    }

    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn queued(&mut self) -> Option<&mut dyn Queued> {
        self.side_by_side.then_some(self as &mut dyn Queued)
    }
}

impl Queued for Seat {
    fn begin(&mut self, request: &Request, _: Payload<'_>) -> Result<u64, Error> {
        self.enter(request)
    }

    fn step(&mut self, limit: Time, ended: &mut Vec<Ended>) -> bool {
        if limit == Time::MAX && self.under_way.is_empty() {
            return false;
        }
        let one = self.wait(limit);
        ended.extend(one);
        one.is_some()
    }

    fn now(&mut self) -> Time {
        self.now.get()
    }
}

type Program<R> = Box<dyn FnOnce(Seat) -> R + Send>;

/// The program, seen from the run.
struct Other<R> {
    /// Not begun.
    program: Option<(String, Program<R>)>,
    sectors: u64,
    side_by_side: bool,
    control: Arc<Control>,
    /// Operations of the program, for progress; 0 if unknown.
    total: u64,
    told: Option<Sender<Told>>,
    turns: Option<Receiver<Turn>>,
    thread: Option<JoinHandle<R>>,
    left: Option<R>,
    /// Requests that the run did not take yet.
    ahead: VecDeque<Request>,
    /// As in [`Turn`].
    until: Option<Time>,
    /// Ends that the program does not know yet, by time and number, and whether the data is lost.
    known: BTreeMap<(Time, u64), bool>,
    lost: BTreeSet<u64>,
}

impl<R: Send + 'static> Other<R> {
    /// The program takes a turn.
    fn go_on(&mut self) {
        if self.program.is_some() {
            self.begin();
        } else {
            let Some(until) = self.until else { return };
            let told = match self.known.first_key_value() {
                Some((&(end, number), &is_lost)) if end <= until => {
                    self.known.remove(&(end, number));
                    Told::Ended { number, end, is_lost }
                }
                _ if until < Time::MAX => Told::Time,
                _ => return,
            };
            // If the program panicked, the turn says so.
            let _ = self.told.as_ref().map(|to| to.send(told));
        }
        match self.turns.as_ref().and_then(|turns| turns.recv().ok()) {
            Some(Turn { requests, until }) => {
                self.ahead.extend(requests);
                self.until = until;
            }
            None => self.until = None,
        }
        if self.until.is_none() {
            self.join();
        }
    }

    fn begin(&mut self) {
        let Some((name, program)) = self.program.take() else { return };
        let ((to, told), (turns, from)) = (channel(), channel());
        let (sectors, side_by_side, control) = (self.sectors, self.side_by_side, self.control.clone());
        let work = move || {
            let last = turns.clone();
            let (requests, under_way, now) = (Vec::new(), BTreeMap::new(), Rc::default());
            let (begun, is_over, lost) = (0, false, None);
            let seat =
                Seat { sectors, side_by_side, turns, told, control, now, begun, requests, under_way, is_over, lost };
            let left = program(seat);
            // The run may be over and listen no more.
            let _ = last.send(Turn { requests: Vec::new(), until: None });
            left
        };
        let thread = Builder::new().name(name).stack_size(STACK_BYTES).spawn(work);
        self.thread = Some(thread.expect("the system has a thread for each of at most twelve tenants"));
        (self.told, self.turns) = (Some(to), Some(from));
    }

    /// Waits for the thread, which does not wait for the run any more.
    fn join(&mut self) {
        self.told = None;
        if let Some(thread) = self.thread.take() {
            match thread.join() {
                Ok(left) => self.left = Some(left),
                Err(panic) => resume_unwind(panic),
            }
        }
    }

    fn next_time(&self) -> Option<Time> {
        if self.program.is_some() {
            return Some(0);
        }
        if let Some(next) = self.ahead.front() {
            return Some(next.time);
        }
        let until = self.until?;
        let end = self.known.first_key_value().map_or(Time::MAX, |(&(end, _), _)| end);
        Some(end.min(until)).filter(|&time| time < Time::MAX)
    }
}

impl<R> Drop for Other<R> {
    fn drop(&mut self) {
        self.told = None;
        if let Some(thread) = self.thread.take() {
            // Nobody asks for its result any more.
            let _ = thread.join();
        }
    }
}

/// A program's requests as a workload, and its result.
pub(super) struct Turns<R>(Arc<Mutex<Other<R>>>);

impl<R: Send + 'static> Turns<R> {
    /// A program over `sectors`, which may have requests side by side. `total` is the number of its operations, or 0; `control`
    /// hears how many are done, and ends them.
    pub(super) fn new(
        name: &str,
        (sectors, side_by_side): (u64, bool),
        (total, control): (u64, Control),
        program: impl FnOnce(Seat) -> R + Send + 'static,
    ) -> Self {
        Self(Arc::new(Mutex::new(Other {
            program: Some((name.to_owned(), Box::new(program))),
            sectors,
            side_by_side,
            control: Arc::new(control),
            total,
            told: None,
            turns: None,
            thread: None,
            left: None,
            ahead: VecDeque::new(),
            until: None,
            known: BTreeMap::new(),
            lost: BTreeSet::new(),
        })))
    }

    /// The other end of the same program.
    pub(super) fn same(&self) -> Self {
        Self(self.0.clone())
    }

    fn other(&self) -> MutexGuard<'_, Other<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run is over: the program ends, and this is its result; `None` if it never began.
    pub(super) fn finish(&self) -> Option<R> {
        let mut other = self.other();
        other.join();
        other.left.take()
    }
}

impl<R: Send + 'static> Workload for Turns<R> {
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError> {
        let mut other = self.other();
        if room > 0 && other.ahead.is_empty() {
            other.go_on();
        }
        let next = if room > 0 { other.ahead.pop_front() } else { None };
        batch.extend(next);
        Ok(usize::from(next.is_some()))
    }

    fn len_hint(&self) -> Option<u64> {
        None
    }

    fn done_share(&self) -> Option<f64> {
        let other = self.other();
        let (_, done, _) = other.control.progress();
        (other.total > 0).then(|| done as f64 / other.total as f64)
    }

    fn lost(&mut self, number: u64) {
        self.other().lost.insert(number);
    }

    fn next_time(&self) -> Option<Time> {
        self.other().next_time()
    }

    fn ended(&mut self, number: u64, end: Time) {
        let mut other = self.other();
        let is_lost = other.lost.remove(&number);
        other.known.insert((end, number), is_lost);
    }
}
