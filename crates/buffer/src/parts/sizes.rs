//! Sizes of memories: bytes as they are written, whole pages or blocks as they are used.

use crate::MountError;
use nandlab_block::ByteCount;
use nandlab_nand::Geometry;

/// What a memory is divided into.
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

/// One memory of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// The key in the table of the buffer.
    pub key: &'static str,
    pub bytes: ByteCount,
    pub unit: Unit,
}

impl Size {
    /// Whole units.
    ///
    /// # Errors
    /// Where there is none, or more than 32 bits count.
    pub(crate) fn units(&self, geometry: &Geometry) -> Result<u32, MountError> {
        let (key, unit, each) = (self.key, self.unit.name(), self.unit.bytes(geometry));
        let units = self.bytes.0 / each;
        if units == 0 {
            let (has, needs) = (self.bytes, ByteCount(each));
            let message = format!("{key} = \"{has}\" holds no {unit}: set at least \"{needs}\"");
            return Err(MountError::Config(message));
        }
        match u32::try_from(units) {
            Ok(units) if units < u32::MAX / 4 => Ok(units),
            _ => Err(MountError::Config(format!("{key} = \"{}\" is more than a buffer can have", self.bytes))),
        }
    }

    /// Says that the size was rounded down, where it was.
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

/// The pages of whole blocks, as a number that slots can have.
pub(crate) fn pages(pages: u64, key: &str) -> Result<u32, MountError> {
    let too_many = || MountError::Config(format!("{key} is more than a buffer can have"));
    u32::try_from(pages).ok().filter(|&pages| pages < u32::MAX / 4).ok_or_else(too_many)
}

/// A fifth of `bytes` for DRAM and the rest for NVRAM, each at least as large as its unit.
pub(crate) fn one_to_four(bytes: u64, geometry: &Geometry, nvram: Unit) -> (ByteCount, ByteCount) {
    let dram = (bytes / 5).max(Unit::Page.bytes(geometry));
    (ByteCount(dram), ByteCount((bytes - bytes / 5).max(nvram.bytes(geometry))))
}
