//! Flit Mode: layout, SKP cadence, sixteen TLPs a flit, replay.

use crate::common::*;
use lanewise_fabric::config::{DeviceKind, FabricConfig};
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_fabric::{Progress, Simulation};
use lanewise_observe::Use;
use lanewise_pcie::ack_nak::FLIT_REPLAY_TIMEOUT_FLITS;
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_units::{Bytes, Generation, Span, Time, Width};

/// A fabric whose limits are far beyond the link's.
fn unlimited(width: Width, mps: u64) -> FabricConfig {
    let mut config = direct(Generation::Gen6, width, mps);
    for device in &mut config.devices {
        device.ports[0].credits = infinite();
        device.ports[0].retry_buffer = Bytes::from_kib(128);
        device.ports[0].replay_timer =
            LinkMode::new(Generation::Gen6, width).wire_span(FLIT_BYTES) * FLIT_REPLAY_TIMEOUT_FLITS;
    }
    config
}

/// Writes of 256 B at Gen6 x16 use every TLP byte: 117.607 GB/s of TLPs after SKP, of which 256/268 is payload.
#[test]
fn large_writes_fill_every_flit() {
    let config = unlimited(Width::X16, 256);
    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 8)], 20);
    let port = simulation.fabric.port_index(DeviceId(1), 0);
    let tally = simulation.fabric.observers().direction(port);
    let tlp_bytes = (tally.share(Use::Payload) + tally.share(Use::Header)) * 128.0;
    assert!(
        (tlp_bytes / 117.607 - 1.0).abs() < 1e-3,
        "{tlp_bytes} GB/s of TLPs, {:?}",
        Use::ALL.map(|on| (on.name(), tally.share(on)))
    );
    let goodput = goodput(&simulation, 0, 20) / 1e9;
    assert!((goodput / (117.607 * 256.0 / 268.0) - 1.0).abs() < 2e-3, "{goodput} GB/s");
    assert_eq!(tally.spent_on(Use::Dllp).ticks() * 14, tally.spent_on(Use::Framing).ticks() * 6);
}

/// A write of one byte says which byte it is in a DW of OHC-A: 12 + 4 B of header and a DW of payload. Of whole DW it does not.
#[test]
fn byte_enables_cost_a_word_in_flits() {
    for (size, header, payload) in [(1, 16.0, 4.0), (4, 12.0, 4.0)] {
        let config = unlimited(Width::X16, 256);
        let simulation = measure(&config, vec![Stream::new(1, Direction::Write, size, 64)], 20);
        let port = simulation.fabric.port_index(DeviceId(1), 0);
        let tally = simulation.fabric.observers().direction(port);
        let by_payload = tally.share(Use::Header) / tally.share(Use::Payload);
        assert!((by_payload / (header / payload) - 1.0).abs() < 1e-3, "{size} B: {by_payload}");
    }
}

/// 32-bit reads are 12 B, so that 19 would fit a flit by their size: the rule of sixteen binds. Asked for all at once, 768 of
/// them leave in 48 flits, 8 each nanosecond.
#[test]
fn no_more_than_sixteen_reads_share_a_flit() {
    let mut config = unlimited(Width::X16, 256);
    let DeviceKind::Endpoint(endpoint) = &mut config.devices[1].kind else { unreachable!() };
    endpoint.tags = 768;
    endpoint.tag_width = lanewise_pcie::tag::TagWidth::Bits10;
    root_mut(&mut config).memory_latency = Span::from_us(10); // Nothing is answered before all have left.
    let mut simulation = Simulation::build(&config).expect("a tree");
    simulation.start_measuring(us(0));
    simulation.add_workload(Box::new(Stream::new(1, Direction::Read, 4, 768)));
    simulation.run_until(us(5), u64::MAX);
    simulation.stop_measuring(us(5));
    let port = simulation.fabric.port_index(DeviceId(1), 0);
    let tally = simulation.fabric.observers().direction(port);
    let byte = LinkMode::new(Generation::Gen6, Width::X16).wire_span(FLIT_BYTES).ticks() / 256;
    assert_eq!(tally.spent_on(Use::Header).ticks(), 768 * 12 * byte);
    assert_eq!(tally.spent_on(Use::Dllp).ticks(), 768 / 16 * 6 * byte, "6 B of DLP in each flit");
}

/// A damaged flit is sent again with all that followed it; every byte arrives once.
#[test]
fn a_damaged_flit_is_replayed() {
    let mut config = unlimited(Width::X4, 256);
    config.links[0].faults_upstream.corrupt_tlps = vec![5, 6, 20];
    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 4096, 4).times(64)], 100);
    assert_eq!(
        simulation.fabric.observers().counters(simulation.fabric.port_index(DeviceId(0), 0)).errors.bad_tlps,
        3
    );
    assert!(simulation.fabric.is_quiet());
}

/// A Gen1 x1 link waits for 1.5 ms before it sends a flit again. Nothing else moves meanwhile, and yet nobody is stuck.
#[test]
fn replays_of_a_slow_link_are_no_stall() {
    let mut config = behind_switch(Generation::Gen3, Width::X4, Width::X1, 2, 128);
    config.links[2].mode = LinkMode::new(Generation::Gen1, Width::X1).with_flit(true);
    config.links[2].faults_downstream.corrupt_tlps = vec![5, 6, 7, 8];
    // One TLP at a time, so that nothing follows it whose arrival would tell of the loss.
    config.devices[3].ports[0].credits[0] = CreditPool::finite(1, 8);
    for end in [config.links[2].upper, config.links[2].lower] {
        let port = &mut config.devices[end.0].ports[end.1];
        port.replay_timer = config.links[2].mode.wire_span(Bytes::new(FLIT_REPLAY_TIMEOUT_FLITS * 256));
    }
    // Whoever waits for credits looks at each of these: enough events for a look at whether anything moves.
    config.devices[1].ports[1].update_flow_control.period = Span::from_ns(200);
    let mut simulation = Simulation::build(&config).expect("a tree");
    let stream = Stream::new(2, Direction::Write, 4096, 16).to(Target::Endpoint(DeviceId(3))).times(32);
    simulation.add_workload(Box::new(stream));
    assert_eq!(simulation.run_until(us(20_000), u64::MAX), Progress::Finished);
    assert_eq!(simulation.fabric.observers().flows()[0].payload(), Bytes::new(32 * 4096));
}

/// A flit of a Gen1 x1 link takes a microsecond and carries one DLLP. Where more UpdateFCs fall due than there are flits, each
/// goes out with the next flit that has room for it and says what is true by then: none queue up.
#[test]
fn updates_do_not_queue_for_flits() {
    let mode = LinkMode::new(Generation::Gen1, Width::X1).with_flit(true);
    let mut config = direct(Generation::Gen1, Width::X1, 128);
    config.links[0].mode = mode;
    for device in &mut config.devices {
        let port = &mut device.ports[0];
        port.replay_timer = mode.wire_span(FLIT_BYTES) * FLIT_REPLAY_TIMEOUT_FLITS;
        port.credits = [CreditPool::finite(1, 8); 3];
        port.update_flow_control.period = Span::from_us(2);
    }
    let mut simulation = Simulation::build(&config).expect("a tree");
    simulation.add_workload(Box::new(Stream::new(1, Direction::Write, 4096, 1).times(64)));
    // One TLP at a time: its flit, two with UpdateFCs that were due before its own, that one, and what it and the TLP just miss.
    let slowest = mode.wire_span(FLIT_BYTES) * (64 * 32 * 6) + Span::from_us(100);
    assert_eq!(simulation.run_until(Time::ZERO + slowest, u64::MAX), Progress::Finished);
}
