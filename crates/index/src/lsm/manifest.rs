//! The manifest: the version on the device, switched as a whole.
//!
//! Each of two root areas holds a stream of frames: a checkpoint, which is a whole version, and edits to it. A commit
//! writes one edit and waits until the device has it. When an area is full, or the tree is opened, the next checkpoint
//! goes to the other area with a higher number; once the device has it, the old area is emptied. So a cut leaves the
//! version before the commit or the one after it, and an old version never comes back in place of a damaged one.

use super::codec::Parser;
use super::frames::{replay, stream_of, FrameWriter};
use super::storage::Storage;
use super::version::{Edit, Version};
use crate::IndexError;

/// The first stream number; above every table's file number that could be taken for one.
const FIRST_EPOCH: u64 = 1 << 48;
/// Bytes kept for the log of a tree that is opened: 16 places on zones, 32 on a block device. A log in more pieces may not find
/// room in a full manifest.
const LOG_BYTES: usize = 256;
/// No file, for errors.
const ROOT: u64 = 0;

/// The open manifest.
#[derive(Debug)]
pub(super) struct Manifest {
    area: usize,
    epoch: u64,
    writer: FrameWriter,
    /// Bytes written into the area.
    offset: u64,
    /// Bytes written since the tree was opened.
    pub(super) written: u64,
}

impl Manifest {
    /// A manifest without a version; what the device holds is given up.
    pub(super) fn clear(store: &mut dyn Storage) -> Result<Self, IndexError> {
        // What stood there before may come back after a cut, and must not count then.
        let (mut epoch, mut written) = (FIRST_EPOCH, 0);
        for area in 0..2 {
            epoch = epoch.max(first_stream(store, area)?.map_or(0, |before| before + 1));
            written += store.reset_root(area)?;
        }
        if epoch > FIRST_EPOCH {
            store.sync()?;
            store.give_up_rest(true)?;
        }
        let writer = FrameWriter::new(0, store.unit_bytes());
        Ok(Self { area: 1, epoch: epoch - 1, writer, offset: 0, written })
    }

    /// Begins with `version` in area 0.
    pub(super) fn create(mut self, store: &mut dyn Storage, version: &Version) -> Result<Self, IndexError> {
        self.checkpoint(store, version)?;
        Ok(self)
    }

    /// The version on the device, and the manifest to go on with. It takes no edit before a checkpoint.
    ///
    /// # Errors
    /// [`IndexError::NoIndex`], [`IndexError::DamagedFile`], [`IndexError::Device`].
    pub(super) fn open(store: &mut dyn Storage) -> Result<(Self, Version), IndexError> {
        let areas = [first_stream(store, 0)?, first_stream(store, 1)?];
        let newer = usize::from(areas[1] > areas[0]);
        // A checkpoint that a cut tore never counted; the area before it does then.
        for area in [newer, 1 - newer] {
            let Some(epoch) = areas[area] else { continue };
            if let Some(version) = read_area(store, area, epoch)? {
                let writer = FrameWriter::new(epoch, store.unit_bytes());
                return Ok((Self { area, epoch, writer, offset: 0, written: 0 }, version));
            }
        }
        Err(IndexError::NoIndex { page_bytes: store.unit_bytes() as u32 })
    }

    /// Writes `version` into the other area and switches to it.
    pub(super) fn checkpoint(&mut self, store: &mut dyn Storage, version: &Version) -> Result<(), IndexError> {
        let (old, next) = (self.area, 1 - self.area);
        let mut writer = FrameWriter::new(self.epoch + 1, store.unit_bytes());
        push_record(&mut writer, &version.encode());
        let frames = writer.take(true);
        let bytes = frames.len() as u64;
        if bytes > store.root_bytes() {
            return Err(no_room(store, bytes));
        }
        store.append_root(next, 0, &frames)?;
        store.sync()?;
        writer.note_synced();
        self.written += store.reset_root(old)?;
        (self.area, self.epoch, self.writer, self.offset) = (next, self.epoch + 1, writer, bytes);
        self.written += bytes;
        Ok(())
    }

    /// Makes `version`, which is the former one after `edit`, the one on the device.
    pub(super) fn commit(&mut self, store: &mut dyn Storage, edit: &Edit, version: &Version) -> Result<(), IndexError> {
        let payload = FrameWriter::payload_bytes(1, store.unit_bytes());
        let units_of = |bytes: usize| (bytes as u64 + 4).div_ceil(payload);
        // A tree is opened with a checkpoint, so an edit may fit where the whole version would not.
        let bytes = units_of(version.encode().len() + LOG_BYTES) * store.unit_bytes() as u64;
        if bytes > store.root_bytes() {
            return Err(no_room(store, bytes));
        }
        // What the edit names is there before the edit.
        store.sync()?;
        let record = edit.encode();
        let units = units_of(record.len());
        if self.offset + units * store.unit_bytes() as u64 > store.root_bytes() {
            return self.checkpoint(store, version);
        }
        push_record(&mut self.writer, &record);
        let frames = self.writer.take(true);
        store.append_root(self.area, self.offset, &frames)?;
        store.sync()?;
        self.writer.note_synced();
        self.offset += frames.len() as u64;
        self.written += frames.len() as u64;
        Ok(())
    }
}

fn no_room(store: &dyn Storage, needed: u64) -> IndexError {
    let (bytes, free) = store.capacity();
    IndexError::NoSpace { needed, free: free.min(store.root_bytes()), bytes }
}

fn push_record(writer: &mut FrameWriter, record: &[u8]) {
    writer.push(&(record.len() as u32).to_le_bytes());
    writer.push(record);
}

/// The number of the stream that begins in an area.
fn first_stream(store: &mut dyn Storage, area: usize) -> Result<Option<u64>, IndexError> {
    let mut unit = vec![0; store.unit_bytes()];
    store.read_root(area, 0, &mut unit)?;
    Ok(stream_of(&unit))
}

/// The version in an area; `None` if its checkpoint is not whole.
fn read_area(store: &mut dyn Storage, area: usize, epoch: u64) -> Result<Option<Version>, IndexError> {
    let mut units = vec![0; store.root_bytes() as usize];
    store.read_root(area, 0, &mut units)?;
    let damaged = |why: String| IndexError::DamagedFile { file: ROOT, why };
    let replayed = replay(epoch, store.unit_bytes(), &mut units, None)
        .map_err(|frame| damaged(format!("frame {frame} of the manifest in area {area} cannot be read")))?;
    let bytes = replayed.bytes();
    let mut parser = Parser(&bytes);
    let mut record = || parser.u32().and_then(|length| parser.bytes(length as usize));
    let Some(checkpoint) = record() else { return Ok(None) };
    let strange = || damaged(format!("the manifest in area {area} is whole and makes no sense"));
    let mut version = Version::decode(checkpoint).ok_or_else(strange)?;
    while let Some(edit) = record() {
        version.apply(&Edit::decode(edit).ok_or_else(strange)?);
    }
    Ok(Some(version))
}
