//! The host's collection: live extents leave a zone, and it is emptied.

use super::step::{Extent, Step};
use super::{File, ZoneFiles};
use crate::lsm::storage::{FileId, Lifetime};
use crate::IndexError;
use nandlab_nand::{Origin, SECTOR_BYTES};
use std::collections::BTreeSet;

impl ZoneFiles<'_> {
    /// Moves the live extents out of the zone with the most dead sectors, for a file of this lifetime; returns the moved
    /// files. A log needs an empty zone: for its sake an active zone is emptied into others, if no zone with dead sectors can be.
    ///
    /// Nothing moves if no zone can be emptied so.
    pub(super) fn collect(&mut self, movable: &[FileId], lifetime: Lifetime) -> Result<Vec<FileId>, IndexError> {
        let Some(victim) = self.victim(movable, lifetime) else { return Ok(Vec::new()) };
        self.victim = Some(victim);
        if self.space.queue.is_planning() {
            return self.plan_moves(victim);
        }
        let moved = self.move_out(victim);
        if moved.is_err() {
            // The manifest has the old places.
            self.settle_moves(false)?;
        }
        moved
    }

    /// The zone with the most dead sectors whose files may move and whose live sectors find room elsewhere.
    fn victim(&self, movable: &[FileId], lifetime: Lifetime) -> Option<usize> {
        let (live, pinned) = (self.live(), self.pinned(movable));
        let empty: u64 = self.empty_zones(&live).iter().map(|&zone| self.space.whole(zone)).sum();
        let active = self.data_zones(&live);
        let open =
            |but: usize| -> u64 { active.iter().filter(|&&zone| zone != but).map(|&zone| self.space.room(zone)).sum() };
        let dead = (self.first_zone()..self.space.zones.len())
            .filter(|&zone| live[zone] > 0 && self.space.zones[zone].written > live[zone])
            .filter(|&zone| live[zone] + self.promised <= empty + open(zone) && !pinned[zone])
            .max_by_key(|&zone| (self.space.zones[zone].written - live[zone], usize::MAX - zone));
        let for_log = || {
            let into_others =
                |zone: &usize| live[*zone] > 0 && live[*zone] + self.promised <= open(*zone) && !pinned[*zone];
            active.iter().copied().filter(into_others).min_by_key(|&zone| (live[zone], zone))
        };
        dead.or_else(|| for_log().filter(|_| lifetime == Lifetime::Log))
    }

    /// By zone: whether a file that may not move has sectors of it.
    fn pinned(&self, movable: &[FileId]) -> Vec<bool> {
        let movable: BTreeSet<FileId> = movable.iter().copied().collect();
        let mut pinned = vec![false; self.space.zones.len()];
        let fixed = self.files.iter().filter(|(id, file)| file.is_log() || !movable.contains(id));
        for extent in fixed.flat_map(|(_, file)| &file.extents) {
            pinned[self.space.zone_of(extent.start)] = true;
        }
        pinned
    }

    /// The files with extents in a zone.
    fn files_in(&self, zone: usize) -> Vec<FileId> {
        let is_in = |file: &File| file.extents.iter().any(|extent| self.space.zone_of(extent.start) == zone);
        self.files.iter().filter(|(_, file)| is_in(file)).map(|(&id, _)| id).collect()
    }

    fn move_out(&mut self, victim: usize) -> Result<Vec<FileId>, IndexError> {
        let ids = self.files_in(victim);
        for &id in &ids {
            let file = self.files[&id].clone();
            let mut extents = Vec::new();
            for &extent in &file.extents {
                if self.space.zone_of(extent.start) == victim {
                    self.move_extent(&file, extent, &mut extents)?;
                } else {
                    extents.push(extent);
                }
            }
            // The old extents stay until the manifest has the new ones.
            self.moving.push((id, file.extents));
            self.files.get_mut(&id).expect("the file is there").extents = extents;
        }
        Ok(ids)
    }

    /// Plans the moves of a job; the files stay where they are until [`Self::switch_to_moved`].
    fn plan_moves(&mut self, victim: usize) -> Result<Vec<FileId>, IndexError> {
        let ids = self.files_in(victim);
        for &id in &ids {
            for extent in self.files[&id].extents.clone() {
                if self.space.zone_of(extent.start) != victim {
                    self.plan_step(Step::Keep { file: id, extent });
                    continue;
                }
                for part in self.cut(extent) {
                    let mut bytes = vec![0; (part.sectors * u64::from(SECTOR_BYTES)) as usize];
                    self.space.read(part.start, &mut bytes, Origin::INDEX_LEAF)?;
                    self.plan_step(Step::Move { file: id, bytes });
                }
            }
        }
        Ok(ids)
    }

    /// The files of a job lie where it has moved them.
    pub(super) fn switch_to_moved(&mut self) {
        self.arriving.clear();
        for (id, extents) in std::mem::take(&mut self.moves) {
            let file = self.files.get_mut(&id).expect("a file that moves is not deleted");
            self.moving.push((id, std::mem::replace(&mut file.extents, extents)));
        }
    }

    /// An extent in parts of one request each.
    fn cut(&self, extent: Extent) -> Vec<Extent> {
        let most = self.move_bytes / u64::from(SECTOR_BYTES);
        let starts = (extent.start..extent.end()).step_by(most as usize);
        starts.map(|start| Extent { start, sectors: most.min(extent.end() - start) }).collect()
    }

    fn move_extent(&mut self, file: &File, extent: Extent, to: &mut Vec<Extent>) -> Result<(), IndexError> {
        for part in self.cut(extent) {
            let mut bytes = vec![0; (part.sectors * u64::from(SECTOR_BYTES)) as usize];
            self.space.read(part.start, &mut bytes, Origin::INDEX_LEAF)?;
            self.wait_for_host()?;
            self.write_moved(file.lifetime, &bytes, to)?;
        }
        Ok(())
    }

    pub(super) fn write_moved(
        &mut self,
        lifetime: Lifetime,
        mut bytes: &[u8],
        to: &mut Vec<Extent>,
    ) -> Result<(), IndexError> {
        while !bytes.is_empty() {
            let zone = self.zone_for(lifetime, 0)?;
            let room = self.space.room(zone) * u64::from(SECTOR_BYTES);
            let (now, rest) = bytes.split_at(room.min(bytes.len() as u64) as usize);
            let written = self.space.write(zone, now, Origin::INDEX_LEAF)?;
            self.moved_bytes += now.len() as u64;
            // The file does not have the extent yet, and the zone is in use.
            self.arriving.push(written);
            self.space.join(to, written);
            bytes = rest;
        }
        Ok(())
    }

    /// Ends a collection: the old extents are given back if the manifest has the new ones, else the new ones are.
    pub(super) fn settle_moves(&mut self, committed: bool) -> Result<(), IndexError> {
        self.arriving.clear();
        self.moves.clear();
        let victim = self.victim.take();
        for (id, old) in std::mem::take(&mut self.moving) {
            if let (false, Some(file)) = (committed, self.files.get_mut(&id)) {
                file.extents = old;
            }
        }
        // An active victim would take tables again, and the reserve would be gone.
        if let Some(victim) = victim.filter(|&victim| self.live()[victim] == 0) {
            self.empty(victim)?;
        }
        self.reclaim(false)
    }
}
