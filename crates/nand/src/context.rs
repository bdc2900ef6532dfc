//! Operation context (origin, cause, times), and counts by origin and cause.

mod asked;
mod by_events;
mod doubts;
mod retry;
mod taken_up;

pub use crate::cause::Cause;
pub use crate::origin::Origin;
use crate::placement::PlacementId;
pub use crate::stall::Stall;
pub use crate::time::Time;
use crate::timeline::Timeline;
pub use crate::waits::Waits;
pub use doubts::Doubted;
pub use retry::Strain;
use serde::{Deserialize, Serialize};

/// Parts per erase. Origins share an erase in whole parts, so sums stay exact.
pub const ERASE_SHARE: u64 = 1 << 20;

/// Counts of one origin and one cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Cell {
    /// Page reads, including metadata pages but not copies.
    pub page_reads: u64,
    /// Page programs, including metadata pages but not copies.
    pub page_programs: u64,
    /// Page copies inside the device.
    pub copies: u64,
    /// Erase parts, [`ERASE_SHARE`] to one erase.
    pub erase_shares: u64,
    /// Spare-only reads.
    pub spare_reads: u64,
    /// Spare-only programs.
    pub spare_programs: u64,
    /// Metadata-page reads, included in `page_reads`.
    pub meta_reads: u64,
    /// Metadata-page programs, included in `page_programs`.
    pub meta_programs: u64,
}

impl Cell {
    /// Reads, including copies.
    pub fn reads(&self) -> u64 {
        self.page_reads + self.copies
    }

    /// Programs, including copies.
    pub fn programs(&self) -> u64 {
        self.page_programs + self.copies
    }

    /// Erases; whole when summed over all origins.
    pub fn erases(&self) -> f64 {
        self.erase_shares as f64 / ERASE_SHARE as f64
    }

    /// Both together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    /// Combines each count of `self` with the same count of `other`.
    fn zip(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            page_reads: with(self.page_reads, other.page_reads),
            page_programs: with(self.page_programs, other.page_programs),
            copies: with(self.copies, other.copies),
            erase_shares: with(self.erase_shares, other.erase_shares),
            spare_reads: with(self.spare_reads, other.spare_reads),
            spare_programs: with(self.spare_programs, other.spare_programs),
            meta_reads: with(self.meta_reads, other.meta_reads),
            meta_programs: with(self.meta_programs, other.meta_programs),
        }
    }
}

const CELLS: usize = Origin::COUNT * Cause::COUNT;

/// Counts by origin and cause. Every operation counts in exactly one cell (an erase in shares).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matrix {
    cells: Box<[Cell; CELLS]>,
}

impl Default for Matrix {
    fn default() -> Self {
        Self { cells: Box::new([Cell::default(); CELLS]) }
    }
}

impl Matrix {
    /// The counts for `origin` and `cause`.
    pub fn cell(&self, origin: Origin, cause: Cause) -> &Cell {
        &self.cells[Self::at(origin, cause)]
    }

    pub(crate) fn cell_mut(&mut self, origin: Origin, cause: Cause) -> &mut Cell {
        &mut self.cells[Self::at(origin, cause)]
    }

    #[inline]
    fn at(origin: Origin, cause: Cause) -> usize {
        (usize::from(origin.0) * Cause::COUNT + cause as usize) & (CELLS - 1)
    }

    /// The sum over all origins and causes.
    pub fn total(&self) -> Cell {
        self.sum(|_, _| true)
    }

    /// The sum over the origins and causes accepted by `wanted`.
    pub fn sum(&self, wanted: impl Fn(Origin, Cause) -> bool) -> Cell {
        self.sum_of(&wanted)
    }

    /// Compiled once, not anew for each question that is asked.
    fn sum_of(&self, wanted: &dyn Fn(Origin, Cause) -> bool) -> Cell {
        self.nonzero()
            .filter(|&(origin, cause, _)| wanted(origin, cause))
            .fold(Cell::default(), |sum, (_, _, cell)| sum.zip(cell, |a, b| a + b))
    }

    /// The nonzero cells, by origin, then cause.
    pub fn nonzero(&self) -> impl Iterator<Item = (Origin, Cause, &Cell)> {
        (0..Origin::COUNT).flat_map(move |origin| {
            Cause::ALL.iter().filter_map(move |&cause| {
                let cell = self.cell(Origin(origin as u8), cause);
                (*cell != Cell::default()).then_some((Origin(origin as u8), cause, cell))
            })
        })
    }

    /// Counts since `before` was copied from this matrix.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut now = self.clone();
        for (cell, old) in now.cells.iter_mut().zip(before.cells.iter()) {
            *cell = cell.zip(old, |a, b| a - b);
        }
        now
    }
}

/// Context for every operation: origin, cause, times, counts.
///
/// Times stay zero on a device without time.
#[derive(Clone, Debug, Default)]
pub struct Ctx {
    origin: Origin,
    cause: Cause,
    placement: PlacementId,
    /// Request arrival.
    arrival: Time,
    /// No operation may start earlier.
    ready: Time,
    /// End of the latest operation.
    last: Time,
    /// Latest operation end since the request arrived.
    finish: Time,
    /// Latest operation end ever.
    horizon: Time,
    /// Latest end of any operation the host waited for.
    acknowledged: Time,
    /// Fences for all previous operations.
    fences: u64,
    /// Operations that ended by this time are durable.
    settled: Time,
    /// Whether a buffer holds the data, so the host does not wait for the operations.
    buffered: bool,
    /// Requests so far.
    requests: u64,
    /// Programs so far that shared another plane's array time.
    joined: u64,
    /// Sectors that the host reads in the current page; 0 for the whole page.
    asked: u32,
    /// Pages that the host reads from the next one on.
    wanted: u32,
    /// Channel time so far that reads of a part of a page did not take.
    spared: Time,
    /// Whether the device is repeating a read for a waiting host or flush.
    repeats: bool,
    strain: Option<Strain>,
    /// Further reads of a page that a cut program may have left unstable; more than none in a mount alone.
    reads_again: u32,
    /// Pages kept by the mount that may be unstable.
    doubted: Vec<Doubted>,
    matrix: Matrix,
    /// The counts' part in blocks with one bit per cell, if a wrapper counts it.
    pub(crate) slc: Option<Box<Matrix>>,
    /// The device's operations in the order of events, if it keeps time.
    events: Option<Box<Timeline>>,
    follows_events: bool,
    /// Host requests so far.
    over: u64,
}

impl Ctx {
    /// Starts a request by `origin` with this `arrival`.
    #[inline]
    pub fn begin(&mut self, origin: Origin, arrival: Time) {
        self.origin = origin;
        self.cause = Cause::Host;
        self.arrival = arrival;
        (self.ready, self.finish) = (arrival, arrival);
        self.buffered = false;
        self.requests += 1;
    }

    /// Request number.
    #[inline]
    pub(crate) fn request(&self) -> u64 {
        self.requests
    }

    /// Counts a program joined to another plane's program.
    pub(crate) fn join(&mut self) {
        self.joined += 1;
    }

    /// Programs so far joined to another plane's program, without array time of their own.
    pub fn joined_programs(&self) -> u64 {
        self.joined
    }

    /// Reads so far that overtook the erase or the program on their unit; it was suspended or began after them.
    pub fn reads_ahead(&self) -> u64 {
        self.events.as_ref().map_or(0, |timeline| timeline.reads_ahead())
    }

    /// The current origin.
    #[inline]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Where the host asks the current request's pages to go.
    #[inline]
    pub fn placement(&self) -> PlacementId {
        self.placement
    }

    /// Sets where the host asks the pages of the request begun last to go.
    #[inline]
    pub fn place(&mut self, placement: PlacementId) {
        self.placement = placement;
    }

    /// Changes the origin within a request: the next reads are for `origin`.
    #[inline]
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// The current cause.
    #[inline]
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// Sets the cause and returns the previous one; prefer [`crate::scoped`], which restores it.
    #[inline]
    pub fn set_cause(&mut self, cause: Cause) -> Cause {
        std::mem::replace(&mut self.cause, cause)
    }

    /// Request arrival.
    #[inline]
    pub fn arrival(&self) -> Time {
        self.arrival
    }

    /// Earliest start for the next operation.
    #[inline]
    pub fn ready(&self) -> Time {
        self.ready
    }

    /// End of the latest operation.
    #[inline]
    pub fn last(&self) -> Time {
        self.last
    }

    /// Request end: the latest end among its operations so far.
    #[inline]
    pub fn finish(&self) -> Time {
        self.finish
    }

    /// Latest operation end ever.
    #[inline]
    pub fn horizon(&self) -> Time {
        self.horizon
    }

    /// Makes the next operations wait for `done`; returns the previous bound, for [`Self::set_ready`].
    #[inline]
    pub fn after(&mut self, done: Time) -> Time {
        let before = self.ready;
        self.ready = before.max(done);
        before
    }

    /// Restores a bound returned by [`Self::after`].
    #[inline]
    pub fn set_ready(&mut self, ready: Time) {
        self.ready = ready;
    }

    /// Makes the next operations wait for all previous ones, which are durable from then on; returns the
    /// previous bound.
    #[inline]
    pub fn fence(&mut self) -> Time {
        self.fence_at(self.horizon)
    }

    /// Makes the next operations wait for all operations that end by `bound`, which are durable from then on;
    /// returns the previous bound.
    ///
    /// An erase needs the programs that replaced its block's pages, not all programs of the device. If it
    /// waited for all of them, erases on different dies would never overlap.
    #[inline]
    pub fn fence_at(&mut self, bound: Time) -> Time {
        self.settled = self.settled.max(bound);
        self.fences += u64::from(bound >= self.horizon);
        self.after(bound)
    }

    /// Fences so far for all previous operations.
    #[inline]
    pub fn fences(&self) -> u64 {
        self.fences
    }

    /// Operations that ended by this time are durable.
    #[inline]
    pub fn settled(&self) -> Time {
        self.settled
    }

    /// Latest end of any operation the host waited for: a flush must wait for it.
    #[inline]
    pub fn acknowledged(&self) -> Time {
        self.acknowledged
    }

    /// Records an operation's end; operations in the background do not delay the request.
    #[inline]
    pub(crate) fn complete(&mut self, end: Time) {
        self.last = end;
        self.horizon = self.horizon.max(end);
        if self.is_waited_for() {
            if !self.buffered {
                self.finish = self.finish.max(end);
            }
            self.acknowledged = self.acknowledged.max(end);
        }
    }

    /// Whether the host, or a flush, waits for the current operations.
    #[inline]
    pub(crate) fn is_waited_for(&self) -> bool {
        self.cause.is_waited_for()
    }

    /// Sets whether a buffer holds the next operations' data: a flush waits for them, the host does not. Returns the old one.
    #[inline]
    pub fn set_buffered(&mut self, buffered: bool) -> bool {
        std::mem::replace(&mut self.buffered, buffered)
    }

    /// Makes the request end at `at` or later: a host operation had to wait for work in the background.
    #[inline]
    pub fn wait_until(&mut self, at: Time) {
        self.finish = self.finish.max(at);
        if self.follows_events {
            self.wait_for_operation(at);
        }
    }

    /// Makes the request end at `at` or later, because the controller works so long beside the flash. A write buffer
    /// answers no earlier, either.
    pub fn answer_no_earlier(&mut self, at: Time) {
        self.finish = self.finish.max(at);
        if let Some(timeline) = self.timeline() {
            timeline.control_until(at);
        }
    }

    /// The controller hands the request begun last to the flash at `at` or later. To be called before its first operation.
    pub fn begin_no_earlier(&mut self, at: Time) {
        debug_assert_eq!(self.ready, self.arrival, "no operation of the request was issued");
        self.arrival = self.arrival.max(at);
        self.ready = self.arrival;
        self.answer_no_earlier(self.arrival);
    }

    /// The counts.
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// Counts under `origin` and the current cause.
    #[inline]
    pub(crate) fn count(&mut self, origin: Origin) -> &mut Cell {
        &mut self.matrix.cells[Matrix::at(origin, self.cause)]
    }

    /// Counts one erase, shared among the origins in proportion to `invalid`; the current origin gets it if
    /// none was invalid.
    pub(crate) fn count_erase(&mut self, invalid: &[u16; Origin::COUNT]) {
        let total: u64 = invalid.iter().map(|&n| u64::from(n)).sum();
        if total == 0 {
            self.count(self.origin).erase_shares += ERASE_SHARE;
            return;
        }
        let mut left = ERASE_SHARE;
        let mut largest = 0;
        for (origin, &n) in invalid.iter().enumerate().filter(|(_, &n)| n > 0) {
            let share = ERASE_SHARE * u64::from(n) / total;
            self.count(Origin(origin as u8)).erase_shares += share;
            left -= share;
            if n > invalid[largest] {
                largest = origin;
            }
        }
        self.count(Origin(largest as u8)).erase_shares += left;
    }
}

#[cfg(test)]
mod tests;
