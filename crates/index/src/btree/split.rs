//! Splits.

use super::layout::{search, Layout, Put, Span};
use super::{Tree, LINK_BYTES, NO_PAGE};
use crate::IndexError;

impl Tree<'_> {
    /// Stores a record in a full `leaf`: splits it, and puts separators into the pages along the path.
    pub(super) fn split_upwards(&mut self, leaf: u32, key: &[u8], value: &[u8]) -> Result<Put, IndexError> {
        let (mut separator, mut right, put) = self.split(leaf, 0, key, value)?;
        for level in 1.. {
            let Some(parent) = self.path.pop() else { break };
            let link = right.to_le_bytes();
            let frame = self.node(parent, level)?;
            let done = self.inner.put(&mut self.pool.page_mut(frame), &separator, &link, super::Mode::Insert);
            match done {
                Put::Inserted => return Ok(put),
                Put::Full => (separator, right, _) = self.split(parent, level, &separator, &link)?,
                Put::Replaced | Put::Refused => {
                    return Err(IndexError::damaged(parent, "it has a child for a key that was not there"));
                }
            }
        }
        self.grow(&separator, right)?;
        Ok(put)
    }

    /// A new root above the old one and `right`.
    fn grow(&mut self, separator: &[u8], right: u32) -> Result<(), IndexError> {
        let mut source = self.records_as.lowest_key();
        let mut spans = Vec::with_capacity(2);
        for (key, link) in [(None, self.root), (Some(separator), right)] {
            let start = if key.is_some() { source.len() } else { 0 };
            source.extend_from_slice(key.unwrap_or_default());
            let end = source.len();
            source.extend_from_slice(&link.to_le_bytes());
            spans.push(Span { key: start..end, value: end..end + LINK_BYTES });
        }
        let root = self.allocate()?;
        let old = std::mem::replace(&mut self.root, root);
        self.pool.set_origin(old, self.origin(old, self.levels - 1));
        self.levels += 1;
        self.build(root, self.levels - 1, NO_PAGE, &spans, &source)
    }

    /// Splits `page` with the record stored; returns the separator, the new page, and the record's result.
    fn split(&mut self, page: u32, level: u8, key: &[u8], value: &[u8]) -> Result<(Vec<u8>, u32, Put), IndexError> {
        let (mut bytes, mut spans) = (std::mem::take(&mut self.scratch), std::mem::take(&mut self.spans));
        bytes.clear();
        spans.clear();
        let head = self.copy(page, level, &mut bytes, &mut spans)?;
        let at = bytes.len();
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
        let new = Span { key: at..at + key.len(), value: at + key.len()..bytes.len() };
        let put = match search(spans.len(), |index| bytes[spans[index].key.clone()].cmp(key)) {
            Ok(index) => {
                spans[index] = new;
                Put::Replaced
            }
            Err(index) => {
                spans.insert(index, new);
                Put::Inserted
            }
        };
        let cut = middle(self.layout(level), &spans);
        let (left, right) = spans.split_at(cut);
        let first = &bytes[right[0].key.clone()];
        // In an inner page the first key is the separator itself: all keys below it are in the left half.
        let separator = match level {
            0 => self.leaf.separator(&bytes[left[cut - 1].key.clone()], first),
            _ => first.len(),
        };
        let separator = first[..separator].to_vec();
        let new_page = self.allocate()?;
        self.build(new_page, level, head.next, right, &bytes)?;
        self.build_left(page, level, new_page, left, &bytes)?;
        (self.scratch, self.spans) = (bytes, spans);
        Ok((separator, new_page, put))
    }

    fn build_left(
        &mut self,
        page: u32,
        level: u8,
        right: u32,
        spans: &[Span],
        source: &[u8],
    ) -> Result<(), IndexError> {
        // Only leaves are linked.
        self.build(page, level, if level == 0 { right } else { NO_PAGE }, spans, source)
    }
}

/// Number for records in the left page, so both pages hold about the same bytes.
fn middle(layout: &dyn Layout, spans: &[Span]) -> usize {
    let cost = |span: &Span| layout.cost(span.key.len(), span.value.len());
    let total: usize = spans.iter().map(cost).sum();
    let mut left = 0;
    for (index, span) in spans.iter().enumerate() {
        let with = left + cost(span);
        // The record across the middle goes to the page with its larger part.
        if 2 * with > total {
            let stays = with * 2 - total <= total - left * 2;
            return (index + usize::from(stays)).clamp(1, spans.len() - 1);
        }
        left = with;
    }
    spans.len() / 2
}

#[cfg(test)]
mod tests {
    use super::super::slotted::Slotted;
    use super::*;

    #[test]
    fn halves_are_as_equal_as_records_allow() {
        let layout = Slotted::new(512);
        // A record with n bytes costs n + 6.
        let middle_of = |sizes: &[usize]| {
            let spans: Vec<Span> = sizes.iter().map(|&size| Span { key: 0..0, value: 0..size - 6 }).collect();
            middle(&layout, &spans)
        };
        assert_eq!(middle_of(&[10, 10]), 1);
        assert_eq!(middle_of(&[10, 10, 10]), 2);
        assert_eq!(middle_of(&[100, 10, 10]), 1);
        assert_eq!(middle_of(&[10, 10, 100]), 2);
        assert_eq!(middle_of(&[10, 50, 10, 10]), 2);
        assert_eq!(middle_of(&[50, 10, 40, 20]), 2);
    }
}
