//! Whether an image's file is still whole while it is served.
//!
//! Other programs may delete, cut or lengthen it. A cut file gets its length back at once: the lost pages then read as
//! zeros, their checksums are wrong, and each read of one fails alone. A read behind the file's end would stop the
//! device.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An image's file as it was opened.
pub(super) struct Whole {
    file: File,
    path: PathBuf,
    /// Its length.
    bytes: u64,
    /// The first page's place. Header and records are before it.
    pages: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    faults: Vec<String>,
    is_deleted: bool,
    /// The length last told, if larger than it should be.
    grown: Option<u64>,
    has_no_records: bool,
}

impl Whole {
    /// Watches the image `path` with `page_bytes` of pages at its end.
    pub fn new(path: &Path, page_bytes: u64) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let bytes = file.metadata()?.len();
        let pages = bytes.saturating_sub(page_bytes);
        Ok(Self { file, path: path.to_owned(), bytes, pages, state: Mutex::default() })
    }

    /// Looks at the file.
    ///
    /// # Errors
    /// Its records are lost: nothing on the disk can be trusted.
    pub fn look(&self) -> io::Result<()> {
        let mut state = self.state();
        // An open file can always be asked; if not, its reads tell.
        if let Ok(now) = rustix::fs::fstat(&self.file) {
            let image = self.path.display();
            if now.st_nlink == 0 && !state.is_deleted {
                state.is_deleted = true;
                state.faults.push(format!(
                    "the image {image} was deleted while it was served: its disk can be read until `serve` ends, flushes fail"
                ));
            }
            let (bytes, found) = (self.bytes, now.st_size as u64);
            if found < bytes && !state.has_no_records {
                self.restore(&mut state, found);
            } else if found > bytes && state.grown != Some(found) {
                state.grown = Some(found);
                state.faults.push(format!(
                    "the image {image} grew to {found} bytes while it was served: no data is lost, and \
                     `truncate -s {bytes} {image}` makes it usable again"
                ));
            }
        }
        match state.has_no_records {
            false => Ok(()),
            true => Err(io::Error::other(format!("the image {} has lost its records", self.path.display()))),
        }
    }

    /// Gives a file cut to `found` bytes its length back.
    fn restore(&self, state: &mut State, found: u64) {
        let image = self.path.display();
        if found < self.pages {
            state.has_no_records = true;
            state.faults.push(format!(
                "the image {image} was cut to {found} bytes while it was served: its records are lost, all requests fail"
            ));
        } else {
            state.faults.push(format!(
                "the image {image} was cut to {found} bytes while it was served: the pages behind them are lost, and \
                 their reads fail"
            ));
        }
        let restored = if state.has_no_records { Ok(()) } else { self.file.set_len(self.bytes) };
        if let Err(error) = restored {
            state.has_no_records = true;
            state.faults.push(format!("the image {image} cannot get its length back: {error}"));
        }
    }

    /// Faults found so far, in sentences.
    pub fn faults(&self) -> Vec<String> {
        let _ = self.look();
        self.state().faults.clone()
    }

    /// Refuses to promise a deleted file's survival.
    ///
    /// # Errors
    /// The file was deleted.
    pub fn survives(&self) -> io::Result<()> {
        match self.state().is_deleted {
            false => Ok(()),
            true => Err(io::Error::other(format!("the image {} was deleted", self.path.display()))),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
