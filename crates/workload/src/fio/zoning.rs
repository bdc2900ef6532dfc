//! The keys of a job about zones.
//!
//! HOWTO of fio (master of August 2026), `zonemode` to `zone_reset_frequency`.

use super::text::{bytes, number, switch, Entry, KbBase};
use super::Malformed;
use nandlab_nand::SECTOR_BYTES;

const SECTOR: u64 = SECTOR_BYTES as u64;
/// Most zones written at a time, as in fio.
const MAX_OPEN: u64 = 4096;

/// A value of `zonemode`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    None,
    Strided,
    Zbd,
}

/// `zonemode=strided`, in bytes: so much is asked for in a range, and the next range lies behind a gap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stride {
    pub(super) asked: u64,
    pub(super) range: u64,
    pub(super) gap: u64,
}

/// The keys as a job has them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Zoning {
    pub(super) mode: Option<Mode>,
    /// In bytes.
    pub(super) size: Option<u64>,
    range: Option<u64>,
    pub(super) skip: u64,
    pub(super) capacity: Option<u64>,
    pub(super) max_open: u32,
    pub(super) job_max_open: u32,
    pub(super) ignores_limits: bool,
    pub(super) reads_beyond: bool,
    pub(super) threshold: f64,
    pub(super) frequency: f64,
    /// Keys that mean nothing without `zonemode=zbd`.
    given: Vec<String>,
}

impl Zoning {
    /// Takes a key.
    pub(super) fn set(&mut self, entry: &Entry<'_>, base: KbBase) -> Result<(), Malformed> {
        let value = entry.value.unwrap_or("");
        let wrong = |what: &str| entry.wrong(format!("{} = {value} cannot work: {what}", entry.key));
        let count = |entry| number(entry, 0, MAX_OPEN).map(|count| count as u32);
        match entry.key {
            "zonemode" => {
                self.mode = Some(match value {
                    "none" => Mode::None,
                    "zbd" => Mode::Zbd,
                    "strided" => Mode::Strided,
                    _ => return Err(wrong("expected none, strided or zbd")),
                });
                return Ok(());
            }
            "zonerange" => self.range = Some(sectors(entry, base)?).filter(|&bytes| bytes > 0),
            "zoneskip" => self.skip = sectors(entry, base)?,
            "zonesize" => self.size = Some(sectors(entry, base)?).filter(|&bytes| bytes > 0),
            "zonecapacity" => self.capacity = Some(sectors(entry, base)?).filter(|&bytes| bytes > 0),
            "max_open_zones" => self.max_open = count(entry)?,
            "job_max_open_zones" => self.job_max_open = count(entry)?,
            "ignore_zone_limits" => self.ignores_limits = switch(entry)?,
            "read_beyond_wp" => self.reads_beyond = switch(entry)?,
            key => {
                let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
                let share = share.ok_or_else(|| wrong("expected a number from 0 to 1"))?;
                if key == "zone_reset_threshold" {
                    self.threshold = share;
                } else {
                    self.frequency = share;
                }
            }
        }
        if !self.given.iter().any(|key| key == entry.key) {
            self.given.push(entry.key.to_owned());
        }
        Ok(())
    }

    /// Whether the job keeps to zones.
    pub(super) fn is_on(&self) -> bool {
        self.mode == Some(Mode::Zbd)
    }

    /// How the job goes through its file in ranges, if it does.
    pub(super) fn stride(&self) -> Option<Stride> {
        let asked = self.size.filter(|_| self.mode == Some(Mode::Strided))?;
        Some(Stride { asked, range: self.range.unwrap_or(asked), gap: self.skip })
    }

    /// Keys without meaning, unless the job keeps to zones, or goes through ranges.
    pub(super) fn idle(&self) -> Option<String> {
        const OF_RANGES: [&str; 3] = ["zonesize", "zonerange", "zoneskip"];
        let is_idle = |key: &&String| match self.mode {
            Some(Mode::Zbd) => *key == "zonerange",
            Some(Mode::Strided) => !OF_RANGES.contains(&key.as_str()),
            _ => true,
        };
        let idle: Vec<&str> = self.given.iter().filter(is_idle).map(String::as_str).collect();
        (!idle.is_empty()).then(|| idle.join(", "))
    }
}

/// A number of bytes in whole sectors.
fn sectors(entry: &Entry<'_>, base: KbBase) -> Result<u64, Malformed> {
    let value = entry.value.unwrap_or("");
    let bytes = bytes(entry, value, base)?;
    if bytes % SECTOR != 0 {
        return Err(entry.wrong(format!("{} = {value} cannot work: it is whole sectors of 512 bytes", entry.key)));
    }
    Ok(bytes)
}
