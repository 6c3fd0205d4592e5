//! A replay goes out whatever else the port is stuck on: a full retry buffer is full of what is to be replayed.

use lanewise_scenario::NativeFiles;
use lanewise_sim::{Source, load, run};
use std::ops::ControlFlow;

/// A TLP damaged, and damaged again in its replay: the replay timer sends it a third time, and no link retrains.
#[test]
fn a_replay_by_the_timer_is_not_held_up() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/replay.toml");
    let overrides = [
        ("nic0.link.bit_error_rate_upstream", "0"),
        ("nic0.link.corrupt_tlps_upstream", "[10, 13]"),
        ("run.warm_up", "0 ns"),
        ("run.time_limit", "40 us"),
    ];
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let source = Source::read(path, &NativeFiles).unwrap_or_else(|e| panic!("{e}"));
    let scenario = load(&source, &overrides).unwrap_or_else(|e| panic!("{e}"));
    let results = run(&scenario, &mut |_| ControlFlow::Continue(())).expect("a tree");
    let down = results.links[0].upstream.time_attribution["down"].as_f64().expect("a share");
    assert!(down < 0.05, "{:.1} % of the time down", down * 100.0);
}
