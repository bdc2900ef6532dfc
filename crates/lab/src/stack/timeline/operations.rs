//! Flash operations as slices: on their die or plane, on its channel, and in their collection.
//!
//! A track's slices are written by their times, because a slice must come behind the one before it in the file, too. So a unit's last operation waits for the next one: a read may go in front of it, or another plane's program
//! may join it. A channel's transfers wait until no earlier one can come.

use super::collections::Collections;
use super::packets::{category, About, Begin, Name, Packets, Value};
use super::tracks::Tracks;
use super::window::Window;
use nandlab_nand::operation::Operation;
use nandlab_nand::traced::OpRecord;
use nandlab_nand::work::Work;
use nandlab_nand::{BlockId, Cause, Lpn, Origin, Ppa, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Arrows between two operations have numbers from here on; requests and collections have other upper bits.
const WAITS: u64 = 3 << 62;

/// A flash operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    /// Its number, from 0.
    pub number: u64,
    pub operation: Operation,
    pub cause: Cause,
    pub origin: Origin,
    pub block: BlockId,
    pub page: Option<Ppa>,
    pub from: Option<Ppa>,
    pub lpn: Option<Lpn>,
    /// The request it was issued in, from 1; 0 for none.
    pub request: u64,
    /// Arrows from its request, from its collection, from the operation it waited for, and to the one that waited for it.
    pub flows: [u64; 4],
    /// Its collection, from 1.
    pub collection: u32,
    /// Whether it could have started earlier.
    pub has_waited: bool,
    /// Whether its first piece is drawn.
    pub has_begun: bool,
}

impl Op {
    fn of(record: &OpRecord, number: u64, request: u64) -> Self {
        Self {
            number,
            operation: record.operation,
            cause: record.cause,
            origin: record.origin,
            block: record.block,
            page: record.page,
            from: record.from,
            lpn: record.lpn,
            request,
            flows: [0; 4],
            collection: 0,
            has_waited: false,
            has_begun: false,
        }
    }

    /// Whether a request waits for it.
    pub fn is_waited_for(&self) -> bool {
        self.request != 0 && self.cause.is_waited_for()
    }
}

/// A time on a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    start: Time,
    end: Time,
    is_transfer: bool,
}

/// A unit's last operation, while it may change.
#[derive(Clone, Debug)]
struct Tail {
    op: Op,
    pieces: Vec<Piece>,
    /// Other planes' programs; they share its last piece.
    joined: Vec<Op>,
}

/// A slice; the next piece may prolong it.
#[derive(Clone, Copy, Debug)]
struct Pending {
    op: Op,
    start: Time,
    end: Time,
}

/// A transfer on a channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Transfer {
    start: Time,
    end: Time,
    operation: u8,
    cause: u8,
    /// [`Ppa::NONE`] for none.
    page: u32,
    request: u64,
}

/// A run's operations.
pub struct Operations {
    tracks: Tracks,
    window: Window,
    /// Start of the workload.
    base: Time,
    issued: u64,
    waits: u64,
    tails: Vec<Option<Tail>>,
    /// By unit: its slice; with a cache, its transfer's slice after all of them.
    pending: Vec<Option<Pending>>,
    channels: Vec<BinaryHeap<Reverse<Transfer>>>,
    /// On a device that follows events: operations under way.
    under_way: HashMap<u64, (Op, u32, usize)>,
    pub collections: Collections,
}

impl Operations {
    pub fn new(tracks: Tracks, window: Window) -> Self {
        let units = tracks.units() as usize;
        Self {
            tracks,
            window,
            base: 0,
            issued: 0,
            waits: 0,
            tails: vec![None; units],
            pending: vec![None; 2 * units],
            channels: vec![BinaryHeap::new(); tracks.geometry.shape().channels as usize],
            under_way: HashMap::new(),
            collections: Collections::default(),
        }
    }

    /// The workload starts now.
    pub fn begin(&mut self, base: Time) {
        self.base = base;
    }

    /// An operation of `request` was issued; `flow` is its arrow from it. No later operation starts before `arrival`.
    pub fn issued(
        &mut self,
        record: &OpRecord,
        (request, flow): (u64, u64),
        arrival: Time,
        work: &[Work],
        packets: &mut Packets,
    ) {
        let mut op = Op::of(record, self.issued, request);
        self.issued += 1;
        op.flows[0] = flow;
        let source = op.from.map_or(op.block, |from| self.tracks.geometry.block_of(from));
        (op.collection, op.flows[1]) = self.collections.add(op.operation, op.cause, source);
        let mut joins = None;
        for one in work {
            if let Work::Moved { unit, cut, start, end } = *one {
                self.move_rest(unit, cut, (start, end), packets);
            }
        }
        let mut is_first = true;
        for one in work {
            match *one {
                Work::Used { unit, start, end, is_transfer } => {
                    op.has_waited = is_first && start > record.ready_ns;
                    is_first = false;
                    if is_transfer {
                        self.transfer(unit, &op, (start, end));
                    }
                    self.use_unit(unit, &mut op, Piece { start, end, is_transfer }, packets);
                }
                Work::Joined { unit, cut, moved, start, end } => {
                    self.move_rest(unit, cut, (start, end), packets);
                    self.transfer(unit, &op, (moved, start));
                    self.draw(unit, &mut op, Piece { start: moved, end: start, is_transfer: true }, packets);
                    joins = Some(unit);
                }
                Work::Issued { number, unit, .. } => {
                    self.under_way.insert(number, (op, unit, 0));
                }
                Work::Moved { .. } | Work::Started { .. } | Work::Worked { .. } | Work::Ended { .. } => {}
            }
        }
        if let Some(tail) = joins.and_then(|unit| self.tails[unit as usize].as_mut()) {
            tail.joined.push(op);
        }
        self.happened(work, packets);
        self.write_transfers(arrival, packets);
    }

    /// On a device that follows events: news about operations.
    pub fn happened(&mut self, work: &[Work], packets: &mut Packets) {
        for one in work {
            match *one {
                Work::Started { number, has_waited } => {
                    if let Some((op, ..)) = self.under_way.get_mut(&number) {
                        op.has_waited = has_waited;
                    }
                }
                Work::Worked { number, start, end, is_transfer } => {
                    let Some((mut op, unit, pieces)) = self.under_way.get(&number).copied() else { continue };
                    let is_first = pieces == 0;
                    if is_transfer {
                        self.transfer(unit, &op, (start, end));
                    }
                    self.draw_at(unit, &mut op, (Piece { start, end, is_transfer }, is_first), packets);
                    self.under_way.insert(number, (op, unit, pieces + 1));
                    self.write_transfers(Time::MAX, packets);
                }
                Work::Ended { number } => {
                    self.under_way.remove(&number);
                }
                Work::Used { .. } | Work::Moved { .. } | Work::Joined { .. } | Work::Issued { .. } => {}
            }
        }
    }

    /// The rest of a unit's last operation takes place later; a read or a transfer comes before it.
    fn move_rest(&mut self, unit: u32, cut: Time, (start, end): (Time, Time), packets: &mut Packets) {
        let Some(mut tail) = self.tails[unit as usize].take() else { return };
        if let Some(last) = tail.pieces.pop() {
            let before = Piece { end: cut, ..last };
            let rest = Piece { start, end, ..last };
            tail.pieces.extend((before.end > before.start).then_some(before));
            self.draw_tail(unit, &mut tail, packets);
            tail.pieces = vec![rest];
        }
        self.tails[unit as usize] = Some(tail);
    }

    /// The operation that was just issued uses a unit.
    fn use_unit(&mut self, unit: u32, op: &mut Op, piece: Piece, packets: &mut Packets) {
        match &mut self.tails[unit as usize] {
            Some(tail) if tail.op.number == op.number => {
                tail.pieces.push(piece);
                return;
            }
            // It goes in front of the unit's last operation.
            Some(tail) if tail.pieces.first().is_some_and(|first| first.start >= piece.end) => {
                self.draw(unit, op, piece, packets);
                return;
            }
            _ => {}
        }
        if let Some(mut tail) = self.tails[unit as usize].take() {
            self.draw_tail(unit, &mut tail, packets);
        }
        self.tails[unit as usize] = Some(Tail { op: *op, pieces: vec![piece], joined: Vec::new() });
    }

    fn draw_tail(&mut self, unit: u32, tail: &mut Tail, packets: &mut Packets) {
        let pieces = std::mem::take(&mut tail.pieces);
        let count = pieces.len();
        for (at, piece) in pieces.into_iter().enumerate() {
            let is_first = at == 0 && count > 1;
            self.draw_at(unit, &mut tail.op, (piece, is_first), packets);
            for op in &tail.joined {
                self.draw_plane(op, piece, false, unit, packets);
            }
        }
    }

    fn draw(&mut self, unit: u32, op: &mut Op, piece: Piece, packets: &mut Packets) {
        self.draw_at(unit, op, (piece, false), packets);
    }

    /// Draws a piece; `is_first` if others follow.
    fn draw_at(&mut self, unit: u32, op: &mut Op, (piece, is_first): (Piece, bool), packets: &mut Packets) {
        let Piece { start, end, is_transfer } = piece;
        self.collections.worked(op.collection, (start, end));
        self.draw_plane(op, piece, is_first, unit, packets);
        let at = if is_transfer && self.tracks.has_cache { self.tracks.units() + unit } else { unit } as usize;
        if let Some(pending) = &mut self.pending[at] {
            if pending.op.number == op.number && pending.end == start {
                pending.end = end;
                return;
            }
            let is_held_up = op.has_waited && !op.has_begun && pending.end == start && op.is_waited_for();
            // A request's pages on one die wait for each other, and need no arrows.
            let is_other = pending.op.request != op.request || !pending.op.is_waited_for();
            if is_held_up && is_other {
                self.waits += 1;
                op.flows[2] = WAITS | self.waits;
                pending.op.flows[3] = WAITS | self.waits;
            }
        }
        let before = self.pending[at].replace(Pending { op: *op, start, end });
        if let Some(before) = before {
            self.write(at, &before, packets);
        }
        if !op.has_begun {
            op.has_begun = true;
            // The first slice alone has the arrows.
            op.flows = [0; 4];
        }
    }

    /// Draws the array's work on its plane, if planes have tracks of their own.
    fn draw_plane(&mut self, op: &Op, piece: Piece, is_first: bool, unit: u32, packets: &mut Packets) {
        // A copy reads a page and programs another one; inside a plane, it is one piece.
        let is_target = !is_first && self.tracks.unit_of(op.block) == unit;
        let page = if is_target { None } else { op.from };
        let block = page.map_or(op.block, |from| self.tracks.geometry.block_of(from));
        let Some(track) = self.tracks.plane(self.tracks.geometry.plane_of(block)) else { return };
        if piece.is_transfer || !self.window.shows(op.request, self.times(piece.start, piece.end)) {
            return;
        }
        let page = page.or(op.page).map(|page| (About::Page, Value::Number(page.0.into())));
        let block = (About::Block, Value::Number(block.0.into()));
        let annotations = &[page.unwrap_or(block)];
        let (name, category) = (Name::Operation(op.operation), category(op.cause));
        let begin = Begin { track, name, category, annotations, flows: &[] };
        packets.slice(self.times(piece.start, piece.end), &begin);
    }

    /// A transfer on a unit's channel: it stays as it is, whatever comes in front of the rest of its operation.
    fn transfer(&mut self, unit: u32, op: &Op, (start, end): (Time, Time)) {
        let page = op.page.map_or(Ppa::NONE.0, |page| page.0);
        let (operation, cause) = (op.operation as u8, op.cause as u8);
        let transfer = Transfer { start, end, operation, cause, page, request: op.request };
        self.channels[self.tracks.channel_of(unit) as usize].push(Reverse(transfer));
    }

    fn times(&self, start: Time, end: Time) -> (Time, Time) {
        (start.saturating_sub(self.base), end.saturating_sub(self.base))
    }

    fn write(&mut self, at: usize, slice: &Pending, packets: &mut Packets) {
        let Pending { op, start, end } = slice;
        let times = self.times(*start, *end);
        if !self.window.shows(op.request, times) {
            return;
        }
        self.collections.show(op.collection);
        let units = self.tracks.units() as usize;
        let track = self.tracks.unit((at % units) as u32, at >= units);
        let mut annotations = [(About::Cause, Value::Cause(op.cause)); 7];
        annotations[1] = (About::Origin, Value::Origin(op.origin));
        let request = (op.request != 0).then_some(op.request);
        let numbers = [
            (About::Block, Some(u64::from(op.block.0))),
            (About::Page, op.page.map(|page| page.0.into())),
            (About::FromPage, op.from.map(|page| page.0.into())),
            (About::Lpn, op.lpn.filter(|lpn| lpn.is_some()).map(|lpn| lpn.0.into())),
            (About::Request, request),
        ];
        let mut count = 2;
        for (about, value) in numbers {
            if let Some(value) = value {
                annotations[count] = (about, Value::Number(value));
                count += 1;
            }
        }
        let (name, category) = (Name::Operation(op.operation), category(op.cause));
        packets.slice(times, &Begin { track, name, category, annotations: &annotations[..count], flows: &op.flows });
    }

    /// Writes the transfers begun before `arrival`: no later one can come before them.
    fn write_transfers(&mut self, arrival: Time, packets: &mut Packets) {
        for channel in 0..self.channels.len() {
            while let Some(Reverse(next)) = self.channels[channel].peek().copied() {
                if next.start >= arrival {
                    break;
                }
                self.channels[channel].pop();
                let times = self.times(next.start, next.end);
                if !self.window.shows(next.request, times) {
                    continue;
                }
                let annotations = [(About::Page, Value::Number(next.page.into()))];
                let count = usize::from(next.page != Ppa::NONE.0);
                let begin = Begin {
                    track: self.tracks.channel(channel as u32),
                    name: Name::Operation(Operation::ALL[usize::from(next.operation)]),
                    category: category(Cause::ALL[usize::from(next.cause)]),
                    annotations: &annotations[..count],
                    flows: &[],
                };
                packets.slice(times, &begin);
            }
        }
    }

    /// Writes everything still waiting.
    pub fn end(&mut self, packets: &mut Packets) {
        for unit in 0..self.tracks.units() {
            if let Some(mut tail) = self.tails[unit as usize].take() {
                self.draw_tail(unit, &mut tail, packets);
            }
        }
        for at in 0..self.pending.len() {
            if let Some(slice) = self.pending[at].take() {
                self.write(at, &slice, packets);
            }
        }
        self.write_transfers(Time::MAX, packets);
    }
}
