//! End times of operations: compared with data-sheet sums, closed forms, a plain event model and another engine's logs.
//!
//! Unless stated otherwise, times in these tests are from [`timing`]: read 50 us, program 500 us, erase 3 ms,
//! 10 us for a page on the bus. `US` turns microseconds into the device's nanoseconds.

mod edges;
mod events;
mod failures;
mod late_stalls;
mod partial;
mod random;
mod raw;
mod replay;
mod slc;
mod stalls;
mod suspend;
mod together;
mod untouched;

use nandlab_nand::profile::{PageCopy, PlaneOverlap, Profile, Timing};
use nandlab_nand::random::Random;
use nandlab_nand::timed::Timed;
use nandlab_nand::{
    scoped, BlockId, Cause, Counting, Geometry, Kind, Lpn, Nand, Oob, Origin, Ppa, ProgramOrder, Rules, Seq, Shape,
    Time,
};

const US: Time = 1000;
const READ: Time = 50 * US;
const PROGRAM: Time = 500 * US;
const ERASE: Time = 3000 * US;
const PAGE_BYTES: u32 = 512;
const SPARE_BYTES: u32 = 16;
/// A page with its spare area on the bus.
const PAGE: Time = 10 * US;
const BYTE_NS: f64 = PAGE as f64 / (PAGE_BYTES + SPARE_BYTES) as f64;
const SPARE: Time = 303;
const TAIL: [u8; 8] = [7; 8];
/// 24 bytes at 10,000 / 528 ns.
const TAIL_ON_BUS: Time = 455;

fn timing() -> Timing {
    Timing { transfer_ns_per_byte: BYTE_NS, copy: PageCopy::External, ..Timing::array(50.0, 500.0, 3000.0) }
}

/// `channels` x `dies_per_channel` x `planes_per_die` x 4 blocks x 8 pages; in each plane, every page in the
/// first two blocks is programmed, at no time.
fn device(channels: u32, dies_per_channel: u32, planes_per_die: u32, timing: &Timing) -> Timed<Counting> {
    let shape = Shape {
        channels,
        dies_per_channel,
        planes_per_die,
        blocks_per_plane: 4,
        pages_per_block: 8,
        page_bytes: PAGE_BYTES,
        spare_bytes: SPARE_BYTES,
    };
    let geometry = Geometry::new(shape).unwrap();
    let rules = Rules {
        program_order: ProgramOrder::Any,
        partial_programs: 255,
        endurance: 100,
        bits_per_cell: 4,
        pair_distance: 0,
        unstable_pages: false,
    };
    let mut nand = Counting::new(geometry, rules);
    for plane in 0..geometry.planes() {
        for at in 0..2 * 8 {
            nand.program(Ppa(plane * 32 + at), &(), &TAIL, oob(at)).unwrap();
        }
    }
    Timed::new(nand, timing)
}

/// The same, following events.
fn by_events(channels: u32, dies_per_channel: u32, planes_per_die: u32, timing: &Timing) -> Timed<Counting, true> {
    let plain = device(channels, dies_per_channel, planes_per_die, &self::timing()).into_inner();
    let mut nand = Timed::with_extras(plain, timing);
    nand.ctx().follow_events();
    nand
}

/// Carries out a request at `arrival`; returns its end.
fn request(
    nand: &mut Timed<Counting, true>,
    arrival: Time,
    operations: impl FnOnce(&mut Timed<Counting, true>),
) -> Time {
    nand.ctx().begin(Origin::HOST, arrival);
    assert!(nand.ctx().open_alone(arrival));
    operations(nand);
    nand.ctx().close_alone();
    nand.ctx().finish()
}

/// Operations at time 0 that are under way.
fn issue(nand: &mut Timed<Counting, true>, operations: impl FnOnce(&mut Timed<Counting, true>)) {
    nand.ctx().begin(Origin::HOST, 0);
    nand.ctx().open_alone(0);
    operations(nand);
    nand.ctx().timeline().unwrap().close(0);
}

fn oob(lpn: u32) -> Oob {
    Oob { lpn: Lpn(lpn), aux: 0, kind: Kind::Data, origin: Origin::HOST, handle: 0, seq: Seq(1) }
}

/// A programmed page in plane `plane`.
fn old(plane: u32, page: u32) -> Ppa {
    Ppa(plane * 32 + page)
}

/// An erased page in plane `plane`.
fn new(plane: u32, page: u32) -> Ppa {
    Ppa(plane * 32 + 16 + page)
}

fn read(nand: &mut impl Nand<Buf = ()>, at: Ppa) -> Time {
    nand.read(at, &mut ()).unwrap();
    nand.ctx().last()
}

fn program(nand: &mut impl Nand<Buf = ()>, at: Ppa) -> Time {
    nand.program(at, &(), &[], oob(0)).unwrap().0
}

fn erase(nand: &mut impl Nand, block: u32) -> Time {
    nand.erase(BlockId(block)).unwrap().0
}

/// Asserts that an erase on `block` starts at `free`: a request at `free - 1` waits one nanosecond, a request
/// at `free` or later waits none.
fn assert_free_at(nand: &Timed<Counting, true>, block: u32, free: Time) {
    for (arrival, start) in [(free - 1, free), (free, free), (free + 1, free + 1)] {
        let end = request(&mut nand.clone(), arrival, |nand| _ = erase(nand, block));
        assert_eq!(end, start + ERASE, "block {block}, arrival {arrival}");
    }
}

fn parse(toml: &str) -> Profile {
    toml::from_str(toml).unwrap()
}

#[test]
fn one_die_takes_the_sum_of_the_data_sheet_times() {
    let profile = parse(include_str!("../../../../../profiles/k9l8g08u0m.toml"));
    let counting: Counting = Counting::new(profile.geometry().unwrap(), profile.rules);
    let mut nand = Timed::new(counting, &profile.timing);
    let ops = |nand: &mut Timed<Counting>, dependent: bool| {
        let step = |nand: &mut Timed<Counting>, end: Time| {
            if dependent {
                nand.ctx().after(end);
            }
        };
        for page in 0..2 {
            let end = program(nand, Ppa(page));
            step(nand, end);
        }
        for page in [0, 1, 0] {
            let end = read(nand, Ppa(page));
            step(nand, end);
        }
        nand.copy(Ppa(0), Ppa(128), oob(0)).unwrap();
        let end = nand.ctx().last();
        step(nand, end);
        erase(nand, 0)
    };
    // 2 x 1013 + 3 x 113 + 1128 + 1500 us
    assert_eq!(ops(&mut nand, true), 4_993_000);
    assert_eq!(nand.ctx().finish(), 4_993_000);
    erase(&mut nand, 1);
    nand.ctx().begin(Origin::HOST, 10_000_000);
    assert_eq!(ops(&mut nand, false), 14_993_000, "without `after` the die makes them wait");
    let total = nand.inner_mut().ctx().matrix().total();
    assert_eq!(nand.unit_busy_ns(), [2 * 4_993_000 + 1_500_000]);
    assert_eq!(nand.unit_busy_ns(), [profile.busy_ns(&total)]);
    assert_eq!(nand.channel_busy_ns(), [0], "these data-sheet times include the bus");
}

#[test]
fn programs_on_two_dies_overlap_but_share_the_bus() {
    let both = |nand: &mut Timed<Counting, true>| {
        program(nand, new(0, 0));
        program(nand, new(1, 0));
    };
    let mut nand = by_events(1, 2, 1, &timing());
    issue(&mut nand, both);
    assert_free_at(&nand, 0, PAGE + PROGRAM);
    assert_free_at(&nand, 4, 2 * PAGE + PROGRAM);

    let mut nand = by_events(2, 1, 1, &timing());
    assert_eq!(request(&mut nand, 0, both), PAGE + PROGRAM, "each die has a bus of its own");
    assert_eq!((nand.unit_busy_ns(), nand.channel_busy_ns()), (vec![PAGE + PROGRAM; 2], vec![PAGE; 2]));
}

#[test]
fn the_array_and_its_register_are_held_until_the_transfer_ends() {
    let mut nand = by_events(1, 2, 1, &timing());
    issue(&mut nand, |nand| {
        read(nand, old(0, 0));
        read(nand, old(1, 0));
    });
    // Sensed at 50, the bus is taken until 60.
    assert_free_at(&nand, 4, READ + 2 * PAGE);
    assert_eq!(nand.unit_busy_ns(), [READ + PAGE; 2], "the wait for the bus is no work");
}

/// Outside events, the last end is right to within an operation, whatever is the bottleneck.
#[test]
fn without_events_a_channel_is_busy_for_all_transfers() {
    for dies in [1, 4, 8] {
        let mut nand = device(1, dies, 1, &timing());
        // Die after die, as a mount reads them.
        for page in (0..dies).flat_map(|die| (0..16).map(move |page| old(die, page))) {
            read(&mut nand, page);
        }
        let (of_die, of_channel) = (16 * (READ + PAGE), 16 * Time::from(dies) * PAGE);
        assert_eq!(nand.ctx().horizon(), of_die.max(of_channel), "{dies} dies");
        let mut exact = by_events(1, dies, 1, &timing());
        issue(&mut exact, |nand| {
            for page in (0..dies).flat_map(|die| (0..16).map(move |page| old(die, page))) {
                read(nand, page);
            }
        });
        exact.ctx().wait_for_all();
        let apart = exact.ctx().horizon().abs_diff(nand.ctx().horizon());
        assert!(apart <= READ + Time::from(dies) * PAGE, "{dies} dies: {apart}");
    }
}

#[test]
fn a_fence_and_after_order_operations_over_dies() {
    let mut nand = device(4, 1, 1, &timing());
    let first = program(&mut nand, new(0, 0));
    assert_eq!(read(&mut nand, old(1, 0)), READ + PAGE, "independent");

    let before = nand.ctx().after(first);
    assert_eq!(read(&mut nand, old(2, 0)), first + READ + PAGE, "needs the program");
    nand.ctx().set_ready(before);
    assert_eq!(read(&mut nand, old(3, 0)), READ + PAGE, "needs nothing again");

    nand.ctx().fence();
    let all = first + READ + PAGE;
    assert_eq!(nand.ctx().horizon(), all);
    assert_eq!(program(&mut nand, new(3, 0)), all + PAGE + PROGRAM, "needs everything");

    nand.ctx().begin(Origin::HOST, 0);
    assert_eq!(read(&mut nand, old(1, 0)), 2 * (READ + PAGE), "a request starts without bounds");
}

#[test]
fn background_work_delays_its_die_and_not_the_request() {
    let mut nand = by_events(2, 1, 1, &timing());
    let done = request(&mut nand, 5 * US, |nand| {
        program(nand, new(0, 0));
        scoped(nand, Cause::Gc, |nand| {
            nand.copy(old(0, 0), new(0, 1), oob(0)).unwrap();
            erase(nand, 0)
        });
    });
    assert_eq!(done, 5 * US + PAGE + PROGRAM);
    let collected = done + READ + 2 * PAGE + PROGRAM + ERASE;
    assert_free_at(&nand, 1, collected);
    let other = request(&mut nand.clone(), done, |nand| _ = read(nand, old(1, 0)));
    assert_eq!(other, done + READ + PAGE, "the other die is not in its way");
    let same = request(&mut nand.clone(), done, |nand| _ = read(nand, Ppa(8)));
    assert_eq!(same, collected + READ + PAGE, "the collected die is");
    for cause in [Cause::ReadModifyWrite, Cause::Map] {
        let end = request(&mut nand.clone(), done, |nand| _ = scoped(nand, cause, |nand| read(nand, Ppa(8))));
        assert_eq!(end, collected + READ + PAGE, "the host waits for {cause:?}");
    }
}

#[test]
fn planes_overlap_where_the_profile_says() {
    for (plane_overlap, second) in [(PlaneOverlap::None, 2 * ERASE), (PlaneOverlap::Independent, ERASE)] {
        let mut nand = by_events(1, 2, 2, &Timing { plane_overlap, ..timing() });
        issue(&mut nand, |nand| [0, 4, 8].map(|block| erase(nand, block)).into_iter().for_each(drop));
        // The first plane is that of a die which does one thing at a time, or has only its own erase.
        assert_free_at(&nand, 1, second);
        assert_free_at(&nand, 5, second);
        assert_free_at(&nand, 9, ERASE);
    }
    let independent = Timing { plane_overlap: PlaneOverlap::Independent, ..timing() };
    let mut nand = by_events(1, 1, 2, &independent);
    issue(&mut nand, |nand| [0, 1].map(|plane| program(nand, new(plane, 0))).into_iter().for_each(drop));
    // Planes share the bus of their die.
    assert_free_at(&nand, 4, 2 * PAGE + PROGRAM);
    assert_eq!(nand.unit_busy_ns(), [PAGE + PROGRAM; 2]);
}

#[test]
fn a_copy_takes_the_way_the_profile_says() {
    let inside = |copy, plane_overlap| Timing { copy, plane_overlap, ..timing() };
    let copy = |timing: &Timing, from: Ppa, to: Ppa| {
        let mut nand = device(2, 1, 2, timing);
        nand.copy(from, to, oob(0)).unwrap();
        let end = nand.ctx().last();
        (end, nand.channel_busy_ns())
    };
    let external = READ + 2 * PAGE + PROGRAM;
    let (same_plane, same_die, other_die) = (new(0, 0), new(1, 0), new(2, 0));
    let total = PageCopy::TotalUs(1128.0);
    for (method, overlap, to, end, buses) in [
        (PageCopy::Copyback, PlaneOverlap::None, same_plane, READ + PROGRAM, [0, 0]),
        (PageCopy::Copyback, PlaneOverlap::None, same_die, external, [2 * PAGE, 0]),
        (PageCopy::Copyback, PlaneOverlap::Independent, same_die, external, [2 * PAGE, 0]),
        (PageCopy::Copyback, PlaneOverlap::None, other_die, external, [PAGE, PAGE]),
        (PageCopy::External, PlaneOverlap::None, same_plane, external, [2 * PAGE, 0]),
        (PageCopy::External, PlaneOverlap::None, other_die, external, [PAGE, PAGE]),
        (total, PlaneOverlap::None, same_plane, 1128 * US, [0, 0]),
        (total, PlaneOverlap::None, same_die, 1128 * US, [0, 0]),
        (total, PlaneOverlap::Independent, same_die, external, [2 * PAGE, 0]),
        (total, PlaneOverlap::None, other_die, external, [PAGE, PAGE]),
    ] {
        let got = copy(&inside(method, overlap), old(0, 0), to);
        assert_eq!(got, (end, buses.to_vec()), "{method:?} {overlap:?} to page {to}");
    }
}

#[test]
fn an_external_copy_frees_its_source_before_its_target() {
    let mut nand = by_events(2, 1, 1, &timing());
    issue(&mut nand, |nand| {
        erase(nand, 7);
        nand.copy(old(0, 0), new(1, 0), oob(0)).unwrap();
    });
    assert_free_at(&nand, 0, READ + PAGE);
    assert_free_at(&nand, 4, ERASE + PAGE + PROGRAM);
}

#[test]
fn spare_areas_and_tails_move_few_bytes() {
    let end = |nand: &mut Timed<Counting>| nand.ctx().last();
    let mut nand = device(1, 1, 1, &timing());
    nand.read_spare(old(0, 0)).unwrap();
    assert_eq!(end(&mut nand), READ + SPARE);
    let mut tail = TAIL;
    nand.read_tail(old(0, 0), &mut tail).unwrap();
    assert_eq!(end(&mut nand), 2 * READ + SPARE + TAIL_ON_BUS);
    let before = end(&mut nand);
    nand.program_spare(old(0, 0), oob(1)).unwrap();
    assert_eq!(end(&mut nand) - before, SPARE + PROGRAM);
    nand.retire(BlockId(3)).unwrap();
    assert_eq!(end(&mut nand) - before, 2 * (SPARE + PROGRAM));

    let quick = Timing { spare_read_us: Some(20.0), spare_program_us: Some(200.0), ..timing() };
    let mut nand = device(1, 1, 1, &quick);
    nand.read_spare(old(0, 0)).unwrap();
    nand.program_spare(old(0, 0), oob(1)).unwrap();
    assert_eq!(end(&mut nand), 220 * US + 2 * SPARE);
}

/// Reads `requests` pages with `depth` in flight at all times; returns the last one's end.
fn closed_loop(shape: [u32; 3], depth: usize, requests: u32, mut page: impl FnMut(u32) -> Ppa) -> Time {
    let mut player = events::Player::of_planes(shape, &timing());
    let mut free = depth;
    let mut now = 0;
    for n in 0..requests {
        while free == 0 {
            let answer = player.nand.ctx().timeline().unwrap().step(Time::MAX).unwrap();
            now = answer.at;
            free += usize::from(answer.is_done);
        }
        free -= 1;
        player.issue(now, |nand| _ = read(nand, page(n)));
    }
    player.nand.ctx().wait_for_all();
    player.nand.ctx().horizon()
}

#[test]
fn reads_at_a_queue_depth_follow_the_closed_forms() {
    const N: u32 = 20_000;
    let n = Time::from(N);
    let mut random = Random::new(3);
    let mut any = |planes: u64| old(random.below(planes) as u32, 0);

    let one_die = closed_loop([1, 1, 1], 16, N, |_| old(0, 0));
    assert_eq!(one_die, n * (READ + PAGE), "a saturated die");
    let one_deep = closed_loop([4, 2, 1], 1, N, |_| any(8));
    assert_eq!(one_deep, n * (READ + PAGE), "one request at a time, whatever the dies");
    let in_turn = closed_loop([4, 1, 1], 4, N, |n| old(n % 4, 0));
    assert_eq!(in_turn, n / 4 * (READ + PAGE), "four dies with a bus each, in turn");

    // Eight dies offer a page every 7.5 us, but their bus takes 10 us per page: after the first page it never
    // rests.
    let bus = closed_loop([1, 8, 1], 8, N, |n| old(n % 8, 0));
    assert_eq!(bus, READ + n * PAGE, "a saturated bus");

    // Random dies, a bus each: exponential times would keep q / (q + dies - 1) of the dies busy (the product form of
    // a closed queueing network), and constant times keep more.
    for (dies, depth) in [(4, 8), (4, 32), (8, 8), (8, 64)] {
        let end = closed_loop([dies, 1, 1], depth, N, |_| any(dies.into()));
        let busy = (n * (READ + PAGE)) as f64 / (f64::from(dies) * end as f64);
        let exponential = depth as f64 / (depth as f64 + f64::from(dies) - 1.0);
        assert!(exponential < busy && busy < 1.0, "{dies} dies, depth {depth}: {exponential} {busy}");
    }
}
