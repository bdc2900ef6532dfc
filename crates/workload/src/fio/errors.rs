//! Whether a job goes on after a failed request: `continue_on_error` and `ignore_error`.
//!
//! td_error.c and options.c of fio 3.33. What a device refuses or has lost is an input/output error of the host, EIO. A trim
//! counts as a write.

use super::text::{by_direction, switch, Entry};
use super::Malformed;
use nandlab_block::Op;

/// Whether the job outlives errors in reads, and in the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Tolerance {
    reads: Kind,
    writes: Kind,
    /// Whether an error ends all other jobs as well.
    pub(super) ends_all: bool,
}

/// For reads, or for the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Kind {
    goes_on: bool,
    /// Whether a list names other errors alone.
    names_others: bool,
}

impl Tolerance {
    /// Takes a key.
    pub(super) fn set(&mut self, entry: &Entry<'_>) -> Result<(), Malformed> {
        match entry.key {
            "exitall_on_error" => self.ends_all = switch(entry)?,
            "ignore_error" => {
                for (kind, list) in [&mut self.reads, &mut self.writes].into_iter().zip(by_direction(entry)?) {
                    let Some(list) = list else { continue };
                    *kind = Kind {
                        goes_on: true,
                        names_others: !list.split(':').any(|error| ["EIO", "5", "-5"].contains(&error)),
                    };
                }
            }
            _ => {
                (self.reads.goes_on, self.writes.goes_on) = match entry.value.unwrap_or("1") {
                    "none" | "0" | "verify" => (false, false),
                    "read" => (true, false),
                    "write" => (false, true),
                    "io" | "all" | "1" => (true, true),
                    value => {
                        let what = "expected none, read, write, io, verify, all, 0 or 1";
                        return Err(entry.wrong(format!("{} = {value} cannot work: {what}", entry.key)));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the job goes on when such a request failed.
    pub(super) fn goes_on(self, op: Op) -> bool {
        let kind = if op == Op::Read { self.reads } else { self.writes };
        kind.goes_on && !kind.names_others
    }
}
