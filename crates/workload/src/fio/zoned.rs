//! The zones of a device for its jobs: what all zones have in common, and the part of them for each job.
//!
//! HOWTO of fio (master of August 2026), `zonemode`; zbd.c where it leaves a choice open. On a drive without zones and with
//! `zonesize`, fio keeps write pointers for zones unknown to the drive. It sends no resets and no finishes then.

use super::drive::{Drive, Limits, Zoned};
use super::job::{Asks, Job};
use super::layout::Region;
use super::zoning::Mode;
use super::Malformed;
use nandlab_block::{ByteCount, Op, ZoneShape};
use nandlab_nand::SECTOR_BYTES;

const SECTOR: u64 = SECTOR_BYTES as u64;

impl Zoned {
    /// The clone with this number; `None` if its job does not keep to zones.
    pub(super) fn new(job: &Job, clone: usize) -> Option<Self> {
        let zoning = &job.zoning;
        let every = (zoning.frequency > 0.0).then(|| (1.0 / zoning.frequency) as u32);
        zoning.is_on().then(|| Self {
            clone,
            is_random: job.is_random,
            least: [0, 1, 2].map(|direction| job.lengths[direction].least()),
            job_max_open: zoning.job_max_open,
            reads_beyond: zoning.reads_beyond,
            threshold: zoning.threshold,
            reset_every: every,
        })
    }
}

/// The zones that the jobs work on; `None` if no job keeps to zones.
///
/// # Errors
/// A sentence about a job whose keys do not fit the device, or another job.
pub(super) fn drive(jobs: &[Job], device: Option<ZoneShape>, bytes: u64) -> Result<Option<Drive>, Malformed> {
    let mut found: Option<Limits> = None;
    for job in jobs {
        if !job.zoning.is_on() {
            check_ranges(job)?;
            continue;
        }
        if job.zoning.skip > 0 {
            return Err(job.wrong("zoneskip is not followed with zonemode = zbd: a job goes on with the next zone"));
        }
        let limits = limits(job, device)?;
        check(job, &limits)?;
        if let Some(first) = &found {
            same(job, ("zonesize", ByteCount(limits.size)), &ByteCount(first.size))?;
            same(job, ("zonecapacity", ByteCount(limits.capacity)), &ByteCount(first.capacity))?;
            if job.zoning.max_open > 0 {
                same(job, ("max_open_zones", limits.max_open), &first.max_open)?;
            }
            continue;
        }
        found = Some(limits);
    }
    let Some(limits) = found else { return Ok(None) };
    if bytes / limits.size > MOST_ZONES {
        let job = &jobs[0];
        let message = format!("zonesize = {} makes more than {MOST_ZONES} zones of the device", ByteCount(limits.size));
        return Err(job.wrong(&message));
    }
    for job in jobs.iter().filter(|job| job.zoning.is_on() && job.writes()) {
        if job.zoning.job_max_open > 0 && limits.max_open == 0 {
            return Err(job.wrong("job_max_open_zones cannot be used without a limit for all jobs, max_open_zones"));
        }
    }
    Ok(Some(Drive::new(limits, bytes)))
}

/// Refuses a job in ranges, or in none, as fio 3.33 does.
fn check_ranges(job: &Job) -> Result<(), Malformed> {
    let is_strided = job.zoning.mode == Some(Mode::Strided);
    if job.zoning.size.is_some() && !is_strided {
        return Err(job.wrong("zonemode = none and zonesize do not go together; zonemode = strided has a zonesize"));
    }
    if is_strided && job.zoning.size.is_none() {
        return Err(job.wrong("zonemode = strided needs a zonesize"));
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Display>(job: &Job, (key, value): (&str, T), first: &T) -> Result<(), Malformed> {
    if value == *first {
        return Ok(());
    }
    Err(job.wrong(&format!("{key} = {value}, and a job before has {first}; all jobs share one device")))
}

/// Zones that are kept in memory, 40 bytes each; drives have thousands.
const MOST_ZONES: u64 = 1 << 22;

/// The zones of a job's device.
fn limits(job: &Job, device: Option<ZoneShape>) -> Result<Limits, Malformed> {
    let zoning = &job.zoning;
    let Some(device) = device else {
        let Some(size) = zoning.size else {
            let what = "the device has no zones; ftl.zns has, or zonesize gives zones that the device knows nothing of";
            return Err(job.wrong(what));
        };
        let capacity = zoning.capacity.unwrap_or(size);
        if capacity > size {
            let (capacity, size) = (ByteCount(capacity), ByteCount(size));
            return Err(job.wrong(&format!("zonecapacity = {capacity} is more than zonesize = {size}")));
        }
        return Ok(Limits { size, capacity, max_open: zoning.max_open, has_commands: false, conventional: 0 });
    };
    let (size, capacity) = (device.size * SECTOR, device.capacity * SECTOR);
    if let Some(given) = zoning.size.filter(|&given| given != size) {
        let (given, size) = (ByteCount(given), ByteCount(size));
        return Err(job.wrong(&format!("zonesize = {given}, and a zone of the device has {size}")));
    }
    // fio asks for the limit of open zones alone; a drive that has no such limit may still limit the active ones.
    let most = [device.max_open, device.max_active].into_iter().filter(|&most| most > 0).min().unwrap_or(0);
    if !zoning.ignores_limits && most > 0 && zoning.max_open > most {
        let message = format!("max_open_zones = {}, and the device takes {most}", zoning.max_open);
        return Err(job.wrong(&message));
    }
    let is_own = zoning.ignores_limits || zoning.max_open > 0;
    let max_open = if is_own { zoning.max_open } else { most };
    let conventional = u64::from(device.conventional) * size;
    Ok(Limits { size, capacity, max_open, has_commands: true, conventional })
}

/// Refuses requests that no zone takes.
fn check(job: &Job, limits: &Limits) -> Result<(), Malformed> {
    let [_, writes, trims] = &job.lengths;
    let (size, capacity) = (ByteCount(limits.size), ByteCount(limits.capacity));
    if job.asks == Asks::TrimWrite {
        return Err(job.wrong("rw = trimwrite does not go with zones: a write to a full zone resets it before"));
    }
    if job.writes() && writes.most() > limits.size {
        return Err(job.wrong(&format!("its writes have {}, and a zone {size}", ByteCount(writes.most()))));
    }
    if job.writes() && writes.least() > limits.capacity {
        let least = ByteCount(writes.least());
        return Err(job.wrong(&format!("its writes have {least}, and {capacity} can be written to a zone")));
    }
    match job.asks {
        Asks::Only(Op::Trim) if !limits.has_commands => {
            Err(job.wrong("a trim resets a zone, and the device has no zones"))
        }
        Asks::Only(Op::Trim) if trims.least() != limits.size || trims.most() != limits.size => {
            let found = ByteCount(trims.least());
            Err(job.wrong(&format!("a trim resets a zone of {size}, and the job's trims have {found}")))
        }
        _ => Ok(()),
    }
}

/// Cuts the clones' regions to whole zones, as fio does; reads may begin within one.
pub(super) fn align(regions: &mut [Region], jobs: &[Job], limits: &Limits) -> Result<(), Malformed> {
    let mut range: Option<(u64, u64)> = None;
    for region in regions.iter_mut().filter(|region| jobs[region.job].zoning.is_on()) {
        let job = &jobs[region.job];
        // Files begin with a zone.
        let (first, last) = (region.offset, region.offset + region.length);
        let end = last / limits.size * limits.size;
        let reads = matches!(job.asks, Asks::Only(Op::Read));
        let start = if reads { first } else { first.next_multiple_of(limits.size) };
        if end <= start {
            let size = ByteCount(limits.size);
            return Err(job.wrong(&format!(
                "it has {} from its offset on, and needs a zone of {size}",
                ByteCount(region.length)
            )));
        }
        let files = region.starts.len() as u64;
        if region.size == region.length.saturating_mul(files) {
            region.size = (end - start).saturating_mul(files);
        }
        region.starts.iter_mut().for_each(|place| *place += start - first);
        (region.offset, region.length) = (start, end - start);
        if !job.writes() || job.zoning.threshold == 0.0 {
            continue;
        }
        let own = (region.starts[0], region.length);
        if *range.get_or_insert(own) != own || files > 1 {
            return Err(job.wrong("with zone_reset_threshold all jobs write to the same zones"));
        }
    }
    Ok(())
}
