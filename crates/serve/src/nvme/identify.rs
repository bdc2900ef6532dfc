//! Identify: what the controller and the namespace say about themselves.

use super::bounds::{
    DISCOVERY, ENDURANCE_GROUP, ERRORS, EVENT_REQUESTS, MOST_ENTRIES, MOST_TRANSFER_SHIFT, NAMESPACE, VERSION,
};
use super::command::{Answer, Command, Status};
use super::opcodes::ZONED_SET;
use super::page::Page;
use super::pdu::CAPSULE_DATA;
use super::subsystem::{uuid, Controller, Subsystem};
use super::zones;

/// Bytes of each structure.
pub(super) const BYTES: usize = 4096;
mod structure {
    pub const NAMESPACE: u8 = 0x00;
    pub const CONTROLLER: u8 = 0x01;
    pub const ACTIVE: u8 = 0x02;
    pub const DESCRIPTORS: u8 = 0x03;
    pub const SET_NAMESPACE: u8 = 0x05;
    pub const SET_CONTROLLER: u8 = 0x06;
    pub const SET_ACTIVE: u8 = 0x07;
    pub const INDEPENDENT: u8 = 0x08;
    pub const ENDURANCE_GROUPS: u8 = 0x19;
    pub const COMMAND_SETS: u8 = 0x1C;
}

pub(super) fn identify(subsystem: &Subsystem, controller: &Controller, command: &Command) -> Answer {
    let (kind, set) = (command.dword(10) as u8, command.dword(11) >> 24);
    let is_ours = command.namespace() == NAMESPACE;
    let of_set = matches!(kind, structure::SET_NAMESPACE | structure::SET_CONTROLLER | structure::SET_ACTIVE);
    let is_known = set == 0 || (set == ZONED_SET && subsystem.zoning.is_some());
    if (controller.is_discovery && kind != structure::CONTROLLER) || (of_set && !is_known) {
        return Status::INVALID_FIELD.into();
    }
    Answer::data(match kind {
        structure::NAMESPACE | structure::INDEPENDENT | structure::SET_NAMESPACE if !is_ours => {
            return Status::INVALID_NAMESPACE.into();
        }
        structure::NAMESPACE => namespace(subsystem),
        structure::INDEPENDENT => independent(subsystem),
        structure::CONTROLLER => self::controller(subsystem, controller),
        structure::ACTIVE | structure::SET_ACTIVE => match command.namespace() {
            0xFFFF_FFFE.. => return Status::INVALID_NAMESPACE.into(),
            after if kind == structure::ACTIVE || set == own_set(subsystem) => active(after),
            _ => vec![0; BYTES],
        },
        structure::DESCRIPTORS if !is_ours => return Status::INVALID_NAMESPACE.into(),
        structure::DESCRIPTORS => descriptors(subsystem),
        structure::SET_NAMESPACE | structure::SET_CONTROLLER => of_command_set(subsystem, kind, set),
        structure::ENDURANCE_GROUPS if subsystem.placing.is_some() => endurance_groups(command.dword(11) as u16),
        structure::COMMAND_SETS => command_sets(subsystem),
        _ => return Status::INVALID_FIELD.into(),
    })
}

/// The number of the namespace's command set.
fn own_set(subsystem: &Subsystem) -> u32 {
    subsystem.zoning.map_or(0, |_| ZONED_SET)
}

/// What a command set says beyond the base: the NVM command set has no formats with metadata.
fn of_command_set(subsystem: &Subsystem, kind: u8, set: u32) -> Vec<u8> {
    let mut page = Page::new(BYTES);
    match (&subsystem.zoning, kind) {
        (Some(zoning), structure::SET_NAMESPACE) if set == ZONED_SET => {
            return zones::namespace(zoning, subsystem.blocks, BYTES);
        }
        // The largest append, and the most zeros that a zone takes at once.
        (Some(zoning), structure::SET_CONTROLLER) if set == ZONED_SET => {
            // Both are powers of two of 4 KiB.
            let limit = zoning.max_append.map_or(MOST_TRANSFER_SHIFT, |bytes| (bytes / 4096).ilog2() as u8);
            page.u8(0, limit.min(MOST_TRANSFER_SHIFT));
        }
        (Some(_), structure::SET_CONTROLLER) => drop(page.u8(1, MOST_TRANSFER_SHIFT)),
        _ => {}
    }
    page.done()
}

fn controller(subsystem: &Subsystem, controller: &Controller) -> Vec<u8> {
    let description = &subsystem.description;
    let mut page = Page::new(BYTES);
    page.text(4, 20, &format!("{:032x}", description.identity), b' ');
    page.text(24, 40, &description.model, b' ').text(64, 8, env!("CARGO_PKG_VERSION"), b' ');
    page.u8(77, MOST_TRANSFER_SHIFT).u16(78, controller.id).u32(80, VERSION);
    // Get Log Page takes offsets, and there is a command effects log.
    page.u8(261, 1 << 1 | 1 << 2).u16(320, 10);
    page.u8(259, EVENT_REQUESTS as u8 - 1).u8(262, ERRORS as u8 - 1);
    // SGLs without an alignment, in the capsule by offset, or by the transport.
    page.u16(514, MOST_ENTRIES).u32(536, 1 | 1 << 20 | 1 << 21);
    page.u32(1792, (64 + CAPSULE_DATA as u32) / 16).u32(1796, 1).u8(1803, 1);
    if controller.is_discovery {
        page.u8(111, 2).text(768, 256, DISCOVERY, 0);
        return page.done();
    }
    if subsystem.placing.is_some() {
        // Endurance groups, data placement.
        page.u32(96, 1 << 4 | 1 << 19).u16(340, ENDURANCE_GROUP);
    }
    // Hosts may share the namespace; a host that leaves takes its own controller.
    page.u8(76, 1 << 1).u8(111, 1).text(768, 256, &subsystem.nqn, 0);
    page.u64(280, subsystem.drive.size()).u16(256, 0).u8(258, 3).u8(260, 1 << 1 | 1);
    page.u8(512, 6 << 4 | 6).u8(513, 4 << 4 | 4).u32(516, NAMESPACE).u32(540, NAMESPACE);
    // Compare, Write Zeroes, Verify; Dataset Management where no zone keeps the data.
    page.u16(520, 1 | u16::from(subsystem.zoning.is_none()) << 2 | 1 << 3 | 1 << 7);
    // A volatile write cache if there is one, and a flush for all namespaces at once.
    page.u8(525, u8::from(description.has_volatile_cache) | 3 << 1).u16(1804, 1);
    page.done()
}

fn namespace(subsystem: &Subsystem) -> Vec<u8> {
    let blocks = subsystem.blocks;
    let flash_page = (u64::from(subsystem.drive.preferred_block()) >> blocks.shift).clamp(1, 1 << 16) as u16;
    let mut page = Page::new(BYTES);
    page.u64(0, blocks.count).u64(8, blocks.count).u64(16, blocks.count);
    // Thin provisioning has no figure here; preferred sizes have.
    page.u8(24, 1 << 4).u8(30, 1);
    for offset in [64, 66, 68, 70, 72] {
        page.u16(offset, flash_page - 1);
    }
    page.u8(33, 1 << 3 | u8::from(subsystem.description.trims_read_zeros));
    page.u64(48, blocks.count << blocks.shift).u8(99, u8::from(subsystem.drive.is_read_only()));
    page.u16(102, endurance_group(subsystem));
    page.put(104, &uuid(subsystem.description.identity)).u32(128, blocks.shift << 16);
    page.done()
}

/// What every command set's namespace has: it may be shared, and it is ready.
fn independent(subsystem: &Subsystem) -> Vec<u8> {
    let mut page = Page::new(BYTES);
    page.u8(1, 1).u8(8, u8::from(subsystem.drive.is_read_only())).u8(14, 1);
    page.u16(12, endurance_group(subsystem));
    page.done()
}

/// The namespace's endurance group; 0 is none.
fn endurance_group(subsystem: &Subsystem) -> u16 {
    subsystem.placing.as_ref().map_or(0, |_| ENDURANCE_GROUP)
}

/// Every endurance group from `first` on.
fn endurance_groups(first: u16) -> Vec<u8> {
    let mut page = Page::new(BYTES);
    if first <= ENDURANCE_GROUP {
        page.u16(0, 1).u16(2, ENDURANCE_GROUP);
    }
    page.done()
}

fn active(after: u32) -> Vec<u8> {
    let mut page = Page::new(BYTES);
    if after < NAMESPACE {
        page.u32(0, NAMESPACE);
    }
    page.done()
}

/// NGUID, UUID and command set, each with its type and length.
fn descriptors(subsystem: &Subsystem) -> Vec<u8> {
    let uuid = uuid(subsystem.description.identity);
    let mut page = Page::new(BYTES);
    page.put(0, &[2, 16, 0, 0]).put(4, &uuid).put(20, &[3, 16, 0, 0]).put(24, &uuid).put(40, &[4, 1, 0, 0]);
    page.u8(44, own_set(subsystem) as u8);
    page.done()
}

/// One combination: the NVM command set, and that for zones if there are zones.
fn command_sets(subsystem: &Subsystem) -> Vec<u8> {
    let mut page = Page::new(BYTES);
    page.u64(0, 1 | 1 << own_set(subsystem));
    page.done()
}
