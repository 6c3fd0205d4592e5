//! What may change while a run goes on is asked of the parameter itself: not of its key, nor of words that a user's names contain.

use lanewise_scenario::{Changed, Source, change, load};

/// Names that have words of other reasons in them, over a cable, and with registers that are read.
const RIG: &str = r#"
    [host.server]
    slots = { slot1 = "gen4 x8", slot2 = "gen4 x8" }
    [link_cable.long]
    latency = "20 ns"
    [retimer.slow]
    latency = "20 ns"
    [endpoint.queue_card]
    attach = "server.slot1"
    generation = "gen4"
    width = "x8"
    link = { cable = "long", retimers = ["slow"] }
    [endpoint.nic2]
    attach = "server.slot2"
    generation = "gen4"
    width = "x8"
    [[workload]]
    kind = "mmio"
    name = "m"
    device = "queue_card"
    direction = "read"
    [[workload]]
    kind = "dma"
    name = "iommu"
    device = "nic2"
    direction = "read"
"#;

fn changed(path: &str, value: &str) -> Result<Changed, String> {
    let source = Source::from_text("rig.toml", RIG);
    let now = load(&source, &[]).expect("sound");
    change(&source, &[], (&now, &now), (path, value)).map_err(|problems| problems.to_string())
}

fn why(path: &str, value: &str) -> String {
    let refused = changed(path, value).expect_err(path);
    assert!(refused.contains("error[fixed-in-a-run]"), "{path}: {refused}");
    refused
}

/// They are used, and a load of another kind, a switch or a host has a parameter of the same key that may change.
#[test]
fn a_key_that_may_change_elsewhere_is_not_said_to_be_unused() {
    for (path, value, reason) in [
        ("workload.m.size", "8 B", "the workload began with it"),
        ("workload.m.outstanding", "2", "the workload began with it"),
        ("long.latency", "30 ns", "the machine was built with it"),
        ("slow.latency", "30 ns", "the machine was built with it"),
    ] {
        let refused = why(path, value);
        assert!(refused.contains(reason) && !refused.contains("nothing in this run uses it"), "{refused}");
    }
    let of_dma = changed("workload.iommu.size", "8 KiB").expect("of `dma` it may").values;
    assert_eq!(of_dma[0].path, "workload.iommu.size");
}

#[test]
fn the_reason_is_the_parameters_whatever_its_component_is_called() {
    for card in ["queue_card", "nic2"] {
        assert!(why(&format!("{card}.ecrc"), "true").contains("the machine was built with it"));
        assert!(why(&format!("{card}.width"), "x4").contains("link training agreed on it"));
        assert!(why(&format!("{card}.tags"), "8").contains("it is the size of a table that is in use"));
    }
    assert!(why("workload.iommu.order", "random").contains("the workload began with it"));
    assert!(why("queue_card.link.force_width", "x4").contains("link training agreed on it"));
    assert!(why("server.slots.slot1.link", "gen3 x8").contains("link training agreed on it"));
    assert!(why("run.seed", "2").contains("all of the run so far"));
}

/// What has to be there from the start is named apart: nothing says that this run has it.
#[test]
fn what_may_change_only_where_the_run_began_with_something_is_named_apart() {
    let refused = why("nic2.width", "x4");
    let (freely, in_need) =
        refused.split_once("; and these where the run began with what they need: ").expect("both");
    assert!(freely.contains("nic2.mmio_read_latency") && !freely.contains("nic2.path_rate"), "{refused}");
    assert!(
        in_need.contains("nic2.path_rate") && in_need.contains("nic2.link.bit_error_rate_upstream"),
        "{refused}"
    );
}
