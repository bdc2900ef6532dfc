//! Copies in runs, on a device that lets them wait.
//!
//! A copy is *issued* when the host pays for it: it takes its time, its place at the frontier and its sequence number.
//! It is *carried out* with others when [`RUN`] copies wait, the frontier is full, the victim is empty or a batch of
//! requests ends. It is *mapped* with the next run, after its map entry has arrived in the processor's cache. Counts,
//! wear and times equal those of single copies.

use super::relocation::{Relocation, RUN};
use super::{Pages, Scheme};
use crate::FtlError;
use nandlab_nand::{scoped, Nand, Ppa};

impl Pages {
    /// Issues up to `pages` copies from the victim, and erases or retires it when none is left.
    pub(super) fn issue<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
        pages: u32,
    ) -> Result<(), FtlError> {
        let mut left = pages;
        loop {
            let state = &mut self.dies[die];
            let Some(relocation) = &mut state.relocation else { return Ok(()) };
            let frontier = &mut state.frontiers[relocation.to];
            let issued = &mut relocation.run.issued;
            let before = issued.count;
            let most = left.min(frontier.left()).min((RUN - before) as u32);
            if most == 0 {
                let Some(first) = self.table.next_valid(relocation.next..relocation.end) else {
                    return self.finish(scheme, nand, die);
                };
                if left == 0 {
                    return Ok(());
                }
                left -= self.open_for_run(scheme, nand, die, first)?;
                continue;
            }
            let found = &mut issued.from[before..before + most as usize];
            let (taken, next) = self.table.take_valid(relocation.next..relocation.end, found);
            if taken == 0 {
                return self.finish(scheme, nand, die);
            }
            (issued.count, relocation.next) = (before + taken, next);
            let to = frontier.take_unmarked(taken as u32);
            if before == 0 {
                issued.to = to;
            }
            left -= taken as u32;
            self.keeper.take_seqs(taken as u32);
            nand.issue_copies(&issued.from[before..before + taken], to);
            relocation.copied = relocation.copied.max(nand.ctx().last());
            let is_run = issued.count == RUN || frontier.is_full();
            let is_empty = next == relocation.end;
            self.dies.put_off();
            if is_run {
                self.carry_out_run(scheme, nand, die);
            }
            if is_empty {
                return self.finish(scheme, nand, die);
            }
            if left == 0 {
                return Ok(());
            }
        }
    }

    /// Opens a block for the copies of `die`. If another die lends one, only `page` is copied there; returns the number
    /// of copied pages.
    #[cold]
    fn open_for_run<N: Nand, S: Scheme>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        die: usize,
        page: Ppa,
    ) -> Result<u32, FtlError> {
        let Some(to) = self.dies[die].relocation.as_ref().map(|relocation| relocation.to) else { return Ok(0) };
        let on = self.open_gc_block(scheme, nand, die, to)?;
        if on == die {
            return Ok(0);
        }
        self.carry_out(scheme, nand, on);
        if let Some(relocation) = &mut self.dies[die].relocation {
            relocation.next = page.0 + 1;
        }
        self.copy_page(scheme, nand, (die, to), page).map(|()| 1)
    }

    /// Carries out the issued copies, and maps the earlier ones.
    pub(super) fn carry_out_run<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N, die: usize) {
        self.map_run(scheme, die);
        let Some(relocation) = &mut self.dies[die].relocation else { return };
        let cause = relocation.cause();
        let run = &mut relocation.run;
        let count = std::mem::take(&mut run.issued.count);
        if count == 0 {
            return;
        }
        (run.copied.from, run.copied.to, run.copied.count) = (run.issued.from, run.issued.to, count);
        let held = &mut run.held[..count];
        scoped(nand, cause, |nand| nand.carry_out_copies(&run.copied.from[..count], run.copied.to, held));
        held.iter().for_each(|(at, _)| scheme.prefetch(*at));
    }

    /// Maps the copies carried out.
    fn map_run<S: Scheme>(&mut self, scheme: &mut S, die: usize) {
        let Some(Relocation { run, .. }) = &mut self.dies[die].relocation else { return };
        let count = std::mem::take(&mut run.copied.count);
        let from = &run.copied.from[..count];
        let mut mapped: u64 = 0;
        for (n, (&from, &(at, kind))) in (0..).zip(from.iter().zip(&run.held)) {
            let is_mapped = scheme.follow(&self.table, (kind, at), (from, Ppa(run.copied.to.0 + n)));
            mapped |= u64::from(is_mapped) << n;
        }
        self.table.move_valid(from, run.copied.to, mapped);
    }

    /// Carries out and maps a die's copies.
    pub(super) fn carry_out<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N, die: usize) {
        if self.dies.puts_off() {
            self.carry_out_run(scheme, nand, die);
            self.map_run(scheme, die);
        }
    }

    /// Carries out and maps all dies' copies.
    pub(super) fn carry_out_all<N: Nand, S: Scheme>(&mut self, scheme: &mut S, nand: &mut N) {
        (0..self.dies.len()).for_each(|die| self.carry_out(scheme, nand, die));
        self.dies.caught_up();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Noted;
    use super::*;
    use crate::page::{Config, PageMap};
    use crate::parts::wear::{Bet, Wear};
    use crate::tests::{lean_flash, timed_flash, Flash};
    use crate::{BlockState, Disk, Events, Ftl};
    use nandlab_block::{BlockDevice, HostClock, Op, PathTimes, Request};
    use nandlab_nand::profile::Timing;
    use nandlab_nand::random::Random;
    use nandlab_nand::{Geometry, Matrix, Time};

    /// Counts, erases by block, blocks, the map, events, and when the last operation ends.
    type Left = (Matrix, Vec<u32>, Vec<BlockState>, Vec<Ppa>, Events, Time);

    /// Writes, trims, reads and flushes in batches of 500 requests on 64 blocks with 48 pages, 28 % spare.
    fn left_by(config: &Config, flash: fn(Geometry, &Timing) -> Flash, follows_events: bool) -> Left {
        let geometry = Geometry::single_die(64, 48, 512).unwrap();
        let timing = Timing { transfer_ns_per_byte: 10.0, ..Timing::array(50.0, 500.0, 3000.0) };
        let mut disk = Disk::<PageMap, _>::mount(flash(geometry, &timing), 2400, config).unwrap();
        let (mut random, mut clock, mut done) = (Random::new(5), HostClock::closed_loop(4), Vec::new());
        if follows_events {
            disk.nand_mut().ctx().follow_events();
            clock = clock.follow_events(&PathTimes::default(), disk.nand_mut().ctx().horizon());
        }
        for _ in 0..40 {
            let request = |_| match random.below(50) {
                0 => Request::new(Op::Flush, 0, 0),
                1..=3 => Request::new(Op::Trim, random.below(2400), 1),
                4..=8 => Request::new(Op::Read, random.below(2400), 1),
                _ => Request::new(Op::Write, random.below(2399), 1 + random.below(2) as u32),
            };
            let requests: Vec<Request> = (0..500).map(request).collect();
            disk.submit_batch(&requests, &mut clock, &mut done).unwrap();
        }
        disk.nand_mut().ctx().wait_for_all();
        let (cycles, end) = (disk.nand().pe_cycles().to_vec(), disk.nand_mut().ctx().horizon());
        let counts = disk.nand_mut().ctx().matrix().clone();
        (
            counts,
            cycles,
            disk.ftl().blocks(),
            disk.ftl().scheme.map().all().collect::<Vec<_>>(),
            disk.ftl().events(),
            end,
        )
    }

    #[test]
    fn runs_leave_what_single_copies_leave() {
        let bet = Config { reserve_blocks: 1, wear: Wear::Bet(Bet::default()), ..Config::default() };
        for (config, follows_events) in [(Config::default(), false), (bet, false), (Config::default(), true)] {
            let left = |flash| left_by(&config, flash, follows_events);
            let (mut runs, mut single) = (left(lean_flash), left(timed_flash));
            assert!(runs.0.total().copies > 10_000, "{:?}", runs.0.total());
            // The last copies may be mapped already, or not yet.
            let differ = runs.3.iter().zip(&single.3).filter(|(a, b)| a != b).count();
            assert!(differ < 8, "{differ} pages are mapped elsewhere");
            (runs.3, single.3) = (Vec::new(), Vec::new());
            assert_eq!(runs, single);
        }
    }
}
