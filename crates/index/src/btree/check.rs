//! The checker: every page, every link, every order.

use super::layout::{number, records, Head, Span, FREE};
use super::{Tree, NO_PAGE};
use crate::pool::FIRST_PAGE;
use crate::IndexError;
use nandlab_nand::Origin;

/// Results from a walk over the tree.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Report {
    /// Page levels.
    pub levels: u8,
    /// Pages with records.
    pub leaves: u64,
    /// Pages above the leaves.
    pub inner: u64,
    /// Pages in the free list.
    pub free: u64,
    /// Leaves without records: the last record went while the leaf was an only child.
    pub empty: u64,
    /// Records.
    pub records: u64,
    /// Share of the leaves' room that records take.
    pub leaf_fill: f64,
    /// The same for inner pages; 0 if there are none.
    pub inner_fill: f64,
}

/// The walk.
struct Walk {
    /// By page: whether it was found.
    seen: Vec<bool>,
    leaf_used: u64,
    inner_used: u64,
    /// The previous leaf's link to the next one; at first the first page.
    link: Option<u32>,
    report: Report,
}

/// A page's keys: from the first up to and without the second.
type Bounds = (Vec<u8>, Option<Vec<u8>>);

impl Tree<'_> {
    /// Walks the tree and the free list, and asserts everything in the head comment in `btree.rs`.
    ///
    /// It reads through the pool: counts and the replacement order change.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] with the page and the fault; device errors.
    pub fn check(&mut self) -> Result<Report, IndexError> {
        self.guarded(Self::walk_all)
    }

    fn walk_all(&mut self) -> Result<Report, IndexError> {
        let seen = vec![false; self.pool.pages() as usize];
        let mut walk = Walk { seen, leaf_used: 0, inner_used: 0, link: None, report: Report::default() };
        let bounds = (self.records_as.lowest_key(), None);
        self.walk(&mut walk, self.root, self.levels - 1, &bounds)?;
        if let Some(next) = walk.link.filter(|&next| next != NO_PAGE) {
            return Err(IndexError::damaged(next, "the last leaf links to it"));
        }
        self.walk_free(&mut walk)?;
        if let Some(lost) = (FIRST_PAGE..).zip(&walk.seen[FIRST_PAGE as usize..]).find(|(_, &seen)| !seen) {
            return Err(IndexError::damaged(lost.0, "it is neither in the tree nor in the list of free pages"));
        }
        let report = &mut walk.report;
        if report.records != self.records {
            let why = format!("{} records, noted are {}", report.records, self.records);
            return Err(IndexError::damaged(self.root, why));
        }
        let share = |used: u64, pages: u64, room: usize| used as f64 / (pages.max(1) * room as u64) as f64;
        report.levels = self.levels;
        report.leaf_fill = share(walk.leaf_used, report.leaves, self.leaf.room());
        report.inner_fill = share(walk.inner_used, report.inner, self.inner.room());
        Ok(*report)
    }

    fn walk(&mut self, walk: &mut Walk, page: u32, level: u8, bounds: &Bounds) -> Result<(), IndexError> {
        let damaged = |why: String| Err(IndexError::damaged(page, why));
        let frame = self.node(page, level)?;
        if std::mem::replace(&mut walk.seen[page as usize], true) {
            return damaged("two links lead to it".to_owned());
        }
        self.layout(level).check(self.pool.page(frame)).or_else(damaged)?;
        let used = self.layout(level).used(self.pool.page(frame));
        let (mut bytes, mut spans) = (Vec::new(), Vec::new());
        let head = self.copy(page, level, &mut bytes, &mut spans)?;
        if used > self.layout(level).room() {
            return damaged(format!("records of {used} bytes, room for {}", self.layout(level).room()));
        }
        if spans.is_empty() && level > 0 {
            return damaged("an inner page without children".to_owned());
        }
        let key = |span: &Span| &bytes[span.key.clone()];
        if spans.windows(2).any(|pair| key(&pair[0]) >= key(&pair[1])) {
            return damaged("its keys do not ascend".to_owned());
        }
        let below = spans.first().is_some_and(|first| key(first) < &bounds.0[..]);
        let above = spans.last().is_some_and(|last| bounds.1.as_ref().is_some_and(|end| key(last) >= &end[..]));
        if below || above {
            return damaged("its keys reach beyond the separators above it".to_owned());
        }
        if level == 0 {
            if walk.link.is_some_and(|link| link != page) {
                return damaged(format!("the leaf before links to {:?}", walk.link));
            }
            walk.link = Some(head.next);
            walk.report.leaves += 1;
            walk.report.empty += u64::from(spans.is_empty());
            walk.report.records += spans.len() as u64;
            walk.leaf_used += used as u64;
            return Ok(());
        }
        walk.report.inner += 1;
        walk.inner_used += used as u64;
        for (index, span) in spans.iter().enumerate() {
            // Keys below the first go to the first child.
            let low = if index == 0 { bounds.0.clone() } else { key(span).to_vec() };
            let high = spans.get(index + 1).map(|next| key(next).to_vec()).or_else(|| bounds.1.clone());
            self.walk(walk, number(&bytes, span.value.start), level - 1, &(low, high))?;
        }
        Ok(())
    }

    fn walk_free(&mut self, walk: &mut Walk) -> Result<(), IndexError> {
        let mut page = self.free;
        while page != NO_PAGE {
            let frame = self.pool.fetch(page, Origin::INDEX_HEADER)?;
            let bytes = self.pool.page(frame);
            let head = Head::of(bytes);
            if head.kind != FREE || records(bytes) != 0 {
                return Err(IndexError::damaged(page, "it is in the list of free pages and no free page"));
            }
            if std::mem::replace(&mut walk.seen[page as usize], true) {
                return Err(IndexError::damaged(page, "it is free and in use, or free twice"));
            }
            walk.report.free += 1;
            page = head.next;
        }
        if walk.report.free != u64::from(self.free_pages) {
            let why = format!("{} free pages, noted are {}", walk.report.free, self.free_pages);
            return Err(IndexError::damaged(self.free, why));
        }
        Ok(())
    }
}
