//! Whether another file system was made on a disk, told from what is written to its first bytes.

use crate::volume::{identity, IDENTITY_BYTES};

const SECTOR: usize = nandlab_nand::SECTOR_BYTES as usize;
const SECTORS: u64 = (IDENTITY_BYTES / SECTOR) as u64;

/// The first bytes of a disk as programs wrote them, and the file system whose regions are in use.
pub(crate) struct Followed {
    first: [u8; IDENTITY_BYTES],
    is_changed: bool,
    known: Option<Vec<u8>>,
}

impl Followed {
    /// Follows a disk that begins with `first`, whose regions were just looked for.
    pub(crate) fn new(first: [u8; IDENTITY_BYTES]) -> Self {
        Self { first, is_changed: false, known: identity(&first) }
    }

    /// Takes whole sectors that were written.
    pub(crate) fn write(&mut self, sector: u64, data: &[u8]) {
        if sector < SECTORS {
            let at = sector as usize * SECTOR;
            let bytes = data.len().min(IDENTITY_BYTES - at);
            self.first[at..at + bytes].copy_from_slice(&data[..bytes]);
            self.is_changed = true;
        }
    }

    /// Takes sectors that were trimmed. They may keep their contents, which a look at the disk tells.
    pub(crate) fn trim(&mut self, sector: u64, sectors: u64) {
        if sector < SECTORS {
            let end = sector.saturating_add(sectors).min(SECTORS);
            self.first[sector as usize * SECTOR..end as usize * SECTOR].fill(0);
            self.is_changed = true;
        }
    }

    /// Whether another file system is there since the last time that this was asked.
    pub(crate) fn is_another(&mut self) -> bool {
        std::mem::take(&mut self.is_changed) && identity(&self.first) != self.known
    }
}
