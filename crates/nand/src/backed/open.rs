//! Makes an image, and opens one: from the copies of its records that count.

use super::cut::{Cut, Unsure};
use super::error::BackedError;
use super::file::ImageFile;
use super::fresh::Counted;
use super::image::{Image, OfBlock};
use super::layout::{
    damaged, u32_at, Header, Layout, BLOCK_BYTES, FIXED_BYTES, MAGIC, MARK_BYTES, TRAILER_BYTES, WORD_RECORD_BYTES,
};
use super::os::{self, HostFile};
use super::overlay::Overlay;
use super::pairs::Picked;
use super::recorded::{block_records, found_in, page_records};
use super::records::{BlockRecord, Stored};
use super::shared::Shared;
use crate::address::BlockId;
use crate::counting::Counting;
use crate::nvm::WORD_BYTES;
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
        let file = os::open(path, false).map_err(error)?;
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
        for (which, place, mut bytes) in copies {
            let mut found = vec![0; bytes.len()];
            let read = self.read_at(place, &mut found);
            // An image that is only read may have been cut short.
            if self.overlay.is_none() {
                read.map_err(|error| self.error("read", error))?;
            }
            if place > 0 {
                // The mark between the second header and the end is no part of either.
                let mark = (self.layout.end_mark - place) as usize;
                bytes[mark..mark + MARK_BYTES].copy_from_slice(&found[mark..mark + MARK_BYTES]);
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
            .and_then(|()| shared.settle(shared.marks.now(), true))
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
        Self::with(Self::open_file(path)?, false)
    }

    /// As [`Self::open`], with all writes kept in memory. If `is_rescue`, damage in the NVRAM is a notice, and so are old
    /// records.
    pub(super) fn open_read_only(path: &Path, is_rescue: bool) -> Result<(Self, Counting), BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let file = os::open(path, false).map_err(error)?;
        if !os::lock_shared(&file).map_err(error)? {
            return Err(BackedError::InUse(path.to_owned()));
        }
        let (mut shared, found) = Self::read_headers(path, file)?;
        shared.overlay = Some(Overlay::default());
        let mut image = Self::with(shared, is_rescue)?;
        if found != image.0.shared.layout.end {
            let error = BackedError::Length { path: path.to_owned(), found, expected: image.0.shared.layout.end };
            image.0.notices.push(error.to_string());
        }
        Ok(image)
    }

    fn with(shared: Shared, is_rescue: bool) -> Result<(Self, Counting), BackedError> {
        let mut image = Self::new(shared);
        let header = &image.shared.header;
        let mut device = Counting::new(header.geometry, header.rules);
        device.has_no_tails = true;
        image.repair_headers()?;
        match image.restore_nvram() {
            Err(error @ BackedError::Damaged { .. }) if is_rescue => image.notices.push(error.to_string()),
            restored => restored?,
        }
        image.restore(&mut device, is_rescue)?;
        Ok((image, device))
    }

    fn open_file(path: &Path) -> Result<Shared, BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let file = os::open(path, true).map_err(error)?;
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
            self.repairs.push((place, bytes));
        }
        Ok(())
    }

    /// Brings an erased `device` into the state in the records. Old records are a notice if `is_rescue`.
    fn restore(&mut self, device: &mut Counting, is_rescue: bool) -> Result<(), BackedError> {
        let shared = Arc::clone(&self.shared);
        let marks = shared.read_marks().map_err(|error| shared.error("read", error))?;
        let mut cut = Cut::new(marks.start());
        let mut lost_blocks = 0;
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
                    lost_blocks += 1;
                    continue;
                }
            };
            let (is_bad, earlier) = (record.is_bad, record.programs);
            self.blocks[block.index()] = OfBlock { has_record: true, is_bad, earlier, ..OfBlock::default() };
            shared.marks.add_removals(u64::from(record.pe_cycles) + u64::from(is_bad));
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
        let last = self.cut_off(device, cut);
        let recorded = shared.work.get().programs;
        let programs = last.max(marks.settled().program).max(recorded);
        let counted = Counted { recorded, last, torn: self.torn.len() as u64, lost_blocks, now: shared.marks.now() };
        match marks.old(&counted) {
            Some(what) if is_rescue => {
                self.notices.push(BackedError::Stale { path: shared.path.clone(), what }.to_string());
            }
            Some(what) => return Err(BackedError::Stale { path: shared.path.clone(), what }),
            None => self.notices.extend(marks.doubts(&counted)),
        }
        shared.marks.set_programs(programs);
        shared.marks.set_missing(programs - recorded);
        self.opened = (marks.settled().program, programs);
        self.repair()?;
        if marks.written.is_none() || programs > last {
            // The next numbers follow it without a gap.
            shared.note_written().map_err(|error| shared.error("write", error))?;
        }
        Ok(())
    }

    /// Writes the opening's repairs.
    fn repair(&mut self) -> Result<(), BackedError> {
        std::mem::take(&mut self.repairs).into_iter().try_for_each(|(place, bytes)| {
            self.shared.write_at(place, &bytes).map_err(|error| self.shared.error("write", error))
        })
    }

    /// Takes the blocks that waited over, without the pages that the end of a process cut off; returns the last program
    /// that is there with all before it.
    fn cut_off(&mut self, device: &mut Counting, cut: Cut) -> u64 {
        let shared = Arc::clone(&self.shared);
        let (last, blocks, pages) = cut.end(&shared.header.geometry, &shared.layout);
        // A later program gets such a page's number: nothing may remain of it.
        self.repairs.extend(pages.into_iter().map(|at| (shared.layout.page(at), vec![0; shared.layout.slot])));
        for Unsure { block, record, slots } in blocks {
            let found = found_in(&shared, block, &record, &slots);
            self.take(device, block, &record, &found);
        }
        last
    }

    /// Records from two copies, both to be as they should.
    fn picked(&mut self, picked: io::Result<Picked>) -> Result<Picked, BackedError> {
        let picked = picked.map_err(|error| self.shared.error("read", error))?;
        self.repairs.extend(picked.repairs());
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
        let mut counts = shared.stores();
        for (count, record) in counts.iter_mut().zip(words.bytes.chunks_exact(WORD_RECORD_BYTES)) {
            *count = u32_at(record, WORD_BYTES as usize);
        }
        shared.marks.add_stores(counts.iter().map(|&count| u64::from(count)).sum());
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
