//! DLLPs sent and taken in: Nak, Ack and UpdateFC when they are due, and what those of the peer change.
//!
//! A DLLP takes its time on the wire and then lies in the mailbox of the peer until the peer looks. Order of priority:
//! PCIe Base 6.3 §3.6.2.1.

use crate::alarms::Alarms;
use crate::books::Books;
use crate::channels::VC0;
use crate::fabric::Fabric;
use crate::link::LinkState;
use crate::port::PortId;
use lanewise_observe::Fact;
use lanewise_pcie::ack_nak::Sequence;
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

impl Fabric {
    /// Sends what the receiver owes the peer: Nak, Ack, UpdateFC.
    pub(crate) fn send_due_dllps(&mut self, id: PortId, now: Time) {
        let port = &mut self.ports[id.index()];
        let mut books = Books { port: id, observers: &mut self.observers };
        if let Some(sequence) = port.receiver.take_nak(now, &port.settings.receiver.ack, &mut books) {
            self.send_dllp(id, Dllp::Nak(sequence), now);
        }
        let port = &mut self.ports[id.index()];
        if let Some(sequence) = port.receiver.take_ack(now, &port.settings.receiver.ack) {
            self.send_dllp(id, Dllp::Ack(sequence), now);
        }
        if !self.ports[id.index()].receiver.owes_update(now) {
            return;
        }
        if self.ports[id.index()].flit_mode() {
            return self.send_longest_due_update(id, now);
        }
        for class in self.ports[id.index()].receiver.updates_due(now).classes() {
            self.send_due_update(id, VC0, FlowClass::ALL[class], now);
        }
        if self.ports[id.index()].more_channels() {
            self.send_updates_beyond_vc0(id, now);
        }
    }

    #[inline(always)]
    fn send_due_update(&mut self, id: PortId, channel: u8, class: FlowClass, now: Time) {
        let port = &mut self.ports[id.index()];
        let mut books = Books { port: id, observers: &mut self.observers };
        let policy = &port.settings.receiver.update;
        if let Some(update) = port.receiver.take_update(channel, class, now, policy, &mut books) {
            self.send_dllp(id, update, now);
        }
    }

    #[cold]
    fn send_updates_beyond_vc0(&mut self, id: PortId, now: Time) {
        for channel in 1..self.ports[id.index()].receiver.channels() {
            FlowClass::ALL.into_iter().for_each(|class| self.send_due_update(id, channel, class, now));
        }
    }

    /// A flit carries one DLLP, and every flit an Ack or Nak without that.
    #[inline(never)]
    fn send_longest_due_update(&mut self, id: PortId, now: Time) {
        let port = &mut self.ports[id.index()];
        let mut books = Books { port: id, observers: &mut self.observers };
        let update = port.receiver.longest_due_update(now, &port.settings.receiver.update, &mut books);
        if let Some(dllp) = update {
            self.send_dllp(id, dllp, now);
        }
    }

    /// Puts a DLLP on the wire and into the peer's mailbox.
    pub(crate) fn send_dllp(&mut self, id: PortId, dllp: Dllp, now: Time) {
        let port = &mut self.ports[id.index()];
        if port.flit_mode() {
            return self.ride_in_next_flit(id, dllp, now);
        }
        let mut books = Books { port: id, observers: &mut self.observers };
        let at_pins = port.transmitter.send_dllp(now, &port.settings.wire, &mut books);
        let (peer_id, error_free) = (port.peer, port.error_free_non_flit);
        if self.observers.are_heard() {
            self.tell_of_dllp(id, dllp, at_pins, now);
        }
        match error_free {
            true => self.arrives(peer_id, dllp, at_pins),
            false => self.post(id, dllp, at_pins),
        }
    }

    /// Puts a DLLP that reaches the peer's pins at `at_pins` into the peer's mailbox, unless it arrives damaged.
    pub(crate) fn post(&mut self, id: PortId, dllp: Dllp, at_pins: Time) {
        let now = self.engine.now();
        let port = &mut self.ports[id.index()];
        let peer_id = port.peer;
        // Every flit has an Ack or Nak: the next says what a lost one did.
        let says_again = port.flit_mode() && matches!(dllp, Dllp::Ack(_) | Dllp::Nak(_));
        if !port.error_free_non_flit && port.faults.as_mut().is_some_and(|faults| faults.damages_dllp()) {
            if says_again && let Some(at_pins) = self.arrival_of_next_flit(id, at_pins) {
                return self.arrives(peer_id, dllp, at_pins);
            }
            self.observers.observe(now, Fact::BadDllp { port: peer_id.0 });
            return;
        }
        self.arrives(peer_id, dllp, at_pins);
    }

    /// A good DLLP reaches the pins of a port at `at_pins`.
    #[inline(always)]
    pub(crate) fn arrives(&mut self, peer_id: PortId, dllp: Dllp, at_pins: Time) {
        let peer = &mut self.ports[peer_id.index()];
        let arrival = at_pins + peer.settings.receive_latency;
        peer.mailbox.push_before((arrival, dllp), |(at, _)| *at > arrival);
        if peer.may_unblock(&dllp) || peer.transmitter.state != LinkState::Active {
            Alarms { engine: &mut self.engine, ready: &mut self.ready }.wake(peer, peer_id, arrival);
        } else if peer.mailbox.len() > MAILBOX_LIMIT {
            self.take_in_acknowledgements(peer_id, self.engine.now()); // A Nak has to wait until the port looks.
        }
    }

    /// Acts on the DLLPs that have arrived by now, up to a Nak if a packet of this port is on the wire: a replay starts when that has
    /// left. Returns when, if there is such a Nak.
    pub(crate) fn take_in_dllps_before_nak(&mut self, id: PortId, now: Time) -> Option<Time> {
        let port = &self.ports[id.index()];
        let free_at = port.transmitter.decides_at(now);
        if free_at > now && port.transmitter.state != LinkState::Active {
            return None; // An InitFC is acted on when the wire is free, whoever asks before.
        }
        let is_nak = |(at, dllp): &(Time, Dllp)| *at <= now && matches!(dllp, Dllp::Nak(_));
        let waits = free_at > now && !port.error_free_non_flit && port.mailbox.iter().any(is_nak);
        if !waits {
            self.take_in_dllps(id, now);
            return None;
        }
        let heard = self.observers.are_heard();
        while let Some(front) = self.ports[id.index()].mailbox.front().copied()
            && !is_nak(&front)
        {
            self.ports[id.index()].mailbox.pop_front();
            match heard {
                true => self.take_in_dllp_heard(id, front.1, front.0, now),
                false => self.take_in_dllp(id, front.1, front.0, now),
            }
        }
        Some(free_at)
    }

    /// Acts on DLLPs of which it does not matter when they are read, up to the first that is another: those of a link that is up, but for
    /// Naks, which have arrived by `at`. An InitFC says nothing there any more.
    pub(crate) fn take_in_acknowledgements(&mut self, id: PortId, at: Time) {
        while let port = &mut self.ports[id.index()]
            && port.transmitter.state == LinkState::Active
            && let Some((arrival, dllp)) = port.mailbox.front().copied()
            && arrival <= at
            && !matches!(dllp, Dllp::Nak(_))
        {
            port.mailbox.drop_front();
            match self.observers.are_heard() {
                true => self.take_in_dllp_heard(id, dllp, arrival, at),
                false => self.take_in_dllp(id, dllp, arrival, at),
            }
        }
    }

    /// Acts on the DLLPs that have arrived by now.
    pub(crate) fn take_in_dllps(&mut self, id: PortId, now: Time) {
        let heard = self.observers.are_heard();
        loop {
            let port = &mut self.ports[id.index()];
            let Some((at, dllp)) = port.mailbox.front().copied() else { return };
            if at > now {
                return;
            }
            port.mailbox.drop_front();
            match dllp {
                _ if heard => self.take_in_dllp_heard(id, dllp, at, now),
                Dllp::Ack(sequence) if port.is_plain() => {
                    if port.may_unblock(&dllp) {
                        port.blocked_until = Time::ZERO;
                    }
                    port.transmitter.acknowledge(sequence, at, port.settings.replay_timer);
                }
                _ => self.take_in_dllp(id, dllp, at, now),
            }
        }
    }

    /// The same while a listener is there. It hears what this DLLP lets go, held up until `at`.
    #[cold]
    #[inline(never)]
    fn take_in_dllp_heard(&mut self, id: PortId, dllp: Dllp, at: Time, now: Time) {
        self.tell_holds(id, at);
        // An Ack or an UpdateFC lets go, and holds nothing up.
        let lets_go_only = matches!(dllp, Dllp::Ack(_) | Dllp::UpdateFlowControl { .. });
        let is_all = lets_go_only
            && self.ports[id.index()].transmitter.state == LinkState::Active
            && !self.observers.anybody_held_up(id.0);
        self.take_in_dllp(id, dllp, at, now);
        if !is_all {
            self.tell_holds(id, at);
        }
    }

    #[inline(always)]
    fn take_in_dllp(&mut self, id: PortId, dllp: Dllp, at: Time, now: Time) {
        let port = &mut self.ports[id.index()];
        if port.may_unblock(&dllp) {
            port.blocked_until = Time::ZERO;
        }
        match dllp {
            Dllp::UpdateFlowControl { channel, class, header, data } => {
                port.credits_of_mut(channel)[class as usize].update(header, data);
                if port.transmitter.state == LinkState::InitFlowControl2 {
                    self.flow_control_initialised(id, now);
                }
            }
            Dllp::Ack(sequence) => self.acknowledged(id, sequence, at),
            Dllp::Nak(sequence) => {
                self.acknowledged(id, sequence, at);
                self.start_replay(id, now, false);
            }
            Dllp::InitFlowControl1 { channel, class, header, data }
            | Dllp::InitFlowControl2 { channel, class, header, data }
                if port.transmitter.state == LinkState::InitFlowControl1 =>
            {
                let pool = CreditPool::from_advertisement(header, data);
                let beyond = port.channels.as_mut().map(|channels| &mut channels.credits);
                port.transmitter.hear_init(beyond, channel, class, pool, now);
            }
            Dllp::InitFlowControl1 { .. } => {}
            Dllp::InitFlowControl2 { .. } => self.flow_control_initialised(id, now),
        }
    }

    /// The peer has everything up to `sequence`: the replay timer starts again.
    #[inline(never)]
    fn acknowledged(&mut self, id: PortId, sequence: Sequence, at: Time) {
        let port = &mut self.ports[id.index()];
        let period = port.settings.replay_timer;
        if !port.flit_mode() {
            port.transmitter.acknowledge(sequence, at, period);
        } else if self.flits(id).transmitter.acknowledge(sequence) {
            self.ports[id.index()].transmitter.progress_at(at, period);
        }
    }
}

/// DLLPs a transmitter that is not waiting may leave unread before it looks at them.
const MAILBOX_LIMIT: usize = 16;
