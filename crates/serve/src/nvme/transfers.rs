//! Commands whose data the host was asked for.

use super::command::Command;
use super::pdu::{Fatal, Pdu};
use crate::flow::Held;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A command and as much of its data as has come.
struct Transfer {
    command: Command,
    tag: u16,
    data: Vec<u8>,
    /// Bytes that have come, from the first on.
    filled: usize,
    is_sound: bool,
    since: Instant,
    held: Held,
}

/// A command with all its data.
pub(super) struct Complete {
    pub command: Command,
    pub data: Vec<u8>,
    pub is_sound: bool,
    _held: Held,
}

/// A connection's transfers; their number is bounded by the queue's size.
#[derive(Default)]
pub(super) struct Transfers {
    under_way: Vec<Transfer>,
    /// Commands that wait for memory, with their lengths.
    waiting: VecDeque<(Command, usize)>,
    next_tag: u16,
}

impl Transfers {
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty() && self.waiting.is_empty()
    }

    pub fn count(&self) -> usize {
        self.under_way.len() + self.waiting.len()
    }

    /// Whether a command with this identifier is among them.
    pub fn has(&self, id: u16) -> bool {
        self.under_way
            .iter()
            .map(|transfer| &transfer.command)
            .chain(self.waiting.iter().map(|(command, _)| command))
            .any(|command| command.id() == id)
    }

    /// Whether one takes longer than `patience`.
    pub fn is_stuck(&self, patience: Duration) -> bool {
        self.under_way.iter().any(|transfer| transfer.since.elapsed() > patience)
    }

    pub fn wait(&mut self, command: Command, length: usize) {
        self.waiting.push_back((command, length));
    }

    /// The length of the command that has waited longest.
    pub fn next_length(&self) -> Option<usize> {
        self.waiting.front().map(|&(_, length)| length)
    }

    pub fn has_none_under_way(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Begins the transfer of the command that has waited longest; returns its identifier, tag and length.
    pub fn begin(&mut self, held: Held) -> Option<(u16, u16, usize)> {
        let (command, length) = self.waiting.pop_front()?;
        while self.under_way.iter().any(|transfer| transfer.tag == self.next_tag) {
            self.next_tag = self.next_tag.wrapping_add(1);
        }
        let (id, tag) = (command.id(), self.next_tag);
        self.next_tag = tag.wrapping_add(1);
        let data = vec![0; length];
        self.under_way.push(Transfer { command, tag, data, filled: 0, is_sound: true, since: Instant::now(), held });
        Some((id, tag, length))
    }

    /// Takes a data PDU; the command, once its data is complete.
    ///
    /// # Errors
    /// Nobody asked for this data, or it comes out of order.
    pub fn take(&mut self, pdu: &Pdu<'_>) -> Result<Option<Complete>, Fatal> {
        let (id, tag, offset, length) = (pdu.u16(8), pdu.u16(10), pdu.u32(12) as usize, pdu.u32(16) as usize);
        let found = self.under_way.iter().position(|one| one.tag == tag && one.command.id() == id);
        let place = found.ok_or(Fatal::field(10))?;
        if length != pdu.data.len() {
            return Err(Fatal::field(16));
        }
        let transfer = &mut self.under_way[place];
        let end = offset + length;
        if offset != transfer.filled || end > transfer.data.len() {
            return Err(Fatal::OUT_OF_RANGE);
        }
        if pdu.is_last != (end == transfer.data.len()) {
            return Err(Fatal::field(1));
        }
        transfer.data[offset..end].copy_from_slice(pdu.data);
        transfer.filled = end;
        transfer.is_sound &= pdu.is_sound;
        if !pdu.is_last {
            return Ok(None);
        }
        let Transfer { command, data, is_sound, held, .. } = self.under_way.swap_remove(place);
        Ok(Some(Complete { command, data, is_sound, _held: held }))
    }
}
