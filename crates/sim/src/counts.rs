//! What a simulation has counted, flow by flow, as the stop rule looks at it.

use crate::stop_rule::Counts;
use lanewise_fabric::Simulation;
use lanewise_observe::{CONTROL, FlowTally, LatencyTally};
use lanewise_units::{Bytes, Time};
use std::collections::HashMap;

/// Whether every workload has moved something on each of its devices. What takes longer than the first windows, such as
/// the reads of a drive beside a fast adapter, has not settled at nothing. While the machine is still to change, some
/// may have nothing to do yet.
pub(crate) fn everybody_has_begun(simulation: &Simulation) -> bool {
    let flows = simulation.fabric.observers().flows();
    let about_data = |flow: &&FlowTally| flow.spec.direction != CONTROL;
    let mut begun: HashMap<(&str, &str), bool> = HashMap::new();
    for flow in flows.iter().filter(about_data) {
        let spec = &flow.spec;
        *begun.entry((&spec.name, &spec.devices.label)).or_default() |=
            flow.payload() > Bytes::ZERO || flow.operations() > 0;
    }
    simulation.fabric.changes_ahead() > 0 || begun.into_values().all(|begun| begun)
}

/// Throughput so far in this window of observation: payload, or operations of flows that move none.
pub(crate) fn counts(simulation: &Simulation) -> Counts {
    let count = |flow: &FlowTally| match flow.payload().get() {
        0 => flow.operations(),
        payload => payload,
    };
    simulation.fabric.observers().flows().iter().map(count).collect()
}

/// For so many operations a long one counts: two are as many as a window needs. Its data fill whatever fills, and between the ends of two
/// lies a whole one with its pause.
const MOST_OF_A_LONG_ONE: u64 = 8;

/// Requests or operations completed, by flow: whichever a rate takes several of. Where workloads come to an end, what they do may be of
/// another kind later, and each operation counts once.
pub(crate) fn operations(simulation: &Simulation) -> Counts {
    let most_of_one = if simulation.have_ended().is_some() { 1 } else { MOST_OF_A_LONG_ONE };
    simulation.fabric.observers().flows().iter().map(|flow| flow.rounds(most_of_one)).collect()
}

/// What was counted since. Flows may have been added, and one whose operations were counted counts bytes from its first on.
pub(crate) fn difference(now: &[u64], before: &[u64]) -> Counts {
    let before = before.iter().copied().chain(std::iter::repeat(0));
    now.iter().zip(before).map(|(now, before)| now.saturating_sub(before)).collect()
}

/// Flows whose operations took longer, in the mean, than all the time from the start to `measured_from`: the first of those measured
/// were begun while the queues before them still filled.
///
/// Where so many are always open and served in order, a queue has filled when the first of those that were there at the start is
/// done with the whole of it, and from then on each takes as long: exactly those that are measured from earlier have a mean beyond that time.
/// Operations that follow each other, such as copies of one stream, have no queue that fills.
pub(crate) fn begun_while_filling(simulation: &Simulation, measured_from: Time) -> Vec<usize> {
    let seconds = |from: Time, to: Time| (to - from).as_seconds();
    let before = seconds(Time::ZERO, measured_from);
    let measured = seconds(measured_from, simulation.happened_until().max(measured_from));
    let takes_longer = |flow: &FlowTally| {
        let latencies = flow.widest();
        latencies.count() > 0
            && latencies.sum_seconds() > before * latencies.count() as f64
            && overlap(latencies, measured, flow.spec.latency.is_in_turn())
    };
    let flows = simulation.fabric.observers().flows().iter().enumerate();
    flows.filter(|(_, flow)| takes_longer(flow)).map(|(number, _)| number).collect()
}

/// Whether operations that were done in so many seconds were open at the same time, or may have been: of several that follow each other,
/// all but the first began within this time. Of a single one its flow says whether they do.
fn overlap(latencies: &LatencyTally, seconds: f64, is_in_turn: bool) -> bool {
    let all_but_one = || latencies.sum_seconds() - latencies.summary().min_ns * 1e-9;
    if latencies.count() == 1 { !is_in_turn } else { all_but_one() > seconds * (1.0 + 1e-9) }
}
