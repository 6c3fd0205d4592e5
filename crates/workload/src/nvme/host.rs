//! The host's side: the cost of its software, and the queues that it shares with a drive.

use lanewise_units::{Span, Time};
use std::collections::VecDeque;

/// CPU cost of a host's software for each I/O on NVMe drives, and the cores that pay it.
#[derive(Clone, Debug)]
pub struct NvmeHostConfig {
    /// Name of the host.
    pub name: String,
    /// Cores; job n runs on core n, counted round, and its queues interrupt that core.
    pub cores: u32,
    /// The job's own thread, for each I/O.
    pub worker_cost: Span,
    /// System call, block layer and driver on the way down, for each I/O.
    pub submit_cost: Span,
    /// Interrupt entry and exit, for each interrupt.
    pub interrupt_cost: Span,
    /// Driver, block layer and wake-up on the way up, for each I/O.
    pub completion_cost: Span,
}

/// What a drive does about an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InterruptAction {
    Nothing,
    /// Look again then.
    At(Time),
    Send,
}

/// A submission and a completion queue of one core on one drive.
#[derive(Debug)]
pub(crate) struct QueuePair {
    pub(crate) ssd: u32,
    pub(crate) core: u32,
    /// Commands whose completion was written and of which no interrupt has told.
    posted: VecDeque<u32>,
    /// Commands of which the interrupt tells that is on its way or being served.
    signalled: VecDeque<u32>,
    deadline: Option<Time>,
    /// Commands that were put in so far: where the next one goes.
    pub(crate) tail: u64,
}

impl QueuePair {
    pub(crate) fn new(ssd: u32, core: u32) -> Self {
        Self { ssd, core, posted: VecDeque::new(), signalled: VecDeque::new(), deadline: None, tail: 0 }
    }

    /// A completion was written.
    pub(crate) fn post(&mut self, slot: u32) {
        self.posted.push_back(slot);
    }

    /// Whether an interrupt is due: enough completions, or the oldest waited long enough; never while one is served.
    pub(crate) fn moderate(&mut self, now: Time, enough: u32, delay: Span) -> InterruptAction {
        if self.posted.is_empty() || !self.signalled.is_empty() {
            return InterruptAction::Nothing;
        }
        let waited = self.deadline.is_some_and(|deadline| deadline <= now);
        if self.posted.len() >= enough as usize || waited || delay.is_zero() {
            self.signalled.append(&mut self.posted);
            self.deadline = None;
            return InterruptAction::Send;
        }
        match self.deadline {
            Some(_) => InterruptAction::Nothing,
            None => {
                self.deadline = Some(now + delay);
                InterruptAction::At(now + delay)
            }
        }
    }

    /// A moderation timer came; it counts when it is the latest that was set.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.deadline == Some(now)
    }

    /// The completions that the handler finds: those of the interrupt and what came since.
    pub(crate) fn serve(&mut self) -> Vec<u32> {
        self.deadline = None;
        self.signalled.drain(..).chain(self.posted.drain(..)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_gather_completions_and_wait_for_the_handler() {
        let mut queue = QueuePair::new(0, 0);
        let at = |us| Time::ZERO + Span::from_us(us);
        let delay = Span::from_us(10);
        queue.post(1);
        assert_eq!(queue.moderate(at(0), 2, delay), InterruptAction::At(at(10)));
        queue.post(2);
        assert_eq!(queue.moderate(at(1), 2, delay), InterruptAction::Send, "two are enough");
        queue.post(3);
        assert_eq!(queue.moderate(at(2), 2, delay), InterruptAction::Nothing, "the handler will see it");
        assert_eq!(queue.serve(), [1, 2, 3]);
        queue.post(4);
        assert_eq!(queue.moderate(at(20), 2, delay), InterruptAction::At(at(30)));
        assert!(queue.is_due(at(30)) && !queue.is_due(at(10)));
        assert_eq!(queue.moderate(at(30), 2, delay), InterruptAction::Send, "it has waited long enough");
    }
}
