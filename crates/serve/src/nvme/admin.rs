//! Admin commands.

use super::command::{Answer, Command, Status};
use super::identify::{identify, BYTES};
use super::subsystem::{Controller, Subsystem};
use super::{features, io, logs};
use std::net::SocketAddr;

pub(super) mod opcode {
    pub const GET_LOG: u8 = 0x02;
    pub const IDENTIFY: u8 = 0x06;
    pub const ABORT: u8 = 0x08;
    pub const SET_FEATURES: u8 = 0x09;
    pub const GET_FEATURES: u8 = 0x0A;
    pub const EVENT_REQUEST: u8 = 0x0C;
    pub const KEEP_ALIVE: u8 = 0x18;
}

/// Supported; bit 1: it changes data.
const SUPPORTED: u32 = 1;
const CHANGES_DATA: u32 = 1 << 1;

/// Every command: whether it is an admin command, its opcode, its effects.
pub(super) fn command_effects() -> impl Iterator<Item = (bool, u8, u32)> {
    let admin = [
        opcode::GET_LOG,
        opcode::IDENTIFY,
        opcode::ABORT,
        opcode::SET_FEATURES,
        opcode::GET_FEATURES,
        opcode::EVENT_REQUEST,
        opcode::KEEP_ALIVE,
    ];
    let admin = admin.into_iter().map(|opcode| (true, opcode, SUPPORTED));
    let effects = |&(opcode, changes): &(u8, bool)| (false, opcode, SUPPORTED | if changes { CHANGES_DATA } else { 0 });
    admin.chain(io::COMMANDS.iter().map(effects))
}

/// Carries out a command that is answered at once: all but event requests and aborts.
pub(super) fn carry_out(subsystem: &Subsystem, controller: &Controller, here: SocketAddr, command: &Command) -> Answer {
    let is_ready = controller.state().is_ready();
    match command.opcode() {
        opcode::KEEP_ALIVE => Answer::result(0),
        _ if !is_ready => Status::SEQUENCE_ERROR.into(),
        opcode::IDENTIFY if command.pointer_bytes() < BYTES as u64 => Status::SGL_LENGTH_INVALID.into(),
        opcode::IDENTIFY => identify(subsystem, controller, command),
        opcode::GET_LOG => logs::get(subsystem, controller, here, command),
        opcode::GET_FEATURES => features::get(controller, command),
        opcode::SET_FEATURES => features::set(controller, command),
        _ => Status::INVALID_OPCODE.into(),
    }
}
