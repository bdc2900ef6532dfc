//! What every index can do, for whoever plays operations on one.

use crate::{btree, lsm, IndexConfig, IndexError};
use nandlab_block::BlockDevice;
use nandlab_nand::Time;

/// Records in ascending order, for a bulk load.
pub type Records<'r> = &'r mut dyn Iterator<Item = (Vec<u8>, Vec<u8>)>;

/// An ordered map on a device.
pub trait Index {
    /// Loads records in ascending order into an empty index; pages are filled to `fill` where they can change later.
    ///
    /// # Errors
    /// [`IndexError::BulkLoad`], and as [`Self::put`].
    fn bulk_load(&mut self, records: Records<'_>, fill: f64) -> Result<(), IndexError>;

    /// Adds a record; `false`, and no change, if the key exists.
    ///
    /// # Errors
    /// As [`Self::put`].
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError>;

    /// Changes a key's value; `false`, and no change, if the key is missing.
    ///
    /// # Errors
    /// As [`Self::put`].
    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError>;

    /// Sets a key's value, whether it existed or not.
    ///
    /// # Errors
    /// [`IndexError`], of any kind but those of opening.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), IndexError>;

    /// Deletes a record; whether it existed, if the index looks.
    ///
    /// # Errors
    /// As [`Self::put`].
    fn delete(&mut self, key: &[u8]) -> Result<Option<bool>, IndexError>;

    /// Whether there is a record, by reading its value.
    ///
    /// # Errors
    /// As [`Self::put`].
    fn contains(&mut self, key: &[u8]) -> Result<bool, IndexError>;

    /// Reads records from `from` on while `goes_on` says so; returns how many.
    ///
    /// # Errors
    /// As [`Self::put`].
    fn scan(&mut self, from: &[u8], goes_on: &mut dyn FnMut(u64) -> bool) -> Result<u64, IndexError>;

    /// Makes everything so far survive a power cut.
    ///
    /// # Errors
    /// As [`Self::put`].
    fn flush(&mut self) -> Result<(), IndexError>;

    /// The time after the last request.
    fn now(&self) -> Time;

    /// Bytes written to the device.
    fn written_bytes(&self) -> u64;
}

/// Counts records until none is left or `goes_on` says no to the count.
fn count_while(
    goes_on: &mut dyn FnMut(u64) -> bool,
    mut next: impl FnMut() -> Result<bool, IndexError>,
) -> Result<u64, IndexError> {
    let mut read = 0;
    while goes_on(read) && next()? {
        read += 1;
    }
    Ok(read)
}

impl Index for btree::Tree<'_> {
    fn bulk_load(&mut self, records: Records<'_>, fill: f64) -> Result<(), IndexError> {
        Self::bulk_load(self, records, fill)
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Self::insert(self, key, value)
    }

    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Self::update(self, key, value)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), IndexError> {
        Self::put(self, key, value).map(drop)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Option<bool>, IndexError> {
        Self::delete(self, key).map(Some)
    }

    fn contains(&mut self, key: &[u8]) -> Result<bool, IndexError> {
        self.get_with(key, |value| value.is_some())
    }

    fn scan(&mut self, from: &[u8], goes_on: &mut dyn FnMut(u64) -> bool) -> Result<u64, IndexError> {
        let mut cursor = self.range(Some(from), None)?;
        count_while(goes_on, || cursor.next().map(|record| record.is_some()))
    }

    fn flush(&mut self) -> Result<(), IndexError> {
        Self::flush(self)
    }

    fn now(&self) -> Time {
        self.pool().now()
    }

    fn written_bytes(&self) -> u64 {
        self.stats().written_sectors * u64::from(nandlab_nand::SECTOR_BYTES)
    }
}

/// An insert and an update read first whether the key exists; a put and a delete do not.
impl Index for lsm::Tree<'_> {
    fn bulk_load(&mut self, records: Records<'_>, _fill: f64) -> Result<(), IndexError> {
        Self::bulk_load(self, records)
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        let is_new = self.get(key)?.is_none();
        if is_new {
            Self::put(self, key, value)?;
        }
        Ok(is_new)
    }

    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        let is_there = self.get(key)?.is_some();
        if is_there {
            Self::put(self, key, value)?;
        }
        Ok(is_there)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), IndexError> {
        Self::put(self, key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Option<bool>, IndexError> {
        Self::delete(self, key).map(|()| None)
    }

    fn contains(&mut self, key: &[u8]) -> Result<bool, IndexError> {
        Ok(self.get(key)?.is_some())
    }

    fn scan(&mut self, from: &[u8], goes_on: &mut dyn FnMut(u64) -> bool) -> Result<u64, IndexError> {
        let mut cursor = self.range(Some(from), None)?;
        count_while(goes_on, || cursor.next().map(|record| record.is_some()))
    }

    fn flush(&mut self) -> Result<(), IndexError> {
        Self::flush(self)
    }

    fn now(&self) -> Time {
        Self::now(self)
    }

    fn written_bytes(&self) -> u64 {
        self.stats().written_bytes()
    }
}

/// An index of one kind or another.
#[derive(Debug)]
pub enum AnyIndex<'d> {
    /// A B+tree.
    Btree(Box<btree::Tree<'d>>),
    /// An LSM tree.
    Lsm(Box<lsm::Tree<'d>>),
}

impl<'d> AnyIndex<'d> {
    /// An empty index on a device whose contents are given up.
    ///
    /// # Errors
    /// As [`btree::Tree::create`] and [`lsm::Tree::create`].
    pub fn create(device: &'d mut dyn BlockDevice, config: &IndexConfig) -> Result<Self, IndexError> {
        Ok(match config {
            IndexConfig::Btree(options) => Self::Btree(Box::new(btree::Tree::create(device, &options.config())?)),
            IndexConfig::Lsm(options) => Self::Lsm(Box::new(lsm::Tree::create(device, &options.config())?)),
        })
    }

    /// The index on the device.
    ///
    /// # Errors
    /// As [`btree::Tree::open`] and [`lsm::Tree::open`].
    pub fn open(device: &'d mut dyn BlockDevice, config: &IndexConfig) -> Result<Self, IndexError> {
        Ok(match config {
            IndexConfig::Btree(options) => Self::Btree(Box::new(btree::Tree::open(device, &options.config().pool)?)),
            IndexConfig::Lsm(options) => Self::Lsm(Box::new(lsm::Tree::open(device, &options.config())?)),
        })
    }

    /// What every index can do.
    pub fn as_dyn(&mut self) -> &mut (dyn Index + 'd) {
        match self {
            Self::Btree(tree) => &mut **tree,
            Self::Lsm(tree) => &mut **tree,
        }
    }
}
