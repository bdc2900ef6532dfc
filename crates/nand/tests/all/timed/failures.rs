//! Cost of failed operations.

use super::{device, new, old, oob, timing, ERASE, PAGE, PROGRAM, READ, SPARE, TAIL_ON_BUS};
use nandlab_nand::timed::Timed;
use nandlab_nand::{as_inside, BlockId, Counting, Done, Nand, NandError, Oob, Ppa, Time};

/// Fails every operation in one way, after `inner` counted it.
struct Failing {
    inner: Counting,
    error: NandError,
}

impl Nand for Failing {
    type Buf = ();
    as_inside!(inner: geometry, rules, is_known_erased, is_settled, set_slc, is_slc, ctx);
    fn read(&mut self, at: Ppa, page: &mut ()) -> Result<Oob, NandError> {
        self.inner.read(at, page).and(Err(self.error))
    }
    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        self.inner.read_spare(at).and(Err(self.error))
    }
    fn program(&mut self, at: Ppa, page: &(), tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.inner.program(at, page, tail, oob).and(Err(self.error))
    }
    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.inner.read_tail(at, tail).and(Err(self.error))
    }
    fn read_with_tail(&mut self, at: Ppa, page: &mut (), tail: &mut [u8]) -> Result<Oob, NandError> {
        self.inner.read_with_tail(at, page, tail).and(Err(self.error))
    }
    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        self.inner.copy(from, to, oob).and(Err(self.error))
    }
    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        self.inner.program_spare(at, oob).and(Err(self.error))
    }
    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.inner.erase(block).and(Err(self.error))
    }
    fn retire(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.inner.retire(block).and(Err(self.error))
    }
}

#[test]
fn a_failure_takes_its_time_and_lost_power_none() {
    type Attempt = fn(&mut Timed<Failing>) -> Result<(), NandError>;
    let (at, block) = (new(0, 0), BlockId(3));
    let attempts: [(Attempt, NandError, Time); 10] = [
        (|n| n.program(new(0, 0), &(), &[], oob(0)).map(drop), NandError::ProgramFailed(at), PAGE + PROGRAM),
        (|n| n.program_spare(old(0, 0), oob(0)).map(drop), NandError::ProgramFailed(old(0, 0)), SPARE + PROGRAM),
        (|n| n.erase(BlockId(3)).map(drop), NandError::EraseFailed(block), ERASE),
        (|n| n.retire(BlockId(3)).map(drop), NandError::EraseFailed(block), SPARE + PROGRAM),
        (|n| n.read(old(0, 0), &mut ()).map(drop), NandError::Uncorrectable(old(0, 0)), READ + PAGE),
        (|n| n.read_tail(old(0, 0), &mut [0; 8]).map(drop), NandError::Uncorrectable(at), READ + TAIL_ON_BUS),
        (|n| n.read_spare(old(0, 0)).map(drop), NandError::Uncorrectable(at), READ + SPARE),
        (|n| n.read_spare(old(0, 0)).map(drop), NandError::BadBlock(block), READ + SPARE),
        (|n| n.copy(old(0, 0), new(0, 0), oob(0)).map(drop), NandError::ProgramFailed(at), READ + 2 * PAGE + PROGRAM),
        (|n| n.copy(old(0, 0), new(0, 0), oob(0)).map(drop), NandError::Uncorrectable(old(0, 0)), READ + PAGE),
    ];
    for (attempt, error, time) in attempts {
        for (error, time) in [(error, time), (NandError::PowerLost, 0)] {
            let inner = device(1, 1, 1, &timing()).into_inner();
            let mut nand = Timed::new(Failing { inner, error }, &timing());
            assert_eq!(attempt(&mut nand), Err(error));
            assert_eq!((nand.ctx().finish(), nand.unit_busy_ns()), (time, vec![time]), "{error:?}");
        }
    }
}
