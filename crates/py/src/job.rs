//! An experiment in its own thread.

use crate::errors::{internal, raised, NandlabError};
use crate::policies::{run_permitted, stopped};
use crate::Text;
use nandlab_lab::config::Experiment;
use nandlab_lab::{run, Control, LabError, Outputs, Window};
use pyo3::prelude::*;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// One experiment's run: start it, watch it, stop it, take its record.
#[pyclass(frozen, module = "nandlab._native")]
pub(crate) struct Job {
    task: Mutex<Option<Task>>,
    control: Arc<Control>,
    outcome: Arc<Outcome>,
}

struct Task {
    experiment: Experiment,
    base: PathBuf,
    op_log: Option<PathBuf>,
    save_state: Option<PathBuf>,
    timeline: Option<PathBuf>,
    window: Window,
}

/// How a run ended, once it has.
#[derive(Default)]
struct Outcome {
    ended: Mutex<Option<Result<String, Failure>>>,
    changed: Condvar,
}

enum Failure {
    Lab(LabError),
    Internal(String),
    Policy(PyErr),
}

impl Task {
    fn run(&self, control: &Control) -> Result<String, Failure> {
        let outputs = Outputs {
            op_log: self.op_log.as_deref(),
            save_state: self.save_state.as_deref(),
            timeline: self.timeline.as_deref(),
            window: self.window,
        };
        let work = AssertUnwindSafe(|| run(&self.experiment, &self.base, control, outputs));
        match panic::catch_unwind(work) {
            Ok(Ok(record)) => Ok(record.to_json()),
            Ok(Err(error)) => Err(Failure::Lab(error)),
            Err(panic) => Err(match stopped(panic) {
                Ok(error) => Failure::Policy(error),
                Err(panic) => Failure::Internal(internal(&*panic)),
            }),
        }
    }
}

#[pymethods]
impl Job {
    /// Reads the experiment in `text`; `op_log` is a file with a line for every device operation, `save_state` one for
    /// the device after its preconditioning, `timeline` one for Perfetto, of the part of the workload in `window`.
    #[new]
    #[pyo3(signature = (text, op_log=None, save_state=None, timeline=None, window=None))]
    fn new(
        py: Python<'_>,
        text: &Text,
        op_log: Option<PathBuf>,
        save_state: Option<PathBuf>,
        timeline: Option<PathBuf>,
        window: Option<&str>,
    ) -> PyResult<Self> {
        let experiment = text.parse(py)?;
        let window = window.map_or(Ok(Window::All), str::parse);
        let window = window.map_err(|error| raised(py, &LabError::from(error)))?;
        Ok(Self {
            task: Mutex::new(Some(Task { experiment, base: text.base.clone(), op_log, save_state, timeline, window })),
            control: Arc::default(),
            outcome: Arc::default(),
        })
    }

    /// Starts the run in its own thread; a second start does nothing.
    fn start(&self) -> PyResult<()> {
        let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(()) };
        let (control, outcome) = (Arc::clone(&self.control), Arc::clone(&self.outcome));
        let thread = std::thread::Builder::new().name("nandlab run".into());
        let started = thread.spawn(move || {
            let result = run_permitted(|| task.run(&control));
            *outcome.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            outcome.changed.notify_all();
        });
        started.map(|_| ()).map_err(|error| NandlabError::new_err(format!("no thread could be started: {error}")))
    }

    /// The phase, the requests done in it, and how many it has; 0: not known.
    fn progress(&self) -> (&'static str, u64, u64) {
        let (phase, done, total) = self.control.progress();
        (phase.name(), done, total)
    }

    /// The finished share, 0 to 1; `None` while unknown.
    fn share(&self) -> Option<f64> {
        self.control.share()
    }

    /// Stops the run; its record is then marked partial.
    fn cancel(&self) {
        self.control.cancel();
    }

    /// Waits at most `seconds` for the end; whether it has come.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        // Longer waits than a day are the same to everybody, and some numbers are no durations.
        let limit = Duration::from_secs_f64(if seconds > 0.0 { seconds.min(86_400.0) } else { 0.0 });
        py.detach(|| {
            let ended = self.outcome.ended.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = self.outcome.changed.wait_timeout_while(ended, limit, |ended| ended.is_none());
            waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
        })
    }

    /// The record as JSON; waits for a started run's end.
    fn result(&self, py: Python<'_>) -> PyResult<String> {
        if self.task.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Err(NandlabError::new_err("the run was not started: call start() first"));
        }
        py.detach(|| {
            let ended = self.outcome.ended.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.outcome.changed.wait_while(ended, |ended| ended.is_none()));
        });
        let ended = self.outcome.ended.lock().unwrap_or_else(PoisonError::into_inner);
        match ended.as_ref().expect("the wait above ends when there is a result") {
            Ok(record) => Ok(record.clone()),
            Err(Failure::Lab(error)) => Err(raised(py, error)),
            Err(Failure::Policy(error)) => Err(error.clone_ref(py)),
            Err(Failure::Internal(message)) => Err(NandlabError::new_err(message.clone())),
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Nobody will ask for the result any more.
        self.control.cancel();
    }
}
