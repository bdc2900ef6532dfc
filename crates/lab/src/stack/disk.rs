//! An FTL on a device, with or without a buffer over it.

use super::chip::Chip;
use super::engine::{BufferCounts, Door, Engine, Mounted, Requests};
use super::verify::Oracle;
use nandlab_block::{BlockDevice, Completion, EarlyBuffer, Error, HostClock, Payload, Request};
use nandlab_buffer::Buffered;
use nandlab_ftl::{BlockState, Disk, Events, Ftl, FtlError, RamUse, Recycling};
use nandlab_nand::backed::Verified;
use nandlab_nand::{BlockId, Matrix, Nand, NandError, Stall, Time};

/// How a stack carries out requests.
pub(crate) trait Carry: Send {
    /// Carries out `requests` until one fails; `done` holds the earlier completions.
    fn carry(
        &mut self,
        disk: &mut dyn BlockDevice,
        requests: &[Request],
        clock: &mut HostClock,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error>;
}

/// Requests without bytes.
pub(crate) struct Bare;

impl Carry for Bare {
    fn carry(
        &mut self,
        disk: &mut dyn BlockDevice,
        requests: &[Request],
        clock: &mut HostClock,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        disk.submit_batch(requests, clock, done)
    }
}

impl Carry for Oracle {
    fn carry(
        &mut self,
        disk: &mut dyn BlockDevice,
        requests: &[Request],
        clock: &mut HostClock,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        if clock.follows_events() {
            return nandlab_block::submit_late(disk, requests, clock, done, |disk, request| self.submit(disk, request));
        }
        for request in requests {
            let arrival = clock.arrival(request);
            let time = clock.begin(request, arrival, || disk.look_ups(request));
            let flash = self.submit(disk, &Request { time, ..*request })?.done;
            let completion = Completion { arrival, done: clock.end(request, (arrival, time), flash) };
            clock.complete(completion.done);
            disk.request_done(&completion);
            done.push(completion);
        }
        Ok(())
    }
}

/// An FTL on a device, with an optional buffer over it.
pub(crate) struct Stack<F: Ftl, N: Nand, C> {
    disk: Disk<F, N>,
    buffer: Option<Mounted>,
    /// The controller's write buffer with its bytes, for programs.
    early: Option<EarlyBuffer>,
    /// Requests go past the buffer.
    bypass: bool,
    carry: C,
    /// The FTL's options, if it can be mounted again.
    again: Option<F::Config>,
    unreadable: u64,
    failed: Vec<usize>,
}

impl<F: Ftl, N: Nand, C> Stack<F, N, C> {
    pub(crate) fn new(disk: Disk<F, N>, buffer: Option<Mounted>, carry: C) -> Self {
        Self { disk, buffer, early: None, bypass: false, carry, again: None, unreadable: 0, failed: Vec::new() }
    }

    /// The same stack with a write buffer in the controller, for [`Requests::submit_one`].
    pub(crate) fn answering_early(self, early: Option<EarlyBuffer>) -> Self {
        Self { early, ..self }
    }

    /// The same stack, with the FTL's options if its device stores enough for a mount.
    pub(crate) fn mounting(self, again: Option<F::Config>) -> Self {
        Self { again, ..self }
    }
}

impl<F: Ftl, N: Nand + Chip + Send, C: Carry> Requests for Stack<F, N, C> {
    fn submit(&mut self, requests: &[Request], clock: &mut HostClock, done: &mut Vec<Completion>) -> Result<(), Error> {
        let first = done.len();
        self.failed.clear();
        while done.len() - first < requests.len() {
            let left = &requests[done.len() - first..];
            let carried = match self.buffer.as_mut().filter(|_| !self.bypass) {
                // The whole batch in one loop, compiled for this FTL and device.
                None => self.carry.carry(&mut self.disk, left, clock, done),
                Some(Mounted { buffer, nvram }) => {
                    let mut buffered = Buffered::new(&mut **buffer, &mut **nvram, &mut self.disk);
                    self.carry.carry(&mut buffered, left, clock, done)
                }
            };
            match carried {
                Ok(()) => {}
                Err(Error::Unreadable { .. }) => {
                    self.unreadable += 1;
                    self.failed.push(done.len() - first);
                    if clock.follows_events() {
                        // Its operations are under way, and end as those of any other request.
                        let at = self.disk.nand_mut().ctx().arrival();
                        done.push(Completion { arrival: at, done: at });
                        continue;
                    }
                    let arrival = clock.arrival(&requests[done.len() - first]);
                    let end = self.disk.nand_mut().ctx().finish().max(arrival);
                    clock.complete(end);
                    let completion = Completion { arrival, done: end };
                    self.disk.request_done(&completion);
                    done.push(completion);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn follow_events(&mut self) -> bool {
        let ctx = self.disk.nand_mut().ctx();
        ctx.follow_events();
        ctx.timeline().is_some()
    }

    fn step(&mut self, clock: &mut HostClock, limit: Time) -> bool {
        self.disk.timeline().is_some_and(|timeline| clock.step(timeline, limit))
    }

    fn leave_events(&mut self) {
        self.disk.nand_mut().ctx().leave_events();
    }

    fn bypass_buffer(&mut self, bypass: bool) {
        self.bypass = bypass;
    }

    fn submit_one(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let submitted = match (&mut self.early, &mut self.buffer) {
            (None, None) => self.disk.submit(request, data),
            (Some(early), None) => early.on(&mut self.disk).submit(request, data),
            (early, Some(Mounted { buffer, nvram })) => {
                let mut buffered = Buffered::new(&mut **buffer, &mut **nvram, &mut self.disk);
                match early {
                    None => buffered.submit(request, data),
                    Some(early) => early.on(&mut buffered).submit(request, data),
                }
            }
        };
        self.unreadable += u64::from(matches!(submitted, Err(Error::Unreadable { .. })));
        if let Ok(completion) = &submitted {
            self.disk.request_done(completion);
        }
        submitted
    }

    fn remount(&mut self) -> Result<bool, FtlError> {
        match (&self.again, &self.buffer) {
            (Some(config), None) => self.disk.remount(config).map(|()| true),
            _ => Ok(false),
        }
    }
}

impl<F: Ftl, N: Nand + Chip + Send, C: Carry> Engine for Stack<F, N, C> {
    fn door(&mut self) -> Door<'_> {
        Door::Requests(self)
    }

    fn sectors(&self) -> u64 {
        self.disk.sectors()
    }

    fn matrix(&mut self) -> &Matrix {
        self.disk.nand_mut().ctx().matrix()
    }

    fn slc(&mut self) -> Option<&Matrix> {
        self.disk.nand_mut().ctx().slc()
    }

    fn look_for_stalls(&mut self) {
        self.disk.nand_mut().ctx().look_for_stalls();
    }

    fn longest_stall(&mut self) -> Option<Stall> {
        self.disk.nand_mut().ctx().longest_stall().cloned()
    }

    fn now(&mut self) -> Time {
        let ctx = self.disk.nand_mut().ctx();
        let events = ctx.timeline().map(|timeline| timeline.now());
        events.unwrap_or_else(|| ctx.horizon())
    }

    fn joined_programs(&mut self) -> u64 {
        self.disk.nand_mut().ctx().joined_programs()
    }

    fn spared_transfer(&mut self) -> Time {
        self.disk.nand_mut().ctx().spared()
    }

    fn reads_ahead(&mut self) -> u64 {
        self.disk.nand_mut().ctx().reads_ahead()
    }

    fn ram(&self) -> RamUse {
        let buffer = self.buffer.as_ref().map(|mounted| mounted.buffer.ram()).unwrap_or_default();
        self.disk.ftl().ram().and(buffer)
    }

    fn buffer(&self) -> Option<BufferCounts> {
        self.buffer.as_ref().map(|Mounted { buffer, nvram }| BufferCounts {
            counts: buffer.counts(),
            placement: buffer.placement(),
            nvram: (nvram.bytes() > 0).then(|| nvram.usage()),
        })
    }

    fn events(&self) -> Events {
        self.disk.ftl().events()
    }

    fn recyclings(&self) -> Vec<Recycling> {
        self.disk.ftl().recyclings()
    }

    fn blocks(&self) -> Vec<BlockState> {
        self.disk.ftl().blocks()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.disk.ftl().log_blocks()
    }

    fn chip(&self) -> &dyn Chip {
        self.disk.nand()
    }

    fn check(&mut self) {
        self.disk.check();
    }

    fn verify(&mut self) -> Option<Result<Verified, NandError>> {
        self.disk.nand_mut().verify()
    }

    fn lie(&mut self, ns: Time) {
        self.disk.nand_mut().lie(ns);
    }

    fn unreadable(&self) -> u64 {
        self.unreadable
    }

    fn failed(&self) -> &[usize] {
        &self.failed
    }
}
