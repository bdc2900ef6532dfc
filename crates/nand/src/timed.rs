//! A device that keeps time: when each channel, die and plane is free.
//!
//! An operation starts at the earliest time allowed by [`Ctx::ready`] and by the units it needs; otherwise
//! operations overlap. A die (or a plane, if the profile lets planes overlap) is a *unit*: it serves operations
//! in the order of their issue.
//!
//! ```text
//! read            unit |--- array ---|= transfer =|
//!                 bus                |= transfer =|      the unit waits with its register full until the bus is free
//! program         unit |= transfer =|--- array ---|
//!                 bus  |= transfer =|
//! erase           unit |---------- array ---------|
//! copy, inside    unit |--- read ---|-- program --|      the bus stays free
//! copy, external  unit |--- read ---|= out =|= in =|-- program --|     the bus is held from out to in;
//!                 bus               |= out =|= in =|                   over two units: a read, then a program
//! ```
//!
//! While the device [follows events](Ctx::follow_events), a [timeline](crate::timeline) decides when each part of an
//! operation takes place. Before and after that, for preconditioning and mounts, the times are sums ([`issue`]).

mod issue;
mod pages;
mod partial;
mod runs;
mod together;

use crate::address::{BlockId, Geometry, Lpn, Ppa};
use crate::as_inside;
use crate::context::{Ctx, Time};
use crate::nand::{Done, Nand, NandError, Raw};
use crate::oob::{Kind, Oob};
use crate::profile::{Durations, PageCopy, PlaneOverlap, ReadTransfer, Timing};
use crate::rules::Rules;
use crate::timeline::{Steps, Timeline};
use crate::wrapper::ways_inside;
use pages::Pages;
use together::Together;

/// Adds time to the device `N`. Counts and contents come from `N`.
///
/// A failed operation still takes its time; after a power loss nothing does. Requests must arrive in time order
/// ([`Ctx::begin`]).
///
/// Rare features need `EXTRAS`, and a device without them pays nothing: reads that suspend erases, programs of
/// several planes at once, blocks of one bit a cell with times of their own, reads of a part of a page.
#[derive(Clone, Debug)]
pub struct Timed<N, const EXTRAS: bool = false> {
    inner: N,
    geometry: Geometry,
    times: Durations,
    /// Times in a one-bit-per-cell block, if the chip has one.
    slc: Option<Box<Durations>>,
    /// Copies stay inside only within a plane; otherwise within a unit.
    copy_in_plane: bool,
    units_are_planes: bool,
    /// Host reads move the asked sectors alone.
    moves_sectors: bool,
    units: Vec<Unit>,
    channels: Vec<Channel>,
    /// Whether the last operation was issued by events.
    follows: bool,
    /// By unit: the last programs, if planes program together; otherwise empty.
    together: Vec<Together>,
    /// Page types and pages that program together, if any.
    pages: Option<Box<Pages>>,
}

/// A die, or a plane if planes overlap.
#[derive(Clone, Debug)]
struct Unit {
    /// When it has done the work so far; an estimate while the device follows events.
    free: Time,
    busy: Time,
    channel: u32,
}

#[derive(Clone, Debug, Default)]
struct Channel {
    /// When it has moved the data so far, outside events.
    free: Time,
    busy: Time,
}

impl<N: Nand> Timed<N> {
    /// `inner` with every channel and die free at time 0.
    ///
    /// # Panics
    /// If a time of `timing` is negative or not a number (impossible in a parsed profile), or if it [asks for
    /// extras](Timing::has_extras). Blocks of one bit a cell have ordinary times here.
    pub fn new(inner: N, timing: &Timing) -> Self {
        assert!(!timing.has_extras(), "a device with what few have is made by `with_extras`");
        Self::assemble(inner, timing)
    }
}

impl<N: Nand> Timed<N, true> {
    /// `inner` with every channel and die free at time 0. According to `timing`, reads suspend operations,
    /// planes program together, blocks with one bit per cell have times of their own, and host reads move the asked
    /// sectors alone.
    ///
    /// # Panics
    /// If a time in `timing` is negative or not a number; a parsed profile holds none.
    pub fn with_extras(inner: N, timing: &Timing) -> Self {
        Self::assemble(inner, timing)
    }
}

impl<N: Nand, const EXTRAS: bool> Timed<N, EXTRAS> {
    fn assemble(inner: N, timing: &Timing) -> Self {
        let geometry = *inner.geometry();
        let shape = geometry.shape();
        let units_are_planes = timing.plane_overlap == PlaneOverlap::Independent;
        let units_per_die = if units_are_planes { shape.planes_per_die } else { 1 };
        let unit = |n: u32| Unit { free: 0, busy: 0, channel: geometry.channel_of_die(n / units_per_die) };
        let units: Vec<Unit> = (0..geometry.dies() * units_per_die).map(unit).collect();
        let mut device = Self {
            times: Durations::new(timing, shape),
            slc: Durations::slc(timing, shape).map(Box::new),
            copy_in_plane: timing.copy == PageCopy::Copyback,
            units_are_planes,
            moves_sectors: timing.read_transfer == ReadTransfer::Sectors,
            together: if timing.plane_overlap == PlaneOverlap::MultiPlane {
                vec![Together::default(); units.len()]
            } else {
                Vec::new()
            },
            pages: Pages::new(timing, units.len()).map(Box::new),
            channels: vec![Channel::default(); shape.channels as usize],
            follows: false,
            units,
            geometry,
            inner,
        };
        let channel_of = device.units.iter().map(|unit| unit.channel);
        let timeline = Timeline::new(issue::rules(timing), channel_of, shape.channels);
        device.inner.ctx().set_timeline(timeline);
        device
    }

    /// The same clock over the device in another form.
    pub fn map<M: Nand>(self, form: impl FnOnce(N) -> M) -> Timed<M, EXTRAS> {
        Timed {
            inner: form(self.inner),
            geometry: self.geometry,
            times: self.times,
            slc: self.slc,
            copy_in_plane: self.copy_in_plane,
            units_are_planes: self.units_are_planes,
            moves_sectors: self.moves_sectors,
            units: self.units,
            channels: self.channels,
            follows: self.follows,
            together: self.together,
            pages: self.pages,
        }
    }

    /// Each die's (or plane's, if planes overlap) busy time, in ns: array work and transfers, without waits.
    pub fn unit_busy_ns(&self) -> Vec<Time> {
        self.units.iter().map(|unit| unit.busy).collect()
    }

    /// Each channel's transfer time, in ns; all 0 if the profile's times include the transfer.
    pub fn channel_busy_ns(&self) -> Vec<Time> {
        self.channels.iter().map(|channel| channel.busy).collect()
    }

    #[inline]
    fn unit_of(&self, block: BlockId) -> usize {
        if self.units_are_planes {
            self.geometry.plane_of(block) as usize
        } else {
            self.geometry.die_of(block) as usize
        }
    }

    #[inline]
    fn unit_of_page(&self, at: Ppa) -> usize {
        self.unit_of(self.geometry.block_of(at))
    }

    /// Operation times in `block`.
    #[inline]
    fn times_in(&self, block: BlockId) -> &Durations {
        if !EXTRAS {
            return &self.times;
        }
        match &self.slc {
            Some(slc) if self.inner.is_slc(block) => slc,
            _ => &self.times,
        }
    }

    /// Operation times on the page.
    #[inline]
    fn times_at(&self, at: Ppa) -> &Durations {
        if EXTRAS {
            self.times_in(self.geometry.block_of(at))
        } else {
            &self.times
        }
    }

    /// Ends an operation at `end`.
    #[inline]
    fn complete(&mut self, end: Time) -> Done {
        self.inner.ctx().complete(end);
        Done(end)
    }

    #[inline]
    fn time_read(&mut self, at: Ppa, array: Time, transfer: Time) {
        let (unit, ready) = (self.unit_of_page(at), self.inner.ctx().ready());
        let end = self.issue(unit, ready, Steps { before: array, transfer, after: 0 });
        self.complete(end);
    }

    #[inline]
    fn time_write(&mut self, block: BlockId, array: Time, transfer: Time) -> Done {
        let (unit, ready) = (self.unit_of(block), self.inner.ctx().ready());
        let end = self.issue(unit, ready, Steps { before: 0, transfer, after: array });
        self.complete(end)
    }

    #[inline]
    fn time_erase(&mut self, block: BlockId, erase: Time) -> Done {
        let (unit, ready) = (self.unit_of(block), self.inner.ctx().ready());
        let end = self.issue_erase(unit, ready, erase);
        self.complete(end)
    }
}

/// Whether an operation took place: all do except after a power loss.
#[inline]
fn took_place<T>(result: &Result<T, NandError>) -> bool {
    !matches!(result, Err(NandError::PowerLost))
}

ways_inside!([N: Nand, const EXTRAS: bool] Timed<N, EXTRAS>, inner);

impl<N: Nand, const EXTRAS: bool> Nand for Timed<N, EXTRAS> {
    type Buf = N::Buf;

    as_inside!(inner: is_known_erased, is_settled, set_slc, is_slc);

    fn raw(&mut self, at: Ppa, command: Raw) {
        self.inner.raw(at, command);
        let times = self.times_at(at);
        let (spare_read, program, spare_program) = (times.spare_read, times.program, times.spare_program);
        let block = self.geometry.block_of(at);
        let moved = |bytes| self.times.part_transfer(bytes);
        match command {
            Raw::Read(bytes) => self.time_read(at, self.array_read(at), moved(bytes)),
            Raw::SpareRead(bytes) => self.time_read(at, spare_read, moved(bytes)),
            Raw::Reprogram(bytes) => {
                self.time_write(block, program, moved(bytes));
            }
            Raw::SpareProgram(bytes) => {
                self.time_write(block, spare_program, moved(bytes));
            }
        }
    }

    fn read_untouched(&mut self) -> bool {
        self.time_all_spare_reads()
    }

    #[inline]
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline]
    fn rules(&self) -> &Rules {
        self.inner.rules()
    }

    #[inline]
    fn read(&mut self, at: Ppa, page: &mut Self::Buf) -> Result<Oob, NandError> {
        let result = self.inner.read(at, page);
        if took_place(&result) {
            let transfer = self.read_transfer();
            self.time_read(at, self.array_read(at), transfer);
        }
        result
    }

    #[inline]
    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        let result = self.inner.read_spare(at);
        if took_place(&result) {
            self.time_read(at, self.times_at(at).spare_read, self.times.spare_transfer);
        }
        result
    }

    #[inline]
    fn program(&mut self, at: Ppa, page: &Self::Buf, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        let result = self.inner.program(at, page, tail, oob);
        if !took_place(&result) {
            return result;
        }
        if EXTRAS {
            let done = self.time_program(at);
            return result.map(|_| done);
        }
        let done = self.time_write(self.geometry.block_of(at), self.times.program, self.times.page_transfer);
        result.map(|_| done)
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        let result = self.inner.read_tail(at, tail);
        if took_place(&result) {
            self.time_read(at, self.array_read(at), self.times.tail_transfer(tail.len()));
        }
        result
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut Self::Buf, tail: &mut [u8]) -> Result<Oob, NandError> {
        let result = self.inner.read_with_tail(at, page, tail);
        if took_place(&result) {
            self.time_read(at, self.array_read(at), self.times.page_transfer);
        }
        result
    }

    #[inline]
    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        let result = self.inner.copy(from, to, oob);
        match result {
            Err(NandError::PowerLost) => {}
            // The page was read and found beyond its ECC; nothing was programmed.
            Err(NandError::Uncorrectable(_)) => {
                self.time_read(from, self.array_read(from), self.times.page_transfer);
            }
            _ => {
                self.time_copy(from, to);
            }
        }
        result
    }

    #[inline]
    fn defers_copies(&self) -> bool {
        !EXTRAS && self.inner.defers_copies()
    }

    #[inline]
    fn issue_copies(&mut self, from: &[Ppa], to: Ppa) {
        self.inner.issue_copies(from, to);
        self.time_copies(from, to);
    }

    #[inline]
    fn carry_out_copies(&mut self, from: &[Ppa], to: Ppa, held: &mut [(Lpn, Kind)]) {
        self.inner.carry_out_copies(from, to, held);
    }

    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        let result = self.inner.program_spare(at, oob);
        if !took_place(&result) {
            return result;
        }
        let block = self.geometry.block_of(at);
        let done = self.time_write(block, self.times_in(block).spare_program, self.times.spare_transfer);
        result.map(|_| done)
    }

    #[inline]
    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        // After the erase, its cells hold all their bits again.
        let erase = self.times_in(block).erase;
        let result = self.inner.erase(block);
        if !took_place(&result) {
            return result;
        }
        let done = self.time_erase(block, erase);
        result.map(|_| done)
    }

    fn retire(&mut self, block: BlockId) -> Result<Done, NandError> {
        let result = self.inner.retire(block);
        if !took_place(&result) {
            return result;
        }
        let done = self.time_write(block, self.times_in(block).spare_program, self.times.spare_transfer);
        result.map(|_| done)
    }

    #[inline]
    fn ctx(&mut self) -> &mut Ctx {
        self.inner.ctx()
    }
}
