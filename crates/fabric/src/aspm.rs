//! Links that fall asleep when nobody uses them, and take time to wake: Active State Power Management.
//!
//! In L0s one direction sleeps, after its transmitter has had nothing to send for a while; the other may be busy. In L1
//! both sleep, after both were silent; whoever has something to send wakes both. Nothing is sent by a sleeping or waking
//! transmitter, ordered sets included, and UpdateFCs that only repeat what is known are not due in L1 (PCIe Base 6.3
//! §5.4.1, §2.6.1.2). When a link below a switch wakes for a TLP, the switch wakes the one above within a microsecond
//! (§5.4.1.3).
//!
//! None of it is an event. When a wire is wanted after silence, or when the books are settled, it is worked out since when
//! it slept: it is accounted as asleep from then on, and as waking for the exit latency from when it is wanted.
//!
//! Leaves out: the DLLPs by which both ends agree on L1 (some 100 ns of an idle link), an upstream port that wakes links
//! below its switch ahead of need, one that wakes because a DLLP wakes a link below it, the substates of L1 other than by
//! their exit latency, L0p, Flit Mode, and power itself.

use crate::config::{LinkPower, SleepConfig};
use crate::fabric::Fabric;
use crate::link::LinkState;
use crate::port::{Owner, Port, PortId};
use crate::select::wants_the_wire;
use lanewise_observe::{Fact, Use};
use lanewise_units::{Span, Time};

/// A switch begins to wake the link above it at the latest so long after one below: PCIe Base 6.3 §5.4.1.3.
const NEXT_LINK_WAKES_AFTER: Span = Span::from_us(1);

/// What a port whose link may sleep remembers.
#[derive(Debug)]
pub(crate) struct Aspm {
    power: LinkPower,
    /// The last thing was sent before, if `busy_until` is still where the accounts of silence ended.
    idle_since: Time,
    /// Where the accounts of silence ended.
    accounted: Time,
    /// The wire can be used from then on.
    awake_at: Time,
    /// A link further down wakes, and this one is to follow from then on.
    called_at: Time,
    /// DLLPs were last sent.
    dllps_sent_at: Time,
}

impl Aspm {
    /// None for a link that stays awake.
    pub(crate) fn new(power: LinkPower) -> Option<Box<Self>> {
        let aspm = Self {
            power,
            idle_since: Time::ZERO,
            accounted: Time::NEVER,
            awake_at: Time::ZERO,
            called_at: Time::NEVER,
            dllps_sent_at: Time::NEVER,
        };
        (power != LinkPower::default()).then(|| Box::new(aspm))
    }
}

/// From when on a transmitter sleeps in which state, if nothing is sent; [`Time::NEVER`] for not at all.
#[derive(Clone, Copy)]
struct EntryTimes {
    l0s: Time,
    l1: Time,
}

impl Port {
    fn aspm(&mut self) -> &mut Aspm {
        self.aspm.as_mut().expect("this link may sleep")
    }

    /// Whether DLLPs have been sent at this instant, before others looked at the wire: both ends of a link often wake at once.
    pub(crate) fn has_sent_dllps_at(&self, now: Time) -> bool {
        self.aspm.as_ref().is_some_and(|aspm| aspm.dllps_sent_at == now)
    }

    /// When it last sent something, or was woken.
    fn idle_since(&self) -> Time {
        match &self.aspm {
            Some(aspm) if aspm.accounted == self.transmitter.busy_until => aspm.idle_since,
            _ => self.transmitter.busy_until,
        }
    }

    /// Whether it comes up, or something waits for credits: then it does not fall asleep.
    fn stays_awake(&self) -> bool {
        self.transmitter.state != LinkState::Active || !self.transmitter.waiting_for.is_none()
    }

    /// Since when nothing that it sent waits for an Ack: the link stays out of L1 while something does.
    fn acknowledged_since(&self) -> Time {
        match (self.nothing_to_replay(), self.transmitter.replay_deadline()) {
            (false, _) => Time::NEVER,
            (true, None) => Time::ZERO, // Nothing was ever sent.
            // The Ack started the replay timer anew.
            (true, Some(deadline)) => {
                Time::ZERO + deadline.saturating_since(Time::ZERO + self.settings.replay_timer)
            }
        }
    }
}

impl Fabric {
    /// Accounts for the time of one link direction up to `at`, asleep or not.
    pub(crate) fn settle(&mut self, id: PortId, at: Time) {
        if !self.ports[id.index()].sleeps {
            return self.ports[id.index()].settle(id, at, &mut self.observers);
        }
        let entry_times = self.entry_times(id);
        let asleep_from = entry_times.l0s.min(entry_times.l1);
        let port = &mut self.ports[id.index()];
        let idle_since = port.idle_since();
        port.settle(id, at.min(asleep_from), &mut self.observers);
        if asleep_from < at && port.transmitter.busy_until < at {
            let span = at - port.transmitter.busy_until;
            self.observers.observe(at, Fact::Spent { port: id.0, on: Use::Asleep, span });
            port.transmitter.rest_until(at, &port.settings.wire);
        }
        let accounted = port.transmitter.busy_until;
        let aspm = port.aspm();
        (aspm.idle_since, aspm.accounted) = (idle_since, accounted);
    }

    /// When this direction falls asleep, if nothing is sent.
    fn entry_times(&self, id: PortId) -> EntryTimes {
        let port = &self.ports[id.index()];
        let peer = &self.ports[port.peer.index()];
        let power = port.aspm.as_ref().map_or(LinkPower::default(), |aspm| aspm.power);
        let after = |state: Option<SleepConfig>, silent_since: Time| match state {
            Some(state) if silent_since != Time::NEVER => silent_since + state.idle,
            _ => Time::NEVER,
        };
        let silent_since = |port: &Port| if port.stays_awake() { Time::NEVER } else { port.idle_since() };
        let acknowledged_since = port.acknowledged_since().max(peer.acknowledged_since());
        EntryTimes {
            l0s: after(power.l0s, silent_since(port)),
            l1: after(power.l1, silent_since(port).max(silent_since(peer)).max(acknowledged_since)),
        }
    }

    /// A port whose link may sleep wakes: whether it can go on at once. If not, it wakes again when its wire can be used.
    #[inline(never)]
    pub(crate) fn is_awake(&mut self, id: PortId, now: Time) -> bool {
        let port = &mut self.ports[id.index()];
        port.wake_at = Time::NEVER;
        let peer = port.peer;
        self.take_in_dllps(peer, now);
        let aspm = self.ports[id.index()].aspm();
        if aspm.awake_at > now {
            self.wake(id, now);
            return false;
        }
        let called = aspm.called_at <= now;
        if called {
            aspm.called_at = Time::NEVER;
        }
        if (called || self.wants_the_wire(id, now)) && !self.start_exit(id, now, true) {
            return false;
        }
        self.settle(id, now);
        true
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
        self.take_in_dllps(id, at);
        self.take_in_dllps(peer, at);
        let port = &self.ports[id.index()];
        if port.receiver.owed_at().max(port.dllps_from()) > at {
            return false; // The peer woke the link, and it is still waking; or nothing is due any more.
        }
        let in_l1 = self.entry_times(id).l1 < at;
        let port = &mut self.ports[id.index()];
        if in_l1 && port.receiver.only_repeats(at) {
            port.receiver.stop_updates(at);
            return false;
        }
        if !self.start_exit(id, at, false) {
            return false;
        }
        self.settle(id, at);
        self.ports[id.index()].aspm().dllps_sent_at = at;
        true
    }

    /// Something is to be sent at `at`: whether the wire can carry it. If it slept, it begins to wake, and where a TLP `follows`
    /// the link above does so too.
    fn start_exit(&mut self, id: PortId, at: Time, follows: bool) -> bool {
        let entry_times = self.entry_times(id);
        let port = &self.ports[id.index()];
        let (peer, power) = (port.peer, port.aspm.as_ref().map_or(LinkPower::default(), |s| s.power));
        match power {
            LinkPower { l1: Some(state), .. } if entry_times.l1 < at => {
                // Both are accounted for before either is busy waking, because each one's sleep is that of both.
                self.settle(id, at);
                self.settle(peer, at);
                self.begin_to_wake(id, at, state.exit);
                self.begin_to_wake(peer, at, state.exit);
                if follows {
                    self.wake_upstream_link([id, peer], at + NEXT_LINK_WAKES_AFTER);
                }
                false
            }
            LinkPower { l0s: Some(state), .. } if entry_times.l0s < at => {
                self.settle(id, at);
                self.begin_to_wake(id, at, state.exit);
                false
            }
            _ => true,
        }
    }

    fn begin_to_wake(&mut self, id: PortId, at: Time, exit: Span) {
        let port = &mut self.ports[id.index()];
        debug_assert!(
            port.transmitter.busy_until <= at + exit,
            "{at:?}: port {} sent something in its sleep",
            id.0
        );
        let awake_at = at + exit;
        let span = awake_at - port.transmitter.busy_until;
        self.observers.observe(at, Fact::Spent { port: id.0, on: Use::Waking, span });
        port.transmitter.rest_until(awake_at, &port.settings.wire);
        port.receiver.resume_updates(awake_at, port.settings.receiver.update.period);
        let aspm = port.aspm();
        aspm.awake_at = awake_at;
        // Silence counts from its waking on, also where that takes no time and ends where the accounts of sleep did.
        aspm.accounted = Time::NEVER;
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
            let aspm = self.ports[upstream.index()].aspm();
            aspm.called_at = aspm.called_at.min(at);
            self.wake(upstream, at);
        }
    }
}
