//! Some blocks of each plane as a device of their own.

use crate::as_inside;
use crate::{BlockId, Ctx, Done, Geometry, Nand, NandError, Oob, Ppa, Raw};

/// Which blocks of each plane belong to a section.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The section's own geometry: as the device's, with fewer blocks a plane.
    geometry: Geometry,
    /// The device's blocks a plane.
    of_plane: u32,
    /// The section's first block in each plane.
    first: u32,
}

impl Span {
    /// `blocks` blocks of each plane of a device, from the block `first` on.
    ///
    /// # Panics
    /// If a plane has no such blocks, or the section has none.
    pub fn new(device: &Geometry, first: u32, blocks: u32) -> Self {
        let (of_plane, shape) = (device.shape().blocks_per_plane, *device.shape());
        assert!(first + blocks <= of_plane, "blocks {first} to {} of {of_plane} a plane", first + blocks);
        let geometry = Geometry::new(crate::Shape { blocks_per_plane: blocks, ..shape });
        Self { geometry: geometry.expect("a smaller device is one, too"), of_plane, first }
    }

    /// The section's geometry.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The device's number of a section's block.
    #[inline]
    pub fn block(&self, block: BlockId) -> BlockId {
        if self.is_whole() {
            return block;
        }
        // Blocks before the section's in its own plane, and those around it in the planes before.
        let around = self.of_plane - self.geometry.shape().blocks_per_plane;
        BlockId(block.0 + self.geometry.plane_of(block) * around + self.first)
    }

    /// The section's number of a block of the device; `None` if it lies outside.
    pub fn block_inside(&self, block: BlockId) -> Option<BlockId> {
        let (plane, blocks) = (block.0 / self.of_plane, self.geometry.shape().blocks_per_plane);
        let place = (block.0 % self.of_plane).checked_sub(self.first).filter(|&place| place < blocks)?;
        Some(BlockId(plane * blocks + place))
    }

    #[inline]
    fn page(&self, at: Ppa) -> Ppa {
        if self.is_whole() {
            return at;
        }
        let block = self.geometry.block_of(at);
        Ppa(at.0 + (self.block(block).0 - block.0) * self.geometry.pages_per_block())
    }

    #[inline]
    fn is_whole(&self) -> bool {
        self.of_plane == self.geometry.shape().blocks_per_plane
    }

    #[cold]
    fn error(&self, error: NandError) -> NandError {
        let of = self.geometry.pages_per_block();
        let inside = |block| self.block_inside(block).expect("an operation fails where it was asked for");
        let page = |at: Ppa| self.geometry.page(inside(BlockId(at.0 / of)), at.0 % of);
        match error {
            NandError::ProgramFailed(at) => NandError::ProgramFailed(page(at)),
            NandError::EraseFailed(block) => NandError::EraseFailed(inside(block)),
            NandError::Uncorrectable(at) => NandError::Uncorrectable(page(at)),
            NandError::BadBlock(block) => NandError::BadBlock(inside(block)),
            NandError::PowerLost => NandError::PowerLost,
        }
    }
}

/// A section of a device: addresses, failures and geometry are the section's, counts and times the device's.
///
/// It moves pages one by one, and makes no operation that only a whole device has.
#[derive(Debug)]
pub struct Section<'a, N> {
    nand: &'a mut N,
    span: &'a Span,
}

impl<'a, N: Nand> Section<'a, N> {
    /// The blocks of `span` on its device.
    #[inline]
    pub fn new(nand: &'a mut N, span: &'a Span) -> Self {
        debug_assert_eq!(span.of_plane, nand.geometry().shape().blocks_per_plane, "the span is of another device");
        Self { nand, span }
    }
}

impl<N: Nand> Nand for Section<'_, N> {
    type Buf = N::Buf;
    as_inside!(nand: rules, is_known_erased);

    #[inline]
    fn geometry(&self) -> &Geometry {
        &self.span.geometry
    }

    #[inline]
    fn keeps_time(&self) -> bool {
        self.nand.keeps_time()
    }

    /// Only a whole device can tell at once.
    fn read_untouched(&mut self) -> bool {
        self.span.is_whole() && self.nand.read_untouched()
    }

    #[inline]
    fn read(&mut self, at: Ppa, page: &mut Self::Buf) -> Result<Oob, NandError> {
        self.nand.read(self.span.page(at), page).map_err(|error| self.span.error(error))
    }

    #[inline]
    fn read_spare(&mut self, at: Ppa) -> Result<Option<Oob>, NandError> {
        self.nand.read_spare(self.span.page(at)).map_err(|error| self.span.error(error))
    }

    #[inline]
    fn program(&mut self, at: Ppa, page: &Self::Buf, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        self.nand.program(self.span.page(at), page, tail, oob).map_err(|error| self.span.error(error))
    }

    #[inline]
    fn read_tail(&mut self, at: Ppa, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.nand.read_tail(self.span.page(at), tail).map_err(|error| self.span.error(error))
    }

    #[inline]
    fn read_with_tail(&mut self, at: Ppa, page: &mut Self::Buf, tail: &mut [u8]) -> Result<Oob, NandError> {
        self.nand.read_with_tail(self.span.page(at), page, tail).map_err(|error| self.span.error(error))
    }

    #[inline]
    fn copy(&mut self, from: Ppa, to: Ppa, oob: Oob) -> Result<Oob, NandError> {
        self.nand.copy(self.span.page(from), self.span.page(to), oob).map_err(|error| self.span.error(error))
    }

    #[inline]
    fn program_spare(&mut self, at: Ppa, oob: Oob) -> Result<Done, NandError> {
        self.nand.program_spare(self.span.page(at), oob).map_err(|error| self.span.error(error))
    }

    #[inline]
    fn erase(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.nand.erase(self.span.block(block)).map_err(|error| self.span.error(error))
    }

    #[inline]
    fn retire(&mut self, block: BlockId) -> Result<Done, NandError> {
        self.nand.retire(self.span.block(block)).map_err(|error| self.span.error(error))
    }

    fn is_settled(&mut self, at: Ppa) -> bool {
        self.nand.is_settled(self.span.page(at))
    }

    fn set_slc(&mut self, block: BlockId, slc: bool) {
        self.nand.set_slc(self.span.block(block), slc);
    }

    fn is_slc(&self, block: BlockId) -> bool {
        self.nand.is_slc(self.span.block(block))
    }

    fn raw(&mut self, at: Ppa, command: Raw) {
        self.nand.raw(self.span.page(at), command);
    }

    #[inline]
    fn ctx(&mut self) -> &mut Ctx {
        self.nand.ctx()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    #[test]
    fn sections_share_a_device_and_no_block() {
        let shape = Shape {
            channels: 2,
            dies_per_channel: 2,
            planes_per_die: 2,
            blocks_per_plane: 5,
            pages_per_block: 3,
            page_bytes: 512,
            spare_bytes: 16,
        };
        let device = Geometry::new(shape).unwrap();
        let mut owners = vec![Vec::new(); device.blocks() as usize];
        for (section, (first, blocks)) in [(0, 2), (2, 3)].into_iter().enumerate() {
            let span = Span::new(&device, first, blocks);
            for block in (0..span.geometry().blocks()).map(BlockId) {
                let there = span.block(block);
                owners[there.index()].push(section);
                assert_eq!(span.block_inside(there), Some(block));
                assert_eq!(device.die_of(there), span.geometry().die_of(block));
                assert_eq!(device.plane_of(there), span.geometry().plane_of(block));
                for page in 0..3 {
                    let (at, inside) = (device.page(there, page), span.geometry().page(block, page));
                    assert_eq!(span.page(inside), at);
                    assert_eq!(span.error(NandError::Uncorrectable(at)), NandError::Uncorrectable(inside));
                }
                assert_eq!(span.error(NandError::EraseFailed(there)), NandError::EraseFailed(block));
            }
        }
        let expected = (0..device.blocks()).map(|block| vec![usize::from(block % 5 >= 2)]).collect::<Vec<_>>();
        assert_eq!(owners, expected);
        let whole = Span::new(&device, 0, 5);
        assert!((0..device.blocks()).all(|block| whole.block(BlockId(block)) == BlockId(block)));
    }
}
