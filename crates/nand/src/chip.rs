//! A chip as a firmware sees it: raw bytes of pages and spare areas, and a broken rule as an error with its sentence.
//!
//! [`crate::Nand`] is a contract for our own FTLs: typed spare areas, one program a page, and a panic for a caller's bug.
//! A firmware from elsewhere needs the bytes of the spare area, programs a page in parts, and may break a rule. Rules,
//! faults and power cuts are those of the other devices:
//!
//! * An erased page reads as FFh. A program clears bits. A page takes [`Rules::partial_programs`] programs between erases;
//!   a byte of data takes one. The bytes of a spare area take several, and each clears more bits.
//! * The chip corrects [`Options::ecc_bits`] wrong bits of a page. A page with more is [`NandError::Uncorrectable`].
//! * A failed program spends its page, and a failed erase its block, as in [`crate::faulty`].
//! * A power cut leaves the states of [`crate::power_cut`]. A program is durable when it returns; with
//!   [`Options::cached_programs`] it is durable after the next fence.
//!
//! Commands run one after another: the time is the sum of the data sheet's times and of the bytes moved.

mod block;
mod error;
mod operations;
mod options;

pub use error::ChipError;
pub use options::{Counts, Options};

use crate::address::{BlockId, Geometry, Ppa};
use crate::config_error::ConfigError;
use crate::context::Time;
use crate::faulty::{draws, Config as Faults, Draw, Script};
use crate::nand::NandError;
use crate::operation::Operation;
use crate::power_cut::{CutPlan, Form};
use crate::profile::{Durations, Timing};
use crate::rules::Rules;
use block::{Block, Torn};

/// A NAND chip with raw bytes.
#[derive(Clone, Debug)]
pub struct Chip {
    geometry: Geometry,
    rules: Rules,
    options: Options,
    times: Durations,
    faults: Faults,
    programs: Script,
    erases: Script,
    blocks: Vec<Block>,
    plan: Option<CutPlan>,
    operations: u64,
    /// The cut operation; there is no power while it is set.
    cut: Option<Operation>,
    /// The last program that no fence followed.
    unfenced: Option<Ppa>,
    counts: Counts,
    time: Time,
}

impl Chip {
    /// A chip whose good blocks are erased.
    ///
    /// # Errors
    /// A fault option out of its range or beyond the chip.
    pub fn new(
        geometry: Geometry,
        rules: Rules,
        timing: &Timing,
        options: Options,
        faults: Faults,
    ) -> Result<Self, ConfigError> {
        faults.check(&geometry)?;
        let pages = geometry.pages_per_block();
        let mut blocks = vec![Block::new(pages, faults.initial_pe_cycles); geometry.blocks() as usize];
        let bad = faults.factory_bad(geometry.blocks(), &mut draws(faults.seed, Draw::FactoryBad, 0, 0));
        for (block, bad) in blocks.iter_mut().zip(bad) {
            block.bad = bad;
        }
        Ok(Self {
            times: Durations::new(timing, geometry.shape()),
            programs: Script::new(&faults.failing_programs),
            erases: Script::new(&faults.failing_erases),
            geometry,
            rules,
            options,
            faults,
            blocks,
            plan: None,
            operations: 0,
            cut: None,
            unfenced: None,
            counts: Counts::default(),
            time: 0,
        })
    }

    /// The shape of the chip.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The chip's rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The options given at the start.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Operations so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Time used by all commands so far, in ns.
    pub fn time_ns(&self) -> Time {
        self.time
    }

    /// P/E cycles of a block, cycles before the start included.
    pub fn pe_cycles(&self, block: BlockId) -> u32 {
        self.blocks[block.index()].pe_cycles
    }

    /// Makes all programs durable.
    ///
    /// # Errors
    /// [`NandError::PowerLost`].
    pub fn fence(&mut self) -> Result<(), ChipError> {
        self.powered()?;
        self.unfenced = None;
        Ok(())
    }

    /// Plans a power cut at an operation counted from now; replaces an earlier plan.
    pub fn arm(&mut self, plan: CutPlan) {
        assert!(plan.operation > 0, "operations are counted from 1, the next one");
        self.operations = 0;
        self.plan = Some(plan);
    }

    /// Restores power. The flash is as the cut left it.
    pub fn restore(&mut self) {
        self.plan = None;
        self.cut = None;
        self.operations = 0;
        self.unfenced = None;
    }

    /// Operations that changed the flash, or tried to, since the chip was made, armed or restored.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// The operation cut by the power loss, until power is restored.
    pub fn cut_operation(&self) -> Option<Operation> {
        self.cut
    }

    /// Makes the `ordinal`-th program from now fail; 1: the next one.
    pub fn fail_program(&mut self, ordinal: u64) {
        self.programs.fail_from_now(ordinal);
    }

    /// Makes the `ordinal`-th erase from now fail; 1: the next one.
    pub fn fail_erase(&mut self, ordinal: u64) {
        self.erases.fail_from_now(ordinal);
    }

    /// Adds wrong bits to a page's data. They stay until the erase of the block.
    ///
    /// # Errors
    /// A page outside the chip.
    pub fn flip_bits(&mut self, at: Ppa, bits: u32) -> Result<(), ChipError> {
        let (block, page) = self.place(at, "flip")?;
        let wrong = &mut self.blocks[block].pages[page].wrong_bits;
        *wrong = wrong.saturating_add(bits);
        Ok(())
    }

    fn powered(&self) -> Result<(), ChipError> {
        match self.cut {
            Some(_) => Err(NandError::PowerLost.into()),
            None => Ok(()),
        }
    }

    /// The block and the page inside it.
    fn place(&self, at: Ppa, what: &str) -> Result<(usize, usize), ChipError> {
        let pages = self.geometry.pages();
        if at.0 >= pages {
            return Err(ChipError::rule(format!("{what} of page {at}: the chip has pages 0 to {}", pages - 1)));
        }
        Ok((self.geometry.block_of(at).index(), self.geometry.page_in_block(at) as usize))
    }

    fn block_place(&self, block: BlockId, what: &str) -> Result<usize, ChipError> {
        let blocks = self.geometry.blocks();
        if block.0 >= blocks {
            return Err(ChipError::rule(format!("{what} of block {block}: the chip has blocks 0 to {}", blocks - 1)));
        }
        Ok(block.index())
    }

    /// Counts an operation; returns the form of its cut, if it is cut.
    fn next_form(&mut self, operation: Operation) -> Option<Form> {
        self.operations += 1;
        let plan = self.plan.filter(|plan| plan.operation == self.operations)?;
        self.plan = None;
        self.cut = Some(operation);
        Some(if plan.form.applies_to(operation) { plan.form } else { Form::Clean })
    }

    /// Loses the program that no fence followed, if the form does so.
    fn lose_tail(&mut self, form: Form) {
        if let (Form::LostTail, Some(at)) = (form, self.unfenced) {
            let page = self.geometry.page_in_block(at) as usize;
            self.blocks[self.geometry.block_of(at).index()].pages[page].torn = Some(Torn::DataAndSpare);
        }
    }
}

#[cfg(test)]
mod tests;
