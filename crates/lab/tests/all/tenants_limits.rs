//! Limits and reservations of tenants against closed forms; tenants that play a trace, or run jobs of fio.

use crate::support::{record, refused};
use nandlab_lab::record::{Record, TenantRecord};

const DEVICE: &str = "[precondition]\nfill = \"sequential\"\n[ftl.page]\n[device]\nprofile = \"generic-8x4\"\n\
                      capacity = \"64 MiB\"\n[device.shape]\nchannels = 2\ndies_per_channel = 2\npages_per_block = 32\n";

fn tenant(name: &str, keys: &str, workload: &str) -> String {
    format!("[[workload.tenants.tenant]]\nname = \"{name}\"\n{keys}\nworkload.{workload}\n")
}

fn played(tenants: &[String], until: &str) -> Record {
    record(&format!("[workload.tenants]\nuntil = \"{until}\"\n{}{DEVICE}", tenants.concat()), &[])
}

fn rows(record: &Record) -> &[TenantRecord] {
    record.tenants.as_deref().unwrap()
}

const READS: &str = "uniform = { requests = 2000, read_share = 1.0 }";

/// The last of N requests leaves after N - 1 periods, and takes no longer than a read behind another one on its die.
#[test]
fn n_requests_at_a_rate_take_n_periods() {
    for depth in [1, 4] {
        for rate in [1000.0, 5000.0] {
            let keys = format!("queue_depth = {depth}\nlimit = {{ requests_per_s = {rate} }}");
            let record = played(&[tenant("a", &keys, READS)], "last");
            let row = &rows(&record)[0];
            let least = 1999.0 * 1e6 / rate;
            assert!(
                row.time_us >= least && row.time_us < least + 200.0,
                "{depth}, {rate}: {}, not {least}",
                row.time_us
            );
            // Each of them waits a period after the end of the one `depth` before it.
            let period = f64::from(depth) * 1e6 / rate;
            assert!((row.mean_us.unwrap() / period - 1.0).abs() < 0.01, "{:?}, not {period}", row.mean_us);
        }
    }
}

#[test]
fn bytes_have_a_bucket_of_their_own() {
    let reads = "uniform = { requests = 1000, read_share = 1.0, size = \"16 KiB\" }";
    let record = played(&[tenant("a", "queue_depth = 8\nlimit = { mb_per_s = 20 }", reads)], "last");
    let least = 999.0 * 16384.0 / 20.0;
    let time = rows(&record)[0].time_us;
    assert!(time >= least && time < least + 1000.0, "{time}, not {least}");
}

/// A burst of 10 ms at 1,000 a second lets ten requests more go at once.
#[test]
fn a_burst_is_what_was_not_used() {
    let time = |burst: &str| {
        let keys = format!("queue_depth = 32\nlimit = {{ requests_per_s = 1000, {burst} }}");
        rows(&played(&[tenant("a", &keys, READS)], "last"))[0].time_us
    };
    let (without, with) = (time("burst_us = 0"), time("burst_us = 10_000"));
    assert!((without - with - 10_000.0).abs() < 200.0, "{without} {with}");
}

#[test]
fn a_limit_holds_for_commands_with_times_of_their_own() {
    let open = "uniform = { requests = 2000, read_share = 1.0, requests_per_s = 50000.0 }";
    let row = &rows(&played(&[tenant("a", "limit = { requests_per_s = 2000 }", open)], "last"))[0].clone();
    assert!((row.time_us / (1999.0 * 500.0) - 1.0).abs() < 0.01, "{}", row.time_us);
    // The k-th comes near k * 20 us and leaves at k * 500 us.
    assert!((row.mean_us.unwrap() / (1000.0 * 480.0) - 1.0).abs() < 0.05, "{:?}", row.mean_us);
}

/// What a limited tenant leaves over is the other one's.
#[test]
fn a_limit_leaves_the_device_to_others() {
    let with = |limit: &str| {
        let noisy =
            tenant("noisy", &format!("queue_depth = 32\n{limit}"), "uniform = { requests = 100000, read_share = 1.0 }");
        let record = played(&[tenant("quiet", "", READS), noisy], "first");
        (rows(&record)[0].mean_us.unwrap(), rows(&record)[1].requests_per_s)
    };
    let (free, limited) = (with(""), with("limit = { requests_per_s = 1000 }"));
    assert!(limited.0 < free.0 / 3.0, "{free:?} {limited:?}");
    assert!((limited.1 / 1000.0 - 1.0).abs() < 0.02, "{limited:?}");
}

#[test]
fn a_limit_without_a_rate_is_refused() {
    for (limit, word) in [
        ("{}", "requests_per_s"),
        ("{ requests_per_s = 0 }", "0.000001"),
        ("{ mb_per_s = 1, burst_us = -1 }", "burst_us"),
    ] {
        let text = format!("{}{DEVICE}", tenant("a", &format!("limit = {limit}"), READS));
        let said = refused(&text, &[]).to_string();
        assert!(said.contains("limit") && said.contains(word), "{said}");
    }
}

/// One die, of which one command at a time asks: a read takes 50 us in the array and (4096 + 128) bytes at 2.5 ns.
const ONE_DIE: &str = "[precondition]\nfill = \"sequential\"\n[ftl.page]\n[device]\nprofile = \"generic\"\n\
                       capacity = \"64 MiB\"\n[host.queues]\ncommands = 1\n";
const READS_PER_S: f64 = 1e6 / 60.56;

/// One tenant of each reservation in reads/s, with 8 of 20,000 reads outstanding in its queue, on one die.
fn reserved(reserves: &[&str]) -> Record {
    let reads = "uniform = { requests = 20000, read_share = 1.0 }";
    let one = |(at, reserve): (usize, &&str)| tenant(&format!("t{at}"), &format!("queue_depth = 8\n{reserve}"), reads);
    let tenants: String = reserves.iter().enumerate().map(one).collect();
    record(&format!("{tenants}{ONE_DIE}"), &[])
}

fn is_near(got: f64, expected: f64) -> bool {
    (got / expected - 1.0).abs() < 0.01
}

/// A tenant beside two that flood gets the larger one of its reservation and a third; the others share what is left.
#[test]
fn a_reservation_is_had_before_arbitration() {
    for (reserve, got) in [("", 1.0 / 3.0), ("0.2", 1.0 / 3.0), ("0.5", 0.5), ("0.8", 0.8)] {
        let key = |share: f64| format!("reserve = {{ requests_per_s = {} }}", share * READS_PER_S);
        let reserve = reserve.parse().map_or_else(|_| String::new(), key);
        let record = reserved(&[&reserve, "", ""]);
        let rates: Vec<_> = rows(&record).iter().map(|row| row.requests_per_s / READS_PER_S).collect();
        let rest = (1.0 - got) / 2.0;
        assert!(is_near(rates[0], got), "{reserve}: {rates:?}");
        assert!(is_near(rates[1], rest) && is_near(rates[2], rest), "{reserve}: {rates:?}");
        assert_eq!(rows(&record)[0].reserve_met.is_some(), !reserve.is_empty());
        assert!(rows(&record)[0].reserve_met.is_none_or(|met| met > 0.99) && record.notices.is_empty(), "{record:?}");
    }
    // Bytes alike: a read has 4096.
    let mb = format!("reserve = {{ mb_per_s = {} }}", 0.6 * READS_PER_S * 4096.0 / 1e6);
    let record = reserved(&[&mb, "", ""]);
    assert!(is_near(rows(&record)[0].requests_per_s, 0.6 * READS_PER_S), "{record:?}");
}

/// An eleventh by turns, and three eighths reserved: commands that come at their own times wait for no turn.
#[test]
fn a_reservation_holds_for_commands_with_times_of_their_own() {
    let rate = 0.375 * READS_PER_S;
    let open = format!("uniform = {{ requests = 5000, read_share = 1.0, requests_per_s = {} }}", rate * 0.99);
    let floods: Vec<_> = (0..10)
        .map(|at| tenant(&format!("f{at}"), "queue_depth = 8", "uniform = { requests = 1000000, read_share = 1.0 }"))
        .collect();
    let with = |keys: &str| {
        let tenants = [vec![tenant("open", keys, &open)], floods.clone()].concat().concat();
        record(&format!("{tenants}{ONE_DIE}"), &[]).tenants.unwrap().swap_remove(0)
    };
    let without = with("");
    let reserved = with(&format!("reserve = {{ requests_per_s = {rate} }}"));
    assert!(is_near(without.requests_per_s, READS_PER_S / 11.0), "{without:?}");
    // All that come are had, and the mean wait is some reads, not thousands.
    assert!((reserved.requests_per_s / (rate * 0.99) - 1.0).abs() < 0.05, "{reserved:?}");
    assert!(reserved.wait_us.unwrap() < without.wait_us.unwrap() / 100.0, "{reserved:?} {without:?}");
}

/// 0.9 and 0.6 of the device: the two take turns when each is due, by the time since when it is, so both get two thirds of
/// their reservations; the third gets nothing.
#[test]
fn reservations_beyond_the_device_are_told() {
    let key = |share: f64| format!("reserve = {{ requests_per_s = {} }}", share * READS_PER_S);
    let record = reserved(&[&key(0.9), &key(0.6), ""]);
    let rows = rows(&record);
    for (row, share) in rows.iter().zip([0.9, 0.6]) {
        assert!(is_near(row.requests_per_s, share / 1.5 * READS_PER_S), "{row:?}");
        assert!(is_near(row.reserve_met.unwrap(), 1.0 / 1.5), "{row:?}");
        let told = format!("tenant {} got 66.", row.name);
        assert!(record.notices.iter().any(|notice| notice.starts_with(&told)), "{:?}", record.notices);
    }
    assert!(rows[2].requests < 10 && rows[2].reserve_met.is_none(), "{:?}", rows[2]);
}

#[test]
fn a_reservation_that_cannot_hold_is_refused() {
    let bound = "[host.queues]\ncommands = 4\n";
    for (keys, bound, word) in [
        ("reserve = {}", bound, "requests_per_s"),
        ("reserve = { mb_per_s = 0 }", bound, "0.000001"),
        ("reserve = { requests_per_s = 20 }\nlimit = { requests_per_s = 10 }", bound, "limit is 10"),
        ("reserve = { requests_per_s = 20 }", "", "host.queues.commands"),
    ] {
        let said = refused(&format!("{}{bound}{DEVICE}", tenant("a", keys, READS)), &[]).to_string();
        assert!(said.contains("reserve") && said.contains(word), "{said}");
    }
}

/// A tenant alone plays a trace as the experiment does: at its times, or in a closed loop.
#[test]
fn a_trace_is_played_as_without_queues() {
    let lines: Vec<String> =
        (0..400).map(|at| format!("{},{},{},8", at * 70, ["R", "W"][at % 2], at * 8 * 37 % 60_000)).collect();
    let trace = format!(
        "trace = {{ format = \"csv\", text = \"\"\"\ntime_us,op,sector,sectors\n{}\n\"\"\" }}",
        lines.join("\n")
    );
    for (arrival, host) in [("recorded", "arrival = \"recorded\""), ("closed", "queue_depth = 1")] {
        let keys = format!("arrival = \"{arrival}\"");
        let tenants = played(&[tenant("a", &keys, &trace)], "last");
        let plain = record(&format!("[workload]\n{trace}\n[host]\n{host}\n{DEVICE}"), &[]);
        let latency =
            |record: &Record| record.latency_us.map(|latency| (latency.read.unwrap(), latency.write.unwrap()));
        assert_eq!(latency(&tenants), latency(&plain), "{arrival}");
        assert_eq!(tenants.host, plain.host);
    }
}

/// Jobs of fio in a tenant ask what they ask without queues, at the same times.
#[test]
fn jobs_of_fio_are_those_without_queues() {
    let jobs = "fio = { text = \"\"\"\n[global]\nioengine=libaio\nsize=4m\n[a]\nrw=randread\nbs=4k\niodepth=4\n[b]\nrw=randwrite\nbs=8k\n\
                iodepth=2\nrate_iops=3000\n[c]\nrw=read\nbs=16k\nthinktime=300\nruntime=1\n\"\"\" }";
    let tenants = played(&[tenant("a", "", jobs)], "last");
    let plain = record(&format!("[workload]\n{jobs}\n{DEVICE}"), &[]);
    let latency = |record: &Record| record.latency_us.map(|latency| (latency.read.unwrap(), latency.write.unwrap()));
    assert_eq!(latency(&tenants), latency(&plain));
    assert_eq!((&tenants.host, tenants.time_us), (&plain.host, plain.time_us));
    // Beside another tenant both are slower, and the counts stay.
    let beside = tenant("b", "queue_depth = 16", "uniform = { requests = 20000, read_share = 1.0, size = \"16 KiB\" }");
    let both = played(&[tenant("a", "part = 0.5", jobs), beside], "last");
    assert_eq!(rows(&both)[0].requests, rows(&tenants)[0].requests);
    assert!(rows(&both)[0].mean_us > rows(&tenants)[0].mean_us);
    assert_eq!(rows(&both)[1].requests, 20_000);
}
