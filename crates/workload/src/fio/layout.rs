//! Where the files of the jobs lie on the device.

use super::job::Job;
use super::text::Amount;
use super::Malformed;
use nandlab_block::ByteCount;
use nandlab_nand::SECTOR_BYTES;

/// Files start at multiples of this, as those of a file system do.
const FILE_ALIGNMENT: u64 = 4096;

/// What one clone of a job works on, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Region {
    /// Number of the job.
    pub(super) job: usize,
    /// Where it begins, from the start of the device.
    pub(super) start: u64,
    pub(super) length: u64,
    /// How much is to be moved.
    pub(super) limit: u64,
}

/// Regions of all clones in their order, and the bytes of the device that they need.
pub(super) fn lay_out(jobs: &[Job], device: u64) -> Result<(Vec<Region>, u64), Malformed> {
    let mut names: Vec<String> = Vec::new();
    let mut clones = Vec::new();
    for (number, job) in jobs.iter().enumerate() {
        for clone in 0..job.clones {
            let name = job.file.clone().unwrap_or_else(|| format!("{number} {clone}"));
            let file = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            clones.push((number, clone, file));
        }
    }
    if let Some(job) = jobs.iter().find(|job| job.file.as_ref().is_some_and(|file| file.starts_with("/dev/"))) {
        if names.len() > 1 {
            let message =
                format!("a job on the device {} leaves no room for other files", job.file.as_deref().unwrap_or(""));
            return Err(wrong(job, message));
        }
    }
    // A single file is the whole device.
    let whole = (names.len() == 1).then_some(device);
    let mut lengths = vec![0; names.len()];
    let mut regions = Vec::new();
    for &(number, clone, file) in &clones {
        let region = region(number, &jobs[number], clone, whole)?;
        lengths[file] = lengths[file].max(region.start + region.length);
        regions.push(region);
    }
    let mut starts = Vec::new();
    let mut end: u64 = 0;
    for length in &lengths {
        starts.push(end);
        end = end.saturating_add(length.next_multiple_of(FILE_ALIGNMENT));
    }
    for (region, &(_, _, file)) in regions.iter_mut().zip(&clones) {
        region.start += starts[file];
    }
    let needed = starts.last().map_or(0, |start| start.saturating_add(*lengths.last().expect("as many as starts")));
    Ok((regions, needed))
}

fn wrong(job: &Job, message: impl Into<String>) -> Malformed {
    let message = message.into();
    Malformed { line: job.line, column: 1, message: format!("the job [{}] cannot work: {message}", job.name) }
}

/// What a clone works on, from the start of its file; `whole` bytes long is a file that is the device.
fn region(number: usize, job: &Job, clone: u32, whole: Option<u64>) -> Result<Region, Malformed> {
    let of_whole = |key: &str, percent: u64| {
        let message = || format!("{key} = {percent}% is a part of the device, and several files share it; give bytes");
        whole.map(|whole| (u128::from(whole) * u128::from(percent) / 100) as u64).ok_or_else(|| wrong(job, message()))
    };
    let bytes = |key: &str, amount: Amount| match amount {
        Amount::Bytes(bytes) => Ok(bytes),
        Amount::Percent(percent) => of_whole(key, percent),
    };
    let least = job.least();
    let steps = bytes("offset_increment", job.offset_increment)?.saturating_mul(clone.into());
    let mut offset = bytes("offset", job.offset)?.saturating_add(steps);
    if matches!(job.offset, Amount::Percent(_)) || matches!(job.offset_increment, Amount::Percent(_)) {
        offset = offset.next_multiple_of(job.offset_align.unwrap_or(least));
    }
    if offset % u64::from(SECTOR_BYTES) != 0 {
        return Err(wrong(job, format!("it starts at {offset} bytes, within a sector of 512")));
    }
    let rest = || {
        let what = "it needs a size, since several files share the device";
        whole.map(|whole| whole.saturating_sub(offset)).ok_or_else(|| wrong(job, what))
    };
    let length = match (job.filesize, job.size) {
        (Some(filesize), _) => filesize.saturating_sub(offset),
        (None, Some(Amount::Bytes(size))) if size > 0 => size,
        (None, Some(Amount::Percent(percent))) => {
            let part = of_whole("size", percent)?.min(rest()?);
            part - part % least
        }
        (None, _) => rest()?,
    };
    if length < least {
        let (room, request) = (ByteCount(length), ByteCount(least));
        return Err(wrong(job, format!("from its offset on there are {room}, and a request has {request}")));
    }
    let limit = match (job.io_size, job.size) {
        (Some(Amount::Bytes(bytes)), _) if bytes > 0 => bytes,
        (Some(Amount::Percent(percent)), _) => (u128::from(length) * u128::from(percent) / 100) as u64,
        (_, Some(Amount::Bytes(size))) if size > 0 => size.min(length),
        _ => length,
    };
    Ok(Region { job: number, start: offset, length, limit })
}
