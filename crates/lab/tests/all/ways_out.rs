//! Advice in messages about a device of the wrong size: the tests follow each piece of advice.

use crate::config::{error, parse, with};
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::{LabError, Outputs};
use std::path::Path;

/// Each piece of advice in a message, as overrides.
fn ways_out(message: &str) -> Vec<Vec<String>> {
    let ways = message.split(": set ").nth(1).unwrap_or_else(|| panic!("no way out: {message}"));
    let of_device = |way: &&str| way.starts_with("device.");
    let sets = |way: &str| way.split(" with ").map(str::to_owned).collect();
    ways.split(", or ").map(|way| way.trim_start_matches("set ")).filter(of_device).map(sets).collect()
}

/// Experiments too large for their device, and the keys in the advice.
const TOO_MUCH: &[(&str, &[&str])] = &[
    ("capacity = \"16 MiB\"\nover_provisioning = 0.07", &["device.over_provisioning", "device.capacity"]),
    ("capacity = \"16 MiB\"", &["device.over_provisioning", "device.capacity"]),
    ("capacity = \"16 MiB\"\nblocks_per_plane = 35", &["device.blocks_per_plane", "device.capacity"]),
    ("over_provisioning = 0.001", &["device.over_provisioning", "device.shape.blocks_per_plane"]),
    (
        "over_provisioning = 0.07\n[device.shape]\nblocks_per_plane = 30",
        &["device.over_provisioning", "device.shape.blocks_per_plane"],
    ),
    (
        "profile = \"generic-8x4\"\ncapacity = \"1 GiB\"\nover_provisioning = 0.05",
        &["device.over_provisioning", "device.capacity"],
    ),
    ("capacity = \"200 KB\"\n[device.shape]\npages_per_block = 3", &["device.over_provisioning", "device.capacity"]),
];

#[test]
fn every_way_out_of_a_wrong_size_works_when_it_is_followed() {
    for (ftl, at_least) in [("page", TOO_MUCH.len()), ("block", 4)] {
        let mut refused = 0;
        for (device, keys) in TOO_MUCH {
            let text = format!("[workload.uniform]\n[ftl.{ftl}]\n[device]\n{device}");
            let Err(LabError::Config(error)) = parse(&text) else { continue };
            refused += 1;
            let ways = ways_out(&error.message);
            let named: Vec<&str> = ways.iter().map(|sets| sets[0].split(' ').next().unwrap()).collect();
            assert_eq!(named, *keys, "{error}");
            for sets in ways {
                let followed = Experiment::parse(&text, Format::Toml, "x.toml", Path::new("."), &sets);
                assert!(followed.is_ok(), "{error}\n{sets:?}: {}", followed.unwrap_err());
            }
        }
        assert!(refused >= at_least, "{ftl} refuses {refused}");
    }
}

/// For a pool too large, the advice is a smaller pool, not a larger device.
#[test]
fn a_pool_too_large_is_answered_with_the_largest_that_works() {
    let text = |pool_blocks: &str| {
        let ftl = format!("placement.pools = {{ pages = 500, blocks = {pool_blocks} }}");
        with("", &format!("{ftl}\n[device]\ncapacity = \"64 MiB\"\nover_provisioning = 0.28\n[device.shape]\npages_per_block = 64"))
    };
    // Too few blocks for the second pool, none at all, and more than the device has.
    for pool_blocks in ["200", "330", "4294967295"] {
        let error = error(&text(pool_blocks));
        let (_, way) =
            error.message.split_once(": set ftl.page.placement.pools.blocks = ").unwrap_or_else(|| panic!("{error}"));
        let most: u32 = way.parse().unwrap_or_else(|_| panic!("{error}"));
        assert!(parse(&text(&most.to_string())).is_ok() && parse(&text(&(most + 1).to_string())).is_err(), "{error}");
    }
    // If no pool size helps, the advice names devices.
    let small = text("20").replace("0.28", "0.01");
    assert!(error(&small).message.contains("set device.over_provisioning = "), "{}", error(&small));
}

#[test]
fn a_way_out_is_the_least_that_works() {
    let text = with("", "[device]\ncapacity = \"16 MiB\"\nover_provisioning = 0.07");
    let error = error(&text);
    assert_eq!(error.key.as_deref(), Some("device.capacity"));
    assert!(error.message.starts_with("16 MiB (4096 pages) are to be exported from 35 blocks of 128 pages"), "{error}");
    let op: f64 =
        error.message.split("over_provisioning = ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(parse(&text.replace("0.07", &op.to_string())).is_ok(), "{error}");
    assert!(parse(&text.replace("0.07", &(op - 0.001).to_string())).is_err(), "{error}");
}

#[test]
fn every_way_out_of_a_trace_too_large_works_when_it_is_followed() {
    let folder = std::env::temp_dir().join(format!("nandlab-large-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("t.csv"), "time_us,op,sector,sectors\n0,W,1000000,8\n").unwrap();
    for device in [
        "capacity = \"64 MiB\"\nover_provisioning = 0.2",
        "capacity = \"64 MiB\"",
        "capacity = \"64 MiB\"\nblocks_per_plane = 150",
        "capacity = \"64 MiB\"\nblocks_per_plane = 2000",
        "over_provisioning = 0.2\n[device.shape]\nblocks_per_plane = 100",
        "profile = \"generic-8x4\"\ncapacity = \"64 MiB\"\nover_provisioning = 0.5\n[device.shape]\npages_per_block = 7",
    ] {
        let text = format!("[workload.trace]\npath = \"t.csv\"\n[ftl.page]\n[device]\nmodel = \"counting\"\n{device}");
        let run = |sets: &[String]| {
            let experiment = Experiment::parse(&text, Format::Toml, "x.toml", &folder, sets).unwrap();
            nandlab_lab::run(&experiment, &folder, &nandlab_lab::Control::default(), nandlab_lab::Outputs::default())
        };
        let Err(LabError::Config(error)) = run(&[]) else { panic!("{device}: the trace fits") };
        let place = (error.file.as_deref(), error.line, error.column, error.key.as_deref());
        assert_eq!(place, (Some("x.toml"), Some(2), Some(8), Some("workload.trace.path")), "{error}");
        let ways = ways_out(&error.message);
        assert_eq!(ways.len(), 1, "{error}");
        run(&ways[0]).unwrap_or_else(|wrong| panic!("{error}\n{ways:?}: {wrong}"));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_way_out_of_a_device_too_small_for_the_ftl_holds_the_workload_too() {
    let folder = std::env::temp_dir().join(format!("nandlab-way-out-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // 28 MiB.
    std::fs::write(folder.join("t.csv"), "time_us,op,sector,sectors\n0,W,57336,8\n").unwrap();
    let control = nandlab_lab::Control::default();
    for workload in ["[workload.trace]\npath = \"t.csv\"", "[workload.uniform]\nfootprint = \"28 MiB\"\nrequests = 9"] {
        for device in ["", "over_provisioning = 0.25", "blocks_per_plane = 3", "blocks_per_plane = 70"] {
            let text = format!("{workload}\n[ftl.page]\n[device]\ncapacity = \"1 MiB\"\n{device}");
            let run = |sets: &[String]| {
                let experiment = Experiment::parse(&text, Format::Toml, "x.toml", &folder, sets)?;
                nandlab_lab::run(&experiment, &folder, &control, Outputs::default())
            };
            let Err(LabError::Config(error)) = run(&[]) else { panic!("{text}") };
            // The generator's footprint error comes first.
            if error.message.contains("footprint") {
                continue;
            }
            let ways = ways_out(&error.message);
            assert!(!ways.is_empty(), "{error}");
            for sets in ways {
                run(&sets).unwrap_or_else(|wrong| panic!("{error}\n{sets:?}: {wrong}"));
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_device_that_nobody_would_want_is_no_way_out() {
    for capacity in ["1 GiB", "64 MiB"] {
        let text = format!("[device]\ncapacity = \"{capacity}\"\n[device.shape]\nchannels = 100000");
        let error = error(&with("", &text));
        assert!(error.message.ends_with("and one to collect need 6"), "{error}");
    }
}

#[test]
fn a_reserve_that_would_deadlock_comes_with_ways_out_that_work() {
    for (ftl, reserve) in [("page", 60), ("block", 60), ("block", 300)] {
        let at = |reserve: &str, device: &str| {
            parse(&format!(
                "[workload.uniform]\n[ftl.{ftl}]\n{reserve}\n[device]\n{device}\nshape.pages_per_block = 64"
            ))
        };
        let reserve = format!("reserve_blocks = {reserve}");
        let error = at(&reserve, "capacity = \"8 MiB\"").unwrap_err().to_string();
        let (why, ways) = error.split_once(": set ").unwrap_or_else(|| panic!("{error}"));
        assert!(why.contains("would deadlock"), "{error}");
        for way in ways.split(", or ") {
            let (key, value) = way.strip_prefix("device.").unwrap().split_once(" = ").unwrap();
            let capacity = if key == "capacity" { "" } else { "capacity = \"8 MiB\"\n" };
            at(&reserve, &format!("{capacity}{key} = {value}")).unwrap_or_else(|error| panic!("{way}: {error}"));
        }
        let most = why.split_once(&format!("takes ftl.{ftl}.reserve_blocks = ")).unwrap().1.split(' ').next().unwrap();
        let largest = at(&format!("reserve_blocks = {most}"), "capacity = \"8 MiB\"").unwrap_err().to_string();
        assert!(!largest.contains("would deadlock"), "{largest}");
        let more = most.parse::<u32>().unwrap() + 1;
        let more = at(&format!("reserve_blocks = {more}"), "capacity = \"8 MiB\"").unwrap_err().to_string();
        assert!(more.contains("would deadlock"), "{more}");
    }
}
