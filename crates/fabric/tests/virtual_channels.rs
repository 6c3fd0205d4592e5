//! Virtual channels: what is kept apart, what is shared, and who gets how much of a link.

use crate::common::*;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::Direction;
use lanewise_fabric::{AssemblyError, Simulation};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_pcie::virtual_channel::{ChannelArbitration, ChannelMap};
use lanewise_units::{Generation, Span, Width};

const GEN1: Generation = Generation::Gen1;
/// A write of 128 B on x4: header, payload and framing at 1 ns a byte.
const TLP: Span = Span::from_ns(148);

/// Puts these classes on VC1, VC2 and so on of every link, each with as many credits as VC0.
fn with_queues(
    mut config: FabricConfig,
    channels: &[&[u8]],
    arbitration: &ChannelArbitration,
) -> FabricConfig {
    let map = ChannelMap::new(channels).expect("a legal map");
    config.links.iter_mut().for_each(|link| link.channels = map);
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.more_credits = vec![port.credits; channels.len()];
        port.channel_arbitration = arbitration.clone();
    }
    config
}

/// Two endpoints at x8 that could each fill the x4 link above their switch twice.
fn two_endpoints() -> FabricConfig {
    without_background(behind_switch(GEN1, Width::X4, Width::X8, 2, 128))
}

fn worst_latency(simulation: &Simulation, flow: usize) -> f64 {
    simulation.fabric.observers().flows()[flow].latency().max_ns
}

fn packets(simulation: &Simulation, bytes: u64) -> Vec<u64> {
    simulation.fabric.observers().flows().iter().map(|flow| flow.payload().get() / bytes).collect()
}

/// Bulk writes of TC0 from one endpoint for which the root port has next to no credits, urgent ones of TC7 from another.
fn bulk_and_urgent(channels: &[&[u8]]) -> Simulation {
    let mut config = with_queues(two_endpoints(), channels, &ChannelArbitration::Strict);
    config.devices[0].ports[0].credits[0] = CreditPool::finite(1, 8);
    root_mut(&mut config).write_latency = Span::from_us(10);
    let bulk = Stream::new(2, Direction::Write, 4096, 8);
    let urgent = Stream::new(3, Direction::Write, 64, 1).of_class(7);
    measure(&config, vec![bulk, urgent], 500)
}

#[test]
fn a_blocked_channel_does_not_block_another() {
    let alone = measure(&two_endpoints(), vec![Stream::new(3, Direction::Write, 64, 1)], 500);
    let beside = bulk_and_urgent(&[&[7]]);
    let behind = bulk_and_urgent(&[]);
    let (alone, beside, behind) =
        (worst_latency(&alone, 0), worst_latency(&beside, 1), worst_latency(&behind, 1));
    // A packet that has begun is finished, and with it come DLLPs of another channel.
    let in_the_way = 148.0 + 4.0 * 8.0;
    assert!(beside <= alone + in_the_way, "{beside} against {alone}");
    assert!(behind > 10.0 * beside, "one channel for both: {behind} against {beside}");
}

#[test]
fn completions_travel_in_the_class_of_their_request() {
    let latency = |channels: &[&[u8]]| {
        let config = with_queues(two_endpoints(), channels, &ChannelArbitration::Strict);
        let bulk = Stream::new(2, Direction::Read, 4096, 8);
        let urgent = Stream::new(3, Direction::Read, 64, 1).of_class(7);
        worst_latency(&measure(&config, vec![bulk, urgent], 200), 1)
    };
    let alone = measure(&two_endpoints(), vec![Stream::new(3, Direction::Read, 64, 1)], 200);
    let alone = worst_latency(&alone, 0);
    let (beside, behind) = (latency(&[&[7]]), latency(&[]));
    // At each of two ports that it shares with the others, there and back.
    assert!(beside <= alone + 3.0 * 148.0, "{beside} against {alone}");
    assert!(behind > 2.0 * beside, "one channel for both: {behind} against {beside}");
}

/// Order holds inside a channel and not between channels: a read waits for the write before it on its own channel only.
#[test]
fn a_read_stays_behind_writes_of_its_own_channel_only() {
    let read_done = |class: u8| {
        let mut config = without_background(direct(GEN1, Width::X4, 128));
        // The second write waits until the first has left the root port's buffer.
        config.devices[0].ports[0].credits[0] = CreditPool::finite(1, 8);
        root_mut(&mut config).write_latency = Span::from_us(40);
        let config = with_queues(config, &[&[1]], &ChannelArbitration::RoundRobin);
        let on = |channel, direction, length| Ask::Dma {
            device: 1,
            channel,
            direction,
            target: lanewise_fabric::workload::Target::HostMemory,
            offset: 0,
            length,
        };
        // What is asked for at one instant is there before the port decides: the read comes after the second write.
        let later = us(5) + Span::from_ns(1);
        let steps = vec![(us(5), on(0, Direction::Write, 256)), (later, on(1, Direction::Read, 64))];
        let mut simulation = Simulation::build(&config).expect("a tree");
        let (script, log) = Script::new(steps);
        simulation.add_workload(Box::new(script.with_classes(&[0, class])));
        advance(&mut simulation, us(200));
        log.latency(1)
    };
    assert!(read_done(0) > Span::from_us(40), "{:?}", read_done(0));
    assert!(read_done(1) < Span::from_us(1), "{:?}", read_done(1));
}

/// Payload packets of TC0, TC1 and TC2, each from an endpoint that alone could fill the upstream link, in 400 us.
fn shares(arbitration: &ChannelArbitration) -> Vec<u64> {
    let config = without_background(behind_switch(GEN1, Width::X4, Width::X8, 3, 128));
    let config = with_queues(config, &[&[1], &[2]], arbitration);
    let stream = |class: u8| Stream::new(2 + u32::from(class), Direction::Write, 4096, 4).of_class(class);
    packets(&measure(&config, (0..3).map(stream).collect(), 400), 128)
}

#[test]
fn strict_priority_leaves_nothing_to_lower_channels() {
    let [bulk, middle, urgent] = shares(&ChannelArbitration::Strict)[..] else { panic!("three flows") };
    assert_eq!((bulk, middle), (0, 0), "VC2 always has something");
    assert!(urgent > 2_600, "{urgent} of 2,702 at 148 B, less DLLPs");
}

#[test]
fn round_robin_between_channels_is_fair_to_a_packet() {
    let packets = shares(&ChannelArbitration::RoundRobin);
    let (least, most) = (packets.iter().min(), packets.iter().max());
    assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{packets:?}");
}

#[test]
fn weights_divide_a_saturated_link() {
    let packets = shares(&ChannelArbitration::WeightedRoundRobin { weights: vec![1, 2, 5] });
    let turns = packets[0];
    assert!(packets[1].abs_diff(2 * turns) <= 2 && packets[2].abs_diff(5 * turns) <= 5, "{packets:?}");
    assert!(packets.iter().sum::<u64>() > 2_600, "{packets:?}");
}

/// Reads of 128 B on VC0 and on VC1, from one endpoint whose tags bind, in 400 us.
fn reads_that_share_tags(arbitration: &ChannelArbitration) -> [u64; 2] {
    let mut config = without_background(direct(GEN1, Width::X8, 128));
    endpoint_mut(&mut config, 1).tags = 8;
    root_mut(&mut config).memory_latency = Span::from_us(2);
    let config = with_queues(config, &[&[7]], arbitration);
    let stream = |class: u8| Stream::new(1, Direction::Read, 4096, 4).of_class(class);
    let simulation = measure(&config, vec![stream(0), stream(7)], 400);
    packets(&simulation, 128).try_into().expect("two flows")
}

#[test]
fn tags_go_to_channels_as_arbitration_says() {
    let [bulk, urgent] = reads_that_share_tags(&ChannelArbitration::RoundRobin);
    assert!(bulk > 100 && bulk.abs_diff(urgent) <= 8, "{bulk}, {urgent}");
    let weights = vec![1, 3];
    let [bulk, urgent] = reads_that_share_tags(&ChannelArbitration::WeightedRoundRobin { weights });
    assert!(bulk > 50 && urgent.abs_diff(3 * bulk) <= 16, "{bulk}, {urgent}");
    let [bulk, urgent] = reads_that_share_tags(&ChannelArbitration::Strict);
    assert!(bulk <= 8 && urgent > 200, "{bulk}, {urgent}");
}

/// What a strict priority does not use is left to the others: rates add up to the link's.
#[test]
fn the_rest_of_the_link_is_left_to_lower_channels() {
    let mut config = with_queues(two_endpoints(), &[&[7]], &ChannelArbitration::Strict);
    // A packet of 148 B each 592 ns: a quarter of the link.
    endpoint_mut(&mut config, 3).request_interval = TLP * 4;
    let streams = vec![
        Stream::new(2, Direction::Write, 4096, 4),
        Stream::new(3, Direction::Write, 4096, 4).of_class(7),
    ];
    let simulation = measure(&config, streams, 400);
    let [bulk, urgent] = packets(&simulation, 128)[..] else { panic!("two flows") };
    assert!(urgent.abs_diff(400_000 / 592) <= 1, "{urgent}");
    let wire = (bulk + urgent) as f64 * 148.0 / 400_000.0;
    assert!(wire > 0.97, "{wire} of the link with packets");
}

/// Each channel of an egress gives its ingress ports turns of its own.
#[test]
fn ports_take_turns_inside_a_channel() {
    let config = without_background(behind_switch(GEN1, Width::X4, Width::X8, 4, 128));
    let config =
        with_queues(config, &[&[1]], &ChannelArbitration::WeightedRoundRobin { weights: vec![1, 3] });
    let stream = |index: u32| Stream::new(2 + index, Direction::Write, 4096, 4).of_class((index % 2) as u8);
    let packets = packets(&measure(&config, (0..4).map(stream).collect(), 400), 128);
    assert!(packets[0].abs_diff(packets[2]) <= 1 && packets[1].abs_diff(packets[3]) <= 1, "{packets:?}");
    assert!(packets[1].abs_diff(3 * packets[0]) <= 4, "{packets:?}");
}

/// A flow that is alone on VC1 fares as it would on VC0 with the same credits.
#[test]
fn a_channel_beyond_vc0_works_like_vc0() {
    for direction in [Direction::Write, Direction::Read] {
        let mut config = two_endpoints();
        config.devices[0].ports[0].credits[0] = CreditPool::finite(3, 24);
        let plain = measure(&config, vec![Stream::new(2, direction, 4096, 4)], 300);
        let config = with_queues(config, &[&[3]], &ChannelArbitration::RoundRobin);
        let other = measure(&config, vec![Stream::new(2, direction, 4096, 4).of_class(3)], 300);
        let (plain, other) = (goodput(&plain, 0, 300), goodput(&other, 0, 300));
        assert_close(other, plain, 0.002, "VC1 against VC0");
    }
}

/// Classes on one channel are told apart by nobody.
#[test]
fn a_class_on_vc0_alone_changes_nothing() {
    let fingerprint = |class| {
        let config = behind_switch(GEN1, Width::X4, Width::X8, 2, 128);
        let streams = [Direction::Write, Direction::Read]
            .map(|direction| Stream::new(2, direction, 4096, 4).of_class(class));
        measure(&config, streams.into(), 100).fabric.observers().fingerprint()
    };
    assert_eq!(fingerprint(6), fingerprint(0));
}

/// Silence has one reason, whichever channels are blocked: every tick is accounted for once.
#[test]
fn attribution_is_exact_with_several_channels() {
    let simulation = bulk_and_urgent(&[&[7]]);
    let observers = simulation.fabric.observers();
    for port in 0..simulation.fabric.port_count() {
        let tally = observers.direction(port);
        assert_eq!(tally.window_start() + tally.total(), tally.window_end());
    }
    let upstream =
        observers.direction(simulation.fabric.port_index(lanewise_fabric::workload::DeviceId(1), 0));
    assert!(upstream.share(lanewise_observe::Use::BlockedPostedHeader) > 0.5, "VC0 waits for its credits");
}

#[test]
fn both_ends_need_credits_for_every_channel() {
    let mut config = with_queues(two_endpoints(), &[&[7]], &ChannelArbitration::Strict);
    config.devices[1].ports[2].more_credits.clear();
    let wrong = AssemblyError::WrongChannels { device: "switch".into(), port: 2, found: 1, channels: 2 };
    assert_eq!(Simulation::build(&config).err(), Some(wrong));

    let weights = ChannelArbitration::WeightedRoundRobin { weights: vec![1, 2, 3] };
    let wrong = Simulation::build(&with_queues(two_endpoints(), &[&[7]], &weights)).err();
    assert!(matches!(wrong, Some(AssemblyError::WrongChannels { found: 3, channels: 2, .. })), "{wrong:?}");
}

#[test]
fn flit_mode_with_several_channels_is_refused() {
    let mut config = with_queues(two_endpoints(), &[&[7]], &ChannelArbitration::Strict);
    config.links[2].mode = LinkMode::new(Generation::Gen6, Width::X8);
    let wrong = AssemblyError::ChannelsInFlitMode { device: "end1".into() };
    assert_eq!(Simulation::build(&config).err(), Some(wrong));
}
