//! Turns a run's measurements into a record.

use super::mark::Mark;
use super::sample;
use super::session::Run;
use super::tenants::reservations_missed;
use crate::latency::LatencyMeter;
use crate::record::{
    busy_us, device_record, rate, us, waf, BlocksRecord, BufferRecord, ControllerRecord, Cycles, EnergyRecord,
    FaultRecord, FdpRecord, FlashCounts, FsNvramRecord, GroupsRecord, HostCounts, Life, LifetimeRecord, LongestRequest,
    MapCounts, MatrixRow, Merges, MountRecord, PartsRecord, PathRecord, Powers, PreconditionRecord, RamRecord, Record,
    RecyclingRecord, SlcRecord, Speed, Throughput, Wear, WholeEnergyRecord, ZoneRun, ZonesRecord,
};
use crate::run::meter::Meter;
use crate::run::notices::{
    answers_ran_ahead, changes_without_time, degenerate_placement, endurance_passed, fell_behind, levelling_not_begun,
    not_steady, nothing_erased, origins_that_write_nothing, placement_ignored, reads_of_nothing, refused_by_zones,
    scattered_pools, steady_for_other_writes, unused_chances, years_untold,
};
use nandlab_block::RamUse;
use nandlab_ftl::Events;
use nandlab_nand::profile::PlaneOverlap;
use nandlab_nand::{Cause, Cell, Matrix, Time, SECTOR_BYTES};

const NS_A_DAY: f64 = 86_400e9;

/// Mount and preconditioning.
pub(crate) type Before = (MountRecord, Option<PreconditionRecord>);

/// The use of zones since `start`.
fn zones(meter: &Meter, start: &Mark, end: &Mark) -> Option<ZonesRecord> {
    let latencies = meter.latency.as_ref().map(LatencyMeter::of_zones).unwrap_or_default();
    let used = end.zones?.since(&start.zones.unwrap_or_default());
    Some(ZonesRecord::new(used, latencies, ZoneRun::all(&start.by_zone, &end.by_zone)))
}

impl Run<'_> {
    pub(crate) fn record(&mut self, mut meter: Meter, start: &Mark, (mount, precondition): Before) -> Record {
        let end = self.end(&mut meter, start);
        let (time, drain) = self.times(end.time - start.time, meter.answered.saturating_sub(start.time)).unzip();
        let (matrix, powers) = (end.matrix.since(&start.matrix), self.powers(time, &meter));
        let (slc, total, nvram, host) = (end.slc_since(start), matrix.total(), end.nvram_since(start), meter.host);
        let (device, buffer) = (&self.experiment.device, self.buffer((start, &end), powers.as_ref()));
        let page_sectors = self.sizing.geometry.sectors_per_page();
        let (energy_j, energy_all_j) = self.energies(&total, buffer.as_ref(), nvram.as_ref(), host.written_sectors);
        let mut record = Record {
            version: env!("CARGO_PKG_VERSION"),
            seed: self.experiment.seed,
            experiment: self.experiment.clone(),
            partial: false,
            stopped: None,
            host,
            flash: FlashCounts::of(&total),
            busy_us: busy_us(&device.profile, &total, slc.as_ref().map(Matrix::total).as_ref()),
            joined_programs: end.joined_programs - start.joined_programs,
            reads_ahead: end.reads_ahead - start.reads_ahead,
            spared_transfer_us: us(end.spared_transfer - start.spared_transfer),
            path: meter.path.as_ref().map(PathRecord::of),
            parts: time.and_then(|time| parts(&meter, start, &end, time)),
            waf: self.waf(total.programs(), host.written_sectors),
            merges: Merges::between(&start.events, &end.events),
            migrations: end.events.migrations - start.events.migrations,
            recyclings: self.recyclings(start),
            fdp: FdpRecord::between(start.placement.as_ref(), end.placement.as_ref(), (page_sectors, start.time)),
            groups: GroupsRecord::between(start.groups.as_ref(), end.groups.as_ref()),
            zones: zones(&meter, start, &end),
            gc: end.gc_since(start),
            map: MapCounts::between(&start.events, &end.events),
            slc: slc.as_ref().map(|slc| SlcRecord::between((&start.events, &end.events), &matrix, slc)),
            matrix: MatrixRow::all(&matrix, slc.as_ref(), &device.profile),
            buffer,
            index: None,
            fs: None,
            nvram,
            precondition,
            mount,
            remount: None,
            time_us: time.map(us),
            drain_us: drain.map(us),
            in_flight: time.and_then(|time| meter.in_flight(time)),
            latency_us: meter.latency.as_ref().map(LatencyMeter::summary),
            latency_by_origin: meter.latency.as_ref().and_then(LatencyMeter::by_origin),
            tenants: self.tenants(&meter, start.time),
            latency_histogram: meter.latency.as_ref().map(LatencyMeter::histograms),
            recorded_latency_us: None,
            recorded_service_us: None,
            recorded_latency_histogram: None,
            longest_request: self.longest(&meter, start),
            throughput: time.filter(|&time| time > 0).map(|time| throughput(&host, meter.refused, time)),
            energy_j,
            energy_all_j,
            ram: self.ram(RamUse::default()),
            wear: Wear::of(self.engine.chip().pe_cycles()),
            blocks: BlocksRecord::of(&self.engine.blocks(), self.engine.chip().pe_cycles()),
            lifetime: self.lifetime(&meter, start, time),
            faults: self.faults(&end.events),
            reliability: end.reliability_since(start),
            sample: self.sampled(&meter, time),
            series: meter.series.clone().into_samples(),
            device: device_record(device, self.sizing),
            speed: Speed::default(),
            notices: self.experiment.notices.clone(),
        };
        record.notices.extend(self.notices(&record, start, &matrix, &meter));
        record
    }

    /// The counters at the end, whose wear and lost reads `meter` sees.
    fn end(&mut self, meter: &mut Meter, start: &Mark) -> Mark {
        let end = self.mark();
        let programs = end.matrix.since(&start.matrix).total().programs();
        meter.host.unreadable = end.unreadable - start.unreadable;
        let blocks = self.engine.blocks();
        let pages = programs + end.unused_at_erase - start.unused_at_erase;
        meter.see_wear(pages, &blocks, self.engine.chip().pe_cycles());
        end
    }

    /// The host's time, and how long flash was busy after it, from when flash was at rest and when the last request was
    /// answered; `None` without time.
    fn times(&self, rest: Time, answered: Time) -> Option<(Time, Time)> {
        self.keeps_time().then(|| (answered, rest.saturating_sub(answered)))
    }

    /// Buffer activity, if there is a buffer.
    fn buffer(&self, (start, end): (&Mark, &Mark), powers: Option<&Powers<'_>>) -> Option<BufferRecord> {
        let chip = (&self.sizing.geometry, &self.experiment.device.profile);
        end.buffer.zip(start.buffer).map(|(end, start)| BufferRecord::between(&start, &end, chip, powers))
    }

    /// The device's lifetime under this workload.
    fn lifetime(&self, meter: &Meter, start: &Mark, time: Option<Time>) -> Option<LifetimeRecord> {
        let life =
            Life { daily: self.daily(meter), ..self.life((&start.pe_cycles, self.engine.chip().pe_cycles()), time) };
        LifetimeRecord::of(&meter.worn, &life)
    }

    /// What a lifetime is told from: the P/E cycles of each block at the start and at the end, and the time between.
    fn life<'a>(&self, pe_cycles: (&'a Cycles, &'a [u32]), time: Option<Time>) -> Life<'a> {
        let geometry = &self.sizing.geometry;
        Life {
            endurance: self.experiment.device.profile.rules.endurance,
            pages_per_block: geometry.pages_per_block(),
            sectors_per_page: geometry.sectors_per_page(),
            pe_cycles,
            levels_wear: self.experiment.ftl_facts().levels_wear.is_some(),
            time_us: time.map(us),
            daily: None,
            logical_pages: self.experiment.ftl.is_some().then_some(self.sizing.logical_pages.into()),
        }
    }

    /// Daily host bytes, as the experiment says, or by the times in a trace at least a day long.
    fn daily(&self, meter: &Meter) -> Option<f64> {
        let own = || {
            let (first, last) = meter.own_times.filter(|_| self.experiment.workload.name() == "trace")?;
            let days = last.saturating_sub(first) as f64 / NS_A_DAY;
            let bytes = meter.host.written_sectors as f64 * f64::from(SECTOR_BYTES);
            (days >= 1.0 && bytes > 0.0).then(|| bytes / days)
        };
        self.experiment.host.daily.map(|daily| daily.0 as f64).or_else(own)
    }

    /// Flash energy, and energy for all memories together.
    fn energies(
        &self,
        total: &Cell,
        buffer: Option<&BufferRecord>,
        nvram: Option<&FsNvramRecord>,
        written_sectors: u64,
    ) -> (Option<EnergyRecord>, Option<WholeEnergyRecord>) {
        let flash = EnergyRecord::of(&self.experiment.device.profile, total);
        let of_buffer = buffer.and_then(|buffer| buffer.energy_j.as_ref());
        let all = WholeEnergyRecord::of(flash.as_ref(), of_buffer, nvram, written_sectors);
        (flash, all)
    }

    /// Write amplification, on a device.
    fn waf(&self, programs: u64, written_sectors: u64) -> Option<f64> {
        let is_device = !self.experiment.is_in_directory();
        waf(programs, self.sizing.geometry.sectors_per_page(), written_sectors).filter(|_| is_device)
    }

    /// The longest request.
    fn longest(&mut self, meter: &Meter, start: &Mark) -> Option<LongestRequest> {
        let stall = self.engine.longest_stall();
        let overlap = self.experiment.device.profile.timing.plane_overlap;
        let unit = if overlap == PlaneOverlap::Independent { "plane" } else { "die" };
        let of = |longest| LongestRequest::of(&longest, stall.as_ref(), &meter.held_up, (start.time, unit));
        meter.longest.map(of)
    }

    /// Notices about a record that began at `start`.
    fn notices(&self, record: &Record, start: &Mark, matrix: &Matrix, meter: &Meter) -> Vec<String> {
        let was_levelled = self.begun.is_levelled || start.events.wear_moves > 0;
        let pace = meter.pace.filter(|_| self.keeps_time());
        let answered = matrix.sum(|_, cause| cause == Cause::Host).page_reads;
        let answered = answered + record.buffer.as_ref().map_or(0, |buffer| buffer.read_hits);
        let sizes = (self.sizing.sectors(), u64::from(self.sizing.geometry.sectors_per_page()));
        let found = [
            reads_of_nothing(self.experiment, meter.page_reads, answered),
            steady_for_other_writes(self.experiment, &record.host, sizes),
            not_steady(self.experiment, record.precondition.as_ref()),
            levelling_not_begun(self.experiment, record, was_levelled),
            scattered_pools(self.experiment),
            nothing_erased(self.experiment, &record.host, &record.flash, record.device.physical_bytes),
            endurance_passed(self.experiment, record.wear.max),
            years_untold(self.experiment, record.lifetime.as_ref()),
            answers_ran_ahead(record),
            refused_by_zones(record),
            changes_without_time(record),
            origins_that_write_nothing(self.experiment, matrix),
            placement_ignored(self.experiment, meter.placed_writes),
            record.buffer.as_ref().and_then(degenerate_placement),
            pace.and_then(|pace| fell_behind(&pace, record.host.requests)),
        ];
        let found = found.into_iter().flatten().chain(unused_chances(self.experiment, record));
        let missed = reservations_missed(self.experiment, record.tenants.as_deref());
        found.chain(missed).chain(sample::notices(record)).collect()
    }

    /// Memory needed by firmware, plus `host`, a file system's need above it.
    pub(super) fn ram(&self, host: RamUse) -> RamRecord {
        let firmware = self.engine.ram();
        let controller = self.experiment.device.profile.controller.filter(|_| self.experiment.ftl.is_some());
        let controller = controller.and_then(|controller| ControllerRecord::of(controller, &firmware));
        let all = firmware.and(host);
        RamRecord { total_bytes: all.total(), sram: all.sram, dram: all.dram, controller }
    }

    /// The buffer memories' sizes and powered time, if the experiment states their costs.
    fn powers(&self, run: Option<Time>, meter: &Meter) -> Option<Powers<'_>> {
        let bytes = self.experiment.buffer.as_ref()?.nominal_bytes();
        let memory = self.experiment.memory.as_ref()?;
        let trace_us = meter.pace.map(|pace| us(pace.last - pace.first));
        let page_bytes = self.sizing.geometry.page_bytes().into();
        Some(Powers { memory, bytes, page_bytes, run_us: run.map(us), trace_us })
    }

    /// Log-block history since `start`, if the FTL keeps it.
    fn recyclings(&self, start: &Mark) -> Option<RecyclingRecord> {
        let since: Vec<_> =
            self.engine.uses().recyclings.into_iter().filter(|one| one.number >= start.recyclings).collect();
        (!since.is_empty()).then(|| RecyclingRecord::of(since))
    }

    fn faults(&self, events: &Events) -> Option<FaultRecord> {
        self.engine.chip().faults().map(|counts| FaultRecord {
            failed_programs: counts.failed_programs,
            failed_erases: counts.failed_erases,
            corrected_bits: counts.corrected_bits,
            uncorrectable_reads: counts.uncorrectable_reads,
            retired_blocks: events.retired_blocks,
            lost_pages: events.lost_pages,
        })
    }
}

/// What the parts of the device worked and were waited for, in the host's `time`.
fn parts(meter: &Meter, start: &Mark, end: &Mark, time: Time) -> Option<PartsRecord> {
    let path = (&meter.path.unwrap_or_default(), &meter.path_waits);
    PartsRecord::between((&start.parts, &end.parts), (time, end.time - start.time), path)
}

fn throughput(host: &HostCounts, refused: u64, time: Time) -> Throughput {
    let seconds = time as f64 / 1e9;
    let megabytes = |sectors: u64| sectors as f64 * f64::from(SECTOR_BYTES) / 1e6;
    Throughput {
        requests_per_s: rate((host.requests - refused) as f64, seconds),
        read_mb_per_s: rate(megabytes(host.read_sectors), seconds),
        written_mb_per_s: rate(megabytes(host.written_sectors), seconds),
    }
}
