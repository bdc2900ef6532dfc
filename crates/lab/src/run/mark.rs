//! An engine's counters at one moment, and a sample between two moments.

use super::meter::Meter;
use super::series::Below;
use crate::record::{waf, Cycles, PartsMark};
use crate::stack::{BufferCounts, Engine, NvramState};
use nandlab_fs::parts::collector::Counts as Collections;
use nandlab_ftl::{Events, GroupUse, PlacementUse, ZoneCount, ZoneUse};
use nandlab_nand::aging::AgingCounts;
use nandlab_nand::{Matrix, Time, ERASE_SHARE};

/// An engine's counters at one moment.
#[derive(Default)]
pub(crate) struct Mark {
    pub(crate) matrix: Matrix,
    /// The part in blocks with one bit per cell.
    pub(crate) slc: Option<Matrix>,
    pub(crate) time: Time,
    pub(crate) events: Events,
    pub(crate) parts: PartsMark,
    /// Programs that shared another plane's array time.
    pub(crate) joined_programs: u64,
    /// Reads that overtook an erase or a program.
    pub(crate) reads_ahead: u64,
    /// Channel time that reads of a part of a page did not take.
    pub(crate) spared_transfer: Time,
    /// The next recycling's number in the FTL.
    pub(crate) recyclings: u64,
    /// The use of reclaim units, if there are any.
    pub(crate) placement: Option<PlacementUse>,
    /// A placement's sized groups, if there are any.
    pub(crate) groups: Option<GroupUse>,
    /// The use of zones, if there are any.
    pub(crate) zones: Option<ZoneUse>,
    pub(crate) by_zone: Vec<ZoneCount>,
    pub(crate) pe_cycles: Cycles,
    /// Pages that were not programmed when their block was erased.
    pub(crate) unused_at_erase: u64,
    pub(crate) buffer: Option<BufferCounts>,
    pub(crate) unreadable: u64,
    /// Garbage collection by a file system on bare flash.
    pub(crate) collections: Option<Collections>,
    pub(crate) nvram: Option<NvramState>,
    pub(crate) aging: Option<AgingCounts>,
}

impl Mark {
    pub(crate) fn of(engine: &mut dyn Engine) -> Self {
        let uses = engine.uses();
        Self {
            matrix: engine.matrix().clone(),
            slc: engine.slc().cloned(),
            time: engine.now(),
            events: engine.events(),
            parts: PartsMark { busy: engine.chip().busy(), waits: engine.waits() },
            joined_programs: engine.joined_programs(),
            reads_ahead: engine.reads_ahead(),
            spared_transfer: engine.spared_transfer(),
            recyclings: uses.recyclings.last().map_or(0, |last| last.number + 1),
            placement: uses.placement,
            groups: uses.groups,
            zones: uses.zones,
            by_zone: uses.by_zone,
            pe_cycles: Cycles::of(engine.chip().pe_cycles()),
            unused_at_erase: engine.chip().unused_at_erase(),
            buffer: engine.buffer(),
            unreadable: engine.unreadable(),
            collections: engine.collections(),
            nvram: engine.nvram(),
            aging: engine.chip().aging(),
        }
    }

    /// Operations in blocks with one bit per cell since `start`.
    pub(crate) fn slc_since(&self, start: &Self) -> Option<Matrix> {
        self.slc.as_ref().zip(start.slc.as_ref()).map(|(now, start)| now.since(start))
    }
}

/// The timeline of a run, if it has one, begins at `start`.
pub(crate) fn begin_timeline(engine: &mut dyn Engine, meter: &Meter, start: &Mark) {
    if let Some(timeline) = &meter.timeline {
        engine.keep_work();
        timeline.begin(start.time);
        count_now(engine, meter, start);
    }
}

/// Adds the counters of this moment to the timeline, if they are due.
pub(crate) fn count(engine: &mut dyn Engine, meter: &Meter, start: &Mark) {
    if meter.timeline.as_ref().is_some_and(|timeline| timeline.is_due(meter.host.requests)) {
        count_now(engine, meter, start);
    }
}

fn count_now(engine: &mut dyn Engine, meter: &Meter, start: &Mark) {
    let Some(timeline) = &meter.timeline else { return };
    let requests = meter.host.requests;
    let programs = engine.matrix().total().programs() - start.matrix.total().programs();
    let free_blocks = engine.free_blocks();
    let waf = waf(programs, meter.sectors_per_page(), meter.host.written_sectors);
    timeline.count(meter.answered.max(start.time), requests, (free_blocks, waf));
}

/// Adds a sample to the run's series.
pub(crate) fn sample(engine: &mut dyn Engine, meter: &mut Meter, start: &Mark) {
    count_now(engine, meter, start);
    // A directory has no time series.
    if engine.sectors() == 0 || meter.series.has(meter.host.requests) {
        return;
    }
    let (counted, before) = (engine.matrix().total(), start.matrix.total());
    let erases = (counted.erase_shares - before.erase_shares) / ERASE_SHARE;
    let unused = engine.chip().unused_at_erase() - start.unused_at_erase;
    let blocks = engine.blocks();
    meter.see_wear(counted.programs() - before.programs() + unused, &blocks, engine.chip().pe_cycles());
    let below = Below {
        refused: meter.refused,
        programs: counted.programs() - before.programs(),
        erases,
        free_blocks: engine.free_blocks(),
        time: meter.answered.saturating_sub(start.time),
    };
    meter.series.add(&meter.host, below);
}
