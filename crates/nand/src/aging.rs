//! A device whose cells age: raw bit errors that grow with P/E cycles, time and reads, against an ECC.
//!
//! * The **raw bit error rate** of a page is a formula ([`Config::rber_at`]) of the P/E cycles of its block, the time
//!   since the page was programmed, and the reads of the block since the first program after its erase. Nothing is
//!   drawn: the expected wrong bits of a codeword are compared with what the ECC corrects, so that equal devices answer
//!   alike.
//! * **Read retry.** Where the ECC corrects fewer, the page is read again with other thresholds, under
//!   [`Cause::ReadRetry`](crate::Cause::ReadRetry); each such read costs what a read costs, disturbs the block as every
//!   read does, and leaves a share of the errors. After the last step the page is [`NandError::Uncorrectable`].
//! * **Strain.** After each read of a page, [`Ctx::take_strain`] tells how near it is to what the ECC corrects, as
//!   controllers know it from the bits that were corrected. An FTL may rewrite the block.
//!
//! The spare area has a stronger code of its own and never fails so, and the list of a page that gathers sectors one in
//! what it leaves of its sector; a read of it disturbs the block all the same,
//! since the whole word line is sensed. A copy is corrected on its way: its source may have to be read again first.
//! What is kept of blocks and pages is here, not inside: it outlives an FTL, but not this wrapper.

mod config;

pub use crate::config_error::ConfigError;
pub use config::Config;

use crate::address::{BlockId, Ppa};
use crate::as_inside;
use crate::content::PageBuf;
use crate::context::{Strain, Time};
use crate::list_code::ecc_bits_of_tail;
use crate::nand::{Done, Nand, NandError};
use crate::oob::Oob;
use crate::wrapper::ways_inside;
use config::Rates;

/// What the ECC had to do so far.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct AgingCounts {
    /// Reads, copies included, of pages that were read again.
    pub retried_reads: u64,
    /// Reads that repeated one, all steps.
    pub retries: u64,
    /// Most steps of one read.
    pub most_retries: u32,
    /// Reads, copies included, of pages that no step made correctable.
    pub uncorrectable_reads: u64,
    /// Most wrong bits that were expected in a codeword that was read.
    pub most_errors: f64,
}

impl AgingCounts {
    /// What was counted since `before`; what is greatest stays that of the whole time.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            retried_reads: self.retried_reads - before.retried_reads,
            retries: self.retries - before.retries,
            uncorrectable_reads: self.uncorrectable_reads - before.uncorrectable_reads,
            ..*self
        }
    }
}

/// What is known of a block.
#[derive(Clone, Debug)]
struct Block {
    pe_cycles: u32,
    /// Reads of its pages since the first program after its erase: an empty block has nothing to disturb.
    reads: u64,
    is_empty: bool,
    /// The rates at these P/E cycles.
    rates: Rates,
}

/// A device with cells that age around `N`.
#[derive(Clone, Debug)]
pub struct Aging<N> {
    inner: N,
    config: Config,
    blocks: Vec<Block>,
    /// By page: when it was programmed, in ns; empty where errors do not grow with time.
    programmed: Vec<Time>,
    /// Time that the device lay without work, in ns.
    lain: Time,
    counts: AgingCounts,
}

const NS_PER_DAY: f64 = 86_400e9;

impl<N: Nand> Aging<N> {
    /// Puts the errors of `config` on `inner`.
    ///
    /// # Errors
    /// [`ConfigError`] where a value of `config` is out of its range or does not fit the device.
    pub fn new(inner: N, config: Config) -> Result<Self, ConfigError> {
        let geometry = inner.geometry();
        config.check(geometry)?;
        let pe_cycles = config.initial_pe_cycles;
        let block = Block { pe_cycles, reads: 0, is_empty: true, rates: config.rates(pe_cycles) };
        let pages = if config.retention > 0.0 { geometry.pages() as usize } else { 0 };
        Ok(Self {
            blocks: vec![block; geometry.blocks() as usize],
            programmed: vec![0; pages],
            lain: 0,
            counts: AgingCounts::default(),
            inner,
            config,
        })
    }

    /// Lets the device lie for so many nanoseconds: every page is that much older, and nothing else happens.
    pub fn lie(&mut self, ns: Time) {
        self.lain = self.lain.saturating_add(ns);
    }

    /// What the ECC had to do so far.
    pub fn counts(&self) -> &AgingCounts {
        &self.counts
    }

    /// Reads of the pages of `block` since the first program after its erase.
    pub fn reads(&self, block: BlockId) -> u64 {
        self.blocks[block.index()].reads
    }

    fn block_of(&self, at: Ppa) -> BlockId {
        self.inner.geometry().block_of(at)
    }

    /// Wrong bits that are expected in a codeword of a page that is read at `now`.
    fn errors(&self, at: Ppa, now: Time) -> f64 {
        let Block { reads, rates, .. } = &self.blocks[self.block_of(at).index()];
        let age = self.programmed.get(at.index()).map_or(0, |&then| now.saturating_add(self.lain).saturating_sub(then));
        self.config.errors(rates.rber(&self.config, age as f64 / NS_PER_DAY, *reads))
    }

    /// What an ECC that corrects `ecc_bits` makes of a page that is being read; `again` reads it once more.
    fn correct<T>(
        &mut self,
        at: Ppa,
        ecc_bits: u32,
        mut again: impl FnMut(&mut N) -> Result<T, NandError>,
    ) -> Result<(), NandError> {
        let block = self.block_of(at);
        let now = self.inner.ctx().ready();
        let errors = self.errors(at, now);
        let steps = self.config.retries_against(errors, ecc_bits);
        let retries = steps.unwrap_or(self.config.retry_steps);
        self.note_read(block);
        self.counts.most_errors = self.counts.most_errors.max(errors);
        let of_wear = self.config.errors(self.blocks[block.index()].rates.of_wear());
        let strain = Strain { block, percent: self.config.percent(errors), of_wear: self.config.percent(of_wear) };
        self.inner.ctx().set_strain(strain);
        if retries > 0 {
            self.counts.retried_reads += 1;
            self.counts.most_retries = self.counts.most_retries.max(retries);
            let before = self.inner.ctx().begin_retries();
            let read = (0..retries).try_for_each(|_| {
                let last = self.inner.ctx().last();
                self.inner.ctx().after(last);
                self.counts.retries += 1;
                self.blocks[block.index()].reads += 1;
                again(&mut self.inner).map(drop)
            });
            self.inner.ctx().end_retries(&before);
            read?;
        }
        if steps.is_none() {
            self.counts.uncorrectable_reads += 1;
            return Err(NandError::Uncorrectable(at));
        }
        Ok(())
    }

    fn note_read(&mut self, block: BlockId) {
        let block = &mut self.blocks[block.index()];
        block.reads += u64::from(!block.is_empty);
    }

    /// A page was programmed by the operation issued last.
    fn note_program(&mut self, at: Ppa) {
        let block = self.block_of(at);
        self.blocks[block.index()].is_empty = false;
        if let Some(programmed) = self.programmed.get_mut(at.index()) {
            *programmed = self.inner.ctx().last().saturating_add(self.lain);
        }
    }

    /// A read of a page for nobody.
    fn sense(inner: &mut N, at: Ppa) -> Result<Oob, NandError> {
        let page_bytes = inner.geometry().page_bytes();
        inner.read(at, &mut N::Buf::zeroed(page_bytes))
    }
}

ways_inside!([N: Nand] Aging<N>, inner);

impl<N: Nand> Nand for Aging<N> {
    type Buf = N::Buf;

    as_inside!(inner: geometry, rules, program_spare, retire, set_slc, is_slc, ctx);

    fn read(&mut self, at: Ppa, page: &mut N::Buf) -> Result<Oob, NandError> {
        let oob = self.inner.read(at, page)?;
        let full = self.inner.geometry().full_mask();
        self.correct(at, self.config.ecc_bits, |inner| inner.read(at, page)).inspect_err(|_| page.clear(full))?;
        Ok(oob)
    }

    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        let oob = self.inner.read_spare(at)?;
        self.note_read(self.block_of(at));
        Ok(oob)
    }

    fn program(&mut self, at: Ppa, page: &N::Buf, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        let done = self.inner.program(at, page, tail, oob)?;
        self.note_program(at);
        Ok(done)
    }

    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        let oob = self.inner.read_tail(at, tail)?;
        let ecc_bits = ecc_bits_of_tail(&oob, tail.len(), self.config.ecc_bits);
        self.correct(at, ecc_bits, |inner| inner.read_tail(at, tail)).inspect_err(|_| tail.fill(0))?;
        Ok(oob)
    }

    fn read_with_tail(&mut self, at: Ppa, page: &mut N::Buf, tail: &mut [u8]) -> Result<Oob, NandError> {
        let oob = self.inner.read_with_tail(at, page, tail)?;
        let full = self.inner.geometry().full_mask();
        self.correct(at, self.config.ecc_bits, |inner| inner.read_with_tail(at, page, tail)).inspect_err(|_| {
            page.clear(full);
            tail.fill(0);
        })?;
        Ok(oob)
    }

    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        let ready = self.inner.ctx().ready();
        let retries = self.counts.retries;
        let corrected = self.correct(from, self.config.ecc_bits, |inner| Self::sense(inner, from));
        if let Err(error) = corrected {
            if let NandError::Uncorrectable(_) = error {
                // Only the first half of the copy took place.
                Self::sense(&mut self.inner, from)?;
            }
            return Err(error);
        }
        if self.counts.retries > retries {
            let last = self.inner.ctx().last();
            self.inner.ctx().after(last);
        }
        let stored = self.inner.copy(from, to, oob);
        self.inner.ctx().set_ready(ready);
        let stored = stored?;
        self.note_program(to);
        Ok(stored)
    }

    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        let erased = self.inner.erase(block);
        if erased != Err(NandError::PowerLost) {
            let pe_cycles = self.blocks[block.index()].pe_cycles.saturating_add(1);
            self.blocks[block.index()] =
                Block { pe_cycles, reads: 0, is_empty: true, rates: self.config.rates(pe_cycles) };
        }
        erased
    }
}
