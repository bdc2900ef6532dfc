//! A block's state after cut erases.

use super::Form;
use crate::address::{Geometry, Ppa};
use crate::random::Random;

/// What cut erases left of a block's pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TornErase {
    /// The forms of the cuts, each with the power-ups before it.
    cuts: Vec<(Form, u64)>,
    /// Whether the pages that do not read as erased read as before; otherwise they are unreadable.
    rest_as_before: bool,
}

impl TornErase {
    pub(super) const UNREADABLE: Self = Self { cuts: Vec::new(), rest_as_before: false };

    /// The state after `form`, from the state `before`; `None` if nothing happened.
    pub(super) fn new(form: Form, power_ups: u64, before: Option<&Self>) -> Option<Self> {
        match form {
            Form::TornEraseUnreadable => Some(Self::UNREADABLE),
            Form::TornErasePrefix
            | Form::TornEraseSuffix
            | Form::TornEraseScattered
            | Form::TornEraseWeak
            | Form::UnstableErase => {
                let mut torn = before.cloned().unwrap_or(Self { cuts: Vec::new(), rest_as_before: true });
                torn.cuts.push((form, power_ups));
                Some(torn)
            }
            _ => None,
        }
    }

    /// Whether a page of the block reads as erased: one of the cut erases got so far.
    pub(super) fn is_erased(&self, geometry: &Geometry, at: Ppa, power_ups: u64) -> bool {
        let (page, pages) = (geometry.page_in_block(at), geometry.pages_per_block());
        self.cuts.iter().any(|&(form, before)| match form {
            Form::TornErasePrefix => page < pages.div_ceil(2),
            Form::TornEraseSuffix => page >= pages / 2,
            Form::TornEraseScattered => drawn(at, 0),
            Form::UnstableErase => power_ups <= before + 1 || drawn(at, power_ups),
            _ => true,
        })
    }

    pub(super) fn is_unreadable(&self) -> bool {
        !self.rest_as_before
    }
}

/// One page in two, drawn anew for each stream.
fn drawn(at: Ppa, stream: u64) -> bool {
    Random::stream(u64::from(at.0), stream).chance(0.5)
}
