//! The 2OS table of WAP-LRU: statistics of an interval, and the placement of the next requests.

use super::profile::{Look, Profiler, Thresholds};
use super::tally::{Interval, Sizes, Tally};
use super::Config;
use crate::{Memory, MountError, Placement};
use nandlab_block::{Op, Request};
use nandlab_nand::Geometry;
use std::collections::VecDeque;

/// Source of thresholds: Table 4 of the paper (state, reads, writes), or the requests.
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
    /// The paper's recipe over the whole workload, before the run.
    Auto,
    /// The same recipe over the last intervals: all of it, only the sizes, or nothing, whichever writes the
    /// fewest blocks.
    Online,
}

impl Source {
    /// Initial thresholds, before the first request.
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
    /// Thresholds no request and no interval reaches: everything goes to DRAM first.
    const NEVER: Self = Self { t_state: NEVER, t_read: NEVER, t_write: NEVER };
}

const NEVER: f64 = u32::MAX as f64;

/// The part of the recipe in force.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Nothing,
    Sizes,
    Whole,
}

const RULES: [Rule; 3] = [Rule::Nothing, Rule::Sizes, Rule::Whole];

/// Intervals per trial. The first is not counted, because its flushes are partly caused by earlier requests.
const TRIAL: u32 = 3;
/// Initial number of best-rule trials between trials of another rule.
const FIRST_WAIT: u32 = 2;
/// A rule's wait doubles each time it loses a trial, up to this limit.
const LONGEST_WAIT: u32 = 32;
/// A rule takes over if it costs at most this share of the best rule's cost, in the trials before and after
/// its own.
const GAIN: f64 = 0.95;

/// Tries other rules from time to time, and keeps the rule with the fewest blocks written per page written by
/// the host. Another rule must beat the best one twice, in the trial before its own and in the trial after.
/// So a workload change between two trials decides nothing. A losing rule is tried half as often. A trial of
/// another rule ends early once it has written as many blocks as a whole trial of the best rule.
#[derive(Clone, Debug)]
struct Learner {
    /// The last intervals, and the number to keep.
    seen: VecDeque<Interval>,
    window: usize,
    best: usize,
    /// Cost in the best rule's last trial: blocks written per page written by the host; `None` before the
    /// first trial.
    best_cost: Option<f64>,
    rule: usize,
    /// A rule that beat the best rule's previous trial, with its cost.
    ahead: Option<(usize, f64)>,
    /// Best-rule trials until each rule's next trial, and the wait between its trials.
    due: [u32; RULES.len()],
    waits: [u32; RULES.len()],
    /// State of this trial: intervals left, pages written, and blocks flushed before the trial and before its
    /// counted intervals.
    left: u32,
    written: u64,
    began_at: u64,
    flushed_before: u64,
    /// Block limit for a trial of another rule.
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
            // Stagger the first trials.
            due: std::array::from_fn(|rule| rule as u32),
            waits: [FIRST_WAIT; RULES.len()],
            left: TRIAL,
            written: 0,
            began_at: 0,
            flushed_before: 0,
            most: 0,
        }
    }

    /// Ends a trial if it has cost too much; returns true if so.
    #[inline]
    fn gives_up(&mut self, flushed: u64) -> bool {
        let gives_up = self.rule != self.best && flushed - self.began_at > self.most;
        if gives_up {
            self.lost(self.rule);
            // The rest of this interval is not part of the next trial.
            (self.rule, self.left, self.written, self.began_at) = (self.best, TRIAL + 1, 0, flushed);
        }
        gives_up
    }

    /// The thresholds after an interval; `flushed` counts the blocks flushed so far.
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

    /// Thresholds of the rule in force; values missing from the last intervals come from `before`.
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
        // Without writes there is no cost to compare.
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

    /// Ends a best-rule trial with this cost.
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

/// Thresholds given in the experiment.
#[derive(Clone, Copy, Debug, Default)]
struct Given {
    t_state: Option<f64>,
    t_read: Option<f64>,
    t_write: Option<f64>,
}

impl Given {
    /// Whether any threshold is still missing.
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

/// The table, the current state, and the thresholds.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    sizes: Sizes,
    tally: Tally,
    thresholds: Thresholds,
    given: Given,
    /// The learner, for `online`.
    learner: Option<Learner>,
    is_write_intensive: bool,
    placement: Placement,
}

/// Decides the placement of requests, and counts the decisions.
#[derive(Clone, Debug)]
pub struct Decider(Pattern);

impl Decider {
    /// Takes the next read or write.
    pub fn take(&mut self, request: &Request) {
        self.0.place(request, 0);
    }

    /// Decisions so far.
    pub fn placement(&self) -> Placement {
        self.0.placement()
    }
}

impl Config {
    /// A profiler for the workload before the run, if the thresholds come from it.
    pub(super) fn profiler_of(&self, geometry: &Geometry) -> Option<Profiler> {
        let given = self.t_state.and(self.t_read).and(self.t_write);
        (self.thresholds == Source::Auto && given.is_none())
            .then(|| Profiler::new(self.look(geometry.sectors_per_page())))
    }

    /// Decides placement with fixed thresholds, without a buffer.
    pub fn decider(&self, thresholds: Thresholds, sectors_per_page: u32) -> Decider {
        Decider(Pattern::with(self.look(sectors_per_page), thresholds))
    }

    fn look(&self, sectors_per_page: u32) -> Look {
        Look { interval: self.interval.max(1), fw: self.fw, size_unit: self.size_unit, sectors_per_page }
    }

    /// The same options, with missing thresholds taken from `found`.
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

    /// Adds the next request to the table; returns the memory for its pages. `flushed` counts the blocks
    /// flushed so far.
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
