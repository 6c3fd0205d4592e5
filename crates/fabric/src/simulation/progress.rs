//! Whether a run goes anywhere: it is looked at every so many events.

use super::{Progress, Simulation};
use crate::fabric::Fabric;
use crate::port::Port;
use lanewise_units::{Span, Time};

impl Simulation {
    /// Looks whether the run goes anywhere; how it ended if it does not.
    pub(super) fn look(&mut self, now: Time) -> Option<Progress> {
        if self.fabric.engine.events_handled() >= self.auditing.next_at {
            self.audit_part();
        }
        if !self.fabric.anything_open() || self.have_ended() == Some(true) {
            return Some(Progress::Finished);
        }
        if !self.fabric.made_progress(now) {
            return Some(Progress::Stalled { waiting: self.fabric.stall_report() });
        }
        None
    }
}

impl Fabric {
    /// Whether any component still waits for something.
    pub(super) fn anything_open(&self) -> bool {
        self.transfers.open() > 0
            || self.mmio.taken() > 0
            || self.timers_pending() > 0
            || self.cxl.as_ref().is_some_and(|cxl| cxl.open() > 0)
    }

    /// TLPs have moved since the last look, or workloads are about to act.
    fn made_progress(&mut self, now: Time) -> bool {
        let hops = self.observers.tlp_hops();
        if hops != self.hops_seen || self.timers_pending() > 0 || self.anything_watched() {
            self.hops_seen = hops;
            self.progress_at = now;
        }
        now.saturating_since(self.progress_at) < self.stall_after
    }
}

/// A fabric on which nothing new has moved for so long, with requests open, is stalled: longer than any flow control period,
/// and on top of it the replays that two visits to Recovery take, where the slowest link is damaged again and again. A narrow
/// link in Flit Mode waits for more than a millisecond before each.
pub(crate) fn stall_after(ports: &[Port]) -> Span {
    let replays = |port: &Port| port.settings.replay_timer * 8 + port.settings.wire.recovery * 2;
    Span::from_ms(2) + ports.iter().map(replays).max().unwrap_or(Span::ZERO)
}

/// Events between two looks at whether the run goes anywhere.
pub(super) const LOOK_EVERY: u64 = 4096;
