//! What a host's memory path is told and does not read is remarked upon, and no more than that.

use lanewise_scenario::{Scenario, Source, load};

/// A card below a switch.
const RIG: &str = "[host.server]\nslots = { slot1 = \"gen4 x16\" }\n\
                [switch.sw]\nattach = \"server.slot1\"\nports = { port0 = \"gen4 x16\", port1 = \"gen4 x8\" }\n\
                [endpoint.card]\nattach = \"sw.port1\"\ngeneration = \"gen4\"\nwidth = \"x8\"\n\
                [[workload]]\nkind = \"dma\"\nname = \"job\"\ndevice = \"card\"\ndirection = \"read\"\n";

/// The rig, with what the test adds on the command line.
fn rig(overrides: &[(&str, &str)]) -> Scenario {
    let pair = |(path, value): &(&str, &str)| ((*path).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = overrides.iter().map(pair).collect();
    load(&Source::from_text("rig.toml", RIG), &overrides).unwrap_or_else(|problems| panic!("{problems}"))
}

fn told(scenario: &Scenario) -> Vec<&str> {
    scenario.remarks.iter().map(|remark| remark.path.as_str()).collect()
}

/// A cache that is smaller than a block in each way would be larger than it says.
#[test]
fn a_cache_has_room_for_a_block_in_each_way() {
    let with = |ways: &str| {
        let settings =
            [("server.llc.size", "64 KiB"), ("server.llc.ways", ways), ("server.llc.block", "4 KiB")];
        let pair = |(path, value): (&str, &str)| (path.to_owned(), value.to_owned());
        load(&Source::from_text("rig.toml", RIG), &settings.map(pair))
    };
    assert!(with("16").is_ok());
    let problems = with("17").expect_err("68 KiB are needed").to_string();
    assert!(problems.contains("`server.llc.size` is 64 KiB") && problems.contains("68 KiB"), "{problems}");
}

/// A value that nothing reads, and what has to be there for it.
const NEEDS: [(&str, &str, &str, &str); 11] = [
    ("server.llc.device_ways", "4", "server.llc.size", "8 MiB"),
    ("server.llc.latency", "100 ns", "server.llc.size", "8 MiB"),
    ("card.buffers", "warm", "server.llc.size", "8 MiB"),
    ("server.memory.row_cycle", "50 ns", "server.memory.banks", "16"),
    ("server.memory.row", "4 KiB", "server.memory.banks", "16"),
    ("server.memory.interleave", "1 KiB", "server.memory.channels", "4"),
    ("server.memory.interleave", "1 KiB", "server.memory.banks", "16"),
    ("server.peer.latency", "100 ns", "server.peer_to_peer", "true"),
    ("server.peer.rate", "5 GB/s", "sw.acs_redirect", "true"),
    ("server.root_port_queue", "4", "server.shared_outbound_queue", "8"),
    ("server.iommu.walk_interval", "1 us", "server.iommu.enabled", "true"),
];

#[test]
fn a_value_without_what_it_needs_is_told_of() {
    for (path, value, needed, there) in NEEDS {
        let alone = rig(&[(path, value)]);
        assert_eq!(told(&alone), [path], "without {needed}");
        let both = rig(&[(path, value), (needed, there)]);
        assert_eq!(told(&both), [""; 0], "{path} with {needed}");
    }
}

/// A root port with several virtual channels has no queue in which lines wait; one with VC0 alone has.
#[test]
fn a_queue_that_no_root_port_has_is_told_of() {
    let queue = ("server.completion_queue", "4");
    let channels = "[[1]]";
    assert_eq!(told(&rig(&[queue])), [""; 0]);
    assert_eq!(told(&rig(&[queue, ("sw.link.virtual_channels", channels)])), ["server.completion_queue"]);
    assert_eq!(told(&rig(&[queue, ("card.link.virtual_channels", channels)])), [""; 0]);
}

#[test]
fn defaults_that_nothing_reads_are_not_in_force() {
    let scenario = rig(&[]);
    let in_force = |path: &str| scenario.parameters.iter().any(|parameter| parameter.path == path);
    assert!(in_force("server.memory.channels") && in_force("server.peer_to_peer"));
    for (path, ..) in NEEDS {
        // Sets of defaults say how peers are forwarded: what a set says is shown.
        assert!(!in_force(path) || path.starts_with("server.peer."), "{path}");
    }
}

/// A cache of translations needs a host that translates, and transfers of that host's memory.
#[test]
fn translations_that_no_transfer_needs_are_told_of() {
    let rig = |iommu: bool, target: &str, other: &str| {
        let dma = |name: &str, target: &str| {
            format!(
                "[[workload]]\nkind = \"dma\"\nname = \"{name}\"\ndevice = \"card\"\ndirection = \"write\"\n{target}\n"
            )
        };
        let text = format!(
            "[host.server]\nslots = {{ slot1 = \"gen4 x8\", slot2 = \"gen4 x8\" }}\npeer_to_peer = true\niommu.enabled = {iommu}\n\
             [endpoint.card]\nattach = \"server.slot1\"\ngeneration = \"gen4\"\nwidth = \"x8\"\nats = {{ entries = 64 }}\n\
             [endpoint.peer]\nattach = \"server.slot2\"\ngeneration = \"gen4\"\nwidth = \"x8\"\n{}{}",
            dma("job", target),
            dma("other", other),
        );
        load(&Source::from_text("rig.toml", text), &[]).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let peer = "target = \"peer\"";
    assert_eq!(told(&rig(true, "", "")), [""; 0]);
    assert_eq!(told(&rig(false, "", "")), ["card.ats.entries"]);
    assert_eq!(told(&rig(true, peer, "")), [""; 0], "one of two needs them");
    assert_eq!(told(&rig(true, peer, peer)), ["card.ats.entries"]);
}
