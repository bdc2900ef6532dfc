//! An FTL on a device, with or without a buffer over it, behind one object: crossed once a batch.

mod chip;

use crate::state::Begun;
use crate::verify::Oracle;
use nandlab_block::{BlockDevice, Completion, Error, HostClock, Payload, Request};
use nandlab_buffer::{Buffer, Buffered, Counts, Placement};
use nandlab_fs::parts::collector::Counts as Collections;
use nandlab_fs::{BlockUse, FileSystem, FsError};
pub(crate) use nandlab_ftl::BlockState;
use nandlab_ftl::{Disk, Events, Ftl, FtlError, RamUse, Recycling};
use nandlab_nand::nvm::{Nvm, NvmUsage};
use nandlab_nand::{Matrix, Nand, Stall, Time, ERASE_SHARE};

pub(crate) use chip::{Chip, Device};

/// A buffer and its NVRAM.
pub(crate) struct Mounted {
    pub buffer: Box<dyn Buffer>,
    pub nvram: Box<dyn Nvm>,
}

/// What a buffer and its NVRAM did.
#[derive(Clone, Copy)]
pub(crate) struct BufferCounts {
    pub counts: Counts,
    pub placement: Option<Placement>,
    /// `None` without NVRAM.
    pub nvram: Option<NvmUsage>,
}

/// An engine that takes requests: an FTL, with or without a buffer over it.
pub(crate) trait Requests {
    /// Carries out a batch; completions go to `done`, one a request. Requests whose data is lost to bit errors
    /// are counted and passed over; [`Engine::failed`] names them.
    fn submit(&mut self, requests: &[Request], clock: &mut HostClock, done: &mut Vec<Completion>) -> Result<(), Error>;

    /// Whether requests go past the buffer from now on; it is empty, or they touch nothing that it holds.
    fn bypass_buffer(&mut self, bypass: bool);

    /// Carries out one request with its bytes, if the device keeps any, at its own time.
    fn submit_one(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error>;

    /// Drops the FTL as a power cut does, and mounts it again; false where the device keeps too little for that, or a
    /// buffer is above it.
    fn remount(&mut self) -> Result<bool, FtlError>;
}

/// An engine that takes operations on files: a file system on bare flash, or a real directory.
pub(crate) trait Files {
    /// The file system.
    fn files(&mut self) -> &mut dyn FileSystem;

    /// An operation failed since data was lost to bit errors of the flash.
    fn count_unreadable(&mut self) {}

    /// What became of each block of the flash.
    fn blocks(&self) -> Option<Vec<BlockUse>> {
        None
    }

    /// Drops the file system as a power cut does, and mounts it again.
    fn remount(&mut self) -> Result<(), FsError> {
        Err(FsError::Unsupported("a mount"))
    }

    /// Leaves a real directory as it was; returns what stayed there all the same.
    fn clean_up(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// What an engine takes.
pub(crate) enum Door<'a> {
    Requests(&'a mut dyn Requests),
    Files(&'a mut dyn Files),
}

/// What an experiment runs on.
pub(crate) trait Engine {
    /// What it takes.
    fn door(&mut self) -> Door<'_>;

    /// Sectors that the device exports; those of the flash, where a file system has it without an FTL.
    fn sectors(&self) -> u64;

    /// The counts by origin and cause.
    fn matrix(&mut self) -> &Matrix;

    /// What of them was in blocks of one bit a cell; `None` where there are none.
    fn slc(&mut self) -> Option<&Matrix> {
        None
    }

    /// Looks for the longest request from now on.
    fn look_for_stalls(&mut self) {}

    /// How the time of the longest request divides; `None` where it was not looked for, or no request took time.
    fn longest_stall(&mut self) -> Option<Stall> {
        None
    }

    /// Latest end of any operation, in simulated nanoseconds.
    fn now(&mut self) -> Time;

    /// Programs that shared the array time of another plane's.
    fn joined_programs(&mut self) -> u64 {
        0
    }

    /// Reads for which an erase or a program gave way.
    fn reads_ahead(&mut self) -> u64 {
        0
    }

    /// Memory that firmware would need.
    fn ram(&self) -> RamUse;

    /// What the buffer did; `None` without one.
    fn buffer(&self) -> Option<BufferCounts>;

    /// What the FTL did.
    fn events(&self) -> Events;

    /// The last log blocks that ended or were renewed, where the FTL keeps them.
    fn recyclings(&self) -> Vec<Recycling>;

    /// What each block holds.
    fn blocks(&self) -> Vec<BlockState>;

    /// The device below.
    fn chip(&self) -> &dyn Chip;

    /// Lets the device lie for so many nanoseconds without work.
    fn lie(&mut self, _ns: Time) {}

    /// Requests whose data was lost to bit errors.
    fn unreadable(&self) -> u64;

    /// Those of them in the last batch, by their place in it.
    fn failed(&self) -> &[usize];

    /// What garbage collection of a file system on bare flash did.
    fn collections(&self) -> Option<Collections> {
        None
    }

    /// The NVRAM of a file system.
    fn nvram(&self) -> Option<NvramState> {
        None
    }
}

impl dyn Engine + '_ {
    /// The engine as one that takes requests.
    pub(crate) fn requests(&mut self) -> &mut dyn Requests {
        match self.door() {
            Door::Requests(requests) => requests,
            Door::Files(_) => unreachable!("an experiment with requests was checked to have an FTL"),
        }
    }

    /// The engine as one that takes operations on files.
    pub(crate) fn on_files(&mut self) -> &mut dyn Files {
        match self.door() {
            Door::Files(files) => files,
            Door::Requests(_) => unreachable!("only what is a file system itself is asked like this"),
        }
    }
}

/// Size of an NVRAM, and what its accesses cost so far.
#[derive(Clone, Copy)]
pub(crate) struct NvramState {
    pub bytes: u64,
    pub usage: NvmUsage,
}

/// How a stack carries out requests.
pub(crate) trait Carry {
    /// Carries out `requests` until one fails; `done` holds the completions of those before it.
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
        for request in requests {
            let arrival = clock.arrival(request);
            let time = clock.begin(arrival, || disk.look_ups(request));
            let completion = self.submit(disk, &Request { time, ..*request })?;
            clock.complete(completion.done);
            let completion = Completion { arrival, ..completion };
            disk.request_done(&completion);
            done.push(completion);
        }
        Ok(())
    }
}

/// An FTL on a device, and a buffer over it where one is asked for.
pub(crate) struct Stack<F: Ftl, N: Nand, C> {
    disk: Disk<F, N>,
    buffer: Option<Mounted>,
    /// Requests go past the buffer.
    bypass: bool,
    carry: C,
    /// The options of the FTL, where it can be mounted again.
    again: Option<F::Config>,
    unreadable: u64,
    failed: Vec<usize>,
}

impl<F: Ftl, N: Nand, C> Stack<F, N, C> {
    pub(crate) fn new(disk: Disk<F, N>, buffer: Option<Mounted>, carry: C) -> Self {
        Self { disk, buffer, bypass: false, carry, again: None, unreadable: 0, failed: Vec::new() }
    }

    /// The same stack, with the options of the FTL where its device keeps what a mount needs.
    pub(crate) fn mounting(self, again: Option<F::Config>) -> Self {
        Self { again, ..self }
    }
}

impl<F: Ftl, N: Nand + Chip, C: Carry> Requests for Stack<F, N, C> {
    fn submit(&mut self, requests: &[Request], clock: &mut HostClock, done: &mut Vec<Completion>) -> Result<(), Error> {
        let first = done.len();
        self.failed.clear();
        while done.len() - first < requests.len() {
            let left = &requests[done.len() - first..];
            let carried = match self.buffer.as_mut().filter(|_| !self.bypass) {
                // The whole batch in one loop that the compiler has made for this FTL and device.
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

    fn bypass_buffer(&mut self, bypass: bool) {
        self.bypass = bypass;
    }

    fn submit_one(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let submitted = match &mut self.buffer {
            None => self.disk.submit(request, data),
            Some(Mounted { buffer, nvram }) => {
                Buffered::new(&mut **buffer, &mut **nvram, &mut self.disk).submit(request, data)
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

impl<F: Ftl, N: Nand + Chip, C: Carry> Engine for Stack<F, N, C> {
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
        self.disk.nand_mut().ctx().horizon()
    }

    fn joined_programs(&mut self) -> u64 {
        self.disk.nand_mut().ctx().joined_programs()
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

    fn chip(&self) -> &dyn Chip {
        self.disk.nand()
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

/// Asserts that what the device counted agrees with what it holds, over its whole life.
///
/// Every program is in a page that was erased since, or is programmed now; every erase is a P/E cycle of one
/// block; the counts by origin and cause are those of the operations. A run that broke this would report
/// numbers that cannot be, so it stops.
pub(crate) fn assert_conservation(engine: &mut dyn Engine, pages_per_block: u32, begun: Begun) {
    let total = engine.matrix().total();
    let chip = engine.chip();
    let Begun { erases: before, programmed_pages, .. } = begun;
    let erases: u64 = chip.pe_cycles().iter().map(|&cycles| u64::from(cycles)).sum::<u64>() - before;
    assert_eq!(total.erase_shares, erases * ERASE_SHARE, "the erases by origin and cause sum to those of the blocks");
    let in_pages = u64::from(pages_per_block) * erases + chip.programmed_pages();
    let in_pages = in_pages.checked_sub(chip.unused_at_erase() + programmed_pages);
    assert_eq!(
        Some(total.programs()),
        in_pages,
        "programs = pages per block x erases + programmed pages - pages unused at their erase"
    );
}
