//! The peak that perftest prints: the best rate over any run of messages in a row, from when the first of them was
//! posted until the last was seen to be complete.
//!
//! perftest tries all pairs, which is quadratic, and stops doing so above 20,000 iterations (`--noPeak`). Here the pair
//! is found by Dinkelbach's method for a ratio: each pass is linear and finds the pair that beats the best so far by
//! most, and a handful of passes end at the same pair, exactly.
//!
//! Messages of several queue pairs count in the order in which the thread posted them, and completions in theirs: the
//! n-th completion stands for the n-th message, as in the tool.
//!
//! Source: perftest, `print_report_bw` (`opt_delta`) and `run_iter_bw`. W. Dinkelbach, On Nonlinear Fractional
//! Programming, Management Science 13 (1967).

use lanewise_units::{Span, Time};

/// Iterations of a queue pair up to which perftest looks for a peak.
pub(super) const MOST_ITERATIONS: u32 = 20_000;

/// When messages were posted and seen to be complete.
#[derive(Clone, Default, Debug)]
pub(super) struct Peak {
    posted: Vec<Time>,
    /// How many were complete, and when; of several at once only the last.
    completed: Vec<(usize, Time)>,
    /// Messages posted before the measured window that are to complete in it.
    earlier: usize,
    seen: usize,
}

impl Peak {
    /// The thread begins to post a message.
    pub(super) fn posted(&mut self, at: Time) {
        self.posted.push(at);
    }

    /// So many more messages are seen to be complete.
    pub(super) fn completed(&mut self, at: Time, messages: u64) {
        let messages = messages as usize;
        let earlier = messages.min(self.earlier);
        self.earlier -= earlier;
        self.seen += messages - earlier;
        if messages > earlier {
            self.completed.push((self.seen, at));
        }
    }

    /// The measured window begins: what is under way belongs to the time before.
    pub(super) fn start_measuring(&mut self) {
        let under_way = self.posted.len() - self.seen + self.earlier;
        *self = Self { earlier: under_way, ..Self::default() };
    }

    /// Messages and time of the best run; none when nothing was posted and completed.
    pub(super) fn best(&self) -> Option<(u64, Span)> {
        let (count, last) = *self.completed.last()?;
        let mut best = (count, last - *self.posted.first()?);
        while let Some(better) = self.better_than(best) {
            best = better;
        }
        Some((best.0 as u64, best.1))
    }

    /// The run that is shorter by most than as many messages at the rate of another one; none when there is none.
    fn better_than(&self, (messages, span): (usize, Span)) -> Option<(usize, Span)> {
        // Time less messages at that rate, times `messages`: whole numbers.
        let excess =
            |time: Time, count: usize| scaled(time, messages) - count as i128 * i128::from(span.ticks());
        let mut latest_start: Option<(i128, usize)> = None;
        let mut found: Option<(i128, usize, usize)> = None;
        let mut starts = self.posted.iter().enumerate().peekable();
        for (end, (count, time)) in self.completed.iter().enumerate() {
            while let Some((start, posted)) = starts.next_if(|(start, _)| start < count) {
                let at = excess(*posted, start);
                if latest_start.is_none_or(|(best, _)| at > best) {
                    latest_start = Some((at, start));
                }
            }
            let Some((from, start)) = latest_start else { continue };
            let length = excess(*time, *count) - from;
            if length < found.map_or(0, |(best, ..)| best) {
                found = Some((length, start, end));
            }
        }
        let (_, start, end) = found?;
        let (count, time) = self.completed[end];
        Some((count - start, time - self.posted[start]))
    }
}

fn scaled(time: Time, by: usize) -> i128 {
    i128::from(time.ticks()) * by as i128
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_engine::random::RandomStream;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    /// What the tool does: every pair.
    fn of_all_pairs(peak: &Peak) -> f64 {
        let mut best = 0.0_f64;
        for (start, posted) in peak.posted.iter().enumerate() {
            for (count, time) in peak.completed.iter().filter(|(count, _)| *count > start) {
                best = best.max((count - start) as f64 / (*time - *posted).as_seconds());
            }
        }
        best
    }

    fn rate((messages, span): (u64, Span)) -> f64 {
        messages as f64 / span.as_seconds()
    }

    #[test]
    fn a_burst_of_completions_is_no_peak_without_its_wait() {
        let mut peak = Peak::default();
        for message in 0..4 {
            peak.posted(at(message));
        }
        // Of two queue pairs, two and two complete together: the gap between them says nothing.
        for time in [1000, 1001, 2000, 2001] {
            peak.completed(at(time), 1);
        }
        assert_eq!(peak.best(), Some((4, Span::from_ns(2001))));
    }

    #[test]
    fn the_best_pair_is_the_one_that_all_pairs_give() {
        let mut stream = RandomStream::new(7, "peak", "times");
        for round in 0..200 {
            let mut peak = Peak::default();
            let (mut posted, mut completed, mut under_way) = (0, 0, 0_u64);
            for _ in 0..60 {
                posted += stream.below(50);
                peak.posted(at(posted));
                under_way += 1;
                if stream.below(3) > 0 {
                    let messages = 1 + stream.below(under_way);
                    completed = completed.max(posted) + 1 + stream.below(400);
                    peak.completed(at(completed), messages);
                    under_way -= messages;
                }
            }
            let best = rate(peak.best().expect("something completed"));
            assert!((best / of_all_pairs(&peak) - 1.0).abs() < 1e-9, "round {round}");
        }
    }

    #[test]
    fn a_long_test_takes_a_handful_of_passes() {
        let mut peak = Peak::default();
        let mut stream = RandomStream::new(7, "peak", "long");
        let mut time = 0;
        for message in 0..100_000 {
            peak.posted(at(10 * message));
            time = time.max(10 * message) + 5 + stream.below(20);
            peak.completed(at(time), 1);
        }
        let (count, last) = peak.completed[99_999];
        let (mut best, mut passes) = ((count, last - peak.posted[0]), 0);
        while let Some(better) = peak.better_than(best) {
            (best, passes) = (better, passes + 1);
        }
        assert!((1..20).contains(&passes), "{passes}");
    }

    #[test]
    fn what_was_under_way_when_the_window_began_is_left_out() {
        let mut peak = Peak::default();
        (0..3).for_each(|message| peak.posted(at(message)));
        peak.completed(at(100), 1);
        peak.start_measuring();
        peak.posted(at(200));
        peak.completed(at(300), 2);
        assert_eq!(peak.best(), None);
        peak.completed(at(310), 1);
        assert_eq!(peak.best(), Some((1, Span::from_ns(110))));
        peak.posted(at(320));
        peak.start_measuring();
        peak.completed(at(400), 1);
        assert_eq!(peak.best(), None);
    }
}
