//! Runs a simulation until its results have settled and are narrow enough, or a limit is reached.
//!
//! A run is a chain of stretches: windows of warm-up, then batches. At the end of each it is looked at what they counted, and how
//! long the next one is. The caller may stop anywhere within a stretch and go on later; only the end of a stretch is a look at
//! the simulation, so the pieces in which a run is done change nothing about it.

use crate::bit_errors::{BitErrors, Uncertain};
use crate::counts::{begun_while_filling, counts, difference, everybody_has_begun, operations};
use crate::run_limits::{EndReason, LatencyGoal, RunLimits};
use crate::stop_rule::{
    Batches, Counts, FEWEST_BATCHES, Lacking, LatencyBatches, Settled, Stocks, has_settled,
};
use lanewise_fabric::{Pause, Progress, Simulation};
use lanewise_observe::LatencyTally;
use lanewise_units::{Span, Time};

/// What a run came to.
pub(crate) struct Outcome {
    pub(crate) reason: EndReason,
    /// The first window of warm-up that looked like the one before it was found, or warm-up was given.
    pub(crate) settled: Settled,
    pub(crate) warm_up_end: Time,
    pub(crate) end: Time,
    /// Of the time since the last change of the machine.
    pub(crate) batches: Batches,
    /// Latencies at the ends of these batches, when a percentile decides.
    pub(crate) latencies: LatencyBatches,
    /// How far it may be off because of bit errors; none where no bit is wrong.
    pub(crate) bit_errors: Option<Uncertain>,
    /// What was still missing at the end; none when nothing was.
    pub(crate) lacking: Option<Lacking>,
    /// A workload with an end of its own had not come to it.
    pub(crate) awaits_end: bool,
    /// Changes that the run did not come to.
    pub(crate) changes_ahead: usize,
}

/// Events, at most, between two looks at the clock of the caller.
const SLICE: u64 = 1 << 17;

/// First window of warm-up. Assumed: shorter than anything worth measuring.
const FIRST_WINDOW: Span = Span::from_us(8);

/// The most of the time limit that warm-up may take when it does not settle.
const WARM_UP_SHARE: u64 = 3;

/// Batches per window of warm-up: a batch is then long beside what the warm-up had to wait for.
const BATCHES_PER_WINDOW: u64 = 8;

/// How a piece of a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    /// The pause was reached.
    Paused,
    /// So much has happened that the caller wants to hear of it.
    Long,
    /// The run is over.
    Over,
}

/// Windows of warm-up, each twice as long as the one before.
struct WarmUp {
    window: Span,
    /// End of this one.
    end: Time,
    /// The most that it may take.
    longest: Time,
    /// Whether it ends then because the caller said so.
    is_given: bool,
    /// What the window before counted.
    before: Option<Counts>,
    counted: Counts,
    done: Counts,
}

/// Batches.
struct Measuring {
    batch: Span,
    stocks: Stocks,
    counted: Counts,
    /// Changes of the machine that are still to come.
    ahead: usize,
    finds_warm_up: bool,
    /// Something was changed since the last batch began.
    is_disturbed: bool,
}

enum Stage {
    WarmingUp(WarmUp),
    Measuring(Measuring),
    Over,
}

/// The least time limit that leaves enough batches for an interval behind a warm-up that is given.
pub(crate) fn least_time_limit(warm_up: Span) -> Span {
    let batch = Span::from_ticks(warm_up.max(FIRST_WINDOW).ticks() / BATCHES_PER_WINDOW);
    // A warm-up of hours may want more time than there is.
    Span::from_ticks(warm_up.ticks().saturating_add(batch.ticks().saturating_mul(FEWEST_BATCHES as u64)))
}

/// The latencies of every flow so far.
fn latencies(simulation: &Simulation) -> Vec<LatencyTally> {
    simulation.fabric.observers().flows().iter().map(|flow| flow.widest().clone()).collect()
}

/// A run and how far it has come.
pub(crate) struct Run {
    limits: RunLimits,
    stage: Stage,
    outcome: Outcome,
    bit_errors: BitErrors,
    /// When measuring began; nothing during the warm-up.
    measuring_since: Option<Time>,
    /// Events when the caller was last told.
    told_at: u64,
    /// Events at which the present slice of the stretch ends; none when it is to begin.
    slice_end: Option<u64>,
    /// How that slice ended, when the caller was told first.
    reached: Option<Progress>,
}

impl Run {
    /// Before the first event.
    pub(crate) fn new(limits: RunLimits, bit_errors: BitErrors) -> Self {
        let share = limits.time_limit.ticks() / WARM_UP_SHARE;
        // What was before the first change needs time to be measured in, too.
        let before_change = limits.first_change.map_or(share, |at| at.ticks() / 2);
        let warm_up = match limits.warm_up {
            Some(warm_up) => WarmUp {
                window: warm_up.max(FIRST_WINDOW),
                end: Time::ZERO + warm_up.min(limits.time_limit),
                longest: Time::ZERO + warm_up.min(limits.time_limit),
                is_given: true,
                before: None,
                counted: Counts::new(),
                done: Counts::new(),
            },
            None => WarmUp {
                window: FIRST_WINDOW,
                end: Time::ZERO + FIRST_WINDOW,
                longest: Time::from_ticks(share.min(before_change)),
                is_given: false,
                before: None,
                counted: Counts::new(),
                done: Counts::new(),
            },
        };
        let outcome = Outcome {
            reason: EndReason::TimeLimit,
            settled: Settled::Yes,
            warm_up_end: Time::ZERO,
            end: Time::ZERO,
            batches: Batches::default(),
            latencies: LatencyBatches::default(),
            bit_errors: None,
            lacking: None,
            awaits_end: false,
            changes_ahead: 0,
        };
        let stage = Stage::WarmingUp(warm_up);
        Self {
            limits,
            stage,
            outcome,
            bit_errors,
            measuring_since: None,
            told_at: 0,
            slice_end: None,
            reached: None,
        }
    }

    pub(crate) fn limits(&self) -> RunLimits {
        self.limits
    }

    pub(crate) fn measuring_since(&self) -> Option<Time> {
        self.measuring_since
    }

    /// What it came to; none before its end.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        matches!(self.stage, Stage::Over).then_some(&self.outcome)
    }

    /// Goes on until `pause`, until much has happened, or to the end.
    pub(crate) fn go(&mut self, simulation: &mut Simulation, pause: Pause) -> Piece {
        let pause_event = simulation.events_handled().saturating_add(pause.events);
        loop {
            let until = match &self.stage {
                Stage::WarmingUp(warm_up) => warm_up.end.min(warm_up.longest),
                Stage::Measuring(measuring) => {
                    (self.outcome.end + measuring.batch).min(Time::ZERO + self.limits.time_limit)
                }
                Stage::Over => return Piece::Over,
            };
            let reason = match self.advance(simulation, until, (pause.at, pause_event)) {
                Ok(Some(piece)) => return piece,
                Ok(None) => self.end_of_stretch(simulation, until),
                Err(reason) => Some(reason),
            };
            if let Some(reason) = reason {
                self.end(simulation, reason, simulation.happened_until());
            }
        }
    }

    /// The end of the last stretch: everything up to then has happened.
    pub(crate) fn reached_until(&self) -> Time {
        self.outcome.end
    }

    /// Ends it here, at a time that has been reached.
    pub(crate) fn end(&mut self, simulation: &mut Simulation, reason: EndReason, now: Time) {
        let stage = std::mem::replace(&mut self.stage, Stage::Over);
        self.outcome.reason = reason;
        self.outcome.end = self.outcome.end.max(now);
        if matches!(stage, Stage::WarmingUp(_)) {
            // Nothing steady was found before the end: everything simulated is the result.
            self.outcome.warm_up_end = Time::ZERO;
        }
        self.outcome.bit_errors = self.uncertain(simulation);
        simulation.stop_measuring(self.outcome.end);
        self.outcome.changes_ahead = simulation.fabric.changes_ahead();
    }

    /// Something was changed from outside: what was counted before says nothing about what comes after it. `bit_errors` is of the
    /// changed machine.
    pub(crate) fn disturb(&mut self, bit_errors: BitErrors) {
        self.bit_errors.take_links(bit_errors);
        match &mut self.stage {
            Stage::WarmingUp(warm_up) => warm_up.before = None,
            Stage::Measuring(measuring) => {
                (measuring.is_disturbed, measuring.finds_warm_up) = (true, false);
            }
            Stage::Over => {}
        }
    }

    /// Simulates up to `until`: nothing to say when that is reached, or why the run is over.
    fn advance(
        &mut self,
        simulation: &mut Simulation,
        until: Time,
        (pause_at, pause_event): (Time, u64),
    ) -> Result<Option<Piece>, EndReason> {
        loop {
            let handled = simulation.events_handled();
            if self.reached.is_none() {
                let left = self.limits.event_limit.saturating_sub(handled);
                let slice_end = *self.slice_end.get_or_insert(handled + SLICE.min(left));
                let pause = Pause { at: pause_at, events: pause_event.saturating_sub(handled) };
                match simulation.run_or_pause(until, slice_end - handled, pause) {
                    Progress::Paused => return Ok(Some(Piece::Paused)),
                    Progress::Finished => return Err(EndReason::Finished),
                    Progress::Stalled { waiting } => return Err(EndReason::Stalled(waiting)),
                    reached @ (Progress::Reached | Progress::EventLimit) => self.reached = Some(reached),
                }
                self.slice_end = None;
                // Many stretches may be shorter than a slice, and the caller waits for none of them.
                if simulation.events_handled() - self.told_at >= SLICE {
                    self.told_at = simulation.events_handled();
                    if simulation.bytes_under_way() > self.limits.memory_limit {
                        return Err(EndReason::MemoryLimit);
                    }
                    return Ok(Some(Piece::Long));
                }
            }
            let reached = self.reached.take();
            if simulation.events_handled() >= self.limits.event_limit {
                return Err(EndReason::EventLimit);
            }
            if reached == Some(Progress::Reached) {
                return Ok(None);
            }
        }
    }

    /// `until` is the end of a window or a batch: what comes next, or why the run is over.
    fn end_of_stretch(&mut self, simulation: &mut Simulation, until: Time) -> Option<EndReason> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::WarmingUp(warm_up) => {
                self.outcome.warm_up_end = until;
                self.stage = self.end_of_window(simulation, warm_up);
                None
            }
            Stage::Measuring(mut measuring) => {
                let is_last = self.outcome.end + measuring.batch > Time::ZERO + self.limits.time_limit;
                self.outcome.end = until;
                let reason = match is_last {
                    true => Some(self.time_is_over(simulation, &measuring)),
                    false => self.end_of_batch(simulation, &mut measuring),
                };
                self.stage = Stage::Measuring(measuring);
                reason
            }
            Stage::Over => None,
        }
    }

    /// Whether results have settled: another window, or the first batch.
    fn end_of_window(&mut self, simulation: &mut Simulation, warm_up: WarmUp) -> Stage {
        let WarmUp { window, end, longest, is_given, before, counted, done } = warm_up;
        if is_given {
            return self.first_batch(simulation, window);
        }
        let (total, operations) = (counts(simulation), operations(simulation));
        let (counts, completed) = (difference(&total, &counted), difference(&operations, &done));
        // The last may be cut short.
        let times = 2.0 - 2.0 * end.saturating_since(longest).as_seconds() / window.as_seconds();
        let settled = before
            .filter(|_| everybody_has_begun(simulation))
            .map_or(Settled::No, |before| has_settled(&before, &counts, times, &completed));
        if settled == Settled::Yes || end >= longest {
            self.outcome.settled = settled;
            return self.first_batch(simulation, window);
        }
        let window = window * 2;
        let (before, counted, done) = (Some(counts), total, operations);
        Stage::WarmingUp(WarmUp { window, end: end + window, longest, is_given, before, counted, done })
    }

    fn first_batch(&mut self, simulation: &mut Simulation, window: Span) -> Stage {
        simulation.start_measuring(self.outcome.warm_up_end);
        self.measuring_since = Some(self.outcome.warm_up_end);
        self.outcome.end = self.outcome.warm_up_end;
        self.bit_errors.count_from(simulation, self.outcome.end);
        Stage::Measuring(Measuring {
            batch: Span::from_ticks(window.ticks() / BATCHES_PER_WINDOW),
            stocks: Stocks::since(simulation.held()),
            counted: counts(simulation),
            ahead: simulation.fabric.changes_ahead(),
            finds_warm_up: self.limits.warm_up.is_none() && self.limits.first_change.is_none(),
            is_disturbed: false,
        })
    }

    /// Whether batches are enough.
    fn end_of_batch(&mut self, simulation: &mut Simulation, measuring: &mut Measuring) -> Option<EndReason> {
        let total = counts(simulation);
        let merged = self.outcome.batches.push(difference(&total, &measuring.counted));
        if merged {
            measuring.batch = measuring.batch * 2;
        }
        measuring.counted = total;
        measuring.stocks.push(simulation.held(), merged);
        if self.limits.latency.is_some() {
            self.outcome.latencies.push(latencies(simulation), merged);
        }
        if std::mem::take(&mut measuring.is_disturbed) {
            self.forget_batches(simulation);
        }
        if measuring.ahead > 0 {
            // Whatever was seen before the last change, or while it went on, is not what comes after it.
            if simulation.fabric.changes_ahead() < measuring.ahead {
                measuring.ahead = simulation.fabric.changes_ahead();
                self.forget_batches(simulation);
            }
            if measuring.ahead > 0 {
                return None;
            }
        }
        // A workload with an end of its own is let come to it.
        self.outcome.awaits_end = simulation.have_ended().is_some();
        if self.outcome.awaits_end || !self.outcome.batches.is_time_to_look() {
            return None;
        }
        self.outcome.lacking = self.lacking(simulation);
        let moved = self.outcome.batches.moved_in_a_batch();
        if measuring.finds_warm_up {
            let longest = Time::from_ticks(self.limits.time_limit.ticks() / WARM_UP_SHARE);
            let grows = measuring.stocks.grow(moved, self.limits.relative_half_width);
            if grows && self.outcome.end >= longest {
                self.outcome.settled = Settled::No;
            }
            if (grows || self.is_too_early(simulation)) && self.outcome.end < longest {
                // All so far was warm-up. The next look is later by a longer time, for as long as it goes on.
                self.measure_anew(simulation);
                measuring.stocks = Stocks::since(simulation.held());
                (measuring.counted, measuring.batch) = (counts(simulation), measuring.batch * 2);
                return None;
            }
        }
        let is_enough = self.outcome.lacking.is_none() && self.limits.converges;
        is_enough.then_some(EndReason::Converged)
    }

    /// Whether operations of a flow that decides were begun while its queue filled.
    fn is_too_early(&self, simulation: &Simulation) -> bool {
        let decisive = self.outcome.batches.decisive();
        let early = begun_while_filling(simulation, self.outcome.warm_up_end);
        early.iter().any(|flow| decisive.binary_search(flow).is_ok())
    }

    /// The time limit is reached.
    fn time_is_over(&mut self, simulation: &Simulation, measuring: &Measuring) -> EndReason {
        let ahead = simulation.fabric.changes_ahead().min(measuring.ahead);
        self.outcome.lacking = self.lacking(simulation);
        match self.outcome.lacking.is_none() && !self.outcome.awaits_end && ahead == 0 {
            true => EndReason::Converged,
            false => EndReason::TimeLimit,
        }
    }

    /// Batches begin anew, now; results go on from where they are.
    fn forget_batches(&mut self, simulation: &Simulation) {
        self.bit_errors.count_from(simulation, self.outcome.end);
        self.outcome.batches = Batches::default();
        self.outcome.latencies = match self.limits.latency {
            Some(_) => LatencyBatches::since(latencies(simulation)),
            None => LatencyBatches::default(),
        };
    }

    /// What was measured so far is forgotten.
    fn measure_anew(&mut self, simulation: &mut Simulation) {
        self.outcome.warm_up_end = self.outcome.end;
        simulation.start_measuring(self.outcome.end);
        self.forget_batches(simulation);
        self.measuring_since = Some(self.outcome.end);
    }

    /// What keeps the results from being narrow enough.
    fn lacking(&self, simulation: &Simulation) -> Option<Lacking> {
        let RunLimits { confidence_level, relative_half_width, latency, .. } = self.limits;
        let outcome = &self.outcome;
        let throughput = outcome.batches.lacking(confidence_level, relative_half_width);
        let too_rare =
            || self.uncertain(simulation).filter(|of| of.relative_half_width > relative_half_width);
        throughput.or_else(|| too_rare().map(Lacking::BitErrors)).or_else(|| {
            let LatencyGoal { percentile, relative_half_width } = latency?;
            let flows = outcome.batches.decisive();
            outcome.latencies.lacking(&flows, percentile, confidence_level, relative_half_width)
        })
    }

    /// How far bit errors leave it open.
    fn uncertain(&self, simulation: &Simulation) -> Option<Uncertain> {
        self.bit_errors.uncertain(simulation, self.outcome.end, self.limits.confidence_level)
    }
}
