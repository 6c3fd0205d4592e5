//! What limits each flow of a run. Where flows have limits of their own, each is proven: what is named becomes larger, and that flow
//! becomes faster, and no other.

use crate::rig::{Settings, held_back, results, scenario};
use lanewise_sim::{Flow, FlowLimit, Results, why};
use std::ops::ControlFlow;

/// A flow of data by its name.
fn flow<'r>(results: &'r Results, name: &str) -> &'r Flow {
    let mut data = results.flows.iter().filter(|flow| flow.direction != "control" && flow.bytes > 0);
    data.find(|flow| flow.name == name).unwrap_or_else(|| panic!("no flow {name}"))
}

fn limit<'r>(results: &'r Results, name: &str) -> &'r FlowLimit {
    flow(results, name).limited_by.as_ref().unwrap_or_else(|| panic!("{name} has no limit"))
}

/// A flow has this limit; larger, it makes that flow faster, and leaves the others as fast as they are.
#[track_caller]
fn limits_only(text: &str, before: &Results, name: &str, expected: (&str, &str), larger: &Settings) {
    let found = limit(before, name);
    assert_eq!((found.kind, found.name.as_str()), expected, "{name}: {}", found.words);
    let after = results(text, larger);
    for other in before.flows.iter().filter(|flow| flow.direction != "control" && flow.bytes > 0) {
        let gain = flow(&after, &other.name).goodput_gb_per_s / other.goodput_gb_per_s - 1.0;
        let is_larger = other.name == name;
        assert_eq!(gain > 0.2, is_larger, "{} with more of {}: {gain:+.3}", other.name, expected.1);
        assert!(is_larger || gain.abs() < 0.01, "{} with more of {}: {gain:+.3}", other.name, expected.1);
    }
}

/// One of three devices is in a narrow slot, one has few tags, one is asked for little at a time.
const THREE: &str = r#"
title = "Three devices with limits of their own"
[host.server]
slots = { slot1 = "gen4 x4", slot2 = "gen4 x16", slot3 = "gen4 x16" }
memory_bandwidth = "400 GB/s"
[endpoint.narrow]
attach = "server.slot1"
generation = "gen4"
width = "x8"
[endpoint.few]
attach = "server.slot2"
generation = "gen4"
width = "x16"
tags = 8
[endpoint.little]
attach = "server.slot3"
generation = "gen4"
width = "x16"
[[workload]]
kind = "dma"
name = "writes"
device = "narrow"
direction = "write"
size = "64 KiB"
outstanding = 16
[[workload]]
kind = "dma"
name = "reads"
device = "few"
direction = "read"
size = "64 KiB"
outstanding = 16
[[workload]]
kind = "dma"
name = "small"
device = "little"
direction = "read"
size = "4 KiB"
outstanding = 2
"#;

#[test]
fn each_flow_has_a_limit_of_its_own() {
    let before = results(THREE, &[]);
    let wider = [("server.slots.slot1.link", "gen4 x8")];
    limits_only(THREE, &before, "writes", ("wire", "narrow.upstream"), &wider);
    limits_only(THREE, &before, "reads", ("tags", "few.tags"), &[("few.tags", "16")]);
    limits_only(THREE, &before, "small", ("window", "little.window"), &[("workload.small.outstanding", "4")]);
    // The run has the limit of the flow that carries most.
    let largest = before.flows.iter().max_by(|a, b| a.goodput_gb_per_s.total_cmp(&b.goodput_gb_per_s));
    let of_largest = largest.and_then(|flow| flow.limited_by.as_ref()).expect("it has a limit");
    assert_eq!(before.limited_by.as_ref().map(|limit| &limit.name), Some(&of_largest.name));
    // Flows that carry too little to decide for the run have a limit, too.
    let little = results(THREE, &[("workload.small.size", "64 B"), ("workload.small.outstanding", "1")]);
    assert!(flow(&little, "small").goodput_gb_per_s < 0.02 * flow(&little, "writes").goodput_gb_per_s);
    assert_eq!(limit(&little, "small").name, "little.window", "{}", limit(&little, "small").words);
}

/// Commands and status have none, and neither has what moves nothing.
#[test]
fn flows_without_data_have_no_limit() {
    let found = results(THREE, &[]);
    let controls = found.flows.iter().filter(|flow| flow.direction == "control" || flow.bytes == 0);
    assert!(controls.into_iter().all(|flow| flow.limited_by.is_none()));
}

/// An input of a crossbar is full, and the device beside it comes by another one.
const CROSSBAR: &str = r#"
title = "Two devices behind a crossbar"
[host.server]
slots = { slot1 = "gen4 x16" }
[switch.sw0]
attach = "server.slot1"
ports = { port0 = "gen4 x16", port1 = "gen4 x8", port2 = "gen4 x8" }
core = "crossbar"
core_rate = "6 GB/s"
[endpoint.full]
attach = "sw0.port1"
generation = "gen4"
width = "x8"
[endpoint.paced]
attach = "sw0.port2"
generation = "gen4"
width = "x8"
request_interval = "500 ns"
[[workload]]
kind = "dma"
name = "full"
device = "full"
direction = "write"
size = "64 KiB"
outstanding = 16
[[workload]]
kind = "dma"
name = "paced"
device = "paced"
direction = "write"
size = "64 KiB"
outstanding = 16
"#;

#[test]
fn an_input_of_a_switch_limits_who_comes_by_it() {
    let before = results(CROSSBAR, &[]);
    let faster = [("sw0.core_rate", "12 GB/s")];
    limits_only(CROSSBAR, &before, "full", ("switch_core", "sw0.core.port1"), &faster);
    let sooner = [("paced.request_interval", "250 ns")];
    limits_only(CROSSBAR, &before, "paced", ("request_interval", "paced.request_interval"), &sooner);
}

/// A job keeps its core busy, another one has a slow drive and a core of its own, and a card has a narrow slot.
const CORES: &str = r#"
title = "Jobs on cores, and a card"
[host.server]
slots = { slot1 = "gen4 x4", slot2 = "gen4 x4", slot3 = "gen4 x1" }
[endpoint.fast]
part = "generic-nvme-gen4-x4"
attach = "server.slot1"
[endpoint.slow]
part = "generic-nvme-gen4-x4"
attach = "server.slot2"
nvme = { dies = 4 }
[endpoint.card]
attach = "server.slot3"
generation = "gen4"
width = "x4"
[[workload]]
kind = "fio"
name = "busy"
filename = ["fast"]
rw = "randread"
bs = "4 KiB"
iodepth = 256
ioengine = "libaio"
[[workload]]
kind = "fio"
name = "waits"
filename = ["slow"]
rw = "randread"
bs = "4 KiB"
iodepth = 64
ioengine = "libaio"
[[workload]]
kind = "dma"
name = "stream"
device = "card"
direction = "write"
size = "64 KiB"
outstanding = 16
"#;

#[test]
fn a_core_limits_the_job_that_runs_on_it() {
    let before = results(CORES, &[]);
    limits_only(CORES, &before, "busy", ("core", "server.core0"), &[("workload.busy.numjobs", "2")]);
    limits_only(CORES, &before, "waits", ("media", "slow.media"), &[("slow.nvme.dies", "8")]);
    limits_only(
        CORES,
        &before,
        "stream",
        ("wire", "card.upstream"),
        &[("server.slots.slot3.link", "gen4 x2")],
    );
}

/// Two hosts, an adapter in each, and a cable that is narrower than either slot: the same data go through both adapters.
const CABLE: &str = r#"
[run]
warm_up = "100 us"
time_limit = "600 us"
[host.client]
slots = { slot1 = "gen4 x16", slot2 = "gen4 x4" }
[host.target]
slots = { slot1 = "gen3 x16" }
[endpoint.nic0]
attach = "client.slot1"
generation = "gen4"
width = "x16"
rdma = { ports = 1 }
[endpoint.nic1]
attach = "target.slot1"
generation = "gen4"
width = "x16"
rdma = { ports = 1 }
[endpoint.card]
attach = "client.slot2"
generation = "gen4"
width = "x4"
[network.cable]
kind = "infiniband-edr"
ends = ["nic0.port1", "nic1.port1"]
[[workload]]
kind = "perftest"
name = "test"
network = "cable"
tool = "ib_write_bw"
size = "1 MiB"
[[workload]]
kind = "dma"
name = "stream"
device = "card"
direction = "write"
size = "64 KiB"
outstanding = 16
"#;

/// The far adapter waits for a slot that is nearly full, because of the cable, which is full.
#[test]
fn both_ends_of_a_transfer_have_one_limit() {
    let found = results(CABLE, &[]);
    let data = found.flows.iter().filter(|flow| flow.name == "test" && flow.goodput_gb_per_s > 1.0);
    let limits: Vec<&FlowLimit> = data.filter_map(|flow| flow.limited_by.as_ref()).collect();
    assert_eq!(limits.len(), 2);
    assert!(limits.iter().all(|limit| limit.name == "nic0.port1.wire"), "{limits:#?}");
    assert_eq!(limit(&found, "stream").name, "card.upstream");
}

/// Each device writes to the memory of its own socket, which one fills and the other, which takes its time, does not.
const SOCKETS: &str = r#"
[host.server]
slots = { slot1 = { link = "gen4 x16", socket = 0 }, slot2 = { link = "gen4 x16", socket = 1 } }
memory_bandwidth = "10 GB/s"
[endpoint.fills]
attach = "server.slot1"
generation = "gen4"
width = "x16"
[endpoint.paced]
attach = "server.slot2"
generation = "gen4"
width = "x16"
request_interval = "30 ns"
[[workload]]
kind = "dma"
name = "fills"
device = "fills"
direction = "write"
size = "64 KiB"
outstanding = 16
[[workload]]
kind = "dma"
name = "paced"
device = "paced"
direction = "write"
size = "64 KiB"
outstanding = 16
"#;

/// The proof makes the memory of one socket larger, and not that of the other.
#[test]
fn memory_becomes_larger_socket_by_socket() {
    let rig = scenario(SOCKETS, &[]);
    let run = why(&rig, &mut |_| ControlFlow::Continue(())).expect("a tree of devices");
    assert_eq!(limit(&run, "fills").name, "server.memory0");
    assert_eq!(limit(&run, "paced").name, "paced.request_interval");
    // It is seen as what its own device waits for, and not as what the other one does.
    let seen = run.limited_by.as_ref().and_then(|limit| limit.seen_as.as_ref()).expect("the device waits");
    assert!(seen.starts_with("server.slot1.posted_credits"), "{seen}");
    let proof = run.why.as_ref().expect("that is what was asked for");
    let row = |name: &str| {
        let mut rows = proof.larger.iter().filter(|row| row.names == [name]);
        rows.next().unwrap_or_else(|| panic!("{name}: {:#?}", proof.larger))
    };
    // That of the first socket brings all that its device can write; that of the second was in use for most of the time, and brings nothing.
    let first = row("server.memory0");
    let others = flow(&run, "paced").goodput_gb_per_s;
    assert!(
        first.goodput_after_gb_per_s - others > 1.5 * (first.goodput_before_gb_per_s - others),
        "{first:#?}"
    );
    assert!(row("server.memory1").gain_percent.abs() < 1.0, "{:#?}", proof.larger);
}

/// Work requests of a queue pair that are all under way, both ways over a long cable. Each way of it is in use half of the time: that is not
/// all of the time that adapters wait for what is on its way.
#[test]
fn two_wires_that_are_half_full_are_not_one_that_is() {
    let both_ways = [
        ("network.cable.propagation", "1 us"),
        ("workload.test.bidirectional", "true"),
        ("workload.test.size", "4 KiB"),
        ("workload.test.tx_depth", "4"),
        ("run.time_limit", "2 ms"),
    ];
    let before = results(CABLE, &both_ways);
    let found = limit(&before, "test");
    assert_eq!(found.kind, "window", "{}", found.words);
    let deeper = results(CABLE, &[&both_ways[..], &[("workload.test.tx_depth", "8")]].concat());
    let gain = flow(&deeper, "test").goodput_gb_per_s / flow(&before, "test").goodput_gb_per_s;
    assert!(gain > 1.3, "{gain}");
}

/// Writes to the host wait behind others for a slow peer in the same buffer of the switch. Completions to that peer wait for credits, too,
/// which posted writes pass.
const BESIDE_A_SLOW_PEER: &str = r#"
[host.h]
part = "generic-gen5-server"
[switch.s]
part = "broadcom-pex89144"
attach = "h.slot1"
[endpoint.a]
generation = "gen5"
width = "x8"
attach = "s.port1"
[endpoint.b]
generation = "gen4"
width = "x4"
attach = "s.port2"
[[workload]]
kind = "dma"
name = "to_host"
device = "a"
direction = "write"
size = "4 KiB"
outstanding = 64
[[workload]]
kind = "dma"
name = "to_b"
device = "a"
target = "b"
direction = "write"
size = "4 KiB"
outstanding = 64
[[workload]]
kind = "dma"
name = "b_reads"
device = "b"
direction = "read"
size = "4 KiB"
outstanding = 64
"#;

#[test]
fn posted_writes_do_not_wait_for_credits_of_completions() {
    let rate = |settings: &Settings| {
        let found = results(BESIDE_A_SLOW_PEER, settings);
        let flow = found.flows.into_iter().find(|flow| flow.name == "to_host").expect("it is there");
        (flow.goodput_gb_per_s, flow.limited_by.expect("it moved"))
    };
    let (before, limit) = rate(&[]);
    assert_eq!((limit.kind, &*limit.name), ("credits", "s.port1.posted_credits"), "{}", limit.words);
    let endless = [
        ("s.ports.port1.credits.posted_header", "infinite"),
        ("s.ports.port1.credits.posted_data", "infinite"),
    ];
    assert!(rate(&endless).0 > 3.0 * before);
}

/// A drive that is away for most of the run: nothing that it is on the way of is full, and no bits are wrong.
#[test]
fn a_link_that_is_down_for_a_move_limits_nothing() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/drives_change_hosts.toml");
    let text = std::fs::read_to_string(file).expect("the scenario is there");
    for rate in ["0", "1e-9"] {
        let found = results(&text, &[("ssd2.link.bit_error_rate_upstream", rate)]);
        for name in ["server1-ssd2", "server2-ssd2"] {
            let flow = found.flows.iter().find(|flow| flow.name == name && flow.direction == "read");
            let limit = flow.and_then(|flow| flow.limited_by.as_ref());
            let kind = limit.map(|limit| limit.kind).unwrap_or_default();
            assert!(!["wire", "errors"].contains(&kind), "{name}: {limit:?}");
        }
    }
}

/// Two adapters on one cable.
const PAIR: &str = r#"
[host.s]
count = 2
part = "generic-gen4-server"
[endpoint.nic]
count = 2
part = "mellanox-connectx-5"
attach = "s[*].slot1"
[network.c]
kind = "roce"
rate = "100 Gb/s"
ends = ["nic[0].port1", "nic[1].port1"]
[[workload]]
kind = "perftest"
name = "p"
network = "c"
tool = "ib_send_bw"
size = "4 KiB"
"#;

/// A tool with few messages: the adapter that is written to goes on for longer than its core reads.
#[test]
fn ends_of_one_transfer_have_one_limit() {
    for iterations in ["900", "1000", "1100"] {
        let found = results(PAIR, &[("workload.p.iterations", iterations)]);
        let limit = found.limited_by.expect("something moved");
        assert_eq!(limit.kind, "wire_beyond", "{iterations}: {}", limit.sentence);
    }
}

/// Over 2 km a receive buffer of 128 KiB is less than what is on its way. All reads of the queue pair are under way then, and wait for room.
#[test]
fn reads_under_way_that_wait_for_room_are_not_the_limit() {
    let far = [
        ("workload.p.tool", "ib_read_bw"),
        ("workload.p.size", "64 KiB"),
        ("c.propagation", "10 us"),
        ("run.time_limit", "5 ms"),
    ];
    let found = results(PAIR, &far);
    let limit = found.limited_by.expect("something moved");
    assert_eq!(
        (limit.kind, &*limit.name),
        ("adapter_buffer", "nic[0].port1.receive_buffer"),
        "{}",
        limit.sentence
    );
    let gain = |path, value| {
        results(PAIR, &[&far[..], &[(path, value)]].concat()).goodput_gb_per_s / found.goodput_gb_per_s
    };
    let (room, reads) =
        (gain("nic[0].rdma.receive_buffer", "1280 KiB"), gain("nic[0].rdma.outstanding_reads", "160"));
    assert!(room > 1.9 && reads < 1.01, "{room} {reads}");
    // Few small reads: 64 KiB under way, and room for twice as much.
    let small = [&far[..], &[("workload.p.size", "4 KiB")]].concat();
    let limit = results(PAIR, &small).limited_by.expect("something moved");
    assert_eq!(limit.kind, "outstanding_reads", "{}", limit.sentence);
}

/// Strict arbitration lets the lower port through alone: the other waits for the same wire, or for credits before it.
#[test]
fn a_flow_that_gets_nothing_has_a_limit() {
    let text = |arbitration: &str| {
        let port = |name: &str, port: u32| {
            format!(
                "[endpoint.{name}]\nattach = \"sw0.port{port}\"\ngeneration = \"gen3\"\nwidth = \"x4\"\n\
                 [[workload]]\nkind = \"dma\"\nname = \"{name}\"\ndevice = \"{name}\"\ndirection = \"write\"\n\
                 size = \"4 KiB\"\noutstanding = 64\n"
            )
        };
        format!(
            "[host.server]\nslots = {{ slot1 = \"gen3 x4\" }}\n[switch.sw0]\nattach = \"server.slot1\"\n\
             ports = {{ port0 = \"gen3 x4\", port2 = \"gen3 x4\", port3 = \"gen3 x4\" }}\narbitration = \"{arbitration}\"\n{}{}",
            port("first", 2),
            port("starved", 3),
        )
    };
    let run = results(text("strict"), &[]);
    let starved = run.flows.iter().find(|flow| flow.name == "starved").expect("its flow");
    assert_eq!(starved.bytes, 0);
    let found = starved.limited_by.as_ref().expect("a limit");
    assert_eq!((found.kind, found.name.as_str()), ("wire", "sw0.upstream"), "{}", found.words);
    let wider = [("server.slots.slot1", "gen3 x8"), ("sw0.ports.port0", "gen3 x8")];
    assert!(flow(&results(text("strict"), &wider), "starved").goodput_gb_per_s > 1.0);
}

/// One device that writes and reads, each in a flow of its own.
const BOTH: &str = r#"
title = "A device that writes and reads"
[host.server]
slots = { slot1 = "gen4 x16" }
[endpoint.card]
attach = "server.slot1"
generation = "gen4"
width = "x16"
[[workload]]
kind = "dma"
name = "writes"
device = "card"
direction = "write"
size = "64 KiB"
[[workload]]
kind = "dma"
name = "reads"
device = "card"
direction = "read"
size = "64 KiB"
"#;

/// A device is in one state at a time, and its reads and writes wait for different things.
#[test]
fn reads_and_writes_of_a_device_have_limits_of_their_own() {
    let few = [("card.tags", "8")];
    let before = results(BOTH, &few);
    assert_eq!(limit(&before, "writes").name, "card.upstream", "{}", limit(&before, "writes").words);
    assert_eq!(limit(&before, "reads").name, "card.tags", "{}", limit(&before, "reads").words);
    let reads = |settings: &Settings| flow(&results(BOTH, settings), "reads").goodput_gb_per_s;
    assert!(reads(&[("card.tags", "32")]) > 3.0 * reads(&few));
    let proof = why(&scenario(BOTH, &few), &mut |_| ControlFlow::Continue(())).expect("a tree").why;
    let tried = proof.expect("that is what was asked for").larger;
    assert!(tried.iter().any(|each| each.kind == "tags" && each.gain_percent > 20.0), "{tried:#?}");

    // Reads that are asked for two at a time: more tags bring them nothing.
    let little = [("workload.reads.size", "512 B"), ("workload.reads.outstanding", "2")];
    let found = results(BOTH, &little);
    assert_eq!(limit(&found, "reads").name, "card.window", "{}", limit(&found, "reads").words);
    // Writes, one at a time, beside reads that have no tags; and writes with a pace beside reads that fill the wire down.
    let one = [("workload.writes.size", "64 B"), ("workload.writes.outstanding", "1"), few[0]];
    let found = results(BOTH, &one);
    assert_eq!(limit(&found, "writes").name, "card.window", "{}", limit(&found, "writes").words);
    let found = results(BOTH, &[("card.write_interval", "50 ns")]);
    assert_eq!(limit(&found, "reads").name, "card.downstream", "{}", limit(&found, "reads").words);
    assert_eq!(limit(&found, "writes").kind, "request_interval", "{}", limit(&found, "writes").words);
    // With few tags, too, the pace of writes is none of reads.
    let found = results(BOTH, &[("card.write_interval", "50 ns"), few[0]]);
    assert_eq!(limit(&found, "reads").name, "card.tags", "{}", limit(&found, "reads").words);
    assert_eq!(limit(&found, "writes").kind, "request_interval", "{}", limit(&found, "writes").words);
}

/// Two devices below a switch, of which one writes into the other, and a third that fills the link above the switch.
const PEERS_BESIDE: &str = r#"
title = "Peers below a switch, and a neighbour"
[host.server]
slots = { slot1 = "gen4 x8", slot2 = "gen4 x16" }
peer_to_peer = true
memory_bandwidth = "400 GB/s"
[switch.sw]
attach = "server.slot1"
ports = { port0 = "gen4 x8", port1 = "gen4 x16", port2 = "gen4 x16", port3 = "gen4 x16" }
[endpoint.a]
attach = "sw.port1"
generation = "gen4"
width = "x16"
[endpoint.b]
attach = "sw.port2"
generation = "gen4"
width = "x16"
write_drain = "9 GB/s"
memory_read_rate = "4 GB/s"
[endpoint.c]
attach = "sw.port3"
generation = "gen4"
width = "x16"
[[workload]]
kind = "dma"
name = "peer"
device = "a"
target = "b"
direction = "write"
size = "64 KiB"
[[workload]]
kind = "dma"
name = "beside"
device = "c"
direction = "write"
size = "64 KiB"
"#;

/// What two devices below a switch send each other does not come by the link above it, nor by memory; and writes do not come by what reads
/// do.
#[test]
fn a_flow_is_limited_by_nothing_that_others_fill_elsewhere() {
    let before = results(PEERS_BESIDE, &[]);
    limits_only(
        PEERS_BESIDE,
        &before,
        "peer",
        ("endpoint_drain", "b.write_drain"),
        &[("b.write_drain", "14 GB/s")],
    );
    assert_eq!(limit(&before, "beside").name, "sw.upstream");
    let read = [("workload.peer.direction", "read")];
    let found = results(PEERS_BESIDE, &read);
    assert_eq!(limit(&found, "peer").name, "b.memory", "{}", limit(&found, "peer").words);
    // Redirected, they do.
    let wide = [("sw.acs_redirect", "true"), ("b.write_drain", "200 GB/s")];
    let found = results(PEERS_BESIDE, &wide);
    assert_eq!(limit(&found, "peer").name, "sw.upstream", "{}", limit(&found, "peer").words);
    // Memory that is at its limit is nothing to what passes it by, through the root complex.
    let across = [
        ("c.attach", "server.slot2"),
        ("workload.peer.device", "c"),
        ("workload.beside.device", "a"),
        ("server.memory_bandwidth", "8 GB/s"),
        ("b.write_drain", "5 GB/s"),
    ];
    let found = results(PEERS_BESIDE, &across);
    assert_eq!(limit(&found, "beside").name, "server.memory", "{}", limit(&found, "beside").words);
    assert_eq!(limit(&found, "peer").name, "b.write_drain", "{}", limit(&found, "peer").words);
    // But it is translated there, as what goes to memory is.
    let walks = [
        across[0],
        across[1],
        across[2],
        ("server.iommu", "{ enabled = true, walkers = 1, entries = 1 }"),
        ("workload.peer.order", "random"),
    ];
    let found = results(PEERS_BESIDE, &walks);
    assert_eq!(limit(&found, "peer").name, "server.iommu.walkers", "{}", limit(&found, "peer").words);

    // The way on which memory is read, and the entries for it, are none of writes.
    let reads = [
        ("workload.reads.outstanding", "32"),
        ("workload.writes.size", "64 B"),
        ("workload.writes.outstanding", "1"),
    ];
    for slow in [("server.read_bandwidth", "6 GB/s"), ("server.stack.read_trackers", "8")] {
        let found = results(BOTH, &[&reads[..], &[slow]].concat());
        assert!(limit(&found, "reads").name.starts_with("server."), "{}", limit(&found, "reads").words);
        assert_eq!(limit(&found, "writes").name, "card.window", "{}", limit(&found, "writes").words);
    }
}

/// What a device answers to loads waits at its port, too, for as long as its registers take, and holds none of its requests back.
#[test]
fn requests_do_not_wait_for_answers_to_loads() {
    let polled = format!(
        "{BOTH}\n[[workload]]\nkind = \"mmio\"\nname = \"polls\"\ndevice = \"card\"\ndirection = \"read\"\noutstanding = 8\n"
    );
    let settings =
        [("card.tags", "8"), ("workload.writes.size", "64 B"), ("workload.writes.outstanding", "1")];
    let found = results(polled.as_str(), &settings);
    assert_eq!(limit(&found, "reads").name, "card.tags", "{}", limit(&found, "reads").words);
    let alone = polled.replace("direction = \"write\"", "direction = \"read\"");
    let found = results(alone.as_str(), &settings);
    let tags = held_back(&found, "card", "tags");
    assert!(tags > 0.9, "{tags}");
}

/// A request that its device's pace holds back is held back by it until it may leave, whenever data come in meanwhile.
#[test]
fn a_pace_holds_back_whatever_comes_in() {
    let one = ("workload.writes.direction", "read");
    let small = [("workload.writes.size", "64 B"), ("workload.reads.size", "64 B")];
    for latency in ["200 ns", "210 ns", "225 ns", "240 ns"] {
        let more = [("card.request_interval", "50 ns"), ("server.memory_latency", latency), one];
        let found = results(BOTH, &[&small[..], &more].concat());
        let interval = held_back(&found, "card", "request_interval");
        assert!(interval > 0.9, "{latency}: {interval}");
    }
}
