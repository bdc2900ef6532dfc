//! Interface for all stacks: called once per batch.

use nandlab_block::{Completion, Error, HostClock, Payload, Request, ZoneReport, ZoneShape};
use nandlab_buffer::{Buffer, Counts, Placement};
use nandlab_drive::Chip;
use nandlab_fs::parts::collector::Counts as Collections;
use nandlab_fs::{BlockUse, FileSystem, FsError};
use nandlab_ftl::{BlockState, Events, FtlError, RamUse, Uses};
use nandlab_nand::backed::Verified;
use nandlab_nand::nvm::{Nvm, NvmUsage};
use nandlab_nand::work::Work;
use nandlab_nand::{BlockId, Matrix, NandError, Stall, Time, Waits};

/// A buffer and its NVRAM.
pub(crate) struct Mounted {
    pub buffer: Box<dyn Buffer>,
    pub nvram: Box<dyn Nvm>,
}

/// Activity in a buffer and its NVRAM.
#[derive(Clone, Copy)]
pub struct BufferCounts {
    /// Hits, misses, write-backs.
    pub counts: Counts,
    /// How requests were placed in the memories, if the buffer decides it.
    pub placement: Option<Placement>,
    /// NVRAM accesses; `None` without one.
    pub nvram: Option<NvmUsage>,
}

/// A request engine: an FTL, with or without a buffer over it.
pub trait Requests {
    /// Carries out a batch; `done` receives one completion per request. Requests with data lost to bit errors
    /// are counted and skipped; [`Engine::failed`] names them.
    fn submit(&mut self, requests: &[Request], clock: &mut HostClock, done: &mut Vec<Completion>) -> Result<(), Error>;

    /// On a device that follows events, goes on until a request ends, but not beyond `limit`; false if none ends by
    /// then.
    fn step(&mut self, clock: &mut HostClock, limit: Time) -> bool;

    /// Sets whether requests bypass the buffer; it must be empty, or the requests must not touch its contents.
    fn bypass_buffer(&mut self, bypass: bool);

    /// As [`nandlab_block::BlockDevice::is_same_in_runs`], for requests that bypass a buffer.
    fn is_same_in_runs(&self) -> bool {
        false
    }

    /// Carries out one request at its own time, with its bytes if the device stores any.
    fn submit_one(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error>;

    /// On a device that follows events, begins a request with its bytes, if the device stores any; `clock` has its end
    /// later.
    fn begin(&mut self, request: &Request, data: Payload<'_>, clock: &mut HostClock) -> Result<Completion, Error>;

    /// Drops the FTL as in a power cut, and mounts it again; false if the device stores too little for a mount,
    /// or if a buffer is above it.
    fn remount(&mut self) -> Result<bool, FtlError>;
}

/// A file engine: a file system on bare flash, or a real directory.
pub trait Files {
    /// The file system.
    fn files(&mut self) -> &mut dyn FileSystem;

    /// What the mount did not find as it was, in sentences.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// Counts an operation that failed because bit errors lost its data.
    fn count_unreadable(&mut self) {}

    /// Each flash block's state.
    fn blocks(&self) -> Option<Vec<BlockUse>> {
        None
    }

    /// Drops the file system as in a power cut, and mounts it again.
    fn remount(&mut self) -> Result<(), FsError> {
        Err(FsError::Unsupported("a mount"))
    }

    /// Restores a real directory; returns the paths that could not be removed.
    fn clean_up(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// An engine's input kind.
pub enum Door<'a> {
    /// Requests in sectors.
    Requests(&'a mut dyn Requests),
    /// Operations on files.
    Files(&'a mut dyn Files),
}

/// The engine below an experiment.
pub trait Engine: Send {
    /// Its input kind.
    fn door(&mut self) -> Door<'_>;

    /// The device's exported sectors; for a file system without an FTL, the flash's sectors.
    fn sectors(&self) -> u64;

    /// As [`nandlab_block::BlockDevice::zone_shape`].
    fn zone_shape(&self) -> Option<ZoneShape> {
        None
    }

    /// As [`nandlab_block::BlockDevice::zone_at`].
    fn zone_at(&self, _sector: u64) -> Option<ZoneReport> {
        None
    }

    /// The counts by origin and cause.
    fn matrix(&mut self) -> &Matrix;

    /// The counts' part in blocks with one bit per cell; `None` without such blocks.
    fn slc(&mut self) -> Option<&Matrix> {
        None
    }

    /// Looks for the longest request from now on.
    fn look_for_stalls(&mut self) {}

    /// The longest request's breakdown; `None` if not looked for, or if no request took time.
    fn longest_stall(&mut self) -> Option<Stall> {
        None
    }

    /// Keeps how operations use the device from now on, for a timeline.
    fn keep_work(&mut self) {}

    /// Operations take place in event order from now on, if the device keeps time; true if it does.
    fn follow_events(&mut self) -> bool {
        false
    }

    /// All operations under way end; from now on the times are sums.
    fn leave_events(&mut self) {}

    /// What was kept and nobody heard of yet.
    fn take_work(&mut self) -> Vec<Work> {
        Vec::new()
    }

    /// Latest operation end, in simulated nanoseconds.
    fn now(&mut self) -> Time;

    /// Waits of requests for flash.
    fn waits(&mut self) -> Waits {
        Waits::default()
    }

    /// Programs that shared another plane's array time.
    fn joined_programs(&mut self) -> u64 {
        0
    }

    /// Channel time that reads of a part of a page did not take.
    fn spared_transfer(&mut self) -> Time {
        0
    }

    /// Reads that overtook an erase or a program.
    fn reads_ahead(&mut self) -> u64 {
        0
    }

    /// Memory needed by firmware.
    fn ram(&self) -> RamUse;

    /// Buffer activity; `None` without one.
    fn buffer(&self) -> Option<BufferCounts>;

    /// The FTL's events.
    fn events(&self) -> Events;

    /// What some FTLs count beside their events; nothing without an FTL.
    fn uses(&self) -> Uses {
        Uses::default()
    }

    /// Each block's state.
    fn blocks(&self) -> Vec<BlockState>;

    /// The free ones among them.
    fn free_blocks(&self) -> u64 {
        self.blocks().iter().filter(|block| block.is_free).count() as u64
    }

    /// The log blocks of the FTL, if it has an FTL with logs.
    fn log_blocks(&self) -> Vec<BlockId> {
        Vec::new()
    }

    /// The device below.
    fn chip(&self) -> &dyn Chip;

    /// Derives every invariant of the FTL anew from flash.
    ///
    /// # Panics
    /// With the invariant that broke.
    fn check(&mut self) {}

    /// Compares the bytes of each page of an image with their checksum.
    fn verify(&mut self) -> Option<Result<Verified, NandError>> {
        None
    }

    /// Leaves the device idle for this many nanoseconds.
    fn lie(&mut self, _ns: Time) {}

    /// Requests with data lost to bit errors.
    fn unreadable(&self) -> u64;

    /// Indexes in the last batch for requests not carried out: with lost data, or refused by zones.
    fn failed(&self) -> &[usize];

    /// The refused ones among them: zones did not take them.
    fn refused(&self) -> &[usize] {
        &[]
    }

    /// Garbage collection by a file system on bare flash.
    fn collections(&self) -> Option<Collections> {
        None
    }

    /// A file system's NVRAM.
    fn nvram(&self) -> Option<NvramState> {
        None
    }
}

impl dyn Engine + '_ {
    /// The engine's request interface.
    ///
    /// # Panics
    /// If it takes operations on files.
    pub fn requests(&mut self) -> &mut dyn Requests {
        match self.door() {
            Door::Requests(requests) => requests,
            Door::Files(_) => unreachable!("an experiment with requests was checked to have an FTL"),
        }
    }

    /// The engine's file interface.
    ///
    /// # Panics
    /// If it takes requests.
    pub fn on_files(&mut self) -> &mut dyn Files {
        match self.door() {
            Door::Files(files) => files,
            Door::Requests(_) => unreachable!("only what is a file system itself is asked like this"),
        }
    }
}

/// An NVRAM's size, and its access costs so far.
#[derive(Clone, Copy)]
pub struct NvramState {
    /// Its size.
    pub bytes: u64,
    /// Its accesses, and their time and energy.
    pub usage: NvmUsage,
}
