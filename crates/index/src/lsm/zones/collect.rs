//! The host's collection: live extents leave a zone, and it is emptied.

use super::space::Extent;
use super::{File, ZoneFiles};
use crate::lsm::storage::FileId;
use crate::IndexError;
use nandlab_nand::{Origin, SECTOR_BYTES};

/// Bytes moved by one request.
const MOVE_BYTES: u64 = 256 << 10;

impl ZoneFiles<'_> {
    /// Moves the live extents out of the zone with the fewest, among those with dead ones; returns the moved files.
    ///
    /// Nothing moves if no zone can be emptied so.
    pub(super) fn collect(&mut self, movable: &[FileId]) -> Result<Vec<FileId>, IndexError> {
        let Some(victim) = self.victim(movable) else { return Ok(Vec::new()) };
        self.victim = Some(victim);
        let moved = self.move_out(victim);
        self.victim = None;
        if moved.is_err() {
            // The manifest has the old places.
            self.settle_moves(false)?;
        }
        moved
    }

    /// The zone with the most dead sectors whose files may move and whose live sectors find room elsewhere.
    fn victim(&self, movable: &[FileId]) -> Option<usize> {
        let live = self.live();
        let pinned = |zone: usize| {
            let touches = |extent: &Extent| self.space.zone_of(extent.start) == zone;
            let fixed = self.files.iter().filter(|(id, file)| file.is_log() || !movable.contains(id));
            fixed.flat_map(|(_, file)| &file.extents).any(touches)
        };
        let empty: u64 = self.empty_zones(&live).iter().map(|&zone| self.space.whole(zone)).sum();
        let open = |but: usize| -> u64 {
            self.data_zones(&live).into_iter().filter(|&zone| zone != but).map(|zone| self.space.room(zone)).sum()
        };
        (self.first_zone()..self.space.zones.len())
            .filter(|&zone| live[zone] > 0 && self.space.zones[zone].written > live[zone])
            .filter(|&zone| live[zone] <= empty.max(open(zone)) && !pinned(zone))
            .max_by_key(|&zone| (self.space.zones[zone].written - live[zone], usize::MAX - zone))
    }

    fn move_out(&mut self, victim: usize) -> Result<Vec<FileId>, IndexError> {
        let in_victim =
            |zones: &Self, file: &File| file.extents.iter().any(|extent| zones.space.zone_of(extent.start) == victim);
        let ids: Vec<FileId> = self.files.iter().filter(|(_, file)| in_victim(self, file)).map(|(&id, _)| id).collect();
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

    fn move_extent(&mut self, file: &File, extent: Extent, to: &mut Vec<Extent>) -> Result<(), IndexError> {
        let mut at = extent.start;
        while at < extent.end() {
            let zone = self.zone_for(file.lifetime, 0)?;
            let most = (MOVE_BYTES / u64::from(SECTOR_BYTES)).max(self.unit_sectors());
            let sectors = (extent.end() - at).min(self.space.room(zone)).min(most);
            let mut bytes = vec![0; (sectors * u64::from(SECTOR_BYTES)) as usize];
            self.space.read(at, &mut bytes, Origin::INDEX_LEAF)?;
            let written = self.space.write(zone, &bytes, Origin::INDEX_LEAF)?;
            self.moved_bytes += bytes.len() as u64;
            // The file does not have the extent yet, and the zone is in use.
            self.arriving.push(written);
            self.space.join(to, written);
            at += sectors;
        }
        Ok(())
    }

    /// Ends a collection: the old extents are given back if the manifest has the new ones, else the new ones are.
    pub(super) fn settle_moves(&mut self, committed: bool) -> Result<(), IndexError> {
        self.arriving.clear();
        for (id, old) in std::mem::take(&mut self.moving) {
            if let (false, Some(file)) = (committed, self.files.get_mut(&id)) {
                file.extents = old;
            }
        }
        self.reclaim(false)
    }
}
