//! What SKP ordered sets cost a link that is never silent, against closed forms.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::workload::{DeviceId, Direction};
use lanewise_observe::Use;
use lanewise_pcie::encoding::LinkMode;
use lanewise_units::{Bytes, Generation, Span, Time, Width};

/// Blocks from one SKP ordered set to the next: the middle of 370 to 375 (PCIe Base 6.3 §4.2.8.4).
const INTERVAL_BLOCKS: u64 = 373;
/// Symbols of a block on one lane, and bytes of an EDS token.
const BLOCK: u64 = 16;
const EDS: u64 = 4;

/// Writes of one size without end, and nothing else on the wire: share of ordered sets, and payload in bytes per ns.
fn saturated(mode: LinkMode, payload: u64) -> (f64, f64) {
    let mut config = direct(mode.generation, mode.width, payload);
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.credits = infinite();
        port.retry_buffer = Bytes::from_kib(256);
        port.replay_timer = Span::from_us(100);
        port.update_flow_control.period = Span::from_ms(500);
    }
    let measured = 4000;
    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 1 << 20, 4)], measured);
    let upstream = simulation.fabric.port_index(DeviceId(1), 0);
    let share = simulation.fabric.observers().direction(upstream).share(Use::OrderedSet);
    (share, goodput(&simulation, 0, measured) / 1e9)
}

/// Share of ordered sets, and of what leads to them, in bytes of the whole link: packets without a gap until one is due; then the
/// block is filled, its last DW is an EDS token, and where there is no room for that, the next is filled too. Packets and blocks
/// fall into step, so that it depends on both how much is filled.
fn share_of_ordered_sets(width: u64, packet: u64) -> f64 {
    let block = BLOCK * width;
    let (mut at, mut spent) = (0, 0);
    for sets in 1..=10_000 {
        let due = sets * INTERVAL_BLOCKS * block;
        at += due.saturating_sub(at).div_ceil(packet) * packet;
        let end = (at + EDS).div_ceil(block) * block + block;
        spent += end - at;
        at = end;
    }
    spent as f64 / at as f64
}

#[test]
fn an_ordered_set_of_128b_130b_waits_for_the_end_of_a_block() {
    let (rates, widths) = ([Generation::Gen3, Generation::Gen4, Generation::Gen5], [1, 4, 8, 16]);
    let alone = 1.0 / INTERVAL_BLOCKS as f64;
    let mut filled = Vec::new();
    for (rate, width) in rates.into_iter().flat_map(|rate| widths.map(|width| (rate, width))) {
        let mode = LinkMode::new(rate, Width::from_lanes(width).expect("a width"));
        for payload in [128, 256, 512, 1024] {
            let packet = payload + 20;
            let expected = share_of_ordered_sets(width, packet);
            let (share, goodput) = saturated(mode, payload);
            let line = mode.coded_gb_per_s() * payload as f64 / packet as f64;
            let what = format!("{mode}, {payload} B: {share:.6}, expected {expected:.6}");
            assert!((share - expected).abs() < 0.0001, "{what}");
            assert_close(goodput, line * (1.0 - expected), 0.0002, &what);
            filled.push(share - alone);
        }
    }
    // Half a block in 373 in the mean, with whatever step packets fall into.
    let mean = filled.iter().sum::<f64>() / filled.len() as f64;
    assert!((0.0009..0.0019).contains(&mean), "{mean}");
}

/// With 8b/10b there are no blocks: four symbols, behind the packet.
#[test]
fn an_ordered_set_of_8b_10b_follows_at_once() {
    for (rate, width) in
        [(Generation::Gen1, Width::X1), (Generation::Gen1, Width::X4), (Generation::Gen2, Width::X16)]
    {
        let (share, _) = saturated(LinkMode::new(rate, width), 128);
        assert!((share - 4.0 / 1359.0).abs() < 0.00002, "{share}");
    }
}

/// A silent link ends its data stream in time: an ordered set is one block, whoever looks at the link meanwhile.
#[test]
fn a_silent_link_sends_an_ordered_set_when_it_is_due() {
    let mode = LinkMode::new(Generation::Gen3, Width::X4);
    let mut config = direct(mode.generation, mode.width, 128);
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.update_flow_control.period = Span::from_ms(500);
    }
    let share = |writes: u64| {
        let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 128, 1).times(writes)], 2000);
        let upstream = simulation.fabric.port_index(DeviceId(1), 0);
        simulation.fabric.observers().direction(upstream).share(Use::OrderedSet)
    };
    assert!((share(1) - 1.0 / INTERVAL_BLOCKS as f64).abs() < 0.00001, "{}", share(1));
}

/// An interval that is asked for is a whole number of blocks, the next smaller.
#[test]
fn a_given_interval_is_counted_in_blocks() {
    let mode = LinkMode::new(Generation::Gen3, Width::X4);
    let mut config = direct(mode.generation, mode.width, 128);
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.update_flow_control.period = Span::from_ms(500);
    }
    config.links[0].skip_interval = Some(Span::from_ns(1000)); // 61.5 blocks.
    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 128, 1).times(1)], 2000);
    let upstream = simulation.fabric.port_index(DeviceId(1), 0);
    let share = simulation.fabric.observers().direction(upstream).share(Use::OrderedSet);
    assert!((share - 1.0 / 61.0).abs() < 0.0001, "{share}");
}

/// Ordered sets that are due sooner than one takes fill half of the wire, and an hour of it is accounted for at once.
#[test]
fn ordered_sets_that_are_due_all_the_time_leave_half_of_the_wire() {
    let mut config = direct(Generation::Gen1, Width::X4, 128);
    config.links[0].skip_interval = Some(Span::from_ns(1));
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.update_flow_control.period = Span::from_ms(500);
    }
    let mut simulation = Simulation::build(&config).expect("a tree");
    let hour = Time::ZERO + Span::from_ms(3_600_000);
    simulation.run_until(hour, u64::MAX);
    simulation.stop_measuring(hour);
    let share = simulation.fabric.observers().direction(0).share(Use::OrderedSet);
    assert!((share - 0.5).abs() < 1e-6, "{share}");
}
