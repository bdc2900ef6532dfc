//! A block being emptied: the reason, the progress, and the copies not mapped yet.

use nandlab_nand::{BlockId, Cause, Kind, Lpn, Nand, NandError, Oob, Ppa, Time};

/// Copies that wait for their map entries to arrive in the processor's cache.
pub(super) const MOVES: usize = 8;

/// A block being emptied.
#[derive(Debug)]
pub(super) struct Relocation {
    pub(super) block: BlockId,
    /// Whether it had no valid page at the start.
    pub(super) is_empty: bool,
    /// The first page not looked at yet.
    pub(super) next: u32,
    pub(super) end: u32,
    pub(super) moves: Moves,
    pub(super) run: Run,
    /// Relocations paid for by each host page, and the credit not used yet, both in parts of [`ONE`].
    pub(super) rate: u64,
    pub(super) credit: u64,
    /// When the last copy or Lost page ends. A die's planes may end in another order.
    pub(super) copied: Time,
    /// Why the block is emptied.
    pub(super) reason: Reason,
    /// The frontier for its pages, unless each page has its own.
    pub(super) to: usize,
    /// Whether it was begun in a gap between requests.
    pub(super) in_gap: bool,
}

/// Why a block is emptied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// Room is needed.
    Room,
    /// A program failed in it: it is retired once empty.
    Failure,
    /// Its data has kept it from wearing, and goes to a worn block or to the survivors' frontier.
    Wear { to_most_worn: bool },
    /// Its bit errors come close to the ECC's limit.
    Refresh,
    /// It holds one bit per cell, and such blocks need room.
    Fold,
}

/// One relocation in the fixed-point numbers of [`Relocation::rate`].
pub(super) const ONE: u64 = 1 << 16;

/// A copy not mapped yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) from: Ppa,
    pub(super) to: Ppa,
    pub(super) at: Lpn,
    pub(super) kind: Kind,
}

/// The latest copies, as a ring with one free place.
#[derive(Debug)]
pub(super) struct Moves {
    ring: [Option<Move>; MOVES],
    free: usize,
}

impl Moves {
    pub(super) fn none() -> Self {
        Self { ring: [None; MOVES], free: 0 }
    }

    /// Takes a copy, or none, and returns the one that has waited longest.
    #[inline]
    pub(super) fn pass(&mut self, copy: Option<Move>) -> Option<Move> {
        self.ring[self.free % MOVES] = copy;
        self.free = (self.free + 1) % MOVES;
        self.ring[self.free].take()
    }
}

/// Copies carried out together, on a device that lets them wait.
pub(super) const RUN: usize = 64;

/// Copies to consecutive pages.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) from: [Ppa; RUN],
    pub(super) count: usize,
    /// The first copy's place.
    pub(super) to: Ppa,
}

impl Copies {
    fn none() -> Self {
        Self { from: [Ppa::NONE; RUN], count: 0, to: Ppa::NONE }
    }

    /// Sources and targets.
    fn pairs(&self) -> impl Iterator<Item = (Ppa, Ppa)> + '_ {
        self.from[..self.count].iter().copied().zip((self.to.0..).map(Ppa))
    }
}

/// Waiting copies, on a device that lets them wait.
#[derive(Debug)]
pub(super) struct Run {
    /// Issued: they have taken their time and wait to be carried out.
    pub(super) issued: Copies,
    /// Carried out: they are mapped once their map entries have arrived in the processor's cache.
    pub(super) copied: Copies,
    /// These pages' contents.
    pub(super) held: [(Lpn, Kind); RUN],
}

impl Run {
    pub(super) fn none() -> Self {
        Self { issued: Copies::none(), copied: Copies::none(), held: [(Lpn::NONE, Kind::Data); RUN] }
    }
}

/// The source of a relocated page's contents.
pub(super) enum Source<'a, B> {
    /// Another page, which keeps its metadata.
    Page(Ppa),
    /// Memory: a page and its tail.
    New(&'a B, &'a [u8]),
}

impl<B> Source<'_, B> {
    #[inline]
    pub(super) fn program<N: Nand<Buf = B>>(&self, nand: &mut N, to: Ppa, oob: Oob) -> Result<(Lpn, Kind), NandError> {
        match self {
            Self::Page(from) => nand.copy(*from, to, oob).map(|stored| (stored.lpn, stored.kind)),
            Self::New(page, tail) => nand.program(to, page, tail, oob).map(|_| (oob.lpn, oob.kind)),
        }
    }
}

impl Relocation {
    pub(super) fn block(&self) -> BlockId {
        self.block
    }

    /// Copies not mapped yet: sources and targets.
    pub(super) fn unmapped(&self) -> impl Iterator<Item = (Ppa, Ppa)> + '_ {
        let moves = self.moves.ring.iter().flatten().map(|copy| (copy.from, copy.to));
        moves.chain(self.run.issued.pairs()).chain(self.run.copied.pairs())
    }

    /// Whether the emptied block becomes free for any page.
    pub(super) fn frees_block(&self) -> bool {
        !matches!(self.reason, Reason::Failure | Reason::Fold)
    }

    /// Whether the block has failed.
    pub(super) fn retires(&self) -> bool {
        self.reason == Reason::Failure
    }

    /// Marks it as begun in a gap between requests.
    pub(super) fn set_in_gap(&mut self) {
        self.in_gap = true;
    }

    /// Whether the block is rewritten for its bit errors.
    pub(super) fn refreshes(&self) -> bool {
        self.reason == Reason::Refresh
    }

    pub(super) fn cause(&self) -> Cause {
        self.reason.cause()
    }
}

impl Reason {
    pub(super) fn cause(self) -> Cause {
        match self {
            Self::Room => Cause::Gc,
            Self::Failure => Cause::BadBlock,
            Self::Wear { .. } => Cause::WearLeveling,
            Self::Refresh => Cause::Refresh,
            Self::Fold => Cause::Fold,
        }
    }
}
