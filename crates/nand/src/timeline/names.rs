//! Names for operations: their estimated ends.
//!
//! The unit is a name's remainder by the number of units, a power of two; the name is the first such time from the estimate
//! on. So a name tells its unit, and a unit's names grow.

use super::NEVER;
use crate::time::Time;
use std::collections::VecDeque;

/// Knowledge about a named operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// It is under way.
    Op(u32),
    /// It ends at this time; its number in the history.
    End(Time, u64),
}

/// A unit's latest names: of all operations under way, and some more.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    latest: VecDeque<Named>,
    /// Names before these.
    first: u64,
    name: Time,
}

#[derive(Clone, Copy, Debug)]
struct Named {
    name: Time,
    /// [`NEVER`] while it is under way.
    end: Time,
    /// The operation while it is under way, then its number in the history.
    what: u64,
}

impl Names {
    /// Names the operation `op`, and forgets names for operations ended by `now`. `units` is a power of two.
    #[inline]
    pub(super) fn name(&mut self, estimate: Time, (unit, units): (u32, u32), op: u32, now: Time) -> Time {
        while self.latest.front().is_some_and(|named| named.end <= now) {
            self.latest.pop_front();
            self.first += 1;
        }
        let (units, unit) = (Time::from(units), Time::from(unit));
        let least = estimate.max(self.name + 1);
        let name = least + (unit.wrapping_sub(least) & (units - 1));
        self.name = name;
        self.latest.push_back(Named { name, end: NEVER, what: op.into() });
        name
    }

    /// The next named operation's place.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.first + self.latest.len() as u64
    }

    /// The name at this place belongs to another operation from now on.
    pub(super) fn hand_over(&mut self, place: u32, op: u32) {
        let at = self.at(place);
        self.latest[at].what = op.into();
    }

    /// An operation's index, from the last bits in its place.
    #[inline]
    fn at(&self, place: u32) -> usize {
        place.wrapping_sub(self.first as u32) as usize
    }

    /// The operation at this place ends at `end`.
    #[inline]
    pub(super) fn end(&mut self, place: u32, end: Time, past: u64) {
        let at = self.at(place);
        let named = &mut self.latest[at];
        (named.end, named.what) = (end, past);
    }

    /// Knowledge about the operation with this name; `None` if it ended long ago.
    pub(super) fn get(&self, name: Time) -> Option<Known> {
        let at = self.latest.binary_search_by_key(&name, |named| named.name).ok()?;
        let named = self.latest[at];
        Some(if named.end == NEVER { Known::Op(named.what as u32) } else { Known::End(named.end, named.what) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_unit_and_is_given_once() {
        let mut names = Names::default();
        assert_eq!([1, 2, 3].map(|op| names.name(70, (2, 4), op, 0)), [70, 74, 78]);
        assert_eq!(names.name(79, (2, 4), 4, 0), 82);
        assert_eq!((names.get(74), names.get(75), names.next()), (Some(Known::Op(2)), None, 4));
        names.end(1, 500, 9);
        assert_eq!(names.get(74), Some(Known::End(500, 9)));
        // The first is still under way, so nothing is forgotten.
        names.name(90, (2, 4), 5, 600);
        assert_eq!(names.get(74), Some(Known::End(500, 9)));
        names.end(0, 550, 8);
        names.name(100, (2, 4), 6, 600);
        assert_eq!((names.get(70), names.get(74), names.get(78)), (None, None, Some(Known::Op(3))));
    }
}
