//! What the data link layer costs, counted: Acks, UpdateFCs, ordered sets, and a retry buffer that is small.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::{AckPolicy, UpdatePolicy};
use lanewise_fabric::workload::{DeviceId, Direction};
use lanewise_observe::{LinkCounters, Use};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_units::{Bytes, Generation, Span, SymbolTimes, Width};

fn counters(simulation: &Simulation, device: u32) -> LinkCounters {
    simulation.fabric.observers().counters(simulation.fabric.port_index(DeviceId(device), 0))
}

/// Links with the latency limit of their payload for Acks and UpdateFCs alike, in symbol times: PCIe Base 6.3 Tables 3-10 to
/// 3-12. No limit is close to a whole number of packets.
const LIMITS: [(Generation, Width, u64, u64); 5] = [
    (Generation::Gen1, Width::X4, 128, 73),
    (Generation::Gen1, Width::X8, 128, 67),
    (Generation::Gen2, Width::X1, 256, 467),
    (Generation::Gen3, Width::X8, 256, 203),
    (Generation::Gen5, Width::X16, 512, 182),
];

/// How many packets back to back one DLLP answers: as many as the count says, or as arrive until the first has waited for the
/// latency.
fn answered(count: u32, latency: Span, packet: Span) -> f64 {
    f64::from(count).min((latency.ticks() / packet.ticks() + 1) as f64)
}

/// Writes that fill the link, and DLLPs the other way: so many for each write, beside the six that initialise flow control.
#[test]
fn acks_and_updates_are_as_many_as_count_and_latency_say() {
    for (generation, width, mps, limit) in LIMITS {
        let latency = SymbolTimes::new(limit).span(generation);
        let packet = LinkMode::new(generation, width).wire_span(Bytes::new(8 + 12 + mps));
        for (acks, updates) in [(1, 1), (2, 64), (4, 3), (64, 2), (64, 64)] {
            let mut config = without_background(direct(generation, width, mps));
            let root = &mut config.devices[0].ports[0];
            root.credits[0] = CreditPool::finite(127, 2047);
            root.ack = AckPolicy { every_tlps: acks, latency };
            root.update_flow_control =
                UpdatePolicy { every_tlps: updates, latency, period: Span::from_ms(500) };
            root_mut(&mut config).write_latency = Span::ZERO;
            let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 4)], 800);
            let (writes, dllps) =
                (counters(&simulation, 1).tlps_sent as f64, counters(&simulation, 0).dllps_sent);
            let each = 1.0 / answered(acks, latency, packet) + 1.0 / answered(updates, latency, packet);
            let what = format!("{generation} {width}, an Ack for {acks}, an UpdateFC for {updates}");
            assert_close((dllps - 6) as f64, writes * each, 0.01, &what);
        }
    }
}

/// A retry buffer keeps each TLP with 6 B of sequence number and LCRC. With room for one, a write leaves for each turn from the
/// transmitter to the Ack and back, to the tick; a byte short of two is one.
#[test]
fn a_retry_buffer_of_one_moves_one_payload_per_ack_loop() {
    let kept = 12 + 128 + 6;
    for (buffer, at_once) in [(kept, 1), (2 * kept - 1, 1), (2 * kept, 2)] {
        let mut config = without_background(direct(Generation::Gen1, Width::X4, 128));
        config.devices[0].ports[0].credits[0] = CreditPool { header: None, data: None };
        config.devices[0].ports[0].ack.every_tlps = 1;
        config.devices[1].ports[0].retry_buffer = Bytes::new(buffer);
        let mode = LinkMode::new(Generation::Gen1, Width::X4);
        let way = config.links[0].propagation + config.devices[0].ports[0].receive_latency;
        let whole_symbols =
            |span: Span| Span::from_ticks(span.ticks().next_multiple_of(mode.symbol_span().ticks()));
        let ack_sent = whole_symbols(mode.wire_span(Bytes::new(8 + 12 + 128)) + way);
        let turn = whole_symbols(ack_sent + mode.wire_span(Bytes::new(8)) + way);
        assert_eq!(turn, Span::from_ns(204));
        let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 4)], 204);
        let payload = simulation.fabric.observers().flows()[0].payload().get();
        match at_once {
            1 => assert_eq!(payload, 128 * 1000, "{buffer} B"),
            _ => assert!(payload > 128 * 1300, "{buffer} B: {payload}"),
        }
    }
}

/// The same in Flit Mode with room for one whole flit: flit, decoding, the Ack latency that the specification recommends for x4, the
/// flit that brings the Ack, decoding.
#[test]
fn a_retry_buffer_of_one_flit_moves_one_flit_per_ack_loop() {
    let mut config = without_background(direct(Generation::Gen6, Width::X4, 256));
    config.devices[0].ports[0].credits = infinite();
    config.devices[1].ports[0].retry_buffer = Bytes::new(511); // One byte short of two.
    config.devices.iter_mut().for_each(|device| device.ports[0].replay_timer = Span::from_us(12));
    // 8 + 1 + 20 + 56 + 8 + 1 + 20 ns, and flits start every 8 ns.
    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 4)], 120);
    let upstream = simulation.fabric.observers().direction(simulation.fabric.port_index(DeviceId(1), 0));
    let dlp = LinkMode::new(Generation::Gen6, Width::X4).wire_span(Bytes::new(6));
    let flits = upstream.spent_on(Use::Dllp).ticks() / dlp.ticks();
    // What is left of a TLP goes on with a flit; one that begins one may join a NOP flit on the wire.
    assert!((1000..=1001).contains(&flits), "{flits}");
}
