//! Simulated time.

/// Simulated time in nanoseconds.
pub type Time = u64;
