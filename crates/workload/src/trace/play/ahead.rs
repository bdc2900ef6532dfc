//! Reads a trace ahead in a separate thread while earlier requests are simulated.
//!
//! There is one such thread and one queue, so requests come in trace order whatever the threads do.

use super::Source;
use crate::WorkloadError;
use nandlab_block::Request;
use std::sync::mpsc::{sync_channel, Receiver};
use std::thread::JoinHandle;

/// Requests per chunk.
const CHUNK: usize = 4096;

/// Most chunks waiting.
const WAITING: usize = 8;

#[derive(Default)]
struct Chunk {
    requests: Vec<Request>,
    dropped: u64,
}

/// The coming requests, from the reading thread.
pub(crate) struct Ahead {
    /// None after the end.
    chunks: Option<Receiver<Result<Chunk, WorkloadError>>>,
    thread: Option<JoinHandle<()>>,
    chunk: Chunk,
    /// Requests handed out from the chunk.
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

    /// Ends the thread; panics if it panicked.
    fn end(&mut self) {
        self.chunks = None;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // The thread ends at its next chunk, as nobody waits for it.
        self.chunks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
