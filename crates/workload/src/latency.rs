//! Latencies of a tool's own report: how many, the least, the mean, the largest and how they scatter.
//!
//! Sums are exact: a mean or deviation is the same whatever order latencies come in, and those of parts add up to that of
//! the whole.

use lanewise_units::Span;

const TICKS_PER_PICOSECOND: u64 = 1024;

/// Everything measured so far.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LatencyTally {
    count: u64,
    least: Span,
    largest: Span,
    sum_ticks: u128,
    /// Sums of whole picoseconds, and of their squares: ten million operations of a second each do not overflow them.
    sum_ps: u128,
    sum_squares: u128,
}

impl LatencyTally {
    /// One more.
    #[inline]
    pub(crate) fn add(&mut self, latency: Span) {
        self.least = if self.count == 0 { latency } else { self.least.min(latency) };
        self.largest = self.largest.max(latency);
        self.sum_ticks += u128::from(latency.ticks());
        let ps = u128::from(latency.ticks() / TICKS_PER_PICOSECOND);
        self.sum_ps += ps;
        self.sum_squares += ps.pow(2);
        self.count += 1;
    }

    /// Those of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        let least = match (self.count, other.count) {
            (0, _) => other.least,
            (_, 0) => self.least,
            _ => self.least.min(other.least),
        };
        Self {
            count: self.count + other.count,
            least,
            largest: self.largest.max(other.largest),
            sum_ticks: self.sum_ticks + other.sum_ticks,
            sum_ps: self.sum_ps + other.sum_ps,
            sum_squares: self.sum_squares + other.sum_squares,
        }
    }

    /// How many.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The least, in `unit`s; zero of none.
    pub(crate) fn least(&self, unit: Span) -> f64 {
        self.least.ticks() as f64 / unit.ticks() as f64
    }

    /// The largest, in `unit`s; zero of none.
    pub(crate) fn largest(&self, unit: Span) -> f64 {
        self.largest.ticks() as f64 / unit.ticks() as f64
    }

    /// The mean, in `unit`s; zero of none.
    pub(crate) fn mean(&self, unit: Span) -> f64 {
        self.sum_ticks as f64 / self.count.max(1) as f64 / unit.ticks() as f64
    }

    /// Standard deviation in `unit`s of all that were measured, which are no sample; to a picosecond. Zero of none.
    pub(crate) fn deviation(&self, unit: Span) -> f64 {
        let count = u128::from(self.count.max(1));
        // Exact up to here: the difference of two large numbers that are nearly equal.
        let squares = count * self.sum_squares - self.sum_ps.pow(2);
        (squares as f64).sqrt() / count as f64 * TICKS_PER_PICOSECOND as f64 / unit.ticks() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Span = Span::from_us(1);

    fn tally(latencies: &[u64]) -> LatencyTally {
        let mut tally = LatencyTally::default();
        latencies.iter().for_each(|us| tally.add(Span::from_us(*us)));
        tally
    }

    #[test]
    fn those_of_parts_add_up_to_that_of_the_whole() {
        let all = tally(&[2, 4, 4, 4]).plus(tally(&[5, 5, 7, 9]));
        assert!((all.deviation(US) - 2.0).abs() < 1e-12 && (all.mean(US) - 5.0).abs() < 1e-12);
        assert_eq!((all.count(), all.least(US), all.largest(US)), (8, 2.0, 9.0));
        let same = tally(&[]).plus(tally(&[7, 7, 7])).plus(tally(&[]));
        assert_eq!((same.least(US), same.deviation(US)), (7.0, 0.0));
    }

    #[test]
    fn of_none_everything_is_zero() {
        let none = tally(&[]);
        assert_eq!([none.least(US), none.mean(US), none.largest(US), none.deviation(US)], [0.0; 4]);
    }
}
