//! The write-ahead log: the memtable on the device.
//!
//! A log is a file of frames ([`super::frames`]). Records are gathered and written when some frames are full, or at a
//! flush, which pads the last frame and waits until the device has it. When a log is full the next one begins; all of
//! them are deleted once a table holds their records.

use super::frames::{replay, FrameWriter};
use super::memtable::Memtable;
use super::storage::{FileId, Lifetime, Storage};
use super::table::{entry, put_entry};
use crate::IndexError;
use nandlab_nand::Origin;

/// Frames written at once when no flush asks for them.
const GATHERED_FRAMES: usize = 16;

/// The newest log. It takes the records.
#[derive(Debug)]
pub(super) struct Wal {
    file: FileId,
    writer: FrameWriter,
    unit_bytes: usize,
    room: u64,
}

impl Wal {
    /// Bytes of a log with room for `bytes` of records.
    pub(super) fn bytes(bytes: u64, unit_bytes: usize) -> u64 {
        (bytes.div_ceil(FrameWriter::payload_bytes(1, unit_bytes)) + 1) * unit_bytes as u64
    }

    /// A new log with room for `bytes` of records.
    pub(super) fn create(store: &mut dyn Storage, file: FileId, bytes: u64) -> Result<Self, IndexError> {
        let unit_bytes = store.unit_bytes();
        store.create(file, Self::bytes(bytes, unit_bytes), Lifetime::Log)?;
        Ok(Self { file, writer: FrameWriter::new(file.0, unit_bytes), unit_bytes, room: store.room(file) })
    }

    pub(super) fn file(&self) -> FileId {
        self.file
    }

    /// Frames written.
    pub(super) fn frames(&self) -> u32 {
        self.writer.frames()
    }

    /// Whether a record of `bytes` and a flush after it still fit.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        let payload = FrameWriter::payload_bytes(1, self.unit_bytes);
        let frames = u64::from(self.writer.frames()) + (self.writer.pending() as u64 + bytes).div_ceil(payload);
        frames * self.unit_bytes as u64 <= self.room
    }

    /// Adds a record; returns the bytes written.
    pub(super) fn add(&mut self, store: &mut dyn Storage, key: &[u8], value: Option<&[u8]>) -> Result<u64, IndexError> {
        let mut record = Vec::with_capacity(key.len() + 2 + value.map_or(0, <[u8]>::len));
        put_entry(&mut record, key, value);
        self.writer.push(&record);
        if self.writer.pending() >= GATHERED_FRAMES * self.unit_bytes {
            return self.write(store, false);
        }
        Ok(0)
    }

    /// Makes every record survive a power cut; returns the bytes written.
    pub(super) fn sync(&mut self, store: &mut dyn Storage) -> Result<u64, IndexError> {
        if self.writer.is_synced() {
            return Ok(0);
        }
        let written = self.write(store, true)?;
        store.sync()?;
        self.writer.note_synced();
        Ok(written)
    }

    fn write(&mut self, store: &mut dyn Storage, all: bool) -> Result<u64, IndexError> {
        let frames = self.writer.take(all);
        store.append(self.file, &frames, Origin::JOURNAL)?;
        Ok(frames.len() as u64)
    }
}

/// Reads a log into `table`; returns its frames.
///
/// # Errors
/// [`IndexError::DamagedFile`] if an acknowledged record cannot be read.
pub(super) fn recover(
    store: &mut dyn Storage,
    file: FileId,
    sealed: Option<u32>,
    key_bytes: usize,
    table: &mut Memtable,
) -> Result<u32, IndexError> {
    let mut units = vec![0; store.room(file) as usize];
    store.read(file, 0, &mut units, Origin::JOURNAL)?;
    let damaged = |why: String| IndexError::DamagedFile { file: file.0, why };
    let replayed = replay(file.0, store.unit_bytes(), &mut units, sealed)
        .map_err(|frame| damaged(format!("frame {frame} of the log was flushed and cannot be read")))?;
    let bytes = replayed.bytes();
    let mut rest = &bytes[..];
    // A record that is cut off was never flushed.
    while let Some((key, value, length)) = entry(rest, key_bytes) {
        table.set(key, value);
        rest = &rest[length..];
    }
    Ok(replayed.frames.len() as u32)
}
