//! Protocol numbers, and a connection's buffers.

use super::budget::Share;
use crate::sockets::Stream;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) const INIT: u64 = u64::from_be_bytes(*b"NBDMAGIC");
pub(super) const OPTION: u64 = u64::from_be_bytes(*b"IHAVEOPT");
pub(super) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
pub(super) const REQUEST: u32 = 0x2560_9513;
pub(super) const REPLY: u32 = 0x6744_6698;

/// Request bytes without data.
pub(super) const REQUEST_BYTES: usize = 28;
/// Reply bytes without data.
pub(super) const REPLY_BYTES: usize = 16;
/// Most bytes in one read or write. The protocol lets a client assume this much.
pub(super) const MOST_BYTES: u32 = 32 << 20;

/// The export's transmission flags: it has flags, FLUSH, FUA, TRIM, WRITE_ZEROES, and several connections see the same
/// contents.
pub(super) const EXPORT_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8;

/// The flag for an export that takes no writes.
pub(super) const READ_ONLY: u16 = 1 << 1;

/// Reply errors: Linux numbers.
pub(super) mod error {
    use std::io;

    pub const NOT_PERMITTED: u32 = 1;
    pub const IO: u32 = 5;
    pub const INVALID: u32 = 22;
    pub const NO_SPACE: u32 = 28;
    pub const SHUTDOWN: u32 = 108;

    /// The number for a disk error.
    pub fn of(error: &io::Error) -> u32 {
        match error.kind() {
            io::ErrorKind::StorageFull => NO_SPACE,
            io::ErrorKind::InvalidInput => INVALID,
            io::ErrorKind::BrokenPipe => SHUTDOWN,
            io::ErrorKind::ReadOnlyFilesystem => NOT_PERMITTED,
            _ => IO,
        }
    }
}

/// The socket, shared by immediate and later replies; one file descriptor serves all.
#[derive(Debug)]
pub(super) struct Out {
    stream: Arc<Stream>,
    /// Keeps replies whole.
    turn: Mutex<()>,
    share: Arc<Share>,
}

impl Out {
    pub fn new(stream: &Arc<Stream>, share: &Arc<Share>) -> Arc<Self> {
        Arc::new(Self { stream: Arc::clone(stream), turn: Mutex::default(), share: Arc::clone(share) })
    }

    /// Writes whole replies.
    ///
    /// # Errors
    /// Socket errors; `WouldBlock` if the client stopped reading and others wait for the memory.
    pub fn send(&self, mut replies: &[u8]) -> io::Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        while !replies.is_empty() {
            match (&*self.stream).write(replies) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => replies = &replies[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && !self.share.is_short() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A socket polled for a moment before the thread sleeps.
///
/// Waking a thread on an idle processor takes longer than most requests, and a client waiting for each answer asks
/// again at once. For slower clients the thread sleeps.
#[derive(Debug)]
pub(super) struct Watched {
    stream: Arc<Stream>,
    share: Arc<Share>,
    /// Whether the last bytes came within `LOOK`.
    is_quick: bool,
}

/// How long a socket is looked at.
const LOOK: Duration = Duration::from_micros(50);

impl Watched {
    pub fn new(stream: &Arc<Stream>, share: &Arc<Share>) -> Self {
        Self { stream: Arc::clone(stream), share: Arc::clone(share), is_quick: false }
    }

    /// Whether the client holds memory for a write it does not send, while others wait for memory.
    fn is_in_the_way(&self) -> bool {
        self.share.is_announced.load(Ordering::Relaxed) && self.share.is_short()
    }

    /// Bytes arriving within `LOOK`; `None`: nothing.
    fn look(&self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        let start = Instant::now();
        loop {
            match rustix::net::recv(&*self.stream, &mut *bytes, RecvFlags::DONTWAIT) {
                Ok((read, _)) => return Ok(Some(read)),
                Err(Errno::AGAIN) if start.elapsed() < LOOK => std::thread::yield_now(),
                Err(Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for Watched {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.is_quick {
            if let Some(read) = self.look(bytes)? {
                return Ok(read);
            }
        }
        loop {
            let start = Instant::now();
            let read = (&*self.stream).read(bytes);
            self.is_quick = start.elapsed() < LOOK;
            match read {
                Err(error) if error.kind() == ErrorKind::WouldBlock && !self.is_in_the_way() => {}
                read => return read,
            }
        }
    }
}

/// Buffer bytes at first.
const FIRST_BYTES: usize = 256 << 10;
/// A larger buffer is given back after a large write.
const KEPT_BYTES: usize = 4 << 20;

/// Bytes arrived and not yet used. The buffer is never cleared, only overwritten.
#[derive(Debug)]
pub(super) struct Incoming<R> {
    from: R,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl<R: Read> Incoming<R> {
    pub fn new(from: R) -> Self {
        Self { from, bytes: vec![0; FIRST_BYTES], start: 0, end: 0 }
    }

    /// Whether `count` bytes are here already.
    pub fn has(&self, count: usize) -> bool {
        self.end - self.start >= count
    }

    /// The next bytes, without taking them.
    pub fn peek(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Waits until `count` bytes are here; false if the other side ended before the first one.
    ///
    /// # Errors
    /// `UnexpectedEof` if it ended among them; socket errors.
    pub fn wait(&mut self, count: usize) -> io::Result<bool> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.start + count > self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if count > self.bytes.len() {
                self.bytes.resize(count, 0);
            }
        }
        while !self.has(count) {
            match self.from.read(&mut self.bytes[self.end..]) {
                Ok(0) if self.start == self.end => return Ok(false),
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Gives a large buffer back.
    pub fn shrink(&mut self) {
        let left = self.start..self.end;
        if self.bytes.len() > KEPT_BYTES && left.len() <= FIRST_BYTES {
            let mut bytes = vec![0; FIRST_BYTES];
            bytes[..left.len()].copy_from_slice(&self.bytes[left.clone()]);
            (self.bytes, self.start, self.end) = (bytes, 0, left.len());
        }
    }

    /// Takes `count` bytes already here.
    pub fn take(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.start += count;
        &self.bytes[start..start + count]
    }

    /// Waits for `count` bytes and takes them.
    ///
    /// # Errors
    /// As [`Self::wait`], and `UnexpectedEof` if the other side ended.
    pub fn need(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.wait(count)? {
            Ok(self.take(count))
        } else {
            Err(ErrorKind::UnexpectedEof.into())
        }
    }
}

/// A number at the start of `bytes`; takes it off.
pub(super) trait Number: Sized {
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Number for $number {
            fn take(bytes: &mut &[u8]) -> Option<Self> {
                let (number, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(Self::from_be_bytes(*number))
            }
        }
    )*};
}

numbers!(u16, u32, u64);
