//! Writes until the device is steady: windows of a capacity each, until neither their cost nor where the spare pages lie
//! goes on changing.

use crate::config::{Experiment, SteadyWrites};
use crate::control::Control;
use crate::error::{ConfigError, LabError};
use crate::precondition::{Before, Preconditioning};
use crate::run::{Run, BATCH};
use nandlab_block::ByteCount;
use nandlab_ftl::BlockState;
use nandlab_nand::random::Random;
use nandlab_nand::SECTOR_BYTES;
use nandlab_workload::{Kind, Setting, Workload, WorkloadConfig, WorkloadError};

/// The first stream of the experiment's seed that is a round's; those before are the preconditioning's own.
const FIRST_ROUND: u64 = 16;

/// Rounds of a workload that a window may take; with more of them most of the time would go by in beginning anew.
const MOST_ROUNDS: u64 = 1000;

const KEY: &str = "precondition.steady_writes";

/// The workload without end: when it is over, it begins anew.
struct Rounds {
    /// How many were begun.
    begun: u64,
    /// The one at hand.
    workload: Option<Box<dyn Workload>>,
    /// What was written before it.
    written_before: u64,
}

/// What a window of a device that was written through tells.
#[derive(Clone, Copy, Debug)]
struct Window {
    waf: f64,
    /// How far the stale pages are gathered: the share of stale pages in the block of one of them, in the mean.
    ///
    /// Under skewed writes it takes many windows until blocks of cold pages hold their part of them, and until then the write
    /// amplification can stand still far below what it comes to. This moves all the while.
    gathered: f64,
}

/// Whether `windows` tell of a steady device: the last two cost the same to within a share of `within`, and so do the
/// last third and the third before it, which also agree in where the stale pages lie. A drift that is too slow for two
/// windows shows over spans that grow with the search.
fn is_steady(windows: &[Window], within: f64) -> bool {
    let (count, span) = (windows.len(), windows.len().div_ceil(3));
    // Two windows are the shortest span that tells a drift from chance.
    if count < 4 {
        return false;
    }
    let (before, last) = windows[count - 2 * span..].split_at(span);
    let mean = |part: &[Window], of: fn(&Window) -> f64| part.iter().map(of).sum::<f64>() / part.len() as f64;
    let agree = |old: f64, new: f64| (new - old).abs() <= within * old;
    agree(windows[count - 2].waf, windows[count - 1].waf)
        && agree(mean(before, |window| window.waf), mean(last, |window| window.waf))
        && (mean(before, |window| window.gathered) - mean(last, |window| window.gathered)).abs() <= within
}

/// How far stale pages are gathered in `blocks` of `pages` each; 0 where there are none.
fn gathered(blocks: &[BlockState], pages: u32) -> f64 {
    let stale = blocks.iter().filter(|block| !block.is_free).map(|block| f64::from(pages.saturating_sub(block.valid)));
    let (sum, squares) = stale.fold((0.0, 0.0), |(sum, squares), stale| (sum + stale, squares + stale * stale));
    if sum > 0.0 {
        squares / (sum * f64::from(pages))
    } else {
        0.0
    }
}

impl Run<'_> {
    /// Writes a capacity at a time until such windows agree to within a share of `within` ([`is_steady`]); how many it
    /// took, and whether it came to that within the limit.
    ///
    /// A window counts where all pages of the flash were programmed before it, and blocks were erased in it: on a new
    /// device all of them cost the same until its spare space was used once.
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
        for window in 1..=limit {
            let (start, written, requests_before) =
                (self.engine().matrix().total(), before.written_sectors, before.requests);
            // How many requests a window of the workload takes is known from the one before.
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
            if start.programs() < u64::from(all_pages) || end.erases() == start.erases() {
                continue;
            }
            let waf = (end.programs() - start.programs()) as f64 / pages;
            counted.push(Window { waf, gathered: gathered(&self.engine().blocks(), block_pages) });
            if is_steady(&counted, within) {
                return Ok((Some(window), Some(true)));
            }
        }
        Ok((Some(limit), Some(false)))
    }

    /// Plays the workload until it has written a capacity, a trace also to its end: another part of it is another workload.
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
        let seed = Random::stream(self.experiment.seed, FIRST_ROUND + rounds.begun).next_u64();
        rounds.begun += 1;
        rounds.written_before = before.written_sectors;
        if self.experiment.paces_itself() {
            before.clock = self.clock(false, 0);
            before.epoch = Some(self.engine().now());
        }
        self.forget_epoch();
        opened(self.experiment, self.sizing.sectors(), seed, self.control)
    }

    /// Refuses a workload that would have to be played too often, or for ever.
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
        Err(ConfigError::of_key((KEY.to_owned(), message)).into())
    }
}

/// The workload of `experiment` with another seed; without requests where somebody stopped that.
fn opened(experiment: &Experiment, sectors: u64, seed: u64, control: &Control) -> Result<Box<dyn Workload>, LabError> {
    let Kind::Requests(options) = experiment.workload.kind() else {
        unreachable!("only a workload of requests was let pass");
    };
    let watch = |_| !control.is_cancelled();
    match options.open(&Setting { sectors, seed, base: &experiment.base, watch: &watch }) {
        Err(WorkloadError::Stopped) => Ok(Box::new(crate::source::Nothing)),
        opened => opened.map_err(|error| experiment.explain(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(count: u32, of: fn(f64) -> (f64, f64)) -> Vec<Window> {
        let all = (0..count).map(|at| of(f64::from(at)));
        all.map(|(waf, gathered)| Window { waf, gathered }).collect()
    }

    #[test]
    fn four_windows_that_agree_are_enough_and_two_are_not() {
        let same = windows(4, |_| (2.5, 0.3));
        assert!(is_steady(&same, 0.0) && !is_steady(&same[..3], 1.0));
        assert!(!is_steady(&windows(4, |at| (2.5 + 0.1 * at, 0.3)), 0.01));
    }

    #[test]
    fn slow_drift_shows_over_longer_spans() {
        // 0.6 % a window: no two in a row differ by 1 %, and spans of n / 3 windows do.
        let drift = windows(50, |at| (1.006_f64.powf(at), 0.3));
        assert!((4..=50).all(|count| !is_steady(&drift[..count], 0.01)));
        // It costs the same, while cold blocks take the stale pages of hot ones.
        let moves = windows(50, |at| (1.02, 0.9 - 0.01 * at));
        assert!((4..=50).all(|count| !is_steady(&moves[..count], 0.01)));
        assert!(is_steady(&moves, 1.0));
    }

    #[test]
    fn stale_pages_are_gathered_or_spread() {
        let block = |valid, is_free| BlockState { valid, is_free };
        let blocks = |first, second| [block(first, false), block(second, false), block(0, true)];
        assert_eq!(gathered(&blocks(64, 64), 64), 0.0);
        assert_eq!(gathered(&blocks(0, 64), 64), 1.0, "all in one block");
        assert_eq!(gathered(&blocks(32, 32), 64), 0.5);
    }
}
