//! fio's results under the names of its JSON output: `JOB.read.clat_ns.mean` is `jobs[].read.clat_ns.mean` there.
//!
//! `bw` is in KiB/s, `bw_bytes` in B/s, `runtime` in ms, as fio has them; latencies are in ns. Percentiles are those
//! that fio prints when nothing else is asked for, within 0.1 %. CPU is that of the modelled costs, in percent of one
//! core for each clone.

use super::distribution::Distribution;
use crate::host::cpu::CpuWork;
use crate::latency::LatencyTally;
use hdrhistogram::Histogram;
use lanewise_fabric::workload::Metric;
use lanewise_units::{Span, TICKS_PER_NS};

/// Percentiles of completion latency, fio's default list.
const PERCENTILES: [f64; 17] =
    [1., 5., 10., 20., 30., 40., 50., 60., 70., 80., 90., 95., 99., 99.5, 99.9, 99.95, 99.99];

/// Latencies of one kind.
#[derive(Clone, Debug)]
struct Latencies {
    tally: LatencyTally,
    histogram: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new(3).expect("three significant digits are within the library's 0 to 5");
        Self { tally: LatencyTally::default(), histogram }
    }
}

impl Latencies {
    fn add(&mut self, latency: Span) {
        self.tally.add(latency);
        // Auto-resizing is on: recording fails only beyond u64.
        let _ = self.histogram.record((latency.ticks() / TICKS_PER_NS).max(1));
    }

    fn metrics(&self, prefix: &str, percentiles: bool, metrics: &mut Vec<Metric>) {
        const NANOSECOND: Span = Span::from_ns(1);
        let longest = self.tally.largest(NANOSECOND);
        let mut push =
            |name: &str, value: f64| metrics.push(Metric { name: format!("{prefix}.{name}"), value });
        push("min", self.tally.least(NANOSECOND));
        push("max", longest);
        push("mean", self.tally.mean(NANOSECOND));
        push("stddev", self.tally.deviation(NANOSECOND));
        push("N", self.tally.count() as f64);
        if percentiles && self.tally.count() > 0 {
            for percentile in PERCENTILES {
                // The histogram answers with the upper edge of a bucket.
                let value = (self.histogram.value_at_percentile(percentile) as f64).min(longest);
                push(&format!("percentile.{percentile:.6}"), value);
            }
        }
    }
}

/// One direction of a job.
#[derive(Clone, Default, Debug)]
struct DirectionTally {
    bytes: u64,
    ios: u64,
    submission: Latencies,
    completion: Latencies,
    total: Latencies,
}

impl DirectionTally {
    fn metrics(&self, prefix: &str, window: Span, metrics: &mut Vec<Metric>) {
        let rate = |amount: f64| per_second(amount, window);
        let rows = [
            ("io_bytes", self.bytes as f64),
            ("io_kbytes", self.bytes as f64 / 1024.0),
            ("bw_bytes", rate(self.bytes as f64)),
            ("bw", rate(self.bytes as f64 / 1024.0)),
            ("iops", rate(self.ios as f64)),
            ("runtime", window.as_seconds() * 1e3),
            ("total_ios", self.ios as f64),
        ];
        metrics.extend(rows.map(|(name, value)| Metric { name: format!("{prefix}.{name}"), value }));
        self.submission.metrics(&format!("{prefix}.slat_ns"), false, metrics);
        self.completion.metrics(&format!("{prefix}.clat_ns"), true, metrics);
        self.total.metrics(&format!("{prefix}.lat_ns"), false, metrics);
    }
}

fn per_second(amount: f64, window: Span) -> f64 {
    if window.is_zero() { 0.0 } else { amount / window.as_seconds() }
}

/// Processor time of a job, so far as its own I/Os cause it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct CpuUse {
    /// The job's own thread.
    pub user: Span,
    /// The kernel on its behalf.
    pub system: Span,
}

impl CpuUse {
    /// A core has spent this time at work of that kind: what is not the thread's own is the kernel's.
    pub(crate) fn spend(&mut self, time: Span, work: CpuWork) {
        match work {
            CpuWork::User => self.user += time,
            CpuWork::Privileged | CpuWork::Deferred | CpuWork::Interrupt => self.system += time,
        }
    }
}

/// What a job, or all clones of one, has done in the window.
#[derive(Clone, Default, Debug)]
pub(crate) struct GroupTally {
    directions: [DirectionTally; 2],
    distribution: Distribution,
    pub(crate) cpu: CpuUse,
}

impl GroupTally {
    /// An I/O is over: its bytes, the time until the kernel had it, and the time from there.
    pub(crate) fn add(&mut self, write: bool, bytes: u64, submission: Span, completion: Span) {
        let tally = &mut self.directions[usize::from(write)];
        tally.bytes += bytes;
        tally.ios += 1;
        tally.submission.add(submission);
        tally.completion.add(completion);
        tally.total.add(submission + completion);
        self.distribution.took(submission + completion);
    }

    /// An I/O was issued, and so many of its clone are in flight now.
    pub(crate) fn issued_at(&mut self, depth: u32) {
        self.distribution.issued_at(depth);
    }

    /// Everything, for a job of this name with so many clones.
    pub(crate) fn metrics(&self, name: &str, clones: u32, window: Span) -> Vec<Metric> {
        let mut metrics = Vec::new();
        self.directions[0].metrics(&format!("{name}.read"), window, &mut metrics);
        self.directions[1].metrics(&format!("{name}.write"), window, &mut metrics);
        let percent = |busy: Span| {
            if window.is_zero() {
                0.0
            } else {
                busy.as_seconds() / window.as_seconds() / f64::from(clones) * 100.0
            }
        };
        metrics.push(Metric { name: format!("{name}.usr_cpu"), value: percent(self.cpu.user) });
        metrics.push(Metric { name: format!("{name}.sys_cpu"), value: percent(self.cpu.system) });
        metrics.extend(self.distribution.metrics(name));
        metrics
    }
}

impl GroupTally {
    /// What gdsio prints of its threads together, under its names and in its units: GiB are 2^30 bytes.
    pub(crate) fn gdsio_metrics(&self, window: Span) -> Vec<Metric> {
        let [reads, writes] = &self.directions;
        let (ops, bytes) = (reads.ios + writes.ios, reads.bytes + writes.bytes);
        let us = Span::from_us(1);
        let taken = [reads, writes].map(|way| way.total.tally.mean(us) * way.ios as f64).iter().sum::<f64>();
        let rows = [
            ("Throughput (GiB/sec)", per_second(bytes as f64, window) / f64::from(1 << 30)),
            ("Avg_Latency (usecs)", if ops == 0 { 0.0 } else { taken / ops as f64 }),
            ("ops", ops as f64),
            ("DataSetSize (KiB)", bytes as f64 / 1024.0),
            ("total_time (secs)", window.as_seconds()),
        ];
        rows.map(|(name, value)| Metric { name: name.to_owned(), value }).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(metrics: &[Metric], name: &str) -> f64 {
        metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("{name}")).value
    }

    #[test]
    fn rates_and_latencies_are_in_the_units_of_fio() {
        let mut tally = GroupTally::default();
        for us in 1..=100 {
            tally.add(false, 131_072, Span::from_us(1), Span::from_us(us));
        }
        let metrics = tally.metrics("job", 1, Span::from_ms(1));
        assert_eq!(value(&metrics, "job.read.iops"), 100_000.0);
        assert_eq!(value(&metrics, "job.read.bw"), 12_800_000.0, "KiB/s");
        assert_eq!(value(&metrics, "job.read.bw_bytes"), 13_107_200_000.0);
        assert_eq!(value(&metrics, "job.read.slat_ns.mean"), 1_000.0);
        assert_eq!(value(&metrics, "job.read.clat_ns.mean"), 50_500.0);
        assert_eq!(value(&metrics, "job.read.lat_ns.max"), 101_000.0);
        let median = value(&metrics, "job.read.clat_ns.percentile.50.000000");
        assert!((median - 50_000.0).abs() <= 50.0, "{median}");
        assert_eq!(value(&metrics, "job.write.total_ios"), 0.0);
    }
}
