//! FAT options.

use nandlab_block::ByteCount;

/// Options of `[fs.fat]`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Bits per FAT entry; `auto` picks the width by cluster count.
    pub fat: FatType,
    /// Bytes per cluster, a power of two from 512 to 65536. Default: chosen by volume size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_bytes: Option<ByteCount>,
    /// Root directory entries, a multiple of 16; a name takes two or more. Not for FAT32,
    /// because its root directory grows.
    pub root_entries: u16,
    /// FAT copies, 1 or 2.
    pub fats: u8,
    /// Volume size. Default: the whole device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_bytes: Option<ByteCount>,
    /// The first cluster's alignment on the device, in bytes; the volume starts later, like the
    /// partitions on memory cards. Default: the volume starts with the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align_data: Option<ByteCount>,
    /// Device write policy for changed sectors.
    pub write_through: WriteThrough,
    /// Cache for FAT and directory sectors; the only file data cached is the sector continued by
    /// the next append.
    pub cache_bytes: ByteCount,
    /// Whether to trim clusters when files and directories are removed.
    pub trim: bool,
    /// Time stamp source.
    pub time_stamps: TimeStamps,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            fat: FatType::Auto,
            cluster_bytes: None,
            root_entries: 512,
            fats: 2,
            volume_bytes: None,
            align_data: None,
            write_through: WriteThrough::Sector,
            cache_bytes: ByteCount(64 << 10),
            trim: false,
            time_stamps: TimeStamps::Counted,
        }
    }
}

/// Bits per FAT entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FatType {
    /// Chosen by cluster count.
    #[default]
    Auto,
    /// 12 bits: up to 4,084 clusters.
    Fat12,
    /// 16 bits: 4,085 to 65,524 clusters.
    Fat16,
    /// 32 bits: from 65,525 clusters on.
    Fat32,
}

impl FatType {
    /// The value as in an experiment file.
    pub(super) fn quoted(self) -> &'static str {
        match self {
            Self::Auto => "\"auto\"",
            Self::Fat12 => "\"fat12\"",
            Self::Fat16 => "\"fat16\"",
            Self::Fat32 => "\"fat32\"",
        }
    }
}

/// Device write policy for changed sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteThrough {
    /// Immediately, for each FAT or directory entry and each file data piece.
    Entry,
    /// A sector at a time, when the next sector is changed and when an operation ends.
    #[default]
    Sector,
    /// When an operation ends, each changed sector once.
    Operation,
}

/// Time stamp source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeStamps {
    /// A counter: two seconds more for each changing operation since the mount.
    #[default]
    Counted,
    /// A constant: overwriting a file in place leaves its directory entry unchanged.
    Fixed,
}
