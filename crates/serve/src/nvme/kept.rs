//! What a controller keeps for its host.

use super::bounds::ERRORS;
use super::command::{Command, Status};
use super::page::Page;
use std::collections::VecDeque;
use std::time::Duration;

const ERROR_BYTES: usize = 64;
const TCP: u8 = 3;

/// Values the host set that have no other place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Features {
    pub atomicity: u32,
    pub events: u32,
    /// In ms; 0 is no limit.
    pub keep_alive: u32,
}

impl Features {
    /// Sets the longest silence of the host, in ms; returns it.
    pub fn set_keep_alive(&mut self, milliseconds: u32) -> Duration {
        self.keep_alive = milliseconds;
        Duration::from_millis(milliseconds.into())
    }

    /// The longest silence of the host; zero is no limit.
    pub fn keep_alive(&self) -> Duration {
        Duration::from_millis(self.keep_alive.into())
    }
}

/// A controller's failed commands, the newest last.
#[derive(Default)]
pub(super) struct Errors {
    pub count: u64,
    kept: VecDeque<Failed>,
}

#[derive(Clone, Copy)]
struct Failed {
    number: u64,
    queue: u16,
    command: u16,
    status: Status,
    block: u64,
    namespace: u32,
}

impl Errors {
    /// Notes that a command failed.
    pub fn add(&mut self, queue: u16, command: &Command, status: Status) {
        self.count += 1;
        let block = command.u64(40);
        let (command, namespace) = (command.id(), command.namespace());
        self.kept.push_back(Failed { number: self.count, queue, command, status, block, namespace });
        if self.kept.len() > ERRORS {
            self.kept.pop_front();
        }
    }

    /// The log, the newest first.
    pub fn page(&self) -> Vec<u8> {
        let mut page = Page::new(ERRORS * ERROR_BYTES);
        for (place, failed) in self.kept.iter().rev().enumerate() {
            let at = place * ERROR_BYTES;
            page.u64(at, failed.number).u16(at + 8, failed.queue).u16(at + 10, failed.command);
            page.u16(at + 12, failed.status.0 << 1).u16(at + 14, u16::MAX).u64(at + 16, failed.block);
            page.u32(at + 24, failed.namespace).u8(at + 29, TCP);
        }
        page.done()
    }
}
