//! Firmware in C on a simulated chip.
//!
//! `include/nandlab.h` is the contract, and this crate the library behind it. A device is a table of operations with a
//! state ([`table`]): a call goes through the table, so a firmware linked with this library also runs on a device from
//! elsewhere. [`device`] is the device over [`nandlab_nand::chip`] or [`nandlab_nand::nor`].
//! [`hosted`] runs a firmware under an experiment's workload. [`prove`] runs a firmware, cuts the power at every operation and compares with a plain model.

// Pointers from C are the point of this crate. Every function in `table` trusts its caller as C does: a device comes from
// `nl_open`, and a buffer has the length given with it. No other crate has unsafe code for this interface.
#![allow(unsafe_code, reason = "an interface for C takes pointers from its callers")]

pub mod config;
pub mod device;
pub mod flash;
pub mod hosted;
mod listener;
pub mod prove;
pub mod table;
