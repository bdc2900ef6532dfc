//! One client: its requests and the replies to them.

use super::negotiate::{broken, negotiate};
use super::wire::{error, Number, MOST_BYTES, REPLY, REPLY_BYTES, REQUEST, REQUEST_BYTES};
use crate::flow::{Budget, Held, Incoming, Later, Limits, Out, Share, Watched};
use crate::means::Means;
use crate::sockets::Stream;
use crate::{Due, Export};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// Replies are written when they are more than this many bytes, even if further requests have arrived.
const REPLIES_AT_ONCE: usize = 256 << 10;

/// A reply with more data gets its own buffer, given back at once.
const COLLECTED_BYTES: usize = 4 << 20;

/// What a waiting reply takes beside its bytes, at most.
const OVERHEAD_BYTES: usize = 128;

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

    fn has_fua(&self) -> bool {
        self.flags & FUA != 0
    }

    /// Whether it changes the disk, and does not wait for it to be flushed.
    fn is_change(&self) -> bool {
        matches!(self.command, command::WRITE | command::TRIM | command::WRITE_ZEROES)
    }

    /// Whether every flag is offered, and goes with the command.
    fn has_known_flags(&self) -> bool {
        let known = if self.command == command::WRITE_ZEROES { FUA | NO_HOLE } else { FUA };
        self.flags & !known == 0
    }

    /// Writes a reply's head.
    fn begin_reply(&self, reply: &mut [u8], code: u32) {
        reply[..4].copy_from_slice(&REPLY.to_be_bytes());
        put_code(reply, code);
        reply[8..16].copy_from_slice(&self.cookie);
    }
}

/// Unwritten replies. The bytes behind `used` are left from earlier ones.
#[derive(Default)]
struct Replies {
    bytes: Vec<u8>,
    used: usize,
    /// Where the replies to changes begin that went well.
    changes: Vec<usize>,
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

    /// Hands the changes over that are answered; where that fails, so do their replies.
    fn hand_over(&mut self, export: &dyn Export) {
        if self.changes.is_empty() {
            return;
        }
        let failed = export.hand_over().err().map(|failed| error::of(&failed));
        for reply in self.changes.drain(..) {
            if let Some(code) = failed {
                put_code(&mut self.bytes[reply..], code);
            }
        }
    }
}

/// Writes the error number into a reply's head.
fn put_code(reply: &mut [u8], code: u32) {
    reply[4..8].copy_from_slice(&code.to_be_bytes());
}

/// Serves one client until it leaves, in this thread.
///
/// # Errors
/// `InvalidData` if it breaks the protocol; socket errors.
pub fn serve(stream: UnixStream, export: &dyn Export) -> io::Result<()> {
    let share = Share::of(&Arc::new(Budget::new(Limits::default())));
    serve_within(&Arc::new(Stream::Unix(stream)), export, &share, &Means::default())
}

/// The same, with a share of the memory for all clients.
pub(super) fn serve_within(
    stream: &Arc<Stream>,
    export: &dyn Export,
    share: &Arc<Share>,
    means: &Means,
) -> io::Result<()> {
    stream.limit_reads(means.patience)?;
    stream.limit_writes(means.patience)?;
    let mut incoming = Incoming::new(Watched::new(stream, share));
    if !negotiate(&mut incoming, &mut &**stream, export)? {
        return Ok(());
    }
    // Without room for several replies, this thread would wait for the client to read. Less is fine, too.
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(&**stream, SEND_BYTES);
    let out = Out::new(stream, share);
    let later = Later::new(&out, share, means);
    let mut connection = Connection { incoming, replies: Replies::default(), later, out, share, export };
    let served = connection.run();
    connection.later.finish();
    served
}

/// A client's requests and replies under way.
struct Connection<'a> {
    incoming: Incoming<Watched>,
    replies: Replies,
    later: Later,
    out: Arc<Out>,
    share: &'a Arc<Share>,
    export: &'a dyn Export,
}

impl Connection<'_> {
    fn run(&mut self) -> io::Result<()> {
        while self.incoming.wait(REQUEST_BYTES)? {
            let request = Request::parse(self.incoming.take(REQUEST_BYTES)).ok_or_else(|| broken("no request"))?;
            if request.command == command::DISCONNECT {
                break;
            }
            self.carry_out(&request)?;
            if !self.has_whole_request() || self.replies.used > REPLIES_AT_ONCE {
                self.send()?;
            }
        }
        self.send()
    }

    /// Whether the next request, with its data, has arrived.
    fn has_whole_request(&self) -> bool {
        let Some(next) = self.incoming.peek().get(..REQUEST_BYTES).and_then(Request::parse) else { return false };
        let data = if next.command == command::WRITE { next.length as usize } else { 0 };
        self.incoming.has(REQUEST_BYTES + data)
    }

    /// Sends the collected replies.
    fn send(&mut self) -> io::Result<()> {
        self.replies.hand_over(self.export);
        let used = std::mem::take(&mut self.replies.used);
        self.out.send(&self.replies.bytes[..used])
    }

    /// Memory for `bytes`. Collected replies go out before a wait for it.
    fn memory(&mut self, bytes: usize) -> io::Result<Held> {
        if let Some(held) = self.share.try_take(bytes) {
            return Ok(held);
        }
        self.send()?;
        self.share.take(bytes)
    }

    fn carry_out(&mut self, request: &Request) -> io::Result<()> {
        let length = request.length as usize;
        match request.command {
            command::WRITE if request.length > MOST_BYTES => Err(broken("a write of more than 32 MiB")),
            command::WRITE => {
                let done = self.write(request, length)?;
                self.reply(request, 0, &done)
            }
            command::READ if request.length > MOST_BYTES || !request.has_known_flags() => {
                self.reply(request, 0, &Err(io::ErrorKind::InvalidInput.into()))
            }
            command::READ if length > COLLECTED_BYTES => self.read_large(request, length),
            command::READ => {
                let done = self.export.read(request.offset, &mut self.replies.room(length)[REPLY_BYTES..]);
                self.reply(request, length, &done)
            }
            _ => {
                let done = self.change(request);
                self.reply(request, 0, &done)
            }
        }
    }

    /// Takes a write's data, and writes it.
    fn write(&mut self, request: &Request, length: usize) -> io::Result<io::Result<Due>> {
        // Data on its way holds memory.
        let held = if self.incoming.has(length) { None } else { Some(self.memory(length)?) };
        self.share.is_announced.store(held.is_some(), Ordering::Relaxed);
        let data = self.incoming.need(length)?;
        self.share.is_announced.store(false, Ordering::Relaxed);
        let done = match request.has_known_flags() {
            true => self.export.write(request.offset, data, request.has_fua()).map_err(as_full),
            false => Err(io::ErrorKind::InvalidInput.into()),
        };
        self.incoming.shrink();
        Ok(done)
    }

    /// Carries out a request without data.
    fn change(&self, request: &Request) -> io::Result<Due> {
        let (offset, length, fua) = (request.offset, request.length.into(), request.has_fua());
        match request.command {
            _ if !request.has_known_flags() => Err(io::ErrorKind::InvalidInput.into()),
            command::FLUSH => self.export.flush(),
            command::TRIM => self.export.trim(offset, length, fua),
            command::WRITE_ZEROES => {
                self.export.write_zeroes(offset, length, request.flags & NO_HOLE == 0, fua).map_err(as_full)
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// A reply with `length` data bytes, which are in the room for replies.
    fn reply(&mut self, request: &Request, length: usize, done: &io::Result<Due>) -> io::Result<()> {
        let (code, due) = outcome(done);
        let bytes = REPLY_BYTES + if code == 0 { length } else { 0 };
        let start = self.replies.used;
        request.begin_reply(self.replies.room(bytes - REPLY_BYTES), code);
        if request.is_change() && code == 0 {
            self.replies.changes.push(start);
        }
        if due.wait().is_zero() {
            self.replies.used += bytes;
            return Ok(());
        }
        self.replies.hand_over(self.export);
        let reply = self.replies.bytes[start..start + bytes].to_vec();
        let held = self.memory(bytes + OVERHEAD_BYTES)?;
        self.later.send(due, reply, held)
    }

    /// A read with a buffer for itself.
    fn read_large(&mut self, request: &Request, length: usize) -> io::Result<()> {
        self.send()?;
        let held = self.memory(REPLY_BYTES + length)?;
        let mut reply = vec![0; REPLY_BYTES + length];
        let done = self.export.read(request.offset, &mut reply[REPLY_BYTES..]);
        let (code, due) = outcome(&done);
        if code != 0 {
            reply.truncate(REPLY_BYTES);
        }
        request.begin_reply(&mut reply, code);
        if due.wait().is_zero() {
            return self.out.send(&reply);
        }
        self.later.send(due, reply, held)
    }
}

/// A request's error number, and the reply's moment.
fn outcome(done: &io::Result<Due>) -> (u32, Due) {
    match done {
        Ok(due) => (0, *due),
        Err(failed) => (error::of(failed), Due::NOW),
    }
}

/// The protocol has its own error for a write beyond the end.
fn as_full(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::InvalidInput {
        io::ErrorKind::StorageFull.into()
    } else {
        error
    }
}
