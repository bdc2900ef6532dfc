//! An image's file, shared by its device, its NVRAM and the server.

use super::backlog::Backlog;
use super::error::{BackedError, Failure};
use super::faults::Faults;
use super::gathered::Gathered;
use super::layout::{is_sealed, seal, u32_at, u64_at, Header, Layout, Tag, SETTLED_BYTES, STATE_BYTES};
use super::os::{self, HostFile};
use super::overlay::Overlay;
use super::work::{Counter, Work};
use crate::address::Geometry;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// State bytes before its text: number, length.
const STATE_HEAD: usize = 12;

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
    states: AtomicU64,
    /// Flash work since the image was made.
    pub work: Counter,
    /// The last program's number.
    programs: AtomicU64,
    /// The last program that the record of settled programs covers.
    settled: AtomicU64,
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
            header,
            failure: Failure::default(),
            unsynced: AtomicBool::new(false),
            backlog: Mutex::default(),
            is_behind: AtomicBool::new(false),
            syncing: Mutex::default(),
            gathered: Mutex::default(),
            states: AtomicU64::new(0),
            work: Counter::default(),
            programs: AtomicU64::new(0),
            settled: AtomicU64::new(0),
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
        self.write_gathered()?;
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

/// Programs that a page's end of power cannot have torn.
///
/// A page is torn only if the machine ends between its program and the next flush. The file has the number of the last
/// program before the last flush. A page with such a number and wrong bytes is damaged.
impl Shared {
    /// Reads the record of settled programs; `programs` were counted by other means.
    pub fn read_settled(&self, programs: u64) -> io::Result<u64> {
        let mut settled = 0;
        for place in [Some(self.layout.settled), self.layout.second(self.layout.settled)].into_iter().flatten() {
            let mut record = [0; SETTLED_BYTES];
            self.read_at(place, &mut record)?;
            if is_sealed(Tag::Settled, &record) {
                settled = settled.max(u64_at(&record, 0));
            }
        }
        self.settled.store(settled, Ordering::Relaxed);
        self.programs.store(settled.max(programs), Ordering::Relaxed);
        Ok(settled)
    }

    /// The number of the program that begins now.
    pub fn next_program(&self) -> u64 {
        self.programs.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The last program's number.
    pub fn programs(&self) -> u64 {
        self.programs.load(Ordering::Relaxed)
    }

    /// Notes that all programs up to `programs` are in the file.
    pub fn settle(&self, programs: u64) -> io::Result<()> {
        if self.settled.swap(programs, Ordering::Relaxed) == programs {
            return Ok(());
        }
        let mut record = [0; SETTLED_BYTES];
        record[..8].copy_from_slice(&programs.to_le_bytes());
        seal(Tag::Settled, &mut record);
        self.write_at(self.layout.settled, &record)
    }
}

/// An image's file beside its device: text, states and NVRAM.
///
/// It stays valid while the device is in a box or in use by another thread.
#[derive(Clone, Debug)]
pub struct ImageFile(pub(super) Arc<Shared>);

impl ImageFile {
    /// Whether another process has it open.
    ///
    /// # Errors
    /// [`BackedError::Io`].
    pub fn is_in_use(&self) -> Result<bool, BackedError> {
        // The lock taken here goes with the file.
        os::lock(&self.0.file).map(|is_free| !is_free).map_err(|source| self.0.error("lock", source))
    }

    /// The device's shape.
    pub fn geometry(&self) -> &Geometry {
        &self.0.header.geometry
    }

    /// File size in bytes, and its allocated bytes.
    ///
    /// # Errors
    /// [`BackedError::Io`].
    pub fn room(&self) -> Result<(u64, u64), BackedError> {
        let allocated = os::allocated(&self.0.file).map_err(|source| self.0.error("look at", source))?;
        Ok((self.0.layout.end, allocated))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The creator's text about the device's user.
    pub fn text(&self) -> &str {
        &self.0.header.text
    }

    /// NVRAM bytes.
    pub fn nvram_bytes(&self) -> u64 {
        self.0.header.nvram_bytes
    }

    /// Flash work since the image was made, as far as its device is open here.
    pub fn work(&self) -> Work {
        self.0.work.get()
    }

    /// Asks `faults` about every call for the file from now on. For tests.
    pub fn set_faults(&self, faults: Arc<dyn Faults>) {
        self.0.file.set_faults(faults);
    }

    /// Whether the host refused writes that still wait in memory.
    pub fn is_behind(&self) -> bool {
        self.0.is_behind()
    }

    /// Why it can no longer be read or written, if so.
    pub fn failure(&self) -> Failure {
        self.0.failure.clone()
    }

    /// Hands all written data to the operating system: from then on it survives the process's end.
    ///
    /// # Errors
    /// [`BackedError::Io`] if the host refuses some. It waits in memory, and each later call tries it again.
    pub fn write_gathered(&self) -> Result<(), BackedError> {
        let programs = self.0.programs();
        let written = self.0.write_gathered().and_then(|()| self.0.settle(programs));
        let written = written.and_then(|()| self.0.catch_up());
        written.map_err(|source| self.0.error("write", source))
    }

    /// Waits until all writes so far are on the operating system's disk.
    ///
    /// # Errors
    /// [`BackedError::Io`]: any write since the last success may be lost when the machine ends. All of them are written
    /// again before a later call succeeds.
    pub fn sync(&self) -> Result<(), BackedError> {
        let programs = self.0.programs();
        self.0.sync().and_then(|()| self.0.settle(programs)).map_err(|source| self.0.error("synchronise", source))
    }

    /// Saves `text` over the older state, so one state is whole whenever the process or the machine ends.
    ///
    /// # Errors
    /// [`BackedError::Io`]; [`BackedError::Damaged`] if the text is too long.
    pub fn save_state(&self, text: &str) -> Result<(), BackedError> {
        let bytes = STATE_HEAD + text.len() + 4;
        if bytes as u64 > STATE_BYTES {
            let what = format!("a state of {} bytes does not fit into {STATE_BYTES}", text.len());
            return Err(super::layout::damaged(&self.0.path, what));
        }
        let number = self.0.states.load(Ordering::Relaxed) + 1;
        let mut state = vec![0; bytes];
        state[..8].copy_from_slice(&number.to_le_bytes());
        state[8..12].copy_from_slice(&(text.len() as u32).to_le_bytes());
        state[STATE_HEAD..STATE_HEAD + text.len()].copy_from_slice(text.as_bytes());
        seal(Tag::State, &mut state);
        let place = self.0.layout.states + number % 2 * STATE_BYTES;
        self.0.write_at(place, &state).map_err(|source| self.0.error("write", source))?;
        self.0.states.store(number, Ordering::Relaxed);
        Ok(())
    }

    /// The last saved state; `None` if no state is whole.
    pub fn state(&self) -> Option<String> {
        let states = (0..2).filter_map(|slot| self.state_in(slot));
        let (number, text) = states.max_by_key(|(number, _)| *number)?;
        self.0.states.store(number, Ordering::Relaxed);
        Some(text)
    }

    /// Whether a state was saved and none is whole: two saves in turn cannot end so.
    pub fn has_lost_state(&self) -> bool {
        let is_written = |slot: u64| {
            let mut head = [0; STATE_HEAD];
            self.0.read_at(self.0.layout.states + slot * STATE_BYTES, &mut head).is_ok() && head != [0; STATE_HEAD]
        };
        (0..2).any(is_written) && (0..2).all(|slot| self.state_in(slot).is_none())
    }

    fn state_in(&self, slot: u64) -> Option<(u64, String)> {
        let place = self.0.layout.states + slot * STATE_BYTES;
        let mut head = [0; STATE_HEAD];
        self.0.read_at(place, &mut head).ok()?;
        let bytes = STATE_HEAD as u64 + u64::from(u32_at(&head, 8)) + 4;
        if bytes > STATE_BYTES || u64_at(&head, 0) == 0 {
            return None;
        }
        let mut state = vec![0; bytes as usize];
        self.0.read_at(place, &mut state).ok()?;
        let is_whole = is_sealed(Tag::State, &state);
        let text = String::from_utf8(state[STATE_HEAD..state.len() - 4].to_vec()).ok()?;
        is_whole.then_some((u64_at(&head, 0), text))
    }
}
