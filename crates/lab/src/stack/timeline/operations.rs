//! Flash operations as slices: on their die or plane, on its channel, and in their collection.
//!
//! A track's slices are written by their times, because a slice must come behind the one before it in the file, too. The
//! device tells a unit's pieces and a channel's transfers in this order.

use super::collections::Collections;
use super::packets::{category, About, Begin, Name, Packets, Value};
use super::tracks::Tracks;
use super::window::Window;
use nandlab_nand::operation::Operation;
use nandlab_nand::traced::OpRecord;
use nandlab_nand::work::Work;
use nandlab_nand::{BlockId, Cause, Lpn, Origin, Ppa, Time};
use std::collections::HashMap;

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

/// A slice; the next piece may prolong it.
#[derive(Clone, Copy, Debug)]
struct Pending {
    op: Op,
    start: Time,
    end: Time,
}

/// A run's operations.
pub struct Operations {
    tracks: Tracks,
    window: Window,
    /// Start of the workload.
    base: Time,
    issued: u64,
    waits: u64,
    /// By unit: its slice; with a cache, its transfer's slice after all of them.
    pending: Vec<Option<Pending>>,
    /// Operations under way, with their units and pieces so far.
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
            pending: vec![None; 2 * units],
            under_way: HashMap::new(),
            collections: Collections::default(),
        }
    }

    /// The workload starts now.
    pub fn begin(&mut self, base: Time) {
        self.base = base;
    }

    /// `request` issued an operation; `flow` is the arrow between them.
    pub fn issued(&mut self, record: &OpRecord, (request, flow): (u64, u64), work: &[Work], packets: &mut Packets) {
        let mut op = Op::of(record, self.issued, request);
        self.issued += 1;
        op.flows[0] = flow;
        let source = op.from.map_or(op.block, |from| self.tracks.geometry.block_of(from));
        (op.collection, op.flows[1]) = self.collections.add(op.operation, op.cause, source);
        for one in work {
            if let Work::Issued { number, unit, .. } = *one {
                self.under_way.insert(number, (op, unit, 0));
            }
        }
        self.happened(work, packets);
    }

    /// News about operations.
    pub fn happened(&mut self, work: &[Work], packets: &mut Packets) {
        for one in work {
            match *one {
                Work::Issued { .. } => {}
                Work::Started { number, has_waited } => {
                    if let Some((op, ..)) = self.under_way.get_mut(&number) {
                        op.has_waited = has_waited;
                    }
                }
                Work::Worked { number, start, end, is_transfer } => {
                    let Some((mut op, unit, pieces)) = self.under_way.get(&number).copied() else { continue };
                    let is_first = pieces == 0;
                    if is_transfer {
                        self.transfer(unit, &op, (start, end), packets);
                    }
                    self.draw(unit, &mut op, (Piece { start, end, is_transfer }, is_first), packets);
                    self.under_way.insert(number, (op, unit, pieces + 1));
                }
                Work::Ended { number, .. } => {
                    self.under_way.remove(&number);
                }
            }
        }
    }

    /// Draws a piece; `is_first` if others follow.
    fn draw(&mut self, unit: u32, op: &mut Op, (piece, is_first): (Piece, bool), packets: &mut Packets) {
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

    /// A transfer on a unit's channel.
    fn transfer(&mut self, unit: u32, op: &Op, (start, end): (Time, Time), packets: &mut Packets) {
        let times = self.times(start, end);
        if !self.window.shows(op.request, times) {
            return;
        }
        let page = op.page.map(|page| (About::Page, Value::Number(page.0.into())));
        let begin = Begin {
            track: self.tracks.channel(self.tracks.channel_of(unit)),
            name: Name::Operation(op.operation),
            category: category(op.cause),
            annotations: page.as_slice(),
            flows: &[],
        };
        packets.slice(times, &begin);
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

    /// Writes everything still waiting.
    pub fn end(&mut self, packets: &mut Packets) {
        for at in 0..self.pending.len() {
            if let Some(slice) = self.pending[at].take() {
                self.write(at, &slice, packets);
            }
        }
    }
}
