//! Page map behaviour that the proofs' small devices do not show.

use crate::lab::{device, mount, Lab};
use nandlab_block::{BlockDevice, HostClock, Op, Payload, Request};
use nandlab_ftl::page::{Collection, Config, PageMap};
use nandlab_ftl::Ftl;
use nandlab_nand::counting::Lean;
use nandlab_nand::plain::WithContent;
use nandlab_nand::profile::{Profile, Timing};
use nandlab_nand::random::Random;
use nandlab_nand::timed::Timed;
use nandlab_nand::{Counting, Geometry, Rules, Shape};

/// A trim of everything leaves more notes pending than the reserve has pages; a device once answered that it
/// was worn out.
#[test]
fn a_large_trim_without_a_flush_leaves_room() {
    let geometry = Geometry::single_die(4_000, 4, 512).unwrap();
    let pages = 14_400;
    let nand = WithContent::new(Counting::<Lean>::new(geometry, Rules::default()));
    let mut disk = mount(nand, pages, &Config::default());
    let mut random = Random::new(1);
    for round in 0..3 {
        for at in 0..u64::from(pages) {
            disk.submit(&Request::new(Op::Write, at, 1), Payload::None).unwrap();
        }
        disk.submit(&Request::new(Op::Trim, 0, pages), Payload::None).unwrap();
        for _ in 0..3_000 {
            let at = random.below(pages.into());
            let op = if random.chance(0.3) { Op::Trim } else { Op::Write };
            disk.submit(&Request::new(op, at, 1), Payload::None).unwrap_or_else(|e| panic!("round {round}: {e}"));
        }
    }
    disk.check();
}

/// The page is on one die and its next version goes to the other, which could begin at once.
#[test]
fn a_partial_write_programs_behind_its_read() {
    let geometry = Geometry::two_dies(16, 8, 4096).unwrap();
    let nand = WithContent::new(Counting::<Lean>::new(geometry, Rules::default()));
    let mut disk = mount(Timed::new(nand, &Timing::array(25.0, 200.0, 1500.0)), 64, &Config::default());
    disk.submit(&Request::new(Op::Write, 0, 8), Payload::None).unwrap();
    let time = disk.ctx().horizon() + 1;
    let done = disk.submit(&Request { time, ..Request::new(Op::Write, 0, 1) }, Payload::None).unwrap().done;
    assert_eq!(done - time, 225_000, "a read and a program, ns");
}

type Striped = Timed<WithContent<Counting<Lean>>>;

fn striped(op: f64, timing: &Profile) -> Lab {
    striped_with(op, timing, &Config::default())
}

fn striped_with(op: f64, timing: &Profile, config: &Config) -> Lab {
    let shape = Shape {
        channels: 4,
        dies_per_channel: 2,
        planes_per_die: 1,
        blocks_per_plane: 64,
        pages_per_block: 64,
        page_bytes: 4096,
        spare_bytes: 64,
    };
    let geometry = Geometry::new(shape).unwrap();
    let most = PageMap::max_logical_pages(&geometry, &Rules::default(), config).unwrap();
    let pages = most.min((f64::from(geometry.pages()) / (1.0 + op)) as u32);
    let nand: Striped = Timed::new(WithContent::new(Counting::new(geometry, Rules::default())), &timing.timing);
    mount(nand, pages, config)
}

fn profile() -> Profile {
    toml::from_str(include_str!("../../../../profiles/generic-8x4.toml")).unwrap()
}

/// Fills the device and writes at random.
fn overwrite(disk: &mut Lab, queue_depth: u32, writes: u64) -> Vec<u64> {
    let pages = disk.sectors() / 8;
    let mut clock = HostClock::closed_loop(queue_depth);
    let mut random = Random::new(7);
    let (mut batch, mut done, mut latencies) = (Vec::new(), Vec::new(), Vec::new());
    for first in (0..pages + writes).step_by(1024) {
        batch.clear();
        done.clear();
        let sector = |at: u64, random: &mut Random| 8 * if at < pages { at } else { random.below(pages) };
        batch.extend((first..first + 1024).map(|at| Request::new(Op::Write, sector(at, &mut random), 8)));
        disk.submit_batch(&batch, &mut clock, &mut done).unwrap();
        if first > pages {
            latencies.extend(done.iter().map(|completion| completion.done - completion.arrival));
        }
    }
    latencies.sort_unstable();
    latencies
}

/// An erase waits for the programs that replaced its block's pages, not for other dies' erases: with a chain of erases
/// over all dies they were busy a quarter of the time.
#[test]
fn dies_stay_busy_while_they_collect() {
    let mut disk = striped(0.28, &profile());
    overwrite(&mut disk, 32, 400_000);
    let end = disk.ctx().horizon() as f64;
    let busy = device::<Striped>(&mut disk).unit_busy_ns();
    let mean = busy.iter().sum::<u64>() as f64 / busy.len() as f64 / end;
    println!("dies are busy {:.0} % of the time", 100.0 * mean);
    assert!(mean > 0.7, "dies are busy {mean} of the time");
}

/// Collection is paid for page by page: no write waits for a whole victim.
#[test]
fn no_write_waits_for_a_whole_victim() {
    let profile = profile();
    let mut disk = striped(0.28, &profile);
    let latencies = overwrite(&mut disk, 1, 400_000);
    let total = disk.ctx().matrix().total();
    assert!(total.erases() > 4_000.0, "{} erases", total.erases());
    let p999 = latencies[latencies.len() * 999 / 1000];
    let victim = profile.busy_ns(&nandlab_nand::Cell { copies: 40, ..Default::default() });
    println!(
        "99.9 % of the writes took at most {:.1} ms, 40 copies take {:.1} ms",
        p999 as f64 / 1e6,
        victim as f64 / 1e6
    );
    assert!(p999 < victim, "99.9 % of the writes took up to {p999} ns");
}

/// Pages that become invalid while a victim is emptied by tokens need no copy, so it moves slightly less.
#[test]
fn collection_at_once_costs_as_much_and_makes_a_write_wait_for_a_victim() {
    let profile = profile();
    let [tokens, at_once] = [Collection::Tokens, Collection::AtOnce].map(|collection| {
        let mut disk = striped_with(0.28, &profile, &Config { collection, ..Config::default() });
        let latencies = overwrite(&mut disk, 1, 400_000);
        (disk.ctx().matrix().total(), latencies[latencies.len() * 9999 / 10_000])
    });
    let copies = [tokens, at_once].map(|(total, _)| total.copies as f64);
    assert!((1.0..1.06).contains(&(copies[1] / copies[0])), "{copies:?} copies");
    let victim = profile.busy_ns(&nandlab_nand::Cell { copies: copies[1] as u64, ..Default::default() });
    let victim = victim / at_once.0.erases() as u64;
    assert!(at_once.1 >= victim && tokens.1 < victim, "99.99 %: {} and {} ns, a victim {victim}", tokens.1, at_once.1);
}
