//! The operations under way: a table with free places, and queues through it.

use super::{Part, Steps};
use crate::time::Time;

/// No operation.
pub(super) const NONE: u32 = u32::MAX;

/// An operation under way, in one cache line; [`Rare`] has the rest.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Op {
    pub(super) steps: Steps,
    /// No start before this; [`super::NEVER`] while its leader has no known end.
    pub(super) ready: Time,
    pub(super) unit: u32,
    /// Its number on its unit, last bits.
    pub(super) place: u32,
    /// Its request's number, last bits, if it has a request.
    pub(super) request: u32,
    /// The next one in its queue, or in the free list.
    next: u32,
    /// The first operation waiting for it; [`Links`] has the others.
    first_follower: u32,
    /// Its number among all operations.
    pub(super) number: u64,
    pub(super) flags: Flags,
}

const _: () = assert!(size_of::<Op>() == 64);

/// Operations waiting for the same one.
#[derive(Clone, Copy, Debug)]
struct Links {
    /// The last one waiting for this one, if there is a first.
    last: u32,
    /// The next one waiting for the same operation as this one.
    next: u32,
}

/// Needed by watchers alone, and for operations sharing the array or giving way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rare {
    /// Time to resume it that is still ahead.
    pub(super) resume: Time,
    /// Its number in the history.
    pub(super) past: u64,
    /// Reads it gave way to.
    pub(super) reads: u32,
    /// Operations before it on its unit with a share in its array time.
    pub(super) joined: u32,
}

impl Rare {
    pub(super) const NOTHING: Self = Self { resume: 0, past: 0, reads: 0, joined: 0 };
}

/// An operation's kind, a bit for each property.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Flags(u16);

impl Flags {
    /// It stops for reads.
    pub(super) const GIVES_WAY: Self = Self(1);
    /// It moves a page for the host.
    pub(super) const IS_HOST: Self = Self(1 << 1);
    /// It goes ahead on its unit.
    pub(super) const GOES_FIRST: Self = Self(1 << 2);
    /// It waited for another operation when it was issued.
    pub(super) const FOLLOWS: Self = Self(1 << 3);
    /// Other requests wait for it, too.
    pub(super) const IS_AWAITED_BY_OTHERS: Self = Self(1 << 4);
    /// The next operation on its unit does its array work.
    pub(super) const IS_JOINED: Self = Self(1 << 5);
    /// It does the array work for operations before it.
    pub(super) const JOINS: Self = Self(1 << 6);
    /// The host waits for it.
    pub(super) const IS_WAITED_FOR: Self = Self(1 << 7);
    /// It belongs to the request's own data, even if the host does not wait.
    pub(super) const IS_OWN: Self = Self(1 << 8);
    /// It counts in a request.
    pub(super) const HAS_REQUEST: Self = Self(1 << 9);

    #[inline]
    pub(super) fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    #[inline]
    pub(super) fn set(&mut self, flag: Self, is_set: bool) {
        self.0 = self.0 & !flag.0 | if is_set { flag.0 } else { 0 };
    }

    /// Whose operation it is.
    #[inline]
    pub(super) fn part(self) -> Part {
        Part { is_waited_for: self.has(Self::IS_WAITED_FOR), is_own: self.has(Self::IS_OWN) }
    }
}

impl Op {
    #[inline]
    pub(super) fn new(unit: u32, place: u64, steps: Steps, ready: Time) -> Self {
        Self {
            steps,
            ready,
            unit,
            place: place as u32,
            request: 0,
            next: NONE,
            first_follower: NONE,
            number: 0,
            flags: Flags::default(),
        }
    }

    /// It belongs to `request`, in this part.
    #[inline]
    pub(super) fn join_request(&mut self, request: Option<u64>, part: Part) {
        self.request = request.unwrap_or(0) as u32;
        self.flags.set(Flags::HAS_REQUEST, request.is_some());
        self.flags.set(Flags::IS_WAITED_FOR, part.is_waited_for);
        self.flags.set(Flags::IS_OWN, part.is_own);
    }

    /// Whether a later read may go before it.
    #[inline]
    pub(super) fn may_be_passed(&self) -> bool {
        self.flags.has(Flags::FOLLOWS) && !self.steps.is_read()
    }
}

/// A queue of operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    first: u32,
    last: u32,
}

impl Queue {
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE };

    /// The first operation, or [`NONE`].
    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// The last operation, or [`NONE`].
    #[inline]
    pub(super) fn last(&self) -> u32 {
        if self.first == NONE {
            NONE
        } else {
            self.last
        }
    }
}

/// All operations under way.
#[derive(Clone, Debug)]
pub(super) struct Ops {
    ops: Vec<Op>,
    /// As many.
    links: Vec<Links>,
    /// As many, if somebody needs them.
    rare: Vec<Rare>,
    has_rare: bool,
    free: u32,
    len: usize,
}

impl std::ops::Index<u32> for Ops {
    type Output = Op;

    #[inline]
    fn index(&self, op: u32) -> &Op {
        &self.ops[op as usize]
    }
}

impl std::ops::IndexMut<u32> for Ops {
    #[inline]
    fn index_mut(&mut self, op: u32) -> &mut Op {
        &mut self.ops[op as usize]
    }
}

impl Ops {
    pub(super) fn new() -> Self {
        Self { ops: Vec::new(), links: Vec::new(), rare: Vec::new(), has_rare: false, free: NONE, len: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Keeps an operation; returns where.
    #[inline(always)]
    pub(super) fn add(&mut self, op: Op) -> u32 {
        self.len += 1;
        let mut at = self.free;
        if at == NONE {
            at = self.ops.len() as u32;
            self.ops.push(op);
            self.links.push(Links { last: NONE, next: NONE });
        } else {
            self.free = self[at].next;
            self[at] = op;
        }
        if self.has_rare {
            self.rare.resize(self.ops.len(), Rare::NOTHING);
            self.rare[at as usize] = Rare::NOTHING;
        }
        at
    }

    /// Somebody needs [`Rare`] from now on.
    pub(super) fn keep_rare(&mut self) {
        self.has_rare = true;
        self.rare.resize(self.ops.len(), Rare::NOTHING);
    }

    /// What few operations have.
    pub(super) fn rare(&mut self, op: u32) -> &mut Rare {
        &mut self.rare[op as usize]
    }

    /// Forgets an operation outside all queues.
    #[inline]
    pub(super) fn remove(&mut self, op: u32) {
        self.len -= 1;
        self[op].next = self.free;
        self.free = op;
    }

    /// Adds an operation at the end.
    #[inline]
    pub(super) fn push(&mut self, queue: &mut Queue, op: u32) {
        if queue.first == NONE {
            queue.first = op;
        } else {
            self[queue.last].next = op;
        }
        queue.last = op;
        self[op].next = NONE;
    }

    /// Takes the first one.
    #[inline]
    pub(super) fn pop(&mut self, queue: &mut Queue) {
        queue.first = self[queue.first].next;
    }

    /// Adds an operation before the first waiting one, or at the end.
    pub(super) fn insert(&mut self, queue: &mut Queue, op: u32, waits: impl Fn(&Op) -> bool) {
        let (mut before, mut at) = (NONE, queue.first);
        while at != NONE && !waits(&self[at]) {
            (before, at) = (at, self[at].next);
        }
        if at == NONE {
            return self.push(queue, op);
        }
        self[op].next = at;
        if before == NONE {
            queue.first = op;
        } else {
            self[before].next = op;
        }
    }

    /// Makes an operation wait for another one.
    pub(super) fn follow(&mut self, leader: u32, op: u32) {
        self.links[op as usize].next = NONE;
        if self[leader].first_follower == NONE {
            self[leader].first_follower = op;
        } else {
            let last = self.links[leader as usize].last;
            self.links[last as usize].next = op;
        }
        self.links[leader as usize].last = op;
    }

    /// Operations waiting for `leader` wait for `to` instead, for which none waits.
    pub(super) fn hand_over(&mut self, leader: u32, to: u32) {
        self[to].first_follower = std::mem::replace(&mut self[leader].first_follower, NONE);
        self.links[to as usize].last = self.links[leader as usize].last;
    }

    /// The first operation waiting for this one, or [`NONE`].
    #[inline]
    pub(super) fn first_follower(&self, op: u32) -> u32 {
        self[op].first_follower
    }

    /// The next one waiting for the same operation.
    pub(super) fn next_follower(&self, op: u32) -> u32 {
        self.links[op as usize].next
    }
}
