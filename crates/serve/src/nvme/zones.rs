//! I/O commands of the Zoned Namespace command set: Append, Zone Management Send and Receive.

use super::bounds::MOST_TRANSFER;
use super::command::{Answer, Command, Status};
use super::opcodes::zoned as opcode;
use super::outcome::{write_status, written, Data, Done, FUA};
use super::page::Page;
use super::subsystem::{Blocks, Subsystem};
use crate::{Zoned, Zoning};
use nandlab_block::{ZoneCommand, ZoneReport, ZoneState};

/// Dword 13 of a Send: for all zones, and open with a random write area.
const ALL: u32 = 1 << 8;
const WITH_AREA: u32 = 1 << 9;
/// Dword 13 of a Receive: count only the zones in the report.
const PARTIAL: u32 = 1 << 16;
/// Bytes of a report's head, and of each zone in it.
const REPORT_BYTES: usize = 64;

mod action {
    pub const CLOSE: u8 = 0x01;
    pub const FINISH: u8 = 0x02;
    pub const OPEN: u8 = 0x03;
    pub const RESET: u8 = 0x04;
    pub const OFFLINE: u8 = 0x05;
    pub const COMMIT: u8 = 0x11;
}

/// The data of one of these commands.
pub(super) fn data(blocks: Blocks, command: &Command) -> Result<Data, Status> {
    match command.opcode() {
        opcode::SEND => Ok(Data::None),
        opcode::RECEIVE => {
            let bytes = (u64::from(command.dword(12)) + 1) * 4;
            match (REPORT_BYTES as u64..=MOST_TRANSFER as u64).contains(&bytes) {
                true => Ok(Data::ToHost(bytes as usize)),
                false => Err(Status::INVALID_FIELD),
            }
        }
        _ => written(blocks, command).map(Data::FromHost),
    }
}

/// Carries out an Append or a Send.
pub(super) fn carry_out(
    subsystem: &Subsystem,
    zones: &dyn Zoned,
    is_write_through: bool,
    command: &Command,
    data: &[u8],
) -> Result<Done, Status> {
    let blocks = subsystem.blocks;
    let (sector, _) = blocks.range(command.u64(40), 1)?;
    let sector = sector / 512;
    if command.opcode() == opcode::SEND {
        return send(zones, blocks, command, (sector, is_write_through));
    }
    let fua = command.dword(12) & FUA != 0 || is_write_through;
    let (first, due) = zones.append(sector, data, fua).map_err(|error| write_status(&error))?;
    Ok(Done { is_change: true, due, result: first >> (blocks.shift - 9) })
}

fn send(zones: &dyn Zoned, blocks: Blocks, command: &Command, (sector, flushes): (u64, bool)) -> Result<Done, Status> {
    let (fields, last) = (command.dword(13), sector + (1 << (blocks.shift - 9)) - 1);
    let is_all = fields & ALL != 0;
    let (sector, change) = match fields as u8 {
        action::CLOSE => (sector, ZoneCommand::Close),
        action::FINISH => (sector, ZoneCommand::Finish),
        action::OPEN if fields & WITH_AREA != 0 && is_all => return Err(Status::INVALID_FIELD),
        action::OPEN if fields & WITH_AREA != 0 => (sector, ZoneCommand::OpenRandom),
        action::OPEN => (sector, ZoneCommand::Open),
        action::RESET => (sector, ZoneCommand::Reset),
        // No zone is read-only but by wear, and then it can still be read.
        action::OFFLINE if !is_all => return Err(Status::INVALID_TRANSITION),
        action::COMMIT if !is_all => (last, ZoneCommand::Commit),
        _ => return Err(Status::INVALID_FIELD),
    };
    let due = match is_all {
        true => zones.change_all(change, flushes),
        false => zones.change(sector, change, flushes),
    };
    let due = due.map_err(|error| write_status(&error))?;
    Ok(Done { is_change: true, due, result: 0 })
}

/// The state's number in a report, and in the field of a Receive that selects it.
fn numbers(state: ZoneState) -> (u8, u8) {
    match state {
        ZoneState::Empty => (0x1, 1),
        ZoneState::ImplicitlyOpened => (0x2, 2),
        ZoneState::ExplicitlyOpened => (0x3, 3),
        ZoneState::Closed => (0x4, 4),
        ZoneState::Full => (0xE, 5),
        ZoneState::ReadOnly => (0xD, 6),
        ZoneState::NotWritePointer => unreachable!("NVMe has no conventional zones, and a drive with them is refused"),
    }
}

/// Most of the field that selects states: offline zones, of which there are none.
const MOST_SELECTION: u8 = 7;

/// Carries out a Receive into `bytes` bytes.
pub(super) fn receive(subsystem: &Subsystem, zones: &dyn Zoned, command: &Command, bytes: usize) -> Answer {
    let (blocks, fields) = (subsystem.blocks, command.dword(13));
    let (action, selected) = (fields as u8, (fields >> 8) as u8);
    // A zone has no descriptor extension, so there is no extended report.
    if action != 0 || selected > MOST_SELECTION {
        return Status::INVALID_FIELD.into();
    }
    let first = match blocks.range(command.u64(40), 1) {
        Ok((offset, _)) => offset / 512,
        Err(status) => return status.into(),
    };
    let is_selected = |zone: &ZoneReport| selected == 0 || numbers(zone.state).1 == selected;
    let zones: Vec<ZoneReport> = zones.reports(first).into_iter().filter(is_selected).collect();
    let most = (bytes - REPORT_BYTES) / REPORT_BYTES;
    let told = zones.len().min(most);
    let mut page = Page::new(bytes);
    page.u64(0, if fields & PARTIAL != 0 { told } else { zones.len() } as u64);
    let shift = blocks.shift - 9;
    for (at, zone) in (1..).map(|place| place * REPORT_BYTES).zip(&zones[..told]) {
        let pointer = zone.write_pointer.map_or(u64::MAX, |sector| sector >> shift);
        page.u8(at, 2).u8(at + 1, numbers(zone.state).0 << 4).u8(at + 2, u8::from(zone.has_random_area) << 3);
        page.u64(at + 8, zone.capacity >> shift).u64(at + 16, zone.start >> shift).u64(at + 24, pointer);
    }
    Answer::data(page.done())
}

/// A limit counted from 0; all ones is none.
fn limit(most: u32) -> u32 {
    most.wrapping_sub(1)
}

/// Identify Namespace for zones.
pub(super) fn namespace(zoning: &Zoning, blocks: Blocks, bytes: usize) -> Vec<u8> {
    let (shape, shift) = (zoning.shape, blocks.shift - 9);
    let mut page = Page::new(bytes);
    page.u16(2, u16::from(zoning.reads_across) | u16::from(zoning.area.is_some()) << 1);
    page.u32(4, limit(shape.max_active)).u32(8, limit(shape.max_open)).u64(2816, shape.size >> shift);
    if let Some(area) = zoning.area {
        let short = |sectors: u64| (sectors >> shift).min(u16::MAX.into()) as u16;
        page.u32(44, limit(area.most)).u16(48, short(area.granularity)).u16(50, short(area.sectors)).u8(52, 1);
    }
    page.done()
}
