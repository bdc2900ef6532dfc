//! A browser's request, and the answer to it. Each connection carries one.

use crate::sockets::Stream;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

/// Most bytes in a request.
const MOST_BYTES: usize = 16 << 10;
/// Bytes behind a request taken and dropped, so the client sees the answer before the connection ends.
const DROPPED_BYTES: usize = 1 << 20;
/// How long they are waited for.
const DROPPED_WAIT: Duration = Duration::from_millis(500);

/// A request that can be answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub method: String,
    /// Without a query.
    pub path: String,
    pub host: Option<String>,
    /// The page that asks, as a browser names it.
    pub origin: Option<String>,
    /// Whether a browser says that a page of another site asks.
    pub is_cross_site: bool,
    has_body: bool,
}

/// A refusal: its status and a sentence.
pub(super) type Refusal = (u16, &'static str);

impl Request {
    /// Waits at most `patience` for a request; `Ok(Err)` if it is refused.
    ///
    /// # Errors
    /// The client leaves or takes too long.
    pub fn read(stream: &Stream, patience: Duration) -> io::Result<Result<Self, Refusal>> {
        let end = Instant::now() + patience;
        let (mut bytes, mut used) = (vec![0; MOST_BYTES], 0);
        loop {
            match read_until(stream, &mut bytes[used..], end)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                read => used += read,
            }
            if let Some(head) = bytes[..used].windows(4).position(|four| four == b"\r\n\r\n") {
                let request = std::str::from_utf8(&bytes[..head]).ok().and_then(Self::parse);
                return Ok(match request {
                    None => Err((400, "this is no HTTP request")),
                    Some(request) if request.has_body => Err((413, "the page takes no body")),
                    Some(request) => Ok(request),
                });
            }
            if used == bytes.len() {
                return Ok(Err((431, "the request is longer than 16 KiB")));
            }
        }
    }

    fn parse(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if !version.starts_with("HTTP/1.") || words.next().is_some() {
            return None;
        }
        let path = target.split('?').next()?;
        let (method, path) = (method.into(), path.into());
        let mut request = Self { method, path, host: None, origin: None, is_cross_site: false, has_body: false };
        for line in lines {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
            match &*name.to_ascii_lowercase() {
                "host" => request.host = Some(value.into()),
                "origin" => request.origin = Some(value.into()),
                "sec-fetch-site" => request.is_cross_site = value == "cross-site",
                "content-length" => request.has_body |= value != "0",
                "transfer-encoding" => request.has_body = true,
                _ => {}
            }
        }
        Some(request)
    }
}

/// Reads once, until `end`.
fn read_until(mut stream: &Stream, bytes: &mut [u8], end: Instant) -> io::Result<usize> {
    loop {
        stream.limit_reads(left(end)?)?;
        match stream.read(bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Writes everything until `end`.
pub(super) fn write_until(mut stream: &Stream, mut bytes: &[u8], end: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.limit_writes(left(end)?)?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(ErrorKind::TimedOut.into())
    } else {
        Ok(left)
    }
}

/// An answer's bytes; the connection ends behind it.
pub(super) fn answer(status: u16, kind: &str, text: &str) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    let length = text.len();
    let head = format!("HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {length}");
    format!("{head}\r\nConnection: close\r\n\r\n{text}").into_bytes()
}

/// Ends a connection behind an answer. Unread bytes would reset it, and the client might miss the answer.
pub(super) fn close(stream: &Stream) {
    let end = Instant::now() + DROPPED_WAIT;
    let _ = stream.shutdown(Shutdown::Write);
    let mut bytes = vec![0; MOST_BYTES];
    let mut dropped = 0;
    while let Ok(read @ 1..) = read_until(stream, &mut bytes, end) {
        dropped += read;
        if dropped > DROPPED_BYTES {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read() {
        let request = Request::parse("GET /events?a=1 HTTP/1.1\r\nHoSt: localhost:80 \r\nAccept: a:b").unwrap();
        let wanted = ("GET", "/events", Some("localhost:80"), false);
        assert_eq!((&*request.method, &*request.path, request.host.as_deref(), request.has_body), wanted);
        for body in ["Content-Length: 1", "content-length:x", "Transfer-Encoding: chunked"] {
            assert!(Request::parse(&format!("GET / HTTP/1.0\r\n{body}")).unwrap().has_body, "{body}");
        }
        assert!(!Request::parse("POST / HTTP/1.1\r\nContent-Length: 0").unwrap().has_body);
        for wrong in ["", "GET /", "GET / x HTTP/1.1", "GET / FTP/1", "GET / HTTP/1.1\r\nno colon"] {
            assert_eq!(Request::parse(wrong), None, "{wrong}");
        }
    }
}
