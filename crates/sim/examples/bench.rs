//! Runs the benchmarks of `lanewise bench` without Python.
//!
//! ```text
//! cargo run --release -p lanewise-sim --example bench -- [chain|mixed|tree512|tree4096 …]
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints its result")]

use lanewise_sim::bench::{NAMES, bench};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        names = NAMES.map(String::from).to_vec();
    }
    for name in names {
        let Some(result) = bench(&name) else {
            eprintln!("no benchmark `{name}`; there are {}", NAMES.join(", "));
            return ExitCode::from(2);
        };
        println!(
            "{name}: {:.2} M hops/s, {:.2} events a hop; {} hops in {:.3} s, fingerprint {}; {:.0} B a port; audits {:.2} %",
            result.tlp_hops_per_s / 1e6,
            result.events as f64 / result.tlp_hops as f64,
            result.tlp_hops,
            result.wall_s,
            result.fingerprint,
            result.bytes_per_idle_port,
            result.audit_percent,
        );
    }
    ExitCode::SUCCESS
}
