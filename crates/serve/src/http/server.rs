//! The listener and its answers.

use super::request::{self, answer, write_until, Request};
use super::{metrics, Block, Snapshot, Watched};
use crate::clients::{Clients, Ending, Service};
use crate::means::Means;
use crate::sockets::{loopback, Listener, Stream};
use serde_json::{json, Value};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time from frame to frame.
const FRAME: Duration = Duration::from_millis(250);
/// Most browsers that get frames at the same time.
const MOST_BROWSERS: usize = 16;

const PAGE: &str = include_str!("page.html");
const HTML: &str = "text/html; charset=utf-8";

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The address is not limited to this machine.
    #[error("{0} is no loopback address, and the page has no password: take 127.0.0.1:PORT or the path of a socket")]
    NotLoopback(String),
    /// The text names no address.
    #[error("{0} is no address: take 127.0.0.1:PORT or the path of a socket")]
    NoAddress(String),
    /// The operating system refused.
    #[error("cannot listen on {0}: {1}")]
    Io(String, String),
}

/// Serves the page until it is dropped.
pub struct Page {
    address: Option<SocketAddr>,
    _clients: Clients<Site>,
}

impl Page {
    /// Listens on `at`, `127.0.0.1:PORT` or a Unix socket's path; port 0 takes a free one.
    ///
    /// # Errors
    /// [`PageError`].
    pub fn start(at: &str, watched: Arc<dyn Watched>) -> Result<Self, PageError> {
        Self::start_with(at, watched, Means::default())
    }

    /// The same, with other means.
    ///
    /// # Errors
    /// [`PageError`].
    pub fn start_with(at: &str, watched: Arc<dyn Watched>, means: Means) -> Result<Self, PageError> {
        let failed = |error: &dyn std::fmt::Display| PageError::Io(at.to_owned(), error.to_string());
        let listener = if at.contains('/') {
            Listener::unix(Path::new(at)).map_err(|error| failed(&error))?
        } else {
            Listener::tcp(loopback(at, PageError::NoAddress, PageError::NotLoopback)?)
                .map_err(|error| failed(&error))?
        };
        let address = listener.address();
        let site = Site { watched, browsers: AtomicUsize::new(0), patience: means.patience };
        let clients = Clients::start(listener, site, means).map_err(|error| failed(&error))?;
        Ok(Self { address, _clients: clients })
    }

    /// The address with its port; `None` on a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

/// The page and its data.
struct Site {
    watched: Arc<dyn Watched>,
    /// Browsers getting frames.
    browsers: AtomicUsize,
    patience: Duration,
}

impl Service for Site {
    const MOST: usize = 32;
    const ENDS_OLDEST: bool = false;

    fn serve(&self, stream: &Arc<Stream>, ending: &Ending) {
        // A client that leaves or is too slow gets nothing more.
        if self.answer(stream, ending).is_ok() {
            request::close(stream);
        }
    }

    fn refuse(&self, stream: &Stream, why: &str) {
        stream.send_now(&answer(503, "text/plain", why));
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
}

impl Site {
    /// Answers one request.
    fn answer(&self, stream: &Stream, ending: &Ending) -> io::Result<()> {
        let (status, kind, text) = match Request::read(stream, self.patience)? {
            Err((status, why)) => (status, "text/plain", why.into()),
            Ok(request) if !is_for_this_machine(&request) => {
                (403, "text/plain", "the page is for this machine alone".into())
            }
            Ok(request) => match (&*request.method, &*request.path) {
                ("GET", "/") => (200, HTML, PAGE.into()),
                ("GET", "/record") => (200, "application/json", self.watched.record().to_string()),
                ("GET", "/metrics") => (200, "text/plain; version=0.0.4", metrics::text(&self.watched.snapshot())),
                ("GET", "/events") => match Browser::new(&self.browsers) {
                    Some(_browser) => return self.frames(stream, ending),
                    None => (503, "text/plain", "too many browsers watch this disk".into()),
                },
                _ => (404, "text/plain", "there are /, /events, /record and /metrics".into()),
            },
        };
        write_until(stream, &answer(status, kind, &text), Instant::now() + self.patience)
    }

    /// Sends a frame after the other until the browser leaves.
    fn frames(&self, stream: &Stream, ending: &Ending) -> io::Result<()> {
        let mut bytes =
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
                .to_vec();
        let mut before: Vec<Block> = Vec::new();
        loop {
            let now = self.watched.snapshot();
            bytes.extend(format!("data: {}\n\n", frame(&now, &before)).into_bytes());
            write_until(stream, &bytes, Instant::now() + self.patience)?;
            (before, bytes) = (now.blocks, Vec::new());
            if ending.wait(FRAME) {
                return Ok(());
            }
        }
    }
}

/// A browser that gets frames.
struct Browser<'a>(&'a AtomicUsize);

impl<'a> Browser<'a> {
    /// `None`: there are too many.
    fn new(all: &'a AtomicUsize) -> Option<Self> {
        let browser = Self(all);
        (all.fetch_add(1, Ordering::SeqCst) < MOST_BROWSERS).then_some(browser)
    }
}

impl Drop for Browser<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether the request names this machine as its host, and no page of another site asks. Other names are refused, even
/// if someone's DNS points them here.
fn is_for_this_machine(request: &Request) -> bool {
    let Some(host) = request.host.as_deref() else { return false };
    let name = if host.starts_with('[') { host.split_inclusive(']').next() } else { host.split(':').next() };
    let is_this_page = |origin: &str| origin.strip_prefix("http://") == Some(host);
    matches!(name, Some("" | "localhost" | "127.0.0.1" | "[::1]"))
        && request.origin.as_deref().is_none_or(is_this_page)
        && !request.is_cross_site
}

/// A frame: the figures, the block count, and the changed blocks as `[number, kind, valid, P/E cycles]`.
fn frame(now: &Snapshot, before: &[Block]) -> Value {
    let changed: Vec<Value> = now
        .blocks
        .iter()
        .enumerate()
        .filter(|&(at, block)| before.get(at) != Some(block))
        .map(|(at, block)| json!([at, block.kind as u8, block.valid, block.pe_cycles]))
        .collect();
    json!({
        "figures": now.figures,
        "pages_per_block": now.pages_per_block,
        "blocks": now.blocks.len(),
        "changed": changed,
    })
}
