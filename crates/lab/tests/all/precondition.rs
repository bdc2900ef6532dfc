//! Preconditioning: until the device is steady, and the first requests of the workload.

use crate::support::{parse, record, refused, MIXED};

const UNIFORM: &str = r#"
[workload.uniform]
requests = 200_000
[precondition]
fill = "sequential"
[ftl.page]
[device]
model = "counting"
capacity = "64 MiB"
over_provisioning = 0.25
[device.shape]
pages_per_block = 64
"#;

/// Without a fill, the warm-up's writes are the whole preconditioning.
const NO_FILL: &str = "precondition.fill=none";

#[test]
fn a_steady_device_writes_as_much_on_as_it_did_before() {
    let steady = record(UNIFORM, &["precondition.steady=0.01"]);
    let before = steady.precondition.unwrap();
    let pages = steady.device.logical_bytes / 4096;
    let windows = before.windows.unwrap();
    assert_eq!(before.steady, Some(true));
    assert!((2..50).contains(&windows), "{windows}");
    assert_eq!(before.requests, pages + u64::from(windows) * pages, "a fill and whole windows");
    // Far more overwrites than the search made give the same result, within the tolerance for two windows.
    let long = record(UNIFORM, &["precondition.overwrites=30"]);
    let (found, expected) = (steady.waf.unwrap(), long.waf.unwrap());
    assert!((found / expected - 1.0).abs() < 0.02, "{found} and {expected}");
    // A device that was only filled is far from it.
    let filled = record(UNIFORM, &["workload.uniform.requests=4_096"]);
    assert!(filled.waf.unwrap() < 0.8 * expected, "{:?}", filled.waf);
    assert_eq!(filled.precondition.map(|before| (before.windows, before.steady)), Some((None, None)));
}

#[test]
fn the_search_for_a_steady_device_ends() {
    let record = record(UNIFORM, &["precondition.steady=0", "precondition.steady_windows=4"]);
    let before = record.precondition.unwrap();
    assert_eq!((before.windows, before.steady), (Some(4), Some(false)));
    assert_eq!(before.requests, 5 * (record.device.logical_bytes / 4096));
    assert_eq!(record.host.requests, 200_000, "it is measured all the same");
}

#[test]
fn a_device_whose_spare_space_was_not_used_once_is_not_steady() {
    let sets = ["device.over_provisioning=2.5", "precondition.steady=0.01"];
    let found = record(UNIFORM, &sets);
    let before = found.precondition.unwrap();
    assert_eq!(before.steady, Some(true));
    // 3.5 capacities are programmed before any window counts, and the search needs four counted windows.
    assert!((7..20).contains(&before.windows.unwrap()), "{before:?}");
    assert!(before.flash.erases > 0);
    let long = record(UNIFORM, &["device.over_provisioning=2.5", "precondition.overwrites=30"]);
    let (found, expected) = (found.waf.unwrap(), long.waf.unwrap());
    assert!(expected > 1.02 && (found / expected - 1.0).abs() < 0.01, "{found} and {expected}");
    // The test writes five capacities to a flash of six.
    let few = ["device.over_provisioning=500 %", sets[1], "precondition.steady_windows=4"];
    let few = record(UNIFORM, &few).precondition.unwrap();
    assert_eq!((few.steady, few.flash.erases, few.waf), (Some(false), 0, Some(1.0)));
}

#[test]
fn uniform_writes_to_a_part_of_the_device_are_others() {
    let told = |footprint: &str| {
        let footprint = format!("workload.uniform.footprint={footprint}");
        let notices = record(UNIFORM, &["precondition.steady=0.05", &footprint]).notices;
        notices.iter().filter(|notice| notice.contains("uniform, on a part of the device")).count()
    };
    assert_eq!([told("0.5"), told("32 MiB"), told("1.0"), told("64 MiB")], [1, 1, 0, 0]);
}

#[test]
fn a_warm_up_and_what_is_measured_after_it_sum_to_the_whole() {
    let whole = record(MIXED, &[NO_FILL]);
    let parted = record(MIXED, &[NO_FILL, "precondition.warm_up=25_001"]);
    let before = parted.precondition.unwrap();
    assert_eq!((before.requests, parted.host.requests), (25_001, whole.host.requests - 25_001));
    assert_eq!(before.flash.programs + parted.flash.programs, whole.flash.programs);
    assert_eq!(before.flash.reads + parted.flash.reads, whole.flash.reads);
    assert_eq!(before.flash.erases + parted.flash.erases, whole.flash.erases);
    assert!(before.flash.erases > 0 && parted.flash.erases > 0);
    // Both start from one device, so both end in the same state.
    assert_eq!(parted.wear, whole.wear);
    let time = before.time_us.unwrap() + parted.time_us.unwrap();
    assert!((time / whole.time_us.unwrap() - 1.0).abs() < 1e-3, "{time} and {:?}", whole.time_us);
}

#[test]
fn what_is_measured_after_a_warm_up_arrives_when_it_did() {
    let sets = [
        NO_FILL,
        "host.queue_depth=1",
        "host.arrival=recorded",
        "workload.zipf.requests_per_s=100",
        "precondition.warm_up=35_000",
    ];
    let record = record(MIXED, &sets);
    let seconds = record.time_us.unwrap() / 1e6;
    assert!((48.0..52.0).contains(&seconds), "5,000 requests at 100 a second: {seconds} s");
    let latency = record.latency_us.unwrap().read.unwrap();
    assert!(latency.p50 < 5_000.0, "what came before the measurement stands in nobody's way: {latency:?}");
}

#[test]
fn a_warm_up_that_leaves_nothing_is_refused() {
    let message = parse(MIXED, &["precondition.warm_up=40_000"]).unwrap_err().to_string();
    assert!(message.contains("precondition.warm_up = 40000 leaves nothing to be measured"), "{message}");
    assert!(message.contains("the workload has 40000 requests"), "{message}");
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    for (set, allowed) in [
        ("precondition.steady=1.5", "from 0 to 1"),
        ("precondition.steady=nan", "a finite number"),
        ("precondition.steady_windows=3", "from 4"),
        ("precondition.steady_windows=10_001", "to 10000"),
    ] {
        let error = refused(UNIFORM, &[set]);
        assert!(error.message.contains(allowed), "{}", error.message);
        assert!(error.message.contains(set.split('=').next().unwrap()), "{}", error.message);
    }
    let files = "[workload.postmark]\n[fs.fat]\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"";
    let error = refused(files, &["precondition.warm_up=1"]);
    assert!(error.message.contains("it counts requests"), "{}", error.message);
}

const PLACED: &str = "[[workload.tenants.tenant]]\nname = \"a\"\npart = 0.25\nworkload.uniform = { requests = 100, read_share = 1.0 }\n\
    [[workload.tenants.tenant]]\nname = \"b\"\nworkload.uniform = { requests = 100, read_share = 1.0 }\n\
    [ftl.page.placement.fdp]\nhandles = 3\n[device]\nprofile = \"generic\"\ncapacity = \"16 MiB\"\n[device.shape]\npages_per_block = 32\n\
    [precondition]\nfill = \"sequential\"\n";

/// Pages written and moved by handle are those of the measurement, so the fill's units tell: each handle still has the rest of
/// its last one.
#[test]
fn a_fill_goes_through_the_handles_of_tenants() {
    let left = |set: &[&str]| record(PLACED, set).fdp.unwrap().pages_left[0].clone();
    // 4,096 pages in units of 32; handles without a page point to an empty unit.
    assert_eq!(left(&["precondition.fill=0.1"]), [(128 - 410 % 32) as u32 % 32, 32, 32]);
    let share = ["precondition.fill=0.26"];
    // 1,024 pages of `a` fill units exactly; 41 pages of `b` begin a second one.
    let by_tenant = "precondition.placement={ a = 1, b = \"0:2\" }";
    let found = left(&[share[0], by_tenant]);
    assert_eq!((found[0], found[2]), (32, 64 - 41));
    assert!(found[1] == 0 || found[1] == 32, "{found:?}");
    let all = left(&[share[0], "precondition.placement=2"]);
    assert_eq!((all[0], all[1], all[2]), (32, 32, 1088 - 1065));
}

#[test]
fn a_placed_fill_that_nobody_follows_is_refused() {
    for (set, why) in [
        ("precondition.placement={ c = 1 }", "no tenant has this name"),
        ("ftl={ page = {} }", "ftl.page.placement.fdp"),
        ("workload={ uniform = {} }", "this workload has none"),
    ] {
        let said = refused(PLACED, &["precondition.placement={ a = 1 }", set]).to_string();
        assert!(said.contains(why), "{said}");
    }
}
