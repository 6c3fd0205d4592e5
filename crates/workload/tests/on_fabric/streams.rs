//! Plain DMA and MMIO on the real fabric.

use crate::rig::*;
use lanewise_fabric::Simulation;
use lanewise_fabric::config::{EngineConfig, RootComplexConfig};
use lanewise_fabric::workload::{Direction, Target, Workload};
use lanewise_units::{Bytes, Span, Time, Width};
use lanewise_workload::device::gpu::CopyCosts;
use lanewise_workload::load::copy::{CopyConfig, CopyWay, CopyWorkload};
use lanewise_workload::load::dma::{DmaConfig, DmaDirection, DmaWorkload, OffsetOrder};
use lanewise_workload::load::mmio::{MmioConfig, MmioDirection, MmioWorkload, Pacing};

fn measure(attachment: Attachment, workloads: Vec<Box<dyn Workload>>) -> Simulation {
    measure_on(attachment, root_complex(), workloads)
}

fn measure_on(
    attachment: Attachment,
    root: RootComplexConfig,
    workloads: Vec<Box<dyn Workload>>,
) -> Simulation {
    let mut simulation = Simulation::build(&fabric(attachment, root)).expect("a tree of devices");
    for workload in workloads {
        simulation.add_workload(workload);
    }
    let at = |us| Time::ZERO + Span::from_us(us);
    simulation.run_until(at(50), u64::MAX);
    simulation.start_measuring(at(50));
    simulation.run_until(at(550), u64::MAX);
    simulation.stop_measuring(at(550));
    simulation.fabric.check_conservation();
    simulation
}

/// MB/s in the 500 us measured.
fn goodput(simulation: &Simulation, direction: &str) -> f64 {
    let flows = simulation.fabric.observers().flows();
    let wanted = flows.iter().filter(|flow| flow.spec.direction == direction);
    wanted.map(|flow| flow.payload().get()).sum::<u64>() as f64 / 500.0
}

fn dma(index: usize, direction: DmaDirection, target: Target) -> Box<dyn Workload> {
    Box::new(DmaWorkload::new(DmaConfig {
        name: format!("stream{index}").as_str().into(),
        device: adapter(index),
        device_name: format!("hba{index}"),
        direction,
        target,
        size: Bytes::from_kib(4),
        outstanding: 16,
        offset: 0,
        stride: Bytes::from_kib(4),
        span: Bytes::from_kib(1024),
        traffic_class: None,
        function: None,
        order: OffsetOrder::Sequential,
    }))
}

fn mmio(pacing: Pacing, direction: MmioDirection) -> Box<dyn Workload> {
    Box::new(MmioWorkload::new(MmioConfig {
        cost: Span::ZERO,
        answer: Span::ZERO,
        name: "registers".into(),
        device: adapter(0),
        device_name: "hba0".into(),
        direction,
        size: Bytes::new(4),
        pacing,
    }))
}

#[test]
fn writes_fill_a_gen1_link_of_eight_lanes() {
    let run = measure(Attachment::Slots(Width::X8), vec![dma(0, DmaDirection::Write, Target::HostMemory)]);
    let goodput = goodput(&run, "write");
    // 128 of 148 B, of 2 GB/s, less skip ordered sets.
    assert!((1715.0..1724.7).contains(&goodput), "{goodput} MB/s");
}

#[test]
fn reads_pay_for_completions_of_64_bytes() {
    let run = measure(Attachment::Slots(Width::X4), vec![dma(0, DmaDirection::Read, Target::HostMemory)]);
    let goodput = goodput(&run, "read");
    // 64 of 84 B, of 1 GB/s, less skip ordered sets and the DLLPs for one request in 512 B.
    assert!((715.0..759.8).contains(&goodput), "{goodput} MB/s");
}

#[test]
fn both_directions_at_once_leave_room_for_each_other() {
    let run = measure(Attachment::Slots(Width::X8), vec![dma(0, DmaDirection::Both, Target::HostMemory)]);
    assert!(goodput(&run, "write") > 1400.0, "{}", goodput(&run, "write"));
    assert!(goodput(&run, "read") > 1200.0, "{}", goodput(&run, "read"));
}

#[test]
fn a_peer_takes_writes_like_memory() {
    let run = measure(
        Attachment::Switch(Width::X4),
        vec![dma(0, DmaDirection::Write, Target::Endpoint(adapter(1)))],
    );
    let goodput = goodput(&run, "write");
    // Memory of endpoints lies above 4 GiB: 4 DW headers, 128 of 152 B.
    assert!((830.0..840.0).contains(&goodput), "{goodput} MB/s");
}

#[test]
fn a_load_behind_a_switch_takes_longer_by_two_traversals() {
    let latency = |attachment| {
        let run = measure(attachment, vec![mmio(Pacing::Closed { outstanding: 1 }, MmioDirection::Read)]);
        let flow = &run.fabric.observers().flows()[0];
        assert_eq!(flow.payload().get(), flow.operations() * 4);
        flow.latency().mean_ns
    };
    let (direct, behind) = (latency(Attachment::Slots(Width::X8)), latency(Attachment::Switch(Width::X8)));
    let extra = behind - direct;
    assert!((500.0..700.0).contains(&extra), "250 ns and a hop each way: {extra} ns on {direct} ns");
}

#[test]
fn stores_at_an_interval_all_arrive() {
    let pacing = Pacing::Open { interval: Span::from_ns(500) };
    let run = measure(Attachment::Slots(Width::X8), vec![mmio(pacing, MmioDirection::Write)]);
    let flow = &run.fabric.observers().flows()[0];
    assert!((999..=1001).contains(&flow.operations()), "{} in 500 us", flow.operations());
}

/// Lines of 64 B with 20 B around each on a link of 2 GB/s; or ten buffers that are held for the way to the root port.
#[test]
fn combined_stores_fill_the_link_or_wait_for_their_buffers() {
    let combined = |core_latency| {
        let root = RootComplexConfig { core_latency, ..root_complex() };
        let pacing = Pacing::Combining { buffers: 10 };
        measure_on(Attachment::Slots(Width::X8), root, vec![mmio(pacing, MmioDirection::Write)])
    };
    let filled = goodput(&combined(Span::from_ns(60)), "mmio write");
    let expected = 2000.0 * 64.0 / 84.0;
    assert!((filled / expected - 1.0).abs() < 0.01, "{filled} MB/s, {expected} less ordered sets and DLLPs");
    let held = goodput(&combined(Span::from_us(2)), "mmio write");
    assert!((held / (10.0 * 64.0 / 2.0) - 1.0).abs() < 0.005, "{held} MB/s");
}

/// Overhead, data in units of 64 B on a link of 2 GB/s, and the end: a copy takes their sum.
#[test]
fn a_copy_is_cut_at_the_unit_of_its_engine() {
    let way = CopyWay { word: "device-to-host", direction: Direction::Write, target: Target::HostMemory };
    let copies = CopyWorkload::new(CopyConfig {
        name: "copies".into(),
        device: adapter(0),
        device_name: "hba0".into(),
        ways: vec![way],
        is_kernel: false,
        engine: EngineConfig { write_unit: Some(Bytes::new(64)), ..EngineConfig::default() },
        engines: 1,
        costs: CopyCosts {
            overhead: Span::from_us(5),
            call: Span::ZERO,
            completion: Span::from_us(1),
            staging: None,
        },
        sizes: vec![Bytes::new(64_000)],
        copies: None,
        streams: 1,
        queued: false,
    });
    let run = measure(Attachment::Slots(Width::X8), vec![Box::new(copies)]);
    let flow = &run.fabric.observers().flows()[0];
    let copies = flow.operation_latencies().expect("copies are operations").summary();
    let mean_us = copies.mean_ns / 1e3;
    // 1,000 TLPs of 84 B; the last needs 0.1 us more to be checked at the root port.
    let expected = 5.0 + 1000.0 * 84.0 / 2000.0 + 0.1 + 1.0;
    assert!((mean_us / expected - 1.0).abs() < 0.005, "{mean_us} us, {expected}");
    // Each of them is a request; those of a copy that has not ended are there, too.
    let requests = flow.payload().get() / 64;
    assert_eq!(flow.operations(), requests);
    assert!((1000 * copies.count).abs_diff(requests) <= 1000, "{} copies, {requests} TLPs", copies.count);
}
