//! Random write areas of a zoned drive, what waits in memory, and zones without a good block.

use crate::lab::{device, faulty_flash, mount, Lab};
use crate::zns::{command, config, drive, geometry, mount_again, options, read, report, send, state, Flash};
use nandlab_block::{BlockDevice, ByteCount, Error, Op, Payload, Request, ZoneCommand, ZoneFault, ZoneState};
use nandlab_drive::{inside, on};
use nandlab_ftl::{FtlError, ZoneOptions};
use nandlab_nand::backed::Backed;
use nandlab_nand::damaged::Damaged;
use nandlab_nand::faulty::Config as Faults;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::random::Random;
use nandlab_nand::{Geometry, Nand, NandError, Ppa, Rules, Shape};

/// Areas of 8 sectors, two pages, for one zone at a time.
fn with_areas() -> ZoneOptions {
    ZoneOptions { random_write_area: Some(ByteCount(8 * 512)), max_random_write_areas: 1, ..options() }
}

fn commit(lab: &mut Lab, last: u64) -> Result<(), ZoneFault> {
    send(lab, Op::Zone(ZoneCommand::Commit), last, 0)
}

#[test]
fn a_random_write_area_takes_writes_in_any_order_and_again() {
    let mut lab = drive(with_areas());
    assert_eq!(command(&mut lab, ZoneCommand::OpenRandom, 1), Ok(()));
    assert_eq!((state(&lab, 1), report(&lab, 1).write_pointer), (ZoneState::ExplicitlyOpened, Some(32)));
    for (sector, sectors) in [(38, 2), (32, 3), (33, 1), (38, 1)] {
        assert_eq!(send(&mut lab, Op::Write, sector, sectors), Ok(()), "sector {sector}");
    }
    let programs = |lab: &mut Lab| lab.ctx().matrix().total().programs();
    assert_eq!((report(&lab, 1).write_pointer, programs(&mut lab)), (Some(32), 0), "the write pointer stays");
    assert_eq!(
        read(&mut lab, 32, 8),
        [33, 33, 35, 0, 0, 0, 39, 39].map(|byte: u8| if byte == 0 { 0 } else { byte | 1 })
    );
    assert_eq!(send(&mut lab, Op::Append, 32, 1), Err(ZoneFault::InvalidOperation));
    assert_eq!(
        send(&mut lab, Op::Write, 47, 2),
        Err(ZoneFault::InvalidWrite),
        "more than another area behind the area"
    );
    assert_eq!(send(&mut lab, Op::Write, 41, 1), Ok(()), "the write pointer follows by a page");
    assert_eq!((report(&lab, 1).write_pointer, programs(&mut lab)), (Some(36), 1));
    assert_eq!(send(&mut lab, Op::Write, 35, 2), Err(ZoneFault::InvalidWrite), "what is final stays");
    assert_eq!(read(&mut lab, 32, 12), [33, 33, 35, 0, 0, 0, 39, 39, 0, 41, 0, 0]);
    lab.check();
    assert_eq!(
        (commit(&mut lab, 38), commit(&mut lab, 44)),
        (Err(ZoneFault::InvalidField), Err(ZoneFault::InvalidField))
    );
    assert_eq!((commit(&mut lab, 39), report(&lab, 1).write_pointer), (Ok(()), Some(40)));
    assert_eq!(commit(&mut lab, 3), Err(ZoneFault::InvalidOperation), "zone 0 has no area");
    assert_eq!(command(&mut lab, ZoneCommand::OpenRandom, 0), Err(ZoneFault::NoRandomWriteArea));
    assert_eq!(command(&mut lab, ZoneCommand::OpenRandom, 1), Ok(()), "it has one");
    assert_eq!(command(&mut lab, ZoneCommand::Reset, 1), Ok(()));
    assert_eq!((read(&mut lab, 32, 12), state(&lab, 1)), (vec![0; 12], ZoneState::Empty));
    assert_eq!(send(&mut lab, Op::Append, 0, 1), Ok(()));
    assert_eq!(command(&mut lab, ZoneCommand::OpenRandom, 0), Err(ZoneFault::InvalidTransition), "it is not empty");
    assert_eq!(command(&mut lab, ZoneCommand::OpenRandom, 2), Ok(()));
    lab.check();
}

#[test]
fn a_random_write_area_ends_at_the_capacity() {
    let mut lab = drive(with_areas());
    command(&mut lab, ZoneCommand::OpenRandom, 0).unwrap();
    for at in 0..5 {
        assert_eq!(send(&mut lab, Op::Write, 4 * at, 4), Ok(()));
    }
    assert_eq!(report(&lab, 0).write_pointer, Some(12));
    assert_eq!(send(&mut lab, Op::Write, 20, 9), Err(ZoneFault::Boundary));
    assert_eq!(send(&mut lab, Op::Write, 12, 16), Ok(()), "an area and another area from the write pointer on");
    assert_eq!((report(&lab, 0).write_pointer, commit(&mut lab, 27)), (Some(20), Ok(())));
    assert_eq!((state(&lab, 0), read(&mut lab, 0, 28)), (ZoneState::Full, (0..28).map(|at| at | 1).collect()));
    assert_eq!(command(&mut lab, ZoneCommand::OpenRandom, 1), Ok(()), "a full zone has no area");
    send(&mut lab, Op::Write, 36, 4).unwrap();
    assert_eq!(command(&mut lab, ZoneCommand::Finish, 1), Ok(()));
    assert_eq!((state(&lab, 1), read(&mut lab, 32, 9)), (ZoneState::Full, vec![0, 0, 0, 0, 37, 37, 39, 39, 0]));
    let used = lab.uses().zones.unwrap();
    assert_eq!((used.random_opens, used.commits, used.implicit_commit_pages), (2, 1, 5));
    lab.check();
}

#[test]
fn a_finish_fills_what_nobody_wrote() {
    let mut lab = drive(with_areas());
    command(&mut lab, ZoneCommand::OpenRandom, 0).unwrap();
    lab.submit(&Request::new(Op::Flush, 0, 0), Payload::None).unwrap();
    command(&mut lab, ZoneCommand::Finish, 0).unwrap();
    assert_eq!(lab.uses().zones.unwrap().filled_pages, 7);
    lab.check();
}

#[test]
fn areas_that_do_not_fit_are_refused() {
    let refused = |options| config(options).max_logical_pages(&geometry(), &Rules::default()).unwrap_err().to_string();
    let bytes = |sectors: u64| Some(ByteCount(512 * sectors));
    let message = refused(ZoneOptions { random_write_area: bytes(6), ..options() });
    assert!(message.contains("device.zones.random_write_area = 3 KiB: it is a whole number of pages"), "{message}");
    let message = refused(ZoneOptions { random_write_area: bytes(32), ..options() });
    assert!(message.contains("no more than the zone's capacity of 7 pages"), "{message}");
    let message = refused(ZoneOptions { random_write_area: bytes(12), commit_granularity: bytes(8), ..options() });
    assert!(message.contains("device.zones.commit_granularity = 4 KiB"), "{message}");
    let message = refused(ZoneOptions { commit_granularity: bytes(8), ..options() });
    assert!(message.contains("it needs device.zones.random_write_area"), "{message}");
}

/// A zone with a random write area as the host knows it: by sector what a read may give.
struct Area {
    may: Vec<Vec<u8>>,
    /// Sectors that are final, as far as the host knows.
    pointer: u64,
}

/// What a flush found in an area is there after a cut, or what was written since; the write pointer is no lower than the last
/// flush left it.
#[test]
fn random_write_areas_survive_cuts_at_any_operation() {
    let mut kept = 0;
    for (at, form) in (1..80).flat_map(|at| Form::ALL.map(|form| (at, form))) {
        let options = ZoneOptions { max_random_write_areas: 2, ..with_areas() };
        let mut lab = drive(options);
        let mut random = Random::new(at);
        let mut areas: Vec<Area> = (0..2).map(|_| Area { may: vec![vec![0]; 28], pointer: 0 }).collect();
        let mut certain = [0; 2];
        device::<Flash>(&mut lab).arm(CutPlan { operation: at, form });
        let mut is_cut = (0..2).any(|zone| command_or_cut(&mut lab, ZoneCommand::OpenRandom, zone));
        while !is_cut {
            let zone = random.below(2) as usize;
            let area = &mut areas[zone];
            if random.chance(0.15) {
                is_cut = matches!(lab.submit(&Request::new(Op::Flush, 0, 0), Payload::None), Err(Error::PowerLost));
                if !is_cut {
                    areas
                        .iter_mut()
                        .for_each(|area| area.may.iter_mut().for_each(|may| drop(may.drain(..may.len() - 1))));
                    certain = [0, 1].map(|zone| areas[zone].pointer);
                }
                continue;
            }
            if area.pointer == 28 {
                is_cut = command_or_cut(&mut lab, ZoneCommand::Reset, zone as u64)
                    || command_or_cut(&mut lab, ZoneCommand::OpenRandom, zone as u64);
                // A zone under reset is as before, or empty.
                area.may.iter_mut().for_each(|may| *may = if is_cut { vec![*may.last().unwrap(), 0] } else { vec![0] });
                (area.pointer, certain[zone]) = if is_cut { (28, 0) } else { (0, 0) };
                continue;
            }
            let first = area.pointer + random.below((28 - area.pointer).min(12));
            let sectors = 1 + random.below((28 - first).min(area.pointer + 16 - first).min(6));
            let byte = 1 + random.below(255) as u8;
            let bytes = vec![byte; 512 * sectors as usize];
            let done =
                lab.submit(&Request::new(Op::Write, 32 * zone as u64 + first, sectors as u32), Payload::Write(&bytes));
            (first..first + sectors).for_each(|at| area.may[at as usize].push(byte));
            is_cut = matches!(done, Err(Error::PowerLost));
            assert!(is_cut || done.is_ok(), "{done:?}");
            while first + sectors > area.pointer + 8 {
                area.pointer += 4;
            }
        }
        lab = mount_again(lab, options);
        for (zone, area) in areas.iter().enumerate() {
            let report = report(&lab, zone as u64);
            let pointer = report.write_pointer.map_or(28, |pointer| pointer - report.start);
            let name = format!("cut {at} {form}, zone {zone}");
            assert!((certain[zone]..=area.pointer).contains(&pointer), "{name}: {pointer}");
            for (sector, byte) in read(&mut lab, 32 * zone as u64, 28).into_iter().enumerate() {
                assert!(
                    area.may[sector].contains(&byte),
                    "{name}, sector {sector}: {byte}, not {:?}",
                    area.may[sector]
                );
                kept += usize::from(byte > 0 && sector as u64 >= pointer);
            }
        }
    }
    assert!(kept > 300, "{kept} sectors of areas were kept");
}

/// A staged page is the host's to its last byte: nothing of the drive's own lies in it.
#[test]
fn flushed_pages_come_back_from_an_image_byte_for_byte() {
    let directory = tempfile::tempdir().unwrap();
    let (path, config) = (directory.path().join("image"), config(with_areas()));
    let pages = config.max_logical_pages(&geometry(), &Rules::default()).unwrap();
    let mut lab = mount(Backed::create(&path, geometry(), Rules::default()).unwrap(), pages, &config);
    command(&mut lab, ZoneCommand::OpenRandom, 1).unwrap();
    let mut random = Random::new(1);
    let mut bytes_of = |sectors: usize| (0..512 * sectors).map(|_| random.below(256) as u8).collect::<Vec<u8>>();
    let written = [(0, bytes_of(7)), (32, bytes_of(8)), (64, bytes_of(3))];
    for (sector, bytes) in &written {
        let sectors = bytes.len() as u32 / 512;
        lab.submit(&Request::new(Op::Write, *sector, sectors), Payload::Write(bytes)).unwrap();
    }
    lab.submit(&Request::new(Op::Flush, 0, 0), Payload::None).unwrap();
    for mounts in 1..=2 {
        drop(lab);
        lab = mount(Backed::open(&path).unwrap(), pages, &config);
        let pointers = [0, 1, 2].map(|zone| report(&lab, zone).write_pointer);
        assert_eq!(pointers, [Some(7), Some(32), Some(67)], "mount {mounts}");
        for (sector, bytes) in &written {
            let mut found = vec![0; bytes.len()];
            let sectors = bytes.len() as u32 / 512;
            lab.submit(&Request::new(Op::Read, *sector, sectors), Payload::Read(&mut found)).unwrap();
            let differs = found.iter().zip(bytes).position(|(found, byte)| found != byte);
            assert_eq!(differs, None, "mount {mounts}, from sector {sector}");
        }
        lab.check();
    }
}

/// A flush after the reset stages the zone's first page again. The old pages behind it stay void.
#[test]
fn what_was_staged_before_a_reset_never_comes_back() {
    let mut lab = drive(with_areas());
    let flush = |lab: &mut Lab| lab.submit(&Request::new(Op::Flush, 0, 0), Payload::None).unwrap();
    command(&mut lab, ZoneCommand::OpenRandom, 1).unwrap();
    send(&mut lab, Op::Write, 36, 4).unwrap();
    flush(&mut lab);
    command(&mut lab, ZoneCommand::Reset, 1).unwrap();
    send(&mut lab, Op::Write, 32, 1).unwrap();
    flush(&mut lab);
    lab = mount_again(lab, with_areas());
    assert_eq!((report(&lab, 1).write_pointer, report(&lab, 1).has_random_area), (Some(33), false));
    assert_eq!(read(&mut lab, 32, 8), [33, 0, 0, 0, 0, 0, 0, 0]);
}

/// The spare area tells which page of a zone is damaged, so the others are still there.
#[test]
fn a_damaged_page_of_an_area_costs_itself() {
    for (damaged, left) in [(0, [0, 0, 0, 0, 37, 37, 39, 39]), (1, [33, 33, 35, 35, 0, 0, 0, 0])] {
        let (config, mut lab) = (config(with_areas()), drive(with_areas()));
        command(&mut lab, ZoneCommand::OpenRandom, 1).unwrap();
        send(&mut lab, Op::Write, 32, 8).unwrap();
        lab.submit(&Request::new(Op::Flush, 0, 0), Payload::None).unwrap();
        let mut nand: Flash = inside(lab.into_nand());
        let is_staged = |page: &Ppa| nand.read_spare(*page).unwrap().is_some();
        let staged: Vec<Ppa> = (0..geometry().pages()).map(Ppa).filter(is_staged).collect();
        assert_eq!(staged.len(), 2, "nothing else is on flash");
        let pages = config.max_logical_pages(&geometry(), &Rules::default()).unwrap();
        let mut lab = mount(Damaged::new(nand, staged[damaged]), pages, &config);
        assert_eq!((read(&mut lab, 32, 8), lab.events().lost_pages), (left.to_vec(), 1));
        assert_eq!((state(&lab, 1), report(&lab, 1).has_random_area), (ZoneState::Closed, true));
        lab.check();
    }
}

fn command_or_cut(lab: &mut Lab, command: ZoneCommand, zone: u64) -> bool {
    match lab.submit(&Request::new(Op::Zone(command), 32 * zone, 0), Payload::None) {
        Err(Error::PowerLost) => true,
        done => done.map(|_| false).unwrap(),
    }
}

#[test]
fn memory_has_every_area_that_there_can_be() {
    let bytes = |options| drive(options).ram().dram.get("random_write_areas").copied();
    let area = 8 * 512;
    assert_eq!(bytes(options()), None);
    assert_eq!(bytes(with_areas()), Some(area));
    assert_eq!(bytes(ZoneOptions { max_random_write_areas: 0, ..with_areas() }), Some(3 * area), "3 active zones");
}

/// A zone without a good block is read only, and what a flush has made certain can be read.
#[test]
fn flushed_sectors_can_be_read_when_their_zone_is_read_only() {
    let mut read_only = [0, 0];
    for (seed, is_random) in (0..150).flat_map(|seed| [(seed, false), (seed, true)]) {
        let options =
            ZoneOptions { max_random_write_areas: 2, spare_blocks: 3, max_open: 0, max_active: 0, ..with_areas() };
        let faults = Faults { program_failure_rate: 0.35, seed, ..Faults::default() };
        let flash = PowerCut::new(faulty_flash(geometry(), Rules::default(), faults));
        let config = config(options);
        let pages = config.max_logical_pages(&geometry(), &Rules::default()).unwrap();
        let mut lab = mount(flash, pages, &config);
        let mut random = Random::new(seed);
        let mut held = [[0_u8; 28]; 2];
        if is_random && (0..2).any(|zone| command(&mut lab, ZoneCommand::OpenRandom, zone).is_err()) {
            continue;
        }
        for step in 1..120 {
            let zone = random.below(2) as usize;
            let start = 32 * zone as u64;
            let Some(pointer) = report(&lab, zone as u64).write_pointer else { continue };
            let first = pointer - start + if is_random { random.below(9) } else { 0 };
            let sectors = (1 + random.below(5)).min(28 - first.min(27));
            let done = lab.submit(
                &Request::new(Op::Write, start + first, sectors as u32),
                Payload::Write(&vec![step; 512 * sectors as usize]),
            );
            match done {
                Ok(_) => held[zone][first as usize..(first + sectors) as usize].fill(step),
                Err(Error::Zone { fault: ZoneFault::Boundary, .. }) => continue,
                Err(Error::Zone { fault: ZoneFault::ReadOnly, .. }) => {
                    // What was refused may be there in part.
                    held[zone][first as usize..((first + sectors) as usize).min(28)].fill(0);
                    read_only[usize::from(is_random)] += 1;
                }
                Err(Error::WornOut(_)) => break,
                Err(error) => panic!("seed {seed}: {error}"),
            }
            if random.chance(0.15) && lab.submit(&Request::new(Op::Flush, 0, 0), Payload::None).is_err() {
                break;
            }
            lab.check();
            for (zone, held) in (0..).zip(&held) {
                let found = read(&mut lab, 32 * zone, 28);
                let differs = found.iter().zip(held).position(|(found, held)| *held > 0 && found != held);
                assert_eq!(differs, None, "seed {seed}, step {step}, zone {zone}: {found:?}, {held:?}");
            }
        }
    }
    assert!(read_only.iter().all(|&times| times > 10), "{read_only:?}");
}

/// As much waits as ever can, and the drive is cut while it is mounted, again and again.
#[test]
fn a_full_stage_is_mounted_again_and_again() {
    let geometry = Geometry::new(Shape {
        channels: 4,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 16,
        pages_per_block: 16,
        page_bytes: 2048,
        spare_bytes: 64,
    })
    .unwrap();
    let options =
        ZoneOptions { random_write_area: Some(ByteCount(32 * 2048)), max_active: 6, ..ZoneOptions::default() };
    let config = config(options);
    let pages = config.max_logical_pages(&geometry, &Rules::default()).unwrap();
    let mut lab = mount(PowerCut::new(faulty_flash(geometry, Rules::default(), Faults::default())), pages, &config);
    let zone_sectors = 4 * 64;
    let zones = lab.sectors() / zone_sectors;
    let put = |lab: &mut Lab, op, sector, sectors: u32, byte| {
        let bytes = vec![byte; 512 * sectors as usize];
        let data = if sectors > 0 { Payload::Write(&bytes) } else { Payload::None };
        lab.submit(&Request::new(op, sector, sectors), data).unwrap();
    };
    (6..zones).for_each(|zone| put(&mut lab, Op::Write, zone * zone_sectors, zone_sectors as u32, 7));
    for zone in 0..6 {
        put(&mut lab, Op::Zone(ZoneCommand::OpenRandom), zone * zone_sectors, 0, 0);
        for round in 1..=3 {
            put(&mut lab, Op::Write, zone * zone_sectors, 4 * 32, round);
            put(&mut lab, Op::Flush, 0, 0, 0);
        }
    }
    let mut nand: Flash = inside(lab.into_nand());
    for operation in 1.. {
        nand.restore();
        nand.arm(CutPlan { operation, form: Form::Clean });
        match on(&config, Box::new(nand), pages) {
            Ok(mut lab) => {
                assert!(operation > 50, "the mount has {operation} operations");
                (0..6).for_each(|zone| assert_eq!(read(&mut lab, zone * zone_sectors, 4), [3; 4]));
                return;
            }
            Err(not) => {
                assert!(matches!(not.error, FtlError::Nand(NandError::PowerLost)), "{}", not.error);
                nand = inside(not.nand);
            }
        }
    }
}
