//! SmartFlow over a host that bridges: what a scenario becomes, and what is said about mistakes.

use lanewise_scenario::{Source, load};
use lanewise_units::Span;
use lanewise_workload::host::bridge::Service;
use lanewise_workload::load::smartflow::{EthernetConfig, Load};

const RIG: &str = r#"
[host.server]
part = "asus-a8n-sli"

[system.os]
part = "linux-2.6.9"
attach = "server"

[endpoint.nic0]
part = "intel-pro-1000-pt-dual"
attach = "server.slot1"

[endpoint.nic1]
part = "intel-pro-1000-pt-dual"
attach = "server.slot2"

[endpoint.plain]
generation = "gen1"
width = "x1"
attach = "server.slot3"

[[workload]]
kind = "smartflow"
name = "bridge"
flows = [{ from = "nic0.0", to = "nic1.1", group = "east" }]
"#;

fn config(overrides: &[(&str, &str)]) -> Result<EthernetConfig, String> {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let scenario = load(&Source::from_text("bridge.toml", RIG), &overrides).map_err(|d| d.to_string())?;
    match &scenario.workloads[..] {
        [one] => Ok(one.of_kind::<EthernetConfig>().expect("SmartFlow is on Ethernet").clone()),
        other => panic!("one instrument is written, and {other:?} came out"),
    }
}

#[test]
fn a_flow_goes_both_ways_unless_told_otherwise() {
    let both = config(&[]).expect("a sound scenario");
    assert_eq!(both.nics.len(), 2);
    let flows: Vec<_> = both.smartflow.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    assert_eq!(flows, [((0, 0), (1, 1)), ((1, 1), (0, 0))]);
    assert!(both.smartflow.flows.iter().all(|flow| flow.group == "east"));
    let one = config(&[("workload.bridge.bidirectional", "false")]).expect("a sound scenario");
    assert_eq!(one.smartflow.flows.len(), 1);
}

#[test]
fn what_is_written_reaches_the_instrument() {
    let overrides = [
        ("workload.bridge.loads", "[0.5, 0.25]"),
        ("workload.bridge.resolution", "1 %"),
        ("os.packet_cost", "3 us"),
        ("nic1.ethernet.receive_ring", "64"),
    ];
    let config = config(&overrides).expect("a sound scenario");
    assert_eq!(config.smartflow.loads, [Load(500_000), Load(250_000)]);
    assert_eq!(config.smartflow.resolution.0, 10_000);
    assert_eq!(config.stack.packet_cost, Span::from_us(3));
    assert_eq!(config.nics.iter().map(|nic| nic.receive_ring).collect::<Vec<_>>(), [256, 64]);
}

#[test]
fn mistakes_say_what_is_wrong_and_what_is_allowed() {
    let cases = [
        (r#"[{ from = "nic0", to = "nic1.0" }]"#, "an endpoint and a number, such as \"nic0.0\""),
        (r#"[{ from = "nic0.2", to = "nic1.0" }]"#, "its ports are 0 to 1"),
        (r#"[{ from = "nic7.0", to = "nic1.0" }]"#, "there is no endpoint of this name"),
        (r#"[{ from = "plain.0", to = "nic1.0" }]"#, "it needs `ethernet.rate`"),
        (r#"[{ from = "nic0.0", to = "nic0.0" }]"#, "does not send a frame back"),
        (
            r#"[{ from = "nic0.0", to = "nic1.0" }, { from = "nic0.0", to = "nic0.1" }]"#,
            "another flow enters at this port already",
        ),
        ("[]", "at least one"),
    ];
    for (flows, said) in cases {
        let text = config(&[("workload.bridge.flows", flows)]).expect_err(flows);
        assert!(text.contains(said), "{flows}: {text}");
    }
    let others = [
        ("workload.bridge.frame_sizes", r#"["32 B"]"#, "between 64 B and 9018 B"),
        ("workload.bridge.buckets", r#"["2 us", "1 us"]"#, "buckets ascend"),
        ("os.attach", "nic0", "a system runs on a host"),
        ("nic1.ethernet.rate", "10 Gb/s", "the same rate"),
    ];
    for (path, value, said) in others {
        let text = config(&[(path, value)]).expect_err(path);
        assert!(text.contains(said), "{path}: {text}");
    }
}

#[test]
fn a_host_without_a_system_cannot_bridge() {
    let text = RIG.replace("[system.os]\npart = \"linux-2.6.9\"\nattach = \"server\"\n", "");
    let text = load(&Source::from_text("bridge.toml", text), &[]).expect_err("no system").to_string();
    assert!(text.contains("an operating system that bridges"), "{text}");
}

#[test]
fn classes_of_service_reach_the_host_and_both_ways_of_a_flow() {
    let flows = r#"[{ from = "nic0.0", to = "nic1.1", priority = 5 }, { from = "nic0.1", to = "nic1.0" }]"#;
    let overrides = [("workload.bridge.flows", flows), ("os.service", "strict-priority")];
    let classes = config(&overrides).expect("a sound scenario");
    assert_eq!(classes.stack.service, Service::StrictPriority);
    let priorities: Vec<u8> = classes.smartflow.flows.iter().map(|flow| flow.priority).collect();
    assert_eq!(priorities, [5, 5, 0, 0]);
    let too_high =
        config(&[("workload.bridge.flows", &flows.replace("= 5", "= 8"))]).expect_err("802.1p has eight");
    assert!(too_high.contains("priority") && too_high.contains('7'), "{too_high}");
}
