//! Switches on ports of plain arithmetic: latencies that can be added up, shares that can be divided, and who is held back.

use super::tests::{EDR, nic, request};
use super::token::{Kind, Needs, Ports};
use super::*;
use crate::bench::Bench;
use crate::flows::Flows;
use crate::ports::{Event, Instrument};
use lanewise_fabric::ports::Tally;
use lanewise_network::NetworkWire;
use lanewise_network::routing::Choice;
use lanewise_network::switch::FlowControl;
use lanewise_network::transport::PacketKind;
use lanewise_observe::{FlowSpec, LatencyOf, WorkloadEntry};
use lanewise_units::{Bytes, Rate, Span, Time};

const MTU: Bytes = Bytes::new(4096);
const ROCE: NetworkWire = NetworkWire::Roce { rate: Rate::from_bytes_per_second(12_500_000_000) };
/// Along each cable, and through each switch.
const CABLE: Span = Span::from_ns(10);
const THROUGH: Span = Span::from_ns(200);

fn switch(index: usize) -> NetworkSwitchConfig {
    NetworkSwitchConfig {
        name: format!("switch{index}"),
        latency: THROUGH,
        cut_through: true,
        choice: Choice::Destination,
        buffer: Bytes::from_kib(64),
        flow_control: FlowControl::Credits,
        pause_response: Span::ZERO,
    }
}

fn cable(ends: [CableEnd; 2], wire: NetworkWire) -> CableConfig {
    CableConfig { name: "cables".into(), ends, wire, mtu: MTU, latency: CABLE, encapsulation: Span::ZERO }
}

/// So many adapters at each of so many leaves; with two or more leaves, this many wires from each leaf to one spine.
fn tree(leaves: usize, adapters: usize, uplinks: u32, wire: NetworkWire) -> RdmaNetworkConfig {
    let mut config = RdmaNetworkConfig::default();
    let spine = leaves;
    for leaf in 0..leaves {
        for number in 0..adapters {
            let adapter = NicPort { nic: config.nics.len(), port: 0 };
            config.nics.push(nic(adapter.nic));
            let ends = [CableEnd::Adapter(adapter), CableEnd::Switch(leaf, number as u32)];
            config.cables.push(cable(ends, wire));
        }
        for uplink in 0..if leaves > 1 { uplinks } else { 0 } {
            let up = CableEnd::Switch(leaf, adapters as u32 + uplink);
            let down = CableEnd::Switch(spine, leaf as u32 * uplinks + uplink);
            config.cables.push(cable([up, down], wire));
        }
        config.switches.push(switch(leaf));
    }
    if leaves > 1 {
        config.switches.push(switch(spine));
    }
    config
}

/// The same over Ethernet, paused by the switches.
fn paused_tree(leaves: usize, adapters: usize) -> RdmaNetworkConfig {
    let mut config = tree(leaves, adapters, 1, ROCE);
    for switch in &mut config.switches {
        switch.flow_control = FlowControl::Pause { xoff: Bytes::from_kib(32), xon: Bytes::from_kib(24) };
    }
    config
}

/// Connections, each of which keeps requests under way.
struct Pairs {
    network: RdmaNetwork,
    /// Adapters of each connection, and its requests.
    pairs: Vec<([usize; 2], Vec<WorkRequest>)>,
    repeat: bool,
    ends: Vec<[EndId; 2]>,
    seen: Vec<(Time, Completion)>,
}

impl Pairs {
    fn new(config: RdmaNetworkConfig, pairs: &[[usize; 2]], requests: Vec<WorkRequest>) -> Self {
        let pairs = pairs.iter().map(|pair| (*pair, requests.clone())).collect();
        let (ends, seen) = (Vec::new(), Vec::new());
        Self { network: RdmaNetwork::new(config), pairs, repeat: true, ends, seen }
    }

    /// Bytes a ns of each connection, between the completions of its requests after a while.
    fn rates(&self, from: Time) -> Vec<f64> {
        let rate = |ends: &[EndId; 2]| {
            let mine = self.seen.iter().filter(|(at, seen)| seen.end == ends[0] && *at >= from);
            let done: Vec<&(Time, Completion)> = mine.collect();
            let (Some(first), Some(last)) = (done.first(), done.last()) else { return 0.0 };
            let bytes: u64 = done[1..].iter().map(|(_, seen)| seen.length.get()).sum();
            bytes as f64 / (last.0 - first.0).as_ns()
        };
        self.ends.iter().map(rate).collect()
    }
}

impl<M: Needs + Tally> Instrument<M> for Pairs {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.network.begin(ports);
        for (number, (pair, _)) in self.pairs.iter().enumerate() {
            let flows = [0, 1].map(|side| {
                let mut flow = |direction| {
                    let (name, device) = (format!("c{number}"), format!("nic{}", pair[side]));
                    ports.add_flow(FlowSpec {
                        name,
                        entry: WorkloadEntry::default(),
                        devices: device.into(),
                        direction,
                        latency: LatencyOf::Request,
                        repeats: false,
                    })
                };
                Flows { read: flow("read"), write: flow("write"), control: flow("control") }
            });
            self.ends.push(self.network.connect(pair.map(|nic| NicPort { nic, port: 0 }), flows));
        }
        for (ends, (_, requests)) in self.ends.iter().zip(&self.pairs) {
            for request in requests {
                self.network.post(ports.now(), ends[0], *request, ports);
            }
        }
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        self.network.react(event, ports);
        while let Some(completion) = self.network.poll() {
            self.seen.push((ports.now(), completion));
            if self.repeat && completion.kind == CompletionKind::Done {
                let number = completion.end.0 as usize / 2;
                let request = self.pairs[number].1[0];
                self.network.post(ports.now(), completion.end, request, ports);
            }
        }
    }
}

fn bench() -> Bench {
    Bench::new(Rate::from_bytes_per_second(16_000_000_000), Span::from_ns(200))
}

/// Rates of connections that write 64 KiB over and over, from 100 us on.
fn writes(config: RdmaNetworkConfig, pairs: &[[usize; 2]]) -> (Pairs, Vec<f64>) {
    let mut script = Pairs::new(config, pairs, vec![request(Opcode::Write, 65_536); 8]);
    bench().run(&mut script, Span::from_us(600));
    let rates = script.rates(Time::ZERO + Span::from_us(100));
    (script, rates)
}

/// Payload that a wire carries of 64 KiB writes, in bytes a ns.
fn goodput(wire: NetworkWire) -> f64 {
    65_536.0 / wire.write_span(Bytes::from_kib(64), MTU).as_ns()
}

/// From the doorbell until the last byte of a write is in memory.
fn latency(config: RdmaNetworkConfig, pair: [usize; 2], size: u64) -> Span {
    let mut script = Pairs::new(config, &[pair], vec![request(Opcode::WritePolled, size)]);
    script.repeat = false;
    bench().run(&mut script, Span::from_us(100));
    assert_eq!(script.network.under_way(), 0);
    let written = script.seen.iter().find(|(_, seen)| seen.kind == CompletionKind::Written);
    written.expect("a write is polled").0 - Time::ZERO
}

#[test]
fn each_switch_adds_its_latency_and_a_cable_and_no_serialisation() {
    let one_wire = {
        let config = super::tests::network(4096);
        latency(config, [0, 1], 4096)
    };
    // One cable is in both; a packet that cuts through is on all wires at once.
    let one = latency(tree(1, 2, 0, EDR), [0, 1], 4096);
    assert_eq!(one - one_wire, THROUGH + CABLE);
    let three = latency(tree(2, 1, 1, EDR), [0, 1], 4096);
    assert_eq!(three - one, (THROUGH + CABLE) * 2);
    // A switch that stores first waits for the whole packet.
    let mut stored = tree(1, 2, 0, EDR);
    stored.switches[0].cut_through = false;
    let span = EDR.packet_span(PacketKind::WriteFirst, MTU);
    assert_eq!(latency(stored, [0, 1], 4096) - one, span);
}

#[test]
fn a_faster_wire_behind_a_slower_one_does_not_run_dry() {
    let faster =
        NetworkWire::Infiniband { rate: lanewise_network::infiniband::InfinibandRate::Hdr, lanes: 4 };
    let mut config = tree(1, 2, 0, EDR);
    let alike = latency(config.clone(), [0, 1], 4096);
    config.cables[1].wire = faster;
    // The last byte leaves the switch when it would have left at the slower rate.
    assert_eq!(latency(config.clone(), [0, 1], 4096), alike);
    config.cables[0].wire = faster;
    let (slow, fast) =
        (EDR.packet_span(PacketKind::WriteFirst, MTU), faster.packet_span(PacketKind::WriteFirst, MTU));
    assert_eq!(alike - latency(config, [0, 1], 4096), slow - fast);
}

#[test]
fn a_stream_through_switches_fills_the_wire() {
    for (wire, config) in [(EDR, tree(2, 1, 1, EDR)), (ROCE, paused_tree(2, 1))] {
        let (script, rates) = writes(config, &[[0, 1]]);
        let expected = goodput(wire);
        assert!((rates[0] / expected - 1.0).abs() < 1e-3, "{wire:?}: {} for {expected}", rates[0]);
        let waits = script.network.switch_resources(Time::ZERO + Span::from_us(600));
        let waited: f64 =
            waits.filter(|each| each.name.ends_with("buffer")).map(|each| each.book.waited.as_ns()).sum();
        assert_eq!(waited, 0.0, "{wire:?}: nobody is held back");
    }
}

#[test]
fn many_to_one_share_the_last_wire_alike_and_nothing_is_lost() {
    for (wire, config) in [(EDR, tree(1, 5, 0, EDR)), (ROCE, paused_tree(1, 5))] {
        let (script, rates) = writes(config, &[[0, 4], [1, 4], [2, 4], [3, 4]]);
        for rate in &rates {
            let expected = goodput(wire) / 4.0;
            assert!((rate / expected - 1.0).abs() < 5e-3, "{wire:?}: {rates:?}, a quarter is {expected}");
        }
        let at = Time::ZERO + Span::from_us(600);
        let blocked = |port: u32| {
            let name = format!("switch0.port{port}.buffer");
            let found = script.network.switch_resources(at).find(|each| each.name == name);
            found.expect("every port has a buffer").book.waited.as_ns()
        };
        // Each of the four is held back for about three quarters of the time, the receiver's acknowledgements never.
        assert!(
            (1..=4).all(|port| blocked(port) > 200_000.0),
            "{wire:?}: {:?}",
            (1..=5).map(blocked).collect::<Vec<_>>()
        );
        assert_eq!(blocked(5), 0.0, "{wire:?}");
    }
}

#[test]
fn everything_that_was_posted_ends_when_buffers_are_full() {
    for config in [tree(2, 3, 1, EDR), paused_tree(2, 3)] {
        let mut opening = Vec::new();
        for opcode in [Opcode::Write, Opcode::WritePolled, Opcode::Read, Opcode::Send] {
            for length in [0, 1, 4097, 300_000] {
                opening.push(request(opcode, length));
            }
        }
        let total = opening.len();
        let mut script = Pairs::new(config, &[[0, 3], [1, 3], [2, 3], [4, 0], [5, 1]], opening);
        script.repeat = false;
        let mut bench = bench();
        bench.run(&mut script, Span::from_ms(4));
        let done = script.seen.iter().filter(|(_, seen)| seen.kind == CompletionKind::Done).count();
        assert_eq!((done, script.network.under_way(), script.network.held()), (5 * total, 0, 0));
    }
}

#[test]
fn a_victim_is_held_back_by_packets_for_elsewhere() {
    // Adapters 0 and 1 at one leaf, 2 to 5 at the other. Adapter 0 writes to 2, as 3 and 4 do; 1 writes to 5, where nobody else does.
    let pairs = [[0, 2], [3, 2], [4, 2], [1, 5]];
    for (wire, mut config) in [(EDR, tree(2, 4, 1, EDR)), (ROCE, paused_tree(2, 4))] {
        // Two adapters at the first leaf, the others at the second.
        let moved: Vec<usize> = vec![0, 1, 4, 5, 6, 7];
        config.cables.retain(|cable| match cable.ends[0] {
            CableEnd::Adapter(port) => moved.contains(&port.nic),
            CableEnd::Switch(..) => true,
        });
        let pairs = pairs.map(|pair| pair.map(|nic| moved[nic]));
        let (_, rates) = writes(config.clone(), &pairs);
        let (_, alone) = writes(config.clone(), &pairs[3..]);
        // The congested wire is shared by the three ingresses of its switch: a third is left to the uplink. Packets of both flows
        // come through it in turn, so that the victim has as much, though its own wire is idle.
        let third = goodput(wire) / 3.0;
        assert!((rates[0] / third - 1.0).abs() < 0.01, "{wire:?}: {rates:?}");
        assert!((rates[3] / third - 1.0).abs() < 0.05, "{wire:?}: the victim has {} of {third}", rates[3]);
        assert!((alone[0] / goodput(wire) - 1.0).abs() < 1e-3, "{wire:?}: alone it has all");
        // Without the flow to the congested adapter on its uplink, it has all of it again.
        let (_, free) = writes(config, &pairs[1..]);
        assert!((free[2] / goodput(wire) - 1.0).abs() < 1e-3, "{wire:?}: {free:?}");
    }
}

#[test]
fn two_uplinks_carry_twice_what_one_does() {
    let pairs = [[0, 2], [1, 3]];
    let total = |uplinks| writes(tree(2, 2, uplinks, EDR), &pairs).1.iter().sum::<f64>();
    let (one, two) = (total(1), total(2));
    assert!((one / goodput(EDR) - 1.0).abs() < 5e-3, "{one}");
    assert!((two / (2.0 * goodput(EDR)) - 1.0).abs() < 5e-3, "{two}");
}

#[test]
fn a_buffer_smaller_than_the_way_there_and_back_holds() {
    // Credits for two packets come back after the latency of the switch, both cables and two packets' times.
    let mut config = tree(1, 2, 0, EDR);
    let packet = EDR.packet_bytes(PacketKind::Data, MTU).round_up_to(Bytes::new(64));
    config.switches[0].buffer = packet * 2;
    let (_, rates) = writes(config, &[[0, 1]]);
    let span = EDR.packet_span(PacketKind::Data, MTU);
    // From the start of a packet until its room is back: cable, switch, the packet itself, cable. Two are under way.
    let round = CABLE * 2 + THROUGH + span;
    let expected = (2.0 * 4096.0 / round.as_ns()).min(4096.0 / span.as_ns());
    assert!((rates[0] / expected - 1.0).abs() < 5e-3, "{} for {expected}", rates[0]);
}
