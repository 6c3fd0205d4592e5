//! Operations against their closed forms, on links of 1 GB/s with 500 ns one way, where a byte takes a nanosecond.

use super::*;
use crate::bench::Bench;
use lanewise_fabric::config::EngineConfig;
use lanewise_fabric::workload::{DeviceId, Metric, Workload};
use lanewise_units::{Rate, Span};

const LAUNCH: f64 = 5.0;
/// Link and hop, in us.
const LATENCY: f64 = 0.5 + 1.0;

/// One chunk of one slice for each part, as if nothing were cut.
fn pass(size: u64, chunk: u64) -> Pass {
    Pass {
        size: Bytes::new(size),
        algorithm: Algorithm::Ring,
        protocol: Protocol::Simple,
        launch: Span::from_us(5),
        hops: [Hop::AfterArrival(Span::from_us(1)); Hardware::COUNT],
        channels: 1,
        chunk: Bytes::new(chunk),
        slices: 1,
        least_slice: Bytes::new(16),
        window: 8,
        in_turn: false,
    }
}

fn config(ranks: u32, operation: Operation, pass: Pass) -> CollectiveConfig {
    let engine = EngineConfig { write_unit: None, read_unit: None, outstanding: None };
    let rank = |number| Rank {
        device: DeviceId(number),
        name: format!("gpu{number}"),
        node: 0,
        engine: engine.clone(),
    };
    let layout = Layout { nodes: vec![0; ranks as usize], entries: Vec::new() };
    let pairs = pairs(operation, 0, &[(pass.algorithm, pass.channels)], &layout);
    CollectiveConfig {
        name: "ring".into(),
        ranks: (0..ranks).map(rank).collect(),
        layout,
        operation,
        root: 0,
        passes: vec![pass],
        operations: None,
        warm_up: 0,
        ways: pairs.into_iter().map(|pair| Way { pair, path: Path::Peer(Hardware::Pci) }).collect(),
        network: rdma::RdmaNetworkConfig::default(),
        proxies: Vec::new(),
    }
}

/// What it reports after 20 ms, and what was written by the first device.
fn run(config: CollectiveConfig) -> (Vec<Metric>, u64) {
    let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
    let mut instrument = CollectiveWorkload::new(config);
    bench.run(&mut instrument, Span::from_ms(20));
    (instrument.report((Time::ZERO, bench.now)), bench.payload_of("ring", "gpu0", "write"))
}

fn value(metrics: &[Metric], name: &str) -> f64 {
    metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("{name}")).value
}

/// Time of an operation, in us.
fn time(config: CollectiveConfig) -> f64 {
    value(&run(config).0, "time (us)")
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.01, "{found} us, and {expected} us by the closed form");
}

#[test]
fn an_operation_takes_its_launch_and_its_steps() {
    for (operation, steps) in
        [(Operation::AllReduce, 6.0), (Operation::ReduceScatter, 3.0), (Operation::AllGather, 3.0)]
    {
        let (metrics, _) = run(config(4, operation, pass(400_000, 100_000)));
        let expected = LAUNCH + steps * (100.0 + LATENCY);
        assert_eq!(value(&metrics, "time (us)"), expected, "{operation:?}");
        let busbw = value(&metrics, "busbw (GB/s)");
        assert!((busbw - 0.4e3 / expected * steps / 4.0).abs() < 1e-12, "{operation:?}: {busbw}");
    }
}

/// While a slice's hop is under way, its chunk's other slice is on the link: of all latencies the last remains.
#[test]
fn slices_hide_the_latency_of_all_hops_but_the_last() {
    let whole = pass(400_000, 100_000);
    let sliced = config(4, Operation::AllReduce, Pass { slices: 2, ..whole.clone() });
    assert_near(time(sliced), LAUNCH + 600.0 + LATENCY);
    let smaller = config(4, Operation::AllReduce, Pass { chunk: Bytes::new(20_000), slices: 2, ..whole });
    // Five loops of six steps, of which each rank sends in a row.
    assert_near(time(smaller), LAUNCH + 600.0 + LATENCY);
}

#[test]
fn channels_share_the_link_and_hide_each_others_latency() {
    for channels in [2, 4] {
        let pass = Pass { channels, ..pass(400_000, 100_000) };
        assert_near(time(config(4, Operation::AllReduce, pass)), LAUNCH + 600.0 + LATENCY);
    }
}

/// Hosts of two ranks each, whose second ring enters at the second: 1, 0, 3, 2. So every rank sends to two others, and crosses once.
#[test]
fn rings_that_enter_elsewhere_go_other_ways() {
    let rings = |algorithm| {
        let mut config =
            config(4, Operation::AllReduce, Pass { channels: 2, algorithm, ..pass(400_000, 100_000) });
        config.layout = Layout { nodes: vec![0, 0, 1, 1], entries: vec![vec![0, 2], vec![1, 3]] };
        let pairs = pairs(Operation::AllReduce, 0, &[(algorithm, 2)], &config.layout);
        config.ways = pairs.iter().map(|pair| Way { pair: *pair, path: Path::Peer(Hardware::Pci) }).collect();
        (config, pairs)
    };
    let (ring, pairs) = rings(Algorithm::Ring);
    let expected = [(0, 1), (0, 3), (1, 0), (1, 2), (2, 1), (2, 3), (3, 0), (3, 2)];
    assert_eq!(pairs.into_iter().collect::<Vec<_>>(), expected);
    assert_near(time(ring), LAUNCH + 600.0 + LATENCY);
    // Chains from 0 and 1, which are the heads of their hosts by turns.
    let (_, pairs) = rings(Algorithm::Tree);
    let expected = [(0, 1), (0, 2), (1, 0), (1, 3), (2, 0), (2, 3), (3, 1), (3, 2)];
    assert_eq!(pairs.into_iter().collect::<Vec<_>>(), expected);
}

/// Half of what LL writes are flags; of LL128, 8 of 128 B.
#[test]
fn flags_take_their_share_of_the_link() {
    for (protocol, times) in [(Protocol::Ll, 2.0), (Protocol::Ll128, 128.0 / 120.0)] {
        let pass = Pass { protocol, slices: 16, window: 128, ..pass(480_000, 120_000) };
        let parts = 120.0 * times;
        assert_near(time(config(4, Operation::AllReduce, pass)), LAUNCH + 6.0 * parts + LATENCY);
    }
}

/// With room for one slice, each waits for the word that the one before has gone on.
#[test]
fn a_receiver_without_room_holds_the_sender() {
    let pass = |window| Pass { window, ..pass(400_000, 10_000) };
    let slices = 40.0;
    assert_near(time(config(2, Operation::SendReceive, pass(8))), LAUNCH + 400.0 + LATENCY);
    // There is room again when a slice has been dealt with, and what a line takes later: 16 ns and 500 ns.
    let alone = 10.0 + LATENCY;
    let expected = LAUNCH + slices * alone + (slices - 1.0) * 0.516;
    assert_near(time(config(2, Operation::SendReceive, pass(1))), expected);
}

#[test]
fn a_broadcast_passes_chunks_along_and_a_reduction_brings_them_back() {
    for operation in [Operation::Broadcast, Operation::Reduce] {
        for root in [0, 2] {
            let expected = LAUNCH + 400.0 + LATENCY + 2.0 * (10.0 + LATENCY);
            let mut config = config(4, operation, pass(400_000, 10_000));
            config.root = root;
            let pairs = pairs(operation, root, &[(Algorithm::Ring, 1)], &config.layout);
            config.ways =
                pairs.into_iter().map(|pair| Way { pair, path: Path::Peer(Hardware::Pci) }).collect();
            assert_eq!(config.ways.len(), 3);
            assert_near(time(config), expected);
        }
    }
}

#[test]
fn parts_for_all_others_leave_at_the_same_time() {
    let (metrics, written) = run(config(4, Operation::AllToAll, pass(400_000, 10_000)));
    assert_near(value(&metrics, "time (us)"), LAUNCH + 300.0 + LATENCY);
    let factor = value(&metrics, "busbw (GB/s)") / value(&metrics, "algbw (GB/s)");
    assert!((factor - 0.75).abs() < 1e-12, "{factor}");
    // Three lines that tried the paths are among them, and what is under way at the end.
    let each = 300_000;
    let operations = value(&metrics, "operations") as u64;
    assert!((operations * each..=(operations + 1) * each + 48).contains(&written), "{written}");
}

/// Two ranks: up and down, chunk after chunk. Of four, those in the middle send all data twice.
#[test]
fn a_tree_goes_up_and_down_at_the_same_time() {
    let tree = Pass { algorithm: Algorithm::Tree, ..pass(400_000, 2_000) };
    let two = LAUNCH + 400.0 + LATENCY + 2.0 + LATENCY;
    assert_near(time(config(2, Operation::AllReduce, tree.clone())), two);
    let four = time(config(4, Operation::AllReduce, Pass { window: 64, ..tree }));
    assert!((LAUNCH + 800.0..LAUNCH + 800.0 * 1.03).contains(&four), "{four} us");
}

/// What is written is there before it is read, and both directions of a link are in use at a time.
#[test]
fn through_memory_of_the_host_data_are_written_and_read() {
    let mut config = config(4, Operation::SendReceive, pass(400_000, 10_000));
    config.ways.iter_mut().for_each(|way| way.path = Path::HostMemory);
    // The receiver reads one slice after another, and asks for the counter when it knows of no other.
    let (read, counter) = (0.5 + 10.0, 0.5 + 0.008);
    let least = LAUNCH + 10.5 + counter + 40.0 * read + 1.0;
    let found = time(config.clone());
    assert!((least..least + 39.0 * counter).contains(&found), "{found} us, and {least} us with one counter");
    let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
    bench.run(&mut CollectiveWorkload::new(config), Span::from_ms(20));
    let moved = |direction| bench.payload_of("ring", "gpu1", direction);
    assert!(moved("read").abs_diff(moved("write")) <= 80_000, "{} {}", moved("read"), moved("write"));
}

/// One slice is written, its counter read, then the slice; with three in memory before the first has been read, the counter says so.
#[test]
fn the_counter_of_slices_is_read_before_them() {
    let through_memory = |bytes, chunk| {
        let mut config = config(2, Operation::SendReceive, pass(bytes, chunk));
        config.ways.iter_mut().for_each(|way| way.path = Path::HostMemory);
        time(config)
    };
    let (counter, first) = (0.5 + 0.008, LAUNCH + 1.0 + 0.5);
    assert_eq!(through_memory(1_000, 1_000), first + counter + (0.5 + 1.0) + 1.0);
    // 16 ns apart they are all there when the counter is asked for a second time, after the first slice.
    let small = |slices: f64, counters: f64| LAUNCH + 0.516 + counters * counter + slices * 0.516 + 1.0;
    assert!((through_memory(64, 16) - small(4.0, 2.0)).abs() < 1e-9);
}

/// Threads that deal with lines in turn take a hop for each slice: links of 1 ns a byte wait for them.
#[test]
fn lines_are_dealt_with_in_turn() {
    let pass = |in_turn| Pass { in_turn, window: 64, ..pass(40_000, 1_000) };
    let slices = 40.0;
    assert_near(time(config(2, Operation::SendReceive, pass(false))), LAUNCH + slices * 1.0 + LATENCY);
    let longer =
        |in_turn| Pass { hops: [Hop::AfterArrival(Span::from_us(3)); Hardware::COUNT], ..pass(in_turn) };
    assert_near(time(config(2, Operation::SendReceive, longer(false))), LAUNCH + slices + 0.5 + 3.0);
    // The first has arrived after 1.5 us; then each waits for the one before.
    assert_near(time(config(2, Operation::SendReceive, longer(true))), LAUNCH + 1.5 + slices * 3.0);
}

/// From memory of the host each slice is loaded when the one before has been dealt with: there and back, and the hop.
#[test]
fn lines_in_memory_of_the_host_are_loaded_in_turn() {
    let pass = Pass { in_turn: true, window: 64, ..pass(40_000, 1_000) };
    let mut config = config(2, Operation::SendReceive, pass);
    config.ways.iter_mut().for_each(|way| way.path = Path::HostMemory);
    // The way to memory is 500 ns here, and the way back with the data as well.
    assert_near(time(config), LAUNCH + 1.5 + 40.0 * (0.5 + 1.0 + 1.0));
}

/// NCCL counts with a write into the receiver: what is read back from memory of the host after that comes on top.
#[test]
fn a_whole_hop_has_no_read_of_host_memory_in_it() {
    let hops = [Hop::Whole(Span::from_us(3)); Hardware::COUNT];
    let mut config = config(4, Operation::AllReduce, Pass { hops, ..pass(64, 16) });
    config.ways.iter_mut().for_each(|way| way.path = Path::HostMemory);
    let found = time(config);
    // The counter of a slice is read before it.
    assert!((found - (LAUNCH + 6.0 * (3.0 + 0.508 + 0.516))).abs() < 1e-9, "{found}");
}

/// What NCCL says of a whole hop holds for a line: the path is part of it.
#[test]
fn a_whole_hop_has_its_path_in_it() {
    let hops = [Hop::Whole(Span::from_us(3)); Hardware::COUNT];
    let short = config(4, Operation::AllReduce, Pass { hops, ..pass(64, 16) });
    assert_eq!(time(short), LAUNCH + 6.0 * 3.0);
    let hops = [Hop::Whole(Span::from_ns(100)); Hardware::COUNT];
    let slow_path = config(4, Operation::AllReduce, Pass { hops, ..pass(64, 16) });
    let found = time(slow_path);
    assert!((found - (LAUNCH + 6.0 * 0.516)).abs() < 1e-9, "{found}: a path is never faster than it is");
}

#[test]
fn all_data_are_sent_whatever_their_size() {
    for size in [1, 15, 400_001, 399_999] {
        for channels in [1, 3] {
            let odd = Pass { channels, chunk: Bytes::new(30_000), slices: 3, ..pass(size, 1) };
            let (metrics, written) = run(config(3, Operation::AllGather, odd.clone()));
            let operations = value(&metrics, "operations") as u64;
            assert!(operations > 10, "{size} B, {channels} channels: {operations} operations");
            // Each part goes to two of three: the first device sends what is not the second's own, at most 16 B of a part off.
            let each = (size * 2 / 3).saturating_sub(32 * u64::from(channels) * 14)..=size;
            let mean = written / operations.max(1);
            assert!(each.contains(&mean) || size < 16, "{size} B, {channels} channels: {mean} B");
        }
    }
}

#[test]
fn sizes_follow_each_other_and_have_a_row_each() {
    let mut config = config(4, Operation::AllReduce, pass(400_000, 100_000));
    config.passes.insert(0, pass(40_000, 10_000));
    (config.operations, config.warm_up) = (Some(3), 1);
    let mut instrument = CollectiveWorkload::new(config);
    assert_eq!(instrument.has_ended(), Some(false));
    let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
    bench.run(&mut instrument, Span::from_ms(20));
    assert_eq!(instrument.has_ended(), Some(true));
    let metrics = instrument.report((Time::ZERO, bench.now));
    for (size, part) in [(40_000, 10.0), (400_000, 100.0)] {
        let row = |what: &str| value(&metrics, &format!("{size} B {what}"));
        assert_eq!(row("operations"), 3.0);
        assert_eq!(row("time (us)"), LAUNCH + 6.0 * (part + LATENCY));
    }
    let (all, _) = bench.operations("ring", "collective");
    assert_eq!(all, 8, "those that warm up are operations, too");
}

#[test]
fn of_no_operation_there_is_no_time() {
    let instrument = CollectiveWorkload::new(config(2, Operation::AllReduce, pass(400_000, 200_000)));
    let named: Vec<String> =
        instrument.report((Time::ZERO, Time::ZERO)).into_iter().map(|metric| metric.name).collect();
    assert_eq!(named, ["operations"]);
}
