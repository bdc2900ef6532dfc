//! One process plays a script, and forks a case for each cut form at each operation.
//!
//! A case goes on where the power went: inside the firmware's call. It restores the power, sets the firmware's globals back,
//! mounts, compares, writes on, and ends its process. So a firmware needs no code for a cut, and a crash or a hang ends
//! the case alone.

use super::block::Block;
use super::file::Files;
use super::finding::{Board, Finding, Kind};
use super::library::{Library, Table};
use super::script::{Fault, Script};
use super::subject::Subject;
use crate::config::Config;
use crate::device::{self, Hooks, State};
use crate::flash::Flash;
use nandlab_nand::operation::Operation;
use nandlab_nand::power_cut::{CutPlan, Form};
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};

/// An exploration's task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<'a> {
    pub(super) library: &'static Library,
    pub(super) config: &'a Config,
    pub(super) script: &'a Script,
    pub(super) forms: &'a [Form],
    /// Cuts in a row.
    pub(super) depth: u32,
    /// A case's CPU time before it counts as hanging, in s.
    pub(super) limit_s: f64,
    pub(super) jobs: u32,
    /// Ends after the first finding of this kind.
    pub(super) until: Option<Kind>,
    /// Cuts as the script says, without exploring.
    pub(super) replay: bool,
}

/// The process's state; hooks find it through [`RUN`].
struct Run<'a> {
    plan: Plan<'a>,
    board: &'static Board,
    subject: Box<dyn Subject>,
    worker: u32,
    depth: Cell<u32>,
    cases: Cell<u64>,
    cuts: RefCell<Vec<CutPlan>>,
    /// The script's.
    step: Cell<usize>,
    /// The newest cut is planned, and has not happened.
    pending: Cell<bool>,
}

static RUN: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Hangs after which an exploration ends: each costs its whole limit.
const MOST_HANGS: u64 = 4;
/// Writes after a cut; a second cut may hit them.
const WRITES_TO_CUT: u32 = 4;
/// A case's longest wall time, in limits: a firmware may sleep.
const WALL_LIMITS: f64 = 30.0;

/// Plays the script in the calling process, and forks its cases. Never returns.
pub(super) fn worker(plan: Plan<'_>, board: &'static Board, worker: u32) -> ! {
    quieten();
    let bad: Vec<u32> = faults(plan.script, |fault| if let Fault::Bad(block) = fault { Some(block) } else { None });
    let mut flash = plan.config.flash(&bad).expect("checked before");
    if let Flash::Nand(chip) = &mut flash {
        faults(plan.script, |fault| if let Fault::Program(nth) = fault { Some(nth) } else { None })
            .into_iter()
            .for_each(|nth| chip.fail_program(nth));
        faults(plan.script, |fault| if let Fault::Erase(nth) = fault { Some(nth) } else { None })
            .into_iter()
            .for_each(|nth| chip.fail_erase(nth));
    }
    if let (true, Some(&cut)) = (plan.replay, plan.script.cuts.first()) {
        flash.arm(cut);
    }
    let device = device::open(State::followed(flash, Hooks { before, lost, broken }));
    let run = Box::leak(Box::new(Run {
        plan,
        board,
        subject: match plan.library.table {
            Table::Block(table) => Box::new(Block::new(plan.library, table, device)),
            Table::File(table) => Box::new(Files::new(plan.library, table, device)),
        },
        worker,
        depth: Cell::new(if plan.replay { 0 } else { plan.depth }),
        cases: Cell::new(0),
        cuts: RefCell::default(),
        step: Cell::new(0),
        pending: Cell::new(false),
    }));
    RUN.store(std::ptr::from_mut(run).cast(), Ordering::Relaxed);
    if plan.replay {
        limit(plan.limit_s);
    }
    let run = &*run;
    end(run, run.script());
}

fn faults<T>(script: &Script, pick: impl Fn(Fault) -> Option<T>) -> Vec<T> {
    script.faults.iter().filter_map(|&fault| pick(fault)).collect()
}

/// This process's run.
fn run() -> &'static Run<'static> {
    // SAFETY: `worker` leaked it before the first hook; only cells in it change.
    unsafe { &*RUN.load(Ordering::Relaxed).cast::<Run<'static>>() }
}

impl Run<'_> {
    fn script(&self) -> Result<(), Finding> {
        self.subject.mount()?;
        for (number, &step) in self.plan.script.steps.iter().enumerate() {
            self.step.set(number);
            self.subject.play(step)?;
        }
        self.subject.compare()
    }

    /// After a cut: everything synced is there, and writes go on for as many pages as the device has.
    fn recovery(&self) -> Result<(), Finding> {
        self.subject.mount()?;
        self.subject.compare()?;
        self.subject.write_on(WRITES_TO_CUT)?;
        self.depth.set(0);
        self.subject.write_on(self.plan.config.blocks * self.plan.config.pages_per_block)?;
        self.subject.restart()
    }
}

/// Ends the process with its finding, if it has one.
fn end(run: &Run<'_>, answer: Result<(), Finding>) -> ! {
    let found = match answer {
        Ok(()) => 0,
        Err(finding) => {
            run.board.note(&finding, &run.cuts.borrow(), run.step.get());
            FOUND
        }
    };
    // SAFETY: this process is no longer needed.
    unsafe { libc::_exit(found) }
}

/// A process's exit status after it noted its finding.
const FOUND: c_int = 101;

/// Before an operation that changes the flash: forks its cases. Returns in each, and last in the process itself.
unsafe fn before(state: *mut State, operation: Operation) {
    let run = run();
    if run.depth.get() == 0 {
        return;
    }
    let number = (*state).flash.operations() + 1;
    for &form in run.plan.forms {
        if !form.applies_to(operation) || !(*state).flash.has(form) {
            continue;
        }
        let case = run.cases.replace(run.cases.get() + 1);
        let first = run.cuts.borrow().is_empty();
        if first && case % u64::from(run.plan.jobs) != u64::from(run.worker) {
            continue;
        }
        if is_enough(run) {
            return;
        }
        run.board.cases.fetch_add(1, Ordering::Relaxed);
        let cut = CutPlan { operation: number, form };
        let child = libc::fork();
        if child == 0 {
            limit(run.plan.limit_s);
            run.cuts.borrow_mut().push(cut);
            run.depth.set(run.depth.get() - 1);
            run.pending.set(true);
            (*state).flash.arm(CutPlan { operation: 1, form });
            return;
        }
        wait(run, child, cut);
    }
}

fn is_enough(run: &Run<'_>) -> bool {
    run.plan.until.is_some_and(|kind| run.board.count(kind) > 0) || run.board.count(Kind::Hang) >= MOST_HANGS
}

/// Waits for a case, and notes how it ended if it could not do so itself.
unsafe fn wait(run: &Run<'_>, child: libc::pid_t, cut: CutPlan) {
    assert!(child > 0, "no process for a case: {}", std::io::Error::last_os_error());
    let mut status = 0;
    while libc::waitpid(child, &mut status, 0) < 0 {}
    if let Some(finding) = ended(status) {
        let mut cuts = run.cuts.borrow().clone();
        cuts.push(cut);
        run.board.note(&finding, &cuts, run.step.get());
    }
}

/// The finding in a process's end, if the process did not note one.
pub(super) fn ended(status: c_int) -> Option<Finding> {
    if libc::WIFSIGNALED(status) {
        return Some(match libc::WTERMSIG(status) {
            libc::SIGPROF | libc::SIGALRM => Finding::new(Kind::Hang, "the firmware did not come back"),
            signal => Finding::new(Kind::Crash, format!("the firmware crashed: {}", signal_name(signal))),
        });
    }
    match libc::WEXITSTATUS(status) {
        0 | FOUND => None,
        other => Some(Finding::new(Kind::Crash, format!("the firmware ended its process with the status {other}"))),
    }
}

fn signal_name(signal: c_int) -> String {
    match signal {
        libc::SIGSEGV => "SIGSEGV, a wrong address".into(),
        libc::SIGABRT => "SIGABRT, an assertion or abort()".into(),
        libc::SIGFPE => "SIGFPE, a division by zero".into(),
        libc::SIGBUS => "SIGBUS, a wrong address".into(),
        libc::SIGILL => "SIGILL, a wrong instruction".into(),
        other => format!("signal {other}"),
    }
}

/// After the cut: the case itself. It never returns to the firmware's call.
unsafe fn lost(state: *mut State) {
    let run = run();
    run.pending.set(false);
    (*state).flash.restore();
    if run.plan.replay {
        let done = run.cuts.borrow().len();
        run.cuts.borrow_mut().push(run.plan.script.cuts[done]);
        if let Some(&next) = run.plan.script.cuts.get(done + 1) {
            (*state).flash.arm(next);
        }
    }
    end(run, run.recovery());
}

unsafe fn broken(sentence: &str) {
    let run = run();
    if run.pending.get() {
        // The operation to cut is refused: the process that forked this case finds the same.
        libc::_exit(0);
    }
    end(run, Err(Finding::new(Kind::Rule, sentence)));
}

/// Ends this process after its limit.
fn limit(limit_s: f64) {
    let timer = |seconds: f64| libc::itimerval {
        it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 },
        it_value: libc::timeval { tv_sec: seconds as i64, tv_usec: (seconds.fract() * 1e6) as i64 },
    };
    // SAFETY: two timers whose signals end the process.
    unsafe {
        libc::setitimer(libc::ITIMER_PROF, &timer(limit_s), std::ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &timer(limit_s * WALL_LIMITS), std::ptr::null_mut());
    }
}

/// A firmware's output and core files are not in the report.
fn quieten() {
    // SAFETY: this process writes nothing itself.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        libc::dup2(null, 1);
        libc::dup2(null, 2);
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
    }
}
