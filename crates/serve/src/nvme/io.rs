//! I/O commands of the NVM command set.

use super::bounds::NAMESPACE;
use super::command::{Command, Status};
use super::opcodes::{commands, nvm as opcode, placed, zoned};
use super::outcome::{length, transferred, write_status, written, Data, Done, FUA, PROTECTION};
use super::page::{u32_at, u64_at};
use super::subsystem::{Blocks, Subsystem};
use super::{placement, zones};
use crate::{Due, Export, Placed, Placing};
use std::io;

const RANGE_BYTES: usize = 16;
const MOST_RANGES: usize = 256;
/// Bytes compared or verified at once.
const CHECKED: usize = 128 << 10;
/// Dword 12: Write Zeroes' deallocation.
const DEALLOCATE: u32 = 1 << 25;
/// Dword 11: Dataset Management deallocates.
const DATASET_DEALLOCATE: u32 = 1 << 2;

/// The command's data. Commands for other namespaces, and too long ones, are refused.
pub(super) fn data(subsystem: &Subsystem, command: &Command) -> Result<Data, Status> {
    let blocks = subsystem.blocks;
    if command.opcode() == opcode::FLUSH {
        let is_ours = matches!(command.namespace(), NAMESPACE | u32::MAX);
        return if is_ours { Ok(Data::None) } else { Err(Status::INVALID_NAMESPACE) };
    }
    if !commands(subsystem.kind()).any(|(known, _)| known == command.opcode()) {
        return Err(Status::INVALID_OPCODE);
    }
    if command.namespace() != NAMESPACE {
        return Err(Status::INVALID_NAMESPACE);
    }
    if matches!(command.opcode(), zoned::SEND | zoned::RECEIVE | zoned::APPEND) {
        return zones::data(blocks, command);
    }
    if matches!(command.opcode(), placed::SEND | placed::RECEIVE) {
        return placement::data(command);
    }
    if command.opcode() == opcode::DATASET {
        // Linux sends room for all 256 ranges, however many it names.
        let (named, sent) = (ranges_bytes(command), command.pointer_bytes() as usize);
        let is_longer = sent > named && sent <= MOST_RANGES * RANGE_BYTES;
        return Ok(Data::FromHost(if is_longer { sent } else { named }));
    }
    match command.opcode() {
        opcode::WRITE | opcode::WRITE_ZEROES if subsystem.placing.is_some() => placed_data(subsystem, command),
        opcode::WRITE => written(blocks, command).map(Data::FromHost),
        opcode::COMPARE => transferred(blocks, command).map(Data::FromHost),
        opcode::READ => transferred(blocks, command).map(Data::ToHost),
        // A zone takes zeros as it takes a write, at once.
        opcode::WRITE_ZEROES if subsystem.zoning.is_some() => transferred(blocks, command).map(|_| Data::None),
        _ if command.dword(12) & PROTECTION != 0 => Err(Status::INVALID_FIELD),
        _ => Ok(Data::None),
    }
}

/// The data of a write or of zeros where the host places.
fn placed_data(subsystem: &Subsystem, command: &Command) -> Result<Data, Status> {
    if let Some(placing) = &subsystem.placing {
        placement::asked(placing, command)?;
    }
    match command.opcode() {
        opcode::WRITE => transferred(subsystem.blocks, command).map(Data::FromHost),
        _ if command.dword(12) & PROTECTION != 0 => Err(Status::INVALID_FIELD),
        _ => Ok(Data::None),
    }
}

/// Bytes of the ranges that Dataset Management names.
fn ranges_bytes(command: &Command) -> usize {
    (command.dword(10) as usize % MOST_RANGES + 1) * RANGE_BYTES
}

/// Byte offset and length of a command's blocks.
fn range(blocks: Blocks, command: &Command) -> Result<(u64, u64), Status> {
    blocks.range(command.u64(40), length(command))
}

/// Carries out a read into `out`.
pub(super) fn read(subsystem: &Subsystem, command: &Command, out: &mut [u8]) -> Result<Done, Status> {
    let (offset, _) = range(subsystem.blocks, command)?;
    let due = subsystem.drive.read(offset, out).map_err(|error| read_status(&error))?;
    Ok(Done { is_change: false, due, result: 0 })
}

/// Carries out any other command with its data from the host; written through, each change is durable.
pub(super) fn carry_out(
    subsystem: &Subsystem,
    is_write_through: bool,
    command: &Command,
    data: &[u8],
) -> Result<Done, Status> {
    let (drive, blocks) = (&*subsystem.drive, subsystem.blocks);
    let fua = command.dword(12) & FUA != 0 || is_write_through;
    let done = |is_change: bool, due: io::Result<Due>| match due {
        Ok(due) => Ok(Done { is_change, due, result: 0 }),
        Err(error) => Err(write_status(&error)),
    };
    if let (zoned::SEND | zoned::APPEND, Some(zones)) = (command.opcode(), drive.zones()) {
        return zones::carry_out(subsystem, zones, is_write_through, command, data);
    }
    if let Some((placing, placed)) = subsystem.placing.as_ref().zip(subsystem.placed()) {
        let done = through_handle(subsystem, (placing, placed), fua, command, data);
        subsystem.hear_events();
        if let Some(done) = done? {
            return Ok(done);
        }
    }
    match command.opcode() {
        opcode::FLUSH => done(false, drive.flush()),
        opcode::WRITE => {
            let (offset, _) = range(blocks, command)?;
            done(true, drive.write(offset, data, fua))
        }
        opcode::WRITE_ZEROES => {
            let (offset, length) = range(blocks, command)?;
            let may_trim = command.dword(12) & DEALLOCATE != 0;
            done(true, drive.write_zeroes(offset, length, may_trim, fua))
        }
        opcode::DATASET if command.dword(11) & DATASET_DEALLOCATE == 0 => done(false, Ok(Due::NOW)),
        opcode::DATASET => trim(drive, blocks, &data[..ranges_bytes(command)], is_write_through),
        opcode::COMPARE => compare(drive, blocks, command, Some(data)),
        opcode::VERIFY => compare(drive, blocks, command, None),
        _ => Err(Status::INVALID_OPCODE),
    }
}

/// Carries out an update of handles, or a write that names one; `None` for any other command.
fn through_handle(
    subsystem: &Subsystem,
    (placing, placed): (&Placing, &dyn Placed),
    fua: bool,
    command: &Command,
    data: &[u8],
) -> Result<Option<Done>, Status> {
    match command.opcode() {
        placed::SEND if data.is_empty() => return Ok(Some(Done { is_change: false, due: Due::NOW, result: 0 })),
        placed::SEND => return placement::send(placing, placed, data).map(Some),
        opcode::WRITE | opcode::WRITE_ZEROES => {}
        _ => return Ok(None),
    }
    let Some(handle) = placement::asked(placing, command)? else { return Ok(None) };
    let (offset, length) = range(subsystem.blocks, command)?;
    let due = match command.opcode() {
        opcode::WRITE => placed.write(offset, data, fua, handle),
        _ => placed.write_zeroes((offset, length), command.dword(12) & DEALLOCATE != 0, fua, handle),
    };
    let due = due.map_err(|error| write_status(&error))?;
    if let Some(log) = subsystem.placement_log.as_ref().filter(|_| handle == placement::UNKNOWN) {
        log.hear_invalid(placed, placement::named(command));
    }
    Ok(Some(Done { is_change: true, due, result: 0 }))
}

/// Deallocates every range, once all of them are known to be within the namespace.
fn trim(drive: &dyn Export, blocks: Blocks, ranges: &[u8], fua: bool) -> Result<Done, Status> {
    let all = ranges.chunks_exact(RANGE_BYTES).map(|range| blocks.range(u64_at(range, 8), u32_at(range, 4).into()));
    let all: Vec<(u64, u64)> = all.collect::<Result<_, _>>()?;
    let mut done = Done { is_change: true, due: Due::NOW, result: 0 };
    for (offset, length) in all.into_iter().filter(|&(_, length)| length > 0) {
        let due = drive.trim(offset, length, fua).map_err(|error| write_status(&error))?;
        if due.wait() > done.due.wait() {
            done.due = due;
        }
    }
    Ok(done)
}

/// Reads the command's blocks, and compares them with `wanted` if there is such.
fn compare(drive: &dyn Export, blocks: Blocks, command: &Command, wanted: Option<&[u8]>) -> Result<Done, Status> {
    let (offset, length) = range(blocks, command)?;
    let mut found = vec![0; CHECKED.min(length as usize)];
    let mut done = Done { is_change: false, due: Due::NOW, result: 0 };
    let mut at = 0;
    while at < length {
        let part = found.len().min((length - at) as usize);
        done.due = drive.read(offset + at, &mut found[..part]).map_err(|error| read_status(&error))?;
        if wanted.is_some_and(|wanted| wanted[at as usize..at as usize + part] != found[..part]) {
            return Err(Status::COMPARE_FAILURE);
        }
        at += part as u64;
    }
    Ok(done)
}

fn read_status(error: &io::Error) -> Status {
    match error.kind() {
        io::ErrorKind::InvalidInput => Status::LBA_OUT_OF_RANGE,
        _ => Status::UNRECOVERED_READ,
    }
}
