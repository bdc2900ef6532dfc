//! Get Log Page.

use super::bounds::{DISCOVERY, MOST_ENTRIES, MOST_TRANSFER};
use super::command::{Answer, Command, Status};
use super::events::{HEALTH_LOG, WARNS_OF_READ_ONLY, WARNS_OF_SPARE};
use super::opcodes::{effects, Kind, ZONED_SET};
use super::page::Page;
use super::placement;
use super::subsystem::{Controller, Subsystem};
use crate::described::Health;
use crate::MediaUse;
use std::net::SocketAddr;

/// Dword 10: an event that led here stays masked.
const RETAIN: u32 = 1 << 15;

mod log {
    pub const SUPPORTED: u8 = 0x00;
    pub const ERRORS: u8 = 0x01;
    pub const HEALTH: u8 = super::HEALTH_LOG;
    pub const FIRMWARE: u8 = 0x03;
    pub const EFFECTS: u8 = 0x05;
    pub const ENDURANCE: u8 = 0x09;
    pub const CONFIGURATIONS: u8 = 0x20;
    pub const USAGE: u8 = 0x21;
    pub const STATISTICS: u8 = 0x22;
    pub const PLACEMENT_EVENTS: u8 = 0x23;
    pub const DISCOVERY: u8 = 0x70;
}

/// The logs of an endurance group.
const OF_GROUP: [u8; 5] = [log::ENDURANCE, log::CONFIGURATIONS, log::USAGE, log::STATISTICS, log::PLACEMENT_EVENTS];
/// Dword 10: events of the host, not of the controller.
const OF_HOST: u32 = 1 << 8;

/// Below this spare, in percent, the health log warns.
const SPARE_THRESHOLD: u8 = 10;
const TCP: u8 = 3;

/// Carries out Get Log Page for a host that reached us at `here`.
pub(super) fn get(subsystem: &Subsystem, controller: &Controller, here: SocketAddr, command: &Command) -> Answer {
    let id = command.dword(10) as u8;
    let count = u64::from(command.dword(10) >> 16 | command.dword(11) << 16) + 1;
    let offset = u64::from(command.dword(12)) | u64::from(command.dword(13)) << 32;
    let bytes = count * 4;
    if offset % 4 != 0 {
        return Status::INVALID_FIELD.into();
    }
    if bytes > MOST_TRANSFER as u64 {
        return Status::INVALID_FIELD.into();
    }
    if bytes > command.pointer_bytes() {
        return Status::SGL_LENGTH_INVALID.into();
    }
    let page = match (id, controller.is_discovery) {
        (log::SUPPORTED, _) => supported(controller.is_discovery, subsystem.placing.is_some()),
        (log::DISCOVERY, true) => discovery(subsystem, here),
        (log::ERRORS, false) => controller.state().errors.page(),
        (log::HEALTH, false) => {
            let errors = controller.state().errors.count;
            health(&subsystem.drive.health(), errors, subsystem.drive.is_read_only())
        }
        (log::FIRMWARE, false) => firmware(),
        (log::EFFECTS, false) => match (command.dword(14) >> 24, &subsystem.zoning) {
            (0, None) => effects(subsystem.kind()),
            (0, Some(_)) => effects(Kind::Plain),
            (ZONED_SET, Some(_)) => effects(Kind::Zoned),
            _ => return Status::INVALID_FIELD.into(),
        },
        (id, false) if OF_GROUP.contains(&id) => match endurance_group(subsystem, command) {
            Ok(page) => page,
            Err(status) => return status.into(),
        },
        _ => return Status::INVALID_LOG_PAGE.into(),
    };
    if offset > page.len() as u64 {
        return Status::INVALID_FIELD.into();
    }
    let mut data = page[offset as usize..].to_vec();
    data.resize(bytes as usize, 0);
    Answer::data(data)
}

fn supported(is_discovery: bool, is_placed: bool) -> Vec<u8> {
    let logs: &[u8] = match is_discovery {
        true => &[log::SUPPORTED, log::DISCOVERY],
        false => &[log::SUPPORTED, log::ERRORS, log::HEALTH, log::FIRMWARE, log::EFFECTS],
    };
    let of_group: &[u8] = match is_placed && !is_discovery {
        true => &OF_GROUP,
        false => &[],
    };
    let mut page = Page::new(1024);
    for &id in logs.iter().chain(of_group) {
        page.u32(usize::from(id) * 4, 1);
    }
    page.done()
}

/// A log of the endurance group that dword 11 names.
fn endurance_group(subsystem: &Subsystem, command: &Command) -> Result<Vec<u8>, Status> {
    let (Some(placing), Some(placed), Some(events)) =
        (&subsystem.placing, subsystem.placed(), &subsystem.placement_log)
    else {
        return Err(Status::INVALID_LOG_PAGE);
    };
    if !placement::is_ours(command.dword(11) >> 16) {
        return Err(Status::INVALID_FIELD);
    }
    Ok(match command.dword(10) as u8 {
        log::ENDURANCE => endurance(&subsystem.drive.health(), placed.media_use()),
        log::CONFIGURATIONS => placement::configurations(placing),
        log::USAGE => placement::usage(placing),
        log::PLACEMENT_EVENTS => {
            events.hear(placing, placed);
            events.page(command.dword(10) & OF_HOST != 0)
        }
        _ => placement::statistics(placed.media_use()),
    })
}

/// The group's wear and use; bytes count in thousand millions.
fn endurance(health: &Health, used: MediaUse) -> Vec<u8> {
    let units = |bytes: u64| bytes.div_ceil(1_000_000_000);
    let mut page = Page::new(512);
    page.u8(3, health.spare_percent).u8(4, SPARE_THRESHOLD).u8(5, health.used_percent);
    page.u64(48, units(health.read_sectors * 512)).u64(64, units(used.host_bytes)).u64(80, units(used.media_bytes));
    page.u64(96, health.reads).u64(112, health.writes).u64(128, health.media_errors);
    page.done()
}

/// The critical warnings.
pub(super) fn warnings(health: &Health, is_read_only: bool) -> u8 {
    let spare = if health.spare_percent < SPARE_THRESHOLD { WARNS_OF_SPARE } else { 0 };
    spare | if is_read_only { WARNS_OF_READ_ONLY } else { 0 }
}

/// Whether the command reads the health log and gives leave for further events.
pub(super) fn clears_events(command: &Command) -> bool {
    command.dword(10) as u8 == HEALTH_LOG && command.dword(10) & RETAIN == 0
}

/// The temperature is not known: 0 K.
fn health(health: &Health, errors: u64, is_read_only: bool) -> Vec<u8> {
    let thousands = |sectors: u64| sectors.div_ceil(1000);
    let minutes = health.powered_ns / 60_000_000_000;
    let mut page = Page::new(512);
    page.u8(0, warnings(health, is_read_only))
        .u8(3, health.spare_percent)
        .u8(4, SPARE_THRESHOLD)
        .u8(5, health.used_percent);
    page.u64(32, thousands(health.read_sectors)).u64(48, thousands(health.written_sectors));
    page.u64(64, health.reads).u64(80, health.writes).u64(112, health.power_cycles);
    page.u64(128, minutes / 60).u64(144, health.power_cuts).u64(160, health.media_errors).u64(176, errors);
    page.done()
}

/// Slot 1 is active, and cannot be changed.
fn firmware() -> Vec<u8> {
    let mut page = Page::new(512);
    page.u8(0, 1).text(8, 8, env!("CARGO_PKG_VERSION"), b' ');
    page.done()
}

/// This service, and the subsystem at the same address.
fn discovery(subsystem: &Subsystem, here: SocketAddr) -> Vec<u8> {
    let mut page = Page::new(3 * 1024);
    page.u64(0, 1).u64(8, 2);
    for (at, kind, nqn) in [(1024, 2, &*subsystem.nqn), (2048, 3, DISCOVERY)] {
        let family = if here.is_ipv4() { 1 } else { 2 };
        page.put(at, &[TCP, family, kind]).u16(at + 4, 1).u16(at + 6, u16::MAX).u16(at + 8, MOST_ENTRIES);
        page.text(at + 32, 32, &here.port().to_string(), b' ').text(at + 256, 256, nqn, 0);
        page.text(at + 512, 256, &here.ip().to_string(), b' ');
    }
    page.done()
}
