//! Replays: the replay timer, what is sent again and in which order, and the link retraining when that does not help
//! (PCIe Base 6.3 §3.6.2.1).
//!
//! Flits have their own order of replay, in `flit.rs`; timer and counting are the same.

use crate::books::Books;
use crate::channels::VC0;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::link::{Departure, Fate, InFlight};
use crate::port::PortId;
use crate::wait::Wait;
use lanewise_observe::{Cause, Fact, Use};
use lanewise_pcie::ack_nak::ReplayOutcome;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

impl Fabric {
    /// Sends the next TLP of a replay, or ends the replay.
    #[inline(never)]
    pub(crate) fn replay_next(&mut self, id: PortId, now: Time) -> Result<(), Wait> {
        let port = &mut self.ports[id.index()];
        let mut books = Books { port: id, observers: &mut self.observers };
        let sent = port.transmitter.send_again(now, &port.settings.wire, &mut books);
        let Some((packet, on_wire, Departure { sequence, head, tail })) = sent else {
            return match port.more_channels() {
                false => self.send_next::<false>(id, now),
                true => self.send_specially(id, now),
            };
        };
        let damage = port.faults.as_mut().and_then(|faults| faults.damage_to_tlp(on_wire));
        let peer_id = port.peer;
        let in_flight = InFlight {
            packet,
            eligible_at: head,
            checked: tail,
            sequence,
            egress: 0,
            channel: VC0,
            data_credits: 0,
            class: FlowClass::Posted,
            fate: Fate::of(damage),
        };
        let peer = &mut self.ports[peer_id.index()];
        let checked = in_flight.checked + peer.settings.receive_latency;
        if self.observers.are_heard() {
            self.tell_of_replay(id, packet, Departure { sequence, head, tail }, now);
        }
        let peer = &mut self.ports[peer_id.index()];
        let duplicate =
            InFlight { checked, eligible_at: checked.max(peer.receiver.last_arrival()), ..in_flight };
        match self.packets.resolve(packet) {
            // It had nothing but a late Ack: a duplicate, of which the peer only checks the sequence number.
            _ if peer.delivers_ahead => peer.receiver.expect_ahead(duplicate),
            Some(packet_id) => {
                let packet = self.packets[packet_id];
                let (class, data_credits) = (packet.class(), packet.credits().data);
                let channel = self.ports[id.index()].channel_of(packet.traffic_class);
                let in_flight = InFlight { class, data_credits, channel, ..in_flight };
                self.launch(peer_id, in_flight, packet_id, &packet);
            }
            // Delivered already: a duplicate too.
            None => {
                peer.receiver.expect(duplicate);
                self.engine.schedule(checked, Event::Arrival(peer_id).pack());
            }
        }
        self.restart_replay_timer(id, now);
        Ok(())
    }

    /// A TLP or flit went out: the timer runs from its end if nothing older waits for an Ack.
    #[inline(always)]
    pub(crate) fn arm_replay_timer(&mut self, id: PortId) {
        if let Some(at) = self.ports[id.index()].arm_replay_timer() {
            self.engine.schedule(at, Event::ReplayTimer(id).pack());
        }
    }

    /// Progress, or a replay: the timer starts again from `at`. The event already scheduled finds out.
    pub(crate) fn restart_replay_timer(&mut self, id: PortId, at: Time) {
        let port = &mut self.ports[id.index()];
        port.transmitter.restart_replay_timer(at, port.settings.replay_timer);
    }

    /// The replay timer may have run out.
    pub(crate) fn on_replay_timer(&mut self, id: PortId) {
        let now = self.engine.now();
        let port = &self.ports[id.index()];
        if port.transmitter.replay_deadline().is_none_or(|deadline| deadline <= now) {
            let (peer, sleeps) = (port.peer, port.sleeps);
            self.advance_to(peer, now);
            if sleeps {
                self.advance_to(id, now); // A DLLP that is due begins to wake it, and no Nak is read before it is awake.
            }
            if let Some(at) = self.take_in_dllps_before_nak(id, now) {
                // The Nak came before the timer ran out, and starts a replay itself once the wire is free.
                return self.engine.schedule(at, Event::ReplayTimer(id).pack());
            }
        }
        let port = &mut self.ports[id.index()];
        let (unacknowledged, period) = (port.unacknowledged(), port.settings.replay_timer);
        let (look_at, ran_out) = port.transmitter.look_at_replay_timer(unacknowledged, now, period);
        if look_at != Time::NEVER {
            self.engine.schedule(look_at, Event::ReplayTimer(id).pack());
        }
        if ran_out {
            self.start_replay(id, now, true);
        }
    }

    #[inline(never)]
    pub(crate) fn start_replay(&mut self, id: PortId, now: Time, by_timer: bool) {
        let port = &mut self.ports[id.index()];
        if port.nothing_to_replay() {
            return;
        }
        // A replay needs neither credits nor room: whatever the port was stuck on does not hold it up.
        port.blocked_until = Time::ZERO;
        self.observers.observe(now, Fact::ReplayStarted { port: id.0, by_timer });
        let outcome = match &mut port.flits {
            Some(flits) => flits.transmitter.rewind(),
            None => {
                port.transmitter.retry.start_replay();
                port.transmitter.retry.on_replay_started()
            }
        };
        if outcome == ReplayOutcome::RolloverRetrain {
            self.observers.observe(now, Fact::ReplayNumRollover { port: id.0 });
            self.retrain(id, now);
        } else {
            self.restart_replay_timer(id, now);
        }
        self.wake(id, now);
    }

    /// The link above or below a port goes through Recovery, in both directions.
    pub(crate) fn retrain(&mut self, id: PortId, now: Time) {
        let port = &self.ports[id.index()];
        let peer = port.peer;
        let until = now + port.settings.wire.recovery;
        // Both are accounted for before either is down: what one of them does decides whether the other slept.
        for end in [id, peer] {
            self.advance_to(end, now);
        }
        for end in [id, peer] {
            self.settle(end, now);
        }
        self.take_down(id, now, until);
        self.take_down(peer, now, until);
        // Held while the link retrains: PCIe Base 6.3 §3.6.2.1.
        self.restart_replay_timer(peer, until);
        self.restart_replay_timer(id, until);
    }

    /// The link retrains: nothing is sent until then. What was on the wire is lost to the peer's checks only.
    fn take_down(&mut self, id: PortId, now: Time, until: Time) {
        let port = &mut self.ports[id.index()];
        if until > port.transmitter.busy_until {
            let span = until - port.transmitter.busy_until;
            let since = port.transmitter.busy_until;
            self.observers.observe(now, Fact::Spent { port: id.0, on: Use::Down, span });
            if self.observers.are_heard() {
                self.tell_pause(id, Cause::Down, (since, until), now);
            }
            let port = &mut self.ports[id.index()];
            port.transmitter.go_down_until(until, &port.settings.wire);
        }
    }
}
