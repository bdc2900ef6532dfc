//! What the I/O commands of both command sets share: their data, their outcome, and a failed change's status.

use super::bounds::MOST_TRANSFER;
use super::command::{Command, Status};
use super::subsystem::Blocks;
use crate::Due;
use nandlab_block::ZoneFault;
use std::io;

/// Dword 12: force unit access.
pub(super) const FUA: u32 = 1 << 30;
/// Dword 12's fields that ask for protection information or a directive: neither is offered.
pub(super) const PROTECTION: u32 = 15 << 26;
const DIRECTIVE: u32 = 15 << 20;

/// The direction of a command's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    None,
    FromHost(usize),
    ToHost(usize),
}

/// A command that went well: whether its changes are to be handed over, when the answer is due, and its result.
pub(super) struct Done {
    pub is_change: bool,
    pub due: Due,
    pub result: u64,
}

/// Bytes that a command transfers.
pub(super) fn transferred(blocks: Blocks, command: &Command) -> Result<usize, Status> {
    let length = length(command) << blocks.shift;
    match command.dword(12) & PROTECTION == 0 && length <= MOST_TRANSFER as u64 {
        true => Ok(length as usize),
        false => Err(Status::INVALID_FIELD),
    }
}

/// Bytes that a command writes.
pub(super) fn written(blocks: Blocks, command: &Command) -> Result<usize, Status> {
    match command.dword(12) & DIRECTIVE {
        0 => transferred(blocks, command),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Blocks of a command; the field counts from 0.
pub(super) fn length(command: &Command) -> u64 {
    u64::from(command.dword(12) as u16) + 1
}

/// A failed change's status.
pub(super) fn write_status(error: &io::Error) -> Status {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    if let Some(nandlab_block::Error::Zone { fault, .. }) = inner {
        return refused(*fault);
    }
    match error.kind() {
        io::ErrorKind::InvalidInput => Status::LBA_OUT_OF_RANGE,
        io::ErrorKind::ReadOnlyFilesystem => Status::READ_ONLY_RANGE,
        _ => Status::WRITE_FAULT,
    }
}

/// The status that tells of a refusal.
fn refused(fault: ZoneFault) -> Status {
    match fault {
        ZoneFault::InvalidOperation => Status::INVALID_ZONE_OPERATION,
        ZoneFault::NoRandomWriteArea => Status::NO_RANDOM_WRITE_AREA,
        ZoneFault::Boundary => Status::ZONE_BOUNDARY,
        ZoneFault::Full => Status::ZONE_FULL,
        ZoneFault::ReadOnly => Status::ZONE_READ_ONLY,
        ZoneFault::InvalidWrite => Status::ZONE_INVALID_WRITE,
        ZoneFault::TooManyActive => Status::TOO_MANY_ACTIVE,
        ZoneFault::TooManyOpen => Status::TOO_MANY_OPEN,
        ZoneFault::InvalidTransition => Status::INVALID_TRANSITION,
        ZoneFault::NoZones => Status::INVALID_OPCODE,
        ZoneFault::InvalidField => Status::INVALID_FIELD,
    }
}
