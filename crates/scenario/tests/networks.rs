//! Hosts by number, ranges of ports and devices, and which wire of a network goes where.

use lanewise_fabric::workload::{DeviceId, Target};
use lanewise_network::NetworkWire;
use lanewise_scenario::{Effect, Scenario, Source, load};
use lanewise_units::Rate;
use lanewise_workload::device::rdma::{CableEnd, NicPort};
use lanewise_workload::load::rdma::{PerftestConfig, RdmaConfig, RdmaToolConfig};

/// Two hosts with two switches each, an adapter and a GPU below each.
const RIG: &str = r#"
[host.node]
count = 2
slots = { "slot1..slot3" = "gen5 x16" }
[switch.pcie]
count = 4
attach = "node[*].slot1..slot2"
ports = { port0 = "gen5 x16", "port1..port3" = "gen5 x16" }
[endpoint.nic]
count = 4
attach = "pcie[*].port1"
part = "nvidia-connectx-7"
[endpoint.gpu]
count = 8
attach = "pcie[*].port2..port3"
generation = "gen5"
width = "x16"
[network_switch.leaf]
count = 2
[network.access]
kind = "infiniband-ndr"
ends = ["nic[*]", "leaf[*]"]
[network.between]
kind = "infiniband-ndr"
ends = ["leaf[*]", "leaf[*]"]
wires = 3
[[workload]]
kind = "perftest"
name = "w"
tool = "ib_write_bw"
network = "access"
client = "nic[*]"
server = "nic[*]"
shift = 1
"#;

fn loaded(settings: &[(&str, &str)]) -> Scenario {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    load(&Source::from_text("rig.toml", RIG), &settings).unwrap_or_else(|found| panic!("{found}"))
}

fn rdma(scenario: &Scenario) -> &RdmaConfig {
    scenario.workloads[0].of_kind().expect("perftest is of RDMA")
}

fn tests(scenario: &Scenario) -> Vec<&PerftestConfig> {
    fn only(tool: &RdmaToolConfig) -> &PerftestConfig {
        match tool {
            RdmaToolConfig::Perftest(config) => config,
            other => panic!("{}", other.name()),
        }
    }
    rdma(scenario).tools.iter().map(only).collect()
}

#[test]
fn a_range_of_slots_leaves_the_others() {
    let scenario = loaded(&[]);
    let index = |name: &str| scenario.fabric.devices.iter().position(|device| device.name == name).unwrap();
    let above = |name: &str| {
        let link = scenario.fabric.links.iter().find(|link| link.lower.0 == index(name)).unwrap();
        (scenario.fabric.devices[link.upper.0].name.as_str(), link.upper.1)
    };
    assert_eq!([above("pcie[1]"), above("pcie[2]")], [("node[0]", 1), ("node[1]", 0)]);
    assert_eq!(
        [above("gpu[0]"), above("gpu[1]"), above("gpu[2]")],
        [("pcie[0]", 2), ("pcie[0]", 3), ("pcie[1]", 2)]
    );
    assert_eq!(above("nic[3]"), ("pcie[3]", 1));
}

#[test]
fn adapters_are_in_blocks_or_on_rails_and_each_two_switches_are_joined_once() {
    let leaves = |layout: &str| {
        let scenario = loaded(&[("access.layout", layout)]);
        let of_adapter = |ends: &[CableEnd; 2]| match *ends {
            [CableEnd::Adapter(NicPort { nic, port: 0 }), CableEnd::Switch(switch, _)] => Some((nic, switch)),
            _ => None,
        };
        let cables = &rdma(&scenario).network.cables;
        let between = cables.iter().filter(|cable| of_adapter(&cable.ends).is_none()).count();
        assert_eq!(between, 3);
        cables.iter().filter_map(|cable| of_adapter(&cable.ends)).collect::<Vec<_>>()
    };
    assert_eq!(leaves("blocks"), [(0, 0), (1, 0), (2, 1), (3, 1)]);
    assert_eq!(leaves("rails"), [(0, 0), (1, 1), (2, 0), (3, 1)]);
}

#[test]
fn pairs_are_shifted_and_have_memory_of_their_own() {
    let scenario = loaded(&[
        ("workload.w.memory", "gpu[0]"),
        ("workload.w.client", "nic[0]"),
        ("workload.w.server", "nic[2..3]"),
    ]);
    let found: Vec<(&str, usize, usize)> =
        tests(&scenario).iter().map(|test| (&*test.name, test.ports[0].nic, test.ports[1].nic)).collect();
    assert_eq!(found, [("w nic[3]", 0, 3), ("w nic[2]", 0, 2)]);
    let all = loaded(&[]);
    let found: Vec<(&str, usize)> = tests(&all).iter().map(|test| (&*test.name, test.ports[1].nic)).collect();
    assert_eq!(found, [("w nic[0]", 1), ("w nic[1]", 2), ("w nic[2]", 3), ("w nic[3]", 0)]);
    // Devices: two hosts, four switches, four adapters, then GPUs.
    let scenario = loaded(&[
        ("gpu.count", "4"),
        ("gpu.attach", "pcie[*].port2"),
        ("workload.w.remote_memory", "gpu[*]"),
    ]);
    let found: Vec<[Target; 2]> = tests(&scenario).iter().map(|test| test.memory).collect();
    let of_gpu = |gpu: u32| [Target::HostMemory, Target::Endpoint(DeviceId(10 + gpu))];
    assert_eq!(found, [of_gpu(1), of_gpu(2), of_gpu(3), of_gpu(0)]);
}

#[test]
fn what_nothing_reads_is_said() {
    let scenario = loaded(&[("leaf.xoff", "64 KiB"), ("access.wires", "2"), ("between.layout", "rails")]);
    let remarks: Vec<String> = scenario.explain().remarks.into_iter().map(|remark| remark.path).collect();
    for path in ["leaf.xoff", "access.wires", "between.layout"] {
        assert!(remarks.iter().any(|other| other == path), "{path}: {remarks:?}");
    }
    assert!(!remarks.iter().any(|path| path == "between.wires"), "{remarks:?}");
}

/// What the message says is least is taken, although it is less than a packet: then each packet is followed by a pause.
#[test]
fn the_least_that_a_message_states_is_taken() {
    let roce = RIG.replace("infiniband-ndr", "roce");
    let with = |xoff: &str| {
        let text =
            roce.replace("[network_switch.leaf]", &format!("[network_switch.leaf]\nxoff = \"{xoff}\""));
        load(&Source::from_text("rig.toml", text), &[])
    };
    let message = with("256 KiB").expect_err("there is no headroom left").records()[0].message.clone();
    assert!(message.contains("has to lie between 1 KiB and"), "{message}");
    assert!(with("1 KiB").is_ok());
    assert!(with("1023 B").is_err());
}

/// Codes of the problems of the rig with one text in the place of another.
fn codes(from: &str, to: &str) -> Vec<&'static str> {
    let text = RIG.replace(from, to);
    assert_ne!(text, RIG, "{from}");
    let found = load(&Source::from_text("rig.toml", text), &[]).expect_err("it means nothing");
    found.records().into_iter().map(|record| record.code).collect()
}

#[test]
fn adapters_that_nothing_joins_are_reported() {
    let between =
        "[network.between]\nkind = \"infiniband-ndr\"\nends = [\"leaf[*]\", \"leaf[*]\"]\nwires = 3\n";
    assert_eq!(codes(between, ""), ["unknown-device"], "two switches without a wire between them");
    assert_eq!(
        codes("network = \"access\"", "network = \"between\""),
        ["unknown-device"],
        "no adapter is there"
    );
}

/// A wire from a port to itself is not one that is taken twice: the message says what stands for an adapter that sends to itself.
#[test]
fn a_port_that_is_both_ends_is_told_what_to_do() {
    let text = "[host.server]\nslots.slot1 = \"gen4 x16\"\n[endpoint.nic0]\nattach = \"server.slot1\"\npart = \"nvidia-connectx-6\"\n\
                [network.cable]\nkind = \"roce\"\nends = [\"nic0.port1\", \"nic0.port1\"]\n";
    let found = load(&Source::from_text("loop.toml", text), &[]).expect_err("one port").to_string();
    assert!(found.contains("between two of its ports"), "{found}");
    let mended = text.replace("\"nic0.port1\"]", "\"nic0.port2\"]");
    assert!(load(&Source::from_text("loop.toml", &mended), &[]).is_ok());
}

/// Two adapters with fast ports, one with slow ones, and networks: something goes over `n` from the first to another.
fn fast_and_slow(networks: &str, server: &str) -> Scenario {
    let text = format!(
        "[host.node]\ncount = 3\nslots = {{ s = \"gen5 x16\" }}\n\
         [endpoint.fast]\ncount = 2\nattach = \"node[0..1].s\"\npart = \"nvidia-connectx-7\"\n\
         [endpoint.slow]\nattach = \"node[2].s\"\npart = \"nvidia-connectx-6\"\n{networks}\
         [[workload]]\nkind = \"perftest\"\ntool = \"ib_write_bw\"\nnetwork = \"n\"\n\
         client = \"fast[0]\"\nserver = \"{server}\"\n"
    );
    load(&Source::from_text("rig.toml", text), &[]).unwrap_or_else(|found| panic!("{found}"))
}

/// Kind and rate of each wire, those between two adapters first.
fn wires_of(scenario: &Scenario) -> Vec<NetworkWire> {
    let network = &rdma(scenario).network;
    network.links.iter().map(|link| link.wire).chain(network.cables.iter().map(|cable| cable.wire)).collect()
}

fn roce(gigabits_per_second: u64) -> NetworkWire {
    NetworkWire::Roce { rate: Rate::from_bytes_per_second(gigabits_per_second * 125_000_000) }
}

fn one_wire(keys: &str) -> String {
    format!("[network.n]\nkind = \"roce\"\nends = [\"fast[0].port1\", \"slow.port1\"]\n{keys}")
}

#[test]
fn ethernet_has_the_rate_of_the_slower_port_where_nobody_says_another() {
    let wire = |keys: &str| wires_of(&fast_and_slow(&one_wire(keys), "slow"));
    assert_eq!(wire(""), [roce(200)]);
    assert_eq!(wire("rate = \"100 Gb/s\"\n"), [roce(100)]);
    let unsaid = "[endpoint.fast.rdma]\nport_rate = \"none\"\n[endpoint.slow.rdma]\nport_rate = \"none\"\n";
    assert_eq!(wire(unsaid), [roce(100)]);
    assert_eq!(wire("[endpoint.slow.rdma]\nport_rate = \"none\"\n"), [roce(400)]);
}

/// Also where the wires between switches come first in the file, and where one switch lies between.
#[test]
fn wires_between_switches_have_the_rate_of_the_fastest_adapter_below() {
    let network = |name: &str, from: &str, to: &str, keys: &str| {
        format!("[network.{name}]\nkind = \"roce\"\nends = [\"{from}\", \"{to}\"]\n{keys}")
    };
    let switches = "[network_switch.a]\n[network_switch.b]\n[network_switch.c]\n";
    let wires = |up: &str, down: &str| {
        let (up_one, up_two) = (network("up", "a", "b", up), network("far", "b", "c", ""));
        let (fast, slow) = (network("n", "fast[*]", "a", down), network("m", "slow", "c", ""));
        wires_of(&fast_and_slow(&format!("{switches}{up_one}{up_two}{fast}{slow}"), "fast[1]"))
    };
    let quick = [400, 400, 200].map(roce);
    assert_eq!(wires("", ""), [[roce(400); 2].as_slice(), &quick].concat());
    assert_eq!(wires("rate = \"50 Gb/s\"\n", ""), [[roce(50), roce(400)].as_slice(), &quick].concat());
    assert_eq!(wires("", "rate = \"25 Gb/s\"\n"), [200, 200, 25, 25, 200].map(roce));
}

#[test]
fn a_rate_that_a_port_has_not_is_remarked_on() {
    let remarks = |keys: &str| fast_and_slow(&one_wire(keys), "slow").remarks;
    assert_eq!(remarks("rate = \"200 Gb/s\"\n"), []);
    let found = remarks("rate = \"400 Gb/s\"\n");
    let [remark] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((remark.path.as_str(), remark.effect), ("n.rate", Effect::Faster));
    assert_eq!(remark.reason, "a port of `slow` has 25 GB/s (`slow.rdma.port_rate`)");
}
