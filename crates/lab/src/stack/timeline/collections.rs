//! Collections: a block's operations from its first moved page to its erase.

use super::packets::{category, About, Begin, Name, Packets, Value};
use super::tracks::{Lanes, COLLECTIONS};
use nandlab_nand::operation::Operation;
use nandlab_nand::{BlockId, Cause, Time};
use std::collections::HashMap;

/// Arrows from a collection have numbers from here on, with its number and that of its operation.
const COLLECTION: u64 = 2 << 62;
/// Most operations with arrows in a collection.
const MOST: u32 = (1 << 20) - 1;

/// One collection.
#[derive(Clone, Copy, Debug)]
struct Collection {
    block: BlockId,
    cause: Cause,
    start: Time,
    end: Time,
    operations: u32,
    /// Whether an operation in it is drawn.
    is_shown: bool,
}

/// A run's collections.
#[derive(Debug, Default)]
pub struct Collections {
    all: Vec<Collection>,
    /// Those under way, by block, from 1.
    under_way: HashMap<BlockId, u32>,
    /// The one whose page was moved last.
    last: u32,
}

/// Whether an operation for this reason moves pages, or erases a block after its pages were moved.
fn collects(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Gc
            | Cause::SwitchMerge
            | Cause::PartialMerge
            | Cause::FullMerge
            | Cause::Migration
            | Cause::WearLeveling
            | Cause::BadBlock
            | Cause::Refresh
            | Cause::Fold
    )
}

impl Collections {
    /// Finds an operation's collection: it moves pages out of `source`, or erases it. Returns the collection's number, from
    /// 1, and an arrow's number; zeros if it belongs to none.
    pub fn add(&mut self, operation: Operation, cause: Cause, source: BlockId) -> (u32, u64) {
        if !collects(cause) {
            return (0, 0);
        }
        let number = match operation {
            Operation::Copy | Operation::Read | Operation::TailRead | Operation::Erase => self.of(source, cause),
            // It writes what was read before.
            Operation::Program if self.last != 0 && self.get(self.last).cause == cause => self.last,
            _ => return (0, 0),
        };
        self.last = number;
        if operation == Operation::Erase {
            self.under_way.remove(&source);
            self.last = 0;
        }
        let one = &mut self.all[number as usize - 1];
        one.operations += 1;
        let flow = COLLECTION | u64::from(number) << 20 | u64::from(one.operations.min(MOST));
        (number, if one.operations < MOST { flow } else { 0 })
    }

    fn of(&mut self, block: BlockId, cause: Cause) -> u32 {
        let next = self.all.len() as u32 + 1;
        let number = *self.under_way.entry(block).or_insert(next);
        if number == next {
            let (start, end) = (Time::MAX, 0);
            self.all.push(Collection { block, cause, start, end, operations: 0, is_shown: false });
        }
        number
    }

    fn get(&self, number: u32) -> &Collection {
        &self.all[number as usize - 1]
    }

    /// An operation of collection `number` worked.
    pub fn worked(&mut self, number: u32, (start, end): (Time, Time)) {
        if let Some(one) = number.checked_sub(1).and_then(|at| self.all.get_mut(at as usize)) {
            (one.start, one.end) = (one.start.min(start), one.end.max(end));
        }
    }

    /// An operation of collection `number` is drawn.
    pub fn show(&mut self, number: u32) {
        if let Some(one) = number.checked_sub(1).and_then(|at| self.all.get_mut(at as usize)) {
            one.is_shown = true;
        }
    }

    /// Draws them all; `next` is the first number without a track.
    pub fn end(&self, base: Time, next: &mut u64, packets: &mut Packets) {
        let mut order: Vec<(Time, u32)> =
            (1..).zip(&self.all).filter(|(_, one)| one.is_shown).map(|(number, one)| (one.start, number)).collect();
        order.sort_unstable();
        let mut lanes = Lanes::new();
        let mut flows = Vec::new();
        for (_, number) in order {
            let one = self.get(number);
            let times = (one.start.saturating_sub(base), one.end.saturating_sub(base));
            let track = lanes.take(packets, times, next, (COLLECTIONS, "collections"));
            flows.clear();
            flows.extend(
                (1..=one.operations.min(MOST - 1)).map(|n| COLLECTION | u64::from(number) << 20 | u64::from(n)),
            );
            let annotations = [
                (About::Cause, Value::Cause(one.cause)),
                (About::Block, Value::Number(one.block.0.into())),
                (About::Operations, Value::Number(one.operations.into())),
            ];
            let (name, category) = (Name::Collection, category(one.cause));
            packets.slice(times, &Begin { track, name, category, annotations: &annotations, flows: &flows });
        }
    }
}
