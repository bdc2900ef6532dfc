//! Energy of buffers: operations x energy + static power x time, by memory and kind.

use crate::support::{parse, record};
use nandlab_lab::config::{Experiment, Format};
use std::path::Path;

/// Ten one-page writes, a second apart, and then the same ten again.
const TRACE: &str = "time_us,op,sector,sectors\n";

fn text(trace: &str) -> String {
    format!(
        "[workload.trace]\npath = \"{trace}\"\n[host]\narrival = \"recorded\"\n[buffer.hybrid_lru]\ndram = \"8 MiB\"\n\
         nvram = \"24 MiB\"\n[memory]\n[ftl.page]\n[device]\nprofile = \"wap\"\ncapacity = \"64 MiB\"\n"
    )
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} is not {b}");
}

#[test]
fn joules_are_operations_and_static_power_over_the_time_of_the_trace() {
    let folder = std::env::temp_dir().join(format!("nandlab-energy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("twenty.csv");
    let write = |n: u64| format!("{},W,{},8\n", n * 1_000_000, n % 10 * 8);
    std::fs::write(&path, (0..20).map(write).fold(TRACE.to_owned(), |all, one| all + &one)).unwrap();
    let text = text(path.to_str().unwrap());
    let timed = record(&text, &[]);
    let energy = timed.buffer.as_ref().unwrap().energy_j.unwrap();
    let nvram = energy.nvram.unwrap();
    assert_eq!(energy.powered_us, Some(19e6), "from the first request to the last");
    // Dirty pages are in NVRAM: 20 writes of 0.26 nJ. A header has 4 words, and each rewritten page clears one
    // more.
    close(nvram.write, 20.0 * 0.26e-9);
    let words = 20.0 * 4.0 + 10.0;
    close(nvram.header, words / 512.0 * 0.26e-9);
    close(nvram.standing.unwrap(), 24.0 / 1024.0 * 0.1 * 19.0);
    close(energy.dram.standing.unwrap(), 8.0 / 1024.0 * 19.0);
    assert_eq!((energy.dram.read, energy.dram.write, energy.dram.header), (0.0, 0.0, 0.0));
    close(energy.total.unwrap(), nvram.total.unwrap() + energy.dram.total.unwrap());
    close(timed.buffer.as_ref().unwrap().nvram.unwrap().energy_j, nvram.write + nvram.header);
    let all = timed.energy_all_j.unwrap();
    close(all.total.unwrap(), energy.total.unwrap() + timed.energy_j.unwrap().total);
    close(all.per_gb_written.unwrap(), all.total.unwrap() / (20.0 * 4096.0 / 1e9));
    // A write takes 27 ns, plus its header words' share.
    let latency = timed.latency_us.unwrap().write.unwrap();
    assert!((0.027..0.029).contains(&latency.mean), "{latency:?}");

    let counting = record(&text, &["device.model=counting"]);
    let counted = counting.buffer.unwrap().energy_j.unwrap();
    assert_eq!(counted, energy, "the trace has times, whether or not the device keeps any");
    let run = record(&text, &["memory.powered=run"]).buffer.unwrap().energy_j.unwrap();
    // The last request comes at 19 s, and the run ends when it is done.
    assert!((19e6..19.001e6).contains(&run.powered_us.unwrap()) && run.powered_us != energy.powered_us, "{run:?}");
    let without_time = record(&text, &["device.model=counting", "host.arrival=closed"]);
    let untimed = without_time.buffer.unwrap().energy_j.unwrap();
    assert_eq!((untimed.total, untimed.standing, untimed.dynamic), (None, None, energy.dynamic));
    assert_eq!(without_time.energy_all_j.unwrap().per_gb_written, None);
    std::fs::remove_dir_all(folder).unwrap();
}

const UNIFORM: &str =
    "[workload.uniform]\nrequests = 5000\nread_share = 0.3\n[buffer.lru]\nsize = \"1 MiB\"\n[memory]\n\
                       [ftl.page]\n[device]\nprofile = \"wap\"\ncapacity = \"16 MiB\"\n";

#[test]
fn dram_costs_by_its_accesses_and_the_time_of_the_run() {
    let record = record(UNIFORM, &["memory.dram.profile=wap-cell-dram", "memory.dram.write_nj=2"]);
    let buffer = record.buffer.unwrap();
    let energy = buffer.energy_j.unwrap();
    assert!(energy.nvram.is_none());
    close(energy.dram.read, buffer.dram.reads as f64 * 32.768e-9);
    close(energy.dram.write, buffer.dram.writes as f64 * 2e-9);
    assert_eq!(energy.powered_us, record.time_us);
    close(energy.dram.standing.unwrap(), record.time_us.unwrap() / 1e6 / 1024.0);
    let written = serde_json::to_value(&record.experiment).unwrap();
    assert_eq!(written["memory"]["dram"]["profile"], "wap-cell-dram");
    let again = Experiment::parse(&written.to_string(), Format::Json, "", Path::new(""), &[]).unwrap();
    assert_eq!(again.to_json(), record.experiment.to_json());
}

#[test]
fn without_a_memory_table_a_buffer_has_no_energy() {
    let without = UNIFORM.replace("[memory]\n", "");
    let (with, without) = (record(UNIFORM, &[]), record(&without, &[]));
    assert!(without.buffer.as_ref().unwrap().energy_j.is_none());
    let all = without.energy_all_j.unwrap();
    assert_eq!((all.total, all.standing), (Some(without.energy_j.unwrap().total), Some(0.0)));
    assert_eq!(with.flash, without.flash, "energies change no count");
}

#[test]
fn mistakes_name_their_key() {
    for (set, sentence) in [
        ("memory.dram.profile=wap-dran", "there is no memory `wap-dran`; did you mean `wap-dram`?"),
        ("memory.nvram.profile=5", "memory.nvram.profile: expected a string, given 5"),
        ("memory.nvram.wirte_nj=5", "memory.nvram.wirte_nj is no key of a memory: it has profile, unit_bytes, read_ns"),
        ("memory.dram.read_nj=-1", "memory.dram.read_nj: -1 is not in the range"),
        ("memory.dram.unit_bytes=0", "memory.dram.unit_bytes"),
        ("memory.powered=trace", "memory.powered = \"trace\" has no time to go by"),
        ("memory.flash=1", "memory.flash"),
    ] {
        let error = parse(UNIFORM, &[set]).unwrap_err().to_string();
        assert!(error.contains(sentence), "{set}: {error}");
    }
    let notices = parse(UNIFORM, &["buffer=none"]).unwrap().notices;
    assert!(notices.iter().any(|notice| notice.contains("[memory] has no effect")), "{notices:?}");
}
