//! Finds a disk's contents without a mount, for a device that its FTL refuses.
//!
//! Every FTL writes host data in one of two forms, and numbers its programs. A page of kind [`Kind::Data`] holds the logical
//! page in its spare area. A page of kind [`Kind::Sectors`] holds sectors of any logical pages, listed in its tail. So one
//! search serves all FTLs: for each sector, the copy with the highest number counts.
//!
//! An FTL's other rules are left out. Trims, maps and cut merges are ignored, so a trimmed sector may hold older data, and a
//! sector may hold a write behind the last flush.

use crate::parts::merge_buffer::DEAD;
use crate::parts::sectored::LOST;
use nandlab_nand::{BlockId, Geometry, Kind, Lpn, Nand, NandError, Oob, PageBuf, Ppa, SECTOR_BYTES};

/// A sector's newest copy.
#[derive(Clone, Copy)]
struct Copy {
    /// Number of the program; 0 without a copy.
    seq: u64,
    page: Ppa,
    /// The sector's place in the page.
    place: u16,
    /// Whether the FTL wrote the page in place of contents that were lost.
    is_lost: bool,
}

impl Copy {
    const NONE: Self = Self { seq: 0, page: Ppa::NONE, place: 0, is_lost: false };
}

/// What the search could not use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unused {
    /// Blocks that are bad, or count as bad since their record is damaged.
    pub blocks: u64,
    /// Pages without a readable spare area or list: nobody knows what they hold.
    pub pages: u64,
}

/// A device whose newest copies are known, without an FTL.
pub struct Rescue<N: Nand> {
    nand: N,
    geometry: Geometry,
    /// By logical sector.
    copies: Vec<Copy>,
    unused: Unused,
    page: N::Buf,
    /// The page in `page`, and whether it could be read.
    held: Option<(Ppa, bool)>,
}

impl<N: Nand> Rescue<N> {
    /// Searches `nand` for the contents of a disk with `logical_pages` pages.
    ///
    /// # Errors
    /// [`NandError`] other than bit errors.
    pub fn search(nand: N, logical_pages: u32) -> Result<Self, NandError> {
        let geometry = *nand.geometry();
        let sectors = logical_pages as usize * geometry.sectors_per_page() as usize;
        let page = N::Buf::zeroed(geometry.page_bytes());
        let copies = vec![Copy::NONE; sectors];
        let mut rescue = Self { nand, geometry, copies, unused: Unused::default(), page, held: None };
        for block in (0..geometry.blocks()).map(BlockId) {
            rescue.search_block(block)?;
        }
        Ok(rescue)
    }

    /// Sectors on the disk.
    pub fn sectors(&self) -> u64 {
        self.copies.len() as u64
    }

    /// What the search could not use.
    pub fn unused(&self) -> Unused {
        self.unused
    }

    fn search_block(&mut self, block: BlockId) -> Result<(), NandError> {
        for place in 0..self.geometry.pages_per_block() {
            let at = self.geometry.page(block, place);
            match self.nand.read_spare(at) {
                Ok(None) => {}
                Ok(Some(oob)) => self.add(at, oob)?,
                Err(NandError::BadBlock(_)) => {
                    self.unused.blocks += 1;
                    break;
                }
                Err(NandError::Uncorrectable(_)) => self.unused.pages += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Adds a page's copies, unless a power cut may have torn it.
    fn add(&mut self, at: Ppa, oob: Oob) -> Result<(), NandError> {
        let holds_data = matches!(oob.kind, Kind::Data | Kind::Lost | Kind::Sectors);
        if !holds_data || !(self.nand.is_settled(at) || self.is_readable(at)?) {
            return Ok(());
        }
        let Some(sectors) = self.sectors_of(at, oob)? else {
            self.unused.pages += 1;
            return Ok(());
        };
        let is_lost = oob.kind == Kind::Lost || oob.kind == Kind::Sectors && oob.aux & LOST != 0;
        for (place, sector) in (0..).zip(sectors) {
            if let Some(copy) = self.copies.get_mut(sector as usize).filter(|copy| copy.seq < oob.seq.0) {
                *copy = Copy { seq: oob.seq.0, page: at, place, is_lost };
            }
        }
        Ok(())
    }

    /// The logical sectors in a page, in order; [`DEAD`] for none. `None` if their list is unreadable.
    fn sectors_of(&mut self, at: Ppa, oob: Oob) -> Result<Option<Vec<u32>>, NandError> {
        let per_page = self.geometry.sectors_per_page();
        if oob.kind != Kind::Sectors {
            let Lpn(page) = oob.lpn;
            let first = page.checked_mul(per_page).unwrap_or(DEAD - per_page);
            return Ok(Some((first..first + per_page).collect()));
        }
        let mut list = vec![0; 4 * (per_page - 1).max(1) as usize];
        match self.nand.read_tail(at, &mut list) {
            Ok(_) => {}
            Err(NandError::Uncorrectable(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
        let sectors = list.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")));
        Ok(Some(sectors.collect()))
    }

    fn is_readable(&mut self, at: Ppa) -> Result<bool, NandError> {
        if let Some((_, is_readable)) = self.held.filter(|&(page, _)| page == at) {
            return Ok(is_readable);
        }
        let is_readable = match self.nand.read(at, &mut self.page) {
            Ok(_) => true,
            Err(NandError::Uncorrectable(_)) => false,
            Err(error) => return Err(error),
        };
        self.held = Some((at, is_readable));
        Ok(is_readable)
    }

    /// Reads the newest copy of a sector into `bytes`, as many as a sector has; zeros without one.
    ///
    /// # Errors
    /// [`NandError::Uncorrectable`] if the copy is damaged or was lost; others as of the device.
    ///
    /// # Panics
    /// If the disk has no such sector.
    pub fn read(&mut self, sector: u64, bytes: &mut [u8]) -> Result<(), NandError> {
        let Copy { seq, page, place, is_lost } = self.copies[sector as usize];
        bytes.fill(0);
        if seq == 0 {
            return Ok(());
        }
        if is_lost || !self.is_readable(page)? {
            return Err(NandError::Uncorrectable(page));
        }
        if let Some(held) = self.page.bytes() {
            bytes.copy_from_slice(&held[usize::from(place) * SECTOR_BYTES as usize..][..bytes.len()]);
        }
        Ok(())
    }
}
