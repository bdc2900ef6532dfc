//! The listener and its connections.

use super::connection;
use super::subsystem::Subsystem;
use crate::clients::{Clients, Ending, Service};
use crate::described::Described;
use crate::flow::{Budget, Limits, Share};
use crate::means::Means;
use crate::sockets::{loopback, Listener, Stream};
use std::net::SocketAddr;
use std::sync::Arc;

/// Why the disk cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is not limited to this machine.
    #[error("{0} is no loopback address, and NVMe over TCP has no password here: take 127.0.0.1:PORT")]
    NotLoopback(String),
    /// The text names no address.
    #[error("{0} is no address: take 127.0.0.1:PORT")]
    NoAddress(String),
    /// The block size is not offered.
    #[error("a block of {0} bytes is not offered: take 512 or 4096")]
    BlockBytes(u32),
    /// The disk is smaller than a block.
    #[error("the disk is smaller than a block of {0} bytes")]
    TooSmall(u32),
    /// A zone has no whole number of blocks.
    #[error("a zone of {0} bytes, or what can be written to it, is no whole number of blocks of {1} bytes")]
    ZoneBlocks(u64, u32),
    /// NVMe knows sequential zones alone.
    #[error(
        "device.zones.conventional = {0}: NVMe has no conventional zones; serve the disk as a plain block device, or make one \
         without them"
    )]
    Conventional(u32),
    /// The operating system refused.
    #[error("cannot listen on {0}: {1}")]
    Io(String, String),
}

/// How a disk is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of a logical block: 512 or 4,096.
    pub block_bytes: u32,
    /// Most bytes held for connections.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self { block_bytes: 512, limits: Limits::default() }
    }
}

/// Serves a disk as an NVMe subsystem until it is dropped.
pub struct Server {
    address: SocketAddr,
    clients: Clients<Clientele>,
}

struct Clientele {
    subsystem: Subsystem,
    address: SocketAddr,
    budget: Arc<Budget>,
    means: Means,
}

impl Service for Clientele {
    const MOST: usize = 512;
    const ENDS_OLDEST: bool = false;

    fn serve(&self, stream: &Arc<Stream>, _: &Ending) {
        // A host that breaks the rules, or dies, ends its own connection only.
        let share = Share::of(&self.budget);
        let _ = connection::serve(stream, &self.subsystem, self.address, &share, &self.means);
    }

    /// The protocol has no answer before the host's first PDU.
    fn refuse(&self, stream: &Stream, _: &str) {
        stream.end();
    }
}

impl Server {
    /// Listens on `at`, `127.0.0.1:PORT`; port 0 takes a free one.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn start(at: &str, drive: Arc<dyn Described>, settings: Settings) -> Result<Self, ServerError> {
        Self::start_with(at, drive, settings, Means::default())
    }

    /// The same, with other means.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn start_with(
        at: &str,
        drive: Arc<dyn Described>,
        settings: Settings,
        means: Means,
    ) -> Result<Self, ServerError> {
        let failed = |error: std::io::Error| ServerError::Io(at.to_owned(), error.to_string());
        let bytes = settings.block_bytes;
        if !matches!(bytes, 512 | 4096) {
            return Err(ServerError::BlockBytes(bytes));
        }
        if drive.size() < bytes.into() {
            return Err(ServerError::TooSmall(bytes));
        }
        if let Some(shape) = drive.zones().map(|zones| zones.zoning().shape) {
            if shape.conventional > 0 {
                return Err(ServerError::Conventional(shape.conventional));
            }
            if [shape.size, shape.capacity].iter().any(|sectors| sectors * 512 % u64::from(bytes) > 0) {
                return Err(ServerError::ZoneBlocks(shape.size * 512, bytes));
            }
        }
        let asked = loopback(at, ServerError::NoAddress, ServerError::NotLoopback)?;
        let listener = Listener::tcp(asked).map_err(failed)?;
        let address = listener.address().unwrap_or(asked);
        let subsystem = Subsystem::new(drive, bytes.trailing_zeros());
        let budget = Arc::new(Budget::new(settings.limits));
        let clientele = Clientele { subsystem, address, budget, means: means.clone() };
        let clients = Clients::start(listener, clientele, means).map_err(failed)?;
        Ok(Self { address, clients })
    }

    /// The address with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The subsystem's name.
    pub fn nqn(&self) -> &str {
        &self.clients.service().subsystem.nqn
    }

    /// The command that connects a host.
    pub fn connect_line(&self) -> String {
        let (address, port) = (self.address.ip(), self.address.port());
        format!("nvme connect -t tcp -a {address} -s {port} -n {}", self.nqn())
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        self.clients.count()
    }

    /// Controllers at present.
    pub fn controllers(&self) -> usize {
        self.clients.service().subsystem.count()
    }

    /// Most bytes held at once for connections so far.
    pub fn peak_bytes(&self) -> usize {
        self.clients.service().budget.peak()
    }
}

impl Drop for Server {
    /// Nobody waits for memory any more; then every connection ends.
    fn drop(&mut self) {
        self.clients.service().budget.end();
    }
}
