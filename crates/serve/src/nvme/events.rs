//! Asynchronous events: the health log's warnings.
//!
//! The controller looks at the warnings when its admin queue takes a command, so a host with Keep Alive learns of one in
//! half its time-out. Then it tells no further one until the host has read the log.

/// The health log, which tells more.
pub(super) const HEALTH_LOG: u8 = 0x02;
/// Event type 1, SMART and health; what it tells is in bits 15:8.
const HEALTH_EVENT: u64 = 1;
const SPARE: u64 = 2;
const RELIABILITY: u64 = 0;
/// The health log's critical warning bits.
pub(super) const WARNS_OF_SPARE: u8 = 1 << 0;
pub(super) const WARNS_OF_READ_ONLY: u8 = 1 << 3;

/// A controller's event requests, and what was told.
#[derive(Default)]
pub(super) struct Events {
    /// Identifiers of the requests that wait.
    waiting: Vec<u16>,
    /// Warnings that were told and still hold.
    told: u8,
    /// Whether the host has not read the log since the last event.
    is_masked: bool,
}

impl Events {
    pub fn has(&self, id: u16) -> bool {
        self.waiting.contains(&id)
    }

    pub fn count(&self) -> usize {
        self.waiting.len()
    }

    pub fn wait(&mut self, id: u16) {
        self.waiting.push(id);
    }

    /// Takes back the request `id`; whether it waited.
    pub fn abort(&mut self, id: u16) -> bool {
        let place = self.waiting.iter().position(|&waits| waits == id);
        place.map(|place| self.waiting.remove(place)).is_some()
    }

    /// Whether a look at the warnings may lead to an event.
    pub fn may_tell(&self, wanted: u8) -> bool {
        wanted != 0 && !self.is_masked && !self.waiting.is_empty()
    }

    /// The host has read the health log, and did not ask to keep the event.
    pub fn unmask(&mut self) {
        self.is_masked = false;
    }

    /// The request that ends and its result, if one of the `wanted` warnings is new.
    pub fn tell(&mut self, warnings: u8, wanted: u8) -> Option<(u16, u64)> {
        self.told &= warnings;
        let new = warnings & wanted & !self.told;
        if new == 0 || !self.may_tell(wanted) {
            return None;
        }
        let one = new & new.wrapping_neg();
        let what = if one == WARNS_OF_SPARE { SPARE } else { RELIABILITY };
        (self.told, self.is_masked) = (self.told | one, true);
        Some((self.waiting.remove(0), HEALTH_EVENT | what << 8 | u64::from(HEALTH_LOG) << 16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warning_is_told_once_and_again_when_it_comes_back() {
        let (mut events, both) = (Events::default(), WARNS_OF_SPARE | WARNS_OF_READ_ONLY);
        (7..11).for_each(|id| events.wait(id));
        assert_eq!(events.tell(both, 0), None, "nobody wants it");
        assert_eq!(events.tell(both, both), Some((7, 0x02_0201)));
        assert_eq!(events.tell(both, both), None, "masked");
        events.unmask();
        assert_eq!(events.tell(both, both), Some((8, 0x02_0001)));
        events.unmask();
        assert_eq!(events.tell(both, both), None, "both were told");
        assert_eq!(events.tell(0, both), None);
        assert_eq!(events.tell(WARNS_OF_SPARE, both), Some((9, 0x02_0201)));
    }
}
