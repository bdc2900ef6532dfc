//! NVRAM layout.
//!
//! | bytes | what |
//! |---|---|
//! | 0..32 | superblock: magic and version, blocks, pages per block, bytes per page, objects, nodes |
//! | 48 | the chunk and object whose page is to be copied after a page was programmed in vain |
//! | 64 | allocation: open block, its next page |
//! | 72 | sequence number of the open block; cursor of the search for an empty block |
//! | 80, 88 | sums: empty blocks, pages in use; usable blocks |
//! | 96 | the block that is being erased, plus one |
//! | 104 | the object whose pages are being given up, and from which chunk on |
//! | 112, 120 | the map entry that is being changed; its new and its old page |
//! | 128 | nodes: first free one plus one, first one never used |
//! | 136..1280 | intent record: number of words, then address and word of each |
//! | then | hash buckets, 4 bytes: the first object of each, plus one |
//! | then | objects, 128 bytes each |
//! | then | nodes, 64 bytes: sixteen pages or nodes, plus one |
//! | then | blocks: state, failing, erases; then a bit a page in use |

use crate::parts::tags::CHUNK_BITS;
use nandlab_nand::Geometry;

pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"MiNVfs01");
pub(super) const ANEW: u64 = 48;
pub(super) const ALLOCATION: u64 = 64;
pub(super) const ORDER: u64 = 72;
pub(super) const SUMS: u64 = 80;
pub(super) const USABLE: u64 = 88;
pub(super) const ERASING: u64 = 96;
pub(super) const PENDING: u64 = 104;
pub(super) const LINK: u64 = 112;
pub(super) const NODES: u64 = 128;
pub(super) const INTENT: u64 = 136;
/// Most words in one intent record. The largest change is the first write at the far end of a
/// file with one leaf. Its map grows by a node of each height above the leaf, and the path down from the new
/// root takes a node of each height below it. The change also covers the object's head, root and length, the
/// free node list, the page's bit, the sums and the allocation. Symbolic links change up to 43 words, renames
/// up to 40.
pub(super) const INTENT_WORDS: usize = 2 * (HEIGHT as usize - 1) * (NODE_BYTES as usize / 8) + 7;
const BUCKETS: u64 = INTENT + 8 + INTENT_WORDS as u64 * 16;

/// Bytes per object, and the offsets of its fields. The first half word packs the kind, name length, flags
/// and map height; the other fields follow.
pub(super) const OBJECT_BYTES: u64 = 128;
pub(super) const HEAD: u64 = 0;
pub(super) const PARENT: u64 = 4;
pub(super) const SIZE: u64 = 8;
pub(super) const NEXT: u64 = 16;
pub(super) const ROOT_NODE: u64 = 20;
/// A hard link's file.
pub(super) const EQUIVALENT: u64 = 24;
/// A file's first hard link, or a link's next one, plus one.
pub(super) const LINKS: u64 = 28;
/// Names in a directory, or bytes in a symbolic link's target.
pub(super) const CHILDREN: u64 = 32;
pub(super) const NAME: u64 = 40;
/// Most bytes in a name.
pub(super) const NAME_BYTES: usize = (OBJECT_BYTES - NAME) as usize;

pub(super) const NODE_BYTES: u64 = 64;
/// Entries per node.
pub(super) const FANOUT: u32 = 16;
/// The longest file's map levels.
pub(super) const HEIGHT: u8 = CHUNK_BITS.div_ceil(FANOUT.ilog2()) as u8;
/// Text bytes per symbolic link node, behind the next node's number.
pub(super) const TEXT_BYTES: usize = 60;

/// NVRAM addresses for a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) objects: u32,
    pub(super) nodes: u32,
    pub(super) buckets: u32,
    pub(super) bitmap_words: u64,
    blocks: u64,
}

impl Layout {
    pub(super) fn new(geometry: &Geometry, objects: u32) -> Self {
        let leaves = geometry.pages().div_ceil(FANOUT);
        Self {
            objects,
            // The leaves of full files, the nodes above them, and one partly filled leaf for each file.
            nodes: leaves + leaves.div_ceil(FANOUT - 1) + objects,
            buckets: objects.next_power_of_two(),
            bitmap_words: u64::from(geometry.pages_per_block().div_ceil(64)),
            blocks: geometry.blocks().into(),
        }
    }

    pub(super) fn bucket(&self, hash: u32) -> u64 {
        BUCKETS + u64::from(hash & (self.buckets - 1)) * 4
    }

    pub(super) fn object(&self, number: u32) -> u64 {
        BUCKETS + (u64::from(self.buckets) * 4).next_multiple_of(8) + u64::from(number) * OBJECT_BYTES
    }

    pub(super) fn node(&self, number: u32) -> u64 {
        self.object(self.objects) + u64::from(number) * NODE_BYTES
    }

    pub(super) fn block(&self, block: u32) -> u64 {
        self.node(self.nodes) + u64::from(block) * 8 * (1 + self.bitmap_words)
    }

    /// Total bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.block(self.blocks as u32)
    }

    /// Zeroed ranges in an empty file system.
    pub(super) fn cleared(&self) -> [std::ops::Range<u64>; 3] {
        [64..self.object(0), self.object(0)..self.node(0), self.block(0)..self.bytes()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_intent_record_ends_where_the_table_says() {
        assert_eq!((HEIGHT, INTENT_WORDS, BUCKETS), (5, 71, 1280));
    }

    #[test]
    fn the_device_of_the_paper_needs_less_than_a_megabyte() {
        let geometry = Geometry::single_die(2048, 32, 512).expect("the shape is sound");
        let layout = Layout::new(&geometry, 2048);
        assert!(layout.bytes() < 1 << 20, "{} bytes", layout.bytes());
        assert_eq!(layout.object(0) % 8, 0);
        assert_eq!(layout.block(0) % 8, 0);
    }
}
