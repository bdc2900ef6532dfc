//! Simulator speed, and the machine's limit.
//!
//! Every figure is a median over several repetitions, per second on one core (processor time), with its
//! workload and state size. For a hot loop bound by memory, the bench also gives a share relative to the
//! machine's limit: the rate for the unavoidable memory accesses alone. Figures then compare across machines.

mod buffers;
mod hot_loops;
mod machine;
mod traces;

use crate::error::{ConfigError, LabError};
use crate::json;
use nandlab_workload::nearest;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;
use traces::Form;

/// A measured figure.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The bench.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Median over the repetitions.
    pub value: f64,
    /// Smallest repetition.
    pub lowest: f64,
    /// Largest repetition.
    pub highest: f64,
    /// Size of the loop's tables, bytes.
    pub state_bytes: u64,
    /// Share relative to the machine's limit, if it was measured, too: value / value in the bench named by `limit`.
    pub of_limit: Option<f64>,
    /// The bench for the limit.
    pub limit: Option<&'static str>,
    /// Conditions: capacity, over-provisioning, workload and so on.
    pub params: BTreeMap<&'static str, String>,
}

/// A bench's result.
struct Measured {
    unit: &'static str,
    values: Vec<f64>,
    state_bytes: u64,
    params: BTreeMap<&'static str, String>,
}

/// A bench in the list.
struct Bench {
    name: &'static str,
    /// The bench for this one's limit; it comes earlier in the list.
    limit: Option<&'static str>,
    measure: fn(quick: bool) -> Result<Measured, LabError>,
}

const BENCHES: &[Bench] = &[
    Bench { name: "machine_streaming", limit: None, measure: machine::streaming },
    Bench { name: "machine_random_small", limit: None, measure: |quick| machine::random(quick, Scale::Small) },
    Bench { name: "machine_random_large", limit: None, measure: |quick| machine::random(quick, Scale::Large) },
    Bench { name: "machine_latency_small", limit: None, measure: |quick| machine::dependent(quick, Scale::Small) },
    Bench { name: "machine_latency_large", limit: None, measure: |quick| machine::dependent(quick, Scale::Large) },
    Bench {
        name: "page_small",
        limit: Some("machine_random_small"),
        measure: |quick| hot_loops::untimed(quick, Scale::Small, "[ftl.page]"),
    },
    Bench {
        name: "page_large",
        limit: Some("machine_random_large"),
        measure: |quick| hot_loops::untimed(quick, Scale::Large, "[ftl.page]"),
    },
    Bench { name: "page_fifo", limit: None, measure: |quick| policy(quick, "victim = \"fifo\"") },
    Bench { name: "page_random", limit: None, measure: |quick| policy(quick, "victim = \"random\"") },
    Bench { name: "page_d_choices", limit: None, measure: |quick| policy(quick, "victim = \"d_choices\"") },
    Bench { name: "page_windowed_greedy", limit: None, measure: |quick| policy(quick, "victim = \"windowed_greedy\"") },
    Bench { name: "page_cost_benefit", limit: None, measure: |quick| policy(quick, "victim = \"cost_benefit\"") },
    Bench {
        name: "page_cost_benefit_flash",
        limit: None,
        measure: |quick| policy(quick, "victim = \"cost_benefit_flash\""),
    },
    Bench { name: "page_cat", limit: None, measure: |quick| policy(quick, "victim = \"cat\"") },
    Bench { name: "page_dac", limit: None, measure: |quick| policy(quick, "placement = \"dac\"") },
    Bench { name: "page_sepbit", limit: None, measure: |quick| policy(quick, "placement = \"sepbit\"") },
    Bench { name: "page_warcip", limit: None, measure: |quick| policy(quick, "placement = \"warcip\"") },
    Bench { name: "page_midas", limit: None, measure: |quick| policy(quick, "placement = \"midas\"") },
    Bench { name: "page_pools", limit: None, measure: pools },
    Bench { name: "page_dual_pool", limit: None, measure: |quick| policy(quick, "wear = \"dual_pool\"") },
    Bench { name: "zoned", limit: None, measure: |quick| hot_loops::untimed(quick, Scale::Small, "[ftl.zoned]") },
    Bench { name: "dftl", limit: None, measure: |quick| hot_loops::untimed(quick, Scale::Small, "[ftl.dftl]") },
    Bench { name: "dftl_tpftl", limit: None, measure: |quick| map_cache(quick, "tpftl") },
    Bench { name: "dftl_cdftl", limit: None, measure: |quick| map_cache(quick, "cdftl") },
    Bench { name: "dftl_sftl", limit: None, measure: |quick| map_cache(quick, "sftl") },
    Bench { name: "dftl_leaftl", limit: None, measure: |quick| map_cache(quick, "leaftl") },
    Bench { name: "dftl_learned", limit: None, measure: |quick| map_cache(quick, "learned") },
    Bench {
        name: "dftl_in_memory",
        limit: None,
        measure: |quick| hot_loops::untimed(quick, Scale::Small, "[ftl.dftl]\ncmt_entries = 262144"),
    },
    Bench { name: "lazyftl", limit: None, measure: |quick| hot_loops::untimed(quick, Scale::Small, "[ftl.lazyftl]") },
    Bench {
        name: "superpage",
        limit: None,
        measure: |quick| hot_loops::untimed(quick, Scale::Small, "[ftl.superpage]"),
    },
    Bench { name: "sector_map", limit: None, measure: |quick| hot_loops::sectors(quick, "[ftl.sector_map]") },
    Bench { name: "hybrid_map", limit: None, measure: |quick| hot_loops::sectors(quick, "[ftl.hybrid_map]") },
    Bench { name: "sector_log", limit: None, measure: |quick| hot_loops::sectors(quick, "[ftl.sector_log]") },
    Bench { name: "timed_small", limit: None, measure: |quick| hot_loops::timed(quick, Scale::Small) },
    Bench { name: "timed_large", limit: None, measure: |quick| hot_loops::timed(quick, Scale::Large) },
    Bench {
        name: "bast",
        limit: None,
        measure: |quick| hot_loops::block_mapped(quick, "[ftl.bast]\nlog_blocks = 32", 0.28),
    },
    Bench {
        name: "fast",
        limit: None,
        measure: |quick| hot_loops::block_mapped(quick, "[ftl.fast]\nlog_blocks = 32", 0.28),
    },
    Bench {
        name: "kast",
        limit: None,
        measure: |quick| hot_loops::block_mapped(quick, "[ftl.kast]\nlog_blocks = 32", 0.28),
    },
    Bench { name: "last", limit: None, measure: |quick| hot_loops::block_mapped(quick, "[ftl.last]", 0.28) },
    Bench {
        name: "superblock",
        limit: None,
        measure: |quick| hot_loops::block_mapped(quick, "[ftl.superblock]", 0.28),
    },
    Bench {
        name: "migration",
        limit: None,
        measure: |quick| hot_loops::block_mapped(quick, "[ftl.migration]\nlog_blocks = 32", 0.28),
    },
    Bench { name: "block", limit: None, measure: |quick| hot_loops::block_mapped(quick, "[ftl.block]", 0.28) },
    Bench { name: "nftl", limit: None, measure: |quick| hot_loops::block_mapped(quick, "[ftl.nftl]", 0.28) },
    Bench { name: "fmax", limit: None, measure: |quick| hot_loops::block_mapped(quick, "[ftl.fmax]", 1.28) },
    Bench { name: "mtbs", limit: None, measure: |quick| hot_loops::block_mapped(quick, "[ftl.mtbs]", 1.28) },
    Bench { name: "buffer_pass_through", limit: None, measure: |quick| buffers::small("pass_through", quick) },
    Bench { name: "buffer_lru", limit: None, measure: |quick| buffers::small("lru", quick) },
    Bench { name: "buffer_clock", limit: None, measure: |quick| buffers::small("clock", quick) },
    Bench { name: "buffer_cflru", limit: None, measure: |quick| buffers::small("cflru", quick) },
    Bench { name: "buffer_s3_fifo", limit: None, measure: |quick| buffers::small("s3_fifo", quick) },
    Bench { name: "buffer_sieve", limit: None, measure: |quick| buffers::small("sieve", quick) },
    Bench { name: "buffer_second_write", limit: None, measure: |quick| buffers::small("second_write", quick) },
    Bench { name: "buffer_arc", limit: None, measure: |quick| buffers::small("arc", quick) },
    Bench { name: "buffer_fab", limit: None, measure: |quick| buffers::small("fab", quick) },
    Bench { name: "buffer_bplru", limit: None, measure: |quick| buffers::small("bplru", quick) },
    Bench { name: "buffer_lb_clock", limit: None, measure: |quick| buffers::small("lb_clock", quick) },
    Bench { name: "buffer_hybrid_lru", limit: None, measure: |quick| buffers::small("hybrid_lru", quick) },
    Bench { name: "buffer_clock_dnv", limit: None, measure: |quick| buffers::small("clock_dnv", quick) },
    Bench { name: "buffer_cbm", limit: None, measure: |quick| buffers::small("cbm", quick) },
    Bench { name: "buffer_wap_lru", limit: None, measure: |quick| buffers::small("wap_lru", quick) },
    Bench { name: "buffer_lru_large", limit: None, measure: |quick| buffers::large("lru", quick) },
    Bench { name: "buffer_clock_large", limit: None, measure: |quick| buffers::large("clock", quick) },
    Bench { name: "buffer_s3_fifo_large", limit: None, measure: |quick| buffers::large("s3_fifo", quick) },
    Bench { name: "buffer_sieve_large", limit: None, measure: |quick| buffers::large("sieve", quick) },
    Bench { name: "buffer_arc_large", limit: None, measure: |quick| buffers::large("arc", quick) },
    Bench { name: "trace_plain", limit: None, measure: |quick| traces::parse(quick, Form::Csv) },
    Bench { name: "trace_gzip", limit: None, measure: |quick| traces::parse(quick, Form::Gzip) },
    Bench { name: "trace_spc", limit: None, measure: |quick| traces::parse(quick, Form::Spc) },
    Bench { name: "trace_msr", limit: None, measure: |quick| traces::parse(quick, Form::Msr) },
    Bench { name: "trace_native", limit: None, measure: |quick| traces::parse(quick, Form::Native) },
    Bench { name: "trace_replay", limit: None, measure: traces::replay },
];

/// The page map with a different victim or placement policy, on the smaller device. Both pools have half the
/// pages, and about half the blocks.
fn pools(quick: bool) -> Result<Measured, LabError> {
    let (pages, blocks) = if quick { (2048, 163) } else { (131_072, 654) };
    policy(quick, &format!("placement.pools = {{ pages = {pages}, blocks = {blocks} }}"))
}

fn policy(quick: bool, option: &str) -> Result<Measured, LabError> {
    hot_loops::untimed(quick, Scale::Small, &format!("[ftl.page]\n{option}"))
}

/// DFTL with another cache, as large as its own.
fn map_cache(quick: bool, cache: &str) -> Result<Measured, LabError> {
    hot_loops::untimed(quick, Scale::Small, &format!("[ftl.dftl]\ncache = \"{cache}\""))
}

/// Two device sizes: the map fits the processor's caches, or it does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scale {
    Small,
    Large,
}

impl Scale {
    /// Exported GiB, or 1/64 GiB each in a quick run.
    fn capacity_bytes(self, quick: bool) -> u64 {
        let gib: u64 = if self == Self::Small { 1 } else { 16 };
        gib << if quick { 24 } else { 30 }
    }
}

/// Page size in every bench.
const PAGE_BYTES: u64 = 4096;

/// All bench names.
pub fn names() -> impl Iterator<Item = &'static str> {
    BENCHES.iter().map(|bench| bench.name)
}

/// Every bench with the bench for its limit, in the order of their measurement.
#[doc(hidden)]
pub fn limits() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    BENCHES.iter().map(|bench| (bench.name, bench.limit))
}

/// Measures the benches in `wanted`, or all if it is empty; `quick` makes states and repetitions small.
///
/// A figure has its share of a limit if the limit's bench is measured, too.
///
/// `tell` gets a line before each measurement; if it returns false, the bench ends with the results so far.
///
/// # Errors
/// [`LabError::Config`] for an unknown name; [`LabError::Io`] if a trace cannot be written for the benches that
/// read one.
pub fn run(wanted: &[String], quick: bool, tell: &mut dyn FnMut(&str) -> bool) -> Result<Vec<Figure>, LabError> {
    for name in wanted {
        if !names().any(|known| known == name) {
            let hint = nearest(name, names()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let known = names().collect::<Vec<_>>().join(", ");
            let message = format!("there is no bench `{name}`{hint} (known: {known})");
            return Err(ConfigError { message, ..Default::default() }.into());
        }
    }
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let mut figures: Vec<Figure> = Vec::new();
    for bench in BENCHES.iter().filter(|bench| is_wanted(bench.name)) {
        if !tell(bench.name) {
            break;
        }
        let measured = (bench.measure)(quick)?;
        let limit = bench.limit.and_then(|limit| figures.iter().find(|figure| figure.name == limit));
        figures.push(figure(bench, measured, limit.map(|limit| limit.value)));
    }
    Ok(figures)
}

/// `figures` as one JSON document.
pub fn to_json(figures: &[Figure]) -> String {
    json::text(figures)
}

fn figure(bench: &Bench, measured: Measured, limit: Option<f64>) -> Figure {
    let Measured { unit, mut values, state_bytes, params } = measured;
    values.sort_by(f64::total_cmp);
    let value = values[values.len() / 2];
    Figure {
        name: bench.name,
        unit,
        value,
        lowest: values[0],
        highest: values[values.len() - 1],
        state_bytes,
        of_limit: limit.map(|limit| value / limit),
        limit: bench.limit,
        params,
    }
}

fn repetitions(quick: bool) -> usize {
    if quick {
        3
    } else {
        7
    }
}

/// Runs `work`, which returns its operation count; the result is in millions per second (processor time).
fn million_per_s<E>(work: impl FnOnce() -> Result<u64, E>) -> Result<f64, E> {
    let (wall, before) = (Instant::now(), cpu_ns());
    let done = work()?;
    let seconds = match (before, cpu_ns()) {
        (Some(before), Some(after)) if after > before => (after - before) as f64 / 1e9,
        _ => wall.elapsed().as_secs_f64(),
    };
    Ok(done as f64 / seconds / 1e6)
}

/// This thread's processor time, if the system reports it. Other programs on the machine do not count.
fn cpu_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
