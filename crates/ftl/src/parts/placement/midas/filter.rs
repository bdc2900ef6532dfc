//! Which pages are hot: two bits a page, up when a page is written again soon, down when it is moved or written late.

use nandlab_nand::Lpn;

/// The pages' temperatures, and the meaning given to soon.
#[derive(Debug)]
pub(super) struct Filter {
    /// By page: 0 to [`HOT`].
    marks: Vec<u8>,
    /// Host pages within which a write comes soon: the mean age at which hot blocks are emptied.
    soon: u64,
    /// Host pages until `soon` is set anew, and the ages of hot blocks emptied meanwhile.
    left: u64,
    ages: u64,
    emptied: u64,
    /// Host pages until the first page is marked: a single write to each page tells nothing.
    cold: u64,
}

/// A hot page's mark.
const HOT: u8 = 3;

impl Filter {
    pub(super) fn new(logical_pages: u32) -> Self {
        let pages = u64::from(logical_pages);
        Self { marks: vec![0; logical_pages as usize], soon: pages, left: pages, ages: 0, emptied: 0, cold: pages }
    }

    /// Counts a host page before it is written. `age` is that of the block with its copy, if this is in the first group.
    #[inline]
    pub(super) fn written(&mut self, at: Lpn, age: Option<u64>) -> bool {
        self.left = self.left.saturating_sub(1);
        let mark = &mut self.marks[at.index()];
        if self.cold > 0 {
            self.cold -= 1;
        } else if let Some(age) = age {
            *mark = if age <= self.soon { (*mark + 1).min(HOT) } else { mark.saturating_sub(1) };
        }
        *mark == HOT
    }

    /// A page was moved out of the hot or the first group: it was not written as soon as it should have been.
    #[inline]
    pub(super) fn moved(&mut self, at: Lpn, was_hot: bool) {
        if let Some(mark) = self.marks.get_mut(at.index()) {
            *mark = mark.saturating_sub(if was_hot { 2 } else { 1 });
        }
    }

    /// Forgets a trimmed page.
    pub(super) fn trimmed(&mut self, at: Lpn) {
        self.marks[at.index()] = 0;
    }

    /// Counts an emptied block in the hot group.
    pub(super) fn emptied(&mut self, age: u64) {
        self.ages += age;
        self.emptied += 1;
        if self.left == 0 {
            self.soon = (self.ages / self.emptied + self.soon) / 2;
            self.left = self.soon;
            (self.ages, self.emptied) = (0, 0);
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.marks.len().div_ceil(4) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_writes_soon_make_a_page_hot() {
        let mut filter = Filter::new(10);
        (0..10).for_each(|_| assert!(!filter.written(Lpn(0), Some(0)), "the first ten tell nothing"));
        assert_eq!([0; 3].map(|_| filter.written(Lpn(1), Some(10))), [false, false, true]);
        assert!(filter.written(Lpn(1), None), "from another group");
        assert!(!filter.written(Lpn(1), Some(11)), "late");
        assert!(filter.written(Lpn(1), Some(1)));
        filter.moved(Lpn(1), true);
        assert_eq!([0; 2].map(|_| filter.written(Lpn(1), Some(1))), [false, true]);
    }

    #[test]
    fn soon_follows_the_age_of_hot_blocks() {
        let mut filter = Filter::new(10);
        filter.emptied(4);
        assert_eq!(filter.soon, 10, "too early to tell");
        (0..10).for_each(|at| assert!(!filter.written(Lpn(at), None)));
        filter.emptied(8);
        assert_eq!(filter.soon, 8, "between 10 and the mean of 4 and 8");
    }
}
