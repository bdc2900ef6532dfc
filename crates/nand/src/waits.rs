//! How long requests waited for flash.
//!
//! An operation waits for its die until that has ended the operations before it, and for its channel until other dies'
//! transfers are over. Only operations that the host waits for count: others delay it by keeping a die or a channel busy.
//!
//! A request of several pages has operations on several dies at once. It counts the mean over its pages: the sum over all its
//! operations / the number of those with the cause host. So the waits of a page that follow each other, as for a map page and
//! then for the page itself, are added; the waits of its pages, which pass at the same time, are not.

use crate::time::Time;

/// Waits of requests for flash, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// For a die, or for a plane if planes work independently.
    pub unit: Time,
    /// For a channel.
    pub channel: Time,
}

impl Waits {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { unit: self.unit + other.unit, channel: self.channel + other.channel }
    }

    /// The mean over so many pages.
    #[must_use]
    pub(crate) fn mean(self, pages: u64) -> Self {
        let pages = pages.max(1);
        Self { unit: self.unit / pages, channel: self.channel / pages }
    }

    /// What was added since `start`.
    #[must_use]
    pub fn since(self, start: Self) -> Self {
        Self { unit: self.unit - start.unit, channel: self.channel - start.channel }
    }
}

/// The waits of one request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfRequest {
    sum: Waits,
    /// Its operations with the cause host.
    pages: u64,
}

impl OfRequest {
    /// One of its operations waited.
    #[inline]
    pub(crate) fn add(&mut self, waits: Waits, is_host: bool) {
        self.sum = self.sum.and(waits);
        self.pages += u64::from(is_host);
    }

    /// The mean over its pages.
    pub(crate) fn mean(self) -> Waits {
        self.sum.mean(self.pages)
    }
}
