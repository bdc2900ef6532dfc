//! The page map's cache of one-bit blocks: closed forms for its bandwidth, its size and the cost of emptying it.
//!
//! A die without a shared channel and with a page always waiting takes bus plus program time per page:
//! `PAGE + PROGRAM`.

use crate::lab::{device, mount, Lab};
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_ftl::page::{Config, Dac, Dynamic, Fixed, PageMap, SlcCache, SlcFull};
use nandlab_ftl::Ftl;
use nandlab_nand::counting::Full;
use nandlab_nand::plain::WithContent;
use nandlab_nand::profile::{PageCopy, SlcTiming, Timing};
use nandlab_nand::slc::Metered;
use nandlab_nand::timed::Timed;
use nandlab_nand::{BlockId, Cause, Counting, Geometry, Nand, ProgramOrder, Rules, Shape, Time};

const US: Time = 1000;
/// A page of 4,096 and 104 bytes on the bus.
const PAGE: Time = 42 * US;
const READ: Time = 20 * US;
const PROGRAM: Time = 600 * US;
const SLC_READ: Time = 10 * US;
const SLC_PROGRAM: Time = 150 * US;
const ERASE: Time = 3000 * US;

const BITS: u32 = 3;
const PAGES: u32 = 48;
const SLC_PAGES: u32 = PAGES / BITS;
const DIES: u32 = 2;
const BLOCKS: u32 = 40;

type Device = Metered<Timed<WithContent<Counting<Full>>, true>>;

fn geometry() -> Geometry {
    geometry_of(DIES)
}

fn geometry_of(dies: u32) -> Geometry {
    let shape = Shape {
        channels: dies,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: BLOCKS,
        pages_per_block: PAGES,
        page_bytes: 4096,
        spare_bytes: 104,
    };
    Geometry::new(shape).unwrap()
}

fn rules() -> Rules {
    let program_order = ProgramOrder::AscendingDense;
    Rules { program_order, bits_per_cell: BITS as u8, ..Rules::default() }
}

fn timing() -> Timing {
    Timing {
        transfer_ns_per_byte: 10.0,
        copy: PageCopy::External,
        slc: Some(SlcTiming { read_us: 10.0, program_us: 150.0, erase_us: 3000.0 }),
        ..Timing::array(20.0, 600.0, 3000.0)
    }
}

fn fixed(blocks: u32, full: SlcFull) -> Config {
    Config { slc_cache: SlcCache::Fixed(Fixed { blocks, full, ..Fixed::default() }), ..Config::default() }
}

fn dynamic(full: SlcFull) -> Config {
    Config { slc_cache: SlcCache::Dynamic(Dynamic { full, ..Dynamic::default() }), ..Config::default() }
}

fn disk(config: &Config) -> Lab {
    disk_of(DIES, config)
}

fn disk_of(dies: u32, config: &Config) -> Lab {
    let geometry = geometry_of(dies);
    let nand: Device = Metered::new(Timed::with_extras(WithContent::new(Counting::new(geometry, rules())), &timing()));
    let most = PageMap::max_logical_pages(&geometry, &rules(), config).unwrap();
    let mut disk = mount(nand, most, config);
    // The mount has read every spare area; the host comes when it is over.
    disk.ctx().fence();
    disk
}

/// Writes `pages` pages from `first` on, all queued at `at`; returns when the last one is on flash.
fn write(disk: &mut Lab, first: u32, pages: u32, at: Time) -> Time {
    let requests = (first..first + pages).map(|page| Request::new(Op::Write, u64::from(page) * 8, 8));
    let submit = |request: Request| disk.submit(&Request { time: at, ..request }, Payload::None).unwrap().done;
    requests.map(submit).max().unwrap_or(at)
}

fn folded(disk: &mut Lab) -> u64 {
    disk.ctx().matrix().sum(|_, cause| cause == Cause::Fold).copies
}

/// Until the cache is full every page takes an SLC program, then a three-bit one. The cliff comes at the page that
/// fills the cache, and both paces match to the nanosecond.
#[test]
fn a_fixed_cache_falls_off_its_cliff_where_it_is_full() {
    let mut disk = disk(&fixed(4, SlcFull::Direct));
    let cache = DIES * 4 * SLC_PAGES;
    let start = disk.ctx().horizon();
    let full = write(&mut disk, 0, cache, start);
    assert_eq!(full - start, Time::from(cache / DIES) * (PAGE + SLC_PROGRAM));
    let events = disk.events();
    assert_eq!((events.slc_pages, events.slc_direct_pages), (cache.into(), 0));

    let more = 6 * PAGES;
    let done = write(&mut disk, cache, more, start);
    assert_eq!(done - full, Time::from(more / DIES) * (PAGE + PROGRAM), "past a full cache");
    let events = disk.events();
    assert_eq!((events.slc_pages, events.slc_direct_pages, events.slc_folds), (cache.into(), more.into(), 0));
    disk.check();
}

/// A full device with its first pages in a fixed cache is written from the first page again, twice. The cache takes
/// pages once its first block on each die holds nothing. Each die then does only its own work and never waits for
/// another, so the rewrite takes as long as one die's operations: its programs of both kinds and its erases.
///
/// This holds for every first page: in the second round `offset` pages move it by as many dies.
#[test]
fn dies_erase_blocks_of_a_rewritten_cache_side_by_side() {
    for (dies, offset) in
        [2, 8, 32].into_iter().flat_map(|dies| [0, 1, dies / 2, dies - 1].map(|offset| (dies, offset)))
    {
        let mut disk = disk_of(dies, &fixed(4, SlcFull::Direct));
        let (cache, pages) = (dies * 4 * SLC_PAGES, disk.logical_pages());
        let filled = (pages - dies * PAGES) / dies * dies;
        write(&mut disk, 0, filled, 0);
        write(&mut disk, filled - offset, offset, 0);
        for pass in 0..3 {
            let (before, start) = (disk.events(), disk.ctx().horizon());
            write(&mut disk, 0, cache, start);
            let (events, took) = (disk.events(), disk.ctx().horizon() - start);
            let direct = events.slc_direct_pages - before.slc_direct_pages;
            let (cached, erases) = (events.slc_pages - before.slc_pages, events.slc_folds - before.slc_folds);
            // One block on each die and at most one page more go past the cache; three other blocks per die are erased.
            assert_eq!((direct + cached, erases, events.gc_runs), (cache.into(), u64::from(3 * dies), 0));
            let past = direct.checked_sub(u64::from(dies * SLC_PAGES));
            assert!(past.is_some_and(|past| past <= u64::from(dies)), "{dies} dies, {offset}: {direct} pages");
            let sum = direct * (PAGE + PROGRAM) + cached * (PAGE + SLC_PROGRAM) + erases * ERASE;
            let expected = sum / u64::from(dies);
            // Dies do not end with the same page.
            let apart = took.abs_diff(expected);
            assert!(
                apart < PAGE + PROGRAM,
                "{dies} dies, {offset}, pass {pass}: {took} ns, a die works for {expected}"
            );
        }
        disk.check();
    }
}

/// All free blocks except the reserve and one hold one bit per cell; then each host page pays a part of a fold.
///
/// A fold frees a block and fills a third of a three-bit block; a host block takes one free block. That makes 3/2 folds
/// per host block, with a third of its pages each, so each host page folds 1/(BITS - 1) of a page.
#[test]
fn a_dynamic_cache_is_as_large_as_the_free_blocks_and_then_folds_half_a_page_for_each() {
    let mut disk = disk(&dynamic(SlcFull::Direct));
    let cache = DIES * (BLOCKS - 3) * SLC_PAGES;
    let start = disk.ctx().horizon();
    let full = write(&mut disk, 0, cache, start);
    assert_eq!(full - start, Time::from(cache / DIES) * (PAGE + SLC_PROGRAM));
    assert_eq!((disk.events().slc_pages, folded(&mut disk)), (cache.into(), 0));

    // The first block past the cache starts the steady state.
    let settled = 4 * DIES * PAGES;
    write(&mut disk, cache, settled, start);
    let (folded_before, folds) = (folded(&mut disk), disk.events().slc_folds);
    let before = disk.ctx().horizon();
    let more = 12 * DIES * PAGES;
    write(&mut disk, cache + settled, more, start);
    let (moved, folds) = (folded(&mut disk) - folded_before, disk.events().slc_folds - folds);
    let expected = f64::from(more) / f64::from(BITS - 1);
    // Each die may fold a block sooner or later.
    assert!((moved as f64 - expected).abs() <= f64::from(2 * DIES * SLC_PAGES), "{moved} pages, expected {expected}");
    let took = (disk.ctx().horizon() - before) as f64;
    let host = f64::from(more / DIES) * (PAGE + PROGRAM) as f64;
    let per_die = |count: u64, each: Time| count as f64 / f64::from(DIES) * each as f64;
    let sum = host + per_die(moved, SLC_READ + 2 * PAGE + PROGRAM) + per_die(folds, ERASE);
    assert!((took / sum - 1.0).abs() < 0.02, "{took} ns, the operations of a die take {sum}");
    disk.check();
}

/// With `fold` every page is written twice, except pages still in the cache.
#[test]
fn where_pages_wait_for_room_all_are_written_twice() {
    let caches =
        [(fixed(4, SlcFull::Fold), DIES * 4 * SLC_PAGES), (dynamic(SlcFull::Fold), DIES * (BLOCKS - 2) * SLC_PAGES)];
    for (config, cache) in caches {
        let kind = config.slc_cache;
        let mut disk = disk(&config);
        let pages = disk.logical_pages();
        write(&mut disk, 0, pages, 0);
        let (events, moved) = (disk.events(), folded(&mut disk));
        assert_eq!((events.slc_pages, events.slc_direct_pages), (pages.into(), 0), "{kind:?}");
        // Nothing became invalid, so a fold moves a whole block; each die may be in the middle of one.
        let begun = moved - events.slc_folds * u64::from(SLC_PAGES);
        assert!(begun < u64::from(DIES * SLC_PAGES), "{kind:?}: {moved} pages in {} folds", events.slc_folds);
        let held = u64::from(pages) - moved;
        assert!(held <= cache.into() && held > 0, "{kind:?}: {held} pages held, room for {cache}");
        disk.check();
    }
}

/// A gap empties the cache, and it takes the next pages again; a gap shorter than the waiting time changes nothing.
#[test]
fn a_gap_empties_the_cache_and_delays_nobody() {
    for config in [fixed(4, SlcFull::Direct), dynamic(SlcFull::Direct)] {
        let kind = config.slc_cache;
        let mut disk = disk(&config);
        let cache = DIES * 4 * SLC_PAGES;
        let start = disk.ctx().horizon();
        let full = write(&mut disk, 0, cache, start);
        let short = full + 900 * US;
        let done = write(&mut disk, cache, 1, short);
        assert_eq!(folded(&mut disk), 0, "{kind:?}: the gap is no longer than idle_after_us");
        let is_full = matches!(kind, SlcCache::Fixed(_));
        assert_eq!(done - short, PAGE + if is_full { PROGRAM } else { SLC_PROGRAM });

        // Long enough for everything: each cached page once, with its block.
        let long = done + 1000 * US + Time::from(cache) * (READ + 2 * PAGE + PROGRAM) + 10 * ERASE;
        let done = write(&mut disk, cache + 1, 1, long);
        assert_eq!((folded(&mut disk), disk.events().slc_folds), (u64::from(cache), u64::from(DIES * 4)));
        assert_eq!(done - long, PAGE + SLC_PROGRAM, "{kind:?}: the device is at rest again");
        disk.check();
    }
}

/// A mount learns each block's mode from its pages alone.
#[test]
fn a_mount_knows_the_blocks_of_one_bit_from_their_pages() {
    for config in [fixed(4, SlcFull::Fold), dynamic(SlcFull::Direct)] {
        let mut disk = disk(&config);
        write(&mut disk, 0, 700, 0);
        disk.submit(&Request::new(Op::Flush, 0, 0), Payload::None).unwrap();
        let pages = disk.logical_pages();
        let modes = |disk: &Lab| (0..DIES * BLOCKS).map(|block| disk.nand().is_slc(BlockId(block))).collect::<Vec<_>>();
        let before = modes(&disk);
        assert!(before.iter().filter(|&&slc| slc).count() >= 6, "{before:?}");
        let mut saved = Vec::new();
        device::<Device>(&mut disk).inner().inner().inner().save(&mut saved).unwrap();
        let again = Counting::<Full>::load(geometry(), rules(), &mut saved.as_slice()).unwrap();
        assert!(
            (0..DIES * BLOCKS).all(|block| !again.is_slc(BlockId(block))),
            "the state of a device says nothing of it"
        );
        let nand: Device = Metered::new(Timed::with_extras(WithContent::new(again), &timing()));
        let mut disk = mount(nand, pages, &config);
        assert_eq!(modes(&disk), before);
        disk.check();
        write(&mut disk, 0, pages, 0);
        disk.check();
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_sentence() {
    use nandlab_ftl::parts::placement::Placement;
    use nandlab_ftl::parts::wear::{Bet, Wear};
    let blocks = |blocks| fixed(blocks, SlcFull::Direct);
    let fixed = || blocks(4);
    let refused = |config: &Config, rules: &Rules| {
        PageMap::max_logical_pages(&geometry(), rules, config).unwrap_err().to_string()
    };
    let one_bit = Rules { bits_per_cell: 1, ..rules() };
    for (config, rules, sentence) in [
        (fixed(), one_bit, "ftl.page.slc_cache.fixed needs cells of several bits"),
        (
            Config { placement: Placement::Dac(Dac::default()), ..fixed() },
            rules(),
            "ftl.page.placement keeps some of them apart",
        ),
        (Config { wear: Wear::Bet(Bet::default()), ..fixed() }, rules(), "take \"none\" or \"dynamic\""),
        (Config { reserve_blocks: 1, ..fixed() }, rules(), "needs ftl.page.reserve_blocks = 2 or more"),
        (blocks(1), rules(), "ftl.page.slc_cache.fixed.blocks = 1: it is at least 2, and at most 34"),
        (blocks(35), rules(), "ftl.page.slc_cache.fixed.blocks = 35: it is at least 2, and at most 34"),
    ] {
        let found = refused(&config, &rules);
        assert!(found.contains(sentence), "{found}");
    }
}
