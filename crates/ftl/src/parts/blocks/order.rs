//! The closing order of the blocks in a die, or in a part of it.

use nandlab_nand::{BlockId, Geometry};

/// One or several block lists per die, linked through the blocks: any block leaves at once.
#[derive(Clone, Debug)]
pub(super) struct ClosingOrder {
    links: Vec<Link>,
    /// The position of the list ends, behind the blocks' links.
    ends: usize,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

impl ClosingOrder {
    /// `lists` lists without a closed block.
    pub(super) fn new(geometry: &Geometry, lists: u32) -> Self {
        let blocks = geometry.blocks();
        let links = (0..blocks + lists).map(|at| Link { before: at, after: at }).collect();
        Self { links, ends: blocks as usize }
    }

    /// Adds `block` as the last one closed.
    pub(super) fn push(&mut self, list: u32, block: BlockId) {
        let end = self.ends + list as usize;
        let last = self.links[end].before;
        self.links[block.index()] = Link { before: last, after: end as u32 };
        self.links[last as usize].after = block.0;
        self.links[end].before = block.0;
    }

    /// Removes `block`.
    pub(super) fn remove(&mut self, block: BlockId) {
        let Link { before, after } = self.links[block.index()];
        self.links[before as usize].after = after;
        self.links[after as usize].before = before;
        self.links[block.index()] = Link { before: block.0, after: block.0 };
    }

    /// A list's closed blocks in closing order.
    pub(super) fn iter(&self, list: u32) -> impl Iterator<Item = BlockId> + '_ {
        let end = (self.ends + list as usize) as u32;
        let next = move |at: &u32| Some(self.links[*at as usize].after).filter(|&after| after != end);
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
