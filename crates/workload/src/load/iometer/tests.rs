//! The whole subsystem on links of plain arithmetic.

use super::*;
use crate::bench::Bench;
use crate::device::hba::{DriveConfig, DrivePlacement, HbaConfig};
use crate::host::HostSoftwareConfig;
use lanewise_fabric::workload::{DeviceId, Metric};
use lanewise_network::WireKind;
use lanewise_units::{Bytes, Rate, Span, Time};

fn mb_per_s(rate: u64) -> Rate {
    Rate::from_bytes_per_second(rate * 1_000_000)
}

fn drive(hba: usize, port: usize) -> DrivePlacement {
    let config = DriveConfig {
        capacity: Bytes::new(73_000_000_000),
        read_rate: mb_per_s(100),
        write_rate: mb_per_s(80),
        read_overhead: Span::from_us(50),
        write_overhead: Span::from_us(100),
        overhead_variation: Span::ZERO,
        turnaround: Span::from_us(1000),
        positioning: Span::from_us(200),
        positioning_variation: Span::ZERO,
        buffer: Bytes::from_kib(8192),
        read_ahead: Bytes::from_kib(512),
        write_burst: Bytes::from_kib(64),
        write_cache: true,
        streams: 16,
        cache_window: Bytes::ZERO,
    };
    DrivePlacement { name: format!("disk{hba}.{port}"), hba, port, config }
}

fn hba(index: u32) -> HbaConfig {
    HbaConfig {
        name: format!("hba{index}"),
        device: DeviceId(index),
        wire: WireKind::Sas3g,
        ports: 8,
        doorbell: Bytes::new(4),
        command: Bytes::new(128),
        scatter_gather_inline: 4,
        scatter_gather_entry: Bytes::new(16),
        status: Bytes::new(8),
        command_time: Span::from_us(2),
        read_buffer: Bytes::from_kib(64),
        write_buffer: Bytes::from_kib(64),
        read_request: Bytes::from_kib(2),
        internal_read_bandwidth: None,
        internal_write_bandwidth: None,
        internal_bandwidth: None,
        interrupt_completions: 1,
        interrupt_delay: Span::ZERO,
    }
}

fn group(name: &str, targets: std::ops::Range<usize>, access: Vec<AccessLine>) -> IometerConfig {
    IometerConfig {
        name: name.into(),
        managers: 1,
        workers: 4.min(targets.len() as u32),
        targets: targets.collect(),
        assignment: TargetAssignment::Split,
        outstanding: 1,
        access,
    }
}

/// Two adapters with so many drives each.
fn rig(drives: usize, groups: Vec<IometerConfig>) -> StorageConfig {
    StorageConfig {
        name: "sas".into(),
        host: HostSoftwareConfig {
            device: DeviceId(0),
            cores: 4,
            worker_cost: Span::from_us(2),
            submit_cost: Span::from_us(8),
            interrupt_cost: Span::from_us(4),
            completion_cost: Span::from_us(6),
        },
        hbas: vec![hba(0), hba(1)],
        drives: (0..2).flat_map(|hba| (0..drives).map(move |port| drive(hba, port))).collect(),
        groups,
    }
}

fn reads(size: Bytes) -> Vec<AccessLine> {
    vec![AccessLine::sequential(size, 100, 100)]
}

fn writes(size: Bytes) -> Vec<AccessLine> {
    vec![AccessLine::sequential(size, 100, 0)]
}

/// Runs for 100 ms unmeasured, in which buffers fill, and then measures 400 ms.
fn run(config: StorageConfig, link: Rate) -> (Bench, StorageWorkload) {
    let mut bench = Bench::new(link, Span::from_ns(500));
    let mut storage = StorageWorkload::new(config);
    bench.run(&mut storage, Span::from_ms(100));
    use lanewise_fabric::workload::Workload;
    storage.start_measuring(bench.now);
    bench.go_on(&mut storage, Span::from_ms(400));
    (bench, storage)
}

fn report(storage: &StorageWorkload) -> Vec<Metric> {
    use lanewise_fabric::workload::Workload;
    storage.report((Time::ZERO + Span::from_ms(100), Time::ZERO + Span::from_ms(500)))
}

fn metric(storage: &StorageWorkload, name: &str) -> f64 {
    let metrics = report(storage);
    metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no metric {name}")).value
}

/// Decimal MB/s of IOmeter's MB.
fn decimal(mib: f64) -> f64 {
    mib * 1.048576
}

#[track_caller]
fn assert_near(found: f64, expected: f64, percent: f64) {
    let off = (found / expected - 1.0) * 100.0;
    assert!(off.abs() <= percent, "{found} is {off:.2} % off {expected}");
}

#[test]
fn managers_workers_and_their_disks_add_up() {
    let on_two = IometerConfig { managers: 2, workers: 4, ..group("load", 0..8, reads(Bytes::from_kib(64))) };
    let (_, storage) = run(rig(8, vec![on_two]), mb_per_s(2000));
    let sum = |names: &[String]| {
        names.iter().map(|name| metric(&storage, &format!("{name}: Total I/Os per Second"))).sum::<f64>()
    };
    let all = metric(&storage, "Total I/Os per Second");
    let managers = ["manager 1", "manager 2"].map(str::to_owned);
    assert_near(sum(&managers), all, 1e-9);
    let workers: Vec<String> = (1..=4).map(|number| format!("load worker {number}")).collect();
    assert_near(sum(&workers), all, 1e-9);
    assert_near(sum(&workers[..2]), sum(&managers[..1]), 1e-9);
    // Targets are dealt to workers in turn: the second has the second and the sixth.
    let drives: Vec<String> = report(&storage)
        .into_iter()
        .filter_map(|metric| Some(metric.name.strip_suffix(": Total I/Os per Second")?.to_owned()))
        .filter(|name| name.starts_with("load worker 2 "))
        .collect();
    assert_eq!(drives.len(), 2);
    assert_near(sum(&drives), sum(&workers[1..2]), 1e-9);
}

#[test]
fn one_drive_reads_at_its_rate() {
    let (_, storage) = run(rig(1, vec![group("read", 0..1, reads(Bytes::from_kib(310)))]), mb_per_s(2000));
    assert_near(decimal(metric(&storage, "Total MBs per Second")), 100.0, 2.0);
    assert_eq!(metric(&storage, "Write I/Os per Second"), 0.0);
}

#[test]
fn one_drive_writes_at_its_rate_with_and_without_its_cache() {
    let size = Bytes::from_kib(2048);
    let cached = rig(1, vec![group("write", 0..1, writes(size))]);
    let mut uncached = cached.clone();
    for drive in &mut uncached.drives {
        drive.config.write_cache = false;
    }
    let (_, storage) = run(cached, mb_per_s(2000));
    assert_near(decimal(metric(&storage, "Total MBs per Second")), 80.0, 4.0);
    let media = size.get() as f64 / 80.0 + 100.0;
    let (bench, _) = run(uncached, mb_per_s(2000));
    let (_, latency_ns) = bench.operations("write", "write");
    assert!(latency_ns / 1e3 > media, "{latency_ns} ns is more than {media} us of media and overhead");
    assert_near(latency_ns / 1e3, media, 2.0);
}

#[test]
fn enough_drives_saturate_the_link() {
    let (_, storage) = run(rig(8, vec![group("read", 0..8, reads(Bytes::from_kib(310)))]), mb_per_s(600));
    // Status and interrupts share the link with the data: 12 B in 310 KiB.
    assert_near(decimal(metric(&storage, "Total MBs per Second")), 600.0, 0.5);
}

#[test]
fn the_wire_is_a_limit_of_its_own() {
    let mut config = rig(4, vec![group("read", 0..4, reads(Bytes::from_kib(310)))]);
    config.hbas[0].wire = WireKind::FibreChannel4g;
    for drive in &mut config.drives {
        drive.port = 0;
        drive.config.read_rate = mb_per_s(200);
    }
    let (_, storage) = run(config, mb_per_s(2000));
    assert_near(decimal(metric(&storage, "Total MBs per Second")), 412.9, 1.0);
}

#[test]
fn the_internal_path_is_a_limit_of_its_own() {
    let mut config = rig(8, vec![group("read", 0..8, reads(Bytes::from_kib(310)))]);
    config.hbas[0].internal_read_bandwidth = Some(mb_per_s(500));
    let (_, storage) = run(config, mb_per_s(2000));
    assert_near(decimal(metric(&storage, "Total MBs per Second")), 500.0, 0.5);
}

#[test]
fn both_directions_share_the_internal_path() {
    let half = Bytes::from_kib(64);
    let mix = vec![AccessLine::sequential(half, 100, 50)];
    let mut config = rig(8, vec![IometerConfig { outstanding: 8, ..group("mix", 0..8, mix) }]);
    for drive in &mut config.drives {
        drive.config.turnaround = Span::ZERO;
    }
    config.hbas[0].internal_bandwidth = Some(mb_per_s(300));
    let (_, storage) = run(config, mb_per_s(2000));
    assert_near(decimal(metric(&storage, "Total MBs per Second")), 300.0, 1.0);
    assert_near(metric(&storage, "Read I/Os per Second"), metric(&storage, "Write I/Os per Second"), 10.0);
}

#[test]
fn adapters_serve_different_groups_side_by_side() {
    let groups = vec![
        group("reads", 0..8, reads(Bytes::from_kib(310))),
        group("writes", 8..16, writes(Bytes::from_kib(2048))),
    ];
    let (bench, storage) = run(rig(8, groups), mb_per_s(400));
    assert_near(decimal(metric(&storage, "reads: Read MBs per Second")), 400.0, 1.0);
    assert!(metric(&storage, "writes: Write MBs per Second") > 330.0, "beside the control traffic");
    assert_eq!(metric(&storage, "reads: Write MBs per Second"), 0.0);
    assert_near(
        metric(&storage, "Total MBs per Second"),
        metric(&storage, "reads: Total MBs per Second") + metric(&storage, "writes: Total MBs per Second"),
        0.001,
    );
    assert_eq!(bench.payload("reads", "write") + bench.payload("writes", "read"), 0);
}

#[test]
fn bytes_moved_are_bytes_asked_for() {
    let mix = vec![
        AccessLine::sequential(Bytes::from_kib(310), 67, 100),
        AccessLine::sequential(Bytes::from_kib(64), 33, 0),
    ];
    let (bench, storage) = run(rig(8, vec![group("mix", 0..16, mix)]), mb_per_s(800));
    for (direction, size) in [("read", 310 * 1024), ("write", 64 * 1024)] {
        let (operations, _) = bench.operations("mix", direction);
        let (payload, finished) = (bench.payload("mix", direction), operations * size);
        assert!(operations > 100);
        assert!(payload >= finished && payload <= finished + 16 * size, "{payload} B for {finished} B");
    }
    let commands = bench.payload("mix", "control");
    let (reads, writes) = (bench.operations("mix", "read").0, bench.operations("mix", "write").0);
    let each = |pages: u64| 128 + (pages - 4) * 16 + 8 + 4;
    let expected = reads * each(78) + writes * each(16);
    assert!(commands >= expected && commands <= expected + 16 * each(78), "{commands} B for {expected} B");
    drop(storage);
}

#[test]
fn in_flight_is_rate_times_latency() {
    let (bench, _) = run(rig(8, vec![group("read", 0..16, reads(Bytes::from_kib(310)))]), mb_per_s(500));
    let (operations, latency_ns) = bench.operations("read", "read");
    let in_flight = operations as f64 * latency_ns / 5e8;
    // The 16 still under way are in the count of neither.
    assert_near(in_flight, 16.0, 2.0);
}

#[test]
fn moderation_gathers_completions() {
    let mut config = rig(8, vec![group("read", 0..8, reads(Bytes::from_kib(4)))]);
    for hba in &mut config.hbas {
        hba.interrupt_completions = 4;
        hba.interrupt_delay = Span::from_us(200);
    }
    let (_, storage) = run(config.clone(), mb_per_s(2000));
    let ratio = metric(&storage, "Total I/Os per Second") / metric(&storage, "Interrupts per Second");
    assert!((2.0..=8.0).contains(&ratio), "I/Os for each interrupt: {ratio}");
    for hba in &mut config.hbas {
        hba.interrupt_delay = Span::ZERO;
    }
    let (_, storage) = run(config, mb_per_s(2000));
    let ratio = metric(&storage, "Total I/Os per Second") / metric(&storage, "Interrupts per Second");
    assert!((1.0..1.5).contains(&ratio), "only those that come while an interrupt is on its way: {ratio}");
}

#[test]
fn the_cpu_is_paid_for_every_operation() {
    let (_, storage) = run(rig(8, vec![group("read", 0..8, reads(Bytes::from_kib(4)))]), mb_per_s(2000));
    let ios = metric(&storage, "Total I/Os per Second");
    // 2 + 8 + 4 + 6 us for each I/O, over four cores.
    let expected = ios * 20e-6 / 4.0 * 100.0;
    assert_near(metric(&storage, "% CPU Utilization (total)"), expected, 0.5);
    assert_near(metric(&storage, "CPU Effectiveness"), ios / expected, 0.5);
}

#[test]
fn switching_directions_is_what_makes_the_mix_slow() {
    let lines = vec![
        AccessLine::sequential(Bytes::from_kib(310), 67, 100),
        AccessLine::sequential(Bytes::from_kib(64), 33, 0),
    ];
    let throughput = |turnaround| {
        let mut config = rig(8, vec![group("mix", 0..16, lines.clone())]);
        for drive in &mut config.drives {
            drive.config.turnaround = turnaround;
        }
        metric(&run(config, mb_per_s(2000)).1, "Total MBs per Second")
    };
    let (without, with) = (throughput(Span::ZERO), throughput(Span::from_us(2000)));
    // 2 x 0.67 x 0.33 changes of direction an I/O, each of 2 ms beside 2.6 ms of data and overhead.
    assert!(with < 0.8 * without, "{with} beside {without}");
}

/// The closed loop has one I/O a drive: while more drives read than the link can carry at their full rate, each
/// of them waits, and on the narrower link that happens more often.
#[test]
fn the_mix_gains_from_a_wider_link_although_neither_is_full() {
    let lines = vec![
        AccessLine::sequential(Bytes::from_kib(310), 67, 100),
        AccessLine::sequential(Bytes::from_kib(64), 33, 0),
    ];
    let throughput = |link| {
        let mut config = rig(8, vec![group("mix", 0..16, lines.clone())]);
        for drive in &mut config.drives {
            drive.config.read_rate = mb_per_s(250);
            drive.config.read_ahead = Bytes::ZERO;
            drive.config.turnaround = Span::from_us(2200);
        }
        decimal(metric(&run(config, link).1, "Total MBs per Second"))
    };
    let (narrow, wide) = (throughput(mb_per_s(862)), throughput(mb_per_s(1725)));
    assert!(narrow < 0.95 * 2.0 * 862.0, "{narrow} MB/s is not all there is");
    assert!(wide > 1.05 * narrow, "{wide} beside {narrow} MB/s");
}

#[test]
fn the_same_run_twice_is_the_same_run() {
    let mix = vec![AccessLine { random_percent: 30, ..AccessLine::sequential(Bytes::from_kib(64), 100, 50) }];
    let once = || {
        let mut config = rig(4, vec![group("mix", 0..8, mix.clone())]);
        for drive in &mut config.drives {
            drive.config.positioning_variation = Span::from_us(4000);
        }
        let (bench, storage) = run(config, mb_per_s(500));
        let values: Vec<f64> = report(&storage).iter().map(|metric| metric.value).collect();
        (bench.handled, values)
    };
    assert_eq!(once(), once());
}

#[test]
fn a_frame_costs_few_events() {
    let (bench, _) = run(rig(8, vec![group("read", 0..8, reads(Bytes::from_kib(310)))]), mb_per_s(2000));
    let frames = bench.payload("read", "read") / 1024;
    let each = bench.handled as f64 / frames as f64;
    assert!(each < 3.2, "media, wire and DMA for each frame: {each}");
}

#[test]
#[should_panic(expected = "no such drive")]
fn targets_must_exist() {
    StorageWorkload::new(rig(1, vec![group("read", 0..3, reads(Bytes::from_kib(4)))]));
}
