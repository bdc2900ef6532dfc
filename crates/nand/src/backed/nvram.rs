//! NVRAM in an image: it survives as the flash does.
//!
//! Each word has a checksum and the number of its stores, and stands in the file twice: of two whole copies the one with
//! more stores is the newer one. A word never stored is all zeros, without a checksum.

use super::file::ImageFile;
use super::layout::{is_sealed, seal, Tag, WORD_RECORD_BYTES};
use super::BackedError;
use crate::nvm::{Keep, Nvm, NvmCost, NvmUsage, Nvram, PowerLost, WORD_BYTES};
use std::io;
use std::sync::Arc;

/// The NVRAM of an image. Nothing of it is kept in RAM; each store is written through.
///
/// The operating system copies a store in ascending order, so an end of the process leaves it stored up to some word. An
/// image that fails is NVRAM without power.
#[derive(Debug)]
pub struct ImageNvram {
    image: ImageFile,
    cost: NvmCost,
    usage: NvmUsage,
}

impl ImageFile {
    /// The NVRAM, which survives as the flash does.
    pub fn nvram(&self, cost: NvmCost) -> ImageNvram {
        ImageNvram { image: self.clone(), cost, usage: NvmUsage::default() }
    }

    /// The NVRAM with a copy of its words in memory, for users that read far more than they store.
    ///
    /// # Errors
    /// [`BackedError::Io`].
    pub fn nvram_in_memory(&self, cost: NvmCost) -> Result<Nvram, BackedError> {
        let mut words = vec![[0; WORD_BYTES as usize]; self.nvram_bytes().div_ceil(WORD_BYTES) as usize];
        let read = self.read_words(0, &mut words);
        read.map_err(|source| self.0.error("read", source))?;
        Ok(Nvram::kept(words, cost, Arc::new(self.nvram(cost))))
    }
}

impl ImageFile {
    /// Reads words from number `first` on.
    fn read_words(&self, first: u64, words: &mut [[u8; WORD_BYTES as usize]]) -> io::Result<()> {
        let mut records = vec![0; words.len() * WORD_RECORD_BYTES];
        self.0.read_at(self.0.layout.word(first), &mut records)?;
        for (number, (word, record)) in (first..).zip(words.iter_mut().zip(records.chunks_exact(WORD_RECORD_BYTES))) {
            let is_blank = record.iter().all(|&byte| byte == 0);
            if !is_blank && !is_sealed(Tag::Word(number), record) {
                // Both copies were compared when the image was opened.
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("word {number} of its NVRAM is damaged"),
                ));
            }
            word.copy_from_slice(&record[..WORD_BYTES as usize]);
        }
        Ok(())
    }

    /// Writes `bytes` from `at` on, whole words with their checksums.
    fn write_words(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let end = at + bytes.len() as u64;
        let (first, last) = (at / WORD_BYTES, end.div_ceil(WORD_BYTES));
        let mut words = vec![[0; WORD_BYTES as usize]; (last - first) as usize];
        if at % WORD_BYTES != 0 || end % WORD_BYTES != 0 {
            self.read_words(first, &mut words)?;
        }
        let start = (at - first * WORD_BYTES) as usize;
        words.as_flattened_mut()[start..start + bytes.len()].copy_from_slice(bytes);
        let mut records = vec![0; words.len() * WORD_RECORD_BYTES];
        // Held through the write: an older store may not come behind a newer one.
        let mut counts = self.0.stores();
        let mut stores = 0;
        for (number, (word, record)) in (first..).zip(words.iter().zip(records.chunks_exact_mut(WORD_RECORD_BYTES))) {
            let count = &mut counts[number as usize];
            // At the last number the copies are of one age, and the first one counts.
            stores += u64::from(*count < u32::MAX);
            *count = count.saturating_add(1);
            record[..WORD_BYTES as usize].copy_from_slice(word);
            record[WORD_BYTES as usize..WORD_BYTES as usize + 4].copy_from_slice(&count.to_le_bytes());
            seal(Tag::Word(number), record);
        }
        self.0.write_at(self.0.layout.word(first), &records)?;
        self.0.marks.add_stores(stores);
        Ok(())
    }
}

impl Keep for ImageNvram {
    fn keep(&self, at: u64, word: [u8; WORD_BYTES as usize]) -> Result<(), PowerLost> {
        self.powered()?;
        self.check(at, WORD_BYTES);
        self.guard("write", self.image.write_words(at, &word))
    }
}

impl ImageNvram {
    /// Refuses a place outside.
    fn check(&self, at: u64, bytes: u64) {
        let size = self.bytes();
        assert!(
            at.checked_add(bytes).is_some_and(|end| end <= size),
            "{bytes} bytes from {at} on are outside the memory of {size} bytes"
        );
    }

    fn load(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let end = at + into.len() as u64;
        let (first, last) = (at / WORD_BYTES, end.div_ceil(WORD_BYTES));
        let mut words = vec![[0; WORD_BYTES as usize]; (last - first) as usize];
        self.image.read_words(first, &mut words)?;
        let start = (at - first * WORD_BYTES) as usize;
        into.copy_from_slice(&words.as_flattened()[start..start + into.len()]);
        Ok(())
    }

    fn guard<T>(&self, action: &'static str, result: io::Result<T>) -> Result<T, PowerLost> {
        let shared = &self.image.0;
        result.map_err(|source| {
            shared.failure.keep(shared.error(action, source));
            PowerLost
        })
    }

    fn powered(&self) -> Result<(), PowerLost> {
        self.image.0.failure.get().map_or(Ok(()), |_| Err(PowerLost))
    }
}

impl Nvm for ImageNvram {
    fn bytes(&self) -> u64 {
        self.image.nvram_bytes()
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), PowerLost> {
        self.check(at, into.len() as u64);
        self.powered()?;
        self.guard("read", self.load(at, into))?;
        self.usage.reads += 1;
        self.usage.read_units += self.cost.units(at, into.len() as u64);
        Ok(())
    }

    fn store(&mut self, at: u64, word: [u8; WORD_BYTES as usize]) -> Result<(), PowerLost> {
        assert!(at % WORD_BYTES == 0, "store at {at}: a word stands at a multiple of 8");
        self.write(at, &word)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), PowerLost> {
        let length = bytes.len() as u64;
        self.check(at, length);
        self.powered()?;
        self.guard("write", self.image.write_words(at, bytes))?;
        self.usage.writes += 1;
        self.usage.stored_words += (at + length).div_ceil(WORD_BYTES) - at / WORD_BYTES;
        self.usage.written_units += self.cost.units(at, length);
        Ok(())
    }

    fn peek(&self, at: u64, into: &mut [u8]) {
        self.check(at, into.len() as u64);
        if self.load(at, into).is_err() {
            into.fill(0);
        }
    }

    fn usage(&self) -> NvmUsage {
        self.cost.charge(self.usage)
    }
}
