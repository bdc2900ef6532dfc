//! Merges.

use super::layout::{number, records, Span};
use super::{Tree, NO_PAGE};
use crate::IndexError;

impl Tree<'_> {
    /// Merges nearly empty pages after a delete from `leaf`, upwards along the path.
    pub(super) fn merge_upwards(&mut self, leaf: u32) -> Result<(), IndexError> {
        let mut page = leaf;
        for level in 0.. {
            let Some(parent) = self.path.pop() else { break };
            let used = self.used(page, level)?;
            if used * 4 >= self.layout(level).room() || !self.merge(page, level, used, parent)? {
                return Ok(());
            }
            page = parent;
        }
        self.shrink()
    }

    fn used(&mut self, page: u32, level: u8) -> Result<usize, IndexError> {
        let frame = self.node(page, level)?;
        Ok(self.layout(level).used(self.pool.page(frame)))
    }

    /// While the root has one child, the child becomes the root.
    fn shrink(&mut self) -> Result<(), IndexError> {
        while self.levels > 1 {
            let old = self.root;
            let frame = self.node(old, self.levels - 1)?;
            let page = self.pool.page(frame);
            if records(page) > 1 {
                return Ok(());
            }
            let link = self.inner.find_at_most(page, &[]);
            let link = link.ok_or_else(|| IndexError::damaged(old, "a root without children"))?;
            self.root = number(page, link.start);
            self.levels -= 1;
            self.release(old)?;
        }
        Ok(())
    }

    /// Merges `page`, with `used` bytes, with the right or the left neighbour below `parent`, if there is room.
    fn merge(&mut self, page: u32, level: u8, used: usize, parent: u32) -> Result<bool, IndexError> {
        let (mut bytes, mut spans) = (Vec::new(), Vec::new());
        self.copy(parent, level + 1, &mut bytes, &mut spans)?;
        let link = |span: &Span| number(&bytes, span.value.start);
        let at = spans.iter().position(|span| link(span) == page);
        let at = at.ok_or_else(|| IndexError::damaged(parent, format!("page {page} is no child of it")))?;
        let rights = [Some(at + 1), Some(at)];
        for right in rights.into_iter().flatten().filter(|&right| right > 0 && right < spans.len()) {
            let neighbour = link(&spans[if right == at { at - 1 } else { right }]);
            let both = used + self.used(neighbour, level)?;
            if used > 0 && both > self.layout(level).room() / 4 * 3 {
                continue;
            }
            self.join(link(&spans[right - 1]), link(&spans[right]), level)?;
            let separator = &bytes[spans[right].key.clone()];
            let frame = self.node(parent, level + 1)?;
            let removed = self.inner.remove(&mut self.pool.page_mut(frame), separator);
            debug_assert!(removed, "the separator was read from the page");
            return Ok(true);
        }
        Ok(false)
    }

    /// Moves the records from `right` into `left` and frees `right`.
    fn join(&mut self, left: u32, right: u32, level: u8) -> Result<(), IndexError> {
        let (mut bytes, mut spans) = (std::mem::take(&mut self.scratch), std::mem::take(&mut self.spans));
        bytes.clear();
        spans.clear();
        self.copy(left, level, &mut bytes, &mut spans)?;
        let head = self.copy(right, level, &mut bytes, &mut spans)?;
        self.build(left, level, if level == 0 { head.next } else { NO_PAGE }, &spans, &bytes)?;
        (self.scratch, self.spans) = (bytes, spans);
        self.release(right)
    }
}
