//! Bytes between a client and a protocol: buffers, a bound for their memory, and replies that wait until they are due.

mod budget;
mod buffers;
mod later;

pub use budget::Limits;
pub(crate) use budget::{Budget, Held, Share};
pub(crate) use buffers::{Incoming, Out, Watched};
pub(crate) use later::Later;
