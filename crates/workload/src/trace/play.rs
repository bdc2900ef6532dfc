//! Plays a trace's records.

mod ahead;

use super::addresses::{fold, Addresses, Ranks, TouchedPages};
use super::fields::SECTOR_BITS;
use super::kept::{self, Read, Wants};
use super::plan::Plan;
use super::summary::Summary;
use super::{Config, Took};
use crate::{Workload, WorkloadError};
use ahead::Ahead;
use nandlab_block::{Op, Request};
use std::sync::Arc;

/// A shorter trace is not worth a thread.
const READ_AHEAD_FROM: u64 = 8192;

/// Each device's start, before addresses beyond the device are brought inside.
fn starts(config: &Config, summary: &Summary) -> (Vec<u64>, u64) {
    if !config.side_by_side {
        return (Vec::new(), summary.end_sector);
    }
    let (starts, end) = summary.side_by_side();
    if config.addresses == Addresses::Compact {
        return ((0..starts.len() as u64).map(|number| number << SECTOR_BITS).collect(), end);
    }
    (starts, end)
}

/// Goes through a trace again, as it is played.
pub(crate) struct Source {
    plan: Plan,
    read: Arc<Read>,
    starts: Vec<u64>,
    ranks: Option<Ranks>,
    records: kept::Feed,
    /// Finished repetitions.
    played: u64,
    /// Trims left without a page after the renumbering.
    pub(crate) dropped: u64,
}

impl Source {
    /// Appends at most `room` requests; none at the end.
    pub(crate) fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<(), WorkloadError> {
        let before = batch.len();
        while batch.len() - before < room {
            let Some((request, device)) = self.records.next(&self.read)? else {
                if self.played + 1 >= self.plan.config.repeat {
                    break;
                }
                self.played += 1;
                self.records = kept::Feed::start(&self.plan, &self.read)?;
                continue;
            };
            match self.place(&request, device) {
                Some(request) => {
                    self.still_fits(&request)?;
                    batch.push(request);
                }
                None => self.dropped += 1,
            }
        }
        Ok(())
    }

    #[inline]
    fn place(&self, request: &Request, device: u32) -> Option<Request> {
        let summary = &self.read.summary;
        let time = request.time.saturating_sub(summary.first_ns) + self.played * summary.period();
        let start = self.starts.get(device as usize).copied().unwrap_or(0);
        let request = Request { time, sector: request.sector + start, ..*request };
        match &self.ranks {
            _ if request.op == Op::Flush => Some(Request { sector: 0, ..request }),
            Some(ranks) => ranks.translate(&request),
            None if self.plan.config.addresses == Addresses::Fold => Some(fold(&request, self.plan.capacity)),
            None => Some(request),
        }
    }

    /// A file that is read twice may have grown after the first pass; it must not reach past the device.
    fn still_fits(&self, request: &Request) -> Result<(), WorkloadError> {
        if request.end() > self.plan.capacity {
            let message = "the file changed while it was played".to_owned();
            return Err(WorkloadError::File { file: self.plan.file(), message });
        }
        Ok(())
    }
}

enum Feed {
    Here(Box<Source>),
    Ahead(Ahead),
}

/// Plays a trace.
pub(crate) struct Player {
    feed: Feed,
    len: u64,
    sectors: u64,
    notices: Vec<String>,
    /// Trims left out.
    dropped: u64,
}

impl Player {
    /// Reads the trace through, refuses an unplayable one, and goes back to the start.
    pub(crate) fn open(
        plan: Plan,
        watch: &(dyn Fn(u64) -> bool + Sync),
        tell: Option<&dyn Fn(Op, Took)>,
    ) -> Result<Self, WorkloadError> {
        let compact = plan.config.addresses == Addresses::Compact;
        let mut touched = TouchedPages::default();
        let wants = match tell {
            _ if compact => Wants::Requests,
            Some(_) => Wants::Durations,
            None => Wants::Nothing,
        };
        let read = kept::read(&plan, watch, wants, &mut |request, device, took| {
            if let (Some(tell), Some(took)) = (tell, took) {
                tell(request.op, took);
            }
            if compact {
                // Without `side_by_side` there is one device, whatever its number.
                let start = if plan.config.side_by_side { u64::from(device) << SECTOR_BITS } else { 0 };
                touched.add(&Request { sector: request.sector + start, ..*request });
            }
        })?;
        let summary = &read.summary;
        summary.check_devices(&plan.config, &plan.base)?;
        summary.check_requests(&plan.config, &plan.base)?;
        if summary.has_zones && plan.config.addresses != Addresses::Reject {
            let why = "the trace has requests for zones, and other addresses would name other zones; leave it out";
            let given = if compact { "compact" } else { "fold" };
            return Err(WorkloadError::option("addresses", &given, why));
        }
        let ranks = compact.then(|| touched.rank());
        let (starts, end) = starts(&plan.config, summary);
        plan.fit(summary, end, ranks.as_ref())?;
        let len = (summary.requests + summary.parts).saturating_mul(plan.config.repeat);
        // A trim costs next to nothing, however long it is.
        let sectors = (summary.read_sectors + summary.written_sectors).saturating_mul(plan.config.repeat);
        let notices = summary.notices.clone();
        let records = kept::Feed::start(&plan, &read)?;
        // What is in memory is not worth a thread, either.
        let is_here = len < READ_AHEAD_FROM || read.kept.is_some();
        let source = Source { plan, read, starts, ranks, records, played: 0, dropped: 0 };
        let feed = if is_here { Feed::Here(Box::new(source)) } else { Feed::Ahead(Ahead::start(source)) };
        Ok(Self { feed, len, sectors, notices, dropped: 0 })
    }
}

impl Workload for Player {
    fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<usize, WorkloadError> {
        let before = batch.len();
        match &mut self.feed {
            Feed::Here(source) => {
                source.fill(batch, room)?;
                self.dropped = source.dropped;
            }
            Feed::Ahead(ahead) => {
                ahead.fill(batch, room)?;
                self.dropped = ahead.dropped();
            }
        }
        Ok(batch.len() - before)
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.len)
    }

    fn sectors_hint(&self) -> Option<u64> {
        Some(self.sectors)
    }

    fn notices(&self) -> Vec<String> {
        let mut notices = self.notices.clone();
        let dropped = match self.dropped {
            0 => return notices,
            1 => "1 trim was left out: it reaches".to_owned(),
            trims => format!("{trims} trims were left out: they reach"),
        };
        notices.push(format!(
            "{dropped} only pages that the trace neither reads nor writes, which workload.trace.addresses = \"compact\" \
             takes away; the run has so many requests fewer than the trace"
        ));
        notices
    }
}
