//! Addresses and the geometry that relates them.
//!
//! A device is channels x dies x planes x blocks x pages. Blocks are numbered die by die and, within a die,
//! plane by plane, so the blocks of one die form one range; pages are numbered block by block. Any count may be
//! odd: only the page size must be a power of two.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Host sector size in bytes.
pub const SECTOR_BYTES: u32 = 512;

macro_rules! address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// "No such address": never a valid one.
            pub const NONE: Self = Self(u32::MAX);

            /// The address as an index into a table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// True for an address, false for [`Self::NONE`].
            #[inline]
            pub const fn is_some(self) -> bool {
                self.0 != u32::MAX
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

address!(
    /// Logical page number: a host address, in pages.
    Lpn
);
address!(
    /// Physical page address: block x pages per block + page.
    Ppa
);
address!(
    /// Erase block number.
    BlockId
);

/// Program sequence number of a device. The flash stores 48 bits, enough for one program per microsecond for
/// nine years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// One bit per 512-byte sector in a page, bit 0 first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SectorMask(pub u64);

impl SectorMask {
    /// Most sectors in one mask; pages are at most 32 KiB.
    pub const MAX_SECTORS: u32 = 64;

    /// The first `sectors` sectors.
    #[inline]
    pub const fn full(sectors: u32) -> Self {
        Self(if sectors >= 64 { u64::MAX } else { (1 << sectors) - 1 })
    }

    /// `count` sectors from sector `first` on.
    #[inline]
    pub const fn run(first: u32, count: u32) -> Self {
        Self(Self::full(count).0 << first)
    }

    /// Whether sector `sector` is in the mask.
    #[inline]
    pub const fn has(self, sector: u32) -> bool {
        self.0 >> sector & 1 == 1
    }

    /// Sector count.
    #[inline]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether no sector is in the mask.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The sectors, ascending.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..64).filter(move |&s| self.has(s))
    }
}

/// Division by a number fixed at run time, as one multiplication.
///
/// Exact for every 32-bit dividend: 2^64 / by rounded down, times n + 1 in place of n, errs by less than 2^-32
/// and so by less than 1 / by (the form of Lemire, Kaser & Kurz, "Faster remainder by direct computation",
/// 2019, rounds up and leaves out by = 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Divider {
    by: u32,
    reciprocal: u64,
}

impl Divider {
    const fn new(by: u32) -> Self {
        Self { by, reciprocal: u64::MAX / by as u64 }
    }

    #[inline]
    const fn div(self, n: u32) -> u32 {
        ((self.reciprocal as u128 * (n as u128 + 1)) >> 64) as u32
    }
}

/// A geometry's counts; see [`Geometry::new`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Channels; each is a separate bus.
    pub channels: u32,
    /// Dies (ways) on each channel.
    pub dies_per_channel: u32,
    /// Planes per die.
    pub planes_per_die: u32,
    /// Erase blocks per plane.
    pub blocks_per_plane: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Page size in bytes, without the spare area.
    pub page_bytes: u32,
    /// Spare area per page, in bytes, at least 16; or 0 if `page_bytes` or the transfer time includes it. It adds to the bytes
    /// on the bus, and the metadata is stored either way.
    pub spare_bytes: u32,
}

/// An impossible shape. The sentence names the value and the reason.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key} = {value} cannot work: {why}")]
pub struct GeometryError {
    /// The key at fault, in its profile spelling.
    pub key: &'static str,
    /// The given value.
    pub value: u64,
    /// Why it is impossible.
    pub why: String,
}

/// A checked [`Shape`] with precomputed divisions for the hot paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    shape: Shape,
    blocks: u32,
    pages: u32,
    sectors_per_page: u32,
    full: SectorMask,
    per_block: Divider,
    per_die: Divider,
    per_plane: Divider,
}

impl Geometry {
    /// Fewest pages per block: the page after a torn page must be in the same block.
    pub const MIN_PAGES_PER_BLOCK: u32 = 2;
    /// Most pages per block: a valid-page count has 14 bits beside the flag for an open block, and the two
    /// largest such words mark a free or a bad block (the FTLs' `BlockTable`).
    pub const MAX_PAGES_PER_BLOCK: u32 = 16_381;
    /// Most planes per channel: each may hold a place among every other one's transfers.
    pub const MAX_PLANES_PER_CHANNEL: u32 = 1024;
    /// Spare-area bytes for a page's metadata.
    pub const MIN_SPARE_BYTES: u32 = 16;

    /// Checks `shape`.
    ///
    /// # Errors
    /// A zero count; a page size other than a power of two from 512 B to 32 KiB; a block outside
    /// [`Self::MIN_PAGES_PER_BLOCK`]..=[`Self::MAX_PAGES_PER_BLOCK`] pages; a spare area under 16 bytes; more
    /// pages than a 32-bit address can name; more than [`Self::MAX_PLANES_PER_CHANNEL`] planes on a channel.
    pub fn new(shape: Shape) -> Result<Self, GeometryError> {
        let refuse = |key, value: u32, why: &str| Err(GeometryError { key, value: value.into(), why: why.into() });
        for (key, value) in [
            ("channels", shape.channels),
            ("dies_per_channel", shape.dies_per_channel),
            ("planes_per_die", shape.planes_per_die),
            ("blocks_per_plane", shape.blocks_per_plane),
        ] {
            if value == 0 {
                return refuse(key, value, "a device has at least one");
            }
        }
        if !shape.page_bytes.is_power_of_two() || shape.page_bytes < SECTOR_BYTES {
            return refuse(
                "page_bytes",
                shape.page_bytes,
                "a page is a power of two and holds at least one 512-byte sector",
            );
        }
        if shape.page_bytes / SECTOR_BYTES > SectorMask::MAX_SECTORS {
            return refuse(
                "page_bytes",
                shape.page_bytes,
                "a page holds at most 64 sectors (32 KiB), one bit of a sector mask each",
            );
        }
        if !(Self::MIN_PAGES_PER_BLOCK..=Self::MAX_PAGES_PER_BLOCK).contains(&shape.pages_per_block) {
            return refuse("pages_per_block", shape.pages_per_block, "a block has 2 to 16,381 pages");
        }
        if shape.spare_bytes > 0 && shape.spare_bytes < Self::MIN_SPARE_BYTES {
            return refuse(
                "spare_bytes",
                shape.spare_bytes,
                "the metadata of a page takes 16 bytes of its spare area; 0 if page_bytes or the transfer time includes it",
            );
        }
        let dies = u64::from(shape.channels) * u64::from(shape.dies_per_channel);
        let planes = dies.saturating_mul(shape.planes_per_die.into());
        let blocks = planes.saturating_mul(shape.blocks_per_plane.into());
        let pages = blocks.saturating_mul(shape.pages_per_block.into());
        if pages >= u64::from(u32::MAX) {
            let why = format!("{pages} pages in all are more than a 32-bit page address can name ({})", u32::MAX - 1);
            return Err(GeometryError { key: "blocks_per_plane", value: shape.blocks_per_plane.into(), why });
        }
        let on_channel = planes / u64::from(shape.channels);
        if on_channel > Self::MAX_PLANES_PER_CHANNEL.into() {
            let why = format!(
                "with {} to a die it puts {on_channel} planes on a channel, which takes at most {}",
                shape.planes_per_die,
                Self::MAX_PLANES_PER_CHANNEL
            );
            return refuse("dies_per_channel", shape.dies_per_channel, &why);
        }
        Ok(Self {
            shape,
            blocks: blocks as u32,
            pages: pages as u32,
            sectors_per_page: shape.page_bytes / SECTOR_BYTES,
            full: SectorMask::full(shape.page_bytes / SECTOR_BYTES),
            per_block: Divider::new(shape.pages_per_block),
            per_die: Divider::new(shape.planes_per_die * shape.blocks_per_plane),
            per_plane: Divider::new(shape.blocks_per_plane),
        })
    }

    /// A single die with one plane, for tests and for devices without parallelism; 64 spare bytes.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn single_die(blocks: u32, pages_per_block: u32, page_bytes: u32) -> Result<Self, GeometryError> {
        Self::new(Shape {
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: blocks,
            pages_per_block,
            page_bytes,
            spare_bytes: 64,
        })
    }

    /// Two dies of one plane that work at the same time, each on a channel of its own, for tests; 64 spare bytes.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn two_dies(blocks_each: u32, pages_per_block: u32, page_bytes: u32) -> Result<Self, GeometryError> {
        let one = Self::single_die(blocks_each, pages_per_block, page_bytes)?;
        Self::new(Shape { channels: 2, ..one.shape })
    }

    /// The geometry's counts.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Erase blocks in the device.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Pages in the device.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Pages per block.
    #[inline]
    pub fn pages_per_block(&self) -> u32 {
        self.shape.pages_per_block
    }

    /// 512-byte sectors per page.
    #[inline]
    pub fn sectors_per_page(&self) -> u32 {
        self.sectors_per_page
    }

    /// Page size in bytes.
    #[inline]
    pub fn page_bytes(&self) -> u32 {
        self.shape.page_bytes
    }

    /// A mask with all sectors in a page.
    #[inline]
    pub fn full_mask(&self) -> SectorMask {
        self.full
    }

    /// Dies in the device.
    #[inline]
    pub fn dies(&self) -> u32 {
        self.shape.channels * self.shape.dies_per_channel
    }

    /// Planes in the device.
    #[inline]
    pub fn planes(&self) -> u32 {
        self.dies() * self.shape.planes_per_die
    }

    /// Blocks per die.
    #[inline]
    pub fn blocks_per_die(&self) -> u32 {
        self.per_die.by
    }

    /// The same device with each plane as a separate die: blocks and pages keep their numbers.
    #[must_use]
    pub fn planes_as_dies(&self) -> Self {
        let dies_per_channel = self.shape.dies_per_channel * self.shape.planes_per_die;
        let shape = Shape { dies_per_channel, planes_per_die: 1, ..self.shape };
        Self { shape, per_die: self.per_plane, ..*self }
    }

    /// The page's block.
    #[inline]
    pub fn block_of(&self, page: Ppa) -> BlockId {
        BlockId(self.per_block.div(page.0))
    }

    /// The page's position in its block, from 0.
    #[inline]
    pub fn page_in_block(&self, page: Ppa) -> u32 {
        page.0 - self.per_block.div(page.0) * self.shape.pages_per_block
    }

    /// The page at position `page` in `block`.
    #[inline]
    pub fn page(&self, block: BlockId, page: u32) -> Ppa {
        Ppa(block.0 * self.shape.pages_per_block + page)
    }

    /// The block's die.
    #[inline]
    pub fn die_of(&self, block: BlockId) -> u32 {
        self.per_die.div(block.0)
    }

    /// The block's plane, counted over the whole device.
    #[inline]
    pub fn plane_of(&self, block: BlockId) -> u32 {
        self.per_plane.div(block.0)
    }

    /// The die's channel. Neighbouring dies are on different channels, so striping over dies spreads the bus
    /// load.
    #[inline]
    pub fn channel_of_die(&self, die: u32) -> u32 {
        die % self.shape.channels
    }

    /// The die's blocks, as block numbers.
    #[inline]
    pub fn blocks_of_die(&self, die: u32) -> std::ops::Range<u32> {
        die * self.per_die.by..(die + 1) * self.per_die.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_exact_at_the_edges() {
        for by in [1, 2, 3, 4, 7, 127, 128, 1152, 16_381, 65_537, u32::MAX] {
            let d = Divider::new(by);
            for n in [0, 1, by - 1, by, by.saturating_add(1), by.saturating_mul(3), u32::MAX - 1, u32::MAX] {
                assert_eq!(d.div(n), n / by, "{n} / {by}");
            }
        }
    }

    #[test]
    fn odd_geometry_addresses_round_trip() {
        let shape = Shape {
            channels: 3,
            dies_per_channel: 1,
            planes_per_die: 2,
            blocks_per_plane: 5,
            pages_per_block: 7,
            page_bytes: 2048,
            spare_bytes: 64,
        };
        let g = Geometry::new(shape).unwrap();
        assert_eq!((g.blocks(), g.pages(), g.dies(), g.planes()), (30, 210, 3, 6));
        for ppa in (0..g.pages()).map(Ppa) {
            let block = g.block_of(ppa);
            assert_eq!(g.page(block, g.page_in_block(ppa)), ppa);
            assert!(g.blocks_of_die(g.die_of(block)).contains(&block.0));
            assert_eq!(g.plane_of(block) / 2, g.die_of(block));
        }
    }

    #[test]
    fn impossible_shapes_are_refused_with_the_value() {
        let ok = *Geometry::single_die(8, 4, 512).unwrap().shape();
        type Spoil = fn(&mut Shape);
        let cases: [(&str, Spoil); 9] = [
            ("channels = 0", |s| s.channels = 0),
            ("blocks_per_plane = 0", |s| s.blocks_per_plane = 0),
            ("page_bytes = 3000", |s| s.page_bytes = 3000),
            ("page_bytes = 256", |s| s.page_bytes = 256),
            ("page_bytes = 65536", |s| s.page_bytes = 65_536),
            ("pages_per_block = 1", |s| s.pages_per_block = 1),
            ("pages_per_block = 16382 cannot work: a block has 2 to 16,381 pages", |s| s.pages_per_block = 16_382),
            ("pages_per_block = 20000", |s| s.pages_per_block = 20_000),
            ("spare_bytes = 8", |s| s.spare_bytes = 8),
        ];
        for (what, spoil) in cases {
            let mut shape = ok;
            spoil(&mut shape);
            let error = Geometry::new(shape).unwrap_err().to_string();
            assert!(error.starts_with(what), "{error}");
        }
        assert!(Geometry::new(Shape { spare_bytes: 0, ..ok }).is_ok());
        let huge = Shape { blocks_per_plane: 1 << 30, pages_per_block: 64, ..ok };
        // It has 2^64 planes, and a wrapping product would be zero.
        let wrapping = Shape { channels: 1 << 31, dies_per_channel: 1 << 31, planes_per_die: 4, ..ok };
        for shape in [huge, wrapping] {
            assert!(Geometry::new(shape).unwrap_err().to_string().contains("32-bit"));
        }
        let crowded = |dies_per_channel| Geometry::new(Shape { dies_per_channel, planes_per_die: 4, ..ok });
        assert_eq!(
            crowded(60_000).unwrap_err().to_string(),
            "dies_per_channel = 60000 cannot work: with 4 to a die it puts 240000 planes on a channel, which takes at most 1024"
        );
        assert!(crowded(257).is_err() && crowded(256).is_ok());
    }

    #[test]
    fn masks() {
        assert_eq!(SectorMask::full(64).0, u64::MAX);
        assert_eq!(SectorMask::full(8).count(), 8);
        assert_eq!(SectorMask::run(2, 3).iter().collect::<Vec<_>>(), [2, 3, 4]);
    }
}
