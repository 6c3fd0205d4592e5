//! SmartFlow's results under its own names.
//!
//! Rates are in Mb/s of line: a frame counts with its preamble and the gap behind it, so that a full line is the
//! rate of the line at every size. Latency is that of a device that stores and forwards (RFC 1242 §3.8): from the
//! last bit in to the first bit out.

use super::config::{Load, SmartFlowConfig, TrafficFlow};
use super::trial::{Count, FlowCount};
use crate::latency::LatencyTally;
use lanewise_fabric::workload::Metric;
use lanewise_units::{Bytes, Span};
use std::collections::BTreeSet;

/// Unit of its latencies.
const MICROSECOND: Span = Span::from_us(1);

fn latency_metrics(tally: &LatencyTally, prefix: &str) -> [Metric; 4] {
    [
        metric(format!("{prefix} minimum (us)"), tally.least(MICROSECOND)),
        metric(format!("{prefix} average (us)"), tally.mean(MICROSECOND)),
        metric(format!("{prefix} maximum (us)"), tally.largest(MICROSECOND)),
        metric(format!("{prefix} standard deviation (us)"), tally.deviation(MICROSECOND)),
    ]
}

pub(super) fn metric(name: String, value: f64) -> Metric {
    Metric { name, value }
}

/// Throughput of a size: the load found, summed over the flows.
pub(super) fn throughput(size: Bytes, load: Load, flows: usize, mbit_per_s: f64, frames: f64) -> [Metric; 3] {
    let share = load.as_percent() / 100.0 * flows as f64;
    let label = label(size);
    [
        metric(format!("throughput {label} (Mb/s)"), share * mbit_per_s),
        metric(format!("throughput {label} (% of line)"), load.as_percent()),
        metric(format!("throughput {label} (frames/s)"), share * frames),
    ]
}

/// Loss of a trial: over all flows, then in each group and of each priority.
pub(super) fn frame_loss(count: &Count, config: &SmartFlowConfig) -> Vec<Metric> {
    let label = trial_label(count);
    let of_group = |(name, sum): (String, FlowCount)| {
        metric(format!("frame loss {label} {name} (%)"), loss_percent(&sum))
    };
    let all = metric(format!("frame loss {label} (%)"), count.loss_percent());
    [all].into_iter().chain(groups(count, config).into_iter().map(of_group)).collect()
}

fn loss_percent(count: &FlowCount) -> f64 {
    100.0 * count.lost as f64 / count.sent.max(1) as f64
}

/// Latency in a trial: over all flows, then in each group and of each priority.
pub(super) fn latency(count: &Count, config: &SmartFlowConfig) -> Vec<Metric> {
    let label = trial_label(count);
    let all = count.flows.iter().fold(LatencyTally::default(), |sum, flow| sum.plus(flow.latency));
    let mut metrics = latency_metrics(&all, &format!("latency {label}")).to_vec();
    for (name, sum) in groups(count, config) {
        metrics.extend(latency_metrics(&sum.latency, &format!("latency {label} {name}")));
    }
    metrics
}

/// Frames within each bucket.
pub(super) fn distribution(count: &Count, config: &SmartFlowConfig, buckets: &[u64]) -> Vec<Metric> {
    let label = trial_label(count);
    let bounds = config.buckets.iter().map(|end| format!("up to {:.1} us", end.as_ns() / 1e3));
    let above = config.buckets.last().map_or(0.0, |end| end.as_ns() / 1e3);
    let names = bounds.chain([format!("above {above:.1} us")]);
    names
        .zip(buckets)
        .map(|(name, frames)| metric(format!("latency {label} {name} (frames)"), *frames as f64))
        .collect()
}

/// Latency of single frames, flow by flow.
pub(super) fn snapshot(count: &Count, config: &SmartFlowConfig) -> Vec<Metric> {
    let label = trial_label(count);
    let of_flow = |(flow, count): (&TrafficFlow, &FlowCount)| {
        let name = flow.name.clone();
        let label = label.clone();
        let frames = count.snapshot.clone().into_iter().enumerate();
        frames.map(move |(number, latency)| {
            metric(format!("latency {label} {name} frame {} (us)", number + 1), latency.as_ns() / 1e3)
        })
    };
    config.flows.iter().zip(&count.flows).flat_map(of_flow).collect()
}

/// Each flow on its own, then each group and each priority.
pub(super) fn tracker(count: &Count, config: &SmartFlowConfig) -> Vec<Metric> {
    let label = trial_label(count);
    let mut metrics: Vec<Metric> = config
        .flows
        .iter()
        .zip(&count.flows)
        .flat_map(|(flow, count)| tracked(&format!("{label} {}", flow.name), count))
        .collect();
    for (name, sum) in groups(count, config) {
        metrics.extend(tracked(&format!("{label} {name}"), &sum));
    }
    metrics
}

/// The groups of flows, such as kinds of traffic, each summed up; then their priorities, where there are several.
fn groups(count: &Count, config: &SmartFlowConfig) -> Vec<(String, FlowCount)> {
    let (mut names, mut priorities) = (BTreeSet::new(), BTreeSet::new());
    for flow in &config.flows {
        names.insert(flow.group.as_str());
        priorities.insert(flow.priority);
    }
    let several = priorities.len() > 1;
    let by_name = names.into_iter().filter(|name| !name.is_empty());
    let by_name =
        by_name.map(|name| (format!("group {name}"), sum(count, config, |flow| flow.group == name)));
    let by_priority = priorities.into_iter().rev().filter(|_| several);
    let by_priority = by_priority.map(|priority| {
        (format!("priority {priority}"), sum(count, config, |flow| flow.priority == priority))
    });
    by_name.chain(by_priority).collect()
}

/// The sum over the flows of one kind.
fn sum(count: &Count, config: &SmartFlowConfig, is_member: impl Fn(&TrafficFlow) -> bool) -> FlowCount {
    let members = config.flows.iter().zip(&count.flows).filter(|(flow, _)| is_member(flow));
    members.fold(FlowCount::default(), |sum, (_, flow)| FlowCount {
        sent: sum.sent + flow.sent,
        received: sum.received + flow.received,
        lost: sum.lost + flow.lost,
        latency: sum.latency.plus(flow.latency),
        snapshot: Vec::new(),
    })
}

fn tracked(prefix: &str, count: &FlowCount) -> Vec<Metric> {
    let mut metrics = vec![
        metric(format!("{prefix} sent (frames)"), count.sent as f64),
        metric(format!("{prefix} received (frames)"), count.received as f64),
        metric(format!("{prefix} lost (frames)"), count.lost as f64),
    ];
    metrics.extend(latency_metrics(&count.latency, &format!("{prefix} latency")));
    metrics
}

fn label(size: Bytes) -> String {
    format!("{} B", size.get())
}

fn trial_label(count: &Count) -> String {
    format!("{} at {:.2} %", label(count.trial.size), count.trial.load.as_percent())
}
