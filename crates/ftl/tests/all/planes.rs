//! The page map over planes that program together, against the geometry's closed form.

use crate::lab::{logical_pages_in, mount, Lab};
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_ftl::page::{ByAddress, Config, FdpOptions, Fixed, PageMap, Placement, SlcCache, Stripe};
use nandlab_ftl::Ftl;
use nandlab_nand::counting::Full;
use nandlab_nand::plain::WithContent;
use nandlab_nand::profile::{PlaneOverlap, Timing};
use nandlab_nand::random::Random;
use nandlab_nand::timed::Timed;
use nandlab_nand::{BlockId, Counting, Geometry, Rules, Shape, Time};

const PLANES: u32 = 4;
const PROGRAM: Time = 600_000;
/// A 512-byte page with 64 bytes beside it.
const PAGE: Time = 576 * 25;

fn disk(dies: u32, stripe: Stripe) -> Lab {
    let timing = Timing {
        transfer_ns_per_byte: 25.0,
        plane_overlap: PlaneOverlap::MultiPlane,
        ..Timing::array(50.0, 600.0, 3000.0)
    };
    let shape = Shape {
        channels: 1,
        dies_per_channel: dies,
        planes_per_die: PLANES,
        blocks_per_plane: 24,
        pages_per_block: 16,
        page_bytes: 512,
        spare_bytes: 64,
    };
    let geometry = Geometry::new(shape).unwrap();
    let nand = Timed::with_extras(WithContent::new(Counting::<Full>::new(geometry, Rules::default())), &timing);
    let config = Config { stripe, ..Config::default() };
    // The same on all: with a reserve for each plane there is less to export.
    let most = PageMap::max_logical_pages(&geometry, &Rules::default(), &config).unwrap();
    let mut disk = mount(nand, most.min(geometry.pages() * 7 / 10), &config);
    disk.ctx().follow_events();
    disk
}

/// Writes pages in one request, when the one before is done; returns when it is.
fn write(disk: &mut Lab, at: u64, pages: u32, time: Time) -> Time {
    disk.submit(&Request { time, ..Request::new(Op::Write, at, pages) }, Payload::None).unwrap().done
}

#[test]
fn a_request_over_all_planes_takes_their_transfers_and_one_program() {
    let (planes, requests) = (u64::from(PLANES), 40);
    let fill = |mut disk: Lab, pages: u32| {
        let start = disk.ctx().horizon();
        let end = (0..requests).fold(start, |time, n| write(&mut disk, n * u64::from(pages), pages, time));
        (end - start, disk.ctx().joined_programs())
    };
    let together = requests * (planes * PAGE + PROGRAM);
    assert_eq!(fill(disk(1, Stripe::Planes), PLANES), (together, requests * (planes - 1)));
    // Blocks in turn, not planes: one page after the other.
    assert_eq!(fill(disk(1, Stripe::default()), PLANES), (requests * planes * (PAGE + PROGRAM), 0));
    // Two dies on a bus: the second one's pages are moved in while the first one programs.
    assert_eq!(fill(disk(2, Stripe::Planes), 2 * PLANES).0, requests * (2 * planes * PAGE + PROGRAM));
    // Single pages join nothing.
    assert_eq!(fill(disk(1, Stripe::Planes), 1), (requests * (PAGE + PROGRAM), 0));
}

/// Plane collections and trim notes come in between, and no host program is alone. After a mount the planes are at
/// different places in their blocks. When they have caught up, a request may begin in the middle of a die, which leaves
/// it in two groups: two of four pages join.
#[test]
fn planes_stay_together_while_they_collect() {
    let mut disk = disk(2, Stripe::Planes);
    let (planes, sectors) = (u64::from(PLANES), disk.sectors());
    let runs = sectors / planes;
    let mut random = Random::new(5);
    let mut time = disk.ctx().horizon();
    for round in 0..3 {
        let before = disk.ctx().joined_programs();
        for n in 0..3 * runs {
            let run = if round == 0 && n < runs { n } else { random.below(runs) };
            time = write(&mut disk, run * planes, PLANES, time);
            if random.chance(0.02) {
                let trim = Request { time, ..Request::new(Op::Trim, random.below(sectors), 1) };
                disk.submit(&trim, Payload::None).unwrap();
            }
        }
        let joined = disk.ctx().joined_programs() - before;
        let least = if round == 0 { 3 * runs * (planes - 1) } else { 3 * runs * (planes - 2) * 9 / 10 };
        assert!(joined >= least, "round {round}: {joined}, at least {least}");
        disk.check();
        disk.remount().unwrap();
    }
    assert!(disk.events().gc_runs == 0 && disk.ctx().matrix().total().erases() > 500.0);
}

/// By address, pages meet on a plane; random ones do by chance.
#[test]
fn an_address_has_its_plane() {
    let by = |order: &str| {
        let order = order.to_owned().try_into().unwrap();
        Stripe::Address(ByAddress { order, ..ByAddress::default() })
    };
    let both_done = |order: &str, pages: [u64; 2]| {
        let mut disk = disk(2, by(order));
        let start = disk.ctx().horizon();
        pages.map(|at| write(&mut disk, at, 1, start) - start)
    };
    // Two dies on a bus: the second page is moved in while the first one is programmed.
    let overlapped = [PAGE + PROGRAM, 2 * PAGE + PROGRAM];
    let in_turn = [PAGE + PROGRAM, 2 * (PAGE + PROGRAM)];
    assert_eq!(both_done("CWDP", [0, 1]), overlapped);
    assert_eq!(both_done("CWDP", [0, 2]), in_turn);
    assert_eq!(both_done("CWDP", [7, 8]), overlapped);
    assert_eq!(both_done("PDWC", [0, 1]), in_turn);
    assert_eq!(both_done("PDWC", [3, 4]), overlapped);
    assert_eq!(both_done("PDWC", [7, 15]), in_turn);
    // Planes first: a request over all of them programs them together, as in turn.
    let mut disk = disk(2, by("PDWC"));
    let start = disk.ctx().horizon();
    assert_eq!(write(&mut disk, 0, PLANES, start) - start, u64::from(PLANES) * PAGE + PROGRAM);
}

/// Uniform writes with collection: each page stays on the plane of its address.
#[test]
fn collection_leaves_a_page_on_its_plane() {
    let mut disk = disk(2, Stripe::Address(ByAddress::default()));
    let (sectors, mut random, mut time) = (disk.sectors(), Random::new(5), disk.ctx().horizon());
    for at in (0..sectors).chain((0..4 * sectors).map(|_| random.below(sectors))) {
        time = write(&mut disk, at, 1, time);
    }
    assert!(disk.ctx().matrix().total().erases() > 100.0, "it collects");
    let geometry = *disk.nand().geometry();
    let mut copies = 0;
    for block in (0..geometry.blocks()).map(BlockId) {
        for at in logical_pages_in(&mut disk, block) {
            let (die, plane) = (at % 2, at / 2 % u64::from(PLANES));
            assert_eq!(u64::from(geometry.plane_of(block)), die * u64::from(PLANES) + plane, "page {at}");
            copies += 1;
        }
    }
    assert!(copies >= sectors);
}

#[test]
fn what_chooses_the_die_itself_is_refused_beside_addresses() {
    let shape = Shape {
        channels: 1,
        dies_per_channel: 2,
        planes_per_die: PLANES,
        blocks_per_plane: 24,
        pages_per_block: 16,
        page_bytes: 512,
        spare_bytes: 64,
    };
    let (geometry, rules) = (Geometry::new(shape).unwrap(), Rules { bits_per_cell: 2, ..Rules::default() });
    let by_address = Config { stripe: Stripe::Address(ByAddress::default()), ..Config::default() };
    for config in [
        Config { placement: Placement::Fdp(FdpOptions::default()), ..by_address.clone() },
        Config { slc_cache: SlcCache::Fixed(Fixed { blocks: 2, ..Fixed::default() }), ..by_address.clone() },
    ] {
        let error = PageMap::max_logical_pages(&geometry, &rules, &config).unwrap_err().to_string();
        assert!(error.contains("gives each address its plane"), "{error}");
    }
    PageMap::max_logical_pages(&geometry, &rules, &by_address).unwrap();
}
