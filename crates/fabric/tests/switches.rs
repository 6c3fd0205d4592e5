//! Switches: forwarding, underrun, cores, arbitration, trees, peer to peer, head-of-line blocking.

mod common;

use common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_observe::Use;
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_units::{Bytes, Generation, Rate, Span, Width};

const GEN1: Generation = Generation::Gen1;

/// 128 B of payload with a 3 DW header and 8 B of framing on Gen1 x4: 1 B per ns.
const TLP: Span = Span::from_ns(148);

fn tlps_sent(simulation: &Simulation, device: u32, port: usize) -> u64 {
    let port = simulation.fabric.port_index(DeviceId(device), port);
    simulation.fabric.observers().counters(port).tlps_sent
}

fn streams(endpoints: u32, size: u64) -> Vec<Stream> {
    (0..endpoints).map(|index| Stream::new(2 + index, Direction::Write, size, 4)).collect()
}

/// A chain of so many switches below the root port, Gen1 x4 throughout, and an endpoint at its end.
fn chain(switches: usize, latency: Span) -> FabricConfig {
    let mode = LinkMode::new(GEN1, Width::X4);
    let mut config = direct(GEN1, Width::X4, 128);
    let end = config.devices.pop().expect("an endpoint");
    config.links.clear();
    for index in 0..switches {
        let name = format!("switch{index}");
        let kind = DeviceKind::Switch(SwitchConfig { latency, ..switch(0) });
        config.devices.push(device(&name, kind, vec![switch_port(mode, 128); 3]));
        config.links.push(link((index, usize::from(index > 0)), (index + 1, 0), mode));
    }
    config.devices.push(end);
    config.links.push(link((switches, usize::from(switches > 0)), (switches + 1, 0), mode));
    without_background(config)
}

/// Store-and-forward costs exactly one serialisation more than cut-through.
#[test]
fn store_and_forward_adds_one_serialisation() {
    let latency = |forwarding| {
        let mut config = without_background(behind_switch(GEN1, Width::X4, Width::X4, 1, 128));
        switch_mut(&mut config, 1).forwarding = forwarding;
        config.devices[1].ports.iter_mut().for_each(|port| port.receive_latency = Span::ZERO);
        alone(&config, dma(2, Direction::Write, 0, 128))
    };
    assert_eq!(latency(Forwarding::StoreAndForward), latency(Forwarding::CutThrough) + TLP);
}

/// x4 in, x8 out: the packet waits P(1/R_in - 1/R_out) beside the core's latency, so that every byte takes that.
#[test]
fn a_faster_egress_waits_until_no_byte_is_due_out_early() {
    let latency = |nanoseconds| {
        let mut config = without_background(behind_switch(GEN1, Width::X8, Width::X4, 1, 128));
        switch_mut(&mut config, 1).latency = Span::from_ns(nanoseconds);
        config.devices[1].ports.iter_mut().for_each(|port| port.receive_latency = Span::ZERO);
        alone(&config, dma(2, Direction::Write, 0, 128))
    };
    // In at 1 ns; out 74 ns and the latency later, at the next symbol; 74 ns on x8, 1 ns of wire, 20 ns of receiver.
    assert_eq!(latency(5), Span::from_ns(80 + 74 + 1 + 20));
    assert_eq!(latency(201), Span::from_ns(276 + 74 + 1 + 20));
}

/// x8 in, x4 out: forwarding starts after the core's latency, without waiting for the tail.
#[test]
fn a_slower_egress_starts_as_soon_as_the_core_lets_it() {
    let mut config = without_background(behind_switch(GEN1, Width::X4, Width::X8, 1, 128));
    switch_mut(&mut config, 1).latency = Span::from_ns(23);
    assert_eq!(alone(&config, dma(2, Direction::Write, 0, 128)), Span::from_ns(24 + 148 + 1 + 20));
}

/// Each cut-through switch of a chain adds its latency and a wire, nothing else.
#[test]
fn a_chain_of_switches_adds_latency_per_switch() {
    for switches in 0..4 {
        let config = chain(switches, Span::from_ns(151));
        let hops = Span::from_ns(152 * switches as u64);
        let write = alone(&config, dma(1 + switches as u32, Direction::Write, 0, 128));
        assert_eq!(write, TLP + Span::from_ns(1 + 20) + hops, "{switches} switches");
        let read = alone(&config, dma(1 + switches as u32, Direction::Read, 0, 64));
        let direct = alone(&chain(0, Span::ZERO), dma(1, Direction::Read, 0, 64));
        assert_eq!(read, direct + hops + hops, "{switches} switches");
    }
}

/// Total writes through a core, bytes per second of payload, 4 endpoints on x4 below x16.
fn through(core: SwitchCore) -> f64 {
    let mut config = behind_switch(GEN1, Width::X16, Width::X4, 4, 128);
    switch_mut(&mut config, 1).core = core;
    // Buffers that fill during the warm-up.
    config.devices[1].ports.iter_mut().for_each(|port| port.credits[0] = CreditPool::finite(12, 96));
    let simulation = measure(&config, streams(4, 4096), 300);
    (0..4).map(|flow| goodput(&simulation, flow, 300)).sum()
}

/// A shared bus moves its rate in TLP bytes, one transfer at a time.
#[test]
fn a_shared_bus_caps_the_total_at_its_rate() {
    let rate = Rate::from_bytes_per_second(1_000_000_000);
    assert_close(through(SwitchCore::shared_bus(rate)), 1e9 * 128.0 / 140.0, 0.005, "bus");
}

/// A shared memory writes and reads every TLP: half its rate.
#[test]
fn a_shared_memory_caps_the_total_at_half_its_bandwidth() {
    let rate = Rate::from_bytes_per_second(2_000_000_000);
    assert_close(through(SwitchCore::SharedMemory { rate }), 1e9 * 128.0 / 140.0, 0.005, "memory");
}

/// The memory holds up who has something in it, and nobody else: who could send without it does not wait for anything else.
#[test]
fn a_busy_memory_holds_up_the_egress_that_has_something_to_send() {
    let mut config = behind_switch(GEN1, Width::X4, Width::X4, 2, 128);
    let rate = Rate::from_bytes_per_second(300_000_000);
    switch_mut(&mut config, 1).core = SwitchCore::SharedMemory { rate };
    let simulation = measure(&config, vec![Stream::new(2, Direction::Write, 4096, 4)], 1000);
    let port = |number| simulation.fabric.port_index(DeviceId(1), number);
    let on_core = |number| simulation.fabric.observers().direction(port(number)).share(Use::BlockedCore);
    assert_eq!([on_core(1), on_core(2)], [0.0; 2]);
    // 140 B are written and read in 933 ns, and leave in 148.
    assert!((on_core(0) - (1.0 - 148.0 / 933.3)).abs() < 0.03, "{}", on_core(0));
}

/// A crossbar moves what the ports can, as long as each of its inputs keeps up with its port.
#[test]
fn a_crossbar_does_not_cap_the_total() {
    let enough = Rate::from_bytes_per_second(1_000_000_000);
    assert_close(through(SwitchCore::Crossbar { port_rate: enough }), 4.0 * 862.3e6, 0.01, "crossbar");
    let half = Rate::from_bytes_per_second(500_000_000);
    let expected = 4.0 * 500e6 * 128.0 / 140.0;
    assert_close(through(SwitchCore::Crossbar { port_rate: half }), expected, 0.01, "slow crossbar");
}

/// Writes between four endpoints, devices 2 to 5, behind a switch with buses of 300 MB/s: payload of each flow, as a
/// share of what a bus carries.
fn over_buses(of_port: [u16; 5], flows: &[(u32, u32)]) -> Vec<f64> {
    let mut config = behind_switch(GEN1, Width::X4, Width::X4, 4, 128);
    let rate = Rate::from_bytes_per_second(300_000_000);
    switch_mut(&mut config, 1).core = SwitchCore::Buses { rate, of_port: of_port.into() };
    let stream = |(from, to)| Stream::new(from, Direction::Write, 4096, 4).to(Target::Endpoint(DeviceId(to)));
    let simulation = measure(&config, flows.iter().copied().map(stream).collect(), 300);
    // 4 DW headers: peers' memory lies above 4 GiB.
    (0..flows.len()).map(|flow| goodput(&simulation, flow, 300) / (300e6 * 128.0 / 144.0)).collect()
}

/// Egresses that wait for one bus have it in turn.
#[test]
fn a_shared_bus_keeps_no_egress_out() {
    for share in over_buses([0; 5], &[(2, 4), (3, 2), (4, 5)]) {
        assert_close(share, 1.0 / 3.0, 0.005, "of three");
    }
}

/// The upstream port on a bus of its own, devices 2 and 3 on another, 4 and 5 on a third.
const HYBRID: [u16; 5] = [2, 0, 0, 1, 1];

/// A hybrid: each group of ports has a bus to itself, which the ports of the group share in both directions.
#[test]
fn each_group_of_a_hybrid_has_a_bus_of_its_own() {
    for share in over_buses(HYBRID, &[(2, 3), (4, 5)]) {
        assert_close(share, 1.0, 0.005, "in different groups");
    }
    for share in over_buses(HYBRID, &[(2, 3), (3, 2)]) {
        assert_close(share, 0.5, 0.005, "in one group");
    }
}

/// A transfer from group to group takes the buses of both at the same time, and is not kept out by those within.
#[test]
fn a_transfer_across_groups_of_a_hybrid_takes_both_buses() {
    let (across, near, far) = ((2, 4), (3, 2), (4, 5));
    assert_close(over_buses(HYBRID, &[across])[0], 1.0, 0.005, "alone");
    for flows in [&[across, near][..], &[across, far], &[across, near, far]] {
        for share in over_buses(HYBRID, flows) {
            assert_close(share, 0.5, 0.005, "beside others");
        }
    }
}

/// Payload of each flow over 300 us, with four endpoints that each could fill the upstream link twice.
fn shares(arbitration: Arbitration) -> Vec<u64> {
    let mut config = behind_switch(GEN1, Width::X4, Width::X8, 4, 128);
    switch_mut(&mut config, 1).arbitration = arbitration;
    let simulation = measure(&config, streams(4, 4096), 300);
    simulation.fabric.observers().flows().iter().map(|flow| flow.payload().get() / 128).collect()
}

/// Round robin: four saturating endpoints get the same number of packets, to one.
#[test]
fn round_robin_is_fair_to_a_packet() {
    let packets = shares(Arbitration::RoundRobin);
    let (least, most) = (packets.iter().min(), packets.iter().max());
    assert!(most.expect("flows") - least.expect("flows") <= 1, "{packets:?}");
}

/// Weighted round robin: packets follow the weights, to one round.
#[test]
fn weighted_round_robin_follows_its_weights() {
    let packets = shares(Arbitration::WeightedRoundRobin { weights: vec![1, 1, 2, 3, 4] });
    let rounds = packets.iter().sum::<u64>() as f64 / 10.0;
    for (weight, packets) in (1..=4).zip(&packets) {
        let expected = rounds * f64::from(weight);
        assert!((*packets as f64 - expected).abs() <= 4.0, "weight {weight}: {packets}, {expected} expected");
    }
}

/// Strict: the lowest port takes it all.
#[test]
fn strict_arbitration_starves_the_rest() {
    let packets = shares(Arbitration::Strict);
    assert!(packets[0] > 2000 && packets[1..] == [0, 0, 0], "{packets:?}");
}

/// Sixteen packets each way between two endpoints below one switch.
fn between_siblings(acs_redirect: bool, direction: Direction) -> Simulation {
    let mut config = behind_switch(GEN1, Width::X4, Width::X4, 2, 128);
    switch_mut(&mut config, 1).acs_redirect = acs_redirect;
    // What comes back down the port it came up does not cross root ports.
    root_mut(&mut config).peer_to_peer = false;
    endpoint_mut(&mut config, 2).mrrs = Bytes::new(128);
    let (simulation, log) = run_script(&config, vec![(us(5), peer(2, direction, 3, 2048))], 1000);
    assert_eq!(log.done(), 1);
    simulation
}

/// Peer to peer between downstream ports stays below the switch.
#[test]
fn peer_to_peer_does_not_touch_the_upstream_link() {
    for direction in [Direction::Write, Direction::Read] {
        let simulation = between_siblings(false, direction);
        assert_eq!((tlps_sent(&simulation, 1, 0), tlps_sent(&simulation, 0, 0)), (0, 0));
        assert_eq!(tlps_sent(&simulation, 1, 2), 16);
    }
}

/// With ACS redirect every peer-to-peer TLP uses the upstream link in both directions, completions included.
#[test]
fn acs_redirect_uses_the_upstream_link_both_ways() {
    let writes = between_siblings(true, Direction::Write);
    assert_eq!((tlps_sent(&writes, 1, 0), tlps_sent(&writes, 0, 0)), (16, 16));
    let reads = between_siblings(true, Direction::Read);
    assert_eq!((tlps_sent(&reads, 1, 0), tlps_sent(&reads, 0, 0)), (32, 32));
}

/// Two root ports with an endpoint each, Gen1 x4: device 1 and 2.
fn two_root_ports() -> FabricConfig {
    let mode = LinkMode::new(GEN1, Width::X4);
    let mut config = direct(GEN1, Width::X4, 128);
    // A root complex that forwards advertises finite completion credits.
    config.devices[0].ports = vec![switch_port(mode, 128); 2];
    config.devices.push(device("other", DeviceKind::Endpoint(endpoint()), vec![port(mode, 128)]));
    config.links.push(link((0, 1), (2, 0), mode));
    without_background(config)
}

/// Peer to peer across root ports: received in full, forwarded after the root complex's latency, sent again.
#[test]
fn peer_to_peer_crosses_the_root_complex() {
    let config = two_root_ports();
    // 4 DW header: peers' memory lies above 4 GiB. 152 + 1 + 20, 100 to forward, the next symbol, again.
    let write = alone(&config, peer(1, Direction::Write, 2, 128));
    assert_eq!(write, Span::from_ns(276 + 152 + 1 + 20));
    let (mut simulation, log) = run_script(&config, vec![(us(5), peer(1, Direction::Read, 2, 8192))], 1000);
    assert_eq!(log.done(), 1);
    advance(&mut simulation, us(1000));
    assert!(simulation.fabric.is_quiet() && simulation.fabric.all_credits_returned());
}

/// Writes of device 2 to host and to a peer that drains 50 MB/s; so many of the latter at a time.
fn beside_a_slow_peer(outstanding: u64) -> (f64, f64) {
    let mut config = behind_switch(GEN1, Width::X4, Width::X4, 2, 128);
    endpoint_mut(&mut config, 3).write_drain = Rate::from_bytes_per_second(50_000_000);
    config.devices[3].ports[0].credits[0] = CreditPool::finite(4, 32);
    let slow = Stream::new(2, Direction::Write, 128, outstanding).to(Target::Endpoint(DeviceId(3)));
    let host = Stream::new(2, Direction::Write, 4096, 8);
    let simulation = measure(&config, vec![slow, host], 400);
    (goodput(&simulation, 0, 400), goodput(&simulation, 1, 400))
}

/// A slow peer's backlog in its own virtual output queue does not hold up writes to host from the same port...
#[test]
fn a_backlog_does_not_block_other_egresses() {
    let (slow, host) = beside_a_slow_peer(16);
    assert_close(slow, 50e6, 0.02, "to the slow peer");
    assert!(host > 780e6, "{host}");
}

/// ... until it has filled the ingress buffer that both share.
#[test]
fn a_backlog_that_fills_the_ingress_buffer_blocks_everything() {
    let (slow, host) = beside_a_slow_peer(512);
    assert_close(slow, 50e6, 0.02, "to the slow peer");
    assert!(host < 120e6, "{host}");
}

/// A packet that may leave later is not forgotten because another waits for credits meanwhile.
#[test]
fn waiting_for_credits_does_not_delay_what_is_ready_later() {
    let mut config = behind_switch(Generation::Gen3, Width::X8, Width::X4, 2, 256);
    let read_hog = (us(5), dma(2, Direction::Read, 0, 16 * 512));
    let writes = (0..200).map(|n| (us(10) + Span::from_ns(n * 777), dma(3, Direction::Write, n * 64, 64)));
    let latest = |config: &FabricConfig, steps: Vec<_>| {
        let first = steps.len() - 200;
        let (_, log) = run_script(config, steps, 2000);
        (first..first + 200).map(|step| log.latency(step)).max().expect("writes")
    };
    let undisturbed = latest(&config, writes.clone().collect());
    root_mut(&mut config).stack.read_trackers = 1;
    root_mut(&mut config).memory_latency = Span::from_us(20);
    config.devices[0].ports[0].credits[1] = CreditPool::finite(1, 1);
    let disturbed = latest(&config, std::iter::once(read_hog).chain(writes).collect());
    assert!(disturbed < undisturbed + Span::from_ns(60), "{disturbed:?} instead of {undisturbed:?}");
}

/// A TLP that turns out bad while it is being forwarded is nullified and replayed; its copy costs no Nak upstream.
#[test]
fn a_damaged_tlp_is_nullified_by_a_cut_through_switch() {
    let nullified = |forwarding| {
        let mut config = behind_switch(GEN1, Width::X4, Width::X4, 1, 512);
        switch_mut(&mut config, 1).forwarding = forwarding;
        config.links[1].faults_upstream.corrupt_tlps = vec![3, 9];
        let (mut simulation, log) =
            run_script(&config, vec![(us(5), dma(2, Direction::Write, 0, 16384))], 1000);
        assert_eq!(log.done(), 1);
        let counters =
            |device| simulation.fabric.observers().counters(simulation.fabric.port_index(device, 0));
        let root = counters(DeviceId(0));
        assert_eq!((root.errors.naks_sent, root.errors.duplicates, root.errors.bad_tlps), (0, 0, 0));
        assert_eq!(counters(DeviceId(2)).errors.replays, 2);
        advance(&mut simulation, us(1000));
        assert!(simulation.fabric.is_quiet() && simulation.fabric.all_credits_returned());
        root.errors.nullified
    };
    assert_eq!(nullified(Forwarding::CutThrough), 2);
    assert_eq!(nullified(Forwarding::StoreAndForward), 0);
}

/// A damaged replay of a TLP that a switch has had is not the next in sequence, and its header says so: it is not forwarded, although the
/// first copy is still on its way. Of two writes the second waits for credits in the switch above, and comes again, damaged, because its
/// Ack takes long.
#[test]
fn a_damaged_replay_of_what_a_cut_through_switch_has_had_is_not_forwarded() {
    let mut config = chain(2, Span::from_ns(20));
    config.devices[0].ports[0].credits[0] = CreditPool::finite(1, 8);
    root_mut(&mut config).write_latency = Span::from_us(20);
    config.devices[2].ports[1].ack = AckPolicy { every_tlps: 64, latency: Span::from_us(3) };
    config.devices[3].ports[0].replay_timer = Span::from_us(1);
    config.links[2].faults_upstream.corrupt_tlps = vec![3]; // After both writes, and the first again.
    let (simulation, log) = run_script(&config, vec![(us(5), dma(3, Direction::Write, 0, 256))], 1000);
    assert_eq!(log.done(), 1);
    let errors = |device, port| {
        simulation.fabric.observers().counters(simulation.fabric.port_index(DeviceId(device), port)).errors
    };
    let lower = errors(2, 1);
    assert_eq!((lower.duplicates, lower.bad_tlps, lower.naks_sent), (1, 1, 1));
    assert_eq!(errors(1, 1).nullified, 0);
}

/// Flits carry no nullified TLPs: a bad TLP on its way into a flit link arrives once all the same.
#[test]
fn a_damaged_tlp_does_not_enter_a_flit_link() {
    let mut config = behind_switch(GEN1, Width::X4, Width::X4, 1, 512);
    let flit = LinkMode::new(Generation::Gen6, Width::X4);
    config.links[1].mode = flit;
    config.devices[1].ports[1] = switch_port(flit, 512);
    config.devices[2].ports[0] = port(flit, 512);
    root_mut(&mut config).completion_combine_max = Bytes::new(512);
    switch_mut(&mut config, 1).latency = Span::from_ns(5);
    config.links[0].faults_downstream.corrupt_tlps = vec![0, 2, 7];
    let (mut simulation, log) = run_script(&config, vec![(us(5), dma(2, Direction::Read, 0, 16384))], 1000);
    assert_eq!(log.done(), 1);
    assert_eq!(simulation.fabric.observers().flows()[0].payload(), Bytes::from_kib(16));
    advance(&mut simulation, us(1000));
    assert!(simulation.fabric.is_quiet() && simulation.fabric.all_credits_returned());
}

/// The time an egress waits for a busy core is put down to the core.
#[test]
fn waiting_for_the_core_is_attributed_to_it() {
    let bus = SwitchCore::shared_bus(Rate::from_bytes_per_second(1_000_000_000));
    let memory = SwitchCore::SharedMemory { rate: Rate::from_bytes_per_second(2_000_000_000) };
    for core in [bus, memory] {
        let mut config = behind_switch(GEN1, Width::X16, Width::X4, 4, 128);
        switch_mut(&mut config, 1).core = core.clone();
        let simulation = measure(&config, streams(4, 4096), 300);
        let upstream = simulation.fabric.observers().direction(simulation.fabric.port_index(DeviceId(1), 0));
        let share = upstream.share(Use::BlockedCore);
        // 148 B take 37 ns on x16 and hold the bus for 140 ns, or the memory for 70 ns twice.
        assert!(
            (share - 103.0 / 140.0).abs() < 0.02,
            "{core:?}: {share}, {} idle",
            upstream.share(Use::Idle)
        );
    }
}

/// Reads of a device on x1 and of one on x8, both below a switch on x8, with as much under way: what each gets, bytes per second. One
/// completion of 64 B takes 336 ns on x1 and 42 ns on x8.
fn narrow_and_wide(request_metering: Option<Bytes>) -> [f64; 2] {
    let mut config = without_background(behind_switch(GEN1, Width::X8, Width::X8, 2, 128));
    let narrow = LinkMode::new(GEN1, Width::X1);
    config.links[1].mode = narrow;
    config.devices[1].ports[1] = switch_port(narrow, 128);
    config.devices[2].ports[0] = port(narrow, 128);
    switch_mut(&mut config, 1).request_metering = request_metering;
    let stream = |device| Stream::new(device, Direction::Read, 4096, 8);
    let simulation = measure(&without_background(config), vec![stream(2), stream(3)], 1000);
    [goodput(&simulation, 0, 1000), goodput(&simulation, 1, 1000)]
}

/// Completions for x1 fill the buffer of the upstream port, those for x8 stand between them. Of the 16 KiB that 32 tags ask for, 64
/// completions for x1 lie in the buffer and the others at the root port, in one line with those for x8, which leave at once: 12 KiB to
/// 16 KiB, and so are the rates.
#[test]
fn a_narrow_reader_slows_a_wide_neighbour() {
    let [narrow, wide] = narrow_and_wide(None);
    assert_close(narrow, 64e9 / 336.0, 0.03, "narrow");
    assert_close(wide / narrow, 16.0 / 12.0, 0.03, "wide, of narrow");
}

/// With request metering no more is asked for than the link to the narrow device carries, and its neighbour gets what is left of the
/// upstream link. DLLPs take 2 to 3 % of either link, which the estimate leaves out, so that some completions wait in the buffer.
#[test]
fn metered_requests_leave_the_rest_to_the_neighbour() {
    let [narrow, wide] = narrow_and_wide(Some(Bytes::new(64)));
    assert_close(narrow, 64e9 / 336.0, 0.04, "narrow");
    assert_close(wide, 64e9 / 42.0 - 64e9 / 336.0, 0.06, "wide");
}

/// Where smaller completions are expected than come, requests are what limits both: 512 B in the time of 16 completions of 52 B.
#[test]
fn expected_completions_that_are_too_small_hold_requests_back() {
    let [narrow, wide] = narrow_and_wide(Some(Bytes::new(32)));
    assert_close(narrow, 512e9 / (16.0 * 52.0 * 4.0), 0.01, "narrow");
    assert_close(wide, 512e9 / (16.0 * 52.0 / 2.0), 0.01, "wide");
}

/// When each of some asks of device 2 ends, in ns after the first, on x4 with completions of 16 B expected.
fn metered(asks: &[Ask]) -> Vec<u64> {
    let mut config = without_background(behind_switch(GEN1, Width::X4, Width::X4, 2, 128));
    switch_mut(&mut config, 1).request_metering = Some(Bytes::new(16));
    let (_, log) = run_script(&config, asks.iter().map(|ask| (us(5), *ask)).collect(), 100);
    (0..asks.len())
        .map(|step| (log.latency(step) - log.latency(0)).ticks() / Span::from_ns(1).ticks())
        .collect()
}

/// Each read waits for the time of what was expected of the one before it, 1 ns a byte: data in units of 16 B, and 20 B for each of
/// them; a read of another port does not wait.
#[test]
fn a_metered_read_waits_for_the_completions_of_the_one_before_it() {
    let reads = [64, 64, 40, 64].map(|length| dma(2, Direction::Read, 0, length));
    let times = metered(&reads);
    let (expected_64, expected_40) = (4 * 36, 3 * 36);
    // An Ack of 8 B stands before the second request; the third has 24 B less to bring.
    assert_eq!(times[1], expected_64 + 8);
    assert_eq!(times[2], 2 * expected_64 - 24);
    assert_eq!(times[3], 2 * expected_64 + expected_40);
    let [own, other] = [2, 3].map(|device| dma(device, Direction::Read, 0, 64));
    let times = metered(&[own, other]);
    assert!(
        times[1] < 100,
        "the requests and the completions follow each other on the upstream link: {times:?}"
    );
}

/// Posted writes pass requests that metering holds back.
#[test]
fn a_write_passes_metered_reads() {
    let reads = [512; 4].map(|length| dma(2, Direction::Read, 0, length));
    let write = Ask::Dma {
        device: 2,
        channel: 1,
        direction: Direction::Write,
        target: Target::HostMemory,
        offset: 0,
        length: 64,
    };
    let mut config = without_background(behind_switch(GEN1, Width::X4, Width::X4, 1, 128));
    let steps = || reads.iter().chain([&write]).map(|ask| (us(5), *ask)).collect::<Vec<_>>();
    let latency = |config: &FabricConfig| run_script(config, steps(), 100).1.latency(4);
    let freely = latency(&config);
    switch_mut(&mut config, 1).request_metering = Some(Bytes::new(64));
    assert_eq!(latency(&config), freely);
}
