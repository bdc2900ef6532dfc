//! Memory sizes: configured in bytes, used in whole pages or blocks.

use crate::MountError;
use nandlab_block::ByteCount;
use nandlab_nand::Geometry;

/// A memory's allocation unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Page,
    Block,
}

impl Unit {
    fn bytes(self, geometry: &Geometry) -> u64 {
        match self {
            Self::Page => geometry.page_bytes().into(),
            Self::Block => u64::from(geometry.page_bytes()) * u64::from(geometry.pages_per_block()),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Block => "block",
        }
    }
}

/// Slots are 32-bit numbers, and some values are reserved.
const MOST_PAGES: u32 = u32::MAX / 4;

/// One buffer memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Its key in the buffer's table.
    pub key: &'static str,
    pub bytes: ByteCount,
    pub unit: Unit,
}

impl Size {
    /// Whole units.
    ///
    /// # Errors
    /// If there is none, or too many for 32 bits.
    pub(crate) fn units(&self, geometry: &Geometry) -> Result<u32, MountError> {
        let (key, unit, each) = (self.key, self.unit.name(), self.unit.bytes(geometry));
        let units = self.bytes.0 / each;
        if units == 0 {
            let (has, needs) = (self.bytes, ByteCount(each));
            let message = format!("{key} = \"{has}\" holds no {unit}: set at least \"{needs}\"");
            return Err(MountError::Config(message));
        }
        u32::try_from(units).ok().filter(|&units| units < MOST_PAGES).ok_or_else(|| self.too_many())
    }

    /// Pages in whole units.
    ///
    /// # Errors
    /// As [`Self::units`].
    pub(crate) fn pages(&self, geometry: &Geometry) -> Result<u32, MountError> {
        let each = match self.unit {
            Unit::Page => 1,
            Unit::Block => geometry.pages_per_block(),
        };
        let pages = self.units(geometry)?.checked_mul(each).filter(|&pages| pages < MOST_PAGES);
        pages.ok_or_else(|| self.too_many())
    }

    fn too_many(&self) -> MountError {
        MountError::Config(format!("{} = \"{}\" is more than a buffer can have", self.key, self.bytes))
    }

    /// A notice if the size was rounded down.
    pub(crate) fn notice(&self, geometry: &Geometry) -> Option<String> {
        let each = self.unit.bytes(geometry);
        let rounded = self.bytes.0 / each * each;
        (rounded != self.bytes.0 && rounded > 0).then(|| {
            format!(
                "{} = \"{}\" is rounded down to {} {}s, {}",
                self.key,
                self.bytes.rounded(),
                rounded / each,
                self.unit.name(),
                ByteCount(rounded).rounded()
            )
        })
    }
}

/// A fifth of `bytes` for DRAM and the rest for NVRAM, each at least one unit.
pub(crate) fn one_to_four(bytes: u64, geometry: &Geometry, nvram: Unit) -> (ByteCount, ByteCount) {
    let dram = (bytes / 5).max(Unit::Page.bytes(geometry));
    (ByteCount(dram), ByteCount((bytes - bytes / 5).max(nvram.bytes(geometry))))
}

/// [`crate::Options`] methods for a buffer with `size` in DRAM pages.
macro_rules! one_memory {
    ($key:literal) => {
        fn memories(&self) -> Vec<$crate::parts::sizes::Size> {
            use $crate::parts::sizes::{Size, Unit};
            vec![Size { key: concat!("buffer.", $key, ".size"), bytes: self.size, unit: Unit::Page }]
        }

        fn sized(&self, bytes: u64, _: &nandlab_nand::Geometry) -> Self {
            Self { size: nandlab_block::ByteCount(bytes), ..self.clone() }
        }
    };
}

/// Options for a page buffer without other options: `one_memory_config!(Config for "lru", true, "write_only")`
/// caches reads by default; the last name is for the variant with the opposite setting.
macro_rules! one_memory_config {
    ($Config:ident for $key:literal, $cache_reads:literal, $variant:literal) => {
        #[doc = concat!("Options of `[buffer.", $key, "]`.")]
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $Config {
            /// Buffer size; rounded down to whole pages.
            pub size: nandlab_block::ByteCount,
            /// Whether to cache pages on reads.
            pub cache_reads: bool,
        }

        impl Default for $Config {
            fn default() -> Self {
                Self { size: $crate::DEFAULT_SIZE, cache_reads: $cache_reads }
            }
        }

        impl $crate::Options for $Config {
            $crate::parts::sizes::one_memory!($key);

            fn variants(&self) -> Vec<(&'static str, Self)> {
                vec![($variant, Self { cache_reads: !$cache_reads, ..self.clone() })]
            }
        }
    };
}

/// [`crate::Options`] methods for a buffer with `dram` in pages, and `nvram` in pages or blocks.
macro_rules! two_memories {
    ($key:literal, $unit:ident) => {
        fn memories(&self) -> Vec<$crate::parts::sizes::Size> {
            use $crate::parts::sizes::{Size, Unit};
            vec![
                Size { key: concat!("buffer.", $key, ".dram"), bytes: self.dram, unit: Unit::Page },
                Size { key: concat!("buffer.", $key, ".nvram"), bytes: self.nvram, unit: Unit::$unit },
            ]
        }

        fn sized(&self, bytes: u64, geometry: &Geometry) -> Self {
            use $crate::parts::sizes::{one_to_four, Unit};
            let (dram, nvram) = one_to_four(bytes, geometry, Unit::$unit);
            Self { dram, nvram, ..self.clone() }
        }
    };
}

pub(crate) use {one_memory, one_memory_config, two_memories};
