//! The options of FAT.

use nandlab_block::ByteCount;

/// Options of `[fs.fat]`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Bits of a FAT entry; `auto`: as many as the clusters need.
    pub fat: FatType,
    /// Bytes of a cluster, a power of two from 512 to 65536; chosen by the size of the volume unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_bytes: Option<ByteCount>,
    /// Entries of the root directory, a multiple of 16; a name takes two or more. Not with FAT32, whose root directory
    /// grows.
    pub root_entries: u16,
    /// Copies of the FAT, 1 or 2.
    pub fats: u8,
    /// Size of the volume; the whole device unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_bytes: Option<ByteCount>,
    /// The first cluster begins at a multiple of so many bytes of the device, so that the volume begins later, as the
    /// partitions of memory cards do. Default: the volume begins with the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align_data: Option<ByteCount>,
    /// When changed sectors go to the device.
    pub write_through: WriteThrough,
    /// Memory for sectors of FAT and directories; file data is not cached, but for the sector that an append goes on in.
    pub cache_bytes: ByteCount,
    /// Whether the clusters of what is removed are trimmed.
    pub trim: bool,
    /// What time stamps show.
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

/// Bits of a FAT entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FatType {
    /// As many as the clusters need.
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
    /// As it is written in an experiment.
    pub(super) fn quoted(self) -> &'static str {
        match self {
            Self::Auto => "\"auto\"",
            Self::Fat12 => "\"fat12\"",
            Self::Fat16 => "\"fat16\"",
            Self::Fat32 => "\"fat32\"",
        }
    }
}

/// When changed sectors go to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteThrough {
    /// Each entry of FAT or directory at once, and each piece of file data.
    Entry,
    /// A sector when another one is changed, and at the end of each operation.
    #[default]
    Sector,
    /// All changed sectors at the end of each operation, each once.
    Operation,
}

/// What time stamps show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeStamps {
    /// Two seconds more with each operation that changes something, from each mount on.
    #[default]
    Counted,
    /// Always the same: a file that is overwritten in place leaves its directory entry alone.
    Fixed,
}
