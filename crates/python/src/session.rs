//! A run that Python stops, looks into, changes and lets go on.
//!
//! The session lives in a thread of its own, which does one task after another: so any thread of Python may ask, and none of them
//! holds the interpreter lock while the simulator works.

use crate::errors::{bug, scenario_error, wrong_argument};
use crate::scenario::{Overrides, Text, document, source_of, text};
use lanewise_sim::{Diagnostics, Ends, Session, Status, span_from_text};
use lanewise_units::{Span, Time};
use pyo3::prelude::*;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Events between two looks at whether Ctrl-C was pressed.
const SLICE: u64 = 1 << 17;

type Task = Box<dyn FnOnce(&mut Session<'static>) + Send>;

/// A scenario at work. Whatever takes long releases the interpreter lock.
#[pyclass(name = "Session", module = "lanewise._core", frozen)]
pub struct PySession {
    tasks: Sender<Task>,
}

impl PySession {
    /// Has a task done, and waits for what it comes to.
    fn ask<R: Send + 'static>(
        &self,
        py: Python<'_>,
        task: impl FnOnce(&mut Session<'static>) -> R + Send + 'static,
    ) -> PyResult<R> {
        let (answer, answered) = channel();
        // No caller waits for an answer any more when the interpreter ends.
        let task: Task = Box::new(move |session| drop(answer.send(task(session))));
        let tasks = &self.tasks;
        py.detach(move || tasks.send(task).ok().and_then(|()| answered.recv().ok()))
            .ok_or_else(|| bug(&"the session has ended for a reason that it told on stderr"))
    }
}

/// Loads a scenario, and does every task with it until no caller has one any more.
fn work(
    load: impl FnOnce() -> Result<Session<'static>, Diagnostics> + Send + 'static,
) -> Result<Sender<Task>, Diagnostics> {
    let (loaded, is_loaded) = channel();
    let (tasks, given) = channel::<Task>();
    thread::spawn(move || match load() {
        Ok(mut session) => {
            drop(loaded.send(Ok(())));
            given.into_iter().for_each(|task| task(&mut session));
        }
        Err(problems) => drop(loaded.send(Err(problems))),
    });
    is_loaded.recv().expect("loading comes to an end").map(|()| tasks)
}

/// The end of a step: a time from now on, or that of the run.
fn end_of_step(now: Time, span: Option<Span>) -> Time {
    span.map_or(Time::NEVER, |span| now + span.min(Time::NEVER - now))
}

#[pymethods]
impl PySession {
    /// A scenario at rest at its start: a file, or a text that messages call `path`. With `ends_when_narrow` the run ends when its
    /// results are narrow enough, as `run` does.
    #[new]
    #[pyo3(signature = (path, overrides = Vec::new(), source = None, ends_when_narrow = false))]
    fn new(
        py: Python<'_>,
        path: String,
        overrides: Overrides,
        source: Option<Text>,
        ends_when_narrow: bool,
    ) -> PyResult<Self> {
        let ends = if ends_when_narrow { Ends::WhenNarrow } else { Ends::AtItsLimits };
        let load = move || Session::load(source_of(&path, source)?, &overrides, ends);
        let tasks = py.detach(|| work(load)).map_err(|problems| scenario_error(py, &problems))?;
        Ok(Self { tasks })
    }

    /// Goes on for so long, or to its end where nothing is said. Whether it can go on. On Ctrl-C it stops where it is.
    #[pyo3(signature = (span = None))]
    fn step(&self, py: Python<'_>, span: Option<&str>) -> PyResult<bool> {
        let parsed = span.map(|span| {
            let allowed = "a time with its unit, such as '250 us'";
            span_from_text(span).ok_or_else(|| wrong_argument("span", &span, allowed))
        });
        let span = parsed.transpose()?;
        let until = self.ask(py, move |session| end_of_step(session.now(), span))?;
        loop {
            let slice = self.ask(py, move |session| {
                let last = session.events().saturating_add(SLICE);
                (session.advance(until, SLICE), session.events() < last)
            });
            match slice? {
                (Status::Over, _) => return Ok(false),
                (Status::Paused, true) => return Ok(true),
                (Status::Paused, false) => py.check_signals()?,
            }
        }
    }

    /// What is there now, and what has happened since the last call, as JSON.
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        document(&self.ask(py, Session::state)?)
    }

    /// Results so far as JSON, as `run` has them.
    fn results(&self, py: Python<'_>) -> PyResult<String> {
        document(&self.ask(py, Session::results)?)
    }

    /// Changes a parameter from now on. What became another value, as JSON: `path`, `before`, `after`.
    fn change(&self, py: Python<'_>, path: String, value: String) -> PyResult<String> {
        let changed = self.ask(py, move |session| session.change(&path, &value))?;
        text(&changed.map_err(|problems| scenario_error(py, &problems))?)
    }

    /// Simulated time, s.
    #[getter]
    fn now_s(&self, py: Python<'_>) -> PyResult<f64> {
        self.ask(py, |session| (session.now() - Time::ZERO).as_seconds())
    }

    /// Why the run is over; none while it can go on.
    #[getter]
    fn end_reason(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.ask(py, |session| session.end_reason().map(|reason| reason.name().to_string()))
    }

    /// Hash of what went over the links so far and of the changes, 16 hexadecimal digits.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, |session| format!("{:016x}", session.fingerprint()))
    }
}
