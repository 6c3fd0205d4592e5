//! Bit errors on the wire: what error correction leaves of them in Flit Mode, and what they cost, against closed forms.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction};
use lanewise_observe::Use;
use lanewise_pcie::ack_nak::{FLIT_REPLAY_TIMEOUT_FLITS, flit_ack_latency};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_units::{Bytes, Generation, Span, Time, Width};

const GEN6: Generation = Generation::Gen6;

/// A link in Flit Mode whose buffers are never the limit.
fn flits(width: Width) -> FabricConfig {
    let mode = LinkMode::new(GEN6, width);
    let mut config = direct(GEN6, width, 256);
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.credits = infinite();
        port.retry_buffer = Bytes::from_kib(128);
        port.replay_timer = mode.wire_span(FLIT_BYTES) * FLIT_REPLAY_TIMEOUT_FLITS;
    }
    config
}

fn writes(config: &FabricConfig, measured_us: u64) -> Simulation {
    measure(config, vec![Stream::new(1, Direction::Write, 65536, 8)], measured_us)
}

fn bad_packets(simulation: &Simulation) -> f64 {
    let root_port = simulation.fabric.port_index(DeviceId(0), 0);
    f64::from(simulation.fabric.observers().counters(root_port).errors.bad_tlps)
}

/// At the rate that 64 GT/s is specified for, five flits in a million are sent again, with what is on its way by then.
#[test]
fn a_millionth_of_wrong_bits_costs_flit_links_next_to_nothing() {
    let clean = goodput(&writes(&flits(Width::X16), 1000), 0, 1000);
    let mut config = flits(Width::X16);
    config.links[0].faults_upstream.bit_error_rate = 1e-6;
    config.links[0].faults_downstream.bit_error_rate = 1e-6;
    let lost = 1.0 - goodput(&writes(&config, 1000), 0, 1000) / clean;
    // 500,000 flits, two or three of them bad, each of which costs a turn of about 100 ns.
    assert!((0.0..0.002).contains(&lost), "{lost}");
}

/// Rates at which there are enough bad flits to count: long bursts, one in 515, and two bursts that meet in a group.
#[test]
fn as_many_flits_are_bad_as_correction_leaves() {
    for (rate, expected) in [(3e-5, 1.09e-3), (1e-4, 1.0e-2)] {
        let mut config = flits(Width::X16);
        config.links[0].faults_upstream.bit_error_rate = rate;
        let simulation = writes(&config, 2000);
        // Flits on the wire: time that is not silence or ordered sets, 2 ns each.
        let upstream = simulation.fabric.observers().direction(simulation.fabric.port_index(DeviceId(1), 0));
        let busy = 1.0 - upstream.share(Use::OrderedSet) - upstream.share(Use::Idle);
        let found = bad_packets(&simulation) / (busy * 2000e3 / 2.0);
        assert_close(found, expected, 0.15, &format!("first bit error rate {rate:e}"));
    }
}

/// A flit that is bad, and bad again in its replays: each costs a turn from its transmitter to the Nak and back, and none the
/// replay timer of 1,500 flits.
#[test]
fn each_replay_that_fails_costs_one_turn() {
    for width in [Width::X4, Width::X16] {
        let mode = LinkMode::new(GEN6, width);
        let flit = mode.wire_span(FLIT_BYTES);
        let latency = |corrupt: &[u64]| {
            let mut config = without_background(flits(width));
            config.links[0].faults_upstream.corrupt_tlps = corrupt.to_vec();
            alone(&config, dma(1, Direction::Write, 0, 64))
        };
        let clean = latency(&[]);
        // Checked after wire and receiver; the Nak is back an Ack latency, a flit, wire and receiver later.
        let turn = flit + Span::from_ns(1 + 20) + flit_ack_latency(width) + flit + Span::from_ns(1 + 20);
        for failures in 1..=4 {
            let corrupt: Vec<u64> = (0..failures).collect();
            let more = latency(&corrupt) - clean;
            let (least, most) = (turn * failures, (turn + flit) * failures);
            assert!(least <= more && more <= most, "{width}, {failures}: {more}, not {least} to {most}");
        }
    }
}

/// An Ack or Nak that is lost is said again by the next flit: a link loses flits, and no time waiting for timers.
#[test]
fn a_lost_nak_is_said_again() {
    let mut config = flits(Width::X4);
    config.links[0].faults_upstream.bit_error_rate = 3e-4;
    config.links[0].faults_downstream.bit_error_rate = 3e-4;
    let simulation = writes(&config, 500);
    let card = simulation.fabric.port_index(DeviceId(1), 0);
    let counters = simulation.fabric.observers().counters(card);
    assert!(counters.errors.replays > 100, "{} replays", counters.errors.replays);
    assert_eq!(counters.errors.replay_timeouts, 0);
}

/// With 128b/130b a TLP begins with a token of 4 B. A wrong bit in it takes the link through Recovery; 276 B have it elsewhere.
#[test]
fn a_wrong_token_retrains_the_link() {
    let mut config = direct(Generation::Gen3, Width::X8, 256);
    config.links[0].faults_upstream.bit_error_rate = 1e-5;
    config.links[0].recovery_time = Span::from_us(1);
    let measured = 20_000;
    let simulation = writes(&config, measured);
    let upstream = simulation.fabric.observers().direction(simulation.fabric.port_index(DeviceId(1), 0));
    let retrains = upstream.spent_on(Use::Down).as_ns() / 1000.0;
    assert_close(retrains / bad_packets(&simulation), 4.0 / 276.0, 0.2, "of wrong packets");
    // With 8b/10b a packet begins with a symbol of its own, and its LCRC tells.
    let mut config = direct(Generation::Gen2, Width::X8, 256);
    config.links[0].faults_upstream.bit_error_rate = 1e-5;
    let simulation = writes(&config, 2000);
    let upstream = simulation.fabric.observers().direction(simulation.fabric.port_index(DeviceId(1), 0));
    assert_eq!(upstream.spent_on(Use::Down), Span::ZERO);
    assert!(bad_packets(&simulation) > 50.0);
}

/// A packet whose token is wrong is not seen by a cut-through switch: nothing is forwarded, and nothing nullified.
#[test]
fn a_packet_without_a_token_is_not_forwarded() {
    let mut config = behind_switch(Generation::Gen3, Width::X8, Width::X8, 1, 256);
    switch_mut(&mut config, 1).latency = Span::from_ns(10);
    config.links[1].faults_upstream.bit_error_rate = 2e-5;
    config.links[1].recovery_time = Span::from_us(1);
    let mut simulation = Simulation::build(&config).expect("a tree");
    simulation.add_workload(Box::new(Stream::new(2, Direction::Write, 4096, 4).times(2000)));
    simulation.run_until(Time::ZERO + Span::from_ms(50), u64::MAX);
    assert_eq!(simulation.fabric.observers().flows()[0].payload(), Bytes::new(2000 * 4096));
    let count = |device, port| {
        simulation.fabric.observers().counters(simulation.fabric.port_index(DeviceId(device), port))
    };
    let (bad, nullified) = (f64::from(count(1, 1).errors.bad_tlps), f64::from(count(0, 0).errors.nullified));
    let down = simulation
        .fabric
        .observers()
        .direction(simulation.fabric.port_index(DeviceId(2), 0))
        .spent_on(Use::Down);
    assert!(down > Span::ZERO && nullified < bad, "{down}, {nullified} of {bad}");
}
