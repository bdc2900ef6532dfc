//! Listeners and connections on Unix sockets and loopback addresses.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest path in a socket's address: `sun_path` has 108 bytes, the last is zero.
const MOST_PATH: usize = 107;

/// How long a connection that ends is drained.
const DRAIN: Duration = Duration::from_millis(500);

/// Why a socket cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another server listens on it.
    #[error("another server listens on {}: stop it, or name another socket", .0.display())]
    InUse(PathBuf),
    /// Another file is there, no socket.
    #[error("{} is not a socket: name a path where no file is", .0.display())]
    Occupied(PathBuf),
    /// The operating system refused.
    #[error("cannot listen on {path}: {error}", path = .0.display(), error = .1)]
    Io(PathBuf, io::Error),
}

/// A client's connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    /// Ends it for both sides; a thread that waits for it wakes up.
    pub fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }

    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.shutdown(how),
            Self::Tcp(stream) => stream.shutdown(how),
        }
    }

    /// The longest wait for bytes.
    pub fn limit_reads(&self, wait: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(Some(wait)),
            Self::Tcp(stream) => stream.set_read_timeout(Some(wait)),
        }
    }

    /// The longest wait for room.
    pub fn limit_writes(&self, wait: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_write_timeout(Some(wait)),
            Self::Tcp(stream) => stream.set_write_timeout(Some(wait)),
        }
    }

    /// Ends it behind the last bytes sent: takes what the other side still sends, for at most `wait`. Unread bytes would
    /// reset the connection, and the other side might miss the last ones.
    pub fn drain(&self, wait: Duration) {
        let _ = self.shutdown(Shutdown::Write);
        let _ = self.limit_reads(DRAIN.min(wait));
        let (mut stream, mut bytes, end) = (self, vec![0; 16 << 10], Instant::now() + DRAIN.min(wait));
        while matches!(stream.read(&mut bytes), Ok(1..)) && Instant::now() < end {}
    }

    /// Sends as much as fits without a wait.
    pub fn send_now(&self, bytes: &[u8]) {
        let _ = rustix::net::send(self, bytes, rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match *self {
            Stream::Unix(stream) => (&*stream).read(bytes),
            Stream::Tcp(stream) => (&*stream).read(bytes),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match *self {
            Stream::Unix(stream) => (&*stream).write(bytes),
            Stream::Tcp(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A listening socket; a Unix socket's file goes with it.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens on `path`. A dead server's socket is replaced.
    ///
    /// # Errors
    /// [`SocketError`].
    pub fn unix(path: &Path) -> Result<Self, SocketError> {
        remove_stale(path)?;
        let listener = short(path, |path| UnixListener::bind(path));
        listener.map(|listener| Self::Unix(listener, path.to_owned())).map_err(|error| failed(path, error))
    }

    pub fn tcp(address: SocketAddr) -> io::Result<Self> {
        TcpListener::bind(address).map(Self::Tcp)
    }

    /// The address with its port; `None` on a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Unix(..) => None,
            Self::Tcp(listener) => listener.local_addr().ok(),
        }
    }

    pub fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(listener, _) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Self::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
        }
    }

    /// Wakes a thread that accepts.
    pub fn wake(&self) {
        let socket = match self {
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        };
        let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            if is_socket(path) {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

fn failed(path: &Path, error: io::Error) -> SocketError {
    SocketError::Io(path.to_owned(), error)
}

/// The address in `at`, if it is limited to this machine; else the caller's error with the text.
pub(crate) fn loopback<E>(
    at: &str,
    no_address: fn(String) -> E,
    not_loopback: fn(String) -> E,
) -> Result<SocketAddr, E> {
    let found = at.to_socket_addrs().map_err(|_| no_address(at.to_owned()))?;
    let all: Vec<SocketAddr> = found.collect();
    match all.first() {
        None => Err(no_address(at.to_owned())),
        Some(_) if all.iter().any(|address| !address.ip().is_loopback()) => Err(not_loopback(at.to_owned())),
        Some(first) => Ok(*first),
    }
}

/// Connects to the socket `path`, however long.
pub(crate) fn connect(path: &Path) -> io::Result<UnixStream> {
    short(path, |path| UnixStream::connect(path))
}

/// Calls `work` with a path short enough for a socket's address: a long one goes through its open folder.
fn short<R>(path: &Path, work: impl FnOnce(&Path) -> io::Result<R>) -> io::Result<R> {
    use rustix::fs::{Mode, OFlags};
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return work(path) };
    if path.as_os_str().len() <= MOST_PATH {
        return work(path);
    }
    let folder = rustix::fs::open(folder, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let through = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    work(&through)
}

/// Whether a socket with this name can be reached through its folder.
pub(crate) fn is_short(name: &OsStr) -> bool {
    "/proc/self/fd/1234567890/".len() + name.len() <= MOST_PATH
}

/// Removes a socket without a listener.
fn remove_stale(path: &Path) -> Result<(), SocketError> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(path, error)),
        Ok(file) if !file.file_type().is_socket() => Err(SocketError::Occupied(path.to_owned())),
        Ok(_) if connect(path).is_ok() => Err(SocketError::InUse(path.to_owned())),
        Ok(_) => std::fs::remove_file(path).map_err(|error| failed(path, error)),
    }
}
