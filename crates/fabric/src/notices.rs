//! What workloads are told and when: notices at the end of an event, timers, and what is to be looked at later.

use crate::errors::Watch;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::ports::Timers;
use crate::side_link::SideDelivery;
use crate::workload::{WorkloadEvent, WorkloadId};
use lanewise_observe::Fact;
use lanewise_units::{Span, Time};

/// A timer, or a notice that is due later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingNotice {
    workload: WorkloadId,
    event: Option<WorkloadEvent>,
    /// What has come over a side link until then.
    delivery: Option<SideDelivery>,
}

impl PendingNotice {
    #[inline]
    const fn of(workload: WorkloadId, event: WorkloadEvent) -> Self {
        Self { workload, event: Some(event), delivery: None }
    }
}

impl Timers for Fabric {
    #[inline]
    fn set_timer(&mut self, at: Time, token: u64) {
        let event = WorkloadEvent::Timer { token };
        self.schedule_notice(at.max(self.now()), PendingNotice::of(self.current, event));
    }
}

impl Fabric {
    pub(crate) fn notify(&mut self, workload: WorkloadId, event: WorkloadEvent, delay: Span) {
        if delay.is_zero() {
            self.notices.push_back((workload, event));
        } else {
            self.schedule_notice(self.now() + delay, PendingNotice::of(workload, event));
        }
    }

    /// Counts what has come over a side link at `at`, and tells the calling workload if it asked.
    pub(crate) fn deliver_at(&mut self, at: Time, delivery: SideDelivery, event: Option<WorkloadEvent>) {
        let notice = PendingNotice { workload: self.current, event, delivery: Some(delivery) };
        self.schedule_notice(at, notice);
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
        let PendingNotice { workload, event, delivery } = self.pending.take(index);
        if let Some(SideDelivery { flow, payload }) = delivery {
            self.came_beside(flow, payload);
            self.observers.observe(self.engine.now(), Fact::Delivered { flow, payload });
        }
        self.notices.extend(event.map(|event| (workload, event)));
    }
}
