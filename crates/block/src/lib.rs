//! The seam between request sources (a workload, a file system, an index) and sector stores (a buffer, an FTL on a NAND
//! device).
//!
//! [`BlockDevice`] is object-safe: it is crossed once a request, or once a batch. A [`Mirror`] keeps the bytes for a
//! device without. [`ByteCount`] is the type for sizes in all options above.

mod arbiter;
mod by_events;
mod clock;
mod early;
pub mod firmware;
mod late;
mod mirror;
pub mod own;
mod path;
mod quantity;
mod queued;
mod ram;
mod request;
mod suggest;
mod zones;

pub use arbiter::{Arbiter, Arbitration, Burst, Priority, Queues, Weights};
pub use by_events::submit as submit_late;
pub use clock::HostClock;
pub use early::{Early, EarlyBuffer};
pub use late::Ended;
pub use mirror::{Blank, Mirror, Switch};
pub use path::{HeldUp, LinkScaling, PathTimes, PathUse, PathWaits};
pub use quantity::{byte_units, ByteCount};
pub use queued::Queued;
pub use ram::RamUse;
pub use request::{Author, Op, Request, ZoneCommand};
pub use suggest::nearest;
pub use zones::{ZoneFault, ZoneReport, ZoneShape, ZoneState};

use nandlab_nand::{Time, Timeline};

/// Bytes that go with a request.
#[derive(Debug)]
pub enum Payload<'a> {
    /// No bytes: a trim, a flush, or a run that only counts.
    None,
    /// Filled by a read, 512 bytes a sector.
    Read(&'a mut [u8]),
    /// Taken by a write, 512 bytes a sector.
    Write(&'a [u8]),
}

/// A request's cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Completion {
    /// When it came, in simulated nanoseconds.
    pub arrival: Time,
    /// When it was done; equal to `arrival` on a device that keeps no time.
    pub done: Time,
}

/// Why a request failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// The request reaches past the device's end.
    #[error("sectors {sector} to {} are beyond the device of {capacity} sectors", sector + u64::from(*sectors))]
    OutOfRange {
        /// The request's first sector.
        sector: u64,
        /// The request's sectors.
        sectors: u32,
        /// Device sectors.
        capacity: u64,
    },
    /// The data is lost to bit errors.
    #[error("sector {sector} cannot be read: more bit errors than the ECC corrects")]
    Unreadable {
        /// The request's first sector in the lost page.
        sector: u64,
    },
    /// Too few good blocks are left to take another write.
    #[error("the device is worn out: {0}")]
    WornOut(String),
    /// A zone takes no such request now; nothing has changed.
    #[error("zone {zone}: {fault}")]
    Zone {
        /// The zone's number.
        zone: u32,
        /// Why not.
        fault: ZoneFault,
    },
    /// Power is gone.
    #[error("power lost")]
    PowerLost,
}

/// A device that stores 512-byte sectors.
pub trait BlockDevice {
    /// Carries out one request that came at `request.time`. A read of no sectors takes no time: something above the
    /// device had its data.
    ///
    /// # Errors
    /// See [`Error`]; a request that failed may have been carried out in part, page by page.
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error>;

    /// Carries out `requests` in order, without bytes; arrival times come from `clock`, completions go to `done`.
    ///
    /// # Errors
    /// As [`Self::submit`]; `done` then holds the completions for the requests before the failed one.
    fn submit_batch(
        &mut self,
        requests: &[Request],
        clock: &mut HostClock,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        if clock.follows_events() {
            return submit_late(self, requests, clock, done, |device, request| device.submit(request, Payload::None));
        }
        for (at, request) in requests.iter().enumerate() {
            self.prefetch(&requests[at..]);
            let completion = self.submit(&Request { time: clock.arrival(request), ..*request }, Payload::None)?;
            clock.complete(completion.done);
            self.request_done(&completion);
            done.push(completion);
        }
        Ok(())
    }

    /// Starts loading table entries for the requests that follow; the first of `ahead` is carried out next.
    fn prefetch(&self, _ahead: &[Request]) {}

    /// Map entries firmware looks up for a request, in the current state; 0 if a layer above the device sends it other
    /// requests than the host's.
    fn look_ups(&self, _: &Request) -> u64 {
        0
    }

    /// A host request is over; [`Self::submit`] does not tell, since a layer above a device may make several requests
    /// from one.
    fn request_done(&mut self, _: &Completion) {}

    /// The device's operations in event order, while it follows them.
    fn timeline(&mut self) -> Option<&mut Timeline> {
        None
    }

    /// The device for requests side by side, if it keeps time and has an order of events. Whoever uses it makes every
    /// request there.
    fn queued(&mut self) -> Option<&mut dyn Queued> {
        None
    }

    /// Copies the bytes from `sector` on without a request; false if the device cannot.
    fn peek(&self, _sector: u64, _bytes: &mut [u8]) -> bool {
        false
    }

    /// Whether one write of several whole pages leaves what writes of a page each would leave: nobody asks for their times,
    /// and the pages go nowhere else together.
    fn is_same_in_runs(&self) -> bool {
        false
    }

    /// The zones, on a device that takes writes at their write pointers alone; `None` on any other.
    fn zone_shape(&self) -> Option<ZoneShape> {
        None
    }

    /// The zone at a sector (NVMe's Zone Management Receive); `None` without zones, or behind the last one.
    fn zone_at(&self, _sector: u64) -> Option<ZoneReport> {
        None
    }

    /// Device sectors.
    fn sectors(&self) -> u64;
}

impl<D: BlockDevice + ?Sized> BlockDevice for Box<D> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        (**self).submit(request, data)
    }

    fn submit_batch(
        &mut self,
        requests: &[Request],
        clock: &mut HostClock,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        (**self).submit_batch(requests, clock, done)
    }

    fn prefetch(&self, ahead: &[Request]) {
        (**self).prefetch(ahead);
    }

    fn look_ups(&self, request: &Request) -> u64 {
        (**self).look_ups(request)
    }

    fn request_done(&mut self, completion: &Completion) {
        (**self).request_done(completion);
    }

    fn timeline(&mut self) -> Option<&mut Timeline> {
        (**self).timeline()
    }

    fn is_same_in_runs(&self) -> bool {
        (**self).is_same_in_runs()
    }

    fn zone_shape(&self) -> Option<ZoneShape> {
        (**self).zone_shape()
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        (**self).zone_at(sector)
    }

    fn sectors(&self) -> u64 {
        (**self).sectors()
    }
}
