//! fio job files: reads behind writes, requests to wait for, and early ends.

use crate::fio::{open, play, US};
use nandlab_block::{Completion, Op, Request};
use std::collections::BTreeSet;

/// Kinds in order, as letters.
fn kinds(all: &[Request]) -> String {
    let letter = |request: &Request| match request.op {
        Op::Read => 'r',
        Op::Write => 'w',
        Op::Trim => 't',
        _ => 'f',
    };
    all.iter().map(letter).collect()
}

fn places(all: &[Request], op: Op) -> Vec<u64> {
    all.iter().filter(|request| request.op == op).map(|request| request.sector / 8).collect()
}

#[test]
fn a_job_reads_back_what_it_wrote() {
    let job = |keys: &str| play(open(&format!("[a]\nverify=crc32c\n{keys}\n")), |_| US);
    // With a map of used places in the order of the writes.
    let all = job("rw=randwrite\nsize=32k");
    assert_eq!(kinds(&all), "wwwwwwwwrrrrrrrr");
    assert_eq!(places(&all, Op::Read), places(&all, Op::Write));
    // Without one by place, and each once.
    let all = job("rw=randwrite\nsize=128k\nnorandommap");
    let written: BTreeSet<u64> = places(&all, Op::Write).into_iter().collect();
    assert!(written.len() < 32 && places(&all, Op::Read).into_iter().eq(written));
    let all = job("rw=randwrite\nsize=128k\nnorandommap\nexperimental_verify=1");
    assert_eq!(places(&all, Op::Read), places(&all, Op::Write));
    // As many as the backlog says, in between; a pass ends with the flush.
    let all = job("rw=randwrite\nsize=32k\nverify_backlog=3\nend_fsync=1");
    assert_eq!(kinds(&all), "wwwrrrwwwrrrwwfrr");
    assert_eq!(places(&all, Op::Read), places(&all, Op::Write));
    // A mix has its own reads.
    let all = job("rw=randrw\nsize=64k\nloops=1");
    let writes = places(&all, Op::Write);
    assert_eq!(all.len(), 16 + writes.len());
    assert_eq!(places(&all[16..], Op::Read), writes);
    assert_eq!(kinds(&job("rw=trimwrite\nsize=16k")), "twtwtwtwrrrr");
    assert_eq!(kinds(&job("rw=trimwrite\nsize=16k\nexperimental_verify=1")), "twtwtwtwrrrrrrrr");
    // Nothing is written, or read back, or nothing at all is left.
    assert_eq!(kinds(&job("rw=write\nsize=16k\nverify_only\nfsync=1")), "rrrr");
    assert_eq!(kinds(&job("rw=write\nsize=16k\ndo_verify=0")), "wwww");
    assert_eq!(kinds(&job("rw=randread\nsize=16k")), "rrrr");
    assert_eq!(kinds(&job("rw=write\nsize=16k\nverify_only\ndo_verify=0\ntime_based\nruntime=1")), "");
}

/// Passes of a job that a time ends are as long as without one if its engine does not wait, and a check follows each.
#[test]
fn a_time_based_job_checks_each_pass() {
    let job = |engine: &str| {
        let keys = "verify=crc32c\nrw=write\nsize=16k\ntime_based\nruntime=12us";
        kinds(&play(open(&format!("[a]\nioengine={engine}\n{keys}\n")), |_| US))
    };
    assert_eq!(job("libaio"), "wwwwrrrrwwww");
    assert_eq!(job("psync"), "wwwwwwwwwwww");
}

/// The reads come when the last write has ended, whatever the depth, without think times and at no rate.
#[test]
fn reading_back_waits_for_all_writes() {
    let times = |keys: &str| -> Vec<u64> {
        let job = format!("[a]\nioengine=libaio\niodepth=4\nverify=crc32c\nrw=write\nsize=16k\n{keys}\n");
        play(open(&job), |request| (1 + request.sector / 8) * US).iter().map(|request| request.time / US).collect()
    };
    assert_eq!(times(""), [0, 0, 0, 0, 4, 4, 4, 4]);
    assert_eq!(times("thinktime=10\nrate_iops=,1000000"), [0, 11, 23, 36, 40, 40, 40, 40]);
    assert_eq!(times("loops=2")[8..], [8, 8, 8, 8, 12, 12, 12, 12]);
}

/// A full queue waits for so many requests before the job goes on.
#[test]
fn a_full_queue_waits_for_as_many_as_the_job_says() {
    // Requests take 1, 2, 3 ... us from time 0 on.
    let times = |keys: &str| -> Vec<u64> {
        let job = format!("[a]\nioengine=libaio\niodepth=4\nrw=write\nsize=40k\n{keys}\n");
        play(open(&job), |request| (1 + request.sector / 8) * US).iter().map(|request| request.time / US).collect()
    };
    assert_eq!(times(""), [0, 0, 0, 0, 1, 2, 3, 4, 6, 8]);
    assert_eq!(times("iodepth_batch=4"), times(""));
    assert_eq!(times("iodepth_batch_complete=2"), [0, 0, 0, 0, 2, 2, 4, 4, 8, 8]);
    assert_eq!(times("iodepth_batch_complete=16"), [0, 0, 0, 0, 4, 4, 4, 4, 12, 12]);
    assert_eq!(times("iodepth_low=1"), [0, 0, 0, 0, 3, 3, 3, 9, 9, 9]);
    assert_eq!(times("iodepth_batch_complete_min=0"), [0, 1, 3, 6, 10, 15, 21, 28, 36, 45]);
    assert_eq!(times("iodepth_batch_complete_min=0\niodepth_batch_complete_max=4"), times(""));
}

fn failing(jobs: &str, is_told_later: bool) -> (String, Vec<String>) {
    let mut workload = open(jobs);
    if is_told_later {
        workload.tells_later();
    }
    let (mut all, mut number) = (Vec::<Request>::new(), 0);
    loop {
        if workload.fill(&mut all, 1).unwrap() == 0 {
            break;
        }
        let last = *all.last().unwrap();
        if last.sector == 16 {
            workload.failed();
        }
        let end = last.time + US;
        if is_told_later {
            workload.ended(number, end);
            number += 1;
        } else {
            workload.completed(&[Completion { arrival: last.time, done: end }]);
        }
    }
    (kinds(&all), workload.notices())
}

/// The third request fails.
#[test]
fn a_request_that_fails_ends_its_job() {
    for is_told_later in [false, true] {
        let of = |keys: &str| failing(&format!("[a]\nrw=write\nsize=32k\n{keys}\n"), is_told_later);
        let (all, notices) = of("");
        assert_eq!(all, "www");
        assert!(notices[0].contains("[a] ended early, as in fio: a request failed"), "{notices:?}");
        for (keys, expected) in [
            ("continue_on_error=all", "wwwwwwww"),
            ("continue_on_error=1", "wwwwwwww"),
            ("continue_on_error=write", "wwwwwwww"),
            ("continue_on_error=read", "www"),
            ("continue_on_error=verify", "www"),
            ("continue_on_error=none", "www"),
            ("ignore_error=EIO", "wwwwwwww"),
            ("ignore_error=ENOSPC,5:ENOSPC", "wwwwwwww"),
            ("continue_on_error=all\nignore_error=EIO,ENOSPC", "www"),
            ("[b]\nstonewall\nrw=read\nsize=8k\noffset=64k", "wwwrr"),
            ("exitall_on_error\n[b]\nstonewall\nrw=read\nsize=8k\noffset=64k", "wwwrr"),
            ("exitall_on_error\nexit_what=all\n[b]\nstonewall\nrw=read\nsize=8k\noffset=64k", "www"),
            ("exitall_on_error\n[b]\nrw=read\nsize=32k\noffset=64k", "wrwrw"),
        ] {
            assert_eq!(of(keys).0, expected, "{keys}, told later: {is_told_later}");
        }
    }
}
