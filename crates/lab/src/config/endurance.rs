//! The device's endurance and its effect on a run.

use nandlab_nand::faulty;

/// Options that link operations to the endurance.
pub(crate) const WEAR_COUNTS: &str =
    "device.faults makes wear count, with a failure rate and failure_growth, or with bit_errors";

/// Whether any failure depends on the P/E cycles.
pub(crate) fn counts_endurance(faults: &faulty::Config) -> bool {
    let failures = faults.program_failure_rate > 0.0 || faults.erase_failure_rate > 0.0;
    let bits = faults.bit_errors.as_ref().is_some_and(|errors| errors.rber > 0.0 && errors.growth > 0);
    failures && faults.failure_growth > 0 || bits
}
