//! An FTL on a device, with or without a buffer over it.

use super::engine::{BufferCounts, Door, Engine, Mounted, Requests};
use super::verify::Oracle;
use nandlab_block::{
    submit_late, BlockDevice, Completion, EarlyBuffer, Error, HostClock, Payload, Request, ZoneReport, ZoneShape,
};
use nandlab_buffer::Buffered;
use nandlab_drive::{Chip, Drive, DriveOn};
use nandlab_ftl::{BlockState, Events, FtlError, RamUse, Uses};
use nandlab_nand::backed::Verified;
use nandlab_nand::work::Work;
use nandlab_nand::{BlockId, Matrix, NandError, Stall, Time, Waits};

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
            let completion = self.submit(disk, &Request { time: clock.arrival(request), ..*request })?;
            clock.complete(completion.done);
            disk.request_done(&completion);
            done.push(completion);
        }
        Ok(())
    }
}

/// An FTL on a device.
pub(crate) enum Below {
    /// On one that counts, with or without time.
    Lean(Box<dyn Drive>),
    /// On any other one.
    Boxed(Box<dyn DriveOn>),
}

impl Below {
    fn drive(&self) -> &dyn Drive {
        match self {
            Self::Lean(drive) => &**drive,
            Self::Boxed(drive) => &**drive,
        }
    }

    fn drive_mut(&mut self) -> &mut dyn Drive {
        match self {
            Self::Lean(drive) => &mut **drive,
            Self::Boxed(drive) => &mut **drive,
        }
    }
}

/// An FTL on a device, with an optional buffer over it.
pub(crate) struct Stack {
    below: Below,
    buffer: Option<Mounted>,
    /// The controller's write buffer with its bytes, for programs.
    early: Option<EarlyBuffer>,
    /// Requests go past the buffer.
    bypass: bool,
    carry: Box<dyn Carry>,
    /// A run mounts the FTL again at its end.
    mounts_again: bool,
    unreadable: u64,
    failed: Vec<usize>,
    /// The part of `failed` refused by zones.
    refused: Vec<usize>,
}

impl Stack {
    pub(crate) fn new(below: Below, buffer: Option<Mounted>, carry: Box<dyn Carry>) -> Self {
        Self {
            below,
            buffer,
            early: None,
            bypass: false,
            carry,
            mounts_again: false,
            unreadable: 0,
            failed: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// The same stack with a write buffer in the controller, for [`Requests::submit_one`].
    pub(crate) fn answering_early(self, early: Option<EarlyBuffer>) -> Self {
        Self { early, ..self }
    }

    /// The same stack, whose device stores enough for a mount, if a run is to mount it again.
    pub(crate) fn mounting(self, mounts_again: bool) -> Self {
        Self { mounts_again, ..self }
    }
}

impl Requests for Stack {
    fn submit(&mut self, requests: &[Request], clock: &mut HostClock, done: &mut Vec<Completion>) -> Result<(), Error> {
        let first = done.len();
        self.failed.clear();
        self.refused.clear();
        let disk = self.below.drive_mut();
        while done.len() - first < requests.len() {
            let left = &requests[done.len() - first..];
            let carried = match self.buffer.as_mut().filter(|_| !self.bypass) {
                // The whole batch in one loop, which is compiled for this FTL and device.
                None => self.carry.carry(disk, left, clock, done),
                Some(Mounted { buffer, nvram }) => {
                    let mut buffered = Buffered::new(&mut **buffer, &mut **nvram, disk);
                    self.carry.carry(&mut buffered, left, clock, done)
                }
            };
            match carried {
                Ok(()) => {}
                Err(error @ (Error::Unreadable { .. } | Error::Zone { .. })) => {
                    match error {
                        Error::Zone { .. } => self.refused.push(done.len() - first),
                        _ => self.unreadable += 1,
                    }
                    self.failed.push(done.len() - first);
                    if clock.follows_events() {
                        // Its operations are under way, and end as those of any other request.
                        let at = disk.ctx().arrival();
                        done.push(Completion { arrival: at, done: at });
                        continue;
                    }
                    let request = &requests[done.len() - first];
                    let arrival = clock.arrival(request);
                    let end = disk.ctx().finish().max(arrival);
                    clock.complete(end);
                    let completion = Completion { arrival, done: end };
                    disk.request_done(&completion);
                    done.push(completion);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn step(&mut self, clock: &mut HostClock, limit: Time) -> bool {
        self.below.drive_mut().timeline().is_some_and(|timeline| clock.step(timeline, limit))
    }

    fn bypass_buffer(&mut self, bypass: bool) {
        self.bypass = bypass;
    }

    fn is_same_in_runs(&self) -> bool {
        self.below.drive().is_same_in_runs()
    }

    fn submit_one(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let disk = self.below.drive_mut();
        let submitted = match (&mut self.early, &mut self.buffer) {
            (None, None) => disk.submit(request, data),
            (Some(early), None) => early.on(disk).submit(request, data),
            (early, Some(Mounted { buffer, nvram })) => {
                let mut buffered = Buffered::new(&mut **buffer, &mut **nvram, disk);
                match early {
                    None => buffered.submit(request, data),
                    Some(early) => early.on(&mut buffered).submit(request, data),
                }
            }
        };
        self.unreadable += u64::from(matches!(submitted, Err(Error::Unreadable { .. })));
        if let Ok(completion) = &submitted {
            disk.request_done(completion);
        }
        submitted
    }

    fn begin(&mut self, request: &Request, data: Payload<'_>, clock: &mut HostClock) -> Result<Completion, Error> {
        let disk = self.below.drive_mut();
        let (one, mut done, mut data) = (std::slice::from_ref(request), Vec::new(), Some(data));
        let mut carry_out = |disk: &mut dyn BlockDevice, request: &Request| {
            disk.submit(request, data.take().expect("there is one request"))
        };
        let begun = match &mut self.buffer {
            None => submit_late(disk, one, clock, &mut done, |disk, request| carry_out(disk, request)),
            Some(Mounted { buffer, nvram }) => {
                let mut buffered = Buffered::new(&mut **buffer, &mut **nvram, disk);
                submit_late(&mut buffered, one, clock, &mut done, |disk, request| carry_out(disk, request))
            }
        };
        self.unreadable += u64::from(matches!(begun, Err(Error::Unreadable { .. })));
        begun.map(|()| done[0])
    }

    fn remount(&mut self) -> Result<bool, FtlError> {
        match (&mut self.below, &self.buffer) {
            (Below::Boxed(drive), None) if self.mounts_again => drive.remount().map(|()| true),
            _ => Ok(false),
        }
    }
}

impl Engine for Stack {
    fn door(&mut self) -> Door<'_> {
        Door::Requests(self)
    }

    fn sectors(&self) -> u64 {
        self.below.drive().sectors()
    }

    fn zone_shape(&self) -> Option<ZoneShape> {
        self.below.drive().zone_shape()
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        self.below.drive().zone_at(sector)
    }

    fn matrix(&mut self) -> &Matrix {
        self.below.drive_mut().ctx().matrix()
    }

    fn slc(&mut self) -> Option<&Matrix> {
        self.below.drive_mut().ctx().slc()
    }

    fn look_for_stalls(&mut self) {
        self.below.drive_mut().ctx().look_for_stalls();
    }

    fn longest_stall(&mut self) -> Option<Stall> {
        self.below.drive_mut().ctx().longest_stall().cloned()
    }

    fn now(&mut self) -> Time {
        let ctx = self.below.drive_mut().ctx();
        let events = ctx.timeline().map(|timeline| timeline.now());
        events.unwrap_or_else(|| ctx.horizon())
    }

    fn follow_events(&mut self) -> bool {
        let ctx = self.below.drive_mut().ctx();
        ctx.follow_events();
        ctx.timeline().is_some()
    }

    fn leave_events(&mut self) {
        self.below.drive_mut().ctx().leave_events();
    }

    fn keep_work(&mut self) {
        self.below.drive_mut().ctx().keep_work();
    }

    fn take_work(&mut self) -> Vec<Work> {
        let mut work = Vec::new();
        self.below.drive_mut().ctx().take_work(&mut work);
        work
    }

    fn waits(&mut self) -> Waits {
        self.below.drive_mut().ctx().waits()
    }

    fn joined_programs(&mut self) -> u64 {
        self.below.drive_mut().ctx().joined_programs()
    }

    fn spared_transfer(&mut self) -> Time {
        self.below.drive_mut().ctx().spared()
    }

    fn reads_ahead(&mut self) -> u64 {
        self.below.drive_mut().ctx().reads_ahead()
    }

    fn ram(&self) -> RamUse {
        let buffer = self.buffer.as_ref().map(|mounted| mounted.buffer.ram()).unwrap_or_default();
        self.below.drive().ram().and(buffer)
    }

    fn buffer(&self) -> Option<BufferCounts> {
        self.buffer.as_ref().map(|Mounted { buffer, nvram }| BufferCounts {
            counts: buffer.counts(),
            placement: buffer.placement(),
            nvram: (nvram.bytes() > 0).then(|| nvram.usage()),
        })
    }

    fn events(&self) -> Events {
        self.below.drive().events()
    }

    fn uses(&self) -> Uses {
        self.below.drive().uses()
    }

    fn blocks(&self) -> Vec<BlockState> {
        self.below.drive().blocks()
    }

    fn free_blocks(&self) -> u64 {
        self.below.drive().free_blocks()
    }

    fn log_blocks(&self) -> Vec<BlockId> {
        self.below.drive().log_blocks()
    }

    fn chip(&self) -> &dyn Chip {
        self.below.drive().chip()
    }

    fn check(&mut self) {
        if let Below::Boxed(drive) = &mut self.below {
            drive.check();
        }
    }

    fn verify(&mut self) -> Option<Result<Verified, NandError>> {
        self.below.drive_mut().verify()
    }

    fn lie(&mut self, ns: Time) {
        self.below.drive_mut().lie(ns);
    }

    fn unreadable(&self) -> u64 {
        self.unreadable
    }

    fn failed(&self) -> &[usize] {
        &self.failed
    }

    fn refused(&self) -> &[usize] {
        &self.refused
    }
}
