//! The zones of a device as fio keeps them: from what its jobs issued, and from nothing that the device says.
//!
//! zbd.c of fio (master of August 2026), `zbd_adjust_block` and `zbd_convert_to_write_zone`. A zone that is written in part is
//! a *target*, and there are at most `max_open` of them. A write pointer moves when a write is issued. A full zone leaves the
//! targets then, and not with the end of the write as in fio: a drive takes writes in the order of their issue.

use super::ask::{Ask, From, Span};
use nandlab_block::{Op, ZoneCommand};
use nandlab_nand::PlacementId;
use std::ops::Range;

/// What all zones have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Limits {
    /// Bytes from a zone's start to the next one's.
    pub(super) size: u64,
    /// Bytes that can be written to a zone.
    pub(super) capacity: u64,
    /// Most zones written in part at a time; 0 is no limit, and no zone is a target then.
    pub(super) max_open: u32,
    /// Whether the device knows its zones, and so takes resets and finishes.
    pub(super) has_commands: bool,
    /// Bytes of the conventional zones, which come first and keep no write pointer.
    pub(super) conventional: u64,
}

/// A job among zones.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Zoned {
    /// Its number, which tells the zones it writes from those of others.
    pub(super) clone: usize,
    pub(super) is_random: bool,
    /// Shortest requests of reads, writes and trims, in bytes.
    pub(super) least: [u64; 3],
    pub(super) job_max_open: u32,
    pub(super) reads_beyond: bool,
    pub(super) threshold: f64,
    /// Writes from one reset to the next, with the threshold reached; `None`: no such resets.
    pub(super) reset_every: Option<u32>,
}

/// A zone.
#[derive(Clone, Debug, Default)]
struct Zone {
    /// Bytes below the write pointer; the capacity in a full zone.
    written: u64,
    /// Bytes of it that were written.
    data: u64,
    /// The clone that made it a target.
    target_of: Option<usize>,
    /// Whether it is reset before its next write.
    is_stale: bool,
}

/// What comes next for a request at a place that a job chose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// This request; the job moved so many bytes, and goes on in order at `next`.
    Issue { ask: Ask, moved: u64, next: u64 },
    /// A change of a zone first, with no other request of the job outstanding. The request is then sought from another place
    /// on, if there is one.
    Before { zone: usize, command: ZoneCommand, then: Option<u64> },
    /// There is no place for it any more.
    End,
    /// There is no zone that it may write to: others write to as many as there may be.
    Crowded,
}

/// All zones.
#[derive(Debug)]
pub(super) struct Drive {
    pub(super) limits: Limits,
    zones: Vec<Zone>,
    /// Zones written in part, in the order in which they came.
    targets: Vec<usize>,
    /// Written bytes of all zones.
    data: u64,
    /// Writes until the next reset by frequency; `None` before the first write.
    until_reset: Option<u32>,
}

impl Drive {
    pub(super) fn new(limits: Limits, bytes: u64) -> Self {
        let zones = vec![Zone::default(); (bytes / limits.size) as usize];
        Self { limits, zones, targets: Vec::new(), data: 0, until_reset: None }
    }

    fn start(&self, zone: usize) -> u64 {
        zone as u64 * self.limits.size
    }

    /// Whether these bytes are below a write pointer.
    pub(super) fn is_written(&self, ask: Ask) -> bool {
        let zone = (ask.offset / self.limits.size) as usize;
        let end = ask.offset + ask.length;
        end <= self.limits.conventional || end <= self.start(zone) + self.zones[zone].written
    }

    fn rest(&self, zone: usize) -> u64 {
        self.limits.capacity - self.zones[zone].written
    }

    /// Whether the rest of a zone is too short for a write.
    fn has_scrap(&self, zone: usize, least: u64) -> bool {
        (1..least).contains(&self.rest(zone))
    }

    /// The next step for `ask`. A write that waited for a change of its zone has the zone in `chosen`.
    pub(super) fn step(&mut self, job: &Zoned, span: Span, ask: Ask, chosen: &mut Option<usize>) -> Step {
        if ask.offset < self.limits.conventional {
            if ask.offset >= span.start + span.length {
                return Step::End;
            }
            // As it stands, but for what lies in a zone with a write pointer.
            let length = ask.length.min(self.limits.conventional - ask.offset);
            return Step::Issue { ask: Ask { length, ..ask }, moved: length, next: ask.offset + length };
        }
        let zones = (span.start / self.limits.size) as usize..((span.start + span.length) / self.limits.size) as usize;
        match ask.op {
            Op::Write => self.write(job, (span, &zones), ask, chosen),
            Op::Read => self.read(job, &zones, ask),
            _ => self.reset(job, &zones, ask),
        }
    }

    /// Carries a change out that is issued now.
    pub(super) fn change(&mut self, zone: usize, command: ZoneCommand) {
        match command {
            ZoneCommand::Finish => {
                self.zones[zone].written = self.limits.capacity;
                self.leave(zone);
            }
            _ => self.empty(zone),
        }
    }

    /// The request of a change; `None` if the device knows no zones.
    pub(super) fn request(&self, zone: usize, command: ZoneCommand) -> Option<Ask> {
        let ask = Ask {
            op: Op::Zone(command),
            offset: self.start(zone),
            length: 0,
            file: 0,
            placement: PlacementId::NONE,
            from: From::Pattern,
            is_alone: false,
        };
        self.limits.has_commands.then_some(ask)
    }

    fn empty(&mut self, zone: usize) {
        let zone = &mut self.zones[zone];
        self.data -= zone.data;
        (zone.written, zone.data, zone.is_stale) = (0, 0, false);
    }

    fn write(
        &mut self,
        job: &Zoned,
        (span, zones): (Span, &Range<usize>),
        ask: Ask,
        chosen: &mut Option<usize>,
    ) -> Step {
        let least = job.least[1];
        if ask.offset >= span.start + span.length {
            return Step::End;
        }
        // Others may have filled it, or taken its place.
        let is_mine = |zone: &usize| self.limits.max_open == 0 || self.zones[*zone].target_of.is_some();
        let zone = match chosen.take().filter(is_mine) {
            Some(zone) => zone,
            None => {
                let zone = match self.writable(job, (span, zones), ask.offset) {
                    Ok(zone) => zone,
                    Err(step) => return step,
                };
                self.count_write(job, span, zone);
                zone
            }
        };
        if self.zones[zone].is_stale || self.rest(zone) < least {
            *chosen = Some(zone);
            return Step::Before { zone, command: ZoneCommand::Reset, then: None };
        }
        let length = ask.length.min(self.rest(zone)) / least * least;
        let offset = self.start(zone) + self.zones[zone].written;
        self.zones[zone].written += length;
        self.zones[zone].data += length;
        self.data += length;
        if self.rest(zone) == 0 {
            self.leave(zone);
        }
        // A job in order goes on with the next zone, behind what cannot be written.
        let is_full = self.rest(zone) == 0 && !job.is_random;
        let next = if is_full { self.start(zone + 1) } else { offset + length };
        Step::Issue { ask: Ask { offset, length, ..ask }, moved: length, next }
    }

    /// Marks a zone for a reset, as often as the job says.
    fn count_write(&mut self, job: &Zoned, span: Span, zone: usize) {
        let Some(every) = job.reset_every else { return };
        let data = if job.threshold > 0.0 { self.data as f64 } else { 0.0 };
        if data < span.length as f64 * job.threshold {
            return;
        }
        let left = self.until_reset.unwrap_or(every) - 1;
        self.until_reset = Some(if left == 0 { every } else { left });
        self.zones[zone].is_stale |= left == 0;
    }

    /// The zone for a write at `offset`.
    fn writable(&mut self, job: &Zoned, (span, zones): (Span, &Range<usize>), offset: u64) -> Result<usize, Step> {
        let least = job.least[1];
        let first = (offset / self.limits.size) as usize;
        if self.has_scrap(first, least) {
            return Err(self.give_up(job, zones, first));
        }
        if self.take(job, first) {
            return Ok(first);
        }
        let mine: Vec<usize> = self.picked(span, offset).filter(|zone| zones.contains(zone)).collect();
        let Some(&picked) = mine.first() else { return Err(Step::Crowded) };
        if self.rest(picked) >= least {
            return Ok(picked);
        }
        // No zone can be added, so the write goes to another target, in the order in which they came.
        let in_order = self.targets.iter().copied().filter(|zone| zones.contains(zone));
        if let Some(other) = in_order.into_iter().find(|&zone| self.rest(zone) >= least) {
            return Ok(other);
        }
        if !job.is_random {
            return Err(Step::End);
        }
        if self.rest(picked) == 0 {
            return Ok(picked);
        }
        Err(Step::Before { zone: picked, command: ZoneCommand::Finish, then: Some(self.start(picked)) })
    }

    /// The targets, from one on that goes by the place of the write.
    fn picked(&self, span: Span, offset: u64) -> impl Iterator<Item = usize> + '_ {
        let count = self.targets.len();
        let first = u128::from(offset - span.start) * count as u128 / u128::from(span.length);
        (0..count).map(move |at| self.targets[(first as usize + at) % count])
    }

    /// Finishes a zone with a rest that is too short, and goes on with the next one.
    fn give_up(&mut self, job: &Zoned, zones: &Range<usize>, zone: usize) -> Step {
        let next = if zone + 1 < zones.end { Some(zone + 1) } else { None };
        let next = next.or(job.is_random.then_some(zones.start));
        let then = next.map_or(self.start(zones.end), |next| self.start(next));
        Step::Before { zone, command: ZoneCommand::Finish, then: Some(then) }
    }

    /// Makes a zone a target, if it is none and there may be another one.
    fn take(&mut self, job: &Zoned, zone: usize) -> bool {
        let most = self.limits.max_open as usize;
        if most == 0 {
            return true;
        }
        if self.zones[zone].target_of.is_some() {
            return self.rest(zone) > 0;
        }
        let own = self.targets.iter().filter(|&&zone| self.zones[zone].target_of == Some(job.clone)).count();
        if job.job_max_open > 0 && own >= job.job_max_open as usize || self.targets.len() >= most {
            return false;
        }
        self.targets.push(zone);
        self.zones[zone].target_of = Some(job.clone);
        true
    }

    /// A zone is no target any more.
    fn leave(&mut self, zone: usize) {
        self.zones[zone].target_of = None;
        self.targets.retain(|&target| target != zone);
    }

    fn read(&self, job: &Zoned, zones: &Range<usize>, ask: Ask) -> Step {
        let least = job.least[0];
        let issue = |ask: Ask| Step::Issue { ask, moved: ask.length, next: ask.offset + ask.length };
        if job.reads_beyond {
            return issue(ask);
        }
        let first = (ask.offset / self.limits.size) as usize;
        let within = ask.offset - self.start(first);
        let written = self.zones[first].written;
        let is_behind = !job.is_random && within + least > written;
        let (zone, mut within) = if written < least || is_behind {
            match self.nearest(job, zones, (first, least)) {
                Some(zone) => (zone, if job.is_random { within } else { 0 }),
                None => return Step::End,
            }
        } else {
            (first, within)
        };
        let written = self.zones[zone].written;
        if written <= ask.length {
            within = 0;
        } else if job.is_random {
            within = within % (written - ask.length) / least * least;
        }
        let length = ask.length.min(written - within) / least * least;
        issue(Ask { offset: self.start(zone) + within, length, ..ask })
    }

    /// The nearest other zone with so many bytes: the next one for a job in order.
    fn nearest(&self, job: &Zoned, zones: &Range<usize>, (zone, least): (usize, u64)) -> Option<usize> {
        let has = |&zone: &usize| zones.contains(&zone) && self.zones[zone].written >= least;
        let far = zones.len().max(1);
        (1..=far).find_map(|by| {
            let before = || zone.checked_sub(by).filter(|_| job.is_random).filter(has);
            Some(zone + by).filter(has).or_else(before)
        })
    }

    /// A trim, which is a reset here; it passes over empty zones.
    fn reset(&mut self, job: &Zoned, zones: &Range<usize>, ask: Ask) -> Step {
        let first = (ask.offset / self.limits.size) as usize;
        let is_first = self.zones[first].written > 0;
        let found = if is_first { Some(first) } else { self.nearest(job, zones, (first, 1)) };
        let Some(zone) = found else { return Step::End };
        self.empty(zone);
        self.leave(zone);
        let ask = self.request(zone, ZoneCommand::Reset).expect("trims without zones were refused");
        Step::Issue { ask, moved: self.limits.size, next: self.start(zone + 1) }
    }
}
