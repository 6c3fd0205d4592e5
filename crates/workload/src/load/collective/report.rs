//! What nccl-tests print of each size, and what the run is told.

use super::CollectiveWorkload;
use crate::latency::LatencyTally;
use crate::ports::called_by_fabric;
use crate::server::{asked_for, reading};
use lanewise_fabric::workload::{Metric, Workload};
use lanewise_fabric::{LoadPart, ResourceId, ResourceReading};
use lanewise_units::{Span, Time};

/// What was measured of one size.
#[derive(Clone, Default, Debug)]
pub(super) struct Timed {
    latency: LatencyTally,
}

impl Timed {
    pub(super) fn add(&mut self, latency: Span) {
        self.latency.add(latency);
    }
}

impl CollectiveWorkload {
    /// The row of a size. GB/s are 10^9 bytes a second, as nccl-tests print them. Of no operation there is no time.
    fn row(&self, pass: usize) -> Vec<Metric> {
        let (size, latency) = (self.config.passes[pass].size.get(), &self.timed[pass].latency);
        let before = if self.timed.len() > 1 { format!("{size} B ") } else { String::new() };
        let metric = |name: &str, value| Metric { name: format!("{before}{name}"), value };
        let operations = metric("operations", latency.count() as f64);
        if latency.count() == 0 {
            return vec![operations];
        }
        let us = latency.mean(Span::from_us(1));
        let algbw = size as f64 / us / 1e3;
        let busbw = algbw * self.config.operation.bus_factor(self.config.ranks.len() as u32);
        vec![
            metric("time (us)", us),
            metric("algbw (GB/s)", algbw),
            metric("busbw (GB/s)", busbw),
            operations,
        ]
    }
}

impl Workload for CollectiveWorkload {
    called_by_fabric!();

    fn report(&self, _window: (Time, Time)) -> Vec<Metric> {
        (0..self.timed.len()).flat_map(|pass| self.row(pass)).collect()
    }

    fn has_ended(&self) -> Option<bool> {
        self.config.operations.map(|_| self.over)
    }

    fn resources(&self, at: Time) -> Vec<ResourceReading> {
        let proxy = |(node, station): (u32, _)| {
            let id = ResourceId::of_load(&self.config.name, LoadPart::Proxy { node });
            let name = format!("{}.proxy[{node}]", self.config.name);
            reading(id, name, "1 thread".to_owned(), std::slice::from_ref(station), at)
        };
        let proxies = (0..).zip(&self.proxies).map(proxy);
        proxies.chain(self.network.resources(at)).filter(asked_for).collect()
    }

    fn held(&self) -> u64 {
        self.network.held()
    }

    fn start_measuring(&mut self, _now: Time) {
        if self.config.operations.is_none() {
            self.timed.fill(Timed::default());
        }
    }
}
