//! Page operations of a request: store, load, move between memories, and write back.

use super::list::NONE;
use super::pages::{bytes_of, runs, Pages, Slot};
use crate::Memory;
use nandlab_block::{Author, BlockDevice, Completion, Error, Op, Payload, Request};
use nandlab_nand::nvm::{Nvm, PowerLost};
use nandlab_nand::Time;
use std::ops::Range;

/// No padding: only the given pages.
pub(crate) const NO_PADDING: Range<u32> = 0..0;

/// A buffer's pages with the devices of the current request.
pub(crate) struct Io<'a> {
    pub(crate) pages: &'a mut Pages,
    below: &'a mut dyn BlockDevice,
    nvram: &'a mut dyn Nvm,
    /// Earliest start of the next request below: its input has been read.
    ready: Time,
    /// End of all work the host waits for.
    done: Time,
}

/// A write being gathered.
#[derive(Clone, Copy)]
struct Run {
    sector: u64,
    sectors: u32,
    author: Author,
}

fn lost(_: PowerLost) -> Error {
    Error::PowerLost
}

impl<'a> Io<'a> {
    pub(super) fn new(
        pages: &'a mut Pages,
        below: &'a mut dyn BlockDevice,
        nvram: &'a mut dyn Nvm,
        time: Time,
    ) -> Self {
        Self { pages, below, nvram, ready: time, done: time }
    }

    /// End of all work on the device below, plus the DRAM and NVRAM time after `memory_ns`.
    pub(super) fn done(&self, memory_ns: Time) -> Time {
        self.done + self.memory_ns() - memory_ns
    }

    /// Total time of all DRAM and NVRAM accesses.
    pub(super) fn memory_ns(&self) -> Time {
        let (dram, (read_ns, write_ns)) = (&self.pages.counts.dram, self.pages.dram_ns);
        // Most buffers have no times, and this is asked for twice a request.
        let dram_ns = match (read_ns, write_ns) {
            (0.0, 0.0) => 0,
            _ => (dram.reads as f64 * read_ns + dram.writes as f64 * write_ns).round() as Time,
        };
        if self.nvram.bytes() == 0 {
            return dram_ns;
        }
        dram_ns + self.nvram.usage().time_ns
    }

    /// Page count of the device below.
    pub(crate) fn device_pages(&self) -> u32 {
        (self.below.sectors() >> self.pages.page_shift) as u32
    }

    /// Sends a request below; the host waits for it.
    pub(super) fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let completion = self.below.submit(&Request { time: self.ready, ..*request }, data)?;
        self.done = self.done.max(completion.done);
        Ok(completion)
    }

    /// Makes everything sent below durable.
    pub(super) fn flush_below(&mut self) -> Result<(), Error> {
        self.ready = self.done;
        self.submit(&Request::new(Op::Flush, 0, 0), Payload::None).map(drop)
    }

    /// Sends a request without sectors below.
    pub(super) fn pass_on(&mut self, request: &Request) -> Result<(), Error> {
        self.submit(&Request { time: self.ready, ..*request }, Payload::None).map(drop)
    }

    fn whole_page(&self, op: Op, lpn: u32, author: Author) -> Request {
        let shift = self.pages.page_shift;
        Request::new(op, u64::from(lpn) << shift, 1 << shift).by(author)
    }

    /// Reads a page from below, for [`Self::fill`].
    pub(super) fn fetch(&mut self, lpn: u32, author: Author) -> Result<(), Error> {
        let request = self.whole_page(Op::Read, lpn, author);
        let Pages { has_bytes, ref mut fetched, .. } = *self.pages;
        let data = if has_bytes { Payload::Read(fetched) } else { Payload::None };
        let completion = self.below.submit(&Request { time: self.ready, ..request }, data)?;
        self.done = self.done.max(completion.done);
        Ok(())
    }

    /// Stores the page read by [`Self::fetch`] in `slot`, except for sectors already in the buffer.
    pub(super) fn fill(&mut self, slot: Slot) -> Result<(), Error> {
        let pages = &mut *self.pages;
        let missing = pages.full & !pages.frames[slot as usize].valid;
        match pages.memory(slot) {
            Memory::Dram => {
                pages.counts.dram.writes += 1;
                if pages.has_bytes {
                    let fetched = std::mem::take(&mut pages.fetched);
                    let page = pages.dram_page(slot);
                    for (first, count) in runs(missing) {
                        page[bytes_of(first, count)].copy_from_slice(&fetched[bytes_of(first, count)]);
                    }
                    pages.fetched = fetched;
                }
            }
            Memory::Nvram => {
                // Stored next to surviving data: the header does not list these sectors.
                pages.counts.nvram.writes += 1;
                let frame = &mut pages.frames[slot as usize];
                if frame.place == NONE {
                    frame.place = pages.places.take();
                }
                let at = pages.places.data(frame.place);
                for (first, count) in runs(missing) {
                    let bytes = bytes_of(first, count);
                    self.nvram.write(at + bytes.start as u64, &pages.fetched[bytes]).map_err(lost)?;
                }
            }
        }
        pages.frames[slot as usize].valid = pages.full;
        Ok(())
    }

    /// Reads buffered sectors.
    #[inline]
    pub(super) fn load(&mut self, slot: Slot, first: u32, count: u32, into: Option<&mut [u8]>) -> Result<(), Error> {
        let pages = &mut *self.pages;
        match pages.memory(slot) {
            Memory::Dram => {
                pages.counts.dram.reads += 1;
                if let Some(into) = into {
                    into.copy_from_slice(&pages.dram_page(slot)[bytes_of(first, count)]);
                }
            }
            Memory::Nvram => {
                pages.counts.nvram.reads += 1;
                let range = bytes_of(first, count);
                let at = pages.places.data(pages.frames[slot as usize].place) + range.start as u64;
                let into = into.unwrap_or(&mut pages.scratch[range]);
                self.nvram.read(at, into).map_err(lost)?;
            }
        }
        Ok(())
    }

    /// Stores host data: `count` sectors from `first` on.
    #[inline]
    pub(super) fn store(
        &mut self,
        slot: Slot,
        first: u32,
        count: u32,
        author: Author,
        bytes: Option<&[u8]>,
    ) -> Result<(), Error> {
        let mask = nandlab_nand::SectorMask::run(first, count).0;
        if self.pages.memory(slot) == Memory::Nvram {
            return self.store_nvram(slot, (first, count), author, bytes).map_err(lost);
        }
        let pages = &mut *self.pages;
        pages.counts.dram.writes += 1;
        if let Some(bytes) = bytes {
            pages.dram_page(slot)[bytes_of(first, count)].copy_from_slice(bytes);
        }
        let frame = &mut pages.frames[slot as usize];
        frame.valid |= mask;
        frame.author = author;
        let dirty = frame.dirty | mask;
        pages.set_dirty(slot, dirty);
        Ok(())
    }

    /// Uses another place if this one holds surviving sectors, because a page store can be torn.
    fn store_nvram(
        &mut self,
        slot: Slot,
        (first, count): (u32, u32),
        author: Author,
        bytes: Option<&[u8]>,
    ) -> Result<(), PowerLost> {
        let Pages { frames, places, scratch, counts, .. } = &mut *self.pages;
        let frame = &mut frames[slot as usize];
        let mask = nandlab_nand::SectorMask::run(first, count).0;
        let old = frame.place;
        let survives = frame.dirty != 0;
        if survives || old == NONE {
            frame.place = places.take();
        }
        let at = places.data(frame.place);
        let kept = frame.valid & !mask;
        let new = bytes_of(first, count);
        counts.nvram.writes += 1;
        if survives && kept != 0 {
            counts.nvram.reads += 1;
            let all = hull(frame.valid | mask);
            self.nvram.read(places.data(old) + all.start as u64, &mut scratch[all.clone()])?;
            if let Some(bytes) = bytes {
                scratch[new].copy_from_slice(bytes);
            }
            self.nvram.write(at + all.start as u64, &scratch[all])?;
        } else {
            self.nvram.write(at + new.start as u64, bytes.unwrap_or(&scratch[new]))?;
        }
        frame.valid |= mask;
        frame.dirty |= mask;
        frame.author = author;
        places.set(self.nvram, frame.place, frame.lpn, author, frame.dirty)?;
        if survives {
            places.clear(self.nvram, old)?;
            places.give_back(old);
        }
        Ok(())
    }

    /// Moves a page to the other memory. Sectors in `overwritten` are about to be overwritten and are not
    /// copied.
    ///
    /// # Panics
    /// If surviving data would lose its place in NVRAM.
    pub(crate) fn migrate(&mut self, slot: Slot, to: Memory, overwritten: u64) -> Result<(), Error> {
        let Pages { frames, places, scratch, counts, has_bytes, .. } = &mut *self.pages;
        let frame = &mut frames[slot as usize];
        let kept = frame.valid & !overwritten;
        let all = hull(kept);
        counts.demotions += 1;
        if to == Memory::Dram {
            assert!(frame.dirty == 0, "page {} would no longer survive", frame.lpn);
            let place = std::mem::replace(&mut frame.place, NONE);
            (frame.valid, frame.memory) = (kept, to);
            if kept != 0 {
                counts.nvram.reads += 1;
                counts.dram.writes += 1;
                self.nvram.read(places.data(place) + all.start as u64, &mut scratch[all.clone()]).map_err(lost)?;
                if *has_bytes {
                    let bytes = std::mem::take(scratch);
                    self.pages.dram_page(slot)[all.clone()].copy_from_slice(&bytes[all]);
                    self.pages.scratch = bytes;
                }
            }
            if place != NONE {
                self.pages.places.give_back(place);
            }
            return Ok(());
        }
        let (lpn, author, dirty) = (frame.lpn, frame.author, frame.dirty);
        assert!(dirty & overwritten == 0, "page {lpn} would be gone until it is written");
        if kept != 0 {
            counts.dram.reads += 1;
            counts.nvram.writes += 1;
            let place = places.take();
            let at = places.data(place) + all.start as u64;
            frame.place = place;
            let bytes = if *has_bytes { &self.pages.dram_page(slot)[all] } else { &scratch[all] };
            self.nvram.write(at, bytes).map_err(lost)?;
            if dirty != 0 {
                self.pages.places.set(self.nvram, place, lpn, author, dirty).map_err(lost)?;
            }
        }
        self.pages.set_dirty(slot, 0);
        let frame = &mut self.pages.frames[slot as usize];
        (frame.valid, frame.dirty, frame.memory) = (kept, dirty, to);
        Ok(())
    }

    /// Writes back `slots` as one batch in page order, together with the unbuffered pages of `padding`, which
    /// are first read from below. Afterwards the pages are clean, and data from NVRAM is durable below.
    ///
    /// A partial page is completed from below, unless it has no neighbour in the batch and its dirty sectors
    /// form one run.
    ///
    /// # Errors
    /// Errors of the device below; all pages are then unchanged.
    pub(crate) fn write_back(&mut self, slots: &[Slot], padding: Range<u32>) -> Result<(), Error> {
        let mut batch = std::mem::take(&mut self.pages.batch);
        batch.clear();
        batch.extend(slots.iter().map(|&slot| (self.pages.lpn(slot), slot)));
        batch.extend(padding.filter(|&lpn| self.pages.find(lpn).is_none()).map(|lpn| (lpn, NONE)));
        batch.sort_unstable();
        let written = self.write_batch(&batch);
        self.pages.batch = batch;
        written?;
        if slots.iter().any(|&slot| self.pages.memory(slot) == Memory::Nvram && self.pages.is_dirty(slot)) {
            self.flush_below()?;
        }
        let dirty = slots.iter().filter(|&&slot| self.pages.is_dirty(slot)).count();
        let counts = &mut self.pages.counts;
        counts.flushes += 1;
        counts.flushed_pages += dirty as u64;
        counts.padded_pages += (slots.len() - dirty) as u64;
        slots.iter().try_for_each(|&slot| self.clean(slot))
    }

    fn write_batch(&mut self, batch: &[(u32, Slot)]) -> Result<(), Error> {
        self.pages.run_bytes.clear();
        let (shift, full) = (self.pages.page_shift, self.pages.full);
        let author_of = |slot: Slot, pages: &Pages| pages.frames[slot as usize].author;
        let first = batch.iter().find(|&&(_, slot)| slot != NONE);
        let mut author = first.map_or(Author::default(), |&(_, slot)| author_of(slot, self.pages));
        let mut run: Option<Run> = None;
        for (at, &(lpn, slot)) in batch.iter().enumerate() {
            let sector = u64::from(lpn) << shift;
            let (mut parts, mut alone) = (full, false);
            if slot != NONE {
                let frame = self.pages.frames[slot as usize];
                author = frame.author;
                let follows = |one: usize, other: usize| batch[one].0 + 1 == batch[other].0;
                let joined = at > 0 && follows(at - 1, at) || at + 1 < batch.len() && follows(at, at + 1);
                alone = frame.valid != full && !joined && runs(frame.dirty).count() == 1;
                parts = if alone { frame.dirty } else { full };
            }
            // Close the run first: the completed page's bytes come after the run's bytes.
            self.close_unless(&mut run, sector + u64::from(parts.trailing_zeros()), author)?;
            if !alone && !self.complete(lpn, slot)? {
                // The data below is lost, so only the dirty sectors are written.
                parts = if slot == NONE { 0 } else { self.pages.frames[slot as usize].dirty };
            }
            for (first, count) in runs(parts) {
                self.close_unless(&mut run, sector + u64::from(first), author)?;
                if parts != full {
                    self.append(slot, first, count)?;
                }
                let run = run.get_or_insert(Run { sector: sector + u64::from(first), sectors: 0, author });
                run.sectors += count;
            }
        }
        self.close(run)
    }

    /// Appends a whole page to the run, with missing sectors read from below; false if these are lost to bit
    /// errors.
    fn complete(&mut self, lpn: u32, slot: Slot) -> Result<bool, Error> {
        let valid = if slot == NONE { 0 } else { self.pages.frames[slot as usize].valid };
        let full = self.pages.full;
        if valid == full {
            return self.append(slot, 0, full.count_ones()).map(|()| true);
        }
        let author = if slot == NONE { Author::default() } else { self.pages.frames[slot as usize].author };
        let request = Request { time: self.ready, ..self.whole_page(Op::Read, lpn, author) };
        let start = self.pages.run_bytes.len();
        let data = if self.pages.has_bytes {
            let end = start + self.pages.page_bytes;
            self.pages.run_bytes.resize(end, 0);
            Payload::Read(&mut self.pages.run_bytes[start..])
        } else {
            Payload::None
        };
        match self.below.submit(&request, data) {
            Ok(read) => {
                self.ready = self.ready.max(read.done);
                self.done = self.done.max(read.done);
            }
            Err(Error::Unreadable { .. }) => {
                self.pages.run_bytes.truncate(start);
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        self.pages.counts.fill_reads += 1;
        if slot == NONE {
            self.pages.counts.padded_pages += 1;
            return Ok(true);
        }
        let mut bytes = std::mem::take(&mut self.pages.run_bytes);
        for (first, count) in runs(valid) {
            let range = bytes_of(first, count);
            let into = bytes.get_mut(start + range.start..start + range.end);
            self.copy(slot, first, count, into)?;
        }
        self.pages.run_bytes = bytes;
        match self.pages.memory(slot) {
            Memory::Dram => self.pages.counts.dram.reads += 1,
            Memory::Nvram => self.pages.counts.nvram.reads += 1,
        }
        Ok(true)
    }

    /// Appends sectors of a page to the run.
    fn append(&mut self, slot: Slot, first: u32, count: u32) -> Result<(), Error> {
        if !self.pages.has_bytes {
            return self.load(slot, first, count, None);
        }
        let mut bytes = std::mem::take(&mut self.pages.run_bytes);
        let start = bytes.len();
        bytes.resize(start + bytes_of(first, count).len(), 0);
        let loaded = self.load(slot, first, count, Some(&mut bytes[start..]));
        self.pages.run_bytes = bytes;
        loaded
    }

    /// Like [`Self::load`], but counted as part of a larger access.
    fn copy(&mut self, slot: Slot, first: u32, count: u32, into: Option<&mut [u8]>) -> Result<(), Error> {
        let before = (self.pages.counts.dram, self.pages.counts.nvram);
        let loaded = self.load(slot, first, count, into);
        (self.pages.counts.dram, self.pages.counts.nvram) = before;
        loaded
    }

    /// Sends the run below, unless it continues at `sector` by the same author.
    fn close_unless(&mut self, run: &mut Option<Run>, sector: u64, author: Author) -> Result<(), Error> {
        match run {
            Some(open) if open.sector + u64::from(open.sectors) == sector && open.author == author => Ok(()),
            _ => self.close(run.take()),
        }
    }

    fn close(&mut self, run: Option<Run>) -> Result<(), Error> {
        let Some(Run { sector, sectors, author }) = run else { return Ok(()) };
        let request = Request { time: self.ready, ..Request::new(Op::Write, sector, sectors).by(author) };
        let pages = &mut *self.pages;
        let data = if pages.has_bytes { Payload::Write(&pages.run_bytes) } else { Payload::None };
        let completion = self.below.submit(&request, data)?;
        pages.run_bytes.clear();
        self.done = self.done.max(completion.done);
        Ok(())
    }

    /// Marks a page as clean.
    fn clean(&mut self, slot: Slot) -> Result<(), Error> {
        let pages = &mut *self.pages;
        let frame = pages.frames[slot as usize];
        if frame.memory == Memory::Nvram && frame.dirty != 0 {
            pages.places.clear(self.nvram, frame.place).map_err(lost)?;
        }
        pages.set_dirty(slot, 0);
        Ok(())
    }

    /// Writes back a page if it is dirty, and forgets it; the policy then removes it from its lists.
    #[inline]
    pub(crate) fn evict(&mut self, slot: Slot) -> Result<(), Error> {
        let frame = &self.pages.frames[slot as usize];
        if frame.dirty != 0 {
            if frame.valid == self.pages.full && frame.memory == Memory::Dram {
                self.write_page(slot)?;
            } else {
                self.write_back(&[slot], NO_PADDING)?;
            }
        }
        self.pages.release(slot);
        Ok(())
    }

    /// Like [`Self::write_back`] for one page wholly in DRAM, the most frequent case.
    #[inline]
    fn write_page(&mut self, slot: Slot) -> Result<(), Error> {
        let frame = &self.pages.frames[slot as usize];
        let request = Request { time: self.ready, ..self.whole_page(Op::Write, frame.lpn, frame.author) };
        let data = if self.pages.has_bytes { Payload::Write(self.pages.dram_page(slot)) } else { Payload::None };
        let completion = self.below.submit(&request, data)?;
        self.done = self.done.max(completion.done);
        let counts = &mut self.pages.counts;
        counts.dram.reads += 1;
        counts.flushes += 1;
        counts.flushed_pages += 1;
        self.pages.set_dirty(slot, 0);
        Ok(())
    }

    /// Forgets a page, whatever its contents.
    pub(super) fn discard(&mut self, slot: Slot) -> Result<(), Error> {
        self.clean(slot)?;
        self.pages.release(slot);
        Ok(())
    }

    /// Forgets the clean sectors in `mask`; false if no dirty sector remains.
    pub(super) fn forget_clean(&mut self, slot: Slot, mask: u64) -> bool {
        let frame = &mut self.pages.frames[slot as usize];
        frame.valid &= frame.dirty | !mask;
        frame.dirty != 0
    }
}

/// The bytes from the first to the last sector of a mask.
fn hull(mask: u64) -> Range<usize> {
    if mask == 0 {
        return 0..0;
    }
    let first = mask.trailing_zeros();
    bytes_of(first, 64 - mask.leading_zeros() - first)
}
