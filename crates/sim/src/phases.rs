//! Parts of a run between changes of the machine: what each flow moved in each of them.

use lanewise_fabric::Simulation;
use lanewise_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

/// A part of a run in which the machine stayed as it was.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Phase {
    /// What happened at its beginning.
    pub name: String,
    /// When it began, simulated time.
    pub start_s: f64,
    /// When it ended.
    pub end_s: f64,
    /// Per flow, those that moved nothing included.
    pub flows: Vec<PhaseFlow>,
}

/// What a flow moved in a phase.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PhaseFlow {
    /// Name of the flow.
    pub name: String,
    /// Device it belongs to.
    pub device: String,
    /// `read`, `write`, or the instrument's word.
    pub direction: &'static str,
    /// Payload bytes; over all phases they add up to the flow's.
    pub bytes: u64,
    /// Requests or operations.
    pub operations: u64,
    /// Payload, 10⁹ B/s.
    pub goodput_gb_per_s: f64,
    /// Operations per second.
    pub operations_per_s: f64,
}

/// The phases of the measured part of a run; none when nothing changed.
pub(crate) fn phases(simulation: &Simulation, start: Time, end: Time) -> Vec<Phase> {
    let fabric = &simulation.fabric;
    if fabric.changes().is_empty() {
        return Vec::new();
    }
    let mut from = (start, "as it was at the start".to_owned(), Vec::new());
    let last = (end, String::new(), fabric.flow_counts());
    let changes =
        fabric.changes().iter().map(|change| (change.at, change.name.clone(), change.counts.clone()));
    let mut phases = Vec::new();
    for to in changes.chain([last]) {
        phases.push(phase(simulation, &from, &to));
        from = to;
    }
    phases
}

/// When, what, and what every flow had counted.
type Moment = (Time, String, Vec<(u64, u64)>);

fn phase(simulation: &Simulation, (start, name, before): &Moment, (end, _, after): &Moment) -> Phase {
    let seconds = end.saturating_since(*start).as_seconds();
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let tallies = simulation.fabric.observers().flows();
    let flows = simulation.listed_flows().filter_map(|index| {
        let (flow, after) = (&tallies[index], after.get(index)?);
        let before = before.get(index).copied().unwrap_or((0, 0));
        let (bytes, operations) = (after.0 - before.0, after.1 - before.1);
        Some(PhaseFlow {
            name: flow.spec.name.clone(),
            device: flow.spec.devices.label.clone(),
            direction: flow.spec.direction,
            bytes,
            operations,
            goodput_gb_per_s: per_second(bytes) / 1e9,
            operations_per_s: per_second(operations),
        })
    });
    Phase {
        name: name.clone(),
        start_s: (*start - Time::ZERO).as_seconds(),
        end_s: (*end - Time::ZERO).as_seconds(),
        flows: flows.collect(),
    }
}
