//! A connection's buffers.

use super::budget::Share;
use crate::sockets::Stream;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The socket, shared by immediate and later replies; one file descriptor serves all.
#[derive(Debug)]
pub(crate) struct Out {
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
pub(crate) struct Watched {
    stream: Arc<Stream>,
    share: Arc<Share>,
    /// Whether the last bytes came within `LOOK`.
    is_quick: bool,
    /// Longest time without bytes, if there is one.
    silence: Option<Duration>,
    /// The wait that [`Self::limit_silence`] gave the socket.
    look: Option<Duration>,
}

/// How long a socket is looked at.
const LOOK: Duration = Duration::from_micros(50);

impl Watched {
    pub fn new(stream: &Arc<Stream>, share: &Arc<Share>) -> Self {
        Self { stream: Arc::clone(stream), share: Arc::clone(share), is_quick: false, silence: None, look: None }
    }

    /// Ends the connection after `silence` without bytes. `patience` is how often others' need for memory is looked at.
    pub fn limit_silence(&mut self, silence: Option<Duration>, patience: Duration) -> io::Result<()> {
        self.silence = silence;
        let look = silence.map_or(patience, |silence| silence.min(patience));
        if self.look != Some(look) {
            self.stream.limit_reads(look)?;
            self.look = Some(look);
        }
        Ok(())
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
        let begun = Instant::now();
        loop {
            let start = Instant::now();
            let read = (&*self.stream).read(bytes);
            self.is_quick = start.elapsed() < LOOK;
            match read {
                Err(error) if error.kind() == ErrorKind::WouldBlock && !self.is_in_the_way() => {
                    if self.silence.is_some_and(|silence| begun.elapsed() >= silence) {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
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
pub(crate) struct Incoming<R> {
    from: R,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl<R: Read> Incoming<R> {
    pub fn new(from: R) -> Self {
        Self { from, bytes: vec![0; FIRST_BYTES], start: 0, end: 0 }
    }

    /// Where the bytes come from.
    pub fn source(&mut self) -> &mut R {
        &mut self.from
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
