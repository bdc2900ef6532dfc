//! Tracks changes of the file allocation table: free clusters, and growth of the root directory.

use super::{Cache, SECTOR};
use nandlab_block::Error;

impl Cache<'_> {
    /// Clusters and entries of the first table within this byte range of the volume.
    pub(super) fn entries(&mut self, bytes: std::ops::Range<u64>) -> Result<Vec<(u32, u32)>, Error> {
        let (Some(layout), true) = (self.layout, self.is_mounted) else { return Ok(Vec::new()) };
        let table = layout.table();
        let (start, end) = (bytes.start.max(table.start), bytes.end.min(table.end));
        if start >= end {
            return Ok(Vec::new());
        }
        let clusters = layout.entries_in(start - table.start..end - table.start);
        clusters.map(|cluster| Ok((cluster, self.entry(cluster)?))).collect()
    }

    /// A cluster's FAT entry.
    pub(in super::super) fn entry(&mut self, cluster: u32) -> Result<u32, Error> {
        let layout = self.layout.expect("entries are asked for on volumes with a layout");
        let at = layout.entry_at(cluster);
        let mut bytes = [0; 4];
        for n in 0..layout.entry_bytes() {
            let at = layout.table().start + at + n;
            let line = self.line(at / SECTOR as u64, false)?;
            bytes[n as usize] = self.lines[line].bytes[at as usize % SECTOR];
        }
        Ok(layout.entry(&bytes, at, cluster))
    }

    /// Updates the counts after entries changed; `before` holds their old values.
    pub(super) fn note(&mut self, before: &[(u32, u32)]) -> Result<(), Error> {
        let layout = self.layout;
        for &(cluster, was) in before {
            let is = self.entry(cluster)?;
            match (was, is) {
                (0, 0) => {}
                (0, _) => {
                    self.free = self.free.saturating_sub(1);
                    self.freed.remove(&cluster);
                }
                (_, 0) => {
                    self.free += 1;
                    self.freed.insert(cluster);
                }
                _ => {}
            }
            if self.root.contains(&cluster) && layout.is_some_and(|layout| layout.is_link(is)) {
                self.root.insert(is);
                self.unclear = Some(is);
            }
        }
        Ok(())
    }

    /// Clears a new cluster of the FAT32 root directory before the first write to it. The library
    /// clears new clusters of all other directories.
    pub(super) fn clear_root(&mut self, sector: u64) -> Result<(), Error> {
        let Some(layout) = self.layout.filter(|layout| layout.region(sector).is_none()) else { return Ok(()) };
        let Some(cluster) = self.unclear.take() else { return Ok(()) };
        let first = layout.sector_of(cluster);
        (first..first + u64::from(layout.cluster_sectors)).try_for_each(|sector| self.change(sector, 0, &[0; SECTOR]))
    }
}
