//! What a device tells of reads that its ECC could not correct at once.

use super::{Cause, Ctx, Time};
use crate::address::BlockId;

/// How near the page that was read last is to what its ECC corrects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strain {
    /// The block of the page.
    pub block: BlockId,
    /// Bit errors that are expected in a codeword, in per cent of those that the ECC corrects, rounded down; above
    /// 100 the read was repeated.
    pub percent: u32,
    /// What of it is there already in a page that was just programmed: no rewriting helps against it.
    pub of_wear: u32,
}

/// What was so before reads were repeated.
pub(crate) struct Before {
    cause: Cause,
    ready: Time,
}

impl Ctx {
    /// How near the page that was read last is to its end, once; `None` on a device whose cells do not age.
    pub fn take_strain(&mut self) -> Option<Strain> {
        self.strain.take()
    }

    pub(crate) fn set_strain(&mut self, strain: Strain) {
        self.strain = Some(strain);
    }

    /// The next reads repeat the one before, and no earlier: whoever waits for that one waits for them.
    pub(crate) fn begin_retries(&mut self) -> Before {
        self.repeats = self.is_waited_for();
        Before { cause: self.set_cause(Cause::ReadRetry), ready: self.ready }
    }

    /// Reads are repeated no more, after the one issued last.
    pub(crate) fn end_retries(&mut self, before: &Before) {
        self.cause = before.cause;
        self.ready = before.ready;
        if std::mem::take(&mut self.repeats) {
            self.complete(self.last);
        }
    }

    /// Whether a read that is issued now may stop an operation in the background.
    pub(crate) fn goes_first(&self) -> bool {
        self.is_waited_for() || self.repeats
    }
}
