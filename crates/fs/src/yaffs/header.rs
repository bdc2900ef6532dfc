//! The object header: one page per change of name, place, size or time.

use crate::parts::volume::TARGET_BYTES;
use crate::{Attributes, FsError};

/// Bytes in a header, at the end of its page.
pub(super) const BYTES: usize = 512;
/// Most bytes in a name, as in YAFFS.
pub(super) const NAME_BYTES: usize = 255;
const FIXED: usize = 40;
/// Where mode, owner, group and time stand.
const ATTRIBUTES: usize = (FIXED + NAME_BYTES + TARGET_BYTES).next_multiple_of(8);
const _: () = assert!(ATTRIBUTES + 20 <= BYTES, "a header is a page");
/// "YH", then the version.
const MAGIC: [u8; 3] = [b'Y', b'H', 1];

/// Type of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    File = 1,
    Symlink = 2,
    Directory = 3,
    HardLink = 4,
}

/// An object header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) kind: Type,
    pub(super) parent: u32,
    pub(super) size: u64,
    /// Number of file system changes before this one.
    pub(super) time: u64,
    /// The object that owns the contents of this hard link.
    pub(super) equivalent: u32,
    /// The object replaced under this name.
    pub(super) shadows: u32,
    pub(super) name: String,
    /// Target path of a symbolic link.
    pub(super) target: String,
    pub(super) attributes: Attributes,
}

impl Header {
    pub(super) fn to_bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..3].copy_from_slice(&MAGIC);
        bytes[3] = self.kind as u8;
        bytes[4..8].copy_from_slice(&self.parent.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.size.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.time.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.equivalent.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.shadows.to_le_bytes());
        bytes[32] = self.name.len() as u8;
        bytes[33] = self.target.len() as u8;
        let (name, target) = (self.name.as_bytes(), self.target.as_bytes());
        bytes[FIXED..FIXED + name.len()].copy_from_slice(name);
        let at = FIXED + NAME_BYTES;
        bytes[at..at + target.len()].copy_from_slice(target);
        bytes[ATTRIBUTES..ATTRIBUTES + 20].copy_from_slice(&attributes_to_bytes(self.attributes));
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; BYTES]) -> Result<Self, FsError> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let damaged = || FsError::Damaged("a page that is marked as an object header holds none".into());
        let text = |at: usize, len: usize| bytes.get(at..at + len).and_then(|text| String::from_utf8(text.into()).ok());
        let kind = match bytes[3] {
            1 => Type::File,
            2 => Type::Symlink,
            3 => Type::Directory,
            4 => Type::HardLink,
            _ => return Err(damaged()),
        };
        if bytes[..3] != MAGIC {
            return Err(damaged());
        }
        Ok(Self {
            kind,
            parent: word(4),
            size: long(8),
            time: long(16),
            equivalent: word(24),
            shadows: word(28),
            name: text(FIXED, bytes[32].into()).ok_or_else(damaged)?,
            target: text(FIXED + NAME_BYTES, bytes[33].into()).ok_or_else(damaged)?,
            attributes: attributes_from(bytes[ATTRIBUTES..ATTRIBUTES + 20].try_into().expect("20 bytes")),
        })
    }
}

/// Mode, owner, group and time, as they stand in a header and in a checkpoint.
pub(super) fn attributes_to_bytes(attributes: Attributes) -> [u8; 20] {
    let Attributes { mode, owner, group, changed_ns } = attributes;
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&mode.to_le_bytes());
    bytes[4..8].copy_from_slice(&owner.to_le_bytes());
    bytes[8..12].copy_from_slice(&group.to_le_bytes());
    bytes[12..].copy_from_slice(&changed_ns.to_le_bytes());
    bytes
}

/// The reverse.
pub(super) fn attributes_from(bytes: [u8; 20]) -> Attributes {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let changed_ns = u64::from_le_bytes(bytes[12..].try_into().expect("eight bytes"));
    Attributes { mode: word(0), owner: word(4), group: word(8), changed_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_round_trips_and_other_bytes_are_refused() {
        let header = Header {
            kind: Type::Symlink,
            parent: 7,
            size: 1 << 40,
            time: 99,
            equivalent: 3,
            shadows: 4,
            name: "n".repeat(NAME_BYTES),
            target: "t".repeat(TARGET_BYTES),
            attributes: Attributes { mode: 0o120_777, owner: 1000, group: 100, changed_ns: u64::MAX - 1 },
        };
        assert_eq!(Header::from_bytes(&header.to_bytes()), Ok(header));
        assert!(Header::from_bytes(&[0; BYTES]).is_err());
        assert!(Header::from_bytes(&[0xFF; BYTES]).is_err());
    }
}
