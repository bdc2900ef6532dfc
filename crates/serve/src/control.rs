//! Questions to a process that serves an image: a unix socket beside the image, a line each.
//!
//! `stats` returns the record, `live` a page's contents; `record PATH` starts a trace with every request, `end-record`
//! ends it; `regions PATH` takes the regions from a file. Each answer is one JSON line. The socket is only as open as
//! its folder.

use crate::clients::{Clients, Ending, Service};
use crate::means::Means;
use crate::regions::Regions;
use crate::sockets::{connect, is_short, Listener, SocketError, Stream};
use crate::Disk;
use nandlab_lab::json;
use nandlab_nand::backed::open_regular;
use serde_json::{json, Value};
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The socket for the image `path`, beside the file itself: an image has one, whatever links lead to it.
///
/// A name too long for a socket gets a number in its place.
pub fn socket_of(path: &Path) -> PathBuf {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".control");
    if !is_short(&name) {
        name = format!("{:016x}.control", number(&name)).into();
    }
    path.with_file_name(name)
}

/// A number for a name: 64-bit FNV-1a.
fn number(name: &OsStr) -> u64 {
    name.as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// A served image's socket, until it is dropped.
pub struct Control {
    _clients: Clients<Questions>,
}

struct Questions {
    disk: Arc<Disk>,
    patience: Duration,
}

impl Control {
    /// Answers questions about `disk`, in the image `path`.
    ///
    /// # Errors
    /// The socket cannot be made: something else has its name, or nobody may write there.
    pub fn start(path: &Path, disk: Arc<Disk>) -> io::Result<Self> {
        Self::start_with(path, disk, Means::default())
    }

    /// The same, with other means.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_with(path: &Path, disk: Arc<Disk>, means: Means) -> io::Result<Self> {
        let listener = Listener::unix(&socket_of(path)).map_err(|error| match error {
            SocketError::Io(_, error) => error,
            SocketError::InUse(_) => io::Error::new(io::ErrorKind::AddrInUse, "another process listens on it"),
            SocketError::Occupied(_) => {
                io::Error::new(io::ErrorKind::AlreadyExists, "a file with this name is there: move it, or the image")
            }
        })?;
        let patience = means.patience;
        let clients = Clients::start(listener, Questions { disk, patience }, means)?;
        Ok(Self { _clients: clients })
    }
}

impl Service for Questions {
    const MOST: usize = 64;
    // Silent clients keep no place from those who ask.
    const ENDS_OLDEST: bool = true;

    fn serve(&self, stream: &Arc<Stream>, _: &Ending) {
        // A client that leaves early, or asks nothing, is nobody's loss.
        let _ = self.answer(stream);
    }

    fn refuse(&self, stream: &Stream, why: &str) {
        stream.send_now(format!("{}\n", json!({ "error": why })).as_bytes());
    }
}

impl Questions {
    fn answer(&self, mut stream: &Stream) -> io::Result<()> {
        stream.limit_reads(self.patience)?;
        stream.limit_writes(self.patience)?;
        let mut line = String::new();
        BufReader::new(io::Read::take(stream, 1 << 16)).read_line(&mut line)?;
        let answer = asked(&self.disk, line.trim_end()).unwrap_or_else(|error| json!({ "error": error }));
        stream.write_all(format!("{answer}\n").as_bytes())
    }
}

fn asked(disk: &Disk, line: &str) -> Result<Value, String> {
    let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
    let said = |error: io::Error| error.to_string();
    match what {
        "stats" => Ok(disk.stats()),
        "live" => Ok(json::value(&disk.live())),
        "record" => disk.record_to(Path::new(rest)).map(|()| json!({ "recording": rest })).map_err(said),
        "end-record" => disk.end_record().map(|requests| json!({ "requests": requests })).map_err(said),
        "regions" => {
            let text = open_regular(Path::new(rest))
                .and_then(io::read_to_string)
                .map_err(|error| format!("{rest} cannot be read: {error}"))?;
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
    let stream = match connect(&socket_of(path)) {
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
