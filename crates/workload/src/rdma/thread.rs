//! A thread that has a core to itself and polls: one piece of work at a time, in order.
//!
//! Leaves out: everything else that the core might do.

use lanewise_units::{Span, Time};

/// When the thread is done with what it was given so far.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    free_at: Time,
}

impl Default for Thread {
    fn default() -> Self {
        Self { free_at: Time::ZERO }
    }
}

impl Thread {
    /// Works for `cost`, from `at` on or as soon as the thread is free; returns the end.
    pub fn run(&mut self, at: Time, cost: Span) -> Time {
        self.free_at = self.free_at.max(at) + cost;
        self.free_at
    }

    /// When the thread is free.
    pub fn free_at(&self) -> Time {
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_waits_for_work() {
        let mut thread = Thread::default();
        let at = |ns| Time::ZERO + Span::from_ns(ns);
        assert_eq!(thread.run(at(10), Span::from_ns(5)), at(15));
        assert_eq!(thread.run(at(12), Span::from_ns(5)), at(20));
        assert_eq!(thread.free_at(), at(20));
    }
}
