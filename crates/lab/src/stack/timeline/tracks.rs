//! The tracks of a timeline, and their numbers.

use super::packets::{Kind, Packets};
use nandlab_nand::{BlockId, Geometry};

pub const ROOT: u64 = 1;
pub const QUEUE: u64 = 2;
pub const DEPTH: u64 = 3;
pub const COLLECTIONS: u64 = 4;
pub const FREE_BLOCKS: u64 = 5;
pub const WAF: u64 = 6;
/// The first channel.
const FIRST: u64 = 7;

/// A device's parts.
#[derive(Clone, Copy, Debug)]
pub struct Tracks {
    pub geometry: Geometry,
    /// Planes work independently: they are the units.
    pub units_are_planes: bool,
    /// A unit's cache register moves data while its array works, so its transfers have a track of their own.
    pub has_cache: bool,
}

impl Tracks {
    fn channels(&self) -> u64 {
        self.geometry.shape().channels.into()
    }

    fn planes_per_die(&self) -> u64 {
        self.geometry.shape().planes_per_die.into()
    }

    pub fn channel(&self, channel: u32) -> u64 {
        FIRST + u64::from(channel)
    }

    fn die(&self, die: u32) -> u64 {
        FIRST + self.channels() + u64::from(die)
    }

    /// A plane's track; `None` if its die's track shows the same.
    pub fn plane(&self, plane: u32) -> Option<u64> {
        let is_there = !self.units_are_planes && self.planes_per_die() > 1;
        is_there.then(|| self.plane_track(plane))
    }

    fn plane_track(&self, plane: u32) -> u64 {
        FIRST + self.channels() + u64::from(self.geometry.dies()) + u64::from(plane)
    }

    /// The track with a unit's work.
    pub fn unit(&self, unit: u32, is_transfer: bool) -> u64 {
        if is_transfer && self.has_cache {
            return self.first_lane() - u64::from(self.units()) + u64::from(unit);
        }
        if self.units_are_planes {
            self.plane_track(unit)
        } else {
            self.die(unit)
        }
    }

    pub fn units(&self) -> u32 {
        if self.units_are_planes {
            self.geometry.planes()
        } else {
            self.geometry.dies()
        }
    }

    /// A unit's channel.
    pub fn channel_of(&self, unit: u32) -> u32 {
        let per_die = if self.units_are_planes { self.geometry.shape().planes_per_die } else { 1 };
        self.geometry.channel_of_die(unit / per_die)
    }

    /// A block's unit.
    pub fn unit_of(&self, block: BlockId) -> u32 {
        if self.units_are_planes {
            self.geometry.plane_of(block)
        } else {
            self.geometry.die_of(block)
        }
    }

    /// The first number that is free for lanes of requests and collections.
    pub fn first_lane(&self) -> u64 {
        let caches = if self.has_cache { self.units() } else { 0 };
        self.plane_track(0) + u64::from(self.geometry.planes()) + u64::from(caches)
    }

    /// Describes all tracks but the lanes.
    pub fn describe(&self, packets: &mut Packets) {
        packets.track((ROOT, 0), "nandlab", Kind::Process, 0);
        packets.track((QUEUE, ROOT), "host queue", Kind::Slices, 0);
        packets.track((DEPTH, QUEUE), "queue depth", Kind::Counter("requests"), 0);
        packets.track((COLLECTIONS, ROOT), "collections", Kind::Slices, 1);
        packets.track((FREE_BLOCKS, ROOT), "free blocks", Kind::Counter("blocks"), 2);
        packets.track((WAF, ROOT), "WAF", Kind::Counter("flash programs / host writes"), 3);
        for channel in 0..self.channels() {
            let track = self.channel(channel as u32);
            packets.track((track, ROOT), &format!("channel {channel}"), Kind::Slices, 4 + channel);
        }
        for die in 0..self.geometry.dies() {
            let channel = self.channel(self.geometry.channel_of_die(die));
            packets.track((self.die(die), channel), &format!("die {die}"), Kind::Slices, die.into());
            let first = die * self.geometry.shape().planes_per_die;
            let planes = first..first + self.geometry.shape().planes_per_die;
            for plane in planes.filter(|_| self.planes_per_die() > 1) {
                let track = (self.plane_track(plane), self.die(die));
                packets.track(track, &format!("plane {plane}"), Kind::Slices, plane.into());
            }
        }
        for unit in (0..self.units()).filter(|_| self.has_cache) {
            let name = format!("{} {unit} transfers", if self.units_are_planes { "plane" } else { "die" });
            packets.track((self.unit(unit, true), self.unit(unit, false)), &name, Kind::Slices, 0);
        }
    }
}

/// Lanes of slices that may overlap: each slice takes the first lane that is free.
#[derive(Debug)]
pub struct Lanes {
    /// The lanes, by the end of their last slice.
    free: std::collections::BinaryHeap<std::cmp::Reverse<(u64, u64)>>,
}

impl Lanes {
    pub fn new() -> Self {
        Self { free: std::collections::BinaryHeap::new() }
    }

    /// A lane for a slice; slices come in the order of their starts. `next` is the first number without a track, `parent`
    /// the track of all lanes.
    pub fn take(
        &mut self,
        packets: &mut Packets,
        (start, end): (u64, u64),
        next: &mut u64,
        (parent, name): (u64, &str),
    ) -> u64 {
        let first = self.free.peek().copied().filter(|one| one.0 .0 <= start);
        let lane = match first {
            Some(one) => {
                self.free.pop();
                one.0 .1
            }
            None => {
                let lane = *next;
                *next += 1;
                packets.track((lane, parent), name, Kind::Slices, 1 + self.free.len() as u64);
                lane
            }
        };
        self.free.push(std::cmp::Reverse((end, lane)));
        lane
    }
}
