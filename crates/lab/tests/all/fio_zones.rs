//! fio jobs on a zoned drive: the drive refuses nothing, and its counts follow closed forms.

use crate::support::{parse, record};
use nandlab_lab::record::{Record, ZonesRecord};
use nandlab_lab::{run, Control, Outputs};
use std::path::Path;

/// A zone has 2 blocks with 64 pages each, 4 KiB a page: 512 KiB with 448 KiB to write.
const DRIVE: &str = "[ftl.zns]\n[device]\nprofile = \"generic\"\ncapacity = \"16 MiB\"\nover_provisioning = 0.2\n[device.shape]\n\
                     pages_per_block = 64\n[device.zones]\nblocks_per_die = 2\ncapacity = \"448 KiB\"\nsize = \"512 KiB\"\n\
                     max_open = 4\nmax_active = 4\n";
const ZONE: u64 = 448 << 10;

/// An experiment with this job; semicolons separate its keys.
fn job(keys: &str) -> String {
    format!(
        "[workload.fio]\ntext = \"\"\"\n[a]\nzonemode=zbd\nioengine=libaio\nfilename=x\n{}\n\"\"\"\n{DRIVE}",
        keys.replace(';', "\n")
    )
}

/// Why the run is refused: a job file is read with its start.
fn refused(text: &str) -> String {
    let run = run(&parse(text, &[]).unwrap(), Path::new("."), &Control::default(), Outputs::default());
    run.unwrap_err().to_string()
}

fn played(keys: &str) -> Record {
    let record = record(&job(keys), &[]);
    assert!(zones(&record).refused.is_empty(), "{keys}: {:?}", zones(&record).refused);
    record
}

fn zones(record: &Record) -> &ZonesRecord {
    record.zones.as_ref().unwrap()
}

fn written(record: &Record) -> u64 {
    record.host.written_sectors * 512
}

#[test]
fn a_job_in_order_fills_each_zone_and_resets_it_before_the_next_pass() {
    let record = played("rw=write;bs=16k;iodepth=8;loops=2");
    assert_eq!(written(&record), 2 * 32 * ZONE);
    let used = zones(&record).used;
    assert_eq!((used.resets, used.finishes, used.most_active), (32, 0, 1));
}

#[test]
fn as_many_writers_as_active_zones_finish_what_is_too_short_for_a_write() {
    let record = played("rw=write;bs=60k;iodepth=64;numjobs=4;size=4m;offset_increment=4m");
    let used = zones(&record).used;
    // 448 KiB hold 7 writes of 60 KiB.
    assert_eq!(written(&record), 32 * 7 * (60 << 10));
    assert_eq!((used.resets, used.finishes, used.most_active), (0, 32, 4));
}

#[test]
fn random_writes_keep_to_the_open_zones() {
    let record = played("rw=randwrite;bs=8k;iodepth=32;io_size=32m;norandommap;max_open_zones=3");
    assert_eq!(written(&record), 32 << 20);
    let used = zones(&record).used;
    // Each reset empties a full zone, 448 KiB, and no zone was finished.
    assert_eq!((used.finishes, used.most_active), (0, 3));
    assert!(used.resets > (32 << 20) / ZONE - 35 && used.resets < (32 << 20) / ZONE, "{used:?}");
}

#[test]
fn reads_open_no_zone() {
    let beyond = played("rw=randread;bs=4k;norandommap;io_size=1m;read_beyond_wp=1");
    assert_eq!(beyond.host.read_sectors, (1 << 20) / 512);
    let used = zones(&beyond).used;
    assert_eq!((used.most_open, used.most_active, used.resets), (0, 0, 0));
}

#[test]
fn a_job_that_finds_nothing_says_so() {
    for keys in ["rw=randread;bs=4k", "rw=read;bs=4k", "rw=trim;bs=512k"] {
        let record = played(keys);
        assert_eq!(record.host.requests, 0, "{keys}");
        let told =
            record.notices.iter().any(|notice| notice.contains("its zones have nothing written to read or reset"));
        assert!(told, "{keys}: {:?}", record.notices);
    }
}

#[test]
fn more_zones_than_anybody_has_are_refused() {
    let drive = "[ftl.page]\n[device]\nprofile = \"generic\"\ncapacity = \"64 GiB\"\nmodel = \"counting\"\n";
    let message = refused(&job("rw=read;zonesize=4k").replace(DRIVE, drive));
    assert!(message.contains("zonesize = 4 KiB makes more than 4194304 zones"), "{message}");
}

#[test]
fn a_zone_of_another_size_is_refused() {
    let message = refused(&job("rw=write;zonesize=1m"));
    assert!(message.contains("zonesize = 1 MiB") && message.contains("512 KiB"), "{message}");
    let plain = job("rw=write").replace(
        DRIVE,
        "[ftl.page]\n[device]\nprofile = \"generic\"\ncapacity = \"16 MiB\"\nover_provisioning = 0.3\n",
    );
    let message = refused(&plain);
    assert!(message.contains("the device has no zones"), "{message}");
}

#[test]
fn a_job_waits_for_room_in_the_write_buffer_as_a_trace_does() {
    let path = "[device.controller]\nwrite_buffer_bytes = 65536\nlatency_us = 1\n";
    let lines: Vec<String> = (0..96).map(|at| format!("0,W,{},32", 32 * at)).collect();
    let trace = format!("[workload.trace]\ntext = \"\"\"\ntime_us,op,sector,sectors\n{}\n\"\"\"\n", lines.join("\n"));
    let told = |workload: &str| {
        let device = "profile = \"generic\"\ncapacity = \"16 MiB\"\nover_provisioning = 0.3";
        record(&format!("{workload}[ftl.page]\n[device]\n{device}\n{path}"), &[])
    };
    let fio = "[workload.fio]\ntext = \"\"\"\n[a]\nioengine=libaio\nfilename=x\nrw=write\nbs=16k\niodepth=1\nsize=1536k\n\"\"\"\n";
    let (job, trace) = (told(fio), told(&trace));
    assert_eq!(written(&job), written(&trace));
    assert_eq!(job.time_us, trace.time_us);
    // A die programs a page of 4 KiB in 200 us: without the wait everything is answered in a fraction of that.
    assert_eq!(job.path.unwrap().buffer_waits, trace.path.unwrap().buffer_waits);
    assert!(trace.path.unwrap().buffer_waits > 80);
}
