//! A zoned drive: what zones take, their limits, and what a power cut leaves.

use crate::lab::{device, faulty_flash, mount, Lab};
use nandlab_block::{
    BlockDevice, ByteCount, Error, Op, Payload, Request, ZoneCommand, ZoneFault, ZoneReport, ZoneState,
};
use nandlab_drive::inside;
use nandlab_ftl::zns::Config;
use nandlab_ftl::{FtlConfig, ZoneOptions};
use nandlab_nand::backed::Backed;
use nandlab_nand::faulty::{Config as Faults, Faulty};
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::random::Random;
use nandlab_nand::{Geometry, Rules, Shape};

/// Sectors of a page, and pages of a block.
const SECTORS: u32 = 4;
const PAGES: u32 = 4;

pub type Flash = PowerCut<Faulty<Backed>>;

/// Two dies of 16 blocks with 4 pages of 2 KiB: a zone of one block on each die has 32 sectors.
pub fn geometry() -> Geometry {
    Geometry::new(Shape {
        channels: 2,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 16,
        pages_per_block: PAGES,
        page_bytes: 512 * SECTORS,
        spare_bytes: 64,
    })
    .unwrap()
}

pub fn config(options: ZoneOptions) -> FtlConfig {
    FtlConfig::Zns(Config { zones: options, ..Config::default() })
}

/// Zones of 32 sectors, 28 of which can be written; at most 2 open and 3 active.
pub fn options() -> ZoneOptions {
    ZoneOptions {
        size: Some(ByteCount(32 * 512)),
        capacity: Some(ByteCount(28 * 512)),
        max_open: 2,
        max_active: 3,
        ..ZoneOptions::default()
    }
}

pub fn drive(options: ZoneOptions) -> Lab {
    let flash = PowerCut::new(faulty_flash(geometry(), Rules::default(), Faults::default()));
    let config = config(options);
    let pages = config.max_logical_pages(&geometry(), &Rules::default()).unwrap();
    mount(flash, pages, &config)
}

pub fn send(lab: &mut Lab, op: Op, sector: u64, sectors: u32) -> Result<(), ZoneFault> {
    let bytes: Vec<u8> = (sector..sector + u64::from(sectors)).flat_map(|at| [at as u8 | 1; 512]).collect();
    let data = if op.writes() { Payload::Write(&bytes) } else { Payload::None };
    match lab.submit(&Request::new(op, sector, sectors), data) {
        Ok(_) => Ok(()),
        Err(Error::Zone { fault, .. }) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

pub fn command(lab: &mut Lab, command: ZoneCommand, zone: u64) -> Result<(), ZoneFault> {
    send(lab, Op::Zone(command), 32 * zone, 0)
}

pub fn report(lab: &Lab, zone: u64) -> ZoneReport {
    lab.zone_at(32 * zone).unwrap()
}

pub fn state(lab: &Lab, zone: u64) -> ZoneState {
    report(lab, zone).state
}

pub fn read(lab: &mut Lab, sector: u64, sectors: u32) -> Vec<u8> {
    let mut bytes = vec![9; 512 * sectors as usize];
    lab.submit(&Request::new(Op::Read, sector, sectors), Payload::Read(&mut bytes)).unwrap();
    let same = |sector: &[u8]| sector.iter().all(|&byte| byte == sector[0]);
    if let Some(at) = bytes.chunks(512).position(|sector| !same(sector)) {
        panic!("sector {}: a write fills it with one byte", sector + at as u64);
    }
    bytes.chunks(512).map(|sector| sector[0]).collect()
}

#[test]
fn a_write_goes_to_the_write_pointer_or_nowhere() {
    let mut lab = drive(options());
    assert_eq!(send(&mut lab, Op::Write, 1, 1), Err(ZoneFault::InvalidWrite), "beyond the write pointer");
    assert_eq!((state(&lab, 0), lab.ctx().matrix().total().programs()), (ZoneState::Empty, 0), "it moves nothing");
    assert_eq!(send(&mut lab, Op::Write, 0, 6), Ok(()));
    assert_eq!(report(&lab, 0).write_pointer, Some(6));
    assert_eq!(send(&mut lab, Op::Write, 5, 1), Err(ZoneFault::InvalidWrite), "below it");
    assert_eq!(send(&mut lab, Op::Write, 6, 23), Err(ZoneFault::Boundary), "beyond the capacity");
    assert_eq!(send(&mut lab, Op::Write, 6, 22), Ok(()));
    let full =
        ZoneReport { start: 0, capacity: 28, write_pointer: None, state: ZoneState::Full, has_random_area: false };
    assert_eq!(report(&lab, 0), full, "a full zone has no write pointer");
    assert_eq!(send(&mut lab, Op::Write, 28, 1), Err(ZoneFault::Full), "between capacity and size");
    assert_eq!(read(&mut lab, 0, 28), (0..28).map(|at| at | 1).collect::<Vec<u8>>());
    assert_eq!(read(&mut lab, 28, 4), [0; 4]);
    lab.check();
}

#[test]
fn an_append_names_the_zone_and_the_capacity_does_not_shrink() {
    let mut lab = drive(options());
    assert_eq!(send(&mut lab, Op::Append, 33, 1), Err(ZoneFault::InvalidField));
    for at in 0..28 {
        assert_eq!(report(&lab, 1).write_pointer, Some(32 + at));
        assert_eq!(send(&mut lab, Op::Append, 32, 1), Ok(()));
        assert_eq!(report(&lab, 1).capacity, 28);
    }
    assert_eq!(send(&mut lab, Op::Append, 32, 1), Err(ZoneFault::Full));
    assert_eq!(lab.uses().zones.unwrap().appends, 28);
    lab.check();
}

#[test]
fn limits_count_open_and_active_zones() {
    let mut lab = drive(options());
    assert_eq!(command(&mut lab, ZoneCommand::Open, 0), Ok(()));
    assert_eq!(send(&mut lab, Op::Append, 32, 1), Ok(()));
    assert_eq!((state(&lab, 0), state(&lab, 1)), (ZoneState::ExplicitlyOpened, ZoneState::ImplicitlyOpened));
    assert_eq!(send(&mut lab, Op::Append, 64, 1), Ok(()), "the device closes the zone that a write has opened");
    assert_eq!((state(&lab, 1), state(&lab, 2)), (ZoneState::Closed, ZoneState::ImplicitlyOpened));
    assert_eq!(send(&mut lab, Op::Append, 96, 1), Err(ZoneFault::TooManyActive));
    assert_eq!(command(&mut lab, ZoneCommand::Open, 2), Ok(()));
    assert_eq!(command(&mut lab, ZoneCommand::Open, 1), Err(ZoneFault::TooManyOpen), "nothing to close by itself");
    assert_eq!(send(&mut lab, Op::Append, 32, 1), Err(ZoneFault::TooManyOpen));
    assert_eq!(command(&mut lab, ZoneCommand::Finish, 1), Ok(()), "the host makes room among the active ones");
    assert_eq!((state(&lab, 1), command(&mut lab, ZoneCommand::Close, 2)), (ZoneState::Full, Ok(())));
    assert_eq!(send(&mut lab, Op::Append, 96, 1), Ok(()));
    let used = lab.uses().zones.unwrap();
    assert_eq!((used.most_open, used.most_active, used.implicit_closes), (2, 3, 1));
    lab.check();
}

#[test]
fn changes_of_state_follow_the_state_machine() {
    use ZoneCommand::{Close, Finish, Open, Reset};
    let mut lab = drive(ZoneOptions { max_open: 0, max_active: 0, ..options() });
    let refused = Err(ZoneFault::InvalidTransition);
    assert_eq!((command(&mut lab, Close, 0), command(&mut lab, Reset, 0)), (refused, Ok(())));
    assert_eq!((command(&mut lab, Open, 0), state(&lab, 0)), (Ok(()), ZoneState::ExplicitlyOpened));
    assert_eq!((command(&mut lab, Open, 0), command(&mut lab, Close, 0)), (Ok(()), Ok(())));
    assert_eq!((state(&lab, 0), command(&mut lab, Close, 0)), (ZoneState::Closed, Ok(())));
    assert_eq!((command(&mut lab, Finish, 0), state(&lab, 0)), (Ok(()), ZoneState::Full), "an empty zone, too");
    assert_eq!(lab.uses().zones.unwrap().filled_pages, 7, "all of its capacity");
    assert_eq!((command(&mut lab, Finish, 0), command(&mut lab, Open, 0)), (Ok(()), refused));
    assert_eq!((command(&mut lab, Close, 0), command(&mut lab, Reset, 0)), (refused, Ok(())));
    assert_eq!(
        report(&lab, 0),
        ZoneReport { start: 0, capacity: 28, write_pointer: Some(0), state: ZoneState::Empty, has_random_area: false }
    );
    assert_eq!(send(&mut lab, Op::Zone(Reset), 3, 0), Err(ZoneFault::InvalidField));
    lab.check();
}

#[test]
fn a_reset_of_one_zone_leaves_the_others() {
    let mut lab = drive(options());
    send(&mut lab, Op::Write, 0, 7).unwrap();
    send(&mut lab, Op::Write, 32, 10).unwrap();
    let (before, bytes) = (report(&lab, 1), read(&mut lab, 32, 10));
    command(&mut lab, ZoneCommand::Reset, 0).unwrap();
    assert_eq!((report(&lab, 1), read(&mut lab, 32, 10)), (before, bytes));
    assert_eq!((state(&lab, 0), read(&mut lab, 0, 7)), (ZoneState::Empty, vec![0; 7]), "the unwritten pattern");
    lab.check();
}

#[test]
fn reads_open_no_zone() {
    let mut lab = drive(options());
    for round in 0..2 {
        for zone in 0..5 {
            assert_eq!(read(&mut lab, 32 * zone, 28), vec![0; 28], "round {round}");
        }
    }
    let used = lab.uses().zones.unwrap();
    assert_eq!((used.most_open, used.most_active), (0, 0));
}

/// The drive after a power cut.
pub fn mount_again(lab: Lab, options: ZoneOptions) -> Lab {
    let pages = lab.logical_pages();
    let mut nand: Flash = inside(lab.into_nand());
    nand.restore();
    let mut lab = mount(nand, pages, &config(options));
    lab.check();
    lab
}

/// A zone as the host knows it.
#[derive(Clone, Default)]
struct Known {
    /// What each sector holds.
    bytes: Vec<u8>,
    /// Sectors that a flush has made certain.
    certain: usize,
}

/// Random writes, flushes, finishes and resets until the cut; what the host knows then, and the zone of the last request.
fn play(lab: &mut Lab, known: &mut [Known], random: &mut Random) -> (usize, Option<ZoneCommand>) {
    loop {
        let zone = random.below(known.len() as u64) as usize;
        let (start, before) = (32 * zone as u64, known[zone].bytes.len());
        let left = 28 - before;
        let (op, sectors) = match random.below(20) {
            0 => (Op::Flush, 0),
            1 => (Op::Zone(ZoneCommand::Reset), 0),
            2 if random.chance(0.2) => (Op::Zone(ZoneCommand::Finish), 0),
            _ if left == 0 => (Op::Zone(ZoneCommand::Reset), 0),
            _ => (Op::Append, 1 + random.below(left.min(9) as u64) as usize),
        };
        let fill: Vec<u8> = (0..sectors).map(|_| 1 + random.below(255) as u8).collect();
        let bytes: Vec<u8> = fill.iter().flat_map(|&byte| [byte; 512]).collect();
        let data = if op == Op::Append { Payload::Write(&bytes) } else { Payload::None };
        let done = lab.submit(&Request::new(op, start, sectors as u32), data);
        // An append that is cut may be there in part.
        known[zone].bytes.extend(&fill);
        let command = if let Op::Zone(command) = op { Some(command) } else { None };
        match (done, op) {
            (Err(Error::PowerLost), _) => return (zone, command),
            (Err(Error::Zone { .. }), _) => known[zone].bytes.truncate(before),
            (Err(error), _) => panic!("{error}"),
            (Ok(_), Op::Flush) => known.iter_mut().for_each(|zone| zone.certain = zone.bytes.len()),
            (Ok(_), Op::Zone(ZoneCommand::Reset)) => known[zone] = Known::default(),
            (Ok(_), Op::Zone(ZoneCommand::Finish)) => known[zone].bytes.resize(28, 0),
            _ => {}
        }
    }
}

/// A cut erase that leaves a zone's first pages alone, or lets old ones come back, looks like a zone that was written less far:
/// the write pointer then shows a part of what a reset was to remove.
const SHORTENS: [Form; 3] = [Form::TornEraseSuffix, Form::TornEraseScattered, Form::UnstableErase];

/// After a cut a write pointer is no lower than the last flush left it, and no higher than the last write; what is below it
/// is what was written. A zone under reset is as before, or empty.
#[test]
fn write_pointers_after_a_cut_at_any_operation_are_allowed() {
    let zones = 5;
    let mut moved = 0;
    let forms = || Form::ALL.into_iter().filter(|form| !SHORTENS.contains(form));
    for (at, form) in (1..160).flat_map(|at| forms().map(move |form| (at, form))) {
        let options = ZoneOptions { max_open: 0, max_active: 0, ..options() };
        let mut lab = drive(options);
        let (mut known, mut random) = (vec![Known::default(); zones], Random::new(at));
        for second in 0..2 {
            device::<Flash>(&mut lab).arm(CutPlan { operation: at + 40 * second, form });
            let (last, command) = play(&mut lab, &mut known, &mut random);
            lab = mount_again(lab, options);
            for (zone, known) in known.iter_mut().enumerate() {
                let report = report(&lab, zone as u64);
                let written = report.write_pointer.map_or(28, |pointer| (pointer - report.start) as usize);
                let name = format!("cut {at} {form}, zone {zone}: {written} of {} sectors", known.bytes.len());
                let is_reset = zone == last && command == Some(ZoneCommand::Reset) && written == 0;
                if zone == last && command == Some(ZoneCommand::Finish) {
                    known.bytes.resize(28, 0);
                }
                assert!(
                    is_reset || (known.certain..=known.bytes.len()).contains(&written),
                    "{name}, {}",
                    known.certain
                );
                assert_eq!(read(&mut lab, report.start, written as u32), known.bytes[..written], "{name}");
                assert_eq!(
                    read(&mut lab, report.start + written as u64, (32 - written) as u32),
                    vec![0; 32 - written],
                    "{name}"
                );
                moved += usize::from(written > known.certain);
                known.bytes.truncate(written);
                known.certain = written;
            }
        }
    }
    assert!(moved > 500, "{moved}");
}

#[test]
fn a_failed_program_moves_the_block_of_a_zone() {
    let faults = Faults { program_failure_rate: 0.02, erase_failure_rate: 0.01, seed: 3, ..Faults::default() };
    let flash = PowerCut::new(faulty_flash(geometry(), Rules::default(), faults));
    let config = config(ZoneOptions { spare_blocks: 5, max_active: 0, max_open: 0, ..options() });
    let pages = config.max_logical_pages(&geometry(), &Rules::default()).unwrap();
    let mut lab = mount(flash, pages, &config);
    let mut retired = 0;
    for round in 0..6 {
        for zone in 0..4 {
            command(&mut lab, ZoneCommand::Reset, zone).unwrap();
            for _ in 0..4 {
                send(&mut lab, Op::Append, 32 * zone, 7).unwrap();
            }
            assert_eq!(state(&lab, zone), ZoneState::Full, "round {round}");
            lab.check();
        }
        retired = lab.events().retired_blocks;
    }
    assert!(retired > 0);
}

#[test]
fn a_read_across_zones_is_refused_if_the_drive_says_so() {
    let mut lab = drive(options());
    assert_eq!(send(&mut lab, Op::Read, 30, 4), Ok(()), "the default");
    let mut lab = drive(ZoneOptions { read_across_zones: false, ..options() });
    assert_eq!(send(&mut lab, Op::Read, 30, 4), Err(ZoneFault::Boundary));
    assert_eq!(send(&mut lab, Op::Read, 28, 4), Ok(()), "up to the zone's end, though behind its capacity");
    assert_eq!(send(&mut lab, Op::Read, 0, 64), Err(ZoneFault::Boundary));
    assert_eq!(send(&mut lab, Op::Read, 32, 32), Ok(()));
    assert_eq!(lab.uses().zones.unwrap().refused[ZoneFault::Boundary as usize], 2);
    lab.check();
}

#[test]
fn appends_are_as_long_as_the_drive_takes() {
    let limited = |bytes| ZoneOptions { max_append: Some(ByteCount(bytes)), ..options() };
    let mut lab = drive(limited(8192));
    assert_eq!(send(&mut lab, Op::Append, 32, 17), Err(ZoneFault::InvalidField));
    assert_eq!(report(&lab, 1).write_pointer, Some(32), "it moves nothing");
    assert_eq!(send(&mut lab, Op::Append, 32, 16), Ok(()));
    assert_eq!(send(&mut lab, Op::Write, 0, 17), Ok(()), "writes have no limit of their own");
    for bytes in [0, 4096, 12_288] {
        let refused = config(limited(bytes)).max_logical_pages(&geometry(), &Rules::default()).unwrap_err().to_string();
        assert!(refused.contains("device.zones.max_append"), "{refused}");
    }
    lab.check();
}

/// A model of three numbers a zone: what is written below its pointer, in all, and how often it was reset.
#[test]
fn each_zone_counts_what_the_host_wrote_and_reset() {
    let mut lab = drive(ZoneOptions { max_open: 0, max_active: 0, ..options() });
    let zones = lab.uses().by_zone.len();
    let (mut model, mut draw) = (vec![(0, 0, 0); zones], Random::new(7));
    for _ in 0..2000 {
        let zone = draw.below(zones as u64);
        let (written, all, resets) = &mut model[zone as usize];
        if draw.below(8) == 0 {
            command(&mut lab, ZoneCommand::Reset, zone).unwrap();
            (*written, *resets) = (0, *resets + 1);
        } else {
            let sectors = 1 + draw.below(6);
            if send(&mut lab, Op::Append, 32 * zone, sectors as u32).is_ok() {
                (*written, *all) = (*written + sectors, *all + sectors);
            }
        }
    }
    let found = lab.uses().by_zone.into_iter().map(|zone| {
        assert_eq!(zone.write_pointer.is_none(), zone.state == ZoneState::Full);
        (zone.write_pointer.unwrap_or(28), zone.written_sectors, zone.resets)
    });
    assert_eq!(found.collect::<Vec<_>>(), model);
}

#[test]
fn what_a_finish_fills_was_not_written_by_the_host() {
    let mut lab = drive(options());
    send(&mut lab, Op::Write, 0, 6).unwrap();
    command(&mut lab, ZoneCommand::Finish, 0).unwrap();
    let zone = lab.uses().by_zone[0];
    assert_eq!((zone.state, zone.written_sectors, zone.write_pointer), (ZoneState::Full, 6, None));
}
