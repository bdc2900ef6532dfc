//! Fixed: fixed-size records in a sorted array.
//!
//! ## Idea
//! After a header with `header_bytes` bytes come the records, key and value, in key order. A record inserted in the
//! middle moves the later ones up.

use super::layout::{number, records, search, set_records, Head, Layout, Mode, Put, Span};
use crate::pool::PageMut;
use std::ops::Range;

/// A sorted record array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    page: usize,
    header: usize,
    key: usize,
    record: usize,
}

impl Fixed {
    pub(crate) fn new(page: usize, header: usize, key: usize, value: usize) -> Self {
        Self { page, header, key, record: key + value }
    }

    fn most(&self) -> usize {
        (self.page - self.header) / self.record
    }

    #[inline]
    fn at(&self, index: usize) -> usize {
        self.header + index * self.record
    }

    #[inline]
    fn value(&self, index: usize) -> Range<usize> {
        self.at(index) + self.key..self.at(index + 1)
    }

    /// The index for `key`, or its insertion point.
    #[inline]
    fn position(&self, page: &[u8], key: &[u8]) -> Result<usize, usize> {
        let n = records(page);
        // Usual key widths are compared as numbers.
        match *key {
            [a, b, c, d] => {
                let wanted = u32::from_be_bytes([a, b, c, d]);
                halve(n, wanted, |index| u32::from_be(number_ne(page, self.at(index))))
            }
            [a, b, c, d, e, f, g, h] => {
                let wanted = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
                halve(n, wanted, |index| {
                    let at = self.at(index);
                    let high = u32::from_be(number_ne(page, at));
                    u64::from(high) << 32 | u64::from(u32::from_be(number_ne(page, at + 4)))
                })
            }
            _ => search(n, |index| page[self.at(index)..self.at(index) + self.key].cmp(key)),
        }
    }
}

/// Four bytes as they lie.
#[inline]
fn number_ne(page: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

/// Binary search without key-dependent branches.
#[inline]
fn halve<T: Ord + Copy>(n: usize, wanted: T, key: impl Fn(usize) -> T) -> Result<usize, usize> {
    if n == 0 {
        return Err(0);
    }
    let (mut base, mut left) = (0, n);
    while left > 1 {
        let half = left / 2;
        base = if key(base + half) <= wanted { base + half } else { base };
        left -= half;
    }
    match key(base).cmp(&wanted) {
        std::cmp::Ordering::Equal => Ok(base),
        std::cmp::Ordering::Less => Err(base + 1),
        std::cmp::Ordering::Greater => Err(base),
    }
}

impl Layout for Fixed {
    fn room(&self) -> usize {
        self.most() * self.record
    }

    fn cost(&self, _: usize, _: usize) -> usize {
        self.record
    }

    fn used(&self, page: &[u8]) -> usize {
        records(page) * self.record
    }

    #[inline]
    fn find(&self, page: &[u8], key: &[u8]) -> Option<Range<usize>> {
        self.position(page, key).ok().map(|index| self.value(index))
    }

    #[inline]
    fn find_at_most(&self, page: &[u8], key: &[u8]) -> Option<Range<usize>> {
        let index = self.position(page, key).unwrap_or_else(|above| above.saturating_sub(1));
        (records(page) > 0).then(|| self.value(index))
    }

    #[inline]
    fn put(&self, page: &mut PageMut<'_>, key: &[u8], value: &[u8], mode: Mode) -> Put {
        let n = records(page);
        let found = self.position(page, key);
        if !mode.allows(found.is_ok()) {
            return Put::Refused;
        }
        match found {
            Ok(index) => {
                page.put(self.value(index).start, value);
                Put::Replaced
            }
            Err(_) if n == self.most() => Put::Full,
            Err(index) => {
                page.shift_up(self.at(index)..self.at(n), self.record);
                page.put(self.at(index), key);
                page.put(self.at(index) + self.key, value);
                set_records(page, n + 1);
                Put::Inserted
            }
        }
    }

    fn remove(&self, page: &mut PageMut<'_>, key: &[u8]) -> bool {
        let Ok(index) = self.position(page, key) else { return false };
        let n = records(page);
        page.shift_down(self.at(index + 1)..self.at(n), self.record);
        set_records(page, n - 1);
        true
    }

    fn spans(&self, page: &[u8], spans: &mut Vec<Span>) {
        spans.extend((0..records(page)).map(|index| {
            let at = self.at(index);
            Span { key: at..at + self.key, value: self.value(index) }
        }));
    }

    fn build(&self, page: &mut PageMut<'_>, head: Head, spans: &[Span], source: &[u8]) {
        head.write(page, spans.len());
        let to = page.touch(self.header..self.at(spans.len()));
        for (record, span) in to.chunks_exact_mut(self.record).zip(spans) {
            record[..self.key].copy_from_slice(&source[span.key.clone()]);
            record[self.key..].copy_from_slice(&source[span.value.clone()]);
        }
    }

    fn separator(&self, _: &[u8], right: &[u8]) -> usize {
        right.len()
    }

    fn check(&self, page: &[u8]) -> Result<(), String> {
        if records(page) > self.most() {
            return Err(format!("{} records, room for {}", records(page), self.most()));
        }
        debug_assert_eq!(page.len(), self.page);
        debug_assert_eq!(Head::of(page).next, number(page, 4));
        Ok(())
    }
}
