//! A real file system's regions: the bytes with its superblocks, bitmaps, inodes, journal and data.
//!
//! The file system is read from the disk itself: [`ext`] knows ext2, ext3 and ext4, [`xfs`] knows XFS. Positions are
//! fixed when the file system is made, except XFS inode chunks, so one look at each file system suffices. Directories count
//! as data.

mod ext;
mod xfs;

use crate::regions::{Region, Regions};
use nandlab_nand::Origin;
use std::io;

/// Bytes with one origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// First byte.
    pub offset: u64,
    /// Byte count.
    pub length: u64,
    /// Who asks for them.
    pub origin: Origin,
}

/// A volume's source: fills the buffer from an offset on.
pub type Source<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>;

/// A file system found on a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Volume {
    /// `ext4`, `xfs` and the like.
    pub kind: &'static str,
    /// Ascending, without gaps or overlaps, up to the file system's end.
    pub parts: Vec<Part>,
}

impl Volume {
    /// The parts as lines `sector, sectors, origin`, the regions file format.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            let (first, end) = (part.offset / 512, (part.offset + part.length) / 512);
            text.push_str(&format!("{first}, {}, {}\n", end - first, part.origin.name()));
        }
        text
    }

    /// The parts as regions of a disk.
    ///
    /// # Errors
    /// `InvalidData` where no disk can have them.
    pub fn regions(&self) -> io::Result<Regions> {
        let all = self.parts.iter().map(|part| {
            let (sector, end) = (part.offset / 512, (part.offset + part.length) / 512);
            Region { sector, sectors: end - sector, origin: part.origin }
        });
        Regions::new(all.collect()).map_err(|why| damaged(&why))
    }
}

/// Finds the file system on a disk with `size` bytes; `None` without a known one.
///
/// # Errors
/// `InvalidData` if a file system contradicts itself; source errors.
pub fn find(size: u64, source: Source<'_>) -> io::Result<Option<Volume>> {
    if size < 64 << 10 {
        return Ok(None);
    }
    if let Some(found) = ext::find(size, source)? {
        return Ok(Some(found));
    }
    xfs::find(size, source)
}

/// Bytes at the beginning of a disk that tell whether its file system is another one than before.
pub const IDENTITY_BYTES: usize = 2048;

/// What was fixed when the file system was made, and tells it from any other: its size, its layout, its UUID. `None` where
/// the first bytes of the disk are of no known file system.
pub fn identity(first: &[u8; IDENTITY_BYTES]) -> Option<Vec<u8>> {
    ext::identity(first).or_else(|| xfs::identity(first))
}

/// Covers `0..end` with data, except for `metadata`; on overlaps the first part counts.
fn covered(end: u64, mut metadata: Vec<Part>) -> Vec<Part> {
    metadata.retain(|part| part.length > 0 && part.offset < end);
    metadata.sort_by_key(|part| part.offset);
    let mut parts: Vec<Part> = Vec::new();
    let mut at = 0;
    for part in metadata {
        let (start, stop) = (part.offset.max(at), (part.offset + part.length).min(end));
        push(&mut parts, Part { offset: at, length: start - at, origin: Origin::FILE_DATA });
        push(&mut parts, Part { offset: start, length: stop.saturating_sub(start), origin: part.origin });
        at = at.max(stop);
    }
    push(&mut parts, Part { offset: at, length: end - at, origin: Origin::FILE_DATA });
    parts
}

/// Adds a part, merged with the last one if that has the same origin.
fn push(parts: &mut Vec<Part>, part: Part) {
    match parts.last_mut() {
        _ if part.length == 0 => {}
        Some(last) if last.origin == part.origin => last.length += part.length,
        _ => parts.push(part),
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// A little-endian number in a structure on disk.
fn le16(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 2].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn le32(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 4].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// A big-endian number with `count` bytes.
fn be(bytes: &[u8], at: usize, count: usize) -> u64 {
    bytes[at..at + count].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_data_and_neighbours_of_one_origin_one_part() {
        let part = |offset, length, origin| Part { offset, length, origin };
        let found = covered(
            100,
            vec![
                part(50, 20, Origin::JOURNAL),
                part(0, 10, Origin::SUPERBLOCK),
                part(60, 20, Origin::INODE),
                part(10, 5, Origin::SUPERBLOCK),
                part(95, 50, Origin::INODE),
                part(200, 5, Origin::INODE),
            ],
        );
        let expected = [
            part(0, 15, Origin::SUPERBLOCK),
            part(15, 35, Origin::FILE_DATA),
            part(50, 20, Origin::JOURNAL),
            part(70, 10, Origin::INODE),
            part(80, 15, Origin::FILE_DATA),
            part(95, 5, Origin::INODE),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_disk_without_a_file_system_has_none() {
        for byte in [0, 0xff] {
            let found = find(1 << 20, &mut |_, out| {
                out.fill(byte);
                Ok(())
            });
            assert_eq!(found.unwrap(), None);
        }
    }
}
