//! The log of placement events (23h), and feature 1Eh, by which a host says which of them it wants.
//!
//! An event is logged if its kind was wanted for its handle when it came. So the drive is asked for events after each
//! command, as long as any is wanted, and before each change of the feature. The log begins empty with the server.

use super::bounds::NAMESPACE;
use super::command::{Answer, Command, Status};
use super::identifiers::number;
use super::page::Page;
use crate::{Placed, Placing};
use nandlab_lab::served::{LoggedEvent, PlacementEvent};
use nandlab_nand::PlacementId;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Events of the host, and of the controller, that are kept; the oldest is dropped.
const KEPT: usize = 63;
const EVENT_BYTES: usize = 64;
/// Bytes of a feature's answer for each kind.
const KIND_BYTES: usize = 2;

mod kind {
    pub const UNFILLED: u8 = 0x00;
    pub const INVALID_IDENTIFIER: u8 = 0x03;
    pub const MOVED: u8 = 0x80;
    pub const ENDED: u8 = 0x81;
}

const KINDS: [u8; 4] = [kind::UNFILLED, kind::INVALID_IDENTIFIER, kind::MOVED, kind::ENDED];

/// An event's flags: identifier, namespace and location are valid.
const HAS_IDENTIFIER: u8 = 1 << 0;
const HAS_NAMESPACE: u8 = 1 << 1;
const HAS_LOCATION: u8 = 1 << 2;

#[derive(Clone, Copy)]
struct Event {
    kind: u8,
    identifier: u16,
    time_ms: u64,
    /// Group and handle; `None` for an identifier of neither.
    location: Option<PlacementId>,
    moved_blocks: u16,
}

#[derive(Default)]
struct State {
    /// By handle: the wanted kinds, a bit for each place in [`KINDS`].
    wanted: Vec<u8>,
    /// Events of the drive that were looked at.
    heard: u64,
    of_host: VecDeque<Event>,
    of_controller: VecDeque<Event>,
}

impl State {
    fn wants(&self, handle: u8, kind: u8) -> bool {
        let wanted = self.wanted.get(usize::from(handle)).copied().unwrap_or_default();
        KINDS.iter().position(|&known| known == kind).is_some_and(|place| wanted >> place & 1 != 0)
    }

    fn add(&mut self, event: Event) {
        let log = if event.kind < kind::MOVED { &mut self.of_host } else { &mut self.of_controller };
        if log.len() == KEPT {
            log.pop_front();
        }
        log.push_back(event);
    }
}

/// A drive's log, shared by all controllers.
pub(super) struct Log {
    state: Mutex<State>,
    is_wanted: AtomicBool,
    /// Sectors of a logical block.
    block_sectors: u32,
}

impl Log {
    pub fn new(placing: &Placing, block_sectors: u32) -> Self {
        let wanted = vec![0; placing.ids.handles as usize];
        Self {
            state: Mutex::new(State { wanted, ..State::default() }),
            is_wanted: AtomicBool::new(false),
            block_sectors,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs what happened to reclaim units since the last call.
    pub fn hear(&self, placing: &Placing, placed: &dyn Placed) {
        if self.is_wanted.load(Ordering::Relaxed) {
            self.hear_all(&mut self.state(), placing, placed);
        }
    }

    fn hear_all(&self, state: &mut State, placing: &Placing, placed: &dyn Placed) {
        let (events, time_ms) = placed.events();
        for LoggedEvent { id, what, .. } in events.since(state.heard) {
            let (kind, sectors) = match what {
                // Logged with the identifier of the command, which may name neither a group nor a handle.
                PlacementEvent::Invalid => continue,
                PlacementEvent::Unfilled => (kind::UNFILLED, 0),
                PlacementEvent::Ended => (kind::ENDED, 0),
                PlacementEvent::Moved { sectors, .. } => (kind::MOVED, sectors),
            };
            if state.wants(id.handle, kind) {
                let moved_blocks = (sectors / self.block_sectors).min(u16::MAX.into()) as u16;
                let identifier = number(placing, id);
                state.add(Event { kind, identifier, time_ms, location: Some(id), moved_blocks });
            }
        }
        state.heard = events.count;
    }

    /// Logs a write with an identifier of an unknown group or handle; handle 0 took it, and says whether it is wanted.
    pub fn hear_invalid(&self, placed: &dyn Placed, identifier: u16) {
        if self.is_wanted.load(Ordering::Relaxed) && self.state().wants(0, kind::INVALID_IDENTIFIER) {
            let (kind, time_ms) = (kind::INVALID_IDENTIFIER, placed.events().1);
            self.state().add(Event { kind, identifier, time_ms, location: None, moved_blocks: 0 });
        }
    }

    /// The log, the oldest event first.
    pub fn page(&self, of_host: bool) -> Vec<u8> {
        let state = self.state();
        let log = if of_host { &state.of_host } else { &state.of_controller };
        let mut page = Page::new(EVENT_BYTES * (1 + KEPT));
        page.u32(0, log.len() as u32);
        for (at, event) in (1..).map(|place| place * EVENT_BYTES).zip(log) {
            let located = if event.location.is_some() { HAS_LOCATION } else { 0 };
            page.u8(at, event.kind).u8(at + 1, HAS_IDENTIFIER | HAS_NAMESPACE | located);
            // The upper two bytes of the time say that it counts from the start.
            page.u16(at + 2, event.identifier).u64(at + 4, event.time_ms & ((1 << 48) - 1)).u32(at + 12, NAMESPACE);
            // Which blocks moved is not told, only how many.
            page.u16(at + 18, event.moved_blocks);
            if let Some(id) = event.location {
                page.u16(at + 32, id.group.into()).u8(at + 34, id.handle);
            }
        }
        page.done()
    }

    /// Gets the feature: every kind of event, and whether it is wanted for a handle.
    pub fn get(&self, command: &Command) -> Result<Answer, Status> {
        let (handle, room) = self.named(command)?;
        if command.pointer_bytes() < (room * KIND_BYTES) as u64 {
            return Err(Status::SGL_LENGTH_INVALID);
        }
        let (state, told) = (self.state(), room.min(KINDS.len()));
        let mut page = Page::new(room * KIND_BYTES);
        for (place, &kind) in KINDS[..told].iter().enumerate() {
            page.u8(place * KIND_BYTES, kind).u8(place * KIND_BYTES + 1, state.wants(handle, kind).into());
        }
        Ok(Answer { data: page.done(), ..Answer::result(told as u64) })
    }

    /// Sets the feature: the kinds in `list` are wanted for a handle from now on, or not any more; all of them or none.
    pub fn set(
        &self,
        (placing, placed): (&Placing, &dyn Placed),
        command: &Command,
        list: &[u8],
    ) -> Result<Answer, Status> {
        let (handle, count) = self.named(command)?;
        let place = |kind: &u8| KINDS.iter().position(|known| known == kind).ok_or(Status::INVALID_FIELD);
        let places: Vec<usize> = list[..count.min(list.len())].iter().map(place).collect::<Result<_, _>>()?;
        let mut state = self.state();
        self.hear_all(&mut state, placing, placed);
        let wanted = &mut state.wanted[usize::from(handle)];
        for place in places {
            let bit = 1 << place;
            *wanted = if command.dword(12) & 1 != 0 { *wanted | bit } else { *wanted & !bit };
        }
        self.is_wanted.store(state.wanted.iter().any(|&kinds| kinds != 0), Ordering::Relaxed);
        Ok(Answer::result(0))
    }

    /// The handle that a feature's command names, and its number of kinds.
    fn named(&self, command: &Command) -> Result<(u8, usize), Status> {
        let (handle, kinds) = (command.dword(11) as u16, command.dword(11) >> 16 & 0xFF);
        if command.namespace() != NAMESPACE {
            return Err(Status::INVALID_NAMESPACE);
        }
        if usize::from(handle) >= self.state().wanted.len() {
            return Err(Status::INVALID_FIELD);
        }
        Ok((handle as u8, kinds as usize))
    }
}
