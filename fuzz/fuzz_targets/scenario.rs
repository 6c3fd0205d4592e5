//! Feeds arbitrary text to the scenario loader: a scenario, then a line `---`, then overrides `path=value`.
//!
//! Run with `cargo +nightly fuzz run scenario -- -dict=fuzz/scenario.dict` in this folder's parent, after copying the
//! files of `scenarios/` into `fuzz/corpus/scenario`.

#![no_main]

use lanewise_scenario::{Source, load};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (scenario, rest) = text.split_once("\n---\n").unwrap_or((text, ""));
    let overrides: Vec<(String, String)> = rest
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(path, value)| (path.to_owned(), value.to_owned()))
        .collect();
    match load(&Source::from_text("fuzz.toml", scenario), &overrides) {
        Ok(scenario) => drop(scenario.explain()),
        // Drawing a problem must work as well as finding it.
        Err(problems) => drop((problems.to_string(), problems.records())),
    }
});
