//! Arrival and waiting times of requests, compared with data-sheet times.

use crate::support::{record, refused};
use nandlab_lab::{run, Control, LabError, Outputs};
use std::path::Path;

/// Writes of one page each: 500 us of program and (4096 + 128) bytes at 2.5 ns on the bus.
const WRITES: &str = "[workload.sequential]\nrequests = 1000\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"";
const WRITE_US: f64 = 510.56;

#[test]
fn a_host_that_thinks_asks_once_in_latency_and_think_time() {
    for think_us in [0.0, 0.001, 1.0, 489.44, 10_000.0] {
        let record = record(WRITES, &[&format!("host.think_time_us={think_us:?}")]);
        let write = record.latency_us.unwrap().write.unwrap();
        assert_eq!((write.mean, write.max), (WRITE_US, WRITE_US), "an idle device is as fast as the data sheet");
        // No think time follows the last request.
        let expected = 1000.0 * WRITE_US + 999.0 * think_us;
        assert!((record.time_us.unwrap() - expected).abs() < 1e-6, "{think_us}: {:?}", record.time_us);
    }
}

#[test]
fn slots_that_think_as_long_as_a_write_takes_share_a_die_without_waiting() {
    // Two slots on one die: a request comes 510.56 us + T after the previous one in its slot. The die is free
    // for it from T = 510.56 us on: not 1 ns earlier.
    let max = |think_us: f64| {
        let sets = ["host.queue_depth=2", &format!("host.think_time_us={think_us:?}")];
        let latencies = record(WRITES, &sets).latency_us.unwrap();
        let write = latencies.write.unwrap();
        (write.max, write.mean, write.p50)
    };
    let (longest, mean, median) = max(WRITE_US);
    // Both slots begin at once, so the second one waits once.
    assert_eq!(longest, 2.0 * WRITE_US);
    assert!((mean - (WRITE_US + WRITE_US / 1000.0)).abs() < 1e-3 && median < WRITE_US * 1.001, "{mean} {median}");
    let (_, mean, _) = max(WRITE_US - 0.001);
    // From then on, each request comes 1 ns before the die is free.
    assert!((mean - (WRITE_US + 0.001 + (WRITE_US - 0.001) / 1000.0)).abs() < 2e-3, "{mean}");
}

#[test]
fn nobody_thinks_before_the_measurement() {
    let fill = ["precondition.fill=random", "precondition.overwrites=0.1", "precondition.warm_up=100"];
    let before = |think: &str| record(WRITES, &[&fill[..], &[think]].concat()).precondition;
    let plain = before("host.think_time_us=0");
    assert!(plain.and_then(|before| before.time_us).unwrap() > 1e6);
    assert_eq!(plain, before("host.think_time_us=5000"));
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

/// Random one-page writes on one die.
const COLLECTING: &str = r#"
[workload.uniform]
requests = 4000
[precondition]
fill = "sequential"
[ftl.page]
[device]
profile = "generic"
capacity = "8 MiB"
over_provisioning = 0.25
[device.shape]
pages_per_block = 32
"#;

#[test]
fn the_longest_write_waits_for_collection_to_the_nanosecond() {
    // Copies cross the bus in both directions, with 4096 + 128 bytes at 2.5 ns.
    let copy_us = 50.0 + 2.0 * 10.56 + 500.0;
    let run = |requests: u64| {
        // Random victims: some are nearly full, and cost a write many copies.
        let sets =
            [&format!("workload.uniform.requests={requests}"), "host.explain_longest=true", "ftl.page.victim=random"];
        self::record(COLLECTING, &sets)
    };
    let longest = run(4000).longest_request.unwrap();
    assert_eq!((longest.op, longest.origin.as_str(), longest.unknown_us), ("write", "host", Some(0.0)));
    // It waits for the work caused by the previous write.
    let [before, after] = [longest.number - 2, longest.number - 1].map(run);
    let copies = (after.flash.copies - before.flash.copies) as f64;
    let erases = (after.flash.erases - before.flash.erases) as f64;
    assert!(copies > 10.0 && erases > 0.0, "{:?} {:?}", before.flash, after.flash);
    let [gc, host] = longest.parts.unwrap()[..] else { panic!("collection and write alone") };
    assert_eq!((gc.cause, gc.own_us, host.cause, host.own_us, host.waited_us), ("gc", 0.0, "host", WRITE_US, 0.0));
    let ns = |us: f64| (us * 1000.0).round();
    assert_eq!(ns(gc.waited_us), ns(copies * copy_us + erases * 3000.0));
    assert_eq!(ns(longest.latency_us), ns(gc.waited_us + WRITE_US));
}

/// On a device that follows events, with all that comes between host and flash, and with programs that stop for reads.
#[test]
fn the_time_of_the_longest_request_divides_without_a_rest_by_events() {
    let path = "device.controller={latency_us=5,write_command_us=2,write_buffer_bytes=32768}";
    let link = "device.link={read_mb_s=1000,write_mb_s=500}";
    let suspend = "device.timing.suspend={suspend_us=20,resume_us=30,most_reads=4,programs=true}";
    let extras = [&[][..], &[path, link], &[suspend, "device.timing.read_first=true"], &[path, suspend]];
    for (ftl, extra) in ["page", "bast", "fast", "dftl"].into_iter().flat_map(|ftl| extras.map(|extra| (ftl, extra))) {
        let text = crate::support::MIXED.replace("[ftl.page]", &format!("[ftl.{ftl}]"));
        let shape = "device.shape={channels=2,dies_per_channel=2,planes_per_die=1}";
        let sets = [shape, "workload.zipf.requests=3000", "host.queue_depth=8"];
        let told = |aids: &[&str]| record(&text, &[&sets[..], extra, aids].concat());
        let explained = told(&["host.explain_longest=true"]);
        let longest = explained.longest_request.unwrap();
        let sum: f64 = longest.parts.iter().flatten().map(|part| part.own_us + part.waited_us).sum();
        let outside = longest.space_us.unwrap() + longest.elsewhere_us.unwrap();
        assert!((sum + outside - longest.latency_us).abs() < 1e-6, "{ftl} {extra:?}: {longest:?}");
        assert_eq!(longest.unknown_us, Some(0.0), "{ftl} {extra:?}");
        if !extra.contains(&path) {
            assert_eq!(outside, 0.0, "{ftl} {extra:?}: {longest:?}");
        }
        let plain = told(&[]);
        assert_eq!((plain.flash, plain.latency_us), (explained.flash, explained.latency_us));
    }
}

/// Eight writes at once to one die, and room for one of them: the seventh waits until the sixth is in flash.
#[test]
fn a_write_waits_for_space_in_the_controller() {
    let sets = ["workload.uniform.requests=8", "host.queue_depth=8", "host.explain_longest=true", "precondition={}"];
    let buffer = "device.controller={write_buffer_bytes=4096,latency_us=3}";
    let found = record(COLLECTING, &[&sets[..], &[buffer]].concat());
    let longest = found.longest_request.unwrap();
    assert_eq!((longest.number, longest.parts, longest.elsewhere_us), (8, Some(vec![]), Some(3.0)));
    assert_eq!(longest.space_us, Some(7.0 * WRITE_US));
    let path = found.path.unwrap();
    assert_eq!((path.buffer_waits, path.buffer_wait_us), (7, 7.0 * WRITE_US), "each stands still for one");
}

#[test]
fn the_time_of_the_longest_request_divides_without_a_rest() {
    let buffers = ["buffer=none", "buffer.lru.size=1 MiB", "buffer.wap_lru.dram=1 MiB"];
    for ftl in ["page", "bast", "fast", "nftl"] {
        for buffer in buffers {
            let text = crate::support::MIXED.replace("[ftl.page]", &format!("[ftl.{ftl}]"));
            let record = record(&text, &[buffer, "workload.zipf.requests=5000", "host.explain_longest=true"]);
            let latencies = record.latency_us.unwrap();
            let kinds = [latencies.read, latencies.write, latencies.trim, latencies.flush];
            let longest = record.longest_request.unwrap();
            let most = kinds.iter().flatten().map(|kind| kind.max).fold(0.0, f64::max);
            assert_eq!(longest.latency_us, most, "{ftl} {buffer}");
            assert_eq!(longest.unknown_us, Some(0.0), "{ftl} {buffer}");
            let sum: f64 = longest.parts.iter().flatten().map(|part| part.own_us + part.waited_us).sum();
            assert!((sum + longest.elsewhere_us.unwrap() - most).abs() < 1e-6, "{ftl} {buffer}: {longest:?}");
            if buffer == "buffer=none" {
                assert_eq!(longest.elsewhere_us, Some(0.0), "{ftl}: {longest:?}");
            }
        }
    }
}

#[test]
fn a_device_that_only_counts_has_no_longest_request() {
    assert_eq!(record(COLLECTING, &["device.model=counting"]).longest_request, None);
    let error = refused(COLLECTING, &["device.model=counting", "host.explain_longest=true"]);
    assert!(error.message.contains("it takes a device that keeps time"), "{error}");
    let found = record(COLLECTING, &[]).longest_request.unwrap();
    let explained = record(COLLECTING, &["host.explain_longest=true"]).longest_request.unwrap();
    assert_eq!((found.number, found.latency_us, found.parts), (explained.number, explained.latency_us, None));
}

#[test]
fn years_follow_from_what_is_written_a_day() {
    let sets = ["host.daily=100 MB", "workload.uniform.requests=20000"];
    let life = record(COLLECTING, &sets).lifetime.unwrap();
    let even = life.even.unwrap();
    assert!((even.years.unwrap() / (even.host_bytes / 100e6 / 365.0) - 1.0).abs() < 1e-12);
    for until in [life.first_block.unwrap(), life.one_percent.unwrap()] {
        for end in [0, 1] {
            assert!((until.years.unwrap()[end] / (until.host_bytes[end] / 100e6 / 365.0) - 1.0).abs() < 1e-12);
        }
    }
    let error = refused(COLLECTING, &["host.daily=0"]);
    assert!(error.message.contains("host.daily = 0 B cannot work"), "{error}");
    assert_eq!(record(COLLECTING, &sets[1..]).lifetime.unwrap().even.unwrap().years, None);
}

/// Four dies with room for the whole workload.
const FOUR_DIES: &str = "[ftl.page]\n[device]\nprofile = \"generic-8x4\"\ncapacity = \"64 MiB\"\n\
                         [device.shape]\nchannels = 2\ndies_per_channel = 2\npages_per_block = 32\n";

/// An experiment with these lines of a job file.
fn jobs(text: &str) -> String {
    format!("[workload.fio]\ntext = \"\"\"\n{text}\"\"\"\n{FOUR_DIES}")
}

#[test]
fn one_job_is_a_closed_loop_of_its_depth() {
    for depth in [1, 3, 32] {
        let job = format!("[job]\nioengine=libaio\nrw=write\nbs=8k\nsize=16m\niodepth={depth}\n");
        let ours = record(&jobs(&job), &["host.explain_longest=true"]);
        let sequential = "[workload.sequential]\nrequests = 2048\nsize = \"8 KiB\"\nalignment = \"8 KiB\"\n\
                          footprint = \"16 MiB\"\n";
        let sequential = format!("{sequential}{FOUR_DIES}");
        let depth = format!("host.queue_depth={depth}");
        let same = record(&sequential, &[&depth, "host.explain_longest=true"]);
        assert_eq!((ours.host.requests, ours.time_us, ours.flash), (2048, same.time_us, same.flash));
        assert_eq!((ours.latency_us, ours.latency_histogram), (same.latency_us, same.latency_histogram));
    }
}

#[test]
fn jobs_at_once_are_told_apart_by_their_names() {
    let mixed = jobs(
        "[global]\nioengine=libaio\nsize=8m\n[log]\nrw=write\niodepth=1\n[scan]\nrw=randread\nbs=16k\niodepth=16\n\
         [host]\nrw=randwrite\nnumjobs=2\nrate_iops=1000\n",
    );
    let record = record(&mixed, &[]);
    let rows = record.latency_by_origin.unwrap();
    let names: Vec<_> = rows.iter().map(|row| row.origin.as_str()).collect();
    assert_eq!(names, ["log", "scan", "[host]"], "the name of a part of the host stays its own");
    let counts = rows.iter().map(|row| row.latency_us.read.map_or(0, |read| read.count));
    assert_eq!(counts.collect::<Vec<_>>(), [0, 512, 0]);
    assert_eq!(rows[2].latency_us.write.unwrap().count, 2 * 2048);
    let written = |origin: &str| {
        record
            .matrix
            .iter()
            .filter(|row| row.origin == origin && row.cause == "host")
            .map(|row| row.programs)
            .sum::<u64>()
    };
    assert_eq!((written("log"), written("scan"), written("[host]")), (2048, 0, 4096));
    // 2,048 requests per clone at 1,000 per second: the last comes after 2.047 s.
    let time_us = record.time_us.unwrap();
    assert!((2_047_000.0..2_055_000.0).contains(&time_us), "{time_us}");
}

#[test]
fn a_warm_up_goes_over_into_the_measured_part_of_the_jobs() {
    let job = jobs("[a]\nrw=write\nsize=16m\n[b]\nrw=read\nsize=1m\nstonewall\n");
    let whole = record(&job, &[]);
    let warm = record(&job, &["precondition.warm_up=1000", "precondition.fill=none"]);
    assert_eq!(warm.host.requests + 1000, whole.host.requests);
    let sum = warm.precondition.unwrap().time_us.unwrap() + warm.time_us.unwrap();
    assert!((sum - whole.time_us.unwrap()).abs() < 1e-3, "{sum} {:?}", whole.time_us);
}

#[test]
fn jobs_have_their_own_depth_and_time_to_think() {
    let job = jobs("[a]\nrw=read\nsize=1m\n");
    for (set, why) in [
        ("host.queue_depth=2", "each job has its own: set iodepth there"),
        ("host.think_time_us=1", "each job has its own: set thinktime there"),
        ("host.arrival=recorded", "each job asks again when its earlier requests are done"),
    ] {
        let error = refused(&job, &[set]);
        assert!(error.message.contains(why), "{error}");
    }
    let wrong = crate::support::parse(&jobs("[a]\nrw=read\nsize=1m\niodept=2\n"), &[]).unwrap();
    let error = run(&wrong, Path::new("."), &Control::default(), Outputs::default()).unwrap_err().to_string();
    assert!(error.contains("workload.fio.text, line 4, column 8: the key `iodept` is not known"), "{error}");
}

/// An error in the jobs as a whole is reported at their lines.
#[test]
fn errors_of_jobs_in_the_text_are_located_there() {
    for (lines, says) in [("[global]\nrw=read\n", "it has no job"), ("[a]\nrw=read\nsize=1t\n", " needs ")] {
        let wrong = crate::support::parse(&jobs(lines), &[]).unwrap();
        let error = run(&wrong, Path::new("."), &Control::default(), Outputs::default()).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(says) && !said.contains("workload.fio.path"), "{said}");
        match error {
            LabError::Config(wrong) => {
                assert_eq!((wrong.key.as_deref(), wrong.line), (Some("workload.fio.text"), Some(2)), "{said}");
            }
            LabError::Trace(_) => assert!(said.contains("(workload.fio.text in x.toml, line 2)"), "{said}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn reads_that_suspend_erases_wait_for_less_and_change_no_count() {
    let text = COLLECTING.replace("requests = 4000", "requests = 8000\nread_share = 0.7\nrequests_per_s = 100");
    let recorded = "host.arrival=recorded";
    let suspend = "device.timing.suspend={ suspend_us = 20, resume_us = 30 }";
    let (plain, suspended) = (record(&text, &[recorded]), record(&text, &[recorded, suspend]));
    assert_eq!((plain.flash, plain.waf), (suspended.flash, suspended.waf));
    let (before, after) = (plain.latency_us.unwrap(), suspended.latency_us.unwrap());
    let (before, after) = (before.read.unwrap(), after.read.unwrap());
    assert!(after.p999 < before.p999 && after.mean < before.mean, "{before:?} {after:?}");
    // The minimum is the data-sheet time in both cases.
    assert_eq!(before.p50, after.p50);
    assert!(record(&text, &[recorded, suspend, "host.explain_longest=true"]).longest_request.is_some());
    let error = refused(&text, &["device.timing.suspend={ suspend_us = -1, resume_us = 30 }"]);
    assert!(error.message.contains("-1"), "{error}");
    let none = "device.timing.suspend={ suspend_us = 20, resume_us = 30, most_reads = 0 }";
    let error = refused(&text, &[recorded, none]);
    assert!(error.message.contains("an operation gives way to 1 read or more"), "{error}");
}

/// After 2,562,048 hours, the time no longer fits the counter of nanoseconds.
#[test]
fn time_that_runs_out_ends_the_run_with_a_sentence() {
    let text = WRITES.replace("requests = 1000", "requests = 2_700_000\nread_share = 1.0");
    let experiment = crate::support::parse(&text, &["host.think_time_us=3.6e9"]).unwrap();
    let said = run(&experiment, Path::new("."), &Control::default(), Outputs::default()).unwrap_err().to_string();
    assert!(said.starts_with("the simulated time of the device passed 2^63 ns, 292 years"), "{said}");
    let hours = record(WRITES, &["host.think_time_us=3.6e9"]).time_us.unwrap() / 3.6e9;
    assert!((hours - 999.0).abs() < 0.001, "{hours}");
}

/// One request at a time on an idle device: its latency is the sum of flash time and firmware time.
#[test]
fn firmware_takes_its_time_for_a_request_and_for_each_entry() {
    let wide = "device.shape.page_bytes=32768";
    let small = "workload.uniform={requests=200, size=\"4 KiB\", alignment=\"4 KiB\"}";
    let read = "workload.uniform={requests=200, size=\"4 KiB\", alignment=\"4 KiB\", read_share=1.0}";
    let long = "workload.uniform={requests=50, size=\"64 KiB\", alignment=\"64 KiB\", read_share=1.0}";
    for (ftl, requests, entries) in [
        // Pages of 64 sectors: one entry per page, or one per 8 sectors.
        ("page", small, 1),
        ("page", long, 2),
        ("superpage", small, 1),
        ("sector_map", small, 8),
        ("sector_map", read, 8),
        ("sector_map", long, 128),
        // The page's entry, and the entries of the small-written sectors.
        ("hybrid_map", small, 9),
        ("hybrid_map", read, 1),
        ("hybrid_map", long, 2),
        // The log takes single sectors; the filled data is not in it.
        ("sector_log", small, 9),
        ("sector_log", read, 1),
    ] {
        let text =
            "[workload.uniform]\n[precondition]\nfill = \"sequential\"\n[ftl.page]\n[device]\ncapacity = \"64 MiB\"\n\
                    over_provisioning = 1.0";
        let mean = |sets: &[&str]| {
            let ftl = format!("ftl={ftl}");
            let sets = [&[wide, "device.shape.pages_per_block=16", requests, &ftl][..], sets].concat();
            let found = record(text, &sets).latency_us.unwrap();
            found.read.or(found.write).unwrap().mean
        };
        let plain = mean(&[]);
        assert_eq!(mean(&["host.lookup_us=0"]), plain);
        // Firmware takes longer than the flash, so the flash is idle when a request begins.
        let flash = mean(&["host.firmware_us=1e6", "host.lookup_us=1e5"]) - 1e6 - 1e5 * f64::from(entries);
        assert!((0.0..=plain + 0.001).contains(&(flash + 0.0005)), "{ftl}, {requests}: {flash} {plain}");
    }
}

#[test]
fn look_ups_need_requests_of_the_host() {
    let error = refused(WRITES, &["host.lookup_us=-1"]);
    assert!(error.message.contains("it is a time from 0 to 1000000 microseconds"), "{error}");
    let error = refused(WRITES, &["host.lookup_us=1", "buffer=lru"]);
    assert!(error.message.contains("a buffer sends the FTL other requests"), "{error}");
    assert_eq!(error.key.as_deref(), Some("host.lookup_us"));
    let files = refused("[workload.phone]\n[fs.fat]\n[ftl.page]", &["host.lookup_us=1"]);
    assert!(files.message.contains("a file system or an index makes these"), "{files}");
}

/// Reads on one die: pages of 8 sectors, each with 16 spare bytes, so 528 bytes at 2.5 ns for each sector.
const READS: &str = "[workload.uniform]\nrequests = 500\nread_share = 1.0\n[precondition]\nfill = \"sequential\"\n\
                     [device]\ncapacity = \"8 MiB\"\nover_provisioning = 1.2\n[device.shape]\npages_per_block = 32\n";

#[test]
fn a_read_of_a_part_of_a_page_takes_the_command_and_its_sectors() {
    let sets = ["device.timing.transfer_command_us=7.5", "device.timing.read_transfer=sectors"];
    for (sectors, ftl) in [(1, "page"), (2, "page"), (4, "page"), (8, "page"), (1, "bast"), (4, "fast")] {
        let text = format!("{READS}[ftl.{ftl}]\n");
        let size = [&*format!("workload.uniform.size={} B", sectors * 512), "workload.uniform.alignment=4096"];
        let run = |sets: &[&str]| record(&text, &[sets, &size].concat());
        let (part, whole) = (run(&sets), run(&sets[..1]));
        for (record, moved) in [(&part, sectors), (&whole, 8)] {
            let read = record.latency_us.unwrap().read.unwrap();
            let ns = [read.mean, read.max].map(|us| (us * 1000.0).round());
            assert_eq!(ns, [f64::from(57_500 + 1320 * moved); 2], "{sectors} {ftl}");
        }
        assert_eq!((part.flash, part.busy_us), (whole.flash, whole.busy_us));
        let spared = [&part, &whole].map(|record| (record.spared_transfer_us * 1000.0).round());
        assert_eq!(spared, [f64::from(500 * (8 - sectors) * 1320), 0.0]);
    }
}

#[test]
fn reads_of_a_part_of_a_page_change_no_count() {
    for ftl in ["page", "fast", "sector_map", "sector_log"] {
        let text = crate::support::MIXED.replace("[ftl.page]", &format!("[ftl.{ftl}]"));
        let run = |transfer: &str| {
            record(&text, &["workload.zipf.requests=5000", &format!("device.timing.read_transfer={transfer}")])
        };
        let (page, sectors) = (run("page"), run("sectors"));
        assert_eq!((sectors.flash, &sectors.matrix), (page.flash, &page.matrix), "{ftl}");
        assert!(sectors.spared_transfer_us > 0.0 && sectors.time_us < page.time_us, "{ftl}");
    }
}
