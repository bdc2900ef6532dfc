//! The sector map against the closed form: to uniform writes of sectors a block is one of as many pages as it gathers
//! sectors.

use crate::{forms, totals};
use nandlab_block::{BlockDevice, HostClock, Op, Request};
use nandlab_ftl::sector_map::{Config, SectorMap};
use nandlab_ftl::Disk;
use nandlab_nand::counting::Lean;
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, Rules};

#[test]
fn gathered_sectors_cost_what_large_blocks_cost() {
    let (blocks, pages, sectors) = (256, 64, 32);
    let geometry = Geometry::single_die(blocks, pages, 512 * sectors).expect("a plain shape");
    let config = Config { cmt_units: 0, map_spare_percent: 1, ..Config::default() };
    let gathered = pages * (sectors - 1);
    // The map has 4 blocks at most, and 2 stay free for collection.
    let usable = f64::from((blocks - 4 - 2) * gathered);
    let op = 0.28;
    let logical = (usable / (1.0 + op) / f64::from(sectors)) as u32;
    let nand = Counting::<Lean>::new(geometry, Rules::default());
    let mut disk = Disk::<SectorMap, _>::mount(nand, logical, &config).expect("it fits");
    let space = u64::from(logical * sectors);
    let mut random = Random::new(3);
    let mut clock = HostClock::closed_loop(1);
    let (mut batch, mut done) = (Vec::new(), Vec::new());
    let mut write = |disk: &mut Disk<SectorMap, Counting<Lean>>, count: u64, random: &mut Random| {
        let before = totals(disk).programs();
        let started = std::time::Instant::now();
        for _ in 0..count / 1024 {
            batch.clear();
            done.clear();
            batch.extend((0..1024).map(|_| Request::new(Op::Write, random.below(space), 1)));
            disk.submit_batch(&batch, &mut clock, &mut done).expect("the device has no faults");
        }
        let pages = (totals(disk).programs() - before) as f64;
        (pages * f64::from(sectors) / count as f64, count as f64 / started.elapsed().as_secs_f64())
    };
    write(&mut disk, 6 * space, &mut random);
    let (waf, speed) = write(&mut disk, 4 * space, &mut random);
    // Of each page the list takes a sector, and the last page of a victim's survivors is half full in the mean.
    let ideal = forms::greedy(gathered, op) * f64::from(sectors) / f64::from(sectors - 1);
    println!(
        "{waf:.4} sectors programmed for each written, {ideal:.4} expected; {:.2} M sectors a second",
        speed / 1e6
    );
    assert!(waf / ideal - 1.0 > -0.01 && waf / ideal - 1.0 < 0.06, "{waf} against {ideal}");
}
