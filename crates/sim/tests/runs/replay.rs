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

/// One bit in a hundred is wrong: no TLP gets through, and a link that replays without end is not nothing.
#[test]
fn a_run_that_stalls_names_the_link_that_replays_without_end() {
    let rigs = [
        ("replay", "nic0", "up"),
        ("rdma_write", "nic1", "up"),
        ("rdma_write", "nic0", "down"),
        ("mpi", "hca_b", "up"),
    ];
    for (file, device, towards) in rigs {
        let rate = format!("{device}.link.bit_error_rate_{towards}stream");
        let results = results_of_file(file, &[(&rate, "0.01"), ("run.time_limit", "50 ms")]);
        assert_eq!(results.end_reason, lanewise_sim::EndName::Stalled, "{file}");
        assert!(results.end_detail.contains("send the same again"), "{file}: {}", results.end_detail);
        let link = results.links.iter().find(|link| link.name == device).expect("its link");
        let (sender, receiver) =
            if towards == "up" { (&link.lower, &link.upper) } else { (&link.upper, &link.lower) };
        let begins = format!("{sender} waits for an Ack of {receiver} after ");
        let found = results.stalled_waiting.iter().find(|sentence| sentence.starts_with(&begins));
        let found = found.unwrap_or_else(|| panic!("{file}: {:?}", results.stalled_waiting));
        assert!(found.ends_with("TLPs or flits damaged"), "{file}: {found}");
        let limit = results.limited_by.expect("the errors");
        assert_eq!(limit.name, format!("{device}.errors_{towards}stream"), "{file}: {}", limit.sentence);
    }
}

/// A little gets through, and the adapter at the other end waits nearly all the time.
#[test]
fn errors_at_the_other_end_of_the_network_are_named() {
    let results = results_of_file("rdma_write", &[("nic0.link.bit_error_rate_upstream", "0.01")]);
    let limit = results.limited_by.expect("the errors");
    assert_eq!(limit.name, "nic0.errors_upstream", "{}", limit.sentence);
}
