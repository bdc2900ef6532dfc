//! Requests on pages: the code shared by all buffers, independent of the policy.

use super::io::{Io, NO_PADDING};
use super::pages::{Pages, Slot};
use crate::{Buffer, Counts, Devices, Memory, Placement};
use nandlab_block::{Author, Completion, Error, Op, Payload, RamUse, Request};
use nandlab_nand::{SectorMask, SECTOR_BYTES};

/// How many requests ahead table cells are prefetched.
const LOOKAHEAD: usize = 16;

/// How many requests ahead the cells have arrived.
const ARRIVED: usize = 8;

/// How many requests ahead the links of a page have arrived.
const NEAR: usize = 4;

/// A request's access to one page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub lpn: u32,
    pub is_write: bool,
    /// Sectors to read or write.
    pub mask: u64,
}

/// Decides which pages are buffered and in which memory, and keeps the lists for it.
///
/// A policy makes room before it takes a slot. If a write-back or move fails, its lists are unchanged.
pub(crate) trait Policy: Send {
    /// Starts loading what it looks up by a page's number.
    fn prefetch(&self, _lpn: u32) {}

    /// Starts loading a buffered page's place on the lists.
    fn prefetch_slot(&self, _slot: Slot) {}

    /// Starts loading its neighbours on the lists; the place has arrived.
    fn prefetch_neighbours(&self, _slot: Slot) {}

    /// Sees a read or write before it is carried out page by page.
    fn begin(&mut self, _request: &Request) {}

    /// Whether to cache a page after a read.
    fn caches_reads(&self) -> bool;

    /// Handles an access to a buffered page. The page is still buffered afterwards.
    fn touch(&mut self, io: &mut Io<'_>, slot: Slot, access: &Access) -> Result<(), Error>;

    /// Handles a write to a page outside the buffer, or a read that caches its page: makes room and takes a
    /// slot.
    fn admit(&mut self, io: &mut Io<'_>, access: &Access) -> Result<Slot, Error>;

    /// Called after the access's data was stored in its slot.
    fn stored(&mut self, _io: &mut Io<'_>, _slot: Slot) -> Result<(), Error> {
        Ok(())
    }

    /// Called before the page in `slot` is removed.
    fn forget(&mut self, pages: &mut Pages, slot: Slot);

    /// Called after every page in DRAM was written back.
    fn flushed(&mut self, _pages: &mut Pages) {}

    /// Adds a page found in NVRAM at mount; called in order, oldest first.
    fn restore(&mut self, pages: &mut Pages, slot: Slot) {
        unreachable!("page {} is in a memory that this buffer does not have", pages.lpn(slot));
    }

    /// Memory needed by firmware.
    fn ram(&self) -> RamUse;

    /// Decisions based on access patterns.
    fn placement(&self) -> Option<Placement> {
        None
    }
}

/// A buffer: its pages and their policy.
#[derive(Debug)]
pub(crate) struct Cached<P> {
    pages: Pages,
    policy: P,
}

/// The part of a request within one page.
#[derive(Clone, Copy)]
struct Piece {
    sector: u64,
    lpn: u32,
    first: u32,
    count: u32,
}

impl Piece {
    fn bytes(&self, request: &Request) -> std::ops::Range<usize> {
        let start = (self.sector - request.sector) as usize * SECTOR_BYTES as usize;
        start..start + (self.count * SECTOR_BYTES) as usize
    }

    fn access(&self, is_write: bool) -> Access {
        Access { lpn: self.lpn, is_write, mask: SectorMask::run(self.first, self.count).0 }
    }
}

fn pieces(request: &Request, page_shift: u32) -> impl Iterator<Item = Piece> {
    let (mut sector, end) = (request.sector, request.end());
    std::iter::from_fn(move || {
        (sector < end).then(|| {
            let first = (sector & ((1 << page_shift) - 1)) as u32;
            let count = u64::from((1 << page_shift) - first).min(end - sector) as u32;
            let piece = Piece { sector, lpn: (sector >> page_shift) as u32, first, count };
            sector += u64::from(count);
            piece
        })
    })
}

impl<P: Policy> Cached<P> {
    /// Combines `policy` with `pages`, and gives it the pages found in NVRAM.
    pub(crate) fn new((mut pages, found): (Pages, Vec<Slot>), mut policy: P) -> Self {
        for slot in found {
            policy.restore(&mut pages, slot);
        }
        Self { pages, policy }
    }

    fn write(policy: &mut P, io: &mut Io<'_>, request: &Request, bytes: Option<&[u8]>) -> Result<(), Error> {
        policy.begin(request);
        for piece in pieces(request, io.pages.page_shift) {
            let access = piece.access(true);
            let slot = match io.pages.find(piece.lpn) {
                Some(slot) => {
                    io.pages.counts.write_hits += 1;
                    policy.touch(io, slot, &access)?;
                    slot
                }
                None => {
                    io.pages.counts.write_misses += 1;
                    policy.admit(io, &access)?
                }
            };
            let bytes = bytes.map(|bytes| &bytes[piece.bytes(request)]);
            io.store(slot, piece.first, piece.count, request.author(), bytes)?;
            policy.stored(io, slot)?;
        }
        Ok(())
    }

    fn read(policy: &mut P, io: &mut Io<'_>, request: &Request, mut bytes: Option<&mut [u8]>) -> Result<(), Error> {
        policy.begin(request);
        // Uncached reads are sent below as one request.
        let mut passed: Option<(u64, u64)> = None;
        for piece in pieces(request, io.pages.page_shift) {
            let access = piece.access(false);
            let slot = io.pages.find(piece.lpn);
            if slot.is_none() && !policy.caches_reads() {
                io.pages.counts.read_misses += 1;
                let start = passed.map_or(piece.sector, |(start, _)| start);
                passed = Some((start, piece.sector + u64::from(piece.count)));
                continue;
            }
            Self::pass(io, request, &mut bytes, passed.take())?;
            let out = bytes.as_deref_mut().map(|bytes| &mut bytes[piece.bytes(request)]);
            match slot {
                Some(slot) if access.mask & !io.pages.frames[slot as usize].valid == 0 => {
                    io.pages.counts.read_hits += 1;
                    policy.touch(io, slot, &access)?;
                    io.load(slot, piece.first, piece.count, out)?;
                }
                Some(slot) => {
                    io.pages.counts.read_misses += 1;
                    Self::fetch(io, &piece, request.author())?;
                    io.fill(slot)?;
                    policy.touch(io, slot, &access)?;
                    io.load(slot, piece.first, piece.count, out)?;
                }
                None => {
                    io.pages.counts.read_misses += 1;
                    Self::fetch(io, &piece, request.author())?;
                    if let Some(out) = out {
                        out.copy_from_slice(&io.pages.fetched[super::pages::bytes_of(piece.first, piece.count)]);
                    }
                    let slot = policy.admit(io, &access)?;
                    io.fill(slot)?;
                    policy.stored(io, slot)?;
                }
            }
        }
        Self::pass(io, request, &mut bytes, passed)
    }

    /// Reads the whole page; an error names the sector requested by the host.
    fn fetch(io: &mut Io<'_>, piece: &Piece, author: Author) -> Result<(), Error> {
        io.fetch(piece.lpn, author).map_err(|error| match error {
            Error::Unreadable { .. } => Error::Unreadable { sector: piece.sector },
            other => other,
        })
    }

    /// Reads sectors from below into the request.
    fn pass(
        io: &mut Io<'_>,
        request: &Request,
        bytes: &mut Option<&mut [u8]>,
        sectors: Option<(u64, u64)>,
    ) -> Result<(), Error> {
        let Some((start, end)) = sectors else { return Ok(()) };
        let read = Request { sector: start, sectors: (end - start) as u32, ..*request };
        let at = |sector: u64| (sector - request.sector) as usize * SECTOR_BYTES as usize;
        let data = bytes.as_deref_mut().map(|bytes| &mut bytes[at(start)..at(end)]);
        io.submit(&read, data.map_or(Payload::None, Payload::Read)).map(drop)
    }

    /// Drops wholly trimmed pages and forwards the trim. A partly trimmed page keeps its dirty sectors; the
    /// device below decides whether the rest reads as zeros.
    fn trim(policy: &mut P, io: &mut Io<'_>, request: &Request) -> Result<(), Error> {
        let span = request.end().div_ceil(1 << io.pages.page_shift) - (request.sector >> io.pages.page_shift);
        let slots: Vec<(Slot, u64)> = if span <= u64::from(io.pages.slots()) {
            let here = |piece: Piece| io.pages.find(piece.lpn).map(|slot| (slot, piece.access(true).mask));
            pieces(request, io.pages.page_shift).filter_map(here).collect()
        } else {
            (0..io.pages.slots()).filter_map(|slot| Self::trimmed(io.pages, request, slot)).collect()
        };
        io.submit(request, Payload::None)?;
        let full = io.pages.full;
        let survives = |&(slot, mask): &(Slot, u64)| {
            mask == full && io.pages.memory(slot) == Memory::Nvram && io.pages.is_dirty(slot)
        };
        if slots.iter().any(survives) {
            // Once the page leaves NVRAM, only the trim hides the older data below.
            io.flush_below()?;
        }
        for (slot, mask) in slots {
            if mask == full || !io.forget_clean(slot, mask) {
                policy.forget(io.pages, slot);
                io.discard(slot)?;
            }
        }
        Ok(())
    }

    /// The part of a long trim within the page in `slot`, if any.
    fn trimmed(pages: &Pages, request: &Request, slot: Slot) -> Option<(Slot, u64)> {
        let start = u64::from(pages.lpn(slot)) << pages.page_shift;
        let (from, to) = (request.sector.max(start), request.end().min(start + (1 << pages.page_shift)));
        let mask = || SectorMask::run((from - start) as u32, (to - from) as u32).0;
        (from < to && pages.is_taken(slot)).then(|| (slot, mask()))
    }

    /// Writes back everything a power cut would lose.
    fn flush(policy: &mut P, io: &mut Io<'_>) -> Result<(), Error> {
        let mut slots = std::mem::take(&mut io.pages.unflushed);
        let in_dram = |slot: &Slot| {
            let frame = &io.pages.frames[*slot as usize];
            frame.dirty != 0 && frame.memory == Memory::Dram
        };
        let dirty: Vec<Slot> = slots.iter().copied().filter(in_dram).collect();
        if !dirty.is_empty() {
            if let Err(error) = io.write_back(&dirty, NO_PADDING) {
                io.pages.unflushed = slots;
                return Err(error);
            }
            policy.flushed(io.pages);
        }
        slots.drain(..).for_each(|slot| io.pages.frames[slot as usize].listed = false);
        io.pages.unflushed = slots;
        io.flush_below()
    }
}

impl<P: Policy> Buffer for Cached<P> {
    fn submit(&mut self, devices: Devices<'_>, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        let Self { pages, policy } = self;
        let capacity = devices.below.sectors();
        if request.end() > capacity {
            return Err(Error::OutOfRange { sector: request.sector, sectors: request.sectors, capacity });
        }
        pages.has_bytes |= !matches!(data, Payload::None);
        let mut io = Io::new(pages, devices.below, devices.nvram, request.time);
        let before = io.memory_ns();
        match (request.op, data) {
            (Op::Write, Payload::Write(bytes)) => Self::write(policy, &mut io, request, Some(bytes)),
            (Op::Write, _) => Self::write(policy, &mut io, request, None),
            (Op::Read, Payload::Read(bytes)) => Self::read(policy, &mut io, request, Some(bytes)),
            (Op::Read, _) => Self::read(policy, &mut io, request, None),
            (Op::Trim, _) => Self::trim(policy, &mut io, request),
            (Op::Flush, _) => Self::flush(policy, &mut io),
            // An experiment has no buffer over zones: it would change the order of writes.
            (Op::UnitUpdate | Op::Append | Op::Zone(_), _) => io.pass_on(request),
        }?;
        Ok(Completion { arrival: request.time, done: io.done(before) })
    }

    /// First the table cell; when it has arrived, the page's frame and its place on the lists.
    fn prefetch(&self, ahead: &[Request]) {
        if !self.pages.is_large() {
            return;
        }
        let page =
            |distance: usize| ahead.get(distance).map(|request| (request.sector >> self.pages.page_shift) as u32);
        if let Some(lpn) = page(LOOKAHEAD) {
            self.pages.prefetch(lpn);
            self.policy.prefetch(lpn);
        }
        if let Some(lpn) = page(ARRIVED) {
            let slot = self.pages.guess(lpn);
            self.pages.prefetch_slot(slot);
            self.policy.prefetch_slot(slot);
        }
        if let Some(lpn) = page(NEAR) {
            self.policy.prefetch_neighbours(self.pages.guess(lpn));
        }
    }

    fn counts(&self) -> Counts {
        Counts { header_words: self.pages.places.stored_words, ..self.pages.counts }
    }

    fn set_dram_times(&mut self, read_ns: f64, write_ns: f64) {
        self.pages.dram_ns = (read_ns, write_ns);
    }

    fn ram(&self) -> RamUse {
        self.policy.ram()
    }

    fn placement(&self) -> Option<Placement> {
        self.policy.placement()
    }

    fn kept_in(&self, page: u32) -> Option<Memory> {
        self.pages.find(page).map(|slot| self.pages.memory(slot))
    }

    fn surviving(&self, page: u32) -> u64 {
        let slot = self.pages.find(page).filter(|&slot| self.pages.memory(slot) == Memory::Nvram);
        slot.map_or(0, |slot| self.pages.frames[slot as usize].dirty)
    }
}
