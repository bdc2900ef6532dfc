//! The network block device protocol on a Unix socket.
//!
//! ## Idea
//! Clients negotiate in the fixed newstyle form and ask for the default export, with or without the name `disk`. Then
//! they send requests; replies are simple replies. One thread serves a connection: it carries out every request that
//! has arrived, collects the replies, and writes them together when no whole request is left. A reply not yet due goes
//! to a thread that sends it in time, so later requests to a paced disk overtake it. After a reply the thread polls the
//! socket for 50 us before it sleeps: so a client's immediate next request need not wait for a sleeping processor.
//!
//! ## References
//! The NBD protocol, <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>: fixed newstyle negotiation,
//! simple replies, block size constraints, FLUSH, FUA, TRIM, WRITE_ZEROES, CAN_MULTI_CONN.

mod connection;
mod negotiate;
mod server;
mod wire;

pub use crate::flow::Limits;
pub use crate::sockets::SocketError;
pub use connection::serve;
pub use server::Server;
