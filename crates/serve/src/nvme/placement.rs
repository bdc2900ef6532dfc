//! Flexible data placement: its logs, its feature, I/O Management, and a write's directive.
//!
//! There is one endurance group with one configuration. A placement identifier has the group in its upper bits.

use super::bounds::{ENDURANCE_GROUP, MOST_TRANSFER};
use super::command::{Answer, Command, Status};
use super::identifiers::{group_bits, known, number};
use super::opcodes::placed as opcode;
use super::outcome::{write_status, Data, Done};
use super::page::{u16_at, Page};
use super::subsystem::Subsystem;
use crate::{MediaUse, Placed, Placing};
use nandlab_nand::PlacementId;

/// Management operations.
const NOTHING: u8 = 0;
const STATUS: u8 = 1;
const UPDATE: u8 = 1;
/// Bytes of the status' head, of each handle in it, and of an identifier in an update.
const STATUS_HEAD: usize = 16;
const STATUS_BYTES: usize = 32;
const IDENTIFIER_BYTES: usize = 2;
/// Most identifiers of an update.
const MOST_IDENTIFIERS: usize = 128;
/// Dword 12's directive type of a write with an identifier.
const DATA_PLACEMENT: u32 = 2;

/// Where a write asks to go, `None` where it does not say. An identifier without meaning stays one.
pub(super) fn asked(placing: &Placing, command: &Command) -> Result<Option<PlacementId>, Status> {
    match command.dword(12) >> 20 & 15 {
        0 => Ok(None),
        DATA_PLACEMENT => Ok(Some(known(placing, named(command)).unwrap_or(UNKNOWN))),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// What stands for an identifier of an unknown group or handle.
pub(super) const UNKNOWN: PlacementId = PlacementId { group: 0, handle: u8::MAX };

/// The identifier that a write names.
pub(super) fn named(command: &Command) -> u16 {
    (command.dword(13) >> 16) as u16
}

/// The data of an I/O Management command.
pub(super) fn data(command: &Command) -> Result<Data, Status> {
    let (operation, count) = (command.dword(10) as u8, (command.dword(10) >> 16) as usize + 1);
    match (command.opcode(), operation) {
        (opcode::RECEIVE, STATUS) => {
            let bytes = (u64::from(command.dword(11)) + 1) * 4;
            let is_fit = (STATUS_HEAD as u64..=MOST_TRANSFER as u64).contains(&bytes);
            if is_fit {
                Ok(Data::ToHost(bytes as usize))
            } else {
                Err(Status::INVALID_FIELD)
            }
        }
        (opcode::SEND, UPDATE) if count <= MOST_IDENTIFIERS => Ok(Data::FromHost(count * IDENTIFIER_BYTES)),
        (_, NOTHING) => Ok(Data::None),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Carries out an I/O Management Receive into `bytes` bytes: the handles' status.
pub(super) fn receive(subsystem: &Subsystem, placing: &Placing, placed: &dyn Placed, bytes: usize) -> Answer {
    let left = placed.bytes_left();
    let ids = (0..).map_while(|index| placing.ids.nth(index));
    let mut page = Page::new(bytes.max(STATUS_HEAD + placing.ids.count() as usize * STATUS_BYTES));
    page.u16(14, placing.ids.count() as u16);
    for (at, id) in (0..).map(|place| STATUS_HEAD + place * STATUS_BYTES).zip(ids) {
        let bytes_left = left[usize::from(id.group)][usize::from(id.handle)];
        page.u16(at, number(placing, id)).u16(at + 2, id.handle.into());
        page.u64(at + 8, bytes_left >> subsystem.blocks.shift);
    }
    let mut data = page.done();
    data.truncate(bytes);
    Answer::data(data)
}

/// Carries out an I/O Management Send: an update of handles, all or none.
pub(super) fn send(placing: &Placing, placed: &dyn Placed, data: &[u8]) -> Result<Done, Status> {
    let named = data.chunks_exact(IDENTIFIER_BYTES).map(|number| known(placing, u16_at(number, 0)));
    let named: Vec<PlacementId> = named.collect::<Option<_>>().ok_or(Status::INVALID_FIELD)?;
    let due = placed.update(&named).map_err(|error| write_status(&error))?;
    Ok(Done { is_change: true, due, result: 0 })
}

/// The log of configurations: there is one.
pub(super) fn configurations(placing: &Placing) -> Vec<u8> {
    const HEAD: usize = 16;
    const CONFIGURATION: usize = 64;
    const HANDLE: usize = 4;
    let length = CONFIGURATION + placing.persistent.len() * HANDLE;
    let mut page = Page::new(HEAD + length);
    page.u32(4, (HEAD + length) as u32);
    // It is valid.
    page.u16(HEAD, length as u16).u8(HEAD + 2, 1 << 7 | group_bits(placing) as u8);
    page.u32(HEAD + 4, placing.ids.groups).u16(HEAD + 8, placing.ids.handles as u16);
    page.u16(HEAD + 10, MOST_IDENTIFIERS as u16 - 1).u32(HEAD + 12, 1).u64(HEAD + 16, placing.unit_bytes);
    for (handle, &is_persistent) in placing.persistent.iter().enumerate() {
        page.u8(HEAD + CONFIGURATION + handle * HANDLE, if is_persistent { 2 } else { 1 });
    }
    page.done()
}

/// The log of handles in use: the namespace has all of them.
pub(super) fn usage(placing: &Placing) -> Vec<u8> {
    const ENTRY: usize = 8;
    let handles = placing.ids.handles as usize;
    let mut page = Page::new(ENTRY * (1 + handles));
    page.u16(0, handles as u16);
    for handle in 0..handles {
        page.u8(ENTRY * (1 + handle), 1);
    }
    page.done()
}

/// The log of statistics.
pub(super) fn statistics(MediaUse { host_bytes, media_bytes, erased_bytes }: MediaUse) -> Vec<u8> {
    let mut page = Page::new(64);
    page.u64(0, host_bytes).u64(16, media_bytes).u64(32, erased_bytes);
    page.done()
}

/// Whether a command's `group` is the drive's endurance group.
pub(super) fn is_ours(group: u32) -> bool {
    group as u16 == ENDURANCE_GROUP
}

/// Most bytes of a list of kinds; hosts send more room than they fill.
const MOST_LIST: usize = 4096;

/// The data of Set Features for feature 1Eh: a byte for each kind of event.
pub(super) fn kinds(command: &Command) -> Data {
    let (count, sent) = ((command.dword(11) >> 16 & 0xFF) as usize, command.pointer_bytes() as usize);
    match count {
        0 => Data::None,
        _ if sent > count && sent <= MOST_LIST => Data::FromHost(sent),
        _ => Data::FromHost(count),
    }
}
