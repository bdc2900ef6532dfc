//! Behaviour of the generators, seen from outside.

use crate::support::setting;
use nandlab_block::{Op, Request};
use nandlab_nand::PlacementId;
use nandlab_workload::{
    hot_cold, sequential, uniform, zipf, ByteCount, Footprint, Options, Placement, Size, SizeRange, WorkloadError,
};
use std::collections::BTreeMap;
use std::path::Path;

const SECTORS: u64 = 1 << 16;

fn open(options: &dyn Options, seed: u64) -> Result<Vec<Request>, WorkloadError> {
    let setting = setting(SECTORS, seed, Path::new("."));
    let mut workload = options.open(&setting)?;
    let mut all = Vec::new();
    // Odd batches: where a batch ends must not matter.
    for room in (1..100).cycle() {
        if workload.fill(&mut all, room)? == 0 {
            break;
        }
    }
    assert_eq!(workload.len_hint(), Some(all.len() as u64));
    Ok(all)
}

fn requests(options: &dyn Options) -> Vec<Request> {
    let all = open(options, 1).unwrap();
    for request in &all {
        assert!(request.end() <= SECTORS, "{request:?}");
        assert!((request.sectors > 0) == (request.op != Op::Flush), "{request:?}");
    }
    assert!(all.windows(2).all(|pair| pair[0].time <= pair[1].time));
    all
}

#[test]
fn equal_seeds_give_equal_streams() {
    let config = zipf::Config { read_share: 0.3, ..Default::default() };
    assert_eq!(open(&config, 5).unwrap(), open(&config, 5).unwrap());
    assert_ne!(open(&config, 5).unwrap(), open(&config, 6).unwrap());
}

#[test]
fn arrivals_have_the_mean_rate_and_lose_no_part_of_a_nanosecond() {
    let times = |gap_ns: f64| {
        let config = uniform::Config { requests_per_s: Some(1e9 / gap_ns), ..Default::default() };
        requests(&config).iter().map(|request| request.time).collect::<Vec<_>>()
    };
    for gap_ns in [1.0, 1000.5] {
        // The same draws at a rate so low that parts of a nanosecond do not count.
        let (now, slowly) = (times(gap_ns), times(gap_ns * 1e6));
        let mut late = now.iter().zip(&slowly).map(|(&now, &slowly)| slowly as f64 / 1e6 - now as f64);
        assert_eq!(late.find(|late| !(-0.01..1.01).contains(late)), None, "{gap_ns}");
        let mean = *now.last().unwrap() as f64 / now.len() as f64;
        // Five standard errors of the mean of so many exponential gaps.
        let error = 5.0 / (now.len() as f64).sqrt();
        assert!((mean / gap_ns - 1.0).abs() < error, "{gap_ns}: {mean}");
    }
}

#[test]
fn shares_and_flushes_are_as_asked() {
    let config = uniform::Config { read_share: 0.5, trim_share: 0.1, flush_every: 9, ..Default::default() };
    let all = requests(&config);
    let count = |op| all.iter().filter(|request| request.op == op).count();
    assert_eq!(all.len(), 100_000);
    assert_eq!(count(Op::Flush), 10_000);
    assert!((44_300..45_700).contains(&count(Op::Read)), "{}", count(Op::Read));
    assert!((8_700..9_300).contains(&count(Op::Trim)), "{}", count(Op::Trim));
    assert_eq!(all[9].op, Op::Flush);
}

#[test]
fn the_last_request_is_a_flush_where_that_is_asked() {
    for (requests_in_all, flush_every) in [(1, 0), (10, 0), (10, 4), (1000, 0)] {
        let config = uniform::Config { requests: requests_in_all, flush_every, ..Default::default() };
        let (plain, flushed) = (requests(&config), requests(&uniform::Config { flush_at_end: true, ..config }));
        assert_eq!((flushed.len() as u64, flushed.last().unwrap().op), (requests_in_all, Op::Flush));
        assert_eq!(flushed[..flushed.len() - 1], plain[..plain.len() - 1], "the others are as before");
    }
}

#[test]
fn uniform_covers_its_footprint_evenly_and_nothing_else() {
    let config = uniform::Config { footprint: Footprint::Bytes(ByteCount(64 * 4096)), ..Default::default() };
    let mut counts = BTreeMap::new();
    for request in requests(&config) {
        *counts.entry(request.sector).or_insert(0) += 1;
    }
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), (0..64).map(|n| n * 8).collect::<Vec<_>>());
    assert!(counts.values().all(|&n| (1_380..1_750).contains(&n)), "{counts:?}");
}

#[test]
fn sequential_starts_where_the_last_request_ended() {
    let size = Size::Range(SizeRange { min: ByteCount(4096), max: ByteCount(32_768), step: None });
    let config = sequential::Config { size, ..Default::default() };
    let all = requests(&config);
    for pair in all.windows(2) {
        assert!(pair[1].sector == pair[0].end() || pair[1].sector == 0, "{pair:?}");
        // It starts anew only where it must.
        assert!(pair[1].sector != 0 || pair[0].end() + u64::from(pair[1].sectors) > SECTORS, "{pair:?}");
    }
    assert!(all.iter().filter(|request| request.sector == 0).count() > 10);
}

#[test]
fn hot_addresses_get_their_share() {
    for scatter in [false, true] {
        let config = hot_cold::Config { hot_share: 0.1, hot_accesses: 0.9, scatter, ..Default::default() };
        let mut counts = vec![0u32; (SECTORS / 8) as usize];
        for request in requests(&config) {
            counts[(request.sector / 8) as usize] += 1;
        }
        if !scatter {
            let hot: u32 = counts[..819].iter().sum();
            assert!((89_600..90_400).contains(&hot), "{hot}");
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hot: u32 = counts[..819].iter().sum();
        assert!((89_600..90_400).contains(&hot), "{hot}");
    }
}

#[test]
fn scattered_zipf_spreads_the_same_frequencies() {
    let frequencies = |scatter| {
        let mut counts = BTreeMap::new();
        for request in requests(&zipf::Config { scatter, ..Default::default() }) {
            *counts.entry(request.sector).or_insert(0u32) += 1;
        }
        let mut sorted: Vec<u32> = counts.into_values().collect();
        sorted.sort_unstable();
        sorted
    };
    assert_eq!(frequencies(true), frequencies(false));
}

#[test]
fn long_requests_stay_inside() {
    let size = Size::Fixed(ByteCount(4096 * 7 + 512));
    let footprint = Footprint::Bytes(ByteCount(4096 * 8 + 1024));
    for options in [
        Box::new(uniform::Config { size: size.clone(), footprint, ..Default::default() }) as Box<dyn Options>,
        Box::new(zipf::Config { size: size.clone(), footprint, ..Default::default() }),
        Box::new(hot_cold::Config { size: size.clone(), footprint, ..Default::default() }),
        Box::new(sequential::Config { size: size.clone(), footprint, ..Default::default() }),
    ] {
        assert!(requests(&*options).iter().all(|request| request.end() <= 66 && request.sector % 8 == 0));
    }
}

#[test]
fn arrivals_have_the_mean_gap() {
    let config = uniform::Config { requests_per_s: Some(50_000.0), ..Default::default() };
    assert!(config.has_times());
    let all = requests(&config);
    let mean_ns = all[all.len() - 1].time / all.len() as u64;
    assert!((19_700..20_300).contains(&mean_ns), "{mean_ns}");
}

#[test]
fn options_out_of_range_are_refused_with_the_key() {
    let cases: [(uniform::Config, &str); 7] = [
        (uniform::Config { read_share: 1.5, ..Default::default() }, "read_share = 1.5"),
        (uniform::Config { read_share: f64::NAN, ..Default::default() }, "read_share = NaN"),
        (uniform::Config { read_share: 0.7, trim_share: 0.7, ..Default::default() }, "trim_share = 0.7"),
        (uniform::Config { alignment: ByteCount(100), ..Default::default() }, "alignment = 100 B"),
        (uniform::Config { footprint: Footprint::Share(0.0), ..Default::default() }, "footprint = 0"),
        (
            uniform::Config { footprint: Footprint::Bytes(ByteCount(1 << 40)), ..Default::default() },
            "footprint = 1 TiB",
        ),
        (uniform::Config { requests_per_s: Some(0.0), ..Default::default() }, "requests_per_s = 0"),
    ];
    for (config, expected) in cases {
        let error = open(&config, 1).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{expected} cannot work: ")), "{error}");
    }
    let small = uniform::Config { footprint: Footprint::Bytes(ByteCount(512)), ..Default::default() };
    assert!(open(&small, 1).unwrap_err().to_string().contains("no room for a request of 4 KiB"));
}

#[test]
fn writes_carry_the_placement_that_was_chosen() {
    let placement = Some(Placement::of(3));
    let of = PlacementId::of;
    for options in [
        Box::new(uniform::Config { placement, read_share: 0.3, trim_share: 0.1, ..Default::default() })
            as Box<dyn Options>,
        Box::new(zipf::Config { placement, flush_every: 3, ..Default::default() }),
        Box::new(sequential::Config { placement, flush_at_end: true, ..Default::default() }),
    ] {
        let wanted = |one: &Request| if one.op == Op::Write { of(3) } else { PlacementId::NONE };
        assert!(requests(&*options).iter().all(|one| one.placement == wanted(one)));
    }
    assert!(requests(&uniform::Config::default()).iter().all(|one| !one.placement.is_some()));
    let said = serde_json::from_str::<uniform::Config>(r#"{"placement": "1:128"}"#).unwrap_err().to_string();
    assert!(said.contains("`1:128` is no placement: a handle is a number from 0 to 127"), "{said}");
    let text = r#"{"placement": "1:5"}"#;
    let read: uniform::Config = serde_json::from_str(text).unwrap();
    assert_eq!(read.placement.unwrap().id(), PlacementId { group: 1, handle: 5 });
    assert!(serde_json::to_string(&read).unwrap().contains(r#""placement":"1:5""#));
}

#[test]
fn hot_addresses_may_have_a_placement_of_their_own() {
    let plain =
        hot_cold::Config { hot_share: 0.1, hot_accesses: 0.6, scatter: false, read_share: 0.2, ..Default::default() };
    let hot_placement = Some("1:4".parse().unwrap());
    for placement in [None, Some(Placement::of(9))] {
        let all = requests(&hot_cold::Config { hot_placement, placement, ..plain.clone() });
        let hot_end = (SECTORS / 8 + 5) / 10 * 8;
        let cold = placement.map_or(PlacementId::NONE, Placement::id);
        for one in &all {
            let of_write = if one.sector < hot_end { PlacementId { group: 1, handle: 4 } } else { cold };
            assert_eq!(one.placement, if one.op == Op::Write { of_write } else { PlacementId::NONE }, "{one:?}");
        }
        let bare = |one: &Request| Request { placement: PlacementId::NONE, ..*one };
        assert!(all.iter().map(bare).eq(requests(&plain)), "identifiers change nothing else");
    }
}

#[test]
fn requests_left_out_shorten_the_stream_and_move_the_clock_on() {
    let config = hot_cold::Config { requests_per_s: Some(1e6), read_share: 0.2, flush_every: 7, ..Default::default() };
    let config = hot_cold::Config { requests: 10_000, ..config };
    let whole = requests(&config);
    let mut workload = config.open(&setting(SECTORS, 1, Path::new("."))).unwrap();
    let mut part = Vec::new();
    assert_eq!(workload.fill(&mut part, 100).unwrap(), 100);
    assert_eq!(workload.leave_out(0), Some(0));
    assert_eq!(workload.leave_out(5000), Some(5_000_000), "the mean gap is 1000 ns");
    while workload.fill(&mut part, 1000).unwrap() > 0 {}
    part[100..].iter_mut().for_each(|request| request.time -= 5_000_000);
    assert_eq!(part, whole[..5000], "the stream goes on where it stopped");
    assert_eq!(workload.leave_out(u64::MAX), Some(0), "nothing is left");
}
