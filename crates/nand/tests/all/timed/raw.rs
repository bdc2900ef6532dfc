//! Commands of a firmware with a chip of its own: they count, take their time, and change nothing.

use super::{device, new, old, timing, BYTE_NS, PROGRAM, READ};
use nandlab_nand::{Cell, Nand, Origin, Raw, Time};

#[test]
fn a_raw_command_takes_the_array_and_its_own_bytes_on_the_bus() {
    let part = (132.0 * BYTE_NS).round() as Time;
    // An erased page is read as any other.
    for (at, command, time, counted) in [
        (new(0, 0), Raw::Read(132), READ + part, Cell { page_reads: 1, ..Cell::default() }),
        (old(0, 0), Raw::Read(0), READ, Cell { page_reads: 1, ..Cell::default() }),
        (new(0, 0), Raw::SpareRead(132), READ + part, Cell { spare_reads: 1, ..Cell::default() }),
        (old(0, 0), Raw::Reprogram(132), PROGRAM + part, Cell { spare_programs: 1, ..Cell::default() }),
        (old(0, 0), Raw::SpareProgram(132), PROGRAM + part, Cell { spare_programs: 1, ..Cell::default() }),
    ] {
        let mut nand = device(1, 1, 1, &timing());
        let (before, programmed) = (nand.ctx().matrix().clone(), nand.inner().programmed_pages());
        nand.ctx().begin(Origin::HOST, 0);
        nand.raw(at, command);
        assert_eq!(nand.ctx().last(), time, "{command:?}");
        assert_eq!(nand.ctx().matrix().since(&before).total(), counted, "{command:?}");
        assert_eq!(nand.inner().programmed_pages(), programmed, "{command:?}");
    }
}
