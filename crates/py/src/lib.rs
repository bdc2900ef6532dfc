//! `nandlab._native`: the laboratory for Python. Types are converted here, and nothing is decided.

mod bench;
mod disk;
mod errors;
mod firmware;
mod job;
mod policies;
mod traces;

use errors::{caught, raised};
use nandlab_lab::config::{Experiment, Format};
use nandlab_lab::{ByteCount, LabError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// The program version.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// An experiment's text.
///
/// `format` is "toml" or "json", `source` names the text in errors (empty: they name no place), `base` is the folder
/// for relative paths, and `sets` are overrides such as "device.capacity=64MiB". `permit` is asked about each policy in
/// Python: it takes a name, keeps what makes the policy with `allow_policy`, and returns None or the reason against it.
#[pyclass(frozen, module = "nandlab._native")]
struct Text {
    text: String,
    format: Format,
    source: String,
    base: PathBuf,
    sets: Vec<String>,
    permit: Option<Py<PyAny>>,
}

#[pymethods]
impl Text {
    #[new]
    #[pyo3(signature = (text, format, source, base, sets, permit=None))]
    fn new(
        text: String,
        format: &str,
        source: String,
        base: PathBuf,
        sets: Vec<String>,
        permit: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let format = match format {
            "toml" => Format::Toml,
            "json" => Format::Json,
            other => return Err(PyValueError::new_err(format!("format {other:?} is neither \"toml\" nor \"json\""))),
        };
        // Errors then name files in the current folder as the experiment does, without `./`.
        let base = if base == Path::new(".") { PathBuf::new() } else { base };
        Ok(Self { text, format, source, base, sets, permit })
    }

    /// The experiment with every default explicit, as JSON.
    fn resolve(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.parse(py)?.to_json())
    }

    /// The experiment's resolved sizes, as JSON: the device's, and a trace's contents.
    fn inspect(&self, py: Python<'_>) -> PyResult<String> {
        let experiment = self.parse(py)?;
        let inspected = policies::with_permit(py, self.permit.as_ref(), || {
            py.detach(|| caught(|| nandlab_lab::inspect(&experiment, &self.base)))
        })?;
        inspected.map_err(|error| raised(py, &error))
    }
}

impl Text {
    /// A disk's settings: the experiment without its workload.
    fn parse_disk(&self, py: Python<'_>) -> PyResult<Experiment> {
        let parsed = caught(|| Experiment::parse_disk(&self.text, self.format, &self.source, &self.base, &self.sets))?;
        parsed.map_err(|error| raised(py, &error))
    }

    fn parse(&self, py: Python<'_>) -> PyResult<Experiment> {
        let parsed = policies::with_permit(py, self.permit.as_ref(), || {
            caught(|| Experiment::parse(&self.text, self.format, &self.source, &self.base, &self.sets))
        })?;
        parsed.map_err(|error| raised(py, &error))
    }
}

/// Bytes in a size such as "4 KiB", as experiments have it; the reason as an error if it is none.
#[pyfunction]
fn byte_count(text: &str) -> PyResult<u64> {
    text.parse::<ByteCount>().map(|count| count.0).map_err(PyValueError::new_err)
}

/// The units of a size, and the bytes of each.
#[pyfunction]
fn byte_units() -> Vec<(&'static str, u64)> {
    nandlab_lab::byte_units().to_vec()
}

/// Everything there is to choose from, as JSON.
#[pyfunction]
fn lists() -> PyResult<String> {
    caught(nandlab_lab::lists::to_json)
}

/// The bundled papers: each name with its TOML text.
#[pyfunction]
fn papers() -> Vec<(&'static str, &'static str)> {
    nandlab_lab::papers::LIST.iter().map(|paper| (paper.name, paper.text)).collect()
}

/// The papers' searches, if any: each name with its CSV text.
#[pyfunction]
fn searches() -> Vec<(&'static str, &'static str)> {
    nandlab_lab::papers::SEARCHES.iter().map(|search| (search.name, search.text)).collect()
}

/// A TOML text as JSON, with its keys' lines; `source` names it in errors.
#[pyfunction]
fn toml_to_json(py: Python<'_>, text: &str, source: &str) -> PyResult<String> {
    let parsed = caught(|| nandlab_lab::papers::toml_to_json(text, source))?;
    parsed.map_err(|error| raised(py, &LabError::from(error)))
}

#[pymodule]
fn _native(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::add_to(py, module)?;
    policies::host();
    firmware::host();
    module.add_function(wrap_pyfunction!(policies::allow_policy, module)?)?;
    module.add_function(wrap_pyfunction!(firmware::allow_firmware, module)?)?;
    module.add_function(wrap_pyfunction!(policies::policy_call, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(byte_count, module)?)?;
    module.add_function(wrap_pyfunction!(byte_units, module)?)?;
    module.add_function(wrap_pyfunction!(lists, module)?)?;
    module.add_function(wrap_pyfunction!(papers, module)?)?;
    module.add_function(wrap_pyfunction!(searches, module)?)?;
    module.add_function(wrap_pyfunction!(toml_to_json, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_profile, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_head, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(disk::disk_create, module)?)?;
    module.add_function(wrap_pyfunction!(disk::disk_info, module)?)?;
    module.add_function(wrap_pyfunction!(disk::disk_rescue, module)?)?;
    module.add_function(wrap_pyfunction!(disk::disk_ask, module)?)?;
    module.add_class::<disk::Disk>()?;
    module.add_class::<Text>()?;
    module.add_class::<traces::SharedTraces>()?;
    module.add_class::<job::Job>()
}
