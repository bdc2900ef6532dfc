//! The listener and its answers.

use super::{metrics, Block, Snapshot, Watched};
use serde_json::{json, Value};
use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tiny_http::{Header, Method, Request, Response};

/// Time from frame to frame.
const FRAME: Duration = Duration::from_millis(250);
/// Most browsers that get frames at the same time.
const MOST_CLIENTS: usize = 16;

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
    server: Arc<tiny_http::Server>,
    socket: Option<PathBuf>,
    address: Option<SocketAddr>,
    is_stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Page {
    /// Listens on `at`, `127.0.0.1:PORT` or a Unix socket's path; port 0 takes a free one.
    ///
    /// # Errors
    /// [`PageError`].
    pub fn start(at: &str, watched: Arc<dyn Watched>) -> Result<Self, PageError> {
        let failed = |error: &dyn std::fmt::Display| PageError::Io(at.to_owned(), error.to_string());
        let (server, socket) = if at.contains('/') {
            crate::nbd::remove_stale(Path::new(at)).map_err(|error| failed(&error))?;
            (tiny_http::Server::http_unix(Path::new(at)), Some(PathBuf::from(at)))
        } else {
            (tiny_http::Server::http(loopback(at)?), None)
        };
        let server = Arc::new(server.map_err(|error| failed(&error))?);
        let is_stopping = Arc::<AtomicBool>::default();
        let thread = {
            let (server, is_stopping) = (server.clone(), is_stopping.clone());
            std::thread::spawn(move || serve(&server, &watched, &is_stopping))
        };
        let address = server.server_addr().to_ip();
        Ok(Self { server, socket, address, is_stopping, thread: Some(thread) })
    }

    /// The address with its port; `None` on a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(socket) = &self.socket {
            let _ = std::fs::remove_file(socket);
        }
    }
}

fn loopback(at: &str) -> Result<SocketAddr, PageError> {
    let found = at.to_socket_addrs().map_err(|_| PageError::NoAddress(at.to_owned()))?;
    let all: Vec<SocketAddr> = found.collect();
    match all.first() {
        None => Err(PageError::NoAddress(at.to_owned())),
        Some(_) if all.iter().any(|address| !address.ip().is_loopback()) => Err(PageError::NotLoopback(at.to_owned())),
        Some(first) => Ok(*first),
    }
}

fn serve(server: &tiny_http::Server, watched: &Arc<dyn Watched>, is_stopping: &Arc<AtomicBool>) {
    let clients = Arc::<AtomicUsize>::default();
    while !is_stopping.load(Ordering::SeqCst) {
        // `unblock` ends the wait.
        let Ok(Some(request)) = server.recv_timeout(Duration::from_secs(1)) else { continue };
        let path = request.url().split('?').next().unwrap_or_default().to_owned();
        let is_allowed = is_for_this_machine(&request);
        let done = match (request.method(), &*path) {
            _ if !is_allowed => respond(request, 403, "text/plain", "the page is for this machine alone"),
            (Method::Get, "/") => respond(request, 200, HTML, PAGE),
            (Method::Get, "/record") => respond(request, 200, "application/json", &watched.record().to_string()),
            (Method::Get, "/metrics") => {
                respond(request, 200, "text/plain; version=0.0.4", &metrics::text(&watched.snapshot()))
            }
            (Method::Get, "/events") if clients.load(Ordering::SeqCst) < MOST_CLIENTS => {
                let (watched, is_stopping, clients) = (watched.clone(), is_stopping.clone(), clients.clone());
                clients.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    // A leaving browser ends its frames.
                    let _ = frames(request, &*watched, &is_stopping);
                    clients.fetch_sub(1, Ordering::SeqCst);
                });
                Ok(())
            }
            (Method::Get, "/events") => respond(request, 503, "text/plain", "too many browsers watch this disk"),
            _ => respond(request, 404, "text/plain", "there are /, /events, /record and /metrics"),
        };
        // A closed connection needs no answer.
        let _ = done;
    }
}

/// Whether the request names this machine as its host: other names are refused, even if someone's DNS points them here.
fn is_for_this_machine(request: &Request) -> bool {
    let host = request.headers().iter().find(|header| header.field.equiv("Host"));
    host.is_none_or(|host| {
        let host = host.value.as_str();
        let name = if host.starts_with('[') { host.split_inclusive(']').next() } else { host.split(':').next() };
        matches!(name, Some("" | "localhost" | "127.0.0.1" | "[::1]"))
    })
}

fn respond(request: Request, status: u16, kind: &str, text: &str) -> io::Result<()> {
    let header = Header::from_bytes("Content-Type", kind).expect("the header is ASCII");
    request.respond(Response::from_string(text).with_status_code(status).with_header(header))
}

/// Sends a frame after the other until the browser leaves.
fn frames(request: Request, watched: &dyn Watched, is_stopping: &AtomicBool) -> io::Result<()> {
    let mut out = request.into_writer();
    out.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
    )?;
    let mut before: Vec<Block> = Vec::new();
    while !is_stopping.load(Ordering::SeqCst) {
        let now = watched.snapshot();
        write!(out, "data: {}\n\n", frame(&now, &before))?;
        out.flush()?;
        before = now.blocks;
        std::thread::sleep(FRAME);
    }
    Ok(())
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
