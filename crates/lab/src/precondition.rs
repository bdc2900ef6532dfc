//! What is written before the measurement, as a workload of its own.

use crate::config::{Fill, Precondition};
use nandlab_block::{Op, Request};
use nandlab_nand::random::Random;
use nandlab_workload::{Permutation, Workload, WorkloadError};

/// Writes every logical page once, then random ones.
#[derive(Debug)]
pub(crate) struct Preconditioning {
    pages: u64,
    sectors_per_page: u32,
    order: Option<Permutation>,
    filled: u64,
    fill: u64,
    overwrites: u64,
    left: u64,
    random: Random,
}

/// Streams of the experiment's seed; the workload has number 1.
const OVERWRITE_STREAM: u64 = 2;
const ORDER_STREAM: u64 = 3;

impl Preconditioning {
    /// For a device of `pages` logical pages.
    pub(crate) fn new(options: &Precondition, seed: u64, pages: u32, sectors_per_page: u32) -> Self {
        let pages = u64::from(pages);
        let overwrites = (options.overwrites * pages as f64).round() as u64;
        let order_key = Random::stream(seed, ORDER_STREAM).next_u64();
        Self {
            pages,
            sectors_per_page,
            order: (options.fill == Fill::Random).then(|| Permutation::new(pages, order_key)),
            filled: 0,
            fill: if options.fill == Fill::None { 0 } else { pages },
            overwrites,
            left: overwrites,
            random: Random::stream(seed, OVERWRITE_STREAM),
        }
    }

    pub(crate) fn requests(&self) -> u64 {
        self.fill + self.overwrites
    }

    fn next_page(&mut self) -> Option<u64> {
        if self.filled < self.fill {
            self.filled += 1;
            let page = self.filled - 1;
            return Some(self.order.map_or(page, |order| order.apply(page)));
        }
        self.left = self.left.checked_sub(1)?;
        Some(self.random.below(self.pages))
    }
}

impl Workload for Preconditioning {
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError> {
        for made in 0..room {
            let Some(page) = self.next_page() else { return Ok(made) };
            let sector = page * u64::from(self.sectors_per_page);
            batch.push(Request::new(Op::Write, sector, self.sectors_per_page));
        }
        Ok(room)
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.requests())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(fill: Fill, overwrites: f64, seed: u64) -> Vec<u64> {
        let mut preconditioning = Preconditioning::new(&Precondition { fill, overwrites }, seed, 1000, 4);
        let mut batch = Vec::new();
        while preconditioning.fill(&mut batch, 77).unwrap() > 0 {}
        assert_eq!(batch.len() as u64, preconditioning.requests());
        assert!(batch.iter().all(|request| request.sectors == 4 && request.sector % 4 == 0));
        batch.iter().map(|request| request.sector / 4).collect()
    }

    #[test]
    fn a_fill_writes_every_page_once() {
        assert!(pages(Fill::None, 0.0, 1).is_empty());
        assert!(pages(Fill::Sequential, 0.0, 1).into_iter().eq(0..1000));
        let mut random = pages(Fill::Random, 0.0, 1);
        assert_ne!(random, pages(Fill::Random, 0.0, 2));
        random.sort_unstable();
        assert!(random.into_iter().eq(0..1000));
    }

    #[test]
    fn overwrites_are_a_multiple_of_the_capacity() {
        let all = pages(Fill::Sequential, 2.5, 1);
        assert_eq!(all.len(), 3500);
        let touched: std::collections::BTreeSet<_> = all[1000..].iter().collect();
        // e^-2.5 of the pages are never hit: 918 of 1000 are, give or take.
        assert!((890..945).contains(&touched.len()), "{}", touched.len());
        assert_ne!(all[1000..], pages(Fill::None, 2.5, 2)[..]);
    }
}
