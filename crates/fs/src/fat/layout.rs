//! FAT volume layout, from its boot sector.

use nandlab_nand::{Origin, SECTOR_BYTES};

/// Bits per entry in the file allocation table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    Fat12,
    Fat16,
    Fat32,
}

impl Width {
    pub(super) fn bits(self) -> u32 {
        match self {
            Self::Fat12 => 12,
            Self::Fat16 => 16,
            Self::Fat32 => 32,
        }
    }

    /// The width for a cluster count; no volume field records it.
    fn of(clusters: u32) -> Self {
        match clusters {
            0..=4084 => Self::Fat12,
            4085..=65_524 => Self::Fat16,
            _ => Self::Fat32,
        }
    }
}

/// A volume's regions, in sectors: reserved, tables, root directory (empty on FAT32), clusters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) width: Width,
    pub(super) sectors: u32,
    pub(super) cluster_sectors: u32,
    pub(super) reserved: u32,
    pub(super) fats: u32,
    pub(super) fat_sectors: u32,
    pub(super) root_sectors: u32,
    pub(super) clusters: u32,
    /// The root directory's first cluster; 0 if it has its own region.
    pub(super) root_cluster: u32,
}

/// The first cluster number is 2.
pub(super) const FIRST_CLUSTER: u32 = 2;

impl Layout {
    /// Reads a boot sector.
    pub(super) fn parse(boot: &[u8]) -> Result<Self, String> {
        let byte = |at: usize| u32::from(boot[at]);
        let short = |at: usize| byte(at) | byte(at + 1) << 8;
        let long = |at: usize| short(at) | short(at + 2) << 16;
        if short(510) != 0xAA55 {
            return Err("its first sector is no boot sector".to_owned());
        }
        if short(11) != SECTOR_BYTES {
            return Err(format!("it has sectors of {} bytes; here they have {SECTOR_BYTES}", short(11)));
        }
        let (cluster_sectors, reserved, fats) = (byte(13), short(14), byte(16));
        let root_sectors = (short(17) * 32).div_ceil(SECTOR_BYTES);
        let sectors = if short(19) == 0 { long(32) } else { short(19) };
        let fat_sectors = if short(22) == 0 { long(36) } else { short(22) };
        let start = u64::from(reserved) + u64::from(fats) * u64::from(fat_sectors) + u64::from(root_sectors);
        if cluster_sectors == 0 || reserved == 0 || fats == 0 || fat_sectors == 0 || start >= u64::from(sectors) {
            return Err("its boot sector leaves no room for files".to_owned());
        }
        let clusters = (sectors - start as u32) / cluster_sectors;
        let width = Width::of(clusters);
        let entries = u64::from(fat_sectors) * u64::from(SECTOR_BYTES) * 8 / u64::from(width.bits());
        if entries < u64::from(clusters) + u64::from(FIRST_CLUSTER) {
            return Err("its file allocation table has fewer entries than there are clusters".to_owned());
        }
        let root_cluster = if width == Width::Fat32 { long(44) } else { 0 };
        Ok(Self { width, sectors, cluster_sectors, reserved, fats, fat_sectors, root_sectors, clusters, root_cluster })
    }

    fn root_start(&self) -> u32 {
        self.reserved + self.fats * self.fat_sectors
    }

    /// First cluster sector.
    pub(super) fn data_start(&self) -> u32 {
        self.root_start() + self.root_sectors
    }

    /// The root directory's sectors if it has its own region.
    pub(super) fn root_region(&self) -> std::ops::Range<u64> {
        u64::from(self.root_start())..u64::from(self.data_start())
    }

    pub(super) fn cluster_bytes(&self) -> u64 {
        u64::from(self.cluster_sectors) * u64::from(SECTOR_BYTES)
    }

    /// A cluster's first sector.
    pub(super) fn sector_of(&self, cluster: u32) -> u64 {
        u64::from(self.data_start()) + u64::from(cluster - FIRST_CLUSTER) * u64::from(self.cluster_sectors)
    }

    /// A sector's cluster; `None` before the first.
    pub(super) fn cluster_of(&self, sector: u64) -> Option<u32> {
        let at = sector.checked_sub(self.data_start().into())? / u64::from(self.cluster_sectors);
        Some(at as u32 + FIRST_CLUSTER)
    }

    /// The first table's byte range on the volume.
    pub(super) fn table(&self) -> std::ops::Range<u64> {
        let sector = u64::from(SECTOR_BYTES);
        let start = u64::from(self.reserved) * sector;
        start..start + u64::from(self.fat_sectors) * sector
    }

    /// Maps a sector in a table copy to the same sector in the first table; other sectors stay as
    /// they are.
    pub(super) fn first_copy(&self, sector: u64) -> u64 {
        let (start, end) = (u64::from(self.reserved), u64::from(self.root_start()));
        if (start..end).contains(&sector) {
            start + (sector - start) % u64::from(self.fat_sectors)
        } else {
            sector
        }
    }

    /// A sector's region before the clusters; `None` for a cluster sector.
    pub(super) fn region(&self, sector: u64) -> Option<Origin> {
        let before = |end: u32| sector < u64::from(end);
        if before(self.reserved) {
            Some(Origin::BOOT)
        } else if before(self.root_start()) {
            Some(Origin::FAT)
        } else {
            before(self.data_start()).then_some(Origin::ROOT_DIRECTORY)
        }
    }

    /// A cluster's entry; `table` holds the first table's bytes from `from` on.
    pub(super) fn entry(&self, table: &[u8], from: u64, cluster: u32) -> u32 {
        let at = (self.entry_at(cluster) - from) as usize;
        let byte = |n: usize| u32::from(table[at + n]);
        let short = byte(0) | byte(1) << 8;
        match self.width {
            Width::Fat12 if cluster % 2 == 0 => short & 0xFFF,
            Width::Fat12 => short >> 4,
            Width::Fat16 => short,
            Width::Fat32 => (short | byte(2) << 16 | byte(3) << 24) & 0x0FFF_FFFF,
        }
    }

    /// Byte offset for a cluster's entry, rounded down.
    pub(super) fn entry_at(&self, cluster: u32) -> u64 {
        u64::from(cluster) * u64::from(self.width.bits()) / 8
    }

    /// Bytes touched by an entry.
    pub(super) fn entry_bytes(&self) -> u64 {
        u64::from(self.width.bits().div_ceil(8))
    }

    /// Clusters with entries in this byte range in the first table, at least in part.
    pub(super) fn entries_in(&self, bytes: std::ops::Range<u64>) -> std::ops::Range<u32> {
        let bits = u64::from(self.width.bits());
        let first = (bytes.start * 8 / bits) as u32;
        let end = (bytes.end * 8).div_ceil(bits) as u32;
        first.max(FIRST_CLUSTER)..end.min(self.clusters + FIRST_CLUSTER).max(FIRST_CLUSTER)
    }

    /// Whether an entry names another cluster; otherwise the chain ends.
    pub(super) fn is_link(&self, entry: u32) -> bool {
        (FIRST_CLUSTER..self.clusters + FIRST_CLUSTER).contains(&entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fat12() -> Layout {
        Layout {
            width: Width::Fat12,
            sectors: 2880,
            cluster_sectors: 1,
            reserved: 1,
            fats: 2,
            fat_sectors: 9,
            root_sectors: 14,
            clusters: 2847,
            root_cluster: 0,
        }
    }

    /// A table with the chain 3 -> 4 -> 5 -> 6 -> 7 -> 8 and its end, as in textbooks.
    #[test]
    fn entries_of_12_bits_are_read() {
        let table = [0xF0, 0xFF, 0xFF, 0x03, 0x40, 0x00, 0x05, 0x60, 0x00, 0x07, 0x80, 0x00, 0xFF, 0xAF, 0x00];
        let layout = fat12();
        let entries: Vec<u32> = (2..=8).map(|cluster| layout.entry(&table, 0, cluster)).collect();
        assert_eq!(entries, [3, 4, 5, 6, 7, 8, 0xFFF]);
        assert_eq!(layout.entries_in(3..5), 2..4);
        assert_eq!(layout.entries_in(4..5), 2..4);
        assert_eq!(layout.entries_in(5..6), 3..4);
    }

    #[test]
    fn regions_follow_each_other() {
        let layout = fat12();
        let at = |sector| layout.region(sector).map(Origin::name);
        assert_eq!((at(0).as_deref(), at(1).as_deref(), at(18).as_deref()), (Some("boot"), Some("fat"), Some("fat")));
        assert_eq!(
            (at(19).as_deref(), at(32).as_deref(), at(33)),
            (Some("root_directory"), Some("root_directory"), None)
        );
        assert_eq!((layout.first_copy(12), layout.first_copy(3), layout.first_copy(20)), (3, 3, 20));
        assert_eq!((layout.cluster_of(32), layout.cluster_of(33), layout.sector_of(2)), (None, Some(2), 33));
    }
}
