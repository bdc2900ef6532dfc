//! Trace tools besides playing.

use crate::errors::{caught, raised};
use nandlab_lab::traces::{self, InfoOptions, Part, ProfileOptions, Sharing};
use nandlab_lab::LabError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// Calls `callback` with the records read so far; false if an exception or a signal ends the work.
fn tell(callback: Option<&Py<PyAny>>, records: u64) -> bool {
    let Some(callback) = callback else { return true };
    Python::attach(|py| callback.call1(py, (records,)).and_then(|_| py.check_signals())).is_ok()
}

fn done(py: Python<'_>, result: PyResult<Result<String, LabError>>) -> PyResult<String> {
    result?.map_err(|error| raised(py, &error))
}

/// While it is entered, the runs of this process read a trace once.
#[pyclass(module = "nandlab._native")]
pub(crate) struct SharedTraces(Option<Sharing>);

#[pymethods]
impl SharedTraces {
    #[new]
    fn new() -> Self {
        Self(None)
    }

    fn __enter__(mut this: PyRefMut<'_, Self>) -> PyRefMut<'_, Self> {
        this.0 = Some(Sharing::begin());
        this
    }

    fn __exit__(&mut self, _kind: &Bound<'_, PyAny>, _error: &Bound<'_, PyAny>, _trace: &Bound<'_, PyAny>) {
        self.0 = None;
    }
}

/// The contents of the trace at `path`, as JSON; `sets` are trace options such as "format=spc".
#[pyfunction]
#[pyo3(signature = (path, sets, page_bytes, pictures, callback=None))]
#[allow(clippy::needless_pass_by_value)] // what Python hands over
pub(crate) fn trace_info(
    py: Python<'_>,
    path: &str,
    sets: Vec<String>,
    page_bytes: u64,
    pictures: bool,
    callback: Option<Py<PyAny>>,
) -> PyResult<String> {
    let work = || {
        let config = traces::options(path, &sets)?;
        let watch = |records| tell(callback.as_ref(), records);
        traces::info(&config, Path::new(""), InfoOptions { page_bytes, pictures }, &watch)
    };
    let result = py.detach(|| caught(work));
    done(py, result)
}

/// WAP-LRU's view of the trace at `path`, as JSON; `how` is a JSON object with options.
#[pyfunction]
#[pyo3(signature = (path, sets, how, callback=None))]
#[allow(clippy::needless_pass_by_value)] // what Python hands over
pub(crate) fn trace_profile(
    py: Python<'_>,
    path: &str,
    sets: Vec<String>,
    how: &str,
    callback: Option<Py<PyAny>>,
) -> PyResult<String> {
    let work = || {
        let config = traces::options(path, &sets)?;
        let watch = |records| tell(callback.as_ref(), records);
        traces::profile(&config, Path::new(""), &ProfileOptions::from_json(how)?, &watch)
    };
    let result = py.detach(|| caught(work));
    done(py, result)
}

/// The first requests in a part of a trace, as JSON.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // what Python hands over
pub(crate) fn trace_head(py: Python<'_>, path: &str, sets: Vec<String>, which: &str) -> PyResult<String> {
    let work = || traces::head(&traces::options(path, &sets)?, Path::new(""), &Part::from_json(which)?);
    let result = py.detach(|| caught(work));
    done(py, result)
}

/// Writes a part of a trace into the file `to` in `format` ("native", "csv" or "fio"); returns the result as JSON.
#[pyfunction]
#[pyo3(signature = (path, sets, which, to, format, gzip, callback=None))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)] // what Python hands over
pub(crate) fn trace_convert(
    py: Python<'_>,
    path: &str,
    sets: Vec<String>,
    which: &str,
    to: PathBuf,
    format: &str,
    gzip: bool,
    callback: Option<Py<PyAny>>,
) -> PyResult<String> {
    let work = || {
        let config = traces::options(path, &sets)?;
        let watch = |records| tell(callback.as_ref(), records);
        let to = (to.as_path(), traces::output_format(format)?, gzip);
        traces::convert(&config, Path::new(""), &Part::from_json(which)?, to, &watch)
    };
    let result = py.detach(|| caught(work));
    done(py, result)
}
