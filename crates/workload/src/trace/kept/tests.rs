use super::super::addresses::Addresses;
use super::super::play::Player;
use super::*;
use crate::Workload;
use nandlab_nand::random::Random;
use std::path::PathBuf;

const HEADER: &str = "time_us,op,sector,sectors,origin,placement,device";

/// Requests with every kind of exception: origins, placements, devices, flushes, long steps.
fn text(records: u64) -> String {
    let (mut random, mut text, mut time) = (Random::new(3), format!("{HEADER}\n"), 0);
    for _ in 0..records {
        time += if random.below(50) == 0 { 10_000_000 } else { random.below(20) };
        let op = ["R", "W", "W", "T", "F"][random.below(5) as usize];
        let sectors = if op == "F" { 0 } else { 1 + random.below(64) };
        let sector = if op == "F" { 0 } else { random.below(90_000) };
        let origin = ["", "", "", "database"][random.below(4) as usize];
        let placement = if op == "W" && random.below(3) == 0 { "2" } else { "" };
        let device = ["", "", "b"][random.below(3) as usize];
        text += &format!("{time},{op},{sector},{sectors},{origin},{placement},{device}\n");
    }
    text
}

fn plan(text: &str, most_kept: usize) -> Plan {
    let config = Config { path: None, text: Some(text.to_owned()), ..Config::new("") };
    Plan { config, base: PathBuf::new(), capacity: 1 << 20, most_kept }
}

fn played(plan: Plan) -> Vec<Request> {
    let (mut player, mut all) = (Player::open(plan, &|_| true, None).unwrap(), Vec::new());
    while player.fill(&mut all, 1000).unwrap() > 0 {}
    all
}

/// 20,000 requests are read ahead in a thread if they are not kept.
#[test]
fn a_trace_in_memory_plays_as_its_file() {
    let text = text(20_000);
    for addresses in [Addresses::Reject, Addresses::Fold, Addresses::Compact] {
        let with = |most_kept| {
            let mut plan = plan(&text, most_kept);
            plan.config = Config { side_by_side: true, repeat: 2, addresses, ..plan.config };
            played(plan)
        };
        let of_file = with(0);
        assert_eq!(with(MOST_BYTES), of_file);
        assert!(of_file.len() > 39_000 && of_file.iter().any(|request| request.time > 1 << 40));
    }
}

#[test]
fn durations_are_told_from_memory_as_from_the_file() {
    let text = "128166372003061629,hm,1,Read,383496192,32768,113736\n128166372016382155,hm,1,Write,2822144,4096,237\n";
    let told = |most_kept| {
        let mut all = Vec::new();
        let plan = plan(text, most_kept);
        let mut also = |request: &Request, device, took| all.push((*request, device, took));
        let read = read(&plan, &|_| true, Wants::Durations, &mut also).unwrap();
        assert_eq!(read.kept.is_some(), most_kept > 0);
        all
    };
    let _sharing = Sharing::begin();
    let first = told(MOST_BYTES);
    assert!(first.len() == 2 && first[0].2.is_some_and(|took| took.latency == 11_373_600));
    // From memory, from the file, and from the file again.
    for most_kept in [MOST_BYTES, 0, 0] {
        assert_eq!(told(most_kept), first);
    }
}

#[test]
fn runs_side_by_side_read_a_trace_once() {
    let plan = plan(&text(100), MOST_BYTES);
    let read = |plan: &Plan| read(plan, &|_| true, Wants::Nothing, &mut |_, _, _| {}).unwrap();
    let sharing = Sharing::begin();
    let first = read(&plan);
    let other = Plan { config: Config { repeat: 3, ..plan.config.clone() }, capacity: 5000, ..plan.clone() };
    assert!(Arc::ptr_eq(&first, &read(&other)), "what the player does with it is no other trace");
    let fewer = Plan { config: Config { requests: Some(50), ..plan.config.clone() }, ..plan.clone() };
    assert!(!Arc::ptr_eq(&first, &read(&fewer)));
    // A run that is stopped while it reads leaves nothing behind.
    let stopped = Plan { config: Config { requests: Some(60), ..plan.config.clone() }, ..plan.clone() };
    super::read(&stopped, &|_| false, Wants::Nothing, &mut |_, _, _| {}).unwrap_err();
    assert_eq!(read(&stopped).summary.requests, 60);
    drop(sharing);
}

/// A request of 16 bytes more than the memory has room for.
#[test]
fn a_trace_is_kept_up_to_its_memory() {
    let text: String = (0..100).map(|at| format!("{at},R,{at},1\n")).collect();
    let text = format!("time_us,op,sector,sectors\n{text}");
    for (most_kept, is_kept) in [(1600, true), (1599, false)] {
        let read = read(&plan(&text, most_kept), &|_| true, Wants::Nothing, &mut |_, _, _| {}).unwrap();
        assert_eq!(read.kept.is_some(), is_kept, "{most_kept}");
    }
}
