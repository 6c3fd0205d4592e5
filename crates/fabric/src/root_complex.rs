//! Root complexes: what becomes of a read and of a write between root port and memory, and what root ports share.
//!
//! A read waits for a tracking entry of its stack (`stack.rs`), then for the cache or memory of its socket (`cache.rs`,
//! `memory.rs`); its completions are cut at RCB and combined up to a limit (PCIe Base 6.3 §2.3.1.1). A posted write gives its
//! buffer space back when cache or memory has taken it. What lies on the way apart from that, other sockets and address
//! translation, is in `memory_path.rs`. Left out: root complex event collectors.

use crate::cache::{Landing, LastLevelCache};
use crate::completion_queue::Lines;
use crate::config::{IdeConfig, RootComplexConfig};
use crate::errors::DeviceErrors;
use crate::memory::{Memory, Place};
use crate::memory_path::MemoryPath;
use crate::outbound::OutboundQueue;
use crate::packet::{Flags, Packet, PacketId, PacketPool, RouteEnd};
use crate::port::PortId;
use crate::ring::Ring;
use crate::root_ports::STACK_BITS;
use crate::routing::Routes;
use crate::server::Server;
use crate::slots::Slots;
use crate::stack::{Stack, WaitingRead};
use crate::unmade::Unmade;
use lanewise_engine::random::RandomStream;
use lanewise_pcie::splitting;
use lanewise_pcie::tlp::{FlowClass, Tlp};
use lanewise_units::{Bytes, Span, Time};

/// What belongs to one socket.
pub(crate) struct Socket {
    pub(crate) memory: Memory,
    pub(crate) cache: Option<Box<LastLevelCache>>,
}

/// A completion in the queue of a root port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InLine {
    pub(crate) turn: Time,
    pub(crate) packet: PacketId,
    /// Slot in [`RootComplex::unmade`] of those behind it, of the same read and with the same turn; or [`Self::NONE`].
    pub(crate) unmade: u32,
}

impl InLine {
    /// There are none behind it.
    pub(crate) const NONE: u32 = u32::MAX;
}

/// One root complex.
pub(crate) struct RootComplex {
    pub(crate) config: RootComplexConfig,
    pub(crate) ports: Vec<PortId>,
    pub(crate) routes: Routes,
    pub(crate) reads: Server,
    pub(crate) writes: Server,
    pub(crate) sockets: Vec<Socket>,
    pub(crate) stacks: Vec<Stack>,
    stack_of_port: Vec<u16>,
    /// By endpoint, whether the processor keeps its buffers warm; short where none of the rest is.
    warm_buffers: Vec<bool>,
    jitter: RandomStream,
    /// Reads that have come so far.
    reads_seen: u64,
    /// By root port, the completions in its queue, in the order of their turns.
    pub(crate) ready: Vec<Ring<InLine>>,
    /// Completions behind those in `ready`, of the same reads, that are not made yet.
    pub(crate) unmade: Slots<Unmade>,
    /// By root port, lines of reads that have no place in its queue yet; none where root ports join whatever they may.
    pub(crate) lines: Vec<Lines>,
    /// The outbound queue that root ports share, if they do.
    pub(crate) outbound: Option<Box<OutboundQueue>>,
    /// Other sockets and address translation, where there are any.
    pub(crate) path: Option<Box<MemoryPath>>,
    /// Reads that it does not answer, or not well, where there are any.
    pub(crate) errors: Option<Box<DeviceErrors>>,
    /// Completions from one root port to another do not leave before then: not before those that were on their way when forwarding became
    /// quicker (`live.rs`).
    pub(crate) not_before: Vec<((u16, u16), Time)>,
}

impl RootComplex {
    pub(crate) fn new(
        config: RootComplexConfig,
        ports: Vec<PortId>,
        routes: Routes,
        jitter: RandomStream,
    ) -> Self {
        let stack_of_port = config.stacks(ports.len());
        let stacks = stack_of_port.iter().max().map_or(0, |last| usize::from(*last) + 1);
        assert!(stacks <= 1 << STACK_BITS, "{stacks} stacks: an event has no room for that many");
        let mut made = Self {
            reads: Server::new(config.read_bandwidth),
            writes: Server::new(config.write_bandwidth),
            sockets: Vec::new(),
            stacks: (0..stacks).map(|_| Stack::new(&config.stack)).collect(),
            stack_of_port,
            warm_buffers: Vec::new(),
            jitter,
            reads_seen: 0,
            ready: vec![Ring::default(); ports.len()],
            unmade: Slots::default(),
            lines: std::iter::repeat_with(Lines::default)
                .take(config.completion_queue.map_or(0, |_| ports.len()))
                .collect(),
            outbound: OutboundQueue::new(&config, ports.len()),
            path: MemoryPath::new(&config, ports.len()),
            errors: DeviceErrors::new(&config.errors),
            not_before: Vec::new(),
            ports,
            routes,
            config,
        };
        made.make_sockets();
        made
    }

    /// Makes memory and cache for each socket that there is.
    fn make_sockets(&mut self) {
        let count = self.path.as_ref().map_or(1, |path| path.sockets());
        while self.sockets.len() < count {
            let memory = Memory::new(self.config.memory_of(self.sockets.len() as u16));
            let cache = self.config.cache.as_ref().map(|cache| Box::new(LastLevelCache::new(cache)));
            self.sockets.push(Socket { memory, cache });
        }
    }

    /// The buffers of an endpoint are in the memory of `socket`. Before the run.
    pub(crate) fn place_memory(&mut self, endpoint: RouteEnd, socket: u16) {
        if let Some(path) = &mut self.path {
            path.place_memory(endpoint, socket);
        }
        self.make_sockets();
    }

    /// The processor has used the buffers of an endpoint. Before the run.
    pub(crate) fn warm_buffers(&mut self, endpoint: RouteEnd) {
        let index = endpoint.0 as usize;
        if self.warm_buffers.len() <= index {
            self.warm_buffers.resize(index + 1, false);
        }
        self.warm_buffers[index] = true;
    }

    /// There is an IDE stream between it and an endpoint. Before the run.
    pub(crate) fn protect(&mut self, endpoint: RouteEnd, ide: &IdeConfig) {
        let path = self.path.get_or_insert_with(|| MemoryPath::of(&self.config, self.ports.len()));
        path.ide.add(endpoint, ide);
    }

    /// An endpoint's requests come translated. Before the run.
    pub(crate) fn trust_translations_of(&mut self, endpoint: RouteEnd, page: Bytes) {
        if let Some(iommu) = self.path.as_mut().and_then(|path| path.iommu.as_mut()) {
            iommu.trust_translations_of(endpoint, page);
        }
    }

    /// The stack of a root port.
    #[inline(always)]
    pub(crate) fn stack(&mut self, port: u16) -> &mut Stack {
        &mut self.stacks[usize::from(self.stack_of_port[usize::from(port)])]
    }

    /// Index of the stack of a root port.
    pub(crate) fn stack_of(&self, port: u16) -> usize {
        usize::from(self.stack_of_port[usize::from(port)])
    }

    /// The socket whose memory a request at root port `port` is for.
    #[inline(always)]
    fn home(&mut self, packet: &Packet, port: u16) -> &mut Socket {
        let socket = match &self.path {
            None => 0,
            Some(path) => usize::from(path.home(packet.requester, port)),
        };
        &mut self.sockets[socket]
    }

    /// When a posted write that arrives now at root port `port` has been taken in, and its buffer space is free.
    #[inline]
    pub(crate) fn write(&mut self, now: Time, packet: &Packet, port: u16) -> Time {
        let payload = packet.payload();
        let span = self.config.write_bandwidth.span_ceil(payload) + self.config.write_overhead;
        let shared = self.writes.serve_for(now, span);
        let in_order = shared.max(self.stack(port).write(now, payload));
        let home = self.home(packet, port);
        let landed = match &mut home.cache {
            None => home.memory.serve(now, Place::of(packet), payload),
            Some(cache) => match cache.write(Place::of(packet)) {
                Landing::Memory => home.memory.serve(now, Place::of(packet), payload),
                Landing::Cache { evicts: false } => now,
                // The old block is as good as anywhere: it takes its turn like the new one would.
                Landing::Cache { evicts: true } => {
                    let block = cache.block();
                    home.memory.serve(now, Place::of(packet), block)
                }
            },
        };
        in_order.max(landed) + self.config.write_latency
    }

    /// As [`Self::write`], for a write that has a way to go to memory.
    pub(crate) fn write_remote(&mut self, now: Time, packet: &Packet, port: u16) -> Time {
        let free_at = self.write(now, packet, port);
        let path = self.path.as_mut().expect("asked for only where there is a path");
        let near = usize::from(path.socket_of(port));
        path.write(now, packet, port, &mut self.sockets[near].memory, free_at)
    }

    /// When a packet from root port `ingress` may leave root port `egress`.
    pub(crate) fn forward(&mut self, now: Time, packet: &Packet, ingress: u16, egress: u16) -> Time {
        let at = self.forwarded_at(now, packet, ingress, egress);
        if self.not_before.is_empty() || packet.class() != FlowClass::Completion {
            return at;
        }
        let way = (ingress, egress);
        let before = self.not_before.iter().find(|(of, _)| *of == way);
        before.map_or(at, |(_, before)| at.max(*before))
    }

    fn forwarded_at(&mut self, now: Time, packet: &Packet, ingress: u16, egress: u16) -> Time {
        let payload = packet.payload();
        let taken = self.stack(ingress).take_over(now, payload).max(self.stack(egress).hand_on(now, payload));
        let forwarded = taken + self.config.forward_latency;
        let Some(path) = &mut self.path else { return forwarded };
        let near = usize::from(path.socket_of(ingress));
        forwarded.max(path.forward(now, packet, ingress, egress, &mut self.sockets[near].memory))
    }

    /// A read request has come. Returns it when it can start at once; else it waits for its turn in its stack.
    #[inline]
    pub(crate) fn take_read(&mut self, now: Time, request: PacketId, stack: usize) -> Option<WaitingRead> {
        self.reads_seen += 1;
        let read = WaitingRead { request, order: self.reads_seen, since: now };
        let has_room = self.has_room();
        let trackers = &mut self.stacks[stack].trackers;
        if has_room && trackers.waiting.is_empty() && trackers.has_room(now) {
            return Some(read);
        }
        trackers.waiting.push_back(read);
        None
    }

    /// Whether there is room for the data of a read in the queue that root ports share, if they do.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.outbound.as_ref().is_none_or(|queue| queue.has_room())
    }

    /// The stack whose read has waited longest, of those that have an entry for one.
    pub(crate) fn next_stack(&mut self, now: Time) -> Option<usize> {
        let mut next: Option<(u64, usize)> = None;
        for (index, stack) in self.stacks.iter_mut().enumerate() {
            if let Some(read) = stack.trackers.waiting.front()
                && next.is_none_or(|(order, _)| read.order < order)
            {
                let order = read.order;
                if stack.trackers.has_room(now) {
                    next = Some((order, index));
                }
            }
        }
        next.map(|(_, index)| index)
    }

    /// Whether no read is under way at `now`, and nothing waits for one or in the queue that root ports share.
    pub(crate) fn is_quiet(&self, now: Time) -> bool {
        self.stacks.iter().all(|stack| stack.trackers.is_quiet(now))
            && self.outbound.as_ref().is_none_or(|queue| queue.is_quiet())
            && self.ready.iter().all(|ready| ready.is_empty())
            && self.lines.iter().all(|lines| lines.is_empty())
    }

    /// Completions that are still to be made of what waits at a root port.
    pub(crate) fn unmade_at(&self, port: u16) -> usize {
        let waiting = self.ready[usize::from(port)].iter().filter(|place| place.unmade != InLine::NONE);
        waiting.map(|place| self.unmade.get(place.unmade).count() as usize).sum()
    }

    /// Reads that wait for an entry, or for room in the queue that root ports share.
    pub(crate) fn waiting_reads(&self) -> usize {
        self.stacks.iter().map(|stack| stack.trackers.waiting.len()).sum()
    }

    /// Places of a root port's queue of completions, and the block in which lines are joined there: of one whose Maximum Payload
    /// Size is `mps`, in a root complex that has such queues.
    pub(crate) fn completion_queue(&self, mps: Bytes) -> (usize, Bytes) {
        let places = self.config.completion_queue.expect("asked for only where there is one");
        (places as usize, self.config.completion_combine_max.min(mps))
    }

    /// What the latency of a read is beyond the least.
    #[inline]
    fn jitter(&mut self) -> Span {
        if self.config.memory_latency_jitter.is_zero() {
            return Span::ZERO;
        }
        self.jitter.exponential(self.config.memory_latency_jitter)
    }

    /// As [`Self::read`], where nothing but rates is in the way of data: makes the first completion, and says what is to be made of
    /// the rest. Returns when the last data are there, too.
    #[inline]
    pub(crate) fn read_at_rates(
        &mut self,
        now: Time,
        request: &Packet,
        port: u16,
        most: Bytes,
    ) -> Option<(Time, Packet, Option<Unmade>)> {
        let stack = usize::from(self.stack_of_port[usize::from(port)]);
        if self.path.is_some() || self.stacks[stack].reads.is_some() {
            return None;
        }
        let [Socket { memory, cache: None }] = &mut self.sockets[..] else { return None };
        memory.as_one_rate()?;
        let latency = self.config.memory_latency + self.jitter();
        let memory = self.sockets[0].memory.as_one_rate()?;
        let length = Bytes::new(u64::from(request.length));
        let mut chunks = splitting::completions(request.address, length, self.config.rcb, most);
        let first = chunks.next().expect("a read asks for something");
        let left = chunks.byte_count();
        let mut completion = completion(request, RouteEnd::HOST, now, self.config.ecrc);
        completion.carry(first.address, first.length);
        if left == Bytes::ZERO {
            completion.flags = completion.flags.with(Flags::LAST);
        }
        let servers = [&mut self.reads, memory];
        let (last, unmade) = Unmade::serve(now, &mut completion, (left, most), servers, latency);
        Some((last, completion, unmade))
    }

    /// Starts a read: makes its completions of up to `most` bytes, each with the time at which its data is there. Returns that of
    /// the last.
    pub(crate) fn read(
        &mut self,
        now: Time,
        request: &Packet,
        port: u16,
        most: Bytes,
        packets: &mut PacketPool,
        made: &mut Vec<PacketId>,
    ) -> Time {
        let mut jitter = self.jitter();
        if let Some(path) = &mut self.path {
            let near = usize::from(path.socket_of(port));
            if request.flags.has(Flags::TRANSLATION) {
                let completion = path.answer_translation(now, request, &mut self.sockets[near].memory);
                let ready = completion.eligible_at;
                made.push(packets.insert(completion));
                return ready;
            }
            jitter += path.read(now, request, port, &mut self.sockets[near].memory);
        }
        let length = Bytes::new(u64::from(request.length));
        let chunks = splitting::completions(request.address, length, self.config.rcb, most);
        let completions = completions(request, RouteEnd::HOST, now, chunks, self.config.ecrc);
        let latency = self.config.memory_latency + jitter;
        let stack = usize::from(self.stack_of_port[usize::from(port)]);
        let is_warm = self.warm_buffers.get(request.requester.0 as usize).is_some_and(|warm| *warm);
        let mut ready = now;
        for mut completion in completions {
            // Bandwidth is taken when the read starts, not when its data comes: a read whose data is far away
            // does not keep others from memory.
            let payload = completion.payload();
            let place = Place { address: completion.address, owner: request.requester };
            let read = self.reads.serve(now, payload).max(self.stacks[stack].read(now, payload));
            let home = self.home(request, port);
            let found = home.cache.as_mut().and_then(|cache| {
                cache.read(now, place, payload, is_warm).map(|moved| (moved, cache.latency() + jitter))
            });
            let (moved, latency) = found.unwrap_or_else(|| (home.memory.serve(now, place, payload), latency));
            let mut at = read.max(moved) + latency;
            if let Some(path) = &mut self.path {
                at = path.bring(now, &completion, port, at, latency);
            }
            // Data of one request come in the order of addresses (PCIe Base 6.3 §2.3.1.1).
            ready = ready.max(at);
            completion.eligible_at = ready;
            if let Some(path) = &mut self.path {
                path.ide.seal_and_wait(&mut completion);
            }
            made.push(packets.insert(completion));
        }
        ready
    }
}

/// A completion with all data that `request` asks for, with an ECRC or without.
#[inline]
fn completion(request: &Packet, completer: RouteEnd, now: Time, digest: bool) -> Packet {
    let tlp = Tlp::completion(request.address, Bytes::new(u64::from(request.length)))
        .with_traffic_class(request.traffic_class)
        .with_digest(digest);
    let mut completion = Packet::new(&tlp, request.requester, completer, now);
    completion.issued_at = request.issued_at;
    completion.context = request.context;
    completion.read = request.read;
    let kept = Flags::RELAXED.with(Flags::MMIO).with(Flags::TRANSLATION);
    completion.flags = completion.flags.with(request.flags.only(kept));
    completion
}

/// Completions with data that answer `request`, one per chunk, with an ECRC or without.
pub(crate) fn completions(
    request: &Packet,
    completer: RouteEnd,
    now: Time,
    chunks: splitting::Completions,
    digest: bool,
) -> impl Iterator<Item = Packet> {
    let mut left = u64::from(request.length);
    // All are alike but for the bytes that they carry.
    let alike = completion(request, completer, now, digest);
    chunks.map(move |chunk| {
        left -= chunk.length.get();
        let mut completion = alike;
        completion.carry(chunk.address, chunk.length);
        if left == 0 {
            completion.flags = completion.flags.with(Flags::LAST);
        }
        completion
    })
}
