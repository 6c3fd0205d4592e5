//! What a page asks its worker for, answered by this core: so that one page runs on either.

use lanewise_wasm::Door;
use pyo3::prelude::*;

/// The verbs of the module for pages, with sessions of its own. Of one thread, and with the interpreter lock held: for a process
/// that does nothing else.
#[pyclass(name = "Door", module = "lanewise._core", unsendable)]
#[derive(Default)]
pub struct PyDoor {
    door: Door,
}

#[pymethods]
impl PyDoor {
    /// A door without sessions.
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The answer to a request, both JSON.
    #[pyo3(signature = (verb, request = ""))]
    fn ask(&mut self, verb: &str, request: &str) -> String {
        self.door.ask(verb, request)
    }
}
