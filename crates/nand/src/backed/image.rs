//! A device in a file.
//!
//! The layout: a header, two states, the NVRAM, one record a block, one record a page, the page bytes. Each part starts
//! at a multiple of 4 KiB; numbers are little endian; header, states and records end in a CRC-32.
//!
//! A program writes the bytes, then its page's record; the page counts from its record on. Programs are gathered and
//! written a few at a time, before anything else is. The records among them are written in any order, and an opening
//! drops what comes after a missing one. An erase writes its block's record; the page room is given back later, unless
//! the pages are soon programmed again. So a process end between any two writes leaves the device as after some
//! operation, none before the last sync.
//!
//! When the machine ends, its disk may have later writes and not earlier ones. A page with a record but without its
//! bytes is unreadable, like a chip's torn page. [`Image::survive_machine`] keeps erases behind the programs before
//! them.

use super::ahead::Ahead;
use super::error::Failure;
use super::file::ImageFile;
use super::freed::Freed;
use super::records::{inline, torn_oob, BlockRecord, Found, Number, PageRecord};
use super::shared::Shared;
use super::store::PageStore;
use crate::address::{BlockId, Ppa, Seq};
use crate::content::Bytes;
use crate::context::Origin;
use crate::counting::{assert_has_tail, Counting, Kept, SpareStore};
use crate::nand::{Nand, NandError};
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Record bytes read at once for their tails.
const WINDOW: u64 = 8192;

/// Pages in a file.
#[derive(Debug)]
pub struct Image {
    pub(super) shared: Arc<Shared>,
    /// One page, the last one programmed with a tail or copied.
    scratch: Bytes,
    /// By page: its CRC-32.
    sums: Vec<u32>,
    /// By page: tail bytes.
    tails: Vec<u16>,
    /// Pages whose record is spoilt.
    pub(super) torn: BTreeSet<Ppa>,
    /// By block.
    pub(super) blocks: Vec<OfBlock>,
    /// Records read for their tails, and their start in the file.
    window: (u64, Vec<u8>),
    ahead: Ahead,
    freed: Freed,
    /// Whether an erase waits until earlier writes are on the disk.
    survives_machine: bool,
    pub(super) notices: Vec<String>,
    /// The last settled program, and the last program, when the image was opened.
    pub(super) opened: (u64, u64),
    /// Writes for the end of a successful opening: places and bytes.
    pub(super) repairs: Vec<(u64, Vec<u8>)>,
}

/// A block record's state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfBlock {
    /// There is one.
    pub(super) has_record: bool,
    /// It says that the block is bad.
    pub(super) is_bad: bool,
    /// Pages were copied away since it was written.
    pub(super) is_old: bool,
    /// Its pages' programs before its last erase.
    pub(super) earlier: u64,
    /// Its pages' programs since.
    pub(super) held: u32,
}

impl Image {
    pub(super) fn new(shared: Shared) -> Self {
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
            repairs: Vec::new(),
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

    /// Takes a block's programmed pages over.
    pub(super) fn take(&mut self, device: &mut Counting, block: BlockId, record: &BlockRecord, found: &[(u32, Found)]) {
        let geometry = *device.geometry();
        self.blocks[block.index()].held = found.len() as u32;
        self.shared.work.add(found.len() as u64, 0);
        let mut seq = Seq(0);
        let mut pages = Vec::with_capacity(found.len());
        let mut programmed = [0_u16; Origin::COUNT];
        for &(page, found) in found {
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
        if !self.ahead.take(place, page) && self.read_new(at, page, wanted).is_err() {
            // A write that failed ends the image; a read that failed costs its request.
            self.check()?;
            return Ok(false);
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
                if self.shared.is_behind() || self.ahead.read(&self.shared.file, place, page, count).is_err() {
                    // The error may be that of another page.
                    return self.shared.read_page(place, page);
                }
                Ok(())
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

    fn record_of(&self, device: &Counting, at: Ppa, number: Number) -> PageRecord {
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
        let programmed = device.programmed.block(block);
        let is_bad = device.states.is_bad(block);
        if is_bad {
            self.guard("write", self.shared.note_written())?;
        }
        let of_block = &mut self.blocks[block.index()];
        if is_bad {
            // Nobody looks at its pages any more.
            of_block.earlier += u64::from(std::mem::take(&mut of_block.held));
        }
        let turned_bad = is_bad && !of_block.is_bad;
        *of_block = OfBlock { has_record: true, is_bad, is_old: false, ..*of_block };
        let record = BlockRecord {
            pe_cycles: device.pe_cycles[block.index()],
            is_bad,
            left: std::array::from_fn(|origin| held[origin].saturating_sub(programmed[origin])),
            programs: of_block.earlier,
        };
        self.guard("write", self.shared.write_at(self.shared.layout.block(block), &record.to_bytes(block)))?;
        self.shared.marks.add_removals(u64::from(turned_bad));
        Ok(())
    }

    /// The records around the one for page `at`, and its start in them.
    fn records_around(&mut self, at: Ppa) -> io::Result<usize> {
        let place = self.shared.layout.page(at);
        let begin = place - place % WINDOW;
        if self.window.0 != begin {
            let mut bytes = std::mem::take(&mut self.window.1);
            bytes.resize(WINDOW.min(self.shared.layout.end - begin) as usize, 0);
            self.window.0 = u64::MAX;
            self.shared.write_gathered()?;
            self.shared.read_at(begin, &mut bytes)?;
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
        // A page that the host cannot read just now must not give way to an older copy.
        let Ok(slot) = self.records_around(at) else { return true };
        let record = PageRecord::from_slot(&self.window.1[slot..slot + self.shared.layout.slot], at);
        let Ok(Some(PageRecord { number, .. })) = record else { return false };
        let (settled, last) = self.opened;
        last.saturating_sub(number.age(last)) <= settled
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
            let Ok(slot) = self.records_around(at) else {
                self.check()?;
                return Err(NandError::Uncorrectable(at));
            };
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
            self.shared.sync_first();
        }
        self.guard("write", self.shared.note_written())?;
        let of_block = &mut self.blocks[block.index()];
        of_block.earlier += u64::from(std::mem::take(&mut of_block.held));
        self.write_block(device, block)?;
        self.shared.work.add(0, 1);
        self.shared.marks.add_removals(1);
        // The room of one whose erase is not in the file holds the only copy in it.
        if self.shared.overlay.is_none() && !self.shared.is_behind() {
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
        let number = self.shared.marks.programs() + 1;
        self.record_of(device, at, Number::new(number)).put(at, slot, &self.scratch[tail..]);
        let place = self.place_slot(at, slot);
        self.shared.gather_record(place, slot);
        self.shared.marks.set_programs(number);
        self.blocks[block.index()].held += 1;
        self.shared.work.add(1, 0);
        Ok(())
    }

    fn save_spare(&mut self, device: &Counting, at: Ppa) -> Result<(), NandError> {
        let mut slot = [0; 512];
        let slot = &mut slot[..self.shared.layout.slot];
        self.guard("write", self.shared.write_gathered())?;
        self.guard("read", self.shared.read_at(self.shared.layout.page(at), slot))?;
        self.record_of(device, at, Number::of(slot)).put_again(at, slot);
        let place = self.place_slot(at, slot);
        self.guard("write", self.shared.write_at(place, slot))
    }

    fn save_all(&mut self, device: &Counting) -> Result<(), NandError> {
        self.check()?;
        let mark = self.shared.marks.now();
        self.guard("write", self.shared.note_written().and_then(|()| self.shared.settle(mark, true)))?;
        for block in (0..device.geometry().blocks()).map(BlockId) {
            if self.blocks[block.index()].is_old {
                self.write_block(device, block)?;
            }
        }
        self.guard("write", self.shared.catch_up())?;
        self.freed.give_back(0, device.geometry(), (&self.shared.file, &self.shared.layout));
        Ok(())
    }
}
