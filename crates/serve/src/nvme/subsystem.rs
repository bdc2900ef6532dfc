//! The subsystem: its names, its controllers, their queues.

use super::bounds::MOST_CONTROLLERS;
use super::command::Status;
use super::kept::{Errors, Features};
use super::opcodes::Kind;
use super::placement_events::Log;
use crate::described::{Described, Description};
use crate::sockets::Stream;
use crate::{Placed, Placing, Zoning};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A disk as a subsystem with one namespace.
pub(super) struct Subsystem {
    pub drive: Arc<dyn Described>,
    pub description: Description,
    pub nqn: String,
    pub blocks: Blocks,
    /// The zones' constants, if there are zones.
    pub zoning: Option<Zoning>,
    /// Data placement's constants, if the host places.
    pub placing: Option<Placing>,
    /// The log of placement events, if the host places.
    pub placement_log: Option<Log>,
    controllers: Mutex<BTreeMap<u16, Arc<Controller>>>,
    next: AtomicU32,
}

/// The namespace's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Bytes of one, as a power of two.
    pub shift: u32,
    pub count: u64,
}

impl Blocks {
    /// Byte offset and length of `count` blocks from `first` on.
    pub fn range(self, first: u64, count: u64) -> Result<(u64, u64), Status> {
        match first.checked_add(count) {
            Some(end) if end <= self.count => Ok((first << self.shift, count << self.shift)),
            _ => Err(Status::LBA_OUT_OF_RANGE),
        }
    }
}

/// A host by its identifier and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub id: [u8; 16],
    pub nqn: String,
}

/// A host's view on the subsystem: one admin queue and its I/O queues.
pub(super) struct Controller {
    pub id: u16,
    pub host: Host,
    pub is_discovery: bool,
    /// Whether the host has turned the write cache off, so that each change is flushed.
    pub is_write_through: AtomicBool,
    state: Mutex<State>,
}

/// A controller's registers, features and queues.
#[derive(Default)]
pub(super) struct State {
    pub configuration: u32,
    pub status: u32,
    pub features: Features,
    pub errors: Errors,
    /// I/O queues the host may make.
    pub granted: u16,
    queues: BTreeMap<u16, Weak<Stream>>,
    is_gone: bool,
}

impl State {
    pub fn is_ready(&self) -> bool {
        self.status & 1 != 0
    }

    /// Critical warnings of which the host wants events, while the controller is ready.
    pub fn wanted_events(&self) -> u8 {
        if self.is_ready() {
            self.features.events as u8
        } else {
            0
        }
    }

    pub fn has_queues(&self) -> bool {
        self.queues.values().any(|queue| queue.strong_count() > 0)
    }

    /// Ends every I/O queue's connection.
    pub fn end_queues(&mut self) {
        for queue in std::mem::take(&mut self.queues).into_values() {
            if let Some(stream) = queue.upgrade() {
                stream.end();
            }
        }
    }
}

impl Controller {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the I/O queue `id` its connection.
    pub fn add_queue(&self, id: u16, stream: &Arc<Stream>) -> Result<(), Status> {
        let mut state = self.state();
        let is_there = state.queues.get(&id).is_some_and(|queue| queue.strong_count() > 0);
        if state.is_gone || !state.is_ready() || is_there {
            return Err(Status::SEQUENCE_ERROR);
        }
        state.queues.insert(id, Arc::downgrade(stream));
        Ok(())
    }
}

/// A connection's queue.
pub(super) struct Queue {
    pub controller: Arc<Controller>,
    pub id: u16,
    pub entries: u16,
    pub has_flow_control: bool,
    head: u16,
}

impl Queue {
    pub fn new(controller: Arc<Controller>, id: u16, entries: u16, has_flow_control: bool) -> Self {
        Self { controller, id, entries, has_flow_control, head: 0 }
    }

    /// The host's submission queue head, as a completion tells it.
    pub fn head(&self) -> u16 {
        if self.has_flow_control {
            self.head
        } else {
            u16::MAX
        }
    }

    /// A command was taken.
    pub fn advance(&mut self) {
        self.head = (self.head + 1) % self.entries;
    }
}

impl Subsystem {
    /// `drive` with blocks of `1 << shift` bytes.
    pub fn new(drive: Arc<dyn Described>, shift: u32) -> Self {
        let description = drive.description();
        let zoning = drive.zones().map(crate::Zoned::zoning);
        let placing = drive.placement().map(crate::Placed::placing);
        // No zone is cut at the end.
        let size = zoning.map_or(drive.size(), |zoning| zoning.count * zoning.shape.size * 512);
        let blocks = Blocks { shift, count: size >> shift };
        let nqn = format!("nqn.2014-08.org.nvmexpress:uuid:{}", uuid_text(description.identity));
        let (controllers, next) = (Mutex::default(), AtomicU32::new(0));
        let block_sectors = (1 << shift) / 512;
        let placement_log = placing.as_ref().map(|placing| Log::new(placing, block_sectors));
        Self { drive, description, nqn, blocks, zoning, placing, placement_log, controllers, next }
    }

    /// The drive's reclaim units, if the host places.
    pub fn placed(&self) -> Option<&dyn Placed> {
        self.placing.as_ref().and_then(|_| self.drive.placement())
    }

    /// Logs what happened to reclaim units since the last call.
    pub fn hear_events(&self) {
        if let (Some(log), Some(placing), Some(placed)) = (&self.placement_log, &self.placing, self.placed()) {
            log.hear(placing, placed);
        }
    }

    /// The kind of its namespace.
    pub fn kind(&self) -> Kind {
        match (&self.zoning, &self.placing) {
            (Some(_), _) => Kind::Zoned,
            (_, Some(_)) => Kind::Placed,
            _ => Kind::Plain,
        }
    }

    fn controllers(&self) -> MutexGuard<'_, BTreeMap<u16, Arc<Controller>>> {
        self.controllers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a controller for a host.
    pub fn join(&self, host: Host, is_discovery: bool) -> Result<Arc<Controller>, Status> {
        let mut controllers = self.controllers();
        if controllers.len() >= MOST_CONTROLLERS {
            return Err(Status::CONTROLLER_BUSY);
        }
        // The last identifiers have meanings of their own.
        let next = || 1 + (self.next.fetch_add(1, Ordering::Relaxed) % 0xFFEF) as u16;
        let mut id = next();
        while controllers.contains_key(&id) {
            id = next();
        }
        let controller = Arc::new(Controller {
            id,
            host,
            is_discovery,
            is_write_through: AtomicBool::new(false),
            state: Mutex::default(),
        });
        controllers.insert(id, Arc::clone(&controller));
        Ok(controller)
    }

    /// The host's I/O controller `id`.
    pub fn find(&self, id: u16, host: &Host) -> Option<Arc<Controller>> {
        let found = self.controllers().get(&id).cloned();
        found.filter(|controller| controller.host == *host && !controller.is_discovery)
    }

    /// A queue's connection has ended. A controller ends with its admin queue.
    pub fn leave(&self, queue: &Queue) {
        let controller = &queue.controller;
        if queue.id == 0 {
            self.controllers().remove(&controller.id);
            let mut state = controller.state();
            state.is_gone = true;
            state.end_queues();
        } else {
            let _ = controller.state().queues.remove(&queue.id);
        }
    }

    /// Controllers at present.
    pub fn count(&self) -> usize {
        self.controllers().len()
    }
}

/// A drive's identity as a UUID of version 8.
pub(super) fn uuid(identity: u128) -> [u8; 16] {
    let mut bytes = identity.to_be_bytes();
    bytes[6] = bytes[6] & 0x0F | 0x80;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    bytes
}

fn uuid_text(identity: u128) -> String {
    let hex: String = uuid(identity).iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
