//! How much was done to a disk, in a file of its own.
//!
//! An image tells whether its parts fit each other, and never whether all of it is old. Another file, on another disk or
//! another machine, can: it has the age of the image at its last flush.

use super::Disk;
use crate::Options;
use nandlab_lab::served::Access;
use nandlab_lab::LabError;
use nandlab_nand::backed::{open_regular, Age, Backed};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shortest time between two writes of the file: each waits twice for the host's disk.
const EVERY: Duration = Duration::from_secs(1);
/// More than a file with an age has.
const MOST_BYTES: u64 = 256;

/// A file with an image's age.
pub(super) struct Epoch {
    path: PathBuf,
    /// The age in the file and the time of its write; `None` before the first one.
    kept: Mutex<Option<(Age, Instant)>>,
}

impl Epoch {
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), kept: Mutex::default() }
    }

    /// The age in the file; `None` without a file.
    fn read(&self) -> io::Result<Option<Age>> {
        let mut text = String::new();
        match open_regular(&self.path) {
            Ok(file) => file.take(MOST_BYTES).read_to_string(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let wrong = || io::Error::other("this is no file of --epoch: it has a line `PROGRAMS programs, STORES stores`");
        let counts =
            text.strip_suffix(" stores\n").and_then(|text| text.split_once(" programs, ")).ok_or_else(wrong)?;
        let number = |text: &str| text.parse().map_err(|_| wrong());
        Ok(Some(Age { programs: number(counts.0)?, stores: number(counts.1)? }))
    }

    /// Keeps `age`, which is on the host's disk. With `at_once` no earlier write is too near.
    fn keep(&self, age: Age, at_once: bool) -> io::Result<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = kept.is_none_or(|(before, at)| before != age && (at_once || at.elapsed() >= EVERY));
        if is_due {
            self.write(age)?;
            *kept = Some((age, Instant::now()));
        }
        Ok(())
    }

    /// One age is whole in the file, whenever the process or the machine ends.
    fn write(&self, age: Age) -> io::Result<()> {
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        let mut file = File::create(&beside)?;
        file.write_all(format!("{} programs, {} stores\n", age.programs, age.stores).as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, &self.path)?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    }

    fn named(&self, error: &io::Error) -> LabError {
        LabError::Io(format!("{}: {error}", self.path.display()))
    }
}

impl Disk {
    /// Opens the image `path`, unless the file `epoch` tells of more than was done to it; from now on the file has the age
    /// of each flush. A new file takes the image as it is.
    ///
    /// # Errors
    /// As [`Self::open`]; the image is older, or the file is no such file. The image is then unchanged.
    pub fn open_with_epoch(path: &Path, options: Options, epoch: &Path) -> Result<Self, LabError> {
        let epoch = Epoch::new(epoch);
        let known = epoch.read().map_err(|error| epoch.named(&error))?.unwrap_or_default();
        let is_rescue = options.access == Access::Rescue;
        // A look before the mount, which writes into the image.
        let seen = if is_rescue { Backed::open_to_rescue(path) } else { Backed::open_read_only(path) };
        let seen = seen.map(|device| device.file().age()).unwrap_or(known);
        let is_old = (seen.programs < known.programs || seen.stores < known.stores).then(|| {
            format!(
                "the image {} is older than {} tells: it has {} programs and {} stores to the NVRAM, and the file {} and \
                 {}. It was put back, or the file is another image's",
                path.display(),
                epoch.path.display(),
                seen.programs,
                seen.stores,
                known.programs,
                known.stores
            )
        });
        if let (Some(what), false) = (&is_old, is_rescue) {
            return Err(LabError::Io(format!("{what}: --rescue shows it as it was")));
        }
        let mut disk = Self::open(path, options)?;
        disk.notices.extend(is_old);
        if !disk.is_read_only {
            disk.epoch = Some(epoch);
            disk.sync().map_err(|error| LabError::Io(error.to_string()))?;
        }
        Ok(disk)
    }

    /// Keeps the age `age` of what is on the host's disk.
    pub(super) fn keep_age(&self, age: Age, at_once: bool) -> io::Result<()> {
        self.epoch.as_ref().map_or(Ok(()), |epoch| {
            let kept = epoch.keep(age, at_once);
            kept.map_err(|error| io::Error::other(format!("{}: {error}", epoch.path.display())))
        })
    }
}
