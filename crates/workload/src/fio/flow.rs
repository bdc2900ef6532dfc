//! Jobs that keep their requests in proportion: `flow`, `flow_id` and `flow_sleep`.
//!
//! flow.c of fio 3.33. A clone may ask while its share of the flow's requests is no more than its share of the weights. Each
//! clone counts from the first job's start to its own end.

use super::text::{number, Entry};
use super::Malformed;
use nandlab_nand::Time;
use std::collections::BTreeMap;

const US: Time = 1000;
/// As in fio.
const MOST_WEIGHT: u64 = 1000;

/// The keys, as a job has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Share {
    weight: u64,
    flow: u64,
    sleep: Time,
}

impl Share {
    /// Takes a key.
    pub(super) fn set(&mut self, entry: &Entry<'_>) -> Result<(), Malformed> {
        match entry.key {
            "flow" => self.weight = number(entry, 0, MOST_WEIGHT)?,
            "flow_id" => self.flow = number(entry, 0, u32::MAX.into())?,
            _ => self.sleep = number(entry, 0, u32::MAX.into())? * US,
        }
        Ok(())
    }
}

/// A flow: its requests, beginning with 1, and its weights.
#[derive(Debug)]
struct Flow {
    requests: u64,
    weight: u64,
}

/// All flows.
#[derive(Debug, Default)]
pub(super) struct Flows {
    flows: BTreeMap<u64, Flow>,
    /// By clone: its share, and its requests; `None` if it has no part in a flow.
    clones: Vec<Option<(Share, u64)>>,
    /// Waiting clones, and since when.
    held: Vec<(usize, Time)>,
}

impl Flows {
    /// One share for each clone.
    pub(super) fn new(shares: impl Iterator<Item = Share>) -> Self {
        let mut all = Self::default();
        for share in shares {
            let has_part = share.weight > 0;
            if has_part {
                all.flows.entry(share.flow).or_insert(Flow { requests: 1, weight: 0 }).weight += share.weight;
            }
            all.clones.push(has_part.then_some((share, 0)));
        }
        all
    }

    /// Whether a clone has to wait for others.
    pub(super) fn holds(&self, number: usize) -> bool {
        let Some((share, own)) = self.clones[number] else { return false };
        let flow = &self.flows[&share.flow];
        // The quotients, multiplied out.
        u128::from(own) * u128::from(flow.weight) > u128::from(share.weight) * u128::from(flow.requests)
    }

    /// A clone waits from `since` on.
    pub(super) fn hold(&mut self, number: usize, since: Time) {
        self.held.push((number, since));
    }

    /// A clone asks. Whether it has a flow.
    pub(super) fn count(&mut self, number: usize) -> bool {
        let Some((share, own)) = &mut self.clones[number] else { return false };
        *own += 1;
        self.flows.get_mut(&share.flow).expect("a share has its flow").requests += 1;
        true
    }

    /// A clone asks no more.
    pub(super) fn end(&mut self, number: usize) {
        let Some((share, own)) = self.clones[number].take() else { return };
        let flow = self.flows.get_mut(&share.flow).expect("a share has its flow");
        flow.requests -= own;
        flow.weight -= share.weight;
        self.held.retain(|held| held.0 != number);
    }

    /// The waiting clones, and when each looks again, from `now` on. A sleeping one sleeps for whole periods.
    pub(super) fn resume(&mut self, now: Time) -> Vec<(usize, Time)> {
        let held = std::mem::take(&mut self.held);
        let look = |(number, since): (usize, Time)| {
            let sleep = self.clones[number].map_or(0, |(share, _)| share.sleep);
            let periods = now.saturating_sub(since).checked_div(sleep).map_or(0, |periods| periods + 1);
            (number, if sleep == 0 { now } else { since + periods * sleep })
        };
        held.into_iter().map(look).collect()
    }

    /// Whether clones wait for others.
    pub(super) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }
}
