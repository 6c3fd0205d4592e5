//! A level that rises and falls: time-weighted mean and maximum.

use lanewise_units::{Span, Time};

/// Occupancy of a buffer, requests outstanding: anything that is so many at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    now: u32,
    max: u32,
    changed_at: Time,
    window_start: Time,
    /// Level × ticks. A 64 KiB buffer full for an hour fits.
    area: u128,
}

impl Level {
    #[inline]
    pub(crate) fn change(&mut self, at: Time, up: u32, down: u32) {
        self.area += u128::from(self.now) * u128::from((at - self.changed_at).ticks());
        self.changed_at = at;
        self.now = self.now + up - down;
        self.max = self.max.max(self.now);
    }

    pub(crate) fn restart(&mut self, at: Time) {
        *self = Self { now: self.now, max: self.now, changed_at: at, window_start: at, area: 0 };
    }

    /// Present level.
    pub fn now(&self) -> u32 {
        self.now
    }

    /// Highest level in the window.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// Time-weighted mean from the start of the window to `at`.
    pub fn mean(&self, at: Time) -> f64 {
        let window: Span = at.saturating_since(self.window_start);
        if window.is_zero() {
            return f64::from(self.now);
        }
        let tail = u128::from(self.now) * u128::from(at.saturating_since(self.changed_at).ticks());
        (self.area + tail) as f64 / window.ticks() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_weighted_by_time() {
        let mut level = Level::default();
        level.change(Time::from_ticks(10), 4, 0);
        level.change(Time::from_ticks(30), 0, 3);
        assert_eq!(level.mean(Time::from_ticks(40)), (4.0 * 20.0 + 10.0) / 40.0);
        assert_eq!((level.now(), level.max()), (1, 4));
    }
}
