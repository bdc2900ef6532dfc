//! The target `nbd`: a client's bytes from the first one on, and the required answers.
//!
//! ```text
//! one byte, the client's flags; then items:
//!   0..64 n data   an option of the number item % 12 with n % 64 bytes of data
//!   64..72         GO for the export without a name
//!   72..80 n data  n % 64 bytes as they are; nothing is expected from there on
//!   80.. f o l     a request of the kind item % 8, or 9 for 7: flags f % 4, at offset 32 o, of length l; o and l are two bytes each.
//!                  With bit 7 of f, the length is beyond all that is allowed
//! ```

use nandlab_serve::{nbd, Memory};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

const SIZE: usize = 1 << 20;
const NAME: &[u8] = b"disk";

/// A client's message.
enum Item<'a> {
    Option(u32, &'a [u8]),
    Raw(&'a [u8]),
    Request { flags: u16, command: u16, offset: u64, length: u32 },
}

const GO: &[u8] = &[0; 6];

fn items(mut data: &[u8]) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    while let Some((&tag, rest)) = data.split_first() {
        data = rest;
        items.push(match tag {
            64..72 => Item::Option(7, GO),
            0..80 => {
                let (count, rest) = data.split_first().map_or((0, data), |(&count, rest)| (count, rest));
                let (bytes, rest) = rest.split_at((usize::from(count) % 64).min(rest.len()));
                data = rest;
                if tag < 64 {
                    Item::Option(u32::from(tag % 12), bytes)
                } else {
                    Item::Raw(bytes)
                }
            }
            _ => {
                let Some((&[flags, o, p, l, m], rest)) = data.split_first_chunk() else { break };
                data = rest;
                let huge = if flags & 0x80 != 0 { 1 << 30 } else { 0 };
                Item::Request {
                    flags: u16::from(flags % 4),
                    command: [0, 1, 2, 3, 4, 5, 6, 9][usize::from(tag % 8)],
                    offset: 32 * u64::from(u16::from_le_bytes([o, p])),
                    length: u32::from(u16::from_le_bytes([l, m])) | huge,
                }
            }
        });
    }
    items
}

/// The data for request `number`, if it is a write sent with its data.
fn payload(number: usize, length: u32) -> Vec<u8> {
    let length = if length > 1 << 16 { 0 } else { length };
    (0..length).map(|at| (at ^ (7 * number as u32)) as u8).collect()
}

fn bytes_of(flags: u8, items: &[Item<'_>]) -> Vec<u8> {
    let mut bytes = u32::from(flags).to_be_bytes().to_vec();
    for (number, item) in items.iter().enumerate() {
        match item {
            Item::Option(option, data) => {
                bytes.extend(b"IHAVEOPT");
                bytes.extend(option.to_be_bytes());
                bytes.extend((data.len() as u32).to_be_bytes());
                bytes.extend(*data);
            }
            Item::Raw(data) => bytes.extend(*data),
            Item::Request { flags, command, offset, length } => {
                bytes.extend(0x2560_9513u32.to_be_bytes());
                bytes.extend(flags.to_be_bytes());
                bytes.extend(command.to_be_bytes());
                bytes.extend((number as u64).to_be_bytes());
                bytes.extend(offset.to_be_bytes());
                bytes.extend(length.to_be_bytes());
                if *command == 1 {
                    bytes.extend(payload(number, *length));
                }
            }
        }
    }
    bytes
}

/// The server's full answer to a client that sends `bytes` and leaves.
fn exchange(bytes: &[u8]) -> Vec<u8> {
    let (mut client, server) = UnixStream::pair().expect("a pair of sockets");
    let mut sending = client.try_clone().expect("another handle of a socket");
    let mut said = Vec::new();
    std::thread::scope(|scope| {
        // An error ends the connection, as it should.
        let serving = scope.spawn(move || drop(nbd::serve(server, &Memory::new(SIZE))));
        let sending = scope.spawn(move || {
            // The server may have left.
            let _ = sending.write_all(bytes);
            let _ = sending.shutdown(Shutdown::Write);
        });
        // A server that leaves input unread resets the connection; its earlier answers are read.
        let _ = client.read_to_end(&mut said);
        // A scope ends before its threads do, and a sanitizer takes what they still hold for a leak.
        for thread in [serving, sending] {
            thread.join().expect("it does not panic");
        }
    });
    said
}

/// The server's answers, from the front.
struct Said<'a>(&'a [u8]);

impl<'a> Said<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (now, later) = self.0.split_at_checked(count).expect("the server says all of it");
        self.0 = later;
        now
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes).iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}

/// The client's phase after an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Negotiation,
    Transmission,
    /// Nothing more is said.
    Over,
}

pub(super) fn run(data: &[u8]) {
    let Some((&flags, data)) = data.split_first() else { return };
    let items = items(data);
    let answers = exchange(&bytes_of(flags, &items));
    let mut said = Said(&answers);
    assert_eq!(said.take(16), b"NBDMAGICIHAVEOPT");
    assert_eq!(said.number(2), 3);
    let mut phase = if flags > 3 { Phase::Over } else { Phase::Negotiation };
    let mut model = vec![0; SIZE];
    for (number, item) in items.iter().enumerate() {
        phase = match (phase, item) {
            (_, Item::Raw([])) => phase,
            (_, Item::Raw(_)) => return,
            (Phase::Negotiation, Item::Option(option, data)) => answered(&mut said, *option, data, flags & 2 != 0),
            (Phase::Transmission, &Item::Request { flags, command, offset, length }) => {
                replied(&mut said, (number, command, flags), (offset, length), &mut model)
            }
            // An option among requests, or a request among options.
            _ => Phase::Over,
        };
        if phase == Phase::Over {
            break;
        }
    }
    assert!(said.0.is_empty(), "the server says more than it is asked");
}

/// Reads the answer to an option.
fn answered(said: &mut Said<'_>, option: u32, data: &[u8], no_zeroes: bool) -> Phase {
    if option == 1 {
        if !data.is_empty() && data != NAME {
            return Phase::Over;
        }
        assert_eq!(said.number(8), SIZE as u64);
        said.take(if no_zeroes { 2 } else { 126 });
        return Phase::Transmission;
    }
    loop {
        assert_eq!(said.number(8), 0x0003_e889_0455_65a9);
        assert_eq!(said.number(4), u64::from(option));
        let kind = said.number(4);
        let length = said.number(4) as usize;
        said.take(length);
        match (kind, option) {
            (1, 2) => return Phase::Over,
            (1, 7) => return Phase::Transmission,
            (1, 3 | 6) => return Phase::Negotiation,
            (2, 3) | (3, 6 | 7) => {}
            (error, _) if error >> 31 == 1 => return Phase::Negotiation,
            _ => panic!("the answer to option {option} is {kind}"),
        }
    }
}

/// Reads the reply to a request, and applies the request to `model`.
fn replied(
    said: &mut Said<'_>,
    (number, command, flags): (usize, u16, u16),
    (offset, length): (u64, u32),
    model: &mut [u8],
) -> Phase {
    let is_huge = length > 32 << 20;
    if command == 2 || is_huge && command == 1 {
        return Phase::Over;
    }
    let end = offset + u64::from(length);
    let fits = end <= SIZE as u64;
    // Without a hole goes with zeroes alone.
    let is_unknown = command != 6 && flags & 2 != 0;
    let error = match command {
        _ if is_unknown => 22,
        0 | 4 if !fits => 22,
        1 | 6 if !fits => 28,
        5 | 9 => 22,
        _ => 0,
    };
    assert_eq!(said.number(4), 0x6744_6698);
    assert_eq!((said.number(4), said.number(8)), (error, number as u64), "command {command} at {offset} of {length}");
    if error == 0 && command != 3 {
        let part = offset as usize..end as usize;
        match command {
            0 => assert!(said.take(length as usize) == &model[part], "what is read at {offset} was not written"),
            1 => model[part].copy_from_slice(&payload(number, length)),
            4 => {
                let (first, end) = (part.start.next_multiple_of(512), part.end / 512 * 512);
                model[first.min(end)..end].fill(0);
            }
            _ => model[part].fill(0),
        }
    }
    Phase::Transmission
}
