//! fio job files, against fio itself.
//!
//! `fio/*.log` are requests issued by fio 3.33 for the job files beside them, recorded by `fio/record.sh`. fio draws
//! its own random numbers, so random jobs are compared in order-independent properties.

use crate::support::setting;
use nandlab_block::{Completion, Op, Request};
use nandlab_nand::Time;
use nandlab_workload::fio::{Config, Variable};
use nandlab_workload::{Options, Workload, WorkloadError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub const US: Time = 1000;
const DEVICE_BYTES: u64 = 64 << 20;

/// Kind, offset and bytes.
pub type Line = (String, u64, u64);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fio")
}

fn open_on(config: &Config, bytes: u64, seed: u64) -> Result<Box<dyn Workload>, WorkloadError> {
    config.open(&setting(bytes / 512, seed, &folder()))
}

pub fn text(text: &str) -> Config {
    Config { text: Some(text.to_owned()), ..Default::default() }
}

pub fn open(jobs: &str) -> Box<dyn Workload> {
    open_on(&text(jobs), DEVICE_BYTES, 1).unwrap_or_else(|error| panic!("{jobs}: {error}"))
}

fn refused(jobs: &str) -> String {
    match open_on(&text(jobs), DEVICE_BYTES, 1) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("taken: {jobs}"),
    }
}

/// All requests, each taking `latency`.
pub fn play(mut workload: Box<dyn Workload>, latency: impl Fn(&Request) -> Time) -> Vec<Request> {
    let mut all = Vec::new();
    while workload.fill(&mut all, 100).unwrap() > 0 {
        let last = all.last().unwrap();
        workload.completed(&[Completion { arrival: last.time, done: last.time + latency(last) }]);
    }
    assert!(all.windows(2).all(|pair| pair[0].time <= pair[1].time), "times never decrease");
    all
}

/// When they come, in us.
fn times(jobs: &str, latency_us: Time) -> Vec<Time> {
    play(open(jobs), |_| latency_us * US).iter().map(|request| request.time / US).collect()
}

pub fn line(request: &Request) -> Line {
    let kind = match request.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => "sync",
    };
    (kind.to_owned(), request.sector * 512, u64::from(request.sectors) * 512)
}

/// fio's requests for a job in a file, and ours, from the start of the job's file.
pub fn both(file: &str, job: &str) -> (Vec<Line>, Vec<Line>) {
    let log = std::fs::read_to_string(folder().join(format!("{file}.{job}.log"))).unwrap();
    let theirs = log.lines().map(|line| {
        let [kind, offset, bytes] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        // A flush has the previous request's offset.
        let offset = if kind == "sync" { 0 } else { offset.parse().unwrap() };
        (kind.to_owned(), offset, bytes.parse().unwrap())
    });
    let config = Config { path: Some(format!("{file}.fio")), ..Default::default() };
    let workload = open_on(&config, DEVICE_BYTES, 1).unwrap();
    let origins = workload.origins();
    let origin = origins.iter().find(|(_, name)| name == job).unwrap().0;
    let all = play(workload, |_| 0);
    let ours = all.iter().filter(|request| request.origin == origin).map(line);
    let before = match (file, job) {
        ("sequential", "again") => 20 << 10,
        ("sequential", "few") => 52 << 10,
        ("mixed", "randrw") => 2 << 20,
        ("cover", "write") => 1 << 20,
        ("cover", "trim") => 2 << 20,
        ("sizes", "range") => 4 << 20,
        ("passes", "further") => 32 << 10,
        ("passes", "writes") => 64 << 10,
        ("passes", "places") => 96 << 10,
        _ => 0,
    };
    let ours = ours.map(|(kind, offset, bytes)| (kind, offset - before, bytes));
    (theirs.collect(), ours.collect())
}

#[test]
fn sequential_jobs_issue_what_fio_issues() {
    for (file, job) in [("sequential", "write"), ("sequential", "again"), ("sequential", "few"), ("round", "write")] {
        let (theirs, ours) = both(file, job);
        assert_eq!(ours, theirs, "{file}, {job}");
    }
}

#[test]
fn random_jobs_come_to_the_same_places_once() {
    for (file, job) in [("cover", "read"), ("cover", "trim"), ("flushes", "write"), ("mixed", "randrw")] {
        let (mut theirs, mut ours) = both(file, job);
        assert_ne!(ours, theirs, "another order");
        if job == "randrw" {
            theirs.iter_mut().chain(&mut ours).for_each(|line| line.0.clear());
        }
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs, "{file}, {job}");
    }
}

#[test]
fn what_is_trimmed_is_written_next_and_flushes_follow_writes_as_in_fio() {
    for lines in <[_; 2]>::from(both("cover", "trim")) {
        for pair in lines.chunks(2) {
            assert_eq!((pair[0].0.as_str(), pair[1].0.as_str()), ("trim", "write"));
            assert_eq!((pair[0].1, pair[0].2), (pair[1].1, pair[1].2));
        }
    }
    let kinds = |lines: Vec<Line>| lines.into_iter().map(|line| line.0).collect::<Vec<_>>();
    let (theirs, ours) = both("flushes", "write");
    assert_eq!(kinds(ours), kinds(theirs));
}

#[test]
fn requests_of_several_sizes_cover_each_byte_once() {
    for lines in <[_; 2]>::from(both("cover", "write")) {
        let mut parts: Vec<_> = lines.iter().map(|&(_, offset, bytes)| (offset, bytes)).collect();
        parts.sort_unstable();
        let end = parts.iter().fold(0, |end, &(offset, bytes)| {
            assert_eq!(offset, end);
            offset + bytes
        });
        assert_eq!(end, 1 << 20);
        assert!(lines.iter().all(|&(_, offset, bytes)| offset % 4096 == 0 && (4096..=16384).contains(&bytes)));
    }
}

/// Counts by length, and by kind.
fn counts(lines: &[Line]) -> (BTreeMap<u64, f64>, BTreeMap<String, f64>) {
    let (mut lengths, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    for (kind, _, bytes) in lines {
        *lengths.entry(*bytes).or_insert(0.0) += 1.0 / lines.len() as f64;
        *kinds.entry(kind.clone()).or_insert(0.0) += 1.0 / lines.len() as f64;
    }
    (lengths, kinds)
}

#[test]
fn sizes_and_kinds_have_the_shares_that_they_have_in_fio() {
    for (file, job) in [("sizes", "split"), ("sizes", "range"), ("mixed", "rw"), ("mixed", "randrw")] {
        let (theirs, ours) = both(file, job);
        // Five standard errors of the difference between two shares of one half.
        let error = 5.0 * (0.25 / theirs.len() as f64 + 0.25 / ours.len() as f64).sqrt();
        let ((lengths, kinds), (our_lengths, our_kinds)) = (counts(&theirs), counts(&ours));
        assert!(lengths.keys().eq(our_lengths.keys()), "{file}, {job}: {our_lengths:?}, fio {lengths:?}");
        assert!(kinds.keys().eq(our_kinds.keys()), "{file}, {job}: {our_kinds:?}, fio {kinds:?}");
        for (length, share) in &lengths {
            assert!((our_lengths[length] - share).abs() < error, "{file}, {job}: {our_lengths:?}, fio {lengths:?}");
        }
        for (kind, share) in &kinds {
            assert!((our_kinds[kind] - share).abs() < error, "{file}, {job}: {our_kinds:?}, fio {kinds:?}");
        }
        // All bytes are moved, up to one request more.
        let moved = |lines: &[Line]| lines.iter().map(|line| line.2).sum::<u64>();
        assert!(moved(&ours).abs_diff(moved(&theirs)) < 16 << 10, "{file}, {job}");
    }
}

#[test]
fn in_a_sequential_mix_each_direction_goes_on_behind_its_last_request() {
    for lines in <[_; 2]>::from(both("mixed", "rw")) {
        for (kind, bytes) in [("read", 4096), ("write", 8192)] {
            let offsets = lines.iter().filter(|line| line.0 == kind).map(|line| line.1);
            assert!((0..).map(|n| n * bytes).zip(offsets).all(|(expected, offset)| expected == offset), "{kind}");
        }
    }
}

#[test]
fn each_job_keeps_its_depth_and_the_first_free_slot_asks() {
    // A: two slots, 30 us each; B: one slot, 50 us.
    let jobs = "[global]\nioengine=libaio\nsize=1m\nnumber_ios=6\n[A]\nrw=read\niodepth=2\n[B]\nrw=write\n";
    let all = play(open(jobs), |request| if request.op == Op::Read { 30 * US } else { 50 * US });
    let times = |op| all.iter().filter(|r| r.op == op).map(|r| r.time / US).collect::<Vec<_>>();
    assert_eq!(times(Op::Read), [0, 0, 30, 30, 60, 60]);
    assert_eq!(times(Op::Write), [0, 50, 100, 150, 200, 250]);
    let workload = open(jobs);
    assert_eq!(workload.origins().iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), ["A", "B"]);
    assert_ne!(all[0].origin, all[2].origin);
}

#[test]
fn an_engine_that_waits_has_one_request_outstanding() {
    for (engine, expected) in
        [("", [0, 10, 20]), ("ioengine=psync\n", [0, 10, 20]), ("ioengine=io_uring\n", [0, 0, 10])]
    {
        let jobs = format!("[a]\n{engine}rw=read\nsize=12k\niodepth=2\n");
        assert_eq!(times(&jobs, 10), expected, "{engine}");
        assert_eq!(open(&jobs).notices().len(), usize::from(!engine.contains("uring")));
    }
}

#[test]
fn a_job_thinks_when_its_requests_are_done() {
    // HOWTO: with thinktime_blocks = 1 no more than one request is outstanding, whatever the depth.
    let think = "[a]\nioengine=libaio\nrw=read\nsize=24k\niodepth=4\nthinktime=100\n";
    assert_eq!(times(think, 10), [0, 110, 220, 330, 440, 550]);
    assert_eq!(times(&format!("{think}thinktime_blocks=3\n"), 10), [0, 0, 0, 110, 110, 110]);
    assert_eq!(times(&format!("{think}thinktime_blocks=3\nthinktime=1ms\n"), 10)[3], 1010);
}

#[test]
fn a_rate_spaces_requests_and_is_caught_up_with() {
    let rate = "[a]\nioengine=libaio\niodepth=8\nrw=read\nnumber_ios=4\nsize=1m\n";
    assert_eq!(times(&format!("{rate}rate_iops=10000\n"), 10), [0, 100, 200, 300]);
    assert_eq!(times(&format!("{rate}rate=40960000\n"), 10), [0, 100, 200, 300], "4 KiB each 100 us");
    assert_eq!(times(&format!("{rate}rate_iops=10k,1\nkb_base=1000\n"), 10), [0, 100, 200, 300], "of reads alone");
    // One at a time and slower than the rate: no request waits for it.
    assert_eq!(times(&format!("{rate}rate_iops=10000\niodepth=1\n"), 250), [0, 250, 500, 750]);
    let poisson = format!("{rate}rate_iops=10000\nrate_process=poisson\nnumber_ios=20000\nsize=16m\nio_size=1g\n");
    let mean = *times(&poisson, 1).last().unwrap() as f64 / 19_999.0;
    assert!((mean / 100.0 - 1.0).abs() < 5.0 / 20_000f64.sqrt(), "{mean}");
}

#[test]
fn a_stonewall_waits_for_the_last_request_before_it() {
    let jobs =
        "[global]\nsize=8k\nrw=read\n[a]\nioengine=libaio\niodepth=2\n[b]\n[c]\nstonewall\nstartdelay=5us\n[d]\n";
    assert_eq!(times(jobs, 10), [0, 0, 0, 10, 20, 25, 30, 35]);
}

#[test]
fn runtime_ends_a_job_or_makes_it_go_round() {
    let jobs = "[a]\nrw=read\nsize=16k\nruntime=25us\n";
    assert_eq!(times(jobs, 10), [0, 10, 20], "not at 30, although 16k are 4 requests");
    let offsets = |jobs: &str| play(open(jobs), |_| 10 * US).iter().map(|r| r.sector / 8).collect::<Vec<_>>();
    assert_eq!(offsets(&format!("{jobs}time_based\nruntime=65us\n")), [0, 1, 2, 3, 0, 1, 2]);
    let mut random = offsets(&format!("{jobs}time_based\nruntime=80us\nrw=randread\n"));
    random[..4].sort_unstable();
    random[4..].sort_unstable();
    assert_eq!(random, [0, 1, 2, 3, 0, 1, 2, 3], "each once before any comes twice");
    let mut endless = open("[a]\nrw=read\nsize=16k\nruntime=25us\ntime_based=1\n");
    let mut all = Vec::new();
    let error = loop {
        all.clear();
        if let Err(error) = endless.fill(&mut all, 1) {
            break error;
        }
    };
    assert!(error.to_string().contains("its requests take no time"), "{error}");
}

#[test]
fn files_lie_one_behind_the_other_and_jobs_share_what_they_name() {
    let starts = |jobs: &str| {
        let mut starts: BTreeMap<u8, u64> = BTreeMap::new();
        for request in play(open(jobs), |_| 10) {
            let start = starts.entry(request.origin.0).or_insert(u64::MAX);
            *start = request.sector.min(*start);
        }
        starts.into_values().map(|sector| sector * 512).collect::<Vec<_>>()
    };
    let jobs = "[global]\nrw=write\nsize=10k\nbs=1k\n";
    assert_eq!(starts(&format!("{jobs}[a]\n[b]\n[c]\noffset=4k\n")), [0, 12 << 10, (24 << 10) + 4096]);
    assert_eq!(starts(&format!("{jobs}[a]\nnumjobs=2\n[b]\n")), [0, 24 << 10]);
    assert_eq!(starts(&format!("{jobs}filename=x\n[a]\n[b]\noffset=8k\n")), [0, 8192]);
    assert_eq!(starts(&format!("{jobs}filename=/dev/sdb\n[a]\noffset=25%\n[b]\noffset=50%\n")), [16 << 20, 32 << 20]);
    let all = play(open("[a]\nrw=read\nbs=32m\nfilename=/dev/nvme0n1\n"), |_| 10);
    assert_eq!(all.iter().map(|r| (r.sector, r.sectors)).collect::<Vec<_>>(), [(0, 65536), (65536, 65536)]);
    // offset + offset_increment x clone number.
    let clones = play(open("[a]\nrw=read\nfilename=x\nsize=4k\noffset=4k\noffset_increment=64k\nnumjobs=3\n"), |_| 10);
    assert_eq!(clones.iter().map(|r| r.sector * 512).collect::<Vec<_>>(), [4096, 69_632, 135_168]);
}

#[test]
fn numbers_are_those_of_fio() {
    let bytes = |value: &str| {
        let all = play(open(&format!("[a]\nrw=read\nnumber_ios=1\nsize=16m\nbs={value}\n")), |_| 1);
        u64::from(all[0].sectors) * 512
    };
    // The whole-sector examples from "Parameter types".
    for (value, expected) in
        [("4096", 4096), ("4096b", 4096), ("4k", 4096), ("4kB", 4096), ("4K", 4096), ("0x1000", 4096), ("1m", 1 << 20)]
    {
        assert_eq!(bytes(value), expected, "{value}");
    }
    for (value, expected) in [("4ki\nkb_base=1000", 4096), ("4KiB\nkb_base=1000", 4096), ("64k\nkb_base=1000", 64_000)]
    {
        assert_eq!(bytes(value), expected, "{value}");
    }
    assert!(
        refused("[a]\nbs=4KiB\n").contains("bs = 4KiB cannot work: it is 4000 bytes"),
        "ki is 1000 with kb_base=1024"
    );
    let reads = |bs: &str| {
        let all = play(open(&format!("[a]\nrw=rw\nsize=1m\nbs={bs}\n")), |_| 1);
        let of = |op| all.iter().find(|r| r.op == op).unwrap().sectors * 512;
        (of(Op::Read), of(Op::Write))
    };
    assert_eq!((reads("8k"), reads("8k,32k"), reads(",8k")), ((8192, 8192), (8192, 32_768), (4096, 8192)));
}

#[test]
fn a_global_section_counts_for_the_jobs_below_it() {
    let jobs =
        "[global]\nsize=4k\nrw=write ; of all below\n[a]\n# nothing more\n[global]\nrw=read\n[b]\n[c]\nrw=trim\n";
    let all = play(open(jobs), |_| 10);
    assert_eq!(all.iter().map(|r| r.op).collect::<Vec<_>>(), [Op::Write, Op::Read, Op::Trim]);
}

#[test]
fn keys_of_the_machine_are_listed_and_others_refused_with_their_line() {
    let said = open("[a]\nsize=4k\nioengine=io_uring\ndirect=1\ngroup_reporting\nverify=0\n").notices();
    let [said] = &said[..] else { panic!("{said:?}") };
    assert!(said.ends_with("change nothing here: direct, group_reporting"), "{said}");
    for (jobs, expected) in [
        (
            "[a]\nsize=4k\nread_iolog=x.log\n",
            "workload.fio.text, line 3, column 12: read_iolog = x.log is not followed: [workload.trace] plays",
        ),
        ("[a]\nsize=4k\n\n  iodpeth=4\n", "line 4, column 11: the key `iodpeth` is not known; did you mean `iodepth`?"),
        ("size=4k\n[a]\n", "line 1, column 1: expected a section such as `[global]`"),
        ("[a\n", "line 1, column 1: expected a section such as `[job1]`"),
        ("[a]\nrw=reed:8k\n", "line 2, column 4: rw = reed cannot work: expected one of read, write"),
        ("[a]\nsize=4x\n", "size = 4x cannot work: expected a number of bytes such as"),
        ("[a]\nsize=99999999999p\n", "size = 99999999999p cannot work"),
        ("[a]\nbssplit=4k/50:8k/20\n", "the percentages sum to 70, not to 100"),
        ("[a]\nbs=100\n", "bs = 100 cannot work: it is 100 bytes, and a request is 512 bytes"),
        ("[a]\niodepth=0\n", "iodepth = 0 cannot work: expected a whole number from 1 to 65536"),
        ("[a]\nwait_for=b\nsize=4k\n[b]\nsize=4k\n", "wait_for = b, and no job before it has this name"),
        (
            "[a]\nsize=${SIZE}\n",
            "line 2, column 6: the variable SIZE is set neither in the environment nor in workload",
        ),
        ("[a]\nsize=${SIZE\n", "line 2, column 6: expected the end of a variable"),
        ("[a]\nsize=8*$mb_memory\n", "$mb_memory is a number of the machine"),
        ("[a]\n include x.fio\n", "line 2, column 2: include x.fio: "),
        ("[a]\n[b]\nsize=4k\n", "line 1, column 1: the job [a] cannot work: it needs a size, since several files"),
        (
            "[a]\nsize=1k\nbs=4k\n",
            "the job [a] cannot work: from its offset on there are 1 KiB, and a request has 4 KiB",
        ),
        ("[a]\nsize=1g\n", "workload.fio.text needs 2097152 sectors (1 GiB) and the device has 131072 (64 MiB)"),
        ("[global]\nsize=4k\n", "it has no job: a section such as `[job1]`"),
        ("[a]\nfilename=x::y\n", "filename = x::y cannot work: expected names of files between colons"),
        ("[a]\nfilename=/dev/sda\n[b]\nfilename=y\nsize=4k\n", "a job on the device /dev/sda leaves no room"),
        ("[a]\nrandom_distribution=pareto:1\n", "expected random, zipf with an exponent"),
        ("[a]\nrandom_distribution=zipf:1.2:2\n", "with a centre from 0 to 1"),
        ("[a]\nrandom_distribution=zoned:60/10:30/90\n", "the shares of the requests sum to 100"),
        ("[a]\nrandom_distribution=zoned:60/10:40/80\n", "the shares of the places sum to 100"),
        ("[a]\npercentage_random=101\n", "expected per cents from 0 to 100"),
        ("[a]\nblockalign=100\n", "requests start at whole sectors"),
    ] {
        let error = refused(jobs);
        assert!(error.contains(expected), "{jobs}: {error}");
    }
    let both = Config { path: Some("x".into()), text: Some(String::new()), ..Default::default() };
    assert!(both.check().is_err() && Config::default().check().is_err());
    let missing = Config { path: Some("missing.fio".into()), ..Default::default() };
    assert!(open_on(&missing, DEVICE_BYTES, 1).err().unwrap().to_string().starts_with("missing.fio: "));
}

#[test]
fn popular_places_are_those_of_the_zipf_distribution() {
    let jobs = "[a]\nrw=randread\nsize=4m\nio_size=400m\nrandom_distribution=zipf:1.0\n";
    let mut hits: BTreeMap<u64, u64> = BTreeMap::new();
    let all = play(open(jobs), |_| 1);
    all.iter().for_each(|request| *hits.entry(request.sector).or_insert(0) += 1);
    let mut hits: Vec<_> = hits.into_values().collect();
    hits.sort_unstable_by(|a, b| b.cmp(a));
    // 1 / H(1024) of all accesses go to the first of 1024 places.
    let harmonic: f64 = (1..=1024).map(|k| 1.0 / f64::from(k)).sum();
    let share = hits[0] as f64 / all.len() as f64;
    assert!((share * harmonic - 1.0).abs() < 0.05, "{share}");
}

#[test]
fn seeds_change_the_order_and_equal_ones_do_not() {
    let jobs = text("[a]\nrw=randread\nsize=1m\n[b]\nrw=randread\nsize=1m\nrandseed=5\n");
    let of = |seed, origin: usize| {
        let workload = open_on(&jobs, DEVICE_BYTES, seed).unwrap();
        let wanted = workload.origins()[origin].0;
        let all = play(workload, |_| 1);
        all.into_iter().filter(|r| r.origin == wanted).map(|r| r.sector).collect::<Vec<_>>()
    };
    assert_eq!(of(1, 0), of(1, 0));
    assert_ne!(of(1, 0), of(2, 0));
    assert_eq!(of(1, 1), of(2, 1), "a seed of its own");
}

/// Request shares by address part, for one request kind.
fn in_parts(all: &[Request], op: Op, parts: u64) -> Vec<f64> {
    let places: Vec<u64> =
        all.iter().filter(|one| one.op == op).map(|one| one.sector * parts / (DEVICE_BYTES / 512)).collect();
    (0..parts).map(|part| places.iter().filter(|&&at| at == part).count() as f64 / places.len() as f64).collect()
}

#[test]
fn zones_have_the_shares_that_the_job_states() {
    // HOWTO, `random_distribution`: 60 % of accesses to the first 10 %, 30 % to the next 20 %, 8 % to the next 30 %.
    let zoned = |zones: &str| {
        play(open(&format!("[a]\nrw=randrw\nio_size=80m\nrandom_distribution={zones}\nfilename=/dev/x\n")), |_| 1)
    };
    let all = zoned("zoned:60/10:30/20:8/30:2/40,20/50:80/50");
    let reads = in_parts(&all, Op::Read, 10);
    let sums = [reads[0], reads[1..3].iter().sum(), reads[3..6].iter().sum(), reads[6..].iter().sum::<f64>()];
    for (sum, stated) in sums.iter().zip([0.6, 0.3, 0.08, 0.02]) {
        assert!((sum - stated).abs() < 0.02, "{sums:?}");
    }
    assert!((in_parts(&all, Op::Write, 2)[1] - 0.8).abs() < 0.02);
    let absolute = in_parts(&zoned("zoned_abs:60/16m:40/48m"), Op::Read, 4);
    assert!((absolute[0] - 0.6).abs() < 0.02, "{absolute:?}");
}

#[test]
fn a_fifth_of_the_places_of_pareto_has_four_fifths_of_the_requests() {
    let all = play(open("[a]\nrw=randread\nsize=4m\nio_size=400m\nrandom_distribution=pareto:0.2\n"), |_| 1);
    let mut hits: BTreeMap<u64, u64> = BTreeMap::new();
    all.iter().for_each(|request| *hits.entry(request.sector).or_insert(0) += 1);
    let mut hits: Vec<_> = hits.into_values().collect();
    hits.sort_unstable_by(|a, b| b.cmp(a));
    let share = hits[..1024 / 5].iter().sum::<u64>() as f64 / all.len() as f64;
    assert!((share - 0.8).abs() < 0.01, "{share}");
}

#[test]
fn variables_are_those_of_the_experiment_or_of_the_environment() {
    let jobs = "[a]\nrw=read ; ${COMMENT}\noffset=${OFF}k\nsize=${SIZE}\nbs=${A}${B}\n";
    let mut config = text(jobs);
    config.variables.insert("SIZE".to_owned(), Variable::Text("16k".to_owned()));
    config.variables.insert("A".to_owned(), Variable::Number(8));
    let known = |name: &str| match name {
        "OFF" => Some("8".to_owned()),
        "B" => Some("k".to_owned()),
        "SIZE" => Some("1g".to_owned()),
        _ => None,
    };
    config.take_environment(Path::new("."), &known);
    assert_eq!(config.variables.keys().collect::<Vec<_>>(), ["A", "B", "OFF", "SIZE"], "what a run depends on");
    let all = play(open_on(&config, DEVICE_BYTES, 1).unwrap(), |_| 1);
    assert_eq!(all.iter().map(|one| (one.sector, one.sectors)).collect::<Vec<_>>(), [(16, 16), (32, 16)]);
}

#[test]
fn included_lines_belong_to_the_section_that_includes_them() {
    // The example in the HOWTO, "Job file format".
    let path = std::env::temp_dir().join(format!("nandlab-fio-include-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    let write = |name: &str, text: &str| std::fs::write(path.join(name), text).unwrap();
    write("a.fio", "[global]\nfilesize=1m\ninclude all.fio\n[test]\nrw=randread\nbs=4k\ninclude test.fio\n");
    write("all.fio", "thread=1\ngroup_reporting=1\ninclude more.fio\n");
    write("more.fio", "number_ios=3\n");
    write("test.fio", "ioengine=libaio\niodepth=4\n");
    let config = Config { path: Some("a.fio".to_owned()), ..Default::default() };
    let open = || config.open(&setting(4096, 1, &path));
    assert_eq!(play(open().unwrap(), |_| US).iter().map(|one| one.time).collect::<Vec<_>>(), [0, 0, 0]);
    let refused = || open().err().unwrap().to_string();
    write("more.fio", "# one\nnumber_os=3\n");
    assert!(refused().starts_with("more.fio, line 2, column 11: the key `number_os` is not known"), "{}", refused());
    write("more.fio", "[b]\n");
    assert!(refused().starts_with("more.fio, line 1, column 1: an included file has keys alone"), "{}", refused());
    write("more.fio", "include more.fio\n");
    assert!(refused().contains("16 files include each other already"), "{}", refused());
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn the_ramp_makes_the_runtime_longer_and_a_part_of_the_device_needs_no_name() {
    let jobs = "[a]\nrw=read\nsize=16k\ntime_based\nruntime=20us\nramp_time=15us\n";
    assert_eq!(times(jobs, 10), [0, 10, 20, 30]);
    assert!(open(jobs).notices().iter().any(|said| said.contains("ramp_time")));
    let quarters = "[global]\nrw=write\nbs=64k\nsize=25%\n[a]\n[b]\n[c]\noffset=0%\n[d]\n";
    let all = play(open(quarters), |_| 1);
    let sectors: std::collections::BTreeSet<u64> = all.iter().map(|one| one.sector).collect();
    assert_eq!((all.len(), sectors.len()), (1024, 1024), "each quarter once");
    // As with one named file, with an offset in each job.
    let named = "[global]\nrw=write\nbs=64k\nsize=25%\nfilename=/dev/x\nstonewall\n[a]\noffset=0%\n[b]\noffset=25%\n[c]\noffset=50%\n";
    assert_eq!(play(open(named), |_| 1).len(), 768);
}
