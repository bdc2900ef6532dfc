//! A paced disk's replies, each sent when it is due.

use super::wire::{send, Out};
use crate::Due;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Instant;

/// A reply and its moment.
type Reply = (Instant, Vec<u8>);

/// The same by moment; the number keeps the order at equal moments.
type Waiting = Reverse<(Instant, u64, Vec<u8>)>;

/// The thread that sends replies in time; it starts with the first one.
pub(super) struct Later {
    out: Out,
    thread: Option<(Sender<Reply>, JoinHandle<()>)>,
}

impl Later {
    pub fn new(out: &Out) -> Self {
        Self { out: out.clone(), thread: None }
    }

    pub fn send(&mut self, due: Due, reply: Vec<u8>) {
        let out = &self.out;
        let (to, _) = self.thread.get_or_insert_with(|| {
            let (to, from) = channel();
            let out = out.clone();
            (to, std::thread::spawn(move || run(&from, &out)))
        });
        // The thread ends early only if the client is gone.
        let _ = to.send((Instant::now() + due.wait(), reply));
    }

    /// Waits until every reply is sent.
    pub fn finish(self) {
        if let Some((to, thread)) = self.thread {
            drop(to);
            let _ = thread.join();
        }
    }
}

fn run(from: &Receiver<Reply>, out: &Out) {
    let mut waiting: BinaryHeap<Waiting> = BinaryHeap::new();
    let (mut count, mut is_open) = (0, true);
    while is_open || !waiting.is_empty() {
        let now = Instant::now();
        while waiting.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((_, _, reply))) = waiting.pop() else { break };
            if send(out, &reply).is_err() {
                return;
            }
        }
        let next = waiting.peek().map(|Reverse((at, ..))| at.saturating_duration_since(Instant::now()));
        let received = match next {
            _ if !is_open => {
                std::thread::sleep(next.unwrap_or_default());
                continue;
            }
            Some(wait) => from.recv_timeout(wait),
            None => from.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match received {
            Ok((at, reply)) => {
                count += 1;
                waiting.push(Reverse((at, count, reply)));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => is_open = false,
        }
    }
}
