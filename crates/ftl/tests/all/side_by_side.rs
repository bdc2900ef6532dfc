//! Dies work side by side, for every FTL that maps pages: host pages go to the dies in turn, and no die waits for another
//! one's collection.

use crate::lab::{device, mount, Lab};
use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_drive::Chip;
use nandlab_ftl::dftl::{self, Allocation};
use nandlab_ftl::hybrid_map::Collection::{self, AtOnce, Tokens};
use nandlab_ftl::{hybrid_map, lazyftl, page, sector_log, sector_map, superpage, zoned, FtlConfig};
use nandlab_nand::plain::WithContent;
use nandlab_nand::profile::Timing;
use nandlab_nand::random::Random;
use nandlab_nand::timed::Timed;
use nandlab_nand::{as_inside, Cause, Content, Counting, Done, Geometry, Nand, NandError, Oob, Ppa, Rules, Shape};

/// A device that notes the die of each host program.
struct Noting {
    inner: Timed<WithContent<Counting>>,
    host: Vec<u32>,
}

impl Nand for Noting {
    type Buf = Content;

    as_inside!(inner: geometry, rules, is_known_erased, is_settled, read, read_spare, read_tail, read_with_tail, copy, program_spare, erase, retire, set_slc, is_slc, ctx);

    fn program(&mut self, at: Ppa, page: &Content, tail: &[u8], oob: Oob) -> Result<Done, NandError> {
        if self.ctx().cause() == Cause::Host {
            let die = self.geometry().die_of(self.geometry().block_of(at));
            self.host.push(die);
        }
        self.inner.program(at, page, tail, oob)
    }
}

impl Chip for Noting {
    fn inside(&self) -> Option<&dyn Chip> {
        Some(&self.inner)
    }
    fn inside_mut(&mut self) -> Option<&mut dyn Chip> {
        Some(&mut self.inner)
    }
}

const DIES: u32 = 32;

/// Dies on channels of eight, with so many blocks each of 32 pages.
fn noting(dies: u32, blocks_per_die: u32) -> Noting {
    let channels = dies.min(8);
    let shape = Shape {
        channels,
        dies_per_channel: dies / channels,
        planes_per_die: 1,
        blocks_per_plane: blocks_per_die,
        pages_per_block: 32,
        page_bytes: 4096,
        spare_bytes: 64,
    };
    let timing = Timing { transfer_ns_per_byte: 2.5, ..Timing::array(50.0, 600.0, 3000.0) };
    let chip = WithContent::new(Counting::new(Geometry::new(shape).expect("a plain shape"), Rules::default()));
    Noting { inner: Timed::new(chip, &timing), host: Vec::new() }
}

/// Writes whole pages, 32 at a time; returns the seconds that it took.
fn write(lab: &mut Lab, count: u64, mut next: impl FnMut() -> u64) -> f64 {
    let start = lab.ctx().horizon();
    let mut clock = HostClock::closed_loop(32);
    for first in (0..count).step_by(1024) {
        let one = |_| Request::new(Op::Write, 8 * next(), 8);
        let batch: Vec<_> = (first..count.min(first + 1024)).map(one).collect();
        lab.submit_batch(&batch, &mut clock, &mut Vec::new()).expect("the device has no faults");
    }
    (lab.ctx().horizon() - start) as f64 / 1e9
}

/// Fills the device in order, and writes it so many times at random; returns the random source.
fn fill(lab: &mut Lab, times: u64) -> Random {
    let pages = u64::from(lab.logical_pages());
    let (mut at, mut random) = (0, Random::new(1));
    write(lab, pages, || {
        at = (at + 1) % pages;
        at
    });
    write(lab, times * pages, || random.below(pages));
    random
}

/// FTLs whose host pages go to the dies in turn.
fn in_turn() -> Vec<(&'static str, FtlConfig)> {
    let whole = dftl::Config { cmt_entries: 1 << 20, ..Default::default() };
    vec![
        ("page", FtlConfig::Page(page::Config::default())),
        ("dftl", FtlConfig::Dftl(dftl::Config { cmt_entries: 512, ..Default::default() })),
        ("dftl, its whole map in memory", FtlConfig::Dftl(whole)),
        ("lazyftl", FtlConfig::Lazyftl(lazyftl::Config::default())),
        ("sector_log", FtlConfig::SectorLog(sector_log::Config { log_percent: 1, ..Default::default() })),
        ("superpage", FtlConfig::Superpage(super_pages_in_turn())),
        ("sector_map", FtlConfig::SectorMap(sector_map::Config { collection: Tokens, ..Default::default() })),
        ("hybrid_map", FtlConfig::HybridMap(hybrid_map::Config { collection: Tokens, ..Default::default() })),
        ("zoned", FtlConfig::Zoned(zoned::Config::default())),
    ]
}

fn super_pages_in_turn() -> superpage::Config {
    superpage::Config {
        allocation: superpage::Allocation::Dynamic,
        collection: superpage::Collection::Tokens,
        reverse_map: superpage::ReverseMap::Spare,
        ..Default::default()
    }
}

/// How many dies 32 host pages in a row lie on, in the mean.
fn different_dies(host: &[u32]) -> f64 {
    let different = |dies: &[u32]| dies.iter().collect::<std::collections::BTreeSet<_>>().len();
    let windows: Vec<usize> = host.windows(DIES as usize).map(different).collect();
    windows.iter().sum::<usize>() as f64 / windows.len() as f64
}

/// Writes pages, and asserts that 32 in a row lie on 32 dies.
fn assert_all_dies(name: &str, lab: &mut Lab, random: &mut Random) -> Vec<u32> {
    let pages = u64::from(lab.logical_pages());
    device::<Noting>(lab).host.clear();
    write(lab, 4096, || random.below(pages));
    let host = std::mem::take(&mut device::<Noting>(lab).host);
    let mean = different_dies(&host);
    println!("{name}: {mean:.2} dies");
    assert!(mean > 31.9, "{name}: of {DIES} pages in a row, {mean} lie on different dies");
    host
}

#[test]
fn pages_in_a_row_lie_on_different_dies() {
    for (name, config) in in_turn() {
        let mut lab = mount(noting(DIES, 64), DIES * 64 * 32 * 3 / 5, &config);
        let mut random = fill(&mut lab, 3);
        let host = assert_all_dies(name, &mut lab, &mut random);
        let of_die = |die| host.iter().filter(|&&at| at == die).count() as f64 / host.len() as f64 * f64::from(DIES);
        for die in 0..DIES {
            assert!((0.95..1.05).contains(&of_die(die)), "{name}: die {die} takes {} of its part", of_die(die));
        }
        lab.remount().expect("it mounts");
        assert_all_dies(name, &mut lab, &mut random);
        lab.check();
    }
}

/// Writes per second, and programs for each.
fn steady(dies: u32, config: &FtlConfig) -> (f64, f64) {
    let blocks = 4096 / dies;
    let mut lab = mount(noting(dies, blocks), 4096 * 32 * 3 / 4, config);
    let mut random = fill(&mut lab, 3);
    let pages = u64::from(lab.logical_pages());
    let programs = lab.ctx().matrix().total().programs();
    let seconds = write(&mut lab, 2 * pages, || random.below(pages));
    let programs = lab.ctx().matrix().total().programs() - programs;
    (2.0 * pages as f64 / seconds, programs as f64 / (2.0 * pages as f64))
}

/// The maps are the same then, and so is the engine; DFTL's map keeps blocks of its own.
#[test]
fn a_map_in_memory_has_the_rate_and_the_cost_of_the_page_map() {
    let whole = dftl::Config { cmt_entries: 1 << 20, ..Default::default() };
    let fixed = dftl::Config { allocation: Allocation::Static, ..whole.clone() };
    for dies in [1, 8, 32] {
        let (rate, waf) = steady(dies, &FtlConfig::Page(page::Config::default()));
        println!("{dies} dies: page {rate:.0} writes/s, WAF {waf:.3}");
        let (its_rate, its_waf) = steady(dies, &FtlConfig::Dftl(whole.clone()));
        println!("{dies} dies: dftl {its_rate:.0} writes/s, WAF {its_waf:.3}");
        assert!((0.95..1.05).contains(&(its_rate / rate)), "{dies} dies: {its_rate} writes/s, page {rate}");
        assert!((0.98..1.02).contains(&(its_waf / waf)), "{dies} dies: {its_waf}, page {waf}");
        let (_, its_waf) = steady(dies, &FtlConfig::Dftl(fixed.clone()));
        assert!((0.98..1.02).contains(&(its_waf / waf)), "static, {dies} dies: {its_waf}, page {waf}");
    }
}

/// Without the firmware's rules for banks and collection, and without lists. Each of the two reads a victim's spare areas.
#[test]
fn super_pages_in_turn_have_the_rate_and_the_cost_of_the_page_map() {
    let spare = page::Config { valid_pages: page::ValidPages::Spare, ..Default::default() };
    let (rate, waf) = steady(DIES, &FtlConfig::Page(spare));
    let (its_rate, its_waf) = steady(DIES, &FtlConfig::Superpage(super_pages_in_turn()));
    println!("page {rate:.0} writes/s, WAF {waf:.3}; superpage {its_rate:.0} writes/s, WAF {its_waf:.3}");
    assert!((0.95..1.05).contains(&(its_rate / rate)), "{its_rate} writes/s, page {rate}");
    assert!((0.98..1.02).contains(&(its_waf / waf)), "{its_waf}, page {waf}");
}

/// At once, the page on a collecting die holds a merge buffer, and soon all dies wait for this buffer.
#[test]
fn by_tokens_no_die_waits_for_another_one_s_collection() {
    let rate = |collection: Collection| {
        let config = FtlConfig::HybridMap(hybrid_map::Config { collection, ..Default::default() });
        let mut lab = mount(noting(DIES, 24), DIES * 24 * 32 * 3 / 5, &config);
        let mut random = fill(&mut lab, 1);
        let pages = u64::from(lab.logical_pages());
        pages as f64 / write(&mut lab, pages, || random.below(pages))
    };
    let (by_tokens, at_once) = (rate(Tokens), rate(AtOnce));
    println!("by tokens {by_tokens:.0} writes/s, at once {at_once:.0}");
    assert!(by_tokens > 1.25 * at_once, "{by_tokens} and {at_once} writes/s");
}

/// Consecutive pages lie on all banks, random ones do not: of 32 numbers drawn from 32, 32 (1 - (31 / 32)^32) = 20.4 differ.
#[test]
fn super_pages_have_their_banks() {
    let mut lab = mount(noting(DIES, 8), DIES * 8 * 32 / 4, &FtlConfig::Superpage(superpage::Config::default()));
    let mut at = 0;
    let pages = u64::from(lab.logical_pages());
    write(&mut lab, 2 * pages, || {
        at = (at + 1) % pages;
        at
    });
    let sequential = different_dies(&std::mem::take(&mut device::<Noting>(&mut lab).host));
    let mut random = Random::new(1);
    write(&mut lab, 4096, || random.below(pages));
    let at_random = different_dies(&device::<Noting>(&mut lab).host);
    assert!(sequential == 32.0 && (at_random / 20.4 - 1.0).abs() < 0.02, "{sequential} and {at_random} dies");
}
