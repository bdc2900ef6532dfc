//! PDUs to the host, collected until they are written together.

use super::command::Status;
use super::pdu::{flag, Format, RESPONSE_BYTES};
use super::subsystem::Queue;
use crate::Export;
use std::io;
use std::ops::Range;

/// PDUs are written when they are more than this many bytes, even if further commands have arrived.
pub(super) const AT_ONCE: usize = 256 << 10;
/// A larger buffer is given back.
const KEPT_BYTES: usize = 4 << 20;

/// A completion queue entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub command: u16,
    pub status: Status,
    pub result: u64,
}

impl Completion {
    fn bytes(&self, queue: Option<&Queue>) -> [u8; 16] {
        let (head, id) = queue.map_or((0, 0), |queue| (queue.head(), queue.id));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.result.to_le_bytes());
        bytes[8..10].copy_from_slice(&head.to_le_bytes());
        bytes[10..12].copy_from_slice(&id.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.command.to_le_bytes());
        bytes[14..].copy_from_slice(&(self.status.0 << 1).to_le_bytes());
        bytes
    }
}

/// Unwritten PDUs. The bytes behind `used` are left from earlier ones.
#[derive(Default)]
pub(super) struct Replies {
    bytes: Vec<u8>,
    pub used: usize,
    pub format: Format,
    /// Where the responses to changes begin that went well.
    changes: Vec<usize>,
}

impl Replies {
    /// Room for `length` bytes behind the present ones.
    fn room(&mut self, length: usize) -> &mut [u8] {
        let end = self.used + length;
        if end > self.bytes.len() {
            self.bytes.resize(end.next_power_of_two(), 0);
        }
        &mut self.bytes[self.used..end]
    }

    /// Adds PDUs made elsewhere.
    pub fn add(&mut self, pdu: &[u8]) {
        self.room(pdu.len()).copy_from_slice(pdu);
        self.used += pdu.len();
    }

    /// Room for a command's `length` data bytes, for [`Self::answer_with_data`].
    pub fn data_room(&mut self, length: usize) -> &mut [u8] {
        let (pdu, offset) = (self.format.data_pdu(length), self.format.data_offset());
        &mut self.room(pdu)[offset..offset + length]
    }

    /// An answer whose `length` data bytes are in [`Self::data_room`]; returns its place.
    pub fn answer_with_data(&mut self, completion: &Completion, queue: Option<&Queue>, length: usize) -> Range<usize> {
        let start = self.used;
        let (format, bytes) = (self.format, self.format.data_pdu(length));
        // The host makes the completion itself, if it waits for no queue head.
        let is_all = completion.result == 0 && queue.is_some_and(|queue| !queue.has_flow_control);
        let flags = flag::LAST | if is_all { flag::SUCCESS } else { 0 };
        format.seal_data(self.room(bytes), completion.command, length, flags);
        self.used += bytes;
        if !is_all {
            self.answer(completion, queue);
        }
        start..self.used
    }

    /// An answer without data; returns its place.
    pub fn answer(&mut self, completion: &Completion, queue: Option<&Queue>) -> Range<usize> {
        let (start, format) = (self.used, self.format);
        format.seal_response(self.room(format.plain_pdu()), &completion.bytes(queue));
        self.used += format.plain_pdu();
        start..self.used
    }

    /// The same for a change that went well, and is handed over before it is told.
    pub fn answer_change(&mut self, completion: &Completion, queue: Option<&Queue>) -> Range<usize> {
        self.changes.push(self.used);
        self.answer(completion, queue)
    }

    /// Asks the host for a command's data.
    pub fn ask_for_data(&mut self, command: u16, tag: u16, length: usize) {
        let format = self.format;
        format.seal_ready(self.room(format.plain_pdu()), command, tag, length);
        self.used += format.plain_pdu();
    }

    /// Hands the changes over that are answered; where that fails, so do their commands.
    pub fn hand_over(&mut self, export: &dyn Export, status: fn(&io::Error) -> Status) {
        if self.changes.is_empty() {
            return;
        }
        let failed = export.hand_over().err().map(|failed| status(&failed));
        let format = self.format;
        for start in self.changes.drain(..) {
            if let Some(failed) = failed {
                let pdu = &mut self.bytes[start..start + format.plain_pdu()];
                let mut completion = [0; 16];
                completion.copy_from_slice(&pdu[RESPONSE_BYTES - 16..RESPONSE_BYTES]);
                completion[14..].copy_from_slice(&(failed.0 << 1).to_le_bytes());
                format.seal_response(pdu, &completion);
            }
        }
    }

    /// Takes the last PDUs out again, for a later moment.
    pub fn take_back(&mut self, place: Range<usize>) -> Vec<u8> {
        self.used = place.start;
        self.bytes[place].to_vec()
    }

    /// The collected PDUs; none are left.
    pub fn take(&mut self) -> &[u8] {
        let used = std::mem::take(&mut self.used);
        &self.bytes[..used]
    }

    /// Gives a large buffer back.
    pub fn shrink(&mut self) {
        if self.used == 0 && self.bytes.len() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
    }
}
