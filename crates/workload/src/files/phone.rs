//! Cell phone: lists of calls and messages of simulated days.
//!
//! ## Idea
//! A transaction is a day. Calls are received, dialled and missed: each overwrites the oldest record in a list; the
//! three list files are full from the start. Messages are received and sent: each is appended to its file; the two
//! files start empty and only grow. Every record is an open, a write at its place and a close. The seed decides the
//! order in a day.
//!
//! | file | records | a day |
//! |---|---|---|
//! | `RECEIVED`, `DIALLED`, `MISSED` | `call_records` of `call_bytes` | `received`, `dialled`, `missed` overwritten |
//! | `SMSIN`, `SMSOUT` | of `sms_bytes` | `sms_received`, `sms_sent` appended |
//! | `AGENDA`, with `organizer` | `appointments`, and as many more as a day brings | `appointments_a_day` added, and as many of the oldest deleted |
//! | `ADDRESS`, with `organizer` | `addresses` | none |
//!
//! ## Differences
//! Two later studies played it without the organizer, so it is off by default. One study prints when a flash with known
//! size has been written once; 512 bytes a message agree with its figure, a real message's 160 do not. In the original,
//! appointments are records with any length, known to the file system. Here each appointment has a place with
//! `longest_entry` bytes; a new one overwrites the first bytes, and one byte marks a deleted appointment. The entry
//! lengths are a convention.
//!
//! ## References
//! E. Gal and S. Toledo: A transactional flash file system for microcontrollers. USENIX Annual Technical Conference,
//! 2005. I. H. Doh, J. Choi, D. Lee and S. H. Noh: Exploiting non-volatile RAM to enhance flash file system performance.
//! EMSOFT 2007.

use super::parts::{put_file, put_record, within, Part, Played, Steps};
use super::records::{Lengths, Ring, MOST, PIECE};
use super::{FileOp, FileOptions, FileSetting, FileWorkload};
use crate::WorkloadError;
use nandlab_nand::random::{Random, Stream};
use std::collections::VecDeque;

/// Options of `[workload.phone]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Days.
    pub transactions: u32,
    /// Records of each of the three lists of calls.
    pub call_records: u32,
    /// Bytes of a call's record.
    pub call_bytes: u32,
    /// Calls received a day.
    pub received: u32,
    /// Calls dialled a day.
    pub dialled: u32,
    /// Calls missed a day.
    pub missed: u32,
    /// Messages received a day.
    pub sms_received: u32,
    /// Messages sent a day.
    pub sms_sent: u32,
    /// Bytes of a message's record.
    pub sms_bytes: u32,
    /// The operations of a day come in random order; otherwise in that of this table.
    pub shuffled: bool,
    /// Appointments and an address book, too.
    pub organizer: bool,
    /// Appointments at the start.
    pub appointments: u32,
    /// Appointments added a day; as many of the oldest are deleted.
    pub appointments_a_day: u32,
    /// Entries of the address book.
    pub addresses: u32,
    /// Bytes of the shortest appointment or address.
    pub shortest_entry: u32,
    /// Bytes of the longest appointment or address.
    pub longest_entry: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            transactions: 2_500,
            call_records: 20,
            call_bytes: 15,
            received: 10,
            dialled: 10,
            missed: 5,
            sms_received: 3,
            sms_sent: 3,
            sms_bytes: 512,
            shuffled: true,
            organizer: false,
            appointments: 150,
            appointments_a_day: 5,
            addresses: 50,
            shortest_entry: 16,
            longest_entry: 64,
        }
    }
}

/// Most operations per kind and day: a whole day is drawn at once.
const MOST_A_DAY: u64 = 1_000_000;

impl Config {
    fn lengths(&self) -> Lengths {
        Lengths { shortest: self.shortest_entry, longest: self.longest_entry }
    }
}

impl FileOptions for Config {
    fn check(&self) -> Result<(), WorkloadError> {
        within("call_records", self.call_records.into(), 1, MOST, "the records of a list are")?;
        within("call_bytes", self.call_bytes.into(), 1, MOST, "the bytes of a record are")?;
        within("sms_bytes", self.sms_bytes.into(), 1, MOST, "the bytes of a record are")?;
        for (key, given) in [
            ("received", self.received),
            ("dialled", self.dialled),
            ("missed", self.missed),
            ("sms_received", self.sms_received),
            ("sms_sent", self.sms_sent),
            ("appointments_a_day", self.appointments_a_day),
        ] {
            within(key, given.into(), 0, MOST_A_DAY, "a day has")?;
        }
        within("appointments", self.appointments.into(), 0, MOST, "the appointments at the start are")?;
        if self.organizer && self.appointments < self.appointments_a_day {
            let why = format!("a day deletes as many ({}) of those that were there before", self.appointments_a_day);
            return Err(WorkloadError::option("appointments", &self.appointments, why));
        }
        within("addresses", self.addresses.into(), 0, MOST, "the entries of the address book are")?;
        self.lengths().check(["shortest_entry", "longest_entry"])
    }

    fn transactions(&self) -> Option<u64> {
        Some(self.transactions.into())
    }

    fn open(&self, setting: &FileSetting<'_>) -> Result<Box<dyn FileWorkload>, WorkloadError> {
        self.check()?;
        Ok(Box::new(Played::new(Phone::new(self, setting.seed))))
    }
}

/// An operation on a file.
#[derive(Clone, Copy)]
enum Event {
    /// A call, in one list.
    Call(usize),
    /// A message, in one file.
    Sms(usize),
    /// An appointment is added.
    Add,
    /// The oldest appointment is deleted.
    Delete,
}

const SMS: [&str; 2] = ["SMSIN", "SMSOUT"];
const AGENDA: &str = "AGENDA";
const ADDRESS: &str = "ADDRESS";

struct Phone {
    config: Config,
    random: Random,
    /// Days so far; before the first step there are no files.
    days: Option<u32>,
    calls: [Ring; 3],
    /// Bytes in the two message files.
    sms: [u64; 2],
    /// Appointments added and deleted so far.
    added: u64,
    deleted: u64,
    /// The day's operations.
    day: Vec<Event>,
}

impl Phone {
    fn new(config: &Config, seed: u64) -> Self {
        let list = |path| Ring::new(path, config.call_records, config.call_bytes);
        let calls =
            [(Event::Call(0), config.received), (Event::Call(1), config.dialled), (Event::Call(2), config.missed)];
        let messages = [(Event::Sms(0), config.sms_received), (Event::Sms(1), config.sms_sent)];
        let appointments = if config.organizer { config.appointments_a_day } else { 0 };
        let organizer = [(Event::Add, appointments), (Event::Delete, appointments)];
        let all = calls.into_iter().chain(messages).chain(organizer);
        Self {
            config: config.clone(),
            random: Random::of(seed, Stream::Phone),
            days: None,
            calls: [list("RECEIVED"), list("DIALLED"), list("MISSED")],
            sms: [0; 2],
            added: config.appointments.into(),
            deleted: 0,
            day: all.flat_map(|(event, times)| (0..times).map(move |_| event)).collect(),
        }
    }

    fn set_up(&self, parts: &mut VecDeque<Part>) {
        let Config { appointments_a_day, appointments, addresses, longest_entry, .. } = self.config;
        self.calls.iter().for_each(|list| list.create_full(parts));
        SMS.iter().for_each(|path| put_file(parts, path, 0, PIECE));
        if self.config.organizer {
            let bytes = |entries: u64| entries * u64::from(longest_entry);
            put_file(parts, AGENDA, bytes(u64::from(appointments) + u64::from(appointments_a_day)), PIECE);
            put_file(parts, ADDRESS, bytes(addresses.into()), PIECE);
        }
    }

    /// An appointment's position: the places are used in turn.
    fn place(&self, appointment: u64) -> u64 {
        let Config { appointments_a_day, appointments, longest_entry, .. } = self.config;
        appointment % (u64::from(appointments) + u64::from(appointments_a_day)) * u64::from(longest_entry)
    }

    fn carry_out(&mut self, event: Event, parts: &mut VecDeque<Part>) {
        match event {
            Event::Call(list) => self.calls[list].put(parts),
            Event::Sms(way) => {
                put_record(parts, SMS[way], self.sms[way], self.config.sms_bytes);
                self.sms[way] += u64::from(self.config.sms_bytes);
            }
            Event::Add => {
                let bytes = self.config.lengths().draw(&mut self.random);
                put_record(parts, AGENDA, self.place(self.added), bytes);
                self.added += 1;
            }
            Event::Delete => {
                put_record(parts, AGENDA, self.place(self.deleted), 1);
                self.deleted += 1;
            }
        }
    }
}

impl Steps for Phone {
    fn step(&mut self, parts: &mut VecDeque<Part>) -> Result<(), WorkloadError> {
        let Some(days) = self.days else {
            self.days = Some(0);
            self.set_up(parts);
            return Ok(());
        };
        if days == self.config.transactions {
            return Ok(());
        }
        self.days = Some(days + 1);
        parts.push_back(Part::Op(FileOp::Transaction));
        if self.config.shuffled {
            for last in (1..self.day.len()).rev() {
                self.day.swap(last, self.random.below(last as u64 + 1) as usize);
            }
        }
        for at in 0..self.day.len() {
            self.carry_out(self.day[at], parts);
        }
        Ok(())
    }
}
