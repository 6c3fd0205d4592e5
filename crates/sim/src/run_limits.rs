//! When a run ends, and why it did.

use lanewise_fabric::Waiter;
use lanewise_units::Span;
use schemars::JsonSchema;
use serde::Serialize;

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
    /// Whether it ends when results are narrow enough. It goes on to its other limits if not.
    pub converges: bool,
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

/// Why a run ended, in a word: what results have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(rename = "EndReason")]
#[allow(missing_docs, reason = "as in EndReason")]
pub enum EndName {
    Converged,
    Finished,
    TimeLimit,
    EventLimit,
    MemoryLimit,
    Stalled,
    Interrupted,
}

impl std::fmt::Display for EndName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{self:?}")
    }
}

impl EndReason {
    /// Name in results.
    pub fn name(&self) -> EndName {
        match self {
            Self::Converged => EndName::Converged,
            Self::Finished => EndName::Finished,
            Self::TimeLimit => EndName::TimeLimit,
            Self::EventLimit => EndName::EventLimit,
            Self::MemoryLimit => EndName::MemoryLimit,
            Self::Stalled(_) => EndName::Stalled,
            Self::Interrupted => EndName::Interrupted,
        }
    }
}
