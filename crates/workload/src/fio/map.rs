//! A file's blocks with random requests so far.

/// Blocks in a word.
const BITS: u64 = 64;

/// A bit per block, set once a request came to it. A level above has a bit per word of the level below, set once the
/// word is full, so that the next free block is found in a few steps.
#[derive(Clone, Debug)]
pub(super) struct Map {
    blocks: u64,
    /// From the blocks up.
    levels: Vec<Vec<u64>>,
}

impl Map {
    pub(super) fn new(blocks: u64) -> Self {
        let mut map = Self { blocks, levels: Vec::new() };
        let mut bits = blocks;
        loop {
            let words = bits.div_ceil(BITS).max(1);
            map.levels.push(vec![0; words as usize]);
            if words == 1 {
                map.clear();
                return map;
            }
            bits = words;
        }
    }

    /// No request came to any block.
    pub(super) fn clear(&mut self) {
        let mut bits = self.blocks;
        for level in &mut self.levels {
            level.fill(0);
            // Nothing behind the end is free.
            if bits % BITS != 0 || bits == 0 {
                let last = level.len() - 1;
                level[last] = u64::MAX << (bits % BITS);
            }
            bits = bits.div_ceil(BITS).max(1);
        }
    }

    pub(super) fn is_used(&self, block: u64) -> bool {
        self.levels[0].get((block / BITS) as usize).is_none_or(|word| word >> (block % BITS) & 1 == 1)
    }

    /// The first free block behind `block`, and behind the end from the first one on; `None` if all are used.
    pub(super) fn next_free(&self, block: u64) -> Option<u64> {
        self.free_from(block + 1).or_else(|| self.free_from(0))
    }

    /// The first free block from `block` on.
    fn free_from(&self, block: u64) -> Option<u64> {
        let mut at = block;
        let mut height = 0;
        // Up to a word with a free bit, then down to the block.
        loop {
            let level = self.levels.get(height)?;
            let free = level.get((at / BITS) as usize).map_or(0, |word| !word & u64::MAX << (at % BITS));
            if free == 0 {
                at = at / BITS + 1;
                height += 1;
                continue;
            }
            at = at / BITS * BITS + u64::from(free.trailing_zeros());
            if height == 0 {
                return Some(at);
            }
            (at, height) = (at * BITS, height - 1);
        }
    }

    /// Uses up to `count` blocks from `block` on, as far as they are free. How many these are.
    pub(super) fn take(&mut self, block: u64, count: u64) -> u64 {
        let taken = (0..count).take_while(|&at| !self.is_used(block + at)).count() as u64;
        for at in block..block + taken {
            self.take_one(at);
        }
        taken
    }

    fn take_one(&mut self, block: u64) {
        let mut at = block;
        for level in &mut self.levels {
            let word = &mut level[(at / BITS) as usize];
            *word |= 1 << (at % BITS);
            if *word != u64::MAX {
                return;
            }
            at /= BITS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Map;
    use std::collections::BTreeSet;

    #[test]
    fn the_next_free_block_is_that_of_a_list() {
        for blocks in [1, 63, 64, 65, 4096, 4097, 5000] {
            let mut map = Map::new(blocks);
            let mut free: BTreeSet<u64> = (0..blocks).collect();
            let mut draw = 1u64;
            while !free.is_empty() {
                draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let block = (draw >> 33) % blocks;
                let next = free.range(block + 1..).next().or(free.first()).copied();
                assert_eq!(map.next_free(block), next);
                let at = if map.is_used(block) { next.unwrap() } else { block };
                let wanted = 1 + (draw >> 20) % 9;
                let expected = (at..at + wanted).take_while(|at| free.remove(at)).count() as u64;
                assert_eq!(map.take(at, wanted), expected);
            }
            assert_eq!((map.next_free(0), map.is_used(0)), (None, true));
            map.clear();
            assert_eq!(map.next_free(blocks - 1), Some(0));
        }
    }
}
