//! The one place where errors become Python exceptions.

use lanewise_scenario::Diagnostics;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

create_exception!(
    lanewise,
    InputError,
    PyException,
    "Wrong input. str() says what was found, what is allowed, and what to do about it."
);

create_exception!(
    lanewise,
    ScenarioError,
    InputError,
    "A scenario cannot be used. str() is the report for a person; `diagnostics` lists the mistakes."
);

/// Every mistake of a scenario at once: the text as `rustc` would write it, and one dictionary for each.
pub fn scenario_error(py: Python<'_>, diagnostics: &Diagnostics) -> PyErr {
    let error = ScenarioError::new_err(diagnostics.to_string());
    match records(py, diagnostics).and_then(|list| error.value(py).setattr("diagnostics", list)) {
        Ok(()) => error,
        Err(failure) => failure,
    }
}

fn records<'py>(py: Python<'py>, diagnostics: &Diagnostics) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for record in diagnostics.records() {
        let entry = PyDict::new(py);
        entry.set_item("code", record.code)?;
        entry.set_item("message", record.message)?;
        entry.set_item("path", record.path)?;
        entry.set_item("line", record.line)?;
        entry.set_item("column", record.column)?;
        entry.set_item("hint", record.hint)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// An argument of a function, not of a scenario, is wrong.
pub fn wrong_argument(name: &str, found: &dyn std::fmt::Debug, allowed: &str) -> PyErr {
    PyValueError::new_err(format!("{name} is {found:?}; allowed is {allowed}"))
}

/// Something that resolving a scenario has excluded happened anyway.
pub fn bug(error: &dyn std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
