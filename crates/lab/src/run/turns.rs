//! An index or a file system as a tenant: requests of a program that calls its device and waits.
//!
//! The program runs in a thread of its own, and takes turns with the run: only one of the two works at any moment. The
//! program's turn ends when it waits for one of its requests, or for a time ([`Queued::step`]). The run goes on with all
//! tenants, and gives the turn back at the simulated time of the end, or at the time waited for. So the order of requests
//! follows from simulated times alone, and a result is the same on each machine.
//!
//! A program may have a gate, behind its load: it waits there until the run lets it through. Meanwhile the device comes to rest,
//! and the run's clock begins anew. The program's time goes on as it was, so the two differ by a constant from then on.
//!
//! When the run ends before the program, all requests of the program end at once from then on, uncounted: it finishes its
//! operation, so that what it leaves can be checked.

use super::own_zones::OwnZones;
use crate::control::Control;
use crate::stack::Engine;
use nandlab_block::{BlockDevice, Completion, Ended, Error, Op, Payload, Queued, Request, ZoneReport, ZoneShape};
use nandlab_nand::Time;
use nandlab_workload::{Workload, WorkloadError};
use std::cell::{Cell, RefCell};
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
    /// It may go through its gate.
    Through,
}

/// A turn of the program.
struct Turn {
    requests: Vec<Request>,
    waits: Waits,
}

/// What the program waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waits {
    /// Not begun.
    Begin,
    /// The end of a request, until this time.
    Until(Time),
    /// To be let through its gate, at this time of its own.
    Gate(Time),
    /// Nothing: it is done.
    Done,
}

/// The program's device.
pub(super) struct Seat {
    sectors: u64,
    zones: Option<OwnZones>,
    side_by_side: bool,
    line: Rc<Line>,
    /// Cancelled when the run is over.
    control: Arc<Control>,
    /// Where the program stands in simulated time.
    now: Rc<Cell<Time>>,
    begun: u64,
    under_way: BTreeMap<u64, Request>,
    is_over: bool,
    /// A request's data is lost; the next request tells it.
    lost: Option<Error>,
}

/// The program's end of the line to the run.
struct Line {
    turns: Sender<Turn>,
    told: Receiver<Told>,
    /// Begun in this turn.
    requests: RefCell<Vec<Request>>,
    /// Whether there is a gate.
    has_gate: bool,
}

impl Line {
    /// Ends the program's turn, and waits for the next one; `None` if the run is over.
    fn wait(&self, waits: Waits) -> Option<Told> {
        let turn = Turn { requests: self.requests.take(), waits };
        self.turns.send(turn).ok().and_then(|()| self.told.recv().ok())
    }
}

/// A program's gate.
pub(super) struct Gate {
    line: Rc<Line>,
    now: Rc<Cell<Time>>,
    control: Arc<Control>,
}

impl Gate {
    /// Whether there is one: loads are no part of the run.
    pub(super) fn is_there(&self) -> bool {
        self.line.has_gate
    }

    /// The load is done: the program waits until the run lets it through.
    pub(super) fn pass(&self) {
        if self.line.has_gate && self.line.wait(Waits::Gate(self.now.get())).is_none() {
            // The run is over.
            self.control.cancel();
        }
    }
}

impl Seat {
    pub(super) fn gate(&self) -> Gate {
        Gate { line: self.line.clone(), now: self.now.clone(), control: self.control.clone() }
    }

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
        if let Some(zones) = &mut self.zones {
            zones.follow(&request);
        }
        let number = self.begun;
        self.begun += 1;
        self.under_way.insert(number, request);
        self.line.requests.borrow_mut().push(request);
        Ok(number)
    }

    /// Waits for a request's end, but not beyond `until`.
    fn wait(&mut self, until: Time) -> Option<Ended> {
        if !self.is_over {
            match self.line.wait(Waits::Until(until)) {
                Some(Told::Time) => {
                    self.now.set(self.now.get().max(until));
                    return None;
                }
                Some(Told::Ended { number, end, is_lost }) => return Some(self.end(number, end, is_lost)),
                Some(Told::Through) => unreachable!("it does not wait at its gate"),
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
            self.lost = Some(match (&self.zones, request.op) {
                (Some(zones), Op::Write | Op::Zone(_)) => zones.refused(&request),
                _ => Error::Unreadable { sector: request.sector },
            });
        }
        Ended { number, request, completion: Completion { arrival: request.time, done } }
    }
}

impl Drop for Seat {
    /// Requests that nobody waits for, such as trims, are made all the same.
    fn drop(&mut self) {
        let requests = self.line.requests.take();
        if !self.is_over && !requests.is_empty() {
            // The run may be over and listen no more.
            let _ = self.line.turns.send(Turn { requests, waits: Waits::Done });
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

    fn zone_shape(&self) -> Option<ZoneShape> {
        self.zones.as_ref().map(OwnZones::shape)
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        self.zones.as_ref().and_then(|zones| zones.at(sector))
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
    zones: Option<OwnZones>,
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
    waits: Waits,
    /// Whether it has a gate, and whether the run lets it through.
    has_gate: bool,
    is_open: bool,
    /// By how much its time is ahead of the run's, and its requests made before.
    ahead_by: (Time, u64),
    made: u64,
    /// Ends that the program does not know yet, by time and number, and whether the data is lost.
    known: BTreeMap<(Time, u64), bool>,
    lost: BTreeSet<u64>,
}

impl<R: Send + 'static> Other<R> {
    /// The program takes a turn.
    fn go_on(&mut self) {
        let told = match self.waits {
            Waits::Begin => {
                self.begin();
                None
            }
            Waits::Until(until) => match self.known.first_key_value() {
                Some((&(end, number), &is_lost)) if end <= until => {
                    self.known.remove(&(end, number));
                    Some(Told::Ended { number, end, is_lost })
                }
                _ if until < Time::MAX => Some(Told::Time),
                _ => return,
            },
            Waits::Gate(_) if self.is_open => Some(Told::Through),
            Waits::Gate(_) | Waits::Done => return,
        };
        if let (Some(told), Some(to)) = (told, &self.told) {
            // If the program panicked, the turn says so.
            let _ = to.send(told);
        }
        match self.turns.as_ref().and_then(|turns| turns.recv().ok()) {
            Some(Turn { requests, waits }) => {
                self.made += requests.len() as u64;
                self.ahead.extend(requests);
                self.waits = waits;
            }
            None => self.waits = Waits::Done,
        }
        if self.waits == Waits::Done {
            self.join();
        }
    }

    /// Opens the gate: the run's clock and its numbers begin anew at the program's present time.
    fn open_gate(&mut self) {
        self.is_open = true;
        if let Waits::Gate(now) = self.waits {
            self.ahead_by = (now, self.made);
        }
    }

    fn begin(&mut self) {
        let Some((name, program)) = self.program.take() else { return };
        let ((to, told), (turns, from)) = (channel(), channel());
        let (sectors, side_by_side, control) = (self.sectors, self.side_by_side, self.control.clone());
        let (has_gate, zones) = (self.has_gate, self.zones.take());
        let work = move || {
            let last = turns.clone();
            let line = Rc::new(Line { turns, told, requests: RefCell::default(), has_gate });
            let (under_way, now, begun, is_over, lost) = (BTreeMap::new(), Rc::default(), 0, false, None);
            let seat = Seat { sectors, zones, side_by_side, line, control, now, begun, under_way, is_over, lost };
            let left = program(seat);
            // The run may be over and listen no more.
            let _ = last.send(Turn { requests: Vec::new(), waits: Waits::Done });
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
        let of_run = |time: Time| time.saturating_sub(self.ahead_by.0);
        if let Some(next) = self.ahead.front() {
            return Some(of_run(next.time));
        }
        match self.waits {
            Waits::Begin => Some(0),
            Waits::Until(until) => {
                let end = self.known.first_key_value().map_or(Time::MAX, |(&(end, _), _)| end);
                Some(end.min(until)).filter(|&time| time < Time::MAX).map(of_run)
            }
            Waits::Gate(now) => self.is_open.then(|| of_run(now)),
            Waits::Done => None,
        }
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
    /// A program over `sectors`, which may have requests side by side, and perhaps a gate. `total` is the number of its
    /// operations, or 0; `control` hears how many are done, and ends them.
    pub(super) fn new(
        name: &str,
        (sectors, side_by_side, has_gate): (u64, bool, bool),
        (total, control): (u64, Control),
        program: impl FnOnce(Seat) -> R + Send + 'static,
    ) -> Self {
        Self(Arc::new(Mutex::new(Other {
            program: Some((name.to_owned(), Box::new(program))),
            sectors,
            zones: None,
            side_by_side,
            control: Arc::new(control),
            total,
            told: None,
            turns: None,
            thread: None,
            left: None,
            ahead: VecDeque::new(),
            waits: Waits::Begin,
            has_gate,
            is_open: false,
            ahead_by: (0, 0),
            made: 0,
            known: BTreeMap::new(),
            lost: BTreeSet::new(),
        })))
    }

    /// The program's device has zones; [`Self::see_zones`] comes before the first request.
    pub(super) fn set_zones(&self, zones: OwnZones) {
        self.other().zones = Some(zones);
    }

    /// Takes the zones as the device has them now.
    pub(super) fn see_zones(&self, engine: &dyn Engine) {
        if let Some(zones) = &mut self.other().zones {
            zones.see(engine);
        }
    }

    /// The other end of the same program.
    pub(super) fn same(&self) -> Self {
        Self(self.0.clone())
    }

    fn other(&self) -> MutexGuard<'_, Other<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the program through its gate, where it waits; the run's clock begins anew.
    pub(super) fn open_gate(&self) {
        self.other().open_gate();
    }

    /// Looks at the program's result, if the program has ended.
    pub(super) fn see<T>(&self, look: impl FnOnce(&R) -> T) -> Option<T> {
        self.other().left.as_ref().map(look)
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
        let ahead_by = other.ahead_by.0;
        batch.extend(next.map(|request| Request { time: request.time.saturating_sub(ahead_by), ..request }));
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
        let mut other = self.other();
        let before = other.ahead_by.1;
        other.lost.insert(number + before);
    }

    fn next_time(&self) -> Option<Time> {
        self.other().next_time()
    }

    fn ended(&mut self, number: u64, end: Time) {
        let mut other = self.other();
        let (ahead_by, before) = other.ahead_by;
        let number = number + before;
        let is_lost = other.lost.remove(&number);
        other.known.insert((end + ahead_by, number), is_lost);
    }
}
