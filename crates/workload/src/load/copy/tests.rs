//! Copies on a link of plain arithmetic: what one costs, how streams share an engine, how pageable memory is staged.

use super::*;
use crate::bench::Bench;
use crate::device::gpu::Staging;
use lanewise_units::Rate;

const GB_PER_S: Rate = Rate::from_bytes_per_second(1_000_000_000);

const COSTS: CopyCosts =
    CopyCosts { overhead: Span::from_us(5), call: Span::ZERO, completion: Span::from_us(1), staging: None };

fn way(word: &'static str, direction: Direction) -> CopyWay {
    CopyWay { word, direction, target: Target::HostMemory }
}

fn config(ways: Vec<CopyWay>) -> CopyConfig {
    CopyConfig {
        name: "copy".into(),
        device: DeviceId(0),
        device_name: "gpu0".into(),
        ways,
        is_kernel: false,
        engine: EngineConfig::default(),
        engines: 1,
        costs: COSTS,
        sizes: vec![Bytes::new(100_000)],
        copies: None,
        streams: 1,
        queued: false,
    }
}

fn down() -> Vec<CopyWay> {
    vec![way("host-to-device", Direction::Read)]
}

/// What the instrument reports after so long, on a link of 1 GB/s with 500 ns each way.
fn report(config: CopyConfig, span: Span) -> Vec<(String, f64)> {
    let mut bench = Bench::new(GB_PER_S, Span::from_ns(500));
    let mut instrument = CopyWorkload::new(config);
    bench.run(&mut instrument, span);
    let metrics = instrument.report((Time::ZERO, bench.now));
    metrics.into_iter().map(|metric| (metric.name, metric.value)).collect()
}

fn value(report: &[(String, f64)], name: &str) -> f64 {
    report.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}: {report:?}")).1
}

#[test]
fn a_copy_costs_its_overhead_its_data_and_its_end() {
    let report = report(config(down()), Span::from_ms(10));
    // 5 us, 500 ns there, 100 us of data, 1 us.
    assert_eq!(value(&report, "host-to-device mean latency of a copy (us)"), 106.5);
    let rate = value(&report, "host-to-device (GB/s)");
    assert!((rate - 100.0 / 106.5).abs() < 1e-9, "{rate}");
}

#[test]
fn streams_hide_each_others_overhead() {
    let report = report(CopyConfig { streams: 2, ..config(down()) }, Span::from_ms(10));
    let rate = value(&report, "host-to-device (GB/s)");
    assert!(rate > 0.99 && rate <= 1.0 + 1e-9, "{rate}");
}

/// An engine is between copies for as long as its gap, whichever stream has queued the next.
#[test]
fn streams_of_an_engine_do_not_hide_its_gap() {
    let queued = |engines| CopyConfig { engines, streams: 2, queued: true, ..config(down()) };
    let rate = |engines| value(&report(queued(engines), Span::from_ms(10)), "host-to-device (GB/s)");
    assert!((rate(1) - 100.0 / 105.5).abs() < 1e-4, "{}", rate(1));
    assert!(rate(2) > 0.99 && rate(2) <= 1.0 + 1e-9, "{}", rate(2));
}

/// Rounds of streams that end nearly together: the first of each only begins its own row.
#[test]
fn a_rate_is_the_same_after_few_rounds_and_after_many() {
    let four = CopyConfig { engines: 4, streams: 4, ..config(down()) };
    for rounds in [3, 30] {
        let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000_000), Span::from_ns(500));
        let mut instrument = CopyWorkload::new(four.clone());
        // 5 us, 500 ns there, 100 ns of data, 1 us; streams are 100 ns apart from the first round on.
        bench.run(&mut instrument, Span::from_ns(rounds * 6_600 + 350));
        let found = instrument.report((Time::ZERO, bench.now));
        let rate = found.iter().find(|metric| metric.name == "host-to-device (GB/s)").expect("a rate").value;
        assert!((rate - 4.0 * 100.0 / 6.6).abs() < 1e-9, "{rounds} rounds: {rate}");
    }
}

#[test]
fn sizes_follow_each_other_and_end() {
    let sizes = [1_000u64, 10_000, 100_000];
    let list = CopyConfig {
        sizes: sizes.map(Bytes::new).to_vec(),
        copies: Some(10),
        ..config(vec![way("device-to-host", Direction::Write)])
    };
    let report = report(list, Span::from_ms(10));
    for size in sizes {
        let what = format!("device-to-host {}", Bytes::new(size));
        assert_eq!(value(&report, &format!("{what} copies")), 10.0);
        let expected = size as f64 / (size as f64 + 6500.0);
        let rate = value(&report, &format!("{what} (GB/s)"));
        assert!((rate - expected).abs() < 1e-9, "{what}: {rate}, {expected}");
    }
}

#[test]
fn an_instrument_with_a_list_ends() {
    let mut bench = Bench::new(GB_PER_S, Span::ZERO);
    let mut instrument = CopyWorkload::new(CopyConfig { copies: Some(3), ..config(down()) });
    bench.run(&mut instrument, Span::from_us(200));
    assert_eq!(instrument.has_ended(), Some(false));
    bench.go_on(&mut instrument, Span::from_us(200));
    assert_eq!(instrument.has_ended(), Some(true));
}

#[test]
fn no_copy_has_no_rate_and_no_latency() {
    let metrics = metrics_of_way("host-to-device", &[Measured::default()], false);
    let named: Vec<(&str, f64)> = metrics.iter().map(|each| (each.name.as_str(), each.value)).collect();
    assert_eq!(named, [("host-to-device copies", 0.0)]);
}

/// Chunks of 20 kB through two buffers: the slower of core and link sets the pace, the other is paid once.
#[test]
fn pageable_memory_is_staged() {
    for (direction, word) in [(Direction::Read, "host-to-device"), (Direction::Write, "device-to-host")] {
        for (cpu, per_chunk_us) in [(500_000_000, 40.0), (4_000_000_000, 20.0)] {
            let staging = Staging {
                rate: Rate::from_bytes_per_second(cpu),
                chunk: Bytes::new(20_000),
                buffers: 2,
                cost: Span::ZERO,
            };
            let report = report(
                CopyConfig {
                    costs: CopyCosts { staging: Some(staging), ..COSTS },
                    ..config(vec![way(word, direction)])
                },
                Span::from_ms(20),
            );
            let cpu_us = 20_000.0 / cpu as f64 * 1e6;
            // Five chunks at the pace of the slower, and one of the other: 20 us on the link, 500 ns each.
            let other = if cpu_us > 20.0 { 20.0 } else { cpu_us };
            let mut expected = 5.0 + 5.0 * per_chunk_us + other + 1.0;
            expected += 0.5; // The chunk that is not hidden by another's.
            let latency = value(&report, &format!("{word} mean latency of a copy (us)"));
            assert!((latency - expected).abs() < 0.005 * expected, "{word} {cpu}: {latency}, {expected}");
        }
    }
}
