//! A call of a policy: its errors, and how long it lasts.

use crate::errors::exceptions::PolicyError;
use nandlab_lab::own::{self, Own};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::Instant;

/// A call under way.
#[derive(Debug)]
struct Watch {
    name: &'static str,
    /// When it began, in ns since the first policy was made; 0: there is none.
    since: AtomicU64,
    /// Python's number of its thread.
    thread: AtomicU64,
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
static WATCHES: Mutex<Vec<Weak<Watch>>> = Mutex::new(Vec::new());

thread_local! {
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// Nanoseconds since the first policy was made, at least 1.
fn now() -> u64 {
    START.elapsed().as_nanos() as u64 + 1
}

/// The call that has lasted longest: Python's number of its thread, the seconds, and the policy.
#[pyfunction]
pub(crate) fn policy_call() -> Option<(u64, f64, &'static str)> {
    let mut watches = WATCHES.lock().unwrap_or_else(PoisonError::into_inner);
    watches.retain(|watch| watch.strong_count() > 0);
    let under_way = watches.iter().filter_map(Weak::upgrade).filter_map(|watch| {
        let since = watch.since.load(Ordering::Relaxed);
        (since > 0).then(|| (since, watch.thread.load(Ordering::Relaxed), watch.name))
    });
    let (since, thread, name) = under_way.min()?;
    Some((thread, now().saturating_sub(since) as f64 / 1e9, name))
}

/// The exception for `error` in a policy's `method`, which saw `shown`.
pub(super) fn raised(py: Python<'_>, own: Own, method: &str, shown: &str, error: PyErr) -> PyErr {
    if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) {
        // Ctrl-C is nobody's mistake.
        return error;
    }
    let kind = error.get_type(py).name().map_or_else(|_| "an error".to_owned(), |name| name.to_string());
    let text = error.value(py).to_string();
    let colon = if text.is_empty() { "" } else { ": " };
    let told = PolicyError::new_err(format!("policy {}: {method}() raised {kind}{colon}{text}{shown}", own.name()));
    told.set_cause(py, Some(error));
    told
}

/// A policy's object.
pub(super) struct Policy {
    own: Own,
    object: Py<PyAny>,
    watch: Arc<Watch>,
}

impl Policy {
    pub fn new(own: Own, object: Py<PyAny>) -> Self {
        let watch = Arc::new(Watch { name: own.name(), since: AtomicU64::new(0), thread: AtomicU64::new(0) });
        LazyLock::force(&START);
        WATCHES.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&watch));
        Self { own, object, watch }
    }

    pub fn own(&self) -> Own {
        self.own
    }

    /// A method it has, bound.
    pub fn method(&self, py: Python<'_>, name: &'static str) -> Option<Py<PyAny>> {
        self.object.getattr(py, name).ok().filter(|method| method.bind(py).is_callable())
    }

    /// A method it must have.
    pub fn required(&self, py: Python<'_>, name: &'static str) -> Py<PyAny> {
        self.method(py, name).unwrap_or_else(|| self.wrong(&format!("it has no method {name}()")))
    }

    /// An attribute, if it has it and it is of this type.
    pub fn attribute<'py, T: FromPyObjectOwned<'py>>(&self, py: Python<'py>, name: &str) -> Option<T> {
        self.object.bind(py).getattr(name).ok()?.extract().ok()
    }

    /// Calls `method`; an exception ends the run, with what the policy was `shown`.
    pub fn call<'py>(
        &self,
        py: Python<'py>,
        (method, name): (&Py<PyAny>, &str),
        arguments: impl IntoPyObject<'py, Target = PyTuple> + pyo3::call::PyCallArgs<'py>,
        shown: impl FnOnce() -> String,
    ) -> Bound<'py, PyAny> {
        self.watch.thread.store(thread(py), Ordering::Relaxed);
        self.watch.since.store(now(), Ordering::Relaxed);
        let answer = method.bind(py).call1(arguments);
        self.watch.since.store(0, Ordering::Relaxed);
        answer.unwrap_or_else(|error| own::stop(raised(py, self.own, name, &shown(), error)))
    }

    /// Ends the run for a wrong answer.
    pub fn wrong(&self, what: &str) -> ! {
        own::stop(PolicyError::new_err(format!("policy {}: {what}", self.own.name())))
    }
}

/// Python's number of this thread.
fn thread(py: Python<'_>) -> u64 {
    if THREAD.get() == 0 {
        let number = py.import("threading").and_then(|module| module.call_method0("get_ident")?.extract());
        THREAD.set(number.unwrap_or(0));
    }
    THREAD.get()
}
