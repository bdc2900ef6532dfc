//! What the drive does to reclaim units that a host may want to hear of: a handle begins another unit, pages move.

use nandlab_nand::{BlockId, PlacementId, Time};
use std::collections::VecDeque;

/// Events that are kept, the newest ones.
const KEPT: usize = 256;

/// Something that happened to a handle's reclaim unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub enum PlacementEvent {
    /// The host ended a unit that had room left.
    Unfilled,
    /// The unit was full, and a page of the host began another one.
    Ended,
    /// A write or an update named a group or a handle that there is not.
    Invalid,
    /// A collected block had pages that were last written through the handle, and they moved.
    Moved {
        /// Pages programmed for them.
        pages: u32,
        /// Their sectors.
        sectors: u32,
    },
}

/// An event in its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedEvent {
    /// When the request came that wrote the host's last page before the event, ns; 0 without time.
    pub after: Time,
    /// Group and handle.
    pub id: PlacementId,
    /// What happened.
    pub what: PlacementEvent,
}

/// The newest events since the mount.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct PlacementEvents {
    /// Events since the mount.
    pub count: u64,
    /// The newest of them, the oldest first.
    #[serde(skip)]
    pub newest: VecDeque<LoggedEvent>,
    #[serde(skip)]
    after: Time,
}

impl PlacementEvents {
    /// Those that came after the first `heard`, the oldest first; events that were dropped are left out.
    pub fn since(&self, heard: u64) -> impl Iterator<Item = LoggedEvent> + '_ {
        let new = self.count.saturating_sub(heard).min(self.newest.len() as u64);
        self.newest.iter().skip(self.newest.len() - new as usize).copied()
    }

    fn add(&mut self, id: PlacementId, what: PlacementEvent) {
        if self.newest.len() == KEPT {
            self.newest.pop_front();
        }
        self.newest.push_back(LoggedEvent { after: self.after, id, what });
        self.count += 1;
    }
}

/// Pages of a handle that left a block so far.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    block: BlockId,
    id: PlacementId,
    pages: u32,
    sectors: u32,
}

/// Notes the events.
#[derive(Debug, Default)]
pub(super) struct Listener {
    pub(super) events: PlacementEvents,
    /// Handles with a unit that only its last page ends.
    filling: Vec<PlacementId>,
    /// By block and handle, for the blocks that are being emptied.
    leaving: Vec<Leaving>,
}

impl Listener {
    /// A page of the host comes with a request of that time.
    pub(super) fn comes(&mut self, arrival: Time) {
        self.events.after = arrival;
    }

    /// A request names a group or a handle that there is not.
    pub(super) fn invalid(&mut self, id: PlacementId) {
        self.events.add(id, PlacementEvent::Invalid);
    }

    /// The handle begins a unit for a page of the host. A unit that the host ended, or a mount closed, is no event.
    pub(super) fn began(&mut self, id: PlacementId) {
        if self.filling.contains(&id) {
            self.events.add(id, PlacementEvent::Ended);
        } else {
            self.filling.push(id);
        }
    }

    /// The host asked the handle for another unit.
    pub(super) fn updated(&mut self, id: PlacementId, is_unfilled: bool) {
        self.filling.retain(|&other| other != id);
        if is_unfilled {
            self.events.add(id, PlacementEvent::Unfilled);
        }
    }

    /// A page of this many sectors that were written through the handle leaves a block.
    pub(super) fn left(&mut self, block: BlockId, id: PlacementId, sectors: u32) {
        match self.leaving.iter_mut().rev().find(|one| one.block == block && one.id == id) {
            Some(one) => (one.pages, one.sectors) = (one.pages + 1, one.sectors + sectors),
            None => self.leaving.push(Leaving { block, id, pages: 1, sectors }),
        }
    }

    /// The block holds nothing any more.
    pub(super) fn emptied(&mut self, block: BlockId) {
        let Self { events, leaving, .. } = self;
        leaving.retain(|one| {
            if one.block == block {
                events.add(one.id, PlacementEvent::Moved { pages: one.pages, sectors: one.sectors });
            }
            one.block != block
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: PlacementId = PlacementId { group: 0, handle: 1 };
    const OTHER: PlacementId = PlacementId { group: 1, handle: 1 };

    fn heard(listener: &Listener, since: u64) -> Vec<(PlacementId, PlacementEvent)> {
        listener.events.since(since).map(|event| (event.id, event.what)).collect()
    }

    #[test]
    fn a_unit_ends_by_its_last_page_or_by_the_host() {
        let mut listener = Listener::default();
        listener.began(ONE);
        listener.began(OTHER);
        assert_eq!(listener.events.count, 0, "the first unit of a handle replaces none");
        listener.began(ONE);
        listener.updated(ONE, true);
        listener.began(ONE);
        listener.updated(OTHER, false);
        listener.began(OTHER);
        assert_eq!(heard(&listener, 0), [(ONE, PlacementEvent::Ended), (ONE, PlacementEvent::Unfilled)]);
        assert_eq!(heard(&listener, 1), [(ONE, PlacementEvent::Unfilled)]);
        assert_eq!(heard(&listener, 2), []);
    }

    #[test]
    fn moved_pages_are_told_by_handle_when_their_block_is_empty() {
        let mut listener = Listener::default();
        for (block, id) in [(7, ONE), (8, ONE), (7, OTHER), (7, ONE)] {
            listener.left(BlockId(block), id, 8);
        }
        assert_eq!(listener.events.count, 0);
        listener.emptied(BlockId(7));
        listener.emptied(BlockId(7));
        let moved = |pages| PlacementEvent::Moved { pages, sectors: 8 * pages };
        assert_eq!(heard(&listener, 0), [(ONE, moved(2)), (OTHER, moved(1))]);
        listener.emptied(BlockId(8));
        assert_eq!(heard(&listener, 2), [(ONE, moved(1))]);
    }

    #[test]
    fn the_oldest_events_are_dropped() {
        let mut listener = Listener::default();
        for step in 0..KEPT as u64 + 10 {
            listener.updated(if step < 10 { OTHER } else { ONE }, true);
        }
        assert_eq!((listener.events.count, heard(&listener, 0).len()), (KEPT as u64 + 10, KEPT));
        assert!(heard(&listener, 0).iter().all(|&(id, _)| id == ONE));
    }

    #[test]
    fn an_event_has_the_time_of_the_request_before_it() {
        let mut listener = Listener::default();
        listener.invalid(OTHER);
        listener.comes(700);
        listener.updated(ONE, true);
        let told: Vec<_> = listener.events.since(0).map(|event| (event.after, event.id, event.what)).collect();
        assert_eq!(told, [(0, OTHER, PlacementEvent::Invalid), (700, ONE, PlacementEvent::Unfilled)]);
    }
}
