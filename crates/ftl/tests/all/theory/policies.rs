//! The policies against their closed forms, or against published results.

use super::{forms, lab, random_waf, waf_of};
use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_ftl::page::Config;
use nandlab_ftl::parts::placement::{Dac, Midas, Placement, Streams, TwoPools, Warcip};
use nandlab_ftl::parts::victim::{DChoices, Victim, WindowedGreedy};
use nandlab_nand::random::Random;

const OPS: [f64; 4] = [0.07, 0.12, 0.2, 0.5];
const BLOCKS: u32 = 2048;

/// Fails if the measured value is more than a percent off the closed form.
fn agrees(what: &str, measured: f64, expected: f64) {
    let error = 100.0 * (measured / expected - 1.0);
    println!("{what}: {measured:.4} against {expected:.4} ({error:+.2} %)");
    assert!(error.abs() < 1.0, "{what}: {measured} against {expected}");
}

fn with(victim: Victim) -> Config {
    // One frontier: the reserve rule then leaves out half a block.
    Config { victim, placement: Placement::One, ..Config::default() }
}

#[test]
fn fifo_agrees_with_its_closed_form() {
    for op in OPS {
        agrees(&format!("fifo, OP {op}"), random_waf(BLOCKS, 64, op, &with(Victim::Fifo)), forms::fifo(op));
    }
}

#[test]
fn random_agrees_with_its_closed_form() {
    for op in OPS {
        let expected = (1.0 + op) / op;
        agrees(&format!("random, OP {op}"), random_waf(BLOCKS, 64, op, &with(Victim::Random)), expected);
    }
}

#[test]
fn d_choices_agrees_with_its_closed_form() {
    for choices in [2, 5, 10] {
        for op in [0.07, 0.2, 0.5] {
            let config = with(Victim::DChoices(DChoices { choices }));
            let expected = forms::d_choices(64, op, choices);
            agrees(&format!("{choices} choices, OP {op}"), random_waf(BLOCKS, 64, op, &config), expected);
        }
    }
}

#[test]
fn a_window_of_one_block_is_fifo_and_one_of_all_is_greedy() {
    let windowed = |window| random_waf(512, 32, 0.2, &with(Victim::WindowedGreedy(WindowedGreedy { window })));
    assert_eq!(windowed(1), random_waf(512, 32, 0.2, &with(Victim::Fifo)));
    let (all, greedy) = (windowed(u32::MAX), random_waf(512, 32, 0.2, &with(Victim::Greedy)));
    assert!((all / greedy - 1.0).abs() < 0.002, "{all} and {greedy} differ in the choice among equals alone");
    let between = windowed(128);
    assert!(greedy < between && between < windowed(1), "{between}");
}

/// Write amplification for writes with a share `r` to the first `f` of the pages, after enough writes to forget the
/// start.
fn hot_cold_waf(config: &Config, op: f64, r: f64, f: f64) -> f64 {
    let (mut lab, logical) = lab(BLOCKS, 64, op, config);
    let mut random = Random::new(2);
    let hot = (f * logical as f64) as u64;
    let mut at = 0;
    waf_of(&mut lab, logical, || {
        at = (at + 1) % logical;
        at
    });
    let mut next = || if random.chance(r) { random.below(hot) } else { hot + random.below(logical - hot) };
    waf_of(&mut lab, 12 * logical, &mut next);
    waf_of(&mut lab, 8 * logical, &mut next)
}

#[test]
fn mixed_hot_and_cold_pages_agree_with_the_closed_form() {
    for (r, f) in [(0.8, 0.2), (0.95, 0.05)] {
        for op in [0.2, 0.5] {
            let measured = hot_cold_waf(&with(Victim::Fifo), op, r, f);
            agrees(&format!("fifo, hot {r} on {f}, OP {op}"), measured, forms::fifo_mixed(op, r, f));
        }
    }
}

/// Greedy suffers if writes are skewed, and separation and age help: Rosenblum and Ousterhout 1992 for cost-benefit,
/// Chiang et al. 1999 for DAC, Wang et al. 2022 for SepBIT. For greedy at OP 20 % and 90 % of the writes on 10 % of the
/// pages, two pools with their own OP have a mean-field optimum of 1.597: no policy goes below it.
#[test]
fn separation_and_age_help_under_skew() {
    let measured = |victim, placement| hot_cold_waf(&Config { victim, placement, ..Config::default() }, 0.2, 0.9, 0.1);
    let one = measured(Victim::Greedy, Placement::One);
    let uniform = forms::greedy(64, 0.2);
    assert!(one > 1.2 * uniform, "greedy with hot and cold pages mixed: {one}, uniform {uniform}");
    let two = measured(Victim::Greedy, Placement::Two);
    let cost_benefit = measured(Victim::CostBenefit, Placement::Two);
    let dac = measured(Victim::CostBenefit, Placement::Dac(Dac::default()));
    let sepbit = measured(Victim::CostBenefit, Placement::Sepbit);
    let warcip = measured(Victim::CostBenefit, Placement::Warcip(Warcip::default()));
    let midas = measured(Victim::Greedy, Placement::Midas(Midas::default()));
    println!("one {one:.3}, two {two:.3}, cost-benefit {cost_benefit:.3}, dac {dac:.3}, sepbit {sepbit:.3}");
    println!("warcip {warcip:.3}, midas {midas:.3}");
    assert!(two < one && cost_benefit < two && dac < cost_benefit && sepbit < cost_benefit);
    assert!(warcip < two && midas < two);
    assert!([two, cost_benefit, dac, sepbit, warcip, midas].iter().all(|&waf| waf > 1.597));
}

#[test]
fn trims_act_as_over_provisioning() {
    for (q, b) in [(0.1, 64), (0.2, 64), (0.3, 64)] {
        let config = Config { durable_trim: false, ..with(Victim::Greedy) };
        let (mut lab, logical) = lab(BLOCKS, b, 0.12, &config);
        let sectors = lab.sectors() / logical;
        let mut random = Random::new(4);
        let mut mapped: Vec<u64> = Vec::new();
        let mut place: Vec<Option<usize>> = vec![None; logical as usize];
        let (mut clock, mut done) = (HostClock::closed_loop(1), Vec::new());
        let mut measured = [0u64; 2];
        for turn in 0..16 * logical {
            let request = if !mapped.is_empty() && random.chance(q) {
                let at = random.below(mapped.len() as u64) as usize;
                let page = mapped.swap_remove(at);
                place[page as usize] = None;
                if let Some(&moved) = mapped.get(at) {
                    place[moved as usize] = Some(at);
                }
                Request::new(Op::Trim, page * sectors, sectors as u32)
            } else {
                let page = random.below(logical);
                if place[page as usize].is_none() {
                    place[page as usize] = Some(mapped.len());
                    mapped.push(page);
                }
                measured[1] += u64::from(turn >= 8 * logical);
                Request::new(Op::Write, page * sectors, sectors as u32)
            };
            if turn == 8 * logical {
                measured[0] = lab.ctx().matrix().total().programs();
            }
            done.clear();
            lab.submit_batch(&[request], &mut clock, &mut done).expect("the device has no faults");
        }
        let programs = lab.ctx().matrix().total().programs() - measured[0];
        let waf = programs as f64 / measured[1] as f64;
        agrees(&format!("trims of {q}"), waf, forms::greedy(b, forms::op_of_trims(0.12, q)));
    }
}

/// Every policy fills the device, keeps its books and costs between 1 and random's cost.
#[test]
fn every_policy_costs_between_nothing_and_random() {
    let placements = [
        Placement::One,
        Placement::Two,
        Placement::Origin(Streams::default()),
        Placement::Dac(Dac::default()),
        Placement::Sepbit,
        Placement::Warcip(Warcip::default()),
        Placement::Midas(Midas::default()),
        Placement::Pools(TwoPools { pages: 1000, blocks: 80 }),
    ];
    for victim in Victim::all() {
        for placement in placements {
            let config = Config { victim, placement, ..Config::default() };
            let waf = random_waf(256, 16, 0.2, &config);
            assert!((1.5..6.3).contains(&waf), "{victim:?}, {placement:?}: {waf}");
        }
    }
}
