//! Conventional zones beside sequential ones: what they take, what they cost, and what a power cut leaves.

use crate::lab::{device, faulty_flash, mount, mounted, Lab};
use crate::zns::{config, read, send, Flash};
use nandlab_block::{BlockDevice, ByteCount, Error, Op, Payload, Request, ZoneCommand, ZoneFault, ZoneState};
use nandlab_drive::inside;
use nandlab_ftl::{page, zoned, FtlConfig, ZoneOptions};
use nandlab_nand::faulty::Config as Faults;
use nandlab_nand::power_cut::{CutPlan, Form, PowerCut};
use nandlab_nand::random::Random;
use nandlab_nand::{Geometry, Rules, Shape};

/// Two dies of so many blocks with 4 pages of 2 KiB: a zone of one block on each die has 32 sectors.
fn geometry(blocks_per_plane: u32) -> Geometry {
    Geometry::new(Shape { blocks_per_plane, ..*crate::zns::geometry().shape() }).unwrap()
}

/// Zones of 32 sectors, the first of them conventional; 28 sectors of the others can be written.
fn options(conventional: u32) -> ZoneOptions {
    ZoneOptions {
        size: Some(ByteCount(32 * 512)),
        capacity: Some(ByteCount(28 * 512)),
        max_open: 2,
        max_active: 3,
        conventional,
        ..ZoneOptions::default()
    }
}

fn drive(blocks_per_plane: u32, options: ZoneOptions) -> Lab {
    let geometry = geometry(blocks_per_plane);
    let config = config(options);
    let pages = config.max_logical_pages(&geometry, &Rules::default()).unwrap();
    mount(PowerCut::new(faulty_flash(geometry, Rules::default(), Faults::default())), pages, &config)
}

fn again(lab: Lab, options: ZoneOptions) -> Lab {
    let pages = lab.logical_pages();
    let mut nand: Flash = inside(lab.into_nand());
    nand.restore();
    let mut lab = mount(nand, pages, &config(options));
    lab.check();
    lab
}

#[test]
fn conventional_zones_take_writes_anywhere_and_no_command() {
    let mut lab = drive(24, options(2));
    let state = |lab: &Lab, zone: u64| lab.zone_at(32 * zone).unwrap();
    let first = state(&lab, 1);
    assert_eq!((first.start, first.capacity, first.write_pointer), (32, 32, None));
    assert_eq!((first.state, state(&lab, 2).state), (ZoneState::NotWritePointer, ZoneState::Empty));
    assert_eq!((state(&lab, 2).start, state(&lab, 2).write_pointer), (64, Some(64)));
    for (sector, sectors) in [(40, 8), (3, 2), (40, 8), (30, 4), (63, 1)] {
        assert_eq!(send(&mut lab, Op::Write, sector, sectors), Ok(()));
    }
    assert_eq!(read(&mut lab, 2, 4), [0, 3, 5, 0], "3 and 4 with their lowest bit set");
    use ZoneCommand::{Close, Commit, Finish, Open, OpenRandom, Reset};
    for command in [Open, Close, Finish, Reset, OpenRandom, Commit] {
        assert_eq!(send(&mut lab, Op::Zone(command), 32, 0), Err(ZoneFault::InvalidField), "{command:?}");
    }
    assert_eq!(send(&mut lab, Op::Append, 32, 1), Err(ZoneFault::InvalidField));
    assert_eq!(send(&mut lab, Op::Write, 62, 3), Err(ZoneFault::Boundary), "into a sequential zone");
    assert_eq!(read(&mut lab, 62, 4).len(), 4, "a read may go there");

    // They take no place among the open and the active zones.
    for zone in 2..5 {
        assert_eq!(send(&mut lab, Op::Append, 32 * zone, 5), Ok(()));
    }
    assert_eq!(send(&mut lab, Op::Append, 32 * 5, 1), Err(ZoneFault::TooManyActive));
    assert_eq!(send(&mut lab, Op::Write, 0, 4), Ok(()));
    assert_eq!(send(&mut lab, Op::Trim, 40, 8), Ok(()));
    assert_eq!(read(&mut lab, 40, 8), [0; 8]);
    assert_eq!((state(&lab, 4).write_pointer, state(&lab, 1).write_pointer), (Some(32 * 4 + 5), None));
    let told = lab.submit(&Request::new(Op::Write, 32 * 4, 1), Payload::Write(&[1; 512])).unwrap_err();
    assert_eq!(told, Error::Zone { zone: 4, fault: ZoneFault::InvalidWrite }, "the zone's number is the drive's");
    let uses = lab.uses();
    let by_zone = uses.by_zone.iter().map(|zone| (zone.written_sectors, zone.resets)).take(4).collect::<Vec<_>>();
    assert_eq!(by_zone, [(8, 0), (19, 0), (5, 0), (5, 0)]);
    assert_eq!(uses.zones.unwrap().most_active, 3);
    lab.check();
    assert_eq!(send(&mut lab, Op::Flush, 0, 0), Ok(()));
    let mut lab = again(lab, options(2));
    assert_eq!((read(&mut lab, 0, 4), read(&mut lab, 40, 8)), (vec![1, 1, 3, 3], vec![0; 8]));
}

#[test]
fn a_read_into_sequential_zones_is_refused_if_the_drive_says_so() {
    let mut lab = drive(24, ZoneOptions { read_across_zones: false, ..options(2) });
    let mut ask = |sector, sectors| {
        let mut bytes = vec![0; 512 * sectors as usize];
        lab.submit(&Request::new(Op::Read, sector, sectors), Payload::Read(&mut bytes)).is_ok()
    };
    assert_eq!([ask(31, 2), ask(63, 1), ask(63, 2), ask(95, 2)], [true, true, false, false]);
}

/// The blocks of conventional zones are a page map's: the same writes cost as much as on a page map with these blocks alone.
#[test]
fn overwrites_cost_what_they_cost_a_page_map_with_the_same_blocks() {
    let (zones, spare) = (12, 50);
    let (pages, blocks) = (u64::from(zones) * 8, 12 * 8 * 150 / 100 / 8);
    let with = ZoneOptions { conventional_spare_percent: Some(spare), ..options(zones) };
    let mut lab = drive(40, with);
    let flash = PowerCut::new(faulty_flash(geometry(blocks), Rules::default(), Faults::default()));
    let mut alone = mount(flash, pages as u32, &page::Config::default());
    let counts = |lab: &mut Lab| {
        let total = lab.ctx().matrix().total();
        (total.programs(), total.erases())
    };
    let before = (counts(&mut lab), counts(&mut alone));
    let mut random = Random::new(5);
    for _ in 0..40 * pages {
        let sector = 4 * random.below(pages);
        for lab in [&mut lab, &mut alone] {
            send(lab, Op::Write, sector, 4).unwrap();
        }
    }
    let since = |now: (u64, f64), then: (u64, f64)| (now.0 - then.0, now.1 - then.1);
    let of_page_map = since(counts(&mut alone), before.1);
    assert_eq!(since(counts(&mut lab), before.0), of_page_map);
    assert!(of_page_map.0 > 44 * pages, "pages moved: {}", of_page_map.0);

    // A sequential zone costs a program a page.
    let before = counts(&mut lab);
    for _ in 0..7 {
        send(&mut lab, Op::Append, 32 * u64::from(zones), 4).unwrap();
    }
    assert_eq!(since(counts(&mut lab), before).0, 7);
    lab.check();
}

/// What sectors may hold after a cut: what a flush made certain, or what was written since.
type Allowed = Vec<Vec<u8>>;

/// Random requests in two conventional zones, and appends to two sequential ones, until the cut.
fn play(
    lab: &mut Lab,
    allowed: &mut Allowed,
    written: &mut [Vec<u8>; 2],
    certain: &mut [usize; 2],
    random: &mut Random,
) {
    loop {
        let (sector, sectors) = (random.below(60), 1 + random.below(4) as usize);
        let zone = random.below(2) as usize;
        let (op, at, sectors) = match random.below(12) {
            0 => (Op::Flush, 0, 0),
            1 => (Op::Trim, sector / 4 * 4, 4),
            2..=4 if written[zone].len() + sectors <= 28 => (Op::Append, 64 + 32 * zone as u64, sectors),
            _ => (Op::Write, sector, sectors),
        };
        let fill: Vec<u8> = (0..sectors).map(|_| 1 + random.below(255) as u8).collect();
        let bytes: Vec<u8> = fill.iter().flat_map(|&byte| [byte; 512]).collect();
        let data = if op.writes() { Payload::Write(&bytes) } else { Payload::None };
        let done = lab.submit(&Request::new(op, at, sectors as u32), data);
        match op {
            Op::Append => written[zone].extend(&fill),
            Op::Write => (at as usize..).zip(&fill).for_each(|(sector, &byte)| allowed[sector].push(byte)),
            Op::Trim => (at as usize..at as usize + 4).for_each(|sector| allowed[sector].push(0)),
            _ => {}
        }
        match (done, op) {
            (Err(Error::PowerLost), _) => return,
            (Err(error), _) => panic!("{error}"),
            (Ok(_), Op::Flush) => {
                allowed.iter_mut().for_each(|bytes| drop(bytes.drain(..bytes.len() - 1)));
                *certain = [written[0].len(), written[1].len()];
            }
            _ => {}
        }
    }
}

/// A cut erase that leaves a zone's first pages alone, or lets old ones come back, is told of sequential zones in `zns`.
const SHORTENS: [Form; 3] = [Form::TornEraseSuffix, Form::TornEraseScattered, Form::UnstableErase];

#[test]
fn what_a_cut_at_any_operation_leaves_was_written() {
    let options = ZoneOptions { max_open: 0, max_active: 0, ..options(2) };
    let mut kept = 0;
    let forms = || Form::ALL.into_iter().filter(|form| !SHORTENS.contains(form));
    for (at, form) in (1..160).flat_map(|at| forms().map(move |form| (at, form))) {
        let (mut lab, mut random) = (drive(24, options), Random::new(at));
        let mut allowed: Allowed = vec![vec![0]; 64];
        let (mut written, mut certain) = ([Vec::new(), Vec::new()], [0, 0]);
        for second in 0..2 {
            device::<Flash>(&mut lab).arm(CutPlan { operation: at + 60 * second, form });
            play(&mut lab, &mut allowed, &mut written, &mut certain, &mut random);
            lab = again(lab, options);
            for (sector, (byte, allowed)) in read(&mut lab, 0, 64).into_iter().zip(&mut allowed).enumerate() {
                assert!(allowed.contains(&byte), "cut {at} {form}, sector {sector}: {byte}, allowed {allowed:?}");
                kept += usize::from(byte != allowed[0]);
                *allowed = vec![byte];
            }
            for zone in 0..2 {
                let report = lab.zone_at(64 + 32 * zone as u64).unwrap();
                let length = report.write_pointer.map_or(28, |pointer| (pointer - report.start) as usize);
                assert!(
                    (certain[zone]..=written[zone].len()).contains(&length),
                    "cut {at} {form}, zone {zone}: {length}"
                );
                assert_eq!(read(&mut lab, report.start, length as u32), written[zone][..length], "cut {at} {form}");
                written[zone].truncate(length);
                certain[zone] = length;
            }
        }
    }
    assert!(kept > 1000, "{kept} sectors held what no flush had made certain");
}

/// Overwrites two conventional zones while one program and one erase fail, and checks every sector before and after a mount. Returns
/// the drive, and how many blocks it retired before the mount.
fn overwrite(mut lab: Lab, options: ZoneOptions, [program, erase]: [u64; 2]) -> (Lab, u64) {
    let (mut random, mut held) = (Random::new(7), vec![0; 64]);
    let flash = device::<Flash>(&mut lab).inner_mut();
    flash.fail_program(program);
    flash.fail_erase(erase);
    for turn in 1..250_u32 {
        let (sector, sectors) = (random.below(60) as usize, 1 + random.below(4) as usize);
        let fill = turn as u8;
        let data = vec![fill; 512 * sectors];
        lab.submit(&Request::new(Op::Write, sector as u64, sectors as u32), Payload::Write(&data)).unwrap();
        held[sector..sector + sectors].fill(fill);
        if turn % 25 == 0 {
            assert_eq!(send(&mut lab, Op::Flush, 0, 0), Ok(()));
            lab.check();
        }
    }
    assert_eq!(read(&mut lab, 0, 64), held, "program {program}, erase {erase}");
    assert_eq!(send(&mut lab, Op::Flush, 0, 0), Ok(()));
    let retired = lab.events().retired_blocks;
    let mut lab = again(lab, options);
    assert_eq!(read(&mut lab, 0, 64), held, "program {program}, erase {erase}, mounted again");
    (lab, retired)
}

/// A failed program or erase in a conventional zone's blocks takes one of these blocks, and no sector with it; the sequential
/// zones keep all of theirs.
#[test]
fn a_failed_program_or_erase_in_conventional_zones_loses_a_block_and_no_sector() {
    let options = ZoneOptions { conventional_spare_percent: Some(100), ..options(2) };
    let (never, mut failed) = (1_000_000, [0, 0]);
    for at in (1..200).step_by(3) {
        for (kind, faults) in [[at, never], [never, at]].into_iter().enumerate() {
            let (mut lab, retired) = overwrite(drive(24, options), options, faults);
            let counts = *device::<Flash>(&mut lab).inner_mut().counts();
            let hits = counts.failed_programs + counts.failed_erases;
            assert_eq!(retired, hits, "one block for one failure");
            failed[kind] += hits;
            // A sequential zone takes what it took.
            for _ in 0..7 {
                assert_eq!(send(&mut lab, Op::Append, 64, 4), Ok(()));
            }
            assert_eq!(lab.zone_at(64).unwrap().state, ZoneState::Full);
            lab.check();
        }
    }
    assert!(failed[0] > 50 && failed[1] > 15, "{failed:?}");
}

#[test]
fn what_leaves_no_sequential_zone_or_no_use_is_refused() {
    let refused =
        |config: FtlConfig| config.max_logical_pages(&geometry(24), &Rules::default()).unwrap_err().to_string();
    for zones in [18, 24, 1000, u32::MAX] {
        let said = refused(config(options(zones)));
        assert!(said.contains(&format!("device.zones.conventional = {zones}: ")), "{said}");
        assert!(said.contains("no room for a sequential one"), "{said}");
    }
    let spare = ZoneOptions { conventional_spare_percent: Some(7), ..options(0) };
    assert!(refused(config(spare)).contains("it needs device.zones.conventional"));
    let zoned = FtlConfig::Zoned(zoned::Config { zones: options(1), ..zoned::Config::default() });
    assert!(refused(zoned).contains("no use for conventional zones"));
    // The capacity of the conventional zones alone is too small.
    let flash = PowerCut::new(faulty_flash(geometry(24), Rules::default(), Faults::default()));
    let said = mounted(flash, 2 * 8 + 7, &config(options(2))).err().unwrap().to_string();
    assert!(said.contains("less than a zone of ftl.zns, 8 pages, behind its conventional ones"), "{said}");
}
