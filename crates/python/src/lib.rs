//! The door to Python: convert, call, convert back.
//!
//! JSON text crosses the boundary, once per call, and the bytes of long traces in parts; nothing is called back per event. What the text means is owned by
//! the crates below and read by `python/lanewise`.

mod bench;
mod door;
mod errors;
mod ladder;
mod scenario;
mod session;
mod statistics;
mod trace;
mod watch;

use pyo3::prelude::*;

/// The compiled part of the `lanewise` package.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::bench::{bench, benchmark_names};
    #[pymodule_export]
    use crate::door::PyDoor;
    #[pymodule_export]
    use crate::errors::{InputError, ScenarioError};
    #[pymodule_export]
    use crate::ladder::{frames_carried, ladder, writes_carried};
    #[pymodule_export]
    use crate::scenario::{explain, parts, parts_like, run, scenario_schema, why};
    #[pymodule_export]
    use crate::session::PySession;
    #[pymodule_export]
    use crate::statistics::student_t;
    #[pymodule_export]
    use crate::trace::{trace, write_trace};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
