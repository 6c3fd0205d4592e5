//! Scenarios: resolved, run, and what they may contain.

use crate::errors::{bug, scenario_error, wrong_argument};
use crate::watch::Watch;
use lanewise_scenario::{JobFile, JobOption, NativeFiles, Scenario, Source, WrittenJob};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

pub type Overrides = Vec<(String, String)>;
/// Key, value and line of an option.
type Options = Vec<(String, String, usize)>;
/// Path and text of a file of fio's jobs, and of each job the name, the line of its heading and its options.
type FioJobs = (String, String, Vec<(String, usize, Options)>);

/// The text of a scenario, or that and the texts of the files of parts that it names.
#[derive(FromPyObject)]
pub enum Text {
    Alone(String),
    WithParts(String, BTreeMap<String, String>),
}

/// Resolves the scenario in a file and returns every parameter with its provenance, as JSON.
///
/// `source` is its text, where it is not in a file, or that and the texts of its parts' files by their names in it; `path` is
/// then what messages call it. `fio` has jobs that take the
/// place of the scenario's own.
#[pyfunction]
#[pyo3(signature = (path, overrides = Vec::new(), source = None, fio = None))]
pub fn explain(
    py: Python<'_>,
    path: &str,
    overrides: Overrides,
    source: Option<Text>,
    fio: Option<FioJobs>,
) -> PyResult<String> {
    let scenario = resolved(py, path, source, fio, &overrides)?;
    document(&scenario.into_explanation())
}

/// Simulates the scenario in a file and returns its results as JSON.
///
/// The interpreter lock is released. `progress` is called with a dictionary a few times a second; when it returns
/// `False`, and on Ctrl-C in the main thread, the run ends as `Interrupted` and keeps what it measured. `source` and
/// `fio` as with [`explain`]. With `flows_every_s` the dictionary has the flows so far, that often. `threads` share the run, if they can;
/// results then say so.
#[pyfunction]
#[pyo3(signature = (path, overrides = Vec::new(), progress = None, source = None, fio = None, flows_every_s = None, threads = None))]
#[expect(clippy::too_many_arguments, reason = "each is an argument with a name in Python")]
pub fn run(
    py: Python<'_>,
    path: &str,
    overrides: Overrides,
    progress: Option<Py<PyAny>>,
    source: Option<Text>,
    fio: Option<FioJobs>,
    flows_every_s: Option<f64>,
    threads: Option<usize>,
) -> PyResult<String> {
    let flows_every = flows_every_s.map(interval).transpose()?;
    let scenario = resolved(py, path, source, fio, &overrides)?;
    let mut watch = Watch::new(progress, flows_every);
    let results = py.detach(|| match threads {
        None => lanewise_sim::run(&scenario, &mut |progress| watch.look(progress)),
        Some(threads) => lanewise_sim::run_on(&scenario, threads, &mut |progress| watch.look(progress)),
    });
    watch.into_result()?;
    document(&results.map_err(|error| bug(&error))?)
}

/// Simulates the scenario in a file, and again with each candidate for its limit ten times larger; returns the results of the
/// run as it is as JSON, with what each brings under the key `why`.
///
/// `progress` and `source` as with [`run`], and it hears of each run in turn.
#[pyfunction]
#[pyo3(signature = (path, overrides = Vec::new(), progress = None, source = None))]
pub fn why(
    py: Python<'_>,
    path: &str,
    overrides: Overrides,
    progress: Option<Py<PyAny>>,
    source: Option<Text>,
) -> PyResult<String> {
    let scenario = resolved(py, path, source, None, &overrides)?;
    let mut watch = Watch::new(progress, None);
    let found = py.detach(|| lanewise_sim::why(&scenario, &mut |progress| watch.look(progress)));
    watch.into_result()?;
    document(&found.map_err(|error| bug(&error))?)
}

fn interval(seconds: f64) -> PyResult<Duration> {
    let wrong = |_| wrong_argument("flows_every_s", &seconds, "a number of seconds, 0 or more");
    Duration::try_from_secs_f64(seconds).map_err(wrong)
}

/// Lists the catalog as JSON, every value with its provenance and source.
#[pyfunction]
pub fn parts(py: Python<'_>) -> PyResult<String> {
    let parts = lanewise_scenario::catalog().parts().map_err(|problems| scenario_error(py, &problems))?;
    document(&parts)
}

/// Names of the parts that may be meant by a name or a few words; and a hint for a name that no part has.
#[pyfunction]
pub fn parts_like(asked: &str) -> (Vec<String>, String) {
    let catalog = lanewise_scenario::catalog();
    (catalog.like(asked).into_iter().map(str::to_owned).collect(), catalog.offer(asked))
}

/// The JSON Schema of scenario files.
#[pyfunction]
pub fn scenario_schema() -> String {
    lanewise_scenario::schema().to_string()
}

pub fn resolved(
    py: Python<'_>,
    path: &str,
    source: Option<Text>,
    fio: Option<FioJobs>,
    overrides: &[(String, String)],
) -> PyResult<Scenario> {
    let load = || {
        let source = source_of(path, source)?;
        lanewise_sim::load(&source.with_jobs(fio.map(job_file)), overrides)
    };
    py.detach(load).map_err(|problems| scenario_error(py, &problems))
}

/// A scenario in a file, or a text that messages call `path`.
pub fn source_of(path: &str, source: Option<Text>) -> Result<Source, lanewise_sim::Diagnostics> {
    match source {
        Some(Text::Alone(text)) => Ok(Source::from_text(path, text)),
        Some(Text::WithParts(text, parts)) => Ok(Source::from_text(path, text).with_part_texts(parts)),
        None => Source::read(path, &NativeFiles),
    }
    .map(|source| source.with_part_files(&NativeFiles))
}

fn job_file((path, text, jobs): FioJobs) -> JobFile {
    let option = |(key, value, line)| JobOption { key, value, line };
    let jobs = jobs.into_iter().map(|(name, line, options)| WrittenJob {
        name,
        line,
        options: options.into_iter().map(option).collect(),
    });
    JobFile { kind: "fio".to_owned(), path, text, jobs: jobs.collect() }
}

/// A document as `--json` prints it, with its format in front.
pub fn document(content: &impl serde::Serialize) -> PyResult<String> {
    text(&lanewise_sim::Document::of(content))
}

pub fn text(document: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(document).map_err(|error| bug(&error))
}
