//! Runs a simulation until its results have settled and are narrow enough, or a limit is reached.

use crate::progress::RunProgress;
use crate::stop_rule::{Batches, Counts, Lacking, LatencyBatches, Stocks, has_settled};
use lanewise_fabric::{Progress, Simulation, Waiter};
use lanewise_observe::{CONTROL, FlowTally};
use lanewise_units::{Bytes, Span, Time};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// Simulated time, warm-up included.
    pub time_limit: Span,
    /// Events handled: no more than that.
    pub event_limit: u64,
    /// Memory of what is under way, in bytes.
    pub memory_limit: u64,
    /// Warm-up; none to find it from the results.
    pub warm_up: Option<Span>,
    /// Probability that the confidence interval covers the mean.
    pub confidence_level: f64,
    /// Half of the interval, as a part of the mean, at which a run has converged.
    pub relative_half_width: f64,
    /// What a percentile of latencies has to reach, too; none when throughput alone decides.
    pub latency: Option<LatencyGoal>,
    /// When the machine first changes, for instance because a drive changes hosts. Warm-up ends well before, and the
    /// run goes on until results after the last change are narrow enough.
    pub first_change: Option<Span>,
}

/// How well a percentile of latencies is to be known before a run ends.
#[derive(Clone, Copy, Debug)]
pub struct LatencyGoal {
    /// Between 0 and 1.
    pub percentile: f64,
    /// Half of the confidence interval, as a part of the percentile.
    pub relative_half_width: f64,
}

/// Why a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// The confidence interval of every flow that matters is narrow enough, since the last change of the machine.
    Converged,
    /// Every workload was done.
    Finished,
    /// The time limit was reached first.
    TimeLimit,
    /// The event limit was reached first.
    EventLimit,
    /// What is under way would have taken more memory than the run may.
    MemoryLimit,
    /// Requests are open and nothing moves.
    Stalled(Vec<Waiter>),
    /// The caller asked for an end.
    Interrupted,
}

impl EndReason {
    /// Name in results.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Converged => "Converged",
            Self::Finished => "Finished",
            Self::TimeLimit => "TimeLimit",
            Self::EventLimit => "EventLimit",
            Self::MemoryLimit => "MemoryLimit",
            Self::Stalled(_) => "Stalled",
            Self::Interrupted => "Interrupted",
        }
    }
}

/// What a run came to.
pub(crate) struct Outcome {
    pub(crate) reason: EndReason,
    /// The first window of warm-up that looked like the one before it was found, or warm-up was given.
    pub(crate) settled: bool,
    pub(crate) warm_up_end: Time,
    pub(crate) end: Time,
    /// Of the time since the last change of the machine.
    pub(crate) batches: Batches,
    /// Latencies at the ends of these batches, when a percentile decides.
    pub(crate) latencies: LatencyBatches,
    /// What was still missing at the end; none when nothing was.
    pub(crate) lacking: Option<Lacking>,
    /// A workload with an end of its own had not come to it.
    pub(crate) awaits_end: bool,
    /// Changes that the run did not come to.
    pub(crate) changes_ahead: usize,
}

/// Events, at most, between two looks at the clock of whoever watches.
const SLICE: u64 = 1 << 17;

/// First window of warm-up. Assumed: shorter than anything worth measuring.
const FIRST_WINDOW: Span = Span::from_us(8);

/// The most of the time limit that warm-up may take when it does not settle.
const WARM_UP_SHARE: u64 = 3;

/// Batches per window of warm-up: a batch is then long beside what the warm-up had to wait for.
const BATCHES_PER_WINDOW: u64 = 8;

struct Run<'a> {
    simulation: &'a mut Simulation,
    limits: RunLimits,
    progress: &'a mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
    /// When measuring began; nothing during the warm-up.
    measuring_since: Option<Time>,
    /// Events when whoever watches was last told.
    told_at: u64,
}

/// Runs `simulation` to its end.
pub(crate) fn run(
    simulation: &mut Simulation,
    limits: RunLimits,
    progress: &mut dyn FnMut(&RunProgress<'_>) -> ControlFlow<()>,
) -> Outcome {
    let mut run = Run { simulation, limits, progress, measuring_since: None, told_at: 0 };
    let mut outcome = Outcome {
        reason: EndReason::TimeLimit,
        settled: true,
        warm_up_end: Time::ZERO,
        end: Time::ZERO,
        batches: Batches::default(),
        latencies: LatencyBatches::default(),
        lacking: None,
        awaits_end: false,
        changes_ahead: 0,
    };
    match run.warm_up(&mut outcome) {
        Err(reason) => {
            // Nothing steady was found before the end: everything simulated is the result.
            outcome.reason = reason;
            outcome.end = run.end_time(&outcome);
            outcome.warm_up_end = Time::ZERO;
        }
        Ok(window) => {
            run.simulation.start_measuring(outcome.warm_up_end);
            run.measuring_since = Some(outcome.warm_up_end);
            outcome.reason = run.measure(&mut outcome, window);
        }
    }
    run.simulation.stop_measuring(outcome.end);
    outcome.changes_ahead = run.simulation.fabric.changes_ahead();
    outcome
}

impl Run<'_> {
    /// Runs until results have settled. Length of the last window, or why the run is over already.
    fn warm_up(&mut self, outcome: &mut Outcome) -> Result<Span, EndReason> {
        if let Some(warm_up) = self.limits.warm_up {
            outcome.warm_up_end = Time::ZERO + warm_up.min(self.limits.time_limit);
            self.advance(outcome.warm_up_end)?;
            return Ok(warm_up.max(FIRST_WINDOW));
        }
        let share = self.limits.time_limit.ticks() / WARM_UP_SHARE;
        // What was before the first change needs time to be measured in, too.
        let before_change = self.limits.first_change.map_or(share, |at| at.ticks() / 2);
        let longest = Time::from_ticks(share.min(before_change));
        let mut window = FIRST_WINDOW;
        let mut end = Time::ZERO + window;
        let mut before: Option<Counts> = None;
        let mut done = self.operations();
        let mut counted = self.counts();
        loop {
            outcome.warm_up_end = end.min(longest);
            self.advance(outcome.warm_up_end)?;
            if end >= longest {
                outcome.settled = false;
                return Ok(window);
            }
            let total = self.counts();
            let counts = difference(&total, &counted);
            counted = total;
            let operations = self.operations();
            let completed = difference(&operations, &done);
            done = operations;
            let settled = before.is_some_and(|before| has_settled(&before, &counts, &completed));
            if settled && self.everybody_has_begun() {
                return Ok(window);
            }
            before = Some(counts);
            window = window * 2;
            end += window;
        }
    }

    /// Collects batches until they are enough.
    fn measure(&mut self, outcome: &mut Outcome, window: Span) -> EndReason {
        let limit = Time::ZERO + self.limits.time_limit;
        let finds_warm_up = self.limits.warm_up.is_none() && self.limits.first_change.is_none();
        let longest = Time::from_ticks(self.limits.time_limit.ticks() / WARM_UP_SHARE);
        let mut stocks = Stocks::since(self.simulation.held());
        let mut batch = Span::from_ticks(window.ticks() / BATCHES_PER_WINDOW);
        let mut counted = self.counts();
        outcome.end = outcome.warm_up_end;
        let mut ahead = self.simulation.fabric.changes_ahead();
        while outcome.end + batch <= limit {
            if let Err(reason) = self.advance(outcome.end + batch) {
                outcome.end = self.end_time(outcome);
                return reason;
            }
            outcome.end += batch;
            let total = self.counts();
            let merged = outcome.batches.push(difference(&total, &counted));
            if merged {
                batch = batch * 2;
            }
            counted = total;
            stocks.push(self.simulation.held(), merged);
            if self.limits.latency.is_some() {
                let flows = self.simulation.fabric.observers().flows();
                outcome.latencies.push(flows.iter().map(|flow| flow.widest().clone()).collect(), merged);
            }
            if ahead > 0 {
                // Whatever was seen before the last change, or while it went on, is not what comes after it.
                if self.simulation.fabric.changes_ahead() < ahead {
                    ahead = self.simulation.fabric.changes_ahead();
                    outcome.batches = Batches::default();
                    outcome.latencies = LatencyBatches::default();
                }
                if ahead > 0 {
                    continue;
                }
            }
            // A workload with an end of its own is let come to it.
            outcome.awaits_end = self.simulation.have_ended().is_some();
            if !outcome.awaits_end && outcome.batches.is_time_to_look() {
                outcome.lacking = self.lacking(outcome);
                let moved = outcome.batches.moved_in_a_batch();
                if finds_warm_up && stocks.grow(moved, self.limits.relative_half_width) {
                    outcome.settled = outcome.end < longest;
                    if outcome.settled {
                        // All so far was warm-up. The next look is later by a longer time, for as long as it goes on.
                        self.measure_anew(outcome);
                        (stocks, counted, batch) =
                            (Stocks::since(self.simulation.held()), self.counts(), batch * 2);
                        continue;
                    }
                }
                if outcome.lacking.is_none() {
                    return EndReason::Converged;
                }
            }
        }
        match self.advance(limit) {
            Ok(()) => outcome.end = limit,
            Err(reason) => {
                outcome.end = self.end_time(outcome);
                return reason;
            }
        }
        outcome.lacking = self.lacking(outcome);
        if outcome.lacking.is_none() && !outcome.awaits_end && ahead == 0 {
            return EndReason::Converged;
        }
        EndReason::TimeLimit
    }

    /// What was measured so far is forgotten.
    fn measure_anew(&mut self, outcome: &mut Outcome) {
        outcome.warm_up_end = outcome.end;
        (outcome.batches, outcome.latencies) = (Batches::default(), LatencyBatches::default());
        self.simulation.start_measuring(outcome.end);
        self.measuring_since = Some(outcome.end);
    }

    /// What keeps the results from being narrow enough.
    fn lacking(&self, outcome: &Outcome) -> Option<Lacking> {
        let RunLimits { confidence_level, relative_half_width, latency, .. } = self.limits;
        outcome.batches.lacking(confidence_level, relative_half_width).or_else(|| {
            let LatencyGoal { percentile, relative_half_width } = latency?;
            let flows = outcome.batches.decisive();
            outcome.latencies.lacking(&flows, percentile, confidence_level, relative_half_width)
        })
    }

    /// Whether every workload has moved something on each of its devices. What takes longer than the first windows, such as
    /// the reads of a drive beside a fast adapter, has not settled at nothing. While the machine is still to change, some
    /// may have nothing to do yet.
    fn everybody_has_begun(&self) -> bool {
        let flows = self.simulation.fabric.observers().flows();
        let about_data = |flow: &&FlowTally| flow.spec.direction != CONTROL;
        let mut begun: HashMap<(&str, &str), bool> = HashMap::new();
        for flow in flows.iter().filter(about_data) {
            let spec = &flow.spec;
            *begun.entry((&spec.name, &spec.device)).or_default() |=
                flow.payload() > Bytes::ZERO || flow.operations() > 0;
        }
        self.simulation.fabric.changes_ahead() > 0 || begun.into_values().all(|begun| begun)
    }

    fn end_time(&self, outcome: &Outcome) -> Time {
        self.simulation.fabric.now().max(outcome.end)
    }

    /// Simulates up to `until`, or says why the run is over.
    fn advance(&mut self, until: Time) -> Result<(), EndReason> {
        loop {
            let left = self.limits.event_limit.saturating_sub(self.simulation.events_handled());
            let reached = self.simulation.run_until(until, SLICE.min(left));
            match reached {
                Progress::Finished => return Err(EndReason::Finished),
                Progress::Stalled { waiting } => return Err(EndReason::Stalled(waiting)),
                Progress::Reached | Progress::EventLimit => {}
            }
            let events = self.simulation.events_handled();
            // Many stretches may be shorter than a slice, and whoever watches waits for none of them.
            if events - self.told_at >= SLICE {
                self.told_at = events;
                if self.simulation.bytes_under_way() > self.limits.memory_limit {
                    return Err(EndReason::MemoryLimit);
                }
                let report = RunProgress::new(self.simulation, self.limits.time_limit, self.measuring_since);
                if (self.progress)(&report).is_break() {
                    return Err(EndReason::Interrupted);
                }
            }
            if events >= self.limits.event_limit {
                return Err(EndReason::EventLimit);
            }
            if reached == Progress::Reached {
                return Ok(());
            }
        }
    }

    /// Throughput so far in this window of observation: payload, or operations of flows that move none.
    fn counts(&self) -> Counts {
        let count = |flow: &FlowTally| match flow.payload().get() {
            0 => flow.operations(),
            payload => payload,
        };
        self.simulation.fabric.observers().flows().iter().map(count).collect()
    }

    /// Requests or operations completed, by flow.
    fn operations(&self) -> Counts {
        self.simulation.fabric.observers().flows().iter().map(|flow| flow.operations()).collect()
    }
}

/// What was counted since. Flows may have been added, and one whose operations were counted counts bytes from its first on.
fn difference(now: &[u64], before: &[u64]) -> Counts {
    let before = before.iter().copied().chain(std::iter::repeat(0));
    now.iter().zip(before).map(|(now, before)| now.saturating_sub(before)).collect()
}
