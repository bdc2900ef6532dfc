//! The blocks of a die as a policy sees them: arrays of numpy that it can read and not change.

use nandlab_lab::own::{BlockUse, Blocks};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is shown during a call.
#[derive(Clone, Copy)]
struct Shown {
    blocks: Blocks<'static>,
    /// Programs so far.
    programs: u64,
}

/// An array and its memory.
struct Column {
    bytes: Py<PyByteArray>,
    array: Py<PyAny>,
}

impl Column {
    fn new(py: Python<'_>, kind: &str, length: usize) -> PyResult<Self> {
        let bytes = PyByteArray::new(py, &[]);
        bytes.resize(4 * length)?;
        // Of a read-only view, so nobody makes it writable again.
        let view = PyMemoryView::from(&bytes)?.call_method0("toreadonly")?;
        let array = py.import("numpy")?.call_method1("frombuffer", (view, kind))?;
        Ok(Self { bytes: bytes.unbind(), array: array.unbind() })
    }

    /// Brings the array up to date.
    fn fill(&self, py: Python<'_>, numbers: impl Iterator<Item = u32>) -> Py<PyAny> {
        let bytes = self.bytes.bind(py);
        #[allow(unsafe_code)]
        // SAFETY: the interpreter is held, nothing below runs Python, and an array cannot resize its memory.
        let to = unsafe { bytes.as_bytes_mut() };
        for (place, number) in to.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        self.array.clone_ref(py)
    }
}

/// The arrays, for dies of one size.
struct Columns {
    length: usize,
    valid: Column,
    ages: Column,
    erases: Column,
    states: Column,
}

impl Columns {
    fn new(py: Python<'_>, length: usize) -> PyResult<Self> {
        let column = || Column::new(py, "int32", length);
        Ok(Self { length, valid: column()?, ages: column()?, erases: column()?, states: column()? })
    }
}

/// The blocks of one die, during a call. A block's number is its place in the die.
///
/// An array keeps its place from call to call and is brought up to date when it is asked for. So a policy may keep one; its
/// contents are those of the last time.
#[pyclass(frozen, name = "Blocks", module = "nandlab.policy")]
pub(super) struct View {
    shown: Mutex<Option<Shown>>,
    columns: Mutex<Option<Columns>>,
}

impl View {
    pub fn new(py: Python<'_>) -> PyResult<Py<Self>> {
        Py::new(py, Self { shown: Mutex::new(None), columns: Mutex::new(None) })
    }

    /// Shows `blocks` while `work` runs.
    pub fn during<R>(&self, blocks: Blocks<'_>, programs: u64, work: impl FnOnce() -> R) -> R {
        #[allow(unsafe_code)]
        // SAFETY: it is taken away below before `blocks` ends, also when `work` unwinds, and nobody else keeps a copy.
        let blocks = unsafe { std::mem::transmute::<Blocks<'_>, Blocks<'static>>(blocks) };
        *self.slot() = Some(Shown { blocks, programs });
        let _hidden = Hidden(self);
        work()
    }

    fn slot(&self) -> MutexGuard<'_, Option<Shown>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> PyResult<MutexGuard<'_, Option<Shown>>> {
        let slot = self.slot();
        if slot.is_none() {
            return Err(PyRuntimeError::new_err("blocks can be looked at during a call only"));
        }
        Ok(slot)
    }

    fn with<R>(&self, work: impl FnOnce(Shown) -> R) -> PyResult<R> {
        // Held while it is used: the call cannot end meanwhile.
        let slot = self.now()?;
        Ok(work(slot.expect("it was just looked at")))
    }

    fn filled(&self, py: Python<'_>, fill: impl FnOnce(&Columns, Shown) -> Py<PyAny>) -> PyResult<Py<PyAny>> {
        self.with(|shown| {
            let length = shown.blocks.words().len();
            let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
            if columns.as_ref().is_none_or(|columns| columns.length != length) {
                *columns = Some(Columns::new(py, length)?);
            }
            Ok(fill(columns.as_ref().expect("they were just made"), shown))
        })?
    }
}

/// Takes away what is shown.
struct Hidden<'a>(&'a View);

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        *self.0.slot() = None;
    }
}

/// Block numbers as an array of their own.
pub(super) fn numbers(py: Python<'_>, numbers: impl Iterator<Item = u32>) -> PyResult<Py<PyAny>> {
    let mut bytes = Vec::new();
    numbers.for_each(|number| bytes.extend_from_slice(&number.to_ne_bytes()));
    Ok(py.import("numpy")?.call_method1("frombuffer", (PyBytes::new(py, &bytes), "int32"))?.unbind())
}

#[pymethods]
impl View {
    /// The die; 0 for an FTL that looks at all dies together.
    #[getter]
    fn die(&self) -> PyResult<u32> {
        self.with(|shown| shown.blocks.die())
    }

    /// Pages in a block.
    #[getter]
    fn pages_per_block(&self) -> PyResult<u32> {
        self.with(|shown| shown.blocks.pages_per_block())
    }

    /// Pages programmed so far.
    #[getter]
    fn programs(&self) -> PyResult<u64> {
        self.with(|shown| shown.programs)
    }

    /// By block, int32: a closed block's valid pages; a block that cannot be a victim has 16,384 or more.
    #[getter]
    fn valid(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.filled(py, |columns, shown| columns.valid.fill(py, shown.blocks.words().iter().map(|&word| word as u32)))
    }

    /// By block, int32: a closed block's age in programs divided by the pages of a block, 0 and up.
    #[getter]
    fn ages(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.filled(py, |columns, Shown { blocks, programs }| {
            let now = blocks.clock(programs);
            let ages = blocks.closed_at().iter().map(|closed_at| now.wrapping_sub(*closed_at));
            columns.ages.fill(py, ages)
        })
    }

    /// By block, int32: its known erases.
    #[getter]
    fn erases(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.filled(py, |columns, shown| columns.erases.fill(py, shown.blocks.all_cycles().iter().copied()))
    }

    /// By block, int32: 0 closed, 1 being filled or emptied, 2 free, 3 bad.
    #[getter]
    fn states(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.filled(py, |columns, Shown { blocks, .. }| {
            columns.states.fill(py, (0..blocks.words().len()).map(|place| state(blocks.usage(blocks.at(place)))))
        })
    }

    /// The closed block that was filled first.
    #[getter]
    fn first(&self) -> PyResult<Option<u32>> {
        self.with(|Shown { blocks, .. }| blocks.oldest_first().next().map(|block| block.0 - blocks.at(0).0))
    }

    /// The closed blocks, int32, in the order in which they were filled.
    #[getter]
    fn oldest(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.with(|Shown { blocks, .. }| {
            let first = blocks.at(0).0;
            numbers(py, blocks.oldest_first().map(|block| block.0 - first))
        })?
    }

    fn __repr__(&self) -> String {
        self.slot().map_or_else(|| "<Blocks outside a call>".to_owned(), |shown| described(shown.blocks))
    }
}

fn state(usage: BlockUse) -> u32 {
    match usage {
        BlockUse::Closed => 0,
        BlockUse::Open => 1,
        BlockUse::Free => 2,
        BlockUse::Bad => 3,
    }
}

/// What a policy was shown, in words.
pub(super) fn described(blocks: Blocks<'_>) -> String {
    let closed = || blocks.words().iter().filter(|&&word| word < Blocks::CLOSED);
    let (least, most) = (closed().min().unwrap_or(&0), closed().max().unwrap_or(&0));
    format!(
        "<Blocks of die {}: {} closed of {}, with {least} to {most} valid pages>",
        blocks.die(),
        closed().count(),
        blocks.words().len()
    )
}
