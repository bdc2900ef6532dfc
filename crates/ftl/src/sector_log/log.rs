//! The log: its blocks, and the sector map with their sectors.

use crate::parts::blocks::area::Victim;
use crate::parts::blocks::frontier::Frontier;
use crate::parts::blocks::keeper::Keeper;
use crate::parts::blocks::scan::Scans;
use crate::parts::shares::shares;
use crate::FtlError;
use nandlab_nand::{BlockId, Geometry, Lpn, Nand, Ppa};
use std::collections::VecDeque;

/// No block, no sector, the end of a list.
const NONE: u32 = u32::MAX;

/// Bytes per sector map entry: a logical sector, and the next entry in its list.
const ENTRY_BYTES: u64 = 8;

/// The log block to merge next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogVictim {
    /// The one filled first: sectors soon written again have the longest time for it.
    #[default]
    Fifo,
    /// The one with the fewest valid sectors, the one filled first among equals.
    Greedy,
}

/// A sector in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Logged {
    /// Its place in the logical page.
    pub(super) place: u32,
    /// Its flash page, and its place there.
    pub(super) page: Ppa,
    pub(super) at: u32,
}

/// A sector map entry. It belongs to a slot, a sector position in the log, so the position needs no bytes.
#[derive(Clone, Copy, Debug)]
struct Entry {
    sector: u32,
    next: u32,
}

const EMPTY: Entry = Entry { sector: NONE, next: NONE };

/// The log's blocks and the sector map.
#[derive(Debug)]
pub(super) struct Log {
    geometry: Geometry,
    quota: u32,
    /// By die: its share of the quota, and its blocks in the log.
    shares: Vec<u32>,
    in_die: Vec<u32>,
    /// Sectors per logical page, and per log page.
    per_page: u32,
    gathered: u32,
    /// By number in the log: the block, and its count of valid sectors.
    blocks: Vec<(BlockId, u32)>,
    /// By block: its number in the log.
    numbers: Vec<u32>,
    count: u32,
    frontiers: Vec<Frontier>,
    /// Full blocks, in the order in which they were filled.
    closed: VecDeque<BlockId>,
    /// Blocks with a failed program, to be merged and retired.
    failing: VecDeque<BlockId>,
    /// By bucket of logical pages: the first entry in the list of their sectors.
    heads: Vec<u32>,
    /// By slot: its entry.
    entries: Vec<Entry>,
}

impl Log {
    /// An empty log with a quota of `quota` blocks.
    pub(super) fn new(geometry: &Geometry, gathered: u32, quota: u32) -> Self {
        let mut log = Self {
            geometry: *geometry,
            quota,
            shares: shares(quota, &vec![true; geometry.dies() as usize]),
            in_die: vec![0; geometry.dies() as usize],
            per_page: geometry.sectors_per_page(),
            gathered,
            blocks: Vec::new(),
            numbers: vec![NONE; geometry.blocks() as usize],
            count: 0,
            frontiers: vec![Frontier::none(); quota.min(geometry.dies()) as usize],
            closed: VecDeque::new(),
            failing: VecDeque::new(),
            heads: Vec::new(),
            entries: Vec::new(),
        };
        log.heads = vec![NONE; log.buckets()];
        (0..quota).for_each(|_| log.add_number());
        log
    }

    /// Slots per block.
    fn slots(&self) -> u32 {
        self.geometry.pages_per_block() * self.gathered
    }

    /// At least one bucket per two slots, a power of two.
    fn buckets(&self) -> usize {
        (u64::from(self.quota) * u64::from(self.slots())).div_ceil(2).next_power_of_two() as usize
    }

    fn add_number(&mut self) {
        self.blocks.push((BlockId::NONE, 0));
        self.entries.resize(self.entries.len() + self.slots() as usize, EMPTY);
    }

    /// The sector map's size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        ENTRY_BYTES * u64::from(self.quota) * u64::from(self.slots()) + 4 * self.heads.len() as u64
    }

    /// Bytes for the block list with the valid counts.
    pub(super) fn count_bytes(&self) -> u64 {
        8 * u64::from(self.quota)
    }

    /// From now on the dies in `works` share the log equally.
    pub(super) fn share_dies(&mut self, works: &[bool]) {
        self.shares = shares(self.quota, works);
    }

    /// Whether a die's block must be merged before the log may take another one there.
    pub(super) fn is_full_in(&self, die: u32) -> bool {
        self.in_die[die as usize] >= self.shares[die as usize]
    }

    /// The die for a frontier's next block: its own, or another one with a share if that has none.
    pub(super) fn home(&self, frontier: usize) -> u32 {
        if self.shares[frontier] > 0 {
            return frontier as u32;
        }
        let giving = (0..).zip(&self.shares).filter(|(_, &share)| share > 0).map(|(die, _)| die);
        let count = giving.clone().count();
        giving.clone().nth(frontier % count.max(1)).unwrap_or(frontier as u32)
    }

    /// Whether a mount has found more blocks than the quota.
    pub(super) fn is_too_large(&self) -> bool {
        self.count > self.quota
    }

    /// Blocks that the log may still take on a die; data leaves them free.
    pub(super) fn claim_in(&self, die: u32) -> u32 {
        self.shares[die as usize].saturating_sub(self.in_die[die as usize])
    }

    pub(super) fn has(&self, block: BlockId) -> bool {
        self.numbers[block.index()] != NONE
    }

    /// Valid sectors in a block; 0 outside the log.
    pub(super) fn valid(&self, block: BlockId) -> u32 {
        self.blocks.get(self.numbers[block.index()] as usize).map_or(0, |&(_, valid)| valid)
    }

    pub(super) fn frontiers(&self) -> &[Frontier] {
        &self.frontiers
    }

    pub(super) fn is_failing(&self) -> bool {
        !self.failing.is_empty()
    }

    /// The next page at a frontier with room.
    pub(super) fn take(&mut self, frontier: usize) -> (Ppa, u16) {
        self.frontiers[frontier].take()
    }

    /// Takes a block with a failed program from its frontier; it gets no more pages.
    pub(super) fn abandon(&mut self, frontier: usize) {
        let failed = std::mem::replace(&mut self.frontiers[frontier], Frontier::none());
        self.failing.push_back(failed.block);
    }

    /// Closes a full frontier's block, if it has one: from now on it may be a victim.
    pub(super) fn close(&mut self, frontier: usize) {
        let full = std::mem::replace(&mut self.frontiers[frontier], Frontier::none());
        if full.block.is_some() {
            self.closed.push_back(full.block);
        }
    }

    /// Opens an erased block at a frontier without one.
    pub(super) fn open(&mut self, frontier: usize, block: BlockId) {
        self.found(block);
        self.frontiers[frontier] = Frontier::at_start(&self.geometry, block);
    }

    /// Adds a block to the log; its sectors follow one by one.
    pub(super) fn found(&mut self, block: BlockId) {
        let unused = self.blocks.iter().position(|(block, _)| !block.is_some());
        let number = unused.unwrap_or_else(|| {
            // After a cut, or with a smaller log than before, until the mount has merged the surplus.
            self.add_number();
            self.blocks.len() - 1
        });
        self.blocks[number] = (block, 0);
        self.numbers[block.index()] = number as u32;
        self.count += 1;
        self.in_die[self.geometry.die_of(block) as usize] += 1;
    }

    /// Closes the blocks in the order in which they were filled. A mount calls this once it has found all blocks.
    pub(super) fn close_found(&mut self, scans: &Scans) {
        let blocks = (0..).map(BlockId).zip(scans).filter(|&(block, _)| self.has(block));
        let mut found: Vec<(u64, BlockId)> =
            blocks.filter_map(|(block, scan)| Some((scan.as_ref()?.highest, block))).collect();
        found.sort_unstable();
        self.closed.extend(found.into_iter().map(|(_, block)| block));
    }

    /// The block to merge next, on a die or on any, no longer a possible victim: blocks with a failed program come first.
    pub(super) fn next_victim(&mut self, policy: LogVictim, die: Option<u32>) -> Option<Victim> {
        let is_there = |block: BlockId| die.is_none_or(|die| self.geometry.die_of(block) == die);
        if let Some(at) = self.failing.iter().position(|&block| is_there(block)) {
            return self.failing.remove(at).map(|block| Victim { block, is_failing: true });
        }
        let mut there = (0..self.closed.len()).filter(|&at| is_there(self.closed[at]));
        let at = match policy {
            LogVictim::Fifo => there.next()?,
            LogVictim::Greedy => there.min_by_key(|&at| self.valid(self.closed[at]))?,
        };
        self.closed.remove(at).map(|block| Victim { block, is_failing: false })
    }

    /// Gives a victim without valid sectors back to the keeper, erased or retired.
    pub(super) fn release<N: Nand>(
        &mut self,
        nand: &mut N,
        keeper: &mut Keeper,
        victim: Victim,
    ) -> Result<(), FtlError> {
        let Victim { block, is_failing } = victim;
        assert_eq!(self.valid(block), 0, "block {block} of the log is released and holds sectors");
        if is_failing {
            keeper.retire(nand, block)?;
        } else if keeper.erase(nand, block)? {
            keeper.add(block, None);
        }
        let number = std::mem::replace(&mut self.numbers[block.index()], NONE) as usize;
        self.blocks[number] = (BlockId::NONE, 0);
        self.count -= 1;
        self.in_die[self.geometry.die_of(block) as usize] -= 1;
        while self.blocks.len() > self.quota as usize && self.blocks.last().is_some_and(|(last, _)| !last.is_some()) {
            self.blocks.pop();
            self.entries.truncate(self.entries.len() - self.slots() as usize);
        }
        Ok(())
    }

    fn slot(&self, page: Ppa, at: u32) -> u32 {
        let number = self.numbers[self.geometry.block_of(page).index()];
        number * self.slots() + self.geometry.page_in_block(page) * self.gathered + at
    }

    /// A slot's flash page, and its place there.
    fn place_of(&self, slot: u32) -> (Ppa, u32) {
        let (number, rest) = (slot / self.slots(), slot % self.slots());
        (self.geometry.page(self.blocks[number as usize].0, rest / self.gathered), rest % self.gathered)
    }

    fn bucket(&self, at: Lpn) -> usize {
        // Fibonacci hashing: neighbours fall into buckets far apart.
        let hash = u64::from(at.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & (self.heads.len() - 1)
    }

    /// A logical page's sectors in the log, in page order.
    pub(super) fn of_page(&self, at: Lpn) -> Vec<Logged> {
        let mut found = Vec::new();
        let mut slot = self.heads[self.bucket(at)];
        while slot != NONE {
            let Entry { sector, next } = self.entries[slot as usize];
            if sector / self.per_page == at.0 {
                let (page, place_there) = self.place_of(slot);
                found.push(Logged { place: sector % self.per_page, page, at: place_there });
            }
            slot = next;
        }
        found.sort_unstable_by_key(|logged| logged.place);
        found
    }

    /// The first valid sector in a log page.
    pub(super) fn first_in(&self, page: Ppa) -> Option<u32> {
        let first = self.slot(page, 0) as usize;
        let entries = &self.entries[first..first + self.gathered as usize];
        entries.iter().map(|entry| entry.sector).find(|&sector| sector != NONE)
    }

    /// Records a logical sector at a place in a log page; it must have no other place in the log.
    pub(super) fn insert(&mut self, sector: u32, page: Ppa, at: u32) {
        let (slot, bucket) = (self.slot(page, at), self.bucket(Lpn(sector / self.per_page)));
        self.entries[slot as usize] = Entry { sector, next: self.heads[bucket] };
        self.heads[bucket] = slot;
        let number = slot / self.slots();
        self.blocks[number as usize].1 += 1;
    }

    /// Forgets the sectors of a logical page for which `is_gone` is true, by sector number; calls `each` with their
    /// flash pages.
    pub(super) fn remove(&mut self, at: Lpn, is_gone: impl Fn(u32) -> bool, mut each: impl FnMut(Ppa)) {
        let bucket = self.bucket(at);
        let mut before = NONE;
        let mut slot = self.heads[bucket];
        while slot != NONE {
            let Entry { sector, next } = self.entries[slot as usize];
            if sector / self.per_page == at.0 && is_gone(sector) {
                match before {
                    NONE => self.heads[bucket] = next,
                    before => self.entries[before as usize].next = next,
                }
                self.entries[slot as usize] = EMPTY;
                let number = slot / self.slots();
                self.blocks[number as usize].1 -= 1;
                each(self.place_of(slot).0);
            } else {
                before = slot;
            }
            slot = next;
        }
    }

    /// Every valid sector in the log.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, Ppa, u32)> + '_ {
        (0..).zip(&self.entries).filter(|(_, entry)| entry.sector != NONE).map(|(slot, entry)| {
            let (page, at) = self.place_of(slot);
            (entry.sector, page, at)
        })
    }

    /// Asserts that each block is a frontier, full or failing, and that its valid count matches its entries.
    ///
    /// # Panics
    /// With the first block that breaks this.
    pub(super) fn check(&self) {
        let mut places = vec![0; self.numbers.len()];
        let open = self.frontiers.iter().map(|frontier| frontier.block).filter(|block| block.is_some());
        open.chain(self.closed.iter().copied())
            .chain(self.failing.iter().copied())
            .for_each(|block| places[block.index()] += 1);
        let mut valid = vec![0; self.numbers.len()];
        self.all().for_each(|(_, page, _)| valid[self.geometry.block_of(page).index()] += 1);
        for block in (0..self.geometry.blocks()).map(BlockId) {
            assert_eq!(places[block.index()], u32::from(self.has(block)), "places of block {block} in the log");
            assert_eq!(self.valid(block), valid[block.index()], "sectors of block {block} of the log");
        }
        assert_eq!(places.iter().sum::<u32>(), self.count, "blocks of the log");
        let linked: usize = self.heads.iter().map(|&head| self.length(head)).sum();
        assert_eq!(linked, valid.iter().sum::<u32>() as usize, "sectors in the lists of the log");
    }

    fn length(&self, head: u32) -> usize {
        let next = |&slot: &u32| Some(self.entries[slot as usize].next).filter(|&next| next != NONE);
        std::iter::successors(Some(head).filter(|&head| head != NONE), next).count()
    }
}
