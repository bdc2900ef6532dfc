//! Reclaim units: which blocks belong together, which units are being filled, and which are being emptied.
//!
//! A unit gets its blocks one by one, as its dies fill them. It is *filling* until each of its dies has filled its part,
//! or the host retires it. Then it is *closed*: a victim policy may choose it. A chosen unit is *condemned*: each of its
//! dies empties its blocks when it next needs room. The unit is erased with its last block.

use super::options::{as_blocks, Layout};
use crate::parts::blocks::table::{BlockTable, BlockUse};
use nandlab_nand::{BlockId, Geometry};
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// Units of a frontier that take blocks in a row at most: a die that lags further behind fills less of its units.
const MOST_FILLING: usize = 4;

/// A unit's use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Its dies fill blocks, or may take more.
    Filling,
    Closed,
    Condemned,
}

/// A reclaim unit.
#[derive(Clone, Copy, Debug)]
struct Unit {
    state: State,
    /// The frontier that fills it.
    frontier: u16,
    /// Its blocks that are not erased.
    blocks: u32,
    /// Those that are being filled.
    open: u32,
    /// Blocks that it had not taken when the host retired it: their pages count as reclaimable.
    missing: u32,
}

/// A unit that takes blocks.
#[derive(Clone, Debug)]
struct Filling {
    unit: u32,
    /// By die of its row: the blocks taken.
    taken: Vec<u32>,
}

/// All reclaim units.
#[derive(Debug)]
pub(crate) struct Units {
    geometry: Geometry,
    pub(crate) layout: Layout,
    frontiers: usize,
    /// By block: its unit; [`NONE`] if it holds nothing.
    of: Vec<u32>,
    /// By block: whether it is being filled.
    is_open: Vec<bool>,
    units: Vec<Unit>,
    /// By row: units without a block.
    free: Vec<Vec<u32>>,
    /// By row and frontier: the units that take blocks, the oldest first. A unit for moved pages may wait for one die while
    /// the others go on.
    filling: Vec<Vec<Filling>>,
    /// The units as blocks, for a victim policy; their valid pages are brought up to date when one is asked.
    table: BlockTable,
    /// By die: blocks of condemned units, in the order in which they are emptied.
    condemned: Vec<VecDeque<BlockId>>,
    /// Programs when a block was closed last.
    programs: u64,
    /// Units whose last block was given up.
    pub(crate) erased: u64,
}

impl Units {
    /// No unit yet, on a device as the FTL sees it, with so many frontiers on each die.
    pub(super) fn new(geometry: &Geometry, layout: Layout, frontiers: u32) -> Self {
        let shape = as_blocks(geometry, layout);
        let rows = shape.dies();
        let none = Unit { state: State::Filling, frontier: 0, blocks: 0, open: 0, missing: 0 };
        Self {
            layout,
            frontiers: frontiers as usize,
            of: vec![NONE; geometry.blocks() as usize],
            is_open: vec![false; geometry.blocks() as usize],
            units: vec![none; shape.blocks() as usize],
            free: (0..rows).map(|row| shape.blocks_of_die(row).rev().collect()).collect(),
            filling: vec![Vec::new(); rows as usize * frontiers as usize],
            table: BlockTable::of_counts(&shape),
            condemned: vec![VecDeque::new(); geometry.dies() as usize],
            programs: 0,
            erased: 0,
            geometry: *geometry,
        }
    }

    /// The die of a block.
    pub(super) fn die_of(&self, block: BlockId) -> u32 {
        self.geometry.die_of(block)
    }

    /// The place of a frontier's filling unit in a row.
    fn place(&self, row: u32, frontier: usize) -> usize {
        row as usize * self.frontiers + frontier
    }

    /// Whether a frontier's filling units take another block on `die`.
    pub(crate) fn takes(&self, die: u32, frontier: usize) -> bool {
        let place = self.place(self.layout.row_of(die), frontier);
        self.filling[place].iter().any(|filling| self.has_slot(filling, die))
    }

    fn has_slot(&self, filling: &Filling, die: u32) -> bool {
        filling.taken[(die % self.layout.span) as usize] < self.layout.slots
    }

    /// Blocks that a filling unit still takes.
    fn slots_left(&self, filling: &Filling) -> u32 {
        filling.taken.iter().map(|taken| self.layout.slots - taken).sum()
    }

    /// Blocks that a frontier's filling units still take in a row; `None` without such a unit.
    pub(crate) fn blocks_left(&self, row: u32, frontier: usize) -> Option<u32> {
        let filling = &self.filling[self.place(row, frontier)];
        (!filling.is_empty()).then(|| filling.iter().map(|filling| self.slots_left(filling)).sum())
    }

    /// Adds a block that a frontier begins to fill; true if a unit begins with it.
    pub(super) fn open(&mut self, block: BlockId, frontier: usize) -> bool {
        let die = self.geometry.die_of(block);
        let (row, at) = (self.layout.row_of(die), (die % self.layout.span) as usize);
        let place = self.place(row, frontier);
        let taker = self.filling[place].iter().position(|filling| self.has_slot(filling, die));
        let which = taker.unwrap_or_else(|| {
            if self.filling[place].len() == MOST_FILLING {
                self.end(place, 0);
            }
            let unit = self.begin(row, frontier);
            self.filling[place].push(Filling { unit, taken: vec![0; self.layout.span as usize] });
            self.filling[place].len() - 1
        });
        let filling = &mut self.filling[place][which];
        filling.taken[at] += 1;
        let unit = filling.unit;
        self.join(block, unit);
        self.is_open[block.index()] = true;
        self.units[unit as usize].open += 1;
        taker.is_none()
    }

    /// Ends a filling unit: it takes no more blocks.
    fn end(&mut self, place: usize, which: usize) {
        let filling = self.filling[place].remove(which);
        self.settle(filling.unit);
    }

    /// A new unit, without a block.
    fn begin(&mut self, row: u32, frontier: usize) -> u32 {
        let unit = self.free[row as usize].pop().expect("a row has as many units as blocks");
        let frontier = frontier as u16;
        self.units[unit as usize] = Unit { state: State::Filling, frontier, blocks: 0, open: 0, missing: 0 };
        self.table.open(BlockId(unit));
        unit
    }

    fn join(&mut self, block: BlockId, unit: u32) {
        self.of[block.index()] = unit;
        self.units[unit as usize].blocks += 1;
    }

    /// Records a block that takes no more pages, after so many programs in all.
    pub(super) fn close(&mut self, block: BlockId, programs: u64) {
        self.programs = programs;
        let unit = self.of[block.index()];
        if unit != NONE && std::mem::take(&mut self.is_open[block.index()]) {
            self.units[unit as usize].open -= 1;
            self.settle(unit);
        }
    }

    /// Records a block that holds nothing any more.
    pub(super) fn give_up(&mut self, block: BlockId) {
        let unit = std::mem::replace(&mut self.of[block.index()], NONE);
        if unit == NONE {
            return;
        }
        let die = self.geometry.die_of(block) as usize;
        self.condemned[die].retain(|&other| other != block);
        let state = &mut self.units[unit as usize];
        state.blocks -= 1;
        state.open -= u32::from(std::mem::take(&mut self.is_open[block.index()]));
        self.settle(unit);
    }

    /// Ends a frontier's filling units in a row.
    pub(super) fn retire(&mut self, row: u32, frontier: usize, programs: u64) {
        self.programs = programs;
        let place = self.place(row, frontier);
        while let Some(filling) = self.filling[place].first() {
            self.units[filling.unit as usize].missing = self.slots_left(filling);
            self.end(place, 0);
        }
    }

    /// Closes a unit that is full, and frees one without a block.
    fn settle(&mut self, id: u32) {
        let Unit { state, frontier, blocks, open, .. } = self.units[id as usize];
        if open > 0 {
            return;
        }
        let row = self.table.die_of(BlockId(id));
        let place = self.place(row, frontier.into());
        if let Some(which) = self.filling[place].iter().position(|filling| filling.unit == id) {
            if self.slots_left(&self.filling[place][which]) == 0 {
                self.end(place, which);
            }
            return;
        }
        if blocks == 0 {
            if state == State::Closed {
                self.table.reopen(BlockId(id));
            }
            self.table.hold(BlockId(id), 0);
            self.table.set_free(BlockId(id));
            self.free[row as usize].push(id);
            self.erased += 1;
        } else if state == State::Filling {
            self.units[id as usize].state = State::Closed;
            self.table.close(BlockId(id), self.programs);
        }
    }

    /// Forms units of blocks found by a mount, each with the programs when it was filled and its frontier, in the order in
    /// which they were filled: a frontier's n-th blocks on the dies of a row belong together.
    pub(super) fn adopt(&mut self, found: &[(u64, BlockId, usize)]) {
        let none = vec![Vec::new(); self.filling.len()];
        let resumed = std::mem::replace(&mut self.filling, none);
        for &(programs, block, frontier) in found {
            self.open(block, frontier);
            self.close(block, programs);
        }
        for place in 0..self.filling.len() {
            while !self.filling[place].is_empty() {
                self.end(place, 0);
            }
        }
        self.filling = resumed;
    }

    /// The next block of a condemned unit on `die`.
    pub(crate) fn next_condemned(&self, die: usize) -> Option<BlockId> {
        self.condemned[die].front().copied()
    }

    /// The units of a row as blocks, with their valid pages in `blocks` and their mean erases.
    pub(crate) fn weighed(&mut self, row: u32, blocks: &BlockTable) -> &BlockTable {
        let b = self.geometry.pages_per_block();
        let units = self.table.blocks_of_die(row);
        // Of each unit: valid pages, erases and blocks.
        let mut sums = vec![(0_u64, 0_u64, 0_u64); units.len()];
        for die in self.layout.dies_of_row(row) {
            for block in self.geometry.blocks_of_die(die).map(BlockId) {
                let unit = self.of[block.index()];
                if unit != NONE {
                    let sum = &mut sums[(unit - units.start) as usize];
                    sum.0 += u64::from(blocks.valid_pages(block));
                    sum.1 += u64::from(blocks.cycles(block));
                    sum.2 += 1;
                }
            }
        }
        for (unit, (valid, cycles, held)) in units.map(BlockId).zip(sums) {
            if held > 0 && self.units[unit.index()].state == State::Closed {
                let pages = u64::from(self.table.pages_per_block());
                let all = (held + u64::from(self.units[unit.index()].missing)) * u64::from(b);
                self.table.hold(unit, (valid * pages / all) as u32);
                self.table.set_cycles(unit, (cycles / held) as u32);
            }
        }
        &self.table
    }

    /// Condemns a closed unit: its blocks are emptied next, but those that are being emptied already.
    pub(crate) fn condemn(&mut self, unit: BlockId, blocks: &BlockTable) {
        self.table.reopen(unit);
        self.units[unit.index()].state = State::Condemned;
        let row = self.table.die_of(unit);
        for die in self.layout.dies_of_row(row) {
            let of_unit =
                self.geometry.blocks_of_die(die).map(BlockId).filter(|block| self.of[block.index()] == unit.0);
            let closed = of_unit.filter(|&block| blocks.usage(block) == BlockUse::Closed);
            self.condemned[die as usize].extend(closed);
        }
    }

    /// Whether a block is in a unit.
    pub(crate) fn has(&self, block: BlockId) -> bool {
        self.of[block.index()] != NONE
    }

    /// Compares the units with the blocks' uses.
    ///
    /// # Panics
    /// With the broken invariant and its address.
    pub(crate) fn check(&self, blocks: &BlockTable) {
        let mut held = vec![(0, 0); self.units.len()];
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let (unit, usage) = (self.of[block.index()], blocks.usage(block));
            if unit == NONE {
                assert_ne!(usage, BlockUse::Closed, "closed block {block} is in no unit");
                continue;
            }
            assert!(!matches!(usage, BlockUse::Free | BlockUse::Bad), "block {block} of unit {unit} holds nothing");
            held[unit as usize].0 += 1;
            held[unit as usize].1 += u32::from(self.is_open[block.index()]);
        }
        for (unit, (&state, held)) in self.units.iter().zip(held).enumerate() {
            if self.table.usage(BlockId(unit as u32)) != BlockUse::Free {
                assert_eq!((state.blocks, state.open), held, "blocks of unit {unit}, and those being filled");
            }
        }
    }

    /// Bytes of memory: two by block for its unit.
    pub(super) fn bytes(&self) -> u64 {
        2 * self.of.len() as u64
    }
}
