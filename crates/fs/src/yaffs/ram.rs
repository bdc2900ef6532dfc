//! The RAM that the code of 2007 needs for what is mounted.

use super::header::Type;
use super::objects::{Object, Objects};
use super::Yaffs;
use crate::parts::driver::Driver;
use nandlab_block::RamUse;
use nandlab_nand::Nand;

/// `yaffs_Object` on a machine of 32 bits, with a name of up to 15 bytes in it: flags, serial and name sum 8; device,
/// hash chain, hard links, parent and siblings 32; page of the header, number of data pages, object number and mode 16;
/// name 16; owner, group, three times, device number, inode and type 32; union of the types 20.
const OBJECT: u64 = 124;
/// Bytes of a name that an object has room for.
const SHORT_NAME: usize = 15;
/// The root, `lost+found`, and the directories of unlinked and deleted objects.
const FAKE_OBJECTS: u64 = 4;
/// Objects and tnodes are allocated this many at a time.
const BATCH: u64 = 100;
/// An internal tnode: eight pointers. Tnodes of level 0 are at least as large.
const TNODE: u64 = 32;
/// Chunks of a tnode of level 0, and tnodes below an internal one, as powers of two.
const LEAF_BITS: u32 = 4;
const INNER_BITS: u32 = 3;
/// `yaffs_BlockInfo`: 31 bits of counts and flags, and the sequence number.
const BLOCK: u64 = 8;
/// The hash table of objects: 256 list heads with a count.
const BUCKETS: u64 = 256 * 12;
/// Pages for temporary contents.
const TEMP_BUFFERS: u64 = 4;

impl<N: Nand> Yaffs<N> {
    /// Bytes by structure.
    pub(super) fn table_bytes(&self) -> RamUse {
        let (mut objects, mut names, mut tnodes) = (FAKE_OBJECTS, 0, 0);
        for (number, object) in self.objects.iter() {
            objects += u64::from(Objects::is_on_flash(number));
            names += long_name_bytes(object);
            tnodes += tnodes_of(object);
        }
        let (blocks, pages) = (u64::from(self.geometry.blocks()), u64::from(self.geometry.pages_per_block()));
        RamUse {
            sram: [
                ("objects", objects.next_multiple_of(BATCH) * OBJECT),
                ("names", names),
                ("tnodes", tnodes.next_multiple_of(BATCH) * self.tnode_bytes()),
                ("blocks", blocks * BLOCK),
                ("page_bits", blocks * pages.div_ceil(8)),
                ("short_op_cache", self.cache.ram_bytes(self.page_bytes())),
                ("device", BUCKETS + TEMP_BUFFERS * self.page_bytes() + pages * 4),
            ]
            .into(),
            ..RamUse::default()
        }
    }

    /// Bytes of a tnode: 16 page numbers of at least 16 bits, in `yaffs2` of an even number of bits that is enough.
    fn tnode_bytes(&self) -> u64 {
        let bits = if self.small { 16 } else { (u64::from(self.geometry.pages()) - 1).max(1).ilog2() + 1 };
        (u64::from(bits.next_multiple_of(2).max(16)) << LEAF_BITS).div_ceil(8).max(TNODE)
    }
}

/// Bytes of names that an object has no room for. YAFFS reads a longer file name from flash; this file system keeps it.
fn long_name_bytes(object: &Object) -> u64 {
    let name = if object.name.len() > SHORT_NAME { object.name.len() + 1 } else { 0 };
    let target = if object.kind == Type::Symlink { object.target.len() + 1 } else { 0 };
    (name + target) as u64
}

/// Tnodes of a file: one at least, and on each level those with a mapped chunk below.
fn tnodes_of(object: &Object) -> u64 {
    if object.kind != Type::File {
        return 0;
    }
    let last = object.mapped_chunks().last().map_or(0, |(chunk, _)| chunk);
    let (mut sum, mut shift) = (0, LEAF_BITS);
    loop {
        let mut nodes: Vec<u32> = object.mapped_chunks().map(|(chunk, _)| chunk >> shift).collect();
        nodes.dedup();
        sum += nodes.len().max(1) as u64;
        if last >> shift == 0 {
            return sum;
        }
        shift += INNER_BITS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandlab_nand::Ppa;

    #[test]
    fn tnodes_are_those_of_the_tree_of_sixteen_and_eight() {
        let of = |chunks: &[u32]| {
            let mut file = Object::new(Type::File, 1, "f");
            for &chunk in chunks {
                file.map(chunk, Ppa(chunk));
            }
            tnodes_of(&file)
        };
        let all = |last: u32| (1..=last).collect::<Vec<_>>();
        // Chunk 0 is the header, so the first tnode has room for 15 chunks.
        assert_eq!((of(&[]), of(&all(15)), of(&all(16))), (1, 1, 3));
        // 8 tnodes below one; then 9 below two below one.
        assert_eq!((of(&all(127)), of(&all(128))), (9, 12));
        // A hole takes none: a leaf and two internal tnodes on the way to it, and the same for the first.
        assert_eq!(of(&[1, 1000]), 2 + 2 + 1);
        assert_eq!(tnodes_of(&Object::new(Type::Directory, 1, "d")), 0);
    }

    #[test]
    fn a_short_name_is_in_the_object() {
        let of = |name: &str| long_name_bytes(&Object::new(Type::File, 1, name));
        assert_eq!((of("fifteen bytes.c"), of("sixteen bytes.cc")), (0, 17));
    }
}
