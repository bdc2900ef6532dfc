//! Origins: who in the host wrote a page.

/// A page's author: the part of the host that wrote it.
///
/// At most [`Origin::COUNT`] exist; traces, records and reports use their names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Origin(pub u8);

impl Origin {
    /// Table size for origins; the last one is never assigned.
    pub const COUNT: usize = 32;
    /// The host, without further detail.
    pub const HOST: Self = Self(0);
    /// File contents.
    pub const FILE_DATA: Self = Self(1);
    /// A FAT volume's boot sector, and the reserved sectors after it.
    pub const BOOT: Self = Self(2);
    /// A file allocation table.
    pub const FAT: Self = Self(3);
    /// The root directory.
    pub const ROOT_DIRECTORY: Self = Self(4);
    /// Any other directory.
    pub const DIRECTORY: Self = Self(5);
    /// An object header in a flash file system: name, place, size and times.
    pub const OBJECT_HEADER: Self = Self(6);
    /// A journal: SQLite's rollback journal, a file system's log.
    pub const JOURNAL: Self = Self(7);
    /// An index leaf.
    pub const INDEX_LEAF: Self = Self(10);
    /// An inner index page.
    pub const INDEX_INNER: Self = Self(11);
    /// An index root.
    pub const INDEX_ROOT: Self = Self(12);
    /// An index header, with page table and free-page list.
    pub const INDEX_HEADER: Self = Self(13);
    /// File-system inodes.
    pub const INODE: Self = Self(14);
    /// A file-system superblock, and the following group descriptors.
    pub const SUPERBLOCK: Self = Self(15);
    /// Bitmaps for free blocks and inodes.
    pub const BITMAP: Self = Self(18);
    /// The flash translation layer itself, for pages not written by the host.
    pub const FTL: Self = Self(17);

    /// Names by number.
    pub const NAMES: [&'static str; 19] = [
        "host",
        "file_data",
        "boot",
        "fat",
        "root_directory",
        "directory",
        "object_header",
        "journal",
        "wal",
        "database",
        "index_leaf",
        "index_inner",
        "index_root",
        "index_header",
        "inode",
        "superblock",
        "swap",
        "ftl",
        "bitmap",
    ];

    /// The origin with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|&n| n == name).map(|at| Self(at as u8))
    }

    /// The name; `origin_N` for a number without one.
    pub fn name(self) -> String {
        Self::NAMES.get(usize::from(self.0)).map_or_else(|| format!("origin_{}", self.0), |&n| n.to_owned())
    }
}
