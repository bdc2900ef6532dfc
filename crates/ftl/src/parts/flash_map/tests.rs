//! A map on flash compared with a plain array, over mounts, on devices with one die and with two.

use super::recover::FoundMap;
use super::*;
use crate::parts::blocks::scan::scan_ascending;
use crate::tests::{timed_flash, two_dies, Flash};
use nandlab_nand::profile::Timing;
use nandlab_nand::random::Random;

const FORM: u16 = 9;

/// Pages reported to a mount: the time of each map page, and its contents.
type Told = Vec<Option<(u64, Vec<u8>)>>;

/// A map with its keeper, on a device without other data.
struct Bench {
    nand: Flash,
    keeper: Keeper,
    map: FlashMap,
    shape: Shape,
}

impl Bench {
    /// Mounts the map; also returns the reported pages.
    fn mount(mut nand: Flash, shape: Shape) -> (Self, Told) {
        let geometry = *nand.geometry();
        let scans = scan_ascending(&mut nand).unwrap();
        let mut keeper = Keeper::new(&geometry, scans.highest());
        let mut told = Vec::new();
        let mut map = FoundMap::new(&geometry, shape, &scans)
            .read(&mut nand, |page, held| {
                assert_eq!(page as usize, told.len());
                told.push(held.map(|(seq, bytes)| (seq, bytes.to_vec())));
            })
            .unwrap();
        let free = (0..geometry.blocks()).map(BlockId).filter(|&block| !map.area().has(block));
        free.for_each(|block| keeper.add(block, Some(Cause::Mount)));
        map.close_found(&mut nand, &mut keeper, &scans).unwrap();
        (Self { nand, keeper, map, shape }, told)
    }

    fn write(&mut self, page: u32, bytes: &[u8]) {
        self.map.write(&mut self.nand, &mut self.keeper, page, bytes, 0).unwrap();
    }

    fn read(&mut self, page: u32) -> Option<Vec<u8>> {
        let mut bytes = vec![0; self.nand.geometry().page_bytes() as usize];
        match self.map.read(&mut self.nand, page, &mut bytes).unwrap() {
            Held::Nothing => None,
            Held::Page => Some(bytes),
            Held::Lost => panic!("map page {page} is lost"),
        }
    }
}

/// Writes random pages, with mounts in between; returns the map's total activity.
fn play(nand: Flash, pages: u32, spare_percent: u32, rounds: u32) -> MapCounts {
    let shape = Shape { form: FORM, pages, spare_percent };
    let quota = shape.quota(nand.geometry());
    let (mut bench, told) = Bench::mount(nand, shape);
    assert!(told.is_empty(), "an erased device has no map");
    let mut model: Told = vec![None; pages as usize];
    let (mut random, mut sum) = (Random::new(pages.into()), MapCounts::default());
    for round in 0..rounds {
        let page = random.below(pages.into()) as u32;
        let mut bytes = vec![page as u8; bench.nand.geometry().page_bytes() as usize];
        bytes[..4].copy_from_slice(&round.to_le_bytes());
        bench.write(page, &bytes);
        model[page as usize] = Some((bench.keeper.seq() - 1, bytes));
        assert!(bench.map.area().blocks() < quota, "{} blocks of {quota}", bench.map.area().blocks());
        let page = random.below(pages.into()) as u32;
        assert_eq!(bench.read(page), model[page as usize].clone().map(|(_, bytes)| bytes), "map page {page}");
        if random.chance(0.02) {
            bench.map.check(&mut bench.nand);
            let MapCounts { gc_runs, empty_gc_runs, moved } = bench.map.counts();
            sum.gc_runs += gc_runs;
            sum.empty_gc_runs += empty_gc_runs;
            sum.moved += moved;
            let told;
            (bench, told) = Bench::mount(bench.nand, bench.shape);
            // A moved map page keeps the time it describes.
            assert_eq!(told, model, "in round {round}");
        }
    }
    sum
}

#[test]
fn a_map_page_reads_as_it_was_written_whatever_was_moved() {
    let single = |blocks, pages| {
        let geometry = Geometry::single_die(blocks, pages, 512).unwrap();
        timed_flash(geometry, &Timing::array(0.0, 0.0, 0.0))
    };
    for (pages, spare_percent, moves) in [(1, 0, false), (7, 0, true), (8, 50, true), (33, 0, true), (60, 100, true)] {
        let counts = play(single(20, 8), pages, spare_percent, 3_000);
        assert!(counts.gc_runs > 100 && (counts.moved > 100) == moves, "{pages} map pages: {counts:?}");
    }
    let counts = play(two_dies(), 20, 40, 3_000);
    assert!(counts.gc_runs > 100 && counts.moved > 100, "{counts:?}");
}

#[test]
fn the_least_quota_has_room_for_the_map_and_a_page_more() {
    for pages in 1..80 {
        for spare_percent in [0, 100] {
            let geometry = Geometry::single_die(40, 8, 512).unwrap();
            let shape = Shape { form: 1, pages, spare_percent };
            // Without the block being filled and the block for a victim's survivors.
            let closed = shape.quota(&geometry) - shape.frontiers(&geometry);
            assert!(closed * 8 > pages, "{pages} map pages, {closed} closed blocks");
        }
    }
}

#[test]
fn consecutive_pages_lie_on_different_dies() {
    let (mut bench, _) = Bench::mount(two_dies(), Shape { form: FORM, pages: 8, spare_percent: 0 });
    for page in 0..8 {
        bench.write(page, &[1; 512]);
    }
    let geometry = *bench.nand.geometry();
    let dies: Vec<u32> = (0..8).map(|page| geometry.die_of(geometry.block_of(bench.map.at(page)))).collect();
    assert_eq!(dies, [0, 1, 0, 1, 0, 1, 0, 1]);
}
