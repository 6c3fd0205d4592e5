//! A level that rises and falls: time-weighted mean and maximum.

use lanewise_units::{Span, Time, wide};

/// What is kept of a level while it is observed: half a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LevelTally {
    now: u32,
    max: u32,
    changed_at: Time,
    /// Level × ticks. A 64 KiB buffer full for an hour fits.
    area: u128,
}

impl LevelTally {
    #[inline]
    pub(crate) fn change(&mut self, at: Time, up: u32, down: u32) {
        self.area += wide::product(u64::from(self.now), (at - self.changed_at).ticks());
        self.changed_at = at;
        self.now = self.now + up - down;
        self.max = self.max.max(self.now);
    }

    pub(crate) fn restart(&mut self, at: Time) {
        *self = Self { now: self.now, max: self.now, changed_at: at, area: 0 };
    }
}

/// Occupancy of a buffer, requests outstanding: anything that is so many at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    tally: LevelTally,
    window_start: Time,
}

impl Level {
    pub(crate) fn new(tally: LevelTally, window_start: Time) -> Self {
        Self { tally, window_start }
    }

    /// Present level.
    pub fn now(&self) -> u32 {
        self.tally.now
    }

    /// Highest level in the window.
    pub fn max(&self) -> u32 {
        self.tally.max
    }

    /// Time-weighted mean from the start of the window to `at`.
    pub fn mean(&self, at: Time) -> f64 {
        let window: Span = at.saturating_since(self.window_start);
        if window.is_zero() {
            return f64::from(self.now());
        }
        let LevelTally { now, changed_at, area, .. } = self.tally;
        let tail = u128::from(now) * u128::from(at.saturating_since(changed_at).ticks());
        (area + tail) as f64 / window.ticks() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_weighted_by_time() {
        let mut tally = LevelTally::default();
        tally.change(Time::from_ticks(10), 4, 0);
        tally.change(Time::from_ticks(30), 0, 3);
        let level = Level::new(tally, Time::ZERO);
        assert_eq!(level.mean(Time::from_ticks(40)), (4.0 * 20.0 + 10.0) / 40.0);
        assert_eq!((level.now(), level.max()), (1, 4));
    }
}
