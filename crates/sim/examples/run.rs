//! Runs a scenario file and prints its results as JSON, without Python: for profiling.
//!
//! ```text
//! cargo run --release -p lanewise-sim --example run -- scenarios/first_rig.toml [path=value …]
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints its result")]

use lanewise_scenario::{NativeFiles, Source};
use std::ops::ControlFlow;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some((path, overrides)) = asked_for() else {
        eprintln!("usage: run SCENARIO [PATH=VALUE …]");
        return ExitCode::from(2);
    };
    let source = Source::read(&path, &NativeFiles);
    let scenario = match source.and_then(|source| lanewise_sim::load(&source, &overrides)) {
        Ok(scenario) => scenario,
        Err(problems) => {
            eprintln!("{problems}");
            return ExitCode::from(2);
        }
    };
    match lanewise_sim::run(&scenario, &mut |_| ControlFlow::Continue(())) {
        Ok(results) => {
            println!("{}", serde_json::to_string_pretty(&results).expect("results are plain data"));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(2)
        }
    }
}

/// The file and the overrides of its parameters; `None` for anything else.
fn asked_for() -> Option<(String, Vec<(String, String)>)> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next()?;
    let pairs = arguments.map(|pair| {
        let (path, value) = pair.split_once('=')?;
        Some((path.to_owned(), value.to_owned()))
    });
    Some((path, pairs.collect::<Option<_>>()?))
}
