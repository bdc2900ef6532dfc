//! A firmware that somebody else wrote, as an experiment runs it.
//!
//! The program that hosts firmware, such as the Python package, loads it. Without a host no experiment with a firmware
//! runs, so a file never runs code by itself. The firmware has a chip of its own, with raw bytes. Each command on this chip is
//! [told](Told) to the device of the experiment, which counts it and takes its time.

mod follower;

pub use follower::{Flash, Follower};

use nandlab_nand::operation::Operation;
use nandlab_nand::{Cause, Geometry, Ppa, Rules, Time};
use std::path::Path;
use std::sync::OnceLock;

/// A command on a firmware's chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// Its kind.
    pub operation: Operation,
    /// The page; for a whole block its first one.
    pub at: Ppa,
    /// The source of a copy; otherwise as `at`.
    pub from: Ppa,
    /// Bytes on the bus.
    pub bytes: u32,
    /// The cause, if the firmware names one.
    pub cause: Option<Cause>,
}

/// Hears of each command after it was carried out.
pub trait Told {
    /// A command was carried out.
    fn command(&mut self, command: &Command);

    /// The end of the last one.
    fn now(&mut self) -> Time;
}

/// The chip and the choices of a firmware.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The shared object.
    pub path: &'a Path,
    /// The text in the experiment, for the firmware alone.
    pub options: &'a str,
    /// The chip's shape.
    pub geometry: Geometry,
    /// The chip's rules.
    pub rules: Rules,
}

/// A mounted block firmware. An error is a sentence; after one the firmware is not asked again.
pub trait Block: Send {
    /// Sectors for the host.
    fn sectors(&self) -> u32;

    /// Bytes in each.
    fn sector_bytes(&self) -> u32;

    /// Reads a sector.
    ///
    /// # Errors
    /// The firmware's failure, or the rule of the chip that it broke.
    fn read(&mut self, sector: u32, to: &mut [u8], told: &mut dyn Told) -> Result<(), String>;

    /// Writes a sector.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn write(&mut self, sector: u32, from: &[u8], told: &mut dyn Told) -> Result<(), String>;

    /// Trims a sector; false if the firmware has no trim.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn trim(&mut self, sector: u32, told: &mut dyn Told) -> Result<bool, String>;

    /// Makes everything written survive a power cut.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn sync(&mut self, told: &mut dyn Told) -> Result<(), String>;

    /// Bytes of memory, if the firmware tells them.
    fn ram(&self) -> Option<u64>;
}

/// A mounted file firmware. An error is a sentence; after one the firmware is not asked again.
///
/// # Errors
/// The firmware's failure, or the rule of the chip that it broke.
pub trait Files: Send {
    /// Opens a file; `create` makes a missing one.
    fn open(&mut self, path: &str, create: bool, told: &mut dyn Told) -> Result<usize, String>;

    /// Reads from a position; fewer bytes at the end of the file.
    fn read(&mut self, file: usize, offset: u64, to: &mut [u8], told: &mut dyn Told) -> Result<usize, String>;

    /// Writes at a position up to the end of the file.
    fn write(&mut self, file: usize, offset: u64, from: &[u8], told: &mut dyn Told) -> Result<(), String>;

    /// Cuts a file.
    fn truncate(&mut self, file: usize, bytes: u64, told: &mut dyn Told) -> Result<(), String>;

    /// Makes a file survive a power cut.
    fn sync(&mut self, file: usize, told: &mut dyn Told) -> Result<(), String>;

    /// Makes everything survive a power cut.
    fn sync_all(&mut self, told: &mut dyn Told) -> Result<(), String>;

    /// Closes a file.
    fn close(&mut self, file: usize, told: &mut dyn Told) -> Result<(), String>;

    /// Renames a file, and replaces another one.
    fn rename(&mut self, from: &str, to: &str, told: &mut dyn Told) -> Result<(), String>;

    /// Removes a file or an empty folder.
    fn remove(&mut self, path: &str, told: &mut dyn Told) -> Result<(), String>;

    /// Makes a folder; false if the firmware has none.
    fn mkdir(&mut self, path: &str, told: &mut dyn Told) -> Result<bool, String>;

    /// Names in a folder.
    fn list(&mut self, folder: &str, told: &mut dyn Told) -> Result<Vec<String>, String>;

    /// Loads the firmware anew and mounts it on its chip.
    fn mount_again(&mut self, told: &mut dyn Told) -> Result<(), String>;

    /// Bytes of memory, if the firmware tells them.
    fn ram(&self) -> Option<u64>;
}

/// Nobody hears of a mount that only asks for sizes.
#[derive(Debug)]
pub struct Unheard;

impl Told for Unheard {
    fn command(&mut self, _: &Command) {}

    fn now(&mut self) -> Time {
        0
    }
}

/// Loads firmware.
pub trait Host: Send + Sync {
    /// Loads a block firmware and mounts it on an erased chip.
    ///
    /// # Errors
    /// The reason in a sentence without its subject, such as `has no nl_block`.
    fn open(&self, about: &About<'_>, told: &mut dyn Told) -> Result<Box<dyn Block>, String>;

    /// Loads a file firmware and mounts it on an erased chip.
    ///
    /// # Errors
    /// As [`Self::open`].
    fn open_files(&self, about: &About<'_>, told: &mut dyn Told) -> Result<Box<dyn Files>, String>;
}

static HOST: OnceLock<&'static dyn Host> = OnceLock::new();

/// Makes `host` the one that loads firmware in this program; the first one stays.
pub fn set_host(host: &'static dyn Host) {
    // Two are not wanted, and a second call is no error.
    let _ = HOST.set(host);
}

/// Loads a block firmware and mounts it on an erased chip.
///
/// # Errors
/// As [`Host::open`], and if nobody loads firmware here.
pub fn open(about: &About<'_>, told: &mut dyn Told) -> Result<Box<dyn Block>, String> {
    host()?.open(about, told)
}

/// Loads a file firmware and mounts it on an erased chip.
///
/// # Errors
/// As [`open`].
pub fn open_files(about: &About<'_>, told: &mut dyn Told) -> Result<Box<dyn Files>, String> {
    host()?.open_files(about, told)
}

fn host() -> Result<&'static dyn Host, String> {
    HOST.get().copied().ok_or_else(|| "is firmware in C, and nobody loads it here".to_owned())
}
