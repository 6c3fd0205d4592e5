//! A root complex: memory behind bandwidths and a latency, tracking entries of stacks, completions in the order of their data.
//!
//! Rules: docs/explanation/root-complex.md, ADR 10 and ADR 11.

use super::agenda::{Event, rank};
use super::iommu::Iommu;
use super::memory::Memory;
use super::system::System;
use super::tlp::{COMPLETION, Kind, Server, Tlp, completions};
use lanewise_engine::random::RandomStream;
use lanewise_fabric::config::RootComplexConfig;
use lanewise_pcie::tlp::ECRC;
use lanewise_units::{Span, Time};
use std::collections::VecDeque;

/// What some root ports share.
struct Stack {
    /// When each entry in use is free.
    entries: Vec<Time>,
    /// Reads that wait for one: the port, and the request.
    waiting: VecDeque<(usize, Tlp)>,
    reads: Option<Server>,
    writes: Option<Server>,
}

/// A root complex.
pub struct Host {
    pub config: RootComplexConfig,
    reads: Server,
    writes: Server,
    pub memory: Memory,
    /// By device, the number of an endpoint: depth first, by the ports that lead down.
    numbers: Vec<u64>,
    pub iommu: Option<Iommu>,
    stacks: Vec<Stack>,
    stack_of: Vec<usize>,
    jitter: RandomStream,
}

impl Host {
    pub fn new(config: &RootComplexConfig, ports: usize, numbers: Vec<u64>, jitter: RandomStream) -> Self {
        // Root ports beyond the list have a stack of their own each.
        let mut stack_of: Vec<usize> =
            config.stack_of_port.iter().take(ports).map(|one| usize::from(*one)).collect();
        while stack_of.len() < ports {
            stack_of.push(stack_of.iter().max().map_or(0, |last| last + 1));
        }
        let stack = || Stack {
            entries: Vec::new(),
            waiting: VecDeque::new(),
            reads: config.stack.read_bandwidth.map(Server::new),
            writes: config.stack.write_bandwidth.map(Server::new),
        };
        Self {
            config: config.clone(),
            reads: Server::new(config.read_bandwidth),
            writes: Server::new(config.write_bandwidth),
            memory: Memory::new(&config.memory),
            numbers,
            iommu: config.iommu.as_ref().map(|iommu| Iommu::new(iommu, ports)),
            stacks: (0..stack_of.iter().max().map_or(0, |last| last + 1)).map(|_| stack()).collect(),
            stack_of,
            jitter,
        }
    }

    /// Other settings.
    pub fn change(&mut self, config: &RootComplexConfig) {
        self.config = config.clone();
        self.reads.set_rate(config.read_bandwidth);
        self.writes.set_rate(config.write_bandwidth);
        self.memory.change(&config.memory);
    }

    /// Whose buffer a request means.
    fn owner(&self, request: &Tlp) -> u64 {
        self.numbers[request.from.expect("an endpoint asks")]
    }

    /// When a write has been taken in and its buffer space is free.
    fn write(&mut self, now: Time, write: &Tlp, stack: usize) -> Time {
        let (bytes, owner) = (write.length, self.owner(write));
        let path = self.writes.serve(now, bytes, self.config.write_overhead);
        let own =
            self.stacks[stack].writes.as_mut().map_or(now, |server| server.serve(now, bytes, Span::ZERO));
        let memory = self.memory.serve(now, owner, write.address, bytes);
        path.max(own).max(memory) + self.config.write_latency
    }

    /// The completions of a read that starts now, each with the time at which its data is there, `waited` for a translation included.
    fn read(&mut self, now: Time, request: &Tlp, stack: usize, mps: u64, waited: Span) -> Vec<Tlp> {
        let mean = self.config.memory_latency_jitter;
        let jitter = if mean.is_zero() { Span::ZERO } else { self.jitter.exponential(mean) };
        let combines = self.config.combine_long_reads || request.length <= mps;
        let most =
            if combines { self.config.completion_combine_max.get().min(mps) } else { self.config.rcb.get() };
        let owner = self.owner(request);
        let mut ready = now;
        let mut made = Vec::new();
        for (address, length) in completions(request.address, request.length, self.config.rcb.get(), most) {
            let path = self.reads.serve(now, length, Span::ZERO);
            let own =
                self.stacks[stack].reads.as_mut().map_or(now, |server| server.serve(now, length, Span::ZERO));
            let memory = self.memory.serve(now, owner, address, length);
            // The data of one request come in the order of addresses (PCIe Base 6.3 §2.3.1.1).
            ready = ready.max(path.max(own).max(memory) + self.config.memory_latency + jitter + waited);
            let mut completion = answer(request, None, address, length, ready);
            completion.header += if self.config.ecrc { ECRC.get() } else { 0 };
            made.push(completion);
        }
        made
    }
}

/// A completion of `request` with so many bytes; its header has 3 DW.
pub fn answer(request: &Tlp, from: Option<usize>, address: u64, length: u64, ready: Time) -> Tlp {
    Tlp {
        kind: Kind::Completion,
        address,
        length,
        header: 12,
        has_pasid: false,
        to: request.from,
        from,
        last: address + length == request.address + request.length,
        id_ordered: false,
        ready,
        turn: ready,
        came_in: None,
        ..request.clone()
    }
}

impl System {
    /// A TLP has arrived at a root port.
    pub fn host_takes(&mut self, device: usize, port: usize, tlp: Tlp) {
        let now = self.now;
        let number = self.ports[port].number;
        if let Some(egress) = self.way_down(device, &tlp) {
            // Peer to peer: back down, through this or another root port.
            let ready = now + self.translate(device, number, &tlp) + self.host(device).config.forward_latency;
            let egress = self.devices[device].ports[egress];
            let ready = ready.max(self.those_before(egress, port, &tlp));
            return self.queue(egress, Tlp { ready, turn: ready, came_in: Some(port), ..tlp });
        }
        let stack = self.host(device).stack_of[number];
        match tlp.kind {
            Kind::Write => {
                let free_at = self.host(device).write(now, &tlp, stack);
                let waited = self.translate(device, number, &tlp);
                self.free_at(port, &tlp, free_at + waited);
                self.record.delivered(now, tlp.flow, tlp.length);
                self.record.request_done(now, tlp.flow, now - tlp.issued);
            }
            Kind::Read => {
                self.host(device).stacks[stack].waiting.push_back((port, tlp));
                self.start_reads(device, stack);
            }
            Kind::Completion => panic!("the processor asks for nothing here"),
        }
    }

    /// When the completions have left at the earliest that came the same way as this one, though forwarding took longer then: none passes
    /// them.
    fn those_before(&self, egress: usize, ingress: usize, tlp: &Tlp) -> Time {
        let channels = self.ports[egress].channels.iter();
        let all = channels.flat_map(|channel| &channel.queues[COMPLETION]);
        let before = all.filter(|other| tlp.kind == Kind::Completion && other.came_in == Some(ingress));
        before.map(|other| other.ready).max().unwrap_or(Time::ZERO)
    }

    /// Starts the reads of a stack that wait, as far as there are tracking entries.
    pub fn start_reads(&mut self, device: usize, stack: usize) {
        let now = self.now;
        loop {
            let host = self.host(device);
            let most = host.config.stack.read_trackers as usize;
            let one = &mut host.stacks[stack];
            one.entries.retain(|free_at| *free_at > now);
            if one.waiting.is_empty() {
                return;
            }
            if one.entries.len() >= most {
                let at = *one.entries.iter().min().expect("all are in use");
                return self.agenda.add(at, rank::ENTRIES, Event::Entry { device, stack });
            }
            let (port, request) = one.waiting.pop_front().expect("one waits");
            self.free_at(port, &request, now);
            let mps = self.mps(port);
            let waited = self.translate(device, self.ports[port].number, &request);
            let completions = self.host(device).read(now, &request, stack, mps, waited);
            let last = completions.last().expect("a read asks for something").ready;
            self.host(device).stacks[stack].entries.push(last);
            // A completion has its turn when its data is there, or as much earlier as those before it take on the wire (ADR 10).
            let (mut turn, mut sent) = (Time::ZERO, Span::ZERO);
            for completion in completions {
                turn = turn.max(Time::from_ticks(completion.ready.ticks().saturating_sub(sent.ticks())));
                let wire = &self.ports[port].wire;
                sent += wire.span(completion.bytes()) + wire.span(8);
                self.queue(port, Tlp { turn, ..completion });
            }
        }
    }

    /// Puts a TLP into the queue of a root port: completions by turn, everything else as it comes.
    fn queue(&mut self, port: usize, mut tlp: Tlp) {
        tlp.order = self.next_order();
        let ready = tlp.ready;
        if self.ports[port].channels.len() > 1 {
            tlp.turn = ready; // With several channels the time of the data alone decides (ADR 10).
        }
        let own = &mut self.ports[port];
        let channel = own.channel_of(&tlp);
        let queue = &mut own.channels[channel].queues[tlp.class()];
        let place = match tlp.kind {
            Kind::Completion => queue.partition_point(|other| other.turn <= tlp.turn),
            Kind::Write | Kind::Read => queue.len(),
        };
        queue.insert(place, tlp);
        if place == 0 {
            self.look_at(port, ready);
        }
    }
}
