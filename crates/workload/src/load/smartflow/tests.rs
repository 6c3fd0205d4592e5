//! Bridging on a ports of plain arithmetic, where what limits a host can be worked out by hand.

use super::*;
use crate::bench::Bench;
use crate::device::ethernet::NicConfig;
use crate::host::bridge::{Service, StackConfig};
use lanewise_fabric::workload::{DeviceId, Metric, Workload};
use lanewise_network::ethernet::EthernetRate;
use lanewise_units::{Bytes, Rate, Span, Time};

/// A gigabit adapter with two ports.
pub(crate) fn nic(device: u32) -> NicConfig {
    NicConfig {
        name: format!("nic{device}"),
        device: DeviceId(device),
        ports: 2,
        rate: EthernetRate::Gbit1,
        descriptor: Bytes::new(16),
        receive_ring: 256,
        transmit_ring: 256,
        descriptor_prefetch: 32,
        write_back_batch: 1,
        receive_fifo: Bytes::from_kib(32),
        transmit_fifo: Bytes::from_kib(16),
        transmit_frames: 1,
        frame_time: Span::ZERO,
        interrupt_interval: Span::ZERO,
        register: Bytes::new(4),
    }
}

/// A host with one core that takes 2.064 us for the smallest frame, and 1 ns for each byte beyond.
pub(crate) fn stack() -> StackConfig {
    StackConfig {
        device: DeviceId(7),
        system: "os".into(),
        cores: 1,
        interrupt_cost: Span::ZERO,
        interrupt_reads: 0,
        packet_cost: Span::from_ns(2_064),
        byte_cost: Span::from_ns(1),
        byte_limit: None,
        packet_reads: 0,
        packet_writes: 0,
        budget: 64,
        replenish: 16,
        service: Service::Fifo,
    }
}

fn flow(from: (usize, usize), to: (usize, usize)) -> TrafficFlow {
    let name = format!("{}.{} > {}.{}", from.0, from.1, to.0, to.1);
    TrafficFlow { name, group: format!("from {}", from.0), priority: 0, from, to }
}

fn smartflow(test: SmartFlowTest) -> SmartFlowConfig {
    SmartFlowConfig {
        test,
        flows: vec![flow((0, 0), (1, 0)), flow((1, 0), (0, 0))],
        sizes: vec![Bytes::new(64), Bytes::new(1518)],
        loads: vec![Load::FULL],
        resolution: Resolution(5_000),
        trial: Span::from_ms(10),
        buckets: vec![Span::from_us(5), Span::from_us(50)],
        snapshot_frames: 3,
    }
}

/// Runs an instrument to its end on links of 1 GB/s with 500 ns of latency.
fn run(smartflow: SmartFlowConfig, change: impl FnOnce(&mut EthernetConfig)) -> Vec<Metric> {
    let mut config =
        EthernetConfig { name: "bridge".into(), nics: vec![nic(0), nic(1)], stack: stack(), smartflow };
    change(&mut config);
    let mut instrument = EthernetWorkload::new(config);
    let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
    bench.run(&mut instrument, Span::from_ms(500));
    assert_eq!(instrument.has_ended(), Some(true), "every trial is over");
    instrument.report((Time::ZERO, bench.now))
}

fn value(metrics: &[Metric], name: &str) -> f64 {
    let found = metrics.iter().find(|metric| metric.name == name);
    found.unwrap_or_else(|| panic!("{name} is none of {metrics:?}")).value
}

#[test]
fn throughput_is_what_the_core_can_do() {
    let metrics = run(smartflow(SmartFlowTest::Throughput), |_| {});
    // 2.064 us for a frame whose line time is 0.672 us, shared by both flows: 672 bits each 2.064 us.
    let small = value(&metrics, "throughput 64 B (Mb/s)");
    assert!((small / (672.0 / 2.064) - 1.0).abs() < 0.008, "{small}");
    // 3.518 us for a frame of 12.304 us: two lines are full.
    assert_eq!(value(&metrics, "throughput 1518 B (Mb/s)"), 2000.0);
    assert_eq!(value(&metrics, "throughput 1518 B (% of line)"), 100.0);
}

/// 200 us hold a frame and a half of 1,518 B at 100 Mb/s: a trial lasts for as many as it takes to tell.
#[test]
fn a_trial_is_never_too_short_for_its_frames() {
    let test = SmartFlowConfig {
        sizes: vec![Bytes::new(1518), Bytes::new(64)],
        trial: Span::from_us(200),
        ..smartflow(SmartFlowTest::Throughput)
    };
    let metrics = run(test, |config| {
        config.nics.iter_mut().for_each(|nic| nic.rate = EthernetRate::Mbit100);
    });
    assert_eq!(value(&metrics, "throughput 1518 B (% of line)"), 100.0);
    assert_eq!(value(&metrics, "throughput 64 B (% of line)"), 100.0);
}

/// At a millionth of the line a frame comes each 0.67 s: the trial is over when its time is, and not with the next frame.
#[test]
fn a_trial_ends_with_its_time() {
    let test = SmartFlowConfig {
        sizes: vec![Bytes::new(64)],
        loads: vec![Load(1_000), Load(1_000)],
        trial: Span::from_us(11_000),
        ..smartflow(SmartFlowTest::SmartTracker)
    };
    let config =
        EthernetConfig { name: "bridge".into(), nics: vec![nic(0), nic(1)], stack: stack(), smartflow: test };
    let mut instrument = EthernetWorkload::new(config);
    let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(500));
    // Frames of a flow are 672 us apart, so that 16 of them take 10,752 us.
    bench.run(&mut instrument, Span::from_us(21_999));
    assert_eq!(instrument.has_ended(), Some(false));
    bench.go_on(&mut instrument, Span::from_us(1));
    assert_eq!(instrument.has_ended(), Some(true));
}

#[test]
fn a_register_read_for_each_frame_costs_its_round_trip() {
    let metrics = run(smartflow(SmartFlowTest::Throughput), |config| config.stack.packet_reads = 2);
    // Two round trips of 1 us more.
    let small = value(&metrics, "throughput 64 B (Mb/s)");
    assert!((small / (672.0 / 4.064) - 1.0).abs() < 0.008, "{small}");
    assert_eq!(value(&metrics, "Register reads per frame"), 2.0);
    assert_eq!(value(&metrics, "Register read round trip (ns)"), 1000.0);
}

#[test]
fn reads_for_each_interrupt_are_shared_by_many_frames_of_a_busy_host() {
    let metrics = run(smartflow(SmartFlowTest::Throughput), |config| config.stack.interrupt_reads = 4);
    let small = value(&metrics, "throughput 64 B (Mb/s)");
    assert!((small / (672.0 / 2.064) - 1.0).abs() < 0.02, "polling needs no interrupts: {small}");
}

#[test]
fn a_transmit_engine_that_takes_one_frame_at_a_time_can_be_the_limit() {
    let metrics = run(smartflow(SmartFlowTest::Throughput), |config| {
        config.stack.packet_cost = Span::ZERO;
        config.stack.byte_cost = Span::ZERO;
        config.nics.iter_mut().for_each(|nic| nic.frame_time = Span::from_us(1));
    });
    // A read of 60 B takes 0.5 us there and 0.06 us back, plus 1 us of the engine: 1.56 us a frame on each adapter.
    let small = value(&metrics, "throughput 64 B (Mb/s)");
    assert!((small / (2.0 * 672.0 / 1.56) - 1.0).abs() < 0.008, "{small}");
}

#[test]
fn frame_loss_is_what_a_saturated_host_cannot_take() {
    let test = SmartFlowConfig {
        sizes: vec![Bytes::new(64)],
        loads: vec![Load::FULL, Load(100_000)],
        trial: Span::from_ms(40),
        ..smartflow(SmartFlowTest::FrameLoss)
    };
    let metrics = run(test, |_| {});
    // Two flows offer 2.976 frames a us; one is taken each 2.064 us, and the rings hold a few hundred.
    let lost = value(&metrics, "frame loss 64 B at 100.00 % (%)");
    assert!((82.0..84.0).contains(&lost), "{lost}");
    assert_eq!(value(&metrics, "frame loss 64 B at 10.00 % (%)"), 0.0);
    let groups =
        [0, 1].map(|nic| value(&metrics, &format!("frame loss 64 B at 100.00 % group from {nic} (%)")));
    // Both sent as many.
    assert!((groups.iter().sum::<f64>() / 2.0 - lost).abs() < 0.01, "{groups:?} {lost}");
}

#[test]
fn latency_of_a_quiet_host_is_the_sum_of_its_steps() {
    let test = SmartFlowConfig {
        flows: vec![flow((0, 0), (1, 0))],
        sizes: vec![Bytes::new(64)],
        loads: vec![Load(10_000)],
        ..smartflow(SmartFlowTest::Latency)
    };
    let metrics = run(test, |_| {});
    // Frame and descriptor written (0.06 + 0.016 us) and the interrupt behind them (0.004 + 0.5), the frame
    // 2.064, doorbell 0.5, descriptor 0.5 + 0.016, frame 0.5 + 0.06: 4.22 us.
    let average = value(&metrics, "latency 64 B at 1.00 % average (us)");
    assert!((average - 4.22).abs() < 0.01, "{average}");
    let least = value(&metrics, "latency 64 B at 1.00 % minimum (us)");
    assert!((least - 4.22).abs() < 1e-3, "{least}");
    assert_eq!(value(&metrics, "latency 64 B at 1.00 % group from 0 average (us)"), average);
}

#[test]
fn buckets_hold_every_frame_and_snapshots_the_first() {
    let test = SmartFlowConfig {
        sizes: vec![Bytes::new(64)],
        loads: vec![Load(10_000)],
        ..smartflow(SmartFlowTest::LatencyDistribution)
    };
    let metrics = run(test.clone(), |_| {});
    let frames: f64 = metrics.iter().filter(|m| m.name.ends_with("(frames)")).map(|m| m.value).sum();
    // 1 % of the line: a frame each 67.2 us and flow for 10 ms.
    assert_eq!(frames, 2.0 * 149.0);
    assert_eq!(value(&metrics, "latency 64 B at 1.00 % up to 5.0 us (frames)"), frames);
    let metrics = run(SmartFlowConfig { test: SmartFlowTest::LatencySnapshot, ..test }, |_| {});
    assert_eq!(metrics.iter().filter(|m| m.name.contains("frame 3 (us)")).count(), 2);
    assert!(!metrics.iter().any(|m| m.name.contains("frame 4")));
}

#[test]
fn the_tracker_sums_groups() {
    let test = SmartFlowConfig {
        sizes: vec![Bytes::new(64)],
        loads: vec![Load(10_000)],
        ..smartflow(SmartFlowTest::SmartTracker)
    };
    let metrics = run(test, |_| {});
    assert_eq!(value(&metrics, "64 B at 1.00 % 0.0 > 1.0 received (frames)"), 149.0);
    assert_eq!(value(&metrics, "64 B at 1.00 % group from 0 sent (frames)"), 149.0);
    assert_eq!(value(&metrics, "64 B at 1.00 % group from 0 lost (frames)"), 0.0);
}

#[test]
fn a_full_transmit_ring_loses_frames_where_they_would_leave() {
    // Both ports of one adapter bridge to one port of the other.
    let test = SmartFlowConfig {
        flows: vec![flow((0, 0), (1, 0)), flow((0, 1), (1, 0))],
        sizes: vec![Bytes::new(1518)],
        trial: Span::from_ms(40),
        ..smartflow(SmartFlowTest::Throughput)
    };
    let metrics = run(test, |_| {});
    let sum = value(&metrics, "throughput 1518 B (Mb/s)");
    assert!((sum / 1000.0 - 1.0).abs() < 0.01, "two flows share one line: {sum}");
}

/// Frames lost of two flows from one adapter to a second, the first of a higher priority, in percent.
fn lost_by_priority(to: [(usize, usize); 2], size: u64, load: u32, service: Service) -> [f64; 2] {
    let high = TrafficFlow { priority: 5, ..flow((0, 0), to[0]) };
    let test = SmartFlowConfig {
        flows: vec![high, flow((0, 1), to[1])],
        sizes: vec![Bytes::new(size)],
        loads: vec![Load(load)],
        trial: Span::from_ms(200),
        ..smartflow(SmartFlowTest::FrameLoss)
    };
    let metrics = run(test, |config| config.stack.service = service);
    let label = format!("frame loss {size} B at {:.2} %", f64::from(load) / 1e4);
    [5, 0].map(|priority| value(&metrics, &format!("{label} priority {priority} (%)")))
}

#[test]
fn a_saturated_core_serves_the_higher_priority_first_where_it_knows_them() {
    let ports = [(1, 0), (1, 1)];
    // Each flow offers 0.298 frames a us, and one is taken each 2.064 us. The rings hold about 1 % of a trial.
    let strict = lost_by_priority(ports, 64, 200_000, Service::StrictPriority);
    assert_eq!(strict[0], 0.0);
    assert!((35.0..37.3).contains(&strict[1]), "0.187 of 0.298 get through: {strict:?}");
    for lost in lost_by_priority(ports, 64, 200_000, Service::Fifo) {
        assert!((16.5..18.7).contains(&lost), "0.242 of 0.298 get through: {lost}");
    }
}

#[test]
fn a_full_line_is_given_to_the_higher_priority_first() {
    let line = [(1, 0), (1, 0)];
    // Two flows at three quarters of the line that both leave by.
    let strict = lost_by_priority(line, 1518, 750_000, Service::StrictPriority);
    assert_eq!(strict[0], 0.0);
    assert!((64.0..66.7).contains(&strict[1]), "a quarter of the line is left: {strict:?}");
    for lost in lost_by_priority(line, 1518, 750_000, Service::Fifo) {
        assert!((30.0..36.0).contains(&lost), "half of the line each: {lost}");
    }
}
