//! Time stamps without a clock.

use fatfs::{Date, DateTime, Time, TimeProvider};
use std::cell::Cell;

thread_local! {
    /// The library keeps its clock forever. So each operation sets the time first, and no state
    /// remains after it.
    static CHANGES: Cell<u64> = const { Cell::new(0) };
}

/// Sets the time stamp for this thread's next operation: `changes` steps of two seconds, the FAT
/// resolution.
pub(super) fn set(changes: u64) {
    CHANGES.with(|set| set.set(changes));
}

#[derive(Debug)]
pub(super) struct Stamps;

pub(super) static STAMPS: Stamps = Stamps;

/// Every month has 28 days here: stamps only need to differ and grow.
fn stamp(changes: u64) -> DateTime {
    const YEARS: u64 = 100;
    let seconds = changes * 2;
    let days = seconds / 86_400;
    let date = Date {
        year: 2000 + (days / 28 / 12 % YEARS) as u16,
        month: 1 + (days / 28 % 12) as u16,
        day: 1 + (days % 28) as u16,
    };
    let part = |of: u64, count: u64| (seconds / of % count) as u16;
    DateTime { date, time: Time { hour: part(3600, 24), min: part(60, 60), sec: part(1, 60), millis: 0 } }
}

impl TimeProvider for Stamps {
    fn get_current_date(&self) -> Date {
        self.get_current_date_time().date
    }

    fn get_current_date_time(&self) -> DateTime {
        stamp(CHANGES.with(Cell::get))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_grow_by_two_seconds() {
        let text = |changes| {
            let DateTime { date, time } = stamp(changes);
            format!("{}-{:02}-{:02} {:02}:{:02}:{:02}", date.year, date.month, date.day, time.hour, time.min, time.sec)
        };
        assert_eq!(text(0), "2000-01-01 00:00:00");
        assert_eq!(text(1), "2000-01-01 00:00:02");
        assert_eq!(text(43_200), "2000-01-02 00:00:00");
        assert_eq!(text(43_200 * 28 * 12 + 31), "2001-01-01 00:01:02");
    }
}
