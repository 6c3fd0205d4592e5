//! What limits a run: what could, what did by the time that requests waited, and what a larger one would bring.
//!
//! | file | holds |
//! |---|---|
//! | `candidate.rs` | what can be the limit, where it is, and what it is called |
//! | `evidence.rs` | from the results of one run, the likely limit of it and of its flows |
//! | `evidence/flow.rs` | what may limit one flow, with the share of the time that speaks for it |
//! | `suspect.rs` | such a candidate, and which of several comes first |
//! | `ends.rs`, `ways.rs` | what the devices of a workload have between them; by which parts of a host they come to memory |
//! | `open.rs` | loads that hold themselves back |
//! | `edits.rs` | edits of the scenario that make one of them larger, for a person to try |
//! | `enlarge.rs` | a scenario with one of them ten times larger |
//! | `why.rs` | the proof: the runs with each of them larger, side by side |
//!
//! By evidence of one run: no part can bring more than the share of time that is left of what is most in use, so a wire or a
//! resource that is in use nearly all the time is the limit, whatever the requester says it waits for (the bottleneck law,
//! Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10(3), 1978). Where nothing
//! is, the limit is what is outstanding over how long it takes: tags, window or credits, by the time spent waiting for each.

mod candidate;
mod edits;
mod ends;
mod enlarge;
mod evidence;
mod open;
mod suspect;
mod ways;
mod why;

pub use candidate::LimitPlace;
pub use edits::Edit;
pub use evidence::{FlowLimit, LimitedBy};
pub(crate) use evidence::{Limits, limits};
pub use why::{Larger, Why, why};
