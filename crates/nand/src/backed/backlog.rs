//! Writes that the host refused, in order, until it takes them.
//!
//! A host disk may be full for a while, or fail one call. The device goes on in memory as if the write had been done, and
//! reads find it here. Nothing is written in front of what waits, so the file is always as after some earlier operation:
//! an end of the process is a power cut at that moment. The request that waits here is told an error, and so is each
//! later flush, until everything is in the file.

use super::os::{self, HostFile};
use std::collections::VecDeque;
use std::io;

/// Most bytes kept; a device that needs more is off. One request with its collections takes less.
const MOST_BYTES: usize = 256 << 20;

/// Something to do to the file.
#[derive(Debug)]
enum Step {
    Write(u64, Vec<u8>),
    /// Everything before it must be on the disk before anything behind it is written.
    Sync,
}

/// Steps that wait.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    steps: VecDeque<Step>,
    bytes: usize,
}

impl Backlog {
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Writes `bytes` to `place`, or keeps them if that fails or if others wait.
    ///
    /// # Errors
    /// The host's, if there is no room to keep them.
    pub fn write(&mut self, file: &HostFile, place: u64, bytes: &[u8]) -> io::Result<()> {
        let refused = match self.steps.is_empty() {
            true => match os::write_at(file, place, bytes) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            },
            false => io::ErrorKind::OutOfMemory.into(),
        };
        if self.bytes + bytes.len() > MOST_BYTES {
            return Err(refused);
        }
        self.bytes += bytes.len();
        self.steps.push_back(Step::Write(place, bytes.to_vec()));
        Ok(())
    }

    /// Everything before must be on the disk before anything behind is written.
    pub fn sync_first(&mut self) {
        self.steps.push_back(Step::Sync);
    }

    /// Does the steps that wait; `sync` does one of its kind.
    ///
    /// # Errors
    /// The host's; the rest waits on.
    pub fn catch_up(&mut self, file: &HostFile, mut sync: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        while let Some(step) = self.steps.front() {
            match step {
                Step::Write(place, bytes) => {
                    os::write_at(file, *place, bytes)?;
                    self.bytes -= bytes.len();
                }
                Step::Sync => sync()?,
            }
            self.steps.pop_front();
        }
        Ok(())
    }

    /// Fills `bytes` from `place` on, from the file and from what waits for it.
    pub fn read(&self, file: &HostFile, place: u64, bytes: &mut [u8]) -> io::Result<()> {
        let end = place + bytes.len() as u64;
        let covers = |step: &Step| matches!(step, Step::Write(at, new) if *at <= place && at + new.len() as u64 >= end);
        if !self.steps.iter().any(covers) {
            os::read_at(file, place, bytes)?;
        }
        for step in &self.steps {
            let Step::Write(at, new) = step else { continue };
            let (from, to) = (place.max(*at), end.min(at + new.len() as u64));
            if from < to {
                bytes[(from - place) as usize..(to - place) as usize]
                    .copy_from_slice(&new[(from - at) as usize..(to - at) as usize]);
            }
        }
        Ok(())
    }
}
