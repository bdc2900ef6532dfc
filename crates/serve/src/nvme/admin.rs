//! Admin commands.

use super::command::{Answer, Command, Status};
use super::identify::{identify, BYTES};
use super::opcodes::admin as opcode;
use super::subsystem::{Controller, Subsystem};
use super::{features, logs};
use std::net::SocketAddr;

/// Carries out a command that is answered at once: all but event requests and aborts.
pub(super) fn carry_out(
    subsystem: &Subsystem,
    controller: &Controller,
    here: SocketAddr,
    command: &Command,
    data: &[u8],
) -> Answer {
    let is_ready = controller.state().is_ready();
    match command.opcode() {
        opcode::KEEP_ALIVE => Answer::result(0),
        _ if !is_ready => Status::SEQUENCE_ERROR.into(),
        opcode::IDENTIFY if command.pointer_bytes() < BYTES as u64 => Status::SGL_LENGTH_INVALID.into(),
        opcode::IDENTIFY => identify(subsystem, controller, command),
        opcode::GET_LOG => logs::get(subsystem, controller, here, command),
        opcode::GET_FEATURES => features::get(subsystem, controller, command),
        opcode::SET_FEATURES => features::set(subsystem, controller, command, data),
        _ => Status::INVALID_OPCODE.into(),
    }
}
