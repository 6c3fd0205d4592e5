//! What went over the wires.

use crate::errors::{InputError, bug, wrong_argument};
use crate::scenario::{Overrides, document, resolved, text};
use crate::watch::Watch;
use lanewise_sim::{
    Around, JsonLines, Listing, RunProgress, Scenario, TraceEnd, TraceForm, TraceKind, TraceOf, TraceRequest,
    around_name, link_names, span_from_text,
};
use lanewise_trace_formats::{Pcapng, Perfetto};
use lanewise_units::Span;
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
    source: Option<String>,
) -> PyResult<(String, String)> {
    let scenario = resolved(py, path, source, None, &overrides)?;
    let request = requested(&scenario, (start, span), links, kinds, most, what_of(around, transaction)?)?;
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
    source: Option<String>,
) -> PyResult<String> {
    let scenario = resolved(py, path, source, None, &overrides)?;
    let request = requested(&scenario, (start, span), links, kinds, most, what_of(around, transaction)?)?;
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
fn requested(
    scenario: &Scenario,
    (start, span): (&str, &str),
    links: Vec<String>,
    kinds: Vec<String>,
    most: usize,
    of: TraceOf,
) -> PyResult<TraceRequest> {
    Ok(TraceRequest {
        from: time("start", start)?,
        span: time("span", span)?,
        links: known_links(links, scenario)?,
        kinds: kinds.into_iter().map(kind).collect::<PyResult<_>>()?,
        most: most.max(1),
        of,
    })
}

fn time(name: &str, text: &str) -> PyResult<Span> {
    let allowed = "a time with its unit, such as '250 us'";
    span_from_text(text).ok_or_else(|| wrong_argument(name, &text, allowed))
}

fn what_of(around: Option<&str>, transaction: Option<&str>) -> PyResult<TraceOf> {
    match (around, transaction) {
        (None, None) => Ok(TraceOf::Window),
        (Some(_), Some(_)) => Err(InputError::new_err("around and transaction are two views: ask for one")),
        (Some(name), None) => {
            let all = [Around::WorstLatency, Around::Stall, Around::Replay, Around::FirstBlocked];
            let names = all.map(around_name).join(", ");
            let found = all.into_iter().find(|around| around_name(*around) == name);
            found
                .map(TraceOf::Around)
                .ok_or_else(|| wrong_argument("around", &name, &format!("one of {names}")))
        }
        (None, Some("worst-latency")) => Ok(TraceOf::Transaction(Around::WorstLatency)),
        (None, Some(number)) => match number.parse() {
            Ok(number) if number > 0 => Ok(TraceOf::Transaction(Around::Request(number))),
            _ => Err(wrong_argument("transaction", &number, "a number from 1 on, or worst-latency")),
        },
    }
}

fn kind(name: String) -> PyResult<TraceKind> {
    let names = TraceKind::ALL.map(TraceKind::name);
    let found = TraceKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| {
        InputError::new_err(format!("no kind is called '{name}'; there are {}", names.join(", ")))
    })
}

fn known_links(links: Vec<String>, scenario: &Scenario) -> PyResult<Vec<String>> {
    let known = link_names(scenario);
    match links.iter().find(|link| !known.contains(&link.as_str())) {
        None => Ok(links),
        Some(unknown) => {
            let known = known.join(", ");
            Err(InputError::new_err(format!("no link is called '{unknown}'; there are {known}")))
        }
    }
}
