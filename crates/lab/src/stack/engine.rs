//! What a stack can be asked, whatever is in it: crossed once a batch.

use super::chip::Chip;
use nandlab_block::{Completion, Error, HostClock, Payload, Request};
use nandlab_buffer::{Buffer, Counts, Placement};
use nandlab_fs::parts::collector::Counts as Collections;
use nandlab_fs::{BlockUse, FileSystem, FsError};
use nandlab_ftl::{BlockState, Events, FtlError, RamUse, Recycling};
use nandlab_nand::backed::Verified;
use nandlab_nand::nvm::{Nvm, NvmUsage};
use nandlab_nand::{Matrix, NandError, Stall, Time};

/// A buffer and its NVRAM.
pub(crate) struct Mounted {
    pub buffer: Box<dyn Buffer>,
    pub nvram: Box<dyn Nvm>,
}

/// What a buffer and its NVRAM did.
#[derive(Clone, Copy)]
pub struct BufferCounts {
    /// Hits, misses, write-backs.
    pub counts: Counts,
    /// Which memory takes which requests, where the buffer decides that.
    pub placement: Option<Placement>,
    /// Accesses of the NVRAM; `None` without one.
    pub nvram: Option<NvmUsage>,
}

/// An engine that takes requests: an FTL, with or without a buffer over it.
pub trait Requests {
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
pub trait Files {
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
pub enum Door<'a> {
    /// Requests in sectors.
    Requests(&'a mut dyn Requests),
    /// Operations on files.
    Files(&'a mut dyn Files),
}

/// What an experiment runs on.
pub trait Engine: Send {
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

    /// Derives every invariant of the FTL anew from flash.
    ///
    /// # Panics
    /// With the invariant that broke.
    fn check(&mut self) {}

    /// Compares the bytes of each page of an image with their checksum.
    fn verify(&mut self) -> Option<Result<Verified, NandError>> {
        None
    }

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
    ///
    /// # Panics
    /// Where it takes operations on files.
    pub fn requests(&mut self) -> &mut dyn Requests {
        match self.door() {
            Door::Requests(requests) => requests,
            Door::Files(_) => unreachable!("an experiment with requests was checked to have an FTL"),
        }
    }

    /// The engine as one that takes operations on files.
    ///
    /// # Panics
    /// Where it takes requests.
    pub fn on_files(&mut self) -> &mut dyn Files {
        match self.door() {
            Door::Files(files) => files,
            Door::Requests(_) => unreachable!("only what is a file system itself is asked like this"),
        }
    }
}

/// Size of an NVRAM, and what its accesses cost so far.
#[derive(Clone, Copy)]
pub struct NvramState {
    /// Its size.
    pub bytes: u64,
    /// Its accesses, and their time and energy.
    pub usage: NvmUsage,
}
