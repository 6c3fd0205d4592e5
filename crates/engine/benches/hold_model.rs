//! The hold model at several populations, for each queue. The table of ADR 3 comes from `examples/queue_race.rs`.

mod hold;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use hold::{Aheads, BinaryHeapQueue, Hold, POPULATIONS};
use lanewise_engine::EventQueue;
use lanewise_engine::queue::WheelQueue;
use std::time::Duration;

/// Pairs of pop and push per iteration.
const PAIRS: usize = 1_000;

fn measure<Q: EventQueue<u32>>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, aheads: fn() -> Aheads) {
    for population in POPULATIONS {
        let mut hold: Hold<Q> = Hold::new(population, aheads());
        group.bench_function(BenchmarkId::new(name, population), |bencher| bencher.iter(|| hold.run(PAIRS)));
    }
}

fn measure_all(criterion: &mut Criterion, mix: &str, aheads: fn() -> Aheads) {
    let mut group = criterion.benchmark_group(mix);
    group.throughput(Throughput::Elements(PAIRS as u64));
    measure::<BinaryHeapQueue<u32>>(&mut group, "binary_heap", aheads);
    measure::<WheelQueue<u32>>(&mut group, "wheel", aheads);
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(700))
        .configure_from_args();
    measure_all(&mut criterion, "fabric_mix", Aheads::fabric);
    measure_all(&mut criterion, "lockstep", Aheads::lockstep);
    criterion.final_summary();
}
