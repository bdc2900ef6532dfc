//! The clock of a run is that of its host: it ends with the last answer, whatever flash did or did not do for it.

use crate::support::record;
use nandlab_lab::record::Record;
use nandlab_nand::random::Random;

const DEVICE: &str = "[ftl.page]\n[device]\nprofile = \"generic\"\ncapacity = \"64 MiB\"\n";
const BUFFER: &str = "[buffer.lru]\n[memory]\n";
const FILL: &str = "[precondition]\nfill = \"sequential\"\n";

/// The record of a trace at its own pace: (us, operation, sector) for 8 sectors each.
fn recorded(requests: &[(u64, char, u64)], rest: &str) -> Record {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let line = |&(us, op, sector): &(u64, char, u64)| format!("{us},{op},{sector},8\n");
    std::fs::write(&path, "time_us,op,sector,sectors\n".to_owned() + &requests.iter().map(line).collect::<String>())
        .unwrap();
    let text = format!("[workload.trace]\npath = {path:?}\n[host]\narrival = \"recorded\"\n{rest}");
    record(&text, &[])
}

fn seconds(record: &Record) -> f64 {
    record.time_us.unwrap() / 1e6
}

fn rate(record: &Record) -> f64 {
    record.throughput.unwrap().requests_per_s
}

/// 5,000 requests, one a millisecond, most of which a buffer answers.
#[test]
fn hits_of_a_buffer_take_as_long_as_their_host_does() {
    let requests: Vec<_> = (0..5000).map(|n| (n * 1000, if n % 2 == 0 { 'W' } else { 'R' }, n * 7 % 64 * 8)).collect();
    let record = recorded(&requests, &format!("{DEVICE}{BUFFER}{FILL}"));
    assert!((4.999..4.9991).contains(&seconds(&record)), "{:?}", record.time_us);
    assert!((rate(&record) - 1000.2).abs() < 0.1, "{}", rate(&record));
    let last = record.series.last().unwrap();
    assert_eq!(last.time_us, record.time_us, "the series ends with the run");
}

/// Nothing is done on flash for the second request, ten seconds later.
#[test]
fn a_request_without_flash_moves_the_clock() {
    for (buffer, last) in [
        (BUFFER, (10_000_000, 'W', 0)),
        ("", (10_000_000, 'F', 0)),
        ("", (10_000_000, 'T', 0)),
        ("", (10_000_000, 'R', 800)),
    ] {
        let record = recorded(&[(0, 'W', 0), last], &format!("{DEVICE}{buffer}"));
        assert!((10.0..10.001).contains(&seconds(&record)), "{last:?}: {:?}", record.time_us);
    }
}

#[test]
fn think_times_are_kept() {
    let text = format!(
        "[workload.uniform]\nrequests = 20000\nread_share = 0.9\nfootprint = \"1 MiB\"\n[host]\nthink_time_us = 100\n\
         {DEVICE}{BUFFER}{FILL}"
    );
    let record = record(&text, &[]);
    assert!((1.9999..2.4).contains(&seconds(&record)), "{:?}", record.time_us);
    // One slot: a request is under way unless the host thinks.
    let thinks = 19_999.0 * 100.0 / record.time_us.unwrap();
    assert!((record.in_flight.unwrap() + thinks - 1.0).abs() < 1e-6, "{:?} {thinks}", record.in_flight);
}

/// One write, and then reads of what was never written, ten a second for two minutes.
#[test]
fn a_job_with_a_rate_has_it() {
    let text = format!(
        "[workload.fio]\ntext = \"\"\"\n[w]\nrw=write\nbs=4k\nsize=4k\nfilename=/dev/zz\n[r]\nrw=randread\nbs=4k\n\
         offset=8m\nsize=8m\nruntime=120\ntime_based\nrate_iops=10\nfilename=/dev/zz\n\"\"\"\n{DEVICE}"
    );
    let record = record(&text, &[]);
    assert!((119.8..120.1).contains(&seconds(&record)), "{:?}", record.time_us);
    assert!((rate(&record) - 10.0).abs() < 0.1, "{}", rate(&record));
}

/// A device that answers before it programs still works when the host has its answers.
#[test]
fn what_flash_does_after_the_last_answer_is_a_figure_of_its_own() {
    let text =
        "[workload.sequential]\nrequests = 64\n[host]\nqueue_depth = 8\n[ftl.page]\n[device]\nprofile = \"generic\"\n\
                capacity = \"64 MiB\"\n[device.controller]\nwrite_buffer_bytes = 1048576\nlatency_us = 5\n";
    let early = record(text, &[]);
    let late = record(text, &["device.controller.write_buffer_bytes=0"]);
    let (time, drain) = (early.time_us.unwrap(), early.drain_us.unwrap());
    assert!(time < 0.1 * late.time_us.unwrap() && drain > 0.5 * late.time_us.unwrap(), "{time} {drain}");
    assert!((early.throughput.unwrap().requests_per_s * time / 1e6 - 64.0).abs() < 1e-6);
    assert_eq!(late.drain_us, Some(0.0));
}

/// A choice of each kind of what makes a run.
struct Drawn {
    text: String,
    /// Slots and think time in us, in a closed loop.
    closed: Option<(f64, f64)>,
    /// Requests a second that are asked for.
    asked: Option<f64>,
}

fn drawn(random: &mut Random) -> Drawn {
    let mut pick = |of: &[&'static str]| of[random.below(of.len() as u64) as usize];
    let ftl = pick(&["page", "bast", "fast", "dftl", "sector_map", "superpage"]);
    let buffer = pick(&[
        "",
        "",
        "[buffer.lru]\nsize = \"1 MiB\"\n[memory]\npowered = \"run\"\n",
        "[buffer.cflru]\nsize = \"512 KiB\"\n[memory]\npowered = \"run\"\n",
    ]);
    let fill = pick(&["sequential", "random", "none"]);
    let kind = pick(&["uniform", "zipf", "hot_cold", "sequential"]);
    let (channels, dies) = (pick(&["1", "2"]), pick(&["1", "2"]));
    let depth = pick(&["1", "3", "8"]);
    let think = pick(&["0", "0", "50", "700"]);
    let per_s = pick(&["0", "20", "300"]);
    let reads = pick(&["0", "0.5", "0.95"]);
    let mix = if kind == "sequential" { String::new() } else { format!("read_share = {reads}\ntrim_share = 0.05\n") };
    let (pace, host) = if per_s == "0" {
        (String::new(), format!("queue_depth = {depth}\nthink_time_us = {think}\n"))
    } else {
        (format!("requests_per_s = {per_s}\n"), "arrival = \"recorded\"\n".to_owned())
    };
    let text = format!(
        "seed = {}\n[workload.{kind}]\nrequests = 1500\nflush_every = 40\n{mix}{pace}[host]\n{host}[ftl.{ftl}]\n[device]\n\
         capacity = \"16 MiB\"\nover_provisioning = 0.5\n[device.shape]\n\
         channels = {channels}\ndies_per_channel = {dies}\npages_per_block = 32\n{buffer}[precondition]\nfill = \"{fill}\"\n",
        random.below(1000)
    );
    let number = |text: &str| text.parse::<f64>().unwrap();
    Drawn {
        text,
        closed: (per_s == "0").then(|| (number(depth), number(think))),
        asked: (per_s != "0").then(|| number(per_s)),
    }
}

#[test]
fn rates_times_and_requests_under_way_belong_together() {
    let mut random = Random::new(41);
    for _ in 0..60 {
        let Drawn { text, closed, asked } = drawn(&mut random);
        let record = record(&text, &[]);
        let (time, requests) = (seconds(&record), record.host.requests as f64);
        if time == 0.0 {
            assert!(record.throughput.is_none() && record.in_flight.is_none() && record.host.writes == 0, "{text}");
            continue;
        }
        assert!((rate(&record) * time / requests - 1.0).abs() < 1e-9, "{text}: {} in {time} s", rate(&record));
        if let Some(asked) = asked {
            // Gaps are drawn with this mean; flushes come with the request before.
            let (gaps, flushes) = (requests - record.host.flushes as f64, record.host.flushes);
            let ratio = gaps / time / asked;
            let drawn = 4.0 / gaps.sqrt();
            assert!(ratio < 1.0 + drawn, "{text}: {ratio} of the rate, with {flushes} flushes");
            if record.notices.iter().all(|notice| !notice.contains("fell behind")) {
                assert!(ratio > 1.0 - drawn - 0.01, "{text}: {ratio} of the rate");
            }
        }
        let latencies = record.latency_us.unwrap();
        let kinds = [latencies.read, latencies.write, latencies.trim, latencies.flush];
        let took: f64 = kinds.iter().flatten().map(|kind| kind.mean * kind.count as f64).sum();
        let in_flight = record.in_flight.unwrap();
        let little = rate(&record) * took / 1e6 / requests;
        assert!((in_flight - little).abs() <= 0.01 * little.max(1e-9), "{text}: {in_flight} and {little}");
        if let Some((slots, think_us)) = closed {
            // Each slot waits for an answer or thinks, until the last ones at the end.
            let law = slots - rate(&record) * think_us / 1e6;
            let longest = record.longest_request.as_ref().map_or(0.0, |longest| longest.latency_us);
            let at_the_end = slots * (longest + think_us) / record.time_us.unwrap();
            assert!((in_flight - law).abs() <= 0.01 * slots + at_the_end, "{text}: {in_flight}, {law}");
        }
        if let Some(energy) = record.buffer.and_then(|buffer| buffer.energy_j) {
            let watts = energy.dram.standing.unwrap() / time;
            let gib = energy.dram.bytes as f64 / f64::from(1 << 30);
            assert!((watts / gib - 1.0).abs() < 1e-9, "{text}: {watts} W");
        }
    }
}
