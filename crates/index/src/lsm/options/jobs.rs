//! Options of flushes and compactions in the background.

use super::{Compaction, Options};
use crate::IndexError;
use nandlab_block::ByteCount;

/// Flushes and compactions in the background, and when puts wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct JobOptions {
    /// Compactions at once.
    pub(in super::super) threads: usize,
    /// Requests that a job keeps under way.
    pub(in super::super) depth: u32,
    pub(in super::super) level0_slow: usize,
    pub(in super::super) level0_stop: usize,
    pub(in super::super) pending_slow: u64,
    pub(in super::super) pending_stop: u64,
    pub(in super::super) slow_bytes_per_s: u64,
}

/// RocksDB's triggers and its rate of slow writes; its 64 and 256 GiB pending are divided by 64.
const SLOWDOWN: u32 = 20;
const STOP: u32 = 36;
const PENDING_SLOW: ByteCount = ByteCount(1 << 30);
const PENDING_STOP: ByteCount = ByteCount(4 << 30);
const SLOW_RATE: ByteCount = ByteCount(16 << 20);
/// RocksDB's compaction makes one request at a time; the kernel's readahead and write-back add a few.
const DEPTH: u32 = 4;

impl Options {
    fn level0_slow(&self) -> u32 {
        let usual = if self.threads > 0 { SLOWDOWN.max(self.level0_trigger) } else { self.level0_trigger };
        self.level0_slowdown.unwrap_or(usual)
    }

    fn stop(&self) -> u32 {
        self.level0_stop.unwrap_or(STOP.max(self.level0_slow()))
    }

    fn pending_slow(&self) -> ByteCount {
        self.pending_slow_bytes.unwrap_or(PENDING_SLOW)
    }

    fn pending_stop(&self) -> ByteCount {
        self.pending_stop_bytes.unwrap_or(PENDING_STOP.max(self.pending_slow()))
    }

    /// Fills in defaults that depend on `threads`.
    pub(super) fn resolve_jobs(&mut self) {
        self.level0_slowdown = Some(self.level0_slow());
        if self.threads > 0 {
            self.queue_depth.get_or_insert(DEPTH);
            self.level0_stop = Some(self.stop());
            self.slow_bytes_per_s.get_or_insert(SLOW_RATE);
            if self.compaction == Compaction::Leveled {
                self.pending_slow_bytes = Some(self.pending_slow());
                self.pending_stop_bytes = Some(self.pending_stop());
            }
        }
    }

    /// Checks the options of jobs in the background.
    pub(super) fn check_jobs(&self) -> Result<(), IndexError> {
        if self.threads > 64 {
            return Err(IndexError::option("threads", &self.threads, "up to 64 compactions run at once"));
        }
        let given: [(&'static str, Option<u64>); 5] = [
            ("queue_depth", self.queue_depth.map(u64::from)),
            ("level0_stop", self.level0_stop.map(u64::from)),
            ("pending_slow_bytes", self.pending_slow_bytes.map(|bytes| bytes.0)),
            ("pending_stop_bytes", self.pending_stop_bytes.map(|bytes| bytes.0)),
            ("slow_bytes_per_s", self.slow_bytes_per_s.map(|bytes| bytes.0)),
        ];
        if self.threads == 0 {
            return match given.into_iter().find_map(|(key, given)| Some((key, given?))) {
                Some((key, given)) => Err(IndexError::option(key, &given, "it counts only with threads of 1 or more")),
                None => Ok(()),
            };
        }
        if let Some(depth) = self.queue_depth.filter(|depth| !(1..=1024).contains(depth)) {
            return Err(IndexError::option("queue_depth", &depth, "a job keeps 1 to 1024 requests under way"));
        }
        let slow = self.level0_slow();
        if let Some(stop) = self.level0_stop.filter(|stop| !(slow..=1000).contains(stop)) {
            let why = format!("level0_slowdown, {slow}, to 1000 tables stop a put");
            return Err(IndexError::option("level0_stop", &stop, why));
        }
        let slow = self.pending_slow().0;
        if slow == 0 {
            return Err(IndexError::option("pending_slow_bytes", &slow, "at least 1 byte slows puts down"));
        }
        if let Some(ByteCount(stop)) = self.pending_stop_bytes.filter(|stop| stop.0 < slow) {
            let why = format!("puts are slowed down from pending_slow_bytes, {slow}, on");
            return Err(IndexError::option("pending_stop_bytes", &stop, why));
        }
        match self.slow_bytes_per_s {
            Some(ByteCount(0)) => Err(IndexError::option("slow_bytes_per_s", &0, "at least 1 byte a second")),
            _ => Ok(()),
        }
    }

    pub(super) fn job_options(&self) -> Option<JobOptions> {
        (self.threads > 0).then(|| JobOptions {
            threads: self.threads as usize,
            depth: self.queue_depth.unwrap_or(DEPTH),
            level0_slow: self.level0_slow() as usize,
            level0_stop: self.stop() as usize,
            pending_slow: self.pending_slow().0,
            pending_stop: self.pending_stop().0,
            slow_bytes_per_s: self.slow_bytes_per_s.unwrap_or(SLOW_RATE).0,
        })
    }
}
