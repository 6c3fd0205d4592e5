//! Many hosts behind switches of a network, and buffers in the memory of GPUs: rates that can be worked out by hand.

use crate::rig::{self, metric, within};
use lanewise_sim::Results;

const LONG_ENOUGH: [(&str, &str); 2] = [("run.warm_up", "100 us"), ("run.time_limit", "450 us")];

/// `ib_write_bw` between GPUs over NDR, in Gb/s.
fn gpu_direct(settings: &[(&str, &str)]) -> Results {
    let all: Vec<(&str, &str)> = LONG_ENOUGH.iter().chain(settings).copied().collect();
    rig::results_of_file("gpu_direct", &all)
}

fn gigabits(results: &Results) -> f64 {
    metric(results, "BW average (Gb/s)")
}

/// What the server's adapter writes, in Gb/s: the client's is ahead of it until its buffers are full.
fn written(results: &Results) -> f64 {
    let mut flows = results.flows.iter();
    let found = flows.find(|flow| flow.device == "nic[1]" && flow.direction == "write");
    found.expect("the server writes").goodput_gb_per_s * 8.0
}

/// 65,536 B in sixteen packets of 4,096 B, with 26 B of headers each and 16 B more in the first, over 400 Gb/s.
const WIRE: f64 = 400.0 * 65_536.0 / (16.0 * (4096.0 + 26.0) + 16.0);
/// Gen5 x8 in Gb/s.
const SLOT: f64 = 8.0 * 32.0 * 128.0 / 130.0;
const IN_HOSTS: [(&str, &str); 2] =
    [("workload.write.memory", "memory"), ("workload.write.remote_memory", "memory")];
const REDIRECTED: (&str, &str) = ("sw.acs_redirect", "true");

#[test]
fn memory_of_a_gpu_below_the_same_switch_is_faster_than_that_of_a_host_behind_a_narrow_slot() {
    within(0.1, gigabits(&gpu_direct(&[])), WIRE);
    // What a slot of eight lanes carries of writes of 256 B: 16 B of header, 8 of framing; the server's is the slower way.
    let most = SLOT * 256.0 / 280.0;
    let hosts = written(&gpu_direct(&IN_HOSTS));
    assert!(hosts < most && hosts > 0.97 * most, "{hosts} of {most}");
}

#[test]
fn with_redirection_peers_meet_at_the_root_complex_and_its_slot_is_the_limit() {
    // As above, and for every two packets of the other way an Ack and an UpdateFC of 8 B each: so the part says.
    let most = SLOT * 256.0 / 288.0;
    let redirected = written(&gpu_direct(&[REDIRECTED]));
    assert!(redirected < most && redirected > 0.98 * most, "{redirected} of {most}");
    // Up and down again: a slot whose root complex forwards less is slower than memory of the host, which does not need it.
    let forwarding = ("server.peer.rate", "10 GB/s");
    within(1.0, gigabits(&gpu_direct(&[REDIRECTED, forwarding])), 80.0);
    let hosts = gigabits(&gpu_direct(&[IN_HOSTS[0], IN_HOSTS[1], REDIRECTED, forwarding]));
    assert!(hosts > 2.0 * 80.0, "{hosts}");
}

#[test]
fn a_gpu_that_is_read_slowly_holds_back_its_side_only() {
    let slow = ("gpu.memory_read_rate", "20 GB/s");
    within(0.2, gigabits(&gpu_direct(&[slow])), 160.0);
    // The server's GPU is written to, which is no slower for it.
    within(
        0.1,
        gigabits(&gpu_direct(&[
            slow,
            ("workload.write.memory", "memory"),
            ("server.slots.slot1.link", "gen5 x16"),
        ])),
        WIRE,
    );
    // A read takes what the server's GPU has.
    within(0.2, gigabits(&gpu_direct(&[slow, ("workload.write.tool", "ib_read_bw")])), 160.0);
    let limited = gpu_direct(&[slow]).limited_by.expect("something is the limit");
    assert_eq!(limited.name, "gpu[0].memory");
}

#[test]
fn what_perftest_refuses_is_refused() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/gpu_direct.toml"));
    let problems = |settings: &[(&str, &str)]| rig::problems(text.as_ref().unwrap().as_str(), settings);
    assert!(problems(&[("workload.write.tool", "ib_send_lat")]).is_empty());
    assert_eq!(problems(&[("workload.write.tool", "ib_write_lat")]), ["unknown-device"]);
    let inline = [("workload.write.inline_size", "64 B"), ("workload.write.size", "64 B")];
    assert_eq!(problems(&inline), ["unknown-device"]);
    assert_eq!(problems(&[("workload.write.memory", "gpu[1]")]), ["unknown-device"], "below another host");
    assert_eq!(problems(&[("workload.write.memory", "gpu[*]")]), ["device-count"]);
    let without = [("server.peer_to_peer", "false"), ("gpu.attach", "server[*].slot2")];
    assert_eq!(problems(&without), ["peer-to-peer-blocked"]);
}

/// Four hosts, two at each of two leaves, with NDR adapters, and one spine: two adapters share the wires of a leaf.
fn four_hosts(uplinks: &str, workload: &str) -> String {
    format!(
        "[run]\nwarm_up = \"100 us\"\ntime_limit = \"450 us\"\n\
         [host.node]\ncount = 4\npart = \"generic-gen5-server\"\n\
         [endpoint.nic]\ncount = 4\npart = \"nvidia-connectx-7\"\nattach = \"node[*].slot1\"\n\
         [network_switch.leaf]\ncount = 2\n[network_switch.spine]\n\
         [network.access]\nkind = \"infiniband-ndr\"\nends = [\"nic[*]\", \"leaf[*]\"]\n\
         [network.uplinks]\nkind = \"infiniband-ndr\"\nends = [\"leaf[*]\", \"spine\"]\n{uplinks}\n\
         [[workload]]\nkind = \"perftest\"\nname = \"w\"\ntool = \"ib_write_bw\"\nnetwork = \"access\"\n{workload}\n"
    )
}

/// Of each pair, in the order of the scenario.
fn averages(results: &Results) -> Vec<f64> {
    let metrics = results.instruments.iter().flat_map(|instrument| &instrument.metrics);
    metrics.filter(|metric| metric.name == "BW average (Gb/s)").map(|metric| metric.value).collect()
}

#[test]
fn an_uplink_that_two_share_is_found_to_be_the_limit() {
    let across = "client = \"nic[0..1]\"\nserver = \"nic[2..3]\"";
    let shared = rig::results(four_hosts("", across), &[]);
    let averages_of = averages(&shared);
    assert_eq!(averages_of.len(), 2);
    averages_of.iter().for_each(|average| within(0.5, *average, WIRE / 2.0));
    let limited = shared.limited_by.expect("something is the limit");
    let uplinks = ["leaf[0].port3.wire", "spine.port2.wire"];
    assert!(uplinks.contains(&limited.name.as_str()), "{}", limited.sentence);
    assert_eq!(limited.edits[0].settings[0].path, "uplinks.wires");
    // As the edit says, two wires carry twice.
    let doubled = rig::results(four_hosts("wires = 2", across), &[]);
    averages(&doubled).iter().for_each(|average| within(0.5, *average, WIRE));
}

/// Four leaves with four hosts each, two pods of two leaves and two switches above them, and two at the top: wires for all at each tier.
fn three_tiers(kind: &str, shift: u32) -> String {
    let mut text = format!(
        "[run]\nwarm_up = \"100 us\"\ntime_limit = \"450 us\"\n\
         [host.node]\ncount = 16\npart = \"generic-gen5-server\"\n\
         [endpoint.nic]\ncount = 16\npart = \"nvidia-connectx-7\"\nattach = \"node[*].slot1\"\n\
         [network_switch.leaf]\ncount = 4\n[network_switch.middle]\ncount = 4\n[network_switch.top]\ncount = 2\n\
         [network.access]\nkind = \"{kind}\"\nends = [\"nic[0..15]\", \"leaf[*]\"]\n\
         [[workload]]\nkind = \"perftest\"\nname = \"w\"\ntool = \"ib_write_bw\"\nnetwork = \"access\"\n\
         client = \"nic[*]\"\nserver = \"nic[*]\"\nshift = {shift}\n"
    );
    for (name, ends) in [
        ("first", ["leaf[0..1]", "middle[0..1]"]),
        ("second", ["leaf[2..3]", "middle[2..3]"]),
        ("above", ["middle[*]", "top[*]"]),
    ] {
        text += &format!("[network.{name}]\nkind = \"{kind}\"\nends = {ends:?}\nwires = 2\n");
    }
    text
}

/// Within a leaf, to another of the pod, to another pod: each pair has wires of its own all the way.
#[test]
fn three_tiers_carry_what_their_wires_do() {
    for shift in [1, 4, 8, 11] {
        let found = averages(&rig::results(three_tiers("infiniband-ndr", shift), &[]));
        assert_eq!(found.len(), 16);
        found.iter().for_each(|average| within(1.0, *average, WIRE));
    }
}

/// Hashes leave some wires to several pairs and others to none, but no tier leaves all of one switch's wires idle.
#[test]
fn hashes_of_one_tier_say_nothing_of_the_next() {
    let found = rig::results(
        three_tiers("roce", 8),
        &[
            ("first.rate", "400 Gb/s"),
            ("second.rate", "400 Gb/s"),
            ("above.rate", "400 Gb/s"),
            ("access.rate", "400 Gb/s"),
            ("workload.w.queue_pairs", "16"),
        ],
    );
    for switch in 0..4 {
        for port in 5..=8 {
            let name = format!("middle[{switch}].port{port}.wire");
            let wire =
                found.resources.iter().find(|each| each.name == name).unwrap_or_else(|| panic!("no {name}"));
            assert!(wire.utilisation > 0.1, "{name}: {}", wire.utilisation);
        }
    }
}

#[test]
fn many_to_one_share_alike_and_pairs_within_a_leaf_are_alone() {
    let incast = rig::results(four_hosts("", "client = \"nic[1..3]\"\nserver = \"nic[0]\""), &[]);
    // Two of the three come through the uplink, and take turns there with the third at the last wire.
    let shares = averages(&incast);
    within(1.0, shares.iter().sum(), WIRE);
    within(1.0, shares[0], WIRE / 2.0);
    shares[1..].iter().for_each(|share| within(1.0, *share, WIRE / 4.0));
    let inside = rig::results(four_hosts("", "client = \"nic[*]\"\nserver = \"nic[*]\"\nshift = 1"), &[]);
    // 0 to 1 and 2 to 3 stay within a leaf, 1 to 2 and 3 to 0 have an uplink each.
    averages(&inside).iter().for_each(|average| within(0.5, *average, WIRE));
}

#[test]
fn latency_through_switches_adds_up() {
    let latency = |server: &str, settings: &[(&str, &str)]| {
        let text = four_hosts("", &format!("client = \"nic[0]\"\nserver = \"{server}\""));
        let text = text.replace("ib_write_bw", "ib_write_lat");
        metric(&rig::results(text, settings), "t_typical (us)")
    };
    let near = latency("nic[1]", &[]);
    // Two switches and two cables more; on the hosts' links packets wait for symbols, a fraction of a ns.
    let far = latency("nic[2]", &[]);
    assert!((far - near - 0.42).abs() < 3e-4, "{near} {far}");
    let quicker = latency("nic[2]", &[("leaf.latency", "100 ns"), ("spine.latency", "100 ns")]);
    assert!((far - quicker - 0.3).abs() < 3e-4, "{far} {quicker}");
}

#[test]
fn mistakes_in_networks_are_named() {
    let problems = |text: String| rig::problems(text, &[]);
    let across = "client = \"nic[0]\"\nserver = \"nic[2]\"";
    let good = four_hosts("", across);
    assert!(problems(good.clone()).is_empty());
    let with = |from: &str, to: &str| problems(good.replace(from, to));
    assert_eq!(with("[\"nic[*]\", \"leaf[*]\"]", "[\"nic[*]\", \"leaf[7]\"]")[0], "bad-network-end");
    assert_eq!(
        with(
            "[network_switch.spine]",
            "[network_switch.spine]\nports = 2\n[network.more]\nkind = \"infiniband-ndr\"\nends = [\"leaf[*]\", \"spine\"]"
        ),
        ["bad-network-end"]
    );
    assert_eq!(
        with("ends = [\"leaf[*]\", \"spine\"]", "mtu = \"2048 B\"\nends = [\"leaf[*]\", \"spine\"]"),
        ["bad-network-end"]
    );
    assert_eq!(with("client = \"nic[0]\"\n", ""), ["missing-key"]);
    assert_eq!(with("server = \"nic[2]\"", "server = \"nic[0]\""), ["unknown-device"]);
    assert_eq!(with("client = \"nic[0]\"", "client = \"nic[0..1]\"\n").len(), 0);
    assert_eq!(with("server = \"nic[2]\"", "server = \"nic[1..2]\"\n").len(), 0);
    assert_eq!(problems(four_hosts("", "client = \"nic[0..2]\"\nserver = \"nic[2..3]\"")), ["device-count"]);
    let roce = good.replace("infiniband-ndr", "roce");
    assert!(problems(roce.clone()).is_empty());
    let of_leaf = |setting: &str| {
        problems(roce.replace("[network_switch.leaf]", &format!("[network_switch.leaf]\n{setting}")))
    };
    assert_eq!(of_leaf("buffer = \"8 KiB\""), ["out-of-range"]);
    assert_eq!(of_leaf("xoff = \"256 KiB\""), ["out-of-range"]);
    assert_eq!(of_leaf("xoff = \"64 KiB\"\nxon = \"65 KiB\""), ["out-of-range"]);
}

/// In an all-reduce of four in a ring each sends one and a half times the size: six in all, whichever way they go.
#[test]
fn a_collective_counts_its_bytes_once_through_memory_of_hosts_or_past_them() {
    for level in ["sys", "loc"] {
        let settings = [
            ("workload.sweep.gdr_level", level),
            ("workload.sweep.size", "4 MiB"),
            ("workload.sweep.max_size", "4 MiB"),
        ];
        let found = rig::results_of_file("collective_nodes", &settings);
        let all = found.flows.iter().find(|flow| flow.direction == "collective").expect("operations");
        let once = 6.0 * f64::from(4 << 20);
        let counted = found.goodput_gb_per_s * 1e9 / all.operations_per_s;
        assert!((counted / once - 1.0).abs() < 0.02, "{level}: {counted} for {once} bytes an operation");
    }
}
