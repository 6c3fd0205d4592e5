//! Non-transparent bridges: which endpoints are the sides of one, and what they may be named for.

use lanewise_fabric::config::{DeviceKind, Forwarding};
use lanewise_scenario::{Scenario, Source, load};
use lanewise_units::{Rate, Span};

/// Two hosts with a slot for a card and two for bridges each. Left: host 0, card 2, near 3 and 4; right: host 1, far 5 and 6.
const RIG: &str = "[host.a]\npeer_to_peer = true\nslots = { \"slot1..slot3\" = \"gen3 x8\" }\n[host.b]\nslots = { \"slot1..slot3\" = \"gen3 x4\" }\n\
    [endpoint.card]\nattach = \"a.slot1\"\ngeneration = \"gen3\"\nwidth = \"x8\"\n\
    [endpoint.near]\nattach = \"a.*\"\ncount = 2\ngeneration = \"gen3\"\nwidth = \"x8\"\n\
    [endpoint.far]\nattach = \"b.*\"\ncount = 2\ngeneration = \"gen3\"\nwidth = \"x4\"\n";
const WRITES: &str =
    "[[workload]]\nkind = \"dma\"\ndevice = \"card\"\ndirection = \"write\"\ntarget = \"near[1]\"\n";

/// The rig with such a table of its side `near`, and what follows.
fn read(ntb: &str, rest: &str) -> Result<Scenario, String> {
    let text = RIG.replace("[endpoint.far]", &format!("{ntb}\n[endpoint.far]"));
    load(&Source::from_text("rig.toml", format!("{text}{rest}")), &[])
        .map_err(|problems| problems.to_string())
}

fn refused(ntb: &str, rest: &str) -> String {
    read(ntb, rest).err().unwrap_or_else(|| panic!("{ntb} {rest} is taken"))
}

#[test]
fn one_side_names_the_other_and_both_know_what_is_between_them() {
    let scenario =
        read("ntb = { to = \"far\", latency = \"99 ns\" }", WRITES).unwrap_or_else(|said| panic!("{said}"));
    let bridge_of = |kind: &DeviceKind| match kind {
        DeviceKind::Endpoint(endpoint) => endpoint.bridge,
        DeviceKind::RootComplex(_) | DeviceKind::Switch(_) => None,
    };
    let bridges: Vec<_> = scenario.fabric.devices.iter().map(|device| bridge_of(&device.kind)).collect();
    let others: Vec<Option<usize>> = bridges.iter().map(|bridge| bridge.map(|bridge| bridge.other)).collect();
    assert_eq!(others, [None, None, None, Some(5), Some(6), Some(3), Some(4)]);
    for bridge in bridges.into_iter().flatten() {
        assert_eq!((bridge.latency, bridge.forwarding), (Span::from_ns(99), Forwarding::CutThrough));
        // Twice what eight lanes of Gen3 carry after coding.
        assert_eq!(bridge.rate, Rate::from_bytes_per_second(2 * 7_876_923_077));
    }
}

/// A bridge takes packets over as they are, so what is on its both sides has one Maximum Payload Size.
#[test]
fn both_sides_have_the_smaller_payload() {
    let small = RIG.replace(
        "\"slot1..slot3\" = \"gen3 x4\"",
        "slot1 = { link = \"gen3 x4\", mps = \"128 B\" }, slot2 = \"gen3 x4\"",
    );
    for (rig, expected) in [
        (small.clone(), [128; 5]), // The host of the card forwards between its slots.
        (small.replace("peer_to_peer = true\n", ""), [256, 128, 256, 128, 256]),
    ] {
        let text = rig.replace("[endpoint.far]", "ntb.to = \"far\"\n[endpoint.far]");
        let scenario =
            load(&Source::from_text("rig.toml", text), &[]).unwrap_or_else(|said| panic!("{said}"));
        let payloads: Vec<u64> = scenario.links.iter().map(|link| link.mps_bytes).collect();
        assert_eq!(payloads, expected);
        assert_eq!(scenario.links[1].mps_limited_by, "b.slots.slot1.mps");
    }
}

#[test]
fn sides_that_do_not_belong_together_are_refused() {
    for (ntb, said) in [
        ("ntb.to = \"fra\"", "there is no endpoint of this name"),
        ("ntb.to = \"near\"", "a bridge has two sides"),
        ("ntb.to = \"card\"", "there are 2 on this side and 1 on that"),
    ] {
        let found = refused(ntb, "");
        assert!(found.contains("bad-bridge") && found.contains(said), "{found}");
    }
    let far = "[endpoint.third]\nattach = \"a.slot1\"\ngeneration = \"gen3\"\nwidth = \"x8\"\n";
    let twice = RIG.replace("attach = \"a.slot1\"", "attach = \"b.slot3\"").replace("count = 2\n", "");
    for (ntb, said) in [
        ("ntb.to = \"card\"\n", "that is a side of another bridge"),
        ("ntb.to = \"near\"\n", "names a side of its own"),
    ] {
        let near = twice.replace("[endpoint.far]", "ntb.to = \"card\"\n[endpoint.far]");
        let text = format!("{near}{far}{ntb}");
        let found = load(&Source::from_text("rig.toml", text), &[]).expect_err("a bad bridge").to_string();
        assert!(found.contains(said), "{found}");
    }
    let same =
        RIG.replace("count = 2\n", "").replace("[endpoint.near]", "ntb.to = \"near\"\n[endpoint.near]");
    let found = load(&Source::from_text("rig.toml", same), &[]).expect_err("one host").to_string();
    assert!(found.contains("both are below one host"), "{found}");
}

#[test]
fn a_host_with_more_tags_than_a_bridge_tells_apart_is_refused() {
    let many = "ntb.to = \"far\"\n[switch.sw]\nattach = \"b.slot3\"\n\
        ports = { port0 = \"gen3 x4\", \"port1..port127\" = \"gen3 x1\" }\n\
        [switch.second]\nattach = \"sw.port127\"\nports = { port0 = \"gen3 x1\", \"port1..port127\" = \"gen3 x1\" }\n\
        [switch.third]\nattach = \"second.port127\"\nports = { port0 = \"gen3 x1\", \"port1..port127\" = \"gen3 x1\" }\n\
        [endpoint.one]\nattach = \"third.*\"\ncount = 127\ngeneration = \"gen3\"\nwidth = \"x1\"\ntags = 256\n\
        [endpoint.two]\nattach = \"second.*\"\ncount = 126\ngeneration = \"gen3\"\nwidth = \"x1\"\ntags = 256";
    let more = format!(
        "{many}\n[endpoint.three]\nattach = \"sw.*\"\ncount = 4\ngeneration = \"gen3\"\nwidth = \"x1\"\ntags = 256"
    );
    read(many, "").unwrap_or_else(|said| panic!("{said}"));
    let found = refused(&more, "");
    assert!(found.contains("have 65792 tags, and a bridge tells 65536 reads apart"), "{found}");
}

/// A bridge has nothing to ask for: others send to it, and cores load and store there.
#[test]
fn a_side_is_a_target_and_what_cores_load_and_store_at() {
    let ntb = "ntb.to = \"far\"";
    let dma = "[[workload]]\nkind = \"dma\"\ndevice = \"near[0]\"\ndirection = \"write\"\n";
    let found = refused(ntb, dma);
    assert!(found.contains("asks for nothing by itself") && found.contains("of `mmio`"), "{found}");
    let mmio = "[[workload]]\nkind = \"mmio\"\ndevice = \"far[0]\"\ndirection = \"read\"\nsize = \"8 B\"\n";
    read(ntb, mmio).unwrap_or_else(|said| panic!("{said}"));
    let far = WRITES.replace("near[1]", "far[1]");
    assert!(refused(ntb, &far).contains("it is below another host"));
}
