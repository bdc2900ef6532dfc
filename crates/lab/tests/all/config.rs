//! Experiment parsing: equal forms, refusals, and their messages.

use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::{ConfigError, LabError, Outputs};
use std::path::Path;

const SMALL: &str = r#"
seed = 7
[workload.zipf]
requests = 5000
size = [{ size = "4 KiB", weight = 3 }, { size = "16 KiB", weight = 1 }]
footprint = 0.5
[host]
queue_depth = 4
[precondition]
fill = "random"
overwrites = 0.5
[ftl.page]
reserve_blocks = 3
[device]
capacity = "16 MiB"
over_provisioning = 0.2
[device.shape]
pages_per_block = 32
[device.energy]
read_nj = 1
program_nj = 2
erase_nj = 3
"#;

/// The experiment of a text.
pub fn parse(text: &str) -> Result<Experiment, LabError> {
    crate::support::parse(text, &[])
}

/// Why a text is refused.
pub fn error(text: &str) -> ConfigError {
    crate::support::refused(text, &[])
}

/// A small experiment with other lines for its parts.
pub fn with(workload: &str, rest: &str) -> String {
    format!("[workload.uniform]\n{workload}\n[ftl.page]\n{rest}")
}

#[test]
fn toml_and_json_give_equal_experiments() {
    let json = r#"{"seed": 7,
        "workload": {"zipf": {"requests": 5000, "footprint": 0.5,
            "size": [{"size": 4096, "weight": 3}, {"size": "16 KiB", "weight": 1.0}]}},
        "host": {"queue_depth": 4.0}, "precondition": {"fill": "random", "overwrites": 0.5},
        "ftl": {"page": {"reserve_blocks": 3}},
        "device": {"capacity": 16777216, "over_provisioning": 0.2, "shape": {"pages_per_block": 32},
            "energy": {"read_nj": 1, "program_nj": 2.0, "erase_nj": 3}, "blocks_per_plane": null}}"#;
    let from_json = Experiment::parse(json, Format::Json, "x.json", Path::new("."), &[]).unwrap();
    assert_eq!(parse(SMALL).unwrap().to_json(), from_json.to_json());
}

#[test]
fn a_resolved_experiment_resolves_to_itself() {
    for text in [
        SMALL.to_owned(),
        with("", ""),
        with("", "[device]\nprofile = \"k9k4g\"\nover_provisioning = 0.5"),
        with("", "[device]\nprofile = \"wap\"\ncapacity = \"10 MiB\"\nblocks_per_plane = 100\nmodel = \"bytes\"\n[device.faults]\nfactory_bad_share = 0.01"),
        with("", "[device]\nover_provisioning = 0.3\n[device.shape]\nblocks_per_plane = 77"),
    ] {
        let once = parse(&text).unwrap().to_json();
        let twice = Experiment::parse(&once, Format::Json, "once", Path::new("."), &[]).unwrap();
        assert_eq!(once, twice.to_json());
        assert_eq!(parse(&text).unwrap().sizing().unwrap().geometry, twice.sizing().unwrap().geometry);
    }
}

#[test]
fn every_default_is_explicit_in_a_resolved_experiment() {
    let resolved: serde_json::Value = serde_json::from_str(&parse(&with("", "")).unwrap().to_json()).unwrap();
    assert_eq!(resolved["seed"], 1);
    assert_eq!(resolved["workload"]["uniform"]["requests"], 100_000);
    assert_eq!(resolved["host"]["arrival"], "closed");
    assert_eq!(resolved["precondition"]["fill"], "none");
    assert_eq!(resolved["ftl"]["page"]["victim"], "greedy");
    assert_eq!(resolved["device"]["profile"], "generic");
    assert_eq!(resolved["device"]["over_provisioning"], 0.07);
    assert_eq!(resolved["device"]["model"], "timed");
    assert_eq!(resolved["device"]["timing"]["program_us"], 500.0);
}

#[test]
fn sizes_follow_from_each_allowed_combination() {
    let sizes = |device: &str| {
        let sizing = parse(&with("", device)).unwrap().sizing().unwrap();
        (sizing.geometry.blocks(), sizing.logical_pages)
    };
    // The generic profile: 2048 blocks of 128 pages of 4 KiB.
    assert_eq!(sizes("[device]\ncapacity = \"50 MiB\"\nover_provisioning = 0.07"), (107, 12_800), "exactly 107 blocks");
    assert_eq!(sizes("[device]\ncapacity = \"50 MiB\""), (107, 12_800));
    assert_eq!(sizes("[device]\ncapacity = \"50 MiB\"\nblocks_per_plane = 200"), (200, 12_800));
    assert_eq!(sizes("[device]\nover_provisioning = 0.25"), (2048, 209_715));
    assert_eq!(sizes("[device]\nover_provisioning = 0.25\n[device.shape]\nblocks_per_plane = 100"), (100, 10_240));
    assert_eq!(sizes(""), (2048, 244_994));
    // 32 dies: rounded up to whole blocks on each.
    assert_eq!(sizes("[device]\nprofile = \"generic-8x4\"\ncapacity = \"1 GiB\"\nover_provisioning = 0.28").0, 1312);
}

#[test]
fn a_misspelt_key_has_line_column_and_suggestion() {
    let error = error("seed = 1\n[workload.uniform]\nreqeusts = 5\n[ftl.page]\n");
    assert_eq!((error.file.as_deref(), error.line, error.column), (Some("x.toml"), Some(3), Some(1)));
    assert_eq!(error.key.as_deref(), Some("workload.uniform.reqeusts"));
    assert!(error.message.contains("[workload.uniform] has no key `reqeusts`; did you mean `requests`?"), "{error}");
}

#[test]
fn a_key_one_table_away_is_named_with_its_full_path() {
    let base = "[workload.uniform]\nrequests = 5\n[ftl.page]\n";
    for (text, expected) in [
        ("[device]\npage_bytes = 4096", "[device] has no key `page_bytes`; did you mean `device.shape.page_bytes`?"),
        ("[device]\nchannels = \"two\"", "did you mean `device.shape.channels`?"),
        ("[device]\nread_us = 50", "did you mean `device.timing.read_us`?"),
        ("[device.shape]\ncapacity = \"64 MiB\"", "did you mean `device.capacity`?"),
        ("[device.faults]\nmodel = \"timed\"", "did you mean `device.model`?"),
        ("[host]\nseed = 3", "[host] has no key `seed`; did you mean `seed` above all tables?"),
        ("[device]\nblocks_per_plane = 64", "the number of blocks is device.shape.blocks_per_plane"),
        // Nothing has it, and what takes any key is no table for it.
        ("[device]\nwrong = 1", "[device] has no key `wrong` (known: profile"),
    ] {
        let error = error(&format!("{base}{text}\n"));
        assert!(error.message.contains(expected), "{text}: {error}");
    }
    let error = error(&format!("queue_depth = 4\n{base}"));
    assert!(error.message.contains("has no key `queue_depth`; did you mean `host.queue_depth`?"), "{error}");
}

/// A text, the key at fault, line and column, and part of the message.
type Mistake<'a> = (&'a str, &'a str, Option<(usize, usize)>, &'a str);

fn refused(mistakes: &[Mistake<'_>]) {
    for &(text, key, place, message) in mistakes {
        let error = error(text);
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(error.key.as_deref().unwrap_or(""), key, "{text}: {error}");
        assert_eq!(error.line.zip(error.column), place, "{text}: {error}");
    }
}

#[test]
fn every_mistake_gets_a_sentence_with_its_place() {
    refused(&[
        ("[workload.uniform]\n", "", None, "the experiment needs the key `ftl`, such as [ftl.page]"),
        (
            "workload = 3\n[ftl.page]",
            "workload",
            Some((1, 12)),
            "expected one of sequential, uniform, zipf, hot_cold, cachelib, fio, tenants, trace, inserts, ycsb, load_update, \
             keys, postmark, directories, large_files, phone, fax, event_recorder, camera, files, given 3",
        ),
        ("[workload.unifrom]\n[ftl.page]", "workload", Some((1, 2)), "given `unifrom`; did you mean `uniform`?"),
        (
            "[workload.uniform]\n[workload.zipf]\n[ftl.page]",
            "workload.zipf",
            Some((2, 11)),
            "expected exactly one of sequential, uniform, zipf, hot_cold, cachelib, fio, tenants, trace, inserts, ycsb, \
             load_update, keys, postmark, directories, large_files, phone, fax, event_recorder, camera, files; found uniform, zipf",
        ),
        (&with("size = \"4 KIB\"", ""), "workload.uniform.size", Some((2, 8)), "`KIB` is no unit of bytes"),
        (&with("size = 1000", ""), "workload.uniform.size", Some((2, 8)), "workload.uniform.size = 1000 B cannot work"),
        (
            &with("size = [{ size = 512, weight = -1 }]", ""),
            "workload.uniform.size[0].weight",
            Some((2, 32)),
            "a weight is a number of 0 or more",
        ),
        (
            &with("read_share = 1.5", ""),
            "workload.uniform.read_share",
            Some((2, 14)),
            "a share is a number from 0 to 1",
        ),
        (
            &with("requests = \"many\"", ""),
            "workload.uniform.requests",
            Some((2, 12)),
            "expected a whole number from 0 to 18446744073709551615, given \"many\"",
        ),
        (&with("", "[host]\nqueue_depth = 0"), "host.queue_depth", Some((5, 15)), "1 to 65536"),
        (
            &with("", "[host]\narrival = \"recorded\""),
            "host.arrival",
            Some((5, 11)),
            "set workload.uniform.requests_per_s",
        ),
        (
            &with("", "[precondition]\nfill = \"seqential\""),
            "precondition.fill",
            Some((5, 8)),
            "did you mean `sequential`?",
        ),
        (&with("", "[precondition]\noverwrites = -1"), "precondition.overwrites", Some((5, 14)), "from 0 to 10000"),
        (&with("", "reserve_blocks = 0"), "ftl.page.reserve_blocks", Some((4, 18)), "would deadlock"),
    ]);
}

#[test]
fn every_mistake_deep_in_a_table_does_too() {
    refused(&[
        (&with("", "victim = \"gredy\""), "ftl.page.victim", Some((4, 10)), "did you mean `greedy`?"),
        (
            &with("", "[device]\nprofile = \"genric\""),
            "device.profile",
            Some((5, 11)),
            "there is no profile `genric`; did you mean `generic`?",
        ),
        (
            &with("", "[device]\nprofile = \"no/such.toml\""),
            "device.profile",
            Some((5, 11)),
            "no/such.toml: there is no such file",
        ),
        (&with("", "[device]\ncapacity = \"64 MB/s\""), "device.capacity", Some((5, 12)), "`MB/s` is no unit of bytes"),
        (&with("", "[device]\ncapacity = 100"), "device.capacity", Some((5, 12)), "a page of this device has 4096 B"),
        (
            &with("", "[device]\ncapacity = \"1 TiB\"\nblocks_per_plane = 10"),
            "device.capacity",
            Some((5, 12)),
            "gives the device 5 MiB in all",
        ),
        (
            &with("", "[device]\nover_provisioning = 0"),
            "device.over_provisioning",
            Some((5, 21)),
            "above 0 and up to 100",
        ),
        (
            &with("", "[device]\ncapacity = 5\nblocks_per_plane = 3\nover_provisioning = 0.1"),
            "device.blocks_per_plane",
            Some((6, 1)),
            "give capacity with over_provisioning",
        ),
        (
            &with("", "[device]\nblocks_per_plane = 3"),
            "device.blocks_per_plane",
            Some((5, 1)),
            "does not go with what else is given",
        ),
        (
            &with("", "[device]\ncapacity = 5\n[device.shape]\nblocks_per_plane = 3"),
            "device.shape.blocks_per_plane",
            Some((7, 1)),
            "contradicts device.capacity",
        ),
        (
            &with("", "[device.shape]\npage_bytes = 3000"),
            "device.shape.page_bytes",
            Some((5, 14)),
            "device.shape.page_bytes = 3000 cannot work",
        ),
        (
            &with("", "[device.shape]\npages_per_blok = 3"),
            "device.shape.pages_per_blok",
            Some((5, 1)),
            "did you mean `pages_per_block`?",
        ),
        (&with("", "[device.timing]\nread_us = -5"), "device.timing.read_us", Some((5, 11)), "-5 is not in the range"),
        (
            &with("", "[device.rules]\npartial_programs = 0"),
            "device.rules.partial_programs",
            Some((5, 20)),
            "a page is programmed at least once",
        ),
        (&with("", "[device.energy]\nread_nj = 5"), "device.energy", Some((4, 9)), "needs the key `program_nj`"),
        (&with("", "[device.faults]\nrber = 5"), "device.faults.rber", Some((5, 1)), "has no key `rber`"),
    ]);
}

/// A device with four dies of 39 blocks, where the host places.
#[test]
fn placements_that_a_device_cannot_have_are_refused() {
    let text =
        "[workload.uniform]\nrequests = 10\n[ftl.page]\nplacement.fdp.handles = 8\n[device]\ncapacity = \"13 MiB\"\n\
                over_provisioning = 0.5\n[device.shape]\nchannels = 4\ndies_per_channel = 1\npages_per_block = 32\n";
    let cases: [(&[&str], &str); 15] = [
        (&["ftl.page.placement.fdp.handles=129"], "ftl.page.placement.fdp.handles = 129: it is at least 1 and at most 128"),
        (&["ftl.page.placement.fdp.groups=0"], "ftl.page.placement.fdp.groups = 0: it is at least 1"),
        (&["ftl.page.placement.fdp.groups=3"], "ftl.page.placement.fdp.groups = 3: each group has as many dies"),
        (&["ftl.page.placement.fdp.unit_blocks=3"], "unit_blocks = 3: a group has 4 dies"),
        (&["ftl.page.placement.fdp.persistent=[128]"], "persistent: there is no handle 128: a device has 128 at most"),
        (&["ftl.page.placement.fdp.persistent=[9]"], "persistent names handle 9: with handles = 8 there are 0 to 7"),
        (&["ftl.page.placement.fdp.persistent=most"], "persistent: expected \"all\", \"none\" or a list of handles"),
        (&["ftl.page.placement.fdp.origins={ fatt = 1 }"], "origins: `fatt` is no origin; did you mean `fat`?"),
        (&["ftl.page.placement.fdp.origins={ fat = 8 }"], "origins names handle 8: with handles = 8 there are 0 to 7"),
        (&["ftl.page.placement.fdp.origins={ fat = 300 }"], "origins: there is no handle 300: a device has 128 at most"),
        (
            &["ftl.page.slc_cache=dynamic"],
            "ftl.page.placement.fdp fills reclaim units, and ftl.page.slc_cache.dynamic would take the host's pages first",
        ),
        (&["ftl.page.wear=threshold"], "and ftl.page.wear = \"threshold\" would move cold data"),
        (
            &["ftl.page.placement.fdp.handles=64"],
            "needs 69 blocks on each die: 64 for the units of the handles, 1 for the units of moved pages, 2 in reserve, one \
             of data and one to collect; a die of this device has 39",
        ),
        (&["device.over_provisioning=0.01"], "ftl.page can export"),
        (&["workload.uniform.placement=128"], "`128` is no placement: a handle is a number from 0 to 127"),
    ];
    assert!(crate::support::parse(text, &[]).is_ok());
    for (sets, expected) in cases {
        let said = crate::support::refused(text, sets).to_string();
        assert!(said.contains(expected), "{sets:?}: {said}");
    }
}

#[test]
fn memories_of_a_controller_are_sizes() {
    refused(&[
        (
            &with("", "[device.controller]\nsram_bytes = 0"),
            "device.controller.sram_bytes",
            Some((5, 14)),
            "0 is no size of a memory: expected 1 to",
        ),
        (
            &with("", "[device.controller]\nlatency_us = -5"),
            "device.controller.latency_us",
            Some((5, 14)),
            "-5 is not in the range",
        ),
        (
            &with("", "[device.controller]\nwrite_buffer_protected = true"),
            "device.controller.write_buffer_protected",
            Some((5, 26)),
            "there is no write buffer to protect",
        ),
        (
            &with("", "[device.controller]\nwrite_list_over_bytes = -1"),
            "device.controller.write_list_over_bytes",
            Some((5, 25)),
            "-1 is no size of a memory: expected 0 to",
        ),
        (&with("", "[device.link]\nread_gb_s = 5"), "device.link.read_gb_s", Some((5, 1)), "did you mean `read_mb_s`?"),
    ]);
}

#[test]
fn times_that_contradict_each_other_are_refused() {
    let timing = |lines: &str| with("", &format!("[device.timing]\n{lines}"));
    for (lines, key, message) in [
        ("order = \"issue\"", "order", "\"issue\" cannot work: it gave each operation its times when it was issued"),
        ("order = \"event\"", "order", "the only one is \"events\", and the key may be left out"),
        ("program_pages = 4\ncopy = \"copyback\"", "program_pages", "set device.timing.copy = \"external\""),
        (
            "page_types = { read_us = [40, 50, 60] }",
            "page_types",
            "a cell of device.rules.bits_per_cell = 1 has as many",
        ),
        ("page_types = { read_us = [] }", "page_types", "0 times cannot work: a cell holds 1 to 5 bits"),
        ("program_pages = 0", "program_pages", "a die programs 1 to 4096 pages at once"),
    ] {
        let error = error(&timing(lines));
        assert!(error.message.contains(message), "{lines}: {error}");
        assert!(error.key.as_deref().unwrap_or("").starts_with(&format!("device.timing.{key}")), "{lines}: {error:?}");
    }
}

#[test]
fn one_block_is_no_plural() {
    let one = "[device]\nover_provisioning = 0.1\n[device.shape]\nblocks_per_plane = 1";
    let page = error(&with("", one));
    assert!(page.message.contains("a die of this device has 1 block, and"), "{page}");
    let block = error(&format!("[workload.uniform]\n[ftl.block]\n{one}"));
    assert!(block.message.contains("this device has 1 block, and"), "{block}");
}

#[test]
fn a_trace_that_cannot_be_read_names_the_key_too() {
    let text = "[workload.trace]\npath = \"none.csv\"\n[ftl.page]";
    let control = nandlab_lab::Control::default();
    let error = |sets: &[String]| {
        let experiment = Experiment::parse(text, Format::Toml, "x.toml", Path::new("."), sets).unwrap();
        let error = nandlab_lab::run(&experiment, Path::new("."), &control, Outputs::default()).unwrap_err();
        let inspected = nandlab_lab::inspect(&experiment, Path::new(".")).unwrap_err();
        assert_eq!(inspected, error);
        assert!(matches!(error, LabError::Trace(_)), "{error}");
        error.to_string()
    };
    assert!(error(&[]).ends_with(" (workload.trace.path in x.toml, line 2)"), "{}", error(&[]));
    let set = "workload.trace.path=no.csv".to_owned();
    assert!(error(&[set]).ends_with(" (workload.trace.path in --set workload.trace.path=no.csv)"));
}

#[test]
fn seeds_are_the_same_in_both_formats() {
    let toml = |seed: &str| parse(&format!("seed = {seed}\n{}", with("", ""))).map(|experiment| experiment.seed);
    let json = |seed: &str| {
        let text = format!("{{\"seed\": {seed}, \"workload\": {{\"uniform\": {{}}}}, \"ftl\": {{\"page\": {{}}}}}}");
        Experiment::parse(&text, Format::Json, "x.json", Path::new("."), &[]).map(|experiment| experiment.seed)
    };
    for seed in ["0", "9223372036854775808", "18446744073709551615"] {
        let (toml, json) = (toml(seed).unwrap(), json(seed).unwrap());
        assert_eq!((toml.to_string().as_str(), json), (seed, toml));
    }
    for seed in ["-1", "18446744073709551616", "0.5"] {
        let range = " 18446744073709551615, given ";
        for error in [toml(seed).unwrap_err().to_string(), json(seed).unwrap_err().to_string()] {
            assert!(error.contains("seed: expected a whole number from") && error.contains(range), "{error}");
        }
    }
}

#[test]
fn an_endurance_that_changes_no_operation_is_told() {
    let notices = |device: &str| parse(&with("", device)).unwrap().notices;
    let told = notices("[device.rules]\nendurance = 5");
    assert!(
        told[0].starts_with("device.rules.endurance = 5 changes no operation, only the lifetime") && told.len() == 1,
        "{told:?}"
    );
    assert_eq!(notices("[device.rules]\nendurance = 5\n[device.faults]\nfactory_bad_share = 0.01").len(), 1);
    assert_eq!(
        notices("[device.rules]\nendurance = 5\n[device.faults]\nbit_errors = { rber = 1e-5, ecc_bits = 8 }"),
        [""; 0]
    );
    let failing = "[device.rules]\nendurance = 5\n[device.faults]\nerase_failure_rate = 1e-5\nfailure_growth = 2";
    assert_eq!(notices(failing), [""; 0]);
    assert_eq!(notices("[device.rules]\npartial_programs = 2"), [""; 0], "that of the profile");
}

#[test]
fn overrides_reach_every_key_and_are_named_in_errors() {
    let parse = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        Experiment::parse(SMALL, Format::Toml, "x.toml", Path::new("."), &sets)
    };
    let experiment =
        parse(&["device.capacity=32MiB", "seed=9", "ftl=page", "workload={ sequential = { requests = 3 } }"]);
    let resolved: serde_json::Value = serde_json::from_str(&experiment.unwrap().to_json()).unwrap();
    assert_eq!(resolved["device"]["capacity"], "32 MiB");
    assert_eq!(resolved["seed"], 9);
    assert_eq!(resolved["ftl"]["page"]["reserve_blocks"], 2, "the name alone means the defaults");
    assert_eq!(resolved["workload"]["sequential"]["requests"], 3);
    let error = parse(&["device.capacity=32 MIB"]).unwrap_err().to_string();
    assert!(error.starts_with("--set device.capacity=32 MIB: device.capacity: `MIB` is no unit of bytes"), "{error}");
    let error = parse(&["ftl.pge.victim=greedy"]).unwrap_err().to_string();
    assert!(error.starts_with("--set ftl.pge.victim=greedy: ftl.pge: expected one of page, block, "), "{error}");
    assert!(error.ends_with(", given `pge`; did you mean `page`?"), "{error}");
    let error = parse(&["ftl.block.reserve_blocks=2"]).unwrap_err().to_string();
    assert!(
        error.starts_with("--set ftl.block.reserve_blocks=2: ftl: expected exactly one of page, block, "),
        "{error}"
    );
    assert!(error.ends_with("; found page, block"), "{error}");
    let error = parse(&["device.capactiy=1"]).unwrap_err().to_string();
    assert!(error.contains("did you mean `capacity`?"), "{error}");
}

#[test]
fn a_capacity_between_pages_is_rounded_down_with_a_notice() {
    let experiment = parse(&with("", "[device]\ncapacity = 100_000_000")).unwrap();
    assert_eq!(experiment.sizing().unwrap().logical_bytes(), 24_414 * 4096);
    assert_eq!(experiment.notices.len(), 1);
    assert!(experiment.notices[0].contains("rounded down to 97656 KiB"), "{:?}", experiment.notices);
}

#[test]
fn profiles_of_ones_own_are_read_and_their_mistakes_are_theirs() {
    let folder = std::env::temp_dir().join(format!("nandlab-profile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = nandlab_lab::profiles::LIST.iter().find(|profile| profile.name == "wap").unwrap().text;
    let text = format!("{text}\n[controller]\nsram_bytes = 4096\n");
    std::fs::write(folder.join("good.toml"), &text).unwrap();
    let parse = |name: &str| {
        let text = with("", &format!("[device]\nprofile = \"./{name}\"\ncapacity = \"64 MiB\""));
        Experiment::parse(&text, Format::Toml, "x.toml", &folder, &[])
    };
    let read = parse("good.toml").unwrap().device.profile;
    assert_eq!((read.name.as_str(), read.controller.and_then(|one| one.sram_bytes)), ("wap", Some(4096)));
    for (from, to, sentence) in [
        ("page_bytes =", "page_byets =", "did you mean `page_bytes`?"),
        ("page_bytes = 4096", "page_bytes = 3000", "shape.page_bytes = 3000 cannot work"),
        ("partial_programs =", "partial_programs = 0 #", "rules.partial_programs: 0 cannot work"),
        ("program_us =", "program_us = -1 #", "timing.program_us: -1 is not in the range"),
        ("sram_bytes =", "sram_bytes = -1 #", "controller.sram_bytes: -1 is no size of a memory"),
        ("sram_bytes = 4096", "sram_byte = 4096", "did you mean `sram_bytes`?"),
    ] {
        let bad = text.replace(from, to);
        assert_ne!(bad, text, "{from}");
        std::fs::write(folder.join("bad.toml"), &bad).unwrap();
        let line = bad.lines().position(|line| line.starts_with(to)).unwrap() + 1;
        let error = parse("bad.toml").unwrap_err().to_string();
        let place = format!("{}, line {line}, column ", folder.join("./bad.toml").display());
        assert!(error.starts_with(&place) && error.contains(sentence), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
