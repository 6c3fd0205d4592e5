//! IOmeter's results, under IOmeter's own names.
//!
//! A "MB" is 1,048,576 bytes, as Iometer 2004.07.30 divides. CPU figures are those of the modelled costs, as
//! Windows counts them: privileged time includes deferred procedure calls and interrupts, and 100 % is all cores busy.
//! Leaves out: connections and network figures, which these workers never have. Every I/O that ends in the measured
//! window counts, also when it started before, which Iometer leaves out; in the steady state that is the same.

use crate::host::cpu::CpuShares;
use crate::latency::LatencyTally;
use lanewise_fabric::workload::Metric;
use lanewise_units::Span;

/// Bytes of IOmeter's megabyte.
const MEGABYTE: f64 = 1_048_576.0;

/// Bytes and latency of one kind of I/O or transaction.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    pub bytes: u64,
    latency: LatencyTally,
}

impl Tally {
    pub(crate) fn add(&mut self, bytes: u64, latency: Span) {
        self.bytes += bytes;
        self.latency.add(latency);
    }

    fn plus(mut self, other: Self) -> Self {
        self.bytes += other.bytes;
        self.latency = self.latency.plus(other.latency);
        self
    }

    fn average_ms(&self) -> f64 {
        self.latency.mean(Span::from_ms(1))
    }

    fn longest_ms(&self) -> f64 {
        self.latency.largest(Span::from_ms(1))
    }
}

/// What a group of workers has done in the window.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct GroupTally {
    pub read: Tally,
    pub write: Tally,
    pub transaction: Tally,
}

impl GroupTally {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            read: self.read.plus(other.read),
            write: self.write.plus(other.write),
            transaction: self.transaction.plus(other.transaction),
        }
    }
}

/// Operations, megabytes, latencies and errors of a group. `prefix` is put before each name.
pub(crate) fn io_metrics(prefix: &str, tally: &GroupTally, window: Span) -> Vec<Metric> {
    let all = tally.read.plus(tally.write);
    let rate = |amount: f64| if window.is_zero() { 0.0 } else { amount / window.as_seconds() };
    let rows = [
        ("Total I/Os per Second", rate(all.latency.count() as f64)),
        ("Read I/Os per Second", rate(tally.read.latency.count() as f64)),
        ("Write I/Os per Second", rate(tally.write.latency.count() as f64)),
        ("Transactions per Second", rate(tally.transaction.latency.count() as f64)),
        ("Total MBs per Second", rate(all.bytes as f64 / MEGABYTE)),
        ("Read MBs per Second", rate(tally.read.bytes as f64 / MEGABYTE)),
        ("Write MBs per Second", rate(tally.write.bytes as f64 / MEGABYTE)),
        ("Average I/O Response Time (ms)", all.average_ms()),
        ("Avg. Read Response Time (ms)", tally.read.average_ms()),
        ("Avg. Write Response Time (ms)", tally.write.average_ms()),
        ("Avg. Transaction Time (ms)", tally.transaction.average_ms()),
        ("Maximum I/O Response Time (ms)", all.longest_ms()),
        ("Max. Read Response Time (ms)", tally.read.longest_ms()),
        ("Max. Write Response Time (ms)", tally.write.longest_ms()),
        ("Max. Transaction Time (ms)", tally.transaction.longest_ms()),
        ("Total Error Count", 0.0),
        ("Read Error Count", 0.0),
        ("Write Error Count", 0.0),
    ];
    rows.into_iter().map(|(name, value)| Metric { name: format!("{prefix}{name}"), value }).collect()
}

/// The CPU group, which there is one of for the host.
pub(crate) fn cpu_metrics(
    shares: &CpuShares,
    interrupts: u64,
    all: &GroupTally,
    window: Span,
) -> Vec<Metric> {
    let rate = |amount: f64| if window.is_zero() { 0.0 } else { amount / window.as_seconds() };
    let ios = rate(all.read.plus(all.write).latency.count() as f64);
    let effectiveness = if shares.total > 0.0 { ios / shares.total } else { 0.0 };
    let rows = [
        ("% CPU Utilization (total)", shares.total),
        ("% User Time", shares.user),
        ("% Privileged Time", shares.privileged),
        ("% DPC Time", shares.deferred),
        ("% Interrupt Time", shares.interrupt),
        ("Interrupts per Second", rate(interrupts as f64)),
        ("CPU Effectiveness", effectiveness),
    ];
    rows.into_iter().map(|(name, value)| Metric { name: name.into(), value }).collect()
}
