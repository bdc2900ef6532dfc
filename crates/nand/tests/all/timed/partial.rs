//! Reads of a part of a page, and the channel's time for each command.
//!
//! Pages have 4 sectors of 512 bytes and 64 spare bytes: 2,112 bytes, or 528 for each sector.

use super::*;
use nandlab_nand::profile::ReadTransfer;

const COMMAND: Time = 2 * US;
/// 528 bytes at 10,000 / 528 ns.
const SECTOR: Time = 10 * US;

fn sectors() -> Timing {
    Timing { transfer_command_us: 2.0, read_transfer: ReadTransfer::Sectors, ..timing() }
}

/// One channel with programmed pages in the first block of each die.
fn device(dies: u32, timing: &Timing) -> Timed<Counting, true> {
    let shape = Shape {
        channels: 1,
        dies_per_channel: dies,
        planes_per_die: 1,
        blocks_per_plane: 4,
        pages_per_block: 8,
        page_bytes: 2048,
        spare_bytes: 64,
    };
    let mut nand = Counting::new(Geometry::new(shape).unwrap(), Rules::default());
    for at in (0..dies).flat_map(|die| (0..8).map(move |page| Ppa(die * 32 + page))) {
        nand.program(at, &(), &TAIL, oob(at.0)).unwrap();
    }
    Timed::with_extras(nand, timing)
}

/// A host read of so many sectors on an idle device, 0 for all; returns the latency.
fn latency(nand: &mut Timed<Counting, true>, sectors: u32) -> Time {
    let arrival = nand.ctx().horizon();
    nand.ctx().begin(Origin::HOST, arrival);
    nand.ctx().ask(sectors);
    let end = read(nand, Ppa(0));
    nand.ctx().ask(0);
    end - arrival
}

#[test]
fn a_read_takes_a_command_and_its_sectors() {
    let mut nand = device(1, &sectors());
    for (asked, moved) in [(1, 1), (2, 2), (3, 3), (4, 4), (0, 4)] {
        assert_eq!(latency(&mut nand, asked), READ + COMMAND + moved * SECTOR, "{asked} sectors");
    }
    assert_eq!(nand.ctx().spared(), (3 + 2 + 1) * SECTOR);
    assert_eq!(nand.channel_busy_ns(), [5 * COMMAND + 14 * SECTOR]);
    assert_eq!(nand.unit_busy_ns(), [5 * (READ + COMMAND) + 14 * SECTOR]);
}

#[test]
fn by_default_a_read_moves_its_page() {
    let mut nand = device(1, &timing());
    assert_eq!([1, 4, 0].map(|asked| latency(&mut nand, asked)), [READ + 4 * SECTOR; 3]);
    assert_eq!(nand.ctx().spared(), 0);
}

#[test]
fn only_reads_for_the_host_move_a_part() {
    for cause in [Cause::Gc, Cause::ReadModifyWrite, Cause::Map] {
        let mut nand = device(1, &sectors());
        nand.ctx().ask(1);
        scoped(&mut nand, cause, |nand| read(nand, Ppa(0)));
        assert_eq!(nand.channel_busy_ns(), [COMMAND + 4 * SECTOR], "{cause:?}");
        assert_eq!(nand.ctx().spared(), 0);
    }
}

#[test]
fn programs_spare_areas_and_copies_take_the_command_and_erases_do_not() {
    let mut nand = device(1, &sectors());
    let mut moved = |operation: &dyn Fn(&mut Timed<Counting, true>)| {
        let before = nand.channel_busy_ns()[0];
        operation(&mut nand);
        nand.channel_busy_ns()[0] - before
    };
    let page = COMMAND + 4 * SECTOR;
    assert_eq!(moved(&|nand| _ = program(nand, Ppa(8))), page);
    assert_eq!(moved(&|nand| _ = nand.read_spare(Ppa(0)).unwrap()), COMMAND + SPARE);
    assert_eq!(moved(&|nand| _ = nand.copy(Ppa(0), Ppa(9), oob(0)).unwrap()), 2 * page);
    assert_eq!(moved(&|nand| _ = erase(nand, 0)), 0);
}

#[test]
fn the_profile_adds_up_to_the_busy_time_and_what_was_spared() {
    let mut profile = parse(include_str!("../../../../../profiles/generic.toml"));
    profile.timing.transfer_command_us = 3.5;
    profile.timing.read_transfer = ReadTransfer::Sectors;
    let geometry = Geometry::new(Shape { blocks_per_plane: 4, ..profile.shape }).unwrap();
    let mut nand =
        Timed::with_extras(Counting::<nandlab_nand::counting::Full>::new(geometry, profile.rules), &profile.timing);
    program(&mut nand, Ppa(0));
    (1..=8).for_each(|asked| {
        nand.ctx().ask(asked);
        read(&mut nand, Ppa(0));
    });
    let busy = profile.busy_ns(&nand.ctx().matrix().total());
    let spared = nand.ctx().spared();
    assert!(spared > 0);
    assert_eq!(nand.unit_busy_ns(), [busy - spared]);
}

/// Reads on many dies, all issued at once: the channel is never idle after the first array time.
#[test]
fn a_channel_serves_reads_one_command_and_their_sectors_apart() {
    for asked in 1..=4 {
        let mut nand = device(16, &sectors());
        nand.ctx().follow_events();
        let end = request(&mut nand, 0, |nand| {
            nand.ctx().ask(asked);
            for die in 0..16 {
                read(nand, Ppa(die * 32));
            }
        });
        assert_eq!(end, READ + 16 * (COMMAND + u64::from(asked) * SECTOR));
    }
}
