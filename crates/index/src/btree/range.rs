//! Range reads.

use super::layout::{search, Head, Span};
use super::{Tree, NO_PAGE};
use crate::IndexError;

/// A key and its value.
pub type Record<'a> = (&'a [u8], &'a [u8]);

/// Records in ascending order. It reads from a leaf's copy, so the leaf may leave the pool meanwhile.
#[derive(Debug)]
pub struct Cursor<'t, 'd> {
    tree: &'t mut Tree<'d>,
    page: Vec<u8>,
    spans: Vec<Span>,
    at: usize,
    next: u32,
    end: Option<Vec<u8>>,
}

impl<'d> Tree<'d> {
    /// The records from `from` (from the first one, without) up to and without `end` (to the last one, without).
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn range(&mut self, from: Option<&[u8]>, end: Option<&[u8]>) -> Result<Cursor<'_, 'd>, IndexError> {
        for key in from.into_iter().chain(end) {
            self.records_as.check_key(key)?;
        }
        let lowest = self.records_as.lowest_key();
        let from = from.unwrap_or(&lowest);
        let leaf = self.guarded(|tree| tree.descend(from))?;
        let end = end.map(<[u8]>::to_vec);
        let mut cursor = Cursor { tree: self, page: Vec::new(), spans: Vec::new(), at: 0, next: NO_PAGE, end };
        cursor.load(leaf)?;
        let (page, spans) = (&cursor.page, &cursor.spans);
        let (Ok(at) | Err(at)) = search(spans.len(), |index| page[spans[index].key.clone()].cmp(from));
        cursor.at = at;
        Ok(cursor)
    }
}

impl Cursor<'_, '_> {
    fn load(&mut self, leaf: u32) -> Result<(), IndexError> {
        let (page, spans) = (&mut self.page, &mut self.spans);
        page.clear();
        spans.clear();
        let Head { next, .. } = self.tree.guarded(|tree| tree.copy(leaf, 0, page, spans))?;
        self.next = next;
        self.at = 0;
        Ok(())
    }

    /// The next record, key and value.
    ///
    /// # Errors
    /// As [`Tree::get`].
    #[allow(clippy::should_implement_trait)] // the record lies in the cursor
    pub fn next(&mut self) -> Result<Option<Record<'_>>, IndexError> {
        while self.at == self.spans.len() {
            if self.next == NO_PAGE {
                return Ok(None);
            }
            self.load(self.next)?;
        }
        let Span { key, value } = self.spans[self.at].clone();
        if self.end.as_ref().is_some_and(|end| self.page[key.clone()] >= end[..]) {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some((&self.page[key], &self.page[value])))
    }
}
