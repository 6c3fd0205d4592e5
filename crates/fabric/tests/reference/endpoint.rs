//! An endpoint: channels that cut transfers into requests, tags, and the completer of reads of its own memory.
//!
//! Rules: docs/explanation/transaction.md ("Cutting", "Tags", "Traffic classes and virtual channels"). It has one write and one read ready to leave; the next is prepared
//! when that one leaves, and channels take turns with each request.

use super::agenda::{Event, rank};
use super::channel::Turns;
use super::host::answer;
use super::system::System;
use super::tlp::{COMPLETION, Kind, NON_POSTED, POSTED, Server, Tlp, completions, first_piece};
use lanewise_fabric::config::{Arbitration, EndpointConfig};
use lanewise_pcie::tlp::{ECRC, HeaderFormat, PREFIX};
use lanewise_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

struct Transfer {
    flow: usize,
    traffic_class: u8,
    virtual_channel: usize,
    is_read: bool,
    address: u64,
    left: u64,
}

/// An endpoint.
pub struct Endpoint {
    config: EndpointConfig,
    channels: Vec<VecDeque<Transfer>>,
    /// By virtual channel, which channels have a write to make, and which a read, in the order of their turns.
    turns: Vec<[VecDeque<usize>; 2]>,
    /// Which virtual channel the next tag is for.
    tag_turns: Turns,
    next_request_at: Time,
    /// Bytes that are to come of each read that is out.
    out: BTreeMap<usize, u64>,
    reads: usize,
    drain: Server,
    memory: Option<Server>,
}

impl Endpoint {
    /// An endpoint whose link has so many virtual channels, that take turns like this.
    pub fn new(config: &EndpointConfig, virtual_channels: usize, arbitration: &Arbitration) -> Self {
        Self {
            config: config.clone(),
            channels: Vec::new(),
            turns: vec![Default::default(); virtual_channels],
            tag_turns: Turns::new(arbitration),
            next_request_at: Time::ZERO,
            out: BTreeMap::new(),
            reads: 0,
            drain: Server::new(config.write_drain),
            memory: config.memory_read_rate.map(Server::new),
        }
    }

    /// Other settings.
    pub fn change(&mut self, config: &EndpointConfig) {
        self.config = config.clone();
        self.drain.set_rate(config.write_drain);
        if let (Some(memory), Some(rate)) = (&mut self.memory, config.memory_read_rate) {
            memory.set_rate(rate);
        }
    }

    fn has_a_tag(&self) -> bool {
        self.out.len() < (self.config.tags as usize).min(usize::from(self.config.tag_width.usable()))
    }

    /// Whether it has nothing to ask for, and waits for nothing.
    pub fn asks_for_nothing(&self) -> bool {
        self.channels.iter().all(VecDeque::is_empty) && self.out.is_empty()
    }

    /// A channel has something to ask for, or has more: it has a turn behind the others on its virtual channel.
    fn wait_for_turn(&mut self, channel: usize) {
        if let Some(next) = self.channels[channel].front() {
            self.turns[next.virtual_channel][usize::from(next.is_read)].push_back(channel);
        }
    }

    /// The next request of this direction on a virtual channel, from the channel whose turn it is.
    fn next(
        &mut self,
        virtual_channel: usize,
        is_read: bool,
        own: usize,
        mps: u64,
        now: Time,
    ) -> Option<Tlp> {
        if is_read && !self.has_a_tag() {
            return None;
        }
        let channel = self.turns[virtual_channel][usize::from(is_read)].pop_front()?;
        let transfer = self.channels[channel].front_mut().expect("it has something to ask for");
        let limit = if is_read { self.config.mrrs.get() } else { mps };
        let (address, length) = (transfer.address, first_piece(transfer.address, transfer.left, limit));
        transfer.address += length;
        transfer.left -= length;
        let (flow, traffic_class, is_over) = (transfer.flow, transfer.traffic_class, transfer.left == 0);
        if is_over {
            self.channels[channel].pop_front();
        }
        self.wait_for_turn(channel);
        let ready = self.next_request_at.max(now);
        self.next_request_at = ready + self.config.request_interval;
        let ecrc = if self.config.ecrc { ECRC.get() } else { 0 };
        let prefixes = PREFIX.get() * u64::from(self.config.tlp_prefixes);
        if is_read {
            self.reads += 1;
            self.out.insert(self.reads, length);
        }
        Some(Tlp {
            kind: if is_read { Kind::Read } else { Kind::Write },
            address,
            length,
            header: HeaderFormat::for_address(address).bytes().get() + ecrc + prefixes,
            has_pasid: self.config.tlp_prefixes == 1,
            to: None,
            from: Some(own),
            traffic_class,
            flow,
            read: self.reads,
            last: false,
            relaxed: self.config.relaxed_ordering,
            id_ordered: self.config.id_based_ordering,
            issued: now,
            ready,
            turn: ready,
            order: 0,
            came_in: None,
            nullified: None,
        })
    }
}

impl System {
    /// A device is asked for a transfer.
    pub fn on_asked(&mut self, step: usize) {
        let step_of = self.steps[step].clone();
        let (device, channel) = (step_of.device, step_of.channel);
        let mut root = device;
        while let Some((above, _)) = self.devices[root].above {
            root = above;
        }
        let base = match step_of.target {
            None => self.host(root).config.memory_base,
            Some(peer) => self.machines.port(peer, 0).bars[1],
        };
        let map = &self.ports[self.devices[device].ports[0]].map;
        let virtual_channel = usize::from(map.channel_of(step_of.traffic_class));
        let endpoint = self.endpoint(device);
        while endpoint.channels.len() <= channel {
            endpoint.channels.push(VecDeque::new());
        }
        let was_empty = endpoint.channels[channel].is_empty();
        endpoint.channels[channel].push_back(Transfer {
            flow: step,
            traffic_class: step_of.traffic_class,
            virtual_channel,
            is_read: step_of.is_read,
            address: base + step_of.offset,
            left: step_of.length,
        });
        if was_empty {
            endpoint.wait_for_turn(channel);
        }
        self.refill(device);
    }

    /// Prepares the next write and the next read of each virtual channel, where none waits. A channel that gets a tag has had its turn.
    pub fn refill(&mut self, device: usize) {
        let now = self.now;
        let port = self.devices[device].ports[0];
        let mps = self.mps(port);
        let channels = self.ports[port].channels.len();
        let order = self.endpoint(device).tag_turns.order(channels, (0..channels).rev());
        for (channel, class) in
            order.into_iter().flat_map(|channel| [(channel, POSTED), (channel, NON_POSTED)])
        {
            if self.ports[port].channels[channel].queues[class].is_empty()
                && let Some(mut request) =
                    self.endpoint(device).next(channel, class == NON_POSTED, device, mps, now)
            {
                if class == NON_POSTED {
                    self.endpoint(device).tag_turns.served(channel, channels);
                }
                request.order = self.next_order();
                self.look_at(port, request.ready);
                self.ports[port].channels[channel].queues[class].push_back(request);
            }
        }
    }

    /// A TLP has arrived at an endpoint.
    pub fn endpoint_takes(&mut self, device: usize, port: usize, tlp: Tlp) {
        let now = self.now;
        let hold = self.endpoint(device).config.buffer_hold;
        match tlp.kind {
            Kind::Write => {
                let drained = self.endpoint(device).drain.serve(now, tlp.length, Span::ZERO);
                self.free_at(port, &tlp, drained + hold);
                self.record.delivered(now, tlp.flow, tlp.length);
                self.record.request_done(now, tlp.flow, now - tlp.issued);
            }
            Kind::Read => {
                self.free_at(port, &tlp, now + hold);
                self.answer_peer(device, port, &tlp);
            }
            Kind::Completion => {
                self.free_at(port, &tlp, now + hold);
                self.record.delivered(now, tlp.flow, tlp.length);
                let endpoint = self.endpoint(device);
                let left = endpoint.out.get_mut(&tlp.read).expect("its read is out");
                *left -= tlp.length;
                assert_eq!(*left == 0, tlp.last, "the last completion comes last");
                if tlp.last {
                    let delay = endpoint.config.completion_latency;
                    self.record.request_done(now, tlp.flow, now - tlp.issued + delay);
                    if delay.is_zero() {
                        self.tag_is_free(device, tlp.read);
                    } else {
                        let free = Event::TagFree { device, read: tlp.read };
                        self.agenda.add(now + delay, rank::TAGS, free);
                    }
                }
            }
        }
    }

    /// A read is over for its requester.
    pub fn tag_is_free(&mut self, device: usize, read: usize) {
        self.endpoint(device).out.remove(&read);
        self.refill(device);
    }

    /// Answers a peer's read; the RCB of every completer but a root complex is 128 B (PCIe Base 6.3 §2.3.1.1).
    fn answer_peer(&mut self, device: usize, port: usize, request: &Tlp) {
        let (now, mps) = (self.now, self.mps(port));
        for (address, length) in completions(request.address, request.length, 128, mps) {
            let endpoint = self.endpoint(device);
            let read = endpoint.memory.as_mut().map_or(now, |memory| memory.serve(now, length, Span::ZERO));
            let ready = read + endpoint.config.memory_read_latency;
            let mut completion = answer(request, Some(device), address, length, ready);
            completion.header += if endpoint.config.ecrc { ECRC.get() } else { 0 };
            completion.id_ordered = endpoint.config.id_based_ordering;
            completion.order = self.next_order();
            let own = &mut self.ports[port];
            let channel = own.channel_of(&completion);
            let queues = &mut own.channels[channel].queues;
            if let Some(write) = queues[POSTED].front_mut().filter(|write| write.ready > completion.ready) {
                std::mem::swap(&mut write.order, &mut completion.order); // It has not started, and is no request yet.
            }
            queues[COMPLETION].push_back(completion);
            self.look_at(port, ready);
        }
    }
}
