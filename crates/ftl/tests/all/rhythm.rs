//! How evenly writes pay for garbage collection.

use crate::lab::mount;
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_ftl::page::{Config, Dac, Placement, Streams, TwoPools};
use nandlab_nand::counting::Lean;
use nandlab_nand::plain::WithContent;
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, Origin, Rules};

const BLOCKS: u32 = 128;
const PAGES: u32 = 128;
const LOGICAL: u32 = BLOCKS * PAGES * 10 / 12;

/// Copies caused by each of many uniform writes, the fewest first, on a die with 20 % over-provisioning.
fn copies_by_write(placement: Placement) -> Vec<u64> {
    let geometry = Geometry::single_die(BLOCKS, PAGES, 512).unwrap();
    let pages = LOGICAL;
    let config = Config { placement, ..Config::default() };
    let nand = WithContent::new(Counting::<Lean>::new(geometry, Rules::default()));
    let mut disk = mount(nand, pages, &config);
    let mut random = Random::new(1);
    let mut copies = Vec::new();
    for n in 0..6 * pages {
        let at = if n < pages { u64::from(n) } else { random.below(pages.into()) };
        let before = disk.ctx().matrix().total().copies;
        let origin = if at % 2 == 0 { Origin::HOST } else { Origin::JOURNAL };
        disk.submit(&Request { origin, ..Request::new(Op::Write, at, 1) }, Payload::None).unwrap();
        if n >= 3 * pages {
            copies.push(disk.ctx().matrix().total().copies - before);
        }
    }
    copies.sort_unstable();
    copies
}

/// A victim with `v` valid pages costs each page that it makes room for `v / (PAGES - v)` copies, and twice as many
/// while a reserved block is in use; `v` differs little between greedy victims. Moving a whole victim would be 90
/// copies.
#[test]
fn no_write_pays_for_much_more_than_another() {
    let pools = Placement::Pools(TwoPools { pages: LOGICAL / 2, blocks: BLOCKS / 2 - 1 });
    // Several blocks of the host.
    let several = [Placement::Origin(Streams { streams: 2 }), Placement::Dac(Dac::default()), Placement::Sepbit];
    for placement in [Placement::One, Placement::Two, pools].into_iter().chain(several) {
        let copies = copies_by_write(placement);
        let mean = copies.iter().sum::<u64>() as f64 / copies.len() as f64;
        assert!((2.0..4.0).contains(&mean), "{placement:?}: {mean}");
        // Two of several host blocks may fill up one right after the other, and the second write waits for a block.
        let nearly_all = if several.contains(&placement) { copies.len() * 999 / 1000 } else { copies.len() };
        let most = copies[nearly_all - 1];
        assert!((most as f64) < 3.0 * mean + 2.0, "{placement:?}: {mean} in the mean, {most}");
    }
}
