//! Record formats, and their encoding in the header.

use super::deltas::Deltas;
use super::fixed::Fixed;
use super::layout::{number, short, Layout, COMMON_BYTES};
use super::slotted::Slotted;
use super::LINK_BYTES;
use crate::pool::{self, META_BYTES};
use crate::IndexError;

/// Options of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The buffer pool.
    pub pool: pool::Config,
    /// Records and how a page holds them.
    pub records: Records,
}

/// Records and how a page holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Records {
    /// Keys of one size and values of one size, in a sorted array.
    Fixed(FixedRecords),
    /// Keys and values of any size, behind a directory of slots.
    Slotted,
    /// Keys and values of any size; changes are appended to the page and folded on read.
    Deltas,
}

/// Records of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FixedRecords {
    /// Bytes of a key, at least 1.
    pub key_bytes: u16,
    /// Bytes of a value.
    pub value_bytes: u16,
    /// Bytes of a page before its first record, 8 to 64. The tree itself needs 8, for the kind of the page, the
    /// number of records and the next leaf; more stands for what a database keeps there. Of one paper: btree.
    pub header_bytes: u8,
}

impl Default for FixedRecords {
    fn default() -> Self {
        Self { key_bytes: 4, value_bytes: 4, header_bytes: COMMON_BYTES as u8 }
    }
}

impl Default for Records {
    fn default() -> Self {
        Self::Fixed(FixedRecords::default())
    }
}

impl Config {
    /// Checks the options without a device.
    ///
    /// # Errors
    /// [`IndexError::Option`].
    pub fn check(&self) -> Result<(), IndexError> {
        self.pool.check()?;
        let Records::Fixed(fixed) = self.records else { return Ok(()) };
        if !(COMMON_BYTES as u8..=64).contains(&fixed.header_bytes) {
            return Err(IndexError::option(
                "header_bytes",
                &fixed.header_bytes,
                "a page has a header of 8 to 64 bytes",
            ));
        }
        if fixed.key_bytes == 0 {
            return Err(IndexError::option("key_bytes", &0, "a key has at least one byte"));
        }
        let room = self.pool.page_bytes as usize - usize::from(fixed.header_bytes);
        let record = usize::from(fixed.key_bytes) + usize::from(fixed.value_bytes).max(LINK_BYTES);
        if record * 4 > room {
            let why =
                format!("four records, in inner pages with links of 4 bytes, must fit into {room} bytes of a page");
            return Err(IndexError::option("value_bytes", &fixed.value_bytes, why));
        }
        Ok(())
    }

    /// Whether pages take records with keys `key` bytes long and values `value` bytes long.
    ///
    /// # Errors
    /// [`IndexError::Option`].
    pub(crate) fn check_sizes(&self, key: usize, value: usize) -> Result<(), IndexError> {
        let (leaf, inner) = self.records.layouts(self.pool.page_bytes as usize);
        self.records.check_record(&*leaf, &*inner, key, value).map_err(|error| match error {
            IndexError::Length { allowed, .. } => IndexError::option(
                "value_bytes",
                &value,
                format!("in a page of {} bytes {allowed}", self.pool.page_bytes),
            ),
            other => other,
        })
    }
}

impl Records {
    /// The layouts for leaves and inner pages.
    pub(super) fn layouts(self, page: usize) -> (Box<dyn Layout>, Box<dyn Layout>) {
        match self {
            Self::Fixed(FixedRecords { key_bytes, value_bytes, header_bytes }) => {
                let (key, header) = (key_bytes.into(), header_bytes.into());
                let fixed = |value| Box::new(Fixed::new(page, header, key, value));
                (fixed(value_bytes.into()), fixed(LINK_BYTES))
            }
            Self::Slotted => (Box::new(Slotted::new(page)), Box::new(Slotted::new(page))),
            Self::Deltas => (Box::new(Deltas::new(page)), Box::new(Slotted::new(page))),
        }
    }

    /// The lowest possible key.
    pub(super) fn lowest_key(self) -> Vec<u8> {
        match self {
            Self::Fixed(fixed) => vec![0; fixed.key_bytes.into()],
            Self::Slotted | Self::Deltas => Vec::new(),
        }
    }

    /// Whether four such records fit into a page: then a full page splits into two with room for the new record.
    #[inline]
    pub(super) fn check_record(
        self,
        leaf: &dyn Layout,
        inner: &dyn Layout,
        key: usize,
        value: usize,
    ) -> Result<(), IndexError> {
        if matches!(self, Self::Fixed(_)) {
            return Ok(());
        }
        let most = leaf.room() / 4;
        if leaf.cost(key, value).max(inner.cost(key, LINK_BYTES)) > most {
            let overhead = leaf.cost(0, 0);
            let allowed = format!(
                "key and value have at most {} bytes together, the key at most {}, so that four fit into a page",
                most - overhead,
                most - overhead - LINK_BYTES
            );
            return Err(IndexError::Length { what: "record", bytes: key + value, allowed });
        }
        Ok(())
    }

    pub(super) fn check_key(self, key: &[u8]) -> Result<(), IndexError> {
        match self {
            Self::Fixed(fixed) => exactly("key", key, fixed.key_bytes),
            Self::Slotted | Self::Deltas => Ok(()),
        }
    }

    pub(super) fn check_value(self, value: &[u8]) -> Result<(), IndexError> {
        match self {
            Self::Fixed(fixed) => exactly("value", value, fixed.value_bytes),
            Self::Slotted | Self::Deltas => Ok(()),
        }
    }
}

#[inline]
fn exactly(what: &'static str, given: &[u8], bytes: u16) -> Result<(), IndexError> {
    if given.len() == usize::from(bytes) {
        return Ok(());
    }
    Err(IndexError::Length { what, bytes: given.len(), allowed: format!("this index takes {bytes} bytes exactly") })
}

/// The tree's fields in the header.
pub(super) struct Meta {
    pub(super) root: u32,
    pub(super) levels: u8,
    pub(super) records: u64,
    pub(super) free: u32,
    pub(super) free_pages: u32,
    pub(super) records_as: Records,
}

impl Meta {
    pub(super) fn encode(&self) -> [u8; META_BYTES] {
        let mut meta = [0; META_BYTES];
        meta[0..4].copy_from_slice(&self.root.to_le_bytes());
        meta[4..8].copy_from_slice(&self.free.to_le_bytes());
        meta[8..12].copy_from_slice(&self.free_pages.to_le_bytes());
        meta[12..20].copy_from_slice(&self.records.to_le_bytes());
        meta[20] = self.levels;
        meta[21] = match self.records_as {
            Records::Fixed(fixed) => {
                meta[22..24].copy_from_slice(&fixed.key_bytes.to_le_bytes());
                meta[24..26].copy_from_slice(&fixed.value_bytes.to_le_bytes());
                meta[26] = fixed.header_bytes;
                1
            }
            Records::Slotted => 2,
            Records::Deltas => 3,
        };
        meta
    }

    pub(super) fn decode(meta: &[u8; META_BYTES]) -> Option<Self> {
        let records_as = match meta[21] {
            1 => Records::Fixed(FixedRecords {
                key_bytes: short(meta, 22),
                value_bytes: short(meta, 24),
                header_bytes: meta[26],
            }),
            2 => Records::Slotted,
            3 => Records::Deltas,
            _ => return None,
        };
        Some(Self {
            root: number(meta, 0),
            free: number(meta, 4),
            free_pages: number(meta, 8),
            records: u64::from(number(meta, 12)) | u64::from(number(meta, 16)) << 32,
            levels: meta[20],
            records_as,
        })
    }
}
