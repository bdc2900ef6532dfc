//! A table: sorted records in a file that never changes.
//!
//! ```text
//! data block | data block | ... | index | filter | footer | padding to a whole unit
//! ```
//!
//! A record is its key, two bytes for the value's length (65535: the key is deleted) and the value. Each part ends with
//! a sum that is seeded with the file's number and the part's, so neither damage nor a part of another table is taken
//! for this one. The index has the last key and the end of each data block.

mod builder;
mod cursor;
mod reader;

pub(super) use builder::{Builder, Built};
pub(super) use cursor::{Access, RunCursor};
pub(super) use reader::{Io, Lookup, Table};

use super::codec::sum;
use super::storage::FileId;

/// The length that marks a deleted key.
const TOMBSTONE: u16 = u16::MAX;
/// Bytes of the sum after each part.
const SUM_BYTES: usize = 8;
/// Bytes of the footer: records, tombstones, ends of data and index, blocks, and its sum.
const FOOTER_BYTES: usize = 8 + 8 + 8 + 8 + 4 + 4 + SUM_BYTES;
/// Parts that are no data blocks, as seeds of their sums.
const INDEX_PART: u32 = u32::MAX;
const FILTER_PART: u32 = u32::MAX - 1;
const FOOTER_PART: u32 = u32::MAX - 2;

/// Appends a record.
pub(super) fn put_entry(to: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    to.extend_from_slice(key);
    match value {
        Some(value) => {
            to.extend_from_slice(&(value.len() as u16).to_le_bytes());
            to.extend_from_slice(value);
        }
        None => to.extend_from_slice(&TOMBSTONE.to_le_bytes()),
    }
}

/// A key and its newest state: its value, or `None` if it is deleted.
pub(super) type Item<'a> = (&'a [u8], Option<&'a [u8]>);

/// An item, and its bytes in a table.
type Whole<'a> = (&'a [u8], Option<&'a [u8]>, usize);

/// The record at the front: key, value, and its bytes; `None` if it is not whole.
#[inline]
pub(super) fn entry(bytes: &[u8], key_bytes: usize) -> Option<Whole<'_>> {
    let (key, rest) = bytes.split_at_checked(key_bytes)?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    match u16::from_le_bytes(*length) {
        TOMBSTONE => Some((key, None, key_bytes + 2)),
        length => Some((key, Some(rest.get(..length.into())?), key_bytes + 2 + usize::from(length))),
    }
}

/// Appends the sum of part `part`, which begins at `start`.
fn close(bytes: &mut Vec<u8>, start: usize, file: FileId, part: u32) {
    let sum = sum(file.0 << 32 ^ u64::from(part), &bytes[start..]);
    bytes.extend_from_slice(&sum.to_le_bytes());
}

/// A part without its sum, if the sum is right.
fn opened(bytes: &[u8], file: FileId, part: u32) -> Option<&[u8]> {
    let (contents, stored) = bytes.split_last_chunk::<SUM_BYTES>()?;
    (u64::from_le_bytes(*stored) == sum(file.0 << 32 ^ u64::from(part), contents)).then_some(contents)
}
