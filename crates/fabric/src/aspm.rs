//! Links that fall asleep when they carry nothing, and take time to wake: Active State Power Management.
//!
//! In L0s one direction sleeps, after its transmitter has had nothing to send for a while; the other may be busy. In L1
//! both sleep, after both were silent; the end that has something to send wakes both. Nothing is sent by a sleeping or waking
//! transmitter, ordered sets included, and UpdateFCs that only repeat what is known are not due in L1 (PCIe Base 6.3
//! §5.4.1, §2.6.1.2). When a link below a switch wakes for a TLP, the switch wakes the one above within a microsecond
//! (§5.4.1.3).
//!
//! The rules are in `link/sleep.rs`; here the fabric applies them to both ends. None of it is an event. When a wire is wanted after silence, or when the books are settled, it is worked out since when
//! it slept: it is accounted as asleep from then on, and as waking for the exit latency from when it is wanted.
//!
//! Leaves out: the DLLPs by which both ends agree on L1 (some 100 ns of an idle link), an upstream port that wakes links
//! below its switch ahead of need, one that wakes because a DLLP wakes a link below it, the substates of L1 other than by
//! their exit latency and the least time in them, L0p, Flit Mode, and power itself.

use crate::fabric::Fabric;
use crate::link::{EntryTimes, Exit, Silence, Sleep, Timer};
use crate::port::{Owner, Port, PortId};
use crate::select::wants_the_wire;
use lanewise_observe::{Cause, Fact, Use};
use lanewise_units::{Span, Time};

/// A switch begins to wake the link above it at the latest so long after one below: PCIe Base 6.3 §5.4.1.3.
const NEXT_LINK_WAKES_AFTER: Span = Span::from_us(1);

impl Port {
    fn sleep(&mut self) -> &mut Sleep {
        self.sleep.as_mut().expect("this link may sleep")
    }

    fn silence(&self) -> Silence {
        let (unacknowledged, period) = (self.unacknowledged(), self.settings.replay_timer);
        Silence::of(self.sleep.as_deref(), &self.transmitter, unacknowledged, period)
    }
}

impl Fabric {
    /// Accounts for the time of one link direction up to `at`, asleep or not.
    pub(crate) fn settle(&mut self, id: PortId, at: Time) {
        if !self.ports[id.index()].sleeps {
            return self.ports[id.index()].settle(id, at, &mut self.observers);
        }
        // What has been acknowledged by then decides whether they slept.
        for end in [id, self.ports[id.index()].peer] {
            self.take_in_acknowledgements(end, at);
        }
        let entry_times = self.entry_times(id);
        let asleep_from = entry_times.first();
        let port = &mut self.ports[id.index()];
        let busy_until = port.transmitter.busy_until;
        let idle_since = port.sleep().idle_since(busy_until);
        port.settle(id, at.min(asleep_from), &mut self.observers);
        if asleep_from < at && port.transmitter.busy_until < at {
            let span = at - port.transmitter.busy_until;
            self.observers.observe(at, Fact::Spent { port: id.0, on: Use::Asleep, span });
            port.transmitter.rest_until(at, &port.settings.wire);
        } else if asleep_from < at {
            // Ordered sets that fell due before it slept are still on the wire; no other falls due.
            port.transmitter.postpone_skips(port.transmitter.busy_until, &port.settings.wire);
        }
        let accounted = port.transmitter.busy_until;
        port.sleep().account(idle_since, accounted);
    }

    /// When this direction falls asleep, if nothing is sent.
    fn entry_times(&self, id: PortId) -> EntryTimes {
        let port = &self.ports[id.index()];
        let peer = &self.ports[port.peer.index()];
        let times = |sleep: &Sleep| sleep.entry_times(&port.settings.power, port.silence(), peer.silence());
        port.sleep.as_deref().map_or(EntryTimes::NEVER, times)
    }

    /// A port whose link may sleep wakes: whether it can go on at once. If not, it wakes again when its wire can be used.
    #[inline(never)]
    pub(crate) fn is_awake(&mut self, id: PortId, now: Time) -> bool {
        let port = &mut self.ports[id.index()];
        port.wake_at = Time::NEVER;
        let (peer, owner) = (port.peer, port.owner);
        self.advance_to(id, now); // The peer may have woken the link a while ago, and what has been due since goes first.
        // A Nak is acted on when it is the turn of the peer: the link may go into Recovery for it, and this port is asked first.
        self.take_in_acknowledgements(peer, now);
        if let Owner::Switch(index) = owner
            && self.switches[index as usize].has_nullified
        {
            // What never leaves neither wakes the link nor hides what waits for credits behind it.
            let port = &mut self.ports[id.index()];
            port.blocked_until = Time::ZERO; // It may have waited for the core with such a one.
            self.switches[index as usize].drop_stale(&mut self.packets, port, now);
        }
        let entry_times = self.entry_times(id);
        let port = &mut self.ports[id.index()];
        let is_waking = matches!(port.sleep().next_deadline(entry_times, now), (_, Timer::ExitFromSleep));
        // What has been due for a while may be on the wire.
        if is_waking || port.transmitter.decides_at(now) > now {
            self.wake(id, now);
            return false;
        }
        let called = port.sleep().take_call(now);
        if (called || self.wants_the_wire(id, now)) && !self.start_exit(id, now, true) {
            return false;
        }
        self.settle(id, now);
        true
    }

    /// A port begins to wait for credits, or for an Ack, and its link stays awake; or it no longer does, and its silence begins. Both
    /// ends are accounted for before, because it decides whether either sleeps.
    #[cold]
    pub(crate) fn change_wait(&mut self, id: PortId, waits: bool, now: Time) {
        let port = &self.ports[id.index()];
        let waited = !port.transmitter.waiting_for.is_none();
        if waits == waited {
            return;
        }
        let peer = port.peer;
        self.settle(peer, now);
        self.settle(id, now);
        if waited {
            let port = &mut self.ports[id.index()];
            let (packet_end, accounted) = (port.transmitter.free_for_dllps_at(), port.transmitter.busy_until);
            port.sleep().account(packet_end.max(now), accounted);
        }
    }

    /// The port looks whether it sleeps when a link further down has called it, and when a copy that hides another TLP is gone,
    /// whatever else it waits for.
    #[cold]
    pub(crate) fn plan_for_sleep(&mut self, id: PortId, now: Time) {
        let port = &mut self.ports[id.index()];
        let mut at = port.sleep().called_at();
        if let Owner::Switch(index) = port.owner
            && self.switches[index as usize].has_nullified
        {
            at = at.min(self.switches[index as usize].next_stale(&self.packets, port, now));
        }
        if at != Time::NEVER {
            self.wake(id, at);
        }
    }

    /// Whether there is a TLP to be sent now. Nothing short of that wakes a link: the port may have been looked at for any reason.
    fn wants_the_wire(&self, id: PortId, now: Time) -> bool {
        let (port, packets) = (&self.ports[id.index()], &self.packets);
        let waits = |channel: u8| wants_the_wire(port.queues_of(channel), packets, port, channel, now);
        port.transmitter.retry.replaying()
            || match port.owner {
                Owner::Switch(index) => self.switches[index as usize].wants_the_wire(packets, port, now),
                Owner::RootComplex(_) | Owner::Endpoint(_) => port.channel_numbers().any(waits),
            }
    }

    /// DLLPs of a port whose link may sleep are due at `at`: whether they go out then, with all time before accounted for.
    #[inline(never)]
    pub(crate) fn may_send_dllps(&mut self, id: PortId, at: Time) -> bool {
        // What the peer did before decides whether the link sleeps.
        let peer = self.ports[id.index()].peer;
        self.advance_before(peer, at);
        // A Nak is acted on when the port decides on TLPs, and not if it begins to wake before.
        self.take_in_acknowledgements(id, at);
        self.take_in_acknowledgements(peer, at);
        let port = &self.ports[id.index()];
        if port.receiver.owed_at().max(port.dllps_from()) != at {
            return false; // The peer woke the link: it is still waking, nothing is due any more, or something was before.
        }
        let in_l1 = self.entry_times(id).l1 < at;
        let port = &mut self.ports[id.index()];
        if in_l1 && port.receiver.only_repeats(at) {
            port.receiver.stop_updates(at, &port.settings.receiver.update);
            return false;
        }
        if !self.start_exit(id, at, false) {
            return false;
        }
        self.settle(id, at);
        true
    }

    /// Something is to be sent at `at`: whether the wire can carry it. If it slept, it begins to wake, and where a TLP `follows`
    /// the link above does so too.
    fn start_exit(&mut self, id: PortId, at: Time, follows: bool) -> bool {
        let entry_times = self.entry_times(id);
        let port = &self.ports[id.index()];
        let peer = port.peer;
        match port.sleep.as_ref().and_then(|sleep| sleep.exit_at(&port.settings.power, entry_times, at)) {
            None => return true,
            Some(Exit::L1(exit)) => {
                // Both are accounted for before either is busy waking, because each one's sleep is that of both.
                self.settle(id, at);
                self.settle(peer, at);
                // What only repeats and is due at this instant was due in L1, whichever end is looked at first.
                for end in [id, peer] {
                    let port = &mut self.ports[end.index()];
                    if port.receiver.only_repeats(at) {
                        port.receiver.stop_updates(at, &port.settings.receiver.update);
                    }
                }
                self.begin_to_wake(id, at, exit);
                self.begin_to_wake(peer, at, exit);
                if follows {
                    self.wake_upstream_link([id, peer], at + NEXT_LINK_WAKES_AFTER);
                }
            }
            Some(Exit::L0s(exit)) => {
                self.settle(id, at);
                self.begin_to_wake(id, at, exit);
            }
        }
        false
    }

    fn begin_to_wake(&mut self, id: PortId, at: Time, exit: Span) {
        // An ordered set that fell due just before it slept may still be on the wire.
        let since = self.ports[id.index()].transmitter.busy_until;
        let awake_at = since.max(at + exit);
        let span = awake_at - since;
        self.observers.observe(at, Fact::Spent { port: id.0, on: Use::Waking, span });
        if self.observers.are_heard() {
            self.tell_pause(id, Cause::Waking, (since, awake_at), at);
        }
        let port = &mut self.ports[id.index()];
        port.transmitter.rest_until(awake_at, &port.settings.wire);
        port.receiver.resume_updates(awake_at, port.settings.receiver.update.period);
        port.sleep().wakes_at(awake_at);
        // Both ends wake in the order in which they were woken, whenever each would have looked at its wire without that.
        port.wake_at = Time::NEVER;
        self.wake(id, at);
    }

    /// If the upper end of a link that wakes is a switch, its own link to the root follows.
    fn wake_upstream_link(&mut self, ends: [PortId; 2], at: Time) {
        for id in ends {
            let port = &self.ports[id.index()];
            let Owner::Switch(switch) = port.owner else { continue };
            let upstream = self.switches[switch as usize].ports[0];
            if port.index == 0 || !self.ports[upstream.index()].sleeps {
                continue;
            }
            self.ports[upstream.index()].sleep().call(at);
            self.wake(upstream, at);
        }
    }
}
