//! Times of a zoned drive, from experiment text to record. Closed forms from the times of the device.

use crate::support::{parse, record, refused};
use nandlab_lab::record::{Record, ZoneRun};
use nandlab_lab::{run, Control, LabError, Outputs};
use std::path::Path;

/// Pages of a zone: a block of 64 on each of 4 dies. A page has 8 sectors.
const PAGES: u64 = 256;
const PROGRAM_US: f64 = 500.0;
const ERASE_US: f64 = 3000.0;

/// Requests for zones on a device whose channels take no time.
fn drive(lines: &[String], more: &str) -> String {
    let lines = lines.join("\n");
    format!(
        r#"
[workload.trace]
format = "csv"
text = """
time_us,op,sector,sectors
{lines}
"""
[host]
queue_depth = 1
[ftl.zns]
[device]
profile = "generic-8x4"
capacity = "4 MiB"
over_provisioning = 1.5
[device.shape]
channels = 2
dies_per_channel = 2
pages_per_block = 64
[device.timing]
program_us = {PROGRAM_US}
erase_us = {ERASE_US}
transfer_ns_per_byte = 0
copy = "copyback"
[device.zones]
spare_blocks = 2
{more}
"#
    )
}

/// Writes to a zone's first pages, then one command.
fn after_pages(pages: u64, command: &str) -> Vec<String> {
    let mut lines: Vec<String> = (0..pages).map(|page| format!("0,W,{},8", 8 * page)).collect();
    lines.push(format!("0,{command},0,0"));
    lines
}

fn mean_us(record: &Record, command: &str) -> f64 {
    let zones = record.zones.as_ref().unwrap();
    let of = &zones.latencies;
    let latency = match command {
        "O" => &of.open_us,
        "C" => &of.close_us,
        "X" => &of.finish_us,
        _ => &of.reset_us,
    };
    latency.as_ref().unwrap().mean
}

#[test]
fn a_finish_takes_as_long_as_writing_the_rest_on_all_dies() {
    for written in [0, 4, 64, 128, 252] {
        let record = record(&drive(&after_pages(written, "X"), ""), &[]);
        assert_eq!(mean_us(&record, "X"), (PAGES - written) as f64 / 4.0 * PROGRAM_US, "{written} pages");
        assert_eq!(record.zones.unwrap().used.filled_pages, PAGES - written);
    }
}

#[test]
fn a_reset_takes_the_first_erase_or_what_the_controller_says() {
    let with = "[device.controller]\nzone_reset = { empty_us = 100, full_us = 20_000, exponent = 0.5 }\n";
    for (written, erase, said) in [(0, 0.0, 100.0), (64, ERASE_US, 10_050.0), (256, ERASE_US, 20_000.0)] {
        let lines = after_pages(written, "Z");
        assert_eq!(mean_us(&record(&drive(&lines, ""), &[]), "Z"), erase, "{written} pages");
        assert_eq!(mean_us(&record(&drive(&lines, with), &[]), "Z"), said, "{written} pages");
        let counted = record(&drive(&lines, with), &["device.model=counting"]);
        assert_eq!(counted.zones.unwrap().used.resets, 1);
    }
}

/// Zone 0 is opened and closed by commands, zone 1 by the first of two writes; the last write finds zone 0 closed.
#[test]
fn opening_and_closing_a_zone_takes_what_the_controller_says() {
    let lines = ["O,0,0", "W,0,8", "C,0,0", "W,2048,8", "W,2056,8", "A,0,8"].map(|line| format!("0,{line}"));
    let times = "[device.controller]\nzone_open_us = 9.5\nzone_implicit_open_us = 2\nzone_close_us = 11\n";
    let write_us = |record: &Record| record.latency_us.as_ref().unwrap().write.as_ref().unwrap().mean;
    let taken = record(&drive(&lines, times), &[]);
    assert_eq!((mean_us(&taken, "O"), mean_us(&taken, "C")), (9.5, 11.0));
    // Of four writes, two open their zone; a program follows.
    assert_eq!(write_us(&taken), PROGRAM_US + 1.0);
    assert_eq!(taken.time_us, Some(4.0 * PROGRAM_US + 9.5 + 11.0 + 2.0 * 2.0));
    assert!(!taken.notices.iter().any(|said| said.contains("takes no time here")));

    // A write that opens its zone takes as long as the command, unless it has a time of its own.
    let same = times.replace("zone_implicit_open_us = 2\n", "");
    assert_eq!(write_us(&record(&drive(&lines, &same), &[])), PROGRAM_US + 9.5 / 2.0);

    // Sectors that wait for the rest of their page, and a buffer that answers first, wait for the zone alone.
    let parts = ["A,0,4", "A,2048,4"].map(|line| format!("0,{line}"));
    assert_eq!(write_us(&record(&drive(&parts, times), &[])), 2.0);
    let buffer = format!("{times}write_buffer_bytes = 33554432\nlatency_us = 3\n");
    assert_eq!(write_us(&record(&drive(&lines, &buffer), &[])), 3.0 + 1.0);

    // Two writes at once to different dies of a zone: both wait until it is open.
    let both = ["0,W,0,8", "0,W,8,8"].map(str::to_owned);
    let taken = record(&drive(&both, times), &["host.queue_depth=2"]);
    assert_eq!((write_us(&taken), taken.time_us), (PROGRAM_US + 2.0, Some(PROGRAM_US + 2.0)));

    let none = record(&drive(&lines, ""), &[]);
    assert_eq!((mean_us(&none, "O"), mean_us(&none, "C"), write_us(&none)), (0.0, 0.0, PROGRAM_US));
    assert_eq!(record(&drive(&lines, times), &["device.model=counting"]).zones.unwrap().used.opens, 1);
}

#[test]
fn an_append_takes_the_processor_as_long_as_it_says() {
    let path = "[device.controller]\nwrite_command_us = 10\nappend_command_us = 25\nwrite_buffer_bytes = 33554432\n";
    let rate = |op: &str, path: &str| {
        let at = |page: u64| if op == "A" { 0 } else { 8 * page };
        let lines: Vec<String> = (0..PAGES).map(|page| format!("0,{op},{},8", at(page))).collect();
        let record = record(&drive(&lines, path), &["host.queue_depth=8"]);
        assert_eq!(record.host.written_sectors, 8 * PAGES);
        let latency = record.latency_us.unwrap();
        latency.write.unwrap().mean
    };
    // Eight at a time wait for one processor; the first seven find a shorter queue.
    let mean = |command: f64| (8.0 * PAGES as f64 - 28.0) / PAGES as f64 * command;
    let close = |measured: f64, expected: f64| assert!((measured - expected).abs() <= 0.001, "{measured}, {expected}");
    close(rate("W", path), mean(10.0));
    close(rate("A", path), mean(25.0));
    close(rate("A", &path.replace("append_command_us = 25\n", "")), mean(10.0));
}

#[test]
fn a_flush_is_answered_once_everything_is_on_flash() {
    let lines: Vec<String> = ["0,W,0,8", "0,W,8,4", "0,F,0,0"].map(str::to_owned).to_vec();
    let early = "[device.controller]\nwrite_buffer_bytes = 33554432\n";
    for ftl in ["zns", "zoned"] {
        let text = drive(&lines, early).replace("[ftl.zns]", &format!("[ftl.{ftl}]"));
        let record = record(&text, &["device.over_provisioning=3"]);
        let flush = record.latency_us.unwrap().flush.unwrap().mean;
        assert!(flush >= PROGRAM_US, "ftl.{ftl}: {flush} us");
    }
}

/// Two refused writes behind the write pointer, then two others: the buffer has room for two.
#[test]
fn a_refused_write_gives_its_space_in_the_buffer_back() {
    let lines = ["0,W,8,8", "0,W,16,8", "10000,W,0,8", "10000,W,8,8"].map(str::to_owned);
    let early = "[device.controller]\nlatency_us = 3\nwrite_buffer_bytes = 8192\n";
    let record = record(&drive(&lines, early), &["host={arrival=\"recorded\"}"]);
    assert_eq!(record.zones.as_ref().unwrap().refused.values().sum::<u64>(), 2);
    assert_eq!(record.latency_us.unwrap().write.unwrap().max, 3.0);
    assert_eq!(record.path.unwrap().buffer_waits, 0);
}

/// The first write of a pack is over before the second one comes.
#[test]
fn a_refused_write_of_a_pack_holds_no_other_up() {
    let lines = ["0,W,8,8", "0,W,0,8", "0,W,8,8"].map(str::to_owned);
    let packed = "[device.controller]\npacked_writes = 8\n";
    let record = record(&drive(&lines, packed), &["host={arrival=\"recorded\"}"]);
    assert_eq!(record.zones.as_ref().unwrap().refused.values().sum::<u64>(), 1);
    assert_eq!(record.path.unwrap().packed_writes, 3);
    assert_eq!(record.latency_us.unwrap().write.unwrap().max, PROGRAM_US);
}

#[test]
fn lines_of_a_trace_stand_in_the_experiment() {
    let told =
        |text: &str| match run(&parse(text, &[]).unwrap(), Path::new("."), &Control::default(), Outputs::default()) {
            Err(LabError::Trace(error)) => (error.file, error.key, error.line),
            other => panic!("{other:?}"),
        };
    let bad = drive(&["0,R,0,8".to_owned(), "0,Q,0,8".to_owned()], "");
    let text = "workload.trace.text".to_owned();
    assert_eq!(told(&bad), (Some(text.clone()), None, Some(3)));
    let empty = drive(&[], "");
    assert_eq!(told(&empty).1, Some(text));
    let both = refused(&drive(&[], ""), &["workload.trace.path=a.csv"]);
    assert!(both.message.contains("the lines are in workload.trace.text already"), "{}", both.message);
    let neither = refused(&drive(&[], ""), &["workload.trace={format = \"csv\"}"]);
    assert!(neither.message.contains("expected the path of a trace, or its lines"), "{}", neither.message);
}

#[test]
fn bytes_of_appends_and_after_resets_are_compared() {
    let lines: Vec<String> =
        "0,W,0,8 0,A,0,6 0,A,0,2 0,R,0,16 0,W,0,8 0,Z,0,0 0,R,0,16 0,A,0,8 0,R,0,8 0,X,0,0 0,R,0,64"
            .split(' ')
            .map(str::to_owned)
            .collect();
    // Another content than expected would end the run.
    let record = record(&drive(&lines, ""), &["device.model=bytes"]);
    assert_eq!((record.host.reads, record.zones.unwrap().refused.values().sum::<u64>()), (4, 1));
}

#[test]
fn a_profile_of_a_zoned_drive_needs_no_table_of_zones() {
    let text = "[workload.trace]\nformat = \"csv\"\ntext = \"\"\"\ntime_us,op,sector,sectors\n0,Z,0,0\n\"\"\"\n[ftl.zns]\n[device]\n\
                profile = \"zn540\"\nblocks_per_plane = 20\ncapacity = \"17232 MiB\"\n";
    let reset = mean_us(&record(text, &[]), "Z");
    // The command and the latency come on top of 1,690 us.
    assert!((1_695.0..1_705.0).contains(&reset), "{reset}");
}

#[test]
fn addresses_of_requests_for_zones_stay_and_lie_on_the_device() {
    let open = |text: &str, set: &str| {
        run(&parse(text, &[set]).unwrap(), Path::new("."), &Control::default(), Outputs::default())
            .unwrap_err()
            .to_string()
    };
    let lines = ["0,A,0,8".to_owned(), "0,A,4096,8".to_owned()];
    for given in ["compact", "fold"] {
        let told = open(&drive(&lines, ""), &format!("workload.trace.addresses={given}"));
        assert!(told.contains("other addresses would name other zones"), "{told}");
    }
    let behind = open(&drive(&["0,X,8192,0".to_owned()], ""), "host.queue_depth=1");
    assert!(behind.contains("8193 sectors") && !behind.contains("fold"), "{behind}");
}

/// One write is carried out and takes 500 us; the other three begin elsewhere than at the write pointer, and take no time.
#[test]
fn refused_requests_count_in_no_rate_and_no_latency() {
    let lines = ["0,W,0,8", "0,W,800,8", "0,W,16,8", "0,W,2056,8"].map(str::to_owned);
    let record = record(&drive(&lines, ""), &[]);
    assert_eq!((record.host.requests, record.zones.as_ref().unwrap().refused.values().sum::<u64>()), (4, 3));
    let write = record.latency_us.unwrap().write.unwrap();
    assert_eq!((write.count, write.mean, write.p50), (1, PROGRAM_US, PROGRAM_US));
    assert_eq!(record.time_us, Some(PROGRAM_US));
    assert_eq!(record.throughput.unwrap().requests_per_s, 2000.0);
    let last = record.series.last().unwrap();
    assert_eq!((last.requests, last.refused), (4, 3));
    assert!(record.notices.iter().any(|said| said.contains("3 of 4 requests were refused by zones")));
}

#[test]
fn that_opening_and_closing_takes_no_time_is_told() {
    let said = |lines: &[&str]| {
        let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        let notices = record(&drive(&lines, ""), &[]).notices;
        notices.into_iter().filter(|notice| notice.contains("takes no time here")).collect::<Vec<_>>()
    };
    let told = said(&["0,O,0,0", "0,W,0,8", "0,C,0,0"]);
    assert!(told.len() == 1 && told[0].starts_with("2 commands opened or closed zones"), "{told:?}");
    assert!(said(&["0,W,0,8", "0,X,0,0"]).is_empty());
}

/// Zones that are alike share a row.
#[test]
fn a_report_has_every_zone_once() {
    let lines = ["W,0,8", "W,8,8", "A,2048,8", "X,2048,0", "A,4096,16", "A,6144,16", "Z,0,0"];
    let lines = lines.map(|line| format!("0,{line}"));
    let report = record(&drive(&lines, ""), &[]).zones.unwrap().report;
    let row = |row: &ZoneRun| (row.first, row.zones, row.state, row.write_pointer_bytes, row.written_bytes, row.resets);
    let expected = [
        (0, 1, "empty", Some(0), 8192, 1),
        (1, 1, "full", None, 4096, 0),
        (2, 2, "implicitly_opened", Some(8192), 8192, 0),
    ];
    assert_eq!(report.iter().map(row).collect::<Vec<_>>(), expected);
}

/// Zone 0 is conventional: a page is written three times, and a reset of it is refused; zone 1 takes pages at its write pointer.
#[test]
fn conventional_zones_stand_in_the_report_and_cost_what_is_written() {
    let lines = ["W,40,8", "W,0,8", "W,40,8", "W,40,8", "R,40,8", "T,0,8", "R,0,8", "Z,0,0", "W,2048,8", "W,2064,8"];
    let lines = lines.map(|line| format!("0,{line}"));
    for model in ["timed", "bytes"] {
        let record = record(
            &drive(&lines, "conventional = 1"),
            &[&format!("device.model={model}"), "device.over_provisioning=3"],
        );
        let zones = record.zones.as_ref().unwrap();
        let row = |row: &ZoneRun| (row.first, row.zones, row.state, row.write_pointer_bytes, row.written_bytes);
        let report: Vec<_> = zones.report.iter().map(row).take(2).collect();
        let expected = [(0, 1, "not_write_pointer", None, 4 * 4096), (1, 1, "implicitly_opened", Some(4096), 4096)];
        assert_eq!(report, expected, "{model}");
        let refused: Vec<_> = zones.refused.iter().map(|(&name, &count)| (name, count)).collect();
        assert_eq!(refused, [("invalid_field", 1), ("invalid_write", 1)]);
        assert_eq!(record.flash.programs, 5, "{model}");
    }
    let error = refused(&drive(&lines, "conventional = 1000"), &[]);
    assert!(error.message.contains("device.zones.conventional = 1000"), "{}", error.message);
}
