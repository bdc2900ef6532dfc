//! The jobs' files on the device.

use super::job::Job;
use super::text::Amount;
use super::Malformed;
use nandlab_block::ByteCount;
use nandlab_nand::SECTOR_BYTES;

/// Alignment for file starts, as in a file system.
const FILE_ALIGNMENT: u64 = 4096;

/// A clone's work area, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Region {
    /// Job number.
    pub(super) job: usize,
    /// Its beginning in each file, in bytes of the device.
    pub(super) starts: Vec<u64>,
    /// The same in bytes of the file.
    pub(super) offset: u64,
    /// Bytes in each file.
    pub(super) length: u64,
    /// Bytes from its beginning to the end of the file, whatever its size.
    pub(super) reach: u64,
    /// The part of all files together that a pass is over.
    pub(super) size: u64,
    /// How much is to be moved, if that is said.
    pub(super) io_size: Option<u64>,
}

/// All clones' regions in order, and the bytes they need on the device. Files begin with a zone, if zones have a size.
pub(super) fn lay_out(jobs: &[Job], device: u64, zone: Option<u64>) -> Result<(Vec<Region>, u64), Malformed> {
    let mut names: Vec<String> = Vec::new();
    let mut clones = Vec::new();
    for (number, job) in jobs.iter().enumerate() {
        for clone in 0..job.clones {
            let own: Vec<String> = (0..job.file_count()).map(|file| format!("{number} {clone} {file}")).collect();
            let files = if job.files.is_empty() { &own[..] } else { &job.files };
            let file = |name: &String| {
                names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                })
            };
            clones.push((number, clone, files.iter().map(file).collect::<Vec<_>>()));
        }
    }
    refuse_files(jobs, names.len())?;
    // A single file is the whole device.
    let is_single = names.len() == 1;
    let mut lengths = vec![0; names.len()];
    let mut regions = Vec::new();
    for (number, clone, files) in &clones {
        let job = &jobs[*number];
        let zone = zone.filter(|_| job.zoning.is_on());
        let of = Whole { bytes: device, is_single, is_own: job.files.is_empty(), zone };
        let (offset, region) = region(*number, job, *clone, of)?;
        for &file in files {
            lengths[file] = lengths[file].max(offset + region.length);
        }
        regions.push(Region { starts: vec![offset; files.len()], ..region });
    }
    let mut starts = Vec::new();
    let mut end: u64 = 0;
    for length in &lengths {
        starts.push(end);
        end = end.saturating_add(length.next_multiple_of(zone.unwrap_or(FILE_ALIGNMENT)));
    }
    for (region, (_, _, files)) in regions.iter_mut().zip(&clones) {
        region.starts.iter_mut().zip(files).for_each(|(start, &file)| *start += starts[file]);
        let is_device = is_single && names[files[0]].starts_with("/dev/");
        let whole = if is_device { device } else { files.iter().map(|&file| lengths[file]).min().unwrap_or(0) };
        region.reach = whole.saturating_sub(region.offset);
    }
    let needed = starts.last().map_or(0, |start| start.saturating_add(*lengths.last().expect("as many as starts")));
    Ok((regions, needed))
}

/// Refuses several files if one is a device with unknown extent.
fn refuse_files(jobs: &[Job], files: usize) -> Result<(), Malformed> {
    let device = |job: &Job| job.files.iter().find(|file| file.starts_with("/dev/")).cloned();
    let has_bytes = |job: &Job| matches!(job.size, Some(Amount::Bytes(1..))) || job.filesize.is_some();
    let open = jobs.iter().find_map(|job| device(job).filter(|_| !has_bytes(job)).map(|device| (job, device)));
    if let Some((job, device)) = open.filter(|_| files > 1) {
        return Err(
            job.wrong(&format!("a job on the device {device} leaves no room for other files; give it a size in bytes"))
        );
    }
    Ok(())
}

/// The base for percentages.
#[derive(Clone, Copy)]
struct Whole {
    /// Device size in bytes.
    bytes: u64,
    /// Whether there is only one file; it is the device then.
    is_single: bool,
    /// Whether the file has no name, and so no other job shares it.
    is_own: bool,
    /// The size of a zone, if the job keeps to zones.
    zone: Option<u64>,
}

/// A clone's start in each file, and its region.
fn region(number: usize, job: &Job, clone: u32, whole: Whole) -> Result<(u64, Region), Malformed> {
    let of_whole = |key: &str, percent: u64| {
        let message = || format!("{key} = {percent}% is a part of the device, and several files share it; give bytes");
        let part = (u128::from(whole.bytes) * u128::from(percent) / 100) as u64;
        if whole.is_single || whole.is_own {
            Ok(part)
        } else {
            Err(job.wrong(&message()))
        }
    };
    let of_zones = |key: &str, count: u64| {
        let message = || format!("{key} = {count}z counts zones, and the job keeps to none; zonemode = zbd does");
        whole.zone.map(|zone| zone.saturating_mul(count)).ok_or_else(|| job.wrong(&message()))
    };
    let bytes = |key: &str, amount: Amount| match amount {
        Amount::Zones(count) => of_zones(key, count),
        Amount::Bytes(bytes) => Ok(bytes),
        Amount::Percent(percent) => of_whole(key, percent),
    };
    let least = job.least();
    let job_size = match job.size {
        Some(Amount::Zones(count)) => Some(Amount::Bytes(of_zones("size", count)?)),
        size => size,
    };
    let steps = bytes("offset_increment", job.offset_increment)?.saturating_mul(clone.into());
    let mut offset = bytes("offset", job.offset)?.saturating_add(steps);
    if matches!(job.offset, Amount::Percent(_)) || matches!(job.offset_increment, Amount::Percent(_)) {
        offset = offset.next_multiple_of(job.offset_align.unwrap_or(least));
    }
    if offset % u64::from(SECTOR_BYTES) != 0 {
        return Err(job.wrong(&format!("it starts at {offset} bytes, within a sector of 512")));
    }
    let rest = || {
        let what = "it needs a size, since several files share the device";
        let rest = whole.is_single.then(|| whole.bytes.saturating_sub(offset));
        rest.ok_or_else(|| job.wrong(what))
    };
    let files = job.file_count() as u64;
    let length = match (job.filesize, job_size) {
        (Some(filesize), _) => filesize.saturating_sub(offset),
        // HOWTO of fio 3.33, `size`: divided between the files.
        (None, Some(Amount::Bytes(size))) if size > 0 => size / files,
        (None, Some(Amount::Percent(percent))) => {
            let part = of_whole("size", percent)?;
            let part = if whole.is_single { part.min(rest()?) } else { part };
            part - part % least
        }
        (None, _) => rest()?,
    };
    if length < least {
        let (room, request) = (ByteCount(length), ByteCount(least));
        return Err(job.wrong(&format!("from its offset on there are {room}, and a request has {request}")));
    }
    let all = length.saturating_mul(files);
    let mut size = match job_size {
        Some(Amount::Bytes(size)) if size > 0 => size.min(all),
        _ => all,
    };
    let mut io_size = None;
    match job.io_size {
        Some(Amount::Bytes(bytes)) if bytes > 0 => io_size = Some(bytes),
        Some(Amount::Zones(count)) => io_size = Some(of_zones("io_size", count)?),
        // fio 3.33 makes the size smaller.
        Some(Amount::Percent(percent)) => size = size.min((u128::from(all) * u128::from(percent) / 100) as u64),
        _ => {}
    }
    Ok((offset, Region { job: number, starts: Vec::new(), offset, length, reach: length, size, io_size }))
}
