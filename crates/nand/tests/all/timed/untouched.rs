//! All spare areas of an untouched device at once, compared with one read after the other.

use super::*;
use nandlab_nand::Matrix;

fn untouched(shape: Shape, timing: &Timing) -> Timed<Counting> {
    Timed::new(Counting::new(Geometry::new(shape).unwrap(), Rules::default()), timing)
}

/// What the reads left, and when the operations after them end.
fn left(mut nand: Timed<Counting>) -> (Vec<Time>, Vec<Time>, Vec<Time>, Matrix) {
    let geometry = *nand.geometry();
    let mut ends = vec![nand.ctx().last(), nand.ctx().acknowledged()];
    nand.ctx().fence();
    let rest = nand.ctx().ready();
    nand.ctx().begin(Origin::HOST, rest);
    for block in (0..geometry.blocks()).map(BlockId) {
        nand.program(geometry.page(block, 0), &(), &[], oob(block.0)).unwrap();
        ends.push(nand.ctx().last());
        nand.read_spare(geometry.page(block, 1)).unwrap();
        ends.push(nand.ctx().last());
    }
    (ends, nand.unit_busy_ns(), nand.channel_busy_ns(), nand.ctx().matrix().clone())
}

#[test]
fn an_untouched_device_is_read_at_once_in_the_same_time() {
    let mut at_once = 0;
    for (channels, dies_per_channel, planes_per_die) in [(1, 1, 1), (2, 3, 1), (1, 4, 2), (3, 5, 2)] {
        let shape = Shape {
            channels,
            dies_per_channel,
            planes_per_die,
            blocks_per_plane: 5,
            pages_per_block: 7,
            page_bytes: PAGE_BYTES,
            spare_bytes: SPARE_BYTES,
        };
        for overlap in [PlaneOverlap::None, PlaneOverlap::Independent] {
            for read_us in [50.0, 1.0, 0.1] {
                for transfer_ns_per_byte in [0.0, BYTE_NS] {
                    let timing = Timing { transfer_ns_per_byte, read_us, plane_overlap: overlap, ..timing() };
                    let mut one_by_one = untouched(shape, &timing);
                    for page in 0..one_by_one.geometry().pages() {
                        one_by_one.read_spare(Ppa(page)).unwrap();
                    }
                    let mut all = untouched(shape, &timing);
                    if all.read_untouched() {
                        at_once += 1;
                        assert_eq!(left(all), left(one_by_one), "{shape:?} {timing:?}");
                    } else {
                        assert!(read_us < 50.0, "{shape:?}: the bus is no bottleneck");
                        assert_eq!(all.ctx().matrix().total().spare_reads, 0, "nothing is counted that was not read");
                    }
                }
            }
        }
    }
    assert!(at_once > 30, "{at_once}");
}

#[test]
fn a_device_in_use_is_read_page_by_page() {
    let mut nand = device(2, 2, 1, &timing());
    assert!(!nand.read_untouched(), "its blocks hold pages");
    let mut counting =
        Counting::<nandlab_nand::counting::Full>::new(Geometry::single_die(2, 4, 512).unwrap(), Rules::default());
    counting.mark_factory_bad(BlockId(1));
    assert!(!counting.read_untouched(), "a block is bad");
}
