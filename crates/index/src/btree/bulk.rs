//! Bulk load: a tree from sorted records, page by page.

use super::layout::Span;
use super::{Tree, LINK_BYTES, NO_PAGE};
use crate::IndexError;
use std::ops::Range;

/// A page in a finished level: its lowest key, and its number.
type Child = (Vec<u8>, u32);

/// A leaf being filled.
#[derive(Default)]
struct Filling {
    bytes: Vec<u8>,
    spans: Vec<Span>,
    used: usize,
}

impl Filling {
    fn last_key(&self) -> Option<&[u8]> {
        self.spans.last().map(|span| &self.bytes[span.key.clone()])
    }

    fn add(&mut self, key: &[u8], value: &[u8], cost: usize) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.spans.push(Span { key: start..start + key.len(), value: start + key.len()..self.bytes.len() });
        self.used += cost;
    }
}

impl Tree<'_> {
    /// Fills an empty tree with records in ascending order, each page up to the share `fill` (0.1 to 1).
    ///
    /// Leaves are written in key order, then each level above.
    ///
    /// # Errors
    /// [`IndexError::BulkLoad`] if the tree is not empty, or a key is not above its predecessor; otherwise as
    /// [`Tree::insert`]. After an error the tree must be opened anew.
    pub fn bulk_load<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        records: impl IntoIterator<Item = (K, V)>,
        fill: f64,
    ) -> Result<(), IndexError> {
        if !(0.1..=1.0).contains(&fill) {
            return Err(IndexError::option("fill", &fill, "pages are filled to a share of 0.1 to 1"));
        }
        if self.records > 0 || self.levels > 1 {
            return Err(IndexError::BulkLoad { record: 0, why: "the index is not empty" });
        }
        self.guarded(|tree| {
            let mut children = tree.load_leaves(records, fill)?;
            while children.len() > 1 {
                children = tree.load_level(&children, fill)?;
            }
            tree.root = children[0].1;
            Ok(())
        })
    }

    fn load_leaves<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        records: impl IntoIterator<Item = (K, V)>,
        fill: f64,
    ) -> Result<Vec<Child>, IndexError> {
        let most = (self.leaf.room() as f64 * fill) as usize;
        let mut children = vec![(self.records_as.lowest_key(), self.root)];
        let mut filling = Filling::default();
        // The empty tree's root becomes the first leaf; while it is the root, its origin would be wrong.
        let mut page = std::mem::replace(&mut self.root, NO_PAGE);
        for (key, value) in records {
            let (key, value) = (key.as_ref(), value.as_ref());
            self.records_as.check_key(key)?;
            self.records_as.check_value(value)?;
            self.check_record(key, value)?;
            let cost = self.leaf.cost(key.len(), value.len());
            if let Some(last) = filling.last_key() {
                if last >= key {
                    let why = "its key is not above the one before";
                    return Err(IndexError::BulkLoad { record: self.records, why });
                }
                if filling.used + cost > most {
                    self.check_room(2, 2)?;
                    let separator = key[..self.leaf.separator(last, key)].to_vec();
                    let next = self.allocate()?;
                    self.build(page, 0, next, &filling.spans, &filling.bytes)?;
                    children.push((separator, next));
                    page = next;
                    filling = Filling::default();
                }
            }
            filling.add(key, value, cost);
            self.records += 1;
        }
        if children.len() == 1 {
            self.root = page;
        }
        self.build(page, 0, NO_PAGE, &filling.spans, &filling.bytes)?;
        Ok(children)
    }

    /// The pages above `children`.
    fn load_level(&mut self, children: &[Child], fill: f64) -> Result<Vec<Child>, IndexError> {
        let level = self.levels;
        self.levels += 1;
        let mut above = Vec::new();
        for group in self.groups(children, fill) {
            let is_root = group.len() == children.len();
            let (key, _) = &children[group.start];
            let mut filling = Filling::default();
            for (key, page) in &children[group] {
                filling.add(key, &page.to_le_bytes(), 0);
            }
            self.check_room(2, 2)?;
            let page = self.allocate()?;
            if is_root {
                self.root = page;
            }
            self.build(page, level, NO_PAGE, &filling.spans, &filling.bytes)?;
            above.push((key.clone(), page));
        }
        Ok(above)
    }

    /// Cuts `children` into pages; none has a single child unless it is the only one.
    fn groups(&self, children: &[Child], fill: f64) -> Vec<Range<usize>> {
        let cost = |child: &Child| self.inner.cost(child.0.len(), LINK_BYTES);
        let sum = |range: Range<usize>| children[range].iter().map(cost).sum::<usize>();
        let most = (self.inner.room() as f64 * fill) as usize;
        let mut groups: Vec<Range<usize>> = Vec::new();
        let mut used = 0;
        for (index, child) in children.iter().enumerate() {
            let open = groups.last_mut().filter(|open| open.len() < 2 || used + cost(child) <= most);
            match open {
                Some(open) => open.end += 1,
                None => {
                    groups.push(index..index + 1);
                    used = 0;
                }
            }
            used += cost(child);
        }
        if let [.., before, last] = &mut groups[..] {
            if last.len() == 1 {
                if sum(before.start..last.end) <= self.inner.room() {
                    before.end = last.end;
                    groups.pop();
                } else {
                    before.end -= 1;
                    last.start -= 1;
                }
            }
        }
        groups
    }
}
