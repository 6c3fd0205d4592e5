//! Collectives: which way data go from one device to another, and what is left to NCCL.

use lanewise_scenario::{Scenario, Source, load};
use lanewise_workload::load::collective::{Algorithm, CollectiveConfig, Hardware, Hop, Path, Protocol};

/// Two GPUs and an adapter below a switch, a third GPU beside it, a fourth at the other socket; a fifth with an adapter at another host.
const MACHINES: &str = r#"
[host.server]
peer_to_peer = true
[host.server.slots]
slot1 = "gen4 x16"
slot2 = "gen4 x16"
slot3 = { link = "gen4 x16", socket = 1 }
[host.other]
slots = { "slot1..slot2" = "gen4 x16" }
[switch.sw]
attach = "server.slot1"
ports = { port0 = "gen4 x16", "port1..port3" = "gen4 x16" }
[endpoint.gpu]
part = "generic-gen4-x16"
count = 2
attach = "sw.*"
[endpoint.nic]
part = "generic-gen4-x16"
attach = "sw.*"
rdma = { ports = 1 }
[endpoint.third]
part = "generic-gen4-x16"
attach = "server.slot2"
[endpoint.fourth]
part = "generic-gen4-x16"
attach = "server.slot3"
[endpoint.fifth]
part = "generic-gen4-x16"
attach = "other.slot1"
[endpoint.nic1]
part = "generic-gen4-x16"
attach = "other.slot2"
rdma = { ports = 1 }
[network.cable]
kind = "infiniband-edr"
ends = ["nic1.port1", "nic.port1"]
[[workload]]
kind = "collective"
name = "ring"
"#;

fn loaded(lines: &str, overrides: &[(&str, &str)]) -> Result<Scenario, Vec<&'static str>> {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let source = Source::from_text("machines.toml".to_owned(), format!("{MACHINES}{lines}"));
    load(&source, &overrides).map_err(|problems| problems.codes())
}

fn config(lines: &str, overrides: &[(&str, &str)]) -> CollectiveConfig {
    let scenario = loaded(lines, overrides).expect("it loads");
    scenario.workloads[0].of_kind::<CollectiveConfig>().expect("a collective").clone()
}

/// How the first device reaches the second.
fn path(devices: &str, overrides: &[(&str, &str)]) -> Path {
    let config = config(&format!("devices = {devices}\noperation = \"send-receive\""), overrides);
    config.ways.into_iter().find(|way| way.pair == (0, 1)).expect("a way").path
}

#[test]
fn peers_are_as_far_apart_as_nccl_allows() {
    let (near, beside, far) = ("[\"gpu[*]\"]", "[\"gpu[0]\", \"third\"]", "[\"gpu[0]\", \"fourth\"]");
    let level = |level| [("workload.ring.p2p_level", level)];
    assert_eq!(path(near, &[]), Path::Peer(Hardware::Pci));
    assert_eq!([path(beside, &[]), path(far, &[])], [Path::HostMemory, Path::HostMemory]);
    assert_eq!(path(near, &level("loc")), Path::HostMemory);
    assert_eq!(path(near, &level("pix")), Path::Peer(Hardware::Pci));
    assert_eq!(
        [path(beside, &level("phb")), path(far, &level("phb"))],
        [Path::Peer(Hardware::Pci), Path::HostMemory]
    );
    assert_eq!(path(far, &level("sys")), Path::Peer(Hardware::Pci));
    // A level is of no use where the host does not forward.
    let blocked = [("workload.ring.p2p_level", "sys"), ("server.peer_to_peer", "false")];
    assert_eq!([path(near, &blocked), path(far, &blocked)], [Path::Peer(Hardware::Pci), Path::HostMemory]);
}

/// The second and third of three ranks are at two sockets of a host that is AMD's, or not, whatever that of the first is.
#[test]
fn each_host_says_how_far_apart_its_peers_are() {
    let second_pair = |maker: &str| {
        let lines = "devices = [\"fifth\", \"gpu[0]\", \"fourth\"]\noperation = \"send-receive\"";
        let config = config(lines, &[(maker, "amd")]);
        config.ways.into_iter().find(|way| way.pair == (1, 2)).expect("a way").path
    };
    assert_eq!(second_pair("server.maker"), Path::Peer(Hardware::Pci));
    assert_eq!(second_pair("other.maker"), Path::HostMemory);
}

#[test]
fn side_links_are_nearer_than_all_else() {
    let joined = [("gpu.side_link.rate", "50 GB/s"), ("third.side_link.rate", "50 GB/s")];
    assert_eq!(path("[\"gpu[0]\", \"third\"]", &joined), Path::Peer(Hardware::SideLink));
    let bridge = [("gpu.side_link.rate", "50 GB/s"), ("gpu.side_link.joins", "2"), joined[1]];
    assert_eq!(path("[\"gpu[*]\"]", &bridge), Path::Peer(Hardware::SideLink));
    assert_eq!(path("[\"gpu[0]\", \"third\"]", &bridge), Path::HostMemory);
    let apart = ("gpu[1].mrrs", "512 B");
    assert_eq!(
        path("[\"gpu[1]\", \"third\"]", &[joined[0], joined[1], apart]),
        Path::Peer(Hardware::SideLink)
    );
    assert_eq!(path("[\"gpu[*]\"]", &[bridge[0], bridge[1], apart]), Path::Peer(Hardware::SideLink));
}

#[test]
fn adapters_reach_what_is_near_them() {
    let Path::Network(to_other) = path("[\"gpu[0]\", \"fifth\"]", &[]) else { panic!("two hosts") };
    // The sender's adapter is below its switch; the receiver's at another root port of a host that forwards nothing.
    assert_eq!((to_other.direct, to_other.ports.len()), ([true, false], 1));
    assert_eq!(to_other.ports[0].map(|end| end.nic), [1, 0], "from the sender to the receiver");
    let phb = [("workload.ring.gdr_level", "phb"), ("other.peer_to_peer", "true")];
    let Path::Network(far) = path("[\"gpu[0]\", \"fifth\"]", &phb) else { panic!("two hosts") };
    assert_eq!(far.direct, [true, true]);
    let none = [("workload.ring.gdr_level", "loc")];
    let Path::Network(staged) = path("[\"gpu[0]\", \"fifth\"]", &none) else { panic!("two hosts") };
    assert_eq!(staged.direct, [false, false]);
}

#[test]
fn sizes_are_done_as_nccl_would() {
    let sweep = "devices = [\"gpu[*]\"]\nsize = \"1 KiB\"\nmax_size = \"64 MiB\"\nfactor = 4";
    let config = config(sweep, &[]);
    let sizes: Vec<u64> = config.passes.iter().map(|pass| pass.size.get()).collect();
    assert_eq!(sizes, (0..9).map(|power| 1024 << (2 * power)).collect::<Vec<u64>>());
    let (first, last) = (&config.passes[0], &config.passes[8]);
    assert_eq!((first.protocol, first.channels), (Protocol::Ll, 1));
    assert_eq!((last.protocol, last.algorithm, last.channels), (Protocol::Simple, Algorithm::Ring, 4));
    assert_eq!((config.operations, config.warm_up), (Some(5), 1));
    assert!(matches!(first.hops[Hardware::Pci as usize], Hop::Whole(_)));
}

/// Where each device sends before it takes, a window that a step fills would never be emptied.
#[test]
fn a_window_of_a_ring_holds_more_than_a_step() {
    let ring = "devices = [\"gpu[*]\"]\nsize = \"64 MiB\"\nalgorithm = \"ring\"";
    let of = |lines: &str| {
        let pass = config(&format!("{ring}\n{lines}"), &[]).passes[0].clone();
        (pass.window, pass.slices)
    };
    let (window, slices) = of("slices = 16");
    assert_eq!((window, slices), (17, 16));
    let (window, slices) = of("window = 2");
    assert_eq!((window, slices), (2, 1));
    for lines in ["window = 1", "window = 4\nslices = 4"] {
        assert_eq!(loaded(&format!("{ring}\n{lines}"), &[]).unwrap_err(), ["out-of-range"], "{lines}");
    }
    assert!(loaded(&format!("{ring}\noperation = \"broadcast\"\nwindow = 1"), &[]).is_ok());
}

#[test]
fn what_kernels_and_side_links_are_set_to_is_of_use() {
    let idle = |overrides: &[(&str, &str)]| -> Vec<String> {
        let scenario = loaded("devices = [\"gpu[*]\"]", overrides).unwrap();
        scenario.remarks.iter().map(|remark| remark.path.clone()).collect()
    };
    assert_eq!(idle(&[("gpu.kernel.write_unit", "128 B"), ("gpu.side_link.rate", "50 GB/s")]), [""; 0]);
    assert_eq!(idle(&[("gpu.side_link.latency", "1 us")]), ["gpu.side_link.latency"]);
    // One that joins nothing is of no use.
    assert_eq!(idle(&[("third.side_link.rate", "50 GB/s")]), ["third.side_link.rate"]);
    assert_eq!(idle(&[("third.side_link.rate", "50 GB/s"), ("fourth.side_link.rate", "50 GB/s")]), [""; 0]);
    assert_eq!(idle(&[("third.side_link.rate", "50 GB/s"), ("fifth.side_link.rate", "50 GB/s")]).len(), 2);
    // A device that is set apart keeps its own.
    let apart = [("gpu.side_link.rate", "50 GB/s"), ("gpu[1].side_link.latency", "5 us")];
    assert_eq!(idle(&apart), [""; 0]);
}

/// By hand, from `ncclTopoCompute`: two rings of 12 GB/s below a switch of Gen4 x16, two of 24 below one of Gen5, each with two channels; of Gen5 a
/// device at the other socket, which is of Gen4 here, has one ring of 15 through an AMD host and of 10 through one of Intel. A Blackwell has none there.
#[test]
fn a_ring_has_the_channels_of_its_links() {
    let channels = |devices: &str, overrides: &[(&str, &str)]| {
        let lines = format!("devices = {devices}\nsize = \"64 MiB\"");
        config(&lines, overrides).passes[0].channels
    };
    let gen5 =
        [("sw.ports", r#"{ port0 = "gen4 x16", "port1..port3" = "gen5 x16" }"#), ("gpu.generation", "gen5")];
    assert_eq!(channels("[\"gpu[*]\"]", &[]), 4);
    assert_eq!(channels("[\"gpu[*]\"]", &gen5), 4);
    let far = |processor| channels("[\"gpu[*]\", \"fourth\"]", &[("server.processor", processor)]);
    assert_eq!(["amd", "intel-skylake"].map(far), [2, 2]);
    let given = [gen5.as_slice(), &[("workload.ring.channels", "3")]].concat();
    assert_eq!(channels("[\"gpu[*]\"]", &given), 3);
}

/// Eight devices, four below a switch at each socket of a host whose processors are Intel's, and no peers: the link above a switch is used four
/// times in each direction, three of them for packets of peers, 24 GB/s over 4.6. A public log has the same ring of 5 GB/s: NVIDIA/nccl-tests
/// issue 307, eight RTX 4090.
#[test]
fn a_ring_shares_the_link_above_a_switch_with_itself() {
    let text = r#"
[host.server]
processor = "intel-skylake"
[host.server.slots]
slot1 = "gen4 x16"
slot2 = { link = "gen4 x16", socket = 1 }
[switch.sw]
count = 2
attach = "server.slot1..slot2"
ports = { port0 = "gen4 x16", "port1..port4" = "gen4 x16" }
[endpoint.gpu]
part = "generic-gen4-x16"
count = 8
attach = "sw[*].*"
[[workload]]
kind = "collective"
name = "ring"
devices = ["gpu[*]"]
p2p_level = "loc"
operation = "all-gather"
size = "1 KiB"
max_size = "1 GiB"
"#;
    let scenario = load(&Source::from_text("machine.toml".to_owned(), text.to_owned()), &[]);
    let scenario = scenario.map_err(|problems| problems.codes()).expect("it loads");
    let config = scenario.workloads[0].of_kind::<CollectiveConfig>().expect("a collective").clone();
    assert_eq!(config.passes[20].channels, 2);
    // With 5 GB/s LL is faster below (7 (5.7 - 1) + 1.8) us / (7/8 / 2.5 GB/s - 7/8 / 5 GB/s) = 198 KB.
    let protocols: Vec<_> = config.passes.iter().map(|pass| (pass.size.get(), pass.protocol)).collect();
    let last = protocols.iter().rfind(|(_, protocol)| *protocol == Protocol::Ll).map(|(size, _)| *size);
    assert_eq!(last, Some(128 << 10));
}

/// With 0.1 GB/s, where a Blackwell has no ring between sockets of AMD, LL is left at 4 KiB: 8.4 + 4 × 5.7 us and 4/3 of 4096 B over 0.1 GB/s are 85.8 us,
/// 6.6 + 4 × 1 and twice as much 119.8. At 512 B it is 38.0 and 24.3.
#[test]
fn without_a_ring_little_goes_by_simple() {
    let protocol = |size: &str, compute_capability| {
        let lines = format!("devices = [\"gpu[*]\", \"fourth\"]\nalgorithm = \"ring\"\nsize = \"{size}\"");
        let of = |device: &str| format!("{device}.kernel.compute_capability");
        let (one, other) = (of("gpu"), of("fourth"));
        let overrides = [
            ("server.processor", "amd"),
            (one.as_str(), compute_capability),
            (other.as_str(), compute_capability),
        ];
        let pass = config(&lines, &overrides).passes[0].clone();
        (pass.protocol, pass.channels)
    };
    assert_eq!(protocol("4 KiB", "89"), (Protocol::Ll, 1));
    assert_eq!(protocol("4 KiB", "120"), (Protocol::Simple, 1));
    assert_eq!(protocol("512 B", "120"), (Protocol::Ll, 1));
    assert_eq!(protocol("64 MiB", "120"), (Protocol::Simple, 2));
}

/// NUMA nodes of one socket are to NCCL what sockets are: a Blackwell has no ring between two of AMD's, and its peers are as far apart.
#[test]
fn nodes_of_a_socket_are_as_far_apart_as_sockets() {
    let pass = |slot2: &str| {
        let lines = "devices = [\"gpu[0]\", \"third\"]\nsize = \"64 MiB\"\np2p_level = \"phb\"";
        let overrides = [
            ("server.processor", "amd"),
            ("gpu.kernel.compute_capability", "120"),
            ("third.kernel.compute_capability", "120"),
            ("server.slots.slot2", slot2),
        ];
        let config = config(lines, &overrides);
        (config.passes[0].channels, config.ways[0].path.clone())
    };
    assert_eq!(pass("gen4 x16"), (2, Path::Peer(Hardware::Pci)), "one ring of 24 GB/s");
    let apart = pass("{ link = \"gen4 x16\", numa_node = 1 }");
    assert_eq!(apart, (2, Path::HostMemory), "no ring, which has two channels as well");
    let together = pass("{ link = \"gen4 x16\", numa_node = 0 }");
    assert_eq!(together, pass("gen4 x16"), "the node of a socket that says none");
    let without = |slot2: &str| {
        let lines = "devices = [\"gpu[0]\", \"third\"]\nsize = \"16 KiB\"\nalgorithm = \"ring\"";
        let overrides = [
            ("server.processor", "amd"),
            ("gpu.kernel.compute_capability", "120"),
            ("third.kernel.compute_capability", "120"),
            ("server.slots.slot2", slot2),
        ];
        config(lines, &overrides).passes[0].protocol
    };
    assert_eq!(without("gen4 x16"), Protocol::Ll);
    assert_eq!(without("{ link = \"gen4 x16\", numa_node = 1 }"), Protocol::Simple);
}

/// Of two hosts the adapters decide: NCCL doubles a ring over 400 Gb/s at PCI Express of Gen5 x16 once more, and none over 100 Gb/s.
#[test]
fn a_ring_over_hosts_has_the_channels_of_its_adapters() {
    let gen5 = [
        ("server.slots.slot1.link", "gen5 x16"),
        ("other.slots.slot1.link", "gen5 x16"),
        ("other.slots.slot2.link", "gen5 x16"),
        ("sw.ports", r#"{ port0 = "gen5 x16", "port1..port3" = "gen5 x16" }"#),
        ("gpu.generation", "gen5"),
        ("fifth.generation", "gen5"),
        ("nic.generation", "gen5"),
        ("nic1.generation", "gen5"),
    ];
    let channels = |kind: &str, operation: &str| {
        let lines =
            format!("devices = [\"gpu[0]\", \"fifth\"]\nsize = \"64 MiB\"\noperation = \"{operation}\"");
        config(&lines, &[gen5.as_slice(), &[("cable.kind", kind)]].concat()).passes[0].channels
    };
    let of_ring =
        ["infiniband-ndr", "infiniband-hdr", "infiniband-edr"].map(|kind| channels(kind, "all-reduce"));
    assert_eq!(of_ring, [4, 2, 2]);
    // A channel of a pair for each 14 GB/s.
    let of_pair =
        ["infiniband-ndr", "infiniband-hdr", "infiniband-edr"].map(|kind| channels(kind, "send-receive"));
    assert_eq!(of_pair, [4, 2, 1]);
    // A slow slot of an adapter is as good as a slow cable.
    let slow = [gen5.as_slice(), &[("cable.kind", "infiniband-ndr"), ("nic1.generation", "gen3")]].concat();
    let lines = "devices = [\"gpu[0]\", \"fifth\"]\nsize = \"64 MiB\"";
    assert_eq!(config(lines, &slow).passes[0].channels, 2);
}

/// Two hosts of eight devices, which side links join, and an adapter beside each device below a switch of its own.
const NODES: &str = r#"
[host.node]
count = 2
slots = { "slot1..slot8" = "gen5 x16" }
[switch.sw]
count = 16
attach = "node[*].slot1..slot8"
ports = { port0 = "gen5 x16", "port1..port2" = "gen5 x16" }
[endpoint.gpu]
part = "generic-gen5-x16"
count = 16
attach = "sw[*].port1"
side_link = { rate = "450 GB/s" }
kernel = { compute_capability = 90 }
[endpoint.nic]
part = "generic-gen5-x16"
count = 16
attach = "sw[*].port2"
rdma = { ports = 1 }
[network_switch.leaf]
[network.fabric]
kind = "infiniband-ndr"
ends = ["nic[*]", "leaf"]
[[workload]]
kind = "collective"
name = "ring"
devices = ["gpu[*]"]
size = "64 MiB"
"#;

/// By hand, from `ncclTopoSelectNets` and `ncclTopoSearchRecNet`: each of eight adapters of 400 Gb/s carries a ring of 45 GB/s, which begins at the
/// device beside it, and eight rings are sixteen channels. A rank sends another over its own adapter, four channels of 14 GB/s or less.
#[test]
fn rings_cross_the_network_by_every_adapter() {
    let of = |operation: &str| {
        let text = format!("{NODES}operation = \"{operation}\"");
        let scenario = load(&Source::from_text("nodes.toml".to_owned(), text), &[]);
        let scenario = scenario.map_err(|problems| problems.codes()).expect("it loads");
        scenario.workloads[0].of_kind::<CollectiveConfig>().expect("a collective").clone()
    };
    let config = of("all-reduce");
    assert_eq!(config.passes[0].channels, 16);
    let entries: Vec<Vec<u32>> = (0..8).map(|ring| vec![ring, ring + 8]).collect();
    assert_eq!(config.layout.entries, entries);
    let crossings = config.ways.iter().filter_map(|way| match &way.path {
        Path::Network(path) if way.pair.0 < 8 => Some((way.pair, path)),
        _ => None,
    });
    let mut used: [Vec<usize>; 2] = [Vec::new(), Vec::new()];
    for (pair, path) in crossings {
        assert_eq!((path.ports.len(), path.direct), (1, [true, true]), "{pair:?}");
        (0..2).for_each(|end| used[end].push(path.ports[0][end].nic));
    }
    used.iter_mut().for_each(|nics| nics.sort_unstable());
    assert_eq!(used, [(0..8).collect::<Vec<_>>(), (8..16).collect()]);
    assert_eq!(of("send-receive").passes[0].channels, 4);
}

/// A ring enters a host at a device that is nearest to its adapter, also where fewer adapters than devices are: of those beside the last
/// two devices, each is nearest to one, and all other devices are equally far from both.
#[test]
fn rings_enter_at_the_devices_beside_fewer_adapters() {
    let adapters = |name: &str, places: &str| {
        format!(
            "[endpoint.{name}]\npart = \"generic-gen5-x16\"\ncount = 2\nattach = \"sw[{places}].port2\"\nrdma = {{ ports = 1 }}\n"
        )
    };
    let (above, _) = NODES.split_once("[endpoint.nic]").expect("adapters");
    let (_, workload) = NODES.split_once("[[workload]]").expect("a workload");
    let wire = |place: usize| {
        format!(
            "[network.wire{place}]\nkind = \"infiniband-ndr\"\nends = [\"one[{place}]\", \"other[{place}]\"]\n"
        )
    };
    let wires = [0, 1].map(wire).concat();
    let (one, other) = (adapters("one", "6..7"), adapters("other", "14..15"));
    let few = format!("{above}{one}{other}{wires}[[workload]]{workload}");
    let text = format!("{few}operation = \"all-reduce\"");
    let scenario = load(&Source::from_text("nodes.toml".to_owned(), text), &[]);
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
    let config = scenario.workloads[0].of_kind::<CollectiveConfig>().expect("a collective");
    assert_eq!(config.layout.entries[..2], [vec![6, 14], vec![7, 15]]);
}

/// A host that no network joins to the next is reported, whatever its neighbours have.
#[test]
fn a_host_without_an_adapter_is_reported() {
    let three = NODES
        .replace("[host.node]\ncount = 2", "[host.node]\ncount = 3")
        .replace("count = 16", "count = 24")
        .replace("ends = [\"nic[*]\", \"leaf\"]", "ends = [\"nic[0..15]\", \"leaf\"]");
    let text = format!("{three}operation = \"all-reduce\"");
    let problems = load(&Source::from_text("nodes.toml".to_owned(), text), &[]).expect_err("no way");
    assert!(problems.to_string().contains("no network of InfiniBand or RoCE joins the two"), "{problems}");
}

/// NCCL gives two devices that PCI Express joins two channels for what one sends the other, however many rings there are.
#[test]
fn channels_that_are_given_are_those_of_rings() {
    let channels = |operation: &str| {
        let lines =
            format!("devices = [\"gpu[*]\"]\nsize = \"64 MiB\"\nchannels = 8\noperation = \"{operation}\"");
        config(&lines, &[]).passes[0].channels
    };
    assert_eq!((channels("all-reduce"), channels("send-receive"), channels("all-to-all")), (8, 2, 2));
}

/// Lines with flags are dealt with in turn, unless it is said how they are cut.
#[test]
fn lines_with_flags_are_dealt_with_in_turn() {
    let in_turn = |lines: &str| config(&format!("devices = [\"gpu[*]\"]\n{lines}"), &[]).passes[0].in_turn;
    assert!(in_turn("protocol = \"ll\"") && in_turn("protocol = \"ll128\""));
    assert!(!in_turn("protocol = \"simple\"") && !in_turn("protocol = \"ll\"\nslices = 4"));
    assert!(!in_turn("protocol = \"ll\"\noperation = \"send-receive\""));
}

#[test]
fn what_makes_no_sense_is_reported() {
    let codes = |lines: &str| loaded(lines, &[]).unwrap_err();
    let pair = "devices = [\"gpu[*]\"]\n";
    assert_eq!(codes(&format!("{pair}max_size = \"1 KiB\"")), ["out-of-range"]);
    assert_eq!(codes(&format!("{pair}operation = \"broadcast\"\nroot = 2")), ["out-of-range"]);
    assert_eq!(codes(&format!("{pair}operation = \"all-gather\"\nalgorithm = \"tree\"")), ["unknown-choice"]);
    assert_eq!(
        codes(&format!("{pair}networks = [\"nosuch\"]")),
        ["unknown-device"],
        "although it needs none"
    );
    let apart = "devices = [\"gpu[0]\", \"fifth\"]\n";
    assert_eq!(codes(&format!("{apart}networks = [\"wire\"]")), ["unknown-device"]);
    let beside =
        "[[workload]]\nkind = \"perftest\"\nname = \"bw\"\ntool = \"ib_write_bw\"\nnetwork = \"cable\"";
    assert_eq!(codes(&format!("{apart}{beside}")), ["unknown-device"]);
    let unjoined = loaded(apart, &[("cable.kind", "ethernet")]).unwrap_err();
    assert!(unjoined.contains(&"unknown-device"), "{unjoined:?}");
}
