//! The socket and its clients' threads.

use super::connection::serve;
use crate::Export;
use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

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

/// Serves an export on a Unix socket until it is dropped.
pub struct Server {
    path: PathBuf,
    /// The listening socket, to wake the accepting thread.
    listening: UnixStream,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

/// A client's connection and the thread that serves it.
type Client = (UnixStream, JoinHandle<()>);

#[derive(Default)]
struct Shared {
    is_stopping: AtomicBool,
    clients: Mutex<BTreeMap<u64, Client>>,
}

impl Shared {
    fn clients(&self) -> MutexGuard<'_, BTreeMap<u64, Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Listens on `path` and serves `export` to every client, each in its own thread.
    ///
    /// A dead server's socket is replaced.
    ///
    /// # Errors
    /// [`SocketError`].
    pub fn start(path: &Path, export: Arc<dyn Export>) -> Result<Self, SocketError> {
        remove_stale(path)?;
        let failed = |error| SocketError::Io(path.to_owned(), error);
        let listener = UnixListener::bind(path).map_err(failed)?;
        let listening = OwnedFd::from(listener.try_clone().map_err(failed)?).into();
        let shared = Arc::<Shared>::default();
        let accepting = {
            let shared = shared.clone();
            std::thread::spawn(move || accept(&listener, &shared, &export))
        };
        Ok(Self { path: path.to_owned(), listening, shared, accepting: Some(accepting) })
    }

    /// Connected clients.
    pub fn clients(&self) -> usize {
        self.shared.clients().len()
    }
}

impl Drop for Server {
    /// Ends every connection and removes the socket.
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        let _ = self.listening.shutdown(Shutdown::Both);
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
        let clients = std::mem::take(&mut *self.shared.clients());
        for (stream, thread) in clients.into_values() {
            let _ = stream.shutdown(Shutdown::Both);
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes a socket without a listener.
pub(crate) fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let failed = |error| SocketError::Io(path.to_owned(), error);
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(file) if !file.file_type().is_socket() => Err(SocketError::Occupied(path.to_owned())),
        Ok(_) if UnixStream::connect(path).is_ok() => Err(SocketError::InUse(path.to_owned())),
        Ok(_) => std::fs::remove_file(path).map_err(failed),
    }
}

fn accept(listener: &UnixListener, shared: &Arc<Shared>, export: &Arc<dyn Export>) {
    for (number, stream) in (0..).zip(listener.incoming()) {
        if shared.is_stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else {
            // Too many open files, for one: others may be closed meanwhile.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let Ok(kept) = stream.try_clone() else { continue };
        let mut clients = shared.clients();
        let (shared, export) = (shared.clone(), export.clone());
        let thread = std::thread::spawn(move || {
            // A client that breaks the protocol, or dies, ends its own connection only.
            let _ = serve(stream, &*export);
            shared.clients().remove(&number);
        });
        clients.insert(number, (kept, thread));
    }
}
