//! Makes an image, and opens one: from the copies of its records that count.

use super::cut::{Cut, Unsure};
use super::error::BackedError;
use super::file::ImageFile;
use super::image::{Image, OfBlock};
use super::layout::{damaged, Header, Layout, BLOCK_BYTES, FIXED_BYTES, MAGIC, TRAILER_BYTES, WORD_RECORD_BYTES};
use super::os::{self, HostFile};
use super::overlay::Overlay;
use super::pairs::Picked;
use super::recorded::{block_records, found_in, page_records};
use super::records::{BlockRecord, Stored};
use super::shared::Shared;
use crate::address::BlockId;
use crate::counting::Counting;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A header: which one, where, and its bytes.
type HeaderAt = (&'static str, u64, Vec<u8>);

impl ImageFile {
    /// An image to look at; another process may use it.
    ///
    /// # Errors
    /// As [`super::Backed::open`], but for the lock.
    pub fn look(path: &Path) -> Result<Self, BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let file = OpenOptions::new().read(true).open(path).map_err(error)?.into();
        Image::read_header(path, file).map(|shared| Self(Arc::new(shared)))
    }

    /// The damaged one of the two headers, `first` or `second`, if there is one. Opening the image to write repairs it.
    ///
    /// # Errors
    /// [`BackedError::Io`].
    pub fn damaged_header(&self) -> Result<Option<&'static str>, BackedError> {
        Ok(self.0.spoilt_headers()?.first().map(|&(which, ..)| which))
    }
}

impl Shared {
    /// Headers that are not as the one in use, as they must be.
    fn spoilt_headers(&self) -> Result<Vec<HeaderAt>, BackedError> {
        let copies =
            [("first", 0, self.header.to_bytes()), ("second", self.layout.header, self.header.at_end(&self.layout))];
        let mut spoilt = Vec::new();
        for (which, place, bytes) in copies {
            let mut found = vec![0; bytes.len()];
            let read = self.read_at(place, &mut found);
            // An image that is only read may have been cut short.
            if self.overlay.is_none() {
                read.map_err(|error| self.error("read", error))?;
            }
            if found != bytes {
                spoilt.push((which, place, bytes));
            }
        }
        Ok(spoilt)
    }
}

impl Image {
    pub(super) fn create(path: &Path, header: Header) -> Result<Self, BackedError> {
        let error = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => BackedError::Exists(path.to_owned()),
            _ => BackedError::Io { path: path.to_owned(), action: "create", source },
        };
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).map_err(error)?.into();
        let shared = Shared::new(file, path, header);
        let written = os::lock(&shared.file)
            .and_then(|_| shared.file.set_length(shared.layout.end))
            .and_then(|()| shared.write_at(shared.layout.header, &shared.header.at_end(&shared.layout)))
            .and_then(|()| shared.note_written())
            .and_then(|()| shared.write_at(0, &shared.header.to_bytes()))
            .and_then(|()| shared.catch_up());
        if let Err(source) = written {
            drop(shared);
            // Report the first error; a failure to remove the file does not matter.
            let _ = std::fs::remove_file(path);
            return Err(error(source));
        }
        Ok(Self::new(shared))
    }

    pub(super) fn open(path: &Path) -> Result<(Self, Counting), BackedError> {
        Self::with(Self::open_file(path)?, true)
    }

    /// As [`Self::open`], with all writes kept in memory. Damage in the NVRAM is an error only if `needs_nvram`.
    pub(super) fn open_read_only(path: &Path, needs_nvram: bool) -> Result<(Self, Counting), BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let file = OpenOptions::new().read(true).open(path).map_err(error)?.into();
        if !os::lock_shared(&file).map_err(error)? {
            return Err(BackedError::InUse(path.to_owned()));
        }
        let (mut shared, found) = Self::read_headers(path, file)?;
        shared.overlay = Some(Overlay::default());
        let mut image = Self::with(shared, needs_nvram)?;
        if found != image.0.shared.layout.end {
            let error = BackedError::Length { path: path.to_owned(), found, expected: image.0.shared.layout.end };
            image.0.notices.push(error.to_string());
        }
        Ok(image)
    }

    fn with(shared: Shared, needs_nvram: bool) -> Result<(Self, Counting), BackedError> {
        let mut image = Self::new(shared);
        let header = &image.shared.header;
        let mut device = Counting::new(header.geometry, header.rules);
        device.has_no_tails = true;
        image.repair_headers()?;
        match image.restore_nvram() {
            Err(error @ BackedError::Damaged { .. }) if !needs_nvram => image.notices.push(error.to_string()),
            restored => restored?,
        }
        image.restore(&mut device)?;
        Ok((image, device))
    }

    fn open_file(path: &Path) -> Result<Shared, BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(error)?.into();
        if !os::lock(&file).map_err(error)? {
            return Err(BackedError::InUse(path.to_owned()));
        }
        Self::read_header(path, file)
    }

    fn read_header(path: &Path, file: HostFile) -> Result<Shared, BackedError> {
        let (shared, found) = Self::read_headers(path, file)?;
        if found != shared.layout.end {
            return Err(BackedError::Length { path: path.to_owned(), found, expected: shared.layout.end });
        }
        Ok(shared)
    }

    /// Reads the first header, or else the one at the end of the file; also returns the file's length.
    fn read_headers(path: &Path, file: HostFile) -> Result<(Shared, u64), BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let found = file.length().map_err(error)?;
        let header = match Self::header_at(path, &file, (0, found)) {
            Ok(header) => header,
            Err(error) => Self::second_header(path, &file, found).ok_or(error)?,
        };
        Ok((Shared::new(file, path, header), found))
    }

    fn second_header(path: &Path, file: &HostFile, found: u64) -> Option<Header> {
        let mut trailer = [0; TRAILER_BYTES];
        os::read_at(file, found.checked_sub(TRAILER_BYTES as u64)?, &mut trailer).ok()?;
        let place = u64::from_le_bytes(trailer[..8].try_into().expect("eight bytes"));
        if trailer[8..] != MAGIC || place >= found {
            return None;
        }
        let header = Self::header_at(path, file, (place, found)).ok()?;
        (Layout::new(&header).header == place).then_some(header)
    }

    fn header_at(path: &Path, file: &HostFile, (place, end): (u64, u64)) -> Result<Header, BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let room = end - place;
        let mut fixed = [0; FIXED_BYTES];
        // A file shorter than a header is truncated or something else; the magic tells.
        let have = (FIXED_BYTES as u64).min(room) as usize;
        os::read_at(file, place, &mut fixed[..have]).map_err(error)?;
        let too_short = |expected| Err(BackedError::Length { path: path.to_owned(), found: end, expected });
        if have < FIXED_BYTES && fixed[..8] == MAGIC {
            return too_short(FIXED_BYTES as u64);
        }
        let length = Header::length(path, &fixed)?;
        if room < length as u64 {
            return too_short(length as u64);
        }
        let mut bytes = vec![0; length];
        os::read_at(file, place, &mut bytes).map_err(error)?;
        Header::from_bytes(path, &bytes)
    }

    /// Writes a header again that is not as the other one.
    fn repair_headers(&mut self) -> Result<(), BackedError> {
        let shared = Arc::clone(&self.shared);
        for (which, place, bytes) in shared.spoilt_headers()? {
            self.notices.push(format!("the {which} of two headers is damaged, and the other one counts"));
            shared.write_at(place, &bytes).map_err(|error| shared.error("write", error))?;
        }
        Ok(())
    }

    /// Brings an erased `device` into the state in the records.
    fn restore(&mut self, device: &mut Counting) -> Result<(), BackedError> {
        let shared = Arc::clone(&self.shared);
        let marks = shared.read_marks().map_err(|error| shared.error("read", error))?;
        let mut cut = Cut::new(marks.written);
        let records = self.picked(block_records(&shared))?;
        for &block in &records.spoilt {
            self.notices.push(format!(
                "block {block} is damaged: one of two copies of its record is, and the other one counts"
            ));
        }
        for (block, bytes) in (0..).map(BlockId).zip(records.bytes.chunks_exact(BLOCK_BYTES)) {
            let record = match BlockRecord::from_bytes(bytes, block) {
                Ok(None) => continue,
                Ok(Some(record)) => record,
                Err(_) => {
                    let what = "its record has a wrong checksum, what it held is lost, and it is taken for bad";
                    self.notices.push(format!("block {block} is damaged: {what}"));
                    device.states.retire(block);
                    continue;
                }
            };
            self.blocks[block.index()] = OfBlock { has_record: true, earlier: record.programs, ..OfBlock::default() };
            device.pe_cycles[block.index()] = record.pe_cycles;
            self.shared.work.add(record.programs, record.pe_cycles.into());
            if record.is_bad {
                device.states.retire(block);
                continue;
            }
            let slots = self.picked(page_records(&shared, block))?;
            if !slots.spoilt.is_empty() {
                let (count, s) = (slots.spoilt.len(), if slots.spoilt.len() == 1 { "" } else { "s" });
                self.notices.push(format!(
                    "block {block} is damaged: one of two copies of the record{s} of {count} page{s} is, and the other one \
                     counts"
                ));
            }
            let found = found_in(&shared, block, &record, &slots.bytes);
            if cut.is_sure(&found, || Unsure { block, record, slots: slots.bytes }) {
                self.take(device, block, &record, &found);
            }
        }
        let last = self.cut_off(device, cut)?;
        let programs = last.max(marks.settled).max(shared.work.get().programs);
        shared.marks.set_programs(programs);
        self.opened = (marks.settled, programs);
        if marks.written.is_none() || programs > last {
            // The next numbers follow it without a gap.
            shared.note_written().map_err(|error| shared.error("write", error))?;
        }
        Ok(())
    }

    /// Takes the blocks that waited over, without the pages that the end of a process cut off; returns the last program
    /// that is there with all before it.
    fn cut_off(&mut self, device: &mut Counting, cut: Cut) -> Result<u64, BackedError> {
        let shared = Arc::clone(&self.shared);
        let (last, blocks, pages) = cut.end(&shared.header.geometry, &shared.layout);
        // A later program gets such a page's number: nothing may remain of it.
        let blank = vec![0; shared.layout.slot];
        for at in pages {
            shared.write_at(shared.layout.page(at), &blank).map_err(|error| shared.error("write", error))?;
        }
        for Unsure { block, record, slots } in blocks {
            let found = found_in(&shared, block, &record, &slots);
            self.take(device, block, &record, &found);
        }
        Ok(last)
    }

    /// Records from two copies, both as they should be from now on.
    fn picked(&self, picked: io::Result<Picked>) -> Result<Picked, BackedError> {
        let picked = picked.map_err(|error| self.shared.error("read", error))?;
        picked.repair(&self.shared).map_err(|error| self.shared.error("write", error))?;
        Ok(picked)
    }

    fn restore_nvram(&mut self) -> Result<(), BackedError> {
        let shared = Arc::clone(&self.shared);
        let length = (shared.header.nvram_bytes / 8) as usize * WORD_RECORD_BYTES;
        if length == 0 {
            return Ok(());
        }
        let kind = |word: usize, bytes: &[u8]| Stored::of_word(bytes, word as u64);
        let words = self.picked(Picked::read(&shared, (shared.layout.nvram, length), WORD_RECORD_BYTES, kind))?;
        match (words.spoilt.len(), words.lost.first()) {
            (_, Some(word)) => {
                let what = format!("word {word} of its NVRAM is lost in both copies");
                return Err(damaged(&shared.path, what));
            }
            (0, None) => {}
            (count, None) => {
                let s = if count == 1 { "" } else { "s" };
                let what = "in one of two copies, and the other one counts";
                self.notices.push(format!("{count} word{s} of the NVRAM are damaged {what}"));
            }
        }
        Ok(())
    }
}
