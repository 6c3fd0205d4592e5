//! Runs a scenario with settings on top, and reads its results.

use lanewise_scenario::NativeFiles;
use lanewise_sim::{Diagnostics, Results, Scenario, Source, load, run};
use std::ops::ControlFlow;

/// Paths and values, as after `--set`.
pub type Settings<'a> = [(&'a str, &'a str)];

fn resolve(source: &Source, settings: &Settings) -> Result<Scenario, Diagnostics> {
    let owned: Vec<(String, String)> =
        settings.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    load(source, &owned)
}

fn simulate(source: &Source, settings: &Settings) -> Results {
    let scenario = resolve(source, settings).unwrap_or_else(|found| panic!("{found}"));
    run(&scenario, &mut |_| ControlFlow::Continue(())).expect("trees of devices")
}

/// A scenario that is given as text, resolved.
pub fn scenario(text: impl Into<String>, settings: &Settings) -> Scenario {
    let source = Source::from_text("rig.toml", text);
    resolve(&source, settings).unwrap_or_else(|found| panic!("{found}"))
}

/// Results of a scenario that is given as text.
pub fn results(text: impl Into<String>, settings: &Settings) -> Results {
    simulate(&Source::from_text("rig.toml", text), settings)
}

/// A file in `scenarios/`.
pub fn file(name: &str) -> Source {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Source::read(&path, &NativeFiles).unwrap_or_else(|found| panic!("{found}"))
}

/// Results of a file in `scenarios/`.
pub fn results_of_file(name: &str, settings: &Settings) -> Results {
    simulate(&file(name), settings)
}

/// Codes of what is wrong with a scenario; none for a sound one.
pub fn problems(text: impl Into<String>, settings: &Settings) -> Vec<&'static str> {
    match resolve(&Source::from_text("rig.toml", text), settings) {
        Ok(_) => Vec::new(),
        Err(found) => found.records().into_iter().map(|record| record.code).collect(),
    }
}

/// A number of any instrument.
pub fn metric(results: &Results, name: &str) -> f64 {
    let mut metrics = results.instruments.iter().flat_map(|instrument| &instrument.metrics);
    metrics.find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// Share of the time that a device spent in a state.
pub fn held_back(results: &Results, device: &str, state: &str) -> f64 {
    let found = results.requesters.iter().find(|requester| requester.device == device);
    let requester = found.unwrap_or_else(|| panic!("no requester {device}"));
    requester.time_attribution[state].as_f64().expect("a share")
}

/// So many percent off what was measured, at most.
#[track_caller]
pub fn within(percent: f64, simulated: f64, measured: f64) {
    let error = (simulated / measured - 1.0) * 100.0;
    assert!(error.abs() <= percent, "{simulated:.3} for {measured:.3}: {error:+.2} %");
}
