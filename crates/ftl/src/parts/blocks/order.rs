//! The closing order of the blocks in a die, or in a part of it.

use nandlab_nand::tables::zeroed;
use nandlab_nand::{BlockId, Geometry};

/// One or several block lists per die, linked through the blocks: any block leaves at once.
#[derive(Clone, Debug)]
pub(super) struct ClosingOrder {
    links: Vec<Link>,
    /// The position of the list ends, behind the blocks' links.
    ends: usize,
}

/// The block before, and the one after. An array of numbers, because the allocator makes those of zeros without touching them.
type Link = [u32; 2];
const BEFORE: usize = 0;
const AFTER: usize = 1;

impl ClosingOrder {
    /// `lists` lists without a closed block.
    pub(super) fn new(geometry: &Geometry, lists: u32) -> Self {
        let blocks = geometry.blocks();
        // A closed block's link is set when it is closed, so the blocks' links are never read before.
        let mut links = zeroed((blocks + lists) as usize);
        (blocks..blocks + lists).for_each(|end| links[end as usize] = [end; 2]);
        Self { links, ends: blocks as usize }
    }

    /// Adds `block` as the last one closed.
    pub(super) fn push(&mut self, list: u32, block: BlockId) {
        let end = self.ends + list as usize;
        let last = self.links[end][BEFORE];
        self.links[block.index()] = [last, end as u32];
        self.links[last as usize][AFTER] = block.0;
        self.links[end][BEFORE] = block.0;
    }

    /// Removes `block`.
    pub(super) fn remove(&mut self, block: BlockId) {
        let [before, after] = self.links[block.index()];
        self.links[before as usize][AFTER] = after;
        self.links[after as usize][BEFORE] = before;
    }

    /// A list's closed blocks in closing order.
    pub(super) fn iter(&self, list: u32) -> impl Iterator<Item = BlockId> + '_ {
        let end = (self.ends + list as usize) as u32;
        let next = move |at: &u32| Some(self.links[*at as usize][AFTER]).filter(|&after| after != end);
        std::iter::successors(next(&end), next).map(BlockId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stand_in_the_order_in_which_they_came() {
        let mut order = ClosingOrder::new(&Geometry::two_dies(4, 4, 512).unwrap(), 2);
        let of = |order: &ClosingOrder, die| order.iter(die).map(|block| block.0).collect::<Vec<_>>();
        assert_eq!((of(&order, 0), of(&order, 1)), (vec![], vec![]));
        [(0, 3), (1, 5), (0, 1), (0, 2), (1, 7)].into_iter().for_each(|(die, block)| order.push(die, BlockId(block)));
        assert_eq!((of(&order, 0), of(&order, 1)), (vec![3, 1, 2], vec![5, 7]));
        order.remove(BlockId(1));
        order.push(0, BlockId(1));
        order.remove(BlockId(3));
        order.remove(BlockId(5));
        order.remove(BlockId(7));
        assert_eq!((of(&order, 0), of(&order, 1)), (vec![2, 1], vec![]));
    }
}
