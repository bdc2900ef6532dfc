//! Questions to a process that serves an image: a unix socket beside the image, a line each.
//!
//! `stats` returns the record, `live` a page's contents; `record PATH` starts a trace with every request, `end-record`
//! ends it; `regions PATH` takes the regions from a file. Each answer is one JSON line. The socket is only as open as
//! its folder.

use crate::regions::Regions;
use crate::Disk;
use serde_json::{json, Value};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a question may take to come.
const PATIENCE: Duration = Duration::from_secs(10);

/// The socket for the image `path`.
pub fn socket_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".control");
    name.into()
}

/// A served image's socket, until it is dropped.
pub struct Control {
    socket: PathBuf,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Answers questions about `disk`, in the image `path`.
    ///
    /// # Errors
    /// The socket cannot be made: its name is too long, or nobody may write there.
    pub fn start(path: &Path, disk: Arc<Disk>) -> io::Result<Self> {
        let socket = socket_of(path);
        // The image is locked, so whoever made a socket before has ended.
        match std::fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&socket)?;
        let ended = Arc::new(AtomicBool::new(false));
        let has_ended = Arc::clone(&ended);
        let thread = std::thread::Builder::new().name("nandlab control".into()).spawn(move || {
            for stream in listener.incoming() {
                if has_ended.load(Ordering::Relaxed) {
                    return;
                }
                // Who goes away while it is answered, or asks nothing, is nobody's loss.
                let _ = stream.and_then(|stream| answer(&disk, &stream));
            }
        })?;
        Ok(Self { socket, ended, thread: Some(thread) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // The listener wakes up for this, and ends.
        if UnixStream::connect(&self.socket).is_ok() {
            if let Some(thread) = self.thread.take() {
                let _ = thread.join();
            }
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn answer(disk: &Disk, stream: &UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    let mut reader = BufReader::new(io::Read::take(stream, 1 << 16));
    reader.read_line(&mut line)?;
    let answer = asked(disk, line.trim_end()).unwrap_or_else(|error| json!({ "error": error }));
    let mut out = stream;
    out.write_all(format!("{answer}\n").as_bytes())
}

fn asked(disk: &Disk, line: &str) -> Result<Value, String> {
    let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
    let said = |error: io::Error| error.to_string();
    match what {
        "stats" => Ok(disk.stats()),
        "live" => serde_json::to_value(disk.live()).map_err(|error| error.to_string()),
        "record" => disk.record_to(Path::new(rest)).map(|()| json!({ "recording": rest })).map_err(said),
        "end-record" => disk.end_record().map(|requests| json!({ "requests": requests })).map_err(said),
        "regions" => {
            let text = std::fs::read_to_string(rest).map_err(|error| format!("{rest} cannot be read: {error}"))?;
            let regions = Regions::parse(&text).map_err(|error| format!("{rest}: {error}"))?;
            disk.set_regions(regions);
            Ok(json!({ "regions": rest }))
        }
        other => Err(format!("`{other}` is no question; there are stats, live, record, end-record and regions")),
    }
}

/// Asks the process that serves the image `path`; `None` if there is none.
///
/// # Errors
/// It does not answer.
pub fn ask(path: &Path, question: &str) -> io::Result<Option<String>> {
    let stream = match UnixStream::connect(socket_of(path)) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    (&stream).write_all(format!("{question}\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(Some(line))
}
