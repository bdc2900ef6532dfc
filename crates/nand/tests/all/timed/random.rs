//! Random operations, compared with a device without a clock.

use super::{device, new, old, oob, timing, US};
use nandlab_nand::random::Random;
use nandlab_nand::{BlockId, Cause, Nand, Origin, Ppa, Time};

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Read(Ppa),
    ReadSpare(Ppa),
    ReadTail(Ppa),
    Program(Ppa),
    Copy(Ppa, Ppa),
    Erase(BlockId),
}

/// Random legal operations: blocks 0 and 1 of a plane stay programmed, block 2 is programmed page by page and
/// erased when full.
pub(super) struct Ops {
    random: Random,
    /// Programmed pages in block 2, by plane.
    fill: Vec<u32>,
}

impl Ops {
    pub(super) fn new(seed: u64, planes: u32) -> Self {
        Self { random: Random::new(seed), fill: vec![0; planes as usize] }
    }

    pub(super) fn next(&mut self) -> Op {
        let mut below = |bound: u32| self.random.below(bound.into()) as u32;
        let planes = self.fill.len() as u32;
        let (plane, source, page, what) = (below(planes), below(planes), below(16), below(8));
        let fill = &mut self.fill[plane as usize];
        match what {
            0..=2 => Op::Read(old(plane, page)),
            3 => Op::ReadSpare(old(plane, page)),
            4 => Op::ReadTail(old(plane, page)),
            _ if *fill == 8 => {
                *fill = 0;
                Op::Erase(BlockId(plane * 4 + 2))
            }
            _ => {
                *fill += 1;
                let to = new(plane, *fill - 1);
                if what == 5 {
                    Op::Copy(old(source, page), to)
                } else {
                    Op::Program(to)
                }
            }
        }
    }
}

/// Issues `op`; returns its end.
pub(super) fn issue(nand: &mut impl Nand<Buf = ()>, op: Op) -> Time {
    match op {
        Op::Read(at) => drop(nand.read(at, &mut ()).unwrap()),
        Op::ReadSpare(at) => drop(nand.read_spare(at).unwrap()),
        Op::ReadTail(at) => drop(nand.read_tail(at, &mut [0; 8]).unwrap()),
        Op::Program(at) => assert_eq!(nand.program(at, &(), &[], oob(0)).unwrap().0, nand.ctx().last()),
        Op::Copy(from, to) => drop(nand.copy(from, to, oob(0)).unwrap()),
        Op::Erase(block) => assert_eq!(nand.erase(block).unwrap().0, nand.ctx().last()),
    }
    nand.ctx().last()
}

#[test]
fn time_changes_no_count() {
    let mut timed = device(2, 2, 1, &timing());
    let mut counting = timed.inner().clone();
    let mut ops = Ops::new(9, 4);
    for n in 0..2_000 {
        let op = ops.next();
        let both: [&mut dyn Nand<Buf = ()>; 2] = [&mut timed, &mut counting];
        for mut nand in both {
            nand.ctx().begin(Origin((n % 5) as u8), n * US);
            nand.ctx().set_cause(if n % 3 == 0 { Cause::Gc } else { Cause::Host });
            issue(&mut nand, op);
        }
    }
    assert!(timed.ctx().horizon() > 0);
    assert_eq!(counting.ctx().horizon(), 0);
    assert_eq!(timed.ctx().matrix(), counting.ctx().matrix());
    assert_eq!(timed.inner().pe_cycles(), counting.pe_cycles());
}
