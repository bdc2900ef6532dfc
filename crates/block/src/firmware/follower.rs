//! Counts a firmware's commands on an experiment's device.

use super::{Command, Told};
use nandlab_nand::operation::Operation;
use nandlab_nand::{Cause, Geometry, Lpn, Nand, NandError, Oob, PageBuf, Ppa, Raw, Seq, Time};

/// The state of the flash, which the device cannot be asked.
#[derive(Debug)]
pub struct Flash {
    /// By page: programmed since its erase.
    programmed: Vec<bool>,
    /// By block: its programmed pages.
    used: Vec<u32>,
    bad: Vec<bool>,
    seq: u64,
}

impl Flash {
    /// An erased device.
    pub fn new(geometry: &Geometry) -> Self {
        let blocks = geometry.blocks() as usize;
        Self {
            programmed: vec![false; geometry.pages() as usize],
            used: vec![0; blocks],
            bad: vec![false; blocks],
            seq: 0,
        }
    }
}

impl Flash {
    /// A block's programmed pages, and whether it can be filled.
    pub fn blocks(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        self.used.iter().zip(&self.bad).map(|(&used, &bad)| (used, used == 0 && !bad))
    }

    /// Blocks with a bad-block mark.
    pub fn retired(&self) -> u64 {
        self.bad.iter().filter(|&&bad| bad).count() as u64
    }
}

/// Counts the commands of one call on the experiment's device.
pub struct Follower<'a, N: Nand> {
    /// The device.
    pub nand: &'a mut N,
    /// Its state.
    pub flash: &'a mut Flash,
    /// The cause of a command without one.
    pub usual: Cause,
}

impl<N: Nand> Follower<'_, N> {
    fn carry_out(&mut self, command: &Command) -> Result<(), NandError> {
        let Command { operation, at, from, bytes, .. } = *command;
        let block = self.nand.geometry().block_of(at);
        self.flash.seq += 1;
        let oob = Oob::data(Lpn(0), Seq(self.flash.seq), self.nand.ctx().origin());
        match operation {
            Operation::Read | Operation::TailRead => self.nand.raw(at, Raw::Read(bytes)),
            Operation::SpareRead => self.nand.raw(at, Raw::SpareRead(bytes)),
            Operation::Program | Operation::SpareProgram if !self.flash.programmed[at.0 as usize] => {
                let page = N::Buf::zeroed(self.nand.geometry().page_bytes());
                self.fill(at);
                self.nand.program(at, &page, &[], oob)?;
            }
            Operation::Program => self.nand.raw(at, Raw::Reprogram(bytes)),
            Operation::SpareProgram => self.nand.raw(at, Raw::SpareProgram(bytes)),
            Operation::Copy => {
                self.fill(at);
                if self.flash.programmed[from.0 as usize] {
                    self.nand.copy(from, at, Oob { lpn: Lpn::NONE, ..oob })?;
                } else {
                    let page = N::Buf::zeroed(self.nand.geometry().page_bytes());
                    self.nand.raw(from, Raw::Read(bytes));
                    self.nand.program(at, &page, &[], oob)?;
                }
            }
            Operation::Erase => {
                let pages = self.nand.geometry().pages_per_block();
                let first = self.nand.geometry().page(block, 0).0;
                self.flash.programmed[first as usize..(first + pages) as usize].fill(false);
                self.flash.used[block.index()] = 0;
                self.nand.erase(block)?;
            }
            Operation::Retire => {
                self.flash.bad[block.index()] = true;
                self.nand.retire(block)?;
            }
        }
        Ok(())
    }

    fn fill(&mut self, at: Ppa) {
        self.flash.programmed[at.0 as usize] = true;
        self.flash.used[self.nand.geometry().block_of(at).index()] += 1;
    }
}

impl<N: Nand> Told for Follower<'_, N> {
    fn command(&mut self, command: &Command) {
        let cause = command.cause.unwrap_or(self.usual);
        // The firmware waited for the command before.
        let last = self.nand.ctx().last();
        self.nand.ctx().after(last);
        let before = self.nand.ctx().set_cause(cause);
        self.carry_out(command).expect("the experiment's device has no faults, and the chip allowed the command");
        self.nand.ctx().set_cause(before);
    }

    fn now(&mut self) -> Time {
        self.nand.ctx().last()
    }
}
