//! A flush's waits, in time: a write is done before it is on flash while a controller buffer holds its data.

use crate::lab::mount;
use nandlab_block::{BlockDevice, Op, Payload, Request};
use nandlab_ftl::sector_map::{self, SectorMap};
use nandlab_ftl::Ftl;
use nandlab_nand::counting::Full;
use nandlab_nand::plain::WithContent;
use nandlab_nand::profile::Timing;
use nandlab_nand::timed::Timed;
use nandlab_nand::{Counting, Geometry, Rules, Time};

const PROGRAM: Time = 200_000;

/// A sector map gathers the sectors of small writes. The write that fills a page starts its program without waiting for
/// it.
#[test]
fn a_flush_waits_for_the_program_of_gathered_sectors() {
    let geometry = Geometry::single_die(64, 16, 4096).unwrap();
    let nand = Timed::new(
        WithContent::new(Counting::<Full>::new(geometry, Rules::default())),
        &Timing::array(25.0, 200.0, 1500.0),
    );
    let config = sector_map::Config::default();
    let pages = SectorMap::max_logical_pages(&geometry, &Rules::default(), &config).unwrap() / 2;
    let mut disk = mount(nand, pages, &config);

    let start = disk.ctx().horizon();
    let before = disk.ctx().matrix().total().programs();
    let mut time = start;
    for sector in 0.. {
        time = disk.submit(&Request { time, ..Request::new(Op::Write, 16 * sector, 1) }, Payload::None).unwrap().done;
        if disk.ctx().matrix().total().programs() > before {
            break;
        }
    }
    let programmed = disk.ctx().horizon();
    assert!(time + PROGRAM <= programmed, "the host does not wait: done at {time}, on flash at {programmed}");

    let flushed = disk.submit(&Request { time, ..Request::new(Op::Flush, 0, 0) }, Payload::None).unwrap().done;
    assert!(flushed >= programmed, "flushed at {flushed}, on flash at {programmed}");
}
