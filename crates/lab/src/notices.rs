//! What a reader of a result should know, in sentences.

use crate::config::{Experiment, Fill};
use nandlab_nand::faulty;

/// Reads of pages that hold nothing cost nothing: said where they were more than half of all.
///
/// `page_reads` is what the host asked for, `answered` what flash or a buffer had an answer to.
pub(crate) fn reads_of_nothing(experiment: &Experiment, page_reads: u64, answered: u64) -> Option<String> {
    let nothing = page_reads.saturating_sub(answered);
    if nothing <= page_reads / 2 {
        return None;
    }
    let way_out = match experiment.precondition.fill {
        Fill::None => "; precondition.fill = \"sequential\" writes every page before the measurement",
        Fill::Sequential | Fill::Random => "",
    };
    Some(format!(
        "{nothing} of {page_reads} page reads were of pages that were never written, or trimmed since: they cost no \
         time and no flash read{way_out}"
    ))
}

/// Wear beyond the endurance changes nothing unless the faults depend on it: said where a block came so far.
pub(crate) fn endurance_without_effect(experiment: &Experiment, most_cycles: u32) -> Option<String> {
    let endurance = experiment.device.profile.rules.endurance;
    // Where the experiment sets it itself, that has been said.
    let said = experiment.notices.iter().any(|notice| notice.contains(ENDURANCE_COUNTS));
    if said || most_cycles <= endurance || experiment.device.faults.as_ref().is_some_and(counts_endurance) {
        return None;
    }
    Some(format!("a block has {most_cycles} P/E cycles, and the endurance is {endurance}: {ENDURANCE_COUNTS}"))
}

/// What makes the endurance count.
pub(crate) const ENDURANCE_COUNTS: &str =
    "wear changes nothing by itself; device.faults makes it count, with a failure \
                                           rate and failure_growth, or with bit_errors";

/// Whether anything that fails depends on the P/E cycles.
pub(crate) fn counts_endurance(faults: &faulty::Config) -> bool {
    let failures = faults.program_failure_rate > 0.0 || faults.erase_failure_rate > 0.0;
    let bits = faults.bit_errors.as_ref().is_some_and(|errors| errors.rber > 0.0 && errors.growth > 0);
    failures && faults.failure_growth > 0 || bits
}
