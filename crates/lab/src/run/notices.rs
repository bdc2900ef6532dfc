//! Sentences that help a reader to judge a result.

use crate::config::endurance::{counts_endurance, WEAR_COUNTS};
use crate::config::{Experiment, Fill, Model, SteadyWrites};
use crate::record::{BufferRecord, FlashCounts, HostCounts, LifetimeRecord, PreconditionRecord, Record};
use crate::run::meter::Pace;
use nandlab_block::ByteCount;
use nandlab_ftl::FtlConfig;
use nandlab_nand::profile::PlaneOverlap;
use nandlab_nand::{Cause, Matrix, Origin, Time, SECTOR_BYTES};
use nandlab_workload::{Footprint, Kind, WorkloadConfig};

/// Notice if more than half of the read pages hold nothing: such reads cost nothing.
///
/// `page_reads` counts pages requested by the host, `answered` the pages found in flash or a buffer.
pub(crate) fn reads_of_nothing(experiment: &Experiment, page_reads: u64, answered: u64) -> Option<String> {
    let nothing = page_reads.saturating_sub(answered);
    // A file system directly on the engine only reads existing pages, and knows the missing ones.
    if nothing <= page_reads / 2 || experiment.ftl.is_none() {
        return None;
    }
    let way_out = match experiment.precondition.fill {
        Fill::None if experiment.precondition.from_state.is_none() => {
            "; precondition.fill = \"sequential\" writes every page before the measurement"
        }
        Fill::None | Fill::Sequential | Fill::Random | Fill::Share(_) => "",
    };
    Some(format!(
        "{nothing} of {page_reads} page reads were of pages that were never written, or trimmed since: they cost no \
         time and no flash read{way_out}"
    ))
}

/// Notice if the workload writes differently from the preconditioning: uniform writes make a device steady only
/// for uniform writes.
pub(crate) fn steady_for_other_writes(
    experiment: &Experiment,
    host: &HostCounts,
    (capacity, page_sectors): (u64, u64),
) -> Option<String> {
    let before = &experiment.precondition;
    let is_uniform = before.steady.is_some() && before.steady_writes == SteadyWrites::Uniform;
    let otherwise = unlike_uniform_pages(experiment, host, (capacity, page_sectors))?;
    // A warm-up below the capacity hardly changes the device.
    let is_warm = before.warm_up.saturating_mul(page_sectors) >= capacity;
    let is_of_requests = matches!(experiment.workload.kind(), Kind::Requests(_));
    let is_told = is_uniform && is_of_requests && !is_warm && host.written_sectors > 0;
    is_told.then(|| {
        format!(
            "the device was made steady with uniform random writes of a page, and the workload ({otherwise}) writes \
             otherwise: its first writes still change what a write costs. precondition.steady_writes = \"workload\" makes \
             it steady under the workload itself"
        )
    })
}

/// How the workload writes, if not in uniformly drawn pages from all `capacity` sectors.
fn unlike_uniform_pages(
    experiment: &Experiment,
    host: &HostCounts,
    (capacity, page_sectors): (u64, u64),
) -> Option<String> {
    let mix = match &experiment.workload {
        WorkloadConfig::Uniform(uniform) => uniform.mix(),
        // All ranks are equally popular.
        WorkloadConfig::Zipf(zipf) if zipf.theta == 0.0 => zipf.mix(),
        other => return Some(other.name().to_owned()),
    };
    let page = page_sectors * u64::from(SECTOR_BYTES);
    let how = if is_part(mix.footprint, capacity) {
        "on a part of the device"
    } else if host.trims > 0 {
        "with trims"
    } else if mix.size.largest().0 > shared(mix.alignment.0, page) {
        // Distance from the last start position in a page to the page's end.
        "of more than a page at a time"
    } else if experiment.ftl_facts().gathers && host.partial_writes > 0 {
        "of parts of pages, which this FTL gathers"
    } else {
        return None;
    };
    Some(format!("uniform, {how}"))
}

/// The greatest common divisor.
fn shared(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        shared(b, a % b)
    }
}

/// Whether `footprint` leaves out any among the `capacity` sectors.
fn is_part(footprint: Footprint, capacity: u64) -> bool {
    match footprint {
        Footprint::Share(share) => share < 1.0,
        Footprint::Bytes(bytes) => bytes.0 / u64::from(SECTOR_BYTES) < capacity,
    }
}

/// Notice if the search for a steady device ended at its limit: the measured cost still changes.
pub(crate) fn not_steady(experiment: &Experiment, made: Option<&PreconditionRecord>) -> Option<String> {
    let (options, made) = (&experiment.precondition, made?);
    let windows = made.windows.filter(|_| made.steady == Some(false))?;
    // A cancelled search and a worn-out device have their own message.
    let is_told = options.from_state.is_some() || windows >= options.steady_windows;
    is_told.then(|| {
        format!(
            "the device was not steady after {windows} windows of a capacity: what a write costs may still change. A larger \
             precondition.steady_windows writes more, and a larger precondition.steady asks for less"
        )
    })
}

/// Notice if static wear levelling started only after the search for a steady device (`was_levelled` is false).
/// It waits for uneven wear, possibly long after the device is steady.
pub(crate) fn levelling_not_begun(experiment: &Experiment, record: &Record, was_levelled: bool) -> Option<String> {
    let levelling = experiment.ftl_facts().levels_wear?;
    let is_steady = record.precondition.is_some_and(|made| made.steady == Some(true));
    if was_levelled || !is_steady || record.host.written_sectors == 0 {
        return None;
    }
    let since = match record.gc.wear_moves {
        0 => "has moved nothing since: write amplification may still change once it does",
        _ => "began to move data in what was measured: write amplification may change from there on",
    };
    let later = match experiment.workload.kind() {
        Kind::Requests(_) => Some("a larger precondition.warm_up measures later requests".to_owned()),
        Kind::Keys(_) | Kind::Files(_) => None,
    };
    let sooner = levelling.begins_with.as_ref().map(|key| format!("with a smaller {key} it begins sooner"));
    let ways_out: Vec<String> = later.into_iter().chain(sooner).collect();
    let said = format!("the device was called steady before {levelling} had moved anything, and it {since}");
    Some(if ways_out.is_empty() { said } else { format!("{said}; {}", ways_out.join(", and ")) })
}

/// Notice if a trace is too short for any collection: a new device collects nothing before all of it was
/// written.
pub(crate) fn nothing_erased(
    experiment: &Experiment,
    host: &HostCounts,
    flash: &FlashCounts,
    flash_bytes: u64,
) -> Option<String> {
    let before = &experiment.precondition;
    let is_new = before.fill == Fill::None && before.from_state.is_none() && experiment.workload.name() == "trace";
    if !is_new || flash.erases > 0 || host.written_sectors == 0 {
        return None;
    }
    Some(format!(
        "no block was erased: the trace wrote {} and the flash has {}, so nothing is told of garbage collection; \
         precondition.fill = \"random\" fills the device first, and a smaller device.capacity is sooner full",
        ByteCount(host.written_sectors * u64::from(SECTOR_BYTES)).rounded(),
        ByteCount(flash_bytes).rounded()
    ))
}

/// A shorter time after the last answer is that of a few operations, us.
const LEAST_DRAIN_US: f64 = 100_000.0;

/// Normal backlog at the last arrival, in requests at the run's mean rate.
const LEFT_OVER: u64 = 100;

/// Normal backlog, as a part of the whole run: one in this many.
const LEFT_OVER_PART: u64 = 100;

/// Notice if the device fell behind: it receives requests faster than it answers them. Each request then waits
/// longer than the one before, and latencies reflect the length of the run.
///
/// Such a device ends behind by a share of the whole run; a device that keeps up is behind only by the last
/// burst or garbage collection. The notice appears if the time from the last arrival to the last completion
/// exceeds `LEFT_OVER` mean gaps, and 1 % of the run. It uses the mean gap because in a trace of bursts the
/// median gap is close to zero.
pub fn fell_behind(pace: &Pace, requests: u64) -> Option<String> {
    let (span, behind) = (pace.last.saturating_sub(pace.first), pace.done.saturating_sub(pace.last));
    let gap = span / requests.saturating_sub(1).max(1);
    if requests <= LEFT_OVER || behind <= (LEFT_OVER * gap).max(span / LEFT_OVER_PART) {
        return None;
    }
    let seconds = |time: Time| time as f64 / 1e9;
    Some(format!(
        "the device fell behind: the last request came {:.3} s after the first, and the last was done {:.3} s later; \
         latencies are mostly time in a queue that grows, and tell how long the run was. host.arrival = \"closed\" \
         measures how fast the device is",
        seconds(span),
        seconds(behind)
    ))
}

/// Notice if a block exceeded its endurance: the device continues unless the faults depend on endurance.
pub(crate) fn endurance_passed(experiment: &Experiment, most_cycles: u32) -> Option<String> {
    let endurance = experiment.device.profile.rules.endurance;
    // If the experiment sets the endurance itself, it has this notice already.
    let said = experiment.notices.iter().any(|notice| notice.contains(WEAR_COUNTS));
    if said || most_cycles <= endurance || experiment.device.faults.as_ref().is_some_and(counts_endurance) {
        return None;
    }
    Some(format!("a block has {most_cycles} P/E cycles, and the endurance is {endurance}: no operation failed for that; {WEAR_COUNTS}"))
}

/// Notice if flash worked longer after the last answer than before it: a buffer answered faster than flash can go on.
pub(crate) fn answers_ran_ahead(record: &Record) -> Option<String> {
    let (time, drain) = record.time_us.zip(record.drain_us)?;
    (drain > time.max(LEAST_DRAIN_US)).then(|| {
        format!(
            "flash was still busy for {:.3} s after the last answer, and the run took {:.3} s: a buffer answered faster than \
             flash can go on. Requests a second, MB/s and times of lifetimes are those of the answers; a longer run tells the \
             pace that lasts",
            drain / 1e6,
            time / 1e6
        )
    })
}

/// Notice if the FTL does not follow the host's placement identifiers.
pub(crate) fn placement_ignored(experiment: &Experiment, placed_writes: u64) -> Option<String> {
    let ftl = experiment.ftl.as_ref()?;
    (placed_writes > 0 && experiment.ftl_facts().placements.is_none()).then(|| {
        format!(
            "{placed_writes} writes carry placement identifiers, and ftl.{} as it is set does not follow them; \
             ftl.page.placement.fdp does, and ftl.sector_map.fdp gathers sectors smaller than a page",
            ftl.name()
        )
    })
}

/// Notice about handles for origins without a write.
pub(crate) fn origins_that_write_nothing(experiment: &Experiment, matrix: &Matrix) -> Option<String> {
    let writes = |origin: Origin| matrix.sum(|of, cause| of == origin && cause == Cause::Host).programs() > 0;
    let placed = experiment.ftl_facts().placed_origins;
    let names = |origins: Vec<Origin>| origins.into_iter().map(Origin::name).collect::<Vec<_>>().join(", ");
    let idle: Vec<Origin> = placed.into_iter().filter(|&origin| !writes(origin)).collect();
    if idle.is_empty() {
        return None;
    }
    let all = (0..Origin::NAMES.len()).map(|at| Origin(at as u8));
    let writers = names(all.filter(|&origin| origin != Origin::FTL && writes(origin)).collect());
    let writers = if writers.is_empty() { "none".to_owned() } else { writers };
    Some(format!(
        "ftl.{}.origins names {}, of which nothing was written; origins that write here: {writers}",
        if matches!(experiment.ftl, Some(FtlConfig::SectorMap(_))) { "sector_map.fdp" } else { "page.placement.fdp" },
        names(idle)
    ))
}

/// Notice if zones were opened or closed by commands on a device that has no time for it.
pub(crate) fn changes_without_time(record: &Record) -> Option<String> {
    record.time_us?;
    let used = &record.zones.as_ref()?.used;
    let controller = record.experiment.device.profile.controller.unwrap_or_default();
    let opens = if controller.zone_open_us.is_none() { used.opens + used.random_opens } else { 0 };
    let closes = if controller.zone_close_us.is_none() { used.closes } else { 0 };
    let count = opens + closes;
    (count > 0).then(|| {
        format!(
            "{count} commands opened or closed zones, which takes no time here: device.controller.zone_open_us and zone_close_us \
             give it"
        )
    })
}

/// Notice if zones refused requests.
pub(crate) fn refused_by_zones(record: &Record) -> Option<String> {
    let refused: u64 = record.zones.as_ref()?.refused.values().sum();
    (refused > 0).then(|| {
        format!(
            "{refused} of {} requests were refused by zones, and count in no rate and no latency: zones.refused has the reasons",
            record.host.requests
        )
    })
}

/// Notice about a run that is too short for years that the experiment asks for.
pub(crate) fn years_untold(experiment: &Experiment, life: Option<&LifetimeRecord>) -> Option<String> {
    let is_asked = experiment.host.daily.is_some() || life.is_some_and(|life| life.daily_bytes.is_some());
    if !is_asked {
        return None;
    }
    let nothing = "no block was erased".to_owned();
    let why = life.map_or(Some(&nothing), |life| life.too_short.as_ref())?;
    Some(format!("the run is too short to tell all years (lifetime): {why}; more requests, or a device that is filled and steady before (precondition), do"))
}

/// Notice if a generator spreads its hot pages over all addresses: pools by address then separate nothing.
pub(crate) fn scattered_pools(experiment: &Experiment) -> Option<String> {
    let pools = experiment.ftl_facts().pools?;
    let scatters = match &experiment.workload {
        WorkloadConfig::HotCold(options) => options.scatter,
        WorkloadConfig::Zipf(options) => options.scatter,
        _ => false,
    };
    scatters.then(|| {
        let name = experiment.workload.name();
        format!(
            "workload.{name}.scatter = true spreads the hot pages over all addresses, and {pools} keeps the first \
             ones apart: scatter = false puts the hot pages there"
        )
    })
}

/// Options without effect in this run, because it had no occasion to use them.
pub(crate) fn unused_chances(experiment: &Experiment, record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    let facts = experiment.ftl_facts();
    if let Some(gaps) = facts.gaps.filter(|_| record.gc.idle_steps == 0 && record.gc.runs > 0) {
        let begins = gaps.begins_with.as_ref().map_or(String::new(), |key| format!(", and {key} says when one begins"));
        found.push(format!(
            "{} had no effect: no gap between requests was long enough to collect a block in; host.think_time_us and \
             recorded arrivals leave gaps{begins}",
            gaps.key
        ));
    }
    if let Some((slc, option)) = record.slc.filter(|slc| slc.written_pages == 0 && slc.direct_pages > 0).zip(facts.slc)
    {
        let moved = match slc.folded_pages {
            0 => "had no effect".to_owned(),
            pages => format!("only cost {pages} copies out of it"),
        };
        found.push(format!(
            "{} {moved}: the blocks of one bit a cell were full from the start, and no page of the host found room in one",
            option.key
        ));
    }
    let joins = experiment.device.profile.timing.plane_overlap == PlaneOverlap::MultiPlane;
    if joins && experiment.device.model != Model::Counting && record.joined_programs == 0 && record.flash.programs > 0 {
        let way_out = match facts.over_planes {
            _ if experiment.device.profile.shape.planes_per_die == 1 => "; a die of the device has one".to_owned(),
            Some(setting) => format!("; {setting} sends consecutive pages to them"),
            None => String::new(),
        };
        found.push(format!(
            "device.timing.plane_overlap = \"multi_plane\" had no effect: no two pages of a request went to the same \
             place of two planes of a die{way_out}"
        ));
    }
    found
}

/// Notice about buffer thresholds that leave one state or one place practically unused.
pub(crate) fn degenerate_placement(buffer: &BufferRecord) -> Option<String> {
    let placement = buffer.placement.filter(|placement| placement.degenerate)?;
    let percent = |share: Option<f64>| share.map_or("none".to_owned(), |share| format!("{:.1} %", 100.0 * share));
    Some(format!(
        "the thresholds of the buffer do not fit the workload: {} of the intervals were write-intensive, and {} of the \
         requests were for NVRAM; below 1 % or above 99 % is as good as one",
        percent(placement.write_intensive_share),
        percent(placement.nvram_share),
    ))
}
