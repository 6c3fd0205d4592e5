//! When a packet that crosses switches has arrived, against closed forms: every byte takes the pipeline of every switch.

use crate::common::*;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::Direction;
use lanewise_pcie::encoding::LinkMode;
use lanewise_units::{Bytes, Generation, Span, Width};

use Generation::{Gen1, Gen2, Gen3, Gen4, Gen5};
const X1: Width = Width::X1;
const X4: Width = Width::X4;
const X8: Width = Width::X8;
const X16: Width = Width::X16;

/// One way over each wire, and the check at its end.
const WIRE_NS: f64 = 2.0;
const CHECK_NS: f64 = 20.0;

/// A root port above switches in a chain and an endpoint at its end: the links from the root port down, and the latency of
/// each switch in ns.
fn rig(links: &[(Generation, Width)], latencies: &[u64], mps: u64) -> FabricConfig {
    assert_eq!(links.len(), latencies.len() + 1, "a link on either side of every switch");
    let modes: Vec<LinkMode> = links.iter().map(|(rate, width)| LinkMode::new(*rate, *width)).collect();
    let mut root = root_complex();
    root.memory_base = 1 << 32; // Headers of four DW.
    let mut devices = vec![device("root", DeviceKind::RootComplex(root), vec![port(modes[0], mps)])];
    for (index, latency) in latencies.iter().enumerate() {
        let ports = vec![switch_port(modes[index], mps), switch_port(modes[index + 1], mps)];
        devices.push(device(&format!("switch{index}"), DeviceKind::Switch(switch(*latency)), ports));
    }
    let last = *modes.last().expect("a link");
    devices.push(device("end", DeviceKind::Endpoint(endpoint()), vec![port(last, mps)]));
    let link = |(index, mode): (usize, &LinkMode)| LinkConfig {
        propagation: Span::from_ns(2),
        ..link((index, usize::from(index > 0)), (index + 1, 0), *mode)
    };
    let links = modes.iter().enumerate().map(link).collect();
    without_background(FabricConfig { devices, links, cxl: Default::default(), seed: 1 })
}

/// A write at a time that is a whole number of symbols of every rate after the start.
fn write_ns(config: &FabricConfig, payload: u64) -> f64 {
    let ask = dma(config.devices.len() as u32 - 1, Direction::Write, 0, payload);
    let (_, log) = run_script(config, vec![(us(65), ask)], 1000);
    log.latency(0).as_ns()
}

/// Bytes per ns after coding, from the rate of a lane: 8 bits in 10 up to 5 GT/s, 128 in 130 up to 32.
fn bytes_per_ns((rate, width): (Generation, Width)) -> f64 {
    let coded = match rate {
        Gen1 => 0.25,
        Gen2 => 0.5,
        Gen3 => 8.0 * 128.0 / 130.0 / 8.0,
        Gen4 => 16.0 * 128.0 / 130.0 / 8.0,
        _ => 32.0 * 128.0 / 130.0 / 8.0,
    };
    coded * width.lanes() as f64
}

/// Links from the root port down, latencies, payload, and what a stopwatch would show, in ns.
type Point = (&'static [(Generation, Width)], &'static [u64], u64, f64);

/// First byte out of the endpoint to the check at the root port: wires and pipelines, and one serialisation, which is that of
/// the slowest link: each switch holds a packet back by what it leaves faster than it came.
fn closed_form(links: &[(Generation, Width)], latencies: &[u64], bytes: f64) -> f64 {
    let pipelines: f64 = latencies.iter().map(|latency| *latency as f64).sum();
    let mut from_the_end = links.iter().rev().map(|link| bytes / bytes_per_ns(*link));
    let mut span = from_the_end.next().expect("a link");
    let mut held_back = 0.0;
    for out in from_the_end {
        held_back += f64::max(0.0, span - out);
        span = out;
    }
    WIRE_NS * links.len() as f64 + pipelines + held_back + span + CHECK_NS
}

#[test]
fn every_byte_takes_the_pipeline_of_every_switch() {
    let points: [Point; 7] = [
        (&[(Gen3, X16), (Gen3, X4)], &[150], 256, 245.1),
        (&[(Gen4, X16), (Gen4, X4)], &[105], 256, 164.5),
        (&[(Gen5, X16), (Gen4, X8), (Gen3, X4)], &[115, 105], 512, 382.1),
        (&[(Gen1, X8), (Gen1, X4)], &[202], 128, 378.0),
        (&[(Gen1, X4), (Gen1, X8)], &[202], 128, 378.0),
        (&[(Gen5, X16), (Gen1, X1)], &[150], 256, 1294.0),
        (&[(Gen3, X8), (Gen3, X8)], &[150], 256, 209.5),
    ];
    for (links, latencies, payload, stopwatch) in points {
        let expected = closed_form(links, latencies, (payload + 24) as f64);
        assert_close(expected, stopwatch, 0.001, "the closed form itself");
        let simulated = write_ns(&rig(links, latencies, 512), payload);
        assert_close(simulated, expected, 0.005, &format!("{links:?}"));
        assert!(simulated >= expected - 0.001, "{links:?}: nothing is faster than its bytes");
    }
}

/// Whatever the widths, in one symbol of the egress: packets start on one.
#[test]
fn latency_follows_the_slower_of_both_links() {
    for (rate, symbol_ns) in [(Gen1, 4.0), (Gen2, 2.0), (Gen3, 1.02), (Gen4, 0.51), (Gen5, 0.26)] {
        for above in [X1, X4, X8, X16] {
            for below in [X1, X4, X8, X16] {
                for payload in [4, 64, 256] {
                    let links = [(rate, above), (rate, below)];
                    let expected = closed_form(&links, &[130], (payload + 24) as f64);
                    let simulated = write_ns(&rig(&links, &[130], 256), payload);
                    let behind = simulated - expected;
                    assert!((-0.001..=symbol_ns).contains(&behind), "{links:?}, {payload} B: {behind} ns");
                }
            }
        }
    }
}

/// A shared memory writes the packet when a switch without one would forward it, and it may leave when it is in.
#[test]
fn a_shared_memory_adds_the_time_of_writing_a_packet() {
    let links = [(Gen3, X16), (Gen3, X4)];
    let mut config = rig(&links, &[150], 256);
    let rate = lanewise_units::Rate::from_bytes_per_second(28_000_000_000);
    switch_mut(&mut config, 1).core = SwitchCore::SharedMemory { rate };
    let expected = closed_form(&links, &[150], 280.0) + 272.0 / 28.0;
    assert_close(write_ns(&config, 256), expected, 0.005, "272 B at 28 GB/s");
}

/// Who stores and forwards checks the packet first: its last byte is in, and then takes the pipeline.
#[test]
fn storing_and_forwarding_costs_a_serialisation_of_either_link() {
    for links in [[(Gen3, X16), (Gen3, X4)], [(Gen3, X4), (Gen3, X16)]] {
        let mut config = rig(&links, &[150], 256);
        switch_mut(&mut config, 1).forwarding = Forwarding::StoreAndForward;
        let both: f64 = links.iter().map(|link| 280.0 / bytes_per_ns(*link)).sum();
        let expected = 2.0 * WIRE_NS + 2.0 * CHECK_NS + 150.0 + both;
        assert_close(write_ns(&config, 256), expected, 0.005, &format!("{links:?}"));
    }
}

/// A copy that has begun to leave a faster egress when its original is found damaged is nullified, and the good one follows
/// when it has come again; a packet that has not begun to leave by then never does.
#[test]
fn a_damaged_packet_is_nullified_only_if_it_has_begun_to_leave() {
    for (latency, nullified) in [(4, 1), (200, 0)] {
        let mut config = rig(&[(Gen1, X8), (Gen1, X4)], &[latency], 128);
        config.links[1].faults_upstream.corrupt_tlps = vec![0];
        let (simulation, log) = run_script(&config, vec![(us(5), dma(2, Direction::Write, 0, 128))], 100);
        let root_port = simulation.fabric.port_index(lanewise_fabric::workload::DeviceId(0), 0);
        let counters = simulation.fabric.observers().counters(root_port);
        assert_eq!(counters.errors.nullified, nullified, "{latency} ns");
        assert_eq!(log.done(), 1, "{latency} ns");
    }
    assert_eq!(
        Bytes::new(152).get(),
        128 + 24,
        "so the copy starts 4 + 152 / 2 ns after the head, before the check"
    );
}
