//! The record's part about what limits a run: how busy dies and channels were, and what requests waited for.

use super::figures::us;
use nandlab_block::{PathUse, PathWaits};
use nandlab_drive::Busy;
use nandlab_nand::{Time, Waits};
use serde::Serialize;

/// The longest time, as a share of the run, for which flash may work on after the last answer if the host waited for it.
const MOST_DRAIN: f64 = 0.1;

/// How busy the parts of a device were, and how long requests waited for each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartsRecord {
    /// Dies; planes if they work independently.
    pub dies: UnitsRecord,
    /// Channels.
    pub channels: UnitsRecord,
    /// Waits, summed over the requests.
    pub waits_us: WaitsRecord,
    /// The part that limits the run: the one that requests waited for longest, by its name in `waits_us`. If none waited, the
    /// busiest part; dies and channels only if flash was nearly at rest with the last answer: what it does behind the host's
    /// back does not hold up the host. Null if nothing was done.
    pub limit: Option<&'static str>,
}

/// Parts of one kind. Shares are of the time until flash was at rest, `time_us + drain_us`. A part is busy with array
/// time and transfers, not while it waits for its channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitsRecord {
    /// Mean busy share.
    pub mean: f64,
    /// The busiest part's share.
    pub most: f64,
    /// The busiest part's number; the first in a tie.
    pub which: u32,
    /// Busy time of each, us; null for more than 64.
    pub busy_us: Option<Vec<f64>>,
}

/// Most parts of a kind that a record lists.
const LISTED: usize = 64;

impl UnitsRecord {
    fn of(busy: &[Time], start: &[Time], time: Time) -> Self {
        let busy: Vec<Time> = busy.iter().zip(start).map(|(end, start)| end - start).collect();
        let most = busy.iter().copied().max().unwrap_or(0);
        let which = busy.iter().position(|&one| one == most).unwrap_or(0) as u32;
        let whole = busy.iter().sum::<Time>() as f64;
        let time = time as f64;
        Self {
            mean: whole / busy.len().max(1) as f64 / time,
            most: most as f64 / time,
            which,
            busy_us: (busy.len() <= LISTED).then(|| busy.into_iter().map(us).collect()),
        }
    }
}

/// Waits by part, us. Operations count that the host waits for: causes `host`, `read_modify_write` and `map`, without
/// those of writes that a buffer has answered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WaitsRecord {
    /// For dies (or planes): mean over the pages of a request.
    pub dies: f64,
    /// For channels: mean over the pages of a request.
    pub channels: f64,
    /// For the controller's processor.
    pub processor: f64,
    /// For the firmware's processor.
    pub firmware: f64,
    /// For space in the controller's write buffer, also of commands behind a write that waits.
    pub write_buffer: f64,
    /// For the link to the host.
    pub link_read: f64,
    /// For the link from the host.
    pub link_write: f64,
}

/// Counters of one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartsMark {
    /// `None` on a device without time.
    pub(crate) busy: Option<Busy>,
    pub(crate) waits: Waits,
}

impl PartsRecord {
    /// Between two moments: the last request was answered after the first time of `took`, flash at rest after the second.
    pub(crate) fn between(
        (start, end): (&PartsMark, &PartsMark),
        took: (Time, Time),
        (worked, path): (&PathUse, &PathWaits),
    ) -> Option<Self> {
        let (before, after) = start.busy.as_ref().zip(end.busy.as_ref())?;
        let (answered, time) = (took.0, took.0.max(took.1));
        if time == 0 {
            return None;
        }
        let flash = end.waits.since(start.waits);
        let dies = UnitsRecord::of(&after.units, &before.units, time);
        let channels = UnitsRecord::of(&after.channels, &before.channels, time);
        let waits = [
            ("dies", flash.unit),
            ("channels", flash.channel),
            ("processor", path.processor),
            ("firmware", path.firmware),
            ("write_buffer", path.write_buffer),
            ("link_read", path.link_read),
            ("link_write", path.link_write),
        ];
        let share = |busy: Time| busy as f64 / answered.max(1) as f64;
        // Early answers run ahead of flash, which then is busy all the time and still does not hold up the host.
        let is_ahead = (time - answered) as f64 > MOST_DRAIN * answered as f64;
        let in_front = |most: f64| if is_ahead { 0.0 } else { most };
        let busy = [
            ("dies", in_front(dies.most)),
            ("channels", in_front(channels.most)),
            ("processor", share(worked.processor)),
            ("firmware", share(worked.firmware)),
            ("link_read", share(worked.link_read)),
            ("link_write", share(worked.link_write)),
        ];
        let limit = first_of_most(waits.map(|(name, wait)| (name, wait as f64)));
        Some(Self {
            limit: limit.or_else(|| first_of_most(busy)),
            dies,
            channels,
            waits_us: WaitsRecord {
                dies: us(flash.unit),
                channels: us(flash.channel),
                processor: us(path.processor),
                firmware: us(path.firmware),
                write_buffer: us(path.write_buffer),
                link_read: us(path.link_read),
                link_write: us(path.link_write),
            },
        })
    }
}

/// The name with the largest value above 0; the first in a tie.
fn first_of_most<const N: usize>(parts: [(&'static str, f64); N]) -> Option<&'static str> {
    let most = |most: Option<(&'static str, f64)>, part: (&'static str, f64)| match most {
        Some(most) if most.1 >= part.1 => Some(most),
        most if part.1 <= 0.0 => most,
        _ => Some(part),
    };
    parts.into_iter().fold(None, most).map(|(name, _)| name)
}
