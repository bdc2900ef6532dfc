//! Writes until the device is steady: windows of a capacity each, until two in a row cost about the same.

use crate::config::{Experiment, SteadyWrites};
use crate::control::Control;
use crate::error::{ConfigError, LabError};
use crate::precondition::{Before, Preconditioning};
use crate::run::{Run, BATCH};
use nandlab_block::ByteCount;
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

impl Run<'_> {
    /// Writes a capacity at a time until two such windows in a row differ in write amplification by no more than a share
    /// of `within`; how many it took, and whether it came to that within the limit.
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
        let mut last: Option<f64> = None;
        for window in 1..=limit {
            let (programs, written) = (self.engine().matrix().total().programs(), before.written_sectors);
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
            let waf = (self.engine().matrix().total().programs() - programs) as f64 / pages;
            // A buffer may have kept all of it from the flash.
            if last.is_some_and(|last| waf == last || (waf / last - 1.0).abs() <= within) {
                return Ok((Some(window), Some(true)));
            }
            last = Some(waf);
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
