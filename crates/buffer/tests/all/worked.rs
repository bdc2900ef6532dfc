//! Examples worked by hand from the policies' descriptions: the writes sent to the device below, and their
//! order.
//!
//! Pages have 4 sectors, blocks 4 pages: pages 0 to 3 are block 0, 4 to 7 block 1, and so on.

use crate::common::{geometry, Rig, SECTORS};
use nandlab_block::{ByteCount, Op, Payload, Request};
use nandlab_buffer::{bplru, cbm, cflru, clock_dnv, fab, hybrid_lru, lb_clock, second_write, wap_lru};
use nandlab_buffer::{BufferConfig, Counts, Memory, Placement};

fn pages(pages: u64) -> ByteCount {
    ByteCount(pages * 2048)
}

struct Player(Rig);

impl Player {
    fn new(config: &BufferConfig) -> Self {
        Self(Rig::new(config, geometry(), SECTORS * 2))
    }

    /// Accesses `count` pages from `page` on; returns the writes sent below: first page and page count.
    fn access(&mut self, op: Op, page: u64, count: u32) -> Vec<(u64, u32)> {
        self.0.disk.log.clear();
        self.0.submit(&Request::new(op, page * 4, count * 4), Payload::None).unwrap();
        let writes = self.0.disk.log.iter().filter(|sent| sent.op == Op::Write);
        writes.map(|sent| (sent.sector / 4, sent.sectors / 4)).collect()
    }

    fn write(&mut self, page: u64) -> Vec<(u64, u32)> {
        self.access(Op::Write, page, 1)
    }

    fn read(&mut self, page: u64) -> Vec<(u64, u32)> {
        self.access(Op::Read, page, 1)
    }

    /// Writes that send nothing below.
    fn quiet(&mut self, pages: &[u64]) {
        for &page in pages {
            assert_eq!(self.write(page), [], "page {page}");
        }
    }

    fn counts(&self) -> Counts {
        self.0.buffer.counts()
    }

    fn memory(&self, page: u32) -> Option<Memory> {
        self.0.buffer.kept_in(page)
    }
}

#[test]
fn cflru_drops_a_clean_page_of_the_window_before_an_older_dirty_one() {
    let mut player = Player::new(&BufferConfig::Cflru(cflru::Config { size: pages(4), ..Default::default() }));
    player.quiet(&[1]);
    player.read(0);
    player.quiet(&[2]);
    player.read(3);
    // By last use: 3, 2, 0, 1. The window is 0 and 1: page 0 is clean and is evicted, though 1 is older.
    assert_eq!(player.write(4), []);
    assert_eq!((player.memory(0), player.memory(1)), (None, Some(Memory::Dram)));
    // 4, 3, 2, 1: the whole window is dirty, so the oldest page is evicted.
    assert_eq!(player.write(5), [(1, 1)]);
    // 5, 4, 3, 2: page 3 is clean and is evicted before 2.
    assert_eq!(player.write(6), []);
    assert_eq!(player.memory(3), None);
}

#[test]
fn second_write_keeps_a_page_that_is_written_again_within_the_period() {
    let config = second_write::Config { size: pages(2), period_us: 1000.0, ..Default::default() };
    let mut player = Player::new(&BufferConfig::SecondWrite(config));
    let mut write = |us: u64, page: u64| {
        player.0.disk.log.clear();
        let request = Request { time: us * 1000, ..Request::new(Op::Write, page * 4, 4) };
        player.0.submit(&request, Payload::None).unwrap();
        let writes = player.0.disk.log.iter().filter(|sent| sent.op == Op::Write);
        (writes.map(|sent| sent.sector / 4).collect::<Vec<_>>(), player.memory(page as u32))
    };
    let (gone, kept) = (None, Some(Memory::Dram));
    // The period is 100 to 1,100 us. First writes go below at once.
    assert_eq!(write(100, 7), (vec![7], gone));
    assert_eq!(write(110, 8), (vec![8], gone));
    assert_eq!(write(120, 9), (vec![9], gone));
    // Second and third writes stay, and evict the least recently used page.
    assert_eq!(write(200, 7), (vec![], kept));
    assert_eq!(write(210, 8), (vec![], kept));
    assert_eq!(write(220, 7), (vec![], kept));
    assert_eq!(write(230, 9), (vec![8], kept));
    assert_eq!(write(1099, 7), (vec![], kept));
    // The next period: the buffered page's first write takes it to flash.
    assert_eq!(write(1100, 7), (vec![7], gone));
    assert_eq!(write(1101, 9), (vec![9], gone));
    assert_eq!(write(1102, 9), (vec![], kept));
}

#[test]
fn fab_flushes_the_fullest_block_and_of_several_the_oldest() {
    let mut player = Player::new(&BufferConfig::Fab(fab::Config { size: pages(5), ..Default::default() }));
    player.quiet(&[4, 5, 0, 1, 8, 4]);
    // Blocks 0 and 1 have two pages each; block 0 was used before block 1.
    assert_eq!(player.write(12), [(0, 2)]);
    player.quiet(&[16]);
    // Block 1 is the largest, though recently used.
    player.quiet(&[5]);
    assert_eq!(player.write(20), [(4, 2)]);
    // One page each, 8 is the oldest.
    player.quiet(&[24]);
    assert_eq!(player.write(28), [(8, 1)]);
    // Clean pages are evicted without a write.
    player.0.submit(&Request::new(Op::Flush, 0, 0), Payload::None).unwrap();
    assert_eq!(player.write(32), []);
    assert_eq!(player.memory(12), None);
}

#[test]
fn bplru_pads_its_victim_to_a_whole_block() {
    let mut player = Player::new(&BufferConfig::Bplru(bplru::Config { size: pages(4), ..Default::default() }));
    player.quiet(&[0, 5, 2, 9]);
    // Block 0 was written after block 1. Pages 4, 6 and 7 are read, and the block is written as one request.
    assert_eq!(player.write(13), [(4, 4)]);
    let reads: Vec<u64> =
        player.0.disk.log.iter().filter(|sent| sent.op == Op::Read).map(|sent| sent.sector / 4).collect();
    assert_eq!(reads, [4, 6, 7]);
    let counts = player.counts();
    assert_eq!((counts.flushed_pages, counts.padded_pages, counts.fill_reads), (1, 3, 3));
}

#[test]
fn bplru_lets_a_block_go_first_that_was_written_in_order() {
    let config = bplru::Config { size: pages(6), ..Default::default() };
    let mut player = Player::new(&BufferConfig::Bplru(config.clone()));
    player.quiet(&[5, 0, 1, 2, 3, 9]);
    assert_eq!(player.write(13), [(0, 4)]);
    assert_eq!(player.counts().fill_reads, 0);
    // Without compensation the oldest block is evicted.
    let mut player = Player::new(&BufferConfig::Bplru(bplru::Config { compensation: false, ..config.clone() }));
    player.quiet(&[5, 0, 1, 2, 3, 9]);
    assert_eq!(player.write(13), [(4, 4)]);
    // The whole block, but not in order: no compensation.
    let mut player = Player::new(&BufferConfig::Bplru(config));
    player.quiet(&[5, 0, 2, 1, 3, 9]);
    assert_eq!(player.write(13), [(4, 4)]);
}

#[test]
fn lb_clock_takes_the_largest_of_the_blocks_without_a_bit() {
    let mut player = Player::new(&BufferConfig::LbClock(lb_clock::Config { size: pages(5), ..Default::default() }));
    player.quiet(&[0, 4, 5, 8, 1]);
    // Every bit is set. The first round clears them; in the second, blocks 0 and 1 are the largest, and 0
    // comes first.
    assert_eq!(player.write(12), [(0, 2)]);
    // Block 2 also has two pages, but its bit is set: 1 is the only candidate.
    player.quiet(&[9]);
    assert_eq!(player.write(16), [(4, 2)]);
    // That round cleared the bits of blocks 2 and 3; 2 is larger.
    player.quiet(&[20]);
    assert_eq!(player.write(24), [(8, 2)]);
}

#[test]
fn lb_clock_clears_the_bit_of_a_block_that_was_written_in_order() {
    let mut player = Player::new(&BufferConfig::LbClock(lb_clock::Config { size: pages(6), ..Default::default() }));
    player.quiet(&[4, 0, 1, 2, 3, 8]);
    // Block 0 is the only candidate in the first round.
    assert_eq!(player.write(12), [(0, 4)]);
}

#[test]
fn hybrid_lru_keeps_what_it_flushed_as_a_clean_page() {
    let config = hybrid_lru::Config { dram: pages(2), nvram: pages(2), ..Default::default() };
    let mut player = Player::new(&BufferConfig::HybridLru(config));
    player.quiet(&[0, 1]);
    player.read(2);
    assert_eq!(player.write(3), [(0, 1)]);
    assert_eq!((player.memory(0), player.counts().demotions), (Some(Memory::Dram), 1));
    // It is at the old end: the next page read replaces it.
    player.read(4);
    assert_eq!((player.memory(0), player.memory(2)), (None, Some(Memory::Dram)));
    // A written clean page moves to NVRAM, and page 1 leaves NVRAM.
    assert_eq!(player.write(2), [(1, 1)]);
    assert_eq!((player.memory(2), player.memory(1)), (Some(Memory::Nvram), Some(Memory::Dram)));
}

#[test]
fn clock_dnv_flushes_a_block_with_its_dirty_pages_in_dram() {
    let config = clock_dnv::Config { dram: pages(3), nvram: pages(4), ..Default::default() };
    let mut player = Player::new(&BufferConfig::ClockDnv(config));
    // 0, 4, 8 and 12 move to NVRAM one after another, each to its own block; 16, 20 and 1 are in DRAM.
    player.quiet(&[0, 4, 8, 12, 16, 20, 1]);
    assert_eq!(player.counts().demotions, 4);
    assert_eq!((player.memory(12), player.memory(16)), (Some(Memory::Nvram), Some(Memory::Dram)));
    // 16 must move to NVRAM, which is full. Block 0 is flushed together with page 1, which stays in DRAM as a
    // clean page.
    assert_eq!(player.write(24), [(0, 2)]);
    assert_eq!((player.memory(0), player.memory(1)), (None, Some(Memory::Dram)));
    // Dirty pages leave DRAM first: 20 moves, and one of blocks 4 to 12 must make room; 4 was used since it
    // arrived.
    player.quiet(&[4]);
    assert_eq!(player.write(28), [(8, 1)]);
    assert_eq!((player.memory(1), player.memory(20)), (Some(Memory::Dram), Some(Memory::Nvram)));
}

#[test]
fn clock_dnv_gives_a_used_page_one_second_chance() {
    let config = clock_dnv::Config { dram: pages(3), nvram: pages(16), ..Default::default() };
    let mut player = Player::new(&BufferConfig::ClockDnv(config));
    player.quiet(&[0, 4, 8]);
    player.quiet(&[0]);
    // The hand passes 0, which was used, and evicts 4. Its next rounds find 8, then 0 with a clear bit.
    player.quiet(&[12]);
    assert_eq!((player.memory(0), player.memory(4)), (Some(Memory::Dram), Some(Memory::Nvram)));
    player.quiet(&[16]);
    assert_eq!((player.memory(0), player.memory(8)), (Some(Memory::Dram), Some(Memory::Nvram)));
    player.quiet(&[20]);
    assert_eq!((player.memory(0), player.memory(12)), (Some(Memory::Nvram), Some(Memory::Dram)));
}

#[test]
fn clock_dnv_can_let_clean_pages_go_first_and_the_fullest_block() {
    let config = clock_dnv::Config {
        dram: pages(2),
        nvram: pages(4),
        prefer: clock_dnv::Prefer::Clean,
        rank_by_fill: true,
        ..Default::default()
    };
    let mut player = Player::new(&BufferConfig::ClockDnv(config));
    player.quiet(&[0]);
    player.read(9);
    player.quiet(&[4]);
    assert_eq!((player.memory(9), player.memory(0)), (None, Some(Memory::Dram)));
    player.quiet(&[5, 8, 12, 16]);
    // In NVRAM: 0, 4 and 5, 8. Block 1 has two pages there.
    assert_eq!(player.write(20), [(4, 2)]);
}

#[test]
fn cbm_writes_a_block_with_its_clean_pages() {
    let config = cbm::Config { dram: pages(4), nvram: pages(5), threshold: 2, page_region: 1.0, ..Default::default() };
    let mut player = Player::new(&BufferConfig::Cbm(config.clone()));
    // Page 1 moves block 0 to the block region, where 2 joins it; 4 and 8 stay in the page region.
    player.quiet(&[0, 4, 1, 2, 8]);
    player.read(3);
    assert_eq!(player.write(12), [(0, 4)]);
    let counts = player.counts();
    assert_eq!((counts.flushed_pages, counts.padded_pages), (3, 1));
    assert_eq!((player.memory(3), player.memory(0)), (Some(Memory::Dram), None));
    let mut player = Player::new(&BufferConfig::Cbm(cbm::Config { merge_clean: false, ..config }));
    player.quiet(&[0, 4, 1, 2, 8]);
    player.read(3);
    assert_eq!(player.write(12), [(0, 3)]);
}

#[test]
fn cbm_keeps_the_block_that_is_used_more_often() {
    let config = cbm::Config { dram: pages(1), nvram: pages(4), threshold: 2, ..Default::default() };
    let mut player = Player::new(&BufferConfig::Cbm(config));
    player.quiet(&[0, 1, 4, 5]);
    // Successive uses count once: block 0 has two more uses, block 1 one more.
    player.quiet(&[0, 4, 5, 4, 1]);
    assert_eq!(player.write(8), [(4, 2)]);
}

#[test]
fn wap_lru_places_by_size_and_then_by_kind() {
    let config = wap_lru::Config {
        dram: pages(2),
        nvram: pages(8),
        interval: 4,
        t_state: Some(3.0),
        t_read: Some(2.0),
        t_write: Some(2.0),
        ..Default::default()
    };
    let mut player = Player::new(&BufferConfig::WapLru(config));
    // Balanced: one page goes to DRAM, two go to NVRAM.
    player.quiet(&[0]);
    assert_eq!(player.access(Op::Write, 4, 2), []);
    player.read(8);
    assert_eq!([0, 4, 8].map(|page| player.memory(page)), [Memory::Dram, Memory::Nvram, Memory::Dram].map(Some));
    // Page 0 must leave DRAM and is dirty.
    player.quiet(&[1]);
    assert_eq!((player.memory(0), player.counts().demotions), (Some(Memory::Nvram), 1));
    // Four requests: 4 pages in 2 runs of writes, 2 on average. The state stays balanced.
    player.quiet(&[9]);
    assert_eq!(player.memory(8), None, "a clean page leaves without a trace");
    // NVRAM has room for two blocks; block 1 is the least recently used.
    assert_eq!(player.access(Op::Write, 12, 2), [(4, 2)]);
    // Block 0 is flushed with its dirty page in DRAM, which stays as a clean page.
    assert_eq!(player.access(Op::Write, 16, 4), [(0, 2)]);
    assert_eq!(player.memory(1), Some(Memory::Dram));
    player.quiet(&[20]);
    assert_eq!(player.memory(1), None);
    // 8 pages in one run: write-intensive. Reads go to NVRAM, writes of any size to DRAM.
    assert_eq!(player.read(24), [(12, 2)]);
    assert_eq!(player.memory(24), Some(Memory::Nvram));
    player.access(Op::Write, 28, 2);
    assert_eq!((player.memory(28), player.memory(29)), (Some(Memory::Dram), Some(Memory::Dram)));
    let expected = Placement {
        balanced_intervals: 2,
        dram_requests: 6,
        nvram_requests: 4,
        t_state: 3.0,
        t_read: 2.0,
        t_write: 2.0,
        ..Default::default()
    };
    assert_eq!(player.0.buffer.placement(), Some(expected));
}

#[test]
fn wap_lru_learns_thresholds_from_the_last_intervals() {
    let config = wap_lru::Config {
        dram: pages(8),
        nvram: pages(8),
        interval: 2,
        window: 2,
        thresholds: wap_lru::Source::Online,
        ..Default::default()
    };
    let mut player = Player::new(&BufferConfig::WapLru(config));
    let thresholds = |player: &Player| {
        let placement = player.0.buffer.placement().unwrap();
        [placement.t_state, placement.t_read, placement.t_write]
    };
    let never = f64::from(u32::MAX);
    assert_eq!(thresholds(&player), [never; 3], "at first all goes to DRAM");
    // A trial takes three intervals. The first trial runs the best rule, the next one tries the sizes: longest
    // writes of 3 and 2, their 75th percentile 2.75, their median 2.5; the longest reads are 1.
    for _ in 0..2 {
        player.access(Op::Write, 0, 3);
        player.read(0);
    }
    assert_eq!(thresholds(&player), [never; 3]);
    player.access(Op::Write, 4, 2);
    player.read(0);
    assert_eq!(thresholds(&player), [never, 1.0, 2.625]);
    player.access(Op::Write, 4, 2);
    player.read(1);
    assert_eq!(thresholds(&player), [never, 1.0, 2.0], "of the last two intervals");
    for _ in 0..2 {
        player.access(Op::Write, 4, 2);
        player.read(1);
    }
    assert_eq!(thresholds(&player), [never; 3], "nothing was gained");
    for _ in 0..3 {
        player.access(Op::Write, 4, 1);
        player.read(1);
    }
    // Then the whole recipe applies: runs of 1 page, writes of 1.
    assert_eq!(thresholds(&player), [1.0, 1.0, 1.0]);
}

#[test]
fn wap_lru_takes_the_thresholds_that_are_given_over_those_that_it_learns() {
    let fixed = wap_lru::Config { t_state: Some(5.0), t_read: Some(2.0), t_write: Some(3.0), ..Default::default() };
    let placement = Player::new(&BufferConfig::WapLru(fixed.clone())).0.buffer.placement().unwrap();
    assert_eq!([placement.t_state, placement.t_read, placement.t_write], [5.0, 2.0, 3.0]);
    let open = wap_lru::Config { t_write: None, ..fixed };
    let placement = Player::new(&BufferConfig::WapLru(open)).0.buffer.placement().unwrap();
    assert_eq!([placement.t_state, placement.t_read, placement.t_write], [5.0, 2.0, f64::from(u32::MAX)]);
}

#[test]
fn wap_lru_without_padding_leaves_dirty_pages_in_dram() {
    for (padding, first, second) in [(true, (1, 3), vec![]), (false, (2, 2), vec![(4, 2)])] {
        let config =
            wap_lru::Config { dram: pages(2), nvram: pages(4), t_write: Some(2.0), padding, ..Default::default() };
        let mut player = Player::new(&BufferConfig::WapLru(config));
        // Page 1 goes to DRAM, pages 2 and 3 to NVRAM, which has room for one block.
        player.quiet(&[1]);
        assert_eq!(player.access(Op::Write, 2, 2), []);
        assert_eq!(player.access(Op::Write, 4, 2), [first]);
        // Page 1 must leave DRAM: it is clean and dropped, or moves to NVRAM in place of block 1.
        player.quiet(&[8]);
        assert_eq!(player.write(9), second);
        assert_eq!(player.memory(1), (!padding).then_some(Memory::Nvram));
    }
}

#[test]
fn wap_lru_pads_with_the_block_that_leaves_or_with_the_one_that_comes() {
    use wap_lru::Padded::{Incoming, Leaving};
    for (padded, written) in [(Leaving, vec![(1, 3)]), (Incoming, vec![(2, 2), (5, 1)])] {
        let config =
            wap_lru::Config { dram: pages(2), nvram: pages(4), t_write: Some(2.0), padded, ..Default::default() };
        let mut player = Player::new(&BufferConfig::WapLru(config));
        // Pages 1 and 5 go to DRAM, pages 2 and 3 to NVRAM, which has room for one block: for block 1, block 0 leaves.
        player.quiet(&[1, 5]);
        assert_eq!(player.access(Op::Write, 2, 2), []);
        assert_eq!(player.access(Op::Write, 6, 2), written, "{padded:?}");
        assert_eq!([player.memory(1), player.memory(5)], [Some(Memory::Dram); 2]);
    }
}

#[test]
fn wap_lru_replaces_its_own_block_or_the_least_recent_one() {
    for (own_block_first, written) in [(true, (4, 1)), (false, (0, 3))] {
        let config = wap_lru::Config {
            dram: pages(2),
            nvram: pages(4),
            t_write: Some(1.0),
            allocation: wap_lru::Allocation::Page,
            own_block_first,
            ..Default::default()
        };
        let mut player = Player::new(&BufferConfig::WapLru(config));
        // Three pages of block 0 and one of block 1 fill NVRAM; block 0 is the least recent.
        player.quiet(&[0, 1, 2, 4]);
        assert_eq!(player.write(5), [written]);
    }
}

#[test]
fn wap_lru_flushes_a_complete_block_where_that_is_asked_for() {
    let config = wap_lru::Config {
        dram: pages(2),
        nvram: pages(8),
        t_write: Some(2.0),
        flush_when_complete: true,
        ..Default::default()
    };
    let mut player = Player::new(&BufferConfig::WapLru(config));
    assert_eq!(player.access(Op::Write, 0, 2), []);
    assert_eq!(player.access(Op::Write, 2, 2), [(0, 4)]);
    assert_eq!(player.memory(0), None);
}

#[test]
fn wap_lru_by_page_flushes_the_block_that_a_page_comes_to() {
    let config = wap_lru::Config {
        dram: pages(2),
        nvram: pages(4),
        t_write: Some(0.0),
        allocation: wap_lru::Allocation::Page,
        ..Default::default()
    };
    let mut player = Player::new(&BufferConfig::WapLru(config));
    player.quiet(&[0, 4, 8, 9]);
    // NVRAM is full and holds block 1, so block 1 is evicted, not the older block 0.
    assert_eq!(player.write(5), [(4, 1)]);
    assert_eq!(player.write(12), [(0, 1)]);
}

#[test]
fn wap_lru_keeps_to_its_blocks_at_any_scale() {
    let geometry = nandlab_nand::Geometry::single_die(600, 64, 2048).unwrap();
    let config =
        BufferConfig::WapLru(wap_lru::Config { dram: pages(1_638), nvram: pages(6_528), ..Default::default() });
    let mut rig = Rig::new(&config, geometry, 32_768 * 4);
    let mut random = nandlab_nand::random::Random::new(1);
    for _ in 0..600_000 {
        let op = if random.chance(0.5) { Op::Write } else { Op::Read };
        rig.submit(&Request::new(op, random.below(32_768) * 4, 4), Payload::None).unwrap();
    }
    let counts = rig.buffer.counts();
    assert!(counts.demotions > 10_000 && counts.flushes > 1_000, "{counts:?}");
}
