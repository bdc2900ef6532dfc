//! Figures derived from counts.

use nandlab_nand::Time;

/// Page programs per page written by the host; none if it wrote nothing.
pub(crate) fn waf(programs: u64, sectors_per_page: u32, written_sectors: u64) -> Option<f64> {
    (written_sectors > 0).then(|| programs as f64 * f64::from(sectors_per_page) / written_sectors as f64)
}

/// `amount` per second; 0 in no time.
pub(crate) fn rate(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        amount / seconds
    } else {
        0.0
    }
}

/// Microseconds.
pub(crate) fn us(time: Time) -> f64 {
    time as f64 / 1000.0
}
