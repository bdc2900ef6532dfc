//! What limits a run: how busy each die and each channel was, and the part that requests waited for longest. Compared with
//! the operation log, and with latencies.

use crate::support::{parse, record};
use nandlab_lab::{run, Control, Outputs};
use nandlab_nand::random::Random;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const READ: i64 = 50_000;
const PROGRAM: i64 = 500_000;
const ERASE: i64 = 3_000_000;
/// Bytes of a page with its spare area.
const PAGE_BYTES: f64 = 4224.0;
const PAGES_PER_BLOCK: u64 = 32;

/// A random experiment.
#[derive(Debug)]
struct Drawn {
    text: String,
    channels: usize,
    dies: usize,
    /// Pages of a request.
    pages: i64,
    transfer: i64,
}

/// An FTL, a geometry and a load. With `bus`, a channel takes time; only the page map is drawn then, whose operations the
/// log describes in full.
fn draw(random: &mut Random, bus: bool) -> Drawn {
    let one_of = |random: &mut Random, list: &[&'static str]| list[random.below(list.len() as u64) as usize];
    let ftl = if bus { "page" } else { one_of(random, &["page", "dftl", "bast", "fast"]) };
    let pages = if ftl == "page" { one_of(random, &["1", "4"]) } else { "1" };
    let (channels, per_channel) = (1 + random.below(4), 1 + random.below(4));
    let depth = one_of(random, &["1", "2", "7", "32"]);
    let reads = one_of(random, &["0.0", "0.5", "1.0"]);
    let ns_per_byte = if bus { one_of(random, &["2.5", "40", "160"]) } else { "0" };
    let dftl = if ftl == "dftl" { "\ncmt_entries = 512" } else { "" };
    let path = [
        "",
        "[device.link]\nread_mb_s = 30\nwrite_mb_s = 10\n",
        "[device.controller]\nread_command_us = 60\nwrite_command_us = 60\n",
        "[device.link]\nread_mb_s = 500\n[device.controller]\nread_command_us = 2\nlatency_us = 5\n",
    ][random.below(4) as usize];
    let firmware = one_of(random, &["0", "0", "60"]);
    let text = format!(
        "seed = {}\n[workload.uniform]\nrequests = 3000\nread_share = {reads}\nsize = {size}\nalignment = {size}\n[host]\n\
         queue_depth = {depth}\nfirmware_us = {firmware}\n[precondition]\nfill = \"random\"\n[ftl.{ftl}]{dftl}\n[device]\n\
         profile = \"generic-8x4\"\ncapacity = \"16 MiB\"\nover_provisioning = 1.2\n[device.shape]\nchannels = {channels}\n\
         dies_per_channel = {per_channel}\npages_per_block = {PAGES_PER_BLOCK}\n[device.timing]\ncopy = \"copyback\"\n\
         transfer_ns_per_byte = {ns_per_byte}\n{path}",
        random.below(1000),
        size = 4096 * pages.parse::<u64>().unwrap(),
    );
    let transfer = (PAGE_BYTES * ns_per_byte.parse::<f64>().unwrap()).round() as i64;
    let dies = (channels * per_channel) as usize;
    Drawn { text, channels: channels as usize, dies, pages: pages.parse().unwrap(), transfer }
}

/// What the operation log tells of the workload.
#[derive(Debug, Default)]
struct Logged {
    /// By die, and by channel, ns.
    die: Vec<i64>,
    channel: Vec<i64>,
    /// For a die and for a channel, summed over the operations that requests wait for, ns.
    waits: (i64, i64),
}

/// A row of the log.
fn fields(line: &str) -> Vec<&str> {
    line.split(',').collect()
}

fn replay(log: &str, drawn: &Drawn) -> Logged {
    let rows: Vec<Vec<&str>> = log.lines().skip(1).map(fields).collect();
    // Where a copy reads.
    let die_of: BTreeMap<u64, usize> =
        rows.iter().map(|row| (row[5].parse().unwrap(), row[4].parse().unwrap())).collect();
    let mut found = Logged { die: vec![0; drawn.dies], channel: vec![0; drawn.channels], ..Logged::default() };
    // By die: ends, ready times, array and transfer times, and whether a request waits.
    let mut of_die = vec![Vec::new(); drawn.dies];
    for row in rows.iter().filter(|row| row[0] == "workload") {
        let [ready, end] = [1, 2].map(|at| row[at].parse::<i64>().unwrap());
        let die: usize = row[4].parse().unwrap();
        let (array, transfer) = match row[3] {
            "read" | "tail_read" => (READ, drawn.transfer),
            "program" => (PROGRAM, drawn.transfer),
            "erase" => (ERASE, 0),
            "copy" => {
                let from = die_of[&(row[7].parse::<u64>().unwrap() / PAGES_PER_BLOCK)];
                if from == die {
                    (READ + PROGRAM, 0)
                } else {
                    assert_eq!(drawn.transfer, 0, "these copies hold the bus");
                    found.die[from] += READ;
                    (PROGRAM, 0)
                }
            }
            other => panic!("{other} takes a time that is not told here"),
        };
        found.die[die] += array + transfer;
        found.channel[die % drawn.channels] += transfer;
        let is_waited_for = ["host", "read_modify_write", "map"].contains(&row[10]);
        assert!(!is_waited_for || row[3] != "copy");
        of_die[die].push((end, ready, array, transfer, is_waited_for));
    }
    for mut one in of_die {
        one.sort_unstable();
        let mut free = 0;
        for (end, ready, array, transfer, is_waited_for) in one {
            // A die does one after the other; where transfers take no time, nothing waits for a channel.
            let start = if drawn.transfer == 0 { end - array } else { ready.max(free) };
            free = end;
            if is_waited_for {
                found.waits.0 += start - ready;
                found.waits.1 += end - start - array - transfer;
            }
        }
    }
    found
}

/// Microseconds to ns.
fn ns(value: &Value) -> i64 {
    (value.as_f64().unwrap_or_else(|| panic!("{value} is no number")) * 1000.0).round() as i64
}

fn each_ns(value: &Value) -> Vec<i64> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list")).iter().map(ns).collect()
}

/// The largest, its place, and the mean, as shares of `time`.
fn shares(busy: &[i64], time: i64) -> (f64, u64, f64) {
    let most = *busy.iter().max().unwrap();
    let which = busy.iter().position(|&busy| busy == most).unwrap() as u64;
    let of = |busy: f64| busy / time as f64;
    (of(most as f64), which, of(busy.iter().sum::<i64>() as f64 / busy.len() as f64))
}

fn assert_shares(told: &Value, busy: &[i64], time: i64, about: &Drawn) {
    let (most, which, mean) = shares(busy, time);
    assert_eq!(each_ns(&told["busy_us"]), busy, "{about:?}");
    assert_eq!(told["which"], which, "{about:?}");
    for (name, expected) in [("most", most), ("mean", mean)] {
        let share = told[name].as_f64().unwrap();
        assert!((share - expected).abs() < 1e-9, "{name} {share}, not {expected}: {about:?}");
        assert!((0.0..=1.0).contains(&share), "{about:?}");
    }
}

/// The names of the parts, and how long requests waited for them.
fn waits(parts: &Value) -> Vec<(String, i64)> {
    let waits = parts["waits_us"].as_object().unwrap_or_else(|| panic!("waits are missing: {parts}"));
    waits.iter().map(|(name, us)| (name.clone(), ns(us))).collect()
}

#[test]
fn shares_and_waits_are_those_of_the_operation_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("ops.csv");
    let mut random = Random::new(11);
    let mut named = BTreeMap::new();
    for round in 0..60 {
        let drawn = draw(&mut random, round % 2 == 0);
        let outputs = Outputs { op_log: Some(&log), ..Outputs::default() };
        let logged = run(&parse(&drawn.text, &[]).unwrap(), Path::new("."), &Control::default(), outputs).unwrap();
        let found = replay(&std::fs::read_to_string(&log).unwrap(), &drawn);
        let told = serde_json::to_value(&logged).unwrap();
        let parts = &told["parts"];
        let time = ns(&told["time_us"]) + ns(&told["drain_us"]);
        assert_shares(&parts["dies"], &found.die, time, &drawn);
        assert_shares(&parts["channels"], &found.channel, time, &drawn);

        let mut waits: BTreeMap<String, i64> = waits(parts).into_iter().collect();
        for (name, summed) in [("dies", found.waits.0), ("channels", found.waits.1)] {
            let (mean, told) = (summed / drawn.pages, waits[name]);
            assert!((mean - told).abs() <= 3000, "{name} {told}, not {mean}: {drawn:?}");
            waits.insert(name.to_owned(), mean);
        }
        let longest = waits.iter().max_by_key(|(_, &wait)| wait).unwrap();
        if *longest.1 > 3000 {
            assert_eq!(parts["limit"], longest.0.as_str(), "{waits:?}: {drawn:?}");
            *named.entry(longest.0.clone()).or_insert(0) += 1;
        }
        // The device without a log has other code for many copies at once.
        let plain = serde_json::to_value(record(&drawn.text, &[])).unwrap();
        for kind in ["dies", "channels"] {
            assert_eq!(plain["parts"][kind]["busy_us"], parts[kind]["busy_us"], "{drawn:?}");
        }
    }
    let names: Vec<&String> = named.keys().collect();
    assert_eq!(
        names,
        ["channels", "dies", "firmware", "link_read", "link_write", "processor"],
        "each is named somewhere"
    );
}

/// Reads of a page each: what a request takes is service, or a wait for one of the parts.
#[test]
fn waits_and_service_add_up_to_the_latencies() {
    let mut random = Random::new(5);
    for round in 0..40 {
        let ftl = ["page]", "dftl]\ncmt_entries = 512"][round % 2];
        let (channels, per_channel, depth) = (1 + random.below(3), 1 + random.below(4), 1 + random.below(40));
        let [bus, link, command, firmware] = [20, 30, 20, 20].map(|most| random.below(1 + most));
        let text = format!(
            "[workload.uniform]\nrequests = 2000\nread_share = 1.0\n[host]\nqueue_depth = {depth}\nfirmware_us = {firmware}\n\
             [precondition]\nfill = \"random\"\n[ftl.{ftl}\n[device]\nprofile = \"generic-8x4\"\ncapacity = \"16 MiB\"\n\
             over_provisioning = 1.2\n[device.shape]\nchannels = {channels}\ndies_per_channel = {per_channel}\n\
             pages_per_block = {PAGES_PER_BLOCK}\n[device.timing]\ntransfer_ns_per_byte = {bus}\n\
             [device.controller]\nread_command_us = {command}\nlatency_us = 7\n[device.link]\nread_command_us = {link}"
        );
        let told = serde_json::to_value(record(&text, &[])).unwrap();
        let waits: i64 = waits(&told["parts"]).iter().map(|(_, wait)| wait).sum();
        let in_flash: i64 = each_ns(&told["parts"]["dies"]["busy_us"]).iter().sum();
        let outside = 2000 * (7_000 + 1000 * (link + command + firmware) as i64);
        let read = &told["latency_us"]["read"];
        assert_eq!(read["count"], 2000);
        let took = ns(&read["mean"]) * 2000;
        let sum = waits + in_flash + outside;
        // The write of a map page takes place beside the read of another.
        let beside = if told["flash"]["programs"] == 0 { 0 } else { in_flash };
        assert!(
            (-4000..=4000 + beside).contains(&(sum - took)),
            "{took}, not {waits} + {in_flash} + {outside}: {text}"
        );
        let limit = told["parts"]["limit"].as_str();
        assert!(depth == 1 || waits > 0 && limit.is_some(), "{text}");
    }
}

/// The host does not wait for the flash operations of a write that the controller answered before.
#[test]
fn writes_that_were_answered_early_wait_for_the_buffer_alone() {
    let text = "[workload.uniform]\nrequests = 2000\n[host]\nqueue_depth = 8\n[ftl.page]\n[device]\nprofile = \"generic-8x4\"\n\
         capacity = \"16 MiB\"\nover_provisioning = 1.2\n[device.shape]\nchannels = 1\ndies_per_channel = 2\n\
         pages_per_block = 32\n[device.controller]\nwrite_buffer_bytes = 65536";
    let told = serde_json::to_value(record(text, &[])).unwrap();
    let parts = &told["parts"];
    let longest: Vec<_> = waits(parts).into_iter().filter(|(_, wait)| *wait > 0).collect();
    assert_eq!(longest.len(), 1, "{longest:?}");
    assert_eq!(longest[0].0, "write_buffer");
    assert_eq!(parts["limit"], "write_buffer");
    let took = told["latency_us"]["write"]["mean"].as_f64().unwrap() * 2000.0;
    assert!((took * 1000.0 - longest[0].1 as f64).abs() < 2000.0, "{took} {longest:?}");
    assert!(parts["dies"]["mean"].as_f64().unwrap() > 0.9, "{parts}");
}

/// The map pages are on four dies of 32, and all reads need them: these dies work nearly all the time. Each has a fourth of
/// the map reads, and like the others a 32nd of the reads of data.
#[test]
fn reads_of_a_map_on_flash_name_the_dies_that_hold_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("ops.csv");
    let text = "[workload.uniform]\nrequests = 60_000\nread_share = 1.0\n[host]\nqueue_depth = 1024\n[precondition]\n\
         fill = \"sequential\"\n[ftl.dftl]\n[device]\nprofile = \"generic-8x4\"\ncapacity = \"4 GiB\"\n[device.link]\n\
         read_mb_s = 4000";
    let outputs = Outputs { op_log: Some(&log), ..Outputs::default() };
    let logged = run(&parse(text, &[]).unwrap(), Path::new("."), &Control::default(), outputs).unwrap();
    let told = serde_json::to_value(&logged).unwrap();
    let mut map_reads = BTreeMap::new();
    for line in std::fs::read_to_string(&log).unwrap().lines() {
        let row = fields(line);
        if row[0] == "workload" && row[10] == "map" {
            *map_reads.entry(row[4].parse::<u64>().unwrap()).or_insert(0) += 1;
        }
    }
    let dies = &told["parts"]["dies"];
    assert_eq!(told["parts"]["limit"], "dies");
    let (most, mean) = (dies["most"].as_f64().unwrap(), dies["mean"].as_f64().unwrap());
    assert!(most > 0.95, "{dies}");
    // A read of a map page takes up to a tenth less: it moves the page from the entry to the end.
    let expected = |map: f64| (map + 1.0) / 32.0 / (map / 4.0 + 1.0 / 32.0);
    assert!((expected(1.0)..expected(0.9)).contains(&(mean / most)), "{dies}");
    let mut by_work: Vec<(i64, u64)> = each_ns(&dies["busy_us"]).into_iter().zip(0..).collect();
    by_work.sort_unstable_by(|a, b| b.cmp(a));
    let busiest: BTreeSet<u64> = by_work[..map_reads.len()].iter().map(|&(_, die)| die).collect();
    assert_eq!(busiest, map_reads.into_keys().collect(), "{dies}");
    assert!(busiest.len() == 4 && busiest.contains(&dies["which"].as_u64().unwrap()), "{dies}");
    assert!(by_work[3].0 > 7 * by_work[4].0, "{by_work:?}");
    // Requests wait for nothing else as long.
    let all: i64 = waits(&told["parts"]).iter().map(|(_, wait)| wait).sum();
    assert!(ns(&told["parts"]["waits_us"]["dies"]) * 10 > all * 9, "{}", told["parts"]);
}

/// Early answers run ahead of flash, which is busy all the time and holds up nobody.
#[test]
fn flash_behind_early_answers_limits_nothing() {
    let run = |requests: u64, program_us: f64, think_us: f64| {
        let text = format!(
            "[workload.uniform]\nrequests = {requests}\n[host]\nthink_time_us = {think_us}\n[precondition]\n\
             fill = \"sequential\"\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"\nover_provisioning = 0.2\n[device.timing]\n\
             program_us = {program_us}\n[device.controller]\nwrite_buffer_bytes = 33554432\nwrite_buffer_protected = true\n\
             latency_us = 5\n"
        );
        serde_json::to_value(record(&text, &[])).unwrap()
    };
    let notice = |told: &serde_json::Value| told["notices"].to_string().contains("a buffer answered faster");
    let early = run(100, 500.0, 0.0);
    // 100 answers of 5 us, whatever a program takes.
    assert_eq!((early["time_us"].as_f64(), run(100, 100.0, 0.0)["time_us"].as_f64()), (Some(500.0), Some(500.0)));
    assert!(early["parts"]["waits_us"].as_object().unwrap().values().all(|wait| wait == 0.0));
    assert_eq!((&early["parts"]["limit"], notice(&early)), (&serde_json::Value::Null, false));
    // 99 gaps of 50 us more.
    assert_eq!(run(100, 500.0, 50.0)["time_us"], 5450.0);
    let long = run(5000, 500.0, 50.0);
    assert!(notice(&long), "{}", long["notices"]);
    assert!(long["drain_us"].as_f64() > long["time_us"].as_f64());
}
