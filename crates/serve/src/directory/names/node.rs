//! One file's state.

use nandlab_fs::{Attributes, Handle};

/// Type bits in `st_mode`.
pub(super) const TYPE: u32 = 0o170_000;
const SYMLINK: u32 = 0o120_000;

/// Whether `st_mode` means a symbolic link.
pub(super) fn is_symlink(mode: u32) -> bool {
    mode & TYPE == SYMLINK
}

/// A name's target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::directory) enum Kind {
    File,
    Directory,
    Symlink,
}

impl Kind {
    /// Its bits in `st_mode`.
    pub(super) fn mode(self) -> u32 {
        match self {
            Self::File => 0o100_000,
            Self::Directory => 0o040_000,
            Self::Symlink => SYMLINK,
        }
    }
}

/// A file, a directory or a symbolic link.
pub(super) struct Node {
    pub(super) parent: u64,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) generation: u64,
    /// How often programs have it open.
    pub(super) opens: u32,
    /// Open below.
    pub(super) handle: Option<Handle>,
    /// Removed while it was open.
    pub(super) is_hidden: bool,
    /// Newer than the stored ones.
    pub(super) pending: Option<Attributes>,
    /// When its attributes or its name changed last, ns since 1970; 0: not since the mount.
    pub(super) status_ns: u64,
}

impl Node {
    pub(super) fn new(parent: u64, name: String, kind: Kind, generation: u64) -> Self {
        Self { parent, name, kind, generation, opens: 0, handle: None, is_hidden: false, pending: None, status_ns: 0 }
    }
}
