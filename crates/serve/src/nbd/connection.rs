//! One client: its requests and the replies to them.

use super::later::Later;
use super::negotiate::{broken, negotiate};
use super::wire::{
    error, send, Incoming, Number, Out, Watched, MOST_BYTES, REPLY, REPLY_BYTES, REQUEST, REQUEST_BYTES,
};
use crate::{Due, Export};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

/// Replies are written when they are more than this many bytes, even if further requests have arrived.
const REPLIES_AT_ONCE: usize = 256 << 10;

/// Reply bytes the operating system is asked to keep until the client reads them.
const SEND_BYTES: usize = 1 << 20;

mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISCONNECT: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const WRITE_ZEROES: u16 = 6;
}

const FUA: u16 = 1;
const NO_HOLE: u16 = 2;

struct Request {
    flags: u16,
    command: u16,
    cookie: [u8; 8],
    offset: u64,
    length: u32,
}

impl Request {
    fn parse(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let magic = u32::take(bytes)?;
        let (flags, command) = (u16::take(bytes)?, u16::take(bytes)?);
        let cookie = u64::take(bytes)?.to_be_bytes();
        let (offset, length) = (u64::take(bytes)?, u32::take(bytes)?);
        (magic == REQUEST).then_some(Self { flags, command, cookie, offset, length })
    }
}

/// Unwritten replies. The bytes behind `used` are left from earlier ones.
struct Replies {
    bytes: Vec<u8>,
    used: usize,
}

impl Replies {
    /// Room for a reply with `length` data bytes behind the present ones.
    fn room(&mut self, length: usize) -> &mut [u8] {
        let end = self.used + REPLY_BYTES + length;
        if end > self.bytes.len() {
            self.bytes.resize(end.next_power_of_two(), 0);
        }
        &mut self.bytes[self.used..end]
    }
}

/// Serves one client until it leaves, in this thread.
///
/// # Errors
/// `InvalidData` if it breaks the protocol; socket errors.
pub fn serve(stream: UnixStream, export: &dyn Export) -> io::Result<()> {
    let mut incoming = Incoming::new(Watched::new(stream.try_clone()?));
    let mut negotiating = stream.try_clone()?;
    if !negotiate(&mut incoming, &mut negotiating, export)? {
        return Ok(());
    }
    // Without room for several replies, this thread would wait for the client to read. Less is fine, too.
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(&stream, SEND_BYTES);
    let out: Out = Arc::new(Mutex::new(stream));
    let mut later = Later::new(&out);
    let mut replies = Replies { bytes: Vec::new(), used: 0 };
    while incoming.wait(REQUEST_BYTES)? {
        let request = Request::parse(incoming.take(REQUEST_BYTES)).ok_or_else(|| broken("no request"))?;
        if request.command == command::DISCONNECT {
            break;
        }
        carry_out(&request, &mut incoming, &mut replies, &mut later, export)?;
        if !has_whole_request(&incoming) || replies.used > REPLIES_AT_ONCE {
            send(&out, &replies.bytes[..replies.used])?;
            replies.used = 0;
        }
    }
    send(&out, &replies.bytes[..replies.used])?;
    later.finish();
    Ok(())
}

/// Whether the next request, with its data, has arrived.
fn has_whole_request<R: io::Read>(incoming: &Incoming<R>) -> bool {
    let Some(next) = incoming.peek().get(..REQUEST_BYTES).and_then(Request::parse) else { return false };
    let data = if next.command == command::WRITE { next.length as usize } else { 0 };
    incoming.has(REQUEST_BYTES + data)
}

fn carry_out<R: io::Read>(
    request: &Request,
    incoming: &mut Incoming<R>,
    replies: &mut Replies,
    later: &mut Later,
    export: &dyn Export,
) -> io::Result<()> {
    let Request { flags, command, offset, length, .. } = *request;
    let fua = flags & FUA != 0;
    let is_large = matches!(command, command::READ | command::WRITE) && length > MOST_BYTES;
    if is_large && command == command::WRITE {
        return Err(broken("a write of more than 32 MiB"));
    }
    let wanted = if command == command::READ && !is_large { length as usize } else { 0 };
    let room = replies.room(wanted);
    let done = match command {
        _ if is_large => Err(io::ErrorKind::InvalidInput.into()),
        command::READ => export.read(offset, &mut room[REPLY_BYTES..]),
        command::WRITE => export.write(offset, incoming.need(length as usize)?, fua).map_err(as_full),
        command::FLUSH => export.flush(),
        command::TRIM => export.trim(offset, length.into(), fua),
        command::WRITE_ZEROES => export.write_zeroes(offset, length.into(), flags & NO_HOLE == 0, fua).map_err(as_full),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    let (code, due) = match &done {
        Ok(due) => (0, *due),
        Err(failed) => (error::of(failed), Due::NOW),
    };
    room[..4].copy_from_slice(&REPLY.to_be_bytes());
    room[4..8].copy_from_slice(&code.to_be_bytes());
    room[8..16].copy_from_slice(&request.cookie);
    let bytes = REPLY_BYTES + if code == 0 { wanted } else { 0 };
    if due.wait().is_zero() {
        replies.used += bytes;
    } else {
        later.send(due, room[..bytes].to_vec());
    }
    Ok(())
}

/// The protocol has its own error for a write beyond the end.
fn as_full(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::InvalidInput {
        io::ErrorKind::StorageFull.into()
    } else {
        error
    }
}
