//! Requests side by side on a device that keeps time, each with its bytes.

use crate::{Ended, Error, Payload, Request};
use nandlab_nand::Time;

/// A device that takes the next request before the ones before have ended.
pub trait Queued {
    /// Begins a request; returns its number, from 0 in the order of begins. The request changes the device at once,
    /// and a read has its bytes at once: only its end comes later. `request.time` is no earlier than that of the
    /// request before, nor than [`Self::now`].
    ///
    /// # Errors
    /// As [`crate::BlockDevice::submit`].
    fn begin(&mut self, request: &Request, data: Payload<'_>) -> Result<u64, Error>;

    /// Goes on to the next event, but not beyond `limit`; false if there is none by then. Requests that ended are
    /// added to `ended`.
    fn step(&mut self, limit: Time, ended: &mut Vec<Ended>) -> bool;

    /// Until when events have taken place.
    fn now(&mut self) -> Time;
}
