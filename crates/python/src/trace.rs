//! What went over the wires.

use crate::errors::{InputError, bug, wrong_argument};
use crate::scenario::{Overrides, Text, document, resolved, text};
use crate::watch::Watch;
use lanewise_sim::{
    JsonLines, Listing, RunProgress, Scenario, TraceEnd, TraceForm, TraceOf, TraceRequest, TraceWords,
    WrongWords,
};
use lanewise_trace_formats::{Pcapng, Perfetto};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ops::ControlFlow;

/// Simulates the scenario in a file up to the end of a window and returns what went over its links in that, as JSON and as a listing.
///
/// `start` and `span` are times with their unit. `links` are names, all without one; `kinds` are `tlp`, `dllp`, `skp`, `flit`, `blocked`,
/// `queued` and `error`, all but `queued` without one. The last `most` rows are kept. `around` is `worst-latency`, `stall`, `replay` or
/// `first-blocked`; `transaction` is `worst-latency` or a number from 1 on. `progress` and `source` as with [`crate::scenario::run`].
#[pyfunction]
#[pyo3(signature = (path, start, span, links, kinds, most, around = None, transaction = None, overrides = Vec::new(), progress = None, source = None))]
#[expect(clippy::too_many_arguments, reason = "by name, in Python")]
pub fn trace(
    py: Python<'_>,
    path: &str,
    start: &str,
    span: &str,
    links: Vec<String>,
    kinds: Vec<String>,
    most: usize,
    around: Option<&str>,
    transaction: Option<&str>,
    overrides: Overrides,
    progress: Option<Py<PyAny>>,
    source: Option<Text>,
) -> PyResult<(String, String)> {
    let scenario = resolved(py, path, source, None, &overrides)?;
    let (start, span) = (start.to_owned(), span.to_owned());
    let (around, transaction) = (around.map(str::to_owned), transaction.map(str::to_owned));
    let words = TraceWords { start, span, links, kinds, last: most, around, transaction, request: None };
    let request = requested(&scenario, &words)?;
    let mut watch = Watch::new(progress, None);
    let traced = py.detach(|| lanewise_sim::trace(&scenario, &request, &mut |progress| watch.look(progress)));
    watch.into_result()?;
    let traced = traced.map_err(|error| bug(&error))?;
    Ok((document(&traced)?, traced.text()))
}

/// Simulates the scenario in a file up to the end of a window, and hands what went over its links over as bytes while the run goes on:
/// memory does not grow with the window. Returns rows, end and fingerprint as JSON.
///
/// `form` is `text`, `jsonl`, `perfetto` or `pcapng`. `put` is called with each part; when it raises, and on Ctrl-C in the main thread,
/// the trace is broken off. The others as with [`trace`]; with `around` or `transaction` the last `most` rows are kept, and written at the end.
#[pyfunction]
#[pyo3(signature = (path, start, span, links, kinds, form, put, most = usize::MAX, around = None, transaction = None, overrides = Vec::new(), progress = None, source = None))]
#[expect(clippy::too_many_arguments, reason = "by name, in Python")]
pub fn write_trace(
    py: Python<'_>,
    path: &str,
    start: &str,
    span: &str,
    links: Vec<String>,
    kinds: Vec<String>,
    form: &str,
    put: Py<PyAny>,
    most: usize,
    around: Option<&str>,
    transaction: Option<&str>,
    overrides: Overrides,
    progress: Option<Py<PyAny>>,
    source: Option<Text>,
) -> PyResult<String> {
    let scenario = resolved(py, path, source, None, &overrides)?;
    let (start, span) = (start.to_owned(), span.to_owned());
    let (around, transaction) = (around.map(str::to_owned), transaction.map(str::to_owned));
    let words = TraceWords { start, span, links, kinds, last: most, around, transaction, request: None };
    let request = requested(&scenario, &words)?;
    let mut form: Box<dyn TraceForm + Send> = match form {
        "text" => Box::new(Listing::default()),
        "jsonl" => Box::new(JsonLines),
        "perfetto" => Box::new(Perfetto::default()),
        "pcapng" => Box::new(Pcapng::default()),
        _ => return Err(wrong_argument("form", &form, "text, jsonl, perfetto or pcapng")),
    };
    let (mut watch, mut failure) = (Watch::new(progress, None), None);
    let mut hand_over = |part: &[u8]| {
        let taken = Python::attach(|py| put.bind(py).call1((PyBytes::new(py, part),)).map(drop));
        taken.map_or_else(
            |error| {
                failure = Some(error);
                ControlFlow::Break(())
            },
            ControlFlow::Continue,
        )
    };
    let end = py.detach(|| {
        let mut look = |progress: &RunProgress<'_>| watch.look(progress);
        if request.of == TraceOf::Window {
            return lanewise_sim::write_trace(&scenario, &request, form.as_mut(), &mut hand_over, &mut look);
        }
        let traced = lanewise_sim::trace(&scenario, &request, &mut look)?;
        let is_whole = hand_over(&traced.write(form.as_mut())).is_continue();
        Ok(TraceEnd { is_whole, ..traced.end() })
    });
    failure.map_or(Ok(()), Err)?;
    watch.into_result()?;
    text(&end.map_err(|error| bug(&error))?)
}

/// What is asked for, in the words of Python.
fn requested(scenario: &Scenario, words: &TraceWords) -> PyResult<TraceRequest> {
    words.of(scenario).map_err(|wrong| match wrong {
        WrongWords::Value { name, found, allowed } => wrong_argument(name, &found, &allowed),
        WrongWords::Other(sentence) => InputError::new_err(sentence),
    })
}
