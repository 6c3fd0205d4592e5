//! Loads that hold themselves back: how much of what they may have open is.

use super::edits::paced;
use crate::results::Results;
use lanewise_observe::CONTROL;
use lanewise_scenario::Scenario;
use std::collections::HashMap;

/// A load that has more of what it may open does not hold itself back.
const ALL: f64 = 0.9;

/// By name of their flows, loads with a rate or pauses of their own that have less open than they may: which part of it, by Little's
/// law. `transfers` has, by name, the flows through which the same data go.
pub(super) fn part_open(
    scenario: &Scenario,
    results: &Results,
    transfers: &HashMap<String, Vec<String>>,
) -> HashMap<String, f64> {
    let mut most: HashMap<String, u64> = HashMap::new();
    for (flow, operations) in scenario.workloads.iter().flat_map(|load| load.open_at_most()) {
        *most.entry(flow).or_default() += operations;
    }
    let mut open: HashMap<&str, (f64, Vec<&String>)> = HashMap::new();
    for flow in results.flows.iter().filter(|flow| flow.direction != CONTROL) {
        if most.contains_key(&flow.name) {
            let (number, devices) = open.entry(&flow.name).or_default();
            *number += flow.operations_per_s * flow.latency_ns.mean.unwrap_or_default() / 1e9;
            devices.extend(&flow.devices);
        }
    }
    let part = |(name, (number, devices)): (&str, (f64, Vec<_>))| {
        let part = number / most[name] as f64;
        (part < ALL).then(|| (name.to_owned(), part, devices))
    };
    let less: Vec<(String, f64, Vec<&String>)> = open.into_iter().filter_map(part).collect();
    if less.is_empty() {
        return HashMap::new();
    }
    let paced = paced(scenario, results);
    let held =
        less.into_iter().filter(|(_, _, devices)| devices.iter().any(|name| paced.contains(name.as_str())));
    // Adapters on the way to drives have flows of their own.
    let with_others = |(flow, part, _): (String, f64, _)| {
        let others = transfers.get(&flow).cloned().unwrap_or_default();
        others.into_iter().chain([flow]).map(move |flow| (flow, part))
    };
    held.flat_map(with_others).collect()
}
