//! What is told only while somebody listens: each thing on a wire with all that it says, and what holds up a port.
//!
//! Whoever puts something on a wire asks [`Observers::are_heard`](lanewise_observe::Observers::are_heard) and calls one of these: that is
//! all that a run without a listener pays. They look and change nothing, so a run that is listened to is the same run.

use crate::fabric::Fabric;
use crate::link::{Departure, SentFlit};
use crate::packet::{Flags, Packet, PacketId, PacketRef, RouteEnd};
use crate::port::{Owner, PortId};
use crate::workload::DeviceId;
use lanewise_observe::{OnWire, Place, Transmission, Use, WaitingTlp, What, WireFact, WireTlp};
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};

impl Fabric {
    /// What facts call an endpoint that TLPs come from or go to; none for another device.
    pub fn place(&self, device: DeviceId) -> Option<Place> {
        let index = self.requester_index(device)?;
        Some(self.endpoints[index].ordinal.place())
    }

    /// A TLP goes onto the wire, for the first time or as nullified.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_tlp(
        &mut self,
        id: PortId,
        packet_id: PacketId,
        why: Transmission,
        departure: Departure,
        now: Time,
    ) {
        let (start, span) = self.on_the_wire(id, departure);
        let tlp = self.wire_tlp(id, packet_id, departure.sequence.get(), why);
        self.observers.let_go(now, id.0, start);
        self.tell(id, now, (start, span), What::Tlp(tlp));
    }

    /// A TLP of a replay goes onto the wire.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_replay(
        &mut self,
        id: PortId,
        reference: PacketRef,
        departure: Departure,
        now: Time,
    ) {
        let (start, span) = self.on_the_wire(id, departure);
        let sequence = departure.sequence.get();
        let what = match self.packets.resolve(reference) {
            Some(packet_id) if !self.is_further(id, packet_id) => {
                What::Tlp(self.wire_tlp(id, packet_id, sequence, Transmission::Again))
            }
            _ => What::Duplicate { sequence },
        };
        self.observers.let_go(now, id.0, start);
        self.tell(id, now, (start, span), what);
    }

    /// A TLP is put into the flit that goes next, or where NOPs fill that one, into the one after it.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_tlp_in_flit(&mut self, id: PortId, packet_id: PacketId, now: Time) {
        let flits = self.ports[id.index()].flits.as_ref().expect("a port in Flit Mode");
        let sequence = flits.transmitter.retry.next_sequence().get();
        let tlp = self.wire_tlp(id, packet_id, sequence, Transmission::First);
        self.observers.let_go(now, id.0, now);
        self.tell(id, now, (now, Span::ZERO), What::Tlp(tlp));
    }

    /// A flit has been put on the wire.
    pub(crate) fn tell_of_flit(&mut self, id: PortId, sent: SentFlit, again: bool, now: Time) {
        if !self.observers.are_heard() {
            return;
        }
        let port = &self.ports[id.index()];
        let span = port.flits.as_ref().expect("a port in Flit Mode").transmitter.flit_span;
        let start = port.transmitter.busy_until - span;
        let what = What::Flit { sequence: sent.sequence.get(), again, tlps: sent.tlps };
        self.tell(id, now, (start, span), what);
    }

    /// A DLLP has been put on the wire, and its last byte is at the peer's pins at `at_pins`.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_dllp(&mut self, id: PortId, dllp: Dllp, at_pins: Time, now: Time) {
        let wire = &self.ports[id.index()].settings.wire;
        let (start, span) = (at_pins - wire.propagation - wire.dllp, wire.dllp);
        self.tell(id, now, (start, span), What::Dllp(dllp));
    }

    /// A DLLP rides in the flit that starts at `at`.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_ride(&mut self, id: PortId, what: What, at: Time, now: Time) {
        self.tell(id, now, (at, Span::ZERO), what);
    }

    /// Nothing leaves a port, as its transmitter has been told.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_what_waits(&mut self, id: PortId, now: Time) {
        let transmitter = &self.ports[id.index()].transmitter;
        let (by, since) = (transmitter.idle_cause, transmitter.busy_until.max(now));
        match by {
            Use::Idle => self.observers.let_go(now, id.0, since),
            _ => {
                let waiting = self.waiting_tlp(id, by, since);
                self.observers.held_up(now, id.0, by, since, waiting);
            }
        }
    }

    /// The link is not up.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_link_down(&mut self, id: PortId, now: Time) {
        self.observers.held_up(now, id.0, Use::Down, now, None);
    }

    fn tell(&mut self, id: PortId, now: Time, (start, span): (Time, Span), what: What) {
        self.observers.tell(now, &WireFact::OnWire(OnWire { direction: id.0, start, span, what }));
    }

    /// When a TLP is on the wire, given when it is at the pins of the peer.
    fn on_the_wire(&self, id: PortId, departure: Departure) -> (Time, Span) {
        let propagation = self.ports[id.index()].settings.wire.propagation;
        (departure.head - propagation, departure.tail - departure.head)
    }

    /// Whether a packet that was sent from here has been accepted already, or will be: then what it says is about another wire.
    fn is_further(&self, id: PortId, packet_id: PacketId) -> bool {
        let peer = self.ports[id.index()].peer;
        self.ports[peer.index()].delivers_ahead || self.packets[packet_id].ingress == peer.0
    }

    fn wire_tlp(
        &self,
        id: PortId,
        packet_id: PacketId,
        sequence: u16,
        transmission: Transmission,
    ) -> WireTlp {
        let (port, packet) = (&self.ports[id.index()], &self.packets[packet_id]);
        let channel = port.channel_of(packet.traffic_class);
        let requester = match packet.class() {
            FlowClass::Completion => packet.destination,
            FlowClass::Posted | FlowClass::NonPosted => packet.requester,
        };
        WireTlp {
            sequence,
            transmission,
            kind: packet.kind,
            address: packet.address,
            length: packet.length,
            cost: packet.cost,
            source: packet.requester.place(),
            destination: packet.destination.place(),
            requester_id: self.addresses.id(requester),
            tag: packet.tag(),
            attributes: packet.attributes(),
            traffic_class: packet.traffic_class,
            channel,
            poisoned: packet.flags.has(Flags::POISONED),
            digest: packet.flags.has(Flags::DIGEST),
            status: packet.status(),
            issued_at: packet.issued_at,
            ready_at: packet.eligible_at,
            credits_left: port.credits_of(channel)[packet.class().index()].available(),
        }
    }

    /// The TLP that waits longest of those that a port holds up.
    fn waiting_tlp(&self, id: PortId, by: Use, since: Time) -> Option<WaitingTlp> {
        let port = &self.ports[id.index()];
        let heads = port.channel_numbers().flat_map(|channel| -> Vec<PacketId> {
            match port.owner {
                Owner::Switch(index) => {
                    self.switches[index as usize].heads_for(port.index, channel).collect()
                }
                Owner::RootComplex(_) | Owner::Endpoint(_) => {
                    FlowClass::ALL.iter().filter_map(|class| port.queues_of(channel).head(*class)).collect()
                }
            }
        });
        let packets = heads.map(|id| &self.packets[id]);
        let held = packets
            .filter(|packet| packet.eligible_at <= since && by.class().is_none_or(|of| of == packet.class()));
        held.min_by_key(|packet| packet.eligible_at).map(|packet| WaitingTlp {
            kind: packet.kind,
            source: packet.requester.place(),
            tag: packet.tag(),
            address: packet.address,
            issued_at: packet.issued_at,
            ready_at: packet.eligible_at,
        })
    }
}

impl RouteEnd {
    fn place(self) -> Place {
        match self {
            Self::HOST => Place::Host,
            Self::NOBODY => Place::Nobody,
            Self(ordinal) => Place::Endpoint(ordinal),
        }
    }
}

impl Packet {
    fn tag(&self) -> u16 {
        if self.class() == FlowClass::Posted { 0 } else { self.read }
    }
}
