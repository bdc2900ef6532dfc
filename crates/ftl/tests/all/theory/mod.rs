//! Write amplification of the page maps against independent closed forms.

mod caches;
mod dftl;
mod dies;
mod forms;
mod groups;
mod handles;
mod policies;
mod pools;
mod sectors;
mod superpage;

use crate::lab::Options;
use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_drive::{counting, Drive};
use nandlab_ftl::page::{Config, ValidPages};
use nandlab_nand::counting::Lean;
use nandlab_nand::random::Random;
use nandlab_nand::{Cause, Cell, Counting, Geometry, Rules};

/// An FTL on a device that only counts.
type Lab = Box<dyn Drive>;

fn mount(nand: Counting<Lean>, logical: u32, options: &impl Options) -> Lab {
    counting(&options.ftl(), nand, logical).expect("it fits")
}

#[test]
fn closed_form_is_the_published_one() {
    // Van Houdt's equations for d choices, solved numerically by other code and taken to the limit of many choices.
    for (b, op, waf) in [(64, 0.07, 7.00993), (128, 0.07, 7.39161), (64, 0.2, 3.05282), (128, 0.5, 1.69821)] {
        assert!((forms::greedy(b, op) - waf).abs() < 2e-5, "b = {b}, OP = {op}: {}", forms::greedy(b, op));
    }
}

/// Solutions to the papers' equations found by other code, and the published 2.36 from Xiang and Kurkoski.
#[test]
fn closed_forms_are_the_published_ones() {
    for (form, published) in [
        (forms::fifo(0.07), 7.81716),
        (forms::fifo(0.3), 2.3642),
        (forms::d_choices(32, 0.07, 2), 9.94668),
        (forms::d_choices(64, 0.07, 5), 7.87456),
        (forms::d_choices(128, 0.07, 10), 7.64947),
        (forms::d_choices(64, 0.2, 1), 6.0),
        (forms::fifo_mixed(0.07, 0.8, 0.2), 8.18184),
        (forms::fifo_mixed(0.07, 0.95, 0.05), 9.95764),
        (forms::greedy(64, forms::op_of_trims(0.12, 0.1)), 2.5287),
        (forms::greedy(64, forms::op_of_trims(0.12, 0.3)), 1.2560),
    ] {
        assert!((form - published).abs() < 6e-5, "{form}, published {published}");
    }
}

#[test]
fn many_choices_are_greedy() {
    for op in [0.07, 0.5] {
        let greedy = forms::greedy(64, op);
        let far = [10, 100, 1000].map(|d| forms::d_choices(64, op, d) / greedy - 1.0);
        assert!(far[0] > far[1] && far[1] > far[2] && far[2] > 0.0 && far[2] < 1e-3, "OP = {op}: {far:?}");
    }
}

#[test]
fn closed_form_ends_in_that_of_large_blocks() {
    assert!((forms::fifo(0.07) - 7.81716).abs() < 1e-5, "{}", forms::fifo(0.07));
    for op in [0.07, 0.2, 0.5] {
        let far = [256, 1024, 4096].map(|b| 1.0 - forms::greedy(b, op) / forms::fifo(op));
        // Four times the pages, a quarter of the distance.
        assert!(far[2] > 0.0 && far[2] < 0.002, "OP = {op}: {far:?}");
        assert!(far.windows(2).all(|pair| (3.0..5.0).contains(&(pair[0] / pair[1]))), "OP = {op}: {far:?}");
    }
}

fn totals(lab: &mut Lab) -> Cell {
    lab.ctx().matrix().total()
}

/// Writes `count` single pages at addresses from `next`; returns programs per written page.
fn waf_of(lab: &mut Lab, count: u64, mut next: impl FnMut() -> u64) -> f64 {
    waf_of_pages(lab, count, &mut next)
}

fn waf_of_pages(lab: &mut Lab, count: u64, next: &mut dyn FnMut() -> u64) -> f64 {
    let per_page = lab.sectors() / u64::from(lab.logical_pages());
    let before = totals(lab).programs();
    let mut clock = HostClock::closed_loop(1);
    let (mut batch, mut done) = (Vec::new(), Vec::new());
    let mut left = count;
    while left > 0 {
        batch.clear();
        done.clear();
        let writes = left.min(1024);
        batch.extend((0..writes).map(|_| Request::new(Op::Write, next() * per_page, per_page as u32)));
        lab.submit_batch(&batch, &mut clock, &mut done).expect("the device has no faults");
        left -= writes;
    }
    (totals(lab).programs() - before) as f64 / count as f64
}

/// A page map with `over_provisioning` in the space left by the reserve: the frontiers and the free blocks.
fn lab(blocks: u32, pages_per_block: u32, over_provisioning: f64, config: &Config) -> (Lab, u64) {
    let geometry = Geometry::single_die(blocks, pages_per_block, 4096).expect("a plain shape");
    let usable = f64::from((blocks - config.reserve_blocks - config.frontiers()) * pages_per_block);
    let logical = (usable / (1.0 + over_provisioning)) as u32;
    (mount(Counting::new(geometry, Rules::default()), logical, config), logical.into())
}

fn random_waf(blocks: u32, b: u32, over_provisioning: f64, config: &Config) -> f64 {
    random_run(blocks, b, over_provisioning, config).0
}

/// The write amplification under random writes, and the disk afterwards.
fn random_run(blocks: u32, b: u32, over_provisioning: f64, config: &Config) -> (f64, Lab) {
    let (mut lab, logical) = lab(blocks, b, over_provisioning, config);
    let mut at = 0;
    waf_of(&mut lab, logical, || {
        at = (at + 1) % logical;
        at
    });
    let mut random = Random::new(1);
    waf_of(&mut lab, 5 * logical, || random.below(logical));
    let waf = waf_of(&mut lab, 6 * logical, || random.below(logical));
    (waf, lab)
}

#[test]
fn greedy_agrees_with_the_closed_form_within_one_percent() {
    for b in [64, 128] {
        for over_provisioning in [0.07, 0.2, 0.5] {
            // The rule counts both frontiers as empty; they are half full, which 4096 blocks make small.
            let measured = random_waf(4096, b, over_provisioning, &Config::default());
            let expected = forms::greedy(b, over_provisioning);
            let error = measured / expected - 1.0;
            println!(
                "b = {b:3}, OP = {over_provisioning:4}: {measured:.4} against {expected:.4} ({:+.2} %)",
                100.0 * error
            );
            assert!(error.abs() < 0.01, "b = {b}, OP = {over_provisioning}: {measured} against {expected}");
        }
    }
}

#[test]
fn how_valid_pages_are_told_changes_only_spare_reads() {
    let spare = Config { valid_pages: ValidPages::Spare, ..Config::default() };
    let ram = Config { valid_pages: ValidPages::Bitmap, ..Config::default() };
    let (blocks, pages) = (128, 32);
    let [mut spare, mut ram] = [spare, ram].map(|config| random_run(blocks, pages, 0.2, &config).1);
    let (read, none) = (totals(&mut spare), totals(&mut ram));
    // Mounts cost the same; a block that is collected is read page by page.
    let mount = |lab: &mut Lab| lab.ctx().matrix().sum(|_, cause| cause == Cause::Mount).spare_reads;
    assert_eq!((none.spare_reads, mount(&mut spare)), (mount(&mut ram), mount(&mut ram)));
    let collected = spare.events().gc_runs;
    let of_blocks = read.spare_reads - none.spare_reads;
    // One victim more may be on its way.
    assert!(collected > 500, "{collected}");
    assert_eq!(of_blocks % u64::from(pages), 0);
    assert!(
        (collected..=collected + 1).contains(&(of_blocks / u64::from(pages))),
        "{of_blocks} for {collected} blocks"
    );
    assert_eq!(Cell { spare_reads: 0, ..read }, Cell { spare_reads: 0, ..none });
}

#[test]
fn sequential_writes_are_not_amplified() {
    let (mut lab, logical) = lab(256, 64, 0.07, &Config::default());
    let mut at = 0;
    let waf = waf_of(&mut lab, 10 * logical, || {
        at = (at + 1) % logical;
        at
    });
    assert_eq!(waf, 1.0);
}

#[test]
fn conservation_of_pages_holds() {
    let (mut lab, logical) = lab(256, 64, 0.12, &Config::default());
    let mut random = Random::new(9);
    waf_of(&mut lab, 6 * logical, || random.below(logical));
    let total = totals(&mut lab);
    // No block of this FTL is erased before it is full.
    assert_eq!(total.programs(), 64 * (total.erases() as u64) + lab.chip().programmed_pages());
}
