//! A paced disk's replies, each sent when it is due.

use super::budget::{Held, Share};
use super::buffers::Out;
use crate::means::Means;
use crate::Due;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The longest sleep before another look whether the server ends.
const LOOK: Duration = Duration::from_millis(50);

/// A reply with the memory it holds.
struct Reply {
    due: Instant,
    bytes: Vec<u8>,
    _held: Held,
}

/// Replies by moment and number. The number keeps the order at equal moments.
struct Waiting(Reverse<(Instant, u64)>, Reply);

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// The thread that sends replies in time; it starts with the first one.
pub(crate) struct Later {
    out: Arc<Out>,
    share: Arc<Share>,
    means: Means,
    thread: Option<(Sender<Reply>, JoinHandle<()>)>,
}

impl Later {
    pub fn new(out: &Arc<Out>, share: &Arc<Share>, means: &Means) -> Self {
        Self { out: Arc::clone(out), share: Arc::clone(share), means: means.clone(), thread: None }
    }

    /// Sends `bytes` when they are due. Without a thread the caller waits.
    ///
    /// # Errors
    /// Socket errors, if the caller sends.
    pub fn send(&mut self, due: Due, bytes: Vec<u8>, held: Held) -> std::io::Result<()> {
        if self.thread.is_none() {
            let (to, from) = channel();
            let (out, share) = (Arc::clone(&self.out), Arc::clone(&self.share));
            match (self.means.spawn)(Box::new(move || run(&from, &out, &share))) {
                Ok(thread) => self.thread = Some((to, thread)),
                Err(error) => {
                    (self.means.say)(&format!("answers go out one at a time: no thread can be made for them: {error}"));
                }
            }
        }
        match &self.thread {
            // The thread ends early only if the client is gone.
            Some((to, _)) => drop(to.send(Reply { due: Instant::now() + due.wait(), bytes, _held: held })),
            None => {
                due.sleep();
                self.out.send(&bytes)?;
            }
        }
        Ok(())
    }

    /// Waits until every reply is sent.
    pub fn finish(self) {
        if let Some((to, thread)) = self.thread {
            drop(to);
            let _ = thread.join();
        }
    }
}

fn run(from: &Receiver<Reply>, out: &Out, share: &Share) {
    let mut waiting: BinaryHeap<Waiting> = BinaryHeap::new();
    let (mut count, mut is_open) = (0, true);
    while (is_open || !waiting.is_empty()) && !share.budget().is_over() {
        let now = Instant::now();
        while waiting.peek().is_some_and(|Waiting(Reverse((at, _)), _)| *at <= now) {
            let Some(Waiting(_, reply)) = waiting.pop() else { break };
            if out.send(&reply.bytes).is_err() {
                return;
            }
        }
        let next =
            waiting.peek().map(|Waiting(Reverse((at, _)), _)| at.saturating_duration_since(Instant::now()).min(LOOK));
        let received = match next {
            _ if !is_open => {
                std::thread::sleep(next.unwrap_or_default());
                continue;
            }
            Some(wait) => from.recv_timeout(wait),
            None => from.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match received {
            Ok(reply) => {
                count += 1;
                waiting.push(Waiting(Reverse((reply.due, count)), reply));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => is_open = false,
        }
    }
}
