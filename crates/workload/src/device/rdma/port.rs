//! A port of an adapter: what waits to be sent, the lane, room at the other side, and what comes in.
//!
//! Times are arithmetic. The lane is busy with one packet at a time; packets leave in the order in which they were
//! made, acknowledgements and flow control before them.

use super::room::Room;
use super::wiring::WireEnd;
use crate::server::{Blocked, RateServer, of_buffer, reading};
use lanewise_fabric::workload::DeviceId;
use lanewise_fabric::{Book, Level, RdmaPart, ResourceId, ResourceReading, Station};
use lanewise_network::NetworkWire;
use lanewise_network::transport::PacketKind;
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// A packet on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub kind: PacketKind,
    pub message: u32,
    pub payload: u32,
    /// It is the last of its message.
    pub last: bool,
}

/// A packet that was made and has not left.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    packet: Packet,
    /// Since when its payload is in the adapter and has crossed it.
    ready: Option<Time>,
}

/// What a port does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// Nothing, until something else happens.
    Idle,
    /// Look again at this time.
    Wait(Time),
    /// Nothing until credits come back; at this time if they are on their way.
    Blocked(Option<Time>),
    /// A packet starts now; its last byte leaves at the time given.
    Sent(Packet, Time),
}

/// One port.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub nic: usize,
    /// What is at the other end of its wire.
    pub far: WireEnd,
    pub wire: NetworkWire,
    pub mtu: Bytes,
    /// Along the wire.
    pub latency: Span,
    /// What UDP and IP add in the adapter, out and in each, where a switch is at the other end: without one it is part of the wire's latency.
    pub encapsulation: Span,
    packet_gap: Span,
    /// Ends with packets to make, each in its turn: end and whether it answers reads.
    pub ring: VecDeque<(u32, bool)>,
    outgoing: VecDeque<Outgoing>,
    /// Number of the packet at the front of `outgoing`.
    front: u32,
    urgent: VecDeque<(Packet, Time)>,
    /// Payload in `outgoing`.
    buffered: Level,
    send_buffer: u64,
    /// The next packet lacks room in it.
    blocked: Blocked,
    /// Packets with payload that were made.
    made: u64,
    lane: Station,
    /// A timer for the end of the packet on the lane is running.
    pub lane_timer: bool,
    /// Time that flow control packets have to take before the next packet.
    owed: Span,
    /// At the other side.
    pub room: Room,
    /// Packets on their way to this port, in order.
    pub arriving: VecDeque<Packet>,
    pub outbound_path: RateServer,
    pub inbound_path: RateServer,
    /// Packets that cross the adapter outwards, by number; and inwards.
    pub crossing_outbound: VecDeque<u32>,
    pub crossing_inbound: VecDeque<Packet>,
}

/// What a port is made of.
pub(super) struct PortSettings {
    pub nic: usize,
    pub far: WireEnd,
    pub wire: NetworkWire,
    pub mtu: Bytes,
    pub latency: Span,
    pub encapsulation: Span,
    pub packet_gap: Span,
    pub send_buffer: Bytes,
    pub room: Room,
    pub outbound_path: RateServer,
    pub inbound_path: RateServer,
}

impl Port {
    /// A port with nothing on its wire.
    pub(super) fn new(settings: PortSettings) -> Self {
        Self {
            nic: settings.nic,
            far: settings.far,
            wire: settings.wire,
            mtu: settings.mtu,
            latency: settings.latency,
            encapsulation: settings.encapsulation,
            packet_gap: settings.packet_gap,
            ring: VecDeque::new(),
            outgoing: VecDeque::new(),
            front: 0,
            urgent: VecDeque::new(),
            buffered: Level::default(),
            send_buffer: settings.send_buffer.get(),
            blocked: Blocked::default(),
            made: 0,
            lane: Station::default(),
            lane_timer: false,
            owed: Span::ZERO,
            room: settings.room,
            arriving: VecDeque::new(),
            outbound_path: settings.outbound_path,
            inbound_path: settings.inbound_path,
            crossing_outbound: VecDeque::new(),
            crossing_inbound: VecDeque::new(),
        }
    }

    /// Whether the send buffer takes so much payload more; notes from when on it does not.
    pub(super) fn finds_room(&mut self, now: Time, payload: u64) -> bool {
        let fits = self.buffered.number() + payload <= self.send_buffer;
        // While packets lack room at the other end, that is why the buffer is full; while one leaves, nothing else could.
        if fits || self.room.is_blocked() {
            self.blocked.end(now);
        } else {
            self.blocked.begin(self.lane.free_at().max(now));
        }
        fits
    }

    /// Makes a packet; it leaves behind all others. Its number.
    pub(super) fn push(&mut self, now: Time, packet: Packet, ready: Option<Time>) -> u32 {
        self.buffered.set(self.buffered.number() + u64::from(packet.payload), now);
        self.made += u64::from(packet.payload > 0);
        self.outgoing.push_back(Outgoing { packet, ready });
        self.front.wrapping_add(self.outgoing.len() as u32 - 1)
    }

    /// Makes a packet that leaves before all that carry payload.
    pub(super) fn push_urgent(&mut self, packet: Packet, now: Time) {
        self.urgent.push_back((packet, now));
    }

    /// The payload of the packet with this number (modulo what `mask` keeps) is there; its bytes.
    pub(super) fn find(&self, number: u32, mask: u32) -> (u32, Bytes) {
        let index = number.wrapping_sub(self.front) & mask;
        let packet = self.outgoing[index as usize].packet;
        (self.front.wrapping_add(index), Bytes::new(u64::from(packet.payload)))
    }

    /// The packet with this number may leave.
    pub(super) fn ready(&mut self, number: u32, now: Time) {
        let index = number.wrapping_sub(self.front);
        self.outgoing[index as usize].ready = Some(now);
    }

    /// A flow control packet is owed to the other side: it costs a busy lane time, an idle one none.
    pub(super) fn owe_flow_control(&mut self, now: Time) {
        if self.lane.is_busy(now) {
            self.owed += self.wire.flow_control_span();
        }
    }

    /// Payload that has come into its send buffer, is on a wire to another adapter, or in the receive buffer there. Room that is
    /// kept for what is still being read holds nothing.
    pub(super) fn held(&self) -> u64 {
        let there = self.outgoing.iter().filter(|outgoing| outgoing.ready.is_some());
        let ready: u64 = there.map(|outgoing| u64::from(outgoing.packet.payload)).sum();
        match self.far {
            WireEnd::Adapter(_) => ready + self.room.outstanding(),
            WireEnd::Switch(_) => ready,
        }
    }

    /// When the packet on the lane has left.
    pub(super) fn lane_free_at(&self) -> Time {
        self.lane.free_at()
    }

    /// Whether packets are on the wire either way, or wait for it.
    pub(super) fn uses_wire(&self, now: Time) -> bool {
        let leaving = self.lane.is_busy(now) || !self.outgoing.is_empty() || !self.urgent.is_empty();
        leaving || !self.arriving.is_empty()
    }

    /// Whether payload crosses the adapter for this port.
    pub(super) fn crosses(&self) -> bool {
        !self.crossing_outbound.is_empty() || !self.crossing_inbound.is_empty()
    }

    /// Its data paths and the wire out of it, with what they have done up to `at`. Packets wait for the wire behind others
    /// that are not ready, and for credits.
    pub(super) fn resources(
        &self,
        place: PortOf<'_>,
        at: Time,
    ) -> impl Iterator<Item = ResourceReading> + use<> {
        let PortOf { name, port, .. } = place;
        let lane = std::slice::from_ref(&self.lane);
        let mut wire = self.wire.rate_in_words();
        if !self.packet_gap.is_zero() {
            wire += &format!(" and {} a packet", self.packet_gap);
        }
        let lane = reading(place.part(RdmaPart::Wire { port }), format!("{name}.wire"), wire, lane, at);
        let outbound = self.outbound_path.reading(
            place.part(RdmaPart::SendPath { port }),
            format!("{name}.send_path"),
            at,
        );
        let inbound = self.inbound_path.reading(
            place.part(RdmaPart::ReceivePath { port }),
            format!("{name}.receive_path"),
            at,
        );
        let book = Book {
            busy: self.buffered.area_at(at),
            waited: self.blocked.up_to(at).into(),
            served: self.made,
        };
        let id = place.part(RdmaPart::SendBuffer { port });
        let buffer = of_buffer(id, format!("{name}.send_buffer"), Bytes::new(self.send_buffer), book);
        [Some(lane), outbound, inbound, Some(buffer)].into_iter().flatten()
    }

    /// Sends the next packet if it can.
    pub(super) fn next(&mut self, now: Time) -> Next {
        self.room.unblock(now);
        let front = self.outgoing.front().and_then(|first| Some((first.packet, first.ready?)));
        let Some((packet, since)) = self.urgent.front().copied().or(front) else { return Next::Idle };
        if self.lane.is_busy(now) {
            return Next::Wait(self.lane.free_at());
        }
        if self.urgent.is_empty() {
            let payload = u64::from(packet.payload);
            let cost = self.room.cost(self.wire, packet.kind, Bytes::new(payload));
            if !self.room.fits(now, cost) {
                self.room.block(now);
                self.blocked.end(now);
                return Next::Blocked(self.room.next_credits());
            }
            self.room.take(now, cost);
            self.buffered.set(self.buffered.number() - payload, now);
            self.outgoing.pop_front();
            self.front = self.front.wrapping_add(1);
        } else {
            self.urgent.pop_front();
        }
        let payload = Bytes::new(u64::from(packet.payload));
        let span = self.owed + self.wire.packet_span(packet.kind, payload);
        self.owed = Span::ZERO;
        self.blocked.end(now);
        self.lane.occupy_since(since, now, span + self.packet_gap);
        Next::Sent(packet, now + span)
    }
}

/// A port of an adapter whose resources are listed, counted from 0, and its name.
#[derive(Clone, Copy)]
pub(super) struct PortOf<'a> {
    pub device: DeviceId,
    pub port: u32,
    pub name: &'a str,
}

impl PortOf<'_> {
    pub(super) fn part(self, part: RdmaPart) -> ResourceId {
        ResourceId::of(self.device, part)
    }
}

#[cfg(test)]
mod tests {
    use super::super::room::Unit;
    use super::*;
    use lanewise_network::infiniband::InfinibandRate;

    fn port(credits: u64) -> Port {
        Port::new(PortSettings {
            nic: 0,
            far: WireEnd::Adapter(1),
            wire: NetworkWire::Infiniband { rate: InfinibandRate::Edr, lanes: 4 },
            mtu: Bytes::new(4096),
            latency: Span::from_ns(10),
            encapsulation: Span::ZERO,
            packet_gap: Span::from_ns(5),
            send_buffer: Bytes::from_kib(64),
            room: Room::new(Unit::Payload, Bytes::new(credits), Span::from_ns(10)),
            outbound_path: RateServer::new(None),
            inbound_path: RateServer::new(None),
        })
    }

    fn data(payload: u32) -> Packet {
        Packet { kind: PacketKind::Data, message: 0, payload, last: true }
    }

    #[test]
    fn packets_leave_in_order_when_their_payload_is_there() {
        let mut port = port(1 << 20);
        let first = port.push(Time::ZERO, data(4096), None);
        let second = port.push(Time::ZERO, data(4096), None);
        port.ready(second, Time::ZERO);
        assert!(matches!(port.next(Time::ZERO), Next::Idle), "the first has to go first");
        port.ready(first, Time::ZERO);
        let Next::Sent(_, end) = port.next(Time::ZERO) else { panic!("nothing holds it") };
        let span = port.wire.packet_span(PacketKind::Data, Bytes::new(4096));
        assert_eq!(end, Time::ZERO + span);
        let Next::Wait(free_at) = port.next(Time::ZERO) else { panic!("the lane is busy") };
        assert_eq!(free_at, Time::ZERO + span + Span::from_ns(5));
    }

    #[test]
    fn an_acknowledgement_overtakes_and_needs_no_credits() {
        let mut port = port(64);
        port.room.take(Time::ZERO, 64);
        let number = port.push(Time::ZERO, data(64), Some(Time::ZERO));
        assert_eq!(number, 0);
        port.push_urgent(
            Packet { kind: PacketKind::Acknowledge, message: 7, payload: 0, last: true },
            Time::ZERO,
        );
        assert!(matches!(port.next(Time::ZERO), Next::Sent(Packet { message: 7, .. }, _)));
        let later = Time::ZERO + Span::from_us(1);
        assert!(matches!(port.next(later), Next::Blocked(None)));
        port.room.give_back(later, 64);
        assert!(matches!(port.next(later), Next::Blocked(Some(at)) if at == later + Span::from_ns(10)));
        assert!(matches!(port.next(later + Span::from_ns(10)), Next::Sent(..)));
    }
}
