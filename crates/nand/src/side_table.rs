//! What few pages have: a table beside the dense ones, empty in most runs and free while it is.

use crate::address::Ppa;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub(crate) struct SideTable<T>(BTreeMap<u32, T>);

impl<T> Default for SideTable<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> SideTable<T> {
    #[inline]
    pub(crate) fn get(&self, at: Ppa) -> Option<&T> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&at.0)
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn insert(&mut self, at: Ppa, value: T) {
        self.0.insert(at.0, value);
    }

    /// Drops the entries of `pages`.
    #[inline]
    pub(crate) fn remove_range(&mut self, pages: std::ops::Range<u32>) {
        if self.0.is_empty() {
            return;
        }
        while let Some((&at, _)) = self.0.range(pages.clone()).next() {
            self.0.remove(&at);
        }
    }
}
