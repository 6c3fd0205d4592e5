//! Latencies of one kind: exact sums, and a histogram for percentiles.

use hdrhistogram::Histogram;
use lanewise_units::{Span, TICKS_PER_NS, wide};

/// Latencies since the window started. What every one changes comes first, and the rest when there are a few.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct LatencyTally {
    /// How many of `recent` there are.
    recent_count: u32,
    /// Latencies, ticks, that are in none of what follows yet. That lies elsewhere, and is cold when flows are many: so several
    /// go there at a time.
    recent: [u64; RECENT],
    sum_ticks: u128,
    /// Squared differences from `shift`, ticks²: exact, and small numbers beside squares of the latencies themselves.
    squares: u128,
    /// The first latency.
    shift: u64,
    min_ticks: u64,
    max_ticks: u64,
    count: u64,
    /// How many there are in each bucket of nanoseconds; short where the rest is empty.
    buckets: Vec<u32>,
}

/// So many that they share a cache line with what else a flow keeps of every packet.
const RECENT: usize = 5;

/// Buckets of one width: half as many as there are from zero to the largest number told exactly. Those of the library with two
/// significant digits, so that counts go into it as they are: percentiles are within 1 %. Mean and deviation do not come from them.
const OF_ONE_WIDTH: u32 = 1 << WIDTH_BITS;
const WIDTH_BITS: u32 = 7;

/// The bucket of so many nanoseconds.
#[inline(always)]
fn bucket_of(ns: u32) -> usize {
    let width_bits = (ns | (2 * OF_ONE_WIDTH - 1)).ilog2() - WIDTH_BITS;
    ((width_bits << WIDTH_BITS) + (ns >> width_bits)) as usize
}

/// The least number of nanoseconds in a bucket.
fn least_in(bucket: usize) -> u64 {
    let width_bits = (bucket >> WIDTH_BITS).saturating_sub(1);
    ((bucket - (width_bits << WIDTH_BITS)) as u64) << width_bits
}

/// Latencies of one bucket: from `from_ns` on, below `below_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyBucket {
    /// Whole nanoseconds that the bucket begins with.
    pub from_ns: u64,
    /// Whole nanoseconds that it ends before. What took 4.29 s or more is in the last bucket that there is.
    pub below_ns: u64,
    /// How many took so long.
    pub count: u32,
}

/// Latencies for a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencySummary {
    /// Number of latencies.
    pub count: u64,
    /// Least, ns; exact.
    pub min_ns: f64,
    /// Mean, ns; exact.
    pub mean_ns: f64,
    /// Standard deviation, ns: of what was measured, from exact sums.
    pub stddev_ns: f64,
    /// Percentiles, ns, within 1 %; see [`PERCENTILES`].
    pub percentiles_ns: [Option<f64>; PERCENTILES.len()],
    /// Largest, ns; exact.
    pub max_ns: f64,
}

/// Percentiles of a summary. One is given when at least one latency is expected above it: p99 from 100 latencies on, p99.9
/// from 1,000 on. With fewer it would be the maximum under another name.
pub const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

impl LatencySummary {
    /// Median, ns.
    pub fn p50_ns(&self) -> Option<f64> {
        self.percentiles_ns[0]
    }

    /// 99th percentile, ns.
    pub fn p99_ns(&self) -> Option<f64> {
        self.percentiles_ns[3]
    }
}

impl Default for LatencyTally {
    fn default() -> Self {
        Self {
            recent_count: 0,
            recent: [0; RECENT],
            sum_ticks: 0,
            squares: 0,
            shift: 0,
            min_ticks: u64::MAX,
            max_ticks: 0,
            count: 0,
            buckets: Vec::new(),
        }
    }
}

impl LatencyTally {
    /// Takes in one more.
    #[inline(always)]
    pub fn enter(&mut self, latency: Span) {
        self.recent[self.recent_count as usize] = latency.ticks();
        self.recent_count += 1;
        if self.recent_count as usize == RECENT {
            self.take_in_recent();
        }
    }

    #[inline(never)]
    fn take_in_recent(&mut self) {
        let recent = &self.recent[..self.recent_count as usize];
        if self.count == 0 {
            self.shift = recent.first().copied().unwrap_or_default();
        }
        self.count += recent.len() as u64;
        for &ticks in recent {
            self.sum_ticks += u128::from(ticks);
            let difference = ticks.abs_diff(self.shift);
            // Beyond 2¹²⁸ there are latencies of seconds by the billion.
            self.squares = self.squares.saturating_add(wide::product(difference, difference));
            self.min_ticks = self.min_ticks.min(ticks);
            self.max_ticks = self.max_ticks.max(ticks);
            let bucket = bucket_of(u32::try_from(ticks / TICKS_PER_NS).unwrap_or(u32::MAX).max(1));
            if bucket >= self.buckets.len() {
                self.buckets.resize((bucket + 1).next_multiple_of(OF_ONE_WIDTH as usize), 0);
            }
            self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
        }
        self.recent_count = 0;
    }

    /// The same, with none that wait.
    fn with_recent(&self) -> Self {
        let mut all = self.clone();
        all.take_in_recent();
        all
    }

    fn waiting(&self) -> &[u64] {
        &self.recent[..self.recent_count as usize]
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count + u64::from(self.recent_count)
    }

    /// Sum of all, for Little's law.
    pub fn sum_seconds(&self) -> f64 {
        let waiting: u128 = self.waiting().iter().map(|ticks| u128::from(*ticks)).sum();
        (self.sum_ticks + waiting) as f64 / lanewise_units::TICKS_PER_SECOND as f64
    }

    /// Largest, ns; zero when there was none.
    pub fn max_ns(&self) -> f64 {
        let largest = self.waiting().iter().fold(self.max_ticks, |largest, ticks| largest.max(*ticks));
        largest as f64 / TICKS_PER_NS as f64
    }

    /// All of them so far, ns, up to 4.29 s each.
    pub fn histogram(&self) -> Histogram<u32> {
        self.with_recent().told_by_the_library()
    }

    /// How many of them took how long, the shortest first; buckets with none are left out.
    pub fn buckets(&self) -> Vec<LatencyBucket> {
        let counts = self.with_recent().buckets;
        let bucket = |(bucket, count): (usize, u32)| LatencyBucket {
            // What took less than a nanosecond is counted with what took one.
            from_ns: if bucket == 1 { 0 } else { least_in(bucket) },
            below_ns: least_in(bucket + 1),
            count,
        };
        counts.into_iter().enumerate().filter(|(_, count)| *count > 0).map(bucket).collect()
    }

    fn told_by_the_library(self) -> Histogram<u32> {
        let Self { buckets, .. } = self;
        let longest = least_in(buckets.len()).max(2);
        let mut histogram = Histogram::new_with_max(longest, 2).expect("as many digits as the library has");
        for (bucket, count) in buckets.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            histogram.saturating_record_n(least_in(bucket), count);
        }
        histogram
    }

    /// Summary; all zero when there were none.
    pub fn summary(&self) -> LatencySummary {
        if self.count() == 0 {
            return LatencySummary::default();
        }
        self.with_recent().sum_up()
    }

    fn sum_up(self) -> LatencySummary {
        let ticks_per_ns = TICKS_PER_NS as f64;
        let count = self.count as f64;
        // Around the first latency, so that no large numbers are subtracted from each other.
        let offset =
            (self.sum_ticks as i128 - i128::from(self.shift) * i128::from(self.count)) as f64 / count;
        let variance = (self.squares as f64 / count - offset * offset).max(0.0);
        let (count_of_all, sum_ticks) = (self.count, self.sum_ticks);
        let (min_ns, max_ns) = (self.min_ticks as f64 / ticks_per_ns, self.max_ns());
        let histogram = self.told_by_the_library();
        // The histogram answers with the upper edge of a bucket of whole nanoseconds, which may lie outside of what there was.
        let percentile = |p: f64| {
            let given = count * (100.0 - p) / 100.0 >= 1.0 - 1e-9;
            given.then(|| (histogram.value_at_percentile(p) as f64).clamp(min_ns, max_ns))
        };
        LatencySummary {
            count: count_of_all,
            min_ns,
            mean_ns: sum_ticks as f64 / ticks_per_ns / count,
            stddev_ns: variance.sqrt() / ticks_per_ns,
            percentiles_ns: PERCENTILES.map(percentile),
            max_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    fn tally(latencies: impl IntoIterator<Item = Span>) -> LatencyTally {
        let mut tally = LatencyTally::default();
        latencies.into_iter().for_each(|latency| tally.enter(latency));
        tally
    }

    #[test]
    fn what_every_latency_changes_shares_a_cache_line() {
        assert!(offset_of!(LatencyTally, sum_ticks) <= 64 - 16);
    }

    /// Where a bucket ends and the next begins, up to the largest: what goes into the library comes out of it as if each had.
    #[test]
    fn buckets_are_those_of_the_library() {
        let edges =
            (1..32).flat_map(|bit| [-129, -128, -1, 0, 1, 127, 128, 129].map(|by| (1_i64 << bit) + by));
        let all: Vec<u32> = edges
            .chain([1, i64::from(u32::MAX)])
            .filter_map(|ns| u32::try_from(ns).ok())
            .filter(|ns| *ns > 0)
            .collect();
        let mut library = Histogram::<u32>::new(2).expect("two digits");
        all.iter().for_each(|ns| library.record(u64::from(*ns)).expect("it grows"));
        let ours = tally(all.iter().map(|ns| Span::from_ns(u64::from(*ns)))).histogram();
        assert_eq!(ours.len(), all.len() as u64);
        let steps = || (0..=2000).map(|step| f64::from(step) / 2000.0);
        assert!(steps().all(|at| ours.value_at_quantile(at) == library.value_at_quantile(at)));
        for ns in &all {
            let bucket = bucket_of(*ns);
            assert!(least_in(bucket) <= u64::from(*ns) && u64::from(*ns) < least_in(bucket + 1), "{ns}");
        }
    }

    /// However many wait to be taken in, nothing that is read says so.
    #[test]
    fn those_that_wait_count() {
        for count in 1..=2 * RECENT as u64 + 1 {
            let tally = tally((1..=count).map(Span::from_ns));
            assert_eq!(
                (tally.count(), tally.histogram().len(), tally.max_ns()),
                (count, count, count as f64)
            );
            let sum = (count * (count + 1) / 2) as f64;
            assert!((tally.sum_seconds() * 1e9 - sum).abs() < 1e-6);
            let summary = tally.summary();
            assert_eq!((summary.count, summary.min_ns, summary.max_ns), (count, 1.0, count as f64));
            assert_eq!(summary.mean_ns, sum / count as f64);
        }
    }

    /// Each latency is in a bucket of its own size, those that wait too, and no bucket of what was listed is wider than 1 %.
    #[test]
    fn buckets_hold_what_was_entered() {
        let all: [u64; 7] = [0, 1, 255, 256, 300, 301, 1_000_000];
        let buckets = tally(all.into_iter().map(Span::from_ns)).buckets();
        let listed: Vec<_> = buckets.iter().map(|each| (each.from_ns, each.below_ns, each.count)).collect();
        assert_eq!(listed, [(0, 2, 2), (255, 256, 1), (256, 258, 1), (300, 302, 2), (999_424, 1_003_520, 1)]);
        let wide = |each: &LatencyBucket| (each.below_ns - each.from_ns - 1) * 100 > each.from_ns.max(1);
        assert!(!buckets[1..].iter().any(wide), "{buckets:?}");
        assert_eq!(LatencyTally::default().buckets(), []);
    }

    #[test]
    fn mean_extremes_and_deviation_are_exact_and_percentiles_close() {
        let latency = tally((1..=1000).map(Span::from_ns)).summary();
        assert_eq!((latency.mean_ns, latency.min_ns, latency.max_ns), (500.5, 1.0, 1000.0));
        // Of 1 to n the variance is (n² − 1) / 12.
        assert!((latency.stddev_ns - (999_999.0_f64 / 12.0).sqrt()).abs() < 1e-9, "{latency:?}");
        for (found, expected) in latency.percentiles_ns.into_iter().zip([500.0, 900.0, 950.0, 990.0, 999.0]) {
            let found = found.expect("a thousand are enough");
            assert!((found - expected).abs() <= 0.01 * expected, "{found} for {expected}");
        }
    }

    /// A second with one tick of deviation: in squares of the latencies themselves, as floating-point numbers, it is lost.
    #[test]
    fn a_small_deviation_of_large_latencies_is_kept() {
        let second = Span::from_ms(1000);
        let around = |index: u64| if index.is_multiple_of(2) { second } else { second + Span::from_ticks(2) };
        let latency = tally((0..100_000).map(around)).summary();
        let tick_ns = 1.0 / TICKS_PER_NS as f64;
        assert!((latency.stddev_ns / tick_ns - 1.0).abs() < 1e-9, "{latency:?}");
        let (mut sum, mut squares) = (0.0, 0.0);
        for index in 0..100_000 {
            let ns = around(index).as_ns();
            sum += ns;
            squares += ns * ns;
        }
        let naive = (squares / 1e5 - (sum / 1e5) * (sum / 1e5)).max(0.0).sqrt();
        assert!((naive / tick_ns - 1.0).abs() > 0.1, "else this test shows nothing: {naive}");
    }

    #[test]
    fn a_percentile_with_too_few_latencies_is_none() {
        let given =
            |count| tally((1..=count).map(Span::from_us)).summary().percentiles_ns.map(|p| p.is_some());
        assert_eq!(given(1), [false; 5]);
        assert_eq!(given(60), [true, true, true, false, false]);
        assert_eq!(given(99), [true, true, true, false, false]);
        assert_eq!(given(100), [true, true, true, true, false]);
        assert_eq!(given(1000), [true; 5]);
    }

    #[test]
    fn no_percentile_is_above_the_largest() {
        let latency = tally([Span::from_ns(864); 1000]).summary();
        assert_eq!((latency.p50_ns(), latency.p99_ns()), (Some(864.0), Some(864.0)));
        assert_eq!(latency.stddev_ns, 0.0);
    }
}
