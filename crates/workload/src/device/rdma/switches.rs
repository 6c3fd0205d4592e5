//! Switches between adapters: packets come into the buffer of a port, wait for their turn at another, and go on.
//!
//! ```text
//!  wire ──► first byte at the pins: room is taken, the way chosen ──► latency ──► queue of its ingress at the egress
//!        ──► its turn, the wire free, room at the other end ──► wire; last byte gone: room is given back
//! ```
//!
//! A packet that may cut through leaves as early as the wire cannot run dry. Acknowledgements have a virtual lane of their own: they
//! go before payload and wait for no room. Which way is taken says [`lanewise_network::routing`].

use super::config::NetworkSwitchConfig;
use super::network::RdmaNetwork;
use super::port::Packet;
use super::room::Room;
use super::token::{Kind, Needs, Ports, Token};
use super::wiring::WireEnd;
use crate::server::reading;
use lanewise_fabric::{
    Book, Level, NetworkSwitchPart, Part, ResourceId, ResourceOwner, ResourceReading, Station,
};
use lanewise_network::NetworkWire;
use lanewise_network::routing::by_flow;
use lanewise_network::switch::FlowControl;
use lanewise_network::switch::{BLOCK, Egress, Ingress, Next, PAUSE_FRAME, Queued, Signal, space};
use lanewise_network::transport::PacketKind;
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// A port of a switch, with all that comes in by it and goes out.
#[derive(Debug)]
pub(super) struct SwitchPort {
    pub switch: usize,
    /// As it is named, from 0.
    number: u32,
    /// Among the ports of its switch that have a wire.
    pub place: u32,
    pub far: WireEnd,
    wire: NetworkWire,
    propagation: Span,
    ingress: Ingress,
    /// Blocks of its buffer in use, and packets that came into it.
    held: Level,
    packets: u64,
    /// Packets whose first byte is on its way here, and when the last will be here.
    arriving: VecDeque<(Packet, Time)>,
    egress: Egress<Packet>,
    lane: Station,
    /// Time that flow control packets have to take before the next packet.
    owed: Span,
    /// Packets on the lane: when the last byte is gone, and what room becomes free then.
    leaving: VecDeque<(Time, u32, Bytes)>,
    /// The next time at which it will be looked at, if that is still to come.
    looks_at: Time,
    pub(super) room: Room,
}

impl SwitchPort {
    /// The port `number` of a switch, which is its `place`th with a wire. It is not ready before its egress has queues.
    pub(super) fn new(
        (switch, number, place): (usize, u32, u32),
        far: WireEnd,
        (wire, propagation): (NetworkWire, Span),
        room: Room,
        config: &NetworkSwitchConfig,
    ) -> Self {
        Self {
            switch,
            number,
            place,
            far,
            wire,
            propagation,
            ingress: Ingress::new(config.buffer, config.flow_control),
            held: Level::default(),
            packets: 0,
            arriving: VecDeque::new(),
            egress: Egress::new(0),
            lane: Station::default(),
            owed: Span::ZERO,
            leaving: VecDeque::new(),
            looks_at: Time::ZERO,
            room,
        }
    }

    /// As its resources are called: ports count from one where people name them.
    fn name(&self, config: &NetworkSwitchConfig) -> String {
        format!("{}.port{}", config.name, self.number + 1)
    }

    /// The wire out of it, as a resource.
    pub(super) fn wire_id(&self, config: &NetworkSwitchConfig) -> ResourceId {
        self.part(config, NetworkSwitchPart::Wire { port: self.number })
    }

    /// The buffer of what comes in by it, as a resource.
    pub(super) fn buffer_id(&self, config: &NetworkSwitchConfig) -> ResourceId {
        self.part(config, NetworkSwitchPart::Buffer { port: self.number })
    }

    fn part(&self, config: &NetworkSwitchConfig, part: NetworkSwitchPart) -> ResourceId {
        let owner = ResourceOwner::NetworkSwitch(config.name.clone());
        ResourceId { owner, part: Part::NetworkSwitch(part) }
    }

    /// So many ports of its switch have a wire.
    pub(super) fn ready(&mut self, ports: usize) {
        self.egress = Egress::new(ports);
    }

    fn span(&self, packet: Packet) -> Span {
        self.wire.packet_span(packet.kind, Bytes::new(u64::from(packet.payload)))
    }

    /// Its buffer has another fill level.
    fn note_held(&mut self, now: Time) {
        self.held.set(self.ingress.held().div_ceil(BLOCK), now);
    }

    /// What a packet of this port's wire takes in its buffer; acknowledgements take nothing.
    fn space(&self, packet: Packet) -> Bytes {
        match packet.kind {
            PacketKind::Acknowledge => Bytes::ZERO,
            kind => space(self.wire.packet_bytes(kind, Bytes::new(u64::from(packet.payload)))),
        }
    }
}

impl RdmaNetwork {
    /// A packet leaves an adapter now, its last byte at `end`.
    pub(super) fn leave<M: Needs>(&mut self, port: u32, packet: Packet, end: Time, ports: &mut Ports<'_, M>) {
        let state = &self.ports[port as usize];
        match state.far {
            WireEnd::Adapter(peer) => self.reach(peer, packet, end + state.latency, ports),
            WireEnd::Switch(ingress) => {
                let payload = Bytes::new(u64::from(packet.payload));
                let tail = end + state.latency + state.encapsulation;
                self.between += u64::from(packet.payload);
                let head = tail - state.wire.packet_span(packet.kind, payload);
                self.enter(ingress, packet, (head, tail), ports);
            }
        }
    }

    /// The last byte of a packet will be at an adapter's port at `tail`.
    fn reach<M: Needs>(&mut self, port: u32, packet: Packet, tail: Time, ports: &mut Ports<'_, M>) {
        let state = &mut self.ports[port as usize];
        state.arriving.push_back(packet);
        self.touched.add(state.nic);
        let acted_on = tail + self.nics[state.nic].config.receive_latency;
        ports.set_timer(acted_on, Token::of(Kind::Arrived, port));
    }

    /// The first and the last byte of a packet will be at a switch's port at these times.
    fn enter<M: Needs>(
        &mut self,
        port: u32,
        packet: Packet,
        (head, tail): (Time, Time),
        ports: &mut Ports<'_, M>,
    ) {
        self.switch_ports[port as usize].arriving.push_back((packet, tail));
        ports.set_timer(head, Token::of(Kind::AtSwitch, port));
    }

    /// The first byte of a packet is at a switch.
    pub(super) fn at_switch<M: Needs>(&mut self, ingress: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let egress = {
            let (packet, _) =
                *self.switch_ports[ingress as usize].arriving.front().expect("a timer for each");
            self.way_of(ingress, packet)
        };
        let state = &mut self.switch_ports[ingress as usize];
        let (packet, tail) = state.arriving.pop_front().expect("a timer for each packet");
        let (space, place) = (state.space(packet), state.place as usize);
        state.packets += 1;
        let signal = state.ingress.take(space);
        state.note_held(now);
        if signal == Signal::Pause {
            self.send_pause(ingress, true, ports);
        }
        let out = &self.switch_ports[egress as usize];
        let config = &self.config().switches[out.switch];
        let from = match config.cut_through {
            // It may not run dry on its way out.
            true => {
                let latest = tail.ticks().saturating_sub(out.span(packet).ticks());
                now.max(Time::from_ticks(latest)) + config.latency
            }
            false => tail + config.latency,
        };
        let queued = Queued { packet, ingress, from };
        let out = &mut self.switch_ports[egress as usize];
        match packet.kind {
            PacketKind::Acknowledge => out.egress.push_urgent(queued),
            _ => out.egress.push(place, queued),
        }
        self.pump(egress, ports);
    }

    /// The port by which a packet leaves the switch that it has come to.
    fn way_of(&self, ingress: u32, packet: Packet) -> u32 {
        let end = self.messages.get(packet.message).end;
        let back = matches!(
            packet.kind,
            PacketKind::Acknowledge | PacketKind::ReadResponseEdge | PacketKind::ReadResponseMiddle
        );
        let [source, destination] = if back { [end ^ 1, end] } else { [end, end ^ 1] };
        let [source, destination] = [source, destination].map(|end| self.ends[end as usize].port);
        let switch = self.switch_ports[ingress as usize].switch;
        let ways = &self.ways[switch][destination as usize];
        by_flow(ways, switch as u32, (source, destination), end / 2)
    }

    /// A packet has left a switch's port, or one may.
    pub(super) fn egress_free<M: Needs>(&mut self, port: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        while let Some((end, ingress, space)) = self.switch_ports[port as usize].leaving.front().copied()
            && end <= now
        {
            self.switch_ports[port as usize].leaving.pop_front();
            self.release(ingress, space, ports);
        }
        self.pump(port, ports);
    }

    /// A packet's room in the buffer of an ingress is free.
    fn release<M: Needs>(&mut self, ingress: u32, space: Bytes, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let state = &mut self.switch_ports[ingress as usize];
        let signal = state.ingress.release(space);
        state.note_held(now);
        match signal {
            Signal::Credits(bytes) if bytes > Bytes::ZERO => {
                // Costs a busy lane time before its next packet, an idle one none.
                if state.lane.is_busy(now) {
                    state.owed += state.wire.flow_control_span();
                }
                let sender = state.far;
                self.give_back(sender, bytes.get(), ports);
            }
            Signal::Resume => self.send_pause(ingress, false, ports),
            Signal::Credits(_) | Signal::Nothing | Signal::Pause => {}
        }
    }

    /// A pause frame, or one that takes it back, goes to whoever sends to a port: behind the packet on the lane.
    fn send_pause<M: Needs>(&mut self, ingress: u32, stop: bool, ports: &mut Ports<'_, M>) {
        let response = self.config().switches[self.switch_ports[ingress as usize].switch].pause_response;
        let state = &mut self.switch_ports[ingress as usize];
        let end = state.lane.occupy(ports.now(), state.wire.byte_span(PAUSE_FRAME));
        let heeded = end + state.propagation + response;
        ports.set_timer(heeded, Token::with(Kind::Paused, state.far.code(), u64::from(stop)));
    }

    /// A transmitter heeds a pause frame.
    pub(super) fn paused<M: Needs>(&mut self, sender: WireEnd, stop: bool, ports: &mut Ports<'_, M>) {
        self.room_of(sender).pause(stop);
        if !stop {
            self.try_again(sender, ports);
        }
    }

    /// Room at the other end of a transmitter's wire.
    fn room_of(&mut self, sender: WireEnd) -> &mut Room {
        match sender {
            WireEnd::Adapter(port) => &mut self.ports[port as usize].room,
            WireEnd::Switch(port) => &mut self.switch_ports[port as usize].room,
        }
    }

    fn try_again<M: Needs>(&mut self, sender: WireEnd, ports: &mut Ports<'_, M>) {
        match sender {
            WireEnd::Adapter(port) => self.transmit(port, ports),
            WireEnd::Switch(port) => self.pump(port, ports),
        }
    }

    /// Credits leave for a transmitter.
    pub(super) fn give_back<M: Needs>(&mut self, sender: WireEnd, bytes: u64, ports: &mut Ports<'_, M>) {
        let room = self.room_of(sender);
        room.give_back(ports.now(), bytes);
        if room.is_blocked() {
            let at = room.next_credits();
            self.wait_for_credits(sender, at, ports);
        }
    }

    /// Credits that were waited for are back.
    pub(super) fn credits_back<M: Needs>(&mut self, sender: WireEnd, ports: &mut Ports<'_, M>) {
        self.room_of(sender).timer = false;
        self.try_again(sender, ports);
    }

    pub(super) fn wait_for_credits<M: Needs>(
        &mut self,
        sender: WireEnd,
        at: Option<Time>,
        ports: &mut Ports<'_, M>,
    ) {
        let room = self.room_of(sender);
        if let Some(at) = at.filter(|_| !room.timer) {
            room.timer = true;
            ports.set_timer(at, Token::of(Kind::CreditsBack, sender.code()));
        }
    }

    /// Sends what can be sent from a switch's port.
    fn pump<M: Needs>(&mut self, port: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let state = &mut self.switch_ports[port as usize];
        if state.lane.is_busy(now) {
            let free_at = state.lane.free_at();
            return self.look_at(port, free_at, ports);
        }
        let (room, wire) = (&mut state.room, state.wire);
        let cost = |packet: &Packet, room: &Room| {
            room.cost(wire, packet.kind, Bytes::new(u64::from(packet.payload)))
        };
        match state.egress.next(now, |packet| room.fits(now, cost(packet, room))) {
            Next::Empty => {}
            Next::At(time) => self.look_at(port, time, ports),
            Next::Blocked(urgent) => {
                state.room.block(now);
                let at = state.room.next_credits();
                if let Some(urgent) = urgent {
                    self.look_at(port, urgent, ports);
                }
                self.wait_for_credits(WireEnd::Switch(port), at, ports);
            }
            Next::Send(queued) => self.send_on(port, queued, ports),
        }
    }

    /// Makes sure that a port is looked at when this time has come.
    fn look_at<M: Needs>(&mut self, port: u32, at: Time, ports: &mut Ports<'_, M>) {
        let state = &mut self.switch_ports[port as usize];
        if state.looks_at <= ports.now() || at < state.looks_at {
            state.looks_at = at;
            ports.set_timer(at, Token::of(Kind::EgressFree, port));
        }
    }

    /// A packet leaves by a switch's port now.
    fn send_on<M: Needs>(&mut self, port: u32, queued: Queued<Packet>, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let Queued { packet, ingress, from } = queued;
        let space = self.switch_ports[ingress as usize].space(packet);
        let state = &mut self.switch_ports[port as usize];
        if packet.kind != PacketKind::Acknowledge {
            let cost = state.room.cost(state.wire, packet.kind, Bytes::new(u64::from(packet.payload)));
            state.room.take(now, cost);
        }
        let (owed, span) = (std::mem::take(&mut state.owed), state.span(packet));
        let end = state.lane.occupy_since(from, now, owed + span);
        state.leaving.push_back((end, ingress, space));
        let tail = end + state.propagation;
        match state.far {
            WireEnd::Adapter(adapter) => {
                let tail = tail + self.ports[adapter as usize].encapsulation;
                self.reach(adapter, packet, tail, ports);
            }
            WireEnd::Switch(next) => self.enter(next, packet, (tail - span, tail), ports),
        }
        self.look_at(port, end, ports);
    }

    /// Whether packets find their way from each of two ports to the other.
    pub(super) fn are_joined(&self, ends: [u32; 2]) -> bool {
        let finds = |from: u32, to: u32| match self.ports[from as usize].far {
            WireEnd::Adapter(other) => other == to,
            WireEnd::Switch(other) => {
                let switch = self.switch_ports[other as usize].switch;
                from != to && !self.ways[switch][to as usize].is_empty()
            }
        };
        finds(ends[0], ends[1]) && finds(ends[1], ends[0])
    }

    /// Wires out of switches and buffers of what comes in, with what they have done up to `at`.
    pub(super) fn switch_resources(&self, at: Time) -> impl Iterator<Item = ResourceReading> {
        self.switch_ports.iter().flat_map(move |port| {
            let switch = &self.config().switches[port.switch];
            let name = port.name(switch);
            let lane = std::slice::from_ref(&port.lane);
            let rate = port.wire.rate_in_words();
            let wire = reading(port.wire_id(switch), format!("{name}.wire"), rate, lane, at);
            let waited = match port.far {
                WireEnd::Adapter(sender) => self.ports[sender as usize].room.blocked(at),
                WireEnd::Switch(sender) => self.switch_ports[sender as usize].room.blocked(at),
            };
            let capacity = port.ingress.capacity();
            let buffer = ResourceReading {
                id: port.buffer_id(switch),
                name: format!("{name}.buffer"),
                places: capacity.div_floor(BLOCK) as u32, // A part of a block has no credit.
                limit: match switch.flow_control {
                    FlowControl::Credits => capacity.to_string(),
                    FlowControl::Pause { xoff, .. } => format!("{capacity}, a pause above {xoff}"),
                },
                book: Book { busy: port.held.area_at(at), waited: waited.into(), served: port.packets },
            };
            [wire, buffer]
        })
    }
}
