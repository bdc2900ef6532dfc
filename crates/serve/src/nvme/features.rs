//! Get and Set Features.

use super::bounds::MOST_QUEUES;
use super::command::{Answer, Command, Status};
use super::placement;
use super::subsystem::{Controller, Subsystem};
use std::sync::atomic::Ordering;

mod feature {
    pub const ARBITRATION: u8 = 0x01;
    pub const POWER: u8 = 0x02;
    pub const TEMPERATURE: u8 = 0x04;
    pub const ERROR_RECOVERY: u8 = 0x05;
    pub const WRITE_CACHE: u8 = 0x06;
    pub const QUEUES: u8 = 0x07;
    pub const ATOMICITY: u8 = 0x0A;
    pub const EVENTS: u8 = 0x0B;
    pub const KEEP_ALIVE: u8 = 0x0F;
    pub const COMMAND_SETS: u8 = 0x19;
    pub const PLACEMENT: u8 = 0x1D;
    pub const PLACEMENT_EVENTS: u8 = 0x1E;
}

/// Whether a discovery controller has the feature.
fn is_for_discovery(id: u8) -> bool {
    matches!(id, feature::EVENTS | feature::KEEP_ALIVE)
}

pub(super) fn get(subsystem: &Subsystem, controller: &Controller, command: &Command) -> Answer {
    let (id, select) = (command.dword(10) as u8, command.dword(10) >> 8 & 7);
    if select != 0 || (controller.is_discovery && !is_for_discovery(id)) {
        return Status::INVALID_FIELD.into();
    }
    if let (feature::PLACEMENT_EVENTS, Some(log)) = (id, &subsystem.placement_log) {
        return log.get(command).unwrap_or_else(Answer::from);
    }
    let (state, has_cache) = (controller.state(), subsystem.description.has_volatile_cache);
    Answer::result(match id {
        feature::ARBITRATION | feature::POWER | feature::TEMPERATURE | feature::ERROR_RECOVERY => 0,
        feature::WRITE_CACHE if !has_cache => return Status::INVALID_FIELD.into(),
        feature::WRITE_CACHE => (!controller.is_write_through.load(Ordering::Relaxed)).into(),
        feature::QUEUES => queues(state.granted.max(1)).into(),
        feature::ATOMICITY => state.features.atomicity.into(),
        feature::EVENTS => state.features.events.into(),
        feature::KEEP_ALIVE => state.features.keep_alive.into(),
        feature::COMMAND_SETS => 0,
        // On, with the first configuration.
        feature::PLACEMENT if has_group(subsystem, command.dword(11)) => 1,
        _ => return Status::INVALID_FIELD.into(),
    })
}

/// Whether the drive has the endurance group that dword 11 names.
fn has_group(subsystem: &Subsystem, group: u32) -> bool {
    subsystem.placing.is_some() && placement::is_ours(group)
}

/// Submission and completion queues, counted from 0.
fn queues(count: u16) -> u32 {
    let most = u32::from(count) - 1;
    most | most << 16
}

/// Whether the data of a Get or Set Features is a list of placement events.
pub(super) fn has_events(subsystem: &Subsystem, command: &Command) -> bool {
    subsystem.placing.is_some() && command.dword(10) as u8 == feature::PLACEMENT_EVENTS
}

pub(super) fn set(subsystem: &Subsystem, controller: &Controller, command: &Command, data: &[u8]) -> Answer {
    let (id, value) = (command.dword(10) as u8, command.dword(11));
    if command.dword(10) >> 31 != 0 {
        return Status::NOT_SAVEABLE.into();
    }
    if controller.is_discovery && !is_for_discovery(id) {
        return Status::INVALID_FIELD.into();
    }
    if let (feature::PLACEMENT_EVENTS, Some(log)) = (id, &subsystem.placement_log) {
        let drive = subsystem.placing.as_ref().zip(subsystem.placed());
        let set = drive.ok_or(Status::INVALID_FIELD).and_then(|drive| log.set(drive, command, data));
        return set.unwrap_or_else(Answer::from);
    }
    let (mut state, has_cache) = (controller.state(), subsystem.description.has_volatile_cache);
    match id {
        feature::ARBITRATION | feature::POWER | feature::TEMPERATURE | feature::ERROR_RECOVERY if value == 0 => {}
        feature::ARBITRATION | feature::POWER | feature::TEMPERATURE | feature::ERROR_RECOVERY => {
            return Status::NOT_CHANGEABLE.into();
        }
        feature::WRITE_CACHE if !has_cache => return Status::INVALID_FIELD.into(),
        feature::WRITE_CACHE => controller.is_write_through.store(value & 1 == 0, Ordering::Relaxed),
        feature::QUEUES => {
            let (submission, completion) = (value as u16, (value >> 16) as u16);
            if submission == u16::MAX || completion == u16::MAX {
                return Status::INVALID_FIELD.into();
            }
            if state.has_queues() {
                return Status::SEQUENCE_ERROR.into();
            }
            state.granted = submission.min(completion).min(MOST_QUEUES - 1) + 1;
            return Answer::result(queues(state.granted).into());
        }
        feature::ATOMICITY => state.features.atomicity = value & 1,
        feature::EVENTS => state.features.events = value,
        feature::KEEP_ALIVE => drop(state.features.set_keep_alive(value)),
        feature::COMMAND_SETS if value & 0x1FF == 0 => {}
        // Nobody turns it off while there is a namespace.
        feature::PLACEMENT if has_group(subsystem, value) => return Status::SEQUENCE_ERROR.into(),
        _ => return Status::INVALID_FIELD.into(),
    }
    Answer::result(0)
}
