//! Every admin and I/O command, and the log of their effects.

use super::page::Page;

pub(super) mod admin {
    pub const GET_LOG: u8 = 0x02;
    pub const IDENTIFY: u8 = 0x06;
    pub const ABORT: u8 = 0x08;
    pub const SET_FEATURES: u8 = 0x09;
    pub const GET_FEATURES: u8 = 0x0A;
    pub const EVENT_REQUEST: u8 = 0x0C;
    pub const KEEP_ALIVE: u8 = 0x18;
}

pub(super) mod nvm {
    pub const FLUSH: u8 = 0x00;
    pub const WRITE: u8 = 0x01;
    pub const READ: u8 = 0x02;
    pub const COMPARE: u8 = 0x05;
    pub const WRITE_ZEROES: u8 = 0x08;
    pub const DATASET: u8 = 0x09;
    pub const VERIFY: u8 = 0x0C;
}

pub(super) mod zoned {
    pub const SEND: u8 = 0x79;
    pub const RECEIVE: u8 = 0x7A;
    pub const APPEND: u8 = 0x7D;
}

/// I/O Management.
pub(super) mod placed {
    pub const RECEIVE: u8 = 0x12;
    pub const SEND: u8 = 0x1D;
}

/// What a namespace offers beyond plain blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Zoned,
    /// The host places data.
    Placed,
}

/// Number of the command set for zones.
pub(super) const ZONED_SET: u32 = 2;

/// Every I/O command of the NVM command set, and whether it changes data.
const COMMANDS: [(u8, bool); 7] = [
    (nvm::FLUSH, false),
    (nvm::WRITE, true),
    (nvm::READ, false),
    (nvm::COMPARE, false),
    (nvm::WRITE_ZEROES, true),
    (nvm::DATASET, true),
    (nvm::VERIFY, false),
];

/// The commands that zones add.
const ZONE_COMMANDS: [(u8, bool); 3] = [(zoned::SEND, true), (zoned::RECEIVE, false), (zoned::APPEND, true)];

/// The commands that data placement adds.
const PLACEMENT_COMMANDS: [(u8, bool); 2] = [(placed::RECEIVE, false), (placed::SEND, false)];

/// The I/O commands of a namespace. In a zone a reset alone gives up data.
pub(super) fn commands(kind: Kind) -> impl Iterator<Item = (u8, bool)> {
    let more: &[(u8, bool)] = match kind {
        Kind::Plain => &[],
        Kind::Zoned => &ZONE_COMMANDS,
        Kind::Placed => &PLACEMENT_COMMANDS,
    };
    let is_offered = move |&(opcode, _): &(u8, bool)| kind != Kind::Zoned || opcode != nvm::DATASET;
    COMMANDS.into_iter().filter(is_offered).chain(more.iter().copied())
}

/// Supported; bit 1: it changes data.
const SUPPORTED: u32 = 1;
const CHANGES_DATA: u32 = 1 << 1;

/// Every command: whether it is an admin command, its opcode, its effects.
fn command_effects(kind: Kind) -> impl Iterator<Item = (bool, u8, u32)> {
    let ours = [
        admin::GET_LOG,
        admin::IDENTIFY,
        admin::ABORT,
        admin::SET_FEATURES,
        admin::GET_FEATURES,
        admin::EVENT_REQUEST,
        admin::KEEP_ALIVE,
    ];
    let ours = ours.into_iter().map(|opcode| (true, opcode, SUPPORTED));
    let effects = |(opcode, changes): (u8, bool)| (false, opcode, SUPPORTED | if changes { CHANGES_DATA } else { 0 });
    ours.chain(commands(kind).map(effects))
}

/// The log of commands and their effects.
pub(super) fn effects(kind: Kind) -> Vec<u8> {
    let mut page = Page::new(4096);
    for (is_admin, opcode, effect) in command_effects(kind) {
        let table = if is_admin { 0 } else { 1024 };
        page.u32(table + usize::from(opcode) * 4, effect);
    }
    page.done()
}
