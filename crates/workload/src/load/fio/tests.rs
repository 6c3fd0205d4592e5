//! The mechanisms of a drive and its host, on links of plain arithmetic.

use super::{DataMemory, GroupConfig, NvmeConfig, NvmeWorkload, PathConfig};
use crate::bench::Bench;
use crate::device::nvme::SsdConfig;
use crate::device::nvme::tests::config as ssd;
use crate::device::rdma::RdmaNetworkConfig;
use crate::host::NvmeHostConfig;
use crate::load::fio::{BlockSizes, Blocks, FioConfig, IoEngine, JobTool, Pattern, Thinking};
use lanewise_fabric::workload::{DeviceId, Workload};
use lanewise_units::Time;
use lanewise_units::{Bytes, Rate, Span};

pub(super) fn host() -> NvmeHostConfig {
    NvmeHostConfig {
        device: DeviceId(0),
        name: "server".into(),
        cores: 8,
        worker_cost: Span::from_ns(500),
        submit_cost: Span::from_ns(1_000),
        aio_cost: Span::from_ns(400),
        user_driver_cost: Span::from_ns(60),
        interrupt_cost: Span::from_ns(700),
        completion_cost: Span::from_ns(800),
        register_cost: Span::from_ns(300),
    }
}

/// Sizes of the directions that a job with so many reads has.
fn blocks(block: Bytes, read_percent: u32) -> Blocks {
    let sizes = |used: bool| used.then_some(BlockSizes::One(block));
    Blocks { reads: sizes(read_percent > 0), writes: sizes(read_percent < 100) }
}

pub(super) fn job(block: Bytes, depth: u32, read_percent: u32) -> FioConfig {
    FioConfig {
        tool: JobTool::Fio,
        name: "job".into(),
        pattern: Pattern { read_percent, random: false },
        blocks: blocks(block, read_percent),
        depth,
        jobs: 1,
        engine: IoEngine::Asynchronous,
        polled: false,
        files: vec![0],
        size: Bytes::new(1 << 30),
        time_based: true,
        runtime: None,
        pace: None,
        thinking: None,
        group_reporting: true,
        same_group: false,
    }
}

fn jobs(ssd: SsdConfig, fio: FioConfig) -> NvmeWorkload {
    NvmeWorkload::new(NvmeConfig {
        hosts: vec![host()],
        ssds: vec![ssd],
        paths: vec![PathConfig { ssd: 0, host: 0 }],
        groups: vec![GroupConfig { fio, host: 0, memory: DataMemory::Host, fabrics: None }],
        network: RdmaNetworkConfig::default(),
        moves: Vec::new(),
    })
}

fn run(ssd: SsdConfig, fio: FioConfig, rate: u64, time: Span) -> (Bench, NvmeWorkload) {
    let mut bench = Bench::new(Rate::from_bytes_per_second(rate), Span::from_ns(500));
    let mut workload = jobs(ssd, fio);
    bench.run(&mut workload, time);
    (bench, workload)
}

pub(super) const FAST: u64 = 16_000_000_000;

#[test]
fn large_reads_run_at_the_rate_of_the_controller() {
    let time = Span::from_ms(4);
    let (bench, _) = run(ssd(), job(Bytes::from_kib(128), 32, 100), FAST, time);
    let rate = bench.payload("job", "read") as f64 / time.as_seconds() / 1e9;
    assert!((4.9..=5.0).contains(&rate), "{rate} GB/s");
}

#[test]
fn large_writes_run_at_the_rate_of_the_media() {
    let time = Span::from_ms(4);
    let (bench, _) = run(ssd(), job(Bytes::from_kib(128), 32, 0), FAST, time);
    let rate = bench.payload("job", "write") as f64 / time.as_seconds() / 1e9;
    assert!((3.9..=4.02).contains(&rate), "{rate} GB/s");
}

#[test]
fn a_narrow_link_limits_what_the_controller_can_do() {
    let time = Span::from_ms(4);
    let (bench, _) = run(ssd(), job(Bytes::from_kib(128), 32, 100), 2_000_000_000, time);
    let rate = bench.payload("job", "read") as f64 / time.as_seconds() / 1e9;
    assert!((1.95..=2.0).contains(&rate), "{rate} GB/s");
}

#[test]
fn one_small_read_at_a_time_is_the_sum_of_its_steps() {
    let (bench, workload) = run(ssd(), job(Bytes::from_kib(4), 1, 100), FAST, Span::from_ms(4));
    let (done, mean) = bench.operations("job", "read");
    // Submission 1,000; doorbell 500; command 500 + 4; processors 800; hit 5,000; data 256, then completion, interrupt
    // and 500 of wire; interrupt 700 and completion 800. The data path's rate costs one alone nothing.
    let expected = 1_000 + 500 + 504 + 800 + 5_000 + 256 + 2 + 500 + 700 + 800;
    let first = 55_000.0 / done as f64;
    assert!((mean - f64::from(expected) - first).abs() < 30.0, "{mean} ns; the first read is from the media");
    assert!(done > 300);
    let metrics = workload.report((Time::ZERO, Time::ZERO + Span::from_ms(4)));
    let value = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap().value;
    assert_eq!(value("job.read.slat_ns.mean"), 1_000.0);
    assert!((value("job.read.lat_ns.mean") - mean).abs() < 1.0);
    assert_eq!(value("job.read.total_ios"), done as f64);
}

#[test]
fn scattered_reads_are_limited_by_the_dies() {
    let pattern = Pattern { read_percent: 100, random: true };
    let fio = FioConfig { pattern, size: Bytes::new(1 << 38), ..job(Bytes::from_kib(4), 64, 100) };
    let time = Span::from_ms(20);
    let (bench, _) = run(ssd(), fio, FAST, time);
    let rate = bench.operations("job", "read").0 as f64 / time.as_seconds();
    assert!((60_000.0..=66_700.0).contains(&rate), "four dies of 60 us: {rate} IOPS");
}

/// Reads a second of 4 KiB in one place, at a depth that hides every latency, by eight threads.
fn small_reads(ssd: SsdConfig, rate: u64) -> f64 {
    let fio = FioConfig { jobs: 8, size: Bytes::from_kib(512), ..job(Bytes::from_kib(4), 32, 100) };
    let time = Span::from_ms(4);
    let (bench, workload) = run(ssd, fio, rate, time);
    let used = workload.resources(Time::ZERO + time);
    assert!(used.iter().all(|each| each.book.busy <= (time * u64::from(each.places)).into()), "{used:?}");
    bench.operations("job", "read").0 as f64 / time.as_seconds()
}

#[test]
fn the_slowest_station_is_the_rate_and_no_other_adds_to_it() {
    // Processors 2.0 M/s, data path 1.22 M/s, link 3.9 M/s.
    let path = small_reads(ssd(), FAST);
    assert!((path / 1.2207e6 - 1.0).abs() < 0.02, "5 GB/s in units of 4 KiB: {path}");
    let quick = SsdConfig { read_rate: Rate::from_bytes_per_second(14_000_000_000), ..ssd() };
    let processors = small_reads(quick.clone(), FAST);
    assert!((processors / 2e6 - 1.0).abs() < 0.02, "500 ns each: {processors}");
    let link = small_reads(quick, 4_000_000_000);
    assert!((link / 9.7e5 - 1.0).abs() < 0.02, "4 GB/s, with completions and interrupts: {link}");
}

#[test]
fn a_long_command_latency_costs_one_alone_and_no_throughput() {
    let slow = SsdConfig { command_latency: Span::from_us(20), ..ssd() };
    assert!((small_reads(slow, FAST) / small_reads(ssd(), FAST) - 1.0).abs() < 0.02);
}

#[test]
fn the_link_begins_before_the_whole_piece_has_crossed() {
    // One read of a piece of 16 KiB at a time: three units of 4 KiB at 5 GB/s follow the first, 819 ns apart, and the
    // link takes 256 ns for each in the meantime.
    let fio = FioConfig { size: Bytes::from_kib(64), ..job(Bytes::from_kib(16), 1, 100) };
    let (bench, _) = run(ssd(), fio.clone(), FAST, Span::from_ms(4));
    let small = FioConfig { blocks: blocks(Bytes::from_kib(4), 100), ..fio };
    let (other, _) = run(ssd(), small, FAST, Span::from_ms(4));
    let more = bench.operations("job", "read").1 - other.operations("job", "read").1;
    // The list of the other pages, 3 entries of 8 B, is a read of 501.5 ns more. The first read of all misses.
    assert!((more - (3.0 * 819.2 + 501.5)).abs() < 60.0, "{more} ns");
}

#[test]
fn scattered_writes_run_at_what_garbage_collection_leaves() {
    let pattern = Pattern { read_percent: 0, random: true };
    let fio = FioConfig { pattern, size: Bytes::new(1 << 38), jobs: 4, ..job(Bytes::from_kib(4), 16, 0) };
    let drive = SsdConfig { random_write_rate: Rate::from_bytes_per_second(1_000_000_000), ..ssd() };
    let time = Span::from_ms(20);
    let (bench, _) = run(drive, fio, FAST, time);
    let rate = bench.payload("job", "write") as f64 / time.as_seconds() / 1e9;
    assert!((0.99..=1.01).contains(&rate), "{rate} GB/s");
}

/// A drive that was written to before the run has no room for more than its media take, however large its buffer.
#[test]
fn a_buffer_that_is_full_of_earlier_writes_hides_nothing() {
    let rate = |preconditioned| {
        let pattern = Pattern { read_percent: 0, random: true };
        let fio = FioConfig { pattern, size: Bytes::new(1 << 38), jobs: 4, ..job(Bytes::from_kib(4), 16, 0) };
        let slow = Rate::from_bytes_per_second(500_000_000);
        let buffer = Bytes::from_kib(16 << 10);
        let drive = SsdConfig { random_write_rate: slow, buffer, preconditioned, ..ssd() };
        let time = Span::from_ms(10);
        run(drive, fio, FAST, time).0.payload("job", "write") as f64 / time.as_seconds() / 1e9
    };
    assert!(rate(false) > 1.5, "16 MiB last longer than 10 ms: {} GB/s", rate(false));
    assert!((rate(true) / 0.5 - 1.0).abs() < 0.1, "{} GB/s", rate(true));
}

#[test]
fn polling_saves_the_interrupt() {
    let interrupts = run(ssd(), job(Bytes::from_kib(4), 1, 0), FAST, Span::from_ms(2)).0;
    let fio = FioConfig { polled: true, ..job(Bytes::from_kib(4), 1, 0) };
    let polled = run(ssd(), fio, FAST, Span::from_ms(2)).0;
    let saved = interrupts.operations("job", "write").1 - polled.operations("job", "write").1;
    assert!((700.0..=701.0).contains(&saved), "the interrupt and its message: {saved} ns");
}

/// A driver in user space: no call, no interrupt, half of its time before the doorbell and half after the completion. One I/O at a time saves
/// what the kernel takes of it, and a drive that is faster than the core has as many I/Os as the core has time for.
#[test]
fn a_driver_in_user_space_takes_its_own_time_and_no_other() {
    let one = |engine, polled| {
        let fio = FioConfig { engine, polled, ..job(Bytes::from_kib(4), 1, 0) };
        run(ssd(), fio, FAST, Span::from_ms(2)).0.operations("job", "write").1
    };
    let saved = one(IoEngine::Asynchronous, true) - one(IoEngine::UserSpace, true);
    assert!((1739.0..=1741.0).contains(&saved), "1,000 and 800 ns less 60: {saved} ns");

    let drive = SsdConfig { command_time: Span::from_ns(1), sector_time: Span::ZERO, ..ssd() };
    let fio = FioConfig { engine: IoEngine::UserSpace, polled: true, ..job(Bytes::new(512), 64, 0) };
    let (bench, workload) = run(drive, fio, FAST, Span::from_ms(2));
    let each_ns = 2e6 / bench.operations("job", "write").0 as f64;
    let own_ns = host().worker_cost.as_ns() + 60.0;
    assert!((each_ns / own_ns - 1.0).abs() < 0.02, "{each_ns} ns for each I/O, {own_ns} of them the core's");
    let core = workload.resources(Time::ZERO + Span::from_ms(2));
    assert!(core.iter().any(|each| each.book.busy.as_ns() > 1.98e6), "a core is busy all the time");
}

/// On a link that is slower than the drive, what ends an I/O stands behind the data of those after it.
#[test]
fn no_io_is_over_before_its_data_is_in_memory() {
    let block = Bytes::from_kib(16);
    let slow = Rate::from_bytes_per_second(2_000_000_000);
    let (mut bench, mut workload) = (Bench::new(slow, Span::from_ns(500)), jobs(ssd(), job(block, 16, 100)));
    bench.run(&mut workload, Span::ZERO);
    for _ in 0..4_000 {
        bench.go_on(&mut workload, Span::from_us(1));
        let (done, arrived) = (bench.operations("job", "read").0, bench.payload("job", "read"));
        assert!(done * block.get() <= arrived, "{:?}: {done} over with {arrived} B here", bench.now);
    }
    let rate = bench.payload("job", "read") as f64 / 4e-3 / 1e9;
    assert!((1.99..=2.0).contains(&rate), "nothing but the link limits it: {rate} GB/s");
}

/// Each I/O rings twice: for its command, and for its completion.
#[test]
fn a_drive_is_told_how_far_its_completions_were_read_whoever_finds_them() {
    for polled in [false, true] {
        let fio = FioConfig { polled, ..job(Bytes::from_kib(4), 1, 100) };
        let (bench, _) = run(ssd(), fio, FAST, Span::from_ms(2));
        let done = bench.operations("job", "read").0;
        let under_way = bench.stores - 2 * done;
        assert!(done > 100 && under_way <= 2, "polled {polled}: {} stores for {done} I/Os", bench.stores);
    }
}

/// A page of a list holds 512 entries, the last of which leads to the next page if there is one.
#[test]
fn pages_of_a_list_are_read_one_after_another() {
    let lists = |mib: u64| {
        let (bench, _) = run(ssd(), job(Bytes::from_kib(mib << 10), 1, 100), FAST, Span::from_us(20));
        bench.reads
    };
    let bytes = |reads: &[(Time, Bytes)]| reads.iter().map(|read| read.1.get()).collect::<Vec<_>>();
    assert_eq!(bytes(&lists(2)), [64, 511 * 8]);
    let long = lists(8);
    assert_eq!(bytes(&long), [64, 4096, 4096, 4096, 4096, 3 * 8], "2,047 entries and 4 that lead on");
    for pair in long[1..].windows(2) {
        assert_eq!(pair[1].0 - pair[0].0, Span::from_ns(500 + 4096 / 16), "each when the last is here");
    }
}

#[test]
fn moderation_trades_latency_for_interrupts() {
    let moderated = SsdConfig { interrupt_completions: 8, interrupt_delay: Span::from_us(100), ..ssd() };
    let slow = run(moderated, job(Bytes::from_kib(4), 1, 100), FAST, Span::from_ms(4)).0;
    let quick = run(ssd(), job(Bytes::from_kib(4), 1, 100), FAST, Span::from_ms(4)).0;
    let added = slow.operations("job", "read").1 - quick.operations("job", "read").1;
    assert!((99_000.0..=102_000.0).contains(&added), "one I/O waits for the timer alone: {added} ns");
}

#[test]
fn the_cores_limit_small_ios() {
    let each = time_of_a_small_read(IoEngine::Asynchronous);
    assert!((2_300.0..=2_500.0).contains(&each), "500 + 1,000 + 800 on one core: {each} ns");
}

#[test]
fn rings_spare_a_core_the_calls_of_libaio() {
    let each = time_of_a_small_read(IoEngine::Ring);
    assert!((1_900.0..=2_100.0).contains(&each), "500 + 1,000 - 400 + 800 on one core: {each} ns");
}

/// What one core takes for a read of 4 KiB where it is the limit, in nanoseconds.
fn time_of_a_small_read(engine: IoEngine) -> f64 {
    let fio = FioConfig { engine, ..job(Bytes::from_kib(4), 64, 100) };
    let time = Span::from_ms(4);
    let drive = SsdConfig { command_time: Span::from_ns(10), ..ssd() };
    let (bench, _) = run(drive, fio, FAST, time);
    time.as_ns() / bench.operations("job", "read").0 as f64
}

#[test]
fn thinking_comes_on_top_of_each_io() {
    let time = Span::from_ms(4);
    for blocks in [1, 4] {
        let thinking = Some(Thinking { time: Span::from_us(20), blocks });
        let fio = FioConfig { thinking, ..job(Bytes::from_kib(4), 1, 0) };
        let (bench, _) = run(ssd(), fio, FAST, time);
        let (done, latency) = bench.operations("job", "write");
        // The thread's own 500 ns come before the time that is the latency.
        let round = f64::from(blocks) * (500.0 + latency) + 20_000.0;
        let expected = time.as_ns() / round * f64::from(blocks);
        assert!((done as f64 - expected).abs() <= f64::from(blocks), "{done} I/Os, {expected} expected");
    }
}

/// Its rates and its share of a core are of its own time, as fio's `runtime` is, however long others go on.
#[test]
fn a_job_that_ends_early_is_reported_over_its_own_time() {
    let fio = FioConfig { runtime: Some(Span::from_us(400)), ..job(Bytes::from_kib(4), 1, 100) };
    let (bench, workload) = run(ssd(), fio, FAST, Span::from_ms(4));
    let metrics = workload.report((Time::ZERO, Time::ZERO + Span::from_ms(4)));
    let value = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap().value;
    let (done, latency) = bench.operations("job", "read");
    // One after another, each after 500 ns of the thread; the last one began before 400 us and ended after.
    let took = done as f64 * (500.0 + latency) / 1e6;
    assert!((0.4..0.42).contains(&took), "{took} ms");
    assert!((value("job.read.runtime") - took).abs() < 1e-6, "{}", value("job.read.runtime"));
    assert!((value("job.read.iops") * took / 1e3 - done as f64).abs() < 1e-3);
    assert!((value("job.usr_cpu") - done as f64 * 0.5e-3 / took * 100.0).abs() < 1e-3);
    // A window that is over before the job is.
    let half = workload.report((Time::ZERO, Time::ZERO + Span::from_us(200)));
    assert_eq!(half.iter().find(|metric| metric.name == "job.read.runtime").unwrap().value, 0.2);
}

/// Buffers are for the largest block, whatever the last one was when a slot is opened.
#[test]
fn buffers_of_slots_that_come_later_lie_behind_all_others() {
    let [small, large] = [4, 64].map(Bytes::from_kib);
    let sizes = BlockSizes::Split(vec![(small, 99), (large, 1)]);
    let fio = FioConfig { blocks: Blocks { reads: Some(sizes), writes: None }, ..job(large, 4, 100) };
    let mut bench = Bench::new(Rate::from_bytes_per_second(FAST), Span::from_ns(500));
    let mut workload = jobs(ssd(), fio);
    bench.run(&mut workload, Span::from_ms(1));
    let mut deeper = workload.config.clone();
    deeper.groups[0].fio.depth = 8;
    let now = bench.now;
    workload.retune(&deeper, &mut crate::ports::Ports::of(&mut bench, now));
    let buffers: Vec<u64> = workload.slots.iter().map(|slot| slot.buffer).collect();
    assert_eq!(buffers.len(), 8);
    for pair in buffers.windows(2) {
        assert!(pair[1] - pair[0] >= large.get(), "{buffers:?}");
    }
}

#[test]
fn a_sized_job_ends() {
    let fio =
        FioConfig { size: Bytes::from_kib(256), time_based: false, ..job(Bytes::from_kib(128), 4, 100) };
    let (bench, _) = run(ssd(), fio, FAST, Span::from_ms(4));
    assert_eq!(bench.operations("job", "read").0, 2);
    assert_eq!(bench.payload("job", "read"), 256 * 1024);
}
