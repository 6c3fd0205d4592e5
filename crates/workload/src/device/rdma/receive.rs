//! The way in: packets arrive, payload goes to memory, acknowledgements and completion entries follow.

use super::network::RdmaNetwork;
use super::port::Packet;
use super::token::{Kind, Needs, Ports, Token};
use super::verbs::{CompletionKind, Opcode};
use super::wiring::WireEnd;
use lanewise_fabric::workload::{Direction, Notify};
use lanewise_network::transport::PacketKind;
use lanewise_units::Bytes;

impl RdmaNetwork {
    /// The adapter acts on the oldest packet on its way to a port.
    pub(super) fn arrived<M: Needs>(&mut self, port: u32, ports: &mut Ports<'_, M>) {
        let packet = self.ports[port as usize].arriving.pop_front().expect("a timer for each packet");
        match packet.kind {
            PacketKind::Acknowledge => self.acknowledged(packet.message, ports),
            PacketKind::ReadRequest => {
                let responder = self.messages.get_mut(packet.message).end ^ 1;
                self.through_pipeline(responder, Token::of(Kind::ReadAccepted, packet.message), ports);
            }
            _ => self.payload_arrived(port, packet, ports),
        }
    }

    fn payload_arrived<M: Needs>(&mut self, port: u32, packet: Packet, ports: &mut Ports<'_, M>) {
        let request = self.messages.get_mut(packet.message).request;
        if packet.last && !matches!(request.opcode, Opcode::Read | Opcode::Datagram) {
            // Acknowledged as soon as it is in the adapter; what software sees waits for memory.
            let message = packet.message;
            let packet = Packet { kind: PacketKind::Acknowledge, message, payload: 0, last: true };
            self.ports[port as usize].push_urgent(packet, ports.now());
            self.transmit(port, ports);
        }
        let now = ports.now();
        let payload = Bytes::new(u64::from(packet.payload));
        let state = &mut self.ports[port as usize];
        let own = state.inbound_path.reserve(now, payload);
        let nic = &mut self.nics[state.nic];
        let mut crossed = nic.shared.reserve(now, payload).max(own);
        if packet.last {
            crossed = crossed.max(nic.receiver.enter(now, nic.config.message_interval));
        }
        if crossed > now {
            state.crossing_inbound.push_back(packet);
            ports.set_timer(crossed, Token::of(Kind::CrossedInbound, port));
        } else {
            self.place(port, packet, ports);
        }
    }

    /// Payload has crossed the adapter.
    pub(super) fn crossed_inbound<M: Needs>(&mut self, port: u32, ports: &mut Ports<'_, M>) {
        let crossing = &mut self.ports[port as usize].crossing_inbound;
        let packet = crossing.pop_front().expect("a timer for each packet that crosses");
        self.place(port, packet, ports);
    }

    /// Hands payload to DMA, and after the last of a message its completion entry.
    fn place<M: Needs>(&mut self, port: u32, packet: Packet, ports: &mut Ports<'_, M>) {
        let state = self.messages.get_mut(packet.message);
        let (request, requester, offset) = (state.request, state.end, state.placed);
        state.placed += u64::from(packet.payload);
        let end = if request.opcode == Opcode::Read { requester } else { requester ^ 1 };
        let told = packet.last && request.opcode == Opcode::WritePolled;
        if packet.payload > 0 {
            let [local, remote] = request.memory;
            let (memory, base) = match request.opcode {
                Opcode::Read => (local, request.local),
                _ => (remote, request.remote),
            };
            let (token, notify) = match told {
                true => (Token::with(Kind::LastPlaced, packet.message, packet.payload), Notify::Done),
                false => (Token::with(Kind::Placed, port, packet.payload), Notify::Sent),
            };
            let flow = self.ends[end as usize].flows.write;
            let payload = u64::from(packet.payload);
            let place = (memory, base + offset);
            let transfer = Self::payload_transfer(Direction::Write, place, payload, flow, token, notify);
            ports.submit(self.nic_of(end).posted, transfer);
        } else if told {
            self.tell_peer(packet.message, CompletionKind::Written);
        }
        if packet.last {
            match request.opcode {
                Opcode::Send | Opcode::Datagram => self.complete_receive(end, packet.message, ports),
                Opcode::Read => self.read_answered(end, packet.message, ports),
                // Its acknowledgement may have overtaken what still had to cross the adapter.
                Opcode::Write => self.close(packet.message),
                Opcode::WritePolled => {}
            }
        }
    }

    /// Payload has left the receive buffer of a port: its credits go back.
    pub(super) fn placed<M: Needs>(&mut self, port: u32, payload: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let state = &mut self.ports[port as usize];
        state.owe_flow_control(now);
        let sender = state.far;
        if matches!(sender, WireEnd::Switch(_)) {
            self.between -= u64::from(payload);
        }
        self.give_back(sender, u64::from(payload), ports);
    }

    /// The last payload of a polled write is in memory.
    pub(super) fn last_placed<M: Needs>(&mut self, message: u32, payload: u32, ports: &mut Ports<'_, M>) {
        let end = self.messages.get_mut(message).end ^ 1;
        self.placed(self.ends[end as usize].port, payload, ports);
        self.tell_peer(message, CompletionKind::Written);
    }

    /// A send used up a receive work request: its completion entry follows the payload, and the adapter fetches
    /// another request ahead of its use. Receive queues never run dry here.
    fn complete_receive<M: Needs>(&mut self, end: u32, message: u32, ports: &mut Ports<'_, M>) {
        let nic = self.nic_of(end);
        let (entry, request) = (nic.config.completion_entry, nic.config.work_request);
        let (posted, control) = (nic.posted, nic.control);
        let done = self.control(end, Direction::Write, entry, Token::of(Kind::ReceiveCompleted, message));
        ports.submit(posted, done);
        let mut fetch = self.control(end, Direction::Read, request, Token::of(Kind::ReceiveFetched, 0));
        fetch.notify = Notify::Nothing;
        ports.submit(control, fetch);
    }

    /// The other side has acknowledged a write or send, or a datagram has left.
    pub(super) fn acknowledged<M: Needs>(&mut self, message: u32, ports: &mut Ports<'_, M>) {
        let state = self.messages.get_mut(message);
        let (end, signaled) = (state.end, state.request.signaled);
        if signaled {
            self.complete(end, message, ports);
        } else {
            self.close(message);
        }
    }

    /// All of a read's answer is in the adapter, and its payload on the way to memory before the completion entry.
    fn read_answered<M: Needs>(&mut self, end: u32, message: u32, ports: &mut Ports<'_, M>) {
        self.ends[end as usize].reads.finish(ports.now());
        if self.messages.get_mut(message).request.signaled {
            self.complete(end, message, ports);
        } else {
            self.close(message);
        }
        self.offer(end, false, ports);
    }

    fn complete<M: Needs>(&mut self, end: u32, message: u32, ports: &mut Ports<'_, M>) {
        let nic = self.nic_of(end);
        let (entry, queue) = (nic.config.completion_entry, nic.posted);
        let transfer = self.control(end, Direction::Write, entry, Token::of(Kind::Completed, message));
        ports.submit(queue, transfer);
    }
}
