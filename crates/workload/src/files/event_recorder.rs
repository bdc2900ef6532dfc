//! Event recorder: events are logged, and now and then a setting is changed.
//!
//! ## Idea
//! A transaction logs `events` events and then changes one random configuration record. Every event is a record in the
//! first file; every tenth one (`second_every`) also goes to the second file. Both files grow to their record count;
//! then each new record overwrites the oldest. A few pages change again and again.
//!
//! | file | records |
//! |---|---|
//! | `EVENTS` | up to `records` of `event_bytes`, cyclic |
//! | `SELECTED` | up to `second_records` of `event_bytes`, cyclic |
//! | `CONFIG` | `parameters` of `shortest_parameter` to `longest_parameter` bytes |
//!
//! ## Differences
//! The record counts for both files are conventions. In the original, a configuration record may change its length;
//! here each has `longest_parameter` bytes, and a change writes the first bytes only.
//!
//! ## References
//! E. Gal and S. Toledo: A transactional flash file system for microcontrollers. USENIX Annual Technical Conference,
//! 2005.

use super::parts::{put_file, put_record, within, Part, Played, Steps};
use super::records::{Lengths, Ring, MOST, PIECE};
use super::{FileOp, FileOptions, FileSetting, FileWorkload};
use crate::WorkloadError;
use nandlab_nand::random::{Random, Stream};
use std::collections::VecDeque;

/// Options of `[workload.event_recorder]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Rounds of events and a change of the configuration.
    pub transactions: u32,
    /// Events of a round.
    pub events: u32,
    /// Bytes of an event's record.
    pub event_bytes: u32,
    /// Records of the first file.
    pub records: u32,
    /// Of so many events one goes to the second file, too.
    pub second_every: u32,
    /// Records of the second file.
    pub second_records: u32,
    /// Records of the configuration file.
    pub parameters: u32,
    /// Bytes of the shortest configuration record.
    pub shortest_parameter: u32,
    /// Bytes of the longest configuration record.
    pub longest_parameter: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            transactions: 2_000,
            events: 10,
            event_bytes: 32,
            records: 4_096,
            second_every: 10,
            second_records: 1_024,
            parameters: 30,
            shortest_parameter: 4,
            longest_parameter: 32,
        }
    }
}

/// Most events in a round: one step makes them all.
const MOST_EVENTS: u64 = 1_000_000;

const CONFIGURATION: &str = "CONFIG";

impl Config {
    fn lengths(&self) -> Lengths {
        Lengths { shortest: self.shortest_parameter, longest: self.longest_parameter }
    }
}

impl FileOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        within("events", self.events.into(), 0, MOST_EVENTS, "the events of a round are")?;
        within("event_bytes", self.event_bytes.into(), 1, MOST, "the bytes of a record are")?;
        within("records", self.records.into(), 1, MOST, "the records of the first file are")?;
        within("second_every", self.second_every.into(), 1, MOST, "one event goes to the second file of")?;
        within("second_records", self.second_records.into(), 1, MOST, "the records of the second file are")?;
        within("parameters", self.parameters.into(), 1, MOST, "the records of the configuration are")?;
        self.lengths().check(["shortest_parameter", "longest_parameter"])
    }

    fn transactions(&self) -> Option<u64> {
        Some(self.transactions.into())
    }

    fn open(&self, setting: &FileSetting<'_>) -> Result<Box<dyn FileWorkload>, WorkloadError> {
        self.check()?;
        let recorder = EventRecorder {
            config: self.clone(),
            random: Random::of(setting.seed, Stream::EventRecorder),
            rounds: None,
            events: 0,
            first: Ring::new("EVENTS", self.records, self.event_bytes),
            second: Ring::new("SELECTED", self.second_records, self.event_bytes),
        };
        Ok(Box::new(Played::new(recorder)))
    }
}

struct EventRecorder {
    config: Config,
    random: Random,
    /// Rounds so far; before the first step there are no files.
    rounds: Option<u32>,
    /// Events so far.
    events: u64,
    first: Ring,
    second: Ring,
}

impl EventRecorder {
    fn set_up(&self, parts: &mut VecDeque<Part>) {
        self.first.create(parts);
        self.second.create(parts);
        let bytes = u64::from(self.config.parameters) * u64::from(self.config.longest_parameter);
        put_file(parts, CONFIGURATION, bytes, PIECE);
    }

    fn log(&mut self, parts: &mut VecDeque<Part>) {
        self.events += 1;
        self.first.put(parts);
        if self.events % u64::from(self.config.second_every) == 0 {
            self.second.put(parts);
        }
    }

    fn configure(&mut self, parts: &mut VecDeque<Part>) {
        let at = self.random.below(self.config.parameters.into()) * u64::from(self.config.longest_parameter);
        let bytes = self.config.lengths().draw(&mut self.random);
        put_record(parts, CONFIGURATION, at, bytes);
    }
}

impl Steps for EventRecorder {
    fn step(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError> {
        let Some(rounds) = self.rounds else {
            self.rounds = Some(0);
            self.set_up(parts);
            return Ok(());
        };
        if rounds < self.config.transactions {
            self.rounds = Some(rounds + 1);
            parts.push_back(Part::Op(FileOp::Transaction));
            (0..self.config.events).for_each(|_| self.log(parts));
            self.configure(parts);
        }
        Ok(())
    }
}
