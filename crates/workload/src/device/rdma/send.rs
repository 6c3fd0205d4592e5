//! The way out: doorbell, work request, packets, payload, lane.

use super::ends::Message;
use super::network::RdmaNetwork;
use super::port::{Next, Packet};
use super::token::{Kind, Needs, Ports, Token};
use super::verbs::{Opcode, WorkRequest};
use super::wiring::WireEnd;
use crate::token::LARGEST_DETAIL;
use lanewise_fabric::workload::{Direction, Notify, Target};
use lanewise_network::transport::PacketKind;
use lanewise_units::{Bytes, Span, Time};

impl RdmaNetwork {
    /// The doorbell is at the adapter: the work request came with it, or has to be fetched.
    pub(super) fn doorbell<M: Needs>(&mut self, message: u32, ports: &mut Ports<'_, M>) {
        let state = *self.messages.get_mut(message);
        let mut size = Bytes::ZERO;
        let mut list = Some(message);
        while let Some(each) = list {
            let Message { request, next, .. } = *self.messages.get_mut(each);
            self.ends[state.end as usize].requests.messages.push_back(each);
            size += self.nic_of(state.end).config.request_bytes(&request);
            list = next;
        }
        let nic = self.nic_of(state.end);
        if state.next.is_none() && nic.config.pushes(&state.request) {
            return self.process(message, ports);
        }
        let (queue, token) = (nic.control, Token::of(Kind::RequestFetched, message));
        let transfer = self.control(state.end, Direction::Read, size, token);
        ports.submit(queue, transfer);
    }

    /// A work request, or a list of them, is in the adapter.
    pub(super) fn requests_fetched<M: Needs>(&mut self, message: u32, ports: &mut Ports<'_, M>) {
        let mut list = Some(message);
        while let Some(each) = list {
            list = self.messages.get_mut(each).next;
            self.process(each, ports);
        }
    }

    /// The adapter takes the work request: what it does for its queue pair, then the pipeline that all share.
    fn process<M: Needs>(&mut self, message: u32, ports: &mut Ports<'_, M>) {
        let state = self.messages.get_mut(message);
        let (end, is_read, length) = (state.end, state.request.opcode == Opcode::Read, state.request.length);
        let config = &self.nic_of(end).config;
        let reading = config.queue_pair_read_bandwidth.filter(|_| is_read);
        let interval =
            reading.map_or(Span::ZERO, |rate| rate.span_ceil(length)).max(config.queue_pair_interval);
        let starts = self.ends[end as usize].context.enter(ports.now(), interval);
        if starts > ports.now() {
            return ports.set_timer(starts, Token::of(Kind::Started, message));
        }
        self.through_pipeline_of(message, ports);
    }

    /// The queue pair of a work request has got to it.
    pub(super) fn through_pipeline_of<M: Needs>(&mut self, message: u32, ports: &mut Ports<'_, M>) {
        let end = self.messages.get_mut(message).end;
        self.through_pipeline(end, Token::of(Kind::Processed, message), ports);
    }

    /// Sets a timer for when the pipeline of an end's adapter has dealt with a message.
    pub(super) fn through_pipeline<M: Needs>(&mut self, end: u32, token: Token, ports: &mut Ports<'_, M>) {
        let nic = self.ports[self.ends[end as usize].port as usize].nic;
        let nic = &mut self.nics[nic];
        let starts = nic.pipeline.enter(ports.now(), nic.config.message_interval);
        ports.set_timer(starts + nic.config.send_latency, token);
    }

    /// Packets can be made of a message.
    pub(super) fn processed<M: Needs>(&mut self, message: u32, ports: &mut Ports<'_, M>) {
        let state = self.messages.get_mut(message);
        state.known = true;
        let end = state.end;
        self.offer(end, false, ports);
    }

    /// This side of a read can answer it.
    pub(super) fn read_accepted<M: Needs>(&mut self, message: u32, ports: &mut Ports<'_, M>) {
        let responder = self.messages.get_mut(message).end ^ 1;
        self.ends[responder as usize].responses.messages.push_back(message);
        self.offer(responder, true, ports);
    }

    /// Puts a queue of an end into the ring of its port, if it has something to send.
    pub(super) fn offer<M: Needs>(&mut self, end: u32, answers: bool, ports: &mut Ports<'_, M>) {
        let state = &mut self.ends[end as usize];
        let port = state.port;
        let queue = if answers { &mut state.responses } else { &mut state.requests };
        if !queue.in_ring && !queue.messages.is_empty() {
            queue.in_ring = true;
            self.ports[port as usize].ring.push_back((end, answers));
        }
        self.make_packets(port, ports);
    }

    /// Makes packets, one of each queue in turn, while the send buffer has room for them.
    fn make_packets<M: Needs>(&mut self, port: u32, ports: &mut Ports<'_, M>) {
        while let Some(&(end, answers)) = self.ports[port as usize].ring.front() {
            let state = &self.ends[end as usize];
            let queue = if answers { &state.responses } else { &state.requests };
            let head = queue.messages.front().copied();
            let made = match head {
                Some(message) if answers => self.make_data(port, end, message, true, ports),
                Some(message) if !self.messages.get_mut(message).known => Made::NothingYet,
                Some(message) if self.messages.get_mut(message).request.opcode == Opcode::Read => {
                    self.make_read_request(port, end, message, ports.now())
                }
                Some(message) => self.make_data(port, end, message, false, ports),
                None => Made::NothingYet,
            };
            if made == Made::NoRoom {
                break;
            }
            self.ports[port as usize].ring.pop_front();
            let state = &mut self.ends[end as usize];
            let queue = if answers { &mut state.responses } else { &mut state.requests };
            if made == Made::Last {
                queue.messages.pop_front();
            }
            queue.in_ring = made != Made::NothingYet && !queue.messages.is_empty();
            if queue.in_ring {
                self.ports[port as usize].ring.push_back((end, answers));
            }
        }
        self.transmit(port, ports);
    }

    fn make_read_request(&mut self, port: u32, end: u32, message: u32, now: Time) -> Made {
        let limit = self.nic_of(end).config.outstanding_reads;
        let state = &mut self.ends[end as usize];
        if !state.reads.begin(now, limit) {
            return Made::NothingYet;
        }
        let packet = Packet { kind: PacketKind::ReadRequest, message, payload: 0, last: true };
        self.ports[port as usize].push(now, packet, Some(now));
        Made::Last
    }

    /// Makes the next packet with payload and asks memory for it.
    fn make_data<M: Needs>(
        &mut self,
        port: u32,
        end: u32,
        message: u32,
        answers: bool,
        ports: &mut Ports<'_, M>,
    ) -> Made {
        let mtu = self.ports[port as usize].mtu.get();
        let state = self.messages.get_mut(message);
        let (request, offset) = (state.request, state.cut);
        let payload = mtu.min(request.length.get() - offset);
        if !self.ports[port as usize].finds_room(ports.now(), payload) {
            return Made::NoRoom;
        }
        state.cut += payload;
        let last = state.cut == request.length.get();
        let kind = match request.opcode {
            _ if answers && (last || offset == 0) => PacketKind::ReadResponseEdge,
            _ if answers => PacketKind::ReadResponseMiddle,
            Opcode::Write | Opcode::WritePolled if offset == 0 => PacketKind::WriteFirst,
            Opcode::Datagram => PacketKind::Segment,
            _ => PacketKind::Data,
        };
        let packet = Packet { kind, message, payload: payload as u32, last };
        let at_hand = request.inline || payload == 0;
        let number = self.ports[port as usize].push(ports.now(), packet, at_hand.then(|| ports.now()));
        if !at_hand {
            let (memory, start) = from(&request, answers);
            self.fetch_payload(port, end, number, (memory, start + offset), payload, ports);
        }
        if last { Made::Last } else { Made::More }
    }

    fn fetch_payload<M: Needs>(
        &mut self,
        port: u32,
        end: u32,
        number: u32,
        place: (Target, u64),
        payload: u64,
        ports: &mut Ports<'_, M>,
    ) {
        let token = Token::with(Kind::PayloadFetched, port, number & LARGEST_DETAIL);
        let flow = self.ends[end as usize].flows.read;
        let transfer = Self::payload_transfer(Direction::Read, place, payload, flow, token, Notify::Done);
        ports.submit(self.nic_of(end).payload, transfer);
    }

    /// Payload is in the adapter and crosses it.
    pub(super) fn payload_fetched<M: Needs>(&mut self, port: u32, number: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let state = &mut self.ports[port as usize];
        let (number, payload) = state.find(number, LARGEST_DETAIL);
        let own = state.outbound_path.reserve(now, payload);
        let crossed = self.nics[state.nic].shared.reserve(now, payload).max(own);
        if crossed > now {
            state.crossing_outbound.push_back(number);
            ports.set_timer(crossed, Token::of(Kind::CrossedOutbound, port));
        } else {
            state.ready(number, now);
            self.transmit(port, ports);
        }
    }

    /// Payload has crossed the adapter: its packet may leave.
    pub(super) fn crossed_outbound<M: Needs>(&mut self, port: u32, ports: &mut Ports<'_, M>) {
        let state = &mut self.ports[port as usize];
        let number = state.crossing_outbound.pop_front().expect("a timer for each packet that crosses");
        state.ready(number, ports.now());
        self.transmit(port, ports);
    }

    /// The lane is free again.
    pub(super) fn lane_free<M: Needs>(&mut self, port: u32, ports: &mut Ports<'_, M>) {
        self.ports[port as usize].lane_timer = false;
        self.transmit(port, ports);
    }

    /// Sends what can be sent, and makes packets for the room that this leaves.
    pub(super) fn transmit<M: Needs>(&mut self, port: u32, ports: &mut Ports<'_, M>) {
        let now = ports.now();
        let state = &mut self.ports[port as usize];
        match state.next(now) {
            Next::Idle => {}
            Next::Wait(at) => {
                if !state.lane_timer {
                    state.lane_timer = true;
                    ports.set_timer(at, Token::of(Kind::LaneFree, port));
                }
            }
            Next::Blocked(at) => self.wait_for_credits(WireEnd::Adapter(port), at, ports),
            Next::Sent(packet, end) => {
                self.leave(port, packet, end, ports);
                if packet.kind == PacketKind::Segment && packet.last {
                    self.acknowledged(packet.message, ports);
                }
                // One packet at a time: this ends with the lane busy.
                if packet.payload > 0 {
                    self.make_packets(port, ports);
                } else {
                    self.transmit(port, ports);
                }
            }
        }
    }
}

/// What came of a queue's turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Made {
    /// A packet, and the message has more.
    More,
    /// The last packet of a message.
    Last,
    /// Nothing: its head is not processed yet, or may not go yet. It is offered again when it may.
    NothingYet,
    /// Nothing: the send buffer is full.
    NoRoom,
}

/// Where the payload is that this side sends.
fn from(request: &WorkRequest, answers: bool) -> (Target, u64) {
    let [local, remote] = request.memory;
    if answers { (remote, request.remote) } else { (local, request.local) }
}
