//! When a run has settled, and when it has said enough.
//!
//! Warm-up: windows of doubling length until the throughput of every flow in one window is close to that in the one
//! before. Then batches of equal length; their means give a confidence interval (Student's t), and the run ends when
//! that is narrow enough for every flow that matters. Batches are merged in pairs and lengthened when there are too
//! many, so that they stay long beside whatever correlates neighbouring ones. See Law, Simulation Modeling and
//! Analysis, chapter 9.

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
const FEWEST_BATCHES: usize = 16;
const MOST_BATCHES: usize = 64;

/// Flows that decide: those with a fair share of all that was counted.
fn decisive(totals: &[u64]) -> impl Fn(usize) -> bool + '_ {
    let sum: u64 = totals.iter().sum();
    move |flow| totals[flow] as f64 >= MINOR * sum as f64 && totals[flow] > 0
}

/// Whether throughput in two windows, the second twice as long, is the same. `operations` are those completed in the
/// second window.
pub(crate) fn has_settled(first: &[u64], second: &[u64], operations: &[u64]) -> bool {
    let total: Counts = first.iter().zip(second).map(|(a, b)| a + b).collect();
    let decides = decisive(&total);
    let mut flows = (0..total.len()).filter(|flow| decides(*flow)).peekable();
    flows.peek().is_some()
        && flows.all(|flow| {
            if operations[flow] < FEWEST_OPERATIONS {
                return false;
            }
            let (before, after) = (2.0 * first[flow] as f64, second[flow] as f64);
            (before - after).abs() <= SETTLED * before.max(after)
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
        let count = self.batches.len();
        if count < FEWEST_BATCHES {
            return None;
        }
        let n = count as f64;
        let mean = self.batches.iter().map(|batch| batch[flow] as f64).sum::<f64>() / n;
        if mean == 0.0 {
            return None;
        }
        let squares = self.batches.iter().map(|batch| (batch[flow] as f64 - mean).powi(2)).sum::<f64>();
        let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.5 + confidence / 2.0);
        Some(t * (squares / (n - 1.0) / n).sqrt() / mean)
    }

    /// Whether the interval of every flow that matters is narrower than `limit`.
    pub(crate) fn are_enough(&self, confidence: f64, limit: f64) -> bool {
        let totals: Counts =
            (0..self.flows()).map(|flow| self.batches.iter().map(|batch| batch[flow]).sum()).collect();
        let decides = decisive(&totals);
        let mut flows = (0..totals.len()).filter(|flow| decides(*flow)).peekable();
        flows.peek().is_some()
            && flows
                .all(|flow| self.relative_half_width(flow, confidence).is_some_and(|width| width <= limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_flows_settle_and_rising_ones_do_not() {
        assert!(has_settled(&[100, 3], &[201, 1], &[99, 0]), "minor flows do not decide");
        assert!(!has_settled(&[100], &[240], &[99]));
        assert!(!has_settled(&[100], &[200], &[3]), "too few operations to say");
        assert!(!has_settled(&[0], &[0], &[0]), "nothing has happened yet");
    }

    #[test]
    fn the_interval_is_students() {
        let mut batches = Batches::default();
        for index in 0..16 {
            batches.push(vec![if index % 2 == 0 { 99 } else { 101 }]);
        }
        // Sample deviation 1.0328 over 16 batches, t(15) at 95 % is 2.1314: 0.5503 on a mean of 100.
        let width = batches.relative_half_width(0, 0.95).expect("sixteen are enough");
        assert!((width - 0.005503).abs() < 1e-5, "{width}");
        assert!(batches.are_enough(0.95, 0.006));
        assert!(!batches.are_enough(0.95, 0.005));
    }

    #[test]
    fn too_many_batches_are_merged() {
        let mut batches = Batches::default();
        let merged: Vec<bool> = (0..64).map(|_| batches.push(vec![1])).collect();
        assert_eq!(merged.iter().position(|merged| *merged), Some(63));
        assert_eq!(batches.batches.len(), 32);
        assert_eq!(batches.batches[0], [2]);
    }
}
