//! Errors of the transaction layer in scenarios: what is asked for happens, and is in the results.

use crate::rig::{Settings, results};
use lanewise_sim::Results;

const RIG: &str = r#"
title = "errors on purpose"
[run]
warm_up = "20 us"
time_limit = "1 ms"
relative_half_width = "0.001 %"
[host.server]
slots = { slot1 = "gen3 x8" }
[endpoint.card]
generation = "gen3"
width = "x8"
attach = "server.slot1"
[[workload]]
kind = "dma"
name = "copy"
device = "card"
direction = "read"
"#;

fn errors(settings: &Settings) -> (Results, Vec<(String, &'static str, u64)>) {
    let results = results(RIG, settings);
    let found = results.errors.iter().map(|error| (error.port.clone(), error.error, error.count)).collect();
    (results, found)
}

#[test]
fn nothing_goes_wrong_by_itself() {
    let (plain, found) = errors(&[]);
    assert_eq!(found, []);
    let (watched, found) = errors(&[("card.errors.completion_timeout", "50 us")]);
    assert_eq!((found, watched.fingerprint), (vec![], plain.fingerprint));
}

#[test]
fn a_lost_answer_is_a_timeout_of_the_device() {
    let settings =
        [("server.errors.unanswered_reads", "[10, 20]"), ("card.errors.completion_timeout", "100 us")];
    let (_, found) = errors(&settings);
    assert_eq!(found, [("card.port0".to_owned(), "completion_timeout", 2)]);
}

#[test]
fn poisoned_data_and_requests_for_nobody_are_reported_where_they_arrive() {
    let (_, found) = errors(&[("server.errors.poisoned", "[0]")]);
    assert_eq!(found, [("card.port0".to_owned(), "poisoned_tlp", 1)]);
    let (_, found) = errors(&[("card.errors.poisoned", "[0, 3]"), ("workload.copy.direction", "write")]);
    assert_eq!(found, [("server.slot1".to_owned(), "poisoned_tlp", 2)]);
    let (results, found) = errors(&[("workload.copy.target", "nobody")]);
    assert_eq!((found[0].0.as_str(), found[0].1), ("server.slot1", "unsupported_request"));
    assert_eq!(results.flows[0].bytes, 0);
}

#[test]
fn without_a_timeout_the_run_stalls() {
    let (results, _) = errors(&[
        ("server.errors.unanswered_reads", "[10]"),
        ("workload.copy.outstanding", "1"),
        ("run.time_limit", "20 ms"),
    ]);
    assert_eq!(results.end_reason, lanewise_sim::EndName::Stalled);
    assert_eq!(results.stalled_waiting, ["card waits for data of 1 read"]);
}
