//! fio jobs, against fio itself if it is installed: it runs each job without a device (`ioengine=null`) and logs its
//! requests (`write_iolog`). Jobs with a fixed order are compared request by request; random ones by the places they
//! visit, or by shares, within five standard errors of the difference between two shares of one half.

use super::fio::{line, play, text, Line};
use crate::support::setting;
use nandlab_block::Request;
use nandlab_workload::fio::keys::{find, Class, KEYS};
use nandlab_workload::Options;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const DEVICE_BYTES: u64 = 16 << 30;

/// Whether fio is there; reports a missing one.
pub fn is_installed() -> bool {
    let is_there = Command::new("fio").arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("SKIPPED: fio is not installed (package fio)");
    }
    is_there
}

/// A folder removed on drop.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("nandlab-fio-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A job's lines; semicolons separate its keys here.
pub fn job(keys: &str) -> String {
    format!("[a]\nioengine=null\n{}\n", keys.replace(';', "\n"))
}

/// fio's requests, with the file name.
pub fn theirs(folder: &Folder, keys: &str) -> Vec<(String, Line)> {
    std::fs::write(folder.0.join("job.fio"), job(keys)).unwrap();
    let log = folder.0.join("log");
    let _ = std::fs::remove_file(&log);
    let run =
        Command::new("fio").args(["--write_iolog=log", "--output=out", "job.fio"]).current_dir(&folder.0).output();
    let run = run.unwrap();
    assert!(run.status.success(), "{keys}: {}", String::from_utf8_lossy(&run.stderr));
    let log = std::fs::read_to_string(&log).unwrap();
    let fields = log.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let asked = fields.filter(|fields| fields.len() == 5).map(|fields| {
        // A flush has the previous request's offset.
        let kind = if fields[2] == "datasync" { "sync" } else { fields[2] };
        let offset = if kind == "sync" { 0 } else { fields[3].parse().unwrap() };
        (fields[1].to_owned(), (kind.to_owned(), offset, fields[4].parse().unwrap()))
    });
    asked.collect()
}

fn ours(keys: &str) -> Vec<Request> {
    let setting = setting(DEVICE_BYTES / 512, 1, Path::new("."));
    let opened = text(&job(keys)).open(&setting);
    play(opened.unwrap_or_else(|error| panic!("{keys}: {error}")), |_| 0)
}

/// Both, from the device's start; several files lie `apart` bytes from each other, by first use.
fn both(folder: &Folder, keys: &str, apart: u64) -> (Vec<Line>, Vec<Line>) {
    let mut files: Vec<String> = Vec::new();
    let theirs = theirs(folder, keys).into_iter().map(|(file, (kind, offset, bytes))| {
        let at = files.iter().position(|known| *known == file).unwrap_or_else(|| {
            files.push(file);
            files.len() - 1
        });
        let start = if kind == "sync" { 0 } else { at as u64 * apart };
        (kind, start + offset, bytes)
    });
    (theirs.collect(), ours(keys).iter().map(line).collect())
}

/// Keys, and the distance between files if there are several.
const IN_ORDER: &[(&str, u64)] = &[
    ("rw=read;size=64k", 0),
    ("rw=write;size=64k;bs=8k", 0),
    ("rw=trim;size=64k;bs=16k", 0),
    ("rw=write;size=20k;bs=8k", 0),
    ("rw=read;size=64k;offset=16k", 0),
    ("rw=read;size=64k;offset=0%", 0),
    ("rw=read;filesize=64k;size=0%", 0),
    ("rw=read;filesize=64k;size=0", 0),
    ("rw=write;size=1m;number_ios=7", 0),
    ("rw=write;size=1m;number_ios=7;loops=2", 0),
    ("rw=write;size=16k;number_ios=7", 0),
    ("rw=write;size=16k;number_ios=0", 0),
    ("rw=read;size=64k;loops=3", 0),
    ("rw=write;filesize=64k;size=16k;loops=2", 0),
    ("rw=write;filesize=160k;size=16k;offset=8k;loops=2", 0),
    ("rw=write;size=64k;io_size=16k", 0),
    ("rw=write;size=16k;io_size=64k", 0),
    ("rw=write;size=64k;fsync=3", 0),
    ("rw=write;size=64k;fdatasync=1", 0),
    ("rw=write;size=16k;fsync=2;end_fsync=1", 0),
    ("rw=write;size=16k;fsync_on_close=1", 0),
    ("rw=read;size=16k;end_fsync=1", 0),
    ("rw=trimwrite;size=64k", 0),
    ("rw=trimwrite;size=64k;bs=16k", 0),
    ("rw=trimwrite;size=1m;number_ios=7", 0),
    ("rw=trimwrite;size=1m;number_ios=1;bs=8k", 0),
    ("rw=trimwrite;size=16k;number_ios=100", 0),
    ("rw=trimwrite;size=32k;filename=x:y", 16 << 10),
    ("rw=write;size=40k;filename=x:y", 20 << 10),
    ("rw=read;size=40k;filename=x:y;bs=8k", 20 << 10),
    ("rw=read;size=96k;filename=x:y:z;number_ios=10", 32 << 10),
    ("rw=write;filesize=16k;size=24k;filename=x:y", 16 << 10),
    ("rw=write;filesize=16k;filename=x:y", 16 << 10),
    ("rw=write;filesize=64k;size=16k;filename=x:y;loops=2", 64 << 10),
    ("rw=read;size=48k;filename=x\\:y", 0),
    ("rw=randwrite;size=64k;percentage_random=0", 0),
    ("rw=randread;size=64k;percentage_random=0,50", 0),
    ("rw=trim;size=4g;bs=2g", 0),
    ("rw=trim;size=8g;bs=1g", 0),
    ("rw=write;size=64k;bs=4k,8k", 0),
    ("rw=read;size=64k;blockalign=16k", 0),
    ("rw=write;size=64k;ramp_time=0", 0),
    ("rw=write;size=64k;io_size=160k;do_verify=0", 0),
    ("ioengine=psync;filename=x;verify=crc32c;rw=write;size=64k", 0),
    ("ioengine=psync;filename=x;verify=crc32c;rw=write;size=64k;io_size=160k", 0),
    ("ioengine=psync;filename=x;verify=crc32c;rw=write;size=64k;loops=2;end_fsync=1", 0),
    ("ioengine=psync;filename=x;verify=crc32c;rw=write;size=64k;do_verify=0", 0),
    ("ioengine=psync;filename=x;verify=crc32c;rw=write;size=64k;verify_backlog=3", 0),
    ("ioengine=psync;filename=x;verify=crc32c;rw=write;size=64k;verify_backlog=4;verify_backlog_batch=2", 0),
    ("ioengine=psync;filename=x;verify=crc32c;rw=write;size=64k;verify_backlog=4;loops=2;fsync=3", 0),
    ("ioengine=psync;filename=x;verify=md5;rw=write;size=64k;verify_backlog=1;number_ios=7", 0),
    ("ioengine=psync;filename=x;verify=md5;rw=write;size=64k;experimental_verify=1", 0),
    ("ioengine=psync;filename=x;verify=md5;rw=write:-8k;size=64k", 0),
    ("ioengine=psync;filename=x:y;verify=md5;rw=write;size=64k", 32 << 10),
    ("ioengine=libaio;iodepth=8;filename=x;verify=md5;rw=write;size=64k;loops=2;number_ios=9", 0),
    ("ioengine=psync;filename=x;verify=crc32c;verify_fatal=0;continue_on_error=all;rw=write;size=64k;verify_only", 0),
    ("rw=write;size=64k;loops=2;do_verify=0", 0),
    ("rw=write:4k;size=64k", 0),
    ("rw=write:8k;size=64k;bs=8k;loops=2", 0),
    ("rw=read:-8k;size=64k", 0),
    ("rw=read:-8k;size=64k;offset=64k", 0),
    ("rw=write;size=64k;fsync=2;fdatasync=3", 0),
    ("rw=trimwrite;size=64k;fsync=2", 0),
    ("rw=trimwrite;size=64k;bs=4k,8k,16k", 0),
    ("rw=trimwrite;size=64k;bs=4k,16k,8k", 0),
    ("rw=write;size=64k;filename=x:y;fsync=2", 32 << 10),
    ("rw=write;size=64k;nrfiles=4", 16 << 10),
    ("rw=write;size=96k;filename=x:y:z;nr_files=2", 32 << 10),
    ("rw=write;size=64k;nrfiles=4;openfiles=2", 16 << 10),
    ("rw=write;size=64k;nrfiles=4;openfiles=1;loops=2", 16 << 10),
    ("rw=write;size=64k;nrfiles=4;file_service_type=sequential", 16 << 10),
    ("rw=write;size=64k;nrfiles=4;file_service_type=roundrobin:3", 16 << 10),
    ("rw=write;size=64k;nrfiles=2;io_size=100k", 32 << 10),
    ("rw=write;size=64k;io_size=50%", 0),
    ("rw=write;size=64k;io_size=50%;loops=2", 0),
    ("rw=write;size=20k;bs=8k;loops=3", 0),
    ("rw=read;size=64k;end_fsync=1;loops=2", 0),
    ("rw=write;size=16k;end_fsync=1;loops=2", 0),
    ("rw=write;size=16k;end_fsync=1;filename=x:y", 8 << 10),
    ("rw=write;size=16k;fsync=4;loops=3", 0),
    ("rw=read;size=1m;zonemode=strided;zonesize=64k;zoneskip=192k", 0),
    ("rw=write;size=1m;zonemode=strided;zonesize=128k;zonerange=64k;zoneskip=192k", 0),
    ("rw=read;size=1m;zonemode=strided;zonesize=32k;zonerange=64k;zoneskip=64k;loops=2", 0),
    ("rw=read;size=1m;zonemode=strided;zonesize=48k;zonerange=64k;offset=64k;filesize=1m", 0),
    ("rw=write;size=320k;zonemode=strided;zonesize=64k;zoneskip=128k;bs=16k;io_size=1m", 0),
    ("rw=write;size=64k;nrfiles=2;zonemode=strided;zonesize=16k", 32 << 10),
    ("rw=write;size=64k;nrfiles=2;openfiles=2;zonemode=strided;zonesize=16k", 32 << 10),
    ("rw=write;size=64k;buffer_compress_percentage=50;refill_buffers;group_reporting;direct=1;randrepeat=0", 0),
];

#[test]
fn jobs_in_order_ask_for_what_fio_asks_for() {
    if !is_installed() {
        return;
    }
    let folder = Folder::new("order");
    for &(keys, apart) in IN_ORDER {
        let (theirs, ours) = both(&folder, keys, apart);
        assert!(!theirs.is_empty(), "{keys}");
        assert_eq!(ours, theirs, "{keys}");
    }
}

#[test]
fn jobs_in_order_that_do_not_wait_ask_for_what_fio_asks_for() {
    if !is_installed() {
        return;
    }
    // An engine that stores data has no trims, and its flushes come as the queue has room; the files are new each time.
    let is_left_out = |keys: &str| keys.contains("trim") || keys.contains("sync");
    for (number, &(keys, apart)) in IN_ORDER.iter().filter(|(keys, _)| !is_left_out(keys)).enumerate() {
        let folder = Folder::new(&format!("queued-{number}"));
        let keys = format!("{keys};ioengine=libaio;iodepth=4");
        let (theirs, ours) = both(&folder, &keys, apart);
        assert_eq!(ours, theirs, "{keys}");
    }
}

#[test]
fn random_jobs_with_a_map_come_where_fio_comes() {
    if !is_installed() {
        return;
    }
    let folder = Folder::new("map");
    for (keys, apart) in [
        ("rw=randread;size=256k", 0),
        ("rw=randwrite;size=256k;bs=16k", 0),
        ("rw=randtrim;size=1m;bs=8k", 0),
        ("rw=randtrimwrite;size=256k", 0),
        ("rw=randread;size=256k;loops=2", 0),
        ("rw=randread;size=256k;offset=64k", 0),
        ("rw=randread;size=256k;blockalign=4k", 0),
        ("rw=randwrite;size=256k;filename=x:y", 128 << 10),
        ("rw=randwrite;size=64k;random_distribution=random", 0),
        ("rw=randwrite;size=20k;bs=8k", 0),
        ("rw=randread;size=1m;zonemode=strided;zonesize=64k;zoneskip=192k", 0),
        ("rw=randwrite;size=1m;zonemode=strided;zonesize=128k;zonerange=64k;zoneskip=192k", 0),
    ] {
        let (mut theirs, mut ours) = both(&folder, keys, apart);
        theirs.sort();
        ours.sort();
        assert_eq!(ours, theirs, "{keys}");
    }
}

/// Shares that have to agree: by kind, by length, by address tenth, by sequential continuation, and for the most
/// popular places.
fn shares(lines: &[Line], room: u64, has_places: bool) -> BTreeMap<String, f64> {
    let mut shares = BTreeMap::new();
    let mut popular: BTreeMap<u64, u64> = BTreeMap::new();
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    let one = 1.0 / lines.len() as f64;
    for (kind, offset, bytes) in lines {
        *shares.entry(format!("kind {kind}")).or_insert(0.0) += one;
        *shares.entry(format!("{bytes} bytes")).or_insert(0.0) += one;
        if has_places {
            *shares.entry(format!("tenth {}", offset * 10 / room)).or_insert(0.0) += one;
        }
        *popular.entry(*offset).or_insert(0) += 1;
        if last.insert(kind, offset + bytes) == Some(*offset) {
            *shares.entry("follows".to_owned()).or_insert(0.0) += one;
        }
    }
    let mut counts: Vec<u64> = popular.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    for most in [1, 10, 50, 100, 200, 400] {
        let sum: u64 = counts.iter().take(most).sum();
        shares.insert(format!("top {most}"), sum as f64 * one);
    }
    shares
}

/// Keys, and whether the places are fixed: without a centre the most popular one is anywhere.
const AT_RANDOM: &[(&str, bool)] = &[
    ("rw=randread;norandommap", true),
    ("rw=randrw;norandommap;rwmixread=30", true),
    ("rw=randwrite;bsrange=4k-16k;norandommap", true),
    ("rw=randwrite;bssplit=4k/50:8k/:16k/;norandommap", true),
    ("rw=randread;random_distribution=zipf:0.8", false),
    ("rw=randread;random_distribution=zipf:1.2", false),
    ("rw=randread;random_distribution=zipf", false),
    ("rw=randread;random_distribution=zipf:1.2:0.25", true),
    ("rw=randread;random_distribution=zipf:0.9:0", true),
    ("rw=randread;random_distribution=zipf:2:0.9;bs=8k", true),
    ("rw=randread;random_distribution=pareto:0.2", false),
    ("rw=randread;random_distribution=pareto", false),
    ("rw=randread;random_distribution=pareto:0.8", false),
    ("rw=randread;random_distribution=pareto:0.2:0.5", true),
    ("rw=randread;random_distribution=pareto:0.3:0.1", true),
    ("rw=randread;random_distribution=normal:5", true),
    ("rw=randread;random_distribution=normal:20", true),
    ("rw=randread;random_distribution=normal:70", true),
    ("rw=randread;random_distribution=normal:20:0.25", true),
    ("rw=randread;random_distribution=zoned:60/10:30/20:8/30:2/40", true),
    ("rw=randread;random_distribution=zoned:50/5:30/15:20/", true),
    ("rw=randwrite;random_distribution=zoned:20/50:80/50;bs=16k", true),
    ("rw=randread;random_distribution=zoned_abs:60/1m:30/1m:10/2m", true),
    ("rw=randwrite;percentage_random=50;norandommap", true),
    ("rw=randwrite;percentage_random=25,90;norandommap", true),
    ("rw=randrw;percentage_random=100,25;norandommap", true),
    ("rw=randwrite;blockalign=16k", true),
    ("rw=randwrite;bs=16k;blockalign=4k", true),
    ("rw=randread;ba=512", true),
    ("rw=rw;rwmixread=70", true),
];

#[test]
fn random_jobs_have_the_shares_of_fio() {
    if !is_installed() {
        return;
    }
    let folder = Folder::new("shares");
    let room = 4 << 20;
    for &(keys, has_places) in AT_RANDOM {
        let keys = format!("{keys};size={room};io_size=80m");
        let (theirs, ours) = both(&folder, &keys, 0);
        let error = 5.0 * (0.25 / theirs.len() as f64 + 0.25 / ours.len() as f64).sqrt();
        let (theirs, ours) = (shares(&theirs, room, has_places), shares(&ours, room, has_places));
        for name in theirs.keys().chain(ours.keys()) {
            let [theirs, ours] = [&theirs, &ours].map(|shares| shares.get(name).copied().unwrap_or(0.0));
            assert!((ours - theirs).abs() < error, "{keys}: {name}: {ours}, fio {theirs}, within {error}");
        }
    }
}

#[test]
fn at_least_sixty_jobs_are_compared() {
    assert!(IN_ORDER.len() + AT_RANDOM.len() >= 60);
}

#[test]
fn every_key_that_fio_lists_is_in_the_table() {
    if !is_installed() {
        return;
    }
    let listed = Command::new("fio").arg("--cmdhelp=all").output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    // Engines stand at the end, behind tabs.
    let keys = listed.lines().filter(|line| !line.starts_with('\t')).filter_map(|line| line.split_once(':'));
    let keys: Vec<&str> = keys.map(|(key, _)| key.trim()).collect();
    assert!(keys.len() > 150, "{keys:?}");
    let missing: Vec<&&str> = keys.iter().filter(|key| find(key).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_page_of_keys_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fio.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let start = page.find("| key | here |").expect("the page has the table");
    let names = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let rows = KEYS.iter().map(|key| {
        let what = match key.class {
            Class::Followed { what } => format!("followed: {what}"),
            Class::Refused { harmless: [], why } => format!("refused: {why}"),
            Class::Told { harmless: [], what } => format!("read, with a notice: {what}"),
            Class::Refused { harmless, why } => format!("refused unless {}: {why}", harmless.join(" or ")),
            Class::Told { harmless, what } => {
                format!("read, with a notice unless {}: {what}", harmless.join(" or "))
            }
            Class::Nothing => "nothing".to_owned(),
        };
        format!("| {} | {what} |\n", names(key.names))
    });
    let made =
        format!("{}| key | here |\n|---|---|\n{}<!-- end of keys -->\n", &page[..start], rows.collect::<String>());
    if std::env::var_os("NANDLAB_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
        return;
    }
    assert!(page == made, "docs/fio.md is not the table of keys.rs: NANDLAB_BLESS=1 writes it");
}

#[test]
fn no_key_stands_twice_in_the_table() {
    let names: Vec<&str> = KEYS.iter().flat_map(|key| key.names).copied().collect();
    let different: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), different.len());
}
