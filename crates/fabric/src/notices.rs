//! What workloads are told and when: notices at the end of an event, timers, and what is to be looked at later.

use crate::errors::Watch;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::ports::Timers;
use crate::workload::{WorkloadEvent, WorkloadId};
use lanewise_units::{Span, Time};

/// A timer, or a notice that is due later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingNotice {
    workload: WorkloadId,
    event: WorkloadEvent,
}

impl Timers for Fabric {
    #[inline]
    fn set_timer(&mut self, at: Time, token: u64) {
        let notice = PendingNotice { workload: self.current, event: WorkloadEvent::Timer { token } };
        self.schedule_notice(at.max(self.now()), notice);
    }
}

impl Fabric {
    pub(crate) fn notify(&mut self, workload: WorkloadId, event: WorkloadEvent, delay: Span) {
        if delay.is_zero() {
            self.notices.push_back((workload, event));
        } else {
            self.schedule_notice(self.now() + delay, PendingNotice { workload, event });
        }
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
        self.watches.taken() > 0
    }

    pub(crate) fn timers_pending(&self) -> usize {
        self.pending.taken()
    }

    /// A timer is due, or a notice that was to be given later.
    pub(crate) fn on_timer(&mut self, index: u32) {
        let PendingNotice { workload, event } = self.pending.take(index);
        self.notices.push_back((workload, event));
    }
}
