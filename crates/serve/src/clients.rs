//! A listener whose clients have a thread each.

use crate::means::Means;
use crate::sockets::{Listener, Stream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
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

/// A connection, and the thread that serves it. The thread alone keeps the connection open.
struct Client {
    stream: Weak<Stream>,
    thread: JoinHandle<()>,
    is_ended: bool,
}

impl Client {
    fn is_served(&self) -> bool {
        !self.is_ended && self.stream.strong_count() > 0
    }

    /// Ends the connection; the thread notices.
    fn end(&mut self) {
        self.is_ended = true;
        if let Some(stream) = self.stream.upgrade() {
            stream.end();
        }
    }
}

struct Shared<S> {
    listener: Listener,
    service: S,
    means: Means,
    ending: Ending,
    /// The oldest first. A finished thread stays until the next client comes, so the end can join every thread.
    clients: Mutex<Vec<Client>>,
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
        self.shared.clients().iter().filter(|client| client.is_served()).count()
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
        let mut clients = std::mem::take(&mut *self.shared.clients());
        clients.iter_mut().for_each(Client::end);
        for client in clients {
            let _ = client.thread.join();
        }
    }
}

impl<S: Service> Shared<S> {
    fn clients(&self) -> MutexGuard<'_, Vec<Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>) {
        loop {
            let accepted = self.listener.accept();
            if self.ending.is_over() {
                return;
            }
            match accepted {
                Ok(stream) => self.admit(&Arc::new(stream)),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    fn admit(self: &Arc<Self>, stream: &Arc<Stream>) {
        let mut clients = self.clients();
        clients.retain(|client| !client.thread.is_finished());
        if clients.iter().filter(|client| client.is_served()).count() >= S::MOST {
            match clients.iter_mut().find(|client| client.is_served()).filter(|_| S::ENDS_OLDEST) {
                None => return self.service.refuse(stream, "too many clients are connected"),
                Some(oldest) => oldest.end(),
            }
        }
        let (shared, served) = (Arc::clone(self), Arc::clone(stream));
        let work = move || shared.service.serve(&served, &shared.ending);
        match (self.means.spawn)(Box::new(work)) {
            Ok(thread) => clients.push(Client { stream: Arc::downgrade(stream), thread, is_ended: false }),
            Err(error) => {
                drop(clients);
                let why = format!("no thread can be made for this client: {error}");
                // Who sees the connection end finds the reason told.
                (self.means.say)(&format!("a client was refused: {why}"));
                self.service.refuse(stream, &why);
            }
        }
    }
}
