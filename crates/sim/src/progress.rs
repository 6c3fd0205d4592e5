//! How a run is getting on, for a display of it: how far it is, and what its flows have come to so far.
//!
//! As in IOmeter's display of results, a flow has rates since the last update and of the whole test, which begins when the
//! warm-up is over. Leaves out: the largest latency since the last update, because only that of the whole test is kept.

use crate::measured::is_in_total;
use lanewise_fabric::Simulation;
use lanewise_observe::{FlowTally, LatencyOf};
use lanewise_units::{Span, Time};
use schemars::JsonSchema;
use serde::Serialize;

/// How a run is getting on.
#[derive(Clone, Copy)]
pub struct RunProgress<'a> {
    /// Simulated so far.
    pub simulated: Span,
    /// The most that will be simulated.
    pub time_limit: Span,
    /// Events handled so far.
    pub events: u64,
    /// When the warm-up was over and measuring began; nothing before.
    pub measuring_since: Option<Time>,
    /// None where it is told from another thread than that of the run.
    simulation: Option<&'a Simulation>,
}

impl<'a> RunProgress<'a> {
    pub(crate) fn new(
        simulation: &'a Simulation,
        now: Time,
        time_limit: Span,
        measuring_since: Option<Time>,
    ) -> Self {
        let simulated = now - Time::ZERO;
        let events = simulation.events_handled();
        Self { simulated, time_limit, events, measuring_since, simulation: Some(simulation) }
    }

    /// The same of a run of which no more than up to a time is wanted.
    pub(crate) fn up_to(self, until: Time) -> Self {
        Self { time_limit: self.time_limit.min(until - Time::ZERO), ..self }
    }
}

/// How a run is getting on, for another thread than its own, which cannot look into the simulation.
#[derive(Clone, Copy)]
pub(crate) struct SoFar {
    simulated: Span,
    time_limit: Span,
    events: u64,
    measuring_since: Option<Time>,
}

impl From<&RunProgress<'_>> for SoFar {
    fn from(progress: &RunProgress<'_>) -> Self {
        let RunProgress { simulated, time_limit, events, measuring_since, .. } = *progress;
        Self { simulated, time_limit, events, measuring_since }
    }
}

impl From<SoFar> for RunProgress<'_> {
    fn from(SoFar { simulated, time_limit, events, measuring_since }: SoFar) -> Self {
        Self { simulated, time_limit, events, measuring_since, simulation: None }
    }
}

/// What a flow has come to.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct FlowUpdate {
    /// Name.
    pub flow: String,
    /// Device it belongs to.
    pub device: String,
    /// `read`, `write`, or the instrument's word.
    pub direction: &'static str,
    /// Whether its payload is in the total, as in results.
    pub in_total: bool,
    /// Since the last update.
    pub last: Rates,
    /// Since measuring began; during the warm-up, since the run began.
    pub whole: Rates,
    /// Largest latency in `whole`, ns; none when nothing was completed.
    pub latency_ns_max: Option<f64>,
}

/// Rates over some time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Rates {
    /// Payload, 10⁹ B/s.
    pub goodput_gb_per_s: f64,
    /// Requests, or operations as the instrument counts them, per second.
    pub operations_per_s: f64,
    /// Mean latency of these, ns; none when there were none.
    pub latency_ns_mean: Option<f64>,
}

/// Remembers what was there at the last update.
#[derive(Clone, Debug, Default)]
pub struct Updates {
    measuring_since: Option<Time>,
    at: Time,
    flows: Vec<Counts>,
}

impl Updates {
    /// Every flow since the last call, which may come before anything of it, and since measuring began. None of runs that are side by
    /// side, as those of [`crate::why`] are.
    pub fn next(&mut self, progress: &RunProgress<'_>) -> Vec<FlowUpdate> {
        let now = Time::ZERO + progress.simulated;
        let began = progress.measuring_since.unwrap_or(Time::ZERO);
        if progress.measuring_since != self.measuring_since {
            // Counts begin anew with the measuring.
            *self = Self { measuring_since: progress.measuring_since, at: began, flows: Vec::new() };
        }
        let Some(simulation) = progress.simulation else { return Vec::new() };
        let tallies = simulation.fabric.observers().flows();
        self.flows.resize(tallies.len(), Counts::default());
        let updates = simulation.listed_flows().map(|index| {
            let (tally, before) = (&tallies[index], &mut self.flows[index]);
            let mut counts = Counts::of(tally);
            let last = counts.since(before, now.saturating_since(self.at));
            counts.rate = last.operations_per_s;
            *before = counts;
            FlowUpdate {
                flow: tally.spec.name.clone(),
                device: tally.spec.devices.label.clone(),
                direction: tally.spec.direction,
                in_total: is_in_total(&tally.spec),
                last,
                whole: counts.since(&Counts::default(), now.saturating_since(began)),
                latency_ns_max: (counts.operations > 0).then(|| tally.latency_max_ns()),
            }
        });
        let updates = updates.collect();
        self.at = now;
        updates
    }
}

/// What a flow has counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    payload: u64,
    operations: u64,
    latency_sum_s: f64,
    /// Whether its operations are frames, one after another.
    in_turn: bool,
    /// Operations a second that were told last.
    rate: f64,
}

impl Counts {
    fn of(tally: &FlowTally) -> Self {
        let (payload, operations) = (tally.payload().get(), tally.operations());
        let in_turn = matches!(tally.spec.latency, LatencyOf::FrameInTurn);
        Self { payload, operations, latency_sum_s: tally.latency_sum_seconds(), in_turn, rate: 0.0 }
    }

    fn since(&self, before: &Self, time: Span) -> Rates {
        let per_second = |count: u64| count as f64 / time.as_seconds().max(f64::MIN_POSITIVE);
        let operations = self.operations - before.operations;
        let latency_s = (self.latency_sum_s - before.latency_sum_s) / operations as f64;
        Rates {
            goodput_gb_per_s: per_second(self.payload - before.payload) / 1e9,
            // As in results, frames in turn count over the time that the whole ones took: an update cuts one in two, and may see none end.
            operations_per_s: match (self.in_turn, operations) {
                (false, _) => per_second(operations),
                (true, 0) => before.rate,
                (true, _) => 1.0 / latency_s,
            },
            latency_ns_mean: (operations > 0).then_some(latency_s * 1e9),
        }
    }
}
