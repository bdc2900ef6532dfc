//! Laboratory errors as Python exceptions; panics too.

pub(crate) mod exceptions;

use crate::policies::stopped;
pub(crate) use exceptions::NandlabError;
use exceptions::{ConfigError, DeviceFull, PolicyError, PowerLost, TraceError};
use nandlab_lab::LabError;
use pyo3::prelude::*;
use pyo3::PyErr;
use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    /// This thread's last panic location.
    static PANICKED_AT: Cell<Option<String>> = const { Cell::new(None) };
}

pub(crate) fn add_to(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NandlabError", py.get_type::<NandlabError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("TraceError", py.get_type::<TraceError>())?;
    module.add("DeviceFull", py.get_type::<DeviceFull>())?;
    module.add("PolicyError", py.get_type::<PolicyError>())?;
    module.add("PowerLost", py.get_type::<PowerLost>())?;
    for class in [py.get_type::<ConfigError>(), py.get_type::<TraceError>()] {
        for attribute in ["file", "line", "column", "key"] {
            class.setattr(attribute, py.None())?;
        }
    }
    py.get_type::<TraceError>().setattr("proposal", py.None())?;
    py.get_type::<NandlabError>().setattr("result", py.None())?;
    // A panic becomes an exception with its place; nothing else may reach the terminal.
    panic::set_hook(Box::new(|info| {
        PANICKED_AT.set(info.location().map(ToString::to_string));
    }));
    Ok(())
}

/// A laboratory error as an exception.
pub(crate) fn raised(py: Python<'_>, error: &LabError) -> PyErr {
    let message = error.to_string();
    let (raised, file, line, column, key) = match error {
        LabError::Config(at) => (ConfigError::new_err(message), &at.file, at.line, at.column, &at.key),
        LabError::Trace(at) => (TraceError::new_err(message), &at.file, at.line, at.column, &at.key),
        LabError::DeviceFull(_) => return DeviceFull::new_err(message),
        LabError::PowerLost => return PowerLost::new_err(message),
        LabError::Io(_) | LabError::OutOfTime => return NandlabError::new_err(message),
    };
    let value = raised.value(py);
    let set = value
        .setattr("file", file)
        .and_then(|()| value.setattr("line", line))
        .and_then(|()| value.setattr("column", column))
        .and_then(|()| value.setattr("key", key))
        .and_then(|()| match error {
            LabError::Trace(at) => value.setattr("proposal", &at.proposal),
            _ => Ok(()),
        });
    set.err().unwrap_or(raised)
}

/// Runs `work`; a panic is an internal error.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    panic::catch_unwind(AssertUnwindSafe(work))
        .map_err(|panic| stopped(panic).unwrap_or_else(|panic| NandlabError::new_err(internal(&*panic))))
}

/// The message about a panic in this thread.
pub(crate) fn internal(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    let place = PANICKED_AT.take().map(|place| format!(" ({place})")).unwrap_or_default();
    let text = text.unwrap_or("no reason given");
    format!("internal error: {text}{place}; please report it together with the experiment")
}
