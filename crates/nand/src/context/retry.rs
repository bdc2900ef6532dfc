//! Read retries, and strain reports to the FTL.

use super::{Cause, Ctx, Time};
use crate::address::BlockId;

/// Strain on the page read last: its bit errors relative to the ECC's limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strain {
    /// The page's block.
    pub block: BlockId,
    /// Expected bit errors in a codeword, in per cent of the ECC limit, rounded down; above 100 the device
    /// repeated the read.
    pub percent: u32,
    /// The part already present in a freshly programmed page: rewriting cannot reduce it.
    pub of_wear: u32,
}

/// State before the retries.
pub(crate) struct Before {
    cause: Cause,
    ready: Time,
}

impl Ctx {
    /// Strain on the page read last, returned once; `None` on a device without aging.
    pub fn take_strain(&mut self) -> Option<Strain> {
        self.strain.take()
    }

    pub(crate) fn set_strain(&mut self, strain: Strain) {
        self.strain = Some(strain);
    }

    /// Starts retries: the next reads repeat the previous one, and start after it. A request waiting for that
    /// read also waits for them.
    pub(crate) fn begin_retries(&mut self) -> Before {
        self.repeats = self.is_waited_for();
        Before { cause: self.set_cause(Cause::ReadRetry), ready: self.ready }
    }

    /// Ends the retries, after the latest operation.
    pub(crate) fn end_retries(&mut self, before: &Before) {
        self.cause = before.cause;
        self.ready = before.ready;
        if std::mem::take(&mut self.repeats) {
            self.complete(self.last);
        }
    }

    /// Whether somebody waits for the current operations, or for the read they repeat.
    #[inline]
    pub(super) fn is_waited_for_at_last(&self) -> bool {
        self.is_waited_for() || self.repeats
    }
}
