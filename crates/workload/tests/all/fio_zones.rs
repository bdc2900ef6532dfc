//! Jobs of fio with `zonemode=zbd`: against a model of a drive's zones that refuses what NVMe refuses, and against fio itself
//! if it is installed. fio keeps the zones of a drive without any, so `ioengine=null` shows its requests.

use super::fio::{line, play, text};
use super::fio_itself::{is_installed, theirs, Folder};
use crate::support::setting;
use nandlab_block::{Op, Request, ZoneCommand, ZoneShape};
use nandlab_workload::{Options, Setting};
use std::path::Path;

const KIB: u64 = 2;
const SHAPE: ZoneShape = ZoneShape { size: 32 * KIB, capacity: 28 * KIB, max_open: 0, max_active: 0, conventional: 0 };

fn open_on(zones: Option<ZoneShape>, jobs: &str) -> Result<Vec<Request>, String> {
    let setting = Setting { zones, ..setting(1024 * KIB, 1, Path::new(".")) };
    let jobs = jobs.replace(';', "\n");
    text(&jobs).open(&setting).map(|opened| play(opened, |_| 1000)).map_err(|error| error.to_string())
}

fn asked(shape: ZoneShape, keys: &str) -> Vec<Request> {
    let jobs = format!("[a];zonemode=zbd;{keys}");
    open_on(Some(shape), &jobs).unwrap_or_else(|error| panic!("{keys}: {error}"))
}

/// A drive's counters.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    written: u64,
    resets: u64,
    finishes: u64,
    most_active: usize,
}

/// A drive of zones, by NVMe's rules alone.
fn carry_out(shape: ZoneShape, requests: &[Request]) -> Counts {
    let mut zones = vec![0; 32];
    let mut counts = Counts::default();
    for request in requests {
        let (zone, at) = ((request.sector / shape.size) as usize, request.sector % shape.size);
        match request.op {
            Op::Write => {
                assert_eq!(at, zones[zone], "a write begins at the write pointer of zone {zone}");
                zones[zone] += u64::from(request.sectors);
                assert!(zones[zone] <= shape.capacity, "zone {zone} has {} sectors", zones[zone]);
                counts.written += u64::from(request.sectors);
            }
            Op::Zone(ZoneCommand::Reset) => {
                assert!(at == 0 && zones[zone] > 0, "zone {zone} is reset with {} sectors", zones[zone]);
                zones[zone] = 0;
                counts.resets += 1;
            }
            Op::Zone(ZoneCommand::Finish) => {
                assert!(at == 0 && (1..shape.capacity).contains(&zones[zone]), "zone {zone} is finished");
                zones[zone] = shape.capacity;
                counts.finishes += 1;
            }
            Op::Read => assert!(at + u64::from(request.sectors) <= zones[zone], "a read behind the write pointer"),
            _ => panic!("{request:?}"),
        }
        let active = zones.iter().filter(|&&written| written > 0 && written < shape.capacity).count();
        counts.most_active = counts.most_active.max(active);
    }
    counts
}

#[test]
fn a_job_in_order_goes_on_in_the_next_zone_at_capacity() {
    let requests = asked(SHAPE, "rw=write;bs=4k;size=256k;loops=3");
    let counts = carry_out(SHAPE, &requests);
    // Eight zones, full three times, and emptied before the second and the third.
    assert_eq!(counts, Counts { written: 3 * 8 * SHAPE.capacity, resets: 16, finishes: 0, most_active: 1 });
    assert_eq!(requests[7].sector, SHAPE.size, "seven writes of 4 KiB fill 28 KiB");
}

/// Four conventional zones of eight: a job that writes all of them twice resets the others alone.
#[test]
fn conventional_zones_take_a_jobs_writes_as_they_are() {
    let shape = ZoneShape { conventional: 4, ..SHAPE };
    let first = 4 * SHAPE.size;
    let (conventional, others): (Vec<Request>, Vec<Request>) =
        asked(shape, "rw=write;bs=4k;size=256k;loops=2").into_iter().partition(|request| request.sector < first);
    let expected = (0..2).flat_map(|_| (0..first).step_by(8)).collect::<Vec<_>>();
    assert_eq!(conventional.iter().map(|request| request.sector).collect::<Vec<_>>(), expected, "to their ends");
    assert!(conventional.iter().all(|request| request.op == Op::Write && request.sectors == 8));
    let counts = carry_out(shape, &others);
    assert_eq!(counts, Counts { written: 2 * 4 * SHAPE.capacity, resets: 4, finishes: 0, most_active: 1 });

    // They can be read from the start, and take trims.
    let reads = asked(shape, "rw=randread;size=128k;norandommap");
    assert!(reads.len() == 32 && reads.iter().all(|request| request.op == Op::Read && request.sector < first));
    let random = asked(shape, "rw=randwrite;bs=4k;size=256k;io_size=1m;norandommap");
    let (conventional, others): (Vec<Request>, Vec<Request>) =
        random.into_iter().partition(|request| request.sector < first);
    assert!(conventional.len() > 64, "{}", conventional.len());
    carry_out(shape, &others);
}

#[test]
fn a_rest_shorter_than_a_write_is_finished() {
    let counts = carry_out(SHAPE, &asked(SHAPE, "rw=write;bs=8k;size=256k"));
    assert_eq!((counts.written, counts.finishes, counts.resets), (8 * 24 * KIB, 8, 0));
    assert_eq!(counts.most_active, 1);
}

#[test]
fn random_writes_go_to_as_many_zones_as_the_limits_say() {
    for (max_open, keys, most) in [
        (0, "bs=4k;max_open_zones=3", 3),
        (4, "bs=4k", 4),
        (4, "bs=4k;max_open_zones=2", 2),
        (4, "bs=4k;job_max_open_zones=1", 1),
        (2, "bs=4k;max_open_zones=5;ignore_zone_limits=1", 5),
        (3, "bs=8k", 3),
        (3, "bs=8k;iodepth=64;ioengine=libaio", 3),
        (3, "bsrange=4k-16k", 3),
    ] {
        let shape = ZoneShape { max_open, max_active: 8, ..SHAPE };
        let requests = asked(shape, &format!("rw=randwrite;size=512k;io_size=2m;norandommap;{keys}"));
        let counts = carry_out(shape, &requests);
        assert_eq!(counts.most_active, most, "{keys}");
        assert!(counts.written >= 2048 * KIB, "{keys}: {counts:?}");
        assert!(counts.resets > 0, "{keys}");
    }
}

#[test]
fn as_many_writers_as_active_zones_keep_to_the_limit() {
    let shape = ZoneShape { max_open: 4, max_active: 4, ..SHAPE };
    let keys = "rw=write;bs=8k;size=128k;offset_increment=128k;numjobs=4;filename=x;iodepth=64;ioengine=libaio";
    let counts = carry_out(shape, &asked(shape, keys));
    assert_eq!((counts.written, counts.finishes, counts.most_active), (16 * 24 * KIB, 16, 4));
}

#[test]
fn reads_stay_below_the_write_pointer_and_open_nothing() {
    assert_eq!(asked(SHAPE, "rw=read;size=256k"), []);
    assert_eq!(asked(SHAPE, "rw=randread;size=256k;norandommap"), []);
    let beyond = asked(SHAPE, "rw=read;size=256k;read_beyond_wp=1");
    assert!(beyond.len() == 64 && beyond.iter().all(|request| request.op == Op::Read));
    let requests = asked(SHAPE, "rw=randrw;size=256k;io_size=1m;norandommap");
    assert_eq!(requests[0].op, Op::Write, "nothing can be read before");
    assert!(requests.iter().filter(|request| request.op == Op::Read).count() > 50);
    carry_out(SHAPE, &requests);
}

#[test]
fn a_reset_waits_for_the_writes_of_its_job_and_its_write_for_the_reset() {
    let requests = asked(SHAPE, "rw=write;bs=4k;size=32k;loops=2;iodepth=8;ioengine=libaio");
    let times: Vec<u64> = requests.iter().map(|request| request.time).collect();
    // Seven writes at once, the reset at their end, and the others at the end of the reset.
    assert_eq!(times, [vec![0; 7], vec![1000], vec![2000; 7]].concat());
    assert_eq!(requests[7].op, Op::Zone(ZoneCommand::Reset));
}

#[test]
fn trims_reset_zones_that_are_not_empty() {
    let jobs =
        "[a];zonemode=zbd;filename=x;rw=write;size=96k;[b];stonewall;zonemode=zbd;filename=x;rw=trim;bs=32k;size=256k";
    let counts = carry_out(SHAPE, &open_on(Some(SHAPE), jobs).unwrap());
    assert_eq!((counts.written, counts.resets), (3 * SHAPE.capacity, 3));
}

#[test]
fn zones_are_reset_as_often_as_the_frequency_says() {
    let keys = "rw=randwrite;size=128k;io_size=4m;norandommap;zone_reset_frequency=0.1;zone_reset_threshold=0";
    let shape = ZoneShape { capacity: SHAPE.size, ..SHAPE };
    let counts = carry_out(shape, &asked(shape, keys));
    // Every tenth of 1,024 writes, beside the full zones.
    assert!((102..=102 + 128).contains(&counts.resets), "{counts:?}");
}

#[test]
fn a_size_in_zones_counts_zones_of_the_device() {
    let in_zones = asked(SHAPE, "rw=write;size=3z;offset=2z;bs=4k;numjobs=2;offset_increment=4z;io_size=2z");
    let in_bytes = asked(SHAPE, "rw=write;size=96k;offset=64k;bs=4k;numjobs=2;offset_increment=128k;io_size=64k");
    assert!(!in_zones.is_empty() && in_zones == in_bytes);
    let error = open_on(Some(SHAPE), "[a];rw=write;size=3z").unwrap_err();
    assert!(error.contains("size = 3z counts zones, and the job keeps to none; zonemode = zbd does"), "{error}");
    assert!(open_on(Some(SHAPE), "[a];rw=write;bs=3z").unwrap_err().contains("not a percentage or zones"));
}

#[test]
fn what_does_not_fit_the_device_is_refused_with_both_numbers() {
    let zoned = Some(SHAPE);
    let limited = Some(ZoneShape { max_open: 2, max_active: 2, ..SHAPE });
    for (zones, keys, words) in [
        (None, "zonemode=zbd", &["the device has no zones"][..]),
        (zoned, "zonemode=zbd;zonesize=64k", &["zonesize = 64 KiB", "32 KiB"]),
        (None, "zonemode=zbd;zonesize=32k;zonecapacity=64k", &["zonecapacity = 64 KiB", "32 KiB"]),
        (limited, "zonemode=zbd;max_open_zones=3", &["max_open_zones = 3", "takes 2"]),
        (zoned, "zonemode=zbd;job_max_open_zones=3", &["job_max_open_zones", "max_open_zones"]),
        (zoned, "zonemode=zbd;bs=64k", &["64 KiB", "32 KiB"]),
        (zoned, "zonemode=zbd;size=16k", &["16 KiB", "32 KiB"]),
        (zoned, "zonemode=strided", &["zonemode = strided needs a zonesize"]),
        (zoned, "zonesize=32k", &["zonemode = strided"]),
        (zoned, "zonemode=none;zonesize=32k", &["do not go together"]),
        (zoned, "zone_reset_threshold=2", &["from 0 to 1"]),
        (zoned, "zonemode=zbd;rw=trim;bs=4k", &["32 KiB", "4 KiB"]),
        (None, "zonemode=zbd;zonesize=32k;rw=trim;bs=32k", &["a trim resets a zone"]),
        (zoned, "zonemode=zbd;rw=trimwrite;bs=32k", &["trimwrite"]),
        (zoned, "zonemode=zbd;zoneskip=32k", &["zoneskip is not followed with zonemode = zbd"]),
    ] {
        let error = open_on(zones, &format!("[a];rw=write;size=128k;{keys}")).unwrap_err();
        assert!(words.iter().all(|word| error.contains(word)), "{keys}: {error}");
    }
}

#[test]
fn keys_without_zonemode_are_named() {
    let opened = text("[a]\nmax_open_zones=3\nsize=64k\n").open(&setting(1024, 1, Path::new("."))).unwrap();
    assert!(opened.notices().iter().any(|notice| notice.contains("without zonemode = zbd: max_open_zones")));
}

#[test]
fn jobs_in_order_ask_for_what_fio_asks_for() {
    if !is_installed() {
        return;
    }
    let folder = Folder::new("zones");
    for keys in [
        "rw=write;bs=4k;size=128k",
        "rw=write;bs=4k;size=128k;zonecapacity=28k",
        "rw=write;bs=4k;size=128k;zonecapacity=28k;loops=2",
        "rw=write;bs=4k;size=128k;zonecapacity=28k;io_size=256k",
        "rw=write;bs=4k;size=128k;zonecapacity=28k;number_ios=11",
        "rw=write;bs=4k;size=120k",
        "rw=write;bs=4k;size=120k;offset=8k",
        "rw=write;bs=8k;size=128k;zonecapacity=24k;max_open_zones=1",
        "rw=write;bs=4k;size=128k;io_size=256k;zone_reset_threshold=0.5;zone_reset_frequency=0.5",
        "rw=write;bs=4k;size=128k;io_size=256k;zone_reset_threshold=0.7;zone_reset_frequency=0.3",
        "rw=read;bs=4k;size=64k;read_beyond_wp=1",
    ] {
        let keys = format!("filename=f;zonemode=zbd;zonesize=32k;{keys}");
        let theirs: Vec<_> = theirs(&folder, &keys).into_iter().map(|(_, line)| line).collect();
        let ours = open_on(None, &format!("[a];{keys}")).unwrap();
        assert!(!theirs.is_empty(), "{keys}");
        assert_eq!(ours.iter().map(line).collect::<Vec<_>>(), theirs, "{keys}");
    }
}
