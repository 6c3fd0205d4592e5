//! The one place where errors become Python exceptions.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An argument of a function, not of a scenario, is wrong.
pub fn wrong_argument(name: &str, found: &dyn std::fmt::Debug, allowed: &str) -> PyErr {
    PyValueError::new_err(format!("{name} is {found:?}; allowed is {allowed}"))
}
