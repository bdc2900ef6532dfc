//! The storage over zones, as the tree sees it.

use super::step::{Extent, Step};
use super::{File, ZoneFiles, RESERVE};
use crate::lsm::codec::Parser;
use crate::lsm::queue::Jobs;
use crate::lsm::storage::{FileId, Lifetime, Storage};
use crate::IndexError;
use nandlab_block::{Op, Payload, Request};
use nandlab_nand::{Origin, Time, SECTOR_BYTES};

const SECTOR: u64 = SECTOR_BYTES as u64;

impl ZoneFiles<'_> {
    /// Cuts the logs of an earlier mount off before later files and before sectors never written.
    fn trim_logs(&mut self) {
        for id in self.logs.clone() {
            let others: Vec<Extent> = self
                .files
                .iter()
                .filter(|(&other, file)| other > id || !file.is_log())
                .flat_map(|(_, file)| file.extents.clone())
                .collect();
            let mut kept = Vec::new();
            for extent in self.files[&id].extents.clone() {
                let zone = &self.space.zones[self.space.zone_of(extent.start)];
                let later =
                    others.iter().filter(|other| other.overlaps(extent)).map(|other| other.start.max(extent.start));
                let end = later.chain([extent.end(), zone.start + zone.written]).min().unwrap_or(extent.start);
                let sectors = end.saturating_sub(extent.start);
                if sectors > 0 {
                    self.space.join(&mut kept, Extent { sectors, ..extent });
                }
                if sectors < extent.sectors {
                    break;
                }
            }
            let log = self.files.get_mut(&id).expect("the file is there");
            log.sectors = kept.iter().map(|extent| extent.sectors).sum();
            log.extents = kept;
        }
    }

    fn damaged(file: FileId, why: String) -> IndexError {
        IndexError::DamagedFile { file: file.0, why }
    }
}

impl Storage for ZoneFiles<'_> {
    fn unit_bytes(&self) -> usize {
        self.unit_bytes
    }

    fn create(&mut self, file: FileId, expected_bytes: u64, lifetime: Lifetime) -> Result<(), IndexError> {
        self.catch_up()?;
        let sectors = expected_bytes.div_ceil(self.unit_bytes as u64).max(1) * self.unit_sectors();
        if !self.fits(sectors, lifetime) {
            self.reclaim(true)?;
        }
        let mut extents = Vec::new();
        if lifetime == Lifetime::Log {
            let mut room = self.log_room(sectors, self.log_reserve(), &[]);
            if room.is_none() && !self.has_begun {
                // Without a log the tree cannot be opened, so the first log takes the reserve and room beside tables.
                room = self.log_room(sectors, 0, &self.data_zones(&self.live()));
            }
            extents = room.ok_or_else(|| self.no_space(expected_bytes))?;
            (self.has_begun, self.collections) = (true, 0);
        } else if !self.fits(sectors, lifetime) {
            return Err(self.no_space(expected_bytes));
        }
        self.insert(file, File { extents, sectors: 0, lifetime });
        Ok(())
    }

    fn append(&mut self, file: FileId, bytes: &[u8], origin: Origin) -> Result<(), IndexError> {
        if self.space.queue.is_planning() {
            if !self.fits(bytes.len() as u64 / SECTOR, self.files[&file].lifetime) {
                return Err(self.no_space(bytes.len() as u64));
            }
            self.plan_step(Step::Append { file, bytes: bytes.to_vec(), origin });
            return Ok(());
        }
        self.catch_up()?;
        if self.files[&file].is_log() {
            self.append_log(file, bytes, origin)?;
        } else {
            self.append_table(file, bytes, origin)?;
        }
        self.wait_for_host()
    }

    fn seal(&mut self, file: FileId) {
        let file = self.files.get_mut(&file).expect("the file is there");
        file.truncate(file.sectors);
    }

    fn room(&self, file: FileId) -> u64 {
        self.files[&file].room() * SECTOR
    }

    fn read(&mut self, file: FileId, offset: u64, mut bytes: &mut [u8], origin: Origin) -> Result<(), IndexError> {
        self.catch_up()?;
        for part in Self::parts(&self.files[&file], offset / SECTOR, bytes.len() as u64 / SECTOR) {
            let (now, rest) = bytes.split_at_mut((part.sectors * SECTOR) as usize);
            self.space.read(part.start, now, origin)?;
            bytes = rest;
        }
        self.wait_for_host()
    }

    fn delete(&mut self, file: FileId) -> Result<(), IndexError> {
        self.logs.remove(&file);
        match self.files.remove(&file) {
            Some(deleted) => {
                if !deleted.extents.is_empty() {
                    self.collections = 0;
                }
                self.reclaim(false)
            }
            None => Ok(()),
        }
    }

    fn sync(&mut self) -> Result<(), IndexError> {
        self.catch_up()?;
        let request = Request { origin: Origin::INDEX_HEADER, ..Request::new(Op::Flush, 0, 0) };
        self.space.queue.make(request, Payload::None)?;
        self.wait_for_host()
    }

    fn place(&self, file: FileId) -> Vec<u8> {
        let extents = self.files[&file].extents.iter();
        extents.flat_map(|extent| [extent.start.to_le_bytes(), extent.sectors.to_le_bytes()].concat()).collect()
    }

    fn adopt(&mut self, file: FileId, place: &[u8], lifetime: Lifetime) -> Result<(), IndexError> {
        let mut parser = Parser(place);
        let mut adopted = File { extents: Vec::new(), sectors: 0, lifetime };
        while let (Some(start), Some(sectors)) = (parser.u64(), parser.u64()) {
            let extent = Extent { start, sectors };
            let zone = self.space.zone_of(start);
            let fits = self.space.zones.get(zone).filter(|there| {
                let end = if adopted.is_log() { there.capacity } else { there.written };
                zone >= self.first_zone() && sectors <= end && start - there.start <= end - sectors
            });
            let other = self.files.values().filter(|other| !other.is_log() && !adopted.is_log());
            let is_taken = other.flat_map(|other| &other.extents).any(|other| other.overlaps(extent));
            if fits.is_none() || is_taken {
                let why = format!("its {sectors} sectors from {start} on are taken, or not written");
                return Err(Self::damaged(file, why));
            }
            self.space.zones[zone].lifetime = Some(lifetime);
            adopted.extents.push(extent);
        }
        adopted.sectors = adopted.room();
        self.insert(file, adopted);
        Ok(())
    }

    fn give_up_rest(&mut self, _is_new: bool) -> Result<(), IndexError> {
        self.trim_logs();
        for (zone, live) in self.live().into_iter().enumerate().skip(self.first_zone()) {
            if live == 0 {
                self.space.reset(zone)?;
            }
        }
        let mut zones = self.first_zone()..self.space.zones.len();
        self.log_zone = zones.find(|&zone| self.has_log(zone) && self.space.zones[zone].is_active());
        Ok(())
    }

    fn root_bytes(&self) -> u64 {
        self.root_parts(0).map(|(zone, _)| self.space.whole(zone)).sum::<u64>() * SECTOR
    }

    fn reset_root(&mut self, area: usize) -> Result<u64, IndexError> {
        if self.space.queue.is_planning() {
            self.plan_step(Step::ResetRoot(area));
            return Ok(0);
        }
        self.root_parts(area).try_for_each(|(zone, _)| self.space.reset(zone))?;
        Ok(0)
    }

    fn append_root(&mut self, area: usize, offset: u64, mut bytes: &[u8]) -> Result<(), IndexError> {
        if self.space.queue.is_planning() {
            self.plan_step(Step::Root { area, offset, bytes: bytes.to_vec() });
            return Ok(());
        }
        self.catch_up()?;
        if offset == 0 {
            // A cut may have left a checkpoint here that never counted.
            self.reset_root(area)?;
        }
        let mut at = offset / SECTOR;
        for (zone, start) in self.root_parts(area) {
            let room = (start + self.space.whole(zone)).saturating_sub(at).min(bytes.len() as u64 / SECTOR);
            if at < start || room == 0 {
                continue;
            }
            assert_eq!(self.space.zones[zone].written, at - start, "the manifest goes on at the write pointer");
            if self.space.zones[zone].is_empty() {
                self.make_way()?;
            }
            let (now, rest) = bytes.split_at((room * SECTOR) as usize);
            self.space.write(zone, now, Origin::INDEX_HEADER)?;
            (at, bytes) = (at + room, rest);
        }
        assert!(bytes.is_empty(), "the manifest stays in its area");
        self.wait_for_host()
    }

    fn read_root(&mut self, area: usize, offset: u64, mut bytes: &mut [u8]) -> Result<(), IndexError> {
        let mut at = offset / SECTOR;
        for (zone, start) in self.root_parts(area) {
            let there = (start + self.space.whole(zone)).saturating_sub(at).min(bytes.len() as u64 / SECTOR);
            if at < start || there == 0 {
                continue;
            }
            let (now, rest) = bytes.split_at_mut((there * SECTOR) as usize);
            self.space.read(self.space.zones[zone].start + at - start, now, Origin::INDEX_HEADER)?;
            (at, bytes) = (at + there, rest);
        }
        self.wait_for_host()
    }

    fn capacity(&self) -> (u64, u64) {
        let zones = self.space.zones.len();
        let bytes: u64 = (0..zones).map(|zone| self.space.whole(zone)).sum();
        let live = self.live();
        let used: u64 = live.iter().sum();
        let all: u64 = (self.first_zone()..zones).map(|zone| self.space.whole(zone)).sum();
        (bytes * SECTOR, all.saturating_sub(used) * SECTOR)
    }

    fn make_room(&mut self, bytes: u64, lifetime: Lifetime, movable: &[FileId]) -> Result<Vec<FileId>, IndexError> {
        let sectors = bytes.div_ceil(self.unit_bytes as u64).max(1) * self.unit_sectors();
        if !self.fits(sectors, lifetime) {
            self.reclaim(true)?;
        }
        // A first log, or a job that moves tables, may have taken the reserve. It comes back while the live sectors of a
        // zone still find room; later no collection could begin.
        let has_reserve = self.empty_zones(&self.live()).len() >= RESERVE;
        if has_reserve && self.fits(sectors, lifetime) {
            self.collections = 0;
            return Ok(Vec::new());
        }
        // Each collection gains something; a tree that is all but full would gain too little each time.
        if self.collections >= 2 * self.space.zones.len() || bytes > self.capacity().1 {
            return Ok(Vec::new());
        }
        self.collections += 1;
        let moved = self.collect(movable, lifetime)?;
        self.wait_for_host()?;
        Ok(moved)
    }

    fn switch_to_moved(&mut self) {
        Self::switch_to_moved(self);
    }

    fn end_moves(&mut self, committed: bool) -> Result<(), IndexError> {
        self.settle_moves(committed)
    }

    fn moved_bytes(&self) -> u64 {
        self.moved_bytes
    }

    fn now(&self) -> Time {
        self.space.queue.now()
    }

    fn set_now(&mut self, time: Time) {
        self.space.queue.set_now(time);
    }

    fn jobs(&mut self) -> Option<&mut dyn Jobs> {
        Some(self)
    }

    fn check(&self, files: &[FileId]) -> Result<(), IndexError> {
        let mut extents: Vec<(Extent, FileId)> = Vec::new();
        for (&id, file) in &self.files {
            if !files.contains(&id) {
                return Err(Self::damaged(id, "it has room and is not in the tree".into()));
            }
            let mut written = file.clone();
            written.truncate(file.sectors);
            extents.extend(written.extents.into_iter().map(|extent| (extent, id)));
        }
        extents.sort_by_key(|(extent, _)| extent.start);
        if let Some(pair) = extents.windows(2).find(|pair| pair[0].0.overlaps(pair[1].0)) {
            let FileId(other) = pair[1].1;
            return Err(Self::damaged(pair[0].1, format!("it shares sector {} with file {other}", pair[1].0.start)));
        }
        let active = self.space.active();
        assert!(self.space.max_active() == 0 || active <= self.space.max_active(), "{active} active zones");
        self.space.check();
        let missing = files.iter().find(|id| !self.files.contains_key(id));
        missing.map_or(Ok(()), |&id| Err(Self::damaged(id, "it is in the tree and has no room".into())))
    }
}
