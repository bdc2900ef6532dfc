//! Fax machine: faxes arrive page by page, wait, and go when they are delivered.
//!
//! ## Idea
//! Set-up writes a file with `parameters` records in different lengths, a phone book and two full histories, for sent
//! and received faxes. In a transaction a fax arrives: each page is a file, written in pieces with `write_bytes` each,
//! and a record overwrites the oldest in the history for received faxes. When more than `backlog` faxes wait, the
//! oldest is delivered: its files are deleted, and a record overwrites the oldest in the history for sent faxes.
//!
//! | file | records |
//! |---|---|
//! | `PARAM` | `parameters` of `shortest_parameter` to `longest_parameter` bytes |
//! | `PHONES` | `phone_book` of `phone_bytes` |
//! | `RECEIVED`, `SENT` | `history` of `history_bytes`, cyclic |
//! | `F1P1`, `F1P2` ... | page 1, 2 ... of fax 1: `page_bytes` |
//!
//! ## Differences
//! In the original, a page's first bytes name the next page. Names are numbers here, so the link is written with the
//! page and costs nothing extra. Conventions: the backlog, the length for a history record, and the history a delivery
//! is noted in. A fax may be read before its delivery, with `read_on_delivery`; the original only says it is deleted.
//!
//! ## References
//! E. Gal and S. Toledo: A transactional flash file system for microcontrollers. USENIX Annual Technical Conference,
//! 2005.

use super::parts::{put_file, within, Direction, Part, Played, Steps, Transfer, FILE};
use super::records::{Lengths, Ring, MOST, PIECE};
use super::{FileOp, FileOptions, FileSetting, FileWorkload};
use crate::{ByteCount, WorkloadError};
use nandlab_nand::random::{Random, Stream};
use std::collections::VecDeque;

/// Options of `[workload.fax]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Faxes that arrive.
    pub transactions: u32,
    /// Pages of a fax.
    pub pages: u32,
    /// Bytes of a page.
    pub page_bytes: ByteCount,
    /// Bytes of a write to a page; the last one may have fewer.
    pub write_bytes: ByteCount,
    /// Faxes that wait; when one more arrives, the oldest is delivered.
    pub backlog: u32,
    /// A fax is read, in pieces of `write_bytes`, before it is deleted.
    pub read_on_delivery: bool,
    /// Records of each history.
    pub history: u32,
    /// Bytes of a history's record.
    pub history_bytes: u32,
    /// Entries of the phone book.
    pub phone_book: u32,
    /// Bytes of an entry of the phone book.
    pub phone_bytes: u32,
    /// Records of the parameter file.
    pub parameters: u32,
    /// Bytes of the shortest parameter.
    pub shortest_parameter: u32,
    /// Bytes of the longest parameter.
    pub longest_parameter: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            transactions: 1_000,
            pages: 4,
            page_bytes: ByteCount(51_300),
            write_bytes: ByteCount(1_024),
            backlog: 8,
            read_on_delivery: false,
            history: 200,
            history_bytes: 32,
            phone_book: 50,
            phone_bytes: 32,
            parameters: 30,
            shortest_parameter: 4,
            longest_parameter: 32,
        }
    }
}

/// Most pages in a fax, and most parameters: one step makes them all.
const MOST_AT_ONCE: u64 = 1_000_000;

impl Config {
    fn lengths(&self) -> Lengths {
        Lengths { shortest: self.shortest_parameter, longest: self.longest_parameter }
    }
}

impl FileOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        within("pages", self.pages.into(), 1, MOST_AT_ONCE, "the pages of a fax are")?;
        within("page_bytes", self.page_bytes.0, 0, MOST, "the bytes of a page are")?;
        within("write_bytes", self.write_bytes.0, 1, MOST, "the bytes of a write are")?;
        within("history", self.history.into(), 1, MOST, "the records of a history are")?;
        within("history_bytes", self.history_bytes.into(), 1, MOST, "the bytes of a record are")?;
        within("phone_book", self.phone_book.into(), 0, MOST, "the entries of the phone book are")?;
        within("phone_bytes", self.phone_bytes.into(), 1, MOST, "the bytes of an entry are")?;
        within("parameters", self.parameters.into(), 0, MOST_AT_ONCE, "the records of the parameter file are")?;
        self.lengths().check(["shortest_parameter", "longest_parameter"])
    }

    fn transactions(&self) -> Option<u64> {
        Some(self.transactions.into())
    }

    fn open(&self, setting: &FileSetting<'_>) -> Result<Box<dyn FileWorkload>, WorkloadError> {
        self.check()?;
        let history = |path| Ring::new(path, self.history, self.history_bytes);
        let fax = Fax {
            config: self.clone(),
            random: Random::of(setting.seed, Stream::Fax),
            arrived: None,
            received: history("RECEIVED"),
            sent: history("SENT"),
        };
        Ok(Box::new(Played::new(fax)))
    }
}

struct Fax {
    config: Config,
    random: Random,
    /// Faxes so far; before the first step there are no files.
    arrived: Option<u32>,
    received: Ring,
    sent: Ring,
}

fn page(fax: u32, page: u32) -> String {
    format!("F{fax}P{page}")
}

impl Fax {
    fn set_up(&mut self, parts: &mut VecDeque<Part>) {
        let lengths = self.config.lengths();
        let parameters: u64 = (0..self.config.parameters).map(|_| u64::from(lengths.draw(&mut self.random))).sum();
        put_file(parts, "PARAM", parameters, PIECE);
        put_file(parts, "PHONES", u64::from(self.config.phone_book) * u64::from(self.config.phone_bytes), PIECE);
        self.received.create_full(parts);
        self.sent.create_full(parts);
    }

    fn arrive(&mut self, fax: u32, parts: &mut VecDeque<Part>) {
        for number in 1..=self.config.pages {
            put_file(parts, &page(fax, number), self.config.page_bytes.0, self.config.write_bytes.0 as u32);
        }
        self.received.put(parts);
    }

    fn deliver(&mut self, fax: u32, parts: &mut VecDeque<Part>) {
        for number in 1..=self.config.pages {
            let path = page(fax, number);
            if self.config.read_on_delivery {
                let (bytes, block) = (self.config.page_bytes.0, self.config.write_bytes.0 as u32);
                parts.push_back(Part::Op(FileOp::Open { file: FILE, path: path.as_str().into() }));
                parts.push_back(Part::Transfer(Transfer::new(Direction::Read, FILE, 0..bytes, block)));
                parts.push_back(Part::Op(FileOp::Close(FILE)));
            }
            parts.push_back(Part::Op(FileOp::Unlink(path.into())));
        }
        self.sent.put(parts);
    }
}

impl Steps for Fax {
    fn step(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError> {
        let Some(arrived) = self.arrived else {
            self.arrived = Some(0);
            self.set_up(parts);
            return Ok(());
        };
        if arrived == self.config.transactions {
            return Ok(());
        }
        let fax = arrived + 1;
        self.arrived = Some(fax);
        parts.push_back(Part::Op(FileOp::Transaction));
        self.arrive(fax, parts);
        if let Some(oldest) = fax.checked_sub(self.config.backlog).filter(|oldest| *oldest > 0) {
            self.deliver(oldest, parts);
        }
        Ok(())
    }
}
