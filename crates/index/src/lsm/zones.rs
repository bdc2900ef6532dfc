//! Files on a zoned drive: each lies in extents of zones, as ZenFS puts the files of RocksDB there.
//!
//! The first zones are two root areas for the manifest, which is written alternately into one and the other and has each
//! file's extents. Every other zone takes files of one lifetime: logs, or tables of one level. A zone whose files are all
//! deleted is emptied. When the drive allows no further active zone, the active zone with the fewest sectors left is
//! finished. When no zone is empty, live extents leave the zone with the most dead sectors (`zones/collect.rs`); the
//! manifest has their new places before the zone is emptied.
//!
//! A log has its extents from the start, because the manifest names it before its first record. They begin at the write
//! pointer of the log zone, and reach as far as the log may grow. The next log begins at the end of its forerunner. So
//! two logs may share unused room; the later one counts then.
//!
//! M. Bjørling, A. Aghayev, H. Holmberg, A. Ramesh, D. Le Moal, G. Ganger, G. Amvrosiadis: ZNS: Avoiding the block
//! interface tax for flash-based SSDs. USENIX ATC 2021.

mod collect;
mod space;
mod step;
mod steps;
mod store;

use super::storage::{self, FileId, Lifetime, Storage};
use crate::IndexError;
use nandlab_block::{BlockDevice, ZoneShape};
use nandlab_nand::{Origin, SECTOR_BYTES};
use space::Space;
use std::collections::{BTreeMap, BTreeSet};
use step::Extent;

/// Empty zones that tables and logs leave to collection.
const RESERVE: usize = 1;
/// A zone is finished if one part in so many of it or less is left.
const WASTE: u64 = 4;
/// Zones beside the root areas: for the log, for two levels, and the reserve.
const ZONES_MIN: u64 = 4;
/// Active zones: both root areas during a checkpoint, the log's, and one for tables.
pub const ACTIVE_ZONES_MIN: u32 = 4;

/// Zones of a root area, on a drive with `zones` of them that take so many `sectors` each.
fn root_zones(unit_bytes: u32, sectors: u64, zones: u64) -> u64 {
    let of_zone = sectors * u64::from(SECTOR_BYTES);
    let in_units = (of_zone - of_zone % u64::from(unit_bytes)).max(1);
    storage::root_bytes(zones * of_zone, unit_bytes).div_ceil(in_units)
}

/// Zones that a tree needs with units of `unit_bytes`, on a drive with `zones` of them that take so many `sectors` each.
pub fn zones_needed(unit_bytes: u32, sectors: u64, zones: u64) -> u64 {
    2 * root_zones(unit_bytes, sectors, zones) + ZONES_MIN
}

#[derive(Clone, Debug)]
struct File {
    extents: Vec<Extent>,
    /// Sectors appended.
    sectors: u64,
    lifetime: Lifetime,
}

impl File {
    fn is_log(&self) -> bool {
        self.lifetime == Lifetime::Log
    }

    fn room(&self) -> u64 {
        self.extents.iter().map(|extent| extent.sectors).sum()
    }

    /// Cuts the file off behind its first `sectors`.
    fn truncate(&mut self, sectors: u64) {
        let mut left = sectors;
        for extent in &mut self.extents {
            extent.sectors = extent.sectors.min(left);
            left -= extent.sectors;
        }
        self.extents.retain(|extent| extent.sectors > 0);
    }
}

/// Files on a zoned drive.
pub struct ZoneFiles<'d> {
    space: Space<'d>,
    unit_bytes: usize,
    /// Bytes moved by one request.
    move_bytes: u64,
    /// Zones of each root area; the areas are the first two.
    root_zones: usize,
    files: BTreeMap<FileId, File>,
    /// The logs of them: few, and looked at with each append.
    logs: BTreeSet<FileId>,
    /// The zone for the log's next sectors.
    log_zone: Option<usize>,
    /// Whether a log was created since the mount.
    has_begun: bool,
    /// A zone under collection takes nothing.
    victim: Option<usize>,
    /// Files under collection, and where they lay before.
    moving: Vec<(FileId, Vec<Extent>)>,
    /// New extents, written by collection.
    arriving: Vec<Extent>,
    /// Where the files of a job under way that moves them will lie, as far as they are moved.
    moves: BTreeMap<FileId, Vec<Extent>>,
    /// Sectors that jobs have still to append to tables.
    promised: u64,
    /// Collections since room was found for a log, for a table or for all tables of a job, and since a file with sectors was
    /// deleted.
    collections: usize,
    moved_bytes: u64,
}

impl std::fmt::Debug for ZoneFiles<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ZoneFiles")
            .field("files", &self.files)
            .field("zones", &self.space.zones)
            .finish_non_exhaustive()
    }
}

impl<'d> ZoneFiles<'d> {
    /// No files yet on `device`, with its zones as reported. Tables leave a zone in requests of `move_bytes`, a whole number of
    /// units.
    ///
    /// # Errors
    /// [`IndexError::Option`] if the device has too few zones, or allows too few active ones.
    pub fn new(
        device: &'d mut dyn BlockDevice,
        shape: ZoneShape,
        unit_bytes: u32,
        move_bytes: u64,
    ) -> Result<Self, IndexError> {
        let space = Space::new(device, shape, unit_bytes);
        let refuse = |why: String| Err(IndexError::option("write_unit_bytes", &unit_bytes, why));
        let sectors = space.zones.iter().map(|zone| zone.capacity).min().unwrap_or(0);
        let unit_sectors = u64::from(unit_bytes / SECTOR_BYTES);
        let units = sectors / unit_sectors;
        if units == 0 {
            return refuse(format!("a zone takes {} bytes, less than a unit", sectors * u64::from(SECTOR_BYTES)));
        }
        if shape.conventional > 0 {
            return refuse(
                "the first zones are conventional, and the manifest needs zones with a write pointer".to_owned(),
            );
        }
        let root_zones = root_zones(unit_bytes, sectors, space.zones.len() as u64);
        if (space.zones.len() as u64) < zones_needed(unit_bytes, sectors, space.zones.len() as u64) {
            return refuse(format!(
                "the drive has {} zones of {} bytes; the manifest takes {}, files need {ZONES_MIN}",
                space.zones.len(),
                sectors * u64::from(SECTOR_BYTES),
                2 * root_zones
            ));
        }
        if (1..ACTIVE_ZONES_MIN).contains(&shape.max_active) {
            return refuse(format!(
                "the drive allows {} active zones; an LSM tree needs {ACTIVE_ZONES_MIN}",
                shape.max_active
            ));
        }
        Ok(Self {
            space,
            unit_bytes: unit_bytes as usize,
            move_bytes,
            root_zones: root_zones as usize,
            files: BTreeMap::new(),
            logs: BTreeSet::new(),
            log_zone: None,
            has_begun: false,
            victim: None,
            moving: Vec::new(),
            arriving: Vec::new(),
            moves: BTreeMap::new(),
            promised: 0,
            collections: 0,
            moved_bytes: 0,
        })
    }

    fn unit_sectors(&self) -> u64 {
        self.unit_bytes as u64 / u64::from(SECTOR_BYTES)
    }

    /// The first zone for files.
    fn first_zone(&self) -> usize {
        2 * self.root_zones
    }

    /// Live sectors by zone; the old places of moved files count until the collection is over.
    fn live(&self) -> Vec<u64> {
        let mut live = vec![0; self.space.zones.len()];
        let before = self.moving.iter().flat_map(|(_, extents)| extents);
        for extent in self.files.values().flat_map(|file| &file.extents).chain(before).chain(&self.arriving) {
            live[self.space.zone_of(extent.start)] += extent.sectors;
        }
        live
    }

    /// Empty zones.
    fn empty_zones(&self, live: &[u64]) -> Vec<usize> {
        let zones = self.first_zone()..self.space.zones.len();
        zones.filter(|&zone| self.space.zones[zone].is_empty() && live[zone] == 0).collect()
    }

    /// Active zones for tables.
    fn data_zones(&self, live: &[u64]) -> Vec<usize> {
        let is_free = |zone: usize| Some(zone) != self.log_zone && Some(zone) != self.victim && !self.has_log(zone);
        let has_files = |zone: usize| live[zone] > 0 || self.space.zones[zone].lifetime.is_some();
        let zones = self.first_zone()..self.space.zones.len();
        zones.filter(|&zone| self.space.zones[zone].is_active() && has_files(zone) && is_free(zone)).collect()
    }

    fn insert(&mut self, id: FileId, file: File) {
        if file.is_log() {
            self.logs.insert(id);
        }
        self.files.insert(id, file);
    }

    fn log_extents(&self) -> impl Iterator<Item = &Extent> + use<'_, 'd> {
        self.logs.iter().flat_map(|log| &self.files[log].extents)
    }

    /// Whether a log has sectors of the zone, written or not.
    fn has_log(&self, zone: usize) -> bool {
        self.log_extents().any(|extent| self.space.zone_of(extent.start) == zone)
    }

    /// Empties zones without live sectors: full ones, and with `all` also active ones.
    fn reclaim(&mut self, all: bool) -> Result<(), IndexError> {
        for (zone, live) in self.live().into_iter().enumerate().skip(self.first_zone()) {
            let takes_more = self.space.zones[zone].left() > 0;
            let in_use = live > 0 || takes_more && (!all || Some(zone) == self.log_zone);
            if !in_use {
                self.empty(zone)?;
            }
        }
        Ok(())
    }

    /// Makes a zone empty. Tables may take it then, so the log no longer goes on there.
    fn empty(&mut self, zone: usize) -> Result<(), IndexError> {
        self.log_zone = self.log_zone.filter(|&log| log != zone);
        self.space.reset(zone)
    }

    /// Makes way for another active zone, if the drive allows none: an active zone without live sectors is emptied, else
    /// the one with the fewest sectors left is finished. A power cut that undoes a finish may leave one zone too many.
    fn make_way(&mut self) -> Result<(), IndexError> {
        while !self.space.may_open() {
            match self.cheapest() {
                Some((dead, None)) => self.empty(dead)?,
                Some((cheapest, Some(_))) => self.space.finish(cheapest)?,
                None => break,
            }
        }
        Ok(())
    }

    /// The active zone that is the cheapest to give up, and the sectors that a finish of it would waste; none if nothing in
    /// it counts.
    fn cheapest(&self) -> Option<(usize, Option<u64>)> {
        let live = self.live();
        let zones = self.first_zone()..self.space.zones.len();
        let is_free = |&zone: &usize| self.space.zones[zone].is_active() && !self.is_promised(zone);
        let left = |zone: usize| self.space.zones[zone].left();
        let cheapest =
            zones.filter(is_free).min_by_key(|&zone| (live[zone] > 0, Some(zone) == self.log_zone, left(zone)))?;
        Some((cheapest, (live[cheapest] > 0).then(|| left(cheapest))))
    }

    /// Whether a log will be written at the zone's write pointer.
    fn is_promised(&self, zone: usize) -> bool {
        let pointer = self.space.zones[zone].start + self.space.zones[zone].written;
        self.log_extents()
            .filter(|extent| self.space.zone_of(extent.start) == zone)
            .any(|extent| extent.end() > pointer)
    }

    /// A zone for tables of this lifetime: an active one with their lifetime that no other job goes on with, else an empty one
    /// if more than `reserve` are left, else the active one with the nearest lifetime. That one comes before an empty zone, too,
    /// if the drive allows no other active zone, and to finish one would waste much, or sectors that are moved to gain room.
    fn zone_for(&mut self, lifetime: Lifetime, reserve: usize) -> Result<usize, IndexError> {
        let live = self.live();
        let alike =
            self.data_zones(&live).into_iter().filter(|&zone| self.space.zones[zone].lifetime == Some(lifetime));
        if let Some(zone) = alike.min_by_key(|&zone| (self.space.is_held(zone), zone)) {
            let may_open = self.space.may_open() && self.empty_zones(&live).len() > reserve.max(RESERVE);
            if !self.space.is_held(zone) || !may_open {
                return Ok(zone);
            }
        }
        if self.empty_zones(&live).len() <= reserve {
            self.reclaim(true)?;
        }
        let live = self.live();
        let distance = |zone: usize| match (self.space.zones[zone].lifetime, lifetime) {
            (Some(Lifetime::Level(there)), Lifetime::Level(here)) => there.abs_diff(here),
            _ => u8::MAX,
        };
        let nearest =
            self.data_zones(&live).into_iter().min_by_key(|&zone| (distance(zone), self.space.is_held(zone), zone));
        let empty = self.empty_zones(&live);
        if let Some(&zone) = empty.get(reserve) {
            match nearest.filter(|_| !self.space.may_open() && self.is_dear()) {
                Some(nearest) => return Ok(nearest),
                None => self.make_way()?,
            }
            self.space.zones[zone].lifetime = Some(lifetime);
            return Ok(zone);
        }
        nearest.ok_or_else(|| self.no_space(self.unit_bytes as u64))
    }

    /// Whether to finish a zone would waste much.
    fn is_dear(&self) -> bool {
        let Some((zone, Some(wasted))) = self.cheapest() else { return false };
        self.victim.is_some() || wasted * WASTE > self.space.whole(zone)
    }

    fn no_space(&self, needed: u64) -> IndexError {
        let (bytes, free) = self.capacity();
        IndexError::NoSpace { needed, free, bytes }
    }

    /// Whether a file of this size finds room, with the reserve left.
    fn fits(&self, sectors: u64, lifetime: Lifetime) -> bool {
        if lifetime == Lifetime::Log {
            return self.log_room(sectors, self.log_reserve(), &[]).is_some();
        }
        let live = self.live();
        let empty = self.empty_zones(&live);
        let spare: u64 = empty.iter().skip(RESERVE).map(|&zone| self.space.whole(zone)).sum();
        let is_alike = |zone: &usize| spare == 0 || self.space.zones[*zone].lifetime == Some(lifetime);
        let open: u64 = self.data_zones(&live).into_iter().filter(is_alike).map(|zone| self.space.room(zone)).sum();
        spare + open >= sectors + self.promised
    }

    /// Empty zones that a log leaves: the reserve, and what is promised to tables.
    fn log_reserve(&self) -> usize {
        let live = self.live();
        let open: u64 = self.data_zones(&live).into_iter().map(|zone| self.space.room(zone)).sum();
        let zone = self.space.whole(self.first_zone());
        RESERVE + self.promised.saturating_sub(open).div_ceil(zone) as usize
    }

    /// Extents for a log of this size: from the log zone's write pointer on, then in empty zones, then `beside` tables.
    fn log_room(&self, sectors: u64, reserve: usize, beside: &[usize]) -> Option<Vec<Extent>> {
        let (mut extents, mut left) = (Vec::new(), sectors);
        let mut take = |zone: usize, room: u64| {
            let start = self.space.zones[zone].start + self.space.zones[zone].written;
            let sectors = room.min(left);
            left -= sectors;
            if sectors > 0 {
                extents.push(Extent { start, sectors });
            }
        };
        let live = self.live();
        let zones = self.first_zone()..self.space.zones.len();
        // An earlier log may not need its empty zones; it fills them after the log zone, in the same order.
        let shared = zones.filter(|&zone| live[zone] > 0 && self.space.zones[zone].is_empty());
        let empty = self.empty_zones(&live);
        for zone in self.log_zone.into_iter().filter(|&zone| self.space.zones[zone].is_active()).chain(shared) {
            take(zone, self.space.room(zone));
        }
        for &zone in empty.iter().skip(reserve) {
            take(zone, self.space.whole(zone));
        }
        for &zone in beside {
            take(zone, self.space.room(zone));
        }
        (left == 0).then_some(extents)
    }

    /// The extents on the device with sectors `from..from + sectors` of a file.
    fn parts(file: &File, mut from: u64, sectors: u64) -> Vec<Extent> {
        let (mut start, mut left, mut parts) = (0, sectors, Vec::new());
        for &extent in &file.extents {
            if from < start + extent.sectors && left > 0 {
                let inside = from - start;
                let part = left.min(extent.sectors - inside);
                parts.push(Extent { start: extent.start + inside, sectors: part });
                (from, left) = (from + part, left - part);
            }
            start += extent.sectors;
        }
        assert!(left == 0, "a file of {start} sectors is asked for {left} behind its end");
        parts
    }

    fn append_table(&mut self, file: FileId, mut bytes: &[u8], origin: Origin) -> Result<(), IndexError> {
        let lifetime = self.files[&file].lifetime;
        while !bytes.is_empty() {
            // The reserve is for collection alone: without it none could begin.
            let zone = self.zone_for(lifetime, RESERVE)?;
            let room = self.space.room(zone) * u64::from(SECTOR_BYTES);
            let (part, rest) = bytes.split_at(room.min(bytes.len() as u64) as usize);
            let extent = self.space.write(zone, part, origin)?;
            let entry = self.files.get_mut(&file).expect("the file is there");
            self.space.join(&mut entry.extents, extent);
            entry.sectors += extent.sectors;
            bytes = rest;
        }
        Ok(())
    }

    fn append_log(&mut self, file: FileId, mut bytes: &[u8], origin: Origin) -> Result<(), IndexError> {
        if self.files[&file].sectors == 0 && !bytes.is_empty() {
            // Earlier logs take no more.
            for log in self.logs.range(..file) {
                let earlier = self.files.get_mut(log).expect("the log is there");
                earlier.truncate(earlier.sectors);
            }
        }
        let entry = &self.files[&file];
        for part in Self::parts(entry, entry.sectors, bytes.len() as u64 / u64::from(SECTOR_BYTES)) {
            let zone = self.space.zone_of(part.start);
            let is_at_pointer = part.start == self.space.zones[zone].start + self.space.zones[zone].written;
            assert!(is_at_pointer, "a log goes on at the write pointer");
            if self.space.zones[zone].is_empty() {
                self.make_way()?;
                self.space.zones[zone].lifetime = Some(Lifetime::Log);
            }
            self.log_zone = Some(zone);
            let (now, rest) = bytes.split_at((part.sectors * u64::from(SECTOR_BYTES)) as usize);
            let extent = self.space.write(zone, now, origin)?;
            self.files.get_mut(&file).expect("the file is there").sectors += extent.sectors;
            bytes = rest;
        }
        Ok(())
    }

    /// The zones of a root area, and the first sector of each counted from the area's start.
    fn root_parts(&self, area: usize) -> impl Iterator<Item = (usize, u64)> + use<> {
        let first = area * self.root_zones;
        let sectors: Vec<u64> = (first..first + self.root_zones).map(|zone| self.space.whole(zone)).collect();
        let mut start = 0;
        sectors.into_iter().enumerate().map(move |(at, sectors)| {
            start += sectors;
            (first + at, start - sectors)
        })
    }
}
