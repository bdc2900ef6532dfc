//! ext2, ext3 and ext4.
//!
//! ## References
//! The Linux kernel documentation, ext4 Data Structures and Algorithms:
//! <https://docs.kernel.org/filesystems/ext4/index.html>.

use super::{covered, damaged, le16, le32, Part, Source, Volume, IDENTITY_BYTES};
use nandlab_nand::Origin;
use std::io;

const MAGIC: u64 = 0xef53;
const EXTENT_MAGIC: u64 = 0xf30a;

/// Feature bits.
mod feature {
    pub const HAS_JOURNAL: u64 = 0x4;
    pub const SPARSE_SUPER_2: u64 = 0x200;
    pub const META_BG: u64 = 0x10;
    pub const EXTENTS: u64 = 0x40;
    pub const WIDE: u64 = 0x80;
    pub const SPARSE_SUPER: u64 = 0x1;
}

/// An inode maps its blocks by extents.
const EXTENTS_FLAG: u64 = 0x8_0000;
/// Deepest extent tree accepted.
const MOST_DEPTH: u64 = 5;
/// Most groups in a volume: 16 TiB in 128 MiB groups.
const MOST_GROUPS: u64 = 1 << 17;

/// The superblock's fields.
struct Layout {
    block_bytes: u64,
    blocks: u64,
    first_block: u64,
    blocks_per_group: u64,
    inodes_per_group: u64,
    inode_bytes: u64,
    groups: u64,
    descriptor_bytes: u64,
    reserved_descriptors: u64,
    first_meta_group: u64,
    journal_inode: u64,
    backups: [u64; 2],
    compatible: u64,
    incompatible: u64,
    read_only: u64,
}

impl Layout {
    fn parse(sb: &[u8], size: u64) -> io::Result<Self> {
        let incompatible = le32(sb, 96);
        let is_wide = incompatible & feature::WIDE != 0;
        let layout = Self {
            block_bytes: 1024u64.checked_shl(le32(sb, 24) as u32).unwrap_or(0),
            blocks: le32(sb, 4) | if is_wide { le32(sb, 336) << 32 } else { 0 },
            first_block: le32(sb, 20),
            blocks_per_group: le32(sb, 32),
            inodes_per_group: le32(sb, 40),
            inode_bytes: if le32(sb, 76) == 0 { 128 } else { le16(sb, 88) },
            groups: 0,
            descriptor_bytes: if is_wide { le16(sb, 254) } else { 32 },
            reserved_descriptors: le16(sb, 206),
            first_meta_group: le32(sb, 260),
            journal_inode: le32(sb, 224),
            backups: [le32(sb, 588), le32(sb, 592)],
            compatible: le32(sb, 92),
            incompatible,
            read_only: le32(sb, 100),
        };
        let is_sane = (1024..=65_536).contains(&layout.block_bytes)
            && layout.blocks_per_group > 0
            && layout.inodes_per_group > 0
            && (128..=layout.block_bytes).contains(&layout.inode_bytes)
            && (32..=layout.block_bytes).contains(&layout.descriptor_bytes)
            && layout.first_block < layout.blocks
            && layout.blocks.checked_mul(layout.block_bytes).is_some_and(|bytes| bytes <= size);
        if !is_sane {
            return Err(damaged("the superblock of the ext file system contradicts itself or the size of the disk"));
        }
        let groups = (layout.blocks - layout.first_block).div_ceil(layout.blocks_per_group);
        if groups > MOST_GROUPS {
            return Err(damaged("the ext file system has too many groups to be read"));
        }
        Ok(Self { groups, ..layout })
    }

    fn has(&self, incompatible: u64) -> bool {
        self.incompatible & incompatible != 0
    }

    fn first_of(&self, group: u64) -> u64 {
        self.first_block + group * self.blocks_per_group
    }

    /// Whether a group begins with a superblock copy.
    fn has_super(&self, group: u64) -> bool {
        let is_power =
            |base: u64| std::iter::successors(Some(1), |&n| Some(n * base)).find(|&n| n >= group) == Some(group);
        if group == 0 {
            true
        } else if self.compatible & feature::SPARSE_SUPER_2 != 0 {
            self.backups.contains(&group)
        } else if self.read_only & feature::SPARSE_SUPER != 0 {
            [3, 5, 7].into_iter().any(is_power)
        } else {
            true
        }
    }

    fn descriptors_per_block(&self) -> u64 {
        self.block_bytes / self.descriptor_bytes
    }

    /// Descriptor blocks together behind each superblock.
    fn descriptor_blocks(&self) -> u64 {
        let all = self.groups.div_ceil(self.descriptors_per_block());
        if self.has(feature::META_BG) {
            all.min(self.first_meta_group)
        } else {
            all
        }
    }

    /// Whether a group has its own descriptor block: a meta group's first, second and last do.
    fn has_own_descriptors(&self, group: u64) -> bool {
        let per_block = self.descriptors_per_block();
        let is_meta = self.has(feature::META_BG) && group / per_block >= self.first_meta_group;
        is_meta && [0, 1, per_block - 1].contains(&(group % per_block))
    }

    /// The block with a group's descriptor.
    fn descriptor_block(&self, group: u64) -> u64 {
        let number = group / self.descriptors_per_block();
        if self.has(feature::META_BG) && number >= self.first_meta_group {
            let first = number * self.descriptors_per_block();
            self.first_of(first) + u64::from(self.has_super(first))
        } else {
            self.first_block + 1 + number
        }
    }

    /// `blocks` from `first` on.
    fn part(&self, first: u64, blocks: u64, origin: Origin) -> Part {
        let (first, blocks) = (first.min(self.blocks), blocks.min(self.blocks));
        Part { offset: first * self.block_bytes, length: blocks * self.block_bytes, origin }
    }

    fn inode_table_blocks(&self) -> u64 {
        (self.inodes_per_group * self.inode_bytes).div_ceil(self.block_bytes)
    }

    /// One block's bytes.
    fn read(&self, block: u64, source: Source<'_>) -> io::Result<Vec<u8>> {
        if block >= self.blocks {
            return Err(damaged("the ext file system refers to a block beyond its end"));
        }
        let mut bytes = vec![0; self.block_bytes as usize];
        source(block * self.block_bytes, &mut bytes)?;
        Ok(bytes)
    }
}

/// A group's bitmaps and inodes.
struct Group {
    block_bitmap: u64,
    inode_bitmap: u64,
    inode_table: u64,
}

impl Group {
    fn read(layout: &Layout, group: u64, source: Source<'_>) -> io::Result<Self> {
        let bytes = layout.read(layout.descriptor_block(group), source)?;
        let at = (group % layout.descriptors_per_block() * layout.descriptor_bytes) as usize;
        let high = |field: usize| if layout.descriptor_bytes >= 64 { le32(&bytes, at + 32 + field) << 32 } else { 0 };
        let block = |field: usize| le32(&bytes, at + field) | high(field);
        Ok(Self { block_bitmap: block(0), inode_bitmap: block(4), inode_table: block(8) })
    }
}

/// See [`super::identity`].
pub(super) fn identity(first: &[u8; IDENTITY_BYTES]) -> Option<Vec<u8>> {
    let sb = &first[1024..];
    let has_journal = le32(sb, 92) & feature::HAS_JOURNAL != 0;
    // Blocks, block size, blocks and inodes of a group, UUID, reserved descriptors, journal, more bits of blocks.
    let fixed = [4..8, 20..28, 32..36, 40..44, 104..120, 206..208, 224..228, 336..340];
    let bytes = fixed.into_iter().flat_map(|range| &sb[range]).copied().chain([has_journal.into()]);
    (le16(sb, 56) == MAGIC).then(|| bytes.collect())
}

/// Finds an ext file system's regions on a disk with `size` bytes.
pub(super) fn find(size: u64, source: Source<'_>) -> io::Result<Option<Volume>> {
    let mut sb = [0; 1024];
    source(1024, &mut sb)?;
    if le16(&sb, 56) != MAGIC {
        return Ok(None);
    }
    let layout = Layout::parse(&sb, size)?;
    let mut parts = vec![Part { offset: 0, length: 2048, origin: Origin::SUPERBLOCK }];
    for group in 0..layout.groups {
        if layout.has_super(group) {
            let descriptors = layout.descriptor_blocks() + layout.reserved_descriptors;
            parts.push(layout.part(layout.first_of(group), 1 + descriptors, Origin::SUPERBLOCK));
        }
        let found = Group::read(&layout, group, source)?;
        for block in [found.block_bitmap, found.inode_bitmap] {
            parts.push(layout.part(block, 1, Origin::BITMAP));
        }
        parts.push(layout.part(found.inode_table, layout.inode_table_blocks(), Origin::INODE));
        if layout.has_own_descriptors(group) {
            let block = layout.first_of(group) + u64::from(layout.has_super(group));
            parts.push(layout.part(block, 1, Origin::SUPERBLOCK));
        }
    }
    parts.extend(journal(&layout, source)?);
    let kind = if layout.has(feature::EXTENTS) {
        "ext4"
    } else if layout.compatible & feature::HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    };
    Ok(Some(Volume { kind, parts: covered(layout.blocks * layout.block_bytes, parts) }))
}

/// The journal's blocks inside the volume.
fn journal(layout: &Layout, source: Source<'_>) -> io::Result<Vec<Part>> {
    let number = layout.journal_inode;
    if layout.compatible & feature::HAS_JOURNAL == 0 || number == 0 {
        return Ok(Vec::new());
    }
    let (group, index) = ((number - 1) / layout.inodes_per_group, (number - 1) % layout.inodes_per_group);
    if group >= layout.groups {
        return Err(damaged("the journal of the ext file system has no inode"));
    }
    let table = Group::read(layout, group, source)?.inode_table;
    let at = index * layout.inode_bytes;
    let bytes = layout.read(table + at / layout.block_bytes, source)?;
    let inode = &bytes[(at % layout.block_bytes) as usize..][..128];
    let mut runs = Vec::new();
    if le32(inode, 32) & EXTENTS_FLAG != 0 {
        extents(layout, &inode[40..100], MOST_DEPTH, source, &mut runs)?;
    } else {
        let size = le32(inode, 4) | le32(inode, 108) << 32;
        let mut left = size.div_ceil(layout.block_bytes);
        for at in 0..15 {
            let depth = (at as u64).saturating_sub(11);
            mapped(layout, le32(inode, 40 + 4 * at), depth, &mut left, source, &mut runs)?;
        }
    }
    Ok(runs.into_iter().map(|(first, blocks)| layout.part(first, blocks, Origin::JOURNAL)).collect())
}

/// Block runs in an extent node and the nodes below it.
fn extents(layout: &Layout, node: &[u8], most: u64, source: Source<'_>, runs: &mut Vec<(u64, u64)>) -> io::Result<()> {
    let (entries, depth) = (le16(node, 2), le16(node, 6));
    let is_sane = le16(node, 0) == EXTENT_MAGIC && depth <= most && (12 + 12 * entries) as usize <= node.len();
    if !is_sane {
        return Err(damaged("the extents of the journal contradict themselves"));
    }
    for entry in node[12..].chunks_exact(12).take(entries as usize) {
        if depth == 0 {
            let length = le16(entry, 4);
            // Longer ones are not written yet.
            let length = if length > 32_768 { length - 32_768 } else { length };
            runs.push((le32(entry, 8) | le16(entry, 6) << 32, length));
        } else {
            let below = layout.read(le32(entry, 4) | le16(entry, 8) << 32, source)?;
            extents(layout, &below, depth - 1, source, runs)?;
        }
    }
    Ok(())
}

/// Block runs behind a pointer in an inode without extents: `depth` indirect blocks stand between.
fn mapped(
    layout: &Layout,
    block: u64,
    depth: u64,
    left: &mut u64,
    source: Source<'_>,
    runs: &mut Vec<(u64, u64)>,
) -> io::Result<()> {
    if *left == 0 || block == 0 {
        return Ok(());
    }
    runs.push((block, 1));
    if depth == 0 {
        *left -= 1;
        return Ok(());
    }
    let pointers = layout.read(block, source)?;
    pointers.chunks_exact(4).try_for_each(|at| mapped(layout, le32(at, 0), depth - 1, left, source, runs))
}
