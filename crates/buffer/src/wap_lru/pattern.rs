//! The 2OS table of WAP-LRU: what the requests of an interval were, and where the next ones go.

use super::profile::{Look, Profiler, Thresholds};
use super::tally::{Interval, Sizes, Tally};
use super::Config;
use crate::{Memory, MountError, Placement};
use nandlab_block::{Op, Request};
use nandlab_nand::Geometry;
use std::collections::VecDeque;

/// Where thresholds come from: Table 4 of the paper (those of the state, of reads and of writes), or the requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Table 4: 125, 512 and 600.
    Financial,
    /// Table 4, the trace `online`: 160, 271 and 38.
    FiuOnline,
    /// Table 4: 211, 700 and 2500.
    WebVm,
    /// Table 4: 230, 2500 and 3500.
    Webmail,
    /// The paper's recipe over the whole workload, looked at before the run.
    Auto,
    /// The same recipe over the last intervals, in whole, for sizes alone, or not at all: whichever writes the fewest blocks.
    Online,
}

impl Source {
    /// What stands before anything was seen.
    fn first(self) -> Thresholds {
        let [t_state, t_read, t_write] = match self {
            Self::Financial | Self::Auto | Self::Online => [125.0, 512.0, 600.0],
            Self::FiuOnline => [160.0, 271.0, 38.0],
            Self::WebVm => [211.0, 700.0, 2500.0],
            Self::Webmail => [230.0, 2500.0, 3500.0],
        };
        Thresholds { t_state, t_read, t_write }
    }
}

impl Thresholds {
    /// A size that no request has, and a run that no interval has: with it all goes to DRAM first.
    const NEVER: Self = Self { t_state: NEVER, t_read: NEVER, t_write: NEVER };
}

const NEVER: f64 = u32::MAX as f64;

/// What of the recipe is in force.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Nothing,
    Sizes,
    Whole,
}

const RULES: [Rule; 3] = [Rule::Nothing, Rule::Sizes, Rule::Whole];

/// Intervals of a trial; the first is not counted, since what a buffer flushes in it is in part what came before.
const TRIAL: u32 = 3;
/// Trials of the best rule between those of another one, at first.
const FIRST_WAIT: u32 = 2;
/// Each trial that another rule loses doubles its wait, up to this.
const LONGEST_WAIT: u32 = 32;
/// A rule takes over that costs no more than this share of what the best one costs, before it and after it.
const GAIN: f64 = 0.95;

/// Tries other rules now and then, and stays with one under which fewer blocks are written for each page that the host
/// writes. Another rule takes over only where it beats the best one twice, in the trial before it and in the one after it,
/// so that a workload that changes between two trials decides nothing; one that loses is tried half as often. A trial ends
/// at once where it has written as many blocks as a whole trial of the best rule.
#[derive(Clone, Debug)]
struct Learner {
    /// The last intervals, and how many are kept.
    seen: VecDeque<Interval>,
    window: usize,
    best: usize,
    /// Blocks written for each page that the host wrote, in the last trial of the best rule; `None` before the first.
    best_cost: Option<f64>,
    rule: usize,
    /// A rule that was ahead of the best one before it, with its cost.
    ahead: Option<(usize, f64)>,
    /// Trials of the best rule until each rule is tried, and from one trial of it to the next.
    due: [u32; RULES.len()],
    waits: [u32; RULES.len()],
    /// Of this trial: intervals left, pages written, and blocks flushed before it, and before those intervals that count.
    left: u32,
    written: u64,
    began_at: u64,
    flushed_before: u64,
    /// Blocks that a trial of another rule may write.
    most: u64,
}

impl Learner {
    fn new(window: u32) -> Self {
        Self {
            seen: VecDeque::new(),
            window: window as usize,
            best: 0,
            best_cost: None,
            rule: 0,
            ahead: None,
            // Not all at once.
            due: std::array::from_fn(|rule| rule as u32),
            waits: [FIRST_WAIT; RULES.len()],
            left: TRIAL,
            written: 0,
            began_at: 0,
            flushed_before: 0,
            most: 0,
        }
    }

    /// Ends a trial that has cost too much; whether it did.
    #[inline]
    fn gives_up(&mut self, flushed: u64) -> bool {
        let gives_up = self.rule != self.best && flushed - self.began_at > self.most;
        if gives_up {
            self.lost(self.rule);
            // What is left of this interval is no part of the next trial.
            (self.rule, self.left, self.written, self.began_at) = (self.best, TRIAL + 1, 0, flushed);
        }
        gives_up
    }

    /// The thresholds after an interval; `flushed` are the blocks flushed so far.
    fn learn(&mut self, interval: Interval, flushed: u64, before: Thresholds) -> Thresholds {
        if self.seen.len() == self.window {
            self.seen.pop_front();
        }
        self.seen.push_back(interval);
        match self.left >= TRIAL {
            true => self.flushed_before = flushed,
            false => self.written += interval.written,
        }
        self.left -= 1;
        if self.left == 0 {
            self.end_trial(flushed);
        }
        self.thresholds(before)
    }

    /// Those of the rule in force; what the last intervals say nothing of is as in `before`.
    fn thresholds(&mut self, before: Thresholds) -> Thresholds {
        let found = Thresholds::of(self.seen.make_contiguous(), before);
        match RULES[self.rule] {
            Rule::Nothing => Thresholds::NEVER,
            Rule::Sizes => Thresholds { t_state: NEVER, ..found },
            Rule::Whole => found,
        }
    }

    fn end_trial(&mut self, flushed: u64) {
        let cost = (self.written > 0).then(|| (flushed - self.flushed_before) as f64 / self.written as f64);
        let of_trial = (flushed - self.flushed_before) * u64::from(TRIAL) / u64::from(TRIAL - 1);
        (self.left, self.written, self.began_at) = (TRIAL, 0, flushed);
        // Without writes nothing can be told.
        let Some(cost) = cost else { return };
        if self.rule == self.best {
            self.most = of_trial;
            self.end_of_best(cost);
        } else {
            let is_ahead = self.best_cost.is_some_and(|best| cost < GAIN * best);
            match is_ahead {
                true => self.ahead = Some((self.rule, cost)),
                false => self.lost(self.rule),
            }
            self.rule = self.best;
        }
    }

    /// The best rule has been in force for a trial, and cost so much.
    fn end_of_best(&mut self, cost: f64) {
        self.best_cost = Some(cost);
        if let Some((rule, its)) = self.ahead.take() {
            if its >= GAIN * cost {
                return self.lost(rule);
            }
            (self.waits, self.due) = ([FIRST_WAIT; RULES.len()], [FIRST_WAIT; RULES.len()]);
            (self.best, self.best_cost, self.rule) = (rule, Some(its), rule);
            return;
        }
        self.due = self.due.map(|due| due.saturating_sub(1));
        let others = (1..RULES.len()).map(|step| (self.best + step) % RULES.len());
        self.rule = others.min_by_key(|&rule| self.due[rule]).filter(|&rule| self.due[rule] == 0).unwrap_or(self.best);
    }

    fn lost(&mut self, rule: usize) {
        self.waits[rule] = (2 * self.waits[rule]).min(LONGEST_WAIT);
        self.due[rule] = self.waits[rule];
    }
}

/// Those thresholds that an experiment names.
#[derive(Clone, Copy, Debug, Default)]
struct Given {
    t_state: Option<f64>,
    t_read: Option<f64>,
    t_write: Option<f64>,
}

impl Given {
    /// Whether one of them is still to be found.
    fn open(self) -> bool {
        self.t_state.and(self.t_read).and(self.t_write).is_none()
    }

    fn over(self, found: Thresholds) -> Thresholds {
        Thresholds {
            t_state: self.t_state.unwrap_or(found.t_state),
            t_read: self.t_read.unwrap_or(found.t_read),
            t_write: self.t_write.unwrap_or(found.t_write),
        }
    }
}

/// The table, the state that follows from the last one, and the thresholds.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    sizes: Sizes,
    tally: Tally,
    thresholds: Thresholds,
    given: Given,
    /// Where they are learnt.
    learner: Option<Learner>,
    is_write_intensive: bool,
    placement: Placement,
}

/// Decides where requests go, and counts that.
#[derive(Clone, Debug)]
pub struct Decider(Pattern);

impl Decider {
    /// Takes the next read or write.
    pub fn take(&mut self, request: &Request) {
        self.0.place(request, 0);
    }

    /// What was decided so far.
    pub fn placement(&self) -> Placement {
        self.0.placement()
    }
}

impl Config {
    /// What looks at a workload before it is played, where the thresholds are to come from there.
    pub(super) fn profiler_of(&self, geometry: &Geometry) -> Option<Profiler> {
        let given = self.t_state.and(self.t_read).and(self.t_write);
        (self.thresholds == Source::Auto && given.is_none())
            .then(|| Profiler::new(self.look(geometry.sectors_per_page())))
    }

    /// What would be decided with fixed thresholds, without a buffer.
    pub fn decider(&self, thresholds: Thresholds, sectors_per_page: u32) -> Decider {
        Decider(Pattern::with(self.look(sectors_per_page), thresholds))
    }

    fn look(&self, sectors_per_page: u32) -> Look {
        Look { interval: self.interval.max(1), fw: self.fw, size_unit: self.size_unit, sectors_per_page }
    }

    /// The same options with those thresholds that are not given.
    pub(super) fn fixed_at(&self, found: Thresholds) -> Self {
        Self {
            t_state: self.t_state.or(Some(found.t_state)),
            t_read: self.t_read.or(Some(found.t_read)),
            t_write: self.t_write.or(Some(found.t_write)),
            ..self.clone()
        }
    }
}

impl Pattern {
    pub(super) fn new(config: &Config, geometry: &Geometry) -> Result<Self, MountError> {
        let given = |key: &str, number: Option<f64>| match number {
            Some(wrong) if wrong.is_nan() || wrong < 0.0 => {
                Err(MountError::Config(format!("buffer.wap_lru.{key} = {wrong} is not a number from 0 on")))
            }
            fine => Ok(fine),
        };
        for (key, number, unit) in [("interval", config.interval, "request"), ("window", config.window, "interval")] {
            if number == 0 {
                let message = format!("buffer.wap_lru.{key} = 0: it has 1 {unit} at least");
                return Err(MountError::Config(message));
            }
        }
        if config.profiler_of(geometry).is_some() {
            let message =
                "buffer.wap_lru.thresholds = \"auto\" takes a look at the requests of the workload before they are \
                           played: set t_state, t_read and t_write, or thresholds = \"online\"";
            return Err(MountError::Config(message.to_owned()));
        }
        let given = Given {
            t_state: given("t_state", config.t_state)?,
            t_read: given("t_read", config.t_read)?,
            t_write: given("t_write", config.t_write)?,
        };
        let is_online = config.thresholds == Source::Online && given.open();
        let learner = is_online.then(|| Learner::new(config.window));
        let first = if is_online { Thresholds::NEVER } else { config.thresholds.first() };
        Ok(Self { learner, given, ..Self::with(config.look(geometry.sectors_per_page()), given.over(first)) })
    }

    fn with(look: Look, thresholds: Thresholds) -> Self {
        Self {
            sizes: Sizes::new(look.size_unit, look.sectors_per_page.into()),
            tally: Tally::new(look.interval, look.fw),
            thresholds,
            given: Given::default(),
            learner: None,
            is_write_intensive: false,
            placement: Placement::default(),
        }
    }

    pub(super) fn placement(&self) -> Placement {
        let Thresholds { t_state, t_read, t_write } = self.thresholds;
        Placement { t_state, t_read, t_write, ..self.placement }
    }

    /// Takes the next request into the table; where its pages go. `flushed` are the blocks flushed so far.
    #[inline]
    pub(super) fn place(&mut self, request: &Request, flushed: u64) -> Memory {
        let is_write = request.op == Op::Write;
        let (size, pages) = self.sizes.of(request, is_write);
        if let Some(learner) = self.learner.as_mut() {
            if learner.gives_up(flushed) {
                self.thresholds = self.given.over(learner.thresholds(self.thresholds));
                self.is_write_intensive = false;
            }
        }
        let memory = self.decide(is_write, size);
        match memory {
            Memory::Dram => self.placement.dram_requests += 1,
            Memory::Nvram => self.placement.nvram_requests += 1,
        }
        if let Some(interval) = self.tally.note(is_write, size, pages) {
            self.end(interval, flushed);
        }
        memory
    }

    fn decide(&self, is_write: bool, size: u64) -> Memory {
        let to_dram = match (self.is_write_intensive, is_write) {
            (true, is_write) => is_write,
            (false, true) => (size as f64) < self.thresholds.t_write,
            (false, false) => (size as f64) < self.thresholds.t_read,
        };
        if to_dram {
            Memory::Dram
        } else {
            Memory::Nvram
        }
    }

    fn end(&mut self, interval: Interval, flushed: u64) {
        match self.is_write_intensive {
            false => self.placement.balanced_intervals += 1,
            true => self.placement.write_intensive_intervals += 1,
        }
        if let Some(learner) = &mut self.learner {
            self.thresholds = self.given.over(learner.learn(interval, flushed, self.thresholds));
        }
        self.is_write_intensive = interval.w_eval.is_some_and(|pages| pages >= self.thresholds.t_state);
    }
}
