//! Deltas: sorted records of any size, and changes appended behind them, folded on read.
//!
//! ## Idea
//! After a 16-byte header come the base's slots and records, as at the last fold. Changes are appended behind them: key
//! length plus one, value length (two bytes each), key, value; a value length 65535 means a deleted key. The newest
//! change for a key counts. A zero ends the changes, so an append touches only the sectors with its own bytes: with
//! `write_back = "sectors"` a page costs a sector or two. If no room is left, base and changes are folded into a new
//! base. A page more than seven eighths full is split instead, or it would be folded again soon.
//!
//! ## Differences
//! The motivating paper names the aim, a page layout for variable-size records with cheaper small random writes on
//! flash, but gives no layout. In-page logging keeps its log in the erase unit and below the block device; here it is
//! in the page and above it.
//!
//! ## References
//! H. Yoo et al.: Performance evaluation of a B+tree on various page sizes in NAND flash memory, section 5.
//! S.-W. Lee, B. Moon: Design of flash-based DBMS: an in-page logging approach. SIGMOD 2007.

use super::layout::{
    compare, is_same, number, records, search, short, shortest_separator, Head, Layout, Mode, Put, Span,
};
use crate::pool::PageMut;
use std::ops::Range;

/// Common header, start address for the changes, and four unused bytes.
const HEADER: usize = 16;
const BASE_END_AT: usize = 8;
const SLOT: usize = 2;
const LENGTHS: usize = 4;
const GONE: u16 = u16::MAX;

/// A base with slots and records, and a change log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deltas {
    page: usize,
}

/// A change as it lies in the page.
struct Change {
    key: Range<usize>,
    /// `None`: the key is gone.
    value: Option<Range<usize>>,
}

/// How far the changes go.
struct Log {
    end: usize,
    changes: usize,
}

impl Change {
    fn end(&self) -> usize {
        self.value.as_ref().map_or(self.key.end, |value| value.end)
    }
}

impl Deltas {
    pub(crate) fn new(page: usize) -> Self {
        Self { page }
    }

    fn slot(index: usize) -> usize {
        HEADER + index * SLOT
    }

    fn base_span(page: &[u8], index: usize) -> Span {
        let at = usize::from(short(page, Self::slot(index)));
        let key = at + LENGTHS..at + LENGTHS + usize::from(short(page, at));
        Span { value: key.end..key.end + usize::from(short(page, at + 2)), key }
    }

    fn base_position(page: &[u8], key: &[u8]) -> Result<usize, usize> {
        search(records(page), |index| compare(&page[Self::base_span(page, index).key], key))
    }

    /// The change at `at`, unless the changes end there.
    #[inline]
    fn change(page: &[u8], at: usize) -> Option<Change> {
        if at + LENGTHS > page.len() {
            return None;
        }
        let start = at + LENGTHS;
        let key = start..start + usize::from(short(page, at).checked_sub(1)?);
        let value = match short(page, at + 2) {
            GONE => None,
            length => Some(key.end..key.end + usize::from(length)),
        };
        Some(Change { key, value })
    }

    fn changes(page: &[u8]) -> impl Iterator<Item = Change> + '_ {
        let mut at = number(page, BASE_END_AT) as usize;
        std::iter::from_fn(move || {
            let change = Self::change(page, at)?;
            at = change.end();
            Some(change)
        })
    }

    /// The newest value for `key`, and the changes.
    fn look_up(page: &[u8], key: &[u8]) -> (Option<Range<usize>>, Log) {
        let mut newest = None;
        let mut log = Log { end: number(page, BASE_END_AT) as usize, changes: 0 };
        for change in Self::changes(page) {
            log = Log { end: change.end(), changes: log.changes + 1 };
            if is_same(&page[change.key.clone()], key) {
                newest = Some(change.value);
            }
        }
        let base = || Self::base_position(page, key).ok().map(|index| Self::base_span(page, index).value);
        (newest.unwrap_or_else(base), log)
    }

    fn append(page: &mut PageMut<'_>, at: usize, key: &[u8], value: Option<&[u8]>) {
        page.put(at, &(key.len() as u16 + 1).to_le_bytes());
        page.put(at + 2, &value.map_or(GONE, |value| value.len() as u16).to_le_bytes());
        page.put(at + LENGTHS, key);
        page.put(at + LENGTHS + key.len(), value.unwrap_or_default());
    }

    /// Folds base and changes into a new base, without the record for `without`.
    fn fold(&self, page: &mut PageMut<'_>, without: Option<&[u8]>) {
        let source = page.to_vec();
        let mut spans = Vec::new();
        self.spans(&source, &mut spans);
        spans.retain(|span| without.is_none_or(|key| source[span.key.clone()] != *key));
        self.build(page, Head::of(&source), &spans, &source);
    }

    /// Whether a change can be appended. Each change reserves its slot in the base, so any page folds.
    fn fits(&self, log: &Log, key: &[u8], value: usize) -> bool {
        log.end + LENGTHS + key.len() + value + SLOT * (log.changes + 1) <= self.page
    }
}

impl Layout for Deltas {
    fn room(&self) -> usize {
        self.page - HEADER
    }

    fn cost(&self, key: usize, value: usize) -> usize {
        SLOT + LENGTHS + key + value
    }

    fn used(&self, page: &[u8]) -> usize {
        let mut spans = Vec::new();
        self.spans(page, &mut spans);
        spans.iter().map(|span| self.cost(span.key.len(), span.value.len())).sum()
    }

    fn find(&self, page: &[u8], key: &[u8]) -> Option<Range<usize>> {
        Self::look_up(page, key).0
    }

    fn find_at_most(&self, page: &[u8], key: &[u8]) -> Option<Range<usize>> {
        let mut spans = Vec::new();
        self.spans(page, &mut spans);
        let index = search(spans.len(), |index| page[spans[index].key.clone()].cmp(key));
        spans.get(index.unwrap_or_else(|above| above.saturating_sub(1))).map(|span| span.value.clone())
    }

    fn put(&self, page: &mut PageMut<'_>, key: &[u8], value: &[u8], mode: Mode) -> Put {
        let (old, mut log) = Self::look_up(page, key);
        if !mode.allows(old.is_some()) {
            return Put::Refused;
        }
        if !self.fits(&log, key, value.len()) {
            let replaced = old.as_ref().map_or(0, |old| self.cost(key.len(), old.len()));
            let folded = self.used(page) - replaced + self.cost(key.len(), value.len());
            if folded > self.room() / 8 * 7 {
                return Put::Full;
            }
            // The older value must not take the new one's room.
            self.fold(page, old.is_some().then_some(key));
            log.end = number(page, BASE_END_AT) as usize;
        }
        Self::append(page, log.end, key, Some(value));
        old.map_or(Put::Inserted, |_| Put::Replaced)
    }

    fn remove(&self, page: &mut PageMut<'_>, key: &[u8]) -> bool {
        let (old, log) = Self::look_up(page, key);
        if old.is_none() {
            return false;
        }
        if self.fits(&log, key, 0) {
            Self::append(page, log.end, key, None);
        } else {
            self.fold(page, Some(key));
        }
        true
    }

    fn spans(&self, page: &[u8], spans: &mut Vec<Span>) {
        let base = (0..records(page)).map(|index| Self::base_span(page, index));
        let mut changes: Vec<Change> = Self::changes(page).collect();
        if changes.is_empty() {
            return spans.extend(base);
        }
        // Stable: a key's newest change comes last.
        changes.sort_by(|a, b| page[a.key.clone()].cmp(&page[b.key.clone()]));
        let mut changes = changes.into_iter().peekable();
        let mut base = base.peekable();
        loop {
            let order = match (base.peek(), changes.peek()) {
                (None, None) => return,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(span), Some(change)) => page[span.key.clone()].cmp(&page[change.key.clone()]),
            };
            if order.is_le() {
                // A change replaces its base record.
                spans.extend(base.next().filter(|_| order.is_lt()));
            }
            if order.is_ge() {
                let Some(mut newest) = changes.next() else { return };
                while let Some(newer) = changes.next_if(|next| page[next.key.clone()] == page[newest.key.clone()]) {
                    newest = newer;
                }
                spans.extend(newest.value.map(|value| Span { key: newest.key, value }));
            }
        }
    }

    fn build(&self, page: &mut PageMut<'_>, head: Head, spans: &[Span], source: &[u8]) {
        head.write(page, spans.len());
        let mut at = Self::slot(spans.len());
        for (index, span) in spans.iter().enumerate() {
            page.put(Self::slot(index), &(at as u16).to_le_bytes());
            page.put(at, &(span.key.len() as u16).to_le_bytes());
            page.put(at + 2, &(span.value.len() as u16).to_le_bytes());
            page.put(at + LENGTHS, &source[span.key.clone()]);
            page.put(at + LENGTHS + span.key.len(), &source[span.value.clone()]);
            at += LENGTHS + span.key.len() + span.value.len();
        }
        page.put(BASE_END_AT, &(at as u32).to_le_bytes());
        page.touch(at..self.page).fill(0);
    }

    fn separator(&self, left: &[u8], right: &[u8]) -> usize {
        shortest_separator(left, right)
    }

    fn check(&self, page: &[u8]) -> Result<(), String> {
        let (n, end) = (records(page), number(page, BASE_END_AT) as usize);
        let mut at = Self::slot(n);
        if at > end || end > self.page {
            return Err(format!("{n} slots, and a base to byte {end}"));
        }
        for index in 0..n {
            if usize::from(short(page, Self::slot(index))) != at || at + LENGTHS > end {
                return Err(format!("slot {index} does not lead to byte {at}, where its record is due"));
            }
            at = Self::base_span(page, index).value.end;
        }
        if at != end {
            return Err(format!("the base ends at byte {at}, noted is {end}"));
        }
        while let Some(change) = Self::change(page, at) {
            at = change.end();
            if at > self.page {
                return Err(format!("a change ends at byte {at}"));
            }
        }
        if page[at..].iter().any(|&byte| byte != 0) {
            return Err(format!("the bytes from {at} on are not zero"));
        }
        Ok(())
    }
}
