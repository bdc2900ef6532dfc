//! Plays a long workload by windows, with jumps between them.
//!
//! A jump plays nothing. The device stands still in it, its clock too: requests between two windows are left out, and later
//! requests' times are earlier by as much. So queues, gaps between requests and cells' ages are as in an unbroken run, and
//! only the time told for the whole workload has the jumps.

use super::mark::Mark;
use super::meter::Meter;
use super::session::Run;
use super::windows::{Moment, Windows};
use crate::config::{Arrival, Experiment, Sampling};
use crate::error::LabError;
use crate::record::{us, Estimate, Record, Sampled, SampledRecord, Stopped};
use crate::stack::Engine;
use nandlab_block::Request;
use nandlab_nand::Time;
use nandlab_workload::{Workload, WorkloadError};

/// A workload's stream, without the jumps.
struct ByWindows<'a> {
    workload: &'a mut dyn Workload,
    sample: Sampling,
    /// Requests handed out so far from the warm-up and the window.
    at: u64,
    /// Windows to come, this one included.
    left: u64,
    /// Time jumped over so far.
    left_out: Time,
}

impl Workload for ByWindows<'_> {
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError> {
        if self.at == self.sample.played() {
            self.jump();
        }
        if self.left == 0 {
            return Ok(0);
        }
        // A batch ends with the warm-up or the window, so the meter can look at the counters there.
        let warm_up = self.sample.warm_up();
        let end = if self.at < warm_up { warm_up } else { self.sample.played() };
        let before = batch.len();
        let made = self.workload.fill(batch, room.min((end - self.at) as usize))?;
        batch[before..].iter_mut().for_each(|request| request.time -= self.left_out);
        self.at += made as u64;
        Ok(made)
    }

    fn len_hint(&self) -> Option<u64> {
        self.workload.len_hint()
    }
}

impl ByWindows<'_> {
    fn jump(&mut self) {
        self.left -= 1;
        let requests = if self.left == 0 { u64::MAX } else { self.sample.every - self.sample.played() };
        self.left_out += self.workload.leave_out(requests).expect("the configuration asked the workload before");
        self.at = 0;
    }
}

impl Experiment {
    /// Requests simulated in a workload with `total`.
    pub(crate) fn simulated(&self, total: u64) -> u64 {
        self.host.sample.map_or(total, |sample| sample.windows(total) * sample.played())
    }
}

impl Run<'_> {
    /// Plays a workload with `total` requests, by windows if the experiment asks for it.
    pub(super) fn play_requests(
        &mut self,
        workload: &mut dyn Workload,
        total: u64,
        meter: &mut Meter,
        start: &Mark,
    ) -> Result<Option<Stopped>, LabError> {
        let Some(sample) = self.experiment.host.sample else { return self.play(workload, meter, start) };
        let sizes = (sample.warm_up(), sample.played());
        meter.windows = Some(Box::new(Windows::new(sizes, total, moment(self.engine(), meter, start))));
        let left = sample.windows(total);
        let mut workload = ByWindows { workload, sample, at: 0, left, left_out: 0 };
        let stopped = self.play(&mut workload, meter, start)?;
        if let Some(windows) = &mut meter.windows {
            windows.left_out = workload.left_out;
            windows.end(meter.latency.as_mut());
        }
        Ok(stopped)
    }

    /// The windows' estimates for the whole workload, after so much simulated `time`.
    pub(super) fn sampled(&self, meter: &Meter, time: Option<Time>) -> Option<SampledRecord> {
        let (windows, sample) = (meter.windows.as_ref()?, self.experiment.host.sample?);
        let jumps = match self.experiment.host.arrival {
            Arrival::Recorded => windows.left_out as f64,
            Arrival::Closed => closed_jumps(windows, &sample),
        };
        let is_whole = windows.ended.len() as u64 == sample.windows(windows.requests);
        let sampled = Sampled {
            window: sample.window,
            simulated: meter.host.requests,
            requests: windows.requests,
            sectors_per_page: meter.sectors_per_page(),
            blocks: self.sizing.geometry.blocks(),
            // A run that was stopped jumped over less than the rest.
            time_us: time.filter(|_| is_whole).map(|time| us(time) + jumps / 1000.0),
        };
        Some(SampledRecord::of(&windows.ended, &sampled))
    }
}

/// How long jumps take in a closed loop, ns: each request as long as those of the window before.
fn closed_jumps(windows: &Windows, sample: &Sampling) -> f64 {
    let each = windows.ended.iter().enumerate().map(|(at, window)| {
        let (requests, time) = window.answered.unwrap_or_default();
        windows.jumped_after(at, sample.every) as f64 * time as f64 / requests.max(1) as f64
    });
    each.sum()
}

/// Looks at the counters where a warm-up or a window ends.
pub(super) fn see(engine: &mut dyn Engine, meter: &mut Meter, start: &Mark) {
    let Some(mut windows) = meter.windows.take() else { return };
    let requests = meter.host.requests;
    if windows.is_due(requests) {
        let now = moment(engine, meter, start);
        windows.see(requests, now, meter.latency.as_mut());
    }
    meter.windows = Some(windows);
}

fn moment(engine: &mut dyn Engine, meter: &Meter, start: &Mark) -> Moment {
    let counted = engine.matrix().total();
    Moment {
        programs: counted.programs(),
        erases: counted.erases(),
        written_sectors: meter.host.written_sectors,
        answered: meter.answered.max(start.time),
    }
}

/// Sentences about estimates unfit for the whole workload.
pub(super) fn notices(record: &Record) -> Vec<String> {
    let Some(sample) = &record.sample else { return Vec::new() };
    let mut found = Vec::new();
    if !sample.trends.is_empty() {
        found.push(format!(
            "the windows of host.sample show a trend in {}: the device may not be steady yet, and the writes that were jumped \
             over would move it further, which the intervals do not cover; precondition.steady makes a device steady before. One \
             run in five shows a trend by chance",
            sample.trends.join(", ")
        ));
    }
    if record.flash.erases == 0 && record.host.written_sectors > 0 {
        found.push(
            "no block was erased in the windows of host.sample: the device was not full yet, and the whole workload would have \
             filled it. precondition.fill and precondition.overwrites fill it before"
                .to_owned(),
        );
    }
    let endurance = f64::from(record.device.endurance);
    if let Some(Estimate { mean, .. }) = sample.pe_cycles.filter(|cycles| cycles.mean > endurance) {
        found.push(format!(
            "the whole workload would give a block {mean:.0} P/E cycles on average, and the endurance is {endurance}: the device \
             would be worn out before its end"
        ));
    }
    found
}
