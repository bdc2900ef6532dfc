//! The operations under way: a table with free places, and queues through it.

use super::Steps;
use crate::time::Time;

/// No operation.
pub(super) const NONE: u32 = u32::MAX;

/// An operation under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) steps: Steps,
    /// No start before this; [`super::NEVER`] while its leader has no known end.
    pub(super) ready: Time,
    /// When it was ready for the channel.
    pub(super) since: Time,
    /// Time to resume it that is still ahead.
    pub(super) resume: Time,
    pub(super) unit: u32,
    /// Its number on its unit.
    pub(super) place: u64,
    /// Its request; [`super::requests::NONE`] for none.
    pub(super) request: u64,
    /// Its number in the history.
    pub(super) past: u64,
    /// Its number among all operations.
    pub(super) number: u64,
    /// Reads it gave way to.
    pub(super) reads: u32,
    /// Operations before it on its unit that share its array time.
    pub(super) joined: u32,
    /// The next one in its queue, or in the free list.
    next: u32,
    /// The first and the last operation waiting for it.
    followers: (u32, u32),
    /// The next one waiting for the same operation.
    next_follower: u32,
    pub(super) part: super::Part,
    pub(super) flags: Flags,
}

/// The operation's kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    /// Whether it stops for reads.
    pub(super) gives_way: bool,
    /// Whether it moves a page for the host.
    pub(super) is_host: bool,
    /// Whether it goes ahead of others on its unit.
    pub(super) goes_first: bool,
    /// Whether it waited for another operation when it was issued.
    pub(super) follows: bool,
    /// Whether other requests wait for it, too.
    pub(super) is_joined: bool,
    /// Whether the next operation on its unit does its array work.
    pub(super) is_joined_by_next: bool,
}

impl Op {
    pub(super) fn new(unit: u32, place: u64, steps: Steps, ready: Time) -> Self {
        Self {
            steps,
            ready,
            since: 0,
            resume: 0,
            unit,
            place,
            request: super::requests::NONE,
            past: 0,
            number: 0,
            reads: 0,
            joined: 0,
            next: NONE,
            followers: (NONE, NONE),
            next_follower: NONE,
            part: super::Part::default(),
            flags: Flags::default(),
        }
    }

    /// Whether a later read may go before it.
    #[inline]
    pub(super) fn may_be_passed(&self) -> bool {
        self.flags.follows && !self.steps.is_read()
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
        Self { ops: Vec::new(), free: NONE, len: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Keeps an operation; returns where.
    #[inline]
    pub(super) fn add(&mut self, op: Op) -> u32 {
        self.len += 1;
        let at = self.free;
        if at == NONE {
            self.ops.push(op);
            return self.ops.len() as u32 - 1;
        }
        self.free = self[at].next;
        self[at] = op;
        at
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
        let (first, last) = self[leader].followers;
        if first == NONE {
            self[leader].followers = (op, op);
        } else {
            self[leader].followers = (first, op);
            self[last].next_follower = op;
        }
    }

    /// Makes the operations that wait for one wait for another instead, for which none waits.
    pub(super) fn hand_over(&mut self, leader: u32, to: u32) {
        self[to].followers = std::mem::replace(&mut self[leader].followers, (NONE, NONE));
    }

    /// The first operation waiting for this one, or [`NONE`].
    #[inline]
    pub(super) fn first_follower(&self, op: u32) -> u32 {
        self[op].followers.0
    }

    /// The next one waiting for the same operation.
    pub(super) fn next_follower(&self, op: u32) -> u32 {
        self[op].next_follower
    }
}
