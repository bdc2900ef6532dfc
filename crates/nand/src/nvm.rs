//! Byte-addressable memory that survives a power cut: NVRAM, and its contract.
//!
//! The memory is a device of its own, lent to its users as `&mut`, like the NAND: dropping a user is a power
//! cut, and the next user finds the stored data. A store of one aligned 8-byte word is atomic. A longer write
//! is a sequence of such stores in ascending order, and a cut may fall between any two.

use crate::context::Time;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::sync::Arc;

/// Word size in bytes; word stores are atomic.
pub const WORD_BYTES: u64 = 8;

const WORD: NonZeroU32 = NonZeroU32::new(WORD_BYTES as u32).expect("a word has bytes");

/// Power is gone; the memory answers nothing else until it is back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("power lost")]
pub struct PowerLost;

impl From<PowerLost> for crate::nand::NandError {
    fn from(_: PowerLost) -> Self {
        Self::PowerLost
    }
}

/// Byte-addressable non-volatile memory.
///
/// An address out of range, or a word address that is not a multiple of 8, is a caller's error and panics.
pub trait Nvm: Send {
    /// Size in bytes, a multiple of 8.
    fn bytes(&self) -> u64;

    /// Fills `into` with the bytes from `at` on.
    ///
    /// # Errors
    /// [`PowerLost`].
    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), PowerLost>;

    /// Stores the word at `at`, atomically.
    ///
    /// # Errors
    /// [`PowerLost`].
    fn store(&mut self, at: u64, word: [u8; WORD_BYTES as usize]) -> Result<(), PowerLost>;

    /// Stores `bytes` from `at` on, any length at any address, word after word.
    ///
    /// # Errors
    /// [`PowerLost`]: the words before some 8-byte boundary are stored; the words after it are unchanged.
    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), PowerLost>;

    /// Fills `into` with the bytes from `at` on, for observers: not an access, and without cost.
    fn peek(&self, at: u64, into: &mut [u8]);

    /// Access costs so far.
    fn usage(&self) -> NvmUsage;
}

/// A borrowed memory is a memory.
impl<V: Nvm + ?Sized> Nvm for &mut V {
    fn bytes(&self) -> u64 {
        (**self).bytes()
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), PowerLost> {
        (**self).read(at, into)
    }

    fn store(&mut self, at: u64, word: [u8; WORD_BYTES as usize]) -> Result<(), PowerLost> {
        (**self).store(at, word)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), PowerLost> {
        (**self).write(at, bytes)
    }

    fn peek(&self, at: u64, into: &mut [u8]) {
        (**self).peek(at, into);
    }

    fn usage(&self) -> NvmUsage {
        (**self).usage()
    }
}

/// Time and energy of an access.
///
/// An access to several units costs a multiple. A unit is 8 bytes if the source gives figures per word, or a
/// page if it gives figures per page.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvmCost {
    /// Unit size in bytes.
    pub unit_bytes: NonZeroU32,
    /// Read time per unit, in ns.
    pub read_ns: f64,
    /// Write time per unit, in ns.
    pub write_ns: f64,
    /// Read energy per unit, in nJ.
    pub read_nj: f64,
    /// Write energy per unit, in nJ.
    pub write_nj: f64,
}

impl Default for NvmCost {
    /// No time and no energy, by words.
    fn default() -> Self {
        Self { unit_bytes: WORD, read_ns: 0.0, write_ns: 0.0, read_nj: 0.0, write_nj: 0.0 }
    }
}

impl NvmCost {
    /// Units touched by `bytes` bytes from `at` on.
    #[inline]
    pub(crate) fn units(&self, at: u64, bytes: u64) -> u64 {
        let unit = u64::from(self.unit_bytes.get());
        if bytes == 0 {
            return 0;
        }
        (at + bytes - 1) / unit - at / unit + 1
    }

    /// Adds time and energy to the counts.
    pub(crate) fn charge(&self, counted: NvmUsage) -> NvmUsage {
        let (read, written) = (counted.read_units as f64, counted.written_units as f64);
        NvmUsage {
            time_ns: (read * self.read_ns + written * self.write_ns).round() as Time,
            energy_nj: read * self.read_nj + written * self.write_nj,
            ..counted
        }
    }
}

/// Access costs for a memory.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct NvmUsage {
    /// Reads, whatever their length.
    pub reads: u64,
    /// Word stores and writes, whatever their length.
    pub writes: u64,
    /// Words stored.
    pub stored_words: u64,
    /// [`NvmCost`] units read.
    pub read_units: u64,
    /// [`NvmCost`] units written.
    pub written_units: u64,
    /// Time for all accesses, in ns.
    pub time_ns: Time,
    /// Energy for all accesses, in nJ.
    pub energy_nj: f64,
}

/// NVRAM without contents: it counts accesses, reads leave their buffer unchanged, and power never fails.
#[derive(Clone, Debug)]
pub struct CountedNvram {
    bytes: u64,
    cost: NvmCost,
    usage: NvmUsage,
}

impl CountedNvram {
    /// Memory of `bytes` bytes, rounded up to whole words.
    pub fn new(bytes: u64, cost: NvmCost) -> Self {
        Self { bytes: bytes.next_multiple_of(WORD_BYTES), cost, usage: NvmUsage::default() }
    }
}

impl Nvm for CountedNvram {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), PowerLost> {
        self.usage.reads += 1;
        self.usage.read_units += self.cost.units(at, into.len() as u64);
        Ok(())
    }

    fn store(&mut self, at: u64, word: [u8; 8]) -> Result<(), PowerLost> {
        self.write(at, &word)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), PowerLost> {
        let length = bytes.len() as u64;
        self.usage.writes += 1;
        self.usage.stored_words += (at + length).div_ceil(WORD_BYTES) - at / WORD_BYTES;
        self.usage.written_units += self.cost.units(at, length);
        Ok(())
    }

    fn peek(&self, _: u64, _: &mut [u8]) {}

    fn usage(&self) -> NvmUsage {
        self.cost.charge(self.usage)
    }
}

/// Where the words of an [`Nvram`] are kept when the process ends, such as an image.
pub trait Keep: Send + Sync + std::fmt::Debug {
    /// Keeps the word at `at`, a multiple of 8.
    ///
    /// # Errors
    /// [`PowerLost`] if that fails; the word is lost then.
    fn keep(&self, at: u64, word: [u8; WORD_BYTES as usize]) -> Result<(), PowerLost>;
}

/// NVRAM: bytes, counts, and a power cut after a given number of stored words.
#[derive(Clone, Debug)]
pub struct Nvram {
    words: Vec<[u8; WORD_BYTES as usize]>,
    /// Takes each stored word; `None` where the memory ends with the process.
    kept: Option<Arc<dyn Keep>>,
    cost: NvmCost,
    usage: NvmUsage,
    /// Remaining word stores before the power cut.
    left: Option<u64>,
}

impl Nvram {
    /// Memory of `bytes` bytes, rounded up to whole words, all zero.
    pub fn new(bytes: u64, cost: NvmCost) -> Self {
        let words = vec![[0; WORD_BYTES as usize]; bytes.div_ceil(WORD_BYTES) as usize];
        Self { words, kept: None, cost, usage: NvmUsage::default(), left: None }
    }

    /// What its accesses cost.
    pub fn cost(&self) -> NvmCost {
        self.cost
    }

    /// Memory that holds `words` now, and hands each further store to `kept`.
    pub fn kept(words: Vec<[u8; WORD_BYTES as usize]>, cost: NvmCost, kept: Arc<dyn Keep>) -> Self {
        Self { words, kept: Some(kept), cost, usage: NvmUsage::default(), left: None }
    }

    /// Cuts power after `stores` more stored words: the next store is lost, and everything after it.
    pub fn cut_after(&mut self, stores: u64) {
        self.left = Some(stores);
    }

    /// Restores power, without a planned cut.
    pub fn restore(&mut self) {
        self.left = None;
    }

    fn assert_in_range(&self, at: u64, bytes: u64) {
        let size = self.bytes();
        assert!(
            at.checked_add(bytes).is_some_and(|end| end <= size),
            "{bytes} bytes from {at} on are outside the memory of {size} bytes"
        );
    }

    /// Fails after the power cut: reads work until the lost store.
    fn powered(&self) -> Result<(), PowerLost> {
        match self.left {
            Some(OFF) => Err(PowerLost),
            _ => Ok(()),
        }
    }

    /// Changes one word, unless power is cut first.
    fn change(&mut self, word: u64, with: impl FnOnce(&mut [u8; 8])) -> Result<(), PowerLost> {
        match &mut self.left {
            Some(left @ (0 | OFF)) => {
                *left = OFF;
                return Err(PowerLost);
            }
            Some(left) => *left -= 1,
            None => {}
        }
        let place = &mut self.words[word as usize];
        with(place);
        if let Some(kept) = &self.kept {
            kept.keep(word * WORD_BYTES, *place)?;
        }
        self.usage.stored_words += 1;
        Ok(())
    }

    fn charge_write(&mut self, at: u64, bytes: u64) {
        self.usage.writes += 1;
        self.usage.written_units += self.cost.units(at, bytes);
    }
}

/// The power is off.
const OFF: u64 = u64::MAX;

impl Nvm for Nvram {
    fn bytes(&self) -> u64 {
        self.words.len() as u64 * WORD_BYTES
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), PowerLost> {
        self.assert_in_range(at, into.len() as u64);
        self.powered()?;
        self.peek(at, into);
        self.usage.reads += 1;
        self.usage.read_units += self.cost.units(at, into.len() as u64);
        Ok(())
    }

    fn store(&mut self, at: u64, word: [u8; 8]) -> Result<(), PowerLost> {
        self.assert_in_range(at, WORD_BYTES);
        assert!(at % WORD_BYTES == 0, "store at {at}: a word stands at a multiple of 8");
        self.change(at / WORD_BYTES, |place| *place = word)?;
        self.charge_write(at, WORD_BYTES);
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), PowerLost> {
        self.assert_in_range(at, bytes.len() as u64);
        self.powered()?;
        let (mut to, mut rest) = (at, bytes);
        while !rest.is_empty() {
            let offset = (to % WORD_BYTES) as usize;
            let (now, later) = rest.split_at(rest.len().min(WORD_BYTES as usize - offset));
            self.change(to / WORD_BYTES, |word| word[offset..offset + now.len()].copy_from_slice(now))?;
            to += now.len() as u64;
            rest = later;
        }
        self.charge_write(at, bytes.len() as u64);
        Ok(())
    }

    fn peek(&self, at: u64, into: &mut [u8]) {
        self.assert_in_range(at, into.len() as u64);
        let at = at as usize;
        into.copy_from_slice(&self.words.as_flattened()[at..at + into.len()]);
    }

    fn usage(&self) -> NvmUsage {
        self.cost.charge(self.usage)
    }
}
