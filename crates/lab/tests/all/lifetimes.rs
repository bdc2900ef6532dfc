//! Lifetimes: what a short run predicts, compared with runs that go there.

use crate::support::record;
use nandlab_lab::record::{LifetimeRecord, Record};

const SEQUENTIAL: &str = "[workload.sequential]\nsize = \"64 KiB\"\nalignment = \"64 KiB\"\n[ftl.page]\n[device]\n\
                          profile = \"generic\"\nmodel = \"counting\"\nover_provisioning = 0.28\n[device.shape]\nblocks_per_plane = 400\n";

fn life(text: &str, sets: &[&str]) -> LifetimeRecord {
    record(text, sets).lifetime.unwrap()
}

/// Nothing is moved, so each block takes its cycles one after another, the first fill of a blank device included.
#[test]
fn at_a_write_amplification_of_one_it_is_endurance_times_bytes_of_the_flash() {
    for requests in [3_200, 3_300, 4_000, 16_000, 50_000] {
        let record = record(SEQUENTIAL, &[&format!("workload.sequential.requests={requests}")]);
        let device = &record.device;
        let expected = f64::from(device.endurance) * device.physical_bytes as f64;
        let even = record.lifetime.unwrap().even.unwrap().host_bytes;
        assert!((even / expected - 1.0).abs() < 1e-3, "{requests}: {even} and {expected}");
    }
}

/// Small enough to be worn for a hundred cycles in a test.
fn text(ftl: &str, workload: &str, fill: &str, requests: u64, seed: u64) -> String {
    let over = if ftl == "page" || ftl == "dftl" { "0.25" } else { "0.5" };
    format!(
        "seed = {seed}\n[workload.{workload}]\nrequests = {requests}\n[ftl.{ftl}]\n[device]\nmodel = \"counting\"\n\
         capacity = \"8 MiB\"\nover_provisioning = {over}\n[device.shape]\npages_per_block = 16\n[precondition]\nfill = {fill:?}\n"
    )
}

/// Requests that wear the mean block by about this many cycles.
fn requests(ftl: &str, workload: &str, fill: &str, cycles: f64) -> u64 {
    let probe = record(&text(ftl, workload, fill, 20_000, 1), &[]);
    let erases = probe.flash.erases as f64 / f64::from(probe.device.blocks);
    (20_000.0 * cycles / erases) as u64
}

/// Cycles of a run that is long enough to tell.
const SHORT: f64 = 40.0;

const FTLS: [&str; 5] = ["page", "bast", "fast", "dftl", "sector_map"];
const WORKLOADS: [&str; 2] = ["uniform", "hot_cold"];

#[test]
fn the_mean_of_the_blocks_comes_to_the_predicted_cycles_with_the_predicted_bytes() {
    for ftl in FTLS {
        for workload in WORKLOADS {
            for fill in ["none", "sequential"] {
                let (short, long) = (requests(ftl, workload, fill, SHORT), requests(ftl, workload, fill, 100.0));
                let worn = record(&text(ftl, workload, fill, long, 5), &[]);
                let reached = worn.lifetime.as_ref().unwrap().cycles;
                let endurance = reached.round();
                let told =
                    life(&text(ftl, workload, fill, short, 5), &[&format!("device.rules.endurance={endurance}")]);
                let what = format!("{ftl}, {workload}, {fill}, {reached} cycles: {told:?}");
                let even = told.even.unwrap_or_else(|| panic!("{what}")).host_bytes;
                let bytes = worn.host.written_sectors as f64 * 512.0 * endurance / reached;
                println!("{ftl} {workload} {fill}: {:+.4}", even / bytes - 1.0);
                assert!((even / bytes - 1.0).abs() < 0.02, "{what}: {even} and {bytes}");
            }
        }
    }
}

/// A file system on bare flash, in which events are logged.
#[test]
fn the_blocks_of_a_file_system_on_flash_wear_as_predicted() {
    let text = "[workload.event_recorder]\n[fs.yaffs]\n[device]\nprofile = \"k9f5608\"\ncapacity = \"2 MiB\"\n\
                model = \"counting\"\n";
    let run = |transactions: u64, endurance: f64| {
        let sets = [
            format!("workload.event_recorder.transactions={transactions}"),
            format!("device.rules.endurance={endurance}"),
        ];
        record(text, &[&sets[0], &sets[1]])
    };
    let long = run(16_000, 100_000.0);
    let reached = long.lifetime.as_ref().unwrap().cycles;
    assert!(reached > 80.0, "{reached}");
    let told = run(5_000, reached.round()).lifetime.unwrap();
    let bytes = long.host.written_sectors as f64 * 512.0 * reached.round() / reached;
    let even = told.even.unwrap_or_else(|| panic!("{told:?}")).host_bytes;
    assert!((even / bytes - 1.0).abs() < 0.02, "{even} and {bytes}, {reached} cycles");
    let bounds = told.first_block.unwrap().host_bytes;
    assert!(bounds[0] < even && bounds[1] <= even * 1.02, "{bounds:?} and {even}");
}

/// 19 of 20 seeds; in the quick form skewed writes only over two FTLs.
#[test]
fn the_most_worn_block_is_at_its_endurance_within_the_predicted_bounds() {
    for ftl in FTLS {
        for workload in WORKLOADS {
            if workload != "uniform" && !["page", "bast"].contains(&ftl) && std::env::var_os("NANDLAB_LONG").is_none() {
                continue;
            }
            let (short, long) = (requests(ftl, workload, "none", SHORT), requests(ftl, workload, "none", 100.0));
            let mut told_of = 0;
            let held = (0..20).filter(|&seed| {
                let worn: Record = record(&text(ftl, workload, "none", long, seed), &[]);
                let most = worn.wear.max;
                let told =
                    life(&text(ftl, workload, "none", short, seed), &[&format!("device.rules.endurance={most}")]);
                let Some(first) = told.first_block else { return true };
                told_of += 1;
                // The block came there with one of the bytes since its cycle before.
                let end = worn.host.written_sectors as f64 * 512.0;
                let begin = end * f64::from(most - 1) / f64::from(most);
                first.host_bytes[0] <= end && begin <= first.host_bytes[1]
            });
            let held = held.count();
            println!("{ftl}, {workload}: {held} of 20, {told_of} told");
            assert!(held >= 19 && told_of >= 15, "{ftl}, {workload}: {held} of 20, {told_of} told");
        }
    }
}

#[test]
fn a_run_too_short_to_say_tells_no_figure() {
    let few = |requests: u64| life(&text("page", "uniform", "none", requests, 1), &["host.daily=1 GB"]);
    // The device is full for the first time, and collection has begun.
    let told = few(2_800);
    assert!(told.even.is_none() && told.first_block.is_none() && told.one_percent.is_none(), "{told:?}");
    assert!(told.too_short.is_some());
    let notices = record(&text("page", "uniform", "none", 2_800, 1), &["host.daily=1 GB"]).notices;
    assert!(notices.iter().any(|notice| notice.contains("too short to tell")), "{notices:?}");
    let nothing = record(&text("page", "uniform", "none", 100, 1), &[]).lifetime;
    assert_eq!(nothing, None, "no block was erased");
}

/// Popular pages are written again and again while others are written for the first time: each of these takes spare room.
#[test]
fn a_device_of_which_a_part_was_never_written_tells_no_figure() {
    let text =
        "[workload.zipf]\n[ftl.page]\n[device]\nmodel = \"counting\"\ncapacity = \"32 MiB\"\nover_provisioning = 0.2\n\
                [device.rules]\nendurance = 100\n[device.shape]\npages_per_block = 64\n";
    let run = |requests: u64, fill: &str| {
        let sets = [format!("workload.zipf.requests={requests}"), format!("precondition.fill={fill}")];
        life(text, &sets.each_ref().map(String::as_str))
    };
    for requests in [12_000, 16_000, 20_000, 24_000, 28_000, 32_000, 40_000, 80_000] {
        let told = run(requests, "none");
        assert!(told.even.is_none() && told.first_block.is_none(), "{requests}: {told:?}");
        assert!(told.too_short.is_some(), "{requests}");
    }
    assert!(run(20_000, "none").too_short.unwrap().contains("were never erased"));
    // A filled device is as it will be, though some blocks were never erased: as a run of 290 cycles a block says.
    let worn = run(800_000, "sequential").even.unwrap().host_bytes;
    let told = run(12_000, "sequential").even.unwrap().host_bytes;
    assert!((told / worn - 1.0).abs() < 0.02, "{told} and {worn}");
}

/// 4 KiB every minute for two days: 2,880 writes are 5.9 MB a day.
#[test]
fn a_trace_of_days_tells_its_own_years() {
    let lines: String = (0..2_880).map(|at| format!("{},W,{},8\n", at * 60_000_000u64, (at * 8) % 1024)).collect();
    let text = format!(
        "[workload.trace]\nformat = \"csv\"\ntext = \"\"\"\ntime_us,op,sector,sectors\n{lines}\"\"\"\n[ftl.page]\n[device]\n\
         model = \"counting\"\ncapacity = \"1 MiB\"\nover_provisioning = 0.5\n[device.shape]\npages_per_block = 16\n"
    );
    for arrival in ["closed", "recorded"] {
        let told = life(&text, &[&format!("host.arrival={arrival}")]);
        let a_day = 2_880.0 * 4096.0 / (2_879.0 / 1_440.0);
        assert_eq!(told.daily_bytes, Some(a_day), "{arrival}");
        let even = told.even.unwrap();
        assert_eq!(even.years, Some(even.host_bytes / (a_day * 365.0)), "{arrival}");
    }
    let stated = life(&text, &["host.daily=1 GB"]);
    assert_eq!(stated.daily_bytes, Some(1e9));
}
