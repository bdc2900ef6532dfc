//! A run's timeline as a file for Perfetto, described in `docs/outputs.md`.

mod collections;
mod operations;
mod packets;
mod requests;
mod tracks;
mod window;

pub use window::Window;

use crate::error::LabError;
use crate::stack::new_file::{cannot_write, NewFile};
use nandlab_block::{Completion, Request};
use nandlab_nand::traced::{OpRecord, OpSink};
use nandlab_nand::work::Work;
use nandlab_nand::{Geometry, Time};
use operations::Operations;
use packets::Packets;
use requests::Requests;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracks::{Tracks, FREE_BLOCKS, WAF};

/// The endings of a timeline's name.
const ENDINGS: [&str; 3] = [".perfetto", ".pftrace", ".perfetto-trace"];

/// A device's parts.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Channels, dies, planes and blocks.
    pub geometry: Geometry,
    /// Whether planes work independently.
    pub units_are_planes: bool,
    /// Whether a cache register moves data while the array works.
    pub has_cache: bool,
}

/// A timeline being written; shared between the reporting device and the run, which closes it.
#[derive(Clone)]
pub struct Timeline(Arc<Mutex<State>>);

struct State {
    file: NewFile,
    packets: Option<Packets>,
    /// Whether the workload is under way.
    is_on: bool,
    /// Whether the next operations belong to no request.
    is_outside: bool,
    base: Time,
    window: Window,
    tracks: Tracks,
    operations: Operations,
    requests: Requests,
    /// Requests at which the counters are due.
    due: u64,
    has_requests: bool,
}

impl Timeline {
    /// Starts a timeline for `target`; it shows `window`.
    ///
    /// # Errors
    /// [`LabError::Io`]: the name ends in none of `.perfetto`, `.pftrace` and `.perfetto-trace`, or the file cannot be
    /// created.
    pub fn create(target: &Path, window: Window, parts: Parts) -> Result<Self, LabError> {
        let (file, open) = NewFile::create(target, &ENDINGS, "a timeline is a .perfetto or .pftrace file")?;
        let Parts { geometry, units_are_planes, has_cache } = parts;
        let tracks = Tracks { geometry, units_are_planes, has_cache };
        let mut packets = Packets::new(open);
        tracks.describe(&mut packets);
        Ok(Self(Arc::new(Mutex::new(State {
            file,
            packets: Some(packets),
            is_on: false,
            is_outside: false,
            base: 0,
            window,
            tracks,
            operations: Operations::new(tracks, window),
            requests: Requests::new(window),
            due: 0,
            has_requests: false,
        }))))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The workload starts at `base`.
    pub(crate) fn begin(&self, base: Time) {
        let mut state = self.lock();
        (state.is_on, state.base) = (true, base);
        state.operations.begin(base);
        state.requests.begin(base);
    }

    /// Requests are queued: they end in another order than they come.
    pub(crate) fn follow_events(&self) {
        self.lock().requests.by_events = true;
    }

    /// Sets whether the next operations belong to no request.
    pub(crate) fn outside(&self, is_outside: bool) {
        self.lock().is_outside = is_outside;
    }

    /// Request `number`, from 1, ended.
    pub(crate) fn request(&self, number: u64, request: &Request, completion: &Completion) {
        let mut state = self.lock();
        if state.is_on {
            state.requests.end_one(number, request, completion);
        }
    }

    /// Whether the counters are due after this many requests.
    pub(crate) fn is_due(&self, requests: u64) -> bool {
        let state = self.lock();
        state.is_on && requests >= state.due
    }

    /// The counters at `time`, after so many requests: free blocks, and write amplification since the start.
    pub(crate) fn count(&self, time: Time, requests: u64, (free_blocks, waf): (u64, Option<f64>)) {
        let state = &mut *self.lock();
        let time = time.saturating_sub(state.base);
        if !state.is_on || !state.window.shows(requests.max(1), (time, time)) {
            return;
        }
        // A look at all blocks costs as much as a few requests.
        state.due = requests + u64::from(state.tracks.geometry.blocks()) / 16;
        let Some(packets) = &mut state.packets else { return };
        packets.count(time, FREE_BLOCKS, free_blocks);
        if let Some(waf) = waf {
            packets.ratio(time, WAF, waf);
        }
    }

    /// Reports any write error so far.
    pub(crate) fn state(&self) -> Result<(), LabError> {
        let state = self.lock();
        let failed = state.packets.as_ref().and_then(|packets| packets.failed.as_ref());
        failed.map_or(Ok(()), |error| Err(cannot_write(state.file.target(), error)))
    }

    /// The workload has ended; `work` has the news since the last operation.
    pub(crate) fn end(&self, work: &[Work]) {
        let state = &mut *self.lock();
        let Some(packets) = state.packets.as_mut().filter(|_| state.is_on) else { return };
        state.is_on = false;
        state.operations.happened(work, packets);
        state.operations.end(packets);
        let mut next = state.tracks.first_lane();
        state.has_requests = state.requests.end(&mut next, packets);
        state.operations.collections.end(state.base, &mut next, packets);
    }

    /// Whether it shows a request.
    pub(crate) fn has_requests(&self) -> bool {
        self.lock().has_requests
    }

    /// Ends the file and renames it to its target.
    pub(crate) fn close(&self) -> Result<(), LabError> {
        self.state()?;
        let mut state = self.lock();
        let Some(packets) = state.packets.take() else { return Ok(()) };
        let ended = packets.finish();
        state.file.close(ended)
    }
}

impl OpSink for Timeline {
    fn record(&mut self, _: &OpRecord) {}

    fn record_work(&mut self, record: &OpRecord, work: &[Work]) {
        let state = &mut *self.lock();
        let Some(packets) = state.packets.as_mut().filter(|_| state.is_on) else { return };
        let issued = work.iter().find_map(|one| match one {
            Work::Issued { request, .. } => *request,
            _ => None,
        });
        let request = match issued {
            _ if state.is_outside => 0,
            Some(request) => request + 1,
            None if state.requests.by_events => 0,
            // A file system on bare flash has no requests, only operations.
            None => state.requests.ended + 1,
        };
        let flow = if record.cause.is_waited_for() && request != 0 { state.requests.flow(request) } else { 0 };
        state.operations.issued(record, (request, flow), work, packets);
    }
}
