//! An FTL on a device as a disk of 512-byte sectors.

mod untimed;

use crate::{Ftl, FtlError};
use nandlab_block::{
    submit_late, BlockDevice, Completion, Error, HostClock, Op, Payload, Request, ZoneFault, ZoneReport, ZoneShape,
};
use nandlab_nand::{Lpn, Nand, NandError, Origin, PageBuf, SectorMask, Time, Timeline, SECTOR_BYTES};

/// How many requests ahead map entries are prefetched.
const LOOKAHEAD: usize = 32;

/// How many requests ahead the map entries have arrived, and the data they lead to is prefetched.
const ARRIVED: usize = 16;

/// Most pages given to an FTL together, unless it may place more of them together.
const LONGEST_RUN: u64 = 256;

/// An FTL and its device.
#[derive(Debug)]
pub struct Disk<F, N: Nand> {
    ftl: F,
    nand: N,
    page: N::Buf,
    /// A longer write's whole pages.
    run: Vec<N::Buf>,
    /// Pages of several requests, to be written together.
    gathered: Vec<Lpn>,
    sectors: u64,
    /// log2 of the sectors per page.
    page_shift: u32,
}

/// The part of a request in one page.
struct Piece {
    at: Lpn,
    first: u32,
    count: u32,
}

impl<F: Ftl, N: Nand> Disk<F, N> {
    /// Mounts an FTL on `nand`, as [`crate::mount`].
    ///
    /// # Errors
    /// As [`Ftl::mount`].
    pub fn mount(mut nand: N, logical_pages: u32, config: &F::Config) -> Result<Self, FtlError> {
        let ftl = crate::mount(&mut nand, logical_pages, config)?;
        Ok(Self::assemble(ftl, nand))
    }

    /// A disk for an FTL mounted on `nand` before.
    pub fn assemble(ftl: F, nand: N) -> Self {
        let geometry = *nand.geometry();
        Self {
            sectors: u64::from(ftl.logical_pages()) * u64::from(geometry.sectors_per_page()),
            page_shift: geometry.sectors_per_page().trailing_zeros(),
            page: N::Buf::zeroed(geometry.page_bytes()),
            run: Vec::new(),
            gathered: Vec::new(),
            ftl,
            nand,
        }
    }

    /// Drops the RAM state, as a power cut does, and mounts the FTL again with the same options.
    ///
    /// # Errors
    /// As [`Ftl::mount`]; the disk is useless then.
    pub fn remount(&mut self, config: &F::Config) -> Result<(), FtlError> {
        let pages = self.ftl.logical_pages();
        let follows_events = self.nand.ctx().timeline().is_some();
        self.nand.ctx().leave_events();
        self.ftl = crate::mount(&mut self.nand, pages, config)?;
        if follows_events {
            self.nand.ctx().follow_events();
        }
        Ok(())
    }

    /// The FTL.
    pub fn ftl(&self) -> &F {
        &self.ftl
    }

    /// The device.
    pub fn nand(&self) -> &N {
        &self.nand
    }

    /// The device, to be read or changed.
    pub fn nand_mut(&mut self) -> &mut N {
        &mut self.nand
    }

    /// Derives every invariant in the FTL anew from flash.
    pub fn check(&mut self) {
        crate::doubted::reading_again(&mut self.nand, |nand| self.ftl.check(nand));
        let free = self.ftl.blocks().iter().filter(|block| block.is_free).count();
        assert_eq!(self.ftl.free_blocks(), free as u64, "free blocks");
    }

    /// Drops the RAM state, as a power cut does, and keeps the flash.
    pub fn into_nand(self) -> N {
        self.nand
    }

    /// No request comes before `until`: the FTL has the time since the last operation's end.
    ///
    /// # Errors
    /// As [`Ftl::pause`].
    #[cold]
    #[inline(never)]
    pub fn idle(&mut self, until: Time) -> Result<(), FtlError> {
        let from = self.nand.ctx().horizon();
        self.nand.ctx().begin(Origin::FTL, from);
        self.ftl.pause(&mut self.nand, Some(until))
    }

    /// Carries out `request` at its time; the end is in the device's context.
    #[inline(always)]
    fn carry_out(&mut self, request: &Request, data: Payload<'_>) -> Result<(), Error> {
        if self.nand.ctx().idle_since(request.time).is_some() {
            self.idle(request.time).map_err(|error| failed(&error, request.sector))?;
        }
        self.nand.ctx().begin(request.origin, request.time);
        self.nand.ctx().place(request.placement);
        if F::HAS_ZONES {
            let admitted = self.ftl.admit(&mut self.nand, request).map_err(|error| failed(&error, request.sector))?;
            return self.carry_out_pieces(&admitted, data);
        }
        // As most requests are.
        if request.op == Op::Write
            && request.sectors == 1 << self.page_shift
            && request.sector & ((1 << self.page_shift) - 1) == 0
        {
            self.ftl.expect(Lpn((request.sector >> self.page_shift) as u32), 1);
            return self.write_page(request.sector, request, &data).map_err(|error| failed(&error, request.sector));
        }
        self.carry_out_pieces(request, data)
    }

    /// Carries out a request page by page.
    #[inline(always)]
    fn carry_out_pieces(&mut self, request: &Request, mut data: Payload<'_>) -> Result<(), Error> {
        if request.sectors == 0 || !request.op.has_sectors() {
            return self.carry_out_whole(request);
        }
        let mut sector = request.sector;
        let end = request.end();
        let first = sector >> self.page_shift;
        let last = end.saturating_sub(1) >> self.page_shift;
        self.ftl.expect(Lpn(first as u32), (last.saturating_sub(first) + 1) as u32);
        while sector < end {
            let pages = self.whole_pages(sector, end);
            if request.op == Op::Write && pages > 1 {
                self.write_run(sector, pages, request, &data).map_err(|error| failed(&error, sector))?;
                sector += pages << self.page_shift;
                continue;
            }
            if request.op == Op::Write && pages == 1 {
                self.write_page(sector, request, &data).map_err(|error| failed(&error, sector))?;
                sector += 1 << self.page_shift;
                continue;
            }
            let piece = self.piece(sector, end);
            let done = match request.op {
                Op::Write => self.write(&piece, request, &data),
                Op::Read => self.read(&piece, pages, request, &mut data),
                Op::Trim => self.ftl.trim(&mut self.nand, piece.at, SectorMask::run(piece.first, piece.count)),
                Op::Append => Err(NO_ZONES),
                Op::Flush | Op::UnitUpdate | Op::Zone(_) => Ok(()),
            };
            done.map_err(|error| failed(&error, sector))?;
            sector += u64::from(piece.count);
        }
        Ok(())
    }

    /// Carries out a request without sectors.
    #[cold]
    fn carry_out_whole(&mut self, request: &Request) -> Result<(), Error> {
        match request.op {
            Op::UnitUpdate => {
                self.ftl.update_unit(request.placement);
                return Ok(());
            }
            // A device of zones has carried it out when it was admitted.
            Op::Zone(_) if F::HAS_ZONES => return Ok(()),
            Op::Zone(_) => return Err(failed(&NO_ZONES, request.sector)),
            Op::Read | Op::Write | Op::Trim | Op::Append => return Ok(()),
            Op::Flush => {}
        }
        self.ftl.flush(&mut self.nand).map_err(|error| failed(&error, request.sector))
    }

    /// Whole pages between two sectors, beginning with the first; no more than go together.
    #[inline]
    fn whole_pages(&self, sector: u64, end: u64) -> u64 {
        if sector & ((1 << self.page_shift) - 1) != 0 {
            return 0;
        }
        let pages = (end - sector) >> self.page_shift;
        if pages <= LONGEST_RUN {
            return pages;
        }
        let (first, span) = (sector >> self.page_shift, u64::from(self.ftl.span()));
        let longest = LONGEST_RUN.max(span);
        if pages <= longest {
            return pages;
        }
        (first + longest) / span * span - first
    }

    /// Writes several whole pages at once.
    fn write_run(&mut self, sector: u64, pages: u64, request: &Request, data: &Payload<'_>) -> Result<(), FtlError> {
        let page_bytes = self.nand.geometry().page_bytes();
        self.run.resize_with(self.run.len().max(pages as usize), || N::Buf::zeroed(page_bytes));
        if let Payload::Write(bytes) = data {
            let start = (sector - request.sector) as usize * SECTOR_BYTES as usize;
            for (page, bytes) in self.run.iter_mut().zip(bytes[start..].chunks_exact(page_bytes as usize)) {
                if let Some(page) = page.bytes_mut() {
                    page.copy_from_slice(bytes);
                }
            }
        }
        let first = Lpn((sector >> self.page_shift) as u32);
        self.ftl.write_run(&mut self.nand, first, &self.run[..pages as usize])
    }

    #[inline]
    fn piece(&self, sector: u64, end: u64) -> Piece {
        let first = (sector & ((1 << self.page_shift) - 1)) as u32;
        let count = u64::from((1 << self.page_shift) - first).min(end - sector) as u32;
        Piece { at: Lpn((sector >> self.page_shift) as u32), first, count }
    }

    /// Writes a whole page.
    #[inline(always)]
    fn write_page(&mut self, sector: u64, request: &Request, data: &Payload<'_>) -> Result<(), FtlError> {
        if let (Payload::Write(bytes), Some(page)) = (data, self.page.bytes_mut()) {
            let start = (sector - request.sector) as usize * SECTOR_BYTES as usize;
            page.copy_from_slice(&bytes[start..start + page.len()]);
        }
        let full = SectorMask::full(1 << self.page_shift);
        self.ftl.write(&mut self.nand, Lpn((sector >> self.page_shift) as u32), full, &self.page)
    }

    #[inline]
    fn write(&mut self, piece: &Piece, request: &Request, data: &Payload<'_>) -> Result<(), FtlError> {
        if let (Payload::Write(bytes), Some(page)) = (data, self.page.bytes_mut()) {
            page[in_page(piece)].copy_from_slice(&bytes[in_payload(piece, request, self.page_shift)]);
        }
        self.ftl.write(&mut self.nand, piece.at, SectorMask::run(piece.first, piece.count), &self.page)
    }

    #[inline]
    fn read(&mut self, piece: &Piece, pages: u64, request: &Request, data: &mut Payload<'_>) -> Result<(), FtlError> {
        let sectors = SectorMask::run(piece.first, piece.count);
        let is_part = piece.count >> self.page_shift == 0;
        if is_part {
            self.nand.ctx().ask(piece.count);
        }
        if pages > 1 {
            self.nand.ctx().want(pages as u32);
        }
        let read = self.ftl.read(&mut self.nand, piece.at, sectors, &mut self.page);
        if pages > 1 {
            self.nand.ctx().want(0);
        }
        if is_part {
            self.nand.ctx().ask(0);
        }
        read?;
        if let (Payload::Read(bytes), Some(page)) = (data, self.page.bytes()) {
            bytes[in_payload(piece, request, self.page_shift)].copy_from_slice(&page[in_page(piece)]);
        }
        Ok(())
    }

    /// Carries out the next request in a batch.
    #[inline(always)]
    fn submit_next(
        &mut self,
        request: &Request,
        clock: &mut HostClock,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        let arrival = clock.arrival(request);
        self.refuse_outside(request)?;
        self.carry_out(&Request { time: arrival, ..*request }, Payload::None)?;
        let completion = Completion { arrival, done: self.nand.ctx().finish() };
        clock.complete(completion.done);
        self.nand.ctx().request_done(completion.arrival, completion.done);
        done.push(completion);
        Ok(())
    }

    /// Carries out a request in a batch, in the order of events.
    fn submit_late(&mut self, request: &Request) -> Result<Completion, Error> {
        self.refuse_outside(request)?;
        self.carry_out(request, Payload::None)?;
        Ok(Completion { arrival: request.time, done: self.nand.ctx().finish() })
    }

    /// Tells the FTL that no request follows for now.
    #[inline]
    fn end_batch(&mut self) {
        self.ftl.pause(&mut self.nand, None).expect("a pause fails only at work in a gap");
    }

    fn refuse_outside(&self, request: &Request) -> Result<(), Error> {
        if request.end() > self.sectors {
            let (sector, sectors, capacity) = (request.sector, request.sectors, self.sectors);
            return Err(Error::OutOfRange { sector, sectors, capacity });
        }
        Ok(())
    }
}

/// An append, or a change of a zone, on a device without zones.
const NO_ZONES: FtlError = FtlError::Zone { zone: 0, fault: ZoneFault::NoZones };

/// The error for the caller; `sector` is the request's first sector in the page.
#[cold]
fn failed(error: &FtlError, sector: u64) -> Error {
    match error {
        FtlError::WornOut { .. } | FtlError::Full(_) => Error::WornOut(error.to_string()),
        FtlError::Zone { zone, fault } => Error::Zone { zone: *zone, fault: *fault },
        FtlError::Nand(NandError::PowerLost) => Error::PowerLost,
        FtlError::Nand(NandError::Uncorrectable(_)) => Error::Unreadable { sector },
        FtlError::Nand(NandError::ProgramFailed(_) | NandError::EraseFailed(_) | NandError::BadBlock(_)) => {
            unreachable!("an FTL takes another block where one fails, or is worn out: {error}")
        }
        FtlError::Config(_) => unreachable!("the mount has accepted the options: {error}"),
    }
}

/// The byte range for `piece` in its page.
fn in_page(piece: &Piece) -> std::ops::Range<usize> {
    let start = (piece.first * SECTOR_BYTES) as usize;
    start..start + (piece.count * SECTOR_BYTES) as usize
}

/// The byte range for `piece` in its request's payload.
fn in_payload(piece: &Piece, request: &Request, page_shift: u32) -> std::ops::Range<usize> {
    let sector = (u64::from(piece.at.0) << page_shift) + u64::from(piece.first);
    let start = (sector - request.sector) as usize * SECTOR_BYTES as usize;
    start..start + (piece.count * SECTOR_BYTES) as usize
}

impl<F: Ftl, N: Nand> BlockDevice for Disk<F, N> {
    fn submit(&mut self, request: &Request, data: Payload<'_>) -> Result<Completion, Error> {
        self.refuse_outside(request)?;
        let is_alone = self.nand.ctx().open_alone(request.time);
        let carried_out = self.carry_out(request, data);
        self.end_batch();
        if is_alone {
            self.nand.ctx().close_alone();
        }
        carried_out?;
        Ok(Completion { arrival: request.time, done: self.nand.ctx().finish() })
    }

    fn submit_batch(
        &mut self,
        requests: &[Request],
        clock: &mut HostClock,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        if clock.follows_events() {
            let carried_out = submit_late(self, requests, clock, done, Self::submit_late);
            self.end_batch();
            return carried_out;
        }
        if let Some(at) = clock.only_arrival().filter(|_| !self.nand.keeps_time()) {
            let (count, carried_out) = self.submit_untimed(requests, at);
            done.resize(done.len() + count, Completion { arrival: at, done: at });
            self.end_batch();
            return carried_out;
        }
        let carried_out = (0..requests.len()).try_for_each(|at| {
            self.prefetch(&requests[at..]);
            self.submit_next(&requests[at], clock, done)
        });
        self.end_batch();
        carried_out
    }

    #[inline]
    fn prefetch(&self, ahead: &[Request]) {
        if let Some(request) = ahead.get(LOOKAHEAD) {
            self.ftl.prefetch(Lpn((request.sector >> self.page_shift) as u32));
        }
        if let Some(request) = ahead.get(ARRIVED) {
            self.ftl.prefetch_old(Lpn((request.sector >> self.page_shift) as u32));
        }
    }

    fn look_ups(&self, request: &Request) -> u64 {
        let (mut sector, end, mut entries) = (request.sector, request.end().min(self.sectors), 0);
        while sector < end && request.op.has_sectors() {
            let piece = self.piece(sector, end);
            entries += self.ftl.look_ups(request.op, piece.at, SectorMask::run(piece.first, piece.count));
            sector += u64::from(piece.count);
        }
        entries
    }

    #[inline]
    fn request_done(&mut self, completion: &Completion) {
        self.nand.ctx().request_done(completion.arrival, completion.done);
    }

    fn timeline(&mut self) -> Option<&mut Timeline> {
        self.nand.ctx().timeline()
    }

    fn is_same_in_runs(&self) -> bool {
        self.ftl.takes_batches(&self.nand)
    }

    fn zone_shape(&self) -> Option<ZoneShape> {
        self.ftl.zone_shape()
    }

    fn zone_at(&self, sector: u64) -> Option<ZoneReport> {
        self.ftl.zone_at(sector)
    }

    fn sectors(&self) -> u64 {
        self.sectors
    }
}
