//! A drive behind a network, on links of plain arithmetic: what the network and the target add, step by step.

use super::tests::{FAST, host, job};
use super::*;
use crate::bench::Bench;
use crate::device::nvme::SsdConfig;
use crate::device::nvme::tests::config as ssd;
use crate::device::rdma::{NicPort, RdmaLinkConfig, RdmaNetworkConfig, RdmaNicConfig};
use crate::host::{NvmeTargetConfig, VerbsHostConfig};
use crate::load::fio::FioConfig;
use lanewise_fabric::workload::DeviceId;
use lanewise_network::NetworkWire;
use lanewise_units::{Bytes, Rate, Span};

/// One way over a link of the ports, and over the wire, in ns.
const LINK: f64 = 500.0;
const WIRE: f64 = 1_000.0;

fn nic(index: usize) -> RdmaNicConfig {
    RdmaNicConfig {
        name: format!("nic{index}"),
        device: DeviceId(index as u32 + 1),
        ports: 1,
        doorbell: Bytes::new(8),
        work_request: Bytes::new(64),
        push_max: Bytes::new(256),
        push_without_data: true,
        inline_max: Bytes::ZERO,
        completion_entry: Bytes::new(64),
        queue_pair_interval: Span::ZERO,
        queue_pair_read_bandwidth: None,
        message_interval: Span::ZERO,
        send_latency: Span::from_ns(100),
        receive_latency: Span::from_ns(200),
        packet_gap: Span::ZERO,
        send_buffer: Bytes::from_kib(256),
        receive_buffer: Bytes::from_kib(256),
        send_bandwidth: None,
        receive_bandwidth: None,
        shared_bandwidth: None,
        outstanding_reads: 16,
        registration_time: Span::from_ns(600),
    }
}

fn network() -> RdmaNetworkConfig {
    let link = RdmaLinkConfig {
        name: "wire".into(),
        ends: [NicPort { nic: 0, port: 0 }, NicPort { nic: 1, port: 0 }],
        wire: NetworkWire::Roce { rate: Rate::from_bytes_per_second(12_500_000_000) },
        mtu: Bytes::from_kib(4),
        latency: Span::from_ns(WIRE as u64),
    };
    RdmaNetworkConfig { nics: vec![nic(0), nic(1)], links: vec![link], ..RdmaNetworkConfig::default() }
}

fn over_network(fio: FioConfig, software: NvmeTargetConfig) -> NvmeConfig {
    let driver = VerbsHostConfig {
        post_cost: Span::from_ns(60),
        doorbell_cost: Span::ZERO,
        poll_latency: Span::from_ns(80),
        poll_cost: Span::from_ns(30),
        receive_cost: Span::from_ns(30),
    };
    let fabrics = FabricsConfig {
        ports: [NicPort { nic: 0, port: 0 }, NicPort { nic: 1, port: 0 }],
        drivers: [driver.clone(), driver],
        target: 1,
        software,
        staging: Staging::HostMemory,
    };
    NvmeConfig {
        hosts: vec![host(), host()],
        ssds: vec![SsdConfig { host: 1, ..ssd() }],
        paths: vec![PathConfig { ssd: 0, host: 1 }],
        groups: vec![GroupConfig { fio, host: 0, memory: DataMemory::Host, fabrics: Some(fabrics) }],
        network: network(),
        moves: Vec::new(),
    }
}

fn target() -> NvmeTargetConfig {
    NvmeTargetConfig {
        cores: 2,
        polls: false,
        core_speed: 100,
        command_cost: Span::from_us(4),
        page_cost: Span::from_ns(50),
        response_cost: Span::from_us(2),
        in_capsule: Bytes::from_kib(8),
    }
}

/// Operations and mean latency of a job over the network, or of the same job where the drive is.
fn run(fio: FioConfig, software: Option<NvmeTargetConfig>, time: Span) -> (u64, f64) {
    let mut bench = Bench::new(Rate::from_bytes_per_second(FAST), Span::from_ns(LINK as u64));
    let direction = if fio.pattern.read_percent == 100 { "read" } else { "write" };
    let mut config = over_network(fio, software.clone().unwrap_or_else(target));
    if software.is_none() {
        (config.groups[0].fabrics, config.groups[0].host) = (None, 1);
    }
    let mut workload = NvmeWorkload::new(config);
    bench.run(&mut workload, time);
    bench.operations("job", direction)
}

fn added(block: Bytes, read_percent: u32, software: NvmeTargetConfig) -> f64 {
    let time = Span::from_ms(20);
    let attached = run(job(block, 1, read_percent), None, time).1;
    run(job(block, 1, read_percent), Some(software), time).1 - attached
}

/// What each I/O pays for a capsule each way, its data aside: post and store, doorbell, fetch of the payload, adapters,
/// wire, placement and its completion entry. A read over a link of the ports takes its latency once.
const CAPSULE: f64 = 40.0 + LINK + 100.0 + LINK + WIRE + 200.0 + LINK + 80.0;

/// Software besides the drive's own: posting and polling, the target's costs, and the initiator's stack, which the
/// target runs again; the adapter's completion wakes a core of the target.
const SOFTWARE: f64 = 60.0 + 30.0 + 700.0 + 4_000.0 + 2_000.0 + 60.0 + 30.0 + 1_000.0 + 700.0 + 800.0;

/// What data outside its capsule costs the initiator: its core and its adapter register the memory.
const REGISTRATION: f64 = 300.0 + 600.0;

/// What 4 KiB of it cost the target: a page.
const A_PAGE: f64 = 50.0;

#[test]
fn a_write_in_its_capsule_adds_two_messages_and_the_software() {
    let latency = added(Bytes::from_kib(4), 0, target());
    // 4 KiB at 16 GB/s on two links and at 12.5 GB/s on the wire; headers and entries some tens of ns more.
    let data = 2.0 * 4096.0 / 16.0 + 4096.0 / 12.5;
    let expected = 2.0 * CAPSULE + SOFTWARE + data;
    assert!((latency - expected).abs() < 100.0, "{latency} ns, {expected} expected");
}

#[test]
fn a_read_adds_its_data_on_the_way_back() {
    let latency = added(Bytes::from_kib(4), 100, target());
    // The data's own fetch runs beside the response's, which follows it on the wire; one more request is posted.
    let data = 4096.0 / 16.0 + 4096.0 / 12.5 + 4096.0 / 16.0;
    let expected = 2.0 * CAPSULE + SOFTWARE + REGISTRATION + A_PAGE + 60.0 + data;
    assert!((latency - expected).abs() < 300.0, "{latency} ns, {expected} expected");
}

#[test]
fn a_write_that_does_not_fit_its_capsule_is_read_by_the_target() {
    let fits = added(Bytes::from_kib(4), 0, target());
    let fetched =
        added(Bytes::from_kib(4), 0, NvmeTargetConfig { in_capsule: Bytes::from_kib(2), ..target() });
    // Post and poll at the target, which wakes once more; request and answer over the wire, and the fetch of the data
    // between them.
    let wire = LINK + 100.0 + WIRE + 200.0 + LINK + WIRE + 200.0 + LINK;
    let round = REGISTRATION + A_PAGE + 60.0 + 40.0 + wire + 80.0 + 700.0 + 30.0;
    // Headers and entries, and the capsule's own fetch and placement, which were the data's.
    assert!((fetched - fits - round).abs() < 150.0, "{} ns, about {round} expected", fetched - fits);
}

#[test]
fn a_polling_target_is_not_interrupted() {
    let wakes = added(Bytes::from_kib(4), 0, target());
    let polls = added(Bytes::from_kib(4), 0, NvmeTargetConfig { polls: true, ..target() });
    // The adapter's interrupt and the drive's, which takes a write of its own behind the completion.
    let saved = wakes - polls;
    assert!((1_400.0..1_450.0).contains(&saved), "{saved} ns");
}

#[test]
fn slower_cores_of_the_target_take_longer_for_its_own_software() {
    let reference = added(Bytes::from_kib(4), 100, target());
    let slow = added(Bytes::from_kib(4), 100, NvmeTargetConfig { core_speed: 80, ..target() });
    let expected = (4_000.0 + A_PAGE + 2_000.0) * (1.0 / 0.8 - 1.0);
    assert!((slow - reference - expected).abs() < 10.0, "{} ns more", slow - reference);
}

#[test]
fn the_target_takes_pages_for_data_that_no_capsule_brings() {
    let dear = |page_cost| NvmeTargetConfig { page_cost: Span::from_ns(page_cost), ..target() };
    let more = |block, reads| added(block, reads, dear(200)) - added(block, reads, dear(0));
    for (kib, reads, pages) in [(4, 100, 1.0), (128, 100, 32.0), (128, 0, 32.0), (8, 0, 0.0)] {
        let (paid, expected) = (more(Bytes::from_kib(kib), reads), pages * 200.0);
        assert!((paid - expected).abs() < 10.0 + 0.01 * expected, "{kib} KiB, {reads} % reads: {paid} ns");
    }
}

#[test]
fn responses_wait_behind_reads_that_may_not_go_yet() {
    let done = |outstanding| {
        let fio = job(Bytes::from_kib(128), 8, 0);
        let mut bench = Bench::new(Rate::from_bytes_per_second(FAST), Span::from_ns(LINK as u64));
        let mut config = over_network(fio, target());
        config.network.nics[1].outstanding_reads = outstanding;
        bench.run(&mut NvmeWorkload::new(config), Span::from_us(90));
        bench.operations("job", "write").0
    };
    // Each read takes 10.5 us of wire. With one at a time the eighth request goes after 90 us, and the response of the
    // first write was posted behind it.
    assert_eq!(done(8), 1, "the drive has taken the first");
    assert_eq!(done(1), 0, "all of them wait");
}

#[test]
fn the_cores_of_the_target_limit_small_ios() {
    let jobs = FioConfig { jobs: 4, ..job(Bytes::from_kib(4), 32, 100) };
    let drive_time = Span::from_ms(4);
    let done = run(jobs, Some(target()), drive_time).0 as f64;
    // Two cores; 30 + 4,000 + 50 + 1,000 + 800 + 2,000 + 120 ns each, and interrupts that tell of several.
    let each = 2.0 * drive_time.as_ns() / done;
    assert!((8_000.0..=8_800.0).contains(&each), "{each} ns");
}

#[test]
fn an_adapter_registers_one_buffer_after_another() {
    let jobs = FioConfig { jobs: 2, ..job(Bytes::from_kib(4), 32, 100) };
    let mut bench = Bench::new(Rate::from_bytes_per_second(FAST), Span::from_ns(LINK as u64));
    let mut config = over_network(jobs, target());
    config.network.nics[0].registration_time = Span::from_us(20);
    bench.run(&mut NvmeWorkload::new(config), Span::from_ms(4));
    // Every 20 us one of either connection, where the two cores of the target could serve one every 4 us.
    let done = bench.operations("job", "read").0;
    assert!((190..=200).contains(&done), "{done} reads");
}

#[test]
fn large_reads_run_at_the_rate_of_the_drive() {
    let (time, block) = (Span::from_ms(4), Bytes::from_kib(128));
    let done = run(job(block, 32, 100), Some(target()), time).0;
    let rate = (done * block.get()) as f64 / time.as_seconds() / 1e9;
    assert!((4.8..=5.0).contains(&rate), "{rate} GB/s");
}
