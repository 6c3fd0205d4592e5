//! Completions on their way to the host's software: how many of them, and after how long, make an interrupt due.
//!
//! What a device has handed to its way to memory waits until enough have gathered or the oldest has waited long enough; then one
//! interrupt, which takes the same way behind them, tells of all of them. There is no other until its completions are taken.

use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Bytes of an interrupt message: the data of an MSI or MSI-X (PCIe Base 6.3 §6.1.4). A virtual wire (INTx) would be two
/// messages of a header each.
pub(crate) const INTERRUPT: Bytes = Bytes::new(4);

/// When an interrupt is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moderation {
    /// Completions after which it is; at least one.
    pub enough: u32,
    /// Longest time that a completion waits for others; zero for none.
    pub delay: Span,
}

/// What to do about an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InterruptAction {
    /// Send it now.
    Send {
        /// The completion that has waited longest, of those that it tells of.
        first: u32,
    },
    /// Look again then.
    At(Time),
    /// Nothing; a later event will.
    Nothing,
}

/// Completions of one queue, by their slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Completions {
    /// On their way to memory or there, and of which no interrupt tells.
    posted: VecDeque<u32>,
    /// Of which the last interrupt tells.
    signalled: VecDeque<u32>,
    /// When an interrupt is due for those posted.
    deadline: Option<Time>,
}

impl Completions {
    /// A completion is on its way to memory.
    pub(crate) fn post(&mut self, slot: u32) {
        self.posted.push_back(slot);
    }

    /// Whether an interrupt is due now. If so, it tells of all completions posted so far.
    pub(crate) fn moderate(&mut self, now: Time, moderation: Moderation) -> InterruptAction {
        let Some(&first) = self.posted.front().filter(|_| self.signalled.is_empty()) else {
            return InterruptAction::Nothing;
        };
        let enough = self.posted.len() >= moderation.enough as usize;
        let waited = self.deadline.is_some_and(|deadline| deadline <= now);
        if enough || waited || moderation.delay.is_zero() {
            self.signalled.append(&mut self.posted);
            self.deadline = None;
            return InterruptAction::Send { first };
        }
        if self.deadline.is_some() {
            return InterruptAction::Nothing;
        }
        let deadline = now + moderation.delay;
        self.deadline = Some(deadline);
        InterruptAction::At(deadline)
    }

    /// A moderation timer came; it counts when it is the latest that was set.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.deadline == Some(now)
    }

    /// What the last interrupt tells of: the next may be sent.
    pub(crate) fn take_signalled(&mut self) -> VecDeque<u32> {
        std::mem::take(&mut self.signalled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Moderation = Moderation { enough: 2, delay: Span::from_us(10) };

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn interrupts_wait_for_company_but_not_for_ever() {
        let mut completions = Completions::default();
        completions.post(1);
        assert_eq!(completions.moderate(at(0), TWO), InterruptAction::At(at(10)));
        completions.post(2);
        assert_eq!(completions.moderate(at(3), TWO), InterruptAction::Send { first: 1 }, "two are enough");
        completions.post(3);
        assert_eq!(completions.moderate(at(4), TWO), InterruptAction::Nothing, "one is on its way");
        assert!(!completions.is_due(at(10)), "that one was sent");
        assert_eq!(completions.take_signalled(), [1, 2]);
        assert_eq!(completions.moderate(at(12), TWO), InterruptAction::At(at(22)));
        assert!(completions.is_due(at(22)));
        assert_eq!(
            completions.moderate(at(22), TWO),
            InterruptAction::Send { first: 3 },
            "it has waited long enough"
        );
    }
}
