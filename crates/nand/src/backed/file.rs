//! What an image's file holds beside its device.

use super::error::{BackedError, Failure};
use super::faults::Faults;
use super::layout::{is_sealed, seal, u32_at, u64_at, Tag, STATE_BYTES};
use super::os;
use super::shared::Shared;
use super::work::{Age, Work};
use crate::address::Geometry;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// State bytes before its text: number, length.
const STATE_HEAD: usize = 12;

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

    /// How much was done to the image until now.
    pub fn age(&self) -> Age {
        let now = self.0.marks.now();
        Age { programs: now.program, stores: now.totals.map_or(0, |totals| totals.stores) }
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
        let written = self.0.write_gathered().and_then(|()| self.0.catch_up());
        written.map_err(|source| self.0.error("write", source))
    }

    /// Waits until all writes so far are on the operating system's disk.
    ///
    /// # Errors
    /// [`BackedError::Io`]: any write since the last success may be lost when the machine ends. All of them are written
    /// again before a later call succeeds.
    pub fn sync(&self) -> Result<(), BackedError> {
        let mark = self.0.marks.now();
        self.0.sync().and_then(|()| self.0.settle(mark, false)).map_err(|source| self.0.error("synchronise", source))
    }

    /// As [`Self::sync`], for the last time: the file also tells that its disk was closed.
    ///
    /// # Errors
    /// As [`Self::sync`].
    pub fn close(&self) -> Result<(), BackedError> {
        let mark = self.0.marks.now();
        let closed = self.0.sync().and_then(|()| self.0.settle(mark, true)).and_then(|()| self.0.note_closed(mark));
        closed.map_err(|source| self.0.error("synchronise", source))
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
