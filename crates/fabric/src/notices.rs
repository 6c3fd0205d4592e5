//! What workloads are told and when: notices at the end of an event, timers, and what is to be looked at later.

use crate::errors::Watch;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::ports::Timers;
use crate::side_link::Beside;
use crate::workload::{WorkloadEvent, WorkloadId};
use lanewise_units::{Span, Time};

/// A timer, a notice that is due later, or the next step of a transfer beside the fabric.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PendingNotice {
    Of(WorkloadId, WorkloadEvent),
    /// Over side links, by its place among those.
    Beside(u32),
}

impl Timers for Fabric {
    #[inline]
    fn set_timer(&mut self, at: Time, token: u64) {
        let event = WorkloadEvent::Timer { token };
        self.schedule_notice(at.max(self.now()), PendingNotice::Of(self.current, event));
    }
}

impl Fabric {
    pub(crate) fn notify(&mut self, workload: WorkloadId, event: WorkloadEvent, delay: Span) {
        if delay.is_zero() {
            self.notices.push_back((workload, event));
        } else {
            self.schedule_notice(self.now() + delay, PendingNotice::Of(workload, event));
        }
    }

    /// Has [`Self::goes_on_beside`] called at `at`.
    pub(crate) fn beside_at(&mut self, at: Time, beside: Beside) {
        let index = self.beside.insert(beside);
        self.schedule_notice(at, PendingNotice::Beside(index));
    }

    fn schedule_notice(&mut self, at: Time, notice: PendingNotice) {
        let index = self.pending.insert(notice);
        self.engine.schedule(at, Event::Timer(index).pack());
    }

    /// Has [`Self::on_watch`] called at `at`.
    pub(crate) fn watch_at(&mut self, at: Time, watch: Watch) {
        let index = self.watches.insert(watch);
        self.engine.schedule(at, Event::Watch(index).pack());
    }

    /// Whether a read that has not come back will be given up, or answered, in time.
    pub(crate) fn anything_watched(&self) -> bool {
        self.watches.taken() > 0 || self.cxl.as_ref().is_some_and(|cxl| cxl.is_moving())
    }

    pub(crate) fn timers_pending(&self) -> usize {
        self.pending.taken()
    }

    /// A timer is due, or a notice that was to be given later.
    pub(crate) fn on_timer(&mut self, index: u32) {
        match self.pending.take(index) {
            PendingNotice::Of(workload, event) => self.notices.push_back((workload, event)),
            PendingNotice::Beside(index) => {
                let beside = self.beside.take(index);
                self.goes_on_beside(beside);
            }
        }
    }
}
