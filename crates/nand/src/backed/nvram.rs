//! NVRAM in an image: it survives as the flash does.

use super::shared::ImageFile;
use super::BackedError;
use crate::nvm::{Keep, Nvm, NvmCost, NvmUsage, Nvram, PowerLost, WORD_BYTES};
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
        let read = self.0.read_at(self.0.layout.nvram, words.as_flattened_mut());
        read.map_err(|source| self.0.error("read", source))?;
        Ok(Nvram::kept(words, cost, Arc::new(self.nvram(cost))))
    }
}

impl Keep for ImageNvram {
    fn keep(&self, at: u64, word: [u8; WORD_BYTES as usize]) -> Result<(), PowerLost> {
        self.powered()?;
        self.guard("write", self.image.0.write_at(self.place(at, WORD_BYTES), &word))
    }
}

impl ImageNvram {
    /// Where the bytes from `at` on lie in the file.
    fn place(&self, at: u64, bytes: u64) -> u64 {
        let size = self.bytes();
        assert!(
            at.checked_add(bytes).is_some_and(|end| end <= size),
            "{bytes} bytes from {at} on are outside the memory of {size} bytes"
        );
        self.image.0.layout.nvram + at
    }

    fn guard<T>(&self, action: &'static str, result: std::io::Result<T>) -> Result<T, PowerLost> {
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
        let place = self.place(at, into.len() as u64);
        self.powered()?;
        self.guard("read", self.image.0.read_at(place, into))?;
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
        let place = self.place(at, length);
        self.powered()?;
        self.guard("write", self.image.0.write_at(place, bytes))?;
        self.usage.writes += 1;
        self.usage.stored_words += (at + length).div_ceil(WORD_BYTES) - at / WORD_BYTES;
        self.usage.written_units += self.cost.units(at, length);
        Ok(())
    }

    fn peek(&self, at: u64, into: &mut [u8]) {
        let place = self.place(at, into.len() as u64);
        if self.image.0.read_at(place, into).is_err() {
            into.fill(0);
        }
    }

    fn usage(&self) -> NvmUsage {
        self.cost.charge(self.usage)
    }
}
