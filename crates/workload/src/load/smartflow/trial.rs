//! One trial: frames of one size at one load for a while, and what became of them.
//!
//! RFC 2544 wants trials of a minute, in which a host that is a little too slow overflows every buffer on the way. A
//! simulated trial is milliseconds, so loss alone would come too late. It therefore also looks at what waits inside
//! the host: when even the emptiest moment of the trial's last quarter holds more than that of the second quarter,
//! by more than a few frames of each flow, the backlog grows, and a longer trial would lose frames. That takes some frames in each
//! quarter: a trial is longer than was asked for where it would have fewer.

use super::config::Load;
use crate::latency::LatencyTally;
use lanewise_units::{Bytes, Span, Time};

/// Growth of the least backlog that is no growth yet, in frames of each flow: frames that are on their way anyway.
const BACKLOG_NOISE: u64 = 2;

/// Frames of each flow that a trial has at least, the same number in each quarter.
pub(super) const FEWEST_FRAMES: u64 = 16;

/// What is to be tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Trial {
    /// Bytes of each frame.
    pub size: Bytes,
    /// Load of each flow.
    pub load: Load,
}

/// Frames of one flow.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowCount {
    pub sent: u64,
    pub received: u64,
    pub lost: u64,
    pub latency: LatencyTally,
    /// Latencies of the first frames, for a snapshot.
    pub snapshot: Vec<Span>,
}

/// A trial under way, or over.
#[derive(Clone, Debug)]
pub(super) struct Count {
    pub trial: Trial,
    start: Time,
    length: Span,
    pub flows: Vec<FlowCount>,
    snapshot_frames: usize,
    /// Frames inside the host.
    inside: u64,
    /// Least number inside, in the second and in the last quarter.
    least: [Option<u64>; 2],
    first_received: Option<Time>,
    last_received: Time,
}

impl Count {
    /// A trial that starts now.
    pub(super) fn new(trial: Trial, flows: usize, snapshot_frames: u32, start: Time, length: Span) -> Self {
        Self {
            trial,
            start,
            length,
            flows: vec![FlowCount::default(); flows],
            snapshot_frames: snapshot_frames as usize,
            inside: 0,
            least: [None; 2],
            first_received: None,
            last_received: start,
        }
    }

    /// When no more frames of it come in.
    pub(super) fn end(&self) -> Time {
        self.start + self.length
    }

    /// Whether a frame whose last bit comes in at `at` still belongs to the trial.
    pub(super) fn lasts_until(&self, at: Time) -> bool {
        at < self.end()
    }

    pub(super) fn sent(&mut self, flow: usize) {
        self.flows[flow].sent += 1;
        self.inside += 1;
    }

    pub(super) fn lost(&mut self, flow: usize, now: Time) {
        self.flows[flow].lost += 1;
        self.left(now);
    }

    pub(super) fn received(&mut self, flow: usize, latency: Span, now: Time) {
        let snapshot_frames = self.snapshot_frames;
        let count = &mut self.flows[flow];
        count.received += 1;
        count.latency.add(latency);
        if count.snapshot.len() < snapshot_frames {
            count.snapshot.push(latency);
        }
        self.first_received.get_or_insert(now);
        self.last_received = now;
        self.left(now);
    }

    fn left(&mut self, now: Time) {
        self.inside -= 1;
        let quarter = (now - self.start).ticks() * 4 / self.length.ticks().max(1);
        let half = match quarter {
            1 => 0,
            3 => 1,
            _ => return,
        };
        let least = self.least[half].get_or_insert(self.inside);
        *least = (*least).min(self.inside);
    }

    /// Whether nothing of the trial is left in the host.
    pub(super) fn is_drained(&self) -> bool {
        self.inside == 0
    }

    /// Frames lost so far.
    pub(super) fn all_lost(&self) -> u64 {
        self.flows.iter().map(|flow| flow.lost).sum()
    }

    /// Frames sent so far.
    pub(super) fn all_sent(&self) -> u64 {
        self.flows.iter().map(|flow| flow.sent).sum()
    }

    fn all_received(&self) -> u64 {
        self.flows.iter().map(|flow| flow.received).sum()
    }

    /// Share of the frames that were lost, in percent.
    pub(super) fn loss_percent(&self) -> f64 {
        100.0 * self.all_lost() as f64 / self.all_sent().max(1) as f64
    }

    /// Whether the host kept up: nothing lost, and no more waiting at the end than before.
    pub(super) fn kept_up(&self) -> bool {
        let grown = match self.least {
            [Some(before), Some(after)] => after.saturating_sub(before),
            // Nothing came out in one of the quarters.
            _ => u64::MAX,
        };
        self.all_lost() == 0 && grown <= BACKLOG_NOISE * self.flows.len() as u64
    }

    /// Load at which frames came out, as each flow's share of its line. `line` is the line time of a frame.
    pub(super) fn forwarded(&self, line: Span) -> Load {
        let Some(first) = self.first_received else { return Load(0) };
        let span = (self.last_received - first).ticks();
        let frames = u128::from(self.all_received().saturating_sub(1));
        let flows = self.flows.len().max(1) as u128;
        let share = frames * u128::from(line.ticks()) * u128::from(Load::FULL.0);
        Load((share / (u128::from(span).max(1) * flows)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count() -> Count {
        let trial = Trial { size: Bytes::new(64), load: Load::FULL };
        Count::new(trial, 1, 0, Time::ZERO, Span::from_us(100))
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_constant_backlog_is_kept_up_with() {
        let mut count = count();
        for us in 0..100 {
            count.sent(0);
            if us >= 10 {
                count.received(0, Span::from_us(10), at(us));
            }
        }
        assert!(count.kept_up(), "{count:?}");
    }

    #[test]
    fn a_growing_backlog_is_not_even_without_loss() {
        let mut count = count();
        for us in 0..100 {
            count.sent(0);
            if us % 4 != 0 {
                count.received(0, Span::from_us(us / 4), at(us));
            }
        }
        assert_eq!(count.all_lost(), 0);
        assert!(!count.kept_up());
    }

    #[test]
    fn the_forwarding_rate_is_that_of_the_frames_that_came_out() {
        let mut count = count();
        for us in 0..50 {
            count.sent(0);
            count.received(0, Span::ZERO, at(2 * us));
        }
        // A frame every 2 us on a line that could take one each us.
        assert_eq!(count.forwarded(Span::from_us(1)), Load(500_000));
    }
}
