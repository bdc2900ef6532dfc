//! Opening zones, and collecting them.

use super::{Copying, Target, ZoneVictim, Zoned};
use crate::zones::State;
use crate::FtlError;
use nandlab_nand::{scoped, Cause, Geometry, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa};
use std::cmp::Reverse;
use std::collections::VecDeque;

impl Zoned {
    /// Opens a zone for the host on the group of dies whose turn it is, emptying victims before.
    #[cold]
    pub(super) fn open_for_host<N: Nand>(&mut self, nand: &mut N) -> Result<u32, FtlError> {
        self.refuse_worn_out()?;
        let full = self.host[self.turn].take();
        self.close(full);
        while self.empty_zones() <= self.config.reserve_zones {
            if !self.collect(nand)? {
                return Err(self.zones.keeper.worn_out(1));
            }
        }
        // What collection wrote may have opened a zone for the host.
        if let Some(zone) = self.host[self.turn].filter(|&zone| self.zones.has_room(zone)) {
            return Ok(zone);
        }
        let zone = self.empty_zone(Some(self.turn)).ok_or_else(|| self.zones.keeper.worn_out(1))?;
        self.zones.open(zone);
        self.host[self.turn] = Some(zone);
        Ok(zone)
    }

    /// Opens a zone for moved pages.
    #[cold]
    pub(super) fn open_for_moved(&mut self) -> Result<u32, FtlError> {
        let full = self.moved.take();
        self.close(full);
        // Failures may have used up the empty zones; room left in a zone of the host is room as well.
        let empty = self.empty_zone(None);
        empty.into_iter().for_each(|zone| self.zones.open(zone));
        let zone = empty.or_else(|| {
            let at = (0..self.host.len()).find(|&at| self.host[at].is_some_and(|zone| self.zones.has_room(zone)))?;
            self.host[at].take()
        });
        self.moved = zone;
        zone.ok_or_else(|| self.zones.keeper.worn_out(1))
    }

    fn close(&mut self, zone: Option<u32>) {
        if let Some(zone) = zone {
            self.closed_at[zone as usize] = self.zones.keeper.seq();
        }
    }

    /// Fails if bad blocks leave too few zones for the exported pages.
    pub(super) fn refuse_worn_out(&self) -> Result<(), FtlError> {
        let needed = self.map.len() as u32 + self.map.most_notes();
        let layout = &self.zones.layout;
        let usable = self.config.usable(self.zones.keeper.geometry(), layout, self.zones.good());
        if usable < needed {
            let blocks = layout.blocks() as u32;
            return Err(self.zones.keeper.worn_out((needed - usable).div_ceil(layout.capacity).saturating_mul(blocks)));
        }
        Ok(())
    }

    fn is_empty(&self, zone: u32) -> bool {
        self.zones.state(zone) == State::Empty && self.zones.can_fill(zone)
    }

    /// Empty zones that can be filled.
    fn empty_zones(&self) -> u32 {
        self.zones.sets_free().min(self.zones.empty())
    }

    /// An empty zone, on this group of dies if it has one.
    fn empty_zone(&self, group: Option<usize>) -> Option<u32> {
        let groups = self.host.len() as u32;
        let near = group.and_then(|group| {
            (group as u32..self.zones.count()).step_by(groups as usize).find(|&zone| self.is_empty(zone))
        });
        near.or_else(|| (0..self.zones.count()).find(|&zone| self.is_empty(zone)))
    }

    /// Whether somebody fills the zone.
    fn is_filled(&self, zone: u32) -> bool {
        self.moved == Some(zone) || self.host.contains(&Some(zone))
    }

    /// The zone to empty next; `None` if nothing would be gained.
    fn victim(&self) -> Option<u32> {
        let closed = (0..self.zones.count()).filter(|&zone| self.zones.written(zone) > 0 && !self.is_filled(zone));
        let gains = closed.filter(|&zone| self.valid.in_zone(zone) < self.zones.layout.capacity);
        match self.config.victim {
            ZoneVictim::Greedy => gains.min_by_key(|&zone| self.valid.in_zone(zone)),
            ZoneVictim::CostBenefit => {
                let worth = |zone: u32| {
                    let valid = f64::from(self.valid.in_zone(zone));
                    let age = (self.zones.keeper.seq() - self.closed_at[zone as usize]) as f64;
                    let capacity = f64::from(self.zones.layout.capacity);
                    if valid == 0.0 {
                        f64::INFINITY
                    } else {
                        (capacity - valid) * age / (2.0 * valid)
                    }
                };
                gains.reduce(|best, zone| if worth(zone) > worth(best) { zone } else { best })
            }
        }
    }

    /// Empties a zone and resets it; false if nothing would be gained.
    fn collect<N: Nand>(&mut self, nand: &mut N) -> Result<bool, FtlError> {
        let Some(victim) = self.victim() else { return Ok(false) };
        scoped(nand, Cause::Gc, |nand| self.empty(nand, victim))?;
        Ok(true)
    }

    /// Resets zones without a valid page while the reserve is not whole: several cuts during collections may have used it
    /// up. Nothing has to be written before, since a mount knows of no trim that flash does not.
    pub(super) fn regain_reserve<N: Nand>(&mut self, nand: &mut N) -> Result<(), FtlError> {
        while self.empty_zones() < self.config.reserve_zones {
            match self.victim() {
                Some(victim) if self.valid.in_zone(victim) == 0 => self.zones.reset(nand, victim)?,
                _ => break,
            }
        }
        Ok(())
    }

    fn empty<N: Nand>(&mut self, nand: &mut N, victim: u32) -> Result<(), FtlError> {
        let was_empty = self.valid.in_zone(victim) == 0;
        let mut left = self.left_by_die(nand.geometry(), victim);
        while left.iter().any(|of_die| !of_die.is_empty()) {
            let die = self.next_die_of_moved()?;
            let fullest =
                (0..left.len()).max_by_key(|&die| (left[die].len(), Reverse(die))).expect("a device has a die");
            let die = if left[die].is_empty() { fullest } else { die };
            let from = left[die].pop_front().map(|at| self.zones.page(victim, at)).expect("it has a page left");
            if self.valid.has(from) {
                self.relocate(nand, from)?;
            }
        }
        // Trims must be on flash before older copies may come back.
        self.write_notes(nand, Target::Moved)?;
        self.settle(nand)?;
        self.zones.reset(nand, victim)?;
        self.events.gc_runs += 1;
        self.events.empty_gc_runs += u64::from(was_empty);
        Ok(())
    }

    /// A zone's valid pages, by die. A page moves within its die as long as the die has one: then no die waits for another
    /// one's read.
    fn left_by_die(&self, geometry: &Geometry, zone: u32) -> Vec<VecDeque<u32>> {
        let mut left = vec![VecDeque::new(); geometry.dies() as usize];
        for at in 0..self.zones.written(zone) {
            let page = self.zones.page(zone, at);
            if self.valid.has(page) {
                left[geometry.die_of(geometry.block_of(page)) as usize].push_back(at);
            }
        }
        left
    }

    /// The die of the next moved page.
    fn next_die_of_moved(&mut self) -> Result<usize, FtlError> {
        let zone = match self.moved {
            Some(zone) if self.zones.has_room(zone) => zone,
            _ => self.open_for_moved()?,
        };
        let layout = &self.zones.layout;
        Ok(layout.die_of(zone, layout.place(self.zones.written(zone)).block) as usize)
    }

    /// Moves a valid page, unchanged, to the zone for moved pages.
    fn relocate<N: Nand>(&mut self, nand: &mut N, from: Ppa) -> Result<(), FtlError> {
        let copied = match self.config.copy {
            Copying::Device => self.copy(nand, from)?,
            Copying::Host => self.copy_by_host(nand, from)?,
        };
        let Some((to, kind, at)) = copied else {
            let held = self.map.holds(nand, from)?;
            return self.replace_lost(nand, held);
        };
        self.map.set(kind, at, to);
        self.valid.remove(from, &self.zones);
        self.valid.add(to, &self.zones);
        Ok(())
    }

    fn copy<N: Nand>(&mut self, nand: &mut N, from: Ppa) -> Result<Option<(Ppa, Kind, Lpn)>, FtlError> {
        let zone = self.zone_for(nand, Target::Moved)?;
        let copied = self.zones.copy(nand, from, zone);
        if self.zones.has_moved() {
            self.follow();
        }
        Ok(copied?.map(|(to, oob)| (to, oob.kind, oob.lpn)))
    }

    /// Reads a page and writes it; a note has nothing but its tail and is written anew.
    fn copy_by_host<N: Nand>(&mut self, nand: &mut N, from: Ppa) -> Result<Option<(Ppa, Kind, Lpn)>, FtlError> {
        let mut page = N::Buf::zeroed(nand.geometry().page_bytes());
        let oob = match nand.read(from, &mut page) {
            Err(NandError::Uncorrectable(_)) => return Ok(None),
            oob => oob?,
        };
        if oob.kind == Kind::TrimNote {
            return self.copy(nand, from);
        }
        let read = nand.ctx().last();
        let before = nand.ctx().after(read);
        let to = self.program(nand, Target::Moved, &page, &[], Oob { aux: 0, ..oob })?;
        nand.ctx().set_ready(before);
        Ok(Some((to, oob.kind, oob.lpn)))
    }
}
