//! Blocks of one bit a cell in a run: the record and the refusals.

use crate::support::{record, refused};
use nandlab_lab::record::SlcRecord;

/// Writes every page of the device once and a third of them again, on the smallest device with a few blocks per
/// plane.
const TEXT: &str = r#"
[workload.sequential]
requests = 5000
size = "256 KiB"
alignment = "256 KiB"
[precondition]
fill = "none"
[ftl.page]
slc_cache = "fixed"
[device]
profile = "tlc-3d"
capacity = "1 GiB"
over_provisioning = 1.5
[device.shape]
channels = 2
"#;

fn slc(sets: &[&str]) -> SlcRecord {
    record(TEXT, sets).slc.unwrap()
}

#[test]
fn pages_go_through_the_cache_or_past_it_and_the_counts_agree() {
    let pages = 5000 * 16;
    for sets in
        [&[][..], &["ftl.page.slc_cache.fixed.full=fold"], &["ftl.page.slc_cache=dynamic"], &["device.model=counting"]]
    {
        let record = record(TEXT, sets);
        let slc = record.slc.unwrap();
        assert_eq!(slc.written_pages + slc.direct_pages, pages, "{sets:?}");
        let folds = record.matrix.iter().filter(|row| row.cause == "fold");
        assert_eq!(slc.folded_pages, folds.map(|row| row.copies).sum::<u64>(), "{sets:?}");
        // Garbage collection skips these blocks: only the host programs there, and only folds read there.
        assert_eq!((slc.programs, slc.reads), (slc.written_pages, slc.folded_pages), "{sets:?}");
        assert_eq!(slc.erases, slc.folds as f64, "{sets:?}");
        assert!(slc.written_pages > 0);
        let busy: f64 = record.matrix.iter().map(|row| row.busy_us).sum();
        assert!((busy / record.busy_us - 1.0).abs() < 1e-6, "{sets:?}: {busy} and {}", record.busy_us);
    }
}

/// With one die, one operation at a time and one request at a time, the run takes the sum of its data-sheet
/// times, over both kinds of blocks. The clock does not affect this sum.
#[test]
fn times_of_both_kinds_of_blocks_sum_to_the_time_of_the_run() {
    let serial =
        ["device.shape.channels=1", "device.shape.planes_per_die=1", "host.queue_depth=1", "device.capacity=512 MiB"];
    for cache in
        ["ftl.page.slc_cache={ fixed = { full = 'fold' } }", "ftl.page.slc_cache={ dynamic = { full = 'fold' } }"]
    {
        let sets = [&serial[..], &[cache, "workload.sequential.requests=3000"]].concat();
        let record = record(TEXT, &sets);
        assert!(record.slc.unwrap().folds > 20, "{:?}", record.slc);
        let time = record.time_us.unwrap();
        assert!((record.busy_us / time - 1.0).abs() < 1e-3, "{cache}: busy {} of {time} us", record.busy_us);
    }
}

#[test]
fn bytes_come_back_from_blocks_of_either_kind() {
    let small = ["device.model=bytes", "device.capacity=96 MiB", "device.shape.pages_per_block=24"];
    for cache in ["fixed", "dynamic"] {
        let cache = format!("ftl.page.slc_cache={{ {cache} = {{ full = 'fold' }} }}");
        let mixed = ["workload.sequential.requests=1500", "workload.sequential.read_share=0.4"];
        let slc = slc(&[&small[..], &mixed, &[&cache]].concat());
        assert!(slc.folded_pages > 1000, "{slc:?}");
    }
}

#[test]
fn without_a_cache_the_record_has_none() {
    assert_eq!(record(TEXT, &["ftl.page.slc_cache=none"]).slc, None);
}

#[test]
fn a_device_without_such_blocks_is_refused_with_what_is_missing() {
    let generic = TEXT.replace("tlc-3d", "generic").replace("[device.shape]\nchannels = 2\n", "");
    let error = refused(&generic, &[]);
    assert!(error.message.starts_with("ftl.page.slc_cache.fixed needs cells of several bits"), "{error}");
    let error = refused(&generic, &["device.rules.bits_per_cell=3"]);
    assert!(error.message.contains("device.timing.slc is missing: it says their read_us"), "{error}");
    record(
        &generic,
        &[
            "device.rules.bits_per_cell=3",
            "device.model=counting",
            "device.capacity=256 MiB",
            "workload.sequential.requests=100",
        ],
    );
    let error = refused(TEXT, &["device.rules.bits_per_cell=9"]);
    assert!(error.message.contains("9 cannot work: a cell holds 1 to 5 bits"), "{error}");
    let error = refused(TEXT, &["ftl.page.slc_cache.fixed.blocks=100000"]);
    assert!(
        error.message.starts_with("ftl.page.slc_cache.fixed.blocks = 100000: it is at least 2, and at most "),
        "{error}"
    );
}

/// With long gaps between requests, every request finds an empty cache and goes to it; the longest request's
/// breakdown still sums to its latency.
#[test]
fn gaps_between_requests_empty_the_cache() {
    let apart = [
        "workload.sequential.requests=3000",
        "workload.sequential.requests_per_s=50",
        "host.arrival=recorded",
        "host.explain_longest=true",
        "device.capacity=512 MiB",
        "ftl.page.slc_cache.fixed.blocks=2",
    ];
    let record = record(TEXT, &apart);
    let slc = record.slc.unwrap();
    assert_eq!((slc.written_pages, slc.direct_pages), (3000 * 16, 0), "{slc:?}");
    assert!(slc.folded_pages > 40_000, "{slc:?}");
    let longest = record.longest_request.unwrap();
    let parts: f64 = longest.parts.unwrap().iter().map(|part| part.own_us + part.waited_us).sum();
    let sum = parts + longest.elsewhere_us.unwrap() + longest.unknown_us.unwrap();
    assert!((sum - longest.latency_us).abs() < 1e-3, "{sum} of {}", longest.latency_us);
}
