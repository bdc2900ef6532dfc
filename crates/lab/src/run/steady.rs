//! Writes until the device is steady: one-capacity windows, until both their cost and the stale-page
//! distribution stop changing.

use crate::config::tree::KeyError;
use crate::config::{Experiment, SteadyWrites};
use crate::control::Control;
use crate::error::LabError;
use crate::run::precondition::{Before, Preconditioning};
use crate::run::session::{Run, BATCH};
use nandlab_block::ByteCount;
use nandlab_ftl::BlockState;
use nandlab_nand::random::{Random, Stream};
use nandlab_nand::SECTOR_BYTES;
use nandlab_workload::{Kind, Setting, Workload, WorkloadConfig, WorkloadError};

/// Most workload rounds in a window; with more, restarts would take most time.
const MOST_ROUNDS: u64 = 1000;

const KEY: &str = "precondition.steady_writes";

/// The workload without end: after its last request it begins anew.
struct Rounds {
    /// Rounds begun.
    begun: u64,
    /// The current round.
    workload: Option<Box<dyn Workload>>,
    /// Sectors written before this round.
    written_before: u64,
}

/// Measurements from one window on a fully written device.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Write amplification.
    pub waf: f64,
    /// How concentrated stale pages are: for a stale page, the mean share of stale pages in its block.
    ///
    /// Under skewed writes, cold blocks need many windows to collect their part of the stale pages. Until then
    /// the write amplification can stand still far below its final value, but this measure keeps moving.
    pub gathered: f64,
    /// Share of blocks [on their way](on_their_way) to their first collection since the search began.
    pub on_their_way: f64,
}

/// A block at some time: its valid pages and erase count.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Valid pages.
    pub valid: u32,
    /// P/E cycles.
    pub cycles: u32,
}

/// Whether `windows` show a steady device. The last two windows agree in cost within a share of `within`, and
/// so do the last third and the third before; these thirds also agree in their stale-page distribution.
/// Comparing thirds reveals a drift too slow for two windows, because the spans grow with the search; the
/// blocks on their way reveal an even slower drift.
pub fn is_steady(windows: &[Window], within: f64) -> bool {
    let (count, span) = (windows.len(), windows.len().div_ceil(3));
    // Two windows are the shortest span to tell a drift from chance.
    if count < 4 {
        return false;
    }
    let (before, last) = windows[count - 2 * span..].split_at(span);
    let mean = |part: &[Window], of: fn(&Window) -> f64| part.iter().map(of).sum::<f64>() / part.len() as f64;
    let agree = |old: f64, new: f64| (new - old).abs() <= within * old;
    agree(windows[count - 2].waf, windows[count - 1].waf)
        && agree(mean(before, |window| window.waf), mean(last, |window| window.waf))
        && (mean(before, |window| window.gathered) - mean(last, |window| window.gathered)).abs() <= within
        && windows[count - 1].on_their_way <= within
}

/// Share of blocks with fewer valid pages than when the search began, at least one valid page, and no erase
/// since.
///
/// In a short search, most blocks with rarely written pages lose only a few. That hardly changes cost or stale
/// pages within a window, but it will in the end. A block with never-written pages loses none. An empty block
/// has already arrived, whenever it is erased.
pub fn on_their_way(before: &[Seen], now: &[Seen]) -> f64 {
    let is_on_its_way =
        |(then, now): &(&Seen, &Seen)| now.cycles == then.cycles && (1..then.valid).contains(&now.valid);
    before.iter().zip(now).filter(is_on_its_way).count() as f64 / now.len().max(1) as f64
}

/// How concentrated stale pages are in `blocks`, each with `pages` pages; 0 if there are none.
pub fn gathered(blocks: &[BlockState], pages: u32) -> f64 {
    let stale = blocks.iter().filter(|block| !block.is_free).map(|block| f64::from(pages.saturating_sub(block.valid)));
    let (sum, squares) = stale.fold((0.0, 0.0), |(sum, squares), stale| (sum + stale, squares + stale * stale));
    if sum > 0.0 {
        squares / (sum * f64::from(pages))
    } else {
        0.0
    }
}

impl Run<'_> {
    /// Writes a capacity at a time until such windows agree within a share of `within` ([`is_steady`]). Returns
    /// the number of windows, and whether the device became steady within the limit.
    ///
    /// A window counts if all flash pages were programmed before it, and it erased blocks: on a new device all
    /// windows cost the same until the spare space was used once.
    pub(crate) fn settle(
        &mut self,
        before: &mut Before,
        writes: &mut Preconditioning,
        within: f64,
    ) -> Result<(Option<u32>, Option<bool>), LabError> {
        let options = &self.experiment.precondition;
        let (limit, is_uniform) = (options.steady_windows, options.steady_writes == SteadyWrites::Uniform);
        let sectors_per_page = f64::from(self.sizing.geometry.sectors_per_page());
        let mut rounds = Rounds { begun: 0, workload: None, written_before: 0 };
        let (all_pages, block_pages) = (self.sizing.geometry.pages(), self.sizing.geometry.pages_per_block());
        let (mut counted, mut requests) = (Vec::new(), u64::from(self.sizing.logical_pages));
        // Blocks when the first counted window starts.
        let mut first = self.seen();
        for window in 1..=limit {
            let (start, written, requests_before) =
                (self.engine().matrix().total(), before.written_sectors, before.requests);
            // The previous window predicts the requests in this one.
            self.control.cover(requests_before + requests + options.warm_up);
            if is_uniform {
                writes.go_on(u64::from(self.sizing.logical_pages));
                self.carry_out(before, writes, u64::MAX)?;
            } else {
                self.play_window(before, &mut rounds)?;
            }
            if before.worn_out.is_some() || self.control.is_cancelled() {
                return Ok((Some(window), Some(false)));
            }
            let pages = (before.written_sectors - written) as f64 / sectors_per_page;
            requests = before.requests - requests_before;
            let end = self.engine().matrix().total();
            let seen = self.seen();
            if start.programs() < u64::from(all_pages) || end.erases() == start.erases() {
                first = if counted.is_empty() { seen } else { first };
                continue;
            }
            let waf = (end.programs() - start.programs()) as f64 / pages;
            let gathered = gathered(&self.engine().blocks(), block_pages);
            counted.push(Window { waf, gathered, on_their_way: on_their_way(&first, &seen) });
            if is_steady(&counted, within) {
                return Ok((Some(window), Some(true)));
            }
        }
        Ok((Some(limit), Some(false)))
    }

    /// The blocks' current state.
    fn seen(&mut self) -> Vec<Seen> {
        let engine = self.engine();
        let (blocks, cycles) = (engine.blocks(), engine.chip().pe_cycles());
        blocks.iter().zip(cycles).map(|(block, &cycles)| Seen { valid: block.valid, cycles }).collect()
    }

    /// Plays the workload until it has written a capacity. A trace also plays to its end, because another part
    /// of it would be a different workload.
    fn play_window(&mut self, before: &mut Before, rounds: &mut Rounds) -> Result<(), LabError> {
        let is_trace = matches!(self.experiment.workload, WorkloadConfig::Trace(_));
        let most = if is_trace { u64::MAX } else { BATCH };
        let enough = before.written_sectors + self.sizing.sectors();
        loop {
            let mut workload = match rounds.workload.take() {
                Some(workload) => workload,
                None => self.begin_round(before, rounds)?,
            };
            let requests = before.requests;
            self.carry_out(before, &mut *workload, most)?;
            if before.worn_out.is_some() || self.control.is_cancelled() {
                return Ok(());
            }
            let is_over = before.requests - requests < most;
            if is_over {
                self.refuse_too_little(before.written_sectors - rounds.written_before)?;
            } else {
                rounds.workload = Some(workload);
            }
            if before.written_sectors >= enough && (is_over || !is_trace) {
                return Ok(());
            }
        }
    }

    fn begin_round(&mut self, before: &mut Before, rounds: &mut Rounds) -> Result<Box<dyn Workload>, LabError> {
        let seed = Random::stream(self.experiment.seed, Stream::Rounds as u64 + rounds.begun).next_u64();
        rounds.begun += 1;
        rounds.written_before = before.written_sectors;
        if self.experiment.paces_itself() {
            before.clock = self.clock(false, 0);
            before.epoch = Some(self.engine().now());
        }
        self.forget_epoch();
        opened(self.experiment, self.sizing.sectors(), seed, self.control)
    }

    /// Refuses a workload that would need too many rounds, or would never end.
    fn refuse_too_little(&self, written: u64) -> Result<(), LabError> {
        let capacity = self.sizing.sectors();
        if written > 0 && capacity / written <= MOST_ROUNDS {
            return Ok(());
        }
        let bytes = |sectors: u64| ByteCount(sectors * u64::from(SECTOR_BYTES)).rounded();
        let writes = if written == 0 { "nothing".to_owned() } else { bytes(written) };
        let message = format!(
            "{KEY} = \"workload\" cannot work: the workload writes {writes}, and a window is the capacity of {}, at most \
             {MOST_ROUNDS} times as much; take \"uniform\", a longer workload or a smaller device.capacity",
            bytes(capacity)
        );
        Err(KeyError::of_value(KEY, message).into())
    }
}

/// The workload in `experiment` with another seed; without requests if cancelled.
fn opened(experiment: &Experiment, sectors: u64, seed: u64, control: &Control) -> Result<Box<dyn Workload>, LabError> {
    let Kind::Requests(options) = experiment.workload.kind() else {
        unreachable!("only a workload of requests was let pass");
    };
    let watch = |_| !control.is_cancelled();
    match options.open(&Setting {
        sectors,
        seed,
        base: &experiment.base,
        watch: &watch,
        took: None,
        queues: experiment.host.queues(),
        placements: experiment.ftl_facts().placements,
        zones: None,
    }) {
        Err(WorkloadError::Stopped) => Ok(Box::new(crate::run::source::Nothing)),
        opened => opened.map_err(|error| experiment.explain(error)),
    }
}
