//! Non-transparent bridges: what passes from one machine to another, compared with the same way in one machine.

use crate::common::*;
use lanewise_fabric::config::{BridgeConfig, DeviceKind, FabricConfig, Forwarding};
use lanewise_fabric::workload::{DeviceId, Direction, Target};
use lanewise_fabric::{AssemblyError, Simulation};
use lanewise_pcie::LinkMode;
use lanewise_units::{Bytes, Generation, Span, Width};

const END: u32 = 2;
const NEAR: u32 = 3;
const FAR: u32 = 4;
const MPS: u64 = 256;
const LATENCY_NS: u64 = 140;

/// A card and one side of a bridge below a switch of host 0; the other side below host 1, which is device 5.
fn two_hosts(mode: LinkMode) -> FabricConfig {
    let mut config = behind_switch(mode.generation, mode.width, mode.width, 2, MPS);
    (config.devices[NEAR as usize].name, config.devices[END as usize].name) = ("near".into(), "card".into());
    let far = device("far", DeviceKind::Endpoint(endpoint()), vec![port(mode, MPS)]);
    let host = device("second", DeviceKind::RootComplex(root_complex()), vec![port(mode, MPS)]);
    config.devices.extend([far, host]);
    config.links.push(link((5, 0), (FAR as usize, 0), mode));
    for (side, other) in [(NEAR, FAR), (FAR, NEAR)] {
        let bridge = BridgeConfig {
            other: other as usize,
            forwarding: Forwarding::CutThrough,
            latency: Span::from_ns(LATENCY_NS),
            rate: FAST,
        };
        let side = endpoint_mut(&mut config, side as usize);
        (side.bridge, side.memory_bar) = (Some(bridge), Some(Bytes::from_kib(1 << 20)));
    }
    for root in [0, 5] {
        let DeviceKind::RootComplex(root) = &mut config.devices[root].kind else { panic!("a host") };
        root.memory_base = 1 << 32; // As in the BAR, an address takes four DW.
    }
    for port in config.devices.iter_mut().flat_map(|device| &mut device.ports) {
        port.credits[2] = switch_port(mode, MPS).credits[2]; // Both ends of a bridge hold completions.
    }
    without_background(config)
}

/// The same card below two switches of one host, the upper of which takes as long as the bridge.
fn one_host(mode: LinkMode) -> FabricConfig {
    let mut config = two_hosts(mode);
    let upper = switch(LATENCY_NS);
    config.devices[NEAR as usize] =
        device("upper", DeviceKind::Switch(upper), vec![switch_port(mode, MPS), switch_port(mode, MPS)]);
    config.links = [((0, 0), (NEAR as usize, 0)), ((NEAR as usize, 1), (1, 0)), ((1, 1), (END as usize, 0))]
        .map(|(above, below)| link(above, below, mode))
        .to_vec();
    config.devices.truncate(FAR as usize);
    without_background(config)
}

fn gen3() -> LinkMode {
    LinkMode::new(Generation::Gen3, Width::X4)
}

fn beyond(direction: Direction, length: u64) -> Ask {
    peer(END, direction, NEAR, length)
}

/// A bridge is a switch that gives packets other names: what crosses it takes as long as through a switch.
#[test]
fn a_packet_takes_as_long_as_through_a_switch() {
    let modes =
        [gen3(), LinkMode::new(Generation::Gen1, Width::X8), LinkMode::new(Generation::Gen6, Width::X4)];
    for mode in modes {
        for direction in [Direction::Write, Direction::Read] {
            for length in [4, 64, 256, 4096, 65_536] {
                let bridged = alone(&two_hosts(mode), beyond(direction, length));
                let switched = alone(&one_host(mode), dma(END, direction, 0, length));
                assert_eq!(bridged, switched, "{mode:?}, {direction:?} of {length} B");
            }
        }
    }
}

/// The second host's stores and loads, too, and to the first host's memory.
#[test]
fn cores_of_either_host_reach_memory_of_the_other() {
    for side in [NEAR, FAR] {
        let [store, load] =
            [Ask::MmioWrite { device: side, bytes: 8 }, Ask::MmioRead { device: side, bytes: 8 }]
                .map(|ask| alone(&two_hosts(gen3()), ask));
        // Three links and two chips one way, and memory in between.
        let ways = Span::from_ns(LATENCY_NS + 150);
        assert!(store > ways && store < ways + Span::from_ns(150), "{side}: {store}");
        assert!(load > store + ways, "{side}: {load}");
    }
}

/// Below 4 GiB a header has three DW: that of a request changes where the address does.
#[test]
fn a_header_is_as_long_as_its_address_is_on_each_side() {
    let mut low = two_hosts(gen3());
    let DeviceKind::RootComplex(root) = &mut low.devices[5].kind else { panic!("a host") };
    root.memory_base = 0;
    let four = alone(&two_hosts(gen3()), beyond(Direction::Write, 64));
    let three = alone(&low, beyond(Direction::Write, 64));
    let dword = gen3().wire_span(Bytes::new(4));
    // It leaves the bridge later by what it is shorter there, so that its end does not overtake it.
    assert!(three <= four && four <= three + dword * 2, "{three} and {four}");
    assert_ne!(three, four);
}

/// Reads and writes of both sides at once: each direction of the bridge has the goodput of its links.
#[test]
fn both_hosts_move_data_at_the_rate_of_the_links() {
    let mut config = two_hosts(gen3());
    config.devices.push(device("other card", DeviceKind::Endpoint(endpoint()), vec![port(gen3(), MPS)]));
    let kind = config.devices[5].kind.clone();
    config.devices[5] = device("second", kind, vec![port(gen3(), MPS), port(gen3(), MPS)]);
    config.links.push(link((5, 1), (6, 0), gen3()));
    let stream = |device: u32, direction: Direction, target: u32| {
        let mut stream = Stream::new(device, direction, 4096, 16);
        stream.target = Target::Endpoint(DeviceId(target));
        stream
    };
    let alone = measure(&config, vec![stream(END, Direction::Write, NEAR)], 100);
    let one_way = goodput(&alone, 0, 100);
    assert_close(one_way, 3.94e9 * 256.0 / 280.0, 0.01, "writes of 256 B at Gen3 x4");
    let back = measure(&config, vec![stream(6, Direction::Read, FAR)], 100);
    assert_close(goodput(&back, 0, 100), 3.94e9 * 64.0 / 84.0, 0.3, "reads, whose completions are smaller");
    let streams = vec![
        stream(END, Direction::Write, NEAR),
        stream(END, Direction::Read, NEAR),
        stream(6, Direction::Write, FAR),
        stream(6, Direction::Read, FAR),
    ];
    let all = measure(&config, streams, 200);
    let sum: f64 = (0..4).map(|flow| goodput(&all, flow, 200)).sum();
    (0..4).for_each(|flow| assert!(goodput(&all, flow, 200) > 0.2e9, "flow {flow} gets on"));
    assert!(sum < 2.0 * one_way * 1.01 && sum > one_way, "{sum:.3e}");
}

/// Packets that are damaged come again, and nothing is lost or comes twice.
#[test]
fn what_is_replayed_crosses_once() {
    for (forwarding, link) in
        [(Forwarding::CutThrough, 2), (Forwarding::StoreAndForward, 2), (Forwarding::CutThrough, 3)]
    {
        let mut config = two_hosts(gen3());
        for side in [NEAR, FAR] {
            endpoint_mut(&mut config, side as usize).bridge.as_mut().expect("a bridge").forwarding =
                forwarding;
        }
        config.links[link].faults_downstream.corrupt_tlps = vec![1, 3, 4, 9];
        config.links[link].faults_upstream.corrupt_tlps = vec![0, 2, 7];
        let steps = (0..12).map(|step| {
            let direction = if step % 2 == 0 { Direction::Write } else { Direction::Read };
            (us(5), beyond(direction, 1024))
        });
        let (_, log) = run_script(&config, steps.collect(), 10_000);
        assert_eq!(log.done(), 12);
    }
}

#[test]
fn a_side_without_another_is_refused() {
    let refused = |change: &dyn Fn(&mut FabricConfig)| {
        let mut config = two_hosts(gen3());
        change(&mut config);
        match Simulation::build(&config) {
            Err(AssemblyError::NoOtherSide { device }) => device,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it is built"),
        }
    };
    let no_answer = |config: &mut FabricConfig| endpoint_mut(config, FAR as usize).bridge = None;
    assert_eq!(refused(&no_answer), "near");
    let itself = |config: &mut FabricConfig| {
        endpoint_mut(config, NEAR as usize).bridge.as_mut().expect("a bridge").other = NEAR as usize;
    };
    assert_eq!(refused(&itself), "far", "which comes first");
    let nothing = |config: &mut FabricConfig| {
        endpoint_mut(config, NEAR as usize).bridge.as_mut().expect("a bridge").other = 99;
    };
    assert_eq!(refused(&nothing), "far", "which comes first");
}
