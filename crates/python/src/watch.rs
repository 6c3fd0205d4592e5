//! Progress of a run: told to Python now and then, which may end the run.

use lanewise_sim::RunProgress;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How often Python is asked. Often enough for a progress bar and for Ctrl-C, too seldom to cost anything.
const INTERVAL: Duration = Duration::from_millis(100);

/// Tells Python how a run is getting on, and keeps what went wrong there.
pub struct Watch {
    callback: Option<Py<PyAny>>,
    last: Instant,
    failure: Option<PyErr>,
}

impl Watch {
    /// Watches a run for a callback, or only for Ctrl-C.
    pub fn new(callback: Option<Py<PyAny>>) -> Self {
        Self { callback, last: Instant::now(), failure: None }
    }

    /// Called by the run, without the interpreter lock. Breaks on Ctrl-C, when the callback returns `False`, and when
    /// it or the handler of a signal raises.
    pub fn look(&mut self, progress: &RunProgress) -> ControlFlow<()> {
        if self.last.elapsed() < INTERVAL {
            return ControlFlow::Continue(());
        }
        self.last = Instant::now();
        Python::attach(|py| {
            match py.check_signals().and_then(|()| self.tell(py, progress)) {
                Ok(true) => ControlFlow::Continue(()),
                Ok(false) => ControlFlow::Break(()),
                // Ctrl-C ends the run, which keeps what it measured; it is no failure.
                Err(failure) if failure.is_instance_of::<PyKeyboardInterrupt>(py) => ControlFlow::Break(()),
                Err(failure) => {
                    self.failure = Some(failure);
                    ControlFlow::Break(())
                }
            }
        })
    }

    /// What the callback or the handler of a signal raised, if one did.
    pub fn into_result(self) -> PyResult<()> {
        self.failure.map_or(Ok(()), Err)
    }

    /// Whether the run may go on.
    fn tell(&self, py: Python<'_>, progress: &RunProgress) -> PyResult<bool> {
        let Some(callback) = &self.callback else { return Ok(true) };
        let report = PyDict::new(py);
        report.set_item("simulated_s", progress.simulated.as_seconds())?;
        report.set_item("time_limit_s", progress.time_limit.as_seconds())?;
        report.set_item("events", progress.events)?;
        report.set_item("measuring", progress.measuring)?;
        let answer = callback.bind(py).call1((report,))?;
        Ok(answer.is_none() || answer.is_truthy()?)
    }
}
