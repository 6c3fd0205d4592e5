//! Progress of a run: told to Python now and then, which may end the run.

use lanewise_sim::{FlowUpdate, Rates, RunProgress, Updates};
use lanewise_units::Time;
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
    flows: Option<FlowWatch>,
    failure: Option<PyErr>,
}

/// When flows are told, too.
struct FlowWatch {
    interval: Duration,
    last: Instant,
    updates: Updates,
}

impl Watch {
    /// Watches a run for a callback, which also hears of flows every so often; without one only for Ctrl-C.
    pub fn new(callback: Option<Py<PyAny>>, flows_every: Option<Duration>) -> Self {
        let now = Instant::now();
        let flows =
            flows_every.map(|interval| FlowWatch { interval, last: now, updates: Updates::default() });
        Self { callback, last: now, flows, failure: None }
    }

    /// Called by the run, without the interpreter lock. Breaks on Ctrl-C, when the callback returns `False`, and when
    /// it or the handler of a signal raises.
    pub fn look(&mut self, progress: &RunProgress<'_>) -> ControlFlow<()> {
        if self.last.elapsed() < INTERVAL {
            return ControlFlow::Continue(());
        }
        self.last = Instant::now();
        let flows = self.flows.as_mut().and_then(|flows| flows.due(progress));
        Python::attach(|py| {
            match py.check_signals().and_then(|()| self.tell(py, progress, flows)) {
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
    fn tell(
        &self,
        py: Python<'_>,
        progress: &RunProgress<'_>,
        flows: Option<Vec<FlowUpdate>>,
    ) -> PyResult<bool> {
        let Some(callback) = &self.callback else { return Ok(true) };
        let report = PyDict::new(py);
        report.set_item("simulated_s", progress.simulated.as_seconds())?;
        report.set_item("time_limit_s", progress.time_limit.as_seconds())?;
        report.set_item("events", progress.events)?;
        let since = progress.measuring_since.map(|at| (at - Time::ZERO).as_seconds());
        report.set_item("measuring_since_s", since)?;
        if let Some(flows) = flows {
            let rows = flows.iter().map(|update| row(py, update)).collect::<PyResult<Vec<_>>>()?;
            report.set_item("flows", rows)?;
        }
        let answer = callback.bind(py).call1((report,))?;
        Ok(answer.is_none() || answer.is_truthy()?)
    }
}

impl FlowWatch {
    fn due(&mut self, progress: &RunProgress<'_>) -> Option<Vec<FlowUpdate>> {
        if self.last.elapsed() < self.interval {
            return None;
        }
        self.last = Instant::now();
        Some(self.updates.next(progress))
    }
}

fn row<'py>(py: Python<'py>, update: &FlowUpdate) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("flow", &update.flow)?;
    row.set_item("device", &update.device)?;
    row.set_item("direction", update.direction)?;
    row.set_item("in_total", update.in_total)?;
    row.set_item("last", rates(py, &update.last)?)?;
    row.set_item("whole", rates(py, &update.whole)?)?;
    row.set_item("latency_ns_max", update.latency_ns_max)?;
    Ok(row)
}

fn rates<'py>(py: Python<'py>, rates: &Rates) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("goodput_gb_per_s", rates.goodput_gb_per_s)?;
    row.set_item("operations_per_s", rates.operations_per_s)?;
    row.set_item("latency_ns_mean", rates.latency_ns_mean)?;
    Ok(row)
}
