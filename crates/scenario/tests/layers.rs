//! A value is looked for on the command line, in the scenario, in the part, among the defaults, and says where it was.

use lanewise_fabric::config::{DeviceKind, PortConfig};
use lanewise_pcie::flow_control::Scale;
use lanewise_pcie::virtual_channel::ChannelArbitration;
use lanewise_scenario::{ExplainedParameter, Scenario, Source, load};
use lanewise_units::{Bytes, Span};
use lanewise_workload::load::dma::DmaConfig;

const RIG: &str = r#"
title = "layers"
[host.server]
part = "supermicro-x6dh8-g2"
memory_latency = { value = "210 ns", provenance = "calibrated", source = "a fit", fitted_on = ["T5 read"] }
[switch.sw0]
part = "idt-89hpes24n3a"
attach = "server.slot1"
ports = { port1 = { link = "gen1 x4", credits = { posted_header = 2, posted_data = 16 } } }
[endpoint.nic]
generation = "gen1"
width = "x8"
count = 2
attach = "sw0.*"
[[workload]]
kind = "dma"
name = "write"
device = "nic[*]"
direction = "write"
"#;

fn rig(overrides: &[(&str, &str)]) -> Scenario {
    loaded(RIG, overrides)
}

fn loaded(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    load(&Source::from_text("rig.toml", text), &overrides).unwrap_or_else(|problems| panic!("{problems}"))
}

fn explained(scenario: &Scenario, path: &str) -> ExplainedParameter {
    let found = scenario.explained_parameters().into_iter().find(|parameter| parameter.path == path);
    found.unwrap_or_else(|| panic!("no {path}"))
}

fn port(scenario: &Scenario, device: usize, port: usize) -> &PortConfig {
    &scenario.fabric.devices[device].ports[port]
}

#[test]
fn the_stronger_layer_wins_and_is_named() {
    let plain = rig(&[]);
    let latency = explained(&plain, "server.memory_latency");
    assert_eq!((latency.value.as_str(), latency.place.as_ref()), ("210 ns", "rig.toml:5"));
    assert_eq!((latency.provenance.as_str(), latency.fitted_on), ("calibrated", vec!["T5 read".to_owned()]));
    assert_eq!(explained(&plain, "sw0.core").place, "catalog/idt-89hpes24n3a.toml:6");
    assert_eq!(explained(&plain, "sw0.acs_redirect").place, "default");
    assert_eq!(explained(&plain, "nic.ack_latency").place, "computed");

    let overridden = rig(&[("sw0.latency", "1 us"), ("server.memory_latency", "99 ns")]);
    let latency = explained(&overridden, "server.memory_latency");
    assert_eq!((latency.value.as_str(), latency.place.as_ref()), ("99 ns", "command line:2"));
    let DeviceKind::Switch(switch) = &overridden.fabric.devices[1].kind else {
        panic!("a switch comes second")
    };
    assert_eq!(switch.latency, Span::from_us(1));
}

/// A line that no adapter has is one problem: that of the part stands in, so flows have their ports.
#[test]
fn a_wrong_value_leaves_what_would_hold_without_it() {
    let text = include_str!("../../../scenarios/ethernet_bridge.toml");
    let overrides = [("nic0.ethernet.rate".to_owned(), "2 Gb/s".to_owned())];
    let problems = load(&Source::from_text("bridge.toml", text), &overrides).expect_err("no such line");
    assert_eq!(problems.codes(), ["unknown-choice"], "{problems}");
}

/// Those of parts that a link names, too.
#[test]
fn every_path_that_explain_prints_can_be_overridden_with_what_it_prints() {
    for text in [RIG, include_str!("../../../scenarios/retimed_cable.toml")] {
        for parameter in loaded(text, &[]).explain().parameters {
            // A list is printed for people, and a value that differs between devices is several.
            if parameter.value.starts_with('[') || parameter.value.contains(" and others") {
                continue;
            }
            let again = loaded(text, &[(&parameter.path, &parameter.value)]);
            let value = explained(&again, &parameter.path).value;
            assert_eq!(value, parameter.value, "{}", parameter.path);
        }
    }
}

/// What is left to the platform is told as what it came to, wherever that is known before the run.
#[test]
fn what_was_left_open_is_told_as_what_it_came_to() {
    let text = "[host.h]\nslots = { a = \"gen4 x4\" }\niommu = { enabled = true }\n\
                [endpoint.ssd]\npart = \"intel-p5800x\"\nattach = \"h.a\"\ntraffic_class = 3\n\
                [[workload]]\nkind = \"fio\"\nname = \"job\"\nfilename = [\"ssd\"]\nrw = \"read\"\n\
                [[workload]]\nkind = \"dma\"\nname = \"copy\"\ndevice = \"ssd\"\ndirection = \"read\"\n";
    let scenario = load(&Source::from_text("rig.toml", text), &[]).unwrap();
    for (path, value) in [
        ("workload.job.size", "1600 GB"),
        ("workload.job.assigned_to", "h"),
        ("workload.copy.traffic_class", "3"),
        ("ssd.memory_read_latency", "100 ns"),
        ("h.iommu.ways", "80"),
    ] {
        assert_eq!(explained(&scenario, path).value, value, "{path}");
    }
}

#[test]
fn a_slot_of_its_own_differs_from_its_siblings() {
    let scenario = rig(&[("sw0.ports.port2.retry_buffer", "4 KiB")]);
    let credits = &port(&scenario, 1, 1).credits[0];
    assert_eq!((credits.header, credits.data), (Some(2), Some(16)));
    assert!(port(&scenario, 1, 2).credits[0].header > Some(2));
    assert_eq!(port(&scenario, 1, 2).retry_buffer, Bytes::from_kib(4));
    assert_ne!(port(&scenario, 1, 1).retry_buffer, Bytes::from_kib(4));
    // The scenario narrowed port 1, so the first card trains to x4 and the second to x8.
    let widths: Vec<&str> = scenario.links.iter().map(|link| link.width.as_str()).collect();
    assert_eq!(widths, ["x8", "x4", "x8"]);
}

#[test]
fn structure_and_workloads_can_be_overridden_too() {
    let moved = rig(&[("sw0.attach", "server.slot3"), ("workload.write.outstanding", "3")]);
    assert_eq!((moved.links[0].upper.as_str(), moved.links[0].width.as_str()), ("server.slot3", "x4"));
    let dma = moved.workloads[1].of_kind::<DmaConfig>().expect("DMA");
    assert_eq!((dma.outstanding, dma.device_name.as_str()), (3, "nic[1]"));
    assert_eq!(rig(&[("nic.count", "1")]).workloads.len(), 1);
    assert_eq!(rig(&[("sw0.part", "plx-pex8624")]).links[0].generation, "gen1");
}

#[test]
fn scaled_flow_control_needs_both_ends() {
    let text = |upper: &str, lower: &str, rest: &str| {
        format!(
            "[host.h]\nslots = {{ s = \"{upper} x16\" }}\n[endpoint.e]\nattach = \"h.s\"\n\
             generation = \"{lower}\"\nwidth = \"x16\"\ncredits = {{ posted_data = 4000, non_posted_header = 16, non_posted_data = 16 }}\n{rest}"
        )
    };
    let load = |text: String| load(&Source::from_text("rig.toml", text), &[]);
    let both = load(text("gen4", "gen4", "")).unwrap();
    let scales = |scenario: &Scenario| -> Vec<[Scale; 3]> {
        scenario.fabric.devices.iter().map(|device| device.ports[0].scale).collect()
    };
    // Each class has the smallest that its credits fit in, whatever the others have.
    assert_eq!(scales(&both)[1][..2], [Scale::Four, Scale::One]);
    let told = load(text("gen4", "gen4", "flow_control_scale = \"scale-16\"\n")).unwrap();
    assert_eq!(scales(&told)[1], [Scale::Sixteen; 3]);
    assert_eq!(load(text("gen3", "gen4", "")).unwrap_err().codes(), ["too-many-credits"]);
    assert!(load(text("gen3", "gen3", "flow_control_scale = \"scale-4\"\n[host.h.link]\n")).is_err());
}

#[test]
fn a_peer_to_peer_host_is_one_hierarchy() {
    let text = |forward: bool| {
        format!(
            "[host.h]\npeer_to_peer = {forward}\nslots = {{ a = \"gen4 x4\", b = \"gen4 x4\" }}\n\
             mps_supported = \"512 B\"\n\
             [endpoint.x]\nattach = \"h.a\"\ngeneration = \"gen4\"\nwidth = \"x4\"\nmps_supported = \"512 B\"\n\
             [endpoint.y]\nattach = \"h.b\"\ngeneration = \"gen4\"\nwidth = \"x4\"\nmps_supported = \"128 B\"\n"
        )
    };
    let mps = |forward| {
        let scenario = load(&Source::from_text("rig.toml", text(forward)), &[]).unwrap();
        scenario.links.iter().map(|link| link.mps_bytes).collect::<Vec<_>>()
    };
    assert_eq!(mps(false), [512, 128]);
    assert_eq!(mps(true), [128, 128]);
}

/// Both ends of a link have its map, credits for each channel and an arbitration; other links have VC0 alone.
#[test]
fn virtual_channels_reach_both_ends_of_their_link() {
    let scenario = rig(&[
        ("nic.link.virtual_channels", "[[5], [6, 7]]"),
        ("nic.channels.posted_header", "3"),
        ("sw0.channels.arbitration", "round-robin"),
        ("nic.traffic_class", "5"),
    ]);
    let [upstream, first, second] = &scenario.fabric.links[..] else { panic!("three links") };
    assert_eq!(upstream.channels.channels(), 1, "the switch's own link");
    for link in [first, second] {
        assert_eq!([0, 4, 5, 6, 7].map(|class| link.channels.channel_of(class)), [0, 0, 1, 2, 2]);
        let (above, below) = (port(&scenario, 1, link.upper.1), port(&scenario, link.lower.0, 0));
        assert_eq!(above.channel_arbitration, ChannelArbitration::RoundRobin);
        assert_eq!(below.channel_arbitration, ChannelArbitration::Strict);
        assert_eq!((above.more_credits.len(), below.more_credits.len()), (2, 2));
        assert_eq!(below.more_credits[1][0].header, Some(3));
        assert_eq!(above.more_credits[0], above.more_credits[1]);
    }
    assert_eq!(explained(&scenario, "nic.channels.posted_header").value, "3");
    let DeviceKind::Endpoint(nic) = &scenario.fabric.devices[2].kind else { panic!("endpoints come last") };
    assert_eq!(nic.traffic_class, 5);

    let plain = rig(&[]);
    let told = |path: &str| plain.explain().parameters.iter().any(|parameter| parameter.path.contains(path));
    assert!(!told(".channels.") && !told("virtual_channels"), "nothing is told of channels that nobody has");
}

/// An Ack may have to wait until the other direction is awake: PCIe Base 3.1 §3.6.2.1.
#[test]
fn a_replay_timer_of_the_older_rule_waits_for_l0s() {
    let timer = |overrides: &[(&str, &str)]| {
        let scenario = rig(overrides);
        [port(&scenario, 1, 1).replay_timer, port(&scenario, 2, 0).replay_timer]
    };
    let l0s = ("nic.link.aspm", "l0s");
    let exit = ("nic.link.l0s_exit", "3 us");
    assert_eq!(timer(&[l0s, exit]), timer(&[]).map(|awake| awake + Span::from_us(3)));
    let simplified = ("nic.replay_rule", "simplified");
    assert_eq!(timer(&[l0s, exit, simplified])[1], timer(&[simplified])[1]);
}

#[test]
fn what_is_out_of_the_way_is_said_where_a_value_is_decided_and_not_by_its_source() {
    let away = |changes: &[(&str, &str)], added: &str, path: &str| {
        let text = format!("{RIG}\n[host.other]\nslots = {{ slot1 = \"gen5 x4\" }}\n{added}");
        let overrides: Vec<_> =
            changes.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
        let scenario = load(&Source::from_text("rig.toml", text), &overrides)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let found = scenario.parameters.into_iter().find(|parameter| parameter.path == path);
        found.unwrap_or_else(|| panic!("no {path}")).is_out_of_the_way
    };
    let with = |more: &str| {
        format!(
            "read_bandwidth = {{ value = \"1 GB/s\", provenance = \"assumed\", source = \"no limit unless links are the limit\"{more} }}\n"
        )
    };
    assert!(away(&[], "", "nic.memory_read_rate"), "a default so high that the link is the limit");
    assert!(!away(&[("nic.memory_read_rate", "1 GB/s")], "", "nic.memory_read_rate"));
    assert!(away(&[], "", "other.read_bandwidth"), "a set of defaults may say it of its values");
    assert!(!away(&[], "", "nic.tags"));
    assert!(!away(&[], &with(""), "other.read_bandwidth"), "whatever the words of a source");
    assert!(away(&[], &with(", out_of_the_way = true"), "other.read_bandwidth"));
}
