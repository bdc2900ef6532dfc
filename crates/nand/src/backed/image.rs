//! A device in a file.
//!
//! The layout: a header, one record a block, one record a page, the bytes of the pages. Each part starts at a
//! multiple of 4 KiB; numbers are little endian; header and records end in a CRC-16.
//!
//! * Header: magic, version, the seven counts of the shape, the rules.
//! * Block record: P/E cycles, bad mark, sequence base, and by origin the pages that were programmed and not
//!   copied away. All zeros: a block that was never touched.
//! * Page record: the 16 bytes of the spare area, a generation, the bytes of the tail, the programs since the
//!   erase. A page is programmed where its generation is its block's P/E cycles + 1, so that one write of the
//!   block's record erases all its pages.
//!
//! An operation writes bytes, block record and page record in this order. A page counts from its own record on,
//! so an end of the process between any two writes leaves the device before or after the operation.

use super::store::PageStore;
use crate::address::{BlockId, Geometry, Ppa, Shape};
use crate::context::Origin;
use crate::counting::{Counting, Kept, SpareStore};
use crate::nand::{Nand, NandError};
use crate::oob::{checksum, Oob};
use crate::rules::{ProgramOrder, Rules};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

const MAGIC: [u8; 8] = *b"nandlab\n";
const VERSION: u32 = 2;
const ALIGN: u64 = 4096;
const HEADER_BYTES: usize = 50;
const BLOCK_BYTES: usize = 88;
const PAGE_BYTES: usize = 32;

/// Why an image file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BackedError {
    /// The operating system refused.
    #[error("cannot {action} the image {}: {source}", path.display())]
    Io {
        /// The image.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// An image is never overwritten.
    #[error("the image {} exists already: open it, or remove it first", .0.display())]
    Exists(PathBuf),
    /// The file does not begin as an image does.
    #[error("{} is not a nandlab image: its first bytes are not those of one", .0.display())]
    NotAnImage(PathBuf),
    /// A later program wrote the image.
    #[error("the image {} has format version {found}, this program reads version {VERSION}", path.display())]
    Version {
        /// The image.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A truncated or padded file.
    #[error("the image {} has {found} bytes, the device in its header needs {expected}", path.display())]
    Length {
        /// The image.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length that its header implies.
        expected: u64,
    },
    /// A record that contradicts its checksum or the rules.
    #[error("the image {} is damaged: {what}", path.display())]
    Damaged {
        /// The image.
        path: PathBuf,
        /// Which record, and what is wrong with it.
        what: String,
    },
}

/// Why an image failed while it was used; empty while it works.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<OnceLock<BackedError>>);

impl Failure {
    /// The first error, if there was one.
    pub fn get(&self) -> Option<&BackedError> {
        self.0.get()
    }
}

/// Pages in a file.
#[derive(Debug)]
pub struct Image {
    file: File,
    path: PathBuf,
    layout: Layout,
    failure: Failure,
    /// One page, for copies and tails.
    scratch: Box<[u8]>,
}

/// Where the parts of the file begin, in bytes.
#[derive(Clone, Copy, Debug)]
struct Layout {
    blocks: u64,
    pages: u64,
    data: u64,
    end: u64,
    page_bytes: u64,
}

impl Layout {
    fn new(geometry: &Geometry) -> Self {
        let blocks = ALIGN;
        let pages = (blocks + u64::from(geometry.blocks()) * BLOCK_BYTES as u64).next_multiple_of(ALIGN);
        let data = (pages + u64::from(geometry.pages()) * PAGE_BYTES as u64).next_multiple_of(ALIGN);
        let page_bytes = u64::from(geometry.page_bytes());
        Self { blocks, pages, data, end: data + u64::from(geometry.pages()) * page_bytes, page_bytes }
    }

    fn block(&self, block: BlockId) -> u64 {
        self.blocks + u64::from(block.0) * BLOCK_BYTES as u64
    }

    fn page(&self, at: Ppa) -> u64 {
        self.pages + u64::from(at.0) * PAGE_BYTES as u64
    }

    fn bytes(&self, at: Ppa) -> u64 {
        self.data + u64::from(at.0) * self.page_bytes
    }
}

/// Puts the checksum of what stands before them into the last two of the first `used` bytes.
fn seal(record: &mut [u8], used: usize) {
    let sum = checksum(&record[..used - 2]);
    record[used - 2..used].copy_from_slice(&sum.to_le_bytes());
}

fn is_sealed(record: &[u8], used: usize) -> bool {
    record[used - 2..used] == checksum(&record[..used - 2]).to_le_bytes()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn header(geometry: &Geometry, rules: &Rules) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let s = geometry.shape();
    let counts = [
        s.channels,
        s.dies_per_channel,
        s.planes_per_die,
        s.blocks_per_plane,
        s.pages_per_block,
        s.page_bytes,
        s.spare_bytes,
    ];
    for (place, count) in bytes[12..40].chunks_exact_mut(4).zip(counts) {
        place.copy_from_slice(&count.to_le_bytes());
    }
    bytes[40] = match rules.program_order {
        ProgramOrder::Any => 0,
        ProgramOrder::Ascending => 1,
        ProgramOrder::AscendingDense => 2,
    };
    bytes[41] = rules.partial_programs;
    bytes[42] = rules.bits_per_cell;
    bytes[44..48].copy_from_slice(&rules.endurance.to_le_bytes());
    seal(&mut bytes, HEADER_BYTES);
    bytes
}

/// The device that a header describes.
fn parse_header(path: &Path, bytes: &[u8; HEADER_BYTES]) -> Result<(Geometry, Rules), BackedError> {
    let damaged = |what: String| BackedError::Damaged { path: path.to_owned(), what };
    if bytes[..8] != MAGIC {
        return Err(BackedError::NotAnImage(path.to_owned()));
    }
    let version = u32_at(bytes, 8);
    if version != VERSION {
        return Err(BackedError::Version { path: path.to_owned(), found: version });
    }
    if !is_sealed(bytes, HEADER_BYTES) {
        return Err(damaged("the checksum of its header is wrong".into()));
    }
    let shape = Shape {
        channels: u32_at(bytes, 12),
        dies_per_channel: u32_at(bytes, 16),
        planes_per_die: u32_at(bytes, 20),
        blocks_per_plane: u32_at(bytes, 24),
        pages_per_block: u32_at(bytes, 28),
        page_bytes: u32_at(bytes, 32),
        spare_bytes: u32_at(bytes, 36),
    };
    let geometry = Geometry::new(shape).map_err(|error| damaged(format!("in its header, {error}")))?;
    let program_order = match bytes[40] {
        0 => ProgramOrder::Any,
        1 => ProgramOrder::Ascending,
        2 => ProgramOrder::AscendingDense,
        other => return Err(damaged(format!("program order {other} in its header is none of 0, 1, 2"))),
    };
    // Images of before have 0 there, and no blocks of one bit a cell.
    let bits_per_cell = bytes[42].max(1);
    Ok((geometry, Rules { program_order, partial_programs: bytes[41], endurance: u32_at(bytes, 44), bits_per_cell }))
}

impl Image {
    pub(super) fn create(path: &Path, geometry: &Geometry, rules: &Rules) -> Result<Self, BackedError> {
        let error = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => BackedError::Exists(path.to_owned()),
            _ => BackedError::Io { path: path.to_owned(), action: "create", source },
        };
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).map_err(error)?;
        let image = Self::new(file, path, geometry);
        let written = image.file.set_len(image.layout.end).and_then(|()| image.write_at(0, &header(geometry, rules)));
        if let Err(source) = written {
            drop(image);
            // The error to report is the first one; a file that cannot be removed either changes nothing about it.
            let _ = std::fs::remove_file(path);
            return Err(error(source));
        }
        Ok(image)
    }

    pub(super) fn open(path: &Path) -> Result<(Self, Counting), BackedError> {
        let error = |source| BackedError::Io { path: path.to_owned(), action: "open", source };
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(error)?;
        let found = file.metadata().map_err(error)?.len();
        let mut bytes = [0; HEADER_BYTES];
        // What is shorter than a header is missing its last bytes or is something else; the magic tells.
        let have = (HEADER_BYTES as u64).min(found) as usize;
        file.read_exact(&mut bytes[..have]).map_err(error)?;
        if have < HEADER_BYTES && bytes[..8] == MAGIC {
            return Err(BackedError::Length { path: path.to_owned(), found, expected: ALIGN });
        }
        let (geometry, rules) = parse_header(path, &bytes)?;
        let image = Self::new(file, path, &geometry);
        let expected = image.layout.end;
        if found != expected {
            return Err(BackedError::Length { path: path.to_owned(), found, expected });
        }
        let mut device = Counting::new(geometry, rules);
        image.restore(&mut device)?;
        Ok((image, device))
    }

    fn new(file: File, path: &Path, geometry: &Geometry) -> Self {
        Self {
            file,
            path: path.to_owned(),
            layout: Layout::new(geometry),
            failure: Failure::default(),
            scratch: vec![0; geometry.page_bytes() as usize].into(),
        }
    }

    /// Brings an erased `device` into the state that the records hold.
    fn restore(&self, device: &mut Counting) -> Result<(), BackedError> {
        let geometry = *device.geometry();
        let mut record = [0; BLOCK_BYTES];
        let mut pages = vec![0; geometry.pages_per_block() as usize * PAGE_BYTES];
        for block in (0..geometry.blocks()).map(BlockId) {
            self.read_at(self.layout.block(block), &mut record).map_err(|e| self.io_error("read", e))?;
            self.read_at(self.layout.page(geometry.page(block, 0)), &mut pages)
                .map_err(|e| self.io_error("read", e))?;
            let Some((kept, is_bad)) = block_record(block, &record).map_err(|what| self.damaged(what))? else {
                continue;
            };
            let found = if is_bad { Ok(Vec::new()) } else { found_pages(device, block, kept.pe_cycles, &pages) };
            let found = found.map_err(|what| self.damaged(what))?;
            device.restore(block, &kept, found.iter().map(|found| (found.page, found.oob)));
            if is_bad {
                device.states.retire(block);
            }
            for FoundPage { page, tail_bytes, programs, .. } in found {
                let at = geometry.page(block, page);
                if tail_bytes > 0 {
                    let tail = self.tail_of(at, tail_bytes).map_err(|e| self.io_error("read", e))?;
                    device.tails.insert(at, block, tail);
                }
                if programs > 1 {
                    device.respared.insert(at, programs);
                }
            }
        }
        Ok(())
    }

    fn tail_of(&self, at: Ppa, bytes: usize) -> io::Result<Box<[u8]>> {
        let mut tail = vec![0; bytes].into_boxed_slice();
        self.read_at(self.layout.bytes(at) + self.layout.page_bytes - bytes as u64, &mut tail)?;
        Ok(tail)
    }

    fn damaged(&self, what: String) -> BackedError {
        BackedError::Damaged { path: self.path.clone(), what }
    }

    fn io_error(&self, action: &'static str, source: io::Error) -> BackedError {
        BackedError::Io { path: self.path.clone(), action, source }
    }

    pub(super) fn sync(&self) -> Result<(), BackedError> {
        self.file.sync_data().map_err(|source| self.io_error("synchronise", source))
    }

    pub(super) fn failure(&self) -> Failure {
        self.failure.clone()
    }

    fn read_at(&self, place: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(place))?;
        file.read_exact(bytes)
    }

    fn write_at(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(place))?;
        file.write_all(bytes)
    }

    /// Turns an I/O error into a device that is off, and keeps the reason.
    fn guard(&self, action: &'static str, result: io::Result<()>) -> Result<(), NandError> {
        result.map_err(|source| {
            // Only the first reason is kept.
            let _ = self.failure.0.set(self.io_error(action, source));
            NandError::PowerLost
        })
    }
}

/// What a block's record holds, and whether the block is bad; `None`: it was never touched.
fn block_record(block: BlockId, record: &[u8; BLOCK_BYTES]) -> Result<Option<(Kept, bool)>, String> {
    if record.iter().all(|&byte| byte == 0) {
        return Ok(None);
    }
    if !is_sealed(record, BLOCK_BYTES) {
        return Err(format!("the checksum of the record of block {block} is wrong"));
    }
    let kept = Kept {
        pe_cycles: u32_at(record, 0),
        base: u64::from_le_bytes(record[8..16].try_into().expect("eight bytes")),
        programmed: std::array::from_fn(|origin| u16_at(record, 16 + 2 * origin)),
    };
    Ok(Some((kept, record[4] != 0)))
}

/// A programmed page of an image.
struct FoundPage {
    page: u32,
    oob: Oob,
    tail_bytes: usize,
    programs: u8,
}

/// The programmed pages among the page records of a block.
fn found_pages(device: &Counting, block: BlockId, pe_cycles: u32, records: &[u8]) -> Result<Vec<FoundPage>, String> {
    let geometry = device.geometry();
    let mut found = Vec::new();
    for (page, record) in (0..).zip(records.chunks_exact(PAGE_BYTES)) {
        if u32_at(record, 16) != pe_cycles.wrapping_add(1) {
            continue;
        }
        let wrong = |what: &str| Err(format!("the record of page {} {what}", geometry.page(block, page)));
        if !is_sealed(record, PAGE_BYTES) {
            return wrong("has a wrong checksum");
        }
        let spare: &[u8; Oob::BYTES] = record[..16].try_into().expect("sixteen bytes");
        let Some(oob) = Oob::from_bytes(spare) else {
            return wrong("holds no metadata that could be read");
        };
        if device.rules().program_order == ProgramOrder::AscendingDense && page as usize != found.len() {
            return wrong("follows a gap, which this chip does not allow");
        }
        let tail_bytes = usize::from(u16_at(record, 20));
        if tail_bytes > geometry.page_bytes() as usize {
            return wrong("has a tail that is longer than a page");
        }
        found.push(FoundPage { page, oob, tail_bytes, programs: record[22] });
    }
    Ok(found)
}

impl PageStore for Image {
    fn check(&self) -> Result<(), NandError> {
        self.failure.get().map_or(Ok(()), |_| Err(NandError::PowerLost))
    }

    fn load(&mut self, at: Ppa, page: &mut [u8]) -> Result<(), NandError> {
        self.guard("read", self.read_at(self.layout.bytes(at), page))
    }

    fn program(&mut self, at: Ppa, page: Option<&[u8]>, tail: &[u8]) -> Result<(), NandError> {
        match page {
            Some(bytes) => self.scratch.copy_from_slice(bytes),
            None => self.scratch.fill(0),
        }
        let start = self.scratch.len() - tail.len();
        self.scratch[start..].copy_from_slice(tail);
        self.guard("write", self.write_at(self.layout.bytes(at), &self.scratch))
    }

    fn copy(&mut self, from: Ppa, to: Ppa) -> Result<(), NandError> {
        let mut page = std::mem::take(&mut self.scratch);
        let moved =
            self.read_at(self.layout.bytes(from), &mut page).and_then(|()| self.write_at(self.layout.bytes(to), &page));
        self.scratch = page;
        self.guard("write", moved)
    }

    fn erase(&mut self, _: Range<u32>) {
        // The block's record, which is saved next, makes the pages erased; their bytes are unreachable.
    }

    fn save_block(&mut self, device: &Counting, block: BlockId) -> Result<(), NandError> {
        let mut record = [0; BLOCK_BYTES];
        record[..4].copy_from_slice(&device.pe_cycles[block.index()].to_le_bytes());
        record[4] = u8::from(device.states.is_bad(block));
        record[8..16].copy_from_slice(&device.spare.bases[block.index()].to_le_bytes());
        let by_origin: &[u16; Origin::COUNT] = &device.programmed[block.index()];
        for (place, pages) in record[16..].chunks_exact_mut(2).zip(by_origin) {
            place.copy_from_slice(&pages.to_le_bytes());
        }
        seal(&mut record, BLOCK_BYTES);
        self.guard("write", self.write_at(self.layout.block(block), &record))
    }

    fn save_page(&mut self, device: &Counting, at: Ppa) -> Result<(), NandError> {
        let block = device.geometry().block_of(at);
        let oob = device.spare.get(at, block).expect("the page was just programmed");
        let mut record = [0; PAGE_BYTES];
        record[..16].copy_from_slice(&oob.to_bytes());
        record[16..20].copy_from_slice(&device.pe_cycles[block.index()].wrapping_add(1).to_le_bytes());
        let tail_bytes = device.tails.get(at, block).map_or(0, |tail| tail.len() as u16);
        record[20..22].copy_from_slice(&tail_bytes.to_le_bytes());
        record[22] = device.respared.get(at).copied().unwrap_or(1);
        seal(&mut record, PAGE_BYTES);
        self.guard("write", self.write_at(self.layout.page(at), &record))
    }
}
