//! When a run has settled, and when it has said enough.
//!
//! Warm-up: windows of doubling length until the throughput of every flow in one window is close to that in the one
//! before. Then batches of equal length; their means give a confidence interval (Student's t), and the run ends when
//! that is narrow enough for every flow that matters. Batches are merged in pairs and lengthened when there are too
//! many, so that they stay long beside whatever correlates neighbouring ones. See Law, Simulation Modeling and
//! Analysis, chapter 9.
//!
//! While a buffer fills, what comes in is faster than what goes out, and both are as steady as can be. Results are of a steady
//! machine only when the flow balances (Denning and Buzen, The Operational Analysis of Queueing Network Models, Computing
//! Surveys 10(3), 1978, §2): so what is held between must not grow by more, beside what moves, than results may be off. What is
//! held rises and falls with every packet; whether it grows, Mann's test against trend says (Econometrica 13(3), 1945), or that all
//! later ones are farther from the first than from each other. As long as it does, this is still warm-up.
//!
//! Three things would make such an interval narrower than it is, and each is met: a rule that looks after every batch stops at the
//! first that looks good by chance (so it looks seldom, and at a corrected level); neighbouring batches that are still
//! correlated scatter less than their mean is off (so the interval is widened by their correlation); few long batches are
//! better than many short ones (so pairs are put together once there are enough). A test counts how often the interval covers.

use crate::bit_errors::Uncertain;
use lanewise_observe::LatencyTally;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Throughput counts of every flow: payload bytes, or operations for flows that move none.
pub(crate) type Counts = Vec<u64>;

/// Flows that carry less than this part of the work do not decide when a run ends.
const MINOR: f64 = 0.05;

/// A window in which a flow completed fewer operations than this says nothing about its throughput: what moved may
/// only have filled a buffer. Flows that count requests are past it at once.
const FEWEST_OPERATIONS: u64 = 16;

/// Two windows in a row are taken for settled when they differ by no more than this.
const SETTLED: f64 = 0.02;

/// Fewest batches that say anything about their own scatter, and the number at which they are merged.
pub(crate) const FEWEST_BATCHES: usize = 16;
const MOST_BATCHES: usize = 64;

/// Numbers of batches at which it is looked whether they are enough: each is about the square root of two times the one
/// before, and after a merger of 64 to 32 it goes on in the same way.
const LOOKS: [usize; 4] = [16, 22, 32, 44];

/// So much of the error that the user allows is left for each interval, because of several looks. Found by counting: see the
/// test of coverage.
pub(crate) const PART_OF_ERROR: f64 = 0.6;

/// Correlation beyond this means that the batches are far too short; the interval is then wide enough as it is.
const MOST_CORRELATED: f64 = 0.9;

/// Flows that decide: those with a fair share of all that was counted, or of what the largest counts, when they are many.
pub(crate) fn decisive(totals: &[u64]) -> impl Fn(usize) -> bool + '_ {
    let sum: u64 = totals.iter().sum();
    let largest = totals.iter().copied().max().unwrap_or(0);
    let least = (MINOR * sum as f64).min(largest as f64 / 2.0);
    move |flow| totals[flow] as f64 >= least && totals[flow] > 0
}

/// Half the width of the confidence interval of the mean of what batches have, in order; none when they are too few.
fn half_width(values: &[f64], confidence: f64) -> Option<f64> {
    if values.len() < FEWEST_BATCHES {
        return None;
    }
    let pairs: Vec<f64>;
    let values = match values.len() >= 2 * FEWEST_BATCHES {
        true => {
            pairs = values.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
            &pairs
        }
        false => values,
    };
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if squares == 0.0 {
        return Some(0.0);
    }
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let correlation = (products / squares).clamp(0.0, MOST_CORRELATED);
    let level = 1.0 - PART_OF_ERROR * (1.0 - confidence);
    let t = student_t(0.5 + level / 2.0, n - 1.0)?;
    Some(t * (squares / (n - 1.0) / n * (1.0 + correlation) / (1.0 - correlation)).sqrt())
}

/// The value that Student's t with so many degrees of freedom stays below with a probability; none where that is undefined.
///
/// Of 40 bits: behind it are logarithms of the platform's own, whose last bits differ, and when a run ends must not.
pub fn student_t(probability: f64, degrees: f64) -> Option<f64> {
    const DROPPED: u32 = f64::MANTISSA_DIGITS - 40;
    let inside = probability > 0.0 && probability < 1.0;
    let t = inside
        .then(|| StudentsT::new(0.0, 1.0, degrees).ok().map(|t| t.inverse_cdf(probability)))
        .flatten()?;
    let half = 1 << (DROPPED - 1);
    Some(f64::from_bits(t.to_bits().saturating_add(half) >> DROPPED << DROPPED))
}

/// Why a run goes on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Lacking {
    /// It has only just begun, or it is not time for a look.
    Batches,
    /// Nothing moves that could decide.
    Anything,
    /// The interval of a flow is too wide: half of it, as a part of the mean.
    Goodput(usize, f64),
    /// The interval of a percentile is: half of it, as a part of the percentile; none where there are too few samples.
    Latency(usize, Option<f64>),
    /// Too few bit errors of a link were seen.
    BitErrors(Uncertain),
}

/// Whether throughput has settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settled {
    Yes,
    No,
    /// It looks so, but too few operations have ended.
    Unknown,
}

/// Whether throughput in two windows, the second so many times as long, is the same. `operations` are those completed in
/// the second window.
pub(crate) fn has_settled(first: &[u64], second: &[u64], times: f64, operations: &[u64]) -> Settled {
    let total: Counts = first.iter().zip(second).map(|(a, b)| a + b).collect();
    let decides = decisive(&total);
    let is_same = |flow: usize| {
        let (before, after) = (times * first[flow] as f64, second[flow] as f64);
        (before - after).abs() <= SETTLED * before.max(after)
    };
    let mut flows = (0..total.len()).filter(|flow| decides(*flow)).peekable();
    if flows.peek().is_none() {
        return Settled::No;
    }
    flows.fold(Settled::Yes, |so_far, flow| match so_far {
        Settled::No => so_far,
        _ if !is_same(flow) => Settled::No,
        _ if operations[flow] < FEWEST_OPERATIONS => Settled::Unknown,
        _ => so_far,
    })
}

/// Counts per batch, for every flow.
#[derive(Default)]
pub(crate) struct Batches {
    batches: Vec<Counts>,
}

impl Batches {
    /// Adds a batch. True when neighbouring batches were merged: the next ones must be twice as long.
    pub(crate) fn push(&mut self, counts: Counts) -> bool {
        self.batches.push(counts);
        if self.batches.len() < MOST_BATCHES {
            return false;
        }
        let merge = |pair: &[Counts]| pair[0].iter().zip(&pair[1]).map(|(a, b)| a + b).collect();
        self.batches = self.batches.chunks_exact(2).map(merge).collect();
        true
    }

    fn flows(&self) -> usize {
        self.batches.first().map_or(0, Vec::len)
    }

    /// Half the width of the confidence interval of a flow's throughput, as a part of its mean.
    ///
    /// `None` with too few batches, or for a flow that moved nothing.
    pub(crate) fn relative_half_width(&self, flow: usize, confidence: f64) -> Option<f64> {
        let values: Vec<f64> =
            self.batches.iter().map(|batch| batch.get(flow).copied().unwrap_or(0) as f64).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let width = half_width(&values, confidence)?;
        (mean > 0.0).then(|| width / mean)
    }

    /// Flows that decide, of those that were there from the start.
    pub(crate) fn decisive(&self) -> Vec<usize> {
        let totals: Counts =
            (0..self.flows()).map(|flow| self.batches.iter().map(|batch| batch[flow]).sum()).collect();
        let decides = decisive(&totals);
        (0..totals.len()).filter(|flow| decides(*flow)).collect()
    }

    /// What the least of the flows that decide moves in a batch.
    pub(crate) fn moved_in_a_batch(&self) -> f64 {
        let total = |flow: usize| self.batches.iter().map(|batch| batch[flow] as f64).sum::<f64>();
        let least = self.decisive().into_iter().map(total).fold(f64::INFINITY, f64::min);
        least / self.batches.len() as f64
    }

    /// Whether it is time to look.
    pub(crate) fn is_time_to_look(&self) -> bool {
        LOOKS.contains(&self.batches.len())
    }

    /// The flow with the widest interval, when that is wider than `limit`, or nothing can be said of it.
    pub(crate) fn lacking(&self, confidence: f64, limit: f64) -> Option<Lacking> {
        if self.batches.len() < FEWEST_BATCHES {
            return Some(Lacking::Batches);
        }
        let flows = self.decisive();
        if flows.is_empty() {
            return Some(Lacking::Anything);
        }
        let width = |flow: usize| self.relative_half_width(flow, confidence).unwrap_or(f64::INFINITY);
        let widths = flows.into_iter().map(|flow| (flow, width(flow)));
        let widest = widths.reduce(|widest, next| if next.1 > widest.1 { next } else { widest });
        widest.filter(|(_, width)| *width > limit).map(|(flow, width)| Lacking::Goodput(flow, width))
    }

    /// Whether the interval of every flow that matters is narrower than `limit`.
    #[cfg(test)]
    fn are_enough(&self, confidence: f64, limit: f64) -> bool {
        self.lacking(confidence, limit).is_none()
    }
}

/// An interval for a percentile of a flow's latencies, ns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Half of it, as a part of the percentile.
    pub(crate) relative_half_width: f64,
}

/// Two-sided, this much of Kendall's statistic over its deviation is as rare as one in a hundred where there is no trend.
const TREND: f64 = 2.576;

/// Bytes held when measuring began and at the end of each batch, by what holds them.
pub(crate) struct Stocks {
    start: Vec<u64>,
    ends: Vec<Vec<u64>>,
}

impl Stocks {
    /// Of a measurement that begins with so much held.
    pub(crate) fn since(start: Vec<u64>) -> Self {
        Self { start, ends: Vec::new() }
    }

    /// Adds the end of a batch. `merged` says that batches were put together in pairs.
    pub(crate) fn push(&mut self, held: Vec<u64>, merged: bool) {
        self.ends.push(held);
        if merged {
            self.ends = std::mem::take(&mut self.ends).into_iter().skip(1).step_by(2).collect();
        }
    }

    /// Whether a component came to hold more, or less: by more than this part of `moved`, which is what moves in a batch.
    pub(crate) fn grow(&self, moved: f64, part: f64) -> bool {
        let batches = self.ends.len() as f64;
        self.start.iter().enumerate().any(|(holder, start)| {
            let held: Vec<f64> = self.ends.iter().map(|end| end[holder] as f64).collect();
            // At the end there are so many, but for a packet that has just come or gone.
            let last = &held[held.len() - held.len().div_ceil(8)..];
            let end = last.iter().sum::<f64>() / last.len() as f64;
            let (least, start) = (part * moved * batches, *start as f64);
            // What filled up in the first batches shows no trend: it is farther from the start then than from itself.
            let (lowest, highest) =
                held.iter().fold((end, end), |(low, high), at| (low.min(*at), high.max(*at)));
            let is_apart = (lowest - start).max(start - highest) > (highest - lowest).max(least);
            (end - start).abs() > least && (has_trend(&held) || is_apart)
        })
    }
}

/// Mann's test: how many pairs rise, less how many fall, beside the deviation of that where order means nothing.
fn has_trend(values: &[f64]) -> bool {
    let n = values.len() as f64;
    let later = |at: usize| values[at + 1..].iter().map(move |value| (value - values[at]).partial_cmp(&0.0));
    let pairs = (0..values.len()).flat_map(later).flatten();
    let statistic: f64 = pairs.map(|order| f64::from(order as i8)).sum();
    statistic.abs() - 1.0 > TREND * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt()
}

/// Latencies at the start and at the end of each batch, for every flow: all so far.
///
/// The share of a batch's latencies below the percentile scatters from batch to batch; that gives an interval for the share
/// as batch means do, correlation included, and the latencies at its ends are those of the percentile (Heidelberger and
/// Lewis, Quantile estimation in dependent sequences, Operations Research 32(1), 1984, in the simplest form).
#[derive(Default)]
pub(crate) struct LatencyBatches {
    /// Before the first batch; empty where there were none.
    start: Vec<LatencyTally>,
    ends: Vec<Vec<LatencyTally>>,
}

impl LatencyBatches {
    /// Of a time that begins with so many.
    pub(crate) fn since(start: Vec<LatencyTally>) -> Self {
        Self { start, ends: Vec::new() }
    }

    /// Adds the end of a batch. `merged` says that batches were put together in pairs.
    pub(crate) fn push(&mut self, latencies: Vec<LatencyTally>, merged: bool) {
        self.ends.push(latencies);
        if merged {
            let ends = std::mem::take(&mut self.ends).into_iter().skip(1).step_by(2);
            self.ends = ends.collect();
        }
    }

    /// The interval of a percentile of a flow; none with too few batches or latencies.
    pub(crate) fn interval(&self, flow: usize, percentile: f64, confidence: f64) -> Option<Interval> {
        let mut all = self.ends.last()?.get(flow)?.histogram();
        let start = self.start.get(flow).map(LatencyTally::histogram);
        if let Some(start) = &start {
            all.subtract(start).expect("later ones are among all");
        }
        let value = all.value_at_quantile(percentile);
        let mut shares = Vec::new();
        let (mut below_before, mut count_before) =
            start.map_or((0, 0), |start| (start.count_between(0, value), start.len()));
        for end in &self.ends {
            let histogram = end.get(flow)?.histogram();
            let (below, count) = (histogram.count_between(0, value), histogram.len());
            if count == count_before {
                return None; // Batches without a single one are too short to say.
            }
            shares.push((below - below_before) as f64 / (count - count_before) as f64);
            (below_before, count_before) = (below, count);
        }
        let half = half_width(&shares, confidence)?;
        // A share cannot be known better than one latency of all.
        let half = half.max(1.0 / all.len() as f64);
        let (below, above) = (percentile - half, percentile + half);
        if above >= 1.0 || below <= 0.0 {
            return None;
        }
        let (low, high) = (all.value_at_quantile(below) as f64, all.value_at_quantile(above) as f64);
        Some(Interval { low, high, relative_half_width: (high - low) / 2.0 / value as f64 })
    }

    /// The flow, of `flows`, whose interval is widest or unknown, when that is wider than `limit`.
    pub(crate) fn lacking(
        &self,
        flows: &[usize],
        percentile: f64,
        confidence: f64,
        limit: f64,
    ) -> Option<Lacking> {
        let width = |flow: &usize| {
            let interval = self.interval(*flow, percentile, confidence);
            (*flow, interval.map(|interval| interval.relative_half_width))
        };
        let size = |width: Option<f64>| width.unwrap_or(f64::INFINITY);
        let widest = flows.iter().map(width).reduce(|a, b| if size(b.1) > size(a.1) { b } else { a })?;
        (size(widest.1) > limit).then_some(Lacking::Latency(widest.0, widest.1))
    }
}

#[cfg(test)]
mod tests;
