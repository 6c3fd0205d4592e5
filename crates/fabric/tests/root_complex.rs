//! Root complexes: tracking of reads, memory, completion sizes, the shared outbound queue, and the CPU's loads and stores.

use crate::common::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::*;
use lanewise_fabric::workload::{DeviceId, Direction};
use lanewise_observe::{Recorder, Selection};
use lanewise_pcie::encoding::{Clocking, LinkMode, ceiling};
use lanewise_pcie::flow_control::CreditPool;
use lanewise_pcie::tlp::Tlp;
use lanewise_units::{Bytes, Generation, Rate, Span, Time, Width};

const GEN1: Generation = Generation::Gen1;

/// Two endpoints at two root ports, Gen1 x4; device 2 below port 1 gives few completion credits.
fn beside_a_throttled_sibling(shared: Option<u32>, own: u32) -> (f64, f64) {
    let mode = LinkMode::new(GEN1, Width::X4);
    let mut config = direct(GEN1, Width::X4, 128);
    config.devices[0].ports.push(port(mode, 128));
    let mut throttled = port(mode, 128);
    throttled.credits[2] = CreditPool::finite(1, 8);
    throttled.receive_latency = Span::from_ns(800);
    // So slow a receiver acknowledges late.
    config.devices[0].ports[1].replay_timer = Span::from_us(20);
    config.devices.push(device("throttled", DeviceKind::Endpoint(endpoint()), vec![throttled]));
    config.links.push(link((0, 1), (2, 0), mode));
    root_mut(&mut config).shared_outbound_queue = shared;
    root_mut(&mut config).root_port_queue = own;
    let streams = (1..3).map(|device| Stream::new(device, Direction::Read, 4096, 8)).collect();
    let simulation = measure(&config, streams, 400);
    (goodput(&simulation, 0, 400), goodput(&simulation, 1, 400))
}

/// With a queue per port, an endpoint with one credit is its own problem.
#[test]
fn queues_per_port_isolate_root_ports() {
    let (sibling, throttled) = beside_a_throttled_sibling(None, 2);
    assert!(throttled < 100e6, "{throttled}");
    assert!(sibling > 735e6, "{sibling}");
}

/// With one shared outbound queue it throttles its sibling's completions to its own pace.
#[test]
fn a_shared_outbound_queue_lets_one_port_throttle_the_other() {
    let (sibling, throttled) = beside_a_throttled_sibling(Some(16), 2);
    assert!(throttled < 100e6, "{throttled}");
    assert!(sibling < 2.0 * throttled, "{sibling}, {throttled}");
}

/// A root port that takes over all that its device can have under way never holds up the shared queue.
#[test]
fn a_deep_root_port_keeps_its_device_to_itself() {
    let (sibling, throttled) = beside_a_throttled_sibling(Some(4096), 4096);
    assert!(throttled < 100e6, "{throttled}");
    assert!(sibling > 735e6, "{sibling}");
}

/// A root port makes the completions of a read at once for a listener, else when their turn comes where that is the same: what waits at
/// each port, what memory did and what is on the wires is, too.
#[test]
fn whoever_listens_completions_wait_and_leave_alike() {
    let mut most_queued = 0;
    for (size, memory_rate, seed) in [(4096, 50, 1), (4096, 1, 2), (4095, 8, 3), (1000, 50, 4), (96, 2, 5)] {
        let mut config = behind_switch(Generation::Gen3, Width::X8, Width::X4, 3, 256);
        config.seed = seed;
        root_mut(&mut config).memory = memory(Rate::from_bytes_per_second(memory_rate * 1_000_000_000));
        root_mut(&mut config).completion_combine_max = Bytes::new(if seed == 4 { 128 } else { 64 });
        root_mut(&mut config).memory_latency_jitter = Span::from_ns(if seed == 3 { 40 } else { 0 });
        let [mut unheard, mut heard] = [(); 2].map(|()| {
            let mut simulation = Simulation::build(&config).expect("a tree");
            simulation.add_workload(Box::new(Stream::new(2, Direction::Read, size, 4)));
            simulation.add_workload(Box::new(Stream::new(3, Direction::Read, 4096, 2)));
            simulation.add_workload(Box::new(Stream::new(4, Direction::Write, size, 2)));
            simulation
        });
        let recorder = Recorder::new(Selection::everything(), 1);
        heard.fabric.add_observer(recorder.listener());
        for step in 1..60 {
            let at = Time::ZERO + Span::from_ns(500 * step);
            let waiting = [&mut unheard, &mut heard].map(|simulation| {
                simulation.run_until(at, u64::MAX);
                let queued = |port| simulation.fabric.port_reading(port, at).queued;
                (0..ports(&config)).map(queued).collect::<Vec<[u32; 3]>>()
            });
            assert_eq!(waiting[0], waiting[1], "at {at:?}, {size} B, {memory_rate} GB/s");
            most_queued = most_queued.max(waiting[0][0][2]);
        }
        let [unheard, heard] = [unheard, heard].map(|mut simulation| {
            simulation.stop_measuring(us(30));
            let readings = simulation.resources(us(30));
            let resources: Vec<String> = readings.iter().map(|reading| format!("{reading:?}")).collect();
            (simulation.fabric.observers().fingerprint(), resources)
        });
        assert_eq!(unheard, heard, "{size} B, {memory_rate} GB/s");
    }
    assert!(most_queued > 64, "more than one read waits: {most_queued}");
}

/// An endpoint with one buffer of completions that it holds for a while gets one packet in that time and a credit loop.
#[test]
fn a_held_buffer_is_a_slow_one() {
    let read = |hold: Span| {
        let mut config = direct(Generation::Gen1, Width::X4, 128);
        config.devices[1].ports[0].credits[2] = CreditPool::finite(1, 8);
        endpoint_mut(&mut config, 1).buffer_hold = hold;
        let simulation = measure(&config, vec![Stream::new(1, Direction::Read, 4096, 8)], 400);
        goodput(&simulation, 0, 400)
    };
    let (at_once, held) = (read(Span::ZERO), read(Span::from_us(2)));
    // Time of a completion of 64 B: whatever the loop takes, and 2 us more.
    let more = 64.0 / held - 64.0 / at_once;
    assert!((more / 2e-6 - 1.0).abs() < 0.02, "{more}");
}

/// Each of the three bandwidths of memory caps what it should.
#[test]
fn memory_bandwidth_caps() {
    let rate = Rate::from_bytes_per_second(1_000_000_000);
    let through = |set: fn(&mut RootComplexConfig, Rate), directions: &[Direction]| -> Vec<f64> {
        let mut config = direct(Generation::Gen3, Width::X8, 256);
        set(root_mut(&mut config), rate);
        let streams = directions.iter().map(|direction| Stream::new(1, *direction, 65536, 4)).collect();
        let simulation = measure(&config, streams, 400);
        (0..directions.len()).map(|flow| goodput(&simulation, flow, 400)).collect()
    };
    let (read, write) = (Direction::Read, Direction::Write);
    let reads = through(|root, rate| root.read_bandwidth = rate, &[read, write]);
    assert_close(reads[0], 1e9, 0.005, "read bandwidth");
    assert!(reads[1] > 5e9, "writes have their own: {reads:?}");
    let writes = through(|root, rate| root.write_bandwidth = rate, &[write, read]);
    assert_close(writes[0], 1e9, 0.005, "write bandwidth");
    let both = through(|root, rate| root.memory.rate = rate, &[read, write]);
    assert_close(both[0] + both[1], 1e9, 0.005, "memory bandwidth");
    assert!(both[0] > 0.2e9 && both[1] > 0.2e9, "neither starves: {both:?}");
}

/// A fixed cost per write comes on top of its bytes.
#[test]
fn write_overhead_is_paid_per_write() {
    let mut config = direct(Generation::Gen3, Width::X8, 256);
    root_mut(&mut config).write_bandwidth = Rate::from_bytes_per_second(2_560_000_000);
    root_mut(&mut config).write_overhead = Span::from_ns(60);
    let simulation = measure(&config, vec![Stream::new(1, Direction::Write, 65536, 4)], 400);
    assert_close(
        goodput(&simulation, 0, 400),
        256.0 / 160e-9,
        0.005,
        "100 ns of bytes and 60 ns of overhead",
    );
}

/// Completions of one RCB, or combined: the closed form of their size, with an Ack and an UpdateFC per request.
#[test]
fn completion_sizes_give_the_closed_form() {
    let mode = LinkMode::new(Generation::Gen3, Width::X8);
    let shape = Tlp::completion(0, Bytes::new(256));
    let whole = ceiling(mode, &shape, Clocking::Common).payload_gb_per_s_with_eds * 276.0 / 256.0 * 1e9;
    for (rcb, combine) in [(64, 64), (128, 128), (64, 128), (64, 256), (128, 256)] {
        let mut config = direct(Generation::Gen3, Width::X8, 256);
        let root = root_mut(&mut config);
        root.rcb = Bytes::new(rcb);
        root.completion_combine_max = Bytes::new(combine);
        config.devices[0].ports[0].ack.every_tlps = 1;
        config.devices[0].ports[0].update_flow_control.every_tlps = 1;
        let simulation = measure(&config, vec![Stream::new(1, Direction::Read, 65536, 4)], 300);
        let request = 512.0 + 20.0 * 512.0 / combine as f64 + 16.0;
        assert_close(goodput(&simulation, 0, 300), whole * 512.0 / request, 0.002, "completions");
    }
}

/// A read of 512 B on an idle link, and what all its completions take of the wire: with places for all lines each leaves alone. With
/// one place the first two do, because the second comes just when the first has left; the rest of their block and the next block
/// have waited, and each is one packet.
#[test]
fn lines_join_while_they_wait_for_a_place() {
    let read = |places: Option<u32>, offset: u64| {
        let mut config = without_background(direct(GEN1, Width::X4, 256));
        let root = root_mut(&mut config);
        (root.completion_combine_max, root.completion_queue) = (Bytes::new(256), places);
        // No DLLP for the request goes out among its completions.
        let port = &mut config.devices[0].ports[0];
        (port.ack.latency, port.update_flow_control.latency) = (Span::from_us(20), Span::from_us(20));
        let (simulation, log) = run_script(&config, vec![(us(5), dma(1, Direction::Read, offset, 512))], 100);
        let root = simulation.fabric.observers().counters(simulation.fabric.port_index(DeviceId(0), 0));
        (log.latency(0), root.tlps_sent)
    };
    let (whole, packets) = read(None, 0);
    assert_eq!(packets, 2);
    let more = |places, offset| {
        let (latency, packets) = read(Some(places), offset);
        (latency - whole, packets)
    };
    // 20 B of header and framing at 1 B per ns for each packet more.
    assert_eq!(more(48, 0), (Span::from_ns(6 * 20), 8));
    assert_eq!(more(8, 0), (Span::from_ns(6 * 20), 8));
    assert_eq!(more(1, 0), (Span::from_ns(2 * 20), 4));
    // Blocks are aligned: 64 and 64 alone, then 128 or less up to each multiple of 256.
    assert_eq!(more(1, 192).1, 4, "64, 64, 192, 192");
}

/// With many reads under way the queue is full, and a wire that lines would slow down carries completions of full size.
#[test]
fn lines_that_queue_up_leave_in_full_size() {
    let goodput_of = |places: Option<u32>, outstanding: u64, size: u64| {
        let mut config = direct(Generation::Gen3, Width::X8, 256);
        let root = root_mut(&mut config);
        (root.completion_combine_max, root.completion_queue) = (Bytes::new(256), places);
        let simulation = measure(&config, vec![Stream::new(1, Direction::Read, size, outstanding)], 300);
        goodput(&simulation, 0, 300)
    };
    let joined = goodput_of(None, 32, 4096);
    for places in [1, 4, 16, 48] {
        assert_close(goodput_of(Some(places), 32, 4096), joined, 0.005, &format!("{places} places"));
    }
    // With no more lines under way than there are places, all leave alone.
    let alone = goodput_of(Some(128), 32, 256);
    let mut lines = direct(Generation::Gen3, Width::X8, 256);
    root_mut(&mut lines).completion_combine_max = Bytes::new(64);
    let simulation = measure(&lines, vec![Stream::new(1, Direction::Read, 256, 32)], 300);
    assert_close(alone, goodput(&simulation, 0, 300), 0.002, "lines alone");
}

/// Completions are never above the payload size, however much the host would combine. The first ends at a multiple of it, too.
#[test]
fn the_payload_size_bounds_completions() {
    for offset in [0, 32] {
        let mut config = direct(GEN1, Width::X4, 128);
        root_mut(&mut config).completion_combine_max = Bytes::new(512);
        endpoint_mut(&mut config, 1).mrrs = Bytes::new(4096);
        let read = dma(1, Direction::Read, offset, 4096 - offset);
        let (simulation, _) = run_script(&config, vec![(us(5), read)], 1000);
        let root = simulation.fabric.observers().counters(simulation.fabric.port_index(DeviceId(0), 0));
        assert_eq!(root.tlps_sent, 4096 / 128, "from {offset}");
    }
}

/// A write by the CPU on an idle fabric: 3 DW header, 4 B, framing; a wire, a receiver, nothing else.
#[test]
fn an_mmio_write_takes_the_sum_of_its_parts() {
    let config = without_background(direct(GEN1, Width::X4, 128));
    // 12 + 4 + 8 B at 1 B per ns.
    assert_eq!(alone(&config, Ask::MmioWrite { device: 1, bytes: 4 }), Span::from_ns(24 + 1 + 20));
}

/// A read by the CPU on an idle fabric: request, register, completion.
#[test]
fn an_mmio_read_takes_the_sum_of_its_parts() {
    let config = without_background(direct(GEN1, Width::X4, 128));
    // Request 12 + 8 B, wire, receiver: 41 ns. Register 100 ns: 141, next symbol 144.
    // Completion 12 + 4 + 8 B, wire, receiver.
    assert_eq!(alone(&config, Ask::MmioRead { device: 1, bytes: 4 }), Span::from_ns(144 + 24 + 1 + 20));
    // 64 B: only the completion grows.
    assert_eq!(alone(&config, Ask::MmioRead { device: 1, bytes: 64 }), Span::from_ns(144 + 84 + 1 + 20));
}

/// Across a switch each direction adds the switch and a wire.
#[test]
fn mmio_crosses_a_switch() {
    let mut config = without_background(behind_switch(GEN1, Width::X4, Width::X4, 2, 128));
    switch_mut(&mut config, 1).latency = Span::from_ns(151);
    // Head in at 1 ns, out 151 ns later: 152 ns, on a symbol.
    let write = alone(&config, Ask::MmioWrite { device: 3, bytes: 4 });
    assert_eq!(write, Span::from_ns(152 + 24 + 1 + 20));
    // Request in at 152 + 20 + 1 + 20; register 100 ns: 293, next symbol 296. Completion 152 later.
    let read = alone(&config, Ask::MmioRead { device: 3, bytes: 4 });
    assert_eq!(read, Span::from_ns(296 + 152 + 24 + 1 + 20));
}

/// A read of host memory on an idle fabric takes the sum of its parts too.
#[test]
fn a_dma_read_takes_the_sum_of_its_parts() {
    let config = without_background(direct(GEN1, Width::X4, 128));
    // Request 20 B, wire, receiver: 41 ns. 64 B at 1 TB/s is 0.064 ns, memory 150: 191.064, next symbol 192.
    // Completion 12 + 64 + 8 B, wire, receiver.
    assert_eq!(alone(&config, dma(1, Direction::Read, 0, 64)), Span::from_ns(192 + 84 + 1 + 20));
}

/// Latency of reads one at a time varies by an exponential with the configured mean.
#[test]
fn jitter_has_the_configured_mean() {
    let mean = |jitter| {
        let mut config = direct(Generation::Gen3, Width::X8, 256);
        root_mut(&mut config).memory_latency_jitter = jitter;
        let simulation = measure(&config, vec![Stream::new(1, Direction::Read, 64, 1)], 20_000);
        let latency = simulation.fabric.observers().flows()[0].latency();
        assert!(latency.count > 10_000);
        (latency.mean_ns, latency.stddev_ns)
    };
    let (without, steady) = mean(Span::ZERO);
    let (with, spread) = mean(Span::from_ns(500));
    assert!(steady < 5.0, "{steady}");
    assert_close(with - without, 500.0, 0.03, "mean");
    assert_close(spread, 500.0, 0.05, "standard deviation of an exponential is its mean");
}

/// Reads that wait for an engine hold their buffer space: header credits then bound what is in flight.
#[test]
fn waiting_reads_hold_their_credits() {
    let mut config = direct(Generation::Gen3, Width::X8, 256);
    root_mut(&mut config).stack.read_trackers = 1;
    root_mut(&mut config).memory_latency = Span::from_us(5);
    config.devices[0].ports[0].credits[1] = CreditPool::finite(4, 4);
    let simulation = measure(&config, vec![Stream::new(1, Direction::Read, 65536, 1)], 100);
    let root_port = simulation.fabric.port_index(DeviceId(0), 0);
    let buffer = simulation.fabric.observers().buffers(root_port)[1];
    assert_eq!(buffer.max(), 4 * 16, "four headers of 16 B");
    assert!(buffer.mean(us(120)) > 0.95 * 64.0, "{}", buffer.mean(us(120)));
}
