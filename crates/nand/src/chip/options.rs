//! Numbers of a chip beside shape, rules, times and faults; and its counts.

/// Properties of a chip that only a firmware sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Wrong bits in a page, flipped by [`super::Chip::flip_bits`], that the chip corrects. Default 8.
    pub ecc_bits: u32,
    /// Whether a program may be lost by a cut before the next fence. Default false: the firmware waits for each program.
    pub cached_programs: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { ecc_bits: 8, cached_programs: false }
    }
}

/// Operations and bytes so far. Failed and cut operations count, refused ones do not. C sees this table as `nl_counts`, so the
/// order of its fields is fixed.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Reads of data.
    pub reads: u64,
    /// Reads of a spare area alone.
    pub spare_reads: u64,
    /// Programs of data, in whole or in part.
    pub programs: u64,
    /// Programs of a spare area alone, bad-block marks included.
    pub spare_programs: u64,
    /// Copies.
    pub copies: u64,
    /// Erases.
    pub erases: u64,
    /// Bytes moved from the chip.
    pub read_bytes: u64,
    /// Bytes moved to the chip.
    pub programmed_bytes: u64,
    /// Bits corrected by the chip, counted again at every read.
    pub corrected_bits: u64,
}
