//! The network as software sees it: connections, work requests in, completions out; and what belongs to which event.

use super::config::{NicPort, RdmaNetworkConfig};
use super::ends::{End, Message, ReadsUnderWay, SendQueue};
use super::nic::Nic;
use super::port::{Port, PortOf};
use super::switches::SwitchPort;
use super::token::{Kind, Needs, Ports, Token};
use super::touched::Touched;
use super::verbs::{Completion, CompletionKind, EndId, Opcode, WorkRequest};
use super::wiring::{WireEnd, Wiring};
use crate::device::waiting::Waiting;
use crate::flows::Flows;
use crate::ports::Event;
use crate::server::{RateServer, of_buffer};
use lanewise_fabric::workload::{Direction, Notify, Target, Transfer};
use lanewise_fabric::{Book, RdmaPart, ResourceReading, Slots, Station};
use lanewise_observe::FlowId;
use lanewise_units::{Bytes, Time};
use std::collections::VecDeque;

/// Host memory set aside for the queues of each end: work requests and completion entries.
const QUEUE_AREA: u64 = 16 * 1024;
/// Entries of a queue before it starts over.
const QUEUE_ENTRIES: u64 = 64;
/// Largest part of a pushed work request: a write-combining buffer.
const PUSH: Bytes = Bytes::new(64);

/// Adapters, wires, switches and connections. Part of an instrument, which gives it its events.
#[derive(Debug)]
pub struct RdmaNetwork {
    config: RdmaNetworkConfig,
    pub(super) nics: Vec<Nic>,
    pub(super) ports: Vec<Port>,
    /// Index of each wired port.
    port_of: Vec<(NicPort, u32)>,
    pub(super) ends: Vec<End>,
    pub(super) messages: Slots<Message>,
    completions: VecDeque<Completion>,
    /// Ports of switches.
    pub(super) switch_ports: Vec<SwitchPort>,
    /// By switch and port of an adapter: ports of the switch that lead there.
    pub(super) ways: Vec<Vec<Vec<u32>>>,
    /// Payload that has left an adapter towards a switch and not the receive buffer at the other end.
    pub(super) between: u64,
    pub(super) touched: Touched,
}

impl RdmaNetwork {
    /// A network at rest; [`Self::begin`] comes next.
    ///
    /// # Panics
    /// When a wire ends at no port, a port has two wires, or a buffer holds no packet.
    pub fn new(config: RdmaNetworkConfig) -> Self {
        config.check();
        Self {
            config,
            nics: Vec::new(),
            ports: Vec::new(),
            port_of: Vec::new(),
            ends: Vec::new(),
            messages: Slots::default(),
            completions: VecDeque::new(),
            switch_ports: Vec::new(),
            ways: Vec::new(),
            between: 0,
            touched: Touched::default(),
        }
    }

    /// What it is made of.
    pub fn config(&self) -> &RdmaNetworkConfig {
        &self.config
    }

    /// Opens the DMA queues of every adapter. Called once, at the start of the run.
    pub fn begin<M: Needs>(&mut self, ports: &mut Ports<'_, M>) {
        for config in &self.config.nics {
            self.nics.push(Nic {
                posted: ports.open_queue(config.device),
                payload: ports.open_queue(config.device),
                control: ports.open_queue(config.device),
                pipeline: Station::default(),
                receiver: Station::default(),
                registrar: Station::default(),
                shared: RateServer::new(config.shared_bandwidth),
                ports: Vec::new(),
                waiting: Waiting::default(),
                looked_at_next: Time::ZERO,
                config: config.clone(),
            });
        }
        let Wiring { adapters, switches, ways, .. } = Wiring::of(&self.config);
        for (index, (end, port)) in adapters.into_iter().enumerate() {
            self.port_of.push((end, index as u32));
            self.nics[end.nic].ports.push(index as u32);
            self.ports.push(port);
        }
        (self.switch_ports, self.ways) = (switches, ways);
        (0..self.nics.len()).for_each(|nic| self.touched.add(nic));
    }

    /// Connects two ports, at both ends of a wire or joined by switches. `flows` are those of `ends`, in this order, and so are
    /// the results.
    ///
    /// # Panics
    /// When no wire or switch joins the two.
    pub fn connect(&mut self, ends: [NicPort; 2], flows: [Flows; 2]) -> [EndId; 2] {
        let port = |end: NicPort| {
            let found = self.port_of.iter().find(|(wired, _)| *wired == end);
            found.unwrap_or_else(|| panic!("port {} of adapter {} has a wire", end.port, end.nic)).1
        };
        let ports = ends.map(port);
        assert!(self.are_joined(ports), "a wire, or switches, join the two ports");
        let first = self.ends.len() as u32;
        for (port, flows) in ports.into_iter().zip(flows) {
            self.ends.push(End {
                port,
                requests: SendQueue::default(),
                responses: SendQueue::default(),
                reads: ReadsUnderWay::default(),
                context: Station::default(),
                flows,
                entries: 0,
            });
        }
        [EndId(first), EndId(first + 1)]
    }

    /// The CPU stores a work request's doorbell, which leaves the core at `at`, not before now. `at` is when the
    /// store is at the root port: the caller accounts for the core's time and the way to the root port.
    ///
    /// # Panics
    /// When inline data does not fit the adapter.
    pub fn post<M: Needs>(&mut self, at: Time, end: EndId, request: WorkRequest, ports: &mut Ports<'_, M>) {
        self.post_list(at, end, [request], ports);
    }

    /// The same for several work requests with one doorbell, which the adapter fetches together. A single one may be
    /// pushed instead.
    ///
    /// # Panics
    /// When there are none, more than a queue holds, or inline data does not fit the adapter.
    pub fn post_list<M: Needs>(
        &mut self,
        at: Time,
        end: EndId,
        requests: impl IntoIterator<Item = WorkRequest>,
        ports: &mut Ports<'_, M>,
    ) {
        let at = at.max(ports.now());
        let (mut first, mut last) = (None, None);
        for request in requests {
            let message = self.open(at, end, request);
            first = first.or(Some(message));
            if let Some(last) = last.replace(message) {
                self.messages.get_mut(last).next = Some(message);
            }
        }
        let first = first.expect("something is posted");
        if at > ports.now() {
            ports.set_timer(at, Token::of(Kind::Posted, first));
        } else {
            self.ring_doorbell(first, ports);
        }
    }

    /// A message that is posted at a time.
    fn open(&mut self, at: Time, end: EndId, request: WorkRequest) -> u32 {
        let inline_max = self.nic_of(end.0).config.inline_max;
        let fits = request.length <= inline_max && request.opcode != Opcode::Read;
        assert!(!request.inline || fits, "{} inline, where {inline_max} fit", request.length);
        self.messages.insert(Message {
            end: end.0,
            request,
            posted: at,
            next: None,
            known: false,
            cut: 0,
            placed: 0,
            open: match request.opcode {
                Opcode::Read => 1,
                Opcode::Write | Opcode::WritePolled | Opcode::Send | Opcode::Datagram => 2,
            },
        })
    }

    /// The adapter of an end registers memory, one registration after another; returns when it is done and the request
    /// that needs it may be posted.
    pub fn register(&mut self, end: EndId, now: Time) -> Time {
        let nic = self.ports[self.ends[end.0 as usize].port as usize].nic;
        let nic = &mut self.nics[nic];
        nic.registrar.occupy(now, nic.config.registration_time)
    }

    /// What software sees now: call after [`Self::react`] until there is nothing.
    pub fn poll(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// Ends of all connections so far.
    pub fn end_count(&self) -> usize {
        self.ends.len()
    }

    /// Payload between the adapters that read it and those that write it.
    pub(crate) fn held(&self) -> u64 {
        self.between + self.ports.iter().map(Port::held).sum::<u64>()
    }

    /// Pipelines, queue pairs, data paths and wires of its adapters, wires and buffers of its switches, with what they have done
    /// up to `at`.
    pub(crate) fn resources(&self, at: Time) -> impl Iterator<Item = ResourceReading> {
        let own =
            self.nics.iter().enumerate().flat_map(move |(index, nic)| {
                nic.resources(self.pairs_of(index), self.reads_of(index, at), at)
            });
        let ports = self.port_of.iter().zip(&self.ports).flat_map(move |((end, _), port)| {
            // Ports count from one where a scenario names them.
            let name = format!("{}.port{}", self.nics[end.nic].config.name, end.port + 1);
            let sender = match port.far {
                WireEnd::Adapter(sender) => &self.ports[sender as usize].room,
                WireEnd::Switch(sender) => &self.switch_ports[sender as usize].room,
            };
            let (size, book) = sender.book_at(at);
            let place = PortOf { device: self.nics[end.nic].config.device, port: end.port, name: &name };
            let id = place.part(RdmaPart::ReceiveBuffer { port: place.port });
            let receives = of_buffer(id, format!("{name}.receive_buffer"), size, book);
            port.resources(place, at).chain([receives])
        });
        own.chain(ports).chain(self.switch_resources(at))
    }

    fn ends_of(&self, nic: usize) -> impl Iterator<Item = &End> {
        self.ends.iter().filter(move |end| self.ports[end.port as usize].nic == nic)
    }

    /// What an adapter does for each of its queue pairs.
    fn pairs_of(&self, nic: usize) -> Vec<Station> {
        self.ends_of(nic).map(|end| end.context).collect()
    }

    /// What the reads of each of its queue pairs have done up to `at`.
    fn reads_of(&self, nic: usize, at: Time) -> Vec<Book> {
        self.ends_of(nic).map(|end| end.reads.book_at(at)).collect()
    }

    /// Messages that are not over.
    #[cfg(test)]
    pub fn under_way(&self) -> usize {
        self.messages.taken()
    }

    /// Takes an event.
    pub fn react<M: Needs>(&mut self, event: Event<Kind>, ports: &mut Ports<'_, M>) {
        let Token { kind, subject, detail } = event.token();
        self.touch(kind, subject);
        match kind {
            Kind::Posted => self.ring_doorbell(subject, ports),
            Kind::PushedPart | Kind::ReceiveFetched => {}
            Kind::Doorbell => self.doorbell(subject, ports),
            Kind::RequestFetched => self.requests_fetched(subject, ports),
            Kind::Started => self.through_pipeline_of(subject, ports),
            Kind::Processed => self.processed(subject, ports),
            Kind::ReadAccepted => self.read_accepted(subject, ports),
            Kind::PayloadFetched => self.payload_fetched(subject, detail, ports),
            Kind::CrossedOutbound => self.crossed_outbound(subject, ports),
            Kind::LaneFree => self.lane_free(subject, ports),
            Kind::CreditsBack => self.credits_back(WireEnd::of(subject), ports),
            Kind::Paused => self.paused(WireEnd::of(subject), detail == 1, ports),
            Kind::AtSwitch => self.at_switch(subject, ports),
            Kind::EgressFree => self.egress_free(subject, ports),
            Kind::Arrived => self.arrived(subject, ports),
            Kind::CrossedInbound => self.crossed_inbound(subject, ports),
            Kind::Placed => self.placed(subject, detail, ports),
            Kind::LastPlaced => self.last_placed(subject, detail, ports),
            Kind::ReceiveCompleted => self.tell_peer(subject, CompletionKind::Received),
            Kind::Completed => self.tell_requester(subject),
        }
        self.say_what_holds_back(ports);
    }

    /// Adapter of an end.
    pub(super) fn nic_of(&self, end: u32) -> &Nic {
        &self.nics[self.ports[self.ends[end as usize].port as usize].nic]
    }

    /// Something between an end's queues in memory and its adapter.
    pub(super) fn control(
        &mut self,
        end: u32,
        direction: Direction,
        length: Bytes,
        token: Token,
    ) -> Transfer<Token> {
        let state = &mut self.ends[end as usize];
        state.entries += 1;
        let entry = state.entries % QUEUE_ENTRIES * 64;
        let half = if direction == Direction::Read { 0 } else { QUEUE_AREA / 2 };
        Transfer {
            direction,
            target: Target::HostMemory,
            offset: u64::from(end) * QUEUE_AREA + half + entry,
            length,
            flow: state.flows.control,
            token,
            notify: Notify::Done,
        }
    }

    /// Payload of an end's side, at an offset in somebody's memory; `flow` is one of its own.
    pub(super) fn payload_transfer(
        direction: Direction,
        (target, offset): (Target, u64),
        length: u64,
        flow: FlowId,
        token: Token,
        notify: Notify,
    ) -> Transfer<Token> {
        let length = Bytes::new(length);
        Transfer { direction, target, offset, length, flow, token, notify }
    }

    /// Where buffers may begin: behind the queues of every end that is connected by now.
    pub fn first_buffer(&self) -> u64 {
        (self.ends.len() as u64 * QUEUE_AREA).next_multiple_of(2 << 20)
    }

    fn ring_doorbell<M: Needs>(&mut self, message: u32, ports: &mut Ports<'_, M>) {
        let &mut Message { request, end, next, .. } = self.messages.get_mut(message);
        let nic = self.nic_of(end);
        let (device, token) = (nic.config.device, Token::of(Kind::Doorbell, message));
        if next.is_some() || !nic.config.pushes(&request) {
            return ports.mmio_write(device, nic.config.doorbell, token);
        }
        let parts = nic.config.request_bytes(&request).div_ceil(PUSH);
        for part in 1..=parts {
            let token = if part == parts { token } else { Token::of(Kind::PushedPart, message) };
            ports.mmio_write(device, PUSH, token);
        }
    }

    /// Hands a completion to the software of `end`.
    pub(super) fn tell(&mut self, end: u32, kind: CompletionKind, message: u32) {
        let &mut Message { request, posted, .. } = self.messages.get_mut(message);
        self.completions.push_back(Completion {
            end: EndId(end),
            kind,
            id: request.id,
            length: request.length,
            posted,
        });
        self.close(message);
    }

    pub(super) fn tell_peer(&mut self, message: u32, kind: CompletionKind) {
        let end = EndId(self.messages.get_mut(message).end).peer();
        self.tell(end.0, kind, message);
    }

    fn tell_requester(&mut self, message: u32) {
        let end = self.messages.get_mut(message).end;
        self.tell(end, CompletionKind::Done, message);
    }

    /// One side is through with a message; when both are, it is forgotten.
    pub(super) fn close(&mut self, message: u32) {
        let state = self.messages.get_mut(message);
        state.open -= 1;
        if state.open == 0 {
            self.messages.take(message);
        }
    }
}
