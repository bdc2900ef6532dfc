//! Tests of `src/record/blocks.rs`.

use nandlab_ftl::BlockState;
use nandlab_lab::inside::MOST_GROUPS;
use nandlab_lab::record::BlocksRecord;

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
