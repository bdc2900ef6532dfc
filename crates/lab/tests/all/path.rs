//! The way between host and FTL, compared with times worked out by hand.

use crate::support::{record, refused, MIXED};

/// One die: a page of 4 KiB takes 10.56 us on the channel, 500 us of program, 50 us of read.
const DEVICE: &str = "[host]\narrival = \"recorded\"\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"\n";
const ORDERS: [&str; 2] = ["device.timing.order=issue", "device.timing.order=events"];

/// Reads by the write buffer, pages read from flash, and the latency of the one read in ns: by issue and by events.
fn read_behind(lines: &[&str], sets: &[&str]) -> (u64, u64, u64) {
    let text =
        format!("[workload.trace]\ntext = \"\"\"\ntime_us,op,sector,sectors\n{}\n\"\"\"\n{DEVICE}", lines.join("\n"));
    let [issue, events] = ORDERS.map(|order| {
        let buffer = "device.controller={write_buffer_bytes=65536,latency_us=3}";
        let found = record(&text, &[&[order, buffer], sets].concat());
        let read = found.latency_us.unwrap().read.unwrap();
        assert_eq!(read.count, 1);
        (found.path.unwrap().buffer_reads, found.flash.reads, (read.max * 1000.0).round() as u64)
    });
    assert_eq!(issue, events, "{lines:?} {sets:?}");
    issue
}

#[test]
fn a_read_of_data_in_the_write_buffer_needs_no_flash() {
    let write = "0,W,0,8";
    assert_eq!(read_behind(&[write, "100,R,0,8"], &[]), (1, 0, 3_000));
    assert_eq!(read_behind(&[write, "100,R,3,2"], &[]), (1, 0, 3_000));
    let flash = 410_560 + 60_560 + 3_000;
    let off = "device.controller.write_buffer_reads=false";
    assert_eq!(read_behind(&[write, "100,R,0,8"], &[off]), (0, 1, flash), "behind the program");
    assert_eq!(read_behind(&[write, "100,R,4,8"], &[]), (0, 1, flash), "one half is in no write");
    assert_eq!(read_behind(&[write, "0,W,8,8", "100,R,4,8"], &[]), (1, 0, 3_000), "in two writes");
    assert_eq!(read_behind(&[write, "50,T,0,8", "100,R,0,8"], &[]), (0, 0, 3_000), "a trimmed page is nowhere");
    assert_eq!(read_behind(&[write, "50,W,0,8", "600,R,0,8"], &[]), (1, 0, 3_000), "the newer one is under way");
    let small = "device.controller.write_buffer_bytes=4096";
    let two = 921_120 + 60_560 + 3_000;
    assert_eq!(read_behind(&["0,W,0,16", "100,R,0,8"], &[small]), (0, 1, two), "it had a part at a time");
}

/// The program ends at 510.56 us: the processor is done with the read 1 ns before, or then.
#[test]
fn the_buffer_has_the_data_until_the_program_ends() {
    let processor = |us: &str| format!("device.controller.read_command_us={us}");
    let lines = ["0,W,0,8", "510,R,0,8"];
    assert_eq!(read_behind(&lines, &[&processor("0.559")]), (1, 0, 3_559));
    assert_eq!(read_behind(&lines, &[&processor("0.56")]), (0, 1, 560 + 60_560 + 3_000));
}

#[test]
fn a_read_from_the_buffer_takes_what_is_not_flash() {
    let lines = ["0,W,0,8", "100,R,0,8"];
    let link = "device.link={read_mb_s=1024,read_command_us=2}";
    assert_eq!(read_behind(&lines, &[link]), (1, 0, 4_000 + 2_000 + 3_000));
    // A millisecond for 4 KiB: the data is not there before.
    assert_eq!(read_behind(&lines, &["device.link.write_mb_s=4.096"]), (1, 0, 900_000 + 3_000));
    let firmware = ["host.firmware_us=10", "host.lookup_us=5"];
    assert_eq!(read_behind(&lines, &firmware), (1, 0, 10_000 + 3_000), "it needs no entry of the map");
}

/// With bytes, over a buffer, with a map on flash: the same counts in both orders on one die.
#[test]
fn all_ways_to_carry_requests_out_leave_the_same_reads_to_the_buffer() {
    for ftl in ["page", "dftl", "bast"] {
        let text = MIXED.replace("[ftl.page]", &format!("[ftl.{ftl}]"));
        let shape = "device.shape={channels=1,dies_per_channel=1,planes_per_die=1}";
        let run = |sets: &[&str]| {
            let path = "device.controller={latency_us=5,write_buffer_bytes=262144}";
            let found = record(&text, &[&["workload.zipf.requests=3000", shape, path], sets].concat());
            (found.path.unwrap().buffer_reads, found.flash, found.time_us)
        };
        let [issue, events] = ORDERS.map(|order| run(&[order]));
        assert!(issue.0 > 20, "{ftl}: {issue:?}");
        assert_eq!(issue, events, "{ftl}");
        assert_eq!(run(&["device.model=bytes"]), issue, "{ftl}");
        let off = run(&["device.controller.write_buffer_reads=false"]);
        assert_eq!((off.0, off.1.programs), (0, issue.1.programs), "{ftl}");
        assert!(off.1.reads > issue.1.reads && off.2 > issue.2, "{ftl}: {off:?} {issue:?}");
        let buffered = run(&["buffer.lru.size=1 MiB"]);
        assert_eq!(buffered.0, 0, "{ftl}: a write is done as soon as it is in the other buffer");
    }
}

#[test]
fn a_buffer_that_is_not_there_answers_no_read() {
    let error = refused(&format!("[workload.uniform]\n{DEVICE}"), &["device.controller.write_buffer_reads=true"]);
    assert_eq!(error.key.as_deref(), Some("device.controller.write_buffer_reads"));
    assert!(error.message.contains("there is no write buffer to read from"), "{error}");
}
