//! A replay goes out whatever else the port is stuck on: a full retry buffer is full of what is to be replayed.

use crate::rig::results_of_file;

/// A TLP damaged, and damaged again in its replay: the replay timer sends it a third time, and no link retrains.
#[test]
fn a_replay_by_the_timer_is_not_held_up() {
    let settings = [
        ("nic0.link.bit_error_rate_upstream", "0"),
        ("nic0.link.corrupt_tlps_upstream", "[10, 13]"),
        ("run.warm_up", "0 ns"),
        ("run.time_limit", "40 us"),
    ];
    let results = results_of_file("replay", &settings);
    let down = results.links[0].upstream.time_attribution["down"].as_f64().expect("a share");
    assert!(down < 0.05, "{:.1} % of the time down", down * 100.0);
}
