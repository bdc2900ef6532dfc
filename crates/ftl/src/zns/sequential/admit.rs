//! What a zone takes, and changes of its state.

use super::Sequential;
use crate::zones::ZoneCount;
use crate::FtlError;
use nandlab_block::{Op, Request, ZoneCommand, ZoneFault, ZoneReport, ZoneState};
use nandlab_nand::{scoped, Cause, Nand, PageBuf, Time, SECTOR_BYTES};

impl Sequential {
    pub(super) fn pitch_sectors(&self) -> u64 {
        u64::from(self.pitch()) * u64::from(self.sectors_per_page)
    }

    pub(super) fn capacity_sectors(&self) -> u64 {
        u64::from(self.zones.layout.capacity) * u64::from(self.sectors_per_page)
    }

    /// The zone of a sector; the last, incomplete one has none.
    fn zone_of(&self, sector: u64) -> Option<u32> {
        let zones = self.zones.count().min(self.logical_pages / self.pitch());
        u32::try_from(sector / self.pitch_sectors()).ok().filter(|&zone| zone < zones)
    }

    /// The zone that begins at a sector.
    fn zone_beginning(&self, sector: u64) -> Result<u32, FtlError> {
        match self.zone_of(sector) {
            Some(zone) if sector % self.pitch_sectors() == 0 => Ok(zone),
            other => refuse(other.unwrap_or(0), ZoneFault::InvalidField),
        }
    }

    pub(super) fn report(&self, sector: u64) -> Option<ZoneReport> {
        let zone = self.zone_of(sector)?;
        let (start, state) = (u64::from(zone) * self.pitch_sectors(), self.states[zone as usize]);
        let takes_none = matches!(state, ZoneState::Full | ZoneState::ReadOnly);
        let write_pointer = (!takes_none).then(|| start + self.write_pointer(zone));
        Some(ZoneReport {
            start,
            capacity: self.capacity_sectors(),
            write_pointer,
            state,
            has_random_area: self.is_random(zone),
        })
    }

    /// The zones that the host sees, each with its counts.
    pub(super) fn by_zone(&self) -> Vec<ZoneCount> {
        let count = |(zone, &(written_sectors, resets)): (u64, &(u64, u64))| {
            let report = self.report(zone * self.pitch_sectors())?;
            let write_pointer = report.write_pointer.map(|at| at - report.start);
            Some(ZoneCount { state: report.state, write_pointer, written_sectors, resets })
        };
        (0..).zip(&self.counts).map_while(count).collect()
    }

    pub(super) fn admit_request<N: Nand>(&mut self, nand: &mut N, request: &Request) -> Result<Request, FtlError> {
        match request.op {
            Op::Write => {
                let Some(zone) = self.zone_of(request.sector) else { return refuse(0, ZoneFault::Boundary) };
                let at = request.sector - u64::from(zone) * self.pitch_sectors();
                self.refuse_unwritable(zone)?;
                if self.is_random(zone) {
                    self.admit_random(nand, zone, at, at + u64::from(request.sectors))?;
                    return Ok(*request);
                }
                if at != self.write_pointer(zone) {
                    return refuse(zone, ZoneFault::InvalidWrite);
                }
                self.admit_write(nand, zone, request.sectors)?;
                Ok(*request)
            }
            Op::Append => {
                let zone = self.zone_beginning(request.sector)?;
                self.refuse_unwritable(zone)?;
                if self.is_random(zone) {
                    return refuse(zone, ZoneFault::InvalidOperation);
                }
                let bytes = u64::from(request.sectors) * u64::from(SECTOR_BYTES);
                if self.options.max_append.is_some_and(|most| bytes > most.0) {
                    return refuse(zone, ZoneFault::InvalidField);
                }
                self.admit_write(nand, zone, request.sectors)?;
                self.used.appends += 1;
                Ok(Request { op: Op::Write, sector: request.sector + self.write_pointer(zone), ..*request })
            }
            Op::Zone(ZoneCommand::Commit) => {
                let Some(zone) = self.zone_of(request.sector) else { return refuse(0, ZoneFault::InvalidField) };
                self.refuse_unwritable(zone)?;
                self.commit(nand, zone, request.sector - u64::from(zone) * self.pitch_sectors())?;
                Ok(*request)
            }
            Op::Zone(command) => {
                let zone = self.zone_beginning(request.sector)?;
                self.change(nand, zone, command)?;
                Ok(*request)
            }
            Op::Read if self.reads_across(request) => {
                refuse(self.zone_of(request.sector).unwrap_or(0), ZoneFault::Boundary)
            }
            Op::Read | Op::Trim | Op::Flush | Op::UnitUpdate => Ok(*request),
        }
    }

    /// Whether a read goes from one zone into the next and may not.
    fn reads_across(&self, request: &Request) -> bool {
        let last = request.end().saturating_sub(1).max(request.sector);
        !self.options.read_across_zones && request.sector / self.pitch_sectors() != last / self.pitch_sectors()
    }

    fn refuse_unwritable(&self, zone: u32) -> Result<(), FtlError> {
        match self.states[zone as usize] {
            ZoneState::Full => refuse(zone, ZoneFault::Full),
            ZoneState::ReadOnly => refuse(zone, ZoneFault::ReadOnly),
            _ => Ok(()),
        }
    }

    /// Admits sectors at a zone's write pointer, and opens the zone for them.
    fn admit_write(&mut self, nand: &mut impl Nand, zone: u32, sectors: u32) -> Result<(), FtlError> {
        if self.write_pointer(zone) + u64::from(sectors) > self.capacity_sectors() {
            return refuse(zone, ZoneFault::Boundary);
        }
        self.open_for_write(nand, zone)
    }

    /// Opens a zone for a write, which waits until the zone is open.
    pub(super) fn open_for_write(&mut self, nand: &mut impl Nand, zone: u32) -> Result<(), FtlError> {
        let was_open = self.states[zone as usize].is_open();
        self.open(zone, ZoneState::ImplicitlyOpened)?;
        if !was_open {
            self.opened_at[zone as usize] = take_time(nand, self.times.implicit_open_us);
        }
        nand.ctx().begin_no_earlier(self.opened_at[zone as usize]);
        Ok(())
    }

    /// Opens a zone, if it is not open.
    pub(super) fn open(&mut self, zone: u32, to: ZoneState) -> Result<(), FtlError> {
        let state = self.states[zone as usize];
        if state.is_open() {
            if to == ZoneState::ExplicitlyOpened {
                self.opened.retain(|&other| other != zone);
                self.states[zone as usize] = to;
            }
            return Ok(());
        }
        let (max_open, max_active) = (self.options.max_open, self.options.max_active);
        if !state.is_active() && max_active > 0 && self.active >= max_active {
            return refuse(zone, ZoneFault::TooManyActive);
        }
        if max_open > 0 && self.open >= max_open {
            let Some(oldest) = self.opened.pop_front() else { return refuse(zone, ZoneFault::TooManyOpen) };
            self.states[oldest as usize] = ZoneState::Closed;
            self.open -= 1;
            self.used.implicit_closes += 1;
        }
        self.open += 1;
        self.active += u32::from(!state.is_active());
        self.states[zone as usize] = to;
        if to == ZoneState::ImplicitlyOpened {
            self.opened.push_back(zone);
        }
        self.used.most_open = self.used.most_open.max(self.open);
        self.used.most_active = self.used.most_active.max(self.active);
        Ok(())
    }

    /// Takes a zone from the open and the active ones.
    pub(super) fn leave(&mut self, zone: u32, to: ZoneState) {
        let state = self.states[zone as usize];
        self.open -= u32::from(state.is_open());
        self.active -= u32::from(state.is_active());
        self.active += u32::from(to.is_active());
        self.opened.retain(|&other| other != zone);
        self.states[zone as usize] = to;
    }

    fn change<N: Nand>(&mut self, nand: &mut N, zone: u32, command: ZoneCommand) -> Result<(), FtlError> {
        let state = self.states[zone as usize];
        match (command, state) {
            (_, ZoneState::ReadOnly) | (ZoneCommand::Open | ZoneCommand::OpenRandom, ZoneState::Full) => {
                refuse(zone, ZoneFault::InvalidTransition)
            }
            (ZoneCommand::Commit, _) => unreachable!("a commit names a sector of the area"),
            (ZoneCommand::OpenRandom, _) => {
                self.open_random(zone)?;
                self.opened_at[zone as usize] = take_time(nand, self.times.open_us);
                self.used.random_opens += 1;
                Ok(())
            }
            (ZoneCommand::Close, ZoneState::Empty | ZoneState::Full) => refuse(zone, ZoneFault::InvalidTransition),
            (ZoneCommand::Open, _) => {
                self.open(zone, ZoneState::ExplicitlyOpened)?;
                self.opened_at[zone as usize] = take_time(nand, self.times.open_us);
                self.used.opens += 1;
                Ok(())
            }
            (ZoneCommand::Close, _) => {
                self.leave(zone, ZoneState::Closed);
                take_time(nand, self.times.close_us);
                self.used.closes += 1;
                Ok(())
            }
            (ZoneCommand::Finish, _) => {
                self.used.finishes += 1;
                self.finish(nand, zone)
            }
            (ZoneCommand::Reset, _) => {
                self.used.resets += 1;
                self.counts[zone as usize].1 += 1;
                self.reset(nand, zone)
            }
        }
    }

    /// Fills a zone.
    fn finish<N: Nand>(&mut self, nand: &mut N, zone: u32) -> Result<(), FtlError> {
        let page_bytes = nand.geometry().page_bytes();
        let waiting = self.waiting[zone as usize].as_ref().map_or(0, |waiting| waiting.written());
        self.commit_pages(nand, zone, waiting)?;
        self.waiting[zone as usize] = None;
        self.stage.forget_zone(zone);
        let blank = N::Buf::zeroed(page_bytes);
        scoped(nand, Cause::Finish, |nand| {
            while self.zones.has_room(zone) {
                self.program(nand, zone, &blank)?;
                self.used.filled_pages += 1;
            }
            Ok::<(), FtlError>(())
        })?;
        self.leave(zone, ZoneState::Full);
        Ok(())
    }

    fn reset<N: Nand>(&mut self, nand: &mut N, zone: u32) -> Result<(), FtlError> {
        let share = self.write_pointer(zone) as f64 / self.capacity_sectors() as f64;
        let is_void_later = self.void_before_reset(nand, zone)?;
        self.waiting[zone as usize] = None;
        self.zones.reset(nand, zone)?;
        if is_void_later {
            self.void_staged(nand, zone)?;
        }
        if let Some(reset) = self.times.reset {
            take_time(nand, reset.us(share));
        }
        self.leave(zone, ZoneState::Empty);
        Ok(())
    }
}

/// The controller works so long for the request; returns when it is done.
fn take_time(nand: &mut impl Nand, us: f64) -> Time {
    let ctx = nand.ctx();
    let done = ctx.arrival() + (us * 1000.0).round() as Time;
    ctx.answer_no_earlier(done);
    done
}

fn refuse<T>(zone: u32, fault: ZoneFault) -> Result<T, FtlError> {
    Err(FtlError::Zone { zone, fault })
}
