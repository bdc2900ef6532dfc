//! Recovers a map from flash.

use super::{FlashMap, Shape};
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::scan::{MapForm, Scans};
use crate::FtlError;
use nandlab_nand::{BlockId, Geometry, Nand, NandError, Ppa};

/// A map page on flash.
#[derive(Clone, Copy, Debug)]
struct Copy {
    page: u32,
    /// Time of its write, and whether its block is being filled: of two moves of one page, this selects the
    /// later one.
    age: (u64, bool),
    is_lost: bool,
    at: Ppa,
}

/// A map found by a mount: the directory, and the time described by each map page.
#[derive(Debug)]
pub(crate) struct FoundMap {
    /// By map page, then the newest first.
    copies: Vec<Copy>,
    /// Whether nothing was ever written.
    is_blank: bool,
    shape: Shape,
}

impl FoundMap {
    /// Finds the map pages in the scans.
    pub(crate) fn new(geometry: &Geometry, shape: Shape, scans: &Scans) -> Self {
        let mut copies = Vec::new();
        for (block, scan) in (0..).map(BlockId).zip(scans).filter_map(|(block, scan)| Some((block, scan.as_ref()?))) {
            copies.extend(scan.map_pages().map(|page| Copy {
                page: page.oob.lpn.0,
                age: (page.oob.seq.0, scan.is_open(geometry)),
                is_lost: page.oob.aux & MapForm::LOST != 0,
                at: geometry.page(block, page.place),
            }));
        }
        copies.sort_by_key(|copy| (copy.page, std::cmp::Reverse((copy.age, copy.at))));
        Self { copies, is_blank: scans.are_untouched(), shape }
    }

    /// Reads every map page and passes it to `each` with the time it describes, a sequence number; a
    /// never-written or lost map page has none. On a device where nothing was ever written it passes none. Afterwards the map equals the pages passed to `each`, and its
    /// blocks and valid pages are set.
    ///
    /// # Errors
    /// [`FtlError::Nand`], and errors of `each`.
    pub(crate) fn read<N: Nand>(
        &self,
        nand: &mut N,
        mut each: impl FnMut(u32, Option<(u64, &[u8])>),
    ) -> Result<FlashMap, FtlError> {
        let geometry = *nand.geometry();
        let mut map = FlashMap::new(&geometry, self.shape);
        let mut bytes = vec![0; geometry.page_bytes() as usize];
        let mut copies = &self.copies[..];
        for page in 0..if self.is_blank { 0 } else { self.shape.pages } {
            let (mine, rest) = copies.split_at(copies.partition_point(|copy| copy.page <= page));
            copies = rest;
            let mut speaks = None;
            for copy in mine {
                match nand.read_tail(copy.at, &mut bytes) {
                    Ok(_) => {}
                    // An earlier copy tells less, but nothing wrong.
                    Err(NandError::Uncorrectable(_)) => continue,
                    Err(error) => return Err(error.into()),
                }
                map.directory[page as usize] = copy.at;
                speaks = Some(copy).filter(|copy| !copy.is_lost);
                break;
            }
            each(page, speaks.map(|copy| (copy.age.0, &bytes[..])));
        }
        let mut valid: Vec<Ppa> = map.directory.iter().copied().filter(|at| at.is_some()).collect();
        valid.sort_unstable();
        for at in valid {
            let block = geometry.block_of(at);
            if !map.area.has(block) {
                map.area.found(block);
            }
            map.area.set_valid(at);
        }
        Ok(map)
    }
}

impl FlashMap {
    /// Closes the blocks found by a mount, after the keeper has its free blocks, and releases blocks
    /// above the quota.
    ///
    /// # Errors
    /// [`FtlError::WornOut`], [`FtlError::Nand`].
    pub(crate) fn close_found<N: Nand>(
        &mut self,
        nand: &mut N,
        keeper: &mut Keeper,
        scans: &Scans,
    ) -> Result<(), FtlError> {
        self.area.close_found(scans);
        if self.area.blocks() > self.quota {
            self.shrink(nand, keeper, 0)?;
        }
        Ok(())
    }
}
