//! Policies in Python: who may run them, how they are made, called and watched.
//!
//! A name in an experiment, `module:Class`, runs nothing by itself. While an experiment is parsed, the caller's `permit` is
//! asked about each name. It imports the class and keeps it with [`allow_policy`], or answers why not. A run makes its
//! policies from what is kept.

mod blocks;
mod call;
mod placement;
mod replacement;
mod victim;
mod wear;

use crate::errors::exceptions::NandlabError;
use call::Policy;
use nandlab_lab::own::{self, About, Divided, Own, PlacementPolicy, Replaces, Stopped, VictimPolicy, WearPolicy};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use call::policy_call;

/// Names with what makes their policies: a callable that takes what a policy may know.
static ALLOWED: Mutex<Option<HashMap<String, Py<PyAny>>>> = Mutex::new(None);

fn allowed() -> MutexGuard<'static, Option<HashMap<String, Py<PyAny>>>> {
    ALLOWED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who decides about names in this thread.
enum Permit {
    /// Nobody: every name is refused.
    Nobody,
    /// A callable: from a name to None, or to the reason against it.
    Asked(Py<PyAny>),
    /// The names were permitted when the experiment was parsed.
    Before,
}

thread_local! {
    static PERMIT: RefCell<Permit> = const { RefCell::new(Permit::Nobody) };
}

/// Runs `work` with `permit` deciding about names.
pub(crate) fn with_permit<R>(py: Python<'_>, permit: Option<&Py<PyAny>>, work: impl FnOnce() -> R) -> R {
    let permit = permit.map_or(Permit::Nobody, |permit| Permit::Asked(permit.clone_ref(py)));
    let before = PERMIT.replace(permit);
    let done = work();
    PERMIT.set(before);
    done
}

/// Runs an experiment in this thread whose names were permitted.
pub(crate) fn run_permitted<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if allowed().as_ref().is_none_or(HashMap::is_empty) {
        return work();
    }
    // The thread stays known to Python, so each call only takes the lock.
    Python::attach(|py| {
        py.detach(|| {
            PERMIT.set(Permit::Before);
            work()
        })
    })
}

/// Keeps what makes a policy: `make` takes a dictionary with what the policy may know, and returns a new object.
#[pyfunction]
pub(crate) fn allow_policy(name: String, make: Py<PyAny>) {
    allowed().get_or_insert_default().insert(name, make);
}

/// The exception for a policy that ended its run.
pub(crate) fn stopped(reason: Box<dyn Any + Send>) -> Result<PyErr, Box<dyn Any + Send>> {
    let stopped = reason.downcast::<Stopped>()?;
    Ok(match stopped.0.downcast::<PyErr>() {
        Ok(error) => *error,
        Err(_) => NandlabError::new_err("a policy ended the run"),
    })
}

struct Host;

/// Makes this module the host of policies.
pub(crate) fn host() {
    own::set_ftl_host(&Host);
    own::set_buffer_host(&Host);
}

fn check(own: Own) -> Result<(), String> {
    check_name(own.name(), "is a policy in Python, which runs in experiments only")
}

/// Asks about a name; `alone` is the reason against it where nobody can be asked.
pub(crate) fn check_name(name: &str, alone: &str) -> Result<(), String> {
    PERMIT.with_borrow(|permit| match permit {
        Permit::Nobody => Err(alone.to_owned()),
        Permit::Before => Ok(()),
        Permit::Asked(permit) => Python::attach(|py| {
            let answer = permit.call1(py, (name,)).and_then(|answer| answer.extract::<Option<String>>(py));
            match answer {
                Ok(None) => Ok(()),
                Ok(Some(why)) => Err(why),
                Err(error) => Err(format!("cannot be loaded: {error}")),
            }
        }),
    })
}

/// A new object for the policy `own`.
fn make(own: Own, about: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>) -> Policy {
    Python::attach(|py| {
        let make = allowed().as_ref().and_then(|allowed| allowed.get(own.name()).map(|make| make.clone_ref(py)));
        let Some(make) = make else {
            own::stop(NandlabError::new_err(format!("policy {} was not permitted", own.name())))
        };
        let known = PyDict::new(py);
        let made = about(&known).and_then(|()| make.call1(py, (known,)));
        Policy::new(own, made.unwrap_or_else(|error| own::stop(call::raised(py, own, "start", "", error))))
    })
}

fn known(about: &About, to: &Bound<'_, PyDict>) -> PyResult<()> {
    let geometry = &about.geometry;
    to.set_item("seed", about.seed)?;
    to.set_item("dies", geometry.dies())?;
    to.set_item("blocks_per_die", geometry.blocks_per_die())?;
    to.set_item("pages_per_block", geometry.pages_per_block())?;
    to.set_item("page_bytes", geometry.page_bytes())?;
    to.set_item("logical_pages", about.logical_pages)
}

impl own::FtlHost for Host {
    fn check(&self, own: Own) -> Result<(), String> {
        check(own)
    }

    fn victim(&self, own: Own, about: &About) -> Box<dyn VictimPolicy> {
        Box::new(victim::Victim::new(make(own, |to| known(about, to))))
    }

    fn wear(&self, own: Own, about: &About) -> Box<dyn WearPolicy> {
        Box::new(wear::Wear::new(make(own, |to| known(about, to))))
    }

    fn map_cache(&self, own: Own, about: &About, entries: u32) -> Box<dyn Replaces> {
        Box::new(replacement::Replacement::new(make(own, |to| {
            known(about, to)?;
            to.set_item("entries", entries)
        })))
    }

    fn divided(&self, own: Own) -> Divided {
        placement::divided(own)
    }

    fn placement(&self, own: Own, about: &About) -> Box<dyn PlacementPolicy> {
        Box::new(placement::Placement::new(make(own, |to| known(about, to)), about))
    }
}

impl own::BufferHost for Host {
    fn check(&self, own: Own) -> Result<(), String> {
        check(own)
    }

    fn replacement(&self, own: Own, pages: u32) -> Box<dyn Replaces> {
        Box::new(replacement::Replacement::new(make(own, |to| to.set_item("pages", pages))))
    }
}
