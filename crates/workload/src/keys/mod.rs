//! Index workloads: streams of operations on keys.
//!
//! A key is a number; an index stores it most significant byte first, so byte order is number order ([`KeyOp::bytes`]).
//! Values are up to the index. A new key workload is one file here and one line in the list in `lib.rs`.

pub mod inserts;
pub mod load_update;
pub mod trace;
pub mod ycsb;

use crate::WorkloadError;
use std::path::Path;

/// An operation on a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Add a record as the next of a bulk load: keys ascend, the index is empty before.
    Load,
    /// Add a record, unless the key is there.
    Insert,
    /// Change the value, if the key is there.
    Update,
    /// Add a record or change its value.
    Put,
    /// Return the value.
    Read,
    /// Return the value, then change it.
    ReadModifyWrite,
    /// Return so many records from the key on, in ascending order.
    Scan(u32),
    /// Take the record away.
    Delete,
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KeyOp {
    /// The operation.
    pub action: Action,
    /// The key as a number.
    pub key: u64,
}

impl KeyOp {
    /// The key as `N` bytes, most significant first; longer keys keep their low bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let wide = u128::from(self.key).to_be_bytes();
        std::array::from_fn(|at| wide.get((wide.len() + at).wrapping_sub(N)).copied().unwrap_or(0))
    }
}

/// A stream of operations; it ends after the first error.
pub trait KeyWorkload: Iterator<Item = Result<KeyOp, WorkloadError>> + Send {}

impl<T: Iterator<Item = Result<KeyOp, WorkloadError>> + Send> KeyWorkload for T {}

/// Setting for opening a key workload.
#[derive(Clone, Copy, Debug)]
pub struct KeySetting<'a> {
    /// The experiment's seed.
    pub seed: u64,
    /// Folder for relative paths.
    pub base: &'a Path,
    /// The index's largest key.
    pub largest_key: u64,
}

/// A key workload's options.
pub trait KeyOptions {
    /// Checks the options without files.
    ///
    /// # Errors
    /// [`WorkloadError::Option`] with the key, the given value and the allowed ones.
    fn check(&self) -> Result<(), WorkloadError>;

    /// The workload's largest key; `None` if only its file tells.
    fn largest_key(&self) -> Option<u64>;

    /// Total operations; `None` if only the file tells.
    fn operations(&self) -> Option<u64>;

    /// Its first operations that load the index, those of a bulk load among them.
    fn load(&self) -> u64 {
        0
    }

    /// Makes the stream; the same options and seed make the same stream.
    ///
    /// # Errors
    /// As [`Self::check`]; for traces also errors in the file.
    fn open(&self, setting: &KeySetting<'_>) -> Result<Box<dyn KeyWorkload>, WorkloadError>;
}

/// Fails unless the number is at least 1.
fn at_least_one(key: &str, given: u64, what: &str) -> Result<(), WorkloadError> {
    if given == 0 {
        return Err(WorkloadError::option(key, &given, format!("{what} is at least 1")));
    }
    Ok(())
}

/// Fails for an exponent outside the rank generator's range.
fn check_theta(theta: f64) -> Result<(), WorkloadError> {
    if !(0.0..=10.0).contains(&theta) {
        return Err(WorkloadError::option("theta", &theta, "the exponent is a number from 0 to 10"));
    }
    Ok(())
}

/// Most keys in a generator: they must fit the scattering permutation.
const MOST_KEYS: u64 = 1 << 62;

fn check_keys(key: &str, given: u64) -> Result<(), WorkloadError> {
    at_least_one(key, given, "the number of keys")?;
    if given > MOST_KEYS {
        return Err(WorkloadError::option(key, &given, "at most 2^62 keys can be told apart"));
    }
    Ok(())
}
