//! Reads a trace ahead, in a thread of its own, while the requests before are simulated.
//!
//! There is one such thread and one queue, so the requests come in the order of the trace whatever the threads do.

use super::Source;
use crate::WorkloadError;
use nandlab_block::Request;
use std::sync::mpsc::{sync_channel, Receiver};
use std::thread::JoinHandle;

/// Requests that are handed over at a time.
const CHUNK: usize = 4096;

/// Chunks that wait at most.
const WAITING: usize = 8;

#[derive(Default)]
struct Chunk {
    requests: Vec<Request>,
    dropped: u64,
}

/// The requests that come, from the thread that reads them.
pub(crate) struct Ahead {
    /// None after the end.
    chunks: Option<Receiver<Result<Chunk, WorkloadError>>>,
    thread: Option<JoinHandle<()>>,
    chunk: Chunk,
    /// Requests of the chunk that were handed out.
    taken: usize,
}

impl Ahead {
    pub(crate) fn start(mut source: Source) -> Self {
        let (send, chunks) = sync_channel(WAITING);
        let thread = std::thread::spawn(move || loop {
            let mut requests = Vec::with_capacity(CHUNK);
            let filled = source.fill(&mut requests, CHUNK);
            let is_last = filled.is_err() || requests.is_empty();
            let chunk = Chunk { requests, dropped: source.dropped };
            // Nobody receives any more once the run was stopped.
            let is_taken = send.send(filled.map(|()| chunk)).is_ok();
            if is_last || !is_taken {
                break;
            }
        });
        Self { chunks: Some(chunks), thread: Some(thread), chunk: Chunk::default(), taken: 0 }
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.chunk.dropped
    }

    /// Appends at most `room` requests; none at the end.
    pub(crate) fn fill(&mut self, batch: &mut Vec<Request>, room: usize) -> Result<(), WorkloadError> {
        let before = batch.len();
        while batch.len() - before < room {
            if self.taken == self.chunk.requests.len() {
                let Some(chunks) = &self.chunks else { break };
                let Ok(received) = chunks.recv() else {
                    self.end();
                    break;
                };
                (self.chunk, self.taken) = (received?, 0);
                if self.chunk.requests.is_empty() {
                    self.end();
                    break;
                }
            }
            let left = &self.chunk.requests[self.taken..];
            let some = &left[..left.len().min(room - (batch.len() - before))];
            batch.extend_from_slice(some);
            self.taken += some.len();
        }
        Ok(())
    }

    /// Ends the thread; where it panicked, this does, too.
    fn end(&mut self) {
        self.chunks = None;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // The thread ends at its next chunk, for which nobody waits.
        self.chunks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
