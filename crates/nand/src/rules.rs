//! Flash rules asserted by a device.

use crate::address::{BlockId, Geometry, Ppa};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Program order within a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgramOrder {
    /// Any page at any time (small-page SLC).
    Any,
    /// Ascending, with gaps allowed; a skipped page reads as erased until the erase (MLC).
    #[default]
    Ascending,
    /// Ascending without gaps (3D NAND).
    AscendingDense,
}

/// A chip's rules for its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Program order inside a block.
    pub program_order: ProgramOrder,
    /// Programs per page between erases, the first included, 1 to 255; 1: no spare-only programs.
    #[serde(deserialize_with = "at_least_once")]
    pub partial_programs: u8,
    /// P/E cycles guaranteed by the data sheet.
    pub endurance: u32,
    /// Bits per cell. With more than one, a block may hold one bit a cell instead ([`crate::Nand::set_slc`]),
    /// and then has 1 / `bits_per_cell` of its pages.
    #[serde(default = "one", deserialize_with = "some_bits", skip_serializing_if = "is_one")]
    pub bits_per_cell: u8,
    /// On a chip of two bits a cell: pages from the lower page of a pair to its upper page, which share their cells. A power cut
    /// during the program of the upper page destroys the lower one. 0: the chip has no such pairs, or programs them together.
    ///
    /// Measured chips have distances of 4 and 6 (Grupp et al., "Characterizing flash memory", MICRO 2009). Here a chip has one
    /// distance d: of each 2 d pages of a block the first d are lower ones.
    #[serde(default, skip_serializing_if = "is_none")]
    pub pair_distance: u8,
    /// Whether a power cut during a program may leave a page that reads well at one time and fails later. A mount on such a chip
    /// repeats failing reads, and writes the youngest pages again before it answers, under the cause `mount`.
    ///
    /// Source: the UBIFS FAQ of Linux MTD, "unstable bits".
    #[serde(default, skip_serializing_if = "is_false")]
    pub unstable_pages: bool,
}

impl Rules {
    /// Most bits per cell.
    pub const MOST_BITS_PER_CELL: u8 = 5;

    /// Pages of a block with one bit a cell; none if the chip has no such blocks, or if its blocks are too
    /// small.
    pub fn slc_pages(&self, geometry: &Geometry) -> u32 {
        if self.bits_per_cell > 1 {
            geometry.pages_per_block() / u32::from(self.bits_per_cell)
        } else {
            0
        }
    }

    /// The lower page of the pair with the upper page `at`, in a block of two bits a cell; `None` if `at` is no upper page.
    pub fn lower_of(&self, geometry: &Geometry, at: Ppa) -> Option<Ppa> {
        let distance = u32::from(self.pair_distance);
        let is_upper = distance > 0 && geometry.page_in_block(at) % (2 * distance) >= distance;
        is_upper.then(|| Ppa(at.0 - distance))
    }

    /// The upper page of the pair with the lower page `at`; `None` if `at` is no lower page, or its block ends before.
    pub fn upper_of(&self, geometry: &Geometry, at: Ppa) -> Option<Ppa> {
        let (distance, page) = (u32::from(self.pair_distance), geometry.page_in_block(at));
        let is_lower = distance > 0 && page % (2 * distance) < distance;
        (is_lower && page + distance < geometry.pages_per_block()).then(|| Ppa(at.0 + distance))
    }
}

fn one() -> u8 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none(distance: &u8) -> bool {
    *distance == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_one(bits: &u8) -> bool {
    *bits == 1
}

/// Checked here, so the error names its line.
fn some_bits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    let bits = u8::deserialize(deserializer)?;
    if (1..=Rules::MOST_BITS_PER_CELL).contains(&bits) {
        Ok(bits)
    } else {
        Err(D::Error::custom(format!("{bits} cannot work: a cell holds 1 to {} bits", Rules::MOST_BITS_PER_CELL)))
    }
}

/// Checked here, so the error names its line.
fn at_least_once<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    match u8::deserialize(deserializer)? {
        0 => Err(D::Error::custom(
            "0 cannot work: a page is programmed at least once, and at most 255 times, between erases",
        )),
        programs => Ok(programs),
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            program_order: ProgramOrder::Ascending,
            partial_programs: 1,
            endurance: 100_000,
            bits_per_cell: 1,
            pair_distance: 0,
            unstable_pages: false,
        }
    }
}

/// Block state for the rules: the programmed extent, and the bad mark.
#[derive(Clone, Debug)]
pub(crate) struct BlockStates {
    /// Only pages below this one may be programmed already; [`RETIRED`] in a bad block.
    high_water: Vec<u16>,
    order: ProgramOrder,
}

const RETIRED: u16 = u16::MAX;

impl BlockStates {
    pub(crate) fn new(geometry: &Geometry, order: ProgramOrder) -> Self {
        Self { high_water: vec![0; geometry.blocks() as usize], order }
    }

    /// Whether no block was programmed since its erase or is bad.
    pub(crate) fn are_all_erased(&self) -> bool {
        self.high_water.iter().all(|&pages| pages == 0)
    }

    /// Whether no block holds a page programmed since its erase, bad ones aside.
    pub(crate) fn are_erased_or_bad(&self) -> bool {
        self.high_water.iter().all(|&pages| pages == 0 || pages == RETIRED)
    }

    pub(crate) fn is_bad(&self, block: BlockId) -> bool {
        self.high_water[block.index()] == RETIRED
    }

    /// Pages in `block` that may be programmed already.
    #[inline]
    pub(crate) fn high_water(&self, block: BlockId) -> u32 {
        match self.high_water[block.index()] {
            RETIRED => 0,
            pages => pages.into(),
        }
    }

    /// Records the program of `page` in `block`; returns the skipped pages below it.
    ///
    /// # Panics
    /// If the chip would refuse: a bad block, a descending program, a gap on a chip without gaps.
    #[inline]
    pub(crate) fn program(&mut self, block: BlockId, page: u32) -> std::ops::Range<u32> {
        let state = &mut self.high_water[block.index()];
        let next = u32::from(*state);
        // One compare covers the usual case: the next page of the block.
        if page != next {
            Self::refuse(self.order, block, page, next);
        }
        *state = (*state).max(page as u16 + 1);
        next.min(page)..page
    }

    /// Records programs for `count` pages in `block` from `first`, the next page.
    ///
    /// # Panics
    /// If the block is bad.
    #[inline]
    pub(crate) fn program_run(&mut self, block: BlockId, first: u32, count: u32) {
        if count > 0 {
            self.program(block, first);
            self.high_water[block.index()] = (first + count) as u16;
        }
    }

    #[cold]
    fn refuse(order: ProgramOrder, block: BlockId, page: u32, next: u32) {
        assert!(next != u32::from(RETIRED), "program of page {page} in block {block}: the block is bad");
        match order {
            ProgramOrder::Any => {}
            ProgramOrder::Ascending => {
                assert!(
                    page > next,
                    "program of page {page} in block {block}: descending, pages below {next} are spent"
                );
            }
            ProgramOrder::AscendingDense => {
                panic!("program of page {page} in block {block}: this chip programs without gaps, page {next} is next");
            }
        }
    }

    pub(crate) fn erase(&mut self, block: BlockId) {
        assert!(!self.is_bad(block), "erase of block {block}: the block is bad");
        self.high_water[block.index()] = 0;
    }

    pub(crate) fn retire(&mut self, block: BlockId) {
        self.high_water[block.index()] = RETIRED;
    }
}

/// Panics with a sentence if `at` is outside the device.
#[inline]
pub(crate) fn assert_in_range(geometry: &Geometry, at: Ppa) {
    assert!(at.0 < geometry.pages(), "page {at} is outside the device of {} pages", geometry.pages());
}

/// Panics with a sentence if `block` is outside the device.
#[inline]
pub(crate) fn assert_block_in_range(geometry: &Geometry, block: BlockId) {
    assert!(block.0 < geometry.blocks(), "block {block} is outside the device of {} blocks", geometry.blocks());
}
