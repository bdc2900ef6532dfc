//! Many whole pages of the host at once, on a device that only counts.
//!
//! Blocks, counts and the map are those of one write after the other. What stays the same from page to page is asked once
//! for a *stretch* of pages: die and frontier, free blocks, the victim's rate. A stretch ends where single writes would do
//! something else: at a full frontier, with a run of copies to carry out, at the end of a victim, or where the reserve
//! may not be whole.

use super::relocation::{Relocation, ONE, RUN};
use super::{Collection, Noted, Pages};
use crate::FtlError;
use nandlab_nand::{Lpn, Nand, Oob, PageBuf, Ppa};

/// How many pages ahead map entries are prefetched.
const LOOKAHEAD: usize = 32;

/// How many pages ahead the map entries have arrived, and the valid bits they lead to are prefetched.
const ARRIVED: usize = 16;

/// Stretches are for one die and one frontier of the host.
const DIE: usize = 0;
const FRONTIER: usize = 0;

/// The copies that a stretch of pages pays for.
struct Payment {
    /// The copies for each page, and the credit not used yet, in parts of [`ONE`].
    rate: u64,
    credit: u64,
    /// The victim's first page not looked at yet, and its end.
    next: u32,
    end: u32,
    /// The pages to be copied.
    copies: [Ppa; RUN],
    count: usize,
    /// Copies that still find room in the run and in their frontier.
    room: usize,
    /// Pages that the die may lose with its reserve whole.
    spare: u64,
}

impl Payment {
    /// The copies for the next page, with which the credit is `credit`; `None` if a single write must pay for it.
    #[inline(always)]
    fn due(&self) -> Option<(u64, usize)> {
        let credit = self.credit + self.rate;
        let copies = credit / ONE;
        let fits = copies <= (self.room - self.count) as u64 && copies < self.spare;
        fits.then_some((credit % ONE, copies as usize))
    }
}

impl Pages {
    /// Whether [`Self::store_batch`] is for this device and these options.
    pub(crate) fn takes_batches<N: Nand>(&self, nand: &N) -> bool {
        nand.defers_copies()
            && !nand.keeps_time()
            && self.dies.len() == 1
            && self.placing.has_one_way()
            && self.placing.lets_copies_wait()
            && self.config.collection == Collection::Tokens
            && self.config.reserve_blocks > 1
    }

    /// Writes whole host pages in this order, as single writes do; with an error, the number of pages written before.
    pub(crate) fn store_batch<N: Nand, S: Noted>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        pages: &[Lpn],
    ) -> Result<(), (usize, FtlError)> {
        let blank = N::Buf::zeroed(self.geometry.page_bytes());
        pages.iter().take(LOOKAHEAD).for_each(|&at| scheme.prefetch(at));
        let mut written = 0;
        while written < pages.len() {
            let (stored, paid) = self.store_stretch(scheme, nand, &pages[written..]);
            written += stored;
            // The last page of a stretch pays for what failed.
            paid.map_err(|error| (written - 1, error))?;
            if let Some(&at) = pages.get(written) {
                self.store_at(scheme, nand, FRONTIER, at, &blank).map_err(|error| (written, error))?;
                written += 1;
            }
        }
        Ok(())
    }

    /// Writes the first of these pages, as many as make a stretch; returns their number, and what the last one's payment came
    /// to.
    fn store_stretch<N: Nand, S: Noted>(
        &mut self,
        scheme: &mut S,
        nand: &mut N,
        pages: &[Lpn],
    ) -> (usize, Result<(), FtlError>) {
        let frontier = &self.dies[DIE].frontiers[FRONTIER];
        let (most, first) = (pages.len().min(frontier.left() as usize), frontier.next_page());
        let free = self.free_in(scheme, DIE);
        if most == 0 || !self.dies[DIE].failing.is_empty() {
            return (0, Ok(()));
        }
        let Some(mut payment) = self.payment(free, scheme) else {
            if self.dies[DIE].relocation.is_some() || free <= self.config.begins_at() {
                return (0, Ok(()));
            }
            self.table.set_all_valid(first.0..first.0 + most as u32);
            (0..most).for_each(|place| self.map_ahead(scheme, pages, (place, first)));
            self.program_stretch(nand, &pages[..most]);
            return (most, Ok(()));
        };
        // All at once, so that a page written twice in the stretch ends as invalid as another one.
        self.table.set_all_valid(first.0..first.0 + most as u32);
        let (mut stored, mut owed) = (0, None);
        while stored < most {
            let Some((credit, copies)) = payment.due() else { break };
            self.map_ahead(scheme, pages, (stored, first));
            stored += 1;
            payment.credit = credit;
            payment.spare -= 1 + copies as u64;
            owed = self.choose_copies(&mut payment, copies);
            if owed.is_some() || payment.count == payment.room {
                break;
            }
        }
        self.table.set_all_invalid(first.0 + stored as u32..first.0 + most as u32);
        self.program_stretch(nand, &pages[..stored]);
        self.issue_payment(nand, &payment);
        if payment.count == payment.room {
            self.carry_out_run(scheme, nand, DIE);
        }
        let Some(copies) = owed else { return (stored, Ok(())) };
        let paid = self.go_on(scheme, nand, DIE, copies);
        (stored, paid.and_then(|()| self.restore_reserve(scheme, nand, DIE)))
    }

    /// What pages pay for while `free` blocks are free; `None` if they pay nothing, or not in a stretch.
    fn payment<S: Noted>(&self, free: u32, scheme: &S) -> Option<Payment> {
        let reserve = self.config.reserve_blocks;
        let relocation = self.dies[DIE].relocation.as_ref()?;
        let frontier_room = self.dies[DIE].frontiers[relocation.to].left() as usize;
        let room = frontier_room.min(RUN - relocation.run.issued.count);
        if relocation.in_gap || relocation.to == FRONTIER || room == 0 {
            return None;
        }
        let whole = u64::from(reserve) * u64::from(self.data_pages);
        let spare = if free >= reserve {
            u64::MAX
        } else {
            // The page that takes the last of it is left to a single write, too.
            u64::from(self.room_in(scheme, DIE)).saturating_sub(whole)
        };
        Some(Payment {
            rate: relocation.rate * (1 + u64::from(reserve.saturating_sub(free))),
            credit: relocation.credit,
            next: relocation.next,
            end: relocation.end,
            copies: [Ppa::NONE; RUN],
            count: 0,
            room,
            spare,
        })
    }

    /// Maps the page at this place of a stretch, which is programmed later, and prefetches for those after it.
    #[inline(always)]
    fn map_ahead<S: Noted>(&mut self, scheme: &mut S, pages: &[Lpn], (place, first): (usize, Ppa)) {
        if let Some(&at) = pages.get(place + LOOKAHEAD) {
            scheme.prefetch(at);
        }
        if let Some(&at) = pages.get(place + ARRIVED) {
            scheme.prefetch_old(&self.table, at);
        }
        scheme.map_to(self, (pages[place], Ppa(first.0 + place as u32)), 0);
    }

    /// Chooses the victim's next pages to be copied. If the victim is empty afterwards, it returns how many copies are
    /// still to be paid for.
    #[inline(always)]
    fn choose_copies(&self, payment: &mut Payment, copies: usize) -> Option<u32> {
        let mut left = copies;
        loop {
            let Some(from) = self.table.next_valid(payment.next..payment.end) else {
                payment.next = payment.end;
                return Some(left as u32);
            };
            payment.next = from.0;
            if left == 0 {
                return None;
            }
            payment.copies[payment.count] = from;
            (payment.count, payment.next, left) = (payment.count + 1, from.0 + 1, left - 1);
        }
    }

    /// Programs the pages of a stretch.
    fn program_stretch<N: Nand>(&mut self, nand: &mut N, pages: &[Lpn]) {
        let to = self.dies[DIE].frontiers[FRONTIER].take_unmarked(pages.len() as u32);
        let seq = self.keeper.take_seqs(pages.len() as u32);
        let oob = Oob::data(Lpn::NONE, seq, nand.ctx().origin());
        nand.program_run(pages, to, oob);
    }

    /// Issues the copies of a stretch.
    fn issue_payment<N: Nand>(&mut self, nand: &mut N, payment: &Payment) {
        let copies = &payment.copies[..payment.count];
        let state = &mut self.dies[DIE];
        let Some(Relocation { run, credit, next, to, .. }) = &mut state.relocation else { return };
        (*credit, *next) = (payment.credit, payment.next);
        if copies.is_empty() {
            return;
        }
        let first = state.frontiers[*to].take_unmarked(copies.len() as u32);
        let issued = &mut run.issued;
        if issued.count == 0 {
            issued.to = first;
        }
        issued.from[issued.count..issued.count + copies.len()].copy_from_slice(copies);
        issued.count += copies.len();
        self.keeper.take_seqs(copies.len() as u32);
        nand.issue_copies(copies, first);
        self.dies.put_off();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Collection, Noted};
    use crate::page::{Config, PageMap};
    use crate::parts::victim::Victim;
    use crate::parts::wear::{Bet, Wear};
    use crate::{Disk, Ftl};
    use nandlab_block::{BlockDevice, HostClock, Op, Payload, Request};
    use nandlab_nand::counting::Lean;
    use nandlab_nand::random::Random;
    use nandlab_nand::{Counting, Geometry, Nand, Origin, Rules};

    const LOGICAL: u64 = 2300;

    /// A fill, writes of one and more pages by two authors, trims and flushes, in batches of 700.
    fn batches() -> Vec<Vec<Request>> {
        let mut random = Random::new(11);
        let mut request = |place: u64| match random.below(400) {
            _ if place < LOGICAL => Request::new(Op::Write, place, 1),
            0 => Request::new(Op::Flush, 0, 0),
            1 => Request::new(Op::Trim, random.below(LOGICAL), 1),
            2 => Request { origin: Origin(3), ..Request::new(Op::Write, random.below(LOGICAL), 1) },
            3 => Request::new(Op::Write, random.below(LOGICAL - 100), 100),
            4..=6 => Request::new(Op::Write, random.below(LOGICAL + 1), 0),
            // Often the same page twice in a row.
            7..=40 => Request::new(Op::Write, random.below(3), 1),
            _ => Request::new(Op::Write, random.below(LOGICAL), 1),
        };
        let all: Vec<Request> = (0..40 * 700).map(&mut request).collect();
        all.chunks(700).map(<[Request]>::to_vec).collect()
    }

    #[test]
    fn batches_leave_what_single_writes_leave() {
        let geometry = Geometry::single_die(64, 48, 512).unwrap();
        let default = Config::default();
        let configs = [
            default.clone(),
            Config { reserve_blocks: 3, ..default.clone() },
            Config { victim: Victim::CostBenefit, ..default.clone() },
            Config { wear: Wear::Bet(Bet::default()), ..default.clone() },
            // These take no batches.
            Config { reserve_blocks: 1, ..default.clone() },
            Config { collection: Collection::AtOnce, ..default.clone() },
        ];
        let mut took = 0;
        for config in &configs {
            let device = || Counting::<Lean>::new(geometry, Rules::default());
            let mount = || Disk::<PageMap, _>::mount(device(), LOGICAL as u32, config).unwrap();
            let (mut many, mut single) = (mount(), mount());
            took += u32::from(many.is_same_in_runs());
            let (mut clock, mut done) = (HostClock::closed_loop(1), Vec::new());
            for batch in batches() {
                many.submit_batch(&batch, &mut clock, &mut done).unwrap();
                for request in &batch {
                    single.submit(request, Payload::None).unwrap();
                }
                let left = |disk: &mut Disk<PageMap, Counting<Lean>>| {
                    let counts = disk.nand_mut().ctx().matrix().clone();
                    let map: Vec<_> = disk.ftl().scheme.map().all().collect();
                    (counts, disk.nand().pe_cycles().to_vec(), disk.ftl().blocks(), map, disk.ftl().events())
                };
                assert_eq!(left(&mut many), left(&mut single), "{config:?}");
            }
            assert_eq!(done.len(), 40 * 700);
        }
        assert_eq!(took, 4);
    }
}
