//! Shared parts for the device tests: small devices, and random legal operations.

use nandlab_nand::random::Random;
use nandlab_nand::{
    BlockId, Cause, Content, Geometry, Lpn, Nand, NandError, Oob, Origin, PageBuf, Ppa, ProgramOrder, Rules, Seq,
};

pub const ORDERS: [ProgramOrder; 3] = [ProgramOrder::Any, ProgramOrder::Ascending, ProgramOrder::AscendingDense];

pub fn geometry(blocks: u32, pages_per_block: u32) -> Geometry {
    Geometry::single_die(blocks, pages_per_block, 512).unwrap()
}

pub fn rules(program_order: ProgramOrder) -> Rules {
    Rules { program_order, partial_programs: 3, endurance: 1000, ..Rules::default() }
}

pub fn oob(lpn: u32, seq: u64) -> Oob {
    Oob::data(Lpn(lpn), Seq(seq), Origin::HOST)
}

/// A 512-byte page, all `fill`.
pub fn page(fill: u8) -> Content {
    Content(Some(vec![fill; 512].into()))
}

pub fn read<N: Nand<Buf = Content>>(nand: &mut N, at: u32) -> Result<(Oob, u8), NandError> {
    let mut into = page(0xEE);
    let oob = nand.read(Ppa(at), &mut into)?;
    let bytes = into.bytes().unwrap();
    assert!(bytes.iter().all(|&byte| byte == bytes[0]), "a page of one byte");
    Ok((oob, bytes[0]))
}

/// Programs page `at` with its own number as logical page, sequence and contents.
pub fn program<N: Nand<Buf = Content>>(nand: &mut N, at: u32) -> Result<(), NandError> {
    nand.program(Ppa(at), &page(at as u8), &[], oob(at, at.into())).map(drop)
}

/// One legal operation.
#[derive(Clone, Debug)]
pub enum Step {
    Begin(Origin, Cause),
    Program { at: Ppa, fill: u8, tail: Vec<u8>, oob: Oob },
    Copy { from: Ppa, to: Ppa, oob: Oob },
    SpareProgram { at: Ppa, oob: Oob },
    Erase(BlockId),
    Retire(BlockId),
    Read(Ppa),
    SpareRead(Ppa),
    TailRead { at: Ppa, bytes: usize },
}

/// A step's answer: metadata read or copied, and bytes read.
#[derive(PartialEq, Eq, Debug)]
pub struct Answer(pub Result<Option<Oob>, NandError>, pub Vec<u8>);

pub fn apply<N: Nand>(nand: &mut N, step: &Step) -> Answer {
    let page_bytes = nand.geometry().page_bytes();
    let mut read = N::Buf::zeroed(page_bytes);
    let mut bytes = Vec::new();
    let result = match step {
        Step::Begin(origin, cause) => {
            nand.ctx().begin(*origin, 0);
            nand.ctx().set_cause(*cause);
            Ok(None)
        }
        Step::Program { at, fill, tail, oob } => {
            let mut page = N::Buf::zeroed(page_bytes);
            if let Some(bytes) = page.bytes_mut() {
                bytes.fill(*fill);
            }
            nand.program(*at, &page, tail, *oob).map(|_| None)
        }
        Step::Copy { from, to, oob } => nand.copy(*from, *to, *oob).map(Some),
        Step::SpareProgram { at, oob } => nand.program_spare(*at, *oob).map(|_| None),
        Step::Erase(block) => nand.erase(*block).map(|_| None),
        Step::Retire(block) => nand.retire(*block).map(|_| None),
        Step::Read(at) => {
            let result = nand.read(*at, &mut read).map(Some);
            bytes.extend(read.bytes().unwrap_or_default());
            result
        }
        Step::SpareRead(at) => nand.read_spare(*at),
        Step::TailRead { at, bytes: count } => {
            bytes = vec![0; *count];
            nand.read_tail(*at, &mut bytes).map(Some)
        }
    };
    Answer(result, bytes)
}

#[derive(Clone, Copy, Default)]
struct Page {
    programs: u8,
    tail: usize,
    fill: u8,
}

/// Draws legal steps, and predicts each read's bytes.
pub struct Script {
    random: Random,
    geometry: Geometry,
    rules: Rules,
    pages: Vec<Page>,
    bad: Vec<bool>,
    tails: Vec<Vec<u8>>,
    seq: u64,
    /// Probability for a step to retire a block.
    pub retire: f64,
}

impl Script {
    pub fn new(seed: u64, geometry: Geometry, rules: Rules) -> Self {
        let pages = geometry.pages() as usize;
        Self {
            random: Random::new(seed),
            pages: vec![Page::default(); pages],
            tails: vec![Vec::new(); pages],
            bad: vec![false; geometry.blocks() as usize],
            geometry,
            rules,
            // Too large for the 32-bit offset stored per page.
            seq: 1 << 40,
            retire: 0.0005,
        }
    }

    /// From here on, no step programs or erases `block`.
    pub fn mark_bad(&mut self, block: BlockId) {
        self.bad[block.index()] = true;
    }

    fn oob(&mut self) -> Oob {
        self.seq += 1;
        let origin = Origin(self.random.below(18) as u8);
        Oob::data(Lpn(self.random.below(100) as u32), Seq(self.seq), origin)
    }

    fn draw(&mut self, bound: u32) -> u32 {
        self.random.below(bound.into()) as u32
    }

    /// A programmable page for the next step.
    fn programmable(&mut self) -> Option<Ppa> {
        let block = BlockId(self.draw(self.geometry.blocks()));
        if self.bad[block.index()] {
            return None;
        }
        let per_block = self.geometry.pages_per_block();
        let first = self.geometry.page(block, 0);
        let used = |page: u32| self.pages[first.index() + page as usize].programs > 0;
        let next = (0..per_block).rev().find(|&page| used(page)).map_or(0, |page| page + 1);
        let page = match self.rules.program_order {
            ProgramOrder::Any => self.draw(per_block),
            // An occasional gap.
            ProgramOrder::Ascending => next + u32::from(self.random.chance(0.1)),
            ProgramOrder::AscendingDense => next,
        };
        let free = page < per_block && self.pages[first.index() + page as usize].programs == 0;
        free.then(|| self.geometry.page(block, page))
    }

    /// A programmed page in a good block.
    fn programmed(&mut self) -> Option<Ppa> {
        let at = Ppa(self.draw(self.geometry.pages()));
        let good = !self.bad[self.geometry.block_of(at).index()];
        (good && self.pages[at.index()].programs > 0).then_some(at)
    }

    /// The next legal step.
    pub fn step(&mut self) -> Step {
        loop {
            if let Some(step) = self.try_step() {
                return step;
            }
        }
    }

    fn try_step(&mut self) -> Option<Step> {
        if self.random.chance(self.retire) && self.bad.iter().filter(|&&bad| !bad).count() > 2 {
            let block = BlockId(self.draw(self.geometry.blocks()));
            self.bad[block.index()] = true;
            return Some(Step::Retire(block));
        }
        match self.draw(100) {
            0..40 => {
                let at = self.programmable()?;
                let fill = self.draw(256) as u8;
                let tail = if self.random.chance(0.2) {
                    (0..self.draw(40)).map(|_| self.draw(256) as u8).collect()
                } else {
                    Vec::new()
                };
                self.pages[at.index()] = Page { programs: 1, tail: tail.len(), fill };
                self.tails[at.index()].clone_from(&tail);
                Some(Step::Program { at, fill, tail, oob: self.oob() })
            }
            40..55 => {
                let (from, to) = (self.programmed()?, self.programmable()?);
                self.pages[to.index()] = Page { programs: 1, ..self.pages[from.index()] };
                self.tails[to.index()] = self.tails[from.index()].clone();
                let named = self.oob();
                let oob = if self.random.chance(0.5) { Oob::renewed(named.aux, named.seq) } else { named };
                Some(Step::Copy { from, to, oob })
            }
            55..60 => {
                let at = self.programmed()?;
                if self.pages[at.index()].programs >= self.rules.partial_programs {
                    return None;
                }
                self.pages[at.index()].programs += 1;
                Some(Step::SpareProgram { at, oob: self.oob() })
            }
            60..68 => {
                let block = BlockId(self.draw(self.geometry.blocks()));
                if self.bad[block.index()] {
                    return None;
                }
                let first = self.geometry.page(block, 0).index();
                self.pages[first..first + self.geometry.pages_per_block() as usize].fill(Page::default());
                Some(Step::Erase(block))
            }
            68..80 => self.programmed().map(Step::Read),
            80..90 => Some(Step::SpareRead(Ppa(self.draw(self.geometry.pages())))),
            90..95 => {
                let at = self.programmed()?;
                let tail = self.pages[at.index()].tail;
                (tail > 0).then(|| Step::TailRead { at, bytes: tail.min(1 + self.draw(tail as u32) as usize) })
            }
            _ => {
                let cause = Cause::ALL[self.draw(Cause::ALL.len() as u32) as usize];
                Some(Step::Begin(Origin(self.draw(18) as u8), cause))
            }
        }
    }

    /// A programmed page's bytes.
    pub fn expected(&self, at: Ppa) -> Vec<u8> {
        let mut bytes = vec![self.pages[at.index()].fill; self.geometry.page_bytes() as usize];
        let tail = &self.tails[at.index()];
        let start = bytes.len() - tail.len();
        bytes[start..].copy_from_slice(tail);
        bytes
    }
}
