//! The facade: scenario in, results out. `explain`, `run` and `bench` of the command line are one call each.

pub mod bench;
mod results;
mod runner;
mod stop_rule;

pub use results::{Flow, Ladder, Link, Results};
pub use runner::{EndReason, RunLimits, RunProgress};
