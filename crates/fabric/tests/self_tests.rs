//! What a simulator of PCI Express must get right before anything else: credit loops, recovery from errors,
//! ordering, and the ceilings of a healthy link.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::{AckPolicy, FabricConfig};
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_observe::{LinkCounters, Use};
use lanewise_pcie::encoding::{Clocking, LinkMode, ceiling};
use lanewise_pcie::flow_control::CreditPool;
use lanewise_pcie::tlp::Tlp;
use lanewise_units::{Bytes, Generation, Span, Width};

const ROOT: DeviceId = DeviceId(0);
const END: DeviceId = DeviceId(1);

fn counters(simulation: &Simulation, device: DeviceId) -> LinkCounters {
    simulation.fabric.observers().counters(simulation.fabric.port_index(device, 0))
}

/// 1 PH + 8 PD on Gen1 x4: one 128 B write per turn of the credit loop, to the tick.
#[test]
fn one_tlp_of_credits_moves_one_payload_per_credit_loop() {
    let mut config = without_background(direct(Generation::Gen1, Width::X4, 128));
    config.devices[0].ports[0].credits[0] = CreditPool::finite(1, 8);
    // The Ack then goes out while the write drains, and never stands in the way of the UpdateFC.
    config.devices[0].ports[0].ack.every_tlps = 1;
    let mode = LinkMode::new(Generation::Gen1, Width::X4);
    let root = root_complex();
    let (symbol, receive) = (mode.symbol_span(), config.devices[0].ports[0].receive_latency);
    let whole_symbols = |span: Span| Span::from_ticks(span.ticks().next_multiple_of(symbol.ticks()));
    let wire = config.links[0].propagation;
    let tlp = mode.wire_span(Bytes::new(8 + 12 + 128));
    let drained = root.write_bandwidth.span_ceil(Bytes::new(128)) + root.write_latency;
    let update_sent = whole_symbols(tlp + wire + receive + drained);
    let credit_loop = whole_symbols(update_sent + mode.wire_span(Bytes::new(8)) + wire + receive);
    assert_eq!(credit_loop, Span::from_ns(252));

    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 4)], 252);
    let payload = simulation.fabric.observers().flows()[0].payload();
    assert_eq!(payload, Bytes::new(128 * 1000));
    let upstream = simulation.fabric.observers().direction(simulation.fabric.port_index(END, 0));
    assert_eq!(upstream.spent_on(Use::Idle), Span::ZERO, "every gap is put down to credits");
}

fn with_corrupt_upstream(corrupt: &[u64]) -> FabricConfig {
    let mut config = direct(Generation::Gen3, Width::X4, 256);
    config.links[0].faults_upstream.corrupt_tlps = corrupt.to_vec();
    config
}

fn assert_healed(simulation: &mut Simulation, at_us: u64) {
    advance(simulation, us(at_us));
    simulation.stop_measuring(us(at_us)); // The last Acks are no events.
    assert!(simulation.fabric.is_quiet(), "something is still under way");
    assert!(simulation.fabric.all_credits_returned(), "credits drifted");
    simulation.fabric.check_conservation();
}

/// One bad LCRC: exactly one Nak and one replay, nothing lost or doubled, no credit lost.
#[test]
fn one_bad_lcrc_costs_one_nak_and_one_replay() {
    let config = with_corrupt_upstream(&[10]);
    let (mut simulation, log) = run_script(&config, vec![(us(5), dma(1, Direction::Write, 0, 65536))], 1000);
    assert_eq!(log.done(), 1);
    assert_eq!(simulation.fabric.observers().flows()[0].payload(), Bytes::new(65536));
    let (root, end) = (counters(&simulation, ROOT), counters(&simulation, END));
    assert_eq!((root.errors.bad_tlps, root.errors.naks_sent, root.errors.duplicates), (1, 1, 0));
    assert_eq!((end.errors.replays, end.errors.replay_timeouts, end.errors.rollovers), (1, 0, 0));
    assert_eq!(end.tlps_sent, 256);
    assert_healed(&mut simulation, 200);
}

/// A write whose first four transmissions are bad: REPLAY_NUM rolls over, the link retrains once, then it arrives.
#[test]
fn four_bad_transmissions_of_one_tlp_retrain_the_link() {
    let config = with_corrupt_upstream(&[0, 1, 2, 3]);
    let (mut simulation, log) = run_script(&config, vec![(us(5), dma(1, Direction::Write, 0, 256))], 1000);
    assert_eq!(log.done(), 1, "the write never arrives");
    let (root, end) = (counters(&simulation, ROOT), counters(&simulation, END));
    assert_eq!((root.errors.bad_tlps, root.errors.naks_sent, root.errors.duplicates), (4, 1, 0));
    assert_eq!((end.errors.replays, end.errors.replay_timeouts, end.errors.rollovers), (4, 3, 1));
    assert_healed(&mut simulation, 200);
    simulation.stop_measuring(us(200));
    for device in [ROOT, END] {
        let port = simulation.fabric.port_index(device, 0);
        let down = simulation.fabric.observers().direction(port).spent_on(Use::Down);
        // The link comes up in well under 1 us; the rest is one Recovery.
        let recovery = config.links[0].recovery_time;
        assert!(down >= recovery && down < recovery + Span::from_us(1), "{device:?} {down:?}");
    }
    let replay_timer = config.devices[1].ports[0].replay_timer;
    let least = replay_timer + replay_timer + replay_timer + config.links[0].recovery_time;
    let latency = log.latency(0);
    assert!(latency > least && latency < least + Span::from_us(2), "{latency:?}, at least {least:?}");
}

/// Recovery may take longer than the replay timer: the timer is held meanwhile, and the link retrains once.
#[test]
fn the_replay_timer_is_held_while_the_link_retrains() {
    let mut config = with_corrupt_upstream(&[0, 1, 2, 3]);
    config.links[0].recovery_time = Span::from_us(100);
    let (simulation, log) = run_script(&config, vec![(us(5), dma(1, Direction::Write, 0, 256))], 1000);
    assert_eq!(log.done(), 1, "the write never arrives");
    assert_eq!(counters(&simulation, END).errors.rollovers, 1);
    assert!(log.latency(0) > config.links[0].recovery_time);
}

/// No ordered sets fall due while the link is down: after 1 ms of Recovery there is no heap of them to send.
#[test]
fn ordered_sets_do_not_pile_up_in_recovery() {
    let mut config = with_corrupt_upstream(&[0, 1, 2, 3]);
    config.links[0].recovery_time = Span::from_ms(1);
    let (mut simulation, log) = run_script(&config, vec![(us(5), dma(1, Direction::Write, 0, 256))], 2000);
    assert_eq!(log.done(), 1);
    simulation.stop_measuring(us(2000));
    let upstream = simulation.fabric.observers().direction(simulation.fabric.port_index(END, 0));
    let schedule = LinkMode::new(Generation::Gen3, Width::X4).ordered_sets(Clocking::Common);
    let up = 1000e-6 / schedule.interval.as_seconds();
    let sent = upstream.spent_on(Use::OrderedSet).as_seconds() / schedule.span.as_seconds();
    assert!(sent > 0.95 * up && sent < 1.15 * up, "{sent} ordered sets in 1 ms, {up} are due");
}

/// Where nothing is lost, a replay timer still runs out when the Ack takes longer; a duplicate is acknowledged at once.
#[test]
fn a_late_ack_is_replayed_on_a_healthy_link_too() {
    for (timer_us, replays) in [(3, 1), (9, 0)] {
        let mut config = direct(Generation::Gen3, Width::X4, 256);
        config.devices[0].ports[0].ack = AckPolicy { every_tlps: 16, latency: Span::from_us(8) };
        config.devices[1].ports[0].replay_timer = Span::from_us(timer_us);
        let (mut simulation, log) = run_script(
            &config,
            vec![(us(5), dma(1, Direction::Write, 0, 256)), (us(40), dma(1, Direction::Write, 0, 256))],
            100,
        );
        assert_eq!(log.done(), 2);
        assert_healed(&mut simulation, 100);
        let (root, end) = (counters(&simulation, ROOT), counters(&simulation, END));
        assert_eq!(
            (end.errors.replays, end.errors.replay_timeouts, root.errors.duplicates),
            (2 * replays, 2 * replays, 2 * replays)
        );
    }
}

/// A lost Nak is made good by the replay timer; a lost Ack costs duplicates, which are dropped and acknowledged.
#[test]
fn lost_dllps_are_made_good_by_timers() {
    let mut config = direct(Generation::Gen3, Width::X4, 256);
    config.links[0].faults_downstream.bit_error_rate = 4e-3; // About one DLLP in four.
    config.links[0].faults_upstream.corrupt_tlps = (0..20).map(|n| n * 37 + 5).collect();
    let (mut simulation, log) =
        run_script(&config, vec![(us(50), dma(1, Direction::Write, 0, 65536))], 20_000);
    let end = counters(&simulation, END);
    assert_eq!(log.done(), 1, "{end:?}");
    assert_eq!(simulation.fabric.observers().flows()[0].payload(), Bytes::new(65536));
    assert!(end.errors.bad_dllps > 20 && end.errors.replay_timeouts > 0, "{end:?}");
    assert!(counters(&simulation, ROOT).errors.duplicates > 0);
    let later = 2_000 + log.done_at(0).expect("done").ticks() / Span::from_us(1).ticks();
    advance(&mut simulation, us(later));
    assert!(simulation.fabric.is_quiet());
}

/// A replay timer runs from the TLP it guards: sparse traffic on a good link is never sent twice.
#[test]
fn sparse_traffic_on_a_good_link_is_never_replayed() {
    for gap_ns in (600..1600).step_by(40) {
        let config = direct(Generation::Gen1, Width::X8, 128);
        let at = |n| us(5) + Span::from_ns(gap_ns * n);
        let steps = (0..40).map(|n| (at(n), dma(1, Direction::Write, 128 * n, 128))).collect();
        let (simulation, log) = run_script(&config, steps, 1000);
        assert_eq!(log.done(), 40);
        assert_eq!(counters(&simulation, END).errors.replays, 0, "a write every {gap_ns} ns");
    }
}

/// With reads stuck behind the last non-posted credit, posted writes and completions of the same port still drain.
#[test]
fn posted_and_completions_drain_past_blocked_reads() {
    let mut config = behind_switch(Generation::Gen3, Width::X8, Width::X4, 2, 256);
    root_mut(&mut config).stack.read_trackers = 1;
    root_mut(&mut config).memory_latency = Span::from_us(20);
    config.devices[0].ports[0].credits[1] = CreditPool::finite(1, 1);
    config.devices[1].ports[1].credits[1] = CreditPool::finite(1, 1);
    let mut steps = vec![(us(5), dma(2, Direction::Read, 0, 8 * 512))];
    let write = Ask::Dma {
        device: 2,
        channel: 1,
        direction: Direction::Write,
        target: Target::HostMemory,
        offset: 0,
        length: 16384,
    };
    steps.push((us(6), write));
    steps.push((us(6), peer(3, Direction::Read, 2, 4096)));
    let (_, log) = run_script(&config, steps, 1000);
    let reads_done = log.latency(0);
    assert!(reads_done > Span::from_us(8 * 20), "reads go one at a time, {reads_done:?}");
    assert!(log.latency(1) < Span::from_us(12), "posted writes wait for reads, {:?}", log.latency(1));
    assert!(log.latency(2) < Span::from_us(12), "completions wait for reads, {:?}", log.latency(2));
}

/// Completions of one request stay in order, whatever memory's latency does: the endpoint asserts it for each.
#[test]
fn completions_of_one_request_stay_in_order_under_jitter() {
    let mut config = direct(Generation::Gen3, Width::X8, 256);
    root_mut(&mut config).memory_latency_jitter = Span::from_us(1);
    endpoint_mut(&mut config, 1).mrrs = Bytes::new(4096);
    let steps = (0..64).map(|n| (us(5), dma(1, Direction::Read, n * 5000 + 3, 4999))).collect();
    let (mut simulation, log) = run_script(&config, steps, 10_000);
    assert_eq!(log.done(), 64);
    assert_healed(&mut simulation, 10_000);
}

/// Gen3 x8, MPS 256: writes reach the closed form within 0.1 %; nothing but TLPs and ordered sets goes up.
#[test]
fn gen3_x8_writes_reach_the_closed_form() {
    let config = direct(Generation::Gen3, Width::X8, 256);
    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 4)], 400);
    let mode = LinkMode::new(Generation::Gen3, Width::X8);
    let shape = Tlp::memory_write(0, Bytes::new(256));
    let most = ceiling(mode, &shape, Clocking::Common).payload_gb_per_s_with_eds * 1e9;
    let actual = goodput(&simulation, 0, 400);
    // Of 373 blocks half a one, in the mean, is filled with idle before the ordered set: `ordered_sets.rs`.
    assert_close(actual, most * (1.0 - 0.5 / 373.0), 0.0005, "writes");
    assert!(actual <= most, "above the ceiling");
}

/// Gen3 x8, MPS 256: reads reach 512 B per two completions, one Ack and one UpdateFC, within 0.2 %.
#[test]
fn gen3_x8_reads_reach_the_closed_form() {
    let mut config = direct(Generation::Gen3, Width::X8, 256);
    root_mut(&mut config).completion_combine_max = Bytes::new(256);
    config.devices[0].ports[0].ack.every_tlps = 1;
    config.devices[0].ports[0].update_flow_control.every_tlps = 1;
    let simulation = measure(&config, vec![Stream::new(1, Direction::Read, 65536, 4)], 400);
    let mode = LinkMode::new(Generation::Gen3, Width::X8);
    let one_completion = ceiling(mode, &Tlp::completion(0, Bytes::new(256)), Clocking::Common);
    let link_bandwidth = one_completion.payload_gb_per_s_with_eds * 276.0 / 256.0 * 1e9;
    let expected = link_bandwidth * 512.0 / (2.0 * 276.0 + 16.0);
    assert_close(goodput(&simulation, 0, 400), expected, 0.002, "reads");
}
