//! Mount: formats an erased device, or completes an interrupted operation.

use super::layout::{Layout, ALLOCATION, ANEW, ERASING, HEAD, LINK, MAGIC, ORDER, SUMS, USABLE};
use super::memory::{Change, Head, Type};
use super::names::ROOT;
use super::pages::{Block, Registers, State};
use super::{Config, Minv};
use crate::parts::chunks::Chunked;
use crate::parts::collector::Collector;
use crate::parts::driver::{Driver, Handles};
use crate::parts::tags::Tags;
use crate::parts::{dark, wait};
use crate::FsError;
use nandlab_nand::nvm::Nvm;
use nandlab_nand::{BlockId, Cause, Nand, NandError, Ppa};

/// Bytes cleared at once.
const CLEARED: u64 = 4096;

impl<N: Nand, V: Nvm> Minv<N, V> {
    /// Mounts the contents of `nand` and `nvm`; an erased device gets an empty file system.
    ///
    /// # Errors
    /// [`FsError::Option`] if the options, the device or the memory cannot work; [`FsError::Damaged`] if
    /// flash and NVRAM do not belong together; device errors.
    pub fn mount(nand: N, nvm: V, config: &Config) -> Result<Self, FsError> {
        config.check()?;
        let geometry = *nand.geometry();
        config.check_device(&geometry)?;
        let layout = Layout::new(&geometry, config.objects);
        if nvm.bytes() < layout.bytes() {
            let why = format!("the metadata takes {} bytes of NVRAM, and there are {}", layout.bytes(), nvm.bytes());
            return Err(FsError::option("objects", &config.objects, why));
        }
        let registers = Registers { open: None, sequence: 0, cursor: 0, empty: 0, in_use: 0, usable: 0 };
        let mut mounted = Self {
            collector: Collector::new(&config.gc),
            collecting: None,
            failing: Vec::new(),
            retired: 0,
            owners: vec![None; geometry.pages() as usize],
            handles: Handles::default(),
            next_object: 0,
            config: config.clone(),
            nand,
            nvm,
            geometry,
            layout,
            registers,
        };
        mounted.within(Cause::Mount, Self::recover)?;
        Ok(mounted)
    }

    /// The superblock for these options on this device.
    fn superblock(&self) -> [u64; 4] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [
            MAGIC,
            pair(self.geometry.blocks(), self.geometry.pages_per_block()),
            pair(self.geometry.page_bytes(), self.layout.objects),
            pair(self.layout.nodes, self.layout.buckets),
        ]
    }

    fn recover(&mut self) -> Result<(), FsError> {
        wait(&mut self.nand);
        if self.now(0)? != MAGIC {
            return self.format();
        }
        for (at, word) in self.superblock().into_iter().enumerate() {
            if self.now(at as u64 * 8)? != word {
                let what = "the NVRAM holds the metadata of another device, or of other options";
                return Err(FsError::Damaged(what.into()));
            }
        }
        self.redo()?;
        self.load_registers()?;
        self.end_relink()?;
        self.pass_programmed()?;
        self.renew()?;
        self.end_erase()?;
        self.finish_pending()
    }

    /// Makes an empty file system on an erased device; the superblock's first word is stored last.
    fn format(&mut self) -> Result<(), FsError> {
        for range in self.layout.cleared() {
            let mut at = range.start;
            while at < range.end {
                let bytes = CLEARED.min(range.end - at);
                self.nvm.write(at, &vec![0; bytes as usize]).map_err(dark)?;
                at += bytes;
            }
        }
        let blocks = self.geometry.blocks();
        let (mut usable, mut last) = (0, blocks - 1);
        for block in (0..blocks).map(BlockId) {
            let state = match self.nand.read_spare(self.geometry.page(block, 0)) {
                Ok(None) => State::Empty,
                Err(NandError::BadBlock(_)) => State::Bad,
                Ok(Some(_)) | Err(NandError::Uncorrectable(_)) => {
                    let what = format!("the NVRAM is empty, and block {block} of the flash is not");
                    return Err(FsError::Damaged(what));
                }
                Err(error) => return Err(self.failed(error)),
            };
            usable += u32::from(state == State::Empty);
            let at = self.layout.block(block.0);
            self.store(at, Block { state, failing: false, erases: 0 }.to_word())?;
            last = last.max(block.0);
        }
        self.registers = Registers { open: None, sequence: 0, cursor: last, empty: usable, in_use: 0, usable };
        let mut change = Change::default();
        self.registers.put(&mut change);
        let root = Head { kind: Type::Directory, name_bytes: 0, stale_tail: false, height: 0, parent: ROOT };
        change.put(self.field(ROOT, HEAD), root.to_word());
        self.commit(&change)?;
        self.store(ANEW, 0)?;
        for (at, word) in self.superblock().into_iter().enumerate().rev() {
            self.store(at as u64 * 8, word)?;
        }
        Ok(())
    }

    fn load_registers(&mut self) -> Result<(), FsError> {
        let halves = |word: u64| (word as u32, (word >> 32) as u32);
        let (open, next) = halves(self.now(ALLOCATION)?);
        let (sequence, cursor) = halves(self.now(ORDER)?);
        let (empty, in_use) = halves(self.now(SUMS)?);
        let open = (open != BlockId::NONE.0).then_some((BlockId(open), next));
        self.registers = Registers { open, sequence, cursor, empty, in_use, usable: self.now(USABLE)? as u32 };
        Ok(())
    }

    /// Sets the bits of both pages of an interrupted map entry change.
    fn end_relink(&mut self) -> Result<(), FsError> {
        let entry = self.now(LINK)?;
        if entry == 0 {
            return Ok(());
        }
        let pages = self.now(LINK + 8)?;
        let (new, old) = (Ppa(pages as u32), Ppa((pages >> 32) as u32));
        if self.half(&Change::default(), entry)? == new.0 + 1 {
            self.settle_link(new, old)?;
        }
        self.store(LINK, 0)
    }

    /// Skips a page at the allocation point if it was programmed but perhaps not mapped. If the map has
    /// another page for its chunk, that page is scheduled for a copy. After the copy, the newest tags belong
    /// to the page in use again.
    fn pass_programmed(&mut self) -> Result<(), FsError> {
        let Some((block, next)) = self.registers.open else { return Ok(()) };
        if next >= self.geometry.pages_per_block() {
            return Ok(());
        }
        let at = self.geometry.page(block, next);
        let found = match self.nand.read_spare(at) {
            Ok(None) => return Ok(()),
            Ok(Some(oob)) => Some(Tags::from_oob(false, &oob)),
            Err(NandError::Uncorrectable(_)) => None,
            Err(error) => return Err(self.failed(error)),
        };
        let mapped = match found {
            Some(Tags { object, chunk, .. }) if self.is_mapped_file(object)? => self.page(object, chunk)?,
            _ => Ppa::NONE,
        };
        if let (Some(Tags { object, chunk, .. }), true) = (found, mapped.is_some() && mapped != at) {
            self.store(ANEW, u64::from(object) | u64::from(chunk) << 32)?;
        }
        self.advance();
        let allocation = self.registers.allocation();
        self.store(ALLOCATION, allocation)
    }

    /// Copies a chunk's page after another page was programmed for it in vain.
    fn renew(&mut self) -> Result<(), FsError> {
        let word = self.now(ANEW)?;
        if word == 0 {
            return Ok(());
        }
        let at = self.page(word as u32, (word >> 32) as u32)?;
        if at.is_some() {
            self.move_page(at)?;
        }
        self.store(ANEW, 0)
    }

    fn is_mapped_file(&mut self, object: u32) -> Result<bool, FsError> {
        Ok(object < self.layout.objects && self.head(object)?.is_some_and(|head| head.height > 0))
    }

    /// Repeats a block erase that may have been cut.
    fn end_erase(&mut self) -> Result<(), FsError> {
        let word = self.now(ERASING)?;
        if word == 0 {
            return Ok(());
        }
        let block = BlockId(word as u32 - 1);
        match self.nand.read_spare(self.geometry.page(block, 0)) {
            Err(NandError::BadBlock(_)) => {
                let entry = self.block(block)?;
                self.registers.usable -= u32::from(!entry.failing);
                let mut change = Change::default();
                change.put(self.layout.block(block.0), Block { state: State::Bad, ..entry }.to_word());
                change.put(ERASING, 0);
                self.registers.put(&mut change);
                self.commit(&change)
            }
            Err(error @ NandError::PowerLost) => Err(self.failed(error)),
            _ => self.erase(block),
        }
    }
}
