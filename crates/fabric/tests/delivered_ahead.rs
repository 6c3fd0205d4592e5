//! What the simulator does without events comes to the same as with them.
//!
//! A listed fault that never happens makes a link one on which arrivals and due DLLPs are events. Both kinds of link have
//! to carry the same load in the same time, whatever is scarce: credits, retry buffer, or the wire itself.

use crate::common::*;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::Direction;
use lanewise_fabric::{Progress, Simulation};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_units::{Bytes, Generation, Span, Time, Width};

const MEASURED_US: u64 = 60;

/// The same fabric, with nothing delivered ahead.
fn with_every_arrival_an_event(mut config: FabricConfig) -> FabricConfig {
    for link in &mut config.links {
        link.faults_upstream.corrupt_tlps = vec![u64::MAX];
    }
    config
}

fn ports_mut(config: &mut FabricConfig) -> impl Iterator<Item = &mut PortConfig> {
    config.devices.iter_mut().flat_map(|device| &mut device.ports)
}

const BOTH: &[Direction] = &[Direction::Write, Direction::Read];
/// No packet on the reverse wire makes a port look at its receiver in passing.
const WRITES: &[Direction] = &[Direction::Write];

fn payloads(config: &FabricConfig, endpoints: u32, ways: &[Direction]) -> Vec<f64> {
    let streams = |device| ways.iter().map(move |way| Stream::new(device, *way, 5000, 4));
    let streams: Vec<Stream> = (2..2 + endpoints).flat_map(streams).collect();
    let flows = streams.len();
    let simulation = measure(config, streams, MEASURED_US);
    (0..flows).map(|flow| goodput(&simulation, flow, MEASURED_US)).collect()
}

fn compare(config: FabricConfig, endpoints: u32, ways: &[Direction], what: &str) {
    let ahead = payloads(&config, endpoints, ways);
    let events = payloads(&with_every_arrival_an_event(config), endpoints, ways);
    for (ahead, events) in ahead.iter().zip(&events) {
        // Ties fall differently, and windows end in the middle of a packet.
        assert_close(*ahead, *events, 0.02, what);
    }
}

#[test]
fn on_a_plain_fabric() {
    compare(behind_switch(Generation::Gen3, Width::X8, Width::X4, 4, 256), 4, BOTH, "plain");
}

#[test]
fn where_credits_are_scarce() {
    for tlps in [1u16, 2, 5, 9] {
        // Scarce at the switch, whose upstream wire is slower: packets are in flight when space comes free.
        let mut config = behind_switch(Generation::Gen3, Width::X2, Width::X8, 1, 256);
        for port in &mut config.devices[1].ports {
            port.credits[0] = CreditPool::finite(tlps, 16 * tlps);
            port.update_flow_control.every_tlps = 100;
            port.update_flow_control.latency = Span::from_us(2);
        }
        compare(config, 1, WRITES, &format!("credits for {tlps} writes"));
    }
}

#[test]
fn where_the_retry_buffer_is_small() {
    for tlps in [1, 2, 5] {
        let mut config = behind_switch(Generation::Gen3, Width::X8, Width::X8, 1, 256);
        for port in ports_mut(&mut config) {
            port.retry_buffer = Bytes::new(282 * tlps);
        }
        compare(config, 1, WRITES, &format!("room for {tlps} TLPs"));
    }
}

/// A TLP may arrive at a side that has lost the DLLPs which end flow control initialisation: it owes, but may not send yet.
#[test]
fn where_initialisation_takes_several_attempts() {
    for seed in 0..100 {
        let mut config = direct(Generation::Gen3, Width::X4, 256);
        config.seed = seed;
        config.links[0].faults_upstream.bit_error_rate = 2e-3;
        config.links[0].faults_downstream.bit_error_rate = 2e-3;
        let mut simulation = Simulation::build(&config).expect("a tree");
        simulation.add_workload(Box::new(Stream::new(1, Direction::Write, 64, 4).times(20)));
        assert_eq!(simulation.run_until(us(20_000), 1_000_000), Progress::Finished, "seed {seed}");
    }
}

/// Fingerprints of a run without a stop, and of one that stops every few nanoseconds.
fn in_one_and_in_pieces(config: &FabricConfig) -> [u64; 2] {
    [Span::from_us(20), Span::from_ns(7)].map(|piece| {
        let mut simulation = Simulation::build(config).expect("a tree");
        simulation.add_workload(Box::new(Stream::new(2, Direction::Read, 512, 2)));
        let mut at = Time::ZERO;
        while at < us(20) {
            at = (at + piece).min(us(20));
            simulation.run_until(at, u64::MAX);
        }
        simulation.fabric.observers().fingerprint()
    })
}

/// Reads whose completions wait for credits of the switch.
fn with_few_completion_credits(upper: LinkMode, lower: LinkMode, tlps: u16, ack: AckPolicy) -> FabricConfig {
    let mut config = behind_switch(upper.generation, upper.width, lower.width, 1, 128);
    config.links[1].mode = lower;
    let upstream = &mut config.devices[1].ports[0];
    upstream.credits[2] = CreditPool::finite(tlps, 8 * tlps);
    upstream.update_flow_control.every_tlps = 1;
    upstream.ack = ack;
    config
}

/// A port that waits for credits wakes when they are there, though a TLP on its way brings forward the Ack that goes before them.
#[test]
fn a_blocked_port_wakes_in_time_though_a_tlp_brings_the_ack_forward() {
    let [upper, lower] = [Width::X2, Width::X1].map(|width| LinkMode::new(Generation::Gen3, width));
    let ack = AckPolicy { every_tlps: 3, latency: Span::from_ns(233) };
    let mut config = with_few_completion_credits(upper, lower, 2, ack);
    let DeviceKind::RootComplex(root) = &mut config.devices[0].kind else { unreachable!() };
    root.completion_combine_max = Bytes::new(64);
    let DeviceKind::Switch(switch) = &mut config.devices[1].kind else { unreachable!() };
    switch.latency = Span::from_ns(100);
    config.devices[1].ports[0].receive_latency = Span::from_ns(7);
    let [in_one, in_pieces] = in_one_and_in_pieces(&config);
    assert_eq!(in_one, in_pieces);
}

/// The same, though an ordered set shifts the boundaries on which packets start.
#[test]
fn a_blocked_port_wakes_in_time_though_an_ordered_set_shifts_packets() {
    let (upper, lower) =
        (LinkMode::new(Generation::Gen1, Width::X1), LinkMode::new(Generation::Gen4, Width::X2));
    let ack = AckPolicy { every_tlps: 2, latency: Span::from_ns(436) };
    let mut config = with_few_completion_credits(upper, lower, 1, ack);
    config.links[0].skip_interval = Some(Span::from_ns(1027));
    let DeviceKind::Switch(switch) = &mut config.devices[1].kind else { unreachable!() };
    switch.latency = Span::ZERO;
    config.devices[1].ports[0].receive_latency = Span::from_ns(25);
    let [in_one, in_pieces] = in_one_and_in_pieces(&config);
    assert_eq!(in_one, in_pieces);
}
