//! Slotted: variable-size records behind a slot directory.
//!
//! ## Idea
//! After a 16-byte header come the slots, two bytes each, in key order; a slot holds its record's start. Records grow
//! from the page's end towards the slots: key length, value length (two bytes each), key, value. A removed record
//! leaves a hole; when no room is left between slots and records, the records are compacted. An insert changes the
//! header, the slots behind its place, and a record far from both: up to three sector runs in a large page.
//!
//! ## References
//! J. Gray, A. Reuter: Transaction Processing, chapter 14. Morgan Kaufmann, 1993.

use super::layout::{
    compare, number, records, search, set_records, short, shortest_separator, Head, Layout, Mode, Put, Span,
};
use crate::pool::PageMut;
use std::ops::Range;

/// Common header, the lowest record's start, total record bytes.
const HEADER: usize = 16;
const LOWEST_AT: usize = 8;
const LIVE_AT: usize = 12;
const SLOT: usize = 2;
const LENGTHS: usize = 4;

/// Slots and records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slotted {
    page: usize,
}

impl Slotted {
    pub(crate) fn new(page: usize) -> Self {
        Self { page }
    }

    fn lowest(page: &[u8]) -> usize {
        number(page, LOWEST_AT) as usize
    }

    /// All records' bytes without their slots.
    fn live(page: &[u8]) -> usize {
        number(page, LIVE_AT) as usize
    }

    fn set_extent(page: &mut PageMut<'_>, lowest: usize, live: usize) {
        page.put(LOWEST_AT, &(lowest as u32).to_le_bytes());
        page.put(LIVE_AT, &(live as u32).to_le_bytes());
    }

    fn slot(index: usize) -> usize {
        HEADER + index * SLOT
    }

    fn span(page: &[u8], index: usize) -> Span {
        let at = usize::from(short(page, Self::slot(index)));
        let key = at + LENGTHS..at + LENGTHS + usize::from(short(page, at));
        Span { value: key.end..key.end + usize::from(short(page, at + 2)), key }
    }

    #[inline]
    fn key(page: &[u8], index: usize) -> &[u8] {
        let at = usize::from(short(page, Self::slot(index)));
        &page[at + LENGTHS..at + LENGTHS + usize::from(short(page, at))]
    }

    fn position(page: &[u8], key: &[u8]) -> Result<usize, usize> {
        search(records(page), |index| compare(Self::key(page, index), key))
    }

    /// Puts a record below the others, and its slot at `index` among `present` slots.
    fn add(page: &mut PageMut<'_>, index: usize, present: usize, key: &[u8], value: &[u8]) {
        let size = LENGTHS + key.len() + value.len();
        let at = Self::lowest(page) - size;
        let live = Self::live(page) + size;
        page.shift_up(Self::slot(index)..Self::slot(present), SLOT);
        page.put(Self::slot(index), &(at as u16).to_le_bytes());
        page.put(at, &(key.len() as u16).to_le_bytes());
        page.put(at + 2, &(value.len() as u16).to_le_bytes());
        page.put(at + LENGTHS, key);
        page.put(at + LENGTHS + key.len(), value);
        set_records(page, present + 1);
        Self::set_extent(page, at, live);
    }

    /// Takes the slot at `index` away; the record becomes a hole.
    fn drop_slot(page: &mut PageMut<'_>, index: usize) {
        let n = records(page);
        let span = Self::span(page, index);
        let (start, end) = (span.key.start - LENGTHS, span.value.end);
        // The lowest record leaves no hole.
        let lowest = if Self::lowest(page) == start { end } else { Self::lowest(page) };
        let live = Self::live(page) - (end - start);
        page.shift_down(Self::slot(index + 1)..Self::slot(n), SLOT);
        set_records(page, n - 1);
        Self::set_extent(page, lowest, live);
    }

    /// Moves the records together at the page's end.
    fn compact(&self, page: &mut PageMut<'_>) {
        let source = page.to_vec();
        let mut spans = Vec::new();
        self.spans(&source, &mut spans);
        self.build(page, Head::of(&source), &spans, &source);
    }
}

impl Layout for Slotted {
    fn room(&self) -> usize {
        // A two-byte slot reaches 65535, and the lowest record in a 65536-byte page begins below.
        self.page - HEADER
    }

    fn cost(&self, key: usize, value: usize) -> usize {
        SLOT + LENGTHS + key + value
    }

    fn used(&self, page: &[u8]) -> usize {
        Self::live(page) + SLOT * records(page)
    }

    fn find(&self, page: &[u8], key: &[u8]) -> Option<Range<usize>> {
        Self::position(page, key).ok().map(|index| Self::span(page, index).value)
    }

    fn find_at_most(&self, page: &[u8], key: &[u8]) -> Option<Range<usize>> {
        let index = Self::position(page, key).unwrap_or_else(|above| above.saturating_sub(1));
        (records(page) > 0).then(|| Self::span(page, index).value)
    }

    fn put(&self, page: &mut PageMut<'_>, key: &[u8], value: &[u8], mode: Mode) -> Put {
        let found = Self::position(page, key);
        if !mode.allows(found.is_ok()) {
            return Put::Refused;
        }
        let mut free = self.room() - self.used(page);
        if let Ok(index) = found {
            let old = Self::span(page, index);
            if old.value.len() == value.len() {
                page.put(old.value.start, value);
                return Put::Replaced;
            }
            free += self.cost(old.key.len(), old.value.len());
        }
        if free < self.cost(key.len(), value.len()) {
            return Put::Full;
        }
        let (index, put) = match found {
            Ok(index) => {
                Self::drop_slot(page, index);
                (index, Put::Replaced)
            }
            Err(index) => (index, Put::Inserted),
        };
        let n = records(page);
        if Self::lowest(page) - Self::slot(n) < self.cost(key.len(), value.len()) {
            self.compact(page);
        }
        Self::add(page, index, n, key, value);
        put
    }

    fn remove(&self, page: &mut PageMut<'_>, key: &[u8]) -> bool {
        let found = Self::position(page, key);
        if let Ok(index) = found {
            Self::drop_slot(page, index);
        }
        found.is_ok()
    }

    fn spans(&self, page: &[u8], spans: &mut Vec<Span>) {
        spans.extend((0..records(page)).map(|index| Self::span(page, index)));
    }

    fn build(&self, page: &mut PageMut<'_>, head: Head, spans: &[Span], source: &[u8]) {
        head.write(page, 0);
        Self::set_extent(page, self.page, 0);
        for (index, span) in spans.iter().enumerate() {
            Self::add(page, index, index, &source[span.key.clone()], &source[span.value.clone()]);
        }
    }

    fn separator(&self, left: &[u8], right: &[u8]) -> usize {
        shortest_separator(left, right)
    }

    fn check(&self, page: &[u8]) -> Result<(), String> {
        let (n, lowest) = (records(page), Self::lowest(page));
        if Self::slot(n) > lowest || lowest > self.page {
            return Err(format!("{n} slots, and records from byte {lowest}"));
        }
        let mut extents = Vec::with_capacity(n);
        for index in 0..n {
            let at = usize::from(short(page, Self::slot(index)));
            if at < lowest || at + LENGTHS > self.page || Self::span(page, index).value.end > self.page {
                return Err(format!("slot {index} leads to byte {at}, records lie from {lowest} to {}", self.page));
            }
            extents.push(at..Self::span(page, index).value.end);
        }
        extents.sort_unstable_by_key(|extent| extent.start);
        if extents.windows(2).any(|pair| pair[0].end > pair[1].start) {
            return Err("two records overlap".to_owned());
        }
        let live: usize = extents.iter().map(Range::len).sum();
        if live != Self::live(page) {
            return Err(format!("records of {live} bytes, noted are {}", Self::live(page)));
        }
        Ok(())
    }
}
