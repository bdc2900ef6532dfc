//! A timeline's part in a run.

use crate::error::ConfigError;
use nandlab_nand::Time;
use std::str::FromStr;

/// Everything, a time, or some requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Window {
    /// The whole workload.
    #[default]
    All,
    /// From a time up to another, in ns from the workload's start.
    Time(Time, Time),
    /// From a request up to another, both included; numbers from 1.
    Requests(u64, u64),
}

const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

impl Window {
    /// Whether it shows request `number` between two times.
    #[inline]
    pub fn shows(self, number: u64, (start, end): (Time, Time)) -> bool {
        match self {
            Self::All => true,
            Self::Time(from, to) => start < to && (end > from || end == start && end == from),
            Self::Requests(first, last) => (first..=last).contains(&number),
        }
    }
}

/// A time with its unit, in ns.
fn time(text: &str) -> Option<Time> {
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (value, unit) = text.split_at(at);
    let (_, ns) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let value: f64 = value.trim().replace('_', "").parse().ok()?;
    (value.is_finite() && value >= 0.0).then(|| (value * ns).round() as Time)
}

fn request(text: &str) -> Option<u64> {
    text.replace('_', "").parse().ok().filter(|&number| number > 0)
}

impl FromStr for Window {
    type Err = ConfigError;

    /// `2s..3s` is a time, `1000..2000` are requests; one end may be missing.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let refuse =
            |why: &str| ConfigError { message: format!("the timeline's window {text}: {why}"), ..<_>::default() };
        let shape = "expected two times, as in 2s..3s or 500us..2ms, or two requests, as in 1000..2000 \
                     (counted from 1); one end may be missing";
        let (first, last) = text.trim().split_once("..").ok_or_else(|| refuse(shape))?;
        let (first, last) = (first.trim(), last.trim());
        if first.is_empty() && last.is_empty() {
            return Err(refuse(shape));
        }
        let or = |text: &str, missing: u64, of: fn(&str) -> Option<u64>| {
            if text.is_empty() {
                Some(missing)
            } else {
                of(text)
            }
        };
        if let (Some(first), Some(last)) = (or(first, 1, request), or(last, u64::MAX, request)) {
            if first > last {
                return Err(refuse("it ends before it begins"));
            }
            return Ok(Self::Requests(first, last));
        }
        let (from, to) = (or(first, 0, time), or(last, Time::MAX, time));
        let (from, to) = from.zip(to).ok_or_else(|| refuse(shape))?;
        match from.cmp(&to) {
            std::cmp::Ordering::Less => Ok(Self::Time(from, to)),
            std::cmp::Ordering::Equal => Err(refuse("it is empty")),
            std::cmp::Ordering::Greater => Err(refuse("it ends before it begins")),
        }
    }
}
