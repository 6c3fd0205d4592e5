//! The network on a ports of plain arithmetic: what arrives when, in which order, and how fast.

use super::token::{Kind, Needs, Ports};
use super::*;
use crate::bench::Bench;
use crate::flows::Flows;
use crate::ports::{Event, Instrument};
use lanewise_fabric::ports::Tally;
use lanewise_fabric::workload::DeviceId;
use lanewise_network::NetworkWire;
use lanewise_network::infiniband::InfinibandRate;
use lanewise_network::transport::PacketKind;
use lanewise_observe::{FlowSpec, LatencyOf, WorkloadEntry};
use lanewise_units::{Bytes, Rate, Span, Time};

pub(crate) const EDR: NetworkWire = NetworkWire::Infiniband { rate: InfinibandRate::Edr, lanes: 4 };

pub(super) fn nic(index: usize) -> RdmaNicConfig {
    RdmaNicConfig {
        name: format!("nic{index}"),
        device: DeviceId(index as u32),
        ports: 2,
        doorbell: Bytes::new(8),
        work_request: Bytes::new(64),
        push_max: Bytes::new(256),
        push_without_data: true,
        inline_max: Bytes::new(220),
        completion_entry: Bytes::new(64),
        message_interval: Span::from_ns(10),
        queue_pair_interval: Span::from_ns(20),
        queue_pair_read_bandwidth: None,
        send_latency: Span::from_ns(100),
        receive_latency: Span::from_ns(100),
        packet_gap: Span::ZERO,
        send_buffer: Bytes::from_kib(64),
        receive_buffer: Bytes::from_kib(64),
        send_bandwidth: None,
        receive_bandwidth: None,
        shared_bandwidth: None,
        outstanding_reads: 16,
        registration_time: Span::ZERO,
    }
}

pub(crate) fn network(mtu: u64) -> RdmaNetworkConfig {
    let link = |port| RdmaLinkConfig {
        name: format!("wire{port}"),
        ends: [NicPort { nic: 0, port }, NicPort { nic: 1, port }],
        wire: EDR,
        mtu: Bytes::new(mtu),
        latency: Span::from_ns(10),
    };
    RdmaNetworkConfig {
        nics: vec![nic(0), nic(1)],
        links: vec![link(0), link(1)],
        ..RdmaNetworkConfig::default()
    }
}

/// Posts requests at the start, and again one for each that is done; notes what it is told.
struct Script {
    network: RdmaNetwork,
    ends: Vec<[EndId; 2]>,
    connections: u32,
    /// Requests of each connection at the start, from its first end or, with `both`, from both.
    opening: Vec<WorkRequest>,
    both: bool,
    repeat: bool,
    seen: Vec<(Time, Completion)>,
}

impl Script {
    fn new(config: RdmaNetworkConfig, opening: Vec<WorkRequest>) -> Self {
        let network = RdmaNetwork::new(config);
        Self { network, ends: Vec::new(), connections: 1, opening, both: false, repeat: false, seen: vec![] }
    }
}

impl<M: Needs + Tally> Instrument<M> for Script {
    type Kind = Kind;

    fn begin(&mut self, ports: &mut Ports<'_, M>) {
        self.network.begin(ports);
        for connection in 0..self.connections {
            let mut flow = |device: usize, direction| {
                let (name, device) = (format!("c{connection}"), format!("nic{device}"));
                ports.add_flow(FlowSpec {
                    name,
                    entry: WorkloadEntry::default(),
                    devices: device.into(),
                    direction,
                    latency: LatencyOf::Request,
                    repeats: false,
                })
            };
            let flows = [
                Flows { read: flow(0, "read"), write: flow(0, "write"), control: flow(0, "control") },
                Flows { read: flow(1, "read1"), write: flow(1, "write1"), control: flow(1, "control1") },
            ];
            let wired = [0, 1].map(|nic| NicPort { nic, port: connection % 2 });
            self.ends.push(self.network.connect(wired, flows));
        }
        let posting: Vec<EndId> =
            self.ends.iter().flat_map(|ends| &ends[..1 + usize::from(self.both)]).copied().collect();
        for end in posting {
            for request in self.opening.clone() {
                self.network.post(ports.now(), end, request, ports);
            }
        }
    }

    fn react(&mut self, event: Event<Self::Kind>, ports: &mut Ports<'_, M>) {
        self.network.react(event, ports);
        while let Some(completion) = self.network.poll() {
            self.seen.push((ports.now(), completion));
            if self.repeat && completion.kind == CompletionKind::Done {
                self.network.post(ports.now(), completion.end, self.opening[0], ports);
            }
        }
    }
}

pub(super) fn request(opcode: Opcode, length: u64) -> WorkRequest {
    WorkRequest {
        opcode,
        length: Bytes::new(length),
        local: 1 << 24,
        remote: 1 << 25,
        memory: HOST_MEMORY,
        inline: false,
        signaled: true,
        id: 0,
    }
}

pub(crate) fn bench() -> Bench {
    Bench::new(Rate::from_bytes_per_second(16_000_000_000), Span::from_ns(200))
}

fn bytes_per_ns(script: &Script, kind: CompletionKind) -> f64 {
    let done: Vec<&(Time, Completion)> = script.seen.iter().filter(|(_, seen)| seen.kind == kind).collect();
    let (first, last) = (done[0].0, done[done.len() - 1].0);
    let bytes: u64 = done.iter().filter(|(at, _)| *at > first).map(|(_, seen)| seen.length.get()).sum();
    bytes as f64 / (last - first).as_ns()
}

#[test]
fn an_inline_write_takes_the_sum_of_its_steps() {
    let inline = WorkRequest { inline: true, ..request(Opcode::WritePolled, 2) };
    let mut script = Script::new(network(4096), vec![inline]);
    bench().run(&mut script, Span::from_us(100));
    let told: Vec<(CompletionKind, u64)> =
        script.seen.iter().map(|(at, seen)| (seen.kind, (*at - Time::ZERO).as_ns() as u64)).collect();
    // Doorbell 200, adapter 100, 46 B on the wire 3.68, cable 10, receiver 100, memory 200 and a byte time: alone, a
    // message does not wait for the rate of the pipeline.
    assert_eq!(told[0], (CompletionKind::Written, 613));
    // The acknowledgement leaves at 413.68: 30 B 2.4, cable 10, adapter 100, entry 200 + 4.
    assert_eq!(told[1], (CompletionKind::Done, 730));
    assert_eq!(script.network.under_way(), 0);
}

#[test]
fn a_send_is_seen_when_its_entry_is_behind_its_payload_and_costs_another_request() {
    let arrival = |opcode, length| {
        let mut script = Script::new(network(4096), vec![request(opcode, length)]);
        let mut bench = bench();
        bench.run(&mut script, Span::from_us(100));
        let mut seen = script.seen.iter();
        let (at, _) = seen.find(|(_, seen)| seen.kind != CompletionKind::Done).expect("the peer is told");
        let written = |direction| bench.payload_of("c0", "nic1", direction);
        ((*at - Time::ZERO).as_ns(), written("write1"), written("control1"))
    };
    for length in [2, 64, 4096] {
        let (write, payload, control) = arrival(Opcode::WritePolled, length);
        assert_eq!((payload, control), (length, 0));
        // An entry, and the request of 64 B that is fetched for the next send.
        let (send, payload, control) = arrival(Opcode::Send, length);
        assert_eq!((payload, control), (length, 64 + 64));
        // A send lacks 16 B of header on the wire. The entry takes 4 ns of the link, behind the payload.
        let wire =
            [PacketKind::WriteFirst, PacketKind::Data].map(|kind| EDR.packet_span(kind, Bytes::new(length)));
        let more = 4.0 - (wire[0] - wire[1]).as_ns();
        assert!((send - write - more).abs() < 1e-3, "{length} B: {write} {send}");
    }
}

#[test]
fn an_adapter_to_which_only_data_and_reads_are_pushed_fetches_other_requests() {
    let latency = |opcode, inline, push_without_data| {
        let mut config = network(4096);
        config.nics[0].push_without_data = push_without_data;
        let mut script = Script::new(config, vec![WorkRequest { inline, ..request(opcode, 2) }]);
        bench().run(&mut script, Span::from_us(100));
        (script.seen[0].0 - Time::ZERO).as_ns() as u64
    };
    // A read of 64 B from memory: 200 ns of the link, and 4 ns at its rate.
    assert_eq!(latency(Opcode::Write, false, false) - latency(Opcode::Write, false, true), 204);
    assert_eq!(latency(Opcode::Write, true, false), latency(Opcode::Write, true, true));
    assert_eq!(latency(Opcode::Read, false, false), latency(Opcode::Read, false, true));
}

#[test]
fn a_stream_of_writes_fills_the_wire_exactly() {
    for mtu in [1024, 2048, 4096] {
        let mut script = Script::new(network(mtu), vec![request(Opcode::Write, 65_536); 8]);
        script.repeat = true;
        bench().run(&mut script, Span::from_us(500));
        let expected = 65_536.0 / EDR.write_span(Bytes::from_kib(64), Bytes::new(mtu)).as_ns();
        let simulated = bytes_per_ns(&script, CompletionKind::Done);
        assert!((simulated / expected - 1.0).abs() < 1e-3, "MTU {mtu}: {simulated} for {expected}");
    }
}

#[test]
fn both_directions_share_the_lane_with_acknowledgements_and_credits_only() {
    let mut script = Script::new(network(4096), vec![request(Opcode::Write, 65_536); 8]);
    script.repeat = true;
    script.both = true;
    bench().run(&mut script, Span::from_us(500));
    let expected = 2.0 * 65_536.0 / (EDR.write_span(Bytes::from_kib(64), Bytes::new(4096)).as_ns());
    let simulated = bytes_per_ns(&script, CompletionKind::Done);
    assert!(simulated < expected && simulated > 0.99 * expected, "{simulated} of {expected}");
}

#[test]
fn reads_bring_the_data_back_and_only_so_many_are_outstanding() {
    let rate = |outstanding| {
        let mut config = network(4096);
        config.nics[0].outstanding_reads = outstanding;
        let mut script = Script::new(config, vec![request(Opcode::Read, 4096); 32]);
        script.repeat = true;
        bench().run(&mut script, Span::from_us(200));
        bytes_per_ns(&script, CompletionKind::Done)
    };
    let (one, two, many) = (rate(1), rate(2), rate(16));
    assert!((two / one - 2.0).abs() < 0.02, "{one} {two}");
    assert!(many > 12.2, "the wire is the limit: {many}");
}

#[test]
fn a_slow_receiver_holds_the_sender_back_without_loss() {
    let mut config = network(4096);
    config.nics[1].receive_bandwidth = Some(Rate::from_bytes_per_second(5_000_000_000));
    let mut script = Script::new(config, vec![request(Opcode::Send, 65_536); 8]);
    script.repeat = true;
    bench().run(&mut script, Span::from_us(500));
    for kind in [CompletionKind::Done, CompletionKind::Received] {
        let simulated = bytes_per_ns(&script, kind);
        assert!((simulated / 5.0 - 1.0).abs() < 0.01, "{kind:?}: {simulated}");
    }
}

#[test]
fn a_write_is_not_forgotten_while_its_payload_still_crosses_the_receiver() {
    let mut config = network(4096);
    config.nics[1].receive_bandwidth = Some(Rate::from_bytes_per_second(1_000_000_000));
    let unsignaled = WorkRequest { signaled: false, ..request(Opcode::Write, 8192) };
    let mut script = Script::new(config, vec![unsignaled; 4]);
    let mut bench = bench();
    bench.run(&mut script, Span::from_us(100));
    assert_eq!((script.network.under_way(), bench.payload("c0", "write1")), (0, 4 * 8192));
}

#[test]
fn the_shared_path_is_for_both_directions() {
    let mut config = network(4096);
    config.nics[0].shared_bandwidth = Some(Rate::from_bytes_per_second(10_000_000_000));
    let mut script = Script::new(config, vec![request(Opcode::Write, 65_536); 8]);
    script.repeat = true;
    script.both = true;
    bench().run(&mut script, Span::from_us(500));
    let simulated = bytes_per_ns(&script, CompletionKind::Done);
    assert!((simulated / 10.0 - 1.0).abs() < 0.02, "both directions together: {simulated}");
}

#[test]
fn a_gap_between_packets_costs_each_packet() {
    let mut config = network(1024);
    config.nics[0].packet_gap = Span::from_ns(20);
    let mut script = Script::new(config, vec![request(Opcode::Write, 65_536); 8]);
    script.repeat = true;
    bench().run(&mut script, Span::from_us(500));
    let wire = EDR.write_span(Bytes::from_kib(64), Bytes::new(1024)) + Span::from_ns(20) * 64;
    let expected = 65_536.0 / wire.as_ns();
    let simulated = bytes_per_ns(&script, CompletionKind::Done);
    assert!((simulated / expected - 1.0).abs() < 1e-3, "{simulated} for {expected}");
}

#[test]
fn ports_do_not_disturb_each_other_and_connections_take_turns() {
    let mut script = Script::new(network(4096), vec![request(Opcode::Write, 4096); 16]);
    script.connections = 4;
    script.repeat = true;
    // Two ports of 12.4 GB/s each behind a link that is faster than both.
    Bench::new(Rate::from_bytes_per_second(40_000_000_000), Span::from_ns(200))
        .run(&mut script, Span::from_us(300));
    let done = |connection: usize| {
        script.seen.iter().filter(|(_, seen)| seen.end == script.ends[connection][0]).count() as f64
    };
    for connection in 1..4 {
        // The first connection is 16 requests of some 450 ahead.
        assert!((done(connection) / done(0) - 1.0).abs() < 0.05, "connection {connection}");
    }
    let total = bytes_per_ns(&script, CompletionKind::Done);
    assert!(total > 24.2, "{total}");
}

#[test]
fn everything_that_was_posted_ends() {
    let mut opening = Vec::new();
    for opcode in [Opcode::Write, Opcode::WritePolled, Opcode::Read, Opcode::Send, Opcode::Datagram] {
        for length in [0, 1, 4095, 4097, 100_000] {
            for signaled in [true, false] {
                opening.push(WorkRequest { signaled, ..request(opcode, length) });
            }
        }
    }
    let total = opening.len();
    let mut script = Script::new(network(4096), opening);
    script.both = true;
    bench().run(&mut script, Span::from_ms(2));
    assert_eq!(script.network.under_way(), 0);
    let count = |kind| script.seen.iter().filter(|(_, seen)| seen.kind == kind).count();
    assert_eq!(count(CompletionKind::Done), total, "half of them signaled, on both sides");
    assert_eq!(count(CompletionKind::Received), 2 * (total / 5 * 2));
    assert_eq!(count(CompletionKind::Written), 2 * (total / 5));
}

#[test]
#[should_panic(expected = "220 B fit")]
fn what_does_not_fit_cannot_travel_inline() {
    let inline = WorkRequest { inline: true, ..request(Opcode::Write, 221) };
    let mut script = Script::new(network(4096), vec![inline]);
    bench().run(&mut script, Span::from_us(1));
}
