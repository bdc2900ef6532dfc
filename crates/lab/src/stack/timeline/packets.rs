//! A Perfetto trace, packet by packet.
//!
//! The schema is <https://perfetto.dev/docs/reference/trace-packet-proto>. Its wire format: each field is a key (its number
//! and its type) and a value; a number is a varint, 7 bits a byte; a message or a text is its length and its bytes.

use crate::stack::new_file::Finish;
use nandlab_nand::operation::Operation;
use nandlab_nand::{Cause, Origin};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};

/// A field's number and wire type, as the key before its value.
const fn varint_key(field: u32) -> u32 {
    field << 3
}
const fn fixed_key(field: u32) -> u32 {
    field << 3 | 1
}
const fn bytes_key(field: u32) -> u32 {
    field << 3 | 2
}

// `Trace` and `TracePacket`.
const PACKET: u32 = bytes_key(1);
const TIMESTAMP: u32 = varint_key(8);
const SEQUENCE_ID: u32 = varint_key(10);
const TRACK_EVENT: u32 = bytes_key(11);
const INTERNED_DATA: u32 = bytes_key(12);
const SEQUENCE_FLAGS: u32 = varint_key(13);
const TRACK_DESCRIPTOR: u32 = bytes_key(60);

// `TrackEvent`.
const CATEGORY: u32 = varint_key(3);
const ANNOTATION: u32 = bytes_key(4);
const TYPE: u32 = varint_key(9);
const NAME: u32 = varint_key(10);
const TRACK: u32 = varint_key(11);
const COUNT: u32 = varint_key(30);
const RATIO: u32 = fixed_key(44);
const FLOW: u32 = fixed_key(47);

// `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const COUNTER: u64 = 4;

// `TracePacket.SequenceFlags`.
const CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// All packets are of one sequence: they share the table of names.
const SEQUENCE: u64 = 1;

/// A slice's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// A flash operation.
    Operation(Operation),
    /// A host request, by the number of its operation.
    Request(u8),
    /// A block's collection.
    Collection,
}

/// Names of requests, by the number of their operation.
const REQUESTS: [&str; 4] = ["read", "write", "trim", "flush"];

impl Name {
    fn number(self) -> u64 {
        let operations = Operation::ALL.len() as u64;
        1 + match self {
            Self::Operation(operation) => operation as u64,
            Self::Request(op) => operations + u64::from(op),
            Self::Collection => operations + REQUESTS.len() as u64,
        }
    }

    fn all() -> impl Iterator<Item = &'static str> {
        let operations = Operation::ALL.iter().map(|operation| operation.name());
        operations.chain(REQUESTS).chain(["collection"])
    }
}

/// An annotation's subject, in table order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum About {
    Cause = 1,
    Origin,
    Page,
    FromPage,
    Block,
    Lpn,
    Request,
    Sector,
    Sectors,
    Operations,
}

const ABOUT: [&str; 10] =
    ["cause", "origin", "page", "from_page", "block", "lpn", "request", "sector", "sectors", "operations"];

/// An annotation's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    Number(u64),
    Cause(Cause),
    Origin(Origin),
}

/// Slices of the host's requests have this category; those of flash operations have their cause.
pub const HOST: u64 = Cause::ALL.len() as u64 + 1;

/// The category of a cause.
pub fn category(cause: Cause) -> u64 {
    cause as u64 + 1
}

/// The beginning of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    pub track: u64,
    pub name: Name,
    pub category: u64,
    pub annotations: &'a [(About, Value)],
    /// Slices with the same number are joined by an arrow; 0 is none.
    pub flows: &'a [u64],
}

/// A track's place in the picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind<'a> {
    /// The root, shown as a process.
    Process,
    /// Slices.
    Slices,
    /// A number over time, with its unit.
    Counter(&'a str),
}

/// A trace being written.
pub struct Packets {
    out: BufWriter<File>,
    /// The message under construction, and its packet.
    message: Vec<u8>,
    packet: Vec<u8>,
    /// The first error; later packets are not written.
    pub failed: Option<io::Error>,
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn number(to: &mut Vec<u8>, key: u32, value: u64) {
    varint(to, key.into());
    varint(to, value);
}

fn fixed(to: &mut Vec<u8>, key: u32, value: u64) {
    varint(to, key.into());
    to.extend_from_slice(&value.to_le_bytes());
}

fn bytes(to: &mut Vec<u8>, key: u32, value: &[u8]) {
    number(to, key, value.len() as u64);
    to.extend_from_slice(value);
}

impl Packets {
    /// Begins a trace with the table of names.
    pub fn new(file: File) -> Self {
        let out = BufWriter::with_capacity(1 << 20, file);
        let mut packets =
            Self { out, message: Vec::with_capacity(1 << 10), packet: Vec::with_capacity(1 << 10), failed: None };
        packets.names();
        packets
    }

    /// Ends the trace.
    pub fn finish(self) -> io::Result<()> {
        Box::new(self.out).finish()
    }

    fn names(&mut self) {
        let causes = || Cause::ALL.iter().map(|cause| cause.name());
        let table = |to: &mut Vec<u8>, field: u32, names: &mut dyn Iterator<Item = String>| {
            for (at, name) in (1..).zip(names) {
                let mut entry = Vec::new();
                number(&mut entry, varint_key(1), at);
                bytes(&mut entry, bytes_key(2), name.as_bytes());
                bytes(to, bytes_key(field), &entry);
            }
        };
        self.message.clear();
        table(&mut self.message, 1, &mut causes().chain(["request"]).map(str::to_owned));
        table(&mut self.message, 2, &mut Name::all().map(str::to_owned));
        table(&mut self.message, 3, &mut ABOUT.iter().map(|&name| name.to_owned()));
        let origins = (0..Origin::COUNT as u8).map(|origin| Origin(origin).name());
        table(&mut self.message, 29, &mut causes().map(str::to_owned).chain(origins));
        self.packet(None, INTERNED_DATA, CLEARED);
    }

    /// Describes a track, `rank`th among its parent's.
    pub fn track(&mut self, (track, parent): (u64, u64), name: &str, kind: Kind<'_>, rank: u64) {
        let to = &mut self.message;
        to.clear();
        number(to, varint_key(1), track);
        if kind == Kind::Process {
            let mut process = Vec::new();
            number(&mut process, varint_key(1), 1);
            bytes(&mut process, bytes_key(6), name.as_bytes());
            bytes(to, bytes_key(3), &process);
        } else {
            bytes(to, bytes_key(2), name.as_bytes());
            number(to, varint_key(5), parent);
        }
        if let Kind::Counter(unit) = kind {
            let mut counter = Vec::new();
            bytes(&mut counter, bytes_key(6), unit.as_bytes());
            bytes(to, bytes_key(8), &counter);
        }
        // Children in the order of their ranks.
        number(to, varint_key(11), 3);
        number(to, varint_key(12), rank);
        self.packet(None, TRACK_DESCRIPTOR, NEEDS_STATE);
    }

    /// A slice; times are in ns.
    pub fn slice(&mut self, (start, end): (u64, u64), begin: &Begin<'_>) {
        let to = &mut self.message;
        to.clear();
        number(to, TYPE, SLICE_BEGIN);
        number(to, TRACK, begin.track);
        number(to, NAME, begin.name.number());
        number(to, CATEGORY, begin.category);
        for &(about, value) in begin.annotations {
            annotation(to, about, value);
        }
        for &flow in begin.flows.iter().filter(|&&flow| flow != 0) {
            fixed(to, FLOW, flow);
        }
        self.packet(Some(start), TRACK_EVENT, NEEDS_STATE);
        let to = &mut self.message;
        to.clear();
        number(to, TYPE, SLICE_END);
        number(to, TRACK, begin.track);
        self.packet(Some(end), TRACK_EVENT, NEEDS_STATE);
    }

    /// A counter's value from `at` on.
    pub fn count(&mut self, at: u64, track: u64, value: u64) {
        self.counter(track);
        number(&mut self.message, COUNT, value);
        self.packet(Some(at), TRACK_EVENT, NEEDS_STATE);
    }

    /// A counter's value from `at` on, with a fraction.
    pub fn ratio(&mut self, at: u64, track: u64, value: f64) {
        self.counter(track);
        fixed(&mut self.message, RATIO, value.to_bits());
        self.packet(Some(at), TRACK_EVENT, NEEDS_STATE);
    }

    fn counter(&mut self, track: u64) {
        self.message.clear();
        number(&mut self.message, TYPE, COUNTER);
        number(&mut self.message, TRACK, track);
    }

    /// Writes the message as the field `key` of a packet.
    fn packet(&mut self, at: Option<u64>, key: u32, flags: u64) {
        let to = &mut self.packet;
        to.clear();
        if let Some(at) = at {
            number(to, TIMESTAMP, at);
        }
        number(to, SEQUENCE_ID, SEQUENCE);
        number(to, SEQUENCE_FLAGS, flags);
        number(to, key, self.message.len() as u64);
        if self.failed.is_some() {
            return;
        }
        let mut head = [0; 12];
        let written = write_head(&mut head, (to.len() + self.message.len()) as u64);
        let result = self.out.write_all(&head[..written]);
        let result = result.and_then(|()| self.out.write_all(to)).and_then(|()| self.out.write_all(&self.message));
        self.failed = result.err();
    }
}

/// The key and the length of a packet; returns how many bytes they take.
fn write_head(head: &mut [u8], mut length: u64) -> usize {
    head[0] = PACKET as u8;
    let mut at = 1;
    while length >= 0x80 {
        head[at] = length as u8 | 0x80;
        length >>= 7;
        at += 1;
    }
    head[at] = length as u8;
    at + 1
}

fn annotation(to: &mut Vec<u8>, about: About, value: Value) {
    varint(to, ANNOTATION.into());
    let length = to.len();
    // Shorter than 128 bytes, so its length is one byte.
    to.push(0);
    number(to, varint_key(1), about as u64);
    match value {
        Value::Number(value) => number(to, varint_key(3), value),
        Value::Cause(cause) => number(to, varint_key(17), category(cause)),
        Value::Origin(origin) => {
            number(to, varint_key(17), Cause::ALL.len() as u64 + 1 + u64::from(origin.0) % Origin::COUNT as u64);
        }
    }
    to[length] = (to.len() - length - 1) as u8;
}
