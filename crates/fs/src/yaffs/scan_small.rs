//! The `yaffs1` scan: every spare area, in block order.

use super::blocks::State;
use super::mount::{Copy, Found, Scan, Shadow};
use super::objects::Owner;
use super::Yaffs;
use crate::parts::tags::Tags;
use crate::FsError;
use nandlab_nand::{BlockId, Kind, Nand, Origin, Ppa};
use std::collections::BTreeMap;

/// Pages found by the scan.
#[derive(Default)]
struct Pages {
    /// All copies of each object's chunks.
    copies: BTreeMap<(u32, u32), Vec<Copy>>,
    /// Void pages whose tags do not show it.
    void: Vec<Copy>,
}

/// The newest copies, the shadowing objects, and the older copies.
type Newest = (Scan, Vec<Shadow>, Vec<Copy>);

impl<N: Nand> Yaffs<N> {
    /// Reads all spare areas in used blocks and rebuilds the tables.
    pub(super) fn scan_small(&mut self) -> Result<(), FsError> {
        let blocks = self.geometry.blocks();
        let mut pages = Pages::default();
        let mut looks_erased = vec![false; blocks as usize];
        let (mut used, mut void) = (Vec::new(), Vec::new());
        for block in (0..blocks).map(BlockId) {
            let first = self.look(self.geometry.page(block, 0))?;
            let second = self.look(self.geometry.page(block, 1))?;
            match (first, second) {
                (None, _) | (_, None) => self.blocks.set_state(block, State::Bad),
                // Pages are programmed in order, so pages behind an erased one are remains of a cut erase.
                (Some(Found::Erased), _) => looks_erased[block.index()] = true,
                _ => match self.scan_block(block, &mut pages)? {
                    Some(programmed) => used.push((block, programmed)),
                    // No page is readable: the block must be erased before its next use.
                    None => void.push(block),
                },
            }
        }
        let in_use = !used.is_empty() || !void.is_empty();
        for block in void {
            self.blocks.set_state(block, State::Empty { erased: false });
        }
        for block in (0..blocks).map(BlockId).filter(|block| looks_erased[block.index()]) {
            self.blocks.set_state(block, State::Empty { erased: !in_use });
        }
        for &(block, programmed) in &used {
            let resume = self.blocks.open.is_none();
            self.set_used(block, programmed, resume);
        }
        if in_use {
            let newest = self.blocks.open.map(|(block, _)| block).or(used.last().map(|&(block, _)| block));
            self.choose_first_block(newest, &looks_erased);
        }
        let (scan, shadows, mut void) = self.newest_copies(pages)?;
        void.extend(self.adopt_scan(scan)?);
        for copy in void {
            let origin = if copy.tags.chunk == 0 { Origin::OBJECT_HEADER } else { Origin::FILE_DATA };
            self.mark(copy.at, copy.tags, origin)?;
            self.owners[copy.at.index()] = Owner::NONE;
        }
        self.settle(shadows)
    }

    /// Reads a block's spare areas; returns the programmed page count. `None` if no page is
    /// readable, after a failed program or a cut erase.
    fn scan_block(&mut self, block: BlockId, pages: &mut Pages) -> Result<Option<u32>, FsError> {
        let mut last = None;
        let (mut programmed, mut is_readable) = (0, false);
        for page in 0..self.geometry.pages_per_block() {
            let at = self.geometry.page(block, page);
            let Some(found) = self.look(at)? else { continue };
            is_readable |= matches!(found, Found::Page(_));
            last = match found {
                Found::Erased => break,
                Found::Page(oob) if matches!(oob.kind, Kind::Data | Kind::Header | Kind::Lost) => {
                    let tags = Tags::from_oob(true, &oob);
                    let copy = Copy { at, tags, lost: oob.kind == Kind::Lost };
                    pages.copies.entry((tags.object, tags.chunk)).or_default().push(copy);
                    Some(copy)
                }
                _ => None,
            };
            programmed = page + 1;
        }
        // The page being programmed at a power cut is the last one in its block.
        if let Some(copy) = last {
            if !self.is_readable(copy.at)? {
                pages.copies.entry((copy.tags.object, copy.tags.chunk)).or_default().pop();
                pages.void.push(copy);
            }
        }
        Ok(is_readable.then_some(programmed))
    }

    /// Separates the newest copies from the older ones.
    fn newest_copies(&mut self, pages: Pages) -> Result<Newest, FsError> {
        let Pages { copies, mut void } = pages;
        let (mut scan, mut shadows) = (Scan::new(), Vec::new());
        for ((object, chunk), mut copies) in copies {
            // A newer copy's serial number is higher by one.
            copies.sort_by_key(|copy| copy.at);
            if let [a, b] = copies[..] {
                if a.tags.serial == (b.tags.serial + 1) & 3 {
                    copies.swap(0, 1);
                }
            }
            let traces = scan.entry(object).or_default();
            let Some(copy) = copies.pop() else { continue };
            void.extend(copies);
            if chunk > 0 {
                traces.chunks.insert(chunk, copy);
            } else if let Some(header) = self.load_header(copy.at)? {
                if header.shadows != 0 {
                    shadows.push(Shadow::of(object, &header));
                }
                traces.header = Some((copy, header));
            } else {
                traces.is_headless = true;
                void.push(copy);
            }
        }
        Ok((scan, shadows, void))
    }

    /// A block's pages.
    pub(super) fn pages_of(&self, block: BlockId) -> impl Iterator<Item = Ppa> {
        let first = self.geometry.page(block, 0).0;
        (first..first + self.geometry.pages_per_block()).map(Ppa)
    }
}
