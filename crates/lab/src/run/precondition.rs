//! Preconditioning: page writes as a separate workload, and the start of the measured workload itself.

use crate::config::{Experiment, Fill, Precondition, Sizing, SteadyWrites};
use crate::control::Phase;
use crate::error::LabError;
use crate::record::{us, waf};
use crate::record::{FlashCounts, PreconditionRecord, StopReason, Stopped};
use crate::run::session::{piece_length, Run, BATCH};
use nandlab_block::{HostClock, Op, Request};
use nandlab_nand::random::{Random, Stream};
use nandlab_nand::{PlacementId, Time};
use nandlab_workload::{Permutation, Workload, WorkloadError};
use std::ops::Range;

/// Most pages of a sequential fill in one request, on a device where that makes no difference.
const RUN_PAGES: u64 = 64;

/// Writes every logical page once, then random pages.
#[derive(Debug)]
pub struct Preconditioning {
    sectors_per_page: u32,
    order: Option<Permutation>,
    filled: u64,
    fill: u64,
    /// Most pages of the fill in one request.
    together: u64,
    /// The random writes go to so many pages, from the start.
    overwritten: u64,
    overwrites: u64,
    left: u64,
    random: Random,
    /// Stretches of sectors, and the identifiers of writes to them.
    placed: Vec<(Range<u64>, PlacementId)>,
}

impl Preconditioning {
    /// The page writes in `experiment`.
    pub(crate) fn of(experiment: &Experiment, sizing: &Sizing) -> Self {
        let sectors = sizing.geometry.sectors_per_page();
        let writes = Self::new(&experiment.precondition, experiment.seed, sizing.logical_pages, sectors);
        Self { placed: experiment.placed_fill(sizing.sectors()), ..writes }
    }

    /// For a device with `pages` logical pages.
    pub fn new(options: &Precondition, seed: u64, pages: u32, sectors_per_page: u32) -> Self {
        let pages = u64::from(pages);
        let overwrites = (options.overwrites * pages as f64).round() as u64;
        let order_key = Random::of(seed, Stream::FillOrder).next_u64();
        Self {
            sectors_per_page,
            order: (options.fill == Fill::Random).then(|| Permutation::new(pages, order_key)),
            filled: 0,
            fill: options.fill.filled(pages),
            together: 1,
            overwritten: if let Fill::Share(_) = options.fill { options.fill.filled(pages) } else { pages },
            overwrites,
            left: overwrites,
            random: Random::of(seed, Stream::Overwrites),
            placed: Vec::new(),
        }
    }

    /// Page writes of the fill and the overwrites.
    pub fn requests(&self) -> u64 {
        self.fill + self.overwrites
    }

    /// The same, with many pages of a sequential fill in one request.
    fn in_runs(self) -> Self {
        let is_sequential = self.order.is_none() && self.placed.is_empty();
        Self { together: if is_sequential { RUN_PAGES } else { 1 }, ..self }
    }

    /// Adds this many random page writes.
    pub(crate) fn go_on(&mut self, pages: u64) {
        self.left += pages;
    }

    fn next_page(&mut self) -> Option<u64> {
        if self.filled < self.fill {
            self.filled += 1;
            let page = self.filled - 1;
            return Some(self.order.map_or(page, |order| order.apply(page)));
        }
        self.left = self.left.checked_sub(1)?;
        Some(self.random.below(self.overwritten))
    }
}

impl Workload for Preconditioning {
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError> {
        for made in 0..room {
            let pages = self.together.min(self.fill - self.filled);
            if pages > 1 {
                let sectors = self.sectors_per_page * pages as u32;
                batch.push(Request::new(Op::Write, self.filled * u64::from(self.sectors_per_page), sectors));
                self.filled += pages;
                continue;
            }
            let Some(page) = self.next_page() else { return Ok(made) };
            let sector = page * u64::from(self.sectors_per_page);
            let placed = self.placed.iter().find(|(stretch, _)| stretch.contains(&sector));
            let placement = placed.map_or(PlacementId::NONE, |&(_, placement)| placement);
            batch.push(Request { placement, ..Request::new(Op::Write, sector, self.sectors_per_page) });
        }
        Ok(room)
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.requests())
    }
}

/// Preconditioning result.
#[derive(Default)]
pub(crate) struct Preconditioned {
    /// `None` without preconditioning.
    pub(crate) record: Option<PreconditionRecord>,
    /// Reason for an early end.
    pub(crate) stopped: Option<Stopped>,
    /// Sectors written.
    pub(crate) written_sectors: u64,
    /// Recorded time for the workload's last completed request.
    pub(crate) played: Time,
    /// What the user should know about it.
    pub(crate) notices: Vec<String>,
}

/// Progress so far.
pub(crate) struct Before {
    pub(crate) clock: HostClock,
    pub(crate) requests: u64,
    pub(crate) written_sectors: u64,
    /// Sectors of a write for which a longer write counts as several requests; none if each request counts once.
    write_sectors: Option<u32>,
    /// The last request's recorded time.
    last: Time,
    /// When the last answer came.
    answered: Time,
    /// Workload start, if it paces itself.
    pub(crate) epoch: Option<Time>,
    pub(crate) worn_out: Option<String>,
}

impl Before {
    /// Before the first request.
    fn at(clock: HostClock, write_sectors: Option<u32>) -> Self {
        let (requests, written_sectors, last, answered) = (0, 0, 0, 0);
        Self { clock, requests, written_sectors, write_sectors, last, answered, epoch: None, worn_out: None }
    }
}

impl Run<'_> {
    /// Carries out the preconditioning: a fill, random page writes, more writes (random or from the workload)
    /// until the device is steady, and the first requests of `workload`.
    pub(crate) fn precondition(
        &mut self,
        workload: Option<&mut Box<dyn Workload>>,
    ) -> Result<Preconditioned, LabError> {
        let options = self.experiment.precondition.clone();
        let sectors = self.sizing.geometry.sectors_per_page();
        let mut writes = Preconditioning::of(self.experiment, self.sizing);
        let is_written = self.begun.cost.is_some();
        let (written, steady) = if is_written { (0, None) } else { (writes.requests(), options.steady) };
        let all = written + options.warm_up;
        if all == 0 && steady.is_none() {
            return Ok(Preconditioned { record: self.begun.cost, ..Preconditioned::default() });
        }
        self.enter(Phase::Precondition, all, sectors.into());
        let start = self.mark();
        // Preconditioning runs at the device's full speed, whatever the workload's host waits for.
        let write_sectors = self.engine().requests().is_same_in_runs().then_some(sectors);
        if write_sectors.is_some() {
            writes = writes.in_runs();
        }
        let mut before = Before::at(self.closed_loop(0, start.time), write_sectors);
        // The buffer is bypassed for these writes, but not for the workload's requests.
        self.engine().requests().bypass_buffer(true);
        if !is_written {
            self.carry_out(&mut before, &mut writes, u64::MAX)?;
        }
        let known = steady.is_none().then_some(all);
        let is_uniform = options.steady_writes == SteadyWrites::Uniform;
        self.engine().requests().bypass_buffer(is_uniform);
        let (windows, steady) = match steady {
            Some(within) => self.settle(&mut before, &mut writes, within)?,
            None => (None, None),
        };
        self.engine().requests().bypass_buffer(false);
        before.write_sectors = None;
        self.forget_epoch();
        if steady.is_some() {
            self.control.cover(before.requests + options.warm_up);
        }
        let mut played = 0;
        if let Some(workload) = workload.filter(|_| options.warm_up > 0) {
            before.last = 0;
            if self.experiment.paces_itself() {
                before.clock = self.clock(false, 0);
                before.epoch = Some(self.engine().now());
            }
            self.carry_out(&mut before, &mut **workload, options.warm_up)?;
            played = before.last;
        }
        let counted = self.engine().matrix().since(&start.matrix).total();
        // The workload begins when the device is at rest.
        let time = self.engine().now().max(before.answered) - start.time;
        let record = PreconditionRecord {
            requests: before.requests,
            flash: FlashCounts::of(&counted),
            waf: waf(counted.programs(), sectors, before.written_sectors),
            windows,
            steady,
            time_us: self.keeps_time().then(|| us(time)),
        };
        let all = self
            .begun
            .cost
            .map(|written| written.and(&record, self.begun.written_sectors + before.written_sectors, sectors));
        let written_sectors = before.written_sectors;
        let stopped = self.stopped_before(before, known);
        Ok(Preconditioned { record: all.or(Some(record)), stopped, written_sectors, played, notices: Vec::new() })
    }

    /// Carries out up to `most` requests, until the device is worn out or the run must stop.
    pub(crate) fn carry_out(
        &mut self,
        before: &mut Before,
        workload: &mut dyn Workload,
        most: u64,
    ) -> Result<(), LabError> {
        let (mut batch, mut done, mut left) = (Vec::new(), Vec::new(), most);
        while left > 0 && before.worn_out.is_none() && self.next_batch(workload, &mut batch, left.min(BATCH))? {
            left -= batch.len() as u64;
            if let Some(epoch) = before.epoch {
                self.place_in_time(&mut batch, epoch);
            }
            let mut rest = &batch[..];
            while !rest.is_empty() && before.worn_out.is_none() && !self.control.is_cancelled() {
                let (piece, after) = rest.split_at(piece_length(rest));
                before.worn_out = self.submit(piece, &mut before.clock, &mut done)?;
                let carried = &piece[..done.len()];
                let written = carried.iter().filter(|request| request.op == Op::Write);
                before.written_sectors += written.map(|request| u64::from(request.sectors)).sum::<u64>();
                before.last = carried.last().map_or(before.last, |request| request.time);
                before.requests += match before.write_sectors {
                    Some(each) => carried.iter().map(|request| u64::from(request.sectors / each)).sum(),
                    None => carried.len() as u64,
                };
                before.answered = done.iter().fold(before.answered, |latest, one| latest.max(one.done));
                if before.epoch.is_some() {
                    self.tell(workload, &mut done);
                }
                rest = after;
            }
            self.control.set_done(before.requests);
        }
        Ok(())
    }

    /// Why the preconditioning stopped early, if it did; `all` is its planned request count, if known.
    fn stopped_before(&self, before: Before, all: Option<u64>) -> Option<Stopped> {
        let requests = before.requests;
        let of = all.map_or(String::new(), |all| format!(" of {all}"));
        let after = format!("after {requests}{of} requests of the preconditioning");
        let nothing = "nothing of the workload was measured";
        match before.worn_out {
            Some(why) => Some(Stopped { why: StopReason::WornOut, message: format!("{after}: {why}; {nothing}") }),
            None => self
                .control
                .is_cancelled()
                .then(|| Stopped { why: StopReason::Cancelled, message: format!("{after}: {nothing}") }),
        }
    }
}
