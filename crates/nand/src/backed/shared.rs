//! An image's file, shared by its device, its NVRAM and the server.

use super::backlog::Backlog;
use super::error::{BackedError, Failure};
use super::gathered::Gathered;
use super::layout::{Header, Layout, Tag, MARK_BYTES};
use super::marks::{Mark, Marks, Noted};
use super::os::{self, HostFile};
use super::overlay::Overlay;
use super::work::Counter;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An image's file.
#[derive(Debug)]
pub(super) struct Shared {
    pub file: HostFile,
    /// Takes all writes of an image that is only read.
    pub overlay: Option<Overlay>,
    pub path: PathBuf,
    pub layout: Layout,
    pub header: Header,
    pub failure: Failure,
    /// Whether some writes may not be on the operating system's disk.
    pub unsynced: AtomicBool,
    /// Writes that the host refused.
    backlog: Mutex<Backlog>,
    /// Whether there are some.
    is_behind: AtomicBool,
    /// Held while the file is synchronised; whether the kernel may count bytes as written that are not.
    syncing: Mutex<bool>,
    /// Programs not yet in the file.
    gathered: Mutex<Gathered>,
    /// The last saved state's number.
    pub states: AtomicU64,
    /// Flash work since the image was made.
    pub work: Counter,
    pub marks: Marks,
    /// Stores by NVRAM word.
    stores: Mutex<Vec<u32>>,
    /// Every write, in order.
    #[cfg(test)]
    pub log: Mutex<Vec<(u64, Vec<u8>)>>,
}

impl Shared {
    pub fn new(file: HostFile, path: &Path, header: Header) -> Self {
        Self {
            file,
            overlay: None,
            path: path.to_owned(),
            layout: Layout::new(&header),
            stores: Mutex::new(vec![0; (header.nvram_bytes / 8) as usize]),
            header,
            failure: Failure::default(),
            unsynced: AtomicBool::new(false),
            backlog: Mutex::default(),
            is_behind: AtomicBool::new(false),
            syncing: Mutex::default(),
            gathered: Mutex::default(),
            states: AtomicU64::new(0),
            work: Counter::default(),
            marks: Marks::default(),
            #[cfg(test)]
            log: Mutex::default(),
        }
    }

    pub fn error(&self, action: &'static str, source: io::Error) -> BackedError {
        BackedError::Io { path: self.path.clone(), action, source }
    }

    /// Reads ungathered parts: anything but pages and their records.
    pub fn read_at(&self, place: u64, bytes: &mut [u8]) -> io::Result<()> {
        match &self.overlay {
            Some(overlay) => overlay.read(&self.file, place, bytes),
            None if self.is_behind() => self.backlog().read(&self.file, place, bytes),
            None => os::read_at(&self.file, place, bytes),
        }
    }

    /// Reads a page's bytes.
    pub fn read_page(&self, place: u64, bytes: &mut [u8]) -> io::Result<()> {
        if let Some(waiting) = self.gathered().page(place, bytes.len()) {
            bytes.copy_from_slice(waiting);
            return Ok(());
        }
        self.read_at(place, bytes)
    }

    /// Writes now, behind everything gathered.
    pub fn write_at(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_gathered()?;
        self.write_through(place, bytes)
    }

    fn write_through(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push((place, bytes.to_vec()));
        self.unsynced.store(true, Ordering::Relaxed);
        match &self.overlay {
            Some(overlay) => overlay.write(&self.file, place, bytes),
            None => {
                let mut backlog = self.backlog();
                let written = backlog.write(&self.file, place, bytes);
                self.note_behind(&backlog);
                written?;
            }
        }
        match self.layout.second(place) {
            Some(second) => self.write_through(second, bytes),
            None => Ok(()),
        }
    }

    /// Writes a page's bytes later: before its record, and before all other writes then.
    pub fn gather_page(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        let mut gathered = self.gathered();
        if gathered.add_page(place, bytes) {
            return Ok(());
        }
        self.write_all(&mut gathered)?;
        let is_room = gathered.add_page(place, bytes);
        assert!(is_room, "one page always fits");
        Ok(())
    }

    /// Writes a page's record later: behind the page's bytes and earlier records.
    pub fn gather_record(&self, place: u64, record: &[u8]) {
        self.gathered().add_record(place, record);
    }

    /// Writes everything gathered.
    pub fn write_gathered(&self) -> io::Result<()> {
        self.write_all(&mut self.gathered())
    }

    fn write_all(&self, gathered: &mut Gathered) -> io::Result<()> {
        if gathered.is_empty() {
            return Ok(());
        }
        if self.failure.get().is_some() {
            // Data gathered before the failure must not come behind data lost by it.
            return Err(io::ErrorKind::Other.into());
        }
        gathered.write(|place, bytes| self.write_through(place, bytes)).inspect_err(|error| {
            let again = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            self.failure.keep(self.error("write", again));
        })
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all earlier writes are on the operating system's disk.
    pub fn sync(&self) -> io::Result<()> {
        self.note_written()?;
        self.catch_up()?;
        // Held through the call: a second flush must not be answered before the first one's bytes are on the disk.
        let mut is_doubtful = self.syncing();
        if !self.unsynced.swap(false, Ordering::Relaxed) || self.overlay.is_some() {
            return Ok(());
        }
        let again = || {
            let _no_writes = self.backlog();
            os::write_again(&self.file)
        };
        let synced = sync_file(&self.file, &mut is_doubtful, again);
        if synced.is_err() {
            self.unsynced.store(true, Ordering::Relaxed);
        }
        synced
    }
}

/// Marks.
impl Shared {
    /// Reads the marks.
    pub fn read_marks(&self) -> io::Result<Noted> {
        let noted = Noted {
            settled: self.read_mark(Tag::Settled, self.layout.settled)?,
            written: self.read_mark(Tag::Written, self.layout.written)?,
            end: self.read_end_mark()?,
        };
        self.marks.found(noted);
        Ok(noted)
    }

    /// A mark's newer copy, if one is whole.
    fn read_mark(&self, tag: Tag, place: u64) -> io::Result<Option<Mark>> {
        let mut copies = [[0; MARK_BYTES]; 2];
        self.read_at(place, &mut copies[0])?;
        self.read_at(self.layout.second(place).expect("a mark has a second copy"), &mut copies[1])?;
        Ok(copies.iter().filter_map(|record| Mark::from_bytes(tag, record)).max())
    }

    fn read_end_mark(&self) -> io::Result<Option<Mark>> {
        let mut record = [0; MARK_BYTES];
        let read = self.read_at(self.layout.end_mark, &mut record);
        // An image that is only read may have been cut short.
        if self.overlay.is_none() {
            read?;
        }
        Ok(Mark::from_bytes(Tag::End, &record))
    }

    /// Writes everything gathered, and marks it: from here on, records may be removed.
    pub fn note_written(&self) -> io::Result<()> {
        self.marks.note_written(|mark| match mark {
            Some(mark) => self.write_at(self.layout.written, &mark),
            None => self.write_gathered(),
        })
    }

    /// Writes a flush's mark. With `every_total`, a mark without a later program is written, too.
    pub fn settle(&self, mark: Mark, every_total: bool) -> io::Result<()> {
        self.marks.settle(mark, every_total, |mark| self.write_at(self.layout.settled, &mark))
    }

    /// Marks a disk with everything up to `mark` flushed as closed, first at the end of the file.
    pub fn note_closed(&self, mark: Mark) -> io::Result<()> {
        self.write_at(self.layout.end_mark, &mark.to_bytes(Tag::End))?;
        // The end of the machine may lose the first of two writes alone, and then the file would look put back in part.
        self.sync()?;
        self.marks.note_closed(mark, |mark| self.write_at(self.layout.written, &mark))
    }

    /// Stores by NVRAM word.
    pub fn stores(&self) -> MutexGuard<'_, Vec<u32>> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes that the host refused.
impl Shared {
    /// Whether the file is behind the device.
    pub fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Acquire)
    }

    /// Writes what the host refused before.
    pub fn catch_up(&self) -> io::Result<()> {
        if !self.is_behind() {
            return Ok(());
        }
        let mut is_doubtful = self.syncing();
        let mut backlog = self.backlog();
        let sync = || sync_file(&self.file, &mut is_doubtful, || os::write_again(&self.file));
        let done = backlog.catch_up(&self.file, sync);
        self.note_behind(&backlog);
        done
    }

    /// Lets nothing reach the file before all earlier writes are on the operating system's disk.
    pub fn sync_first(&self) {
        if self.sync().is_err() {
            let mut backlog = self.backlog();
            backlog.sync_first();
            self.note_behind(&backlog);
        }
    }

    fn note_behind(&self, backlog: &Backlog) {
        self.is_behind.store(!backlog.is_empty(), Ordering::Release);
    }

    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn syncing(&self) -> MutexGuard<'_, bool> {
        self.syncing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Synchronises a file. A failure leaves bytes behind which the kernel counts as written: `again` writes them once more,
/// or the next call does it first.
fn sync_file(file: &HostFile, is_doubtful: &mut bool, again: impl Fn() -> io::Result<()>) -> io::Result<()> {
    if *is_doubtful {
        again()?;
        *is_doubtful = false;
    }
    os::sync(file).inspect_err(|_| *is_doubtful = again().is_err())
}
