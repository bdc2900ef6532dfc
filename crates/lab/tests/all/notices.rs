//! Notices about unused options, and their absence if the run uses the options.

use crate::support::{parse, record, MIXED};
use nandlab_lab::config::{Experiment, Format};
use std::path::Path;

/// Random two-page writes by a host with think time, on a mostly full device: two dies with two planes each.
const WRITES: &str = r#"
[workload.uniform]
requests = 3000
size = "8 KiB"
[host]
think_time_us = 20000
[precondition]
fill = "sequential"
[ftl.page]
[device]
capacity = "24 MiB"
blocks_per_plane = 40
[device.shape]
dies_per_channel = 2
planes_per_die = 2
pages_per_block = 64
"#;

/// The notices for `sets` that contain `part`.
fn told(text: &str, sets: &[&str], part: &str) -> Vec<String> {
    record(text, sets).notices.into_iter().filter(|notice| notice.contains(part)).collect()
}

#[test]
fn gaps_that_are_too_short_to_collect_in() {
    const SENTENCE: &str = "ftl.page.idle.collect.blocks had no effect: no gap between requests was long enough";
    let asked = ["ftl.page.idle.collect={ blocks = 4, after_us = 0 }"];
    assert!(record(WRITES, &asked).gc.idle_runs > 0);
    assert_eq!(told(WRITES, &asked, SENTENCE), [""; 0]);
    // One block beyond the reserve is enough to finish the collections started by host writes.
    let one = ["ftl.page.idle.collect={ blocks = 1, after_us = 0 }"];
    assert!(record(WRITES, &one).gc.idle_steps > 0);
    assert_eq!(told(WRITES, &one, SENTENCE), [""; 0]);
    let hurried = [&asked[..], &["host.think_time_us=0"]].concat();
    assert!(record(WRITES, &hurried).gc.runs > 0);
    assert_eq!(told(WRITES, &hurried, SENTENCE).len(), 1);
    let never = [&asked[..], &["ftl.page.idle.collect.after_us=30000"]].concat();
    assert_eq!(told(WRITES, &never, SENTENCE).len(), 1);
    assert_eq!(told(WRITES, &["host.think_time_us=0"], "ftl.page.idle"), [""; 0], "nobody asked");
}

#[test]
fn planes_that_never_program_together() {
    const SENTENCE: &str = "plane_overlap = \"multi_plane\" had no effect: no two pages of a request";
    let joins = "device.timing.plane_overlap=multi_plane";
    let striped = [joins, "ftl.page.stripe=planes", "device.capacity=16 MiB"];
    assert!(record(WRITES, &striped).joined_programs > 0);
    assert_eq!(told(WRITES, &striped, SENTENCE), [""; 0]);
    let by_die = told(WRITES, &[joins], SENTENCE);
    assert!(by_die.len() == 1 && by_die[0].ends_with("; ftl.page.stripe = \"planes\" sends consecutive pages to them"));
    let one = told(WRITES, &[joins, "device.shape.planes_per_die=1", "device.capacity=12 MiB"], SENTENCE);
    assert!(one.len() == 1 && one[0].ends_with("; a die of the device has one"), "{one:?}");
    let other = told(WRITES, &[joins, "ftl=dftl"], SENTENCE);
    assert!(other.len() == 1 && !other[0].contains("stripe"), "{other:?}");
    assert_eq!(told(WRITES, &["device.timing.plane_overlap=none"], SENTENCE), [""; 0]);
}

#[test]
fn a_cache_that_was_full_from_the_start() {
    const SENTENCE: &str = ": the blocks of one bit a cell were full from the start";
    let text = r#"
[workload.uniform]
requests = 2000
size = "64 KiB"
[precondition]
fill = "sequential"
[ftl.page]
slc_cache = "dynamic"
[device]
profile = "tlc-3d"
capacity = "1 GiB"
over_provisioning = 0.5
[device.shape]
channels = 2
"#;
    let full = record(text, &[]);
    let slc = full.slc.unwrap();
    assert_eq!(slc.written_pages, 0);
    let says = match slc.folded_pages {
        0 => "ftl.page.slc_cache had no effect".to_owned(),
        pages => format!("ftl.page.slc_cache only cost {pages} copies"),
    };
    let said = told(text, &[], SENTENCE);
    assert!(said.len() == 1 && said[0].starts_with(&says), "{said:?}");
    let new = ["precondition.fill=none"];
    assert!(record(text, &new).slc.unwrap().written_pages > 0);
    assert_eq!(told(text, &new, SENTENCE), [""; 0]);
}

#[test]
fn times_where_none_are_kept_and_cells_that_never_err() {
    let notices = |sets: &[&str]| parse(MIXED, sets).unwrap().notices;
    let suspend = "device.timing.suspend={ suspend_us = 20, resume_us = 30 }";
    assert_eq!(notices(&[suspend]), [""; 0]);
    assert_eq!(
        notices(&[suspend, "device.model=counting"]),
        ["device.timing.suspend has no effect: device.model = \"counting\" keeps no time"]
    );
    let aging = |rate: &str| notices(&[&format!("device.reliability={{ ecc_bits = 8{rate} }}")]);
    assert_eq!(aging(""), ["device.reliability has no effect: all its rates are 0, so no bit is wrong"]);
    for rate in ["rber", "wear", "retention", "read_disturb"] {
        assert_eq!(aging(&format!(", {rate} = 1e-9")), [""; 0]);
    }
}

#[test]
fn pools_of_addresses_that_are_all_hot() {
    let pools = ["ftl.page.placement.pools={ pages = 600, blocks = 10 }"];
    for workload in ["hot_cold", "zipf"] {
        let scatter = |on: bool| {
            let text = format!("workload={{ {workload} = {{ requests = 10, scatter = {on} }} }}");
            told(WRITES, &[&pools[..], &[&text]].concat(), "spreads the hot pages over all addresses").len()
        };
        assert_eq!((scatter(true), scatter(false)), (1, 0), "{workload}");
    }
}

/// A read of a filled device, with these times.
fn timed(profile: &str, timing: &str) -> Vec<String> {
    let text = format!(
        "[workload.uniform]\nrequests = 10\n[ftl.page]\n[device]\nprofile = \"{profile}\"\nover_provisioning = 0.5\n\
         [device.timing]\n{timing}"
    );
    parse(&text, &[]).unwrap().notices.into_iter().filter(|notice| notice.contains("unusual")).collect()
}

#[test]
fn times_that_no_flash_has_name_the_key_and_the_usual_range() {
    for (timing, sentence) in [
        ("erase_us = 1500000", "device.timing.erase_us = 1500000 is unusual: an erase of flash takes 500 to 20000 us"),
        ("erase_us = 20", "device.timing.erase_us = 20 is unusual"),
        ("program_us = 5", "device.timing.program_us = 5 is unusual: a program of flash takes 100 to 10000 us"),
        ("program_us = 60000", "device.timing.program_us = 60000 is unusual"),
        ("read_us = 0.05", "device.timing.read_us = 0.05 is unusual: a read of flash takes 3 to 500 us"),
        ("read_us = 5000", "device.timing.read_us = 5000 is unusual"),
        (
            "transfer_ns_per_byte = 2500",
            "device.timing.transfer_ns_per_byte = 2500 is unusual: a channel of flash takes 0.2",
        ),
    ] {
        let found = timed("generic", timing);
        assert!(found.len() == 1 && found[0].starts_with(sentence), "{timing}: {found:?}");
    }
    let types = timed("tlc-3d", "page_types = { read_us = [50, 60, 4000] }");
    assert!(types.len() == 1 && types[0].starts_with("device.timing.page_types.read_us = 4000 is unusual: a read"));
    let usual = "read_us = 3\nprogram_us = 100\nerase_us = 20000\ntransfer_ns_per_byte = 0";
    assert_eq!(timed("generic", usual), [""; 0], "no bus is usual, too");
    assert_eq!(timed("generic", "program_us = 5\nread_us = 900").len(), 2);
}

/// Each profile as a file of somebody else's: only the one with stand-ins for its flash is told of.
#[test]
fn no_bundled_profile_is_unusual_but_that_of_stand_ins() {
    let folder = tempfile::tempdir().unwrap();
    for profile in nandlab_lab::profiles::LIST {
        assert_eq!(timed(profile.name, ""), [""; 0], "{}", profile.name);
        let file = folder.path().join(format!("{}-copy.toml", profile.name));
        std::fs::write(&file, profile.text).unwrap();
        let found = timed(file.to_str().unwrap(), "");
        let expected = if profile.name == "nvme-b" { 2 } else { 0 };
        assert_eq!(found.len(), expected, "{}: {found:?}", profile.name);
        assert!(found.iter().all(|notice| notice.starts_with("timing.")), "{found:?}");
        // An experiment with all its values explicit says nothing more.
        let explicit = bare(profile.name).to_json();
        let again = Experiment::parse(&explicit, Format::Json, "x.json", Path::new("."), &[]).unwrap();
        assert!(again.notices.iter().all(|notice| !notice.contains("unusual")), "{:?}", again.notices);
    }
}

fn bare(profile: &str) -> Experiment {
    let text = format!(
        "[workload.uniform]\nrequests = 10\n[ftl.page]\n[device]\nprofile = \"{profile}\"\nover_provisioning = 0.5"
    );
    parse(&text, &[]).unwrap()
}

#[test]
fn handles_for_origins_that_write_nothing() {
    let text = WRITES.replace(
        "[ftl.page]",
        "[ftl.page]\nplacement = { fdp = { handles = 4, origins = { journal = 1, host = 2 } } }",
    );
    let said = told(&text, &[], "of which nothing was written");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("origins names journal,") && said[0].ends_with("origins that write here: host"),
        "{said:?}"
    );
    let used = text.replace("journal = 1, ", "");
    assert!(told(&used, &[], "of which nothing was written").is_empty());
}

#[test]
fn identifiers_that_the_ftl_does_not_follow() {
    let trace =
        "[workload.trace]\nformat = \"csv\"\ntext = \"\"\"\ntime_us,op,sector,sectors,origin,placement\n0,W,0,8,,1\n\
                 1,W,8,8,,2\n2,W,16,8,,\n\"\"\"\n[ftl.page]\n[device]\ncapacity = \"24 MiB\"\nover_provisioning = 0.2\n";
    let said = told(trace, &[], "carry placement identifiers");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("2 writes carry placement identifiers, and ftl.page"), "{said:?}");
    assert!(told(trace, &["ftl.page.placement.fdp.handles=4"], "carry placement identifiers").is_empty());
    assert!(told(WRITES, &[], "carry placement identifiers").is_empty());
}

/// A cache with handles on a host's map over zones, and a job of fio on a page map without handles.
#[test]
fn identifiers_of_a_cache_and_of_fio_that_nothing_follows() {
    let cache =
        "[workload.cachelib]\nrequests = 400\nsegment = \"256 KiB\"\n[ftl.zoned]\n[device]\ncapacity = \"24 MiB\"\n\
                 over_provisioning = 0.5\n[device.zones]\n";
    let said = told(cache, &[], "carry placement identifiers");
    assert!(said.len() == 1 && said[0].contains("ftl.zoned as it is set does not follow them"), "{said:?}");
    assert!(told(cache, &["workload.cachelib.placement=false"], "carry placement identifiers").is_empty());
    let job = "[workload.fio]\ntext = \"\"\"\n[a]\nioengine=io_uring_cmd\nfdp=1\nrw=write\nsize=64k\n\"\"\"\n[ftl.page]\n[device]\n\
               capacity = \"24 MiB\"\nover_provisioning = 0.2\n";
    assert_eq!(told(job, &[], "[a] has fdp = 1, and the device lists no placement identifiers").len(), 1);
    assert!(told(job, &["ftl.page.placement.fdp.handles=4"], "placement identifiers").is_empty());
}

#[test]
fn weights_with_no_bound_on_commands() {
    let text = "[workload.tenants]\n[[workload.tenants.tenant]]\nname = \"a\"\nworkload.uniform.requests = 50\n[host.queues]\n\
                arbitration = { weighted = { high = 4, medium = 2, low = 1 } }\n[ftl.page]\n[device]\ncapacity = \"24 MiB\"\nover_provisioning = 0.2\n";
    assert_eq!(told(text, &[], "has no effect without host.queues.commands").len(), 1);
    assert!(told(text, &["host.queues.commands=4"], "has no effect without").is_empty());
}
