//! SmartFlow: which trial comes next, and what the trials came to.

use super::config::{Load, SmartFlowConfig, SmartFlowTest};
use super::report;
use super::search::Search;
use super::trial::{Count, FEWEST_FRAMES, Trial};
use lanewise_fabric::workload::Metric;
use lanewise_network::ethernet::{EthernetRate, line_bytes};
use lanewise_units::{Bytes, Span, TICKS_PER_SECOND, Time};

/// The instrument outside of the host.
#[derive(Clone, Debug)]
pub(super) struct SmartFlow {
    pub(super) config: SmartFlowConfig,
    rate: EthernetRate,
    /// Index of the size that is tested, and of its load.
    size: usize,
    load: usize,
    search: Search,
    /// The trial under way.
    pub(super) count: Option<Count>,
    /// Frames of the trial by bucket of latency.
    buckets: Vec<u64>,
    results: Vec<Metric>,
}

impl SmartFlow {
    /// An instrument that has tried nothing; lines run at `rate`.
    pub(super) fn new(config: SmartFlowConfig, rate: EthernetRate) -> Self {
        let search = Search::new(config.loads[0], None, config.resolution);
        let buckets = vec![0; config.buckets.len() + 1];
        Self { config, rate, size: 0, load: 0, search, count: None, buckets, results: Vec::new() }
    }

    /// Whether every trial is over.
    pub(super) fn is_done(&self) -> bool {
        self.size >= self.config.sizes.len()
    }

    /// Starts the next trial. False when there is none.
    pub(super) fn start(&mut self, now: Time) -> bool {
        self.count = self.next_trial().map(|trial| {
            let snapshot = match self.config.test {
                SmartFlowTest::LatencySnapshot => self.config.snapshot_frames,
                _ => 0,
            };
            let length = self.config.trial.max(self.interval(trial) * FEWEST_FRAMES);
            Count::new(trial, self.config.flows.len(), snapshot, now, length)
        });
        self.buckets.fill(0);
        self.count.is_some()
    }

    fn next_trial(&mut self) -> Option<Trial> {
        let size = *self.config.sizes.get(self.size)?;
        let load = match self.config.test {
            SmartFlowTest::Throughput => self.search.next()?,
            _ => self.config.loads[self.load],
        };
        Some(Trial { size, load })
    }

    /// Line time of a frame of the trial.
    fn line(&self, trial: Trial) -> Span {
        self.rate.line_span(trial.size)
    }

    /// Time between the frames of a flow.
    pub(super) fn interval(&self, trial: Trial) -> Span {
        let ticks = u128::from(self.line(trial).ticks()) * u128::from(Load::FULL.0);
        Span::from_ticks((ticks / u128::from(trial.load.0.max(1))) as u64)
    }

    /// Whether the trial has told what it can and may be cut short: a search needs no second lost frame.
    pub(super) fn has_failed(&self) -> bool {
        let lost = self.count.as_ref().is_some_and(|count| count.all_lost() > 0);
        self.config.test == SmartFlowTest::Throughput && lost
    }

    /// A frame came back.
    pub(super) fn received(&mut self, flow: usize, latency: Span, now: Time) {
        if let Some(count) = &mut self.count {
            count.received(flow, latency, now);
        }
        if self.config.test == SmartFlowTest::LatencyDistribution {
            let bucket = self.config.buckets.partition_point(|end| *end < latency);
            self.buckets[bucket] += 1;
        }
    }

    /// The trial is over and the host empty: notes what it came to and goes on.
    pub(super) fn finish(&mut self) {
        let Some(count) = self.count.take() else { return };
        match self.config.test {
            SmartFlowTest::Throughput => return self.finish_search(&count),
            SmartFlowTest::FrameLoss => self.results.extend(report::frame_loss(&count, &self.config)),
            SmartFlowTest::Latency => self.results.extend(report::latency(&count, &self.config)),
            SmartFlowTest::LatencyDistribution => {
                self.results.extend(report::distribution(&count, &self.config, &self.buckets));
            }
            SmartFlowTest::LatencySnapshot => self.results.extend(report::snapshot(&count, &self.config)),
            SmartFlowTest::SmartTracker => self.results.extend(report::tracker(&count, &self.config)),
        }
        self.load += 1;
        if self.load == self.config.loads.len() {
            self.load = 0;
            self.size += 1;
        }
    }

    fn finish_search(&mut self, count: &Count) {
        if count.kept_up() {
            self.search.pass(count.trial.load);
        } else {
            self.search.fail(count.trial.load, count.forwarded(self.line(count.trial)));
        }
        if self.search.next().is_none() {
            let size = count.trial.size;
            let mbit_per_s = self.rate.bits_per_second() as f64 / 1e6;
            let frames = TICKS_PER_SECOND as f64 / self.line(count.trial).ticks() as f64;
            let flows = self.config.flows.len();
            let found = self.search.result();
            self.results.extend(report::throughput(size, found, flows, mbit_per_s, frames));
            self.size += 1;
            let guess = self.config.sizes.get(self.size).map(|next| self.same_frames(found, size, *next));
            self.search = Search::new(self.config.loads[0], guess, self.config.resolution);
        }
    }

    /// Load of frames of one size that are as many as those of another at `load`.
    fn same_frames(&self, load: Load, size: Bytes, other: Bytes) -> Load {
        let lines = [size, other].map(|size| line_bytes(size).get());
        let full = u64::from(Load::FULL.0);
        Load((u64::from(load.0) * lines[1] / lines[0]).min(full) as u32)
    }

    /// What was measured.
    pub(super) fn results(&self) -> &[Metric] {
        &self.results
    }
}
