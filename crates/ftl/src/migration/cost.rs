//! Log-block recycling cost: the model in the paper's sections 4 and 5.
//!
//! A merge costs two erases (the gathering block and the next log block) and copies every page in a block;
//! afterwards the log has room for as many pages. A migration with `p` copied pages costs one erase and leaves
//! room for `p` fewer pages. A period has `n` migrations, the k-th with `alpha * k` copies, and a merge at its
//! end; its cost per log page is [`Costs::period`].

/// Costs for flash operations, in any common unit, and the pages per block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// An erase, C_E.
    pub erase: f64,
    /// A page copy, C_cp: a copyback, or a read and a program.
    pub copy: f64,
    /// Pages per block, N_p.
    pub pages: f64,
}

impl Costs {
    /// A merge and the log block after it, C_merge.
    pub fn merge(&self) -> f64 {
        2.0 * self.erase + self.pages * self.copy
    }

    /// A migration with `valid` pages.
    pub fn migration(&self, valid: f64) -> f64 {
        self.erase + valid * self.copy
    }

    /// Cost per log page with merges only, W_merge.
    pub fn merge_per_page(&self) -> f64 {
        self.merge() / self.pages
    }

    /// Cost per log page after a migration with `valid` pages, W_mig; infinite if no page is left.
    pub fn migration_per_page(&self, valid: f64) -> f64 {
        self.migration(valid) / (self.pages - valid)
    }

    /// The valid-page count with equal costs for both, whatever the times: half a block.
    pub fn equilibrium(&self) -> f64 {
        self.pages / 2.0
    }

    /// Cost per log page over a period of `n` migrations and a merge, if each migration copies `alpha` pages
    /// more than the previous one: W(n).
    pub fn period(&self, alpha: f64, n: f64) -> f64 {
        let copies = alpha * self.copy / 2.0;
        let cost = copies * n * n + (copies + self.erase) * n + self.merge();
        let pages = -alpha / 2.0 * n * n + (self.pages - alpha / 2.0) * n + self.pages;
        cost / pages
    }

    /// The larger root for W'(n) = 0, as printed in the paper.
    pub fn optimum_as_printed(&self, alpha: f64) -> f64 {
        let Self { erase, copy, pages } = *self;
        let merge = self.merge();
        let linear = alpha * (copy * pages + merge);
        let square = alpha * (erase + copy * pages);
        let constant = alpha * copy * pages + alpha * merge + 2.0 * pages * erase - 2.0 * pages * merge;
        (-linear + (linear * linear - square * constant).sqrt()) / square
    }
}

/// The cheapest migration count before a merge: the printed root without the times, which cancel. Not positive
/// if the first migration would copy as much as a block holds.
pub fn optimum(pages: f64, alpha: f64) -> f64 {
    (2.0 + 2.0 * pages / alpha).sqrt() - 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's Table 1, in ms.
    const MLC: Costs = Costs { erase: 1.5, copy: 1.128, pages: 128.0 };

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "{found}, expected {expected}");
    }

    #[test]
    fn a_migration_of_half_a_block_costs_what_a_merge_costs() {
        for costs in [MLC, Costs { erase: 2.0, copy: 0.3, pages: 64.0 }, Costs { erase: 65.0, copy: 9.0, pages: 32.0 }]
        {
            close(costs.migration_per_page(costs.equilibrium()), costs.merge_per_page(), 1e-12);
        }
        assert_eq!(MLC.equilibrium(), 64.0, "section 4");
        close(MLC.merge_per_page(), 1.15144, 1e-5);
        // Ratios computed independently of this code.
        for (valid, ratio) in [(57.0, 0.805), (58.0, 0.830), (60.0, 0.884), (61.0, 0.911), (62.0, 0.940), (63.0, 0.970)]
        {
            close(MLC.migration_per_page(valid) / MLC.merge_per_page(), ratio, 6e-4);
        }
    }

    #[test]
    fn the_printed_root_and_the_closed_form_agree_on_the_published_optimum() {
        close(optimum(128.0, 0.1), 48.6162, 5e-5);
        for alpha in [0.01, 0.1, 1.0, 8.0, 32.0] {
            for costs in [MLC, Costs { erase: 2.0, copy: 0.3, pages: 64.0 }] {
                let printed = costs.optimum_as_printed(alpha);
                close(printed, optimum(costs.pages, alpha), 1e-6 * printed.abs().max(1.0));
            }
        }
        assert_eq!(optimum(128.0, 0.1).round(), 49.0, "section 6.1");
        assert!(optimum(128.0, 128.0) <= 0.0, "the first migration would copy a whole block");
    }

    #[test]
    fn the_cost_of_a_period_is_that_of_its_sum() {
        for (alpha, n) in [(0.1, 49), (2.0, 9), (0.5, 21)] {
            let copied = |k: u32| alpha * f64::from(k);
            let cost: f64 = (1..=n).map(|k| MLC.migration(copied(k))).sum::<f64>() + MLC.merge();
            let pages: f64 = (1..=n + 1).map(|k| MLC.pages - copied(k - 1)).sum();
            close(MLC.period(alpha, f64::from(n)), cost / pages, 1e-12);
        }
        assert_eq!(MLC.period(0.1, 0.0), MLC.merge_per_page());
    }

    #[test]
    fn merging_in_time_costs_what_the_paper_says_and_the_table_of_growth_rates_holds() {
        let ratio = |alpha, n: f64| MLC.period(alpha, n) / MLC.merge_per_page();
        close(ratio(0.1, 49.0), 0.0497, 5e-5);
        // Growth rate, optimum, cost at the better adjacent whole number, with 64 migrations, and until a
        // migration copies 64 pages.
        for (alpha, n0, at_optimum, at_64, at_half) in [
            (0.01, 158.0, 0.0226, Some(0.0279), 0.3403),
            (0.05, 69.6, 0.0380, Some(0.0381), 0.3411),
            (0.1, 48.6, 0.0497, Some(0.0512), 0.3422),
            (0.2, 33.8, 0.0662, Some(0.0783), 0.3442),
            (0.5, 20.7, 0.0994, Some(0.1690), 0.3503),
            (1.0, 14.06, 0.1372, Some(0.3604), 0.3604),
            (2.0, 9.40, 0.1915, None, 0.3801),
            (8.0, 3.83, 0.3778, None, 0.4868),
            (32.0, 1.16, 0.7172, None, 0.78),
        ] {
            let found = optimum(MLC.pages, alpha);
            close(found, n0, 0.06);
            close(ratio(alpha, found.floor()).min(ratio(alpha, found.ceil())), at_optimum, 6e-5);
            at_64.into_iter().for_each(|expected| close(ratio(alpha, 64.0), expected, 6e-5));
            close(ratio(alpha, 64.0 / alpha), at_half, 1e-4);
            assert!(ratio(alpha, found) < ratio(alpha, found - 0.1) && ratio(alpha, found) < ratio(alpha, found + 0.1));
        }
    }
}
