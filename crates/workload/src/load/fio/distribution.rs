//! How I/Os spread: over the ranges of latency and of depth that fio reports, `latency_us.50` being
//! `jobs[].latency_us."50"` of its JSON output. Shares are in percent of all I/Os of a job, reads and writes.
//!
//! A range ends below its number: under "50" stands what took 20 to 49 us. Depth is that with the I/O that is being
//! issued; 2 and 3 in flight stand under "2". Source: `io_u_mark_latency` and `io_u_mark_depth` of fio 3.33. Leaves out:
//! that fio rounds a share below 0.01 % up to it.

use lanewise_fabric::workload::Metric;
use lanewise_units::{Span, TICKS_PER_NS};

/// Ends of the ranges below a microsecond, in ns, and of those below a millisecond, in us; the last is one of the next unit.
const ENDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// Ends of the ranges above, in ms; what takes longer than the last has a range of its own.
const ENDS_MS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

/// Where the ranges of depth begin; the last has no end.
const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Counts of I/Os by latency, and by depth when they were issued.
#[derive(Clone, Default, Debug)]
pub(super) struct Distribution {
    ns: [u64; 10],
    us: [u64; 10],
    ms: [u64; 12],
    depth: [u64; 7],
}

/// Number of the range that `value` is in, which may be one more than there are ends.
fn range_of(value: u64, ends: &[u64]) -> usize {
    ends.iter().position(|end| value < *end).unwrap_or(ends.len())
}

impl Distribution {
    /// An I/O has taken so long.
    pub(super) fn took(&mut self, latency: Span) {
        let ns = latency.ticks() / TICKS_PER_NS;
        let (us, ms) = (ns / 1000, ns / 1_000_000);
        match () {
            () if us == 0 => self.ns[range_of(ns, &ENDS)] += 1,
            () if ms == 0 => self.us[range_of(us, &ENDS)] += 1,
            () => self.ms[range_of(ms, &ENDS_MS)] += 1,
        }
    }

    /// An I/O was issued, and so many are in flight now, at least one.
    pub(super) fn issued_at(&mut self, depth: u32) {
        let range = DEPTHS.iter().rposition(|begin| depth >= *begin).expect("one is in flight at least");
        self.depth[range] += 1;
    }

    /// Every range, for a job of this name.
    pub(super) fn metrics(&self, name: &str) -> Vec<Metric> {
        let ends = |ends: &[u64]| ends.iter().map(u64::to_string).collect::<Vec<_>>();
        let and_more = |mut names: Vec<String>, last: &str| {
            names.push(last.to_owned());
            names
        };
        let taken: u64 = self.ns.iter().chain(&self.us).chain(&self.ms).sum();
        let depths = DEPTHS[..6].iter().map(u32::to_string).collect();
        [
            ("latency_ns", ends(&ENDS), &self.ns[..], taken),
            ("latency_us", ends(&ENDS), &self.us[..], taken),
            ("latency_ms", and_more(ends(&ENDS_MS), ">=2000"), &self.ms[..], taken),
            ("iodepth_level", and_more(depths, ">=64"), &self.depth[..], self.depth.iter().sum()),
        ]
        .into_iter()
        .flat_map(|(table, ranges, counts, all)| {
            let shares = counts.iter().map(move |count| 100.0 * *count as f64 / all.max(1) as f64);
            ranges
                .into_iter()
                .zip(shares)
                .map(move |(range, value)| Metric { name: format!("{name}.{table}.{range}"), value })
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges with anything in them, in percent.
    fn filled(distribution: &Distribution) -> Vec<(String, f64)> {
        let metrics = distribution.metrics("job").into_iter().filter(|metric| metric.value > 0.0);
        metrics.map(|metric| (metric.name, metric.value)).collect()
    }

    #[test]
    fn a_latency_is_under_the_next_number_of_its_unit() {
        let mut spread = Distribution::default();
        for ns in [
            999,
            1_000,
            19_999,
            20_000,
            49_999,
            1_000_000,
            2_000_000,
            1_999_000_000,
            2_000_000_000,
            9_000_000_000,
        ] {
            spread.took(Span::from_ns(ns));
        }
        let expected = [
            ("job.latency_ns.1000", 10.0),
            ("job.latency_us.2", 10.0),
            ("job.latency_us.20", 10.0),
            ("job.latency_us.50", 20.0),
            ("job.latency_ms.2", 10.0),
            ("job.latency_ms.4", 10.0),
            ("job.latency_ms.2000", 10.0),
            ("job.latency_ms.>=2000", 20.0),
        ];
        assert_eq!(filled(&spread), expected.map(|(name, share)| (name.to_owned(), share)));
    }

    #[test]
    fn a_depth_is_under_the_power_of_two_below_it() {
        let mut spread = Distribution::default();
        for depth in [1, 2, 3, 31, 32, 64, 65, 1000] {
            spread.issued_at(depth);
        }
        let expected = [
            ("job.iodepth_level.1", 12.5),
            ("job.iodepth_level.2", 25.0),
            ("job.iodepth_level.16", 12.5),
            ("job.iodepth_level.32", 12.5),
            ("job.iodepth_level.>=64", 37.5),
        ];
        assert_eq!(filled(&spread), expected.map(|(name, share)| (name.to_owned(), share)));
    }
}
