//! Buffers and timers belong to parts, not to the cable between them; `explain` says where a link is too long for its ends.

use lanewise_fabric::config::{DeviceKind, PortConfig};
use lanewise_scenario::{Scenario, Source, load};
use lanewise_units::Span;

/// A card on a link of this generation and width, so long one way.
fn rig(shape: &str, propagation: &str, overrides: &[(&str, &str)]) -> Scenario {
    let text = format!(
        "[host.server]\nslots = {{ slot1 = \"{shape}\" }}\n[endpoint.card]\nattach = \"server.slot1\"\n\
         generation = \"gen5\"\nwidth = \"x16\"\nlink.propagation = \"{propagation}\"\n\
         [[workload]]\nkind = \"dma\"\ndevice = \"card\"\ndirection = \"write\"\n"
    );
    let pair = |(path, value): &(&str, &str)| ((*path).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = overrides.iter().map(pair).collect();
    load(&Source::from_text("rig.toml", &text), &overrides).unwrap_or_else(|problems| panic!("{problems}"))
}

fn root_port(scenario: &Scenario) -> &PortConfig {
    &scenario.fabric.devices[0].ports[0]
}

fn reasons(scenario: &Scenario) -> Vec<&str> {
    scenario.remarks.iter().map(|remark| remark.reason.as_str()).collect()
}

#[test]
fn buffers_do_not_grow_with_the_cable() {
    for shape in ["gen1 x4", "gen3 x16", "gen4 x8", "gen5 x16"] {
        let (board, fibre) = (rig(shape, "2 ns", &[]), rig(shape, "1 us", &[]));
        let (board, fibre) = (root_port(&board), root_port(&fibre));
        assert_eq!(board.credits, fibre.credits, "{shape}");
        assert_eq!(board.retry_buffer, fibre.retry_buffer, "{shape}");
        assert_eq!(board.replay_timer, fibre.replay_timer, "{shape}");
    }
}

#[test]
fn a_part_for_cables_says_how_far_it_reaches() {
    let near = rig("gen4 x8", "1 us", &[("server.reach", "2 ns"), ("card.reach", "2 ns")]);
    let far = rig("gen4 x8", "1 us", &[("server.reach", "1 us"), ("card.reach", "1 us")]);
    // There and back at 15.75 B/ns, in credits of 16 B of which a packet of 256 B in 280 is data.
    let more = 2.0 * 998.0 * 15.753846 * 256.0 / 280.0 / 16.0;
    let data = |scenario: &Scenario| f64::from(root_port(scenario).credits[0].data.expect("finite"));
    assert!((data(&far) - data(&near) - more).abs() < 32.0, "{} and {}", data(&near), data(&far));
    assert!(root_port(&far).retry_buffer > root_port(&near).retry_buffer);
    assert_eq!(reasons(&far), Vec::<&str>::new());
}

/// Gen3 x16 at 256 B: 3 × 168 symbols of 1.015625 ns, half as much again in the middle of the tolerance.
#[test]
fn the_legacy_timer_has_a_tolerance() {
    let timer = |tolerance: &str| {
        let scenario = rig("gen3 x16", "2 ns", &[("server.replay_tolerance", tolerance)]);
        root_port(&scenario).replay_timer
    };
    let least = Span::from_ticks(504 * 1_040_000);
    assert_eq!([timer("0"), timer("1")], [least, least + least]);
    assert_eq!(root_port(&rig("gen3 x16", "2 ns", &[])).replay_timer.ticks() * 2, least.ticks() * 3);
}

#[test]
fn a_link_that_is_too_long_for_its_ends_is_told_of() {
    assert_eq!(reasons(&rig("gen3 x16", "2 ns", &[])), Vec::<&str>::new());
    let long = rig("gen3 x16", "300 ns", &[]);
    let said = reasons(&long).join("\n");
    for words in [
        "server.slots.slot1.replay_timer of 767.8125 ns may run out before an Ack is back",
        "card.retry_buffer of",
        "server.slots.slot1.credits.posted_data of",
    ] {
        assert!(said.contains(words), "{words} is not in\n{said}");
    }
    assert!(long.remarks.iter().all(|remark| remark.path == "card.link.propagation"));
    // The simplified rule is long enough for any cable; buffers are not.
    let simplified = rig("gen4 x16", "300 ns", &[]);
    assert!(!reasons(&simplified).join("\n").contains("replay_timer"));
    assert!(reasons(&simplified).join("\n").contains("retry_buffer"));
}

#[test]
fn a_switch_takes_what_switches_of_its_generation_take() {
    let latency = |port: &str, given: &str| {
        let text = format!(
            "[host.server]\nslots = {{ slot1 = \"gen5 x16\" }}\n[switch.sw]\nattach = \"server.slot1\"\n{given}\n\
             ports = {{ port0 = \"{port} x16\", port1 = \"gen1 x4\" }}\n[endpoint.card]\nattach = \"sw.port1\"\n\
             generation = \"gen1\"\nwidth = \"x4\"\n\
             [[workload]]\nkind = \"dma\"\ndevice = \"card\"\ndirection = \"write\"\n"
        );
        let scenario =
            load(&Source::from_text("rig.toml", &text), &[]).unwrap_or_else(|each| panic!("{each}"));
        let of = |device: &lanewise_fabric::config::DeviceConfig| match &device.kind {
            DeviceKind::Switch(switch) => Some(switch.latency.as_ns()),
            _ => None,
        };
        let value =
            scenario.explain().parameters.into_iter().find(|each| each.path == "sw.latency").expect("told");
        (scenario.fabric.devices.iter().find_map(of).expect("a switch"), value.provenance)
    };
    let table = ["gen1", "gen2", "gen3", "gen4", "gen5", "gen6"].map(|port| latency(port, "").0);
    assert_eq!(table, [200.0, 150.0, 125.0, 105.0, 115.0, 115.0]);
    assert_eq!((latency("gen1", "").1.as_str(), latency("gen4", "").1.as_str()), ("assumed", "published"));
    assert_eq!(latency("gen4", "latency = \"99 ns\"").0, 99.0);
}

/// Intel's L- and H-tile cores at Gen3 x16: 750 posted data credits (user guide 683111, receive buffer).
#[test]
fn an_endpoint_has_the_credits_of_one_that_is_published() {
    let scenario = rig("gen3 x16", "2 ns", &[]);
    let card = scenario.fabric.devices.last().expect("a card").ports[0].credits[0];
    let data = f64::from(card.data.expect("finite"));
    assert!((data / 750.0 - 1.0).abs() < 0.03, "{data}");
}
