//! When requests come, and how long they wait, against what a data sheet says.

#![allow(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod support;

use support::{record, refused};

/// Writes of a page each: 500 us of program and (4096 + 128) bytes at 2.5 ns on the bus.
const WRITES: &str = "[workload.sequential]\nrequests = 1000\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"";
const WRITE_US: f64 = 510.56;

#[test]
fn a_host_that_thinks_asks_once_in_latency_and_think_time() {
    for think_us in [0.0, 0.001, 1.0, 489.44, 10_000.0] {
        let record = record(WRITES, &[&format!("host.think_time_us={think_us:?}")]);
        let write = record.latency_us.unwrap().write.unwrap();
        assert_eq!((write.mean, write.max), (WRITE_US, WRITE_US), "an idle device is as fast as the data sheet");
        // The last request is not thought about.
        let expected = 1000.0 * WRITE_US + 999.0 * think_us;
        assert!((record.time_us.unwrap() - expected).abs() < 1e-6, "{think_us}: {:?}", record.time_us);
    }
}

#[test]
fn slots_that_think_as_long_as_a_write_takes_share_a_die_without_waiting() {
    // Two slots on one die: a request comes 510.56 us + T after the one before in its slot. The die is free for it from
    // T = 510.56 us on: not 1 ns earlier.
    let max = |think_us: f64| {
        let sets = ["host.queue_depth=2", &format!("host.think_time_us={think_us:?}")];
        let latencies = record(WRITES, &sets).latency_us.unwrap();
        let write = latencies.write.unwrap();
        (write.max, write.mean, write.p50)
    };
    let (longest, mean, median) = max(WRITE_US);
    // Both slots begin at once, so that the second one waits once.
    assert_eq!(longest, 2.0 * WRITE_US);
    assert!((mean - (WRITE_US + WRITE_US / 1000.0)).abs() < 1e-3 && median < WRITE_US * 1.001, "{mean} {median}");
    let (_, mean, _) = max(WRITE_US - 0.001);
    // From then on each request comes 1 ns before the die is free.
    assert!((mean - (WRITE_US + 0.001 + (WRITE_US - 0.001) / 1000.0)).abs() < 2e-3, "{mean}");
}

#[test]
fn time_to_think_needs_a_closed_loop_of_requests() {
    let recorded = ["host.arrival=recorded", "workload.sequential.requests_per_s=10"];
    for (sets, why) in [
        (&["host.think_time_us=-1"][..], "it is a time from 0 to 3600000000 us, an hour"),
        (&["host.think_time_us=3.7e9"], "it is a time from 0 to 3600000000 us, an hour"),
        (&["host.think_time_us=1", recorded[0], recorded[1]], "it counts only with host.arrival = \"closed\""),
    ] {
        let error = refused(WRITES, sets);
        assert!(error.message.contains(why) && error.key.as_deref() == Some("host.think_time_us"), "{error}");
    }
    let files = refused("[workload.phone]\n[fs.fat]\n[ftl.page]", &["host.think_time_us=1"]);
    assert!(files.message.contains("requests of an index or a file system follow one another"), "{files}");
}
