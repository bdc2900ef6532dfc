//! A request's way between the host and the FTL: processor, link, write buffer.
//!
//! ```text
//! read    | processor |------- flash -------|= link =| latency |
//! write   | processor | wait for space |= link =|------- flash -------| latency |
//!                                               | latency |                          with a write buffer: answered here
//! read    | processor |= link =| latency |                               of data that the write buffer has
//! ```
//!
//! Processor and link serve one request at a time. The processor takes requests in arrival order. The link fills
//! earlier gaps with read data, because flash finishes reads in another order.

mod contents;
mod link;
mod pack;
mod space;
mod speed;
#[cfg(test)]
mod tests;

pub use speed::LinkScaling;

use crate::request::{Op, Request, ZoneCommand};
use contents::Contents;
use link::Link;
use nandlab_nand::{Time, SECTOR_BYTES};
use pack::{Packs, PACK_HEADER_BYTES};
use space::Space;
use speed::Speed;
use std::collections::VecDeque;

/// Times between the host and the FTL; all 0 by default.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PathTimes {
    /// Constant part of each request's latency, ns; it occupies nothing.
    pub latency: Time,
    /// The same for a write or an append, ns.
    pub write_latency: Time,
    /// Processor time per read, ns.
    pub read_command: Time,
    /// Processor time per write, trim, flush or change of a zone, ns.
    pub write_command: Time,
    /// Processor time per append to a zone, ns.
    pub append_command: Time,
    /// Additional processor time per read above `read_list_over`, ns.
    pub read_list: Time,
    /// The same for a write, ns.
    pub write_list: Time,
    /// The largest read without `read_list`, bytes.
    pub read_list_over: u64,
    /// The largest write without `write_list`, bytes.
    pub write_list_over: u64,
    /// Link time per read in addition to its data, ns.
    pub link_read: Time,
    /// Link time per write in addition to its data, ns.
    pub link_write: Time,
    /// Link time from device to host, ns per byte.
    pub read_ns_per_byte: f64,
    /// Link time from host to device, ns per byte.
    pub write_ns_per_byte: f64,
    /// Size for the buffer that answers writes before they are in flash, bytes; 0: none.
    pub write_buffer: u64,
    /// Whether capacitors protect it, so a flush need not wait for flash.
    pub is_protected: bool,
    /// Whether it answers reads of data that it has.
    pub answers_reads: bool,
    /// Most writes that go as one command; 0 and 1: each goes alone.
    pub packed_writes: u32,
    /// The link's slower speed.
    pub scaling: Option<LinkScaling>,
}

/// How long each part worked, and how long requests waited for buffer space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathUse {
    /// Firmware processor, ns.
    pub firmware: Time,
    /// Command processor, ns.
    pub processor: Time,
    /// Link from device to host, ns.
    pub link_read: Time,
    /// Link from host to device, ns.
    pub link_write: Time,
    /// Wait for space in the write buffer, ns, summed over the writes.
    pub buffer_wait: Time,
    /// Writes that waited for it.
    pub buffer_waits: u64,
    /// Reads that the write buffer answered.
    pub buffer_reads: u64,
    /// Writes that shared their command with others.
    pub packed_writes: u64,
}

/// How long requests waited for each part, summed over the requests, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathWaits {
    /// For the firmware processor.
    pub firmware: Time,
    /// For the command processor.
    pub processor: Time,
    /// For space in the write buffer, including commands behind a waiting write.
    pub write_buffer: Time,
    /// For the link from device to host.
    pub link_read: Time,
    /// For the link from host to device.
    pub link_write: Time,
}

/// The parts between host and FTL, and when each is free.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    times: PathTimes,
    /// Nothing here takes time, as on most devices.
    takes_no_time: bool,
    processor_free: Time,
    to_host: Link,
    /// From host to device, in order of arrival.
    from_host_free: Time,
    buffer: Option<Space>,
    /// Its data, if reads come from it.
    contents: Option<Contents>,
    /// When the data of the latest request has crossed the link, if the buffer answers it.
    in_buffer: Option<Time>,
    packs: Packs,
    /// The link's speed, if it has two.
    speed: Option<Speed>,
    used: PathUse,
    waits: PathWaits,
    /// The latest request's wait for the processor; a part may be for the write buffer.
    queued: Time,
    /// When the processor stood still because a write waited for space; the past is forgotten.
    standstills: VecDeque<(Time, Time)>,
    /// The latest request's share of it.
    held_up: Time,
    longest: HeldUp,
}

/// The longest request, and its wait for space in the write buffer, for itself or for earlier writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeldUp {
    /// When it came.
    pub arrival: Time,
    /// When it was answered.
    pub done: Time,
    /// The wait, ns.
    pub wait: Time,
}

impl Path {
    /// The parts are free at `start`.
    pub(crate) fn new(times: &PathTimes, start: Time) -> Self {
        Self {
            times: *times,
            takes_no_time: *times == PathTimes::default(),
            processor_free: 0,
            to_host: Link::default(),
            from_host_free: 0,
            buffer: (times.write_buffer > 0).then(|| Space::new(times.write_buffer)),
            contents: (times.write_buffer > 0 && times.answers_reads).then(Contents::default),
            in_buffer: None,
            packs: Packs::new(times.packed_writes),
            speed: times.scaling.map(|scaling| Speed::new(&scaling, start)),
            used: PathUse::default(),
            waits: PathWaits::default(),
            queued: 0,
            standstills: VecDeque::new(),
            held_up: 0,
            longest: HeldUp::default(),
        }
    }

    pub(crate) fn used(&self) -> PathUse {
        self.used
    }

    pub(crate) fn waits(&self) -> PathWaits {
        self.waits
    }

    /// When the processor is done with a request that came at `arrival`.
    #[inline]
    pub(crate) fn process(&mut self, request: &Request, arrival: Time) -> Time {
        if self.takes_no_time {
            // Commands are admitted in order.
            self.queued = self.processor_free.saturating_sub(arrival);
            self.processor_free = self.processor_free.max(arrival);
            return self.processor_free;
        }
        self.process_in_time(request, arrival)
    }

    fn process_in_time(&mut self, request: &Request, arrival: Time) -> Time {
        let start = self.packs.start(request.op == Op::Write, arrival, self.processor_free);
        if let Some(speed) = &mut self.speed {
            speed.comes(arrival);
        }
        let times = &self.times;
        let list = |over, time| if bytes(request) > over { time } else { 0 };
        let command = match request.op {
            Op::Read => times.read_command + list(times.read_list_over, times.read_list),
            Op::Append => times.append_command + list(times.write_list_over, times.write_list),
            Op::Write if self.place_in_pack() > 1 => list(times.write_list_over, times.write_list),
            Op::Write => times.write_command + list(times.write_list_over, times.write_list),
            Op::Trim | Op::Flush | Op::UnitUpdate | Op::Zone(_) => times.write_command,
        };
        self.used.processor += command;
        self.used.packed_writes += match self.place_in_pack() {
            0 | 1 => 0,
            // The first did not know.
            2 => 2,
            _ => 1,
        };
        self.queued = start - arrival;
        self.processor_free = self.processor_free.max(arrival) + command;
        self.processor_free
    }

    /// The latest request's place among the writes of its command, from 1 on; 0 if it goes alone.
    pub(crate) fn place_in_pack(&self) -> u32 {
        self.packs.place()
    }

    /// Whether a request must wait for space in the write buffer.
    pub(crate) fn waits_for_space(&self, request: &Request) -> bool {
        request.op.writes() && self.buffer.as_ref().is_some_and(|space| !space.has_room(bytes(request)))
    }

    /// When the FTL begins a request that came at `arrival`, was processed, and has its space at `at`.
    #[inline]
    pub(crate) fn send(&mut self, request: &Request, arrival: Time, at: Time) -> Time {
        if self.takes_no_time {
            self.waits.processor += self.queued;
            return at;
        }
        self.send_in_time(request, arrival, at)
    }

    fn send_in_time(&mut self, request: &Request, arrival: Time, at: Time) -> Time {
        self.stand_still(arrival, at);
        // Commands are admitted in order: commands behind a write wait for its space, too.
        self.used.buffer_wait += at - self.processor_free;
        self.used.buffer_waits += u64::from(at > self.processor_free);
        let waited = self.queued + at - self.processor_free;
        self.waits.write_buffer += self.held_up;
        self.waits.processor += waited - self.held_up;
        self.processor_free = at;
        self.in_buffer = self.holds(request);
        self.used.buffer_reads += u64::from(self.in_buffer.is_some());
        if !request.op.writes() {
            return at;
        }
        if let Some(space) = &mut self.buffer {
            space.take(bytes(request));
        }
        let write_ns_per_byte = self.speed.as_mut().map_or(self.times.write_ns_per_byte, |speed| speed.write(at));
        let command = match self.place_in_pack() {
            0 | 1 => self.times.link_write,
            // Nobody knows before that there is a header. The pack ends at the same time wherever it crosses.
            2 => (PACK_HEADER_BYTES * write_ns_per_byte).round() as Time,
            _ => 0,
        };
        let moved = command + data(request, write_ns_per_byte);
        self.used.link_write += moved;
        self.waits.link_write += self.from_host_free.saturating_sub(at);
        self.from_host_free = self.from_host_free.max(at) + moved;
        self.from_host_free
    }

    /// When a read's last data has crossed the link, if the write buffer has all its data.
    pub(crate) fn holds(&self, request: &Request) -> Option<Time> {
        let contents = self.contents.as_ref().filter(|_| request.op == Op::Read && request.sectors > 0)?;
        contents.holds((request.sector, request.end()))
    }

    /// When the data of the latest request has crossed the link, if the write buffer answers it.
    pub(crate) fn in_buffer(&self) -> Option<Time> {
        self.in_buffer
    }

    /// Takes a request's effect on the buffer's data; the FTL began it at `begun`. Returns a number for
    /// [`Self::stored`].
    pub(crate) fn note(&mut self, request: &Request, begun: Time) -> u64 {
        let Some(contents) = &mut self.contents else { return 0 };
        let sectors = (request.sector, request.end());
        match request.op {
            // A larger write passes through the buffer, which never has all of it.
            Op::Write if bytes(request) <= self.times.write_buffer => {
                return contents.put(sectors, begun);
            }
            Op::Write | Op::Trim => contents.remove(sectors),
            // The size of the zone is not known here.
            Op::Zone(ZoneCommand::Reset) => contents.clear(),
            // The FTL chooses the place of an append.
            Op::Append | Op::Read | Op::Flush | Op::UnitUpdate | Op::Zone(_) => {}
        }
        0
    }

    /// When the host has the answer to a request: it came at `arrival`, the FTL began it at `begun`, and its flash
    /// operations end at `flash`, unless the write buffer answers it.
    #[inline]
    pub(crate) fn answer(&mut self, request: &Request, times: (Time, Time), flash: Time) -> Time {
        if self.takes_no_time {
            return flash;
        }
        self.answer_in_time(request, times, flash)
    }

    fn answer_in_time(&mut self, request: &Request, (arrival, begun): (Time, Time), flash: Time) -> Time {
        let latency = match request.op {
            Op::Write | Op::Append => self.times.write_latency,
            _ => self.times.latency,
        };
        match request.op {
            Op::Read => {
                let ns_per_byte = self.speed.as_mut().map_or(self.times.read_ns_per_byte, |speed| speed.read(flash));
                let moves = self.times.link_read + data(request, ns_per_byte);
                self.used.link_read += moves;
                self.to_host.forget(arrival);
                let end = self.to_host.take(flash, moves);
                self.waits.link_read += end - flash - moves;
                end + latency
            }
            _ if self.answers_early(request) => begun + latency,
            _ => flash + latency,
        }
    }

    fn stand_still(&mut self, arrival: Time, at: Time) {
        while self.standstills.front().is_some_and(|&(_, end)| end <= arrival) {
            self.standstills.pop_front();
        }
        if at > self.processor_free {
            self.standstills.push_back((self.processor_free, at));
        }
        self.held_up = self.standstills.iter().map(|&(start, end)| end - start.max(arrival).min(end)).sum();
    }

    /// How long the latest request waited for space in the buffer.
    pub(crate) fn held_up(&self) -> Time {
        self.held_up
    }

    /// A request was answered after waiting `wait` for space.
    pub(crate) fn answered(&mut self, arrival: Time, done: Time, wait: Time) {
        if let Some(speed) = &mut self.speed {
            speed.ends(done);
        }
        if done - arrival > self.longest.done - self.longest.arrival {
            self.longest = HeldUp { arrival, done, wait };
        }
    }

    pub(crate) fn longest(&self) -> HeldUp {
        self.longest
    }

    /// Whether the host has the answer to a request before flash ends it.
    pub(crate) fn answers_early(&self, request: &Request) -> bool {
        match request.op {
            Op::Write | Op::Append => self.buffer.is_some(),
            Op::Flush => self.buffer.is_some() && self.times.is_protected,
            Op::Read | Op::Trim | Op::UnitUpdate | Op::Zone(_) => false,
        }
    }

    /// Flash has the data of a write with this number.
    pub(crate) fn stored(&mut self, request: &Request, write: u64) {
        if let Some(contents) = &mut self.contents {
            contents.stored((request.sector, request.end()), write);
        }
        if let Some(space) = self.buffer.as_mut().filter(|_| request.op.writes()) {
            space.free(bytes(request));
        }
    }
}

fn bytes(request: &Request) -> u64 {
    u64::from(request.sectors) * u64::from(SECTOR_BYTES)
}

fn data(request: &Request, ns_per_byte: f64) -> Time {
    (bytes(request) as f64 * ns_per_byte).round() as Time
}
