//! Erased blocks that keep their room in the file for a while: most are soon programmed again, and to give room back and
//! take it again costs more than to write.

use super::layout::Layout;
use super::os::{self, HostFile};
use crate::address::{BlockId, Geometry};
use std::collections::VecDeque;

/// Most bytes of erased blocks that keep their room.
const MOST_BYTES: u64 = 16 << 20;

/// Erased blocks by the time of their erase.
#[derive(Debug)]
pub(super) struct Freed {
    /// One that was programmed since is among them still.
    queue: VecDeque<BlockId>,
    /// By block: whether it is erased and has its room.
    keeps_room: Vec<bool>,
    most: usize,
}

impl Freed {
    pub fn new(geometry: &Geometry) -> Self {
        let block_bytes = u64::from(geometry.pages_per_block()) * u64::from(geometry.page_bytes());
        Self {
            queue: VecDeque::new(),
            keeps_room: vec![false; geometry.blocks() as usize],
            most: (MOST_BYTES / block_bytes) as usize,
        }
    }

    /// A page of `block` is programmed.
    pub fn take(&mut self, block: BlockId) {
        self.keeps_room[block.index()] = false;
    }

    /// `block` was erased; the room of the one that has waited longest is given back.
    pub fn add(&mut self, block: BlockId, geometry: &Geometry, (file, layout): (&HostFile, &Layout)) {
        self.keeps_room[block.index()] = true;
        self.queue.push_back(block);
        self.give_back(self.most, geometry, (file, layout));
    }

    /// Gives the room of all but the `most` last ones back.
    pub fn give_back(&mut self, most: usize, geometry: &Geometry, (file, layout): (&HostFile, &Layout)) {
        while self.queue.len() > most {
            let Some(block) = self.queue.pop_front() else { return };
            if std::mem::take(&mut self.keeps_room[block.index()]) {
                let start = layout.bytes(geometry.page(block, 0));
                os::punch(file, start..start + u64::from(geometry.pages_per_block()) * layout.page_bytes);
            }
        }
    }
}
