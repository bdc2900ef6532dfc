//! A context that goes on where another one stands.

use super::Ctx;

impl Ctx {
    /// Goes on where `other` stands in its request, whose last operation was the same one with another outcome. What the
    /// operation itself leaves, times, counts and strain, stays.
    pub(crate) fn take_up(&mut self, other: &Self) {
        self.origin = other.origin;
        self.cause = other.cause;
        self.placement = other.placement;
        self.ready = other.ready;
        self.buffered = other.buffered;
        self.asked = other.asked;
        self.reads_again = other.reads_again;
        self.doubted.clone_from(&other.doubted);
        self.wanted = other.wanted;
    }
}
