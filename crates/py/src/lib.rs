//! `nandlab._native`: the laboratory for Python. Types are converted here, and nothing is decided.

mod bench;
mod errors;
mod job;

use errors::{caught, raised};
use nandlab_lab::config::{Experiment, Format};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::Path;

/// The version of the program.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The experiment in `text` with every default explicit, as JSON.
///
/// `format` is "toml" or "json", `source` names the text in errors, `base` is the folder that relative paths
/// start from, and `sets` are overrides such as "device.capacity=64MiB".
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what Python hands over
fn resolve(py: Python<'_>, text: &str, format: &str, source: &str, base: &str, sets: Vec<String>) -> PyResult<String> {
    let format = match format {
        "toml" => Format::Toml,
        "json" => Format::Json,
        other => return Err(PyValueError::new_err(format!("format {other:?} is neither \"toml\" nor \"json\""))),
    };
    let resolved = caught(|| Experiment::parse(text, format, source, Path::new(base), &sets))?;
    resolved.map(|experiment| experiment.to_json()).map_err(|error| raised(py, &error))
}

/// What a resolved experiment comes down to, as JSON: sizes of the device, and what a trace holds.
#[pyfunction]
fn inspect(py: Python<'_>, experiment: &str, base: &str) -> PyResult<String> {
    let inspected = py.detach(|| caught(|| nandlab_lab::inspect(experiment, Path::new(base))))?;
    inspected.map_err(|error| raised(py, &error))
}

/// Everything there is to choose from, as JSON.
#[pyfunction]
fn lists() -> PyResult<String> {
    caught(nandlab_lab::lists::to_json)
}

#[pymodule]
fn _native(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::add_to(py, module)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(inspect, module)?)?;
    module.add_function(wrap_pyfunction!(lists, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench, module)?)?;
    module.add_class::<job::Job>()
}
