//! fio jobs wait for each other, end each other, or keep each other's pace.

use super::fio::{open, play, US};
use nandlab_block::{Op, Request};
use nandlab_nand::Origin;

/// The jobs' letters, request by request. A request takes 1 us, in the second job 2.
fn letters(jobs: &str) -> String {
    let workload = open(jobs);
    let origins = workload.origins();
    let letter = |request: &Request| origins.iter().find(|(origin, _)| *origin == request.origin).unwrap().1.clone();
    let second = origins.get(1).map(|(origin, _)| *origin);
    let all = play(workload, |request| if Some(request.origin) == second { 2 * US } else { US });
    all.iter().map(letter).collect()
}

/// The first job has four requests and ends at 4 us, the second one has eight.
#[test]
fn the_end_of_a_job_ends_those_that_fio_ends() {
    let two = "[global]\nrw=read\nKEYS\n[a]\nsize=16k\n[b]\nsize=32k\n";
    let of = |keys: &str| letters(&two.replace("KEYS", keys));
    assert_eq!(of("exitall"), "abaaba");
    assert_eq!(of("exitall=1\nexit_what=all"), "abaaba");
    let third = |keys: &str, of_c: &str| {
        let jobs = format!("{}[c]\n{of_c}\nsize=8k\n", two.replace("KEYS", keys));
        letters(&jobs)
    };
    // A wall begins another group.
    assert_eq!(third("exitall", "stonewall"), "abaabacc");
    assert_eq!(third("exitall\nexit_what=stonewall", "stonewall"), "abaabacc");
    assert_eq!(third("exitall\nexit_what=all", "stonewall"), "abaaba");
    assert_eq!(third("exitall", "startdelay=3us"), "abaabac");
    assert_eq!(third("exitall\nexit_what=stonewall", "startdelay=30us"), "abaabacc");
    assert_eq!(third("exitall", "startdelay=30us"), "abaaba");
}

#[test]
fn a_job_waits_for_the_one_that_it_names() {
    let jobs = "[global]\nrw=read\n[a]\nsize=8k\nnumjobs=2\n[b]\nsize=16k\n[c]\nwait_for=a\nsize=8k\n";
    // The first job's clones end at 2 us.
    assert_eq!(letters(jobs), "aabaabccb".to_owned() + &letters(jobs)[9..]);
    assert_eq!(
        letters(&format!("{jobs}[d]\nwait_for=c\nsize=8k\n[e]\nstonewall\nsize=4k\n")).chars().last(),
        Some('e')
    );
}

#[test]
fn a_flow_keeps_requests_in_proportion() {
    let of = |first: &str, second: &str| {
        letters(&format!("[global]\nrw=read\nnorandommap\nsize=4m\nnumber_ios=600\n[a]\n{first}\n[b]\n{second}\n"))
    };
    let share = |all: &str, count: usize| all[..count].matches('a').count() as f64 / count as f64;
    assert!((share(&of("", ""), 600) - 2.0 / 3.0).abs() < 0.01);
    for (first, second) in [(1, 1), (1, 3), (5, 1)] {
        let all = of(&format!("flow={first}"), &format!("flow={second}"));
        let wanted = f64::from(first) / f64::from(first + second);
        assert!((share(&all, 600) - wanted).abs() < 0.01, "{first}, {second}: {}", share(&all, 600));
    }
    // Another flow, and none, are not held.
    assert!((share(&of("flow=1", "flow=3\nflow_id=1"), 600) - 2.0 / 3.0).abs() < 0.01);
    let slept = of("flow=1\nflow_sleep=100", "flow=8");
    assert!(share(&slept, 600) < 1.0 / 9.0 + 0.01);
}

#[test]
fn jobs_of_a_flow_that_never_meet_are_refused() {
    let mut workload = open("[global]\nrw=read\nsize=64k\nflow=1\n[a]\n[b]\nstonewall\n");
    let mut all = Vec::new();
    let error = loop {
        match workload.fill(&mut all, 1) {
            Ok(0) => panic!("it ended after {}", all.len()),
            Ok(_) => {}
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("its jobs with flow wait for ever, as in fio"), "{error}");
}

#[test]
fn jobs_beyond_the_last_name_are_counted_together() {
    let most = Origin::COUNT - 1 - Origin::NAMES.len();
    let jobs = |count| (0..count).map(|n| format!("[job{n}]\nsize=4k\n")).collect::<String>();
    assert!(open(&jobs(most)).notices().is_empty());
    let workload = open(&jobs(most + 2));
    assert_eq!(workload.origins().last().unwrap().1, format!("job{} and 2 more", most - 1));
    let told = format!("[job{}] and the jobs behind it, 3 in all, have one latency", most - 1);
    assert!(workload.notices()[0].contains(&told), "{:?}", workload.notices());
    assert_eq!(play(workload, |_| 0).len(), most + 2);
}

#[test]
fn a_write_that_is_synchronous_is_followed_by_a_flush() {
    for keys in ["sync=1", "sync=dsync", "writefua=1"] {
        let all = play(open(&format!("[a]\nrw=write\nsize=16k\n{keys}\n")), |_| US);
        let kinds: Vec<Op> = all.iter().map(|request| request.op).collect();
        assert_eq!(kinds, [Op::Write, Op::Flush].repeat(4), "{keys}");
        assert_eq!(all[1].time, US);
    }
    assert_eq!(play(open("[a]\nrw=write\nsize=16k\nsync=none\n"), |_| US).len(), 4);
}

#[test]
fn commands_that_verify_read() {
    for (keys, op) in [("verify_bytchk_01", Op::Read), ("write_same", Op::Write), ("write_and_verify", Op::Write)] {
        let all = play(open(&format!("[a]\nioengine=sg\nrw=write\nsize=16k\nsg_write_mode={keys}\n")), |_| US);
        assert!(all.len() == 4 && all.iter().all(|request| request.op == op), "{keys}");
    }
}

#[test]
fn what_does_not_change_the_requests_is_told() {
    let notices = |keys: &str| open(&format!("[a]\nrw=read\nsize=16k\n{keys}\n")).notices().join("\n");
    assert!(notices("time_based").contains("[a] is time_based without a runtime, so that its size ends it"));
    assert!(notices("ss=iops:10%").contains("no job ends since it is steady"));
    assert_eq!(play(open("[a]\nrw=write\nbs=1m\nfill_device=1\n"), |_| 0).len(), 64);
}

/// The device serves one request at a time: at depth d each takes d times 10 us.
#[test]
fn the_depth_follows_a_latency() {
    let found = |target: u64, percentile: &str| {
        let mut workload = open(&format!(
            "[a]\nioengine=libaio\niodepth=64\nrw=randread\nnorandommap\ntime_based\nruntime=10\n\
             latency_target={target}\nlatency_window=10000\n{percentile}\n"
        ));
        workload.tells_later();
        let mut all: Vec<Request> = Vec::new();
        let mut ends = std::collections::VecDeque::new();
        let mut free = 0;
        loop {
            let next = workload.next_time();
            let is_next = ends.front().is_none_or(|&(_, end)| next.is_some_and(|next| next <= end));
            if is_next && next.is_some() {
                if workload.fill(&mut all, 1).unwrap() == 0 {
                    break;
                }
                free = all.last().unwrap().time.max(free) + 10 * US;
                ends.push_back((all.len() as u64 - 1, free));
            } else if let Some((number, end)) = ends.pop_front() {
                workload.ended(number, end);
            } else {
                break;
            }
        }
        workload.notices().join("\n")
    };
    let text = found(205, "latency_percentile=99");
    assert!(text.contains("[a] found its depth: 99 % of its requests take at most 205 us at a depth of 20"), "{text}");
    let text = found(5, "");
    assert!(text.contains("a request took longer than latency_target at a depth of 1"), "{text}");
}
