//! What small pools of credits carry: an UpdateFC goes out for a quarter of a pool at most, against the closed form of a loop.

use crate::common::*;
use lanewise_fabric::workload::Direction;
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_units::{Bytes, Generation, Span, Width};

use Generation::{Gen1, Gen3, Gen4};

/// Header of 3 DW and framing.
const OVERHEAD: f64 = 20.0;
const PAYLOAD: f64 = 256.0;
/// Of every port, where nothing else is asked for.
const UPDATE_EVERY: u16 = 8;

/// Writes into a root port with so many headers and the data for as many packets of 256 B, each of which is held for
/// `drain_ns`: bytes of payload per ns.
fn simulated(mode: LinkMode, pool: CreditPool, drain_ns: u64) -> f64 {
    let mut config = without_background(direct(mode.generation, mode.width, 256));
    root_mut(&mut config).write_latency = Span::from_ns(drain_ns);
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.credits[0] = pool;
        port.update_flow_control.every_tlps = UPDATE_EVERY.into();
        port.retry_buffer = Bytes::from_kib(64);
        port.replay_timer = Span::from_us(12);
    }
    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 16)], 200);
    goodput(&simulation, 0, 200) / 1e9
}

/// A link, its bytes per ns, and its symbol in ns.
fn links() -> [(LinkMode, f64, f64); 3] {
    let coded = 128.0 / 130.0;
    [
        (LinkMode::new(Gen1, Width::X4), 1.0, 4.0),
        (LinkMode::new(Gen3, Width::X8), 8.0 * coded, 1.0 / coded),
        (LinkMode::new(Gen4, Width::X16), 32.0 * coded, 0.5 / coded),
    ]
}

/// Packets of a pool are on their way, each until an UpdateFC for `each` of them is back, or the line is full: wires of 1 ns
/// and checks of 20 ns there and back, the buffer, the UpdateFC, and half a symbol in the mean before each start.
fn closed_form(packets: f64, each: f64, drain_ns: f64, (rate, symbol): (f64, f64)) -> f64 {
    let span = (PAYLOAD + OVERHEAD) / rate;
    let around = 2.0 * (1.0 + 20.0) + drain_ns + 8.0 / rate + symbol;
    f64::min(packets * PAYLOAD / (around + each * span), PAYLOAD / span)
}

/// Pools that cover one loop fill the line, however small they are.
#[test]
fn a_pool_that_covers_the_loop_fills_the_line() {
    let mut full = 0;
    for (mode, rate, symbol) in links() {
        for drain in [0, 50, 200] {
            for packets in 4..=32 {
                let quarter = f64::from((packets / 4).clamp(1, UPDATE_EVERY));
                let line = PAYLOAD * rate / (PAYLOAD + OVERHEAD);
                // What is left over at the end of a burst waits for its turn: less than one UpdateFC's worth.
                let sure = f64::from(packets) - (quarter - 1.0);
                if closed_form(sure, quarter, drain as f64, (rate, symbol)) < line {
                    continue;
                }
                let simulated = simulated(mode, CreditPool::finite(packets, 16 * packets), drain);
                assert_close(simulated, line, 0.005, &format!("{mode}, {packets} packets, {drain} ns"));
                full += 1;
            }
        }
    }
    assert!(full > 120, "{full} points");
}

/// Pools of up to seven packets hear of every packet, and carry what is on its way.
#[test]
fn the_smallest_pools_hear_of_every_packet() {
    for (mode, rate, symbol) in links() {
        for drain in [50, 200] {
            for packets in 2..=7 {
                let expected = closed_form(packets.into(), 1.0, drain as f64, (rate, symbol));
                let simulated = simulated(mode, CreditPool::finite(packets, 16 * packets), drain);
                assert_close(simulated, expected, 0.005, &format!("{mode}, {packets} packets, {drain} ns"));
            }
        }
    }
}

/// Larger ones that do not cover the loop lose less than one UpdateFC's worth of credits.
#[test]
fn a_pool_that_does_not_cover_the_loop_loses_less_than_an_update() {
    for (mode, rate, symbol) in links() {
        for (packets, drain) in [(8, 200), (12, 200), (16, 200), (24, 200), (32, 400), (64, 1000)] {
            let quarter = f64::from((packets / 4).clamp(1, UPDATE_EVERY));
            let simulated = simulated(mode, CreditPool::finite(packets, 16 * packets), drain);
            let most = closed_form(packets.into(), 1.0, drain as f64, (rate, symbol));
            let least =
                closed_form(f64::from(packets) - quarter + 1.0, quarter, drain as f64, (rate, symbol));
            let what = format!("{mode}, {packets} packets, {drain} ns: {simulated} of {least} to {most}");
            assert!(simulated > least * 0.995 && simulated < most * 1.005, "{what}");
        }
    }
}

/// Headers and data are looked at apart: either may be the scarce one.
#[test]
fn the_scarcer_of_headers_and_data_decides() {
    let (mode, rate, symbol) = links()[2];
    for packets in [4, 5, 6, 7] {
        let expected = closed_form(packets.into(), 1.0, 200.0, (rate, symbol));
        for pool in [CreditPool::finite(packets, 2000), CreditPool::finite(100, 16 * packets)] {
            assert_close(simulated(mode, pool, 200), expected, 0.005, &format!("{pool}"));
        }
    }
}
