//! Game loops on links of plain arithmetic.

use super::*;
use crate::bench::Bench;
use lanewise_units::Rate;

fn scene() -> Scene {
    Scene {
        name: None,
        scored: true,
        frames: 4,
        cpu_time: Span::from_ms(1),
        batches: 100,
        gpu_time: Span::from_us(500),
        commands: Bytes::new(100_000),
        image: Bytes::ZERO,
    }
}

fn game(gpus: u32, scenes: Vec<Scene>) -> FramesConfig {
    let gpus = (0..gpus).map(|gpu| (DeviceId(gpu), format!("gpu{gpu}"))).collect();
    FramesConfig { name: "game".into(), gpus, scenes }
}

/// What is reported after `limit` on links of 1 GB/s with so much latency, and whether it was the end.
fn report(config: FramesConfig, latency_ns: u64, limit: Span) -> (Vec<Metric>, Option<bool>) {
    let mut bench = Bench::new(Rate::from_bytes_per_second(1_000_000_000), Span::from_ns(latency_ns));
    let mut instrument = FramesWorkload::new(config);
    bench.run(&mut instrument, limit);
    (instrument.report((Time::ZERO, bench.now)), instrument.has_ended())
}

fn value(metrics: &[Metric], name: &str) -> Option<f64> {
    metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
}

/// Frame time of one scene in us.
fn frame_us(gpus: u32, scene: Scene, latency_ns: u64) -> f64 {
    let (metrics, ended) = report(game(gpus, vec![scene]), latency_ns, Span::from_ms(100));
    assert_eq!(ended, Some(true));
    value(&metrics, "frame time (ms)").expect("it is reported") * 1e3
}

#[test]
fn a_frame_is_work_and_round_trips() {
    // 1 ms of work, 99 round trips of 1 us between its batches, and the last batch: a doorbell of 0.5 us, commands
    // after 0.5 us and 1 us, 5 us of rendering.
    let time = frame_us(1, scene(), 500);
    assert!((time - (1000.0 + 99.0 + 2.0 + 5.0)).abs() < 0.01, "{time}");
}

#[test]
fn no_frame_has_no_time_and_no_rate() {
    let named = Scene { name: Some("canyon".into()), ..scene() };
    for scene in [scene(), named] {
        let (metrics, ended) = report(game(1, vec![scene]), 500, Span::from_us(10));
        assert!(metrics.is_empty() && ended == Some(false), "{metrics:?}");
    }
}

#[test]
fn latency_costs_as_many_round_trips_as_there_are_batches() {
    let more = frame_us(2, scene(), 700) - frame_us(2, scene(), 500);
    assert!((more - 100.0 * 0.4).abs() < 0.5, "{more}");
}

#[test]
fn slow_gpus_are_waited_for() {
    let time = frame_us(2, Scene { gpu_time: Span::from_ms(3), ..scene() }, 500);
    assert!((3000.0..3030.0).contains(&time), "{time}");
}

#[test]
fn images_of_further_gpus_go_through_memory() {
    let exchange = Scene { image: Bytes::new(1_000_000), ..scene() };
    let more = frame_us(2, exchange, 500) - frame_us(2, scene(), 500);
    // Written at 1 GB/s, then read at 1 GB/s, with two crossings of 0.5 us.
    assert!((more - 2001.0).abs() < 0.01, "{more}");
}

/// Three game tests and one that does not count, with processor times of 1, 2, 4 and 8 ms.
fn tests_of_a_benchmark() -> Vec<Scene> {
    let named = |name: &str, ms: u64, scored| Scene {
        name: Some(name.into()),
        scored,
        cpu_time: Span::from_ms(ms),
        frames: ms as u32,
        ..scene()
    };
    vec![named("one", 1, true), named("two", 2, true), named("four", 4, true), named("CPU", 8, false)]
}

#[test]
fn scenes_follow_each_other_and_each_has_its_own_rate() {
    let (metrics, ended) = report(game(1, tests_of_a_benchmark()), 500, Span::from_ms(200));
    assert_eq!(ended, Some(true));
    for (name, ms) in [("one", 1.0), ("two", 2.0), ("four", 4.0), ("CPU", 8.0)] {
        let rate = value(&metrics, &format!("{name} (frames/s)")).expect("it is reported");
        // 99 round trips of 1 us and the last batch, which is longer for a moment's rendering.
        assert!((1e3 / rate - (ms + 0.106)).abs() < 1e-4, "{name}: {rate}");
    }
}

#[test]
fn the_score_is_the_geometric_mean_of_the_game_tests() {
    let (metrics, _) = report(game(1, tests_of_a_benchmark()), 500, Span::from_ms(200));
    let rate = |name: &str| value(&metrics, &format!("{name} (frames/s)")).expect("it is reported");
    let mean = (rate("one") * rate("two") * rate("four")).cbrt();
    let score = value(&metrics, "3DMark05 score").expect("it is reported");
    assert!((score / (250.0 * mean) - 1.0).abs() < 1e-12, "{score}");
}

#[test]
fn there_is_no_score_before_the_last_game_test_has_shown_a_frame() {
    // One frame of 1 ms, two of 2 ms, then the first of 4 ms: none of it is over after 8 ms.
    let (metrics, ended) = report(game(1, tests_of_a_benchmark()), 500, Span::from_ms(8));
    assert_eq!(ended, Some(false));
    assert_eq!(value(&metrics, "four (frames/s)"), None);
    assert_eq!(value(&metrics, "3DMark05 score"), None);
}

#[test]
fn parts_make_the_whole() {
    let work = Span::from_ticks(1_000_003);
    let sum: Span = (0..7).map(|number| part(work, 7, number)).sum();
    assert_eq!(sum, work);
}
