//! Benchmarks of the simulator.

use crate::errors::{bug, wrong_argument};
use pyo3::prelude::*;

/// Runs a benchmark once and returns its figures as JSON. The interpreter lock is released.
#[pyfunction]
pub fn bench(py: Python<'_>, name: &str) -> PyResult<String> {
    let figures = py
        .detach(|| lanewise_sim::bench::bench(name))
        .ok_or_else(|| wrong_argument("name", &name, &lanewise_sim::bench::NAMES.join(", ")))?;
    serde_json::to_string(&figures).map_err(|error| bug(&error))
}

/// Names of the benchmarks, in the order in which they are reported.
#[pyfunction]
pub fn benchmark_names() -> Vec<&'static str> {
    lanewise_sim::bench::NAMES.to_vec()
}
