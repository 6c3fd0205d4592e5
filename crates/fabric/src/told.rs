//! What is told only while a listener is there: each thing on a wire with all that it says, and what joins the queue of a port. What is held
//! up there is in `told/holds.rs`.
//!
//! A port that puts something on a wire asks [`Observers::are_heard`](lanewise_observe::Observers::are_heard) and calls one of these: that is
//! all that a run without a listener pays. They change nothing that the run depends on, so a run that is listened to is the same run.

use crate::fabric::Fabric;
use crate::link::{Departure, SentFlit};
use crate::packet::{Flags, Packet, PacketId, PacketRef, RouteEnd};
use crate::port::{Owner, Port, PortId};
use crate::workload::DeviceId;
use lanewise_observe::{
    Cause, HeldUp, OnWire, Place, Queued, RequestId, Transmission, WaitingTlp, What, WireFact, WireTlp,
};
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};

mod holds;

impl Fabric {
    /// What facts call an endpoint that TLPs come from or go to; none for another device.
    pub fn place(&self, device: DeviceId) -> Option<Place> {
        let index = self.requester_index(device)?;
        Some(self.endpoints[index].route_end.place())
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
        self.observers.let_go(now, id.0, HeldUp::Everything, now);
        let tlp = self.wire_tlp(id, packet_id, departure.sequence.get(), why);
        self.tell(id, now, (start, span), What::Tlp(tlp));
        self.tell_holds(id, now);
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
        self.observers.let_go(now, id.0, HeldUp::Everything, now);
        self.tell(id, now, (start, span), what);
    }

    /// A TLP is put into the flit that goes next, or where NOPs fill that one, into the one after it.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_tlp_in_flit(&mut self, id: PortId, packet_id: PacketId, now: Time) {
        let flits = self.ports[id.index()].flits.as_ref().expect("a port in Flit Mode");
        let sequence = flits.transmitter.retry.next_sequence().get();
        let tlp = self.wire_tlp(id, packet_id, sequence, Transmission::First);
        self.observers.let_go(now, id.0, HeldUp::Everything, now);
        self.tell(id, now, (now, Span::ZERO), What::Tlp(tlp));
        self.tell_holds(id, now);
    }

    /// A TLP has joined those that wait for a port.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_queued(&mut self, id: PortId, packet_id: PacketId) {
        let (now, port) = (self.engine.now(), &self.ports[id.index()]);
        let packet = &self.packets[packet_id];
        let (channel, tlp) = (port.channel_of(packet.traffic_class), packet.waiting());
        // Behind a queue that root ports share, or for want of a place in its own, it may have been ready before this port knew.
        let (joined, behind) = match port.owner {
            Owner::RootComplex(index) if self.leaves_by_lines(index, port) => {
                (now.max(tlp.ready_at), Cause::CompletionQueue)
            }
            Owner::RootComplex(_) => (now.max(tlp.ready_at), Cause::SharedQueue),
            _ => (tlp.ready_at, Cause::SharedQueue),
        };
        self.observers.tell(now, &WireFact::Queued(Queued { port: id.0, channel, joined, behind, tlp }));
        if self.observers.anybody_held_up(id.0) {
            self.tell_holds(id, now);
        }
    }

    /// The same of several.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_all_queued(&mut self, id: PortId, packets: &[PacketId]) {
        packets.iter().for_each(|packet_id| self.tell_of_queued(id, *packet_id));
    }

    /// An endpoint has staged its next requests: of those that wait at its port, the ones are new that no listener has heard of.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_staged(&mut self, id: PortId) {
        for channel in self.ports[id.index()].channel_numbers() {
            for class in [FlowClass::Posted, FlowClass::NonPosted] {
                while let Some(packet_id) = self.first_untold(id, channel, class) {
                    let flags = &mut self.packets[packet_id].flags;
                    *flags = flags.with(Flags::TOLD);
                    self.tell_of_queued(id, packet_id);
                }
            }
        }
    }

    fn first_untold(&self, id: PortId, channel: u8, class: FlowClass) -> Option<PacketId> {
        let mut ids = self.ports[id.index()].queues_of(channel).ids_of_class(&self.packets, class);
        ids.find(|packet_id| !self.packets[*packet_id].flags.has(Flags::TOLD))
    }

    /// A flit has been put on the wire.
    pub(crate) fn tell_of_flit(&mut self, id: PortId, sent: SentFlit, again: bool, now: Time) {
        if !self.observers.are_heard() {
            return;
        }
        let port = &self.ports[id.index()];
        let span = port.settings.wire.span(FLIT_BYTES);
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

    #[inline(always)]
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
        self.ports[peer.index()].delivers_ahead || self.packets[packet_id].came_in_at() == Some(peer.0)
    }

    // In its place: a TLP is a hundred bytes, which would be copied from one to the next.
    #[inline(always)]
    fn wire_tlp(
        &self,
        id: PortId,
        packet_id: PacketId,
        sequence: u16,
        transmission: Transmission,
    ) -> WireTlp {
        let (port, packet) = (&self.ports[id.index()], &self.packets[packet_id]);
        let channel = port.channel_of(packet.traffic_class);
        let is_completion = packet.class() == FlowClass::Completion;
        let (requester, completer) = match is_completion {
            true => (packet.destination, packet.requester),
            false => (packet.requester, packet.destination),
        };
        WireTlp {
            sequence,
            transmission,
            kind: packet.kind,
            address: packet.address,
            length: packet.length,
            cost: if port.flit_mode() { packet.cost_in_flits() } else { packet.cost },
            source: packet.requester.place(),
            destination: packet.destination.place(),
            requester_id: self.addresses.id(requester),
            completer_id: self.addresses.id(completer),
            tag: packet.tag(),
            attributes: packet.attributes(),
            traffic_class: packet.traffic_class,
            channel,
            ingress: self.ingress_of(port, packet),
            poisoned: packet.flags.has(Flags::POISONED),
            digest: packet.flags.has(Flags::DIGEST),
            status: packet.status(),
            is_last_completion: is_completion && packet.flags.has(Flags::LAST),
            issued_at: packet.issued_at,
            ready_at: packet.eligible_at,
            credits_left: port.credits_of(channel)[packet.class().index()].available(),
        }
    }

    /// Port through which a packet came into the switch that it leaves.
    fn ingress_of(&self, port: &Port, packet: &Packet) -> Option<u16> {
        let came_in = packet.came_in_at().filter(|_| matches!(port.owner, Owner::Switch(_)))?;
        Some(self.ports[PortId(came_in).index()].index)
    }
}

impl RouteEnd {
    fn place(self) -> Place {
        match self {
            Self::HOST => Place::Host,
            Self::NOBODY => Place::NoDevice,
            Self(number) => Place::Endpoint(number),
        }
    }
}

impl Packet {
    fn tag(&self) -> u16 {
        if self.class() == FlowClass::Posted { 0 } else { self.read }
    }

    /// Which request it belongs to, of its requester's.
    #[inline(always)]
    pub(crate) fn request_id(&self) -> RequestId {
        match self.class() {
            FlowClass::Posted => RequestId::posted(self.issued_at, self.address),
            FlowClass::NonPosted => RequestId::answered(self.issued_at, self.requester.place(), self.read),
            FlowClass::Completion => RequestId::answered(self.issued_at, self.destination.place(), self.read),
        }
    }

    fn waiting(&self) -> WaitingTlp {
        WaitingTlp {
            kind: self.kind,
            class: self.class(),
            source: self.requester.place(),
            destination: self.destination.place(),
            tag: self.tag(),
            address: self.address,
            issued_at: self.issued_at,
            ready_at: self.eligible_at,
        }
    }
}
