//! A saturated link reaches the closed form, less exactly what its attribution shows.

use crate::common::*;
use lanewise_fabric::workload::{DeviceId, Direction};
use lanewise_observe::Use;
use lanewise_units::{Generation, Width};

/// protocol-level self-test: Gen1 x4 MWr 128 B 3 DW, infinite credits, 862.3 MB/s within 0.1 %.
#[test]
fn gen1_x4_writes_of_128_bytes_reach_their_ceiling() {
    let mut config = direct(Generation::Gen1, Width::X4, 128);
    config.devices[0].ports[0].credits = infinite();
    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 4)], 500);
    let goodput = goodput(&simulation, 0, 500);
    assert!((goodput / 862.3e6 - 1.0).abs() < 0.001, "{goodput}");
}

/// Every direction's time is accounted for to the tick, and payload time is goodput.
#[test]
fn attribution_sums_exactly_and_explains_the_goodput() {
    let config = behind_switch(Generation::Gen1, Width::X8, Width::X4, 2, 128);
    let streams = (2..4).map(|device| Stream::new(device, Direction::Write, 65536, 4)).collect();
    let simulation = measure(&config, streams, 200);
    let observers = simulation.fabric.observers();
    for device in 0..4 {
        let ports = if device == 1 { 3 } else { 1 };
        for port in 0..ports {
            let tally = observers.direction(simulation.fabric.port_index(DeviceId(device), port));
            assert_eq!(tally.window_start() + tally.total(), tally.window_end());
            assert!(tally.window_end() >= us(220), "{:?}", tally.window_end());
        }
    }
    let upstream = observers.direction(simulation.fabric.port_index(DeviceId(1), 0));
    let shares: Vec<(&str, f64)> = Use::ALL.iter().map(|on| (on.name(), upstream.share(*on))).collect();
    let expected = upstream.share(Use::Payload) * 2.0e9;
    let measured = goodput(&simulation, 0, 200) + goodput(&simulation, 1, 200);
    assert!((measured / expected - 1.0).abs() < 0.003, "{measured} {expected} {shares:?}");
    assert!(upstream.share(Use::Idle) < 0.002, "{shares:?}");
}

/// Reads of 512 B answered in 64 B completions: Ack and UpdateFC ride with the completions.
#[test]
fn reads_pay_for_headers_acks_and_updates() {
    let config = direct(Generation::Gen1, Width::X4, 128);
    let simulation = measure(&config, vec![Stream::new(1, Direction::Read, 65536, 4)], 500);
    let goodput = goodput(&simulation, 0, 500) / 1e6;
    assert!(goodput > 741.0 && goodput < 758.0, "{goodput} MB/s");
}
