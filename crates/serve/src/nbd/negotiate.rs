//! The negotiation before a client's first request.

use super::wire::{Number, EXPORT_FLAGS, INIT, MOST_BYTES, OPTION, OPTION_REPLY, READ_ONLY};
use crate::flow::Incoming;
use crate::Export;
use std::io::{self, Read, Write};

/// Handshake flags: fixed newstyle, and no 124 zeros behind the oldest option.
const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u16 = 2;

/// Longest accepted option; longer ones end the connection.
const MOST_OPTION_BYTES: u32 = 64 << 10;

/// The export's name beside the empty one.
pub(super) const NAME: &str = "disk";

mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
}

mod reply {
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const UNSUPPORTED: u32 = (1 << 31) + 1;
    pub const INVALID: u32 = (1 << 31) + 3;
    pub const UNKNOWN: u32 = (1 << 31) + 6;
    pub const SHUTDOWN: u32 = (1 << 31) + 7;
}

mod info {
    pub const EXPORT: u16 = 0;
    pub const BLOCK_SIZE: u16 = 3;
}

/// An option's result.
enum Step {
    Next,
    Transmission,
    End,
}

/// The flags of this export.
fn export_flags(export: &dyn Export) -> u16 {
    EXPORT_FLAGS | if export.is_read_only() { READ_ONLY } else { 0 }
}

fn hello() -> Vec<u8> {
    [&INIT.to_be_bytes()[..], &OPTION.to_be_bytes(), &(FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes()].concat()
}

/// The answer for a client nobody can serve: the greeting, and an error for the option GO it will send.
pub(super) fn refusal(why: &str) -> Vec<u8> {
    let mut bytes = hello();
    bytes.extend(answer(option::GO, reply::SHUTDOWN, why.as_bytes()));
    bytes
}

/// Negotiates; true if requests follow, false if the client leaves.
///
/// # Errors
/// `InvalidData` if the client breaks the protocol; socket errors.
pub(super) fn negotiate<R: Read, W: Write>(
    incoming: &mut Incoming<R>,
    out: &mut W,
    export: &dyn Export,
) -> io::Result<bool> {
    out.write_all(&hello())?;
    let mut flags = incoming.need(4)?;
    let flags = u32::take(&mut flags).expect("four bytes are a number");
    if flags & !u32::from(FIXED_NEWSTYLE | NO_ZEROES) != 0 {
        return Err(broken("unknown handshake flags"));
    }
    let no_zeroes = flags & u32::from(NO_ZEROES) != 0;
    loop {
        match next_option(incoming, out, export, no_zeroes)? {
            Step::Next => {}
            Step::Transmission => return Ok(true),
            Step::End => return Ok(false),
        }
    }
}

fn next_option<R: Read, W: Write>(
    incoming: &mut Incoming<R>,
    out: &mut W,
    export: &dyn Export,
    no_zeroes: bool,
) -> io::Result<Step> {
    if !incoming.wait(16)? {
        return Ok(Step::End);
    }
    let mut head = incoming.take(16);
    let (magic, asked, length) = (u64::take(&mut head), u32::take(&mut head), u32::take(&mut head));
    let (Some(OPTION), Some(asked), Some(length)) = (magic, asked, length) else {
        return Err(broken("no option where one is due"));
    };
    if length > MOST_OPTION_BYTES {
        return Err(broken("an option of more than 64 KiB"));
    }
    let data = incoming.need(length as usize)?;
    let answer = |out: &mut W, kind: u32, data: &[u8]| send(out, asked, kind, data);
    match asked {
        option::EXPORT_NAME => {
            // This option has no way to refuse but to end the connection.
            if !is_ours(data) {
                return Ok(Step::End);
            }
            let mut bytes = Vec::with_capacity(134);
            bytes.extend(export.size().to_be_bytes());
            bytes.extend(export_flags(export).to_be_bytes());
            bytes.resize(if no_zeroes { 10 } else { 134 }, 0);
            out.write_all(&bytes)?;
            return Ok(Step::Transmission);
        }
        option::ABORT => {
            // The client may be gone before the answer.
            let _ = answer(out, reply::ACK, &[]);
            return Ok(Step::End);
        }
        option::LIST if data.is_empty() => {
            let mut server = (NAME.len() as u32).to_be_bytes().to_vec();
            server.extend(NAME.as_bytes());
            answer(out, reply::SERVER, &server)?;
            answer(out, reply::ACK, &[])?;
        }
        option::LIST => answer(out, reply::INVALID, b"a list has no data")?,
        option::INFO | option::GO => match asked_name(data) {
            None => answer(out, reply::INVALID, b"the lengths in the option do not fit together")?,
            Some(name) if !is_ours(name) => answer(out, reply::UNKNOWN, b"the export is called disk")?,
            Some(_) => {
                for info in [export_info(export), block_info(export)] {
                    answer(out, reply::INFO, &info)?;
                }
                answer(out, reply::ACK, &[])?;
                if asked == option::GO {
                    return Ok(Step::Transmission);
                }
            }
        },
        _ => answer(out, reply::UNSUPPORTED, &[])?,
    }
    Ok(Step::Next)
}

fn is_ours(name: &[u8]) -> bool {
    name.is_empty() || name == NAME.as_bytes()
}

/// The name in INFO or GO; `None` if the option is malformed.
fn asked_name(mut data: &[u8]) -> Option<&[u8]> {
    let length = u32::take(&mut data)? as usize;
    let (name, mut rest) = data.split_at_checked(length)?;
    let infos = usize::from(u16::take(&mut rest)?);
    (rest.len() == 2 * infos).then_some(name)
}

fn export_info(export: &dyn Export) -> Vec<u8> {
    let mut bytes = info::EXPORT.to_be_bytes().to_vec();
    bytes.extend(export.size().to_be_bytes());
    bytes.extend(export_flags(export).to_be_bytes());
    bytes
}

fn block_info(export: &dyn Export) -> Vec<u8> {
    let mut bytes = info::BLOCK_SIZE.to_be_bytes().to_vec();
    for size in [512, export.preferred_block().max(512), MOST_BYTES] {
        bytes.extend(size.to_be_bytes());
    }
    bytes
}

fn send<W: Write>(out: &mut W, asked: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    out.write_all(&answer(asked, kind, data))
}

/// A reply to an option.
fn answer(asked: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(20 + data.len());
    bytes.extend(OPTION_REPLY.to_be_bytes());
    bytes.extend(asked.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

pub(super) fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
