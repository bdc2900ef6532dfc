//! Files on a block device: each lies in extents of whole pieces.
//!
//! A new file gets the first free run of pieces that is long enough, else the first free pieces; the search begins at the
//! start of the device or behind the last file that was made. Which pieces are free is in memory only; the manifest keeps
//! each file's extents. A file is deleted once the device has a manifest without it, so any free piece may be trimmed at
//! any time (`extents/trims.rs`). What an untrimmed piece holds is never taken for a file: the manifest names a file's
//! pieces, and each part of a file has a sum that depends on the file's number.

pub(super) mod trims;

use super::codec::Parser;
use super::queue::{Jobs, Queue};
use super::storage::{self, FileId, Lifetime, Storage};
use crate::IndexError;
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_nand::{Origin, PlacementId, Time, SECTOR_BYTES};
use std::collections::BTreeMap;
use std::convert::Infallible;
use trims::{Due, Ledger, Trim, TrimStats};

/// Where the search for a new file's room begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Allocation {
    /// At the start of the device.
    #[default]
    FirstFit,
    /// Behind the last piece that was taken, and around: the tree goes through all free space.
    NextFit,
}

/// How files take and leave the room of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes of a piece.
    pub piece_bytes: u64,
    /// Whether writes carry placement identifiers.
    pub by_level: bool,
    /// When a deleted file's room is trimmed.
    pub trim: Trim,
    /// Where a new file's room is looked for.
    pub allocation: Allocation,
}

#[derive(Clone, Debug)]
struct File {
    /// First piece and number of pieces.
    extents: Vec<(u32, u32)>,
    /// Bytes appended.
    bytes: u64,
    placement: PlacementId,
}

impl File {
    fn pieces(&self) -> u64 {
        self.extents.iter().map(|&(_, count)| u64::from(count)).sum()
    }
}

/// How a device is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pieces: u64,
    /// Pieces of each root area.
    root_pieces: u64,
    /// Pieces for files.
    free: u64,
}

impl Layout {
    pub(super) fn new(sectors: u64, unit_bytes: u32, piece_bytes: u64) -> Result<Self, IndexError> {
        let bytes = sectors * u64::from(SECTOR_BYTES);
        let pieces = bytes / piece_bytes;
        let root_pieces = storage::root_bytes(bytes, unit_bytes).div_ceil(piece_bytes);
        match pieces.checked_sub(2 * root_pieces).filter(|&free| free >= 4) {
            Some(free) => Ok(Self { pieces, root_pieces, free }),
            None => {
                let why = format!(
                    "the device of {bytes} bytes has {pieces} extents of that size; the manifest takes {}, files need 4",
                    2 * root_pieces
                );
                Err(IndexError::option("extent_bytes", &piece_bytes, why))
            }
        }
    }
}

/// Files on a block device.
pub struct Extents<'d> {
    // No plan over blocks has steps.
    queue: Queue<'d, Infallible>,
    unit_bytes: usize,
    piece_bytes: u64,
    /// Pieces of a root area; the areas are the first two.
    root_pieces: u32,
    used: Vec<bool>,
    free: u64,
    files: BTreeMap<FileId, File>,
    by_level: bool,
    allocation: Allocation,
    /// Where the last piece that was taken ends.
    behind: u32,
    ledger: Ledger,
}

impl std::fmt::Debug for Extents<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extents").field("files", &self.files).field("free", &self.free).finish_non_exhaustive()
    }
}

impl<'d> Extents<'d> {
    /// Files on `device`, none yet.
    ///
    /// # Errors
    /// [`IndexError::Option`] if the device is too small.
    pub fn new(device: &'d mut dyn BlockDevice, unit_bytes: u32, room: Room) -> Result<Self, IndexError> {
        let Room { piece_bytes, by_level, trim, allocation } = room;
        let Layout { pieces, root_pieces, free } = Layout::new(device.sectors(), unit_bytes, piece_bytes)?;
        let mut used = vec![false; pieces as usize];
        used[..2 * root_pieces as usize].fill(true);
        Ok(Self {
            queue: Queue::new(device),
            unit_bytes: unit_bytes as usize,
            piece_bytes,
            root_pieces: root_pieces as u32,
            used,
            free,
            files: BTreeMap::new(),
            by_level,
            allocation,
            behind: 0,
            ledger: Ledger::new(trim, pieces as usize, piece_bytes),
        })
    }

    fn submit(&mut self, request: Request, data: Payload<'_>) -> Result<(), IndexError> {
        self.queue.submit(request, data)
    }

    /// Takes `pieces` more pieces: one run if there is one, else the first that are free.
    fn take(&mut self, pieces: u64) -> Result<Vec<(u32, u32)>, IndexError> {
        if pieces > self.free {
            let (bytes, free) = self.capacity();
            return Err(IndexError::NoSpace { needed: pieces * self.piece_bytes, free, bytes });
        }
        let runs = self.runs_in_order();
        let whole = runs.iter().find(|&&(_, count)| u64::from(count) >= pieces);
        let mut taken = Vec::new();
        let mut left = pieces;
        for &(first, count) in whole.map_or(&runs[..], std::slice::from_ref) {
            let count = u64::from(count).min(left);
            if count == 0 {
                break;
            }
            self.used[first as usize..first as usize + count as usize].fill(true);
            self.ledger.note_taken(first, count as u32);
            self.behind = first + count as u32;
            taken.push((first, count as u32));
            left -= count;
        }
        self.free -= pieces;
        Ok(taken)
    }

    /// The free runs in the order in which a new file takes them; a run around the last end is cut there.
    fn runs_in_order(&self) -> Vec<(u32, u32)> {
        let mut runs = self.free_runs();
        if self.allocation == Allocation::FirstFit {
            return runs;
        }
        let at = runs.partition_point(|&(first, count)| first + count <= self.behind);
        let mut rest = runs.split_off(at);
        if let Some((first, count)) = rest.first_mut().filter(|(first, _)| *first < self.behind) {
            let before = self.behind - *first;
            runs.push((*first, before));
            (*first, *count) = (self.behind, *count - before);
        }
        rest.extend(runs);
        rest
    }

    fn free_runs(&self) -> Vec<(u32, u32)> {
        runs((0..).zip(&self.used).filter(|(_, used)| !**used).map(|(at, _)| at))
    }

    /// Trims what is due by the tree's way of trimming.
    fn trim_due(&mut self) -> Result<(), IndexError> {
        let due = match self.ledger.due() {
            Due::Nothing => return Ok(()),
            Due::Free => self.free_runs(),
            Due::Held => {
                let free = (0..).zip(&self.used).filter(|(_, used)| !**used).map(|(at, _)| at);
                runs(free.filter(|&at| self.ledger.holds(at)))
            }
        };
        self.trim_free(&due)
    }

    fn trim_free(&mut self, free_runs: &[(u32, u32)]) -> Result<(), IndexError> {
        for &(first, count) in free_runs {
            self.trim(first, count, PlacementId::NONE)?;
            self.ledger.note_trimmed(first, count);
        }
        Ok(())
    }

    fn give_back(&mut self, first: u32, count: u32) {
        self.used[first as usize..(first + count) as usize].fill(false);
        self.free += u64::from(count);
        self.ledger.note_freed(first, count);
    }

    fn trim(&mut self, first: u32, count: u32, placement: PlacementId) -> Result<(), IndexError> {
        let sector = u64::from(first) * self.piece_bytes / u64::from(SECTOR_BYTES);
        let mut left = u64::from(count) * self.piece_bytes / u64::from(SECTOR_BYTES);
        let mut at = sector;
        while left > 0 {
            let sectors = left.min(1 << 30) as u32;
            let request = Request { origin: Origin::INDEX_LEAF, placement, ..Request::new(Op::Trim, at, sectors) };
            self.queue.trim(request)?;
            self.ledger.count(u64::from(sectors) * u64::from(SECTOR_BYTES));
            (at, left) = (at + u64::from(sectors), left - u64::from(sectors));
        }
        Ok(())
    }

    /// The parts on the device that bytes `offset..offset + bytes` of a file lie in: sector and bytes.
    fn parts(&self, file: &File, offset: u64, bytes: u64) -> Vec<(u64, u64)> {
        let (mut start, mut from, mut left) = (0, offset, bytes);
        let mut parts = Vec::new();
        for &(first, count) in &file.extents {
            let length = u64::from(count) * self.piece_bytes;
            if from < start + length && left > 0 {
                let inside = from - start;
                let part = left.min(length - inside);
                parts.push(((u64::from(first) * self.piece_bytes + inside) / u64::from(SECTOR_BYTES), part));
                (from, left) = (from + part, left - part);
            }
            start += length;
        }
        assert!(left == 0, "a file of {start} bytes is asked for bytes {offset} to {}", offset + bytes);
        parts
    }

    /// Checks what the device is known to hold for free pieces.
    fn check_ledger(&self) {
        let held = (0..).zip(&self.used).filter(|&(at, used)| !used && self.ledger.holds(at)).count() as u64;
        let untrimmed = self.ledger.stats().untrimmed_bytes;
        assert_eq!(held * self.piece_bytes, untrimmed, "the free pieces with data are as noted");
        let is_trimmed = self.ledger.policy != Trim::AtOnce || untrimmed == 0;
        assert!(is_trimmed, "nothing waits for a trim if files are trimmed at once");
    }

    fn root_sector(&self, area: usize, offset: u64) -> u64 {
        (area as u64 * u64::from(self.root_pieces) * self.piece_bytes + offset) / u64::from(SECTOR_BYTES)
    }

    fn placement(&self, lifetime: Lifetime) -> PlacementId {
        if self.by_level {
            lifetime.placement()
        } else {
            PlacementId::NONE
        }
    }
}

/// Runs of ascending numbers: the first, and how many.
fn runs(numbers: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for at in numbers {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == at => *count += 1,
            _ => runs.push((at, 1)),
        }
    }
    runs
}

fn sectors(bytes: usize) -> u32 {
    (bytes / SECTOR_BYTES as usize) as u32
}

impl Storage for Extents<'_> {
    fn unit_bytes(&self) -> usize {
        self.unit_bytes
    }

    fn create(&mut self, file: FileId, expected_bytes: u64, lifetime: Lifetime) -> Result<(), IndexError> {
        let extents = self.take(expected_bytes.div_ceil(self.piece_bytes).max(1))?;
        let placement = self.placement(lifetime);
        self.files.insert(file, File { extents, bytes: 0, placement });
        Ok(())
    }

    fn append(&mut self, file: FileId, mut bytes: &[u8], origin: Origin) -> Result<(), IndexError> {
        let entry = &self.files[&file];
        let start = entry.bytes;
        let missing = (start + bytes.len() as u64).div_ceil(self.piece_bytes).saturating_sub(entry.pieces());
        if missing > 0 {
            let more = self.take(missing)?;
            self.files.get_mut(&file).expect("the file is there").extents.extend(more);
        }
        let entry = &self.files[&file];
        let placement = entry.placement;
        for (sector, length) in self.parts(entry, start, bytes.len() as u64) {
            let (part, rest) = bytes.split_at(length as usize);
            let request = Request { origin, placement, ..Request::new(Op::Write, sector, sectors(part.len())) };
            self.submit(request, Payload::Write(part))?;
            let bytes_before = sector * u64::from(SECTOR_BYTES);
            let pieces = bytes_before / self.piece_bytes..(bytes_before + length).div_ceil(self.piece_bytes);
            self.ledger.note_written(pieces.start as usize..pieces.end as usize, length);
            self.files.get_mut(&file).expect("the file is there").bytes += length;
            bytes = rest;
        }
        self.trim_due()
    }

    fn seal(&mut self, file: FileId) {
        let entry = self.files.get_mut(&file).expect("the file is there");
        let mut needed = entry.bytes.div_ceil(self.piece_bytes).max(1);
        let mut spare = Vec::new();
        for (first, count) in &mut entry.extents {
            let kept = u64::from(*count).min(needed) as u32;
            needed -= u64::from(kept);
            spare.push((*first + kept, *count - kept));
            *count = kept;
        }
        entry.extents.retain(|&(_, count)| count > 0);
        for (first, count) in spare {
            self.give_back(first, count);
        }
    }

    fn room(&self, file: FileId) -> u64 {
        self.files[&file].pieces() * self.piece_bytes
    }

    fn read(&mut self, file: FileId, offset: u64, mut bytes: &mut [u8], origin: Origin) -> Result<(), IndexError> {
        for (sector, length) in self.parts(&self.files[&file], offset, bytes.len() as u64) {
            let (part, rest) = bytes.split_at_mut(length as usize);
            let request = Request { origin, ..Request::new(Op::Read, sector, sectors(part.len())) };
            self.submit(request, Payload::Read(part))?;
            bytes = rest;
        }
        Ok(())
    }

    fn delete(&mut self, file: FileId) -> Result<(), IndexError> {
        let Some(File { extents, placement, .. }) = self.files.remove(&file) else { return Ok(()) };
        for (first, count) in extents {
            self.give_back(first, count);
            if self.ledger.policy == Trim::AtOnce {
                self.trim(first, count, placement)?;
                self.ledger.note_trimmed(first, count);
            }
        }
        self.trim_due()
    }

    fn sync(&mut self) -> Result<(), IndexError> {
        self.submit(Request { origin: Origin::INDEX_HEADER, ..Request::new(Op::Flush, 0, 0) }, Payload::None)
    }

    fn place(&self, file: FileId) -> Vec<u8> {
        let extents = self.files[&file].extents.iter();
        extents.flat_map(|(first, count)| [first.to_le_bytes(), count.to_le_bytes()].concat()).collect()
    }

    fn adopt(&mut self, file: FileId, place: &[u8], lifetime: Lifetime) -> Result<(), IndexError> {
        let mut parser = Parser(place);
        let mut extents = Vec::new();
        while let (Some(first), Some(count)) = (parser.u32(), parser.u32()) {
            let pieces = self.used.get_mut(first as usize..(first as usize).saturating_add(count as usize));
            let Some(pieces) = pieces.filter(|pieces| pieces.iter().all(|used| !used)) else {
                let why = format!("its extent of {count} pieces from {first} on is taken, or not on the device");
                return Err(IndexError::DamagedFile { file: file.0, why });
            };
            pieces.fill(true);
            self.ledger.note_adopted(first, count);
            self.free -= u64::from(count);
            extents.push((first, count));
        }
        let placement = self.placement(lifetime);
        let mut adopted = File { extents, bytes: 0, placement };
        adopted.bytes = adopted.pieces() * self.piece_bytes;
        self.files.insert(file, adopted);
        Ok(())
    }

    fn give_up_rest(&mut self, is_new: bool) -> Result<(), IndexError> {
        let free = self.free_runs();
        // A former tree's files have the numbers that a new tree's files will have.
        if is_new || self.ledger.policy.trims_at_open() {
            return self.trim_free(&free);
        }
        self.ledger.note_unknown(&free);
        Ok(())
    }

    fn root_bytes(&self) -> u64 {
        u64::from(self.root_pieces) * self.piece_bytes
    }

    fn reset_root(&mut self, area: usize) -> Result<u64, IndexError> {
        if self.ledger.policy == Trim::Never {
            // Without its first unit an area has no stream.
            self.append_root(area, 0, &vec![0; self.unit_bytes])?;
            return Ok(self.unit_bytes as u64);
        }
        // Not before the other area is there: in the order of the requests.
        let sectors = sectors(self.root_pieces as usize * self.piece_bytes as usize);
        let placement = self.placement(Lifetime::Log);
        let request = Request::new(Op::Trim, self.root_sector(area, 0), sectors);
        self.submit(Request { origin: Origin::INDEX_LEAF, placement, ..request }, Payload::None)?;
        self.ledger.count(u64::from(sectors) * u64::from(SECTOR_BYTES));
        Ok(0)
    }

    fn append_root(&mut self, area: usize, offset: u64, bytes: &[u8]) -> Result<(), IndexError> {
        let request = Request::new(Op::Write, self.root_sector(area, offset), sectors(bytes.len()));
        let placement = self.placement(Lifetime::Log);
        self.submit(Request { origin: Origin::INDEX_HEADER, placement, ..request }, Payload::Write(bytes))
    }

    fn read_root(&mut self, area: usize, offset: u64, bytes: &mut [u8]) -> Result<(), IndexError> {
        let request = Request::new(Op::Read, self.root_sector(area, offset), sectors(bytes.len()));
        self.submit(Request { origin: Origin::INDEX_HEADER, ..request }, Payload::Read(bytes))
    }

    fn capacity(&self) -> (u64, u64) {
        (self.used.len() as u64 * self.piece_bytes, self.free * self.piece_bytes)
    }

    fn trims(&self) -> TrimStats {
        self.ledger.stats()
    }

    fn now(&self) -> Time {
        self.queue.now()
    }

    fn set_now(&mut self, time: Time) {
        self.queue.set_now(time);
    }

    fn jobs(&mut self) -> Option<&mut dyn Jobs> {
        Some(&mut self.queue)
    }

    fn check(&self, files: &[FileId]) -> Result<(), IndexError> {
        let mut owner = vec![None; self.used.len()];
        owner[..2 * self.root_pieces as usize].fill(Some(FileId(0)));
        for (&id, file) in &self.files {
            if !files.contains(&id) {
                return Err(IndexError::DamagedFile { file: id.0, why: "it has room and is not in the tree".into() });
            }
            for at in file.extents.iter().flat_map(|&(first, count)| first..first + count) {
                if let Some(FileId(other)) = owner[at as usize].replace(id) {
                    let why = format!("it shares piece {at} with file {other}");
                    return Err(IndexError::DamagedFile { file: id.0, why });
                }
            }
        }
        match files.iter().find(|id| !self.files.contains_key(id)) {
            Some(id) => Err(IndexError::DamagedFile { file: id.0, why: "it is in the tree and has no room".into() }),
            None => {
                assert!(
                    owner.iter().map(Option::is_some).eq(self.used.iter().copied()),
                    "the free pieces are as noted"
                );
                self.check_ledger();
                Ok(())
            }
        }
    }
}
