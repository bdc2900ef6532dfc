//! A page map on a device without faults takes writes for ever, under every victim policy and placement.

use crate::lab::{mount, Lab, Options};
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_ftl::dftl::{self, Dftl};
use nandlab_ftl::page::{Config, Dac, Midas, PageMap, Placement, Streams, Stripe, TwoPools, Warcip};
use nandlab_ftl::parts::victim::{DChoices, Victim, WindowedGreedy};
use nandlab_ftl::parts::wear::{Bet, DualPool, Threshold, Wear};
use nandlab_ftl::Ftl;
use nandlab_nand::counting::Lean;
use nandlab_nand::plain::WithContent;
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, Rules, Shape};

const DAC: Placement = Placement::Dac(Dac { regions: 3 });

const PLACEMENTS: [Placement; 8] = [
    Placement::One,
    Placement::Two,
    Placement::Origin(Streams { streams: 2 }),
    DAC,
    Placement::Sepbit,
    Placement::Warcip(Warcip { clusters: 2 }),
    Placement::Midas(Midas { groups: 3, epoch: 1, watched: 256 }),
    Placement::Pools(TwoPools { pages: 8, blocks: 4 }),
];

const D_CHOICES: Victim = Victim::DChoices(DChoices { choices: 2 });

/// Every victim policy, with few blocks to look at.
fn victims() -> Vec<Victim> {
    let fewer = |victim| match victim {
        Victim::DChoices(_) => D_CHOICES,
        Victim::WindowedGreedy(_) => Victim::WindowedGreedy(WindowedGreedy { window: 3 }),
        other => other,
    };
    Victim::all().into_iter().map(fewer).collect()
}

/// Dies, planes per die, blocks per plane, pages per block.
type Small = [u32; 4];

/// The options under test.
fn config(victim: Victim, placement: Placement, seed: u64) -> Config {
    Config { victim, placement, seed, ..Config::default() }
}

/// Fills a device with 512-byte pages and overwrites it `times` times, in requests of up to `run` pages; `trims` in a
/// hundred trim a page instead. `used` per cent of the exportable pages are exported.
fn overwrite(small: Small, config: &Config, load: [u32; 3], times: u32) {
    overwrite_on::<PageMap>(small, config, load, (times, config.seed)).check();
}

/// The same with another FTL; returns the device. Without sequence numbers only the page map can be checked.
fn overwrite_on<F: Ftl<Config: Options>>(
    [dies, planes, blocks, pages]: Small,
    config: &F::Config,
    [used, trims, run]: [u32; 3],
    (times, seed): (u32, u64),
) -> Lab {
    let shape = Shape {
        channels: 1,
        dies_per_channel: dies,
        planes_per_die: planes,
        blocks_per_plane: blocks,
        pages_per_block: pages,
        page_bytes: 512,
        spare_bytes: 64,
    };
    let geometry = Geometry::new(shape).unwrap();
    let rules = Rules::default();
    let most = F::max_logical_pages(&geometry, &rules, config).unwrap() * used / 100;
    let mut disk = mount(WithContent::new(Counting::<Lean>::new(geometry, rules)), most, config);
    let mut random = Random::new(seed);
    for n in 0..(1 + times) * most {
        let op = if random.below(100) < u64::from(trims) { Op::Trim } else { Op::Write };
        let at = if n < most { u64::from(n) } else { random.below(most.into()) };
        let count = if op == Op::Trim { 1 } else { (1 + random.below(run.into())).min(u64::from(most) - at) };
        let request = Request::new(op, at, count as u32);
        disk.submit(&request, Payload::None).unwrap_or_else(|error| {
            panic!("request {n} of {most} pages: {error}: {shape:?} {used} % {trims} {config:?}")
        });
    }
    disk
}

/// Whether case `n` runs: each with `NANDLAB_LONG`, otherwise one in `of`. A caller counts so that each victim still meets
/// each placement, on one device or another.
fn is_in_turn(n: usize, of: usize) -> bool {
    std::env::var_os("NANDLAB_LONG").is_some() || n % of == 0
}

/// A policy that weighs more than valid pages empties blocks without gain, and each may take a trim note along. If
/// moved pages fill the host's block, the host once used up the reserve meanwhile.
#[test]
fn every_victim_and_placement_takes_writes_for_ever() {
    for (device, small) in [[1, 1, 24, 4], [1, 1, 20, 16], [2, 1, 24, 4]].into_iter().enumerate() {
        for (at, victim) in victims().into_iter().enumerate() {
            for (beside, placement) in PLACEMENTS.into_iter().enumerate() {
                for (seed, load) in [[100, 0, 1], [100, 5, 1], [97, 30, 2]].into_iter().enumerate() {
                    if is_in_turn(device + at + beside + seed, 3) {
                        overwrite(small, &config(victim, placement, 1 + seed as u64), load, 12);
                    }
                }
            }
        }
    }
}

#[test]
fn every_wear_levelling_and_reserve_takes_writes_for_ever() {
    for victim in [Victim::Random, Victim::Fifo, D_CHOICES] {
        let erases = 2;
        let moving = [
            Wear::Threshold(Threshold { erases }),
            Wear::Bet(Bet { erases, set_blocks: 1 }),
            Wear::DualPool(DualPool { erases }),
        ];
        for wear in [Wear::Dynamic].into_iter().chain(moving) {
            for reserve_blocks in 1..=3 {
                for (seed, placement) in (1..).zip([Placement::One, Placement::Two, DAC]) {
                    let config = Config { wear, reserve_blocks, ..config(victim, placement, seed) };
                    overwrite([1, 1, 24, 4], &config, [100, 10, 1], 12);
                }
            }
        }
    }
}

/// A mount of a map on flash closes open blocks, so its reserve follows another rule.
#[test]
fn every_placement_and_wear_levelling_of_a_map_on_flash_takes_writes_for_ever() {
    for small in [[1, 1, 28, 4], [2, 1, 28, 4]] {
        for placement in PLACEMENTS.into_iter().filter(|at| !matches!(at, Placement::Midas(_) | Placement::Pools(_))) {
            for wear in [Wear::None, Wear::Threshold(Threshold { erases: 2 })] {
                for (victim, reserve_blocks) in [(Victim::Random, 1), (Victim::CostBenefit, 2), (D_CHOICES, 3)] {
                    let paged = dftl::Config { placement, wear, victim, reserve_blocks, ..dftl::Config::default() };
                    overwrite_on::<Dftl>(small, &dftl::Config { cmt_entries: 8, ..paged }, [100, 10, 1], (12, 1));
                }
            }
        }
    }
}

/// Moved pages opened the next block each time, so the host's block on a die was never full. Such a die once took pages
/// beyond its share until it had nothing left to gain.
#[test]
fn no_die_takes_more_than_it_can_hold() {
    for (kind, stripe) in [Stripe::default(), Stripe::Planes].into_iter().enumerate() {
        for (at, victim) in victims().into_iter().enumerate() {
            for (beside, placement) in PLACEMENTS.into_iter().enumerate() {
                if is_in_turn(kind + at + beside, 2) {
                    let config = Config { stripe, ..config(victim, placement, 3) };
                    overwrite([4, 4, 16, 4], &config, [95, 0, 8], 8);
                }
            }
        }
    }
}

/// In blocks with many pages the host pays for a victim over many of its own pages. If these went to the block with the
/// copies, one of them once took the last copy's room.
#[test]
fn what_is_being_emptied_finds_room_to_its_end() {
    for (device, small) in [[1, 1, 32, 64], [1, 4, 20, 64]].into_iter().enumerate() {
        for (at, victim) in victims().into_iter().enumerate() {
            for (beside, placement) in PLACEMENTS.into_iter().enumerate() {
                for (seed, load) in [[100, 0, 1], [98, 3, 80]].into_iter().enumerate() {
                    if is_in_turn(2 * device + seed + at + beside, 4) {
                        let usual = config(victim, placement, 1 + seed as u64);
                        let stripe = if small[1] > 1 { Stripe::Planes } else { Stripe::default() };
                        overwrite(small, &Config { reserve_blocks: 1, durable_trim: false, stripe, ..usual }, load, 3);
                    }
                }
            }
        }
    }
}
