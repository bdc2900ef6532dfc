//! A controller's write buffer with the writes' bytes; it answers before flash has the data.
//!
//! [`crate::PathTimes::write_buffer`] gives such a buffer's times, without bytes. This one has the bytes, so it shows a
//! power cut's loss.

use crate::request::{Op, Request};
use crate::{BlockDevice, Completion, Error, Payload};
use nandlab_nand::{Time, Timeline, SECTOR_BYTES};
use std::collections::VecDeque;

/// A fixed-size buffer that holds writes in arrival order.
///
/// *Unprotected*, a power cut takes every write not yet handed to the FTL. A flush hands all over, and then flushes the
/// FTL. *Protected* by capacitors, the buffer keeps each write and trim until a later FTL flush. So a power cut takes
/// no answered write, and a flush has nothing to do.
#[derive(Clone, Debug)]
pub struct EarlyBuffer {
    bytes: usize,
    is_protected: bool,
    used: usize,
    held: VecDeque<Held>,
    /// The first so many were handed over, and are kept until the FTL is flushed.
    handed: usize,
}

/// A write, or a trim without bytes.
#[derive(Clone, Debug)]
struct Held {
    request: Request,
    bytes: Vec<u8>,
}

impl EarlyBuffer {
    /// An empty buffer with `bytes` bytes.
    pub fn new(bytes: usize, is_protected: bool) -> Self {
        Self { bytes, is_protected, used: 0, held: VecDeque::new(), handed: 0 }
    }

    /// The buffer and the device below, as one device.
    pub fn on<'a, D: BlockDevice + ?Sized>(&'a mut self, below: &'a mut D) -> Early<'a, D> {
        Early { buffer: self, below }
    }

    /// Answered writes the FTL does not have.
    pub fn waiting(&self) -> usize {
        self.held.len() - self.handed
    }

    /// The power goes; returns the count of answered writes lost.
    ///
    /// The rest must go to the FTL with [`Early::recover`], once it is mounted.
    pub fn power_cut(&mut self) -> usize {
        let waiting = self.waiting();
        self.handed = 0;
        if self.is_protected {
            return 0;
        }
        self.held.clear();
        self.used = 0;
        waiting
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.used <= self.bytes.saturating_sub(bytes)
    }

    fn hold(&mut self, request: &Request, bytes: &[u8]) {
        self.used += bytes.len();
        self.held.push_back(Held { request: *request, bytes: bytes.to_vec() });
    }

    /// Forgets the writes the FTL has.
    fn forget(&mut self) {
        for held in self.held.drain(..self.handed) {
            self.used -= held.bytes.len();
        }
        self.handed = 0;
    }

    /// Overlays waiting writes on data read from below.
    fn overlay(&self, request: &Request, read: &mut [u8]) {
        for Held { request: held, bytes } in self.held.range(self.handed..) {
            let (first, end) = (held.sector.max(request.sector), held.end().min(request.end()));
            if first < end {
                let part = |from: u64| {
                    ((first - from) * u64::from(SECTOR_BYTES)) as usize
                        ..((end - from) * u64::from(SECTOR_BYTES)) as usize
                };
                read[part(request.sector)].copy_from_slice(&bytes[part(held.sector)]);
            }
        }
    }
}

/// A buffer over a device.
pub struct Early<'a, D: ?Sized> {
    buffer: &'a mut EarlyBuffer,
    below: &'a mut D,
}

impl<D: BlockDevice + ?Sized> Early<'_, D> {
    /// Hands the writes left by a power cut to the FTL below, and makes them durable.
    ///
    /// # Errors
    /// Device errors. After another power cut nothing is lost, and this must be repeated.
    pub fn recover(&mut self, at: Time) -> Result<(), Error> {
        self.hand_over_all(at)?;
        self.settle(at).map(drop)
    }

    /// Hands over the oldest write or trim.
    fn hand_over(&mut self, at: Time) -> Result<Time, Error> {
        let Held { request, bytes } = &self.buffer.held[self.buffer.handed];
        let data = if request.op == Op::Write { Payload::Write(bytes) } else { Payload::None };
        let done = match self.below.submit(&Request { time: at, ..*request }, data) {
            Err(Error::PowerLost) => return Err(Error::PowerLost),
            done => done,
        };
        self.buffer.handed += 1;
        if !self.buffer.is_protected {
            self.buffer.forget();
        }
        done.map(|done| done.done)
    }

    fn hand_over_all(&mut self, at: Time) -> Result<Time, Error> {
        let mut done = at;
        while self.buffer.waiting() > 0 {
            done = done.max(self.hand_over(at)?);
        }
        Ok(done)
    }

    /// Flushes the FTL, so no write handed over must be kept.
    fn settle(&mut self, at: Time) -> Result<Time, Error> {
        let flush = Request { time: at, ..Request::new(Op::Flush, 0, 0) };
        let done = self.below.submit(&flush, Payload::None)?.done;
        self.buffer.forget();
        Ok(done)
    }

    /// Makes room for `bytes`; a larger write gets the whole buffer.
    fn make_room(&mut self, bytes: usize, at: Time) -> Result<Time, Error> {
        let mut done = at;
        while !self.buffer.has_room(bytes) && !self.buffer.held.is_empty() {
            done = done.max(match self.buffer.waiting() {
                0 => self.settle(at)?,
                _ => self.hand_over(at)?,
            });
        }
        Ok(done)
    }
}

impl<D: BlockDevice + ?Sized> BlockDevice for Early<'_, D> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let at = request.time;
        if request.end() > self.below.sectors() {
            return self.below.submit(request, data);
        }
        let done = match (request.op, data) {
            (Op::Write, Payload::Write(bytes)) => {
                let begun = self.make_room(bytes.len(), at)?;
                self.buffer.hold(request, bytes);
                begun
            }
            (Op::Read, Payload::Read(read)) => {
                let done = self.below.submit(request, Payload::Read(&mut *read))?;
                self.buffer.overlay(request, read);
                return Ok(done);
            }
            (Op::Trim, _) => {
                self.hand_over_all(at)?;
                self.buffer.hold(request, &[]);
                self.hand_over(at)?
            }
            (Op::Flush, _) if self.buffer.is_protected => at,
            (Op::Flush, _) => {
                let handed = self.hand_over_all(at)?;
                handed.max(self.settle(handed)?)
            }
            (_, data) => return self.below.submit(request, data),
        };
        Ok(Completion { arrival: at, done })
    }

    fn request_done(&mut self, completion: &Completion) {
        self.below.request_done(completion);
    }

    fn timeline(&mut self) -> Option<&mut Timeline> {
        self.below.timeline()
    }

    fn sectors(&self) -> u64 {
        self.below.sectors()
    }
}
