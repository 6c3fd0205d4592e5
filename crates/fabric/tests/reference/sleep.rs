//! Links that sleep: since when a direction is silent, from when on it sleeps, what wakes it and how long that takes.
//!
//! Rules: docs/explanation/physical.md ("Sleep"); PCIe Base 6.3 §5.4.1, §2.6.1.2.

use super::agenda::{Event, rank};
use super::port::{Phase, Port};
use super::record::Sent;
use super::system::{Kind, System};
use lanewise_fabric::config::SleepConfig;
use lanewise_units::{Span, Time};

/// A switch wakes the link above it so long after one below (PCIe Base 6.3 §5.4.1.3).
const LINK_ABOVE_WAKES_AFTER: Span = Span::from_us(1);

/// How deep a direction sleeps, with the time to wake.
enum Sleep {
    L0s(Span),
    L1(Span),
}

impl Port {
    /// Since when it has had nothing to send; not while it comes up, or while a TLP waits for credits or room in the retry buffer.
    fn silent_since(&self) -> Time {
        let stays_awake = self.phase != Phase::Active || self.waits;
        if stays_awake { Time::NEVER } else { self.wire.packet_end.max(self.silent_from) }
    }

    /// Since when nothing that it sent waits for an Ack.
    fn acknowledged_since(&self) -> Time {
        if self.kept.is_empty() { self.acknowledged_at } else { Time::NEVER }
    }

    /// A look found whether a TLP waits for credits or room. When it no longer does, silence begins.
    pub fn note_wait(&mut self, waits: bool, now: Time) {
        if self.waits && !waits {
            self.silent_from = now;
        }
        self.waits = waits;
    }

    /// Whether no DLLP is due at `now` but UpdateFCs that repeat what the peer knows.
    fn only_repeats(&self, now: Time) -> bool {
        let mut buffers = self.channels.iter().flat_map(|channel| &channel.buffers);
        let news = self.ack_due.min(self.nak.unwrap_or(Time::NEVER)) <= now;
        !news && buffers.all(|buffer| buffer.update_due > now || buffer.repeats())
    }

    /// UpdateFCs that are due are not, as long as the link is in L1.
    fn stop_updates(&mut self, now: Time) {
        let buffers = self.channels.iter_mut().flat_map(|channel| &mut channel.buffers);
        buffers.filter(|buffer| buffer.update_due <= now).for_each(|buffer| buffer.update_due = Time::NEVER);
    }
}

impl System {
    /// In which sleep a direction is that has been silent for as long as that asks for.
    fn sleep(&self, port: usize) -> Option<Sleep> {
        let own = &self.ports[port];
        let peer = &self.ports[own.peer];
        let is_over = |since: Time, idle: Span| since != Time::NEVER && since + idle < self.now;
        let both_since = own.silent_since().max(peer.silent_since());
        let acknowledged_since = own.acknowledged_since().max(peer.acknowledged_since());
        let silent_since = both_since.max(acknowledged_since);
        let l1 = own.power.l1.filter(|l1| is_over(silent_since, l1.idle));
        let l0s = own.power.l0s.filter(|l0s| is_over(own.silent_since(), l0s.idle));
        let exit_from_l1 = |l1: SleepConfig| {
            let may_leave_at = silent_since + l1.idle + l1.stay;
            Sleep::L1(may_leave_at.max(self.now) - self.now + l1.exit)
        };
        l1.map(exit_from_l1).or(l0s.map(|l0s| Sleep::L0s(l0s.exit)))
    }

    pub fn is_asleep(&self, port: usize) -> bool {
        self.sleep(port).is_some()
    }

    /// DLLPs are due: whether they may go now. UpdateFCs that only repeat are put off in L1.
    pub fn is_awake_for_dllps(&mut self, port: usize) -> bool {
        if let Some(Sleep::L1(_)) = self.sleep(port)
            && self.ports[port].only_repeats(self.now)
        {
            self.ports[port].stop_updates(self.now);
            return false;
        }
        self.is_awake(port, false)
    }

    /// Something is to be sent: whether the wire can carry it now. If it sleeps, it begins to wake, and in L1 its other direction too.
    pub fn is_awake(&mut self, port: usize, for_tlp: bool) -> bool {
        match self.sleep(port) {
            None => return true,
            Some(Sleep::L0s(exit)) => self.wake(port, exit),
            Some(Sleep::L1(exit)) => {
                let ends = [port, self.ports[port].peer];
                for end in ends {
                    if self.ports[end].only_repeats(self.now) {
                        self.ports[end].stop_updates(self.now);
                    }
                    self.wake(end, exit);
                }
                if for_tlp {
                    ends.into_iter().for_each(|end| self.call_link_above(end));
                }
            }
        }
        self.ports[port].wire.packet_end <= self.now // An exit may take no time.
    }

    fn wake(&mut self, port: usize, exit: Span) {
        let (now, own) = (self.now, &mut self.ports[port]);
        let start = own.wire.end.max(now);
        let awake_at = start.max(now + exit);
        own.wire.rest_until(awake_at);
        if awake_at > start {
            self.record.sent(port, start, Sent::Waking, awake_at - start);
        }
        // Periods that stopped start anew.
        let again = awake_at + own.config.update_flow_control.period;
        let buffers = own.channels.iter_mut().flat_map(|channel| &mut channel.buffers);
        let finite = buffers.filter(|buffer| !buffer.is_infinite());
        finite.for_each(|buffer| buffer.update_due = buffer.update_due.min(again));
        self.agenda.add(own.wire.next_skip, rank::FACTS, Event::SkipDue { port });
        self.plan_dllps(port);
        self.wire_is_free_at(port, awake_at);
    }

    /// A link wakes from L1 for a TLP: if its upper end is a switch, the link above that is to follow.
    fn call_link_above(&mut self, port: usize) {
        let (device, number) = (self.ports[port].device, self.ports[port].number);
        if matches!(self.devices[device].kind, Kind::Switch(_)) && number > 0 {
            let upstream = self.devices[device].ports[0];
            let at = (self.now + LINK_ABOVE_WAKES_AFTER).min(self.ports[upstream].called_at);
            self.ports[upstream].called_at = at;
            self.look_at(upstream, at);
        }
    }
}
