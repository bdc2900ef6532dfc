//! When an answer may go out.

use std::time::{Duration, Instant};

/// The moment from which a client may see a request's answer.
///
/// A paced disk answers when the request's simulated time is over, so programs feel the device. Other disks answer at
/// once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due(Option<Instant>);

impl Due {
    /// At once.
    pub const NOW: Self = Self(None);

    /// At `instant`, or at once if it has passed.
    pub fn at(instant: Instant) -> Self {
        Self(Some(instant))
    }

    /// Time left until the answer may go out.
    pub fn wait(self) -> Duration {
        self.0.map_or(Duration::ZERO, |instant| instant.saturating_duration_since(Instant::now()))
    }

    /// Blocks the calling thread until the answer may go out.
    pub fn sleep(self) {
        let wait = self.wait();
        if !wait.is_zero() {
            std::thread::sleep(wait);
        }
    }
}
