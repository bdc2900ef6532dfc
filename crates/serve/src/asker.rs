//! The I/O queue for which a thread works.
//!
//! A protocol with queues has a thread for each, and every layer below carries out a request in its caller's thread. So the
//! thread knows the queue, and the seams between protocol and disk need not hand it down.

use nandlab_lab::served::QueueId;
use std::cell::Cell;

thread_local! {
    static QUEUE: Cell<Option<QueueId>> = const { Cell::new(None) };
}

/// Until it is dropped, requests of this thread come from a queue.
pub(crate) struct Asker(());

impl Asker {
    pub fn begin(queue: QueueId) -> Self {
        QUEUE.set(Some(queue));
        Self(())
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        QUEUE.set(None);
    }
}

/// The queue for which this thread works.
pub(crate) fn queue() -> Option<QueueId> {
    QUEUE.get()
}
