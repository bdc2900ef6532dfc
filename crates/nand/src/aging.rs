//! A device with aging cells: raw bit errors grow with P/E cycles, time and reads, and an ECC corrects them.
//!
//! * The **raw bit error rate** of a page is a formula ([`Config::rber_at`]) of the block's P/E cycles, the
//!   time since the page's program, and the reads of the block since the first program after its erase. Nothing
//!   is random: the device compares the expected wrong bits per codeword with the limit of the ECC, so equal
//!   devices give equal answers.
//! * **Read retry.** If a page exceeds the limit of the ECC, the device reads it again with other thresholds,
//!   under [`Cause::ReadRetry`](crate::Cause::ReadRetry). Each retry costs a read, disturbs the block like any
//!   read, and leaves a share of the errors. After the last step the page is [`NandError::Uncorrectable`].
//! * **Strain.** After each page read, [`Ctx::take_strain`] reports its bit errors relative to the limit of the
//!   ECC. Controllers know this from the corrected bits. An FTL may then rewrite the block.
//!
//! The spare area has a stronger code of its own and never fails this way. The sector list of a gathered page
//! also has its own code, in the rest of its sector. A read of either still disturbs the block, because the
//! chip senses the whole word line. A copy is corrected on its way, so its source may need retries first. This
//! wrapper holds the age of blocks and pages, not the inner device: it outlives an FTL, but not the wrapper.

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

/// ECC activity so far.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct AgingCounts {
    /// Reads, copies included, with at least one retry.
    pub retried_reads: u64,
    /// Repeated reads, all steps.
    pub retries: u64,
    /// Most retry steps for one read.
    pub most_retries: u32,
    /// Page reads, copies included, still uncorrectable after all steps.
    pub uncorrectable_reads: u64,
    /// Most expected wrong bits in a codeword at a read.
    pub most_errors: f64,
}

impl AgingCounts {
    /// Counts since `before`; maxima still cover the whole time.
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

/// A block's state.
#[derive(Clone, Debug)]
struct Block {
    pe_cycles: u32,
    /// Reads of its pages since the first program after its erase: an empty block has nothing to disturb.
    reads: u64,
    is_empty: bool,
    /// The error rates at these P/E cycles.
    rates: Rates,
}

/// A wrapper around `N` with aging cells.
#[derive(Clone, Debug)]
pub struct Aging<N> {
    inner: N,
    config: Config,
    blocks: Vec<Block>,
    /// Each page's program time, in ns; empty if errors do not grow with time.
    programmed: Vec<Time>,
    /// The device's total idle time, in ns.
    lain: Time,
    counts: AgingCounts,
}

const NS_PER_DAY: f64 = 86_400e9;

impl<N: Nand> Aging<N> {
    /// Adds the errors in `config` to `inner`.
    ///
    /// # Errors
    /// [`ConfigError`] if a value in `config` is out of its range or does not fit the device.
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

    /// Leaves the device idle for this many nanoseconds: every page grows older, and nothing else happens.
    pub fn lie(&mut self, ns: Time) {
        self.lain = self.lain.saturating_add(ns);
    }

    /// ECC activity so far.
    pub fn counts(&self) -> &AgingCounts {
        &self.counts
    }

    /// Reads in `block` since the first program after its erase.
    pub fn reads(&self, block: BlockId) -> u64 {
        self.blocks[block.index()].reads
    }

    fn block_of(&self, at: Ppa) -> BlockId {
        self.inner.geometry().block_of(at)
    }

    /// Expected wrong bits per codeword for a page read at `now`.
    fn errors(&self, at: Ppa, now: Time) -> f64 {
        let Block { reads, rates, .. } = &self.blocks[self.block_of(at).index()];
        let age = self.programmed.get(at.index()).map_or(0, |&then| now.saturating_add(self.lain).saturating_sub(then));
        self.config.errors(rates.rber(&self.config, age as f64 / NS_PER_DAY, *reads))
    }

    /// Applies an ECC with limit `ecc_bits` to a page read; `again` repeats the read.
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

    /// Notes a page's program time, after the latest operation programmed it.
    fn note_program(&mut self, at: Ppa) {
        let block = self.block_of(at);
        self.blocks[block.index()].is_empty = false;
        if let Some(programmed) = self.programmed.get_mut(at.index()) {
            *programmed = self.inner.ctx().last().saturating_add(self.lain);
        }
    }

    /// A page read without a receiver for the data.
    fn sense(inner: &mut N, at: Ppa) -> Result<Oob, NandError> {
        let page_bytes = inner.geometry().page_bytes();
        inner.read(at, &mut N::Buf::zeroed(page_bytes))
    }
}

ways_inside!([N: Nand] Aging<N>, inner);

impl<N: Nand> Nand for Aging<N> {
    type Buf = N::Buf;

    as_inside!(inner: geometry, rules, is_known_erased, is_settled, program_spare, retire, set_slc, is_slc, ctx);

    fn read(&mut self, at: Ppa, page: &mut N::Buf) -> Result<Oob, NandError> {
        let oob = self.inner.read(at, page)?;
        let full = self.inner.geometry().full_mask();
        self.correct(at, self.config.ecc_bits, |inner| inner.read(at, page)).inspect_err(|_| page.clear(full))?;
        Ok(oob)
    }

    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        let oob = self.inner.read_spare(at);
        if oob.is_ok() {
            self.note_read(self.block_of(at));
        }
        oob
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
                // The copy stopped after its first half.
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
