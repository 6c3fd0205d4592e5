//! Data of GPUs under fio and gdsio, on links of plain arithmetic.

use super::tests::{FAST, host, job};
use super::*;
use crate::bench::Bench;
use crate::device::gpu::CopyCosts;
use crate::device::nvme::SsdConfig;
use crate::device::nvme::tests::config as ssd;
use crate::device::rdma::RdmaNetworkConfig;
use lanewise_fabric::config::EngineConfig;
use lanewise_fabric::workload::{DeviceId, Workload};
use lanewise_units::{Bytes, Rate, Span, Time};

const COSTS: CopyCosts =
    CopyCosts { overhead: Span::from_us(5), call: Span::ZERO, completion: Span::from_us(1), staging: None };

fn gpu(number: u32, costs: CopyCosts) -> GpuConfig {
    let (device, name) = (DeviceId(number), format!("gpu{number}"));
    GpuConfig { device, name, engine: EngineConfig::default(), engines: 1, costs }
}

fn copied(costs: CopyCosts) -> DataMemory {
    DataMemory::Copied(vec![gpu(1, costs)])
}

/// Synchronous I/Os of 64 KiB.
fn threads(jobs: u32, read_percent: u32) -> FioConfig {
    let engine = IoEngine::Synchronous;
    FioConfig { jobs, engine, size: Bytes::new(1 << 28), ..job(Bytes::from_kib(64), 1, read_percent) }
}

fn run(fio: FioConfig, memory: DataMemory) -> (Bench, NvmeWorkload) {
    let mut bench = Bench::new(Rate::from_bytes_per_second(FAST), Span::from_ns(500));
    let mut workload = NvmeWorkload::new(NvmeConfig {
        hosts: vec![host()],
        // Media that keep up with one thread: what a copy adds is not hidden behind them.
        ssds: vec![SsdConfig { write_rate: Rate::from_bytes_per_second(4 * FAST), ..ssd() }],
        paths: vec![PathConfig { ssd: 0, host: 0 }],
        groups: vec![GroupConfig { fio, host: 0, memory, fabrics: None }],
        network: RdmaNetworkConfig::default(),
        moves: Vec::new(),
    });
    bench.run(&mut workload, Span::from_ms(20));
    (bench, workload)
}

/// What a copy adds to an I/O: 5 us, 500 ns of wire, 64 KiB at 16 GB/s, 1 us.
const COPY_NS: f64 = 5_000.0 + 500.0 + 4_096.0 + 1_000.0;

#[test]
fn a_read_ends_after_its_copy_and_a_write_begins_after_it() {
    for (read_percent, way, copies) in [(100, "read", "host-to-device"), (0, "write", "device-to-host")] {
        let (plain, _) = run(threads(1, read_percent), DataMemory::Host);
        let (bench, workload) = run(threads(1, read_percent), copied(COSTS));
        let (done, latency) = bench.operations("job", way);
        let more = latency - plain.operations("job", way).1;
        assert!((more - COPY_NS).abs() < 100.0, "{way}: {more} ns");
        let moved = bench.payload_of("job", "gpu1", copies) / 65_536;
        assert!((done..=done + 1).contains(&moved), "{way}: {moved} copies of {done} I/Os");
        let metrics = workload.report((Time::ZERO, Time::ZERO + Span::from_ms(20)));
        let mean = metrics.iter().find(|metric| metric.name == format!("job.{way}.clat_ns.mean")).unwrap();
        assert!((mean.value - latency).abs() < 1.0, "the call returns when the copy has ended");
    }
}

/// Eight threads hide what a copy costs each of them, and the drive's 5 GB/s are the limit.
#[test]
fn threads_hide_each_others_copies() {
    let slow = CopyCosts { overhead: Span::from_us(40), ..COSTS };
    let (bench, _) = run(threads(8, 100), copied(slow));
    let rate = bench.operations("job", "read").0 as f64 * 65_536.0 / 20e6;
    assert!((4.7..=5.0).contains(&rate), "{rate} GB/s");
}

#[test]
fn clones_use_gpus_in_turn() {
    let (bench, _) = run(threads(4, 100), DataMemory::Copied(vec![gpu(1, COSTS), gpu(2, COSTS)]));
    let of = |device| bench.payload_of("job", device, "host-to-device") as f64;
    assert!(of("gpu1") > 0.0 && (of("gpu1") / of("gpu2") - 1.0).abs() < 0.02);

    let devices = DataMemory::Devices(vec![DeviceId(1), DeviceId(2)]);
    let used: Vec<Option<u32>> = (0..4).map(|clone| devices.of_clone(clone).map(|device| device.0)).collect();
    assert_eq!(used, [Some(1), Some(2), Some(1), Some(2)]);
}

#[test]
fn gdsio_reports_all_threads_of_a_workload_as_one() {
    let fio = FioConfig { tool: JobTool::Gdsio, same_group: true, ..threads(4, 100) };
    let (bench, workload) = run(fio, copied(COSTS));
    let (done, latency) = bench.operations("job", "read");
    let [report] = &workload.reports((Time::ZERO, Time::ZERO + Span::from_ms(20)))[..] else {
        panic!("no report of fio's beside it")
    };
    let value = |name: &str| report.iter().find(|metric| metric.name == name).unwrap().value;
    assert_eq!(value("ops"), done as f64);
    assert!((value("Avg_Latency (usecs)") * 1e3 - latency).abs() < 1.0);
    let gib = done as f64 * 65_536.0 / f64::from(1 << 30) / 20e-3;
    assert!((value("Throughput (GiB/sec)") / gib - 1.0).abs() < 1e-9);
}
