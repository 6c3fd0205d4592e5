//! The door to pages and to Node: JSON text in, JSON text out, over a C ABI.
//!
//! | file | does |
//! |---|---|
//! | `door.rs` | what a request means, and what answers it: the verbs |
//! | `answer.rs` | the JSON of an answer, and of what went wrong |
//! | `abi.rs` | the exported functions, the texts that cross, what is left after a panic; on WebAssembly only |
//!
//! The module imports nothing: no clock, no file, no console. `js/lanewise.js` loads it. The catalog is compiled in, as
//! everywhere. Leaves out: fio's job files, which the Python package reads; progress during a run, because a call returns
//! once.

#[cfg(target_family = "wasm")]
mod abi;
mod answer;
mod door;

pub use answer::{FORMAT, internal};
pub use door::{MEMORY_LIMIT, benchmark, check, explain, parts, run, scenario_schema, version};
