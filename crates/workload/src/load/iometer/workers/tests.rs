//! What workers ask for, and who gets which target.

use super::*;

fn config(access: Vec<AccessLine>) -> IometerConfig {
    IometerConfig {
        name: "mix".into(),
        managers: 1,
        workers: 4,
        targets: (0..16).collect(),
        assignment: TargetAssignment::Split,
        outstanding: 1,
        access,
    }
}

fn worker(config: &IometerConfig, targets: usize) -> Worker {
    config.check();
    let stream = |purpose: &str| RandomStream::new(1, "mix", purpose);
    let targets = (0..targets).map(|i| (Bytes::new(1 << 30), stream(&i.to_string()))).collect();
    Worker::new(config, 100, targets, ["lines", "reads", "randoms"].map(stream))
}

/// The next so many I/Os, each over at once.
fn ios(worker: &mut Worker, count: usize) -> Vec<Io> {
    let now = Time::ZERO;
    let mut ios = Vec::new();
    while ios.len() < count {
        let Next::Issue(slot, io) = worker.next(now) else { panic!("an I/O after {}", ios.len()) };
        worker.issued(slot, now);
        worker.completed(slot, now);
        ios.push(io);
    }
    ios
}

#[test]
fn targets_are_split_in_turn_or_shared() {
    let split = config(Vec::new());
    assert_eq!(split.targets_of(1), [1, 5, 9, 13]);
    let shared = IometerConfig { assignment: TargetAssignment::Shared, ..split };
    assert_eq!(shared.targets_of(1), (0..16).collect::<Vec<_>>());
}

#[test]
fn shares_are_of_accesses_not_of_bytes() {
    let mix = config(vec![
        AccessLine::sequential(Bytes::from_kib(310), 67, 100),
        AccessLine::sequential(Bytes::from_kib(64), 33, 0),
    ]);
    let drawn = ios(&mut worker(&mix, 4), 20_000);
    let reads = drawn.iter().filter(|io| io.read).count() as f64 / 20_000.0;
    assert_eq!(reads, 0.67);
    let bytes = |read: bool| drawn.iter().filter(|io| io.read == read).map(|io| io.size).sum::<u64>() as f64;
    let share = bytes(true) / (bytes(true) + bytes(false));
    assert!((share - 0.9077).abs() < 0.0001, "share of read bytes: {share}");
    assert!(drawn.iter().all(|io| io.read == (io.size == 310 * 1024)));
}

#[test]
fn sequential_positions_follow_each_other_on_each_target_and_wrap() {
    let sequential = config(vec![AccessLine::sequential(Bytes::new(1 << 29), 100, 50)]);
    let offsets: Vec<u64> = ios(&mut worker(&sequential, 2), 6).iter().map(|io| io.offset).collect();
    assert_eq!(offsets, [0, 0, 1 << 29, 1 << 29, 0, 0]);
}

#[test]
fn random_positions_are_aligned_and_inside() {
    let line = AccessLine {
        random_percent: 100,
        alignment: Bytes::new(3000),
        ..AccessLine::sequential(Bytes::from_kib(64), 100, 100)
    };
    let drawn = ios(&mut worker(&config(vec![line]), 1), 1000);
    assert!(drawn.iter().all(|io| io.offset % 3000 == 0 && io.offset + io.size <= 1 << 30));
    assert!(drawn.windows(2).all(|pair| pair[1].offset != pair[0].offset + pair[0].size));
}

#[test]
fn a_reply_goes_the_other_way_within_the_transaction() {
    let line = AccessLine { reply: Bytes::new(512), ..AccessLine::sequential(Bytes::from_kib(4), 100, 100) };
    let mut worker = worker(&config(vec![line]), 1);
    let drawn = ios(&mut worker, 4);
    let shape: Vec<(bool, u64)> = drawn.iter().map(|io| (io.read, io.size)).collect();
    assert_eq!(shape, [(true, 4096), (false, 512), (true, 4096), (false, 512)]);
}

#[test]
fn a_worker_pauses_before_each_burst() {
    let line = AccessLine {
        delay: Span::from_ms(1),
        burst_length: 3,
        ..AccessLine::sequential(Bytes::from_kib(4), 100, 100)
    };
    let mut worker = worker(&config(vec![line]), 4);
    let wake = Time::ZERO + Span::from_ms(1);
    assert_eq!(worker.next(Time::ZERO), Next::Sleep(wake));
    assert_eq!(worker.next(Time::ZERO), Next::Wait, "a completion does not wake it");
    for slot in 100..103 {
        let Next::Issue(issued, _) = worker.next(wake) else { panic!("three in a burst") };
        assert_eq!(issued, slot);
    }
    assert_eq!(worker.next(wake), Next::Sleep(wake + Span::from_ms(1)));
}

#[test]
#[should_panic(expected = "add up to 67 %")]
fn shares_must_add_up() {
    config(vec![AccessLine::sequential(Bytes::from_kib(4), 67, 100)]).check();
}
