//! A device in a file.
//!
//! The layout: a header, two states, the NVRAM, one record a block, one record a page, the page bytes. Each part starts
//! at a multiple of 4 KiB; numbers are little endian; header, states and records end in a CRC-32.
//!
//! A program writes the bytes, then its page's record; the page counts from its record on. Programs are gathered and
//! written a few at a time, in order, before anything else is. An erase writes its block's record; the page room is
//! given back later, unless the pages are soon programmed again. So a process end between any two writes leaves the
//! device as after some operation, none before the last sync.
//!
//! When the machine ends, its disk may have later writes and not earlier ones. A page with a record but without its
//! bytes is unreadable, like a chip's torn page. [`Image::survive_machine`] keeps erases behind the programs before
//! them.

use super::ahead::Ahead;
use super::error::{BackedError, Failure};
use super::freed::Freed;
use super::layout::{u32_at, Header, Layout, BLOCK_BYTES, FIXED_BYTES, MAGIC, TRAILER_BYTES, WORD_RECORD_BYTES};
use super::os;
use super::overlay::Overlay;
use super::pairs::Picked;
use super::recorded::{block_records, page_records};
use super::records::{inline, programmed, torn_oob, BlockRecord, Found, PageRecord, Stored};
use super::shared::{ImageFile, Shared};
use super::store::PageStore;
use crate::address::{BlockId, Ppa, Seq};
use crate::content::Bytes;
use crate::context::Origin;
use crate::counting::{assert_has_tail, Counting, Kept, SpareStore};
use crate::nand::{Nand, NandError};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Record bytes read at once for their tails.
const WINDOW: u64 = 8192;

/// Pages in a file.
#[derive(Debug)]
pub struct Image {
    shared: Arc<Shared>,
    /// One page, the last one programmed with a tail or copied.
    scratch: Bytes,
    /// By page: its CRC-32.
    sums: Vec<u32>,
    /// By page: tail bytes.
    tails: Vec<u16>,
    /// Pages whose record is spoilt.
    torn: BTreeSet<Ppa>,
    /// By block.
    blocks: Vec<OfBlock>,
    /// Records read for their tails, and their start in the file.
    window: (u64, Vec<u8>),
    ahead: Ahead,
    freed: Freed,
    /// Whether an erase waits until earlier writes are on the disk.
    survives_machine: bool,
    notices: Vec<String>,
    /// The last settled program, and the last program, when the image was opened.
    opened: (u64, u64),
}

/// A block record's state.
#[derive(Clone, Copy, Debug, Default)]
struct OfBlock {
    /// There is one.
    has_record: bool,
    /// Pages were copied away since it was written.
    is_old: bool,
    /// Its pages' programs before its last erase.
    earlier: u64,
    /// Its pages' programs since.
    held: u32,
}

impl ImageFile {
    /// An image to look at; another process may use it.
    ///
    /// # Errors
    /// As [`super::Backed::open`], but for the lock.
    pub fn look(path: &Path) -> Result<Self, BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let file = OpenOptions::new().read(true).open(path).map_err(error)?;
        Image::read_header(path, file).map(|shared| Self(Arc::new(shared)))
    }
}

impl Image {
    pub(super) fn create(path: &Path, header: Header) -> Result<Self, BackedError> {
        let error = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => BackedError::Exists(path.to_owned()),
            _ => BackedError::Io { path: path.to_owned(), action: "create", source },
        };
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).map_err(error)?;
        let shared = Shared::new(file, path, header);
        let written = os::lock(&shared.file)
            .and_then(|_| shared.file.set_len(shared.layout.end))
            .and_then(|()| shared.write_at(shared.layout.header, &shared.header.at_end(&shared.layout)))
            .and_then(|()| shared.write_at(0, &shared.header.to_bytes()));
        if let Err(source) = written {
            drop(shared);
            // Report the first error; a failure to remove the file does not matter.
            let _ = std::fs::remove_file(path);
            return Err(error(source));
        }
        Ok(Self::new(shared))
    }

    pub(super) fn open(path: &Path) -> Result<(Self, Counting), BackedError> {
        Self::with(Self::open_file(path)?)
    }

    /// As [`Self::open`], with all writes kept in memory.
    pub(super) fn open_read_only(path: &Path) -> Result<(Self, Counting), BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let file = OpenOptions::new().read(true).open(path).map_err(error)?;
        if !os::lock_shared(&file).map_err(error)? {
            return Err(BackedError::InUse(path.to_owned()));
        }
        let (mut shared, found) = Self::read_headers(path, file)?;
        shared.overlay = Some(Overlay::default());
        let mut image = Self::with(shared)?;
        if found != image.0.shared.layout.end {
            let error = BackedError::Length { path: path.to_owned(), found, expected: image.0.shared.layout.end };
            image.0.notices.push(error.to_string());
        }
        Ok(image)
    }

    fn with(shared: Shared) -> Result<(Self, Counting), BackedError> {
        let mut image = Self::new(shared);
        let header = &image.shared.header;
        let mut device = Counting::new(header.geometry, header.rules);
        device.has_no_tails = true;
        image.repair_headers()?;
        image.restore(&mut device)?;
        Ok((image, device))
    }

    fn open_file(path: &Path) -> Result<Shared, BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(error)?;
        if !os::lock(&file).map_err(error)? {
            return Err(BackedError::InUse(path.to_owned()));
        }
        Self::read_header(path, file)
    }

    fn read_header(path: &Path, file: File) -> Result<Shared, BackedError> {
        let (shared, found) = Self::read_headers(path, file)?;
        if found != shared.layout.end {
            return Err(BackedError::Length { path: path.to_owned(), found, expected: shared.layout.end });
        }
        Ok(shared)
    }

    /// Reads the first header, or else the one at the end of the file; also returns the file's length.
    fn read_headers(path: &Path, file: File) -> Result<(Shared, u64), BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let found = file.metadata().map_err(error)?.len();
        let header = match Self::header_at(path, &file, (0, found)) {
            Ok(header) => header,
            Err(error) => Self::second_header(path, &file, found).ok_or(error)?,
        };
        Ok((Shared::new(file, path, header), found))
    }

    fn second_header(path: &Path, file: &File, found: u64) -> Option<Header> {
        let mut trailer = [0; TRAILER_BYTES];
        os::read_at(file, found.checked_sub(TRAILER_BYTES as u64)?, &mut trailer).ok()?;
        let place = u64::from_le_bytes(trailer[..8].try_into().expect("eight bytes"));
        if trailer[8..] != MAGIC || place >= found {
            return None;
        }
        let header = Self::header_at(path, file, (place, found)).ok()?;
        (Layout::new(&header).header == place).then_some(header)
    }

    fn header_at(path: &Path, file: &File, (place, end): (u64, u64)) -> Result<Header, BackedError> {
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
        let copies = [(0, shared.header.to_bytes()), (shared.layout.header, shared.header.at_end(&shared.layout))];
        for ((place, bytes), which) in copies.into_iter().zip(["first", "second"]) {
            let mut found = vec![0; bytes.len()];
            let read = shared.read_at(place, &mut found);
            if shared.overlay.is_none() {
                read.map_err(|error| shared.error("read", error))?;
            }
            if found != bytes {
                self.notices.push(format!("the {which} of two headers is damaged, and the other one counts"));
                shared.write_at(place, &bytes).map_err(|error| shared.error("write", error))?;
            }
        }
        Ok(())
    }

    fn new(shared: Shared) -> Self {
        let geometry = &shared.header.geometry;
        let pages = geometry.pages() as usize;
        Self {
            scratch: vec![0; geometry.page_bytes() as usize].into(),
            sums: vec![0; pages],
            tails: vec![0; pages],
            torn: BTreeSet::new(),
            blocks: vec![OfBlock::default(); geometry.blocks() as usize],
            window: (u64::MAX, Vec::new()),
            ahead: Ahead::default(),
            freed: Freed::new(geometry),
            survives_machine: false,
            notices: Vec::new(),
            opened: (0, 0),
            shared: Arc::new(shared),
        }
    }

    pub(super) fn file(&self) -> ImageFile {
        ImageFile(Arc::clone(&self.shared))
    }

    pub(super) fn failure(&self) -> Failure {
        self.shared.failure.clone()
    }

    /// Spoilt parts, in sentences.
    pub(super) fn notices(&self) -> &[String] {
        &self.notices
    }

    /// From now on an erase waits until everything before it is on this machine's disk.
    pub(super) fn survive_machine(&mut self) {
        self.survives_machine = true;
    }

    /// Brings an erased `device` into the state in the records.
    fn restore(&mut self, device: &mut Counting) -> Result<(), BackedError> {
        let shared = Arc::clone(&self.shared);
        self.restore_nvram()?;
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
            self.take(device, block, &record, &slots.bytes);
        }
        let settled = shared.read_settled(shared.work.get().programs).map_err(|error| shared.error("read", error))?;
        self.opened = (settled, shared.programs());
        Ok(())
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
                return Err(super::layout::damaged(&shared.path, what));
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

    /// Takes a block's programmed pages over.
    fn take(&mut self, device: &mut Counting, block: BlockId, record: &BlockRecord, slots: &[u8]) {
        let geometry = *device.geometry();
        let order = device.rules().program_order;
        let first = (geometry.page(block, 0), self.shared.layout.slot);
        let found = programmed(slots, first, record.pe_cycles, geometry.page_bytes(), order);
        self.blocks[block.index()].held = found.len() as u32;
        self.shared.work.add(found.len() as u64, 0);
        let mut seq = Seq(0);
        let mut pages = Vec::with_capacity(found.len());
        let mut programmed = [0_u16; Origin::COUNT];
        for &(page, found) in &found {
            let at = geometry.page(block, page);
            let oob = match found {
                Found::Page(record) => {
                    self.sums[at.index()] = record.sum;
                    self.tails[at.index()] = record.tail_bytes;
                    if record.programs > 1 {
                        device.respared.insert(at, record.programs);
                    }
                    record.oob
                }
                Found::Torn => {
                    self.notices
                        .push(format!("page {at} is damaged: its record has a wrong checksum, it cannot be read"));
                    self.torn.insert(at);
                    torn_oob(seq)
                }
            };
            seq = oob.seq;
            programmed[usize::from(oob.origin.0)] += 1;
            pages.push((page, oob));
        }
        for (pages, left) in programmed.iter_mut().zip(record.left) {
            *pages = pages.saturating_sub(left);
        }
        let base = pages.first().map_or(0, |(_, oob)| oob.seq.0);
        device.restore(block, &Kept { pe_cycles: record.pe_cycles, base, programmed }, pages.into_iter());
    }

    /// Turns an I/O error into a device that is off, and keeps the reason.
    fn guard<T>(&self, action: &'static str, result: io::Result<T>) -> Result<T, NandError> {
        result.map_err(|source| {
            self.shared.failure.keep(self.shared.error(action, source));
            NandError::PowerLost
        })
    }

    /// Fills `page` with the bytes from page `at`, the first in a request for `wanted` pages; returns whether they are
    /// as programmed.
    fn read_page(&mut self, at: Ppa, page: &mut Bytes, wanted: u32) -> Result<bool, NandError> {
        let place = self.shared.layout.bytes(at);
        if !self.ahead.take(place, page) {
            if self.read_new(at, page, wanted).is_err() {
                // A write that failed ends the image; a read that failed costs its request.
                self.check()?;
                return Ok(false);
            }
        }
        Ok(crc32fast::hash(page) == self.sums[at.index()])
    }

    fn read_new(&mut self, at: Ppa, page: &mut Bytes, wanted: u32) -> io::Result<()> {
        let pages = self.shared.header.geometry.pages_per_block();
        let place = self.shared.layout.bytes(at);
        match self.ahead.together(place, page.len(), wanted.min(pages - at.0 % pages)) {
            0 | 1 => self.shared.read_page(place, page),
            _ if self.shared.overlay.is_some() => self.shared.read_page(place, page),
            count => {
                self.shared.write_gathered()?;
                self.ahead.read(&self.shared.file, place, page, count)
            }
        }
    }

    /// Whether the bytes in the programmed page `at` are as programmed.
    pub(super) fn is_sound(&mut self, at: Ppa) -> Result<bool, NandError> {
        if self.torn.contains(&at) {
            return Ok(false);
        }
        let mut page = std::mem::take(&mut self.scratch);
        let is_sound = self.read_page(at, &mut page, 1);
        self.scratch = page;
        is_sound
    }

    fn record_of(&self, device: &Counting, at: Ppa, number: u32) -> PageRecord {
        let block = device.geometry().block_of(at);
        PageRecord {
            oob: device.spare.get(at, block).expect("the page was just programmed"),
            generation: device.pe_cycles[block.index()].wrapping_add(1),
            tail_bytes: self.tails[at.index()],
            programs: device.respared.get(at).copied().unwrap_or(1),
            sum: self.sums[at.index()],
            number,
        }
    }

    /// Brings a page's record into the window, if it covers the page; returns the record's position in the file.
    fn place_slot(&mut self, at: Ppa, slot: &[u8]) -> u64 {
        let place = self.shared.layout.page(at);
        if (self.window.0..self.window.0.saturating_add(self.window.1.len() as u64)).contains(&place) {
            let start = (place - self.window.0) as usize;
            self.window.1[start..start + slot.len()].copy_from_slice(slot);
        }
        place
    }

    fn write_block(&mut self, device: &Counting, block: BlockId) -> Result<(), NandError> {
        let held = device.pages_by_origin(block);
        let programmed = &device.programmed[block.index()];
        let is_bad = device.states.is_bad(block);
        let of_block = &mut self.blocks[block.index()];
        if is_bad {
            // Nobody looks at its pages any more.
            of_block.earlier += u64::from(std::mem::take(&mut of_block.held));
        }
        *of_block = OfBlock { has_record: true, is_old: false, ..*of_block };
        let record = BlockRecord {
            pe_cycles: device.pe_cycles[block.index()],
            is_bad,
            left: std::array::from_fn(|origin| held[origin].saturating_sub(programmed[origin])),
            programs: of_block.earlier,
        };
        self.guard("write", self.shared.write_at(self.shared.layout.block(block), &record.to_bytes(block)))
    }

    /// The records around the one for page `at`, and its start in them.
    fn records_around(&mut self, at: Ppa) -> Result<usize, NandError> {
        let place = self.shared.layout.page(at);
        let begin = place - place % WINDOW;
        if self.window.0 != begin {
            let mut bytes = std::mem::take(&mut self.window.1);
            bytes.resize(WINDOW.min(self.shared.layout.end - begin) as usize, 0);
            self.window.0 = u64::MAX;
            self.guard("write", self.shared.write_gathered())?;
            self.guard("read", self.shared.read_at(begin, &mut bytes))?;
            self.window = (begin, bytes);
        }
        Ok((place - begin) as usize)
    }
}

impl PageStore for Image {
    fn check(&self) -> Result<(), NandError> {
        self.shared.failure.get().map_or(Ok(()), |_| Err(NandError::PowerLost))
    }

    fn spare(&self, at: Ppa) -> Result<(), NandError> {
        if self.torn.is_empty() || !self.torn.contains(&at) {
            return Ok(());
        }
        Err(NandError::Uncorrectable(at))
    }

    fn is_settled(&mut self, at: Ppa) -> bool {
        if self.torn.contains(&at) {
            return true;
        }
        let Ok(slot) = self.records_around(at) else { return false };
        let record = PageRecord::from_slot(&self.window.1[slot..slot + self.shared.layout.slot], at);
        let Ok(Some(PageRecord { number, .. })) = record else { return false };
        let (settled, last) = self.opened;
        // The record has the lowest bits of the number.
        let age = (last as u32).wrapping_sub(number);
        last.saturating_sub(age.into()) <= settled
    }

    fn load(&mut self, at: Ppa, page: &mut Bytes, wanted: u32) -> Result<(), NandError> {
        self.spare(at)?;
        if self.read_page(at, page, wanted)? {
            return Ok(());
        }
        Err(NandError::Uncorrectable(at))
    }

    fn load_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<(), NandError> {
        self.spare(at)?;
        let stored = usize::from(self.tails[at.index()]);
        assert_has_tail(at, stored, tail.len());
        let start = stored - tail.len();
        if let Some(place) = inline(self.shared.layout.slot, stored) {
            let slot = self.records_around(at)?;
            tail.copy_from_slice(&self.window.1[slot + place.start + start..slot + place.end]);
            return Ok(());
        }
        let mut page = std::mem::take(&mut self.scratch);
        let loaded = self.load(at, &mut page, 1);
        tail.copy_from_slice(&page[page.len() - tail.len()..]);
        self.scratch = page;
        loaded
    }

    fn program(&mut self, at: Ppa, page: Option<&[u8]>, tail: &[u8]) -> Result<(), NandError> {
        let place = self.shared.layout.bytes(at);
        self.ahead.clear();
        self.tails[at.index()] = tail.len() as u16;
        if let (Some(bytes), []) = (page, tail) {
            self.sums[at.index()] = crc32fast::hash(bytes);
            return self.guard("write", self.shared.gather_page(place, bytes));
        }
        match page {
            Some(bytes) => self.scratch.copy_from_slice(bytes),
            None => self.scratch.fill(0),
        }
        let start = self.scratch.len() - tail.len();
        self.scratch[start..].copy_from_slice(tail);
        self.sums[at.index()] = crc32fast::hash(&self.scratch);
        self.guard("write", self.shared.gather_page(place, &self.scratch))
    }

    fn fetch(&mut self, from: Ppa) -> Result<(), NandError> {
        let mut page = std::mem::take(&mut self.scratch);
        let loaded = self.load(from, &mut page, 1);
        self.scratch = page;
        loaded
    }

    fn copy(&mut self, from: Ppa, to: Ppa) -> Result<(), NandError> {
        let source = self.shared.header.geometry.block_of(from);
        self.blocks[source.index()].is_old = true;
        self.ahead.clear();
        self.sums[to.index()] = self.sums[from.index()];
        self.tails[to.index()] = self.tails[from.index()];
        self.guard("write", self.shared.gather_page(self.shared.layout.bytes(to), &self.scratch))
    }

    fn erase(&mut self, pages: Range<u32>) {
        self.tails[pages.start as usize..pages.end as usize].fill(0);
        if !self.torn.is_empty() {
            self.torn.retain(|at| !pages.contains(&at.0));
        }
    }

    fn save_erase(&mut self, device: &Counting, block: BlockId) -> Result<(), NandError> {
        if self.survives_machine {
            self.guard("synchronise", self.shared.sync())?;
        }
        let of_block = &mut self.blocks[block.index()];
        of_block.earlier += u64::from(std::mem::take(&mut of_block.held));
        self.write_block(device, block)?;
        self.shared.work.add(0, 1);
        if self.shared.overlay.is_none() {
            self.freed.add(block, device.geometry(), (&self.shared.file, &self.shared.layout));
        }
        Ok(())
    }

    fn save_block(&mut self, device: &Counting, block: BlockId) -> Result<(), NandError> {
        self.write_block(device, block)
    }

    fn save_page(&mut self, device: &Counting, at: Ppa) -> Result<(), NandError> {
        let block = device.geometry().block_of(at);
        self.freed.take(block);
        if !self.blocks[block.index()].has_record {
            self.write_block(device, block)?;
        }
        let mut slot = [0; 512];
        let slot = &mut slot[..self.shared.layout.slot];
        let tail = self.scratch.len() - usize::from(self.tails[at.index()]);
        let number = self.shared.next_program() as u32;
        self.record_of(device, at, number).put(at, slot, &self.scratch[tail..]);
        let place = self.place_slot(at, slot);
        self.shared.gather_record(place, slot);
        self.blocks[block.index()].held += 1;
        self.shared.work.add(1, 0);
        Ok(())
    }

    fn save_spare(&mut self, device: &Counting, at: Ppa) -> Result<(), NandError> {
        let mut slot = [0; 512];
        let slot = &mut slot[..self.shared.layout.slot];
        self.guard("write", self.shared.write_gathered())?;
        self.guard("read", self.shared.read_at(self.shared.layout.page(at), slot))?;
        self.record_of(device, at, u32_at(slot, 28)).put_again(at, slot);
        let place = self.place_slot(at, slot);
        self.guard("write", self.shared.write_at(place, slot))
    }

    fn save_all(&mut self, device: &Counting) -> Result<(), NandError> {
        self.check()?;
        let programs = self.shared.programs();
        self.guard("write", self.shared.write_gathered().and_then(|()| self.shared.settle(programs)))?;
        for block in (0..device.geometry().blocks()).map(BlockId) {
            if self.blocks[block.index()].is_old {
                self.write_block(device, block)?;
            }
        }
        self.freed.give_back(0, device.geometry(), (&self.shared.file, &self.shared.layout));
        Ok(())
    }
}
