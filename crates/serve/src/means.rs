//! Things a server needs from the machine; tests bring their own.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread's work.
pub type Work = Box<dyn FnOnce() + Send>;

/// Threads, a place for warnings, and patience with clients.
#[derive(Clone)]
pub struct Means {
    /// Makes a thread for some work.
    pub spawn: Arc<dyn Fn(Work) -> io::Result<JoinHandle<()>> + Send + Sync>,
    /// Tells the person at the terminal.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
    /// How long a client may keep its server waiting.
    pub patience: Duration,
}

impl Default for Means {
    fn default() -> Self {
        Self {
            spawn: Arc::new(|work| std::thread::Builder::new().name("nandlab client".into()).spawn(work)),
            // A closed terminal is no reason to stop serving.
            say: Arc::new(|text| drop(writeln!(io::stderr(), "warning: {text}"))),
            patience: Duration::from_secs(10),
        }
    }
}
