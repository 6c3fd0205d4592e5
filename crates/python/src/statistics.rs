//! The statistics that end a run, for means over several runs.

use crate::errors::wrong_argument;
use pyo3::prelude::*;

/// The value that Student's t with so many `degrees` of freedom stays below with this `probability`.
///
/// Raises `ValueError` for a probability outside 0 to 1, both excluded, and for degrees that are not positive.
#[pyfunction]
pub fn student_t(probability: f64, degrees: f64) -> PyResult<f64> {
    if !(probability > 0.0 && probability < 1.0) {
        return Err(wrong_argument("probability", &probability, "a number between 0 and 1"));
    }
    lanewise_sim::student_t(probability, degrees)
        .ok_or_else(|| wrong_argument("degrees", &degrees, "a number above 0"))
}
