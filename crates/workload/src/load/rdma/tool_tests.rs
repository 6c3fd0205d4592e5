//! The tools on a ports of plain arithmetic: their numbers are sums that can be written down.

use super::*;
use crate::bench::Bench;
use crate::device::rdma::HOST_MEMORY;
use crate::device::rdma::tests::{EDR, bench, network};
use crate::device::rdma::*;
use crate::host::*;
use lanewise_engine::random::RandomStream;
use lanewise_fabric::workload::{Metric, Workload};
use lanewise_network::NetworkWire;
use lanewise_network::transport::PacketKind;
use lanewise_units::{Bytes, Rate, Span, Time};

const PORTS: [NicPort; 2] = [NicPort { nic: 0, port: 0 }, NicPort { nic: 1, port: 0 }];

fn verbs() -> VerbsHostConfig {
    VerbsHostConfig {
        post_cost: Span::from_ns(60),
        doorbell_cost: Span::from_ns(100),
        poll_latency: Span::from_ns(80),
        poll_cost: Span::from_ns(30),
        receive_cost: Span::from_ns(90),
    }
}

fn perftest(tool: PerftestTool) -> PerftestConfig {
    PerftestConfig {
        name: "test".into(),
        tool,
        ports: PORTS,
        hosts: [verbs(), verbs()],
        memory: HOST_MEMORY,
        size: if tool.is_latency() { Bytes::new(2) } else { Bytes::from_kib(64) },
        iterations: 1000,
        queue_pairs: 1,
        post_list: 1,
        tx_depth: 128,
        completion_moderation: 1,
        inline_size: if tool.is_latency() { Bytes::new(220) } else { Bytes::ZERO },
        bidirectional: false,
    }
}

fn osu(tool: OsuTool, size: u64, rendezvous: Rendezvous) -> OsuConfig {
    let mpi = MpiHostConfig {
        send_cost: Span::from_ns(100),
        receive_cost: Span::from_ns(90),
        copy_bandwidth: Rate::from_bytes_per_second(10_000_000_000),
        waits_for_doorbell: false,
    };
    OsuConfig {
        name: "osu".into(),
        tool,
        ports: PORTS,
        hosts: [(verbs(), mpi.clone()), (verbs(), mpi)],
        mpi: MpiConfig {
            eager_max: Bytes::from_kib(8),
            header: Bytes::new(48),
            eager_by_send: false,
            rendezvous,
            inline_max: Bytes::new(128),
        },
        size: Bytes::new(size),
        window: 64,
    }
}

struct Outcome {
    metrics: Vec<Metric>,
    bench: Bench,
}

impl Outcome {
    fn of(&self, name: &str) -> f64 {
        self.metrics.iter().find(|metric| metric.name == name).expect("a metric of that name").value
    }
}

fn run_over(network: RdmaNetworkConfig, tool: RdmaToolConfig, span: Span) -> Outcome {
    let mut workload = RdmaWorkload::new(RdmaConfig { network, tools: vec![tool] });
    let mut bench = bench();
    bench.run(&mut workload, span);
    let metrics = workload.reports((Time::ZERO, bench.now)).remove(0);
    Outcome { metrics, bench }
}

fn run(tool: RdmaToolConfig, span: Span) -> Outcome {
    run_over(network(4096), tool, span)
}

#[test]
fn a_trip_of_ib_write_lat_is_the_sum_of_its_steps() {
    let outcome = run(RdmaToolConfig::Perftest(perftest(PerftestTool::WriteLatency)), Span::from_ms(1));
    // Made 60, adapters and wire 613.8 as in the network's own test, seen 80, taken 30. The way to the root port is the
    // ports's, and this one has none. The core is at the doorbell for 100 more, which is over before anything comes back.
    assert!((outcome.of("t_typical (us)") - 0.7838).abs() < 1e-3, "{}", outcome.of("t_typical (us)"));
    assert!(outcome.of("t_stdev (us)") < 1e-6 && outcome.of("iterations") > 500.0);
}

#[test]
fn reads_wait_for_the_whole_way_and_sends_for_a_completion_entry() {
    let typical = |tool| run(RdmaToolConfig::Perftest(perftest(tool)), Span::from_ms(1)).of("t_typical (us)");
    let (write, send) = (typical(PerftestTool::WriteLatency), typical(PerftestTool::SendLatency));
    let read = typical(PerftestTool::ReadLatency);
    // An entry of 64 B behind the payload, 16 B less of header on the wire, and 90 ns to take it and to post a receive
    // request anew, where a byte of memory takes 30. Two bytes have left for memory before the acknowledgement is on the
    // wire, so that their credits wait for it and go before the next packet.
    let header = [PacketKind::WriteFirst, PacketKind::Data].map(|kind| EDR.packet_span(kind, Bytes::new(2)));
    let credits = EDR.flow_control_span().as_ns();
    let more = 4.0 + credits - (header[0] - header[1]).as_ns() + 90.0 - 30.0;
    assert!(((send - write) * 1e3 - more).abs() < 0.1, "{write} {send}, {more} ns more");
    // Both ways of the wire with receivers and pipelines, and memory at the other end.
    assert!(read > 1.1 && read < 2.0 * write, "{read}");
}

#[test]
fn a_test_ends_after_its_iterations() {
    let short = PerftestConfig { iterations: 20, queue_pairs: 3, ..perftest(PerftestTool::WriteBandwidth) };
    let outcome = run(RdmaToolConfig::Perftest(short), Span::from_ms(2));
    assert_eq!(outcome.bench.payload("test", "write"), 0, "the client's adapter writes nothing");
    assert_eq!(outcome.bench.payload_of("test", "nic1", "write"), 3 * 20 * 65_536);
}

#[test]
fn bidirectional_is_twice_one_way_and_moderation_costs_nothing() {
    let average = |config| run(RdmaToolConfig::Perftest(config), Span::from_us(600)).of("BW average (Gb/s)");
    let one_way = average(perftest(PerftestTool::WriteBandwidth));
    assert!((one_way - 99.345).abs() < 0.05, "{one_way}");
    let both = average(PerftestConfig { bidirectional: true, ..perftest(PerftestTool::WriteBandwidth) });
    assert!((both / one_way - 2.0).abs() < 0.02, "{both}");
    let moderated = PerftestConfig { completion_moderation: 16, ..perftest(PerftestTool::SendBandwidth) };
    assert!((average(moderated) / one_way - 1.0).abs() < 0.01);
}

#[test]
fn the_peak_of_several_queue_pairs_is_what_the_wire_carries() {
    let run_with = |queue_pairs, tx_depth, iterations| {
        let config = perftest(PerftestTool::WriteBandwidth);
        let config = PerftestConfig { queue_pairs, tx_depth, iterations, ..config };
        run(RdmaToolConfig::Perftest(config), Span::from_us(900))
    };
    let gigabits = |outcome: &Outcome| outcome.of("BW peak (MiB/s)") * 8.0 * 1_048_576.0 / 1e9;
    for queue_pairs in [1, 2, 4] {
        let outcome = run_with(queue_pairs, 8, 5000);
        let (peak, average) = (gigabits(&outcome), outcome.of("BW average (Gb/s)"));
        assert!(peak >= average * (1.0 - 1e-12) && peak < 99.345 * 1.005, "{queue_pairs}: {peak} {average}");
    }
    // A message alone takes its wait as well: no run of one message is faster than a whole trip.
    let outcome = run_with(1, 1, 5000);
    assert!(gigabits(&outcome) < 99.345 * 0.9, "{}", gigabits(&outcome));
    assert_eq!(gigabits(&run_with(1, 8, 20_001)), 0.0, "the tool looks for none");
}

/// Gb/s of payload that messages of a size take on the wire of the tests, one way.
fn wire_gigabits(size: u64) -> f64 {
    size as f64 * 8.0 / EDR.write_span(Bytes::new(size), Bytes::new(4096)).as_ns()
}

#[test]
fn nothing_that_is_printed_is_above_the_wire() {
    let mut stream = RandomStream::new(16, "perftest", "windows");
    let mut worst = 0.0_f64;
    for size in [64, 512, 4096, 65_536, 1 << 20, 8 << 20] {
        for (queue_pairs, bidirectional) in
            [1, 2, 8].into_iter().flat_map(|pairs| [(pairs, false), (pairs, true)])
        {
            let config = PerftestConfig {
                size: Bytes::new(size),
                queue_pairs,
                bidirectional,
                iterations: 20_000,
                tx_depth: 2 + stream.below(8) as u32,
                ..perftest(PerftestTool::WriteBandwidth)
            };
            let wire = wire_gigabits(size) * f64::from(1 + u32::from(bidirectional));
            let round = EDR.write_span(Bytes::new(size), Bytes::new(4096)) * u64::from(queue_pairs);
            let network = network(4096);
            let tools = vec![RdmaToolConfig::Perftest(config)];
            let mut workload = RdmaWorkload::new(RdmaConfig { network, tools });
            let mut bench = bench();
            bench.run(&mut workload, round + Span::from_ns(stream.below(round.as_ns() as u64)));
            workload.start_measuring(bench.now);
            // The shortest window that has a number, and longer ones.
            while workload.has_ended() == Some(false) {
                bench.go_on(&mut workload, Span::from_ns(100 + stream.below(round.as_ns() as u64 / 4)));
            }
            for _ in 0..3 {
                let metrics = workload.reports((Time::ZERO, bench.now)).remove(0);
                let of = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap().value;
                let (peak, average) = (of("BW peak (MiB/s)") * 8.0 * 1.048_576e-3, of("BW average (Gb/s)"));
                assert!(peak >= average * (1.0 - 1e-12), "{queue_pairs} x {size}: {peak} {average}");
                worst = worst.max(peak / wire);
                assert!(peak < wire * 1.001, "{queue_pairs} x {size}, {bidirectional}: {peak} of {wire}");
                bench.go_on(&mut workload, round);
            }
        }
    }
    assert!(worst > 0.99, "some of them fill it: {worst}");
}

#[test]
fn a_window_shorter_than_the_queue_has_the_average_for_a_peak() {
    // 128 messages of 64 KiB are posted ahead and take 676 us: none that is posted in the window completes in it.
    let config = PerftestConfig { iterations: 5000, ..perftest(PerftestTool::WriteBandwidth) };
    let mut workload = RdmaWorkload::new(RdmaConfig {
        network: network(4096),
        tools: vec![RdmaToolConfig::Perftest(config)],
    });
    let mut bench = bench();
    bench.run(&mut workload, Span::from_us(300));
    workload.start_measuring(bench.now);
    bench.go_on(&mut workload, Span::from_us(350));
    let metrics = workload.reports((Time::ZERO, bench.now)).remove(0);
    let outcome = Outcome { metrics, bench };
    assert!(outcome.of("iterations") > 20.0);
    assert_eq!(outcome.of("BW peak (MiB/s)"), outcome.of("BW average (MiB/s)"));
}

#[test]
fn small_messages_are_limited_by_the_core_that_posts_them() {
    let small = PerftestConfig {
        size: Bytes::new(8),
        inline_size: Bytes::new(64),
        iterations: 100_000,
        completion_moderation: 100,
        ..perftest(PerftestTool::WriteBandwidth)
    };
    let rate = |post_list| {
        let config = PerftestConfig { post_list, ..small.clone() };
        run(RdmaToolConfig::Perftest(config), Span::from_us(500)).of("MsgRate (Mpps)")
    };
    // 60 ns a request, 100 ns a doorbell, and 30 ns for each hundred.
    let (one, four) = (rate(1), rate(4));
    assert!((one * 160.3e-3 - 1.0).abs() < 0.01, "{one}");
    assert!((four * 85.3e-3 - 1.0).abs() < 0.01, "{four}");
    // Lists of 16 now and then wait for the hundredth.
    assert!((rate(16) * 66.55e-3 - 1.0).abs() < 0.03, "{}", rate(16));
}

#[test]
fn a_core_that_also_receives_posts_less() {
    let rate = |tool, bidirectional| {
        let config = PerftestConfig {
            size: Bytes::new(8),
            inline_size: Bytes::new(64),
            iterations: 100_000,
            completion_moderation: 100,
            bidirectional,
            ..perftest(tool)
        };
        run(RdmaToolConfig::Perftest(config), Span::from_us(500)).of("MsgRate (Mpps)")
    };
    // Each side: 60 ns a request, 100 ns a doorbell, 30 ns for each hundred; of a send 90 ns to take the other's.
    for (tool, bidirectional, expected) in [
        (PerftestTool::WriteBandwidth, true, 2.0 / 160.3e-3),
        (PerftestTool::SendBandwidth, true, 2.0 / 250.3e-3),
        (PerftestTool::SendBandwidth, false, 1.0 / 160.3e-3),
    ] {
        let simulated = rate(tool, bidirectional);
        assert!(
            (simulated / expected - 1.0).abs() < 0.01,
            "{tool:?} {bidirectional}: {simulated} {expected}"
        );
    }
}

#[test]
fn one_queue_pair_is_limited_by_its_context_and_many_by_the_adapter() {
    let small = PerftestConfig {
        size: Bytes::new(64),
        iterations: 1_000_000,
        post_list: 32,
        tx_depth: 256,
        completion_moderation: 32,
        hosts: [(); 2].map(|()| VerbsHostConfig { post_cost: Span::from_ns(2), ..verbs() }),
        ..perftest(PerftestTool::WriteBandwidth)
    };
    let rate = |queue_pairs, message_interval| {
        let mut network = network(4096);
        for nic in &mut network.nics {
            nic.queue_pair_interval = Span::from_ns(80);
            nic.message_interval = Span::from_ns(message_interval);
        }
        let config = PerftestConfig { queue_pairs, ..small.clone() };
        run_over(network, RdmaToolConfig::Perftest(config), Span::from_us(500)).of("MsgRate (Mpps)")
    };
    assert!((rate(1, 25) * 80e-3 - 1.0).abs() < 0.01, "80 ns for each of one queue pair: {}", rate(1, 25));
    assert!((rate(2, 25) * 40e-3 - 1.0).abs() < 0.02, "two of them side by side: {}", rate(2, 25));
    assert!((rate(8, 50) * 50e-3 - 1.0).abs() < 0.02, "50 ns for each of all: {}", rate(8, 50));
}

#[test]
fn a_queue_pair_may_read_more_slowly_than_the_wire_and_two_read_twice_as_much() {
    let rate = |tool, queue_pairs| {
        let mut network = network(4096);
        for nic in &mut network.nics {
            nic.queue_pair_read_bandwidth = Some(Rate::from_bytes_per_second(3_000_000_000));
        }
        let config = PerftestConfig { queue_pairs, iterations: 1_000_000, ..perftest(tool) };
        run_over(network, RdmaToolConfig::Perftest(config), Span::from_ms(2)).of("BW average (Gb/s)")
    };
    let one = rate(PerftestTool::ReadBandwidth, 1);
    assert!((one / 24.0 - 1.0).abs() < 0.01, "one: {one}");
    let two = rate(PerftestTool::ReadBandwidth, 2);
    assert!((two / 48.0 - 1.0).abs() < 0.01, "two: {two}");
    let writes = rate(PerftestTool::WriteBandwidth, 1);
    assert!(writes > 90.0, "it says nothing of writes: {writes}");
}

#[test]
fn a_list_is_one_doorbell_and_one_fetch() {
    let (size, iterations) = (Bytes::new(64), 64);
    let listed = PerftestConfig {
        size,
        iterations,
        post_list: 16,
        completion_moderation: 16,
        ..perftest(PerftestTool::WriteBandwidth)
    };
    let outcome = run(RdmaToolConfig::Perftest(listed), Span::from_us(100));
    // Work requests that the client's adapter reads, and completion entries that it writes.
    assert_eq!(outcome.bench.payload_of("test", "nic0", "control"), 64 * 64 + 4 * 64);
    let single = PerftestConfig { size, iterations, ..perftest(PerftestTool::WriteBandwidth) };
    let outcome = run(RdmaToolConfig::Perftest(single), Span::from_us(100));
    assert_eq!(outcome.bench.payload_of("test", "nic0", "control"), 64 * 64, "pushed with the doorbell");
}

#[test]
fn eager_messages_pay_for_copies_and_large_ones_for_the_handshake() {
    let latency = |size| {
        let config = osu(OsuTool::Latency, size, Rendezvous::Write);
        run(RdmaToolConfig::Osu(config), Span::from_ms(2)).of("Latency (us)")
    };
    // As ib_write_lat, with 100 ns to send and 90 ns to match, and 48 B of header inline: two more words of 64 B on
    // the link of the bench and 48 B more on the wire and to memory.
    let tiny = latency(1);
    assert!((tiny - (0.794 + 0.190)).abs() < 0.03, "{tiny}");
    // By a send: an entry of 64 B behind the payload, 16 B less of header on the wire, and 90 ns to take it for 30.
    let mut config = osu(OsuTool::Latency, 1, Rendezvous::Write);
    config.mpi.eager_by_send = true;
    let sent = run(RdmaToolConfig::Osu(config), Span::from_ms(2)).of("Latency (us)");
    let header = [PacketKind::WriteFirst, PacketKind::Data].map(|kind| EDR.packet_span(kind, Bytes::new(49)));
    let more = 4.0 - (header[0] - header[1]).as_ns() + 90.0 - 30.0;
    assert!(((sent - tiny) * 1e3 - more).abs() < 0.1, "{tiny} {sent}, {more} ns more");
    // 8 KiB are copied twice at 10 GB/s.
    assert!(latency(8192) - tiny > 2.0 * 0.8192);
    let (below, above) = (latency(8192), latency(8193));
    assert!(above > below, "a handshake instead of copies: {below} {above}");
}

#[test]
fn both_kinds_of_rendezvous_fill_the_wire() {
    for rendezvous in [Rendezvous::Write, Rendezvous::Read] {
        let config = osu(OsuTool::Bandwidth, 65_536, rendezvous);
        let outcome = run(RdmaToolConfig::Osu(config), Span::from_ms(3));
        let bandwidth = outcome.of("Bandwidth (MB/s)");
        // A window takes 337 us, 64 calls of 260 ns before the first grant is seen, and some 4 us of handshake.
        assert!((11_600.0..12_300.0).contains(&bandwidth), "{rendezvous:?}: {bandwidth}");
        let both = osu(OsuTool::BidirectionalBandwidth, 65_536, rendezvous);
        let both = run(RdmaToolConfig::Osu(both), Span::from_ms(3)).of("Bandwidth (MB/s)");
        assert!(both > 1.9 * bandwidth && both < 2.0 * 12_418.0, "{rendezvous:?}: {both}");
    }
}

/// What each message more of a window takes, in ns.
fn of_a_message(doorbell: u64, waits: bool) -> f64 {
    let window = |window: u32| {
        let mut config = osu(OsuTool::Bandwidth, 8, Rendezvous::Write);
        config.window = window;
        for (verbs, mpi) in &mut config.hosts {
            verbs.doorbell_cost = Span::from_ns(doorbell);
            mpi.waits_for_doorbell = waits;
        }
        8e3 * f64::from(window) / run(RdmaToolConfig::Osu(config), Span::from_ms(4)).of("Bandwidth (MB/s)")
    };
    (window(512) - window(64)) / 448.0
}

#[test]
fn a_core_waits_for_a_doorbell_before_the_next_one_or_at_once() {
    // A send of 8 B: the call 100, the request 60, the copy 0.8.
    for (doorbell, waits, expected) in
        [(100, false, 160.8), (400, false, 400.0), (100, true, 260.8), (400, true, 560.8)]
    {
        let each = of_a_message(doorbell, waits);
        assert!((each / expected - 1.0).abs() < 0.005, "{doorbell} {waits}: {each} for {expected}");
    }
}

#[test]
fn a_tool_that_has_measured_nothing_reports_no_number_and_asks_for_more_time() {
    let tool = RdmaToolConfig::Osu(osu(OsuTool::Latency, 1 << 20, Rendezvous::Write));
    let mut workload = RdmaWorkload::new(RdmaConfig { network: network(4096), tools: vec![tool] });
    let mut bench = bench();
    bench.run(&mut workload, Span::from_us(50));
    assert_eq!(workload.has_ended(), Some(false));
    assert!(workload.reports((Time::ZERO, bench.now))[0].iter().all(|metric| metric.name == "Size (B)"));
    bench.go_on(&mut workload, Span::from_ms(5));
    assert_eq!(workload.has_ended(), None);
}

fn transactions(connections: u32) -> (RdmaNetworkConfig, RdmaToolConfig) {
    let mut network = network(4096);
    for link in &mut network.links {
        link.wire = NetworkWire::Ethernet { rate: Rate::from_bytes_per_second(1_250_000_000) };
        link.mtu = Bytes::new(1448);
    }
    let stack = |send, receive, wake| TcpStackConfig {
        send_cost: Span::from_ns(send),
        receive_cost: Span::from_ns(receive),
        wake_latency: Span::from_ns(wake),
    };
    let config = TransactionsConfig {
        name: "database".into(),
        ports: PORTS,
        stacks: [stack(100, 100, 0), stack(1600, 2400, 4000)],
        request: Bytes::new(64),
        response: Bytes::new(64),
        connections,
        service_time: Span::from_us(6),
    };
    (network, RdmaToolConfig::Transactions(config))
}

/// Sizes and counts are known from the start; all else waits for something to be measured.
#[test]
fn nothing_measured_has_no_rate_and_no_latency() {
    let known = |metric: &Metric| matches!(&*metric.name, "bytes (B)" | "Size (B)" | "iterations");
    let verbs = |tool| (network(4096), RdmaToolConfig::Perftest(perftest(tool)));
    let tools = [
        transactions(1),
        verbs(PerftestTool::WriteLatency),
        verbs(PerftestTool::SendLatency),
        verbs(PerftestTool::WriteBandwidth),
    ];
    for (network, tool) in tools {
        let outcome = run_over(network, tool, Span::from_ns(10));
        assert!(outcome.metrics.iter().all(known), "{:?}", outcome.metrics);
    }
}

#[test]
fn a_busy_server_spends_its_time_on_work_and_tcp() {
    let (network, tool) = transactions(16);
    let outcome = run_over(network, tool, Span::from_ms(5));
    // 6 us of work, 2.4 us to receive, 1.6 us to send, and nobody has to be woken.
    assert!((outcome.of("Transactions per second") / 1e5 - 1.0).abs() < 0.01);
}

#[test]
fn alone_a_request_also_waits_for_the_wake_up_and_both_ways() {
    let (network, tool) = transactions(1);
    let outcome = run_over(network, tool, Span::from_ms(5));
    let response = outcome.of("Mean response time (us)");
    // 10 us of the server, 4 us to wake it, 0.2 us of the client; two ways of about 1.2 us.
    assert!((16.0..17.5).contains(&response), "{response}");
    assert!((outcome.of("Transactions per second") * response / 1e6 - 1.0).abs() < 1e-3, "Little's law");
}
