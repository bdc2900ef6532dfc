//! Notices about times far from those of flash chips.
//!
//! The ranges go from the fastest chips of one bit a cell to the slowest of four, with some room. A value outside of them
//! is used as it is: it may stand for something else, or be a slip of a unit.
//!
//! | time | fastest | slowest |
//! |---|---|---|
//! | read | 3 us, Z-NAND (Cheong et al., ISSCC 2018) | 400 us for 32 KiB on two dies (`jasmine`) |
//! | program | 100 us, Z-NAND (same paper) | 6.2 ms for 16 pages at once (`nvme-a`) |
//! | erase | 0.7 ms, one bit a cell (Micron MT29F4G08ABADA data sheet) | 5 ms (`nvme-a`), with room for worn blocks |
//! | transfer of a byte | 0.42 ns (ONFI 5.0, 2400 MT/s) | 50 ns (`k9f5608`) |

use serde_json::{Map, Value};

/// A key of `[timing]`, what it times, and its usual range.
const RANGES: [(&str, &str, f64, f64, &str); 7] = [
    ("read_us", "a read", 3.0, 500.0, "us"),
    ("program_us", "a program", 100.0, 10_000.0, "us"),
    ("erase_us", "an erase", 500.0, 20_000.0, "us"),
    // 0 is no channel.
    ("transfer_ns_per_byte", "a channel", 0.2, 100.0, "ns a byte"),
    ("page_types.read_us", "a read", 3.0, 500.0, "us"),
    ("page_types.program_us", "a program", 100.0, 10_000.0, "us"),
    ("slc.erase_us", "an erase", 500.0, 20_000.0, "us"),
];

/// Notices about `given`, a table `[timing]` below `prefix`, where it differs from what is `known`.
pub(super) fn notices(prefix: &str, given: &Map<String, Value>, known: &Map<String, Value>) -> Vec<String> {
    let unusual = |&(key, what, least, most, unit): &(&str, &str, f64, f64, &str)| {
        let (values, known) = (numbers(given, key), numbers(known, key));
        let is_usual = |us: f64| us == 0.0 && what == "a channel" || (least..=most).contains(&us);
        let value = values.iter().copied().find(|&us| !is_usual(us)).filter(|_| values != known)?;
        Some(format!(
            "{prefix}.{key} = {value} is unusual: {what} of flash takes {least} to {most} {unit}; the run uses it as it is"
        ))
    };
    RANGES.iter().filter_map(unusual).collect()
}

/// The numbers at `key`, one or a list.
fn numbers(table: &Map<String, Value>, key: &str) -> Vec<f64> {
    let mut parts = key.split('.');
    let first = parts.next().and_then(|part| table.get(part));
    match parts.fold(first, |value, part| value.and_then(|value| value.get(part))) {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_f64).collect(),
        Some(one) => one.as_f64().into_iter().collect(),
        None => Vec::new(),
    }
}
