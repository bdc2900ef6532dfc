//! The way between host and FTL, compared with times worked out by hand.

use crate::support::{record, refused, MIXED};

/// One die: a page of 4 KiB takes 10.56 us on the channel, 500 us of program, 50 us of read.
const DEVICE: &str = "[host]\narrival = \"recorded\"\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"\n";

/// Reads by the write buffer, pages read from flash, and the latency of the one read in ns.
fn read_behind(lines: &[&str], sets: &[&str]) -> (u64, u64, u64) {
    let text =
        format!("[workload.trace]\ntext = \"\"\"\ntime_us,op,sector,sectors\n{}\n\"\"\"\n{DEVICE}", lines.join("\n"));
    let buffer = "device.controller={write_buffer_bytes=65536,latency_us=3}";
    let found = record(&text, &[&[buffer], sets].concat());
    let read = found.latency_us.unwrap().read.unwrap();
    assert_eq!(read.count, 1);
    (found.path.unwrap().buffer_reads, found.flash.reads, (read.max * 1000.0).round() as u64)
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

/// With bytes, over a buffer, with a map on flash: the same counts on one die.
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
        let plain = run(&[]);
        assert!(plain.0 > 20, "{ftl}: {plain:?}");
        assert_eq!(run(&["device.model=bytes"]), plain, "{ftl}");
        let off = run(&["device.controller.write_buffer_reads=false"]);
        assert_eq!((off.0, off.1.programs), (0, plain.1.programs), "{ftl}");
        assert!(off.1.reads > plain.1.reads && off.2 > plain.2, "{ftl}: {off:?} {plain:?}");
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

/// Four dies. Writes at depth N: 20 us of the processor and 5 of the link for the pack, 12.5 for its header, 100 for
/// each write. The last one takes 510.56 us in flash, and all are answered then.
#[test]
fn a_pack_has_one_command_and_one_answer() {
    let text = "[workload.sequential]\nrequests = 24\nsize = 4096\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"\n\
                over_provisioning = 0.25\nshape = { channels = 4, dies_per_channel = 1, planes_per_die = 1 }\n\
                controller = { write_command_us = 20 }\nlink = { write_command_us = 5, write_mb_s = 40.96 }\n";
    for depth in 1..=4_u32 {
        let run = |most: u64| {
            let sets = [format!("host.queue_depth={depth}"), format!("device.controller.packed_writes={most}")];
            record(text, &sets.each_ref().map(String::as_str))
        };
        let packed = run(63);
        let header = if depth > 1 { 12.5 } else { 0.0 };
        let each = 20.0 + 5.0 + header + 100.0 * f64::from(depth) + 510.56;
        let write = packed.latency_us.unwrap().write.unwrap();
        let close = |found: f64, expected: f64| (found - expected).abs() < 0.001;
        assert!(close(write.mean, each) && close(write.max, each), "depth {depth}: {write:?}, {each}");
        assert!(packed.time_us.is_some_and(|us| close(us, each * 24.0 / f64::from(depth))), "depth {depth}");
        assert_eq!(packed.path.unwrap().packed_writes, if depth > 1 { 24 } else { 0 });
        let (alone, two) = (run(1), run(2));
        assert_eq!(alone.path.unwrap().packed_writes, 0);
        assert_eq!(two.path.unwrap().packed_writes, [0, 24, 16, 24][depth as usize - 1], "depth {depth}");
    }
}

/// A read ends a pack; a write that comes after the processor began belongs to the next one.
#[test]
fn a_pack_is_a_row_of_waiting_writes() {
    let lines = ["0,W,0,8", "0,W,8,8", "0,R,800,8", "0,W,16,8", "10,W,24,8", "30,W,32,8", "900,W,40,8"];
    let text =
        format!("[workload.trace]\ntext = \"\"\"\ntime_us,op,sector,sectors\n{}\n\"\"\"\n{DEVICE}", lines.join("\n"));
    let controller = "device.controller={write_command_us=20,packed_writes=8}";
    let found = record(&text, &[controller]);
    // The processor takes the second pack from 20 us on, and its third write comes then.
    let path = found.path.unwrap();
    assert_eq!((path.packed_writes, path.processor_us), (4, 80.0));
    assert_eq!(found.host.writes, 6);
}

/// Flash takes 60.56 us; the slow link 1,000 us, and the fast one 100 us.
#[test]
fn a_busy_link_becomes_fast() {
    let text = "[workload.sequential]\nrequests = 50\nsize = 4096\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"\n\
                [device.link]\nread_mb_s = 40.96\nwrite_mb_s = 40.96\n[device.link.scaling]\n\
                period_us = 1000\nup_share = 0.5\ndown_share = 0.2\nslow_read_mb_s = 4.096\nslow_write_mb_s = 4.096\n";
    let reads = ["workload.sequential.read_share=1.0", "precondition.fill=sequential"];
    let found = record(text, &reads);
    let read = found.latency_us.unwrap().read.unwrap();
    let close = |found: Option<f64>, expected: f64| found.is_some_and(|found| (found - expected).abs() < 0.001);
    assert_eq!(read.max, 1_060.56, "the first period is slow");
    assert!(close(found.time_us, 1_060.56 + 49.0 * 160.56), "{:?}", found.time_us);
    let pauses = record(text, &[&reads[..], &["host.think_time_us=10_000"]].concat());
    let read = pauses.latency_us.unwrap().read.unwrap();
    assert_eq!((read.max, read.mean), (1_060.56, 1_060.56), "each pause has slow periods");
    let written = record(text, &[]);
    let write = written.latency_us.unwrap().write.unwrap();
    assert_eq!(write.max, 1_510.56);
    assert!(close(written.time_us, 1_510.56 + 49.0 * 610.56), "{:?}", written.time_us);
    let one = record(text, &["device.link.scaling={period_us=1000,up_share=0.5,down_share=0.2}"]);
    assert_eq!(one.latency_us.unwrap().write.unwrap().max, 610.56, "rates that are not given are those of the link");
}

#[test]
fn impossible_packs_and_speeds_are_refused() {
    let text = format!("[workload.uniform]\n{DEVICE}");
    let scaling = |more: &str| format!("device.link={{read_mb_s=100,scaling={{up_share=0.5,down_share=0.2,{more}}}}}");
    for (sets, key, why) in [
        (
            vec!["device.controller.packed_writes=64".to_owned()],
            "packed_writes",
            "a command takes 1 to 63 writes, not 64",
        ),
        (
            vec!["device.controller.packed_writes=0".to_owned()],
            "packed_writes",
            "a command takes 1 to 63 writes, not 0",
        ),
        (
            vec!["device.controller={packed_writes=2,write_buffer_bytes=4096}".to_owned()],
            "packed_writes",
            "a write buffer answers each write before its pack ends",
        ),
        (vec![scaling("period_us=0")], "scaling.period_us", "0 us is no period"),
        (vec![scaling("")], "scaling", "period_us"),
        (
            vec![scaling("period_us=5,slow_read_mb_s=101")],
            "scaling.slow_read_mb_s",
            "faster than device.link.read_mb_s = 100",
        ),
        (vec![scaling("period_us=5,slow_read_mb_s=0")], "slow_read_mb_s", "a link without a rate"),
        (
            vec!["device.link.scaling={period_us=5,up_share=0.1,down_share=0.2}".to_owned()],
            "scaling.down_share",
            "fast and slow after the same period; up_share is 0.1",
        ),
        (
            vec!["device.link.scaling={period_us=5,up_share=1,down_share=0.2}".to_owned()],
            "scaling.up_share",
            "1 is no share that a period can exceed",
        ),
    ] {
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let error = refused(&text, &sets);
        let said = error.to_string();
        assert!(said.contains(why), "{sets:?}: {said}");
        assert!(error.key.as_deref().is_some_and(|found| found.contains(key)), "{sets:?}: {:?}", error.key);
    }
    let own_pace = text.replace("arrival = \"recorded\"", "");
    assert!(crate::support::parse(&own_pace, &["device.controller.packed_writes=1"]).is_ok());
}
