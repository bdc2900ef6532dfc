//! What is acknowledged and not yet durable.

use super::Form;
use crate::address::{BlockId, Ppa};
use crate::context::{Ctx, Time};
use std::ops::Range;

/// Programs and erases since the last fence.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    fences: u64,
    /// By die.
    dies: Vec<Last>,
}

/// A die's last operations, each with its end; 0 without time.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// The last two programs, the newest first.
    programs: [Option<(Ppa, Time)>; 2],
    /// The erase, if no program followed it.
    erase: Option<(BlockId, Time)>,
}

impl Tail {
    pub(super) fn new(dies: u32) -> Self {
        Self { fences: 0, dies: vec![Last::default(); dies as usize] }
    }

    pub(super) fn clear(&mut self) {
        self.dies.fill(Last::default());
    }

    /// Notes a program that a cut before the next fence may lose.
    pub(super) fn programmed(&mut self, ctx: &mut Ctx, die: u32, at: Ppa) {
        self.follow(ctx);
        let last = &mut self.dies[die as usize];
        *last = Last { programs: [Some((at, ctx.last())), last.programs[0]], erase: None };
    }

    /// Notes an erase that may be under way until the next fence.
    pub(super) fn erased(&mut self, ctx: &mut Ctx, die: u32, block: BlockId) {
        self.follow(ctx);
        self.dies[die as usize].erase = Some((block, ctx.last()));
    }

    fn follow(&mut self, ctx: &Ctx) {
        if ctx.fences() != self.fences {
            self.fences = ctx.fences();
            self.clear();
        }
    }

    /// Drops the operations in a block.
    pub(super) fn forget(&mut self, block: BlockId, pages: &Range<u32>) {
        for last in &mut self.dies {
            for program in &mut last.programs {
                program.take_if(|(at, _)| pages.contains(&at.0));
            }
            last.erase.take_if(|(erased, _)| *erased == block);
        }
    }

    /// The programs that a cut in `form` loses.
    pub(super) fn programs(&self, form: Form, fences: u64, settled: Time) -> Vec<Ppa> {
        let newest = match form {
            Form::LostTail => 1,
            Form::LostTailTwo => 2,
            _ => return Vec::new(),
        };
        let programs = self.dies.iter().flat_map(|last| &last.programs[..newest]).flatten();
        let lost = programs.filter(|&&(_, end)| fences == self.fences && is_uncertain(end, settled));
        lost.map(|&(at, _)| at).collect()
    }

    /// The blocks whose erase a cut in `form` meets under way.
    pub(super) fn erases(&self, form: Form, fences: u64, settled: Time) -> Vec<BlockId> {
        let erases = self.dies.iter().filter_map(|last| last.erase);
        let met =
            erases.filter(|&(_, end)| form == Form::LostErase && fences == self.fences && is_uncertain(end, settled));
        met.map(|(block, _)| block).collect()
    }
}

fn is_uncertain(end: Time, settled: Time) -> bool {
    end == 0 || end > settled
}
