//! Shape of a volume.

use super::layout::Layout;
use crate::Volume;

/// Shape of a FAT volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits of a FAT entry.
    pub fat_bits: u32,
    /// Sectors in one copy of the FAT.
    pub fat_sectors: u32,
    /// Sectors of the root directory; 0 if it can grow.
    pub root_sectors: u32,
    /// Bytes per cluster.
    pub cluster_bytes: u32,
    /// Number of clusters.
    pub clusters: u32,
}

impl From<Layout> for Shape {
    fn from(layout: Layout) -> Self {
        Self {
            fat_bits: layout.width.bits(),
            fat_sectors: layout.fat_sectors,
            root_sectors: layout.root_sectors,
            cluster_bytes: layout.cluster_bytes() as u32,
            clusters: layout.clusters,
        }
    }
}

impl From<Shape> for Volume {
    fn from(shape: Shape) -> Self {
        Self { unit_bytes: shape.cluster_bytes.into(), units: shape.clusters.into() }
    }
}
