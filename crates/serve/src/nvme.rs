//! NVMe over TCP on a loopback address.
//!
//! ## Idea
//! A host opens one connection for the admin queue and one for each I/O queue; a thread serves each. It carries out
//! every command that has arrived, collects the answers, and writes them together when no whole PDU is left. A command's
//! data comes in its capsule, or the host is asked for it (R2T) and the command waits for the data without a thread. An
//! answer not yet due goes to a thread that sends it in time.
//!
//! `pdu` is the wire, `connection` a queue's stream, `transfers` the writes whose data is under way. `subsystem` knows the
//! controllers and their queues. `fabrics`, `admin`, `io`, `zones` and `placement` carry out the command sets (`identifiers` are those of placement); `identify`, `logs`,
//! `features` are the admin commands' tables, `opcodes` and `bounds` those that all share. `outcome` is shared by the I/O
//! command sets, `placement_events` is a log of what happened to reclaim units, `events` are what the controller tells unasked.
//!
//! ## References
//! NVM Express base specification 2.0; NVMe over TCP transport specification 1.0; NVM command set specification 1.0; Zoned
//! Namespace command set specification 1.1.

mod admin;
mod bounds;
mod command;
mod connection;
mod crc32c;
mod events;
mod fabrics;
mod features;
mod identifiers;
mod identify;
mod io;
mod kept;
mod logs;
mod opcodes;
mod outcome;
mod page;
mod pdu;
mod placement;
mod placement_events;
mod replies;
mod server;
mod subsystem;
mod transfers;
mod zones;

pub use server::{Server, ServerError, Settings};
