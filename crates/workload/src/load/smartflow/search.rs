//! The search for the highest load without loss: RFC 2544 §26.1, with the first steps shortened.
//!
//! It starts at a guess, or at the highest load without one, and goes up as long as trials pass. After a trial that
//! failed, the rate at which frames came out says where the answer is: the next trials are just below and just above
//! it, then an eighth higher until one fails; from there on the interval is halved. Far too high a load is
//! as good a start as any, but the host then has every buffer to empty before the next trial, so it is not gone back to.

use super::config::{Load, Resolution};

/// A load that passed is raised by one part in so many when nothing has failed yet, or nothing near it.
const STEP: u32 = 8;

/// A search under way.
#[derive(Clone, Debug)]
pub(super) struct Search {
    resolution: Resolution,
    /// Highest load that passed, and lowest that failed.
    passed: Load,
    failed: Option<Load>,
    highest: Load,
    /// Where to begin.
    guess: Load,
    /// Load at which frames came out when a trial failed.
    hint: Option<Load>,
}

impl Search {
    /// A search that has tried nothing.
    pub(super) fn new(highest: Load, guess: Option<Load>, resolution: Resolution) -> Self {
        let guess = guess.map_or(highest, |guess| guess.clamp(Load(1), highest));
        Self { resolution, passed: Load(0), failed: None, highest, guess, hint: None }
    }

    /// The load to try next; none when the answer is known.
    pub(super) fn next(&self) -> Option<Load> {
        let Some(failed) = self.failed else {
            if self.passed == Load(0) {
                return Some(self.guess);
            }
            let more = Load(self.passed.0.saturating_add(self.passed.0.div_ceil(STEP))).min(self.highest);
            return (self.passed < self.highest).then_some(more);
        };
        let step = |load: Load| (u64::from(load.0) * u64::from(self.resolution.0) / 1_000_000).max(1) as u32;
        if failed.0 - self.passed.0 <= step(failed) {
            return None;
        }
        let inside = |load: &Load| *load > self.passed && *load < failed;
        let near = self.hint.into_iter().flat_map(|hint| {
            let half = step(hint) / 2;
            [Load(hint.0.saturating_sub(half)), Load(hint.0 + half)]
        });
        let brings_something = |load: &Load| inside(load) && load.0 - self.passed.0 > step(*load) / 2;
        Some(near.into_iter().find(brings_something).unwrap_or_else(|| self.between(failed)))
    }

    /// The middle between what passed and what failed, or not as far: one step more, and as far again from where frames came out.
    fn between(&self, failed: Load) -> Load {
        let middle = Load(self.passed.0 + (failed.0 - self.passed.0) / 2);
        match self.hint {
            Some(hint) if Load(0) < self.passed && hint <= self.passed => {
                let further = (self.passed.0 - hint.0).max(self.passed.0.div_ceil(STEP));
                middle.min(Load(self.passed.0.saturating_add(further)))
            }
            _ => middle,
        }
    }

    /// A trial passed.
    pub(super) fn pass(&mut self, load: Load) {
        self.passed = self.passed.max(load);
    }

    /// A trial failed, in which frames came out at `forwarded`.
    pub(super) fn fail(&mut self, load: Load, forwarded: Load) {
        self.failed = Some(self.failed.map_or(load, |failed| failed.min(load)));
        self.hint = Some(forwarded);
    }

    /// The answer so far.
    pub(super) fn result(&self) -> Load {
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(capacity: u32, forwarded: impl Fn(u32) -> u32) -> (u32, u32) {
        let mut search = Search::new(Load::FULL, None, Resolution(5_000));
        let mut trials = 0;
        while let Some(load) = search.next() {
            trials += 1;
            assert!(trials < 60, "the search ends");
            if load.0 <= capacity { search.pass(load) } else { search.fail(load, Load(forwarded(load.0))) }
        }
        (search.result().0, trials)
    }

    #[test]
    fn a_line_without_loss_takes_one_trial() {
        assert_eq!(search(1_000_000, |_| 0), (1_000_000, 1));
    }

    #[test]
    fn a_good_hint_takes_three_trials() {
        let (found, trials) = search(300_000, |_| 300_000);
        assert!((298_500..=300_000).contains(&found), "{found}");
        assert_eq!(trials, 3);
    }

    #[test]
    fn a_guess_is_a_start_and_no_limit() {
        for guess in [1, 250_000, 300_000, 900_000, 1_000_000] {
            let mut search = Search::new(Load::FULL, Some(Load(guess)), Resolution(5_000));
            let mut trials = 0;
            while let Some(load) = search.next() {
                trials += 1;
                if load.0 <= 300_000 { search.pass(load) } else { search.fail(load, Load(300_000)) }
            }
            let found = search.result().0;
            assert!((298_500..=300_000).contains(&found), "{found} after a guess of {guess}");
            assert!(trials < 8 || guess == 1, "{trials} trials after a guess of {guess}");
        }
    }

    #[test]
    fn bad_hints_only_take_longer() {
        for hint in [0, 1, 100_000, 900_000, 2_000_000] {
            let (found, _) = search(423_456, |_| hint);
            assert!((421_000..=423_456).contains(&found), "{found} after hints of {hint}");
        }
    }

    #[test]
    fn a_load_far_too_high_is_tried_once() {
        let mut search = Search::new(Load::FULL, None, Resolution(20_000));
        let mut tried = Vec::new();
        while let Some(load) = search.next() {
            tried.push(load.0);
            if load.0 <= 33_500 { search.pass(load) } else { search.fail(load, Load(31_400)) }
        }
        assert_eq!(tried[..3], [1_000_000, 31_086, 31_714], "the answer is near where frames came out");
        assert!(tried[1..].iter().all(|load| *load < 40_000), "{tried:?}");
        assert!((32_800..=33_500).contains(&search.result().0), "{tried:?}");
        assert!(tried.len() <= 7, "{tried:?}");
    }

    #[test]
    fn a_host_that_forwards_nothing_is_found_out() {
        assert_eq!(search(0, |_| 0).0, 0);
    }
}
