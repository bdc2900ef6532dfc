//! The workload `cachelib`, seen from outside.

use crate::support::setting;
use nandlab_block::{Op, Request};
use nandlab_nand::{Origin, PlacementId};
use nandlab_workload::cachelib::Config;
use nandlab_workload::{ByteCount, Footprint, Options, Placement, Size, SizeRange};
use std::collections::BTreeMap;
use std::path::Path;

/// 512 MiB.
const SECTORS: u64 = 1 << 20;
const SMALL: Origin = Origin(Origin::NAMES.len() as u8);
const LARGE: Origin = Origin(SMALL.0 + 1);

fn open(config: &Config, seed: u64) -> Result<Vec<Request>, String> {
    let setting = setting(SECTORS, seed, Path::new("."));
    let mut workload = config.open(&setting).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for room in (1..100).cycle() {
        if workload.fill(&mut all, room).unwrap() == 0 {
            break;
        }
    }
    assert_eq!(workload.len_hint(), Some(all.len() as u64));
    let sectors: u64 = all.iter().filter(|one| one.op != Op::Trim).map(|one| u64::from(one.sectors)).sum();
    let told = workload.sectors_hint().unwrap() as f64;
    assert!((told / sectors as f64 - 1.0).abs() < 0.02, "{told} told, {sectors} moved");
    let names: Vec<_> = workload.origins();
    assert_eq!(names, [(SMALL, "small_objects".to_owned()), (LARGE, "large_objects".to_owned())]);
    Ok(all)
}

fn requests(config: &Config) -> Vec<Request> {
    open(config, 1).unwrap()
}

fn of(all: &[Request], origin: Origin, op: Op) -> Vec<Request> {
    all.iter().filter(|one| one.origin == origin && one.op == op).copied().collect()
}

/// 1 MiB regions, so that all are filled several times; 4 % of 512 MiB are 5,242 buckets.
fn small_regions() -> Config {
    Config { segment: ByteCount(1 << 20), requests: 200_000, ..Config::default() }
}

#[test]
fn buckets_are_read_written_and_equally_likely() {
    let all = requests(&Config { soc_share: 0.001, ..small_regions() });
    let (reads, writes) = (of(&all, SMALL, Op::Read), of(&all, SMALL, Op::Write));
    for (at, one) in all.iter().enumerate().filter(|(_, one)| one.op == Op::Read) {
        let Some(next) = all.get(at + 1) else { continue };
        assert_eq!((next.op, next.sector, next.sectors, next.origin), (Op::Write, one.sector, 8, SMALL));
    }
    assert!(reads.len() - writes.len() <= 1);
    // 0.001 x 512 MiB are 131 buckets of 4 KiB.
    let mut counts = vec![0u32; 131];
    for write in &writes {
        assert_eq!((write.sector % 8, write.sectors), (0, 8));
        counts[(write.sector / 8) as usize] += 1;
    }
    let mean = writes.len() as f64 / 131.0;
    let statistic: f64 = counts.iter().map(|&count| (f64::from(count) - mean).powi(2) / mean).sum();
    // The 99.9 % point of chi-square with 130 degrees of freedom is 185.6.
    assert!(mean > 500.0 && statistic < 185.6, "{statistic} with {mean} writes of a bucket");
    let blind = requests(&Config { bucket_reads: false, ..small_regions() });
    assert!(blind.iter().all(|one| one.op == Op::Write));
}

#[test]
fn popular_keys_make_popular_buckets() {
    // 12 keys in 5,242 buckets: each key has a bucket of its own, written as often as the key comes.
    let config = Config { keys: 12, theta: 1.2, bucket_reads: false, ..small_regions() };
    let writes = of(&requests(&config), SMALL, Op::Write);
    let mut counts = BTreeMap::new();
    for write in &writes {
        *counts.entry(write.sector).or_insert(0u32) += 1;
    }
    let mut counts: Vec<u32> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(counts.len(), 12);
    let total: f64 = (1..=12).map(|rank| f64::from(rank).powf(-1.2)).sum();
    let expected = (1..=12).map(|rank| f64::from(rank).powf(-1.2) / total * writes.len() as f64);
    let statistic: f64 = expected.zip(counts).map(|(mean, count)| (f64::from(count) - mean).powi(2) / mean).sum();
    // The 99.9 % point of chi-square with 11 degrees of freedom.
    assert!(statistic < 31.26, "{statistic}");
}

#[test]
fn regions_are_filled_in_order_and_reused_first_in_first_out() {
    let region = 2048;
    // 4 % of 64 MiB are 655 buckets of 8 sectors; the regions are behind them.
    let start = 655 * 8;
    let regions = ((1 << 17) - start) / region;
    let footprint = Footprint::Bytes(ByteCount(64 << 20));
    for trim in [false, true] {
        let all = requests(&Config { trim, footprint, small_share: 0.1, ..small_regions() });
        let large: Vec<Request> = all.iter().filter(|one| one.origin == LARGE).copied().collect();
        let (mut at, mut begun) = (start, 0);
        let mut trimmed = None;
        for one in &large {
            if one.op == Op::Trim {
                assert_eq!((one.sector, u64::from(one.sectors)), (start + begun % regions * region, region));
                trimmed = Some(one.sector);
                continue;
            }
            let is_new = (one.sector - start) % region == 0;
            if is_new {
                // The rest of the region before was too short for it.
                let before = start + (begun.max(1) - 1) % regions * region;
                assert!(begun == 0 || at + u64::from(one.sectors) > before + region, "{one:?} at {at}");
                assert_eq!(one.sector, start + begun % regions * region);
                begun += 1;
                assert_eq!(trimmed.take().is_some(), trim && begun > regions, "region {begun}");
            } else {
                assert_eq!(one.sector, at, "objects follow each other");
            }
            at = one.end();
            assert!(at <= 1 << 17 && (one.sector - start) / region == (at - 1 - start) / region, "{one:?}");
        }
        assert!(begun > 3 * regions, "{begun} of {regions}");
        assert_eq!(large.iter().any(|one| one.op == Op::Trim), trim);
        let small = all.iter().filter(|one| one.origin == SMALL);
        assert!(small.map(Request::end).max().unwrap() <= start, "the two caches never overlap");
    }
}

#[test]
fn bytes_have_the_share_that_was_asked_for() {
    let large_sizes = [
        Size::Fixed(ByteCount(64 << 10)),
        Size::Range(SizeRange { min: ByteCount(4096), max: ByteCount(65_536), step: None }),
    ];
    for large_size in large_sizes {
        for small_share in [0.0, 0.1, 0.5, 0.9, 1.0] {
            for bucket in [4096, 8192] {
                let bucket = ByteCount(bucket);
                let all = requests(&Config { small_share, bucket, large_size: large_size.clone(), ..small_regions() });
                let bytes = |origin| of(&all, origin, Op::Write).iter().map(|one| f64::from(one.sectors)).sum::<f64>();
                let found = bytes(SMALL) / (bytes(SMALL) + bytes(LARGE));
                assert!((found - small_share).abs() < 0.01, "{small_share}: {found}");
            }
        }
    }
}

#[test]
fn each_engine_has_its_handle_or_none() {
    let all = requests(&small_regions());
    for (origin, handle) in [(SMALL, 1), (LARGE, 2)] {
        let writes = of(&all, origin, Op::Write);
        assert!(!writes.is_empty() && writes.iter().all(|one| one.placement == PlacementId::of(handle)));
    }
    assert!(all.iter().all(|one| one.op == Op::Write || !one.placement.is_some()));
    let other = Config { soc_handle: "3:7".parse().unwrap(), loc_handle: Placement::of(0), ..small_regions() };
    let placed = requests(&other);
    assert!(of(&placed, SMALL, Op::Write).iter().all(|one| one.placement == PlacementId { group: 3, handle: 7 }));
    assert!(of(&placed, LARGE, Op::Write).iter().all(|one| one.placement == PlacementId::of(0)));
    let without = requests(&Config { placement: false, ..other });
    let bare = |one: &Request| Request { placement: PlacementId::NONE, ..*one };
    assert!(without.iter().copied().eq(placed.iter().map(bare)), "identifiers change nothing else");
}

#[test]
fn equal_seeds_give_equal_requests_and_a_rate_gives_times() {
    let config = Config { theta: 0.9, trim: true, ..small_regions() };
    assert_eq!(open(&config, 5).unwrap(), open(&config, 5).unwrap());
    assert_ne!(open(&config, 5).unwrap(), open(&config, 6).unwrap());
    assert!(!config.has_times() && requests(&config).iter().all(|one| one.time == 0));
    let timed = Config { requests_per_s: Some(50_000.0), ..config };
    let all = requests(&timed);
    assert!(timed.has_times() && all.windows(2).all(|pair| pair[0].time <= pair[1].time));
    let mean_ns = all[all.len() - 1].time / all.len() as u64;
    assert!((19_700..20_300).contains(&mean_ns), "{mean_ns}");
}

#[test]
fn options_out_of_range_are_refused_with_the_key() {
    let config = small_regions;
    let cases: [(Config, &str); 15] = [
        (Config { soc_share: 0.0, ..config() }, "soc_share = 0 cannot work: it is a share above 0 and below 1"),
        (Config { soc_share: 1.0, ..config() }, "soc_share = 1 cannot work"),
        (Config { soc_share: f64::NAN, ..config() }, "soc_share = NaN cannot work"),
        (
            Config { soc_share: 1e-6, ..config() },
            "soc_share = 0.000001 cannot work: of 512 MiB it is less than a bucket of 4 KiB",
        ),
        (Config { small_share: 1.1, ..config() }, "small_share = 1.1 cannot work: a share is a number from 0 to 1"),
        (Config { bucket: ByteCount(0), ..config() }, "bucket = 0 B cannot work"),
        (
            Config { bucket: ByteCount(1000), ..config() },
            "bucket = 1000 B cannot work: it is a number of whole sectors",
        ),
        (Config { segment: ByteCount(4097), ..config() }, "segment = 4097 B cannot work"),
        (
            Config { segment: ByteCount(256 << 20), ..config() },
            "segment = 256 MiB cannot work: large objects have 491.52 MiB",
        ),
        (Config { keys: 0, ..config() }, "keys = 0 cannot work: there are 1 to 2^62 keys"),
        (Config { theta: -1.0, ..config() }, "theta = -1 cannot work"),
        (
            Config { large_size: Size::Fixed(ByteCount(2 << 20)), ..config() },
            "large_size = 2 MiB cannot work: an object lies in one region, and a region has 1 MiB",
        ),
        (Config { large_size: Size::Fixed(ByteCount(100)), ..config() }, "large_size = 100 B cannot work"),
        (Config { footprint: Footprint::Share(1.5), ..config() }, "footprint = 1.5 cannot work"),
        (Config { footprint: Footprint::Bytes(ByteCount(1 << 40)), ..config() }, "footprint = 1 TiB cannot work"),
    ];
    for (config, expected) in cases {
        let error = open(&config, 1).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    let handle = |text: &str| serde_json::from_str::<Config>(text).unwrap_err().to_string();
    assert!(handle(r#"{"soc_handle": 128}"#).contains("`128` is no placement: a handle is a number from 0 to 127"));
    assert!(handle(r#"{"loc_handle": "255:1"}"#).contains("a group is a number from 0 to 254"));
    assert!(handle(r#"{"loc_handle": 1.5}"#).contains("expected a handle such as 5, or a group and a handle"));
    let config = small_regions();
    let text = serde_json::to_string(&config).unwrap();
    assert!(
        text.contains(r#""soc_handle":1,"loc_handle":2"#) && serde_json::from_str::<Config>(&text).unwrap() == config
    );
}
