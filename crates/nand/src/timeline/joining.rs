//! Multi-plane programs: they share the array's time.
//!
//! ```text
//! unit |= plane 0 =|= plane 1 =|--- both arrays ---|
//! ```
//!
//! A program joins the one before on its unit, if both belong to the open request. So a program waits in its unit's queue until
//! the request has another operation for the unit, or no more. The later program then does the array's work of both; whoever
//! waits for the earlier one waits for the later one.

use super::ops::{Flags, Op};
use super::{Cause, Part, Steps, Time, Timeline};

impl Timeline {
    /// Keeps back a queued operation if others may join it; false for any other operation.
    pub(super) fn is_held(&mut self, unit: u32, op: u32, is_erase: bool) -> bool {
        let Steps { before, transfer, after } = self.ops[op].steps;
        let is_program = before == 0 && transfer > 0 && after > 0 && !is_erase;
        if !is_program || self.requests.current().is_none() {
            return false;
        }
        self.queue(op);
        self.held.push((unit, op));
        true
    }

    /// The request has no more operations.
    pub(super) fn release_held(&mut self) {
        for (unit, _) in std::mem::take(&mut self.held) {
            self.look_for_work(unit);
        }
    }

    /// The request has another operation for `unit`.
    pub(super) fn release_held_of(&mut self, unit: u32) {
        if let Some(at) = self.held.iter().position(|&(held, _)| held == unit) {
            self.held.remove(at);
            self.look_for_work(unit);
        }
    }

    /// As [`Timeline::issue`], but the program joins the last one on its unit; `None` if the last one no longer waits.
    pub(crate) fn join(
        &mut self,
        unit: u32,
        arrival: Time,
        steps: Steps,
        (part, cause): (Part, Cause),
        estimate: Time,
    ) -> Option<Time> {
        let at = self.held.iter().position(|&(held, _)| held == unit)?;
        let (_, before) = self.held[at];
        if self.units[unit as usize].others.last() != before {
            return None;
        }
        let mut op = Op::new(unit, self.units[unit as usize].names.next(), steps, arrival);
        let earlier = &mut self.ops[before];
        op.flags.set(Flags::GIVES_WAY, earlier.flags.has(Flags::GIVES_WAY));
        op.flags.set(Flags::IS_HOST, cause == Cause::Host);
        op.flags.set(Flags::JOINS, true);
        earlier.flags.set(Flags::GIVES_WAY, false);
        earlier.flags.set(Flags::IS_JOINED, true);
        earlier.steps.after = 0;
        op.join_request(self.requests.add(part), part);
        op.number = self.issued;
        self.issued += 1;
        let (place, joined) = (op.place, self.ops.rare(before).joined + 1);
        let new = self.ops.add(op);
        self.ops.rare(new).joined = joined;
        if self.history.is_some() || self.works.is_some() {
            self.watch(new, cause, None);
        }
        let name = self.name(new, unit, estimate, arrival);
        let names = &mut self.units[unit as usize].names;
        (1..=joined).for_each(|earlier| names.hand_over(place.wrapping_sub(earlier), new));
        self.ops.hand_over(before, new);
        self.queue(new);
        self.held[at] = (unit, new);
        Some(name)
    }
}
