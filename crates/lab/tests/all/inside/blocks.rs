//! Tests of `src/record/blocks.rs`.

use nandlab_ftl::BlockState;
use nandlab_lab::inside::MOST_GROUPS;
use nandlab_lab::record::{BlocksRecord, HostCounts, LifetimeRecord};

fn state(valid: u32) -> BlockState {
    BlockState { valid, is_free: valid == 0 }
}

#[test]
fn groups_cover_every_block_once() {
    for blocks in [1, 255, 256, 257, 1000, 16_384] {
        let states: Vec<_> = (0..blocks).map(|at| state(at % 5)).collect();
        let cycles: Vec<_> = (0..blocks).collect();
        let record = BlocksRecord::of(&states, &cycles);
        assert!(record.groups.len() <= MOST_GROUPS);
        assert_eq!(record.groups.iter().map(|group| group.blocks).sum::<u64>(), u64::from(blocks));
        assert_eq!(record.groups.iter().map(|group| group.free).sum::<u64>(), record.free);
        let valid: f64 = record.groups.iter().map(|group| group.valid_pages * group.blocks as f64).sum();
        assert!((valid - record.valid_pages as f64).abs() < 1e-6);
        assert_eq!(record.histogram.iter().map(|&(_, n)| n).sum::<u64>() + record.free, u64::from(blocks));
        let last = record.groups.last().unwrap();
        assert_eq!((last.first + last.blocks, last.pe_cycles_max), (u64::from(blocks), blocks - 1));
    }
}

#[test]
fn even_wear_wears_out_all_blocks_at_once() {
    // 500 blocks of 4 MiB, filled 3 times with WAF 2: 2 cycles per fill, 3000 / 6 such runs.
    let (blocks, block_bytes) = (500u32, 4u64 << 20);
    let bytes = 3 * u64::from(blocks) * block_bytes;
    let host = HostCounts { written_sectors: bytes / 512, ..HostCounts::default() };
    let (before, after) = (vec![7; blocks as usize], vec![13; blocks as usize]);
    let daily = bytes / 10;
    let life = LifetimeRecord::of(3000, (&before, &after), &host, (Some(60e6), Some(daily))).unwrap();
    assert_eq!(life.even.host_bytes, 500.0 * bytes as f64, "capacity x endurance / WAF");
    assert!((life.even.years.unwrap() / (5000.0 / 365.0) - 1.0).abs() < 1e-12, "{life:?}");
    assert_eq!(life.even.time_s, Some(500.0 * 60.0));
    assert_eq!((life.first_block, life.one_percent), (life.even, Some(life.even)));
}

#[test]
fn a_hundredth_of_the_blocks_is_the_fifth_of_500_and_the_sixth_of_501() {
    let host = HostCounts { written_sectors: 2048, ..HostCounts::default() };
    for (blocks, cycles) in [(1, 1000), (100, 1000), (101, 999), (500, 996), (501, 995)] {
        let after: Vec<u32> = (0..blocks).map(|at| 1000 - (at * 7) % blocks).collect();
        let life = LifetimeRecord::of(1000, (&vec![0; blocks as usize], &after), &host, (None, None)).unwrap();
        let expected = 1_048_576.0 * (1000.0 / f64::from(cycles));
        assert_eq!(life.one_percent.unwrap().host_bytes, expected, "{blocks} blocks");
        assert_eq!((life.one_percent.unwrap().time_s, life.one_percent.unwrap().years), (None, None));
    }
    let one = LifetimeRecord::of(1000, (&[0; 101], &[&[5][..], &[0; 100]].concat()), &host, (None, None)).unwrap();
    assert_eq!(one.one_percent, None, "two blocks of 101 were never erased");
}

#[test]
fn a_life_is_coarse_below_five_cycles_of_its_block() {
    let host = HostCounts { written_sectors: 2048, ..HostCounts::default() };
    let told = |after: &[u32]| {
        let life = LifetimeRecord::of(1000, (&vec![0; after.len()], after), &host, (None, None)).unwrap();
        let one_percent = life.one_percent.unwrap();
        [life.even, life.first_block, one_percent].map(|life| (life.cycles, life.coarse))
    };
    assert_eq!(told(&[4, 0]), [(2.0, true), (4.0, true), (4.0, true)]);
    assert_eq!(told(&[5, 0]), [(2.5, false), (5.0, false), (5.0, false)]);
    // 1 % of 101 blocks rounds up to two.
    let uneven = told(&[&[9, 4][..], &[0; 99]].concat());
    assert_eq!(uneven.map(|(_, coarse)| coarse), [false, false, true]);
}

#[test]
fn lifetime_is_endurance_over_cycles() {
    // 1 MiB written for 2 and 6 cycles of two blocks in 8 s.
    let host = |written_sectors| HostCounts { written_sectors, ..HostCounts::default() };
    let life = LifetimeRecord::of(1000, (&[10, 0], &[12, 6]), &host(2048), (Some(8e6), None)).unwrap();
    assert_eq!((life.even.host_bytes, life.even.time_s), (1_048_576.0 * 250.0, Some(2000.0)));
    let first = life.first_block.host_bytes;
    assert!((first / (1_048_576.0 * 1000.0 / 6.0) - 1.0).abs() < 1e-12, "{first}");
    assert_eq!(life.one_percent, Some(life.first_block), "one of two blocks is 1 % of them");
    assert_eq!(LifetimeRecord::of(1000, (&[1, 1], &[1, 1]), &host(2048), (None, None)), None);
    assert_eq!(LifetimeRecord::of(1000, (&[0, 0], &[1, 1]), &host(0), (None, None)), None);
}
