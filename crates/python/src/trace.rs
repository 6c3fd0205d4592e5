//! What went over the wires.

use crate::errors::{InputError, bug, wrong_argument};
use crate::scenario::{Overrides, document, resolved};
use crate::watch::Watch;
use lanewise_sim::{Scenario, TraceKind, TraceRequest, link_names, span_from_text};
use lanewise_units::Span;
use pyo3::prelude::*;

/// Simulates the scenario in a file up to the end of a window and returns what went over its links in that, as JSON and as a listing.
///
/// `start` and `span` are times with their unit. `links` are names, all without one; `kinds` are `tlp`, `dllp`, `skp`, `flit`, `wait`
/// and `error`, all without one. The last `most` rows are kept. `progress` and `source` as with [`crate::scenario::run`].
#[pyfunction]
#[pyo3(signature = (path, start, span, links, kinds, most, overrides = Vec::new(), progress = None, source = None))]
#[expect(clippy::too_many_arguments, reason = "by name, in Python")]
pub fn trace(
    py: Python<'_>,
    path: &str,
    start: &str,
    span: &str,
    links: Vec<String>,
    kinds: Vec<String>,
    most: usize,
    overrides: Overrides,
    progress: Option<Py<PyAny>>,
    source: Option<String>,
) -> PyResult<(String, String)> {
    let scenario = resolved(py, path, source, None, &overrides)?;
    let request = TraceRequest {
        from: time("start", start)?,
        span: time("span", span)?,
        links: known_links(links, &scenario)?,
        kinds: kinds.into_iter().map(kind).collect::<PyResult<_>>()?,
        most: most.max(1),
    };
    let mut watch = Watch::new(progress, None);
    let traced = py.detach(|| lanewise_sim::trace(&scenario, &request, &mut |progress| watch.look(progress)));
    watch.into_result()?;
    let traced = traced.map_err(|error| bug(&error))?;
    Ok((document(&traced)?, traced.text()))
}

fn time(name: &str, text: &str) -> PyResult<Span> {
    let allowed = "a time with its unit, such as '250 us'";
    span_from_text(text).ok_or_else(|| wrong_argument(name, &text, allowed))
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
