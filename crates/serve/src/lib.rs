//! Serves a disk to real programs.
//!
//! [`Export`] is a byte disk, callable from any thread. [`nbd`] serves it over a Unix socket, [`fuse`] as a file in a
//! directory, [`nvme`] as a drive on a loopback
//! address. The protocols know nothing about flash: they carry bytes, flushes and trims, and hold an answer back
//! until it is [`Due`]. [`Disk`] is a simulated device in an image as such a disk. [`directory`] serves the files in an
//! image's file system.

mod asker;
mod clients;
mod clock;
pub mod control;
mod copy;
mod described;
pub mod directory;
mod disk;
mod due;
mod export;
mod flow;
pub mod fuse;
pub mod http;
mod means;
mod memory;
pub mod nbd;
pub mod nvme;
mod placed;
mod record;
pub mod regions;
mod rescue;
mod sockets;
mod told;
pub mod volume;
mod watched;
mod zoned;

pub use copy::copy;
pub use described::{Described, Description, Health};
pub use disk::{Disk, Options};
pub use due::Due;
pub use export::{check_range, Export};
pub use flow::Limits;
pub use means::{Means, Work};
pub use memory::Memory;
pub use placed::{MediaUse, Placed, Placing};
pub use rescue::rescue;
pub use zoned::{RandomArea, Zoned, Zoning};
