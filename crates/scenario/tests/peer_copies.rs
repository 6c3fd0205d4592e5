//! Copies between pairs: from names and places to pairs, and what is refused.

use lanewise_scenario::{Scenario, Source, load};
use lanewise_workload::load::peer_copies::{PeerCopiesConfig, Waiting};

const MACHINE: &str = r#"
[host.server]
slots = { "slot1..slot3" = "gen4 x16" }
peer_to_peer = true
[endpoint.gpu]
part = "generic-gen4-x16"
count = 3
attach = "server.*"
[[workload]]
kind = "peer_copies"
name = "copies"
devices = ["gpu[*]"]
"#;

fn loaded(lines: &str) -> Result<Scenario, Vec<&'static str>> {
    let source = Source::from_text("machine.toml".to_owned(), format!("{MACHINE}{lines}"));
    load(&source, &[]).map_err(|problems| problems.codes())
}

fn config(lines: &str) -> PeerCopiesConfig {
    let scenario = loaded(lines).expect("it loads");
    scenario.workloads[0].of_kind::<PeerCopiesConfig>().expect("copies").clone()
}

#[test]
fn all_pairs_go_by_source_and_then_by_target() {
    assert_eq!(config("").pairs, [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]);
}

#[test]
fn pairs_keep_their_order() {
    let config = config("pairs = [\"2>0\", \"0 > 1\", \"2>0\"]\nwaits_for = \"both\"");
    assert_eq!(config.pairs, [[2, 0], [0, 1], [2, 0]]);
    assert_eq!(config.waiting, Waiting::Both);
}

#[test]
fn each_wrong_pair_is_reported() {
    let text = format!("{MACHINE}pairs = [\"0>1\", \"1>1\", \"0>3\", \"0-1\", \">2\"]");
    let problems = load(&Source::from_text("machine.toml".to_owned(), text), &[]).expect_err("wrong pairs");
    let said = problems.to_string();
    for wrong in ["`1>1`", "`0>3`", "`0-1`", "`>2`"] {
        assert!(said.contains(wrong), "{wrong}: {said}");
    }
    assert!(!said.contains("`0>1`"), "{said}");
}

#[test]
fn a_copy_is_between_two_devices_that_reach_each_other() {
    let alone = MACHINE.replace("gpu[*]", "gpu[1]");
    let codes =
        |text: String| load(&Source::from_text("one.toml".to_owned(), text), &[]).err().map(|it| it.codes());
    assert_eq!(codes(alone), Some(vec!["device-count"]));
    let twice = MACHINE.replace("[\"gpu[*]\"]", "[\"gpu[*]\", \"gpu[0]\"]");
    assert_eq!(codes(twice), Some(vec!["duplicate-name"]));
    let blocked = MACHINE.replace("peer_to_peer = true", "peer_to_peer = false");
    assert_eq!(codes(blocked), Some(vec!["peer-to-peer-blocked"]));
}
