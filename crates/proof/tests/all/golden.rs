//! Golden counts: the cost for every FTL on the list with each option set on three small devices and three fixed
//! workloads, to the last operation and merge. A row for `any_order` equal to its `one_die` row is left out.
//!
//! The figures only prove that nothing changed; other tests prove them right. For an intended change, `NANDLAB_BLESS=1
//! cargo test -p nandlab-proof --test all golden::` writes `golden.csv` anew, and CHANGELOG.md says so under "Changed
//! results".

use nandlab_block::{Op, Payload, Request};
use nandlab_drive::Device;
use nandlab_ftl::{Events, FtlConfig};
use nandlab_nand::plain::WithContent;
use nandlab_nand::random::Random;
use nandlab_nand::{Counting, Geometry, Origin, ProgramOrder, Rules, Shape};
use nandlab_proof::{assert_pages_map, subjects, Disk};
use std::path::{Path, PathBuf};

const HEADER: &str =
    "ftl,device,workload,programs,meta_programs,reads,copies,erases,spare_reads,spare_programs,gc_runs,\
                      switch_merges,partial_merges,full_merges,migrations";

/// Channels, dies per channel, planes per die and blocks per plane, always 64 blocks with 32 pages, 2 KiB each; and the
/// program order.
const DEVICES: [(&str, [u32; 4], ProgramOrder); 3] = [
    ("one_die", [1, 1, 1, 64], ProgramOrder::Ascending),
    ("any_order", [1, 1, 1, 64], ProgramOrder::Any),
    ("four_dies", [2, 2, 2, 8], ProgramOrder::AscendingDense),
];

/// The workloads' share of the exportable pages, in per cent.
const USED_PERCENT: u32 = 93;

/// The requests for a disk, from its page count and sectors per page.
type Generator = fn(u64, u64) -> Vec<Request>;

const WORKLOADS: [(&str, Generator); 3] =
    [("uniform", uniform), ("hot_cold", hot_cold), ("sequential_trim", sequential_trim)];

/// An additional workload for the options that keep little of a paged map in memory.
const PAGING: (&str, Generator) = ("paging", paging);

/// Whole pages, every page equally often, five times the disk.
fn uniform(pages: u64, page: u64) -> Vec<Request> {
    let mut random = Random::new(11);
    (0..5 * pages).map(|_| Request::new(Op::Write, random.below(pages) * page, page as u32)).collect()
}

/// Sector runs, nine in ten on a tenth of the disk; reads, trims and flushes among them.
fn hot_cold(pages: u64, page: u64) -> Vec<Request> {
    let mut random = Random::new(12);
    let sectors = pages * page;
    (0..4 * pages)
        .map(|_| {
            let (op, origin) = match random.below(100) {
                0..=74 => (Op::Write, Origin::FILE_DATA),
                75..=91 => (Op::Read, Origin::FILE_DATA),
                92..=95 => (Op::Trim, Origin::HOST),
                _ => return Request::new(Op::Flush, 0, 0),
            };
            let span = if random.chance(0.9) { sectors / 10 } else { sectors };
            let start = random.below(span);
            let length = (1 + random.below(3 * page)).min(sectors - start);
            Request { origin, ..Request::new(op, start, length as u32) }
        })
        .collect()
}

/// The whole disk in order, three times; before the last time one half is trimmed.
fn sequential_trim(pages: u64, page: u64) -> Vec<Request> {
    let run = 4 * page;
    let fill = |_| {
        (0..pages * page)
            .step_by(run as usize)
            .map(move |at| Request::new(Op::Write, at, run.min(pages * page - at) as u32))
    };
    let half = Request::new(Op::Trim, 0, (pages * page / 2) as u32);
    let flush = Request::new(Op::Flush, 0, 0);
    (0..2).flat_map(fill).chain([flush, half, flush]).chain(fill(2)).chain([flush]).collect()
}

/// Single sectors, so often that the map itself is collected again and again; mostly in the first half, so the other
/// half's map pages stay valid, and are moved.
fn paging(pages: u64, page: u64) -> Vec<Request> {
    let (mut random, all) = (Random::new(13), pages * page);
    let mut at = || if random.below(64) == 0 { random.below(all) } else { random.below(all / 2) };
    (0..110 * pages).map(|_| Request::new(Op::Write, at(), 1)).collect()
}

/// An FTL's rows on a device, without its name, and its events.
fn rows(
    &(device, shape, program_order): &(&str, [u32; 4], ProgramOrder),
    config: &FtlConfig,
    workloads: &[(&'static str, Generator)],
) -> Vec<(String, Events)> {
    let [channels, dies_per_channel, planes_per_die, blocks_per_plane] = shape;
    let shape = Shape {
        channels,
        dies_per_channel,
        planes_per_die,
        blocks_per_plane,
        pages_per_block: 32,
        page_bytes: 2048,
        spare_bytes: 64,
    };
    let geometry = Geometry::new(shape).expect("the geometry can be built");
    let rules = Rules { program_order, bits_per_cell: 3, ..Rules::default() };
    let most = config.max_logical_pages(&geometry, &rules).expect("the device is large enough");
    let pages = most * USED_PERCENT / 100;
    let row = |(name, requests): &(&str, Generator)| {
        let nand: Counting = Counting::new(geometry, rules);
        let mut disk = Disk::mount(WithContent::new(nand), pages, config).expect("an erased device mounts");
        for request in requests(pages.into(), geometry.sectors_per_page().into()) {
            disk.submit(&request, Payload::None)
                .unwrap_or_else(|error| panic!("{device}, {name}: {request:?}: {error}"));
        }
        let row = format!("{device},{name},{}", counts(&mut disk));
        disk.check();
        (row, disk.events())
    };
    workloads.iter().map(row).collect()
}

/// The counts, without the mount.
fn counts<N: Device>(disk: &mut Disk<N>) -> String {
    let events = disk.events();
    let sum = disk.ctx().matrix().sum(|_, cause| cause != nandlab_nand::Cause::Mount);
    format!(
        "{},{},{},{},{},{},{},{},{},{},{},{}",
        sum.programs(),
        sum.meta_programs,
        sum.reads(),
        sum.copies,
        sum.erases(),
        sum.spare_reads,
        sum.spare_programs,
        events.gc_runs,
        events.switch_merges,
        events.partial_merges,
        events.full_merges,
        events.migrations
    )
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.csv")
}

/// Whether an `any_order` row equals its `one_die` row: most FTLs do not use the freedom.
fn says_nothing_new(row: &str, rows: &[(String, Events)]) -> bool {
    row.strip_prefix("any_order")
        .is_some_and(|counts| rows.iter().any(|(other, _)| *other == format!("one_die{counts}")))
}

/// The file's rows: first for FTLs in `NANDLAB_FTL`, then the others.
fn golden() -> (Vec<String>, Vec<String>) {
    let asked: Vec<&str> = subjects().iter().map(|ftl| ftl[0].ftl()).collect();
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    let rows = text.lines().skip(1).map(str::to_owned);
    rows.partition(|row| row.split([',', ':']).next().is_some_and(|ftl| asked.contains(&ftl)))
}

#[test]
fn counts_are_as_they_were() {
    let mut found = Vec::new();
    let (all, mut did) = (subjects(), Vec::new());
    for subject in all.iter().flatten() {
        let paging = subject.pages_most().then_some(PAGING);
        let workloads: Vec<(&str, Generator)> = WORKLOADS.into_iter().chain(paging).collect();
        let rows = DEVICES.iter().flat_map(|device| rows(device, &subject.config, &workloads)).collect::<Vec<_>>();
        did.push(rows.iter().fold(Events::default(), |sum, (_, events)| sum.and(events)));
        for (row, _) in &rows {
            if !says_nothing_new(row, &rows) {
                found.push(format!("{subject},{row}"));
            }
        }
    }
    assert_pages_map(&all, &did);
    let (mut asked, others) = golden();
    if std::env::var_os("NANDLAB_BLESS").is_some() {
        assert!(others.is_empty(), "NANDLAB_BLESS=1 writes the rows of every FTL: leave NANDLAB_FTL away");
        std::fs::write(file(), format!("{HEADER}\n{}\n", found.join("\n"))).expect("golden.csv can be written");
        asked.clone_from(&found);
    }
    let changed: Vec<&str> = found.iter().filter(|row| !asked.contains(row)).map(String::as_str).collect();
    let gone: Vec<&str> = asked.iter().filter(|row| !found.contains(row)).map(String::as_str).collect();
    assert!(
        changed.is_empty() && gone.is_empty(),
        "counts changed.\n{HEADER}\nnow:\n{}\nin golden.csv:\n{}\n\
         If that is meant, NANDLAB_BLESS=1 writes the file anew, and CHANGELOG.md says so.",
        changed.join("\n"),
        gone.join("\n")
    );
}
