//! Memory held for clients: replies not yet sent, and announced writes.
//!
//! A client over its bound is not read from. So its requests stay in the socket, and the client waits to send more.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Most bytes held for clients. A single larger request goes through alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For one client.
    pub client_bytes: usize,
    /// For all clients together.
    pub all_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { client_bytes: 64 << 20, all_bytes: 512 << 20 }
    }
}

/// The memory for all clients.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    held: usize,
    peak: usize,
    /// Clients waiting because of others.
    waiting: usize,
    is_over: bool,
}

impl Budget {
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: Mutex::default(), freed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn peak(&self) -> usize {
        self.state().peak
    }

    /// The server ends: nobody waits any more.
    pub fn end(&self) {
        self.state().is_over = true;
        self.freed.notify_all();
    }

    pub fn is_over(&self) -> bool {
        self.state().is_over
    }
}

/// One client's share.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    /// Changed only under the budget's lock.
    held: AtomicUsize,
    /// Whether the client has announced a write and not yet sent it.
    pub is_announced: AtomicBool,
}

impl Share {
    pub fn of(budget: &Arc<Budget>) -> Arc<Self> {
        Arc::new(Self { budget: Arc::clone(budget), held: AtomicUsize::new(0), is_announced: AtomicBool::new(false) })
    }

    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Whether others wait for memory, so a client that stands still with some is cut off.
    pub fn is_short(&self) -> bool {
        self.budget.state().waiting > 0
    }

    /// Takes `bytes` if there is room.
    pub fn try_take(self: &Arc<Self>, bytes: usize) -> Option<Held> {
        let mut state = self.budget.state();
        (!state.is_over && self.lacks(&state, bytes) == Lack::None).then(|| self.keep(&mut state, bytes))
    }

    /// Takes `bytes`, once there is room.
    ///
    /// # Errors
    /// The server ends.
    pub fn take(self: &Arc<Self>, bytes: usize) -> io::Result<Held> {
        let mut state = self.budget.state();
        loop {
            if state.is_over {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let lack = self.lacks(&state, bytes);
            if lack == Lack::None {
                return Ok(self.keep(&mut state, bytes));
            }
            let waiting = usize::from(lack == Lack::InAll);
            state.waiting += waiting;
            state = self.budget.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= waiting;
        }
    }

    fn lacks(&self, state: &State, bytes: usize) -> Lack {
        let Limits { client_bytes, all_bytes } = self.budget.limits;
        let is_over = |held: usize, most: usize| held > 0 && held + bytes > most;
        if is_over(self.held.load(Ordering::Relaxed), client_bytes) {
            Lack::Own
        } else if is_over(state.held, all_bytes) {
            Lack::InAll
        } else {
            Lack::None
        }
    }

    fn keep(self: &Arc<Self>, state: &mut State, bytes: usize) -> Held {
        state.held += bytes;
        state.peak = state.peak.max(state.held);
        self.held.fetch_add(bytes, Ordering::Relaxed);
        Held { share: Arc::clone(self), bytes }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lack {
    None,
    Own,
    InAll,
}

/// Bytes held for a client, until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    share: Arc<Share>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.share.budget.state();
        state.held -= self.bytes;
        self.share.held.fetch_sub(self.bytes, Ordering::Relaxed);
        drop(state);
        self.share.budget.freed.notify_all();
    }
}
