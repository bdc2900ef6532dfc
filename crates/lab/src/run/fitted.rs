//! Buffer options derived from the workload.

use crate::config::{Experiment, Sizing};
use crate::control::{Control, Phase};
use crate::error::LabError;
use crate::run::session::BATCH;
use crate::run::source::Source;
use nandlab_buffer::wap_lru::profile::Thresholds;
use std::path::Path;

/// The experiment with its buffer's thresholds set, if they follow from a pass over the whole workload.
pub(crate) fn fitted(
    experiment: &Experiment,
    sizing: &Sizing,
    base: &Path,
    control: &Control,
) -> Result<Option<Experiment>, LabError> {
    let Some(buffer) = &experiment.buffer else { return Ok(None) };
    let Some(mut profiler) = buffer.profiler(&sizing.geometry) else { return Ok(None) };
    let Source::Requests(mut workload, _) = Source::open(experiment, sizing, base, control, None)? else {
        unreachable!("only a workload of requests was let pass");
    };
    let (mut batch, mut seen) = (Vec::new(), 0);
    control.enter(Phase::Opening, 0, 0);
    while !control.is_cancelled() {
        batch.clear();
        if workload.fill(&mut batch, BATCH as usize).map_err(|error| experiment.explain(error))? == 0 {
            break;
        }
        batch.iter().for_each(|request| profiler.add(request));
        seen += batch.len() as u64;
        control.set_done(seen);
    }
    let nothing = Thresholds { t_state: 0.0, t_read: 0.0, t_write: 0.0 };
    let found = Thresholds::of(&profiler.finish().intervals, nothing);
    let mut fitted = experiment.clone();
    fitted.buffer = Some(buffer.with_thresholds(found));
    Ok(Some(fitted))
}
