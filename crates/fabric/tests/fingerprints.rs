//! Trajectories are what they were: a hash of every TLP, DLLP and replay on every link of a few named fabrics.
//!
//! The expected hashes, what they mean and how to regenerate them: `fingerprints.csv`.

use crate::common::*;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_units::{Bytes, Generation, Rate, Span, Width};
use std::fmt::Write;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints.csv");
const MEASURED_US: u64 = 80;

type Scenario = (&'static str, FabricConfig, Vec<Stream>);

fn reads(device: u32) -> Stream {
    Stream::new(device, Direction::Read, 5000, 4)
}

fn writes(device: u32) -> Stream {
    Stream::new(device, Direction::Write, 5000, 4)
}

fn to_peer(stream: Stream, device: u32) -> Stream {
    stream.to(Target::Endpoint(DeviceId(device)))
}

fn four_below_a_switch() -> FabricConfig {
    behind_switch(Generation::Gen2, Width::X8, Width::X4, 4, 256)
}

fn store_and_forward_over_a_bus() -> FabricConfig {
    let mut config = four_below_a_switch();
    let settings = switch_mut(&mut config, 1);
    settings.forwarding = Forwarding::StoreAndForward;
    settings.core = SwitchCore::shared_bus(Rate::from_bytes_per_second(1_500_000_000));
    settings.arbitration = Arbitration::WeightedRoundRobin { weights: vec![4, 1, 2, 3, 4] };
    config
}

fn shared_memory_with_redirect() -> FabricConfig {
    let mut config = four_below_a_switch();
    let settings = switch_mut(&mut config, 1);
    settings.core = SwitchCore::SharedMemory { rate: Rate::from_bytes_per_second(5_000_000_000) };
    settings.acs_redirect = true;
    config
}

fn with_errors() -> FabricConfig {
    let mut config = four_below_a_switch();
    for link in &mut config.links {
        link.faults_downstream.bit_error_rate = 1e-6;
        link.faults_upstream.bit_error_rate = 1e-6;
        link.faults_upstream.corrupt_tlps = vec![3, 4, 5, 6, 30];
    }
    config
}

fn root_ports_with_jitter_and_a_shared_queue() -> FabricConfig {
    let mut config = direct(Generation::Gen4, Width::X4, 512);
    let mode = config.links[0].mode;
    config.devices[0].ports = vec![switch_port(mode, 512); 2];
    config.devices.push(device("other", DeviceKind::Endpoint(endpoint()), vec![port(mode, 512)]));
    config.links.push(link((0, 1), (2, 0), mode));
    let root = root_mut(&mut config);
    root.memory_latency_jitter = Span::from_ns(300);
    root.shared_outbound_queue = Some(8);
    root.completion_combine_max = Bytes::new(256);
    config
}

fn scenarios() -> Vec<Scenario> {
    let gen1 = direct(Generation::Gen1, Width::X4, 128);
    let gen3 = direct(Generation::Gen3, Width::X8, 256);
    let gen6 = direct(Generation::Gen6, Width::X4, 256);
    vec![
        ("gen1-x4-writes", gen1, vec![writes(1)]),
        ("gen3-x8-both-ways", gen3, vec![writes(1), reads(1)]),
        ("gen6-x4-flits", gen6, vec![writes(1), reads(1)]),
        (
            "crossbar",
            four_below_a_switch(),
            vec![reads(2), writes(3), to_peer(reads(4), 5), to_peer(writes(5), 4)],
        ),
        ("bus-store-and-forward", store_and_forward_over_a_bus(), (2..6).map(writes).collect()),
        ("memory-redirect", shared_memory_with_redirect(), vec![to_peer(writes(2), 3), to_peer(reads(3), 4)]),
        ("bit-errors", with_errors(), vec![reads(2), writes(3), reads(4), to_peer(writes(5), 4)]),
        (
            "root-ports",
            root_ports_with_jitter_and_a_shared_queue(),
            vec![reads(1), reads(2), to_peer(writes(1), 2)],
        ),
    ]
}

fn row((name, config, streams): Scenario) -> String {
    let simulation = measure(&config, streams, MEASURED_US);
    let observers = simulation.fabric.observers();
    let payload: u64 = observers.flows().iter().map(|flow| flow.payload().get()).sum();
    format!("{name},{},{payload},{:016x}", observers.tlp_hops(), observers.fingerprint())
}

const HEADER: &str = "\
# Hashes of trajectories: \"same as before\", never \"right\". Ingredients: time, port, kind and sequence number of every
# TLP and DLLP put on a wire, and of every replay started. Beside each hash, two numbers that say how far off a
# changed trajectory is: TLPs sent over all links since the start, payload bytes delivered in the measured 80 us.
# A change that was meant to move results updates this file in its own commit, which says what moved and why:
#   LANEWISE_UPDATE=1 cargo test -p lanewise-fabric --test mechanisms fingerprints::
name,tlp_hops,payload_bytes,fingerprint
";

/// Every named fabric takes the trajectory it took when it was last written down.
#[test]
fn trajectories_are_what_they_were() {
    let mut table = HEADER.to_owned();
    for scenario in scenarios() {
        writeln!(table, "{}", row(scenario)).expect("strings take all");
    }
    if std::env::var_os("LANEWISE_UPDATE").is_some() {
        std::fs::write(PATH, &table).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(PATH).expect("the file is there");
    for (actual, expected) in table.lines().zip(expected.lines()) {
        assert_eq!(actual, expected, "a trajectory moved; see the head of {PATH}");
    }
    assert_eq!(table.lines().count(), expected.lines().count());
}
