//! Write amplification of the page map against closed forms that nobody here found.

use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_ftl::page::{Config, PageMap, ValidPages};
use nandlab_ftl::Disk;
use nandlab_nand::counting::Lean;
use nandlab_nand::random::Random;
use nandlab_nand::{Cell, Counting, Geometry, Rules};

type Lab = Disk<PageMap, Counting<Lean>>;

/// Greedy, uniform random single-page writes, blocks of `b` pages, infinitely many blocks (mean field; the
/// limit of Van Houdt's d-choices for d to infinity, "Performance of garbage collection algorithms for
/// flash-based solid state drives with hot/cold data", Performance Evaluation 70, 2013).
fn greedy_waf(b: u32, over_provisioning: f64) -> f64 {
    let rho = 1.0 / (1.0 + over_provisioning);
    let harmonic = |n: u32| (1..=n).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    let b_pages = f64::from(b);
    for m in 1..b {
        let m_pages = f64::from(m);
        let f = (rho * b_pages * (harmonic(b) - harmonic(m)) - (b_pages - m_pages)) / (1.0 - rho * b_pages / m_pages);
        if (0.0..1.0).contains(&f) {
            return b_pages / (b_pages - m_pages + f);
        }
    }
    panic!("no solution for b = {b}, OP = {over_provisioning}");
}

#[test]
fn closed_form_is_the_published_one() {
    // Values of the mean-field model as tabulated elsewhere, independent of this code.
    for (b, op, waf) in [(64, 0.07, 7.00993), (128, 0.07, 7.39161), (64, 0.2, 3.05282), (128, 0.5, 1.69821)] {
        assert!((greedy_waf(b, op) - waf).abs() < 2e-5, "b = {b}, OP = {op}: {}", greedy_waf(b, op));
    }
}

fn totals(lab: &mut Lab) -> Cell {
    use nandlab_nand::Nand;
    lab.nand_mut().ctx().matrix().total()
}

/// Writes `count` single pages at the addresses that `next` gives; returns programs per page written.
fn waf_of(lab: &mut Lab, count: u64, mut next: impl FnMut() -> u64) -> f64 {
    let per_page = lab.sectors() / u64::from(nandlab_ftl::Ftl::logical_pages(lab.ftl()));
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

/// A page map of which `over_provisioning` is what remains after the reserve: two frontiers and the free blocks.
fn lab(blocks: u32, pages_per_block: u32, over_provisioning: f64, config: &Config) -> (Lab, u64) {
    let geometry = Geometry::single_die(blocks, pages_per_block, 4096).expect("a plain shape");
    let usable = f64::from((blocks - config.reserve_blocks - 2) * pages_per_block);
    let logical = (usable / (1.0 + over_provisioning)) as u32;
    let lab = Disk::mount(Counting::new(geometry, Rules::default()), logical, config).expect("it fits");
    (lab, logical.into())
}

fn random_waf(blocks: u32, b: u32, over_provisioning: f64, config: &Config) -> f64 {
    let (mut lab, logical) = lab(blocks, b, over_provisioning, config);
    let mut at = 0;
    waf_of(&mut lab, logical, || {
        at = (at + 1) % logical;
        at
    });
    let mut random = Random::new(1);
    waf_of(&mut lab, 5 * logical, || random.below(logical));
    waf_of(&mut lab, 6 * logical, || random.below(logical))
}

#[test]
fn greedy_agrees_with_the_closed_form_within_one_percent() {
    for b in [64, 128] {
        for over_provisioning in [0.07, 0.2, 0.5] {
            // The rule counts both frontiers as empty; they are half full, which 4096 blocks make small.
            let measured = random_waf(4096, b, over_provisioning, &Config::default());
            let expected = greedy_waf(b, over_provisioning);
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
    assert_eq!(random_waf(128, 32, 0.2, &spare), random_waf(128, 32, 0.2, &ram));
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
    let nand = lab.nand();
    let programmed_now: u64 = (0..256).map(|b| u64::from(nand.high_water(nandlab_nand::BlockId(b)))).sum();
    // No block of this FTL is erased before it is full.
    assert_eq!(total.programs(), 64 * (total.erases() as u64) + programmed_now);
}
