//! Digital camera: photographs are taken, reviewed, in part deleted, and copied off the card.
//!
//! ## Idea
//! A transaction is a session. It takes `shots` photographs: each is a new file with `shortest_photo` to
//! `longest_photo` bytes, written from start to end in pieces with `write_bytes` each. Then the camera reads every
//! photograph from this session, as for its display, and deletes each one with probability `deleted_share`. After every
//! `sessions_to_copy` sessions the user copies the card: all photographs are read, then all are deleted. Photographs
//! are long sequential runs; beside them the same few sectors in the allocation table and the directory are written
//! again and again.
//!
//! | path | contents |
//! |---|---|
//! | `DCIM/100CAM`, `DCIM/101CAM` ... | folders, as the file system rule for cameras (DCF) lays them out, 9,999 photographs each |
//! | `DSCN0001` ... `DSCN9999` | photographs of a folder |
//!
//! ## Differences
//! A study on block recycling shows a Nikon camera's write pattern in a figure without numbers; every number here is a
//! convention, with file sizes for 2 to 3 million pixels. A camera formats its card on request. Formatting is no file
//! operation, so deletion empties the card here. Names have no extension. A full folder is followed by a new one, and
//! old folders go when the card is copied.
//!
//! ## References
//! The layout: Design rule for Camera File system (DCF), JEITA CP-3461. The pattern: a study of migration beside merge in
//! block-mapped FTLs under FAT, 2007, Fig. 2.

use super::parts::{put_file, within, Direction, Part, Played, Steps, Transfer, FILE};
use super::records::MOST;
use super::{FileOp, FileOptions, FileSetting, FileWorkload};
use crate::{ByteCount, WorkloadError};
use nandlab_nand::random::{Random, Stream};
use std::collections::VecDeque;

/// Options of `[workload.camera]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Sessions.
    pub transactions: u32,
    /// Photographs of a session.
    pub shots: u32,
    /// Bytes of the smallest photograph.
    pub shortest_photo: ByteCount,
    /// Bytes of the largest photograph.
    pub longest_photo: ByteCount,
    /// Bytes of a write or a read; the last one of a photograph may have fewer.
    pub write_bytes: ByteCount,
    /// The photographs of a session are read at its end.
    pub review: bool,
    /// Probability that a photograph is deleted at the end of its session, 0 to 1.
    pub deleted_share: f64,
    /// Sessions after which all photographs are copied off the card and deleted.
    pub sessions_to_copy: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            transactions: 20,
            shots: 30,
            shortest_photo: ByteCount(600 << 10),
            longest_photo: ByteCount(1_200 << 10),
            write_bytes: ByteCount(32 << 10),
            review: true,
            deleted_share: 0.2,
            sessions_to_copy: 2,
        }
    }
}

/// Most photographs in a session: one step makes them all.
const MOST_SHOTS: u64 = 1_000_000;

/// Photographs in a folder.
const IN_FOLDER: u64 = 9_999;

const ROOT: &str = "DCIM";

impl FileOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        within("shots", self.shots.into(), 0, MOST_SHOTS, "a session has")?;
        within("longest_photo", self.longest_photo.0, 1, MOST, "the bytes of the largest photograph are")?;
        let longest = self.longest_photo.0;
        within("shortest_photo", self.shortest_photo.0, 1, longest, "the bytes of the smallest photograph are")?;
        within("write_bytes", self.write_bytes.0, 1, MOST, "the bytes of a write are")?;
        within("sessions_to_copy", self.sessions_to_copy.into(), 1, MOST, "the card is copied after sessions of")?;
        if !(0.0..=1.0).contains(&self.deleted_share) {
            return Err(WorkloadError::option(
                "deleted_share",
                &self.deleted_share,
                "a probability is a number from 0 to 1",
            ));
        }
        Ok(())
    }

    fn transactions(&self) -> Option<u64> {
        Some(self.transactions.into())
    }

    fn open(&self, setting: &FileSetting<'_>) -> Result<Box<dyn FileWorkload>, WorkloadError> {
        self.check()?;
        let camera = Camera {
            config: self.clone(),
            random: Random::of(setting.seed, Stream::Camera),
            sessions: None,
            taken: 0,
            folders: 0..0,
            card: Vec::new(),
        };
        Ok(Box::new(Played::new(camera)))
    }
}

/// A photograph on the card.
#[derive(Clone, Copy)]
struct Photo {
    number: u64,
    bytes: u64,
}

impl Photo {
    fn path(self) -> String {
        format!("{}/DSCN{:04}", folder(self.number / IN_FOLDER), self.number % IN_FOLDER + 1)
    }
}

fn folder(number: u64) -> String {
    format!("{ROOT}/{}CAM", 100 + number)
}

struct Camera {
    config: Config,
    random: Random,
    /// Sessions so far; before the first step there are no folders.
    sessions: Option<u32>,
    /// Photographs taken so far.
    taken: u64,
    /// Folders on the card.
    folders: std::ops::Range<u64>,
    /// Photographs on the card, the oldest first.
    card: Vec<Photo>,
}

impl Camera {
    fn shoot(&mut self, parts: &mut VecDeque<Part>) {
        let (shortest, longest) = (self.config.shortest_photo.0, self.config.longest_photo.0);
        let photo = Photo { number: self.taken, bytes: shortest + self.random.below(longest - shortest + 1) };
        self.taken += 1;
        while self.folders.end <= photo.number / IN_FOLDER {
            parts.push_back(Part::Op(FileOp::Mkdir(folder(self.folders.end).into())));
            self.folders.end += 1;
        }
        put_file(parts, &photo.path(), photo.bytes, self.config.write_bytes.0 as u32);
        self.card.push(photo);
    }

    fn read(&self, photo: Photo, parts: &mut VecDeque<Part>) {
        parts.push_back(Part::Op(FileOp::Open { file: FILE, path: photo.path().into() }));
        let piece = self.config.write_bytes.0 as u32;
        parts.push_back(Part::Transfer(Transfer::new(Direction::Read, FILE, 0..photo.bytes, piece)));
        parts.push_back(Part::Op(FileOp::Close(FILE)));
    }

    /// Looks at the photographs from `first` on, and deletes some.
    fn review(&mut self, first: usize, parts: &mut VecDeque<Part>) {
        let session = self.card.split_off(first);
        if self.config.review {
            session.iter().for_each(|&photo| self.read(photo, parts));
        }
        for photo in session {
            if self.random.chance(self.config.deleted_share) {
                parts.push_back(Part::Op(FileOp::Unlink(photo.path().into())));
            } else {
                self.card.push(photo);
            }
        }
    }

    /// Copies all photographs off the card and deletes them, and all folders but the last.
    fn copy_off(&mut self, parts: &mut VecDeque<Part>) {
        let card = std::mem::take(&mut self.card);
        card.iter().for_each(|&photo| self.read(photo, parts));
        parts.extend(card.iter().map(|photo| Part::Op(FileOp::Unlink(photo.path().into()))));
        while self.folders.start + 1 < self.folders.end {
            parts.push_back(Part::Op(FileOp::Rmdir(folder(self.folders.start).into())));
            self.folders.start += 1;
        }
    }
}

impl Steps for Camera {
    fn step(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError> {
        let Some(sessions) = self.sessions else {
            self.sessions = Some(0);
            parts.push_back(Part::Op(FileOp::Mkdir(ROOT.into())));
            return Ok(());
        };
        if sessions == self.config.transactions {
            return Ok(());
        }
        self.sessions = Some(sessions + 1);
        parts.push_back(Part::Op(FileOp::Transaction));
        let first = self.card.len();
        (0..self.config.shots).for_each(|_| self.shoot(parts));
        self.review(first, parts);
        if (sessions + 1) % self.config.sessions_to_copy == 0 {
            self.copy_off(parts);
        }
        Ok(())
    }
}
