//! Fabrics commands: Connect, Disconnect and the controller's properties.

use super::bounds::{DISCOVERY, MOST_ENTRIES, VERSION};
use super::command::{Answer, Command, Status};
use super::page::u16_at;
use super::subsystem::{Host, Queue, Subsystem};
use crate::sockets::Stream;
use std::sync::Arc;
use std::time::Duration;

/// The opcode of all of them; the type is in byte 4.
pub(super) const OPCODE: u8 = 0x7F;
/// Bytes of Connect's data.
pub(super) const CONNECT_BYTES: usize = 1024;

pub(super) mod kind {
    pub const PROPERTY_SET: u8 = 0x00;
    pub const CONNECT: u8 = 0x01;
    pub const PROPERTY_GET: u8 = 0x04;
    pub const DISCONNECT: u8 = 0x08;
}

mod property {
    pub const CAPABILITIES: u32 = 0x00;
    pub const VERSION: u32 = 0x08;
    pub const CONFIGURATION: u32 = 0x14;
    pub const STATUS: u32 = 0x1C;
}

/// Contiguous queues, 10 s to become ready, and the NVM command set, by itself or chosen among I/O command sets.
const CAPABILITIES: u64 = (MOST_ENTRIES as u64 - 1) | 1 << 16 | 20 << 24 | 1 << 37 | 1 << 43;

/// Connect's refusal; `offset` is the wrong parameter's place in the command, or in the data.
fn wrong(offset: u64, is_in_data: bool) -> Answer {
    Answer { result: offset | u64::from(is_in_data) << 16, ..Status::CONNECT_PARAMETERS.into() }
}

/// A name of at most 223 bytes in a field of 256.
fn name(field: &[u8]) -> Option<&str> {
    let length = field.iter().position(|&byte| byte == 0).filter(|length| (1..=223).contains(length))?;
    std::str::from_utf8(&field[..length]).ok()
}

/// Carries out Connect: a connection's first command.
///
/// # Errors
/// The answer that refuses it.
pub(super) fn connect(
    subsystem: &Subsystem,
    stream: &Arc<Stream>,
    command: &Command,
    data: &[u8],
) -> Result<(Queue, Duration), Answer> {
    let (id, entries, attributes) = (command.u16(42), command.u16(44), command.u8(46));
    if command.u16(40) != 0 {
        return Err(Status::CONNECT_FORMAT.into());
    }
    if entries == 0 || entries >= MOST_ENTRIES {
        return Err(wrong(44, false));
    }
    let subject = name(&data[256..512]).ok_or_else(|| wrong(256, true))?;
    let host = name(&data[512..768]).ok_or_else(|| wrong(512, true))?;
    let is_discovery = subject == DISCOVERY;
    if !is_discovery && subject != subsystem.nqn {
        return Err(wrong(256, true));
    }
    let mut host = Host { id: [0; 16], nqn: host.to_owned() };
    host.id.copy_from_slice(&data[..16]);
    let (asked, has_flow_control) = (u16_at(data, 16), attributes & 4 == 0);
    if id == 0 {
        if asked != u16::MAX {
            return Err(wrong(16, true));
        }
        let controller = subsystem.join(host, is_discovery)?;
        let keep_alive = controller.state().features.set_keep_alive(command.dword(12));
        return Ok((Queue::new(controller, 0, entries + 1, has_flow_control), keep_alive));
    }
    if is_discovery {
        return Err(wrong(42, false));
    }
    let controller = subsystem.find(asked, &host).ok_or_else(|| wrong(16, true))?;
    if id > controller.state().granted {
        return Err(wrong(42, false));
    }
    controller.add_queue(id, stream)?;
    Ok((Queue::new(controller, id, entries + 1, has_flow_control), Duration::ZERO))
}

/// Reads or writes a property.
pub(super) fn property(subsystem: &Subsystem, queue: &Queue, command: &Command) -> Answer {
    if queue.id != 0 {
        return Status::INVALID_QUEUE_TYPE.into();
    }
    let (is_wide, offset) = (command.u8(40) & 7 == 1, command.dword(11));
    if command.u8(40) & 7 > 1 {
        return Status::INVALID_FIELD.into();
    }
    if command.fabrics_type() == kind::PROPERTY_SET {
        return match (offset, is_wide) {
            (property::CONFIGURATION, false) => configure(subsystem, queue, command.dword(12)),
            _ => Status::INVALID_FIELD.into(),
        };
    }
    let state = queue.controller.state();
    match (offset, is_wide) {
        (property::CAPABILITIES, true) => Answer::result(CAPABILITIES),
        (property::VERSION, false) => Answer::result(VERSION.into()),
        (property::CONFIGURATION, false) => Answer::result(state.configuration.into()),
        (property::STATUS, false) => Answer::result(state.status.into()),
        _ => Status::INVALID_FIELD.into(),
    }
}

const READY: u32 = 1;
const SHUT_DOWN: u32 = 2 << 2;

/// Enables, resets or shuts down the controller.
fn configure(subsystem: &Subsystem, queue: &Queue, to: u32) -> Answer {
    let (is_enabled, command_set, page_size) = (to & 1 != 0, to >> 4 & 7, to >> 7 & 15);
    let (arbitration, shutdown) = (to >> 11 & 7, to >> 14 & 3);
    let mut state = queue.controller.state();
    let was_enabled = state.configuration & 1 != 0;
    if is_enabled && !was_enabled && (!matches!(command_set, 0 | 6) || page_size != 0 || arbitration != 0) {
        return Status::INVALID_FIELD.into();
    }
    state.configuration = to;
    if shutdown != 0 {
        // A flush that fails was told to nobody: the drive's own state tells it at the next write.
        let _ = subsystem.drive.flush();
        state.end_queues();
        state.status |= SHUT_DOWN;
    }
    match (was_enabled, is_enabled) {
        (false, true) => state.status = READY,
        (true, false) => {
            state.end_queues();
            state.status &= !READY;
            state.granted = 0;
        }
        _ => {}
    }
    Answer::result(0)
}
