//! NOR flash as a firmware sees it: bytes at addresses, programs that clear bits, and erase blocks.
//!
//! * An erased byte reads as FFh. A program clears the bits that are 0 in its data; a 1 leaves a bit as it is.
//! * A program begins and ends at a word ([`Options::word_bytes`]) and stays inside a page ([`Options::page_bytes`]).
//! * With [`Options::programs_once`] a word takes one program between erases, because the chip keeps an ECC beside it.
//!   Only zeros may be programmed on top.
//! * There is no spare area and no bad block, and the chip reports no wrong bits.
//!
//! ## Power cuts
//!
//! The forms are those of [`crate::power_cut`], with these meanings. `clean` and `done` are as on NAND.
//!
//! | form | program | erase |
//! |---|---|---|
//! | `torn_page` | the first half of the words is programmed | |
//! | `torn_spare` | each bit to clear is cleared or not, drawn | |
//! | `torn_erase.prefix` | | the first half of the block is erased |
//! | `torn_erase.unreadable` | | each cleared bit is set or not, drawn |
//!
//! A drawn bit then reads the same at every read. Real cells between 0 and 1 may read differently each time.

use crate::chip::{ChipError, Counts};
use crate::config_error::ConfigError;
use crate::context::Time;
use crate::nand::NandError;
use crate::operation::Operation;
use crate::power_cut::{CutPlan, Form};
use crate::random::Random;

/// A chip in numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Erase blocks.
    pub blocks: u32,
    /// Bytes in an erase block, a multiple of [`Self::page_bytes`].
    pub block_bytes: u32,
    /// Most bytes in one program; no program crosses a multiple of it.
    pub page_bytes: u32,
    /// Fewest bytes in one program, a divisor of [`Self::page_bytes`].
    pub word_bytes: u32,
    /// Whether a word takes one program between erases.
    pub programs_once: bool,
    /// Time from a read command to the first byte, in us.
    pub read_us: f64,
    /// Time to program the first word, in us.
    pub program_us: f64,
    /// Time for each further byte, in us.
    pub program_byte_us: f64,
    /// Time to erase a block, in us.
    pub erase_us: f64,
    /// Time to move a byte, in ns.
    pub transfer_ns_per_byte: f64,
    /// Draws the bits that a cut leaves.
    pub seed: u64,
}

/// Most bytes of a chip.
const MOST_BYTES: u64 = 1 << 30;

/// A NOR chip.
#[derive(Clone, Debug)]
pub struct Nor {
    options: Options,
    bytes: Vec<u8>,
    pe_cycles: Vec<u32>,
    plan: Option<CutPlan>,
    operations: u64,
    cut: Option<Operation>,
    cuts: u64,
    counts: Counts,
    time: Time,
}

impl Nor {
    /// An erased chip.
    ///
    /// # Errors
    /// Sizes that do not divide each other, or more than 1 GiB.
    pub fn new(options: Options) -> Result<Self, ConfigError> {
        let Options { blocks, block_bytes, page_bytes, word_bytes, .. } = options;
        let divides = |part: u32, whole: u32| part > 0 && whole > 0 && whole % part == 0;
        let bytes = u64::from(blocks) * u64::from(block_bytes);
        if !divides(word_bytes, page_bytes) || !divides(page_bytes, block_bytes) || !(1..=MOST_BYTES).contains(&bytes) {
            return Err(ConfigError {
                key: "blocks, block_bytes, page_bytes, word_bytes",
                value: format!("{blocks}, {block_bytes}, {page_bytes}, {word_bytes}"),
                allowed: "a word must divide a page, a page must divide a block, and a chip has at most 1 GiB".into(),
            });
        }
        Ok(Self {
            bytes: vec![0xFF; bytes as usize],
            pe_cycles: vec![0; blocks as usize],
            options,
            plan: None,
            operations: 0,
            cut: None,
            cuts: 0,
            counts: Counts::default(),
            time: 0,
        })
    }

    /// The numbers given at the start.
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

    /// Erases of a block.
    pub fn pe_cycles(&self, block: u32) -> Option<u32> {
        self.pe_cycles.get(block as usize).copied()
    }

    /// Every program is durable when it returns, so nothing is left to wait for.
    ///
    /// # Errors
    /// [`NandError::PowerLost`].
    pub fn fence(&self) -> Result<(), ChipError> {
        self.powered()
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
    }

    /// Operations that changed the flash, or tried to, since the chip was made, armed or restored.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// The operation cut by the power loss, until power is restored.
    pub fn cut_operation(&self) -> Option<Operation> {
        self.cut
    }

    /// Whether a cut of this form leaves something of its own here.
    pub fn has(form: Form) -> bool {
        !matches!(form, Form::WeakPage | Form::TornEraseWeak | Form::LostTail) && !form.is_of_stack_alone()
    }

    fn powered(&self) -> Result<(), ChipError> {
        self.cut.map_or(Ok(()), |_| Err(NandError::PowerLost.into()))
    }

    fn range(&self, what: &str, address: u32, length: usize) -> Result<std::ops::Range<usize>, ChipError> {
        let start = address as usize;
        if start + length > self.bytes.len() {
            return Err(ChipError::Rule(format!(
                "{what} of {length} bytes at {address}: the chip has {} bytes",
                self.bytes.len()
            )));
        }
        Ok(start..start + length)
    }

    fn spend(&mut self, us: f64, bytes: usize) {
        self.time += (us * 1e3 + self.options.transfer_ns_per_byte * bytes as f64).round() as Time;
    }

    /// Reads bytes from an address.
    ///
    /// # Errors
    /// [`NandError::PowerLost`], or a broken rule.
    pub fn read(&mut self, address: u32, to: &mut [u8]) -> Result<(), ChipError> {
        self.powered()?;
        let range = self.range("read", address, to.len())?;
        self.counts.reads += 1;
        self.counts.read_bytes += to.len() as u64;
        self.spend(self.options.read_us, to.len());
        to.copy_from_slice(&self.bytes[range]);
        Ok(())
    }

    /// Clears the bits that are 0 in `from`.
    ///
    /// # Errors
    /// [`NandError::PowerLost`], or a broken rule.
    pub fn program(&mut self, address: u32, from: &[u8]) -> Result<(), ChipError> {
        self.powered()?;
        let range = self.programmable(address, from)?;
        let Options { word_bytes, program_us, program_byte_us, .. } = self.options;
        self.counts.programs += 1;
        self.counts.programmed_bytes += from.len() as u64;
        self.spend(program_us + program_byte_us * (from.len() as f64 - f64::from(word_bytes)), from.len());
        let form = self.next_form(Operation::Program);
        let mut draws = self.draws(address);
        let words = from.len() / word_bytes as usize;
        let programmed = match form {
            Some(Form::TornPage) => words.div_ceil(2) * word_bytes as usize,
            Some(Form::Clean) => 0,
            _ => from.len(),
        };
        let drawn = form == Some(Form::TornSpare);
        for (cell, byte) in self.bytes[range].iter_mut().zip(&from[..programmed]) {
            *cell &= if drawn { byte | draws.below(256) as u8 } else { *byte };
        }
        form.map_or(Ok(()), |_| Err(NandError::PowerLost.into()))
    }

    /// Refuses a program that breaks a rule.
    fn programmable(&self, address: u32, from: &[u8]) -> Result<std::ops::Range<usize>, ChipError> {
        let range = self.range("program", address, from.len())?;
        let Options { page_bytes, word_bytes, programs_once, .. } = self.options;
        let refuse = |why: String| Err(ChipError::Rule(format!("program of {} bytes at {address}: {why}", from.len())));
        let is_aligned = address % word_bytes == 0 && from.len() as u32 % word_bytes == 0;
        if from.is_empty() || !is_aligned {
            return refuse(format!("this chip programs whole words of {word_bytes} bytes"));
        }
        if address / page_bytes != (address + from.len() as u32 - 1) / page_bytes {
            return refuse(format!("it crosses a page of {page_bytes} bytes"));
        }
        let now = &self.bytes[range.clone()];
        if programs_once {
            let words = now.chunks(word_bytes as usize).zip(from.chunks(word_bytes as usize));
            for (number, (old, new)) in words.enumerate() {
                if old.iter().any(|&byte| byte != 0xFF) && new.iter().any(|&byte| byte != 0) {
                    let at = address + number as u32 * word_bytes;
                    return refuse(format!("the word at {at} is programmed already, and takes zeros alone"));
                }
            }
        }
        Ok(range)
    }

    /// Erases a block.
    ///
    /// # Errors
    /// [`NandError::PowerLost`], or a broken rule.
    pub fn erase(&mut self, block: u32) -> Result<(), ChipError> {
        self.powered()?;
        let Options { blocks, block_bytes, erase_us, .. } = self.options;
        if block >= blocks {
            return Err(ChipError::Rule(format!("erase of block {block}: the chip has blocks 0 to {}", blocks - 1)));
        }
        self.counts.erases += 1;
        self.spend(erase_us, 0);
        let form = self.next_form(Operation::Erase);
        let mut draws = self.draws(block);
        let start = (block * block_bytes) as usize;
        let erased = match form {
            Some(Form::Clean) => 0,
            Some(Form::TornErasePrefix) => block_bytes as usize / 2,
            _ => block_bytes as usize,
        };
        let drawn = form == Some(Form::TornEraseUnreadable);
        for cell in &mut self.bytes[start..start + erased] {
            *cell |= if drawn { draws.below(256) as u8 } else { 0xFF };
        }
        self.pe_cycles[block as usize] += u32::from(form != Some(Form::Clean));
        form.map_or(Ok(()), |_| Err(NandError::PowerLost.into()))
    }

    /// Counts an operation; returns the form of its cut, if it is cut.
    fn next_form(&mut self, operation: Operation) -> Option<Form> {
        self.operations += 1;
        let plan = self.plan.filter(|plan| plan.operation == self.operations)?;
        self.plan = None;
        self.cut = Some(operation);
        self.cuts += 1;
        Some(if plan.form.applies_to(operation) && Self::has(plan.form) { plan.form } else { Form::Clean })
    }

    /// Bits of a cut: the same for the same chip, place and number of the cut.
    fn draws(&self, place: u32) -> Random {
        Random::new(self.options.seed ^ u64::from(place) << 20 ^ self.cuts)
    }
}

#[cfg(test)]
mod tests;
