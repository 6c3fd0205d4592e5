//! Flit Mode: TLPs packed into 256 B flits, with a sequence number, replay and CRC for each flit.
//!
//! A flit leaves when the wire is free and there is something to put into it; otherwise the link sends NOP flits,
//! which are idle time here; what becomes ready meanwhile goes into the NOP flit on the wire, at the next 4 DW. The DLP bytes
//! of every flit carry one DLLP, and an Ack, for nothing. A receiver acts on a TLP once the flit that ends it has been decoded
//! and checked; a cut-through switch forwards a TLP flit by flit from the one with its header on. Source: PCIe Base 6.3 §4.2.3.
//!
//! Left out: what becomes of a TLP that a switch has begun to forward when one of its later flits has to come again (it goes on
//! as if that had been good), shared and merged credits (the six pools stay apart), selective Nak, L0p, nullified TLPs.

use crate::books::Books;
use crate::channels::VC0;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::link::{ArrivingFlit, DllpSet, Fate, FlitParts, Flits, InFlight, Packed, SentFlit};
use crate::packet::{Packet, PacketId, PacketRef};
use crate::port::{Flying, Owner, Port, PortId};
use crate::receive::overflows;
use crate::transmit::route;
use crate::wait::Wait;
use lanewise_observe::{Fact, Use, What};
use lanewise_pcie::ack_nak::{FLIT_REPLAY_TIMEOUT_FLITS, Verdict};
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};

impl Port {
    /// How far ahead of its wire this egress of a switch asks a crossbar for packets: a flit in Flit Mode.
    #[inline]
    pub(crate) fn asks_the_core_ahead(&self) -> Span {
        if self.flit_mode() { self.settings.wire.span(FLIT_BYTES) } else { Span::ZERO }
    }

    #[inline(never)]
    pub(crate) fn free_for_dllps_in_flits_at(&self) -> Time {
        self.flits
            .as_ref()
            .map_or(Time::ZERO, |flits| flits.transmitter.free_for_dllps_at())
            .max(self.transmitter.free_for_dllps_at())
    }
}

impl Fabric {
    /// Sends the next flit that carries TLP bytes, if there is one.
    #[inline(never)]
    pub(crate) fn send_flit(&mut self, id: PortId, now: Time) -> Result<(), Wait> {
        if self.flits(id).transmitter.retry.replaying() {
            self.replay_flit(id, now);
            return Ok(());
        }
        if !self.flits(id).transmitter.retry.fits(FLIT_BYTES) {
            return Err(Wait::held(Use::BlockedRetryBuffer, DllpSet::ALL));
        }
        let port = &mut self.ports[id.index()];
        let flits = port.flits.as_mut().expect(IN_FLIT_MODE);
        let gone = flits.transmitter.join(&mut port.transmitter, &port.settings.wire);
        let wait = self.fill_flit(id, now);
        let port = &mut self.ports[id.index()];
        let flits = port.flits.as_mut().expect(IN_FLIT_MODE);
        if !flits.transmitter.has_filled() && !flits.transmitter.close() {
            flits.transmitter.leave(&mut port.transmitter, now, gone);
            return Err(wait);
        }
        self.launch_flit(id, now, gone);
        Ok(())
    }

    /// Packs TLPs until the flit being filled is full, or none may go. Returns why no more could.
    fn fill_flit(&mut self, id: PortId, now: Time) -> Wait {
        loop {
            if self.flits(id).transmitter.has_filled() {
                return Wait::NOTHING;
            }
            let packet_id = match self.next_packet_for_flit(id, now) {
                Ok(packet_id) => packet_id,
                Err(wait) => return wait,
            };
            let packet = self.packets[packet_id];
            let reference = self.packets.reference(packet_id);
            let port = &mut self.ports[id.index()];
            let flits = port.flits.as_mut().expect(IN_FLIT_MODE);
            port.transmitter.credits[packet.class().index()].consume(packet.credits());
            // The space that it took up at the port where it came in is free when the flit that ends it has gone.
            let left = (packet.ingress != Packet::ORIGINATED).then_some(packet);
            flits.transmitter.pack(reference, packet.cost_in_flits(), left);
            // Time is stated flit by flit; this states the TLP.
            let fact = Fact::TlpSent {
                port: id.0,
                sequence: flits.transmitter.retry.next_sequence().get(),
                payload: Span::ZERO,
                header: Span::ZERO,
                framing: Span::ZERO,
            };
            let owner = port.owner;
            self.observers.observe(now, fact);
            if self.observers.are_heard() {
                self.tell_of_tlp_in_flit(id, packet_id, now);
            }
            self.on_dequeued(owner, id, &packet);
        }
    }

    /// Puts a full flit on the wire; NOPs of it that are `gone` have been there and are accounted for.
    fn launch_flit(&mut self, id: PortId, now: Time, gone: Span) {
        let port = &mut self.ports[id.index()];
        let mut books = Books { port: id, observers: &mut self.observers };
        let flits = port.flits.as_mut().expect(IN_FLIT_MODE);
        let sent = flits.transmitter.send(&mut port.transmitter, gone, now, &port.settings.wire, &mut books);
        self.tell_of_flit(id, sent, false, now);
        self.fly_flit(id, sent);
        self.arm_replay_timer(id);
        let end = self.ports[id.index()].transmitter.busy_until;
        while let Some(packet) = self.flits(id).transmitter.take_left() {
            self.gone(id, &packet, end);
        }
    }

    /// Sends the next unacknowledged flit again.
    fn replay_flit(&mut self, id: PortId, now: Time) {
        let port = &mut self.ports[id.index()];
        let mut books = Books { port: id, observers: &mut self.observers };
        let flits = port.flits.as_mut().expect(IN_FLIT_MODE);
        let sent = flits.transmitter.send_again(&mut port.transmitter, now, &port.settings.wire, &mut books);
        self.tell_of_flit(id, sent, true, now);
        self.fly_flit(id, sent);
        self.restart_replay_timer(id, now);
    }

    /// Hands a flit, and the TLPs that go with it, to the peer's pins.
    fn fly_flit(&mut self, id: PortId, sent: SentFlit) {
        let port = &mut self.ports[id.index()];
        let flits = port.flits.as_mut().expect(IN_FLIT_MODE);
        let damage = port.faults.as_mut().and_then(|faults| faults.damage_to_tlp(FLIT_BYTES));
        let at_pins = port.transmitter.busy_until + port.settings.wire.propagation;
        let peer_id = port.peer;
        let packed: Vec<Packed<PacketRef>> = flits.transmitter.tlps_of(sent).copied().collect();
        let checked = at_pins + self.ports[peer_id.index()].settings.receive_latency;
        let SentFlit { sequence, tlps, .. } = sent;
        for Packed { packet: reference, parts } in packed {
            let mut in_flight = InFlight {
                packet: reference,
                eligible_at: checked,
                checked,
                sequence,
                fate: Fate::of(damage),
                egress: 0,
                channel: VC0,
                class: FlowClass::Posted,
                data_credits: 0,
            };
            if let Some(packet_id) = self.packets.resolve(reference) {
                let packet = &self.packets[packet_id];
                (in_flight.class, in_flight.data_credits) = (packet.class(), packet.credits().data);
                self.route_in_flits(peer_id, &mut in_flight, (at_pins, parts), packet_id);
            }
            self.ports[peer_id.index()].receiver.expect(in_flight);
        }
        let damaged = damage.is_some();
        self.flits(peer_id).receiver.expect(ArrivingFlit { sequence, damaged, tlps });
        self.engine.schedule(checked, Event::Arrival(peer_id).pack());
    }

    /// Where a TLP will go whose header is in a flit that is in by `at_pins`, and from when on it may.
    fn route_in_flits(
        &self,
        peer_id: PortId,
        in_flight: &mut Flying,
        (at_pins, parts): (Time, FlitParts),
        packet_id: PacketId,
    ) {
        let peer = &self.ports[peer_id.index()];
        let Owner::Switch(index) = peer.owner else { return };
        let switch = &self.switches[index as usize];
        if !switch.cuts_through() {
            return route(peer, &self.switches, &self.packets[packet_id], in_flight, Span::ZERO);
        }
        let egress = switch.egress(self.packets[packet_id].destination, peer.index);
        let flit = peer.settings.wire.span(FLIT_BYTES);
        in_flight.egress = egress as u8; // There are no more than MAX_SWITCH_PORTS.
        in_flight.eligible_at = switch.eligible_in_flits(at_pins, parts, flit, egress).max(in_flight.checked);
    }

    /// A flit has been decoded: its TLPs are accepted or discarded together, and it is acknowledged for nothing.
    #[inline(never)]
    pub(crate) fn on_flit(&mut self, id: PortId) {
        let now = self.engine.now();
        let (flit, verdict) = self.flits(id).receiver.receive_next();
        for _ in 0..flit.tlps {
            self.advance_to(id, now); // What the TLP before it frees is told first.
            let port = &mut self.ports[id.index()];
            let arrived = port.receiver.take_next();
            if verdict == Verdict::Accept {
                let mut books = Books { port: id, observers: &mut self.observers };
                if let Err(overflow) = port.receiver.fill(&arrived, now, &mut books) {
                    overflows(id, now, &arrived, overflow);
                }
                self.deliver(id, &arrived, now);
            }
        }
        let sequence = flit.sequence.get();
        match verdict {
            Verdict::Accept => self.answer_flit(id, Dllp::Ack(flit.sequence), now),
            Verdict::DiscardDuplicate => {
                self.observers.observe(now, Fact::Duplicate { port: id.0, sequence });
                let last = self.flits(id).receiver.last_accepted();
                self.answer_flit(id, Dllp::Ack(last), now);
            }
            Verdict::DiscardNak(last) => {
                self.observers.observe(now, Fact::BadTlp { port: id.0, sequence });
                self.observers.observe(now, Fact::NakSent { port: id.0 });
                self.answer_flit(id, Dllp::Nak(last), now);
            }
            Verdict::DiscardSilently => {
                if flit.damaged {
                    self.observers.observe(now, Fact::BadTlp { port: id.0, sequence });
                }
            }
        }
    }

    /// An Ack or Nak rides in the next flit of the other direction.
    fn answer_flit(&mut self, id: PortId, answer: Dllp, now: Time) {
        let latency = self.flits(id).receiver.ack_latency;
        let at = now + latency;
        self.ride(id, answer, at);
        if self.observers.are_heard() {
            self.tell_of_ride(id, What::AnswerInFlit(answer), at, now);
        }
    }

    /// Gives a DLLP to the DLP bytes of the first flit from `at` on that has room for one.
    #[inline(never)]
    pub(crate) fn ride_in_next_flit(&mut self, id: PortId, dllp: Dllp, now: Time) {
        let at = self.flits(id).transmitter.take_dllp_slot(now);
        self.observers.observe(now, Fact::DllpSent { port: id.0 });
        self.ride(id, dllp, at);
        if self.observers.are_heard() {
            self.tell_of_ride(id, What::DllpInFlit(dllp), at, now);
        }
    }

    /// Puts a DLLP into the mailbox of the peer, a flit after `at`.
    fn ride(&mut self, id: PortId, dllp: Dllp, at: Time) {
        let span = self.flits(id).transmitter.flit_span;
        let port = &self.ports[id.index()];
        let at_pins = at + span + port.settings.wire.propagation;
        self.post(id, dllp, at_pins);
    }

    /// When the next flit that is not lost reaches the pins of the peer, after one that was lost at `at_pins`. None if so many are
    /// lost that the peer replays before.
    #[cold]
    pub(crate) fn arrival_of_next_flit(&mut self, id: PortId, at_pins: Time) -> Option<Time> {
        let span = self.flits(id).transmitter.flit_span;
        let faults = self.ports[id.index()].faults.as_mut()?;
        let lost = (0..FLIT_REPLAY_TIMEOUT_FLITS).find(|_| !faults.damages_dllp())?;
        Some(at_pins + span * (lost + 1))
    }

    /// Those of a port in Flit Mode. What is sent in flits, or received, asks here first.
    pub(crate) fn flits(&mut self, id: PortId) -> &mut Flits<PacketRef, Packet> {
        if self.ports[id.index()].flits.is_none() {
            self.make_flits(id);
        }
        self.ports[id.index()].flits.as_mut().expect(IN_FLIT_MODE)
    }

    #[cold]
    fn make_flits(&mut self, id: PortId) {
        let port = &self.ports[id.index()];
        let mode = port.settings.wire.flit.expect("a port in Flit Mode");
        let span = port.settings.wire.span(FLIT_BYTES);
        let mut flits = Flits::new(mode, span, port.transmitter.retry.capacity());
        if let Owner::Switch(index) = self.ports[port.peer.index()].owner
            && self.switches[index as usize].cuts_through()
        {
            flits.transmitter.hand_over_early();
        }
        self.ports[id.index()].flits = Some(Box::new(flits));
    }
}

const IN_FLIT_MODE: &str = "a port in Flit Mode has flits";
