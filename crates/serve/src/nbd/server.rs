//! The socket and its clients.

use super::connection::serve_within;
use super::negotiate::refusal;
use crate::clients::{Clients, Ending, Service};
use crate::flow::{Budget, Limits, Share};
use crate::means::Means;
use crate::sockets::{Listener, SocketError, Stream};
use crate::Export;
use std::path::Path;
use std::sync::Arc;

/// Serves an export on a Unix socket until it is dropped.
pub struct Server(Clients<Clientele>);

struct Clientele {
    export: Arc<dyn Export>,
    budget: Arc<Budget>,
    means: Means,
}

impl Service for Clientele {
    const MOST: usize = usize::MAX;
    const ENDS_OLDEST: bool = false;

    fn serve(&self, stream: &Arc<Stream>, _: &Ending) {
        // A client that breaks the protocol, or dies, ends its own connection only.
        let _ = serve_within(stream, &*self.export, &Share::of(&self.budget), &self.means);
    }

    fn refuse(&self, stream: &Stream, why: &str) {
        stream.send_now(&refusal(why));
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
        Self::start_with(path, export, Limits::default(), Means::default())
    }

    /// The same, with other limits and means.
    ///
    /// # Errors
    /// [`SocketError`].
    pub fn start_with(path: &Path, export: Arc<dyn Export>, limits: Limits, means: Means) -> Result<Self, SocketError> {
        let listener = Listener::unix(path)?;
        let clientele = Clientele { export, budget: Arc::new(Budget::new(limits)), means: means.clone() };
        let clients = Clients::start(listener, clientele, means);
        clients.map(Self).map_err(|error| SocketError::Io(path.to_owned(), error))
    }

    /// Connected clients.
    pub fn clients(&self) -> usize {
        self.0.count()
    }

    /// Most bytes held at once for clients so far.
    pub fn peak_bytes(&self) -> usize {
        self.0.service().budget.peak()
    }
}

impl Drop for Server {
    /// Nobody waits for memory any more; then every connection ends and the socket is removed.
    fn drop(&mut self) {
        self.0.service().budget.end();
    }
}
