//! How much it costs to carry pages through migrations although nobody writes them any more: the account for
//! `adaptive`.
//!
//! A log block holds its pages ordered by their last writes, because a migration moves them in place order. So
//! the pages written between two recyclings (an epoch) are adjacent, and the account stores only their number.
//! For each epoch's end it holds what a merge at that point would have saved until now: every later migration
//! would have left out the pages not written since.

use super::cost::Costs;

/// Pages between two recyclings.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    /// Log-block pages last written in this epoch.
    pages: u32,
    /// Savings until now if a merge had ended it.
    saved: f64,
}

/// A log block's account since its last merge, the oldest epoch first.
#[derive(Clone, Debug, Default)]
pub(super) struct Stale {
    epochs: Vec<Epoch>,
}

/// What a migration of `valid` pages loses if `stale` pages could stay behind: their copies, and their pages in
/// the log, at this migration's price per page.
fn saving(costs: &Costs, valid: u32, stale: u32) -> f64 {
    let (free, left) = (costs.pages - f64::from(valid), f64::from(valid - stale));
    costs.migration(f64::from(valid)) - costs.migration(left) * free / (free + f64::from(stale))
}

/// A merge's extra cost, with `mapped` pages, over migrations that free as many log pages.
fn premium(costs: &Costs, valid: u32, mapped: u32) -> f64 {
    let merge = 2.0 * costs.erase + f64::from(mapped) * costs.copy;
    merge - costs.pages * costs.migration_per_page(f64::from(valid))
}

impl Stale {
    /// Notes a full log block with valid pages at `places`, in order: how many of each epoch are left.
    pub(super) fn observe(&mut self, places: &[u32]) {
        let mut first = 0;
        let mut left = places;
        for epoch in &mut self.epochs {
            let end = first + epoch.pages;
            let count = left.iter().take_while(|&&place| place < end).count();
            left = &left[count..];
            first = end;
            epoch.pages = count as u32;
        }
        self.epochs.push(Epoch { pages: left.len() as u32, saved: 0.0 });
    }

    /// Whether to move the valid pages, observed before, once more. `patience` is the acceptable loss before a
    /// merge, as a share of its extra cost over migrations.
    pub(super) fn migrates(&self, costs: &Costs, valid: u32, mapped: u32, patience: f64) -> bool {
        if f64::from(valid) >= costs.pages {
            return false;
        }
        let lost = self.savings(costs, valid).map(|(_, saved)| saved).fold(0.0, f64::max);
        lost < patience * premium(costs, valid, mapped)
    }

    /// Records that the valid pages were moved.
    pub(super) fn moved(&mut self, costs: &Costs, valid: u32) {
        let saved: Vec<f64> = self.savings(costs, valid).map(|(_, saved)| saved).collect();
        for (epoch, saved) in self.epochs.iter_mut().zip(saved) {
            epoch.saved = saved;
        }
        self.compact();
    }

    /// Clears the account: the log block was merged, or is unknown now.
    pub(super) fn clear(&mut self) {
        self.epochs.clear();
    }

    /// By epoch: the pages not written since its end, and a merge's savings there, including a migration with
    /// all pages now. The last epoch stands for the merge to be decided.
    fn savings<'a>(&'a self, costs: &'a Costs, valid: u32) -> impl Iterator<Item = (u32, f64)> + 'a {
        let known = self.epochs.len().saturating_sub(1);
        let mut stale = 0;
        self.epochs[..known].iter().map(move |epoch| {
            stale += epoch.pages;
            (stale, epoch.saved + saving(costs, valid, stale))
        })
    }

    /// Drops redundant epochs: an epoch without pages behaves from now on like the previous one.
    fn compact(&mut self) {
        let mut kept: Vec<Epoch> = Vec::with_capacity(self.epochs.len());
        for &epoch in self.epochs.iter() {
            match kept.last_mut() {
                _ if epoch.pages > 0 => kept.push(epoch),
                Some(before) => before.saved = before.saved.max(epoch.saved),
                None => {}
            }
        }
        self.epochs = kept;
    }

    /// Epoch count.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.epochs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { erase: 1.0, copy: 1.0, pages: 16.0 };

    #[test]
    fn a_merge_is_free_where_half_a_block_is_valid() {
        assert_eq!(premium(&COSTS, 8, 16), 0.0, "the equilibrium of the cost model");
        assert!(premium(&COSTS, 7, 16) > 0.0 && premium(&COSTS, 9, 16) < 0.0);
        // A block with few mapped pages is cheap to merge.
        assert!(premium(&COSTS, 7, 8) < 0.0);
    }

    #[test]
    fn a_page_left_behind_saves_its_copy_and_its_place() {
        assert_eq!(saving(&COSTS, 6, 0), 0.0);
        // 7 for 10 places; without two stale pages 5 for 12, or 5 x 10 / 12 for 10.
        assert_eq!(saving(&COSTS, 6, 2), 7.0 - 5.0 * 10.0 / 12.0);
    }

    #[test]
    fn epochs_follow_the_pages_of_a_log_block() {
        let mut stale = Stale::default();
        // Places 0 to 15 were programmed; 4 pages are valid.
        stale.observe(&[3, 9, 10, 15]);
        stale.moved(&COSTS, 4);
        assert_eq!(stale.epochs, [Epoch { pages: 4, saved: 0.0 }]);
        // Two were rewritten: from the places 0 to 3, the first two are left.
        stale.observe(&[0, 1, 12, 15]);
        stale.moved(&COSTS, 4);
        assert_eq!(stale.epochs, [Epoch { pages: 2, saved: saving(&COSTS, 4, 2) }, Epoch { pages: 2, saved: 0.0 }]);
        // All are rewritten: there are no old savings left.
        stale.observe(&[8, 9, 12, 15]);
        stale.moved(&COSTS, 4);
        assert_eq!(stale.epochs, [Epoch { pages: 4, saved: 0.0 }]);
        assert_eq!(stale.len(), 1);
    }

    #[test]
    fn pages_that_nobody_writes_are_merged_away_and_a_hot_set_is_moved_for_ever() {
        let run = |rewritten: u32, valid: u32| {
            let mut stale = Stale::default();
            stale.observe(&(0..valid).collect::<Vec<_>>());
            (0..1000)
                .take_while(|_| {
                    let migrates = stale.migrates(&COSTS, valid, 16, 1.0);
                    stale.moved(&COSTS, valid);
                    let kept = 0..valid - rewritten;
                    stale.observe(&kept.chain(16 - rewritten..16).collect::<Vec<_>>());
                    migrates
                })
                .count()
        };
        assert_eq!(run(5, 5), 1000, "every page is written between two recyclings");
        assert!(run(1, 7) <= 2, "just below half a block: {}", run(1, 7));
        assert!((2..20).contains(&run(1, 3)), "{}", run(1, 3));
    }
}
