//! A device with factory-bad blocks, failing operations and bit errors.
//!
//! * A **factory-bad block** answers [`NandError::BadBlock`] to a read of any spare area; to program or erase
//!   it is a caller's error, as with a retired block.
//! * A **failed program** spends its page: data and spare area become unreadable, and the page cannot be
//!   programmed again before an erase. The rest of the block is unchanged. A failed copy does the same to its
//!   target, a failed spare program to its page.
//! * A **failed erase** leaves nothing readable, and every later program or erase of the block fails, until it
//!   is retired.
//! * **Bit errors** ([`BitErrors`]) within the ECC limit are corrected and counted; beyond it, the page is
//!   [`NandError::Uncorrectable`] until the block is erased.
//!
//! The inner device still carries out failed operations, so they cost time and are counted. A read of a block
//! with a failed erase costs a read of a spare area. This wrapper holds the state of the faults, not the inner
//! device: it outlives an FTL, but not the wrapper.

mod config;

pub use crate::config_error::ConfigError;
pub use config::{BitErrors, Config};

pub(crate) use config::failure_chance;

use crate::address::{BlockId, Ppa};
use crate::as_inside;
use crate::content::PageBuf;
use crate::list_code::ecc_bits_of_tail;
use crate::nand::{Done, Nand, NandError};
use crate::oob::Oob;
use crate::random::Random;
use crate::side_table::SideTable;
use crate::wrapper::ways_inside;
use std::collections::BTreeSet;

/// Faults so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// Failed programs, copies and spare programs.
    pub failed_programs: u64,
    /// Failed erases.
    pub failed_erases: u64,
    /// Bits corrected by the ECC, counted again at every read.
    pub corrected_bits: u64,
    /// Page reads, copies included, with more errors than the ECC corrects.
    pub uncorrectable_reads: u64,
}

/// A wrapper around `N` with faults.
#[derive(Clone, Debug)]
pub struct Faulty<N> {
    inner: N,
    config: Config,
    /// By block; empty if there are none.
    factory_bad: Vec<bool>,
    pe_cycles: Vec<u32>,
    programs: Script,
    erases: Script,
    /// Pages with a failed program.
    spent: SideTable<()>,
    /// Blocks with a failed erase.
    dead: BTreeSet<BlockId>,
    counts: FaultCounts,
}

/// Operation count for one kind, and its failing ordinals.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    done: u64,
    failing: BTreeSet<u64>,
}

impl Script {
    pub(crate) fn new(failing: &[u64]) -> Self {
        Self { done: 0, failing: failing.iter().copied().collect() }
    }

    /// Counts the next operation; true if it fails.
    pub(crate) fn next_fails(&mut self) -> bool {
        self.done += 1;
        self.failing.remove(&self.done)
    }

    pub(crate) fn fail_from_now(&mut self, ordinal: u64) {
        assert!(ordinal > 0, "operations are counted from 1, the next one");
        self.failing.insert(self.done + ordinal);
    }
}

/// Independent random streams.
#[derive(Clone, Copy)]
pub(crate) enum Draw {
    FactoryBad = 1,
    Program = 2,
    Erase = 3,
    BitErrors = 4,
}

impl<N: Nand> Faulty<N> {
    /// Adds the faults in `config` to `inner`.
    ///
    /// # Errors
    /// [`ConfigError`] if a value in `config` is out of its range or beyond the device.
    pub fn new(inner: N, config: Config) -> Result<Self, ConfigError> {
        let geometry = inner.geometry();
        config.check(geometry)?;
        let blocks = geometry.blocks();
        let mut draws = draws(config.seed, Draw::FactoryBad, 0, 0);
        Ok(Self {
            factory_bad: config.factory_bad(blocks, &mut draws),
            pe_cycles: vec![config.initial_pe_cycles; blocks as usize],
            programs: Script::new(&config.failing_programs),
            erases: Script::new(&config.failing_erases),
            spent: SideTable::default(),
            dead: BTreeSet::new(),
            counts: FaultCounts::default(),
            inner,
            config,
        })
    }

    /// Makes the `ordinal`-th program from now fail; 1: the next one.
    pub fn fail_program(&mut self, ordinal: u64) {
        self.programs.fail_from_now(ordinal);
    }

    /// Makes the `ordinal`-th erase from now fail; 1: the next one.
    pub fn fail_erase(&mut self, ordinal: u64) {
        self.erases.fail_from_now(ordinal);
    }

    /// Programs, copies and spare programs so far.
    pub fn programs(&self) -> u64 {
        self.programs.done
    }

    /// Erases so far.
    pub fn erases(&self) -> u64 {
        self.erases.done
    }

    /// Faults so far.
    pub fn counts(&self) -> &FaultCounts {
        &self.counts
    }

    /// The factory-bad blocks.
    pub fn factory_bad_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        (0..).zip(&self.factory_bad).filter(|(_, &bad)| bad).map(|(block, _)| BlockId(block))
    }

    fn block_of(&self, at: Ppa) -> BlockId {
        self.inner.geometry().block_of(at)
    }

    /// Refuses a page with a failed program, or in a block with a failed erase, at the cost of the read.
    fn refuse_lost(&mut self, at: Ppa) -> Result<(), NandError> {
        if self.dead.contains(&self.block_of(at)) {
            self.inner.read_spare(at)?;
        } else if self.spent.get(at).is_some() {
            self.sense(at)?;
        } else {
            return Ok(());
        }
        self.uncorrectable(at)
    }

    fn uncorrectable(&mut self, at: Ppa) -> Result<(), NandError> {
        self.counts.uncorrectable_reads += 1;
        Err(NandError::Uncorrectable(at))
    }

    /// A page read without a receiver for the data.
    fn sense(&mut self, at: Ppa) -> Result<Oob, NandError> {
        let page_bytes = self.inner.geometry().page_bytes();
        self.inner.read(at, &mut N::Buf::zeroed(page_bytes))
    }

    fn is_factory_bad(&self, block: BlockId) -> bool {
        self.factory_bad.get(block.index()) == Some(&true)
    }

    fn assert_not_factory_bad(&self, at: Ppa) {
        let block = self.block_of(at);
        let page = self.inner.geometry().page_in_block(at);
        assert!(!self.is_factory_bad(block), "program of page {page} in block {block}: the block is bad");
    }

    /// Applies the ECC to the last `bytes` bytes of a programmed page; includes the spare area if only the tail
    /// is read.
    fn correct(&mut self, at: Ppa, bytes: usize, tail_of: Option<&Oob>) -> Result<(), NandError> {
        match self.corrected_bits(at, bytes, tail_of) {
            Some(bits) => {
                self.counts.corrected_bits += bits;
                Ok(())
            }
            None => self.uncorrectable(at),
        }
    }

    /// Wrong bits in the codewords that hold the last `bytes` bytes; `None` if one exceeds the ECC limit.
    fn corrected_bits(&self, at: Ppa, bytes: usize, tail_of: Option<&Oob>) -> Option<u64> {
        let Some(errors) = &self.config.bit_errors else { return Some(0) };
        let ecc_bits = tail_of.map_or(errors.ecc_bits, |oob| ecc_bits_of_tail(oob, bytes, errors.ecc_bits));
        let pe_cycles = self.pe_cycles[self.block_of(at).index()];
        let rate = errors.rber_at(pe_cycles, self.inner.rules().endurance);
        let codewords = self.inner.geometry().page_bytes() / errors.codeword_bytes;
        let skipped = codewords as usize - bytes.div_ceil(errors.codeword_bytes as usize);
        errors
            .draw(rate, codewords, draws(self.config.seed, Draw::BitErrors, at.0, pe_cycles))
            .skip(skipped)
            .map(|wrong| (wrong <= ecc_bits).then_some(u64::from(wrong)))
            .sum()
    }

    fn chance(&self, rate: f64, draw: Draw, address: u32, block: BlockId) -> bool {
        if rate == 0.0 {
            return false;
        }
        let pe_cycles = self.pe_cycles[block.index()];
        let rate = failure_chance(rate, pe_cycles, self.inner.rules().endurance, self.config.failure_growth);
        draws(self.config.seed, draw, address, pe_cycles).chance(rate)
    }

    /// Decides on a program after the inner device has carried it out.
    fn verify_program<T>(&mut self, at: Ppa, done: T, rate: f64) -> Result<T, NandError> {
        let block = self.block_of(at);
        // The script always comes first: it counts.
        let fails =
            self.programs.next_fails() || self.dead.contains(&block) || self.chance(rate, Draw::Program, at.0, block);
        if !fails {
            return Ok(done);
        }
        self.spent.insert(at, ());
        self.counts.failed_programs += 1;
        Err(NandError::ProgramFailed(at))
    }
}

pub(crate) fn draws(seed: u64, draw: Draw, address: u32, pe_cycles: u32) -> Random {
    let seed = seed.wrapping_add((draw as u64) << 56);
    Random::stream(seed, u64::from(address) << 32 | u64::from(pe_cycles))
}

ways_inside!([N: Nand] Faulty<N>, inner);

impl<N: Nand> Nand for Faulty<N> {
    type Buf = N::Buf;

    as_inside!(inner: geometry, rules, is_known_erased, is_settled, retire, set_slc, is_slc, ctx);

    fn read(&mut self, at: Ppa, page: &mut N::Buf) -> Result<Oob, NandError> {
        self.refuse_lost(at)?;
        let oob = self.inner.read(at, page)?;
        let bytes = self.inner.geometry().page_bytes() as usize;
        self.correct(at, bytes, None).inspect_err(|_| page.clear(self.inner.geometry().full_mask()))?;
        Ok(oob)
    }

    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        if self.factory_bad.is_empty() && self.dead.is_empty() && self.spent.is_empty() {
            return self.inner.read_spare(at);
        }
        let oob = self.inner.read_spare(at)?;
        let block = self.block_of(at);
        if self.is_factory_bad(block) {
            return Err(NandError::BadBlock(block));
        }
        if self.dead.contains(&block) || self.spent.get(at).is_some() {
            self.uncorrectable(at)?;
        }
        Ok(oob)
    }

    fn program(&mut self, at: Ppa, page: &N::Buf, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.assert_not_factory_bad(at);
        let done = self.inner.program(at, page, tail, oob)?;
        self.verify_program(at, done, self.config.program_failure_rate)
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.refuse_lost(at)?;
        let oob = self.inner.read_tail(at, tail)?;
        self.correct(at, tail.len(), Some(&oob)).inspect_err(|_| tail.fill(0))?;
        Ok(oob)
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut N::Buf, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.refuse_lost(at)?;
        let oob = self.inner.read_with_tail(at, page, tail)?;
        let bytes = self.inner.geometry().page_bytes() as usize;
        self.correct(at, bytes, None).inspect_err(|_| {
            page.clear(self.inner.geometry().full_mask());
            tail.fill(0);
        })?;
        Ok(oob)
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        self.assert_not_factory_bad(to);
        self.refuse_lost(from)?;
        let bytes = self.inner.geometry().page_bytes() as usize;
        if let Err(error) = self.correct(from, bytes, None) {
            // The copy stopped after its first half.
            self.sense(from)?;
            return Err(error);
        }
        let stored = self.inner.copy(from, to, oob)?;
        self.verify_program(to, stored, self.config.program_failure_rate)
    }

    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        let done = self.inner.program_spare(at, oob)?;
        // The rate is for page programs; a spare program fails by script only.
        self.verify_program(at, done, 0.0)
    }

    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        assert!(!self.is_factory_bad(block), "erase of block {block}: the block is bad");
        let done = self.inner.erase(block)?;
        let first = self.inner.geometry().page(block, 0).0;
        self.spent.remove_range(first..first + self.inner.geometry().pages_per_block());
        self.pe_cycles[block.index()] += 1;
        let fails =
            self.erases.next_fails() || self.chance(self.config.erase_failure_rate, Draw::Erase, block.0, block);
        if fails {
            self.dead.insert(block);
        }
        if self.dead.contains(&block) {
            self.counts.failed_erases += 1;
            return Err(NandError::EraseFailed(block));
        }
        Ok(done)
    }
}
