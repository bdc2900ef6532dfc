//! fio job files: passes with a count, and progress of jobs with a runtime.

use crate::fio::{both, open, play, US};
use nandlab_block::Completion;
use std::collections::BTreeSet;

/// With `loops`, a count of requests ends a pass of `trimwrite` and doubles for the next one.
#[test]
fn counts_and_passes_end_where_they_end_in_fio() {
    for job in ["pairs", "further", "writes"] {
        let (theirs, ours) = both("passes", job);
        assert_eq!(ours, theirs, "{job}");
    }
    // Random places are others, but each pass comes to six of the eight, which are no two the same.
    for lines in <[_; 2]>::from(both("passes", "places")) {
        assert_eq!(lines.len(), 24);
        for pass in lines.chunks(12) {
            let places: BTreeSet<_> = pass.iter().map(|line| line.1).collect();
            assert_eq!(places.len(), 6);
        }
    }
}

/// A job with a runtime has no count, and progress follows the time.
#[test]
fn progress_of_jobs_with_a_runtime_is_that_of_time() {
    let shares = |jobs: &str| {
        let mut workload = open(jobs);
        let (mut all, mut shares) = (Vec::new(), Vec::new());
        while workload.fill(&mut all, 1).unwrap() > 0 {
            let last = all.last().unwrap();
            workload.completed(&[Completion { arrival: last.time, done: last.time + 10 * US }]);
            shares.push(workload.done_share().map(|share| (100.0 * share).round()));
        }
        shares
    };
    let timed = "[a]\nrw=read\nsize=8k\ntime_based\n";
    assert_eq!(shares(&format!("{timed}runtime=50us\n")), [0.0, 20.0, 40.0, 60.0, 80.0].map(Some));
    assert_eq!(shares(&format!("{timed}runtime=30us\nstartdelay=20us\n")), [40.0, 60.0, 80.0].map(Some));
    // Its size may end it before.
    assert_eq!(shares("[a]\nrw=read\nsize=16k\nruntime=1\n"), [25.0, 50.0, 75.0, 100.0].map(Some));
    // A group behind a wall follows, and lasts as long.
    let both = format!("{timed}runtime=20us\n[b]\nstonewall\nrw=read\nsize=8k\nruntime=20us\ntime_based\n");
    assert_eq!(shares(&both), [0.0, 50.0, 50.0, 75.0].map(Some));
    assert_eq!(shares("[a]\nrw=read\nsize=8k\n"), [None; 2]);
}

/// Requests take no time: jobs come in turn, in proportion to their depths.
#[test]
fn jobs_alternate_where_no_time_passes() {
    for (depths, shares) in [((8, 8), (50, 50)), ((3, 1), (75, 25)), ((1, 4), (20, 80))] {
        let job = |name, depth| format!("[{name}]\nioengine=libaio\niodepth={depth}\nrw=write\nsize=1m\n");
        let all = play(open(&(job("a", depths.0) + &job("b", depths.1))), |_| 0);
        assert_eq!(all.len(), 512);
        for part in all[..300].chunks(100) {
            let first = part.iter().filter(|request| request.origin == all[0].origin).count();
            assert!(first.abs_diff(shares.0) <= 2 && (100 - first).abs_diff(shares.1) <= 2, "{depths:?}: {first}");
        }
    }
    // A waiting engine has one request outstanding.
    let waits = "[a]\niodepth=8\nrw=write\nsize=64k\n[b]\nrw=read\nsize=64k\n";
    let kinds: Vec<_> = play(open(waits), |_| 0).iter().map(|request| request.op).collect();
    assert!(kinds.windows(2).all(|pair| pair[0] != pair[1]), "{kinds:?}");
}
