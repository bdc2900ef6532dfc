//! The `yaffs2` checkpoint: the tables saved on flash, so a mount needs no scan.
//!
//! Its pages store their bytes as tails. The first page records the total length. If any part is missing,
//! torn or inconsistent, the checkpoint is void and the mount scans.

use super::blocks::{Block, State};
use super::header::{attributes_from, attributes_to_bytes, Type};
use super::objects::{Object, Objects, Owner, ROOT};
use super::scan_large::Heads;
use super::Yaffs;
use crate::parts::driver::Driver;
use crate::parts::tags::Tags;
use crate::parts::wait;
use crate::{Attributes, FsError};
use nandlab_nand::{BlockId, Cause, Kind, Nand, NandError, Origin, Ppa};
use std::collections::BTreeMap;

const MAGIC: u32 = 0x5943_5031;
/// Magic, bytes, checksum.
const HEAD: usize = 12;
/// Blocks that YAFFS reserves beyond those filled by a checkpoint: one that is filled in part and two for bad blocks.
const SPARES: u32 = 3;
/// YAFFS writes no checkpoint, and reserves nothing, with fewer blocks. Here these have one without spare blocks.
const LEAST_BLOCKS_WITH_SPARES: u32 = 60;

/// A checkpoint's bytes and its blocks.
type Read = (Vec<u8>, Vec<BlockId>);

/// Contents of a checkpoint.
struct Tables {
    objects: Objects,
    states: Vec<Block>,
    open: Option<(BlockId, u32)>,
    /// Replacement pages for unreadable ones.
    lost: Vec<Ppa>,
    /// Byte counts in page tags.
    tagged: BTreeMap<Ppa, u32>,
}

/// Reads the written values, as far as they go.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, bytes: usize) -> Option<&[u8]> {
        let (now, later) = self.0.split_at_checked(bytes)?;
        self.0 = later;
        Some(now)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn word(&mut self) -> Option<u32> {
        self.take(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    }

    fn long(&mut self) -> Option<u64> {
        self.take(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    fn text(&mut self) -> Option<String> {
        let len = self.byte()?;
        String::from_utf8(self.take(len.into())?.to_vec()).ok()
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(text.len() as u8);
    out.extend(text.as_bytes());
}

/// FNV-1a; detects a mix of several checkpoints.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811C_9DC5, |sum, &byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn put_object(out: &mut Vec<u8>, number: u32, object: &Object, owners: &[Owner]) {
    for word in [number, object.parent, object.header.0, object.equivalent, object.chunks.len() as u32] {
        out.extend(word.to_le_bytes());
    }
    for long in [object.size, object.stored_size, object.time] {
        out.extend(long.to_le_bytes());
    }
    out.extend([object.kind as u8, u8::from(object.deleted) | u8::from(object.stale_tail) << 1]);
    put_text(out, &object.name);
    put_text(out, &object.target);
    for page in &object.chunks {
        out.extend(page.0.to_le_bytes());
        let bytes = if page.is_some() { owners[page.index()].bytes as u16 } else { 0 };
        out.extend(bytes.to_le_bytes());
    }
}

/// Reads an object, its number and the byte counts in its page tags.
fn take_object(from: &mut Reader<'_>) -> Option<(u32, Object, Vec<u32>)> {
    let [number, parent, header, equivalent, chunks] =
        [from.word()?, from.word()?, from.word()?, from.word()?, from.word()?];
    let [size, stored_size, time] = [from.long()?, from.long()?, from.long()?];
    let kind = match from.byte()? {
        1 => Type::File,
        2 => Type::Symlink,
        3 => Type::Directory,
        4 => Type::HardLink,
        _ => return None,
    };
    let flags = from.byte()?;
    let name = from.text()?;
    let mut object = Object::new(kind, parent, &name);
    object.target = from.text()?;
    (object.size, object.stored_size, object.time) = (size, stored_size, time);
    (object.header, object.equivalent) = (Ppa(header), equivalent);
    (object.deleted, object.stale_tail) = (flags & 1 == 1, flags & 2 == 2);
    object.dirty = size != stored_size;
    let mut bytes = Vec::new();
    for _ in 0..chunks {
        object.chunks.push(Ppa(from.word()?));
        bytes.push(u32::from(from.byte()?) | u32::from(from.byte()?) << 8);
    }
    object.mapped = object.chunks.iter().filter(|page| page.is_some()).count() as u32;
    Some((number, object, bytes))
}

impl<N: Nand> Yaffs<N> {
    /// Blocks reserved for a future checkpoint.
    pub(super) fn checkpoint_reserve(&self) -> u32 {
        if self.small || !self.config.checkpoint {
            return 0;
        }
        let objects = self.objects.len() as u64;
        let bytes = 64 + u64::from(self.geometry.blocks()) * 6 + u64::from(self.geometry.pages()) * 6 + objects * 128;
        let block_bytes = u64::from(self.geometry.pages_per_block()) * self.page_bytes();
        let blocks = if self.is_old() || self.geometry.blocks() < LEAST_BLOCKS_WITH_SPARES {
            bytes.div_ceil(block_bytes) as u32
        } else {
            (bytes / block_bytes) as u32 + SPARES
        };
        blocks.saturating_sub(self.checkpoint.len() as u32)
    }

    /// Serializes the tables.
    fn tables(&self) -> Vec<u8> {
        let mut out = vec![0; HEAD];
        let (open, next) = self.blocks.open.unwrap_or((BlockId::NONE, 0));
        for word in [self.geometry.blocks(), self.geometry.pages(), self.sequence, open.0, next] {
            out.extend(word.to_le_bytes());
        }
        out.extend(self.time.to_le_bytes());
        for (_, block) in self.blocks.iter() {
            let state = match block.state {
                State::Empty { erased: true } => 0,
                State::Empty { erased: false } | State::Checkpoint => 1,
                State::Open => 2,
                State::Full | State::Collecting => 3,
                State::Bad => 4,
            };
            out.extend([state | u8::from(block.shrinks) << 3 | u8::from(block.failing) << 4]);
            out.extend(block.sequence.to_le_bytes());
        }
        let objects: Vec<_> = self.objects.iter().filter(|&(number, _)| number != ROOT).collect();
        out.extend((objects.len() as u32).to_le_bytes());
        objects.into_iter().for_each(|(number, object)| put_object(&mut out, number, object, &self.owners));
        let lost: Vec<u32> = (0..).zip(&self.owners).filter(|(_, owner)| owner.lost).map(|(page, _)| page).collect();
        out.extend((lost.len() as u32).to_le_bytes());
        lost.into_iter().for_each(|page| out.extend(page.to_le_bytes()));
        // Nothing where no program stored any.
        for (number, object) in self.objects.iter().filter(|(_, object)| object.attributes != Attributes::default()) {
            out.extend(number.to_le_bytes());
            out.extend(attributes_to_bytes(object.attributes));
        }
        let (bytes, sum) = (out.len() as u32, checksum(&out[HEAD..]));
        for (at, word) in [MAGIC, bytes, sum].into_iter().enumerate() {
            out[at * 4..at * 4 + 4].copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    /// Saves the tables, if the option is on and there is room.
    pub(super) fn save_checkpoint(&mut self) -> Result<(), FsError> {
        let in_use = self.may_erase() || self.blocks.open.is_some();
        if self.small || !self.config.checkpoint || !self.checkpoint.is_empty() || !in_use {
            return Ok(());
        }
        let tables = self.tables();
        let pages = tables.len().div_ceil(self.page_bytes() as usize) as u32;
        let blocks = pages.div_ceil(self.geometry.pages_per_block());
        if self.blocks.empty() < blocks + 2 {
            return Ok(());
        }
        let before = self.nand.ctx().set_cause(Cause::Checkpoint);
        let mut taken = Vec::new();
        let saved = self.write_tables(&tables, &mut taken);
        if !matches!(saved, Ok(true)) && saved.is_ok() {
            taken.drain(..).try_for_each(|block| self.erase(block).map(drop))?;
        }
        self.nand.ctx().set_cause(before);
        self.checkpoint = taken;
        saved.map(drop)
    }

    /// Writes the tables into their own blocks; false if a program failed.
    fn write_tables(&mut self, tables: &[u8], taken: &mut Vec<BlockId>) -> Result<bool, FsError> {
        let page_bytes = self.page_bytes() as usize;
        let blank = self.blank();
        let mut next = self.geometry.pages_per_block();
        for (chunk, piece) in (1..).zip(tables.chunks(page_bytes)) {
            while next == self.geometry.pages_per_block() {
                if let Some(block) = self.take_empty(State::Checkpoint)? {
                    taken.push(block);
                    next = 0;
                }
            }
            let block = *taken.last().expect("a block was taken");
            let at = self.geometry.page(block, next);
            next += 1;
            let mut tail = piece.to_vec();
            tail.resize(page_bytes, 0);
            let sequence = self.blocks.get(block).sequence;
            let tags = Tags { sequence, ..Tags::new(ROOT, chunk, piece.len() as u32) };
            let oob = tags.to_oob(false, Kind::Checkpoint, Origin::FTL);
            match self.nand.program(at, &blank, &tail, oob) {
                Ok(_) => wait(&mut self.nand),
                Err(NandError::ProgramFailed(_)) => {
                    self.blocks.change(block, |entry| entry.failing = true);
                    return Ok(false);
                }
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(true)
    }

    /// Erases the checkpoint before the first change, starting with its first page.
    pub(super) fn void_checkpoint(&mut self) -> Result<(), FsError> {
        if self.checkpoint.is_empty() {
            return Ok(());
        }
        let before = self.nand.ctx().set_cause(Cause::Checkpoint);
        let blocks = std::mem::take(&mut self.checkpoint);
        let done = blocks.into_iter().try_for_each(|block| self.erase(block).map(drop));
        self.nand.ctx().set_cause(before);
        done
    }

    /// Loads the tables from the checkpoint; false if there is no complete one.
    pub(super) fn restore_checkpoint(&mut self, heads: &Heads) -> Result<bool, FsError> {
        let mut blocks = heads.checkpoint.clone();
        blocks.sort_unstable();
        let Some(start) = blocks.iter().rposition(|&(_, chunk, _)| chunk == 1) else { return Ok(false) };
        let blocks: Vec<(u32, u32, BlockId)> = blocks.split_off(start);
        let Some((tables, taken)) = self.read_tables(&blocks)? else { return Ok(false) };
        let Some(parsed) = self.parse(&tables) else { return Ok(false) };
        let Tables { objects, states, open, lost, tagged } = parsed;
        self.blocks.open = open;
        self.objects = objects;
        for (block, state) in (0..).map(BlockId).zip(states) {
            self.blocks.change(block, |entry| *entry = state);
        }
        for &block in &heads.bad {
            self.blocks.set_state(block, State::Bad);
        }
        let last = blocks.last().map_or(0, |&(sequence, ..)| sequence);
        self.sequence = self.sequence.max(last + 1);
        self.checkpoint = taken;
        for block in self.checkpoint.clone() {
            self.blocks.set_state(block, State::Checkpoint);
        }
        self.failing = self.blocks.iter().filter(|(_, block)| block.failing).map(|(block, _)| block).collect();
        self.adopt_tables(&lost, &tagged);
        Ok(true)
    }

    /// Reads a checkpoint's bytes and its blocks.
    fn read_tables(&mut self, blocks: &[(u32, u32, BlockId)]) -> Result<Option<Read>, FsError> {
        let page_bytes = self.page_bytes() as usize;
        let (mut tables, mut taken, mut wanted) = (Vec::new(), Vec::new(), HEAD);
        for &(_, first, block) in blocks {
            if tables.len() >= wanted {
                break;
            }
            taken.push(block);
            for (chunk, at) in (first..).zip(self.pages_of(block)) {
                if tables.len() >= wanted {
                    break;
                }
                let follows = chunk as usize == tables.len() / page_bytes + 1;
                let mut tail = vec![0; page_bytes];
                let oob = match self.nand.read_spare(at) {
                    Ok(Some(oob)) if oob.kind == Kind::Checkpoint && follows => self.nand.read_tail(at, &mut tail),
                    Ok(_) | Err(NandError::Uncorrectable(_)) => return Ok(None),
                    Err(error) => return Err(self.failed(error)),
                };
                match oob {
                    Ok(_) => tables.extend(tail),
                    Err(NandError::Uncorrectable(_)) => return Ok(None),
                    Err(error) => return Err(self.failed(error)),
                }
                if tables.len() == page_bytes {
                    wanted = Reader(&tables[4..8]).word().unwrap_or(0) as usize;
                }
            }
        }
        let is_whole = tables.len() >= wanted.max(HEAD) && tables[..4] == MAGIC.to_le_bytes();
        tables.truncate(wanted.max(HEAD));
        let sums = is_whole && tables[8..HEAD] == checksum(&tables[HEAD..]).to_le_bytes();
        Ok(sums.then_some((tables, taken)))
    }

    fn parse(&mut self, tables: &[u8]) -> Option<Tables> {
        let mut from = Reader(&tables[HEAD..]);
        if from.word()? != self.geometry.blocks() || from.word()? != self.geometry.pages() {
            return None;
        }
        let (sequence, open, next) = (from.word()?, BlockId(from.word()?), from.word()?);
        let time = from.long()?;
        let mut states = Vec::new();
        for _ in 0..self.geometry.blocks() {
            let byte = from.byte()?;
            let state = match byte & 7 {
                0 => State::Empty { erased: true },
                1 => State::Empty { erased: false },
                2 => State::Open,
                3 => State::Full,
                _ => State::Bad,
            };
            let (shrinks, failing) = (byte >> 3 & 1 == 1, byte >> 4 & 1 == 1);
            states.push(Block { state, shrinks, failing, sequence: from.word()?, ..Block::EMPTY });
        }
        let mut objects = Objects::new();
        let mut tagged = BTreeMap::new();
        for _ in 0..from.word()? {
            let (number, object, bytes) = take_object(&mut from)?;
            tagged.extend(object.mapped_chunks().map(|(chunk, at)| (at, bytes[chunk as usize - 1])));
            objects.insert(number, object);
        }
        let mut lost = Vec::new();
        for _ in 0..from.word()? {
            lost.push(Ppa(from.word()?));
        }
        while !from.0.is_empty() {
            let number = from.word()?;
            let attributes = attributes_from(from.take(20)?.try_into().ok()?);
            objects.known(number)?;
            objects.get_mut(number).attributes = attributes;
        }
        (self.sequence, self.time) = (sequence, time);
        Some(Tables { objects, states, open: open.is_some().then_some((open, next)), lost, tagged })
    }

    /// Derives the remaining tables from objects and states.
    fn adopt_tables(&mut self, lost: &[Ppa], tagged: &BTreeMap<Ppa, u32>) {
        for number in self.objects.numbers() {
            let object = self.objects.get(number).clone();
            let header = (0, object.header);
            for (chunk, at) in object.mapped_chunks().chain(Some(header).filter(|(_, at)| at.is_some())) {
                self.blocks.take(at);
                let bytes = tagged.get(&at).copied().unwrap_or(0);
                self.owners[at.index()] = Owner { object: number, chunk, serial: 0, bytes, lost: lost.contains(&at) };
            }
            if object.deleted {
                self.soften(number);
            }
            if object.kind == Type::HardLink && self.objects.known(object.equivalent).is_some() {
                self.objects.get_mut(object.equivalent).links.insert(number);
            }
        }
    }
}
