//! A block that is being emptied: why, how far, and the copies that are not mapped yet.

use nandlab_nand::{BlockId, Cause, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa, Time};

/// Copies that wait for their map entries to arrive in the processor's cache.
pub(super) const MOVES: usize = 8;

/// A block that is being emptied.
#[derive(Debug)]
pub(super) struct Relocation {
    pub(super) block: BlockId,
    /// Whether no page of it was valid at the start.
    pub(super) is_empty: bool,
    /// Pages from here on were not looked at yet.
    pub(super) next: u32,
    pub(super) end: u32,
    pub(super) moves: Moves,
    pub(super) run: Run,
    /// Relocations that each host page pays for, and what was paid and not used yet, in parts of [`ONE`].
    pub(super) rate: u64,
    pub(super) credit: u64,
    /// When the last copy ends, and the last page that stands for a lost one. Planes of a die may end in another order.
    pub(super) copied: Time,
    /// Why the block is emptied.
    pub(super) reason: Reason,
    /// Where its pages go, unless that depends on which they are.
    pub(super) to: usize,
    /// Whether it was begun in a gap between requests.
    pub(super) in_gap: bool,
}

/// Why a block is emptied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// Room is needed.
    Room,
    /// A program failed in it: it is retired when it is empty.
    Failure,
    /// Its data has kept it from wearing, and goes to a worn block or where survivors go.
    Wear { to_most_worn: bool },
    /// Its bit errors come near to what the ECC corrects.
    Refresh,
    /// It holds one bit a cell, and room is needed in such blocks.
    Fold,
}

/// One relocation in the fixed-point numbers of [`Relocation::rate`].
pub(super) const ONE: u64 = 1 << 16;

/// A copy that was made and is not mapped yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) from: Ppa,
    pub(super) to: Ppa,
    pub(super) at: Lpn,
    pub(super) kind: Kind,
}

/// The copies that were made last, as a ring; one place is free.
#[derive(Debug)]
pub(super) struct Moves {
    ring: [Option<Move>; MOVES],
    free: usize,
}

impl Moves {
    pub(super) fn none() -> Self {
        Self { ring: [None; MOVES], free: 0 }
    }

    /// Takes a copy, or none, and gives up the one that has waited longest.
    #[inline]
    pub(super) fn pass(&mut self, copy: Option<Move>) -> Option<Move> {
        self.ring[self.free % MOVES] = copy;
        self.free = (self.free + 1) % MOVES;
        self.ring[self.free].take()
    }
}

/// Copies that are carried out together, on a device that lets them wait.
pub(super) const RUN: usize = 32;

/// Copies to consecutive pages.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) from: [Ppa; RUN],
    pub(super) count: usize,
    /// Where the first one goes.
    pub(super) to: Ppa,
}

impl Copies {
    fn none() -> Self {
        Self { from: [Ppa::NONE; RUN], count: 0, to: Ppa::NONE }
    }

    /// From where, and where to.
    fn pairs(&self) -> impl Iterator<Item = (Ppa, Ppa)> + '_ {
        self.from[..self.count].iter().copied().zip((self.to.0..).map(Ppa))
    }
}

/// Copies that wait, on a device that lets them.
#[derive(Debug)]
pub(super) struct Run {
    /// They have taken their time, and are to be carried out.
    pub(super) issued: Copies,
    /// They were carried out, and are to be mapped when their map entries have arrived in the processor's cache.
    pub(super) copied: Copies,
    /// What these pages hold.
    pub(super) held: [(Lpn, Kind); RUN],
}

impl Run {
    pub(super) fn none() -> Self {
        Self { issued: Copies::none(), copied: Copies::none(), held: [(Lpn::NONE, Kind::Data); RUN] }
    }
}

/// Where the contents of a relocated page come from.
pub(super) enum Source {
    /// Another page, which keeps its metadata.
    Page(Ppa),
    /// Nowhere: the old page cannot be read any more.
    Blank,
    /// Memory.
    Tail(Vec<u8>),
}

impl Source {
    #[inline]
    pub(super) fn program<N: Nand>(&self, nand: &mut N, to: Ppa, oob: Oob) -> Result<(Lpn, Kind), NandError> {
        let tail: &[u8] = match self {
            Self::Page(from) => return nand.copy(*from, to, oob).map(|stored| (stored.lpn, stored.kind)),
            Self::Blank => &[],
            Self::Tail(tail) => tail,
        };
        let blank = N::Buf::zeroed(nand.geometry().page_bytes());
        nand.program(to, &blank, tail, oob).map(|_| (oob.lpn, oob.kind))
    }
}

impl Relocation {
    pub(super) fn block(&self) -> BlockId {
        self.block
    }

    /// Copies that are not mapped yet: from where, and where to.
    pub(super) fn unmapped(&self) -> impl Iterator<Item = (Ppa, Ppa)> + '_ {
        let moves = self.moves.ring.iter().flatten().map(|copy| (copy.from, copy.to));
        moves.chain(self.run.issued.pairs()).chain(self.run.copied.pairs())
    }

    /// Whether the block is free when it is empty, to take any page.
    pub(super) fn frees_block(&self) -> bool {
        !matches!(self.reason, Reason::Failure | Reason::Fold)
    }

    /// Whether the block has failed.
    pub(super) fn retires(&self) -> bool {
        self.reason == Reason::Failure
    }

    /// It is begun in a gap between requests.
    pub(super) fn set_in_gap(&mut self) {
        self.in_gap = true;
    }

    /// Whether the block is rewritten for its bit errors.
    pub(super) fn refreshes(&self) -> bool {
        self.reason == Reason::Refresh
    }

    pub(super) fn cause(&self) -> Cause {
        match self.reason {
            Reason::Room => Cause::Gc,
            Reason::Failure => Cause::BadBlock,
            Reason::Wear { .. } => Cause::WearLeveling,
            Reason::Refresh => Cause::Refresh,
            Reason::Fold => Cause::Fold,
        }
    }
}
