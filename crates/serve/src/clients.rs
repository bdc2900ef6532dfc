//! A listener whose clients have a thread each.

use crate::means::Means;
use crate::sockets::{Listener, Stream};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Pause after a failed accept. Too many files may be open, and others may be closed meanwhile.
const PAUSE: Duration = Duration::from_millis(10);

/// The work for clients.
pub(crate) trait Service: Send + Sync + 'static {
    /// Most clients at once.
    const MOST: usize;
    /// Whether a client beyond them ends the oldest one. Else the new one is refused.
    const ENDS_OLDEST: bool;

    /// Serves one client until it leaves or `ending` is over.
    fn serve(&self, stream: &Arc<Stream>, ending: &Ending);

    /// Tells a client why it is not served, without waiting for it.
    fn refuse(&self, stream: &Stream, why: &str);
}

/// Whether the server ends.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    is_over: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Ending {
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Waits, at most until the end; returns whether it has come.
    pub fn wait(&self, wait: Duration) -> bool {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_timeout_while(guard, wait, |()| !self.is_over()));
        self.is_over()
    }

    fn end(&self) {
        let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_over.store(true, Ordering::SeqCst);
        self.changed.notify_all();
    }
}

/// A connection, and the thread that serves it.
struct Client {
    stream: Arc<Stream>,
    thread: JoinHandle<()>,
    is_ended: bool,
}

struct Shared<S> {
    listener: Listener,
    service: S,
    means: Means,
    ending: Ending,
    clients: Mutex<BTreeMap<u64, Client>>,
}

/// A listener at work until it is dropped.
pub(crate) struct Clients<S: Service> {
    shared: Arc<Shared<S>>,
    accepting: Option<JoinHandle<()>>,
}

impl<S: Service> Clients<S> {
    /// Serves everyone who connects to `listener`.
    ///
    /// # Errors
    /// There is no thread to accept them.
    pub fn start(listener: Listener, service: S, means: Means) -> std::io::Result<Self> {
        let (ending, clients) = Default::default();
        let shared = Arc::new(Shared { listener, service, means, ending, clients });
        let accepting = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().name("nandlab accept".into()).spawn(move || shared.accept())?
        };
        Ok(Self { shared, accepting: Some(accepting) })
    }

    pub fn service(&self) -> &S {
        &self.shared.service
    }

    /// Connected clients.
    pub fn count(&self) -> usize {
        self.shared.clients().len()
    }
}

impl<S: Service> Drop for Clients<S> {
    /// Ends every connection.
    fn drop(&mut self) {
        self.shared.ending.end();
        self.shared.listener.wake();
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
        let clients = std::mem::take(&mut *self.shared.clients());
        clients.values().for_each(|client| client.stream.end());
        for client in clients.into_values() {
            let _ = client.thread.join();
        }
    }
}

impl<S: Service> Shared<S> {
    fn clients(&self) -> MutexGuard<'_, BTreeMap<u64, Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>) {
        for number in 0.. {
            let accepted = self.listener.accept();
            if self.ending.is_over() {
                return;
            }
            match accepted {
                Ok(stream) => self.admit(number, Arc::new(stream)),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    fn admit(self: &Arc<Self>, number: u64, stream: Arc<Stream>) {
        let mut clients = self.clients();
        if clients.values().filter(|client| !client.is_ended).count() >= S::MOST {
            match clients.values_mut().find(|client| !client.is_ended).filter(|_| S::ENDS_OLDEST) {
                None => return self.service.refuse(&stream, "too many clients are connected"),
                Some(oldest) => {
                    oldest.stream.end();
                    oldest.is_ended = true;
                }
            }
        }
        let (shared, served) = (Arc::clone(self), Arc::clone(&stream));
        let work = move || {
            let leaving = Leaving { shared: &shared, number };
            shared.service.serve(&served, &shared.ending);
            drop(served);
            drop(leaving);
        };
        match (self.means.spawn)(Box::new(work)) {
            Ok(thread) => drop(clients.insert(number, Client { stream, thread, is_ended: false })),
            Err(error) => {
                drop(clients);
                let why = format!("no thread can be made for this client: {error}");
                self.service.refuse(&stream, &why);
                (self.means.say)(&format!("a client was refused: {why}"));
            }
        }
    }
}

/// Takes a client off the list, even after a panic.
struct Leaving<'a, S: Service> {
    shared: &'a Shared<S>,
    number: u64,
}

impl<S: Service> Drop for Leaving<'_, S> {
    fn drop(&mut self) {
        self.shared.clients().remove(&self.number);
    }
}
