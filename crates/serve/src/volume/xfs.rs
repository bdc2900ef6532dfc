//! XFS.
//!
//! ## References
//! XFS Algorithms & Data Structures, 3rd edition, SGI and Red Hat: superblocks, AG headers, the inode B+tree.

use super::{be, covered, damaged, Part, Source, Volume, IDENTITY_BYTES};
use nandlab_nand::Origin;
use std::io;

/// Inodes per record in the inode tree.
const CHUNK: u64 = 64;
/// Most groups, levels and records read.
const MOST_GROUPS: u64 = 1 << 16;
const MOST_LEVELS: u64 = 8;

struct Layout {
    block_bytes: u64,
    blocks: u64,
    group_blocks: u64,
    groups: u64,
    sector_bytes: u64,
    inode_bytes: u64,
    log_start: u64,
    log_blocks: u64,
    /// log2 of the inodes per block.
    inodes_shift: u64,
    /// log2 of the blocks per group, rounded up.
    group_shift: u64,
    has_checksums: bool,
}

impl Layout {
    fn parse(sb: &[u8], size: u64) -> io::Result<Self> {
        let layout = Self {
            block_bytes: be(sb, 4, 4),
            blocks: be(sb, 8, 8),
            group_blocks: be(sb, 84, 4),
            groups: be(sb, 88, 4),
            sector_bytes: be(sb, 102, 2),
            inode_bytes: be(sb, 104, 2),
            log_start: be(sb, 48, 8),
            log_blocks: be(sb, 96, 4),
            inodes_shift: be(sb, 123, 1),
            group_shift: be(sb, 124, 1),
            has_checksums: be(sb, 100, 2) & 0xf == 5,
        };
        let is_sane = (512..=65_536).contains(&layout.block_bytes)
            && (512..=32_768).contains(&layout.sector_bytes)
            && (256..=2048).contains(&layout.inode_bytes)
            && layout.group_blocks > 0
            && (1..=MOST_GROUPS).contains(&layout.groups)
            && layout.inodes_shift < 16
            && layout.group_shift < 32
            && layout.blocks.checked_mul(layout.block_bytes).is_some_and(|bytes| bytes <= size);
        if !is_sane {
            return Err(damaged("the superblock of the XFS file system contradicts itself or the size of the disk"));
        }
        Ok(layout)
    }

    /// The first byte in a group's block.
    fn byte(&self, group: u64, block: u64) -> u64 {
        (group * self.group_blocks + block) * self.block_bytes
    }
}

/// See [`super::identity`].
pub(super) fn identity(first: &[u8; IDENTITY_BYTES]) -> Option<Vec<u8>> {
    // Magic, block size, blocks, UUID, place of the log, blocks of a group and of the log, and whether it is still being made.
    let fixed = [0..16, 32..56, 84..100, 126..127];
    first.starts_with(b"XFSB").then(|| fixed.into_iter().flat_map(|range| &first[range]).copied().collect())
}

/// Finds an XFS file system's regions on a disk with `size` bytes.
pub(super) fn find(size: u64, source: Source<'_>) -> io::Result<Option<Volume>> {
    let mut sb = [0; 512];
    source(0, &mut sb)?;
    if sb[..4] != *b"XFSB" {
        return Ok(None);
    }
    let layout = Layout::parse(&sb, size)?;
    let mut parts = Vec::new();
    if layout.log_start != 0 {
        let (group, block) = (layout.log_start >> layout.group_shift, layout.log_start % (1 << layout.group_shift));
        let length = layout.log_blocks * layout.block_bytes;
        parts.push(Part { offset: layout.byte(group, block), length, origin: Origin::JOURNAL });
    }
    for group in 0..layout.groups {
        let start = layout.byte(group, 0);
        // Superblock, and the headers for free space, inodes and the free list.
        parts.push(Part { offset: start, length: 4 * layout.sector_bytes, origin: Origin::SUPERBLOCK });
        let mut header = [0; 512];
        source(start + 2 * layout.sector_bytes, &mut header)?;
        if header[..4] != *b"XAGI" {
            return Err(damaged("a group of the XFS file system has no inode header"));
        }
        inodes(&layout, group, be(&header, 20, 4), MOST_LEVELS, source, &mut parts)?;
    }
    Ok(Some(Volume { kind: "xfs", parts: covered(layout.blocks * layout.block_bytes, parts) }))
}

/// The inode chunks below an inode tree block, and the block itself.
fn inodes(
    layout: &Layout,
    group: u64,
    block: u64,
    most: u64,
    source: Source<'_>,
    parts: &mut Vec<Part>,
) -> io::Result<()> {
    let offset = layout.byte(group, block);
    if block >= layout.group_blocks || offset + layout.block_bytes > layout.blocks * layout.block_bytes {
        return Err(damaged("the inode tree of the XFS file system leaves its group"));
    }
    let mut bytes = vec![0; layout.block_bytes as usize];
    source(offset, &mut bytes)?;
    let head = if layout.has_checksums { 56 } else { 16 };
    let (level, records) = (be(&bytes, 4, 2), be(&bytes, 6, 2) as usize);
    let room = bytes.len() - head;
    let fits = records * if level == 0 { 16 } else { 8 } <= room;
    if !matches!(&bytes[..4], b"IAB3" | b"IABT") || level >= most || !fits {
        return Err(damaged("the inode tree of the XFS file system contradicts itself"));
    }
    parts.push(Part { offset, length: layout.block_bytes, origin: Origin::INODE });
    for at in 0..records {
        if level == 0 {
            let first = be(&bytes, head + 16 * at, 4);
            let block = first >> layout.inodes_shift;
            let length = CHUNK * layout.inode_bytes;
            parts.push(Part { offset: layout.byte(group, block), length, origin: Origin::INODE });
        } else {
            // As many keys as there could be stand before the pointers.
            let below = be(&bytes, head + 4 * (room / 8) + 4 * at, 4);
            inodes(layout, group, below, level, source, parts)?;
        }
    }
    Ok(())
}
