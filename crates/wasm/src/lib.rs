//! The door to pages and to Node: JSON text in, JSON text out, over a C ABI.
//!
//! | file | does |
//! |---|---|
//! | `door.rs` | what a request means, and what answers it: the verbs |
//! | `traced.rs` | what went over the wires, as rows and as files |
//! | `session.rs` | runs that stop, are looked into, changed, and go on |
//! | `answer.rs` | the JSON of an answer, and of what went wrong |
//! | `asked.rs` | verbs by name, for a host that links the crate |
//! | `abi.rs` | the exported functions, the texts that cross, what is left after a panic; on WebAssembly only |
//!
//! The module imports nothing: no clock, no file, no console. `js/lanewise.js` loads it. The catalog is compiled in, as
//! everywhere. Leaves out: fio's job files, which the Python package reads. A call returns once, so a host that wants to hear of progress steps a session.

#[cfg(target_family = "wasm")]
mod abi;
mod answer;
mod asked;
mod door;
#[cfg(test)]
mod rig;
mod session;
mod traced;

pub use answer::internal;
pub use asked::Door;
pub use door::{MEMORY_LIMIT, benchmark, check, explain, ladder, parts, run, scenario_schema, version, wire};
pub use session::Sessions;
pub use traced::{MOST_FILE_BYTES, MOST_ROWS, trace};
