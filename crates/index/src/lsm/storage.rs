//! What the tree needs below it: files that are appended to, read and deleted as a whole.
//!
//! A file is written from its start to its end in whole units and never changed. So files fit a block device and a
//! device with zones alike, and no address of either is in this interface: a file's place is a string of bytes that the
//! manifest keeps without reading it. Two root areas hold the manifest, which names every other file.

use super::extents::trims::TrimStats;
use super::queue::Jobs;
use crate::IndexError;
use nandlab_nand::{Origin, PlacementId, Time};

/// A root area takes this share of the device, within these bounds.
const ROOT_SHARE: u64 = 32;
const ROOT_UNITS_MIN: u64 = 16;
const ROOT_BYTES_MAX: u64 = 4 << 20;

/// Bytes of a root area on a device with so many bytes.
pub(super) fn root_bytes(device_bytes: u64, unit_bytes: u32) -> u64 {
    (device_bytes / ROOT_SHARE).min(ROOT_BYTES_MAX).max(ROOT_UNITS_MIN * u64::from(unit_bytes))
}

/// A file's number; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub u64);

/// How long a file will live: the storage may keep apart what dies at different times.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lifetime {
    /// The manifest and the write-ahead log: the shortest.
    Log,
    /// A table of this level: the deeper, the longer.
    Level(u8),
}

impl Lifetime {
    /// The reclaim unit handle for it: 0 for the log, then one a level.
    pub fn placement(self) -> PlacementId {
        match self {
            Self::Log => PlacementId::of(0),
            Self::Level(level) => PlacementId::of(level + 1),
        }
    }
}

/// Files for an LSM tree.
pub trait Storage {
    /// Bytes of a unit; appends, reads and their offsets are multiples of it.
    fn unit_bytes(&self) -> usize;

    /// Makes an empty file and takes room for `expected_bytes`.
    ///
    /// # Errors
    /// [`IndexError::NoSpace`].
    fn create(&mut self, file: FileId, expected_bytes: u64, lifetime: Lifetime) -> Result<(), IndexError>;

    /// Appends whole units; takes more room if the expectation was too low.
    ///
    /// # Errors
    /// [`IndexError::NoSpace`], [`IndexError::Device`].
    fn append(&mut self, file: FileId, bytes: &[u8], origin: Origin) -> Result<(), IndexError>;

    /// Ends a file: room not used is given back.
    fn seal(&mut self, file: FileId);

    /// Bytes a file has room for.
    fn room(&self, file: FileId) -> u64;

    /// Reads whole units; units never written hold anything.
    ///
    /// # Errors
    /// [`IndexError::Device`].
    fn read(&mut self, file: FileId, offset: u64, bytes: &mut [u8], origin: Origin) -> Result<(), IndexError>;

    /// Gives a file's room back; when the device is told is up to the storage.
    ///
    /// # Errors
    /// [`IndexError::Device`].
    fn delete(&mut self, file: FileId) -> Result<(), IndexError>;

    /// Makes everything so far survive a power cut.
    ///
    /// # Errors
    /// [`IndexError::Device`].
    fn sync(&mut self) -> Result<(), IndexError>;

    /// Where a file lies, for [`Self::adopt`].
    fn place(&self, file: FileId) -> Vec<u8>;

    /// Makes a file of an earlier mount known.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if the place cannot be, or is another file's.
    fn adopt(&mut self, file: FileId, place: &[u8], lifetime: Lifetime) -> Result<(), IndexError>;

    /// All files of an earlier mount are known: what else the device holds is free. For a new tree it is given up for
    /// good, so that a former tree's files never come back.
    ///
    /// # Errors
    /// [`IndexError::Device`].
    fn give_up_rest(&mut self, is_new: bool) -> Result<(), IndexError>;

    /// Bytes of each of the two root areas.
    fn root_bytes(&self) -> u64;

    /// Empties a root area; returns the bytes written for it.
    ///
    /// # Errors
    /// [`IndexError::Device`].
    fn reset_root(&mut self, area: usize) -> Result<u64, IndexError>;

    /// Writes whole units into a root area at `offset`, where the last write since its reset ended.
    ///
    /// # Errors
    /// [`IndexError::Device`].
    fn append_root(&mut self, area: usize, offset: u64, bytes: &[u8]) -> Result<(), IndexError>;

    /// Reads whole units from a root area.
    ///
    /// # Errors
    /// [`IndexError::Device`].
    fn read_root(&mut self, area: usize, offset: u64, bytes: &mut [u8]) -> Result<(), IndexError>;

    /// Bytes that files and root areas can take, and those still free.
    fn capacity(&self) -> (u64, u64);

    /// Moves files if a new one of this size finds no room otherwise; returns the moved ones. Only `movable` files move.
    /// The caller notes their new places, makes these durable and calls [`Self::end_moves`]. Nothing moves if a new file
    /// has room, or if moves cannot make any. In a plan the files move with the job, and [`Self::switch_to_moved`] ends it.
    ///
    /// # Errors
    /// [`IndexError::NoSpace`], [`IndexError::Device`].
    fn make_room(&mut self, _bytes: u64, _lifetime: Lifetime, _movable: &[FileId]) -> Result<Vec<FileId>, IndexError> {
        Ok(Vec::new())
    }

    /// A job has moved its files: they lie at their new places from now on.
    fn switch_to_moved(&mut self) {}

    /// Gives back the former room of moved files, or their new room if the new places could not be noted.
    ///
    /// # Errors
    /// [`IndexError::Device`].
    fn end_moves(&mut self, _committed: bool) -> Result<(), IndexError> {
        Ok(())
    }

    /// Bytes written to move files.
    fn moved_bytes(&self) -> u64 {
        0
    }

    /// Trims so far; none without a block device.
    fn trims(&self) -> TrimStats {
        TrimStats::default()
    }

    /// The time after the last request.
    fn now(&self) -> Time;

    /// Lets the next request come no earlier than `time`.
    fn set_now(&mut self, time: Time);

    /// Requests of jobs beside the host's; `None` if every request waits for the one before.
    fn jobs(&mut self) -> Option<&mut dyn Jobs> {
        None
    }

    /// Checks that exactly these files are there, and that no two share room.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    fn check(&self, files: &[FileId]) -> Result<(), IndexError>;
}
