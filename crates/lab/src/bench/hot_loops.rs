//! The simulator's hot loops.

use super::{million_per_s, repetitions, Measured, Scale, PAGE_BYTES};
use crate::config::{Experiment, Format};
use crate::control::Control;
use crate::error::LabError;
use crate::run::session::Run;
use crate::stack::{self, Logs, Start};
use nandlab_block::Queues;
use nandlab_nand::SECTOR_BYTES;
use nandlab_workload::{ByteCount, Kind, Setting};
use std::collections::BTreeMap;
use std::path::Path;

const PAGES: &str = "uniform random writes of 4 KiB, filled and twice overwritten before";
const SECTORS: &str = "uniform random writes of 512 B, filled and twice overwritten before";

/// The page map's page programs per second on a counting device.
pub(super) fn untimed(quick: bool, scale: Scale, ftl: &str) -> Result<Measured, LabError> {
    let device = format!(
        "profile = \"generic\"\ncapacity = \"{}\"\nover_provisioning = 0.28\nmodel = \"counting\"\n\
         [device.shape]\npages_per_block = {}",
        ByteCount(scale.capacity_bytes(quick)),
        // Many frontiers need many blocks.
        if quick { 16 } else { 256 }
    );
    let loop_ = Loop { ftl, device: &device, queue_depth: 1, requests: 4_000_000, write_bytes: PAGE_BYTES };
    loop_.measure(quick, "million page programs/s", |_, programs| programs)
}

/// Single-sector host writes per second for an FTL that maps sectors, on a 1 GiB counting device with 32 KiB
/// pages.
pub(super) fn sectors(quick: bool, ftl: &str) -> Result<Measured, LabError> {
    let device = format!(
        "profile = \"generic\"\ncapacity = \"{}\"\nover_provisioning = 0.28\nmodel = \"counting\"\n\
         [device.shape]\npage_bytes = 32768\npages_per_block = {}",
        ByteCount(Scale::Small.capacity_bytes(quick)),
        if quick { 16 } else { 128 }
    );
    let loop_ = Loop { ftl, device: &device, queue_depth: 1, requests: 4_000_000, write_bytes: SECTOR_BYTES.into() };
    loop_.measure(quick, "million host writes/s", |requests, _| requests)
}

/// Host writes per second for a block-mapped FTL, on a 64 MiB counting device.
pub(super) fn block_mapped(quick: bool, ftl: &str, over_provisioning: f64) -> Result<Measured, LabError> {
    let device = format!(
        "profile = \"generic\"\ncapacity = \"64 MiB\"\nover_provisioning = {over_provisioning}\nmodel = \"counting\"\n\
         [device.shape]\npages_per_block = 64"
    );
    let loop_ = Loop { ftl, device: &device, queue_depth: 1, requests: 1_000_000, write_bytes: PAGE_BYTES };
    loop_.measure(quick, "million host writes/s", |requests, _| requests)
}

/// Host requests per second with time, latencies and attribution, on 32 dies.
pub(super) fn timed(quick: bool, scale: Scale) -> Result<Measured, LabError> {
    let device = format!(
        "profile = \"generic-8x4\"\ncapacity = \"{}\"\nover_provisioning = 0.28\nmodel = \"timed\"\n\
         [device.shape]\npages_per_block = {}",
        ByteCount(scale.capacity_bytes(quick)),
        // A quick device is a 64th in size, and so are its blocks: each die needs its reserve.
        if quick { 4 } else { 256 }
    );
    let ftl = "[ftl.page]";
    let loop_ = Loop { ftl, device: &device, queue_depth: 32, requests: 4_000_000, write_bytes: PAGE_BYTES };
    loop_.measure(quick, "million host requests/s", |requests, _| requests)
}

/// A loop to measure: the experiment's tables, and the requests per repetition.
struct Loop<'a> {
    ftl: &'a str,
    device: &'a str,
    queue_depth: u32,
    requests: u64,
    write_bytes: u64,
}

impl Loop<'_> {
    /// Fills and overwrites the device, then measures; `what` chooses between host requests and page programs.
    fn measure(&self, quick: bool, unit: &'static str, what: fn(u64, u64) -> u64) -> Result<Measured, LabError> {
        let Self { ftl, device, queue_depth, requests, write_bytes } = *self;
        let requests = if quick { requests / 40 } else { requests };
        let text = format!(
            "[workload.uniform]\nrequests = {requests}\nsize = {write_bytes}\nalignment = {write_bytes}\n[host]\nqueue_depth = {queue_depth}\n\
         [precondition]\nfill = \"sequential\"\noverwrites = 2\n{ftl}\n[device]\n{device}"
        );
        let base = Path::new(".");
        let experiment = Experiment::parse(&text, Format::Toml, "bench", base, &[])?;
        let sizing = experiment.sizing()?;
        let control = Control::default();
        let mut engine = stack::open(&experiment, &sizing, Logs::default(), Start::Erased)?;
        let mut run = Run::new(&experiment, &sizing, &control, &mut *engine);
        run.precondition(None)?;
        let mut values = Vec::new();
        for seed in 0..repetitions(quick) as u64 {
            let setting = Setting {
                sectors: sizing.sectors(),
                seed,
                base,
                watch: &|_| true,
                took: None,
                queues: Queues::default(),
                placements: None,
                zones: None,
            };
            let Kind::Requests(options) = experiment.workload.kind() else { unreachable!("the text above") };
            let opened = options.open(&setting);
            let mut workload = opened.map_err(|error| LabError::from_workload(error, "uniform"))?;
            values.push(million_per_s(|| {
                let mut meter = run.meter(requests);
                meter.by_events = run.engine().follow_events();
                let start = run.mark();
                run.play(&mut *workload, &mut meter, &start)?;
                let programs = run.engine().matrix().since(&start.matrix).total().programs();
                Ok::<_, LabError>(what(requests, programs))
            })?);
        }
        // Four bytes of metadata per page on the device, in addition to the FTL's tables.
        let state_bytes = run.engine().ram().total() + 4 * u64::from(sizing.geometry.pages());
        let params = BTreeMap::from([
            ("workload", if write_bytes == PAGE_BYTES { PAGES } else { SECTORS }.to_owned()),
            ("capacity", ByteCount(sizing.logical_bytes()).to_string()),
            ("over_provisioning", format!("{:.2}", sizing.over_provisioning())),
            ("ftl", ftl.replace('\n', " ")),
            ("pages_per_block", sizing.geometry.pages_per_block().to_string()),
            ("dies", sizing.geometry.dies().to_string()),
            ("queue_depth", queue_depth.to_string()),
        ]);
        Ok(Measured { unit, values, state_bytes, params })
    }
}
