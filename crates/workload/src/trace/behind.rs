//! Records standing for several requests: with flushes before and behind, or too long for one.

use super::line::Found;
use nandlab_block::{Op, Request};
use nandlab_nand::PlacementId;

/// A request with its device number.
pub type Recorded = (Request, u32);

/// A record's requests still to come.
#[derive(Default)]
pub(super) struct Behind {
    /// The request itself, if a flush comes before it.
    request: Option<Recorded>,
    /// The next part's beginning, and the remaining sectors.
    part: Option<Recorded>,
    rest: u64,
    /// The flush at its end.
    flush: Option<Recorded>,
}

impl Behind {
    /// Splits a record into its first request and the rest; `request` is its own, with its time.
    #[cold]
    pub(super) fn of(found: &Found<'_>, (request, device): Recorded) -> (Request, Self) {
        let flush = Request { op: Op::Flush, sector: 0, sectors: 0, placement: PlacementId::NONE, ..request };
        let behind = Self {
            request: found.has_flush_before.then_some((request, device)),
            part: Some((Request { sector: request.end(), ..request }, device)),
            rest: found.rest,
            flush: found.has_flush_behind.then_some((flush, device)),
        };
        (if found.has_flush_before { flush } else { request }, behind)
    }

    /// The next request, and whether it is a further part.
    pub(super) fn next(&mut self) -> Option<(Recorded, bool)> {
        if let Some(recorded) = self.request.take() {
            return Some((recorded, false));
        }
        if let Some((request, device)) = self.part.filter(|_| self.rest > 0) {
            let sectors = self.rest.min(Found::MOST_SECTORS.into()) as u32;
            let part = Request { sectors, ..request };
            self.rest -= u64::from(sectors);
            self.part = Some((Request { sector: part.end(), ..part }, device));
            return Some(((part, device), true));
        }
        self.flush.take().map(|flush| (flush, false))
    }
}
