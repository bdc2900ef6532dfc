//! Simulator speed.

use crate::errors::{caught, raised};
use pyo3::prelude::*;

/// Measures the benches in `names` (all if it is empty), as a JSON list.
///
/// Calls `callback` with a text line before each measurement; an exception there ends the bench.
#[pyfunction]
#[pyo3(signature = (names, quick, callback=None))]
#[allow(clippy::needless_pass_by_value)] // what Python hands over
pub(crate) fn bench(py: Python<'_>, names: Vec<String>, quick: bool, callback: Option<Py<PyAny>>) -> PyResult<String> {
    let mut stopped = None;
    let mut tell = |line: &str| {
        let Some(callback) = &callback else { return true };
        stopped = Python::attach(|py| callback.call1(py, (line,)).and_then(|_| py.check_signals())).err();
        stopped.is_none()
    };
    let measured = py.detach(|| caught(|| nandlab_lab::bench::run(&names, quick, &mut tell)))?;
    match stopped {
        Some(error) => Err(error),
        None => measured.map(|figures| nandlab_lab::bench::to_json(&figures)).map_err(|error| raised(py, &error)),
    }
}
