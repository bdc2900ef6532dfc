//! The page layout trait, and the common page header.
//!
//! A layout keeps sorted records, keys with values, in one page's bytes. Leaves keep the index records; inner pages
//! keep a record for each child, with its lowest key, and its page number as the value. The first 8 bytes are common:
//! kind, level (0 for a leaf), record count (its meaning is up to the layout), and the next leaf or the next free page.

use crate::pool::PageMut;
use std::cmp::Ordering;
use std::ops::Range;

/// Common header bytes.
pub(crate) const COMMON_BYTES: usize = 8;

/// A page in the tree.
pub(crate) const NODE: u8 = 0xB7;
/// A page in the free list.
pub(crate) const FREE: u8 = 0xF7;

/// The common header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) kind: u8,
    pub(crate) level: u8,
    pub(crate) next: u32,
}

impl Head {
    pub(crate) fn of(page: &[u8]) -> Self {
        Self { kind: page[0], level: page[1], next: number(page, 4) }
    }

    pub(crate) fn write(self, page: &mut PageMut<'_>, records: usize) {
        page.touch(0..2).copy_from_slice(&[self.kind, self.level]);
        set_records(page, records);
        page.put(4, &self.next.to_le_bytes());
    }
}

#[inline]
pub(crate) fn records(page: &[u8]) -> usize {
    usize::from(short(page, 2))
}

#[inline]
pub(crate) fn set_records(page: &mut PageMut<'_>, records: usize) {
    page.put(2, &(records as u16).to_le_bytes());
}

#[inline]
pub(crate) fn short(page: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([page[at], page[at + 1]])
}

#[inline]
pub(crate) fn number(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

/// A record's position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
}

/// When a record is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Only if the key is missing.
    Insert,
    /// Only if the key exists.
    Update,
    /// Always.
    Upsert,
}

impl Mode {
    /// Whether the record is to be stored, given whether the key is there.
    #[inline]
    pub(crate) fn allows(self, is_there: bool) -> bool {
        match self {
            Self::Insert => !is_there,
            Self::Update => is_there,
            Self::Upsert => true,
        }
    }
}

/// Result for a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Put {
    /// The key was not there.
    Inserted,
    /// The key was there, and has a new value.
    Replaced,
    /// The mode does not allow it; nothing was changed.
    Refused,
    /// The page has no room for it, nor after tidying up; its records are as before.
    Full,
}

/// Sorted records in a page. The other methods expect pages accepted by [`Layout::check`].
pub(crate) trait Layout: std::fmt::Debug + Send {
    /// Bytes for records in a page.
    fn room(&self) -> usize;

    /// Bytes a record takes from [`Self::room`].
    fn cost(&self, key: usize, value: usize) -> usize;

    /// Bytes the records in `page` take from [`Self::room`].
    fn used(&self, page: &[u8]) -> usize;

    /// Range for the value of `key`.
    fn find(&self, page: &[u8], key: &[u8]) -> Option<Range<usize>>;

    /// Range for the value whose key is the last not above `key`; the first record's value if all keys are above.
    fn find_at_most(&self, page: &[u8], key: &[u8]) -> Option<Range<usize>>;

    /// Stores a record.
    fn put(&self, page: &mut PageMut<'_>, key: &[u8], value: &[u8], mode: Mode) -> Put;

    /// Removes the record for `key`; `false` if there is none.
    fn remove(&self, page: &mut PageMut<'_>, key: &[u8]) -> bool;

    /// Appends all records to `spans`, in key order.
    fn spans(&self, page: &[u8], spans: &mut Vec<Span>);

    /// Makes `page` anew from records whose bytes lie in `source`; they fit.
    fn build(&self, page: &mut PageMut<'_>, head: Head, spans: &[Span], source: &[u8]);

    /// Length for a separator between neighbours: a prefix from `right`, above `left`.
    fn separator(&self, left: &[u8], right: &[u8]) -> usize;

    /// Checks that the page has this layout.
    fn check(&self, page: &[u8]) -> Result<(), String>;
}

/// Length for the shortest prefix from `right` above `left`; both differ.
pub(crate) fn shortest_separator(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(a, b)| a == b).count() + 1
}

/// Compares two keys; first four bytes at a time as a number, usually enough.
#[inline]
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    if let (Some((first, a)), Some((other, b))) = (a.split_first_chunk::<4>(), b.split_first_chunk::<4>()) {
        return u32::from_be_bytes(*first).cmp(&u32::from_be_bytes(*other)).then_with(|| a.cmp(b));
    }
    a.cmp(b)
}

/// Whether two keys are the same; their last bytes mostly tell.
#[inline]
pub(crate) fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.last() == b.last() && a == b
}

/// Finds `key` among `n` sorted ones: its index, or its insertion point.
#[inline]
pub(crate) fn search(n: usize, mut compare: impl FnMut(usize) -> Ordering) -> Result<usize, usize> {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = (low + high) / 2;
        match compare(middle) {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return Ok(middle),
        }
    }
    Err(low)
}
