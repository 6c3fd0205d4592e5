//! Throughput and latency of one flow.

use hdrhistogram::Histogram;
use lanewise_units::{Bytes, Span, TICKS_PER_NS};

/// What a flow is called and what its latency means.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Name in results.
    pub name: String,
    /// Device the flow belongs to.
    pub device: String,
    /// `read`, `write`, or the instrument's own word.
    pub direction: &'static str,
    /// What its latency histogram holds.
    pub latency: LatencyOf,
}

/// `direction` of a flow that carries no data: doorbells, commands, descriptors.
pub const CONTROL: &str = "control";

/// Which latencies go into a flow's histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LatencyOf {
    /// One entry per request (TLP): reads from issue to last completion, writes from issue to arrival, both tail.
    Request,
    /// One entry per operation as its instrument counts it.
    Operation,
}

/// Payload and latencies of one flow since the window started; what every packet changes is in the first two cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct FlowTally {
    sum_ticks: u128,
    sum_squared_ns: f64,
    max_ticks: u64,
    payload: u64,
    operations: u64,
    counts_requests: bool,
    /// How many of `recent` there are.
    recent_count: u8,
    /// Latencies, ns, that are not in the histogram yet. It lies elsewhere, and is cold when flows are many: so several go there
    /// at a time.
    recent: [u64; 8],
    /// Nanoseconds, two significant digits: percentiles are within 1 %. Mean and deviation do not come from it.
    histogram: Histogram<u32>,
    /// Name and meaning.
    pub spec: FlowSpec,
}

/// Latency of a flow, for a reader.
#[derive(Clone, Copy, Debug, Default)]
pub struct LatencySummary {
    /// Number of latencies.
    pub count: u64,
    /// Mean, ns; exact.
    pub mean_ns: f64,
    /// Median, ns, within 1 %.
    pub p50_ns: f64,
    /// 90th percentile, ns, within 1 %.
    pub p90_ns: f64,
    /// 99th percentile, ns, within 1 %.
    pub p99_ns: f64,
    /// Largest, ns; exact.
    pub max_ns: f64,
    /// Standard deviation, ns.
    pub stddev_ns: f64,
}

impl FlowTally {
    pub(crate) fn new(spec: FlowSpec) -> Self {
        let histogram = Histogram::new(2).expect("two significant digits are within the library's 0 to 5");
        Self {
            sum_ticks: 0,
            sum_squared_ns: 0.0,
            max_ticks: 0,
            payload: 0,
            operations: 0,
            counts_requests: spec.latency == LatencyOf::Request,
            recent_count: 0,
            recent: [0; 8],
            histogram,
            spec,
        }
    }

    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.spec.clone());
    }

    #[inline]
    pub(crate) fn deliver(&mut self, payload: Bytes) {
        self.payload += payload.get();
    }

    /// A request is complete, which counts when the flow's latencies are those of requests.
    #[inline]
    pub(crate) fn request_done(&mut self, latency: Span) {
        if self.counts_requests {
            self.record(latency);
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, latency: Span) {
        let ticks = latency.ticks();
        self.operations += 1;
        self.sum_ticks += u128::from(ticks);
        let ns = latency.as_ns();
        self.sum_squared_ns += ns * ns;
        self.max_ticks = self.max_ticks.max(ticks);
        self.recent[usize::from(self.recent_count)] = (ticks / TICKS_PER_NS).max(1);
        self.recent_count += 1;
        if usize::from(self.recent_count) == self.recent.len() {
            self.recent_count = 0;
            enter(&self.recent, &mut self.histogram);
        }
    }

    /// Payload delivered.
    pub fn payload(&self) -> Bytes {
        Bytes::new(self.payload)
    }

    /// Requests or operations completed, whichever [`LatencyOf`] says.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Sum of all latencies, for Little's law.
    pub fn latency_sum_seconds(&self) -> f64 {
        self.sum_ticks as f64 / lanewise_units::TICKS_PER_SECOND as f64
    }

    /// Largest latency, ns; zero when there was none.
    pub fn latency_max_ns(&self) -> f64 {
        self.max_ticks as f64 / TICKS_PER_NS as f64
    }

    /// Summary of the latencies; all zero when there were none.
    pub fn latency(&self) -> LatencySummary {
        if self.operations == 0 {
            return LatencySummary::default();
        }
        let count = self.operations as f64;
        let mean_ns = self.sum_ticks as f64 / TICKS_PER_NS as f64 / count;
        let variance = (self.sum_squared_ns / count - mean_ns * mean_ns).max(0.0);
        let max_ns = self.latency_max_ns();
        let mut histogram = self.histogram.clone();
        enter(&self.recent[..usize::from(self.recent_count)], &mut histogram);
        // The histogram answers with the upper edge of a bucket, which may lie above the largest entry.
        let percentile = |p: f64| (histogram.value_at_percentile(p) as f64).min(max_ns);
        LatencySummary {
            count: self.operations,
            mean_ns,
            p50_ns: percentile(50.0),
            p90_ns: percentile(90.0),
            p99_ns: percentile(99.0),
            max_ns,
            stddev_ns: variance.sqrt(),
        }
    }
}

#[inline(never)]
fn enter(latencies: &[u64], histogram: &mut Histogram<u32>) {
    for ns in latencies {
        // Auto-resizing is on: recording fails only beyond u64.
        let _ = histogram.record(*ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn what_every_packet_changes_is_in_two_cache_lines() {
        assert!(offset_of!(FlowTally, histogram) <= 2 * 64);
    }

    #[test]
    fn no_percentile_is_above_the_largest() {
        let spec =
            FlowSpec { name: "f".into(), device: "d".into(), direction: "read", latency: LatencyOf::Request };
        let mut flow = FlowTally::new(spec);
        flow.record(Span::from_ns(864));
        assert_eq!((flow.latency().p50_ns, flow.latency().p99_ns), (864.0, 864.0));
    }

    #[test]
    fn mean_and_max_are_exact_and_percentiles_close() {
        let spec =
            FlowSpec { name: "f".into(), device: "d".into(), direction: "read", latency: LatencyOf::Request };
        let mut flow = FlowTally::new(spec);
        (1..=1000).for_each(|ns| flow.record(Span::from_ns(ns)));
        let latency = flow.latency();
        assert_eq!(latency.mean_ns, 500.5);
        assert_eq!(latency.max_ns, 1000.0);
        assert!((latency.p50_ns - 500.0).abs() < 5.0, "{latency:?}");
        assert!((latency.stddev_ns - 288.67).abs() < 0.01, "{latency:?}");
    }
}
