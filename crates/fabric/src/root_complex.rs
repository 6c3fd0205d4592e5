//! Root complexes: read engines, memory, and what root ports share.
//!
//! A read waits for an engine, then for memory; its completions are cut at RCB and combined up to a limit (PCIe
//! Base 6.3 §2.3.1.1). A posted write gives its buffer space back when memory has taken it. What lies on the way to memory
//! apart from that, other sockets and address translation, is in `memory_path.rs`. Left out: caches apart from the latency
//! they give, root complex event collectors.

use crate::config::RootComplexConfig;
use crate::errors::DeviceErrors;
use crate::memory_path::MemoryPath;
use crate::packet::{Address, Flags, Kind, Packet, PacketId, PacketPool};
use crate::places::Places;
use crate::port::PortId;
use crate::routing::Routes;
use crate::server::Server;
use lanewise_engine::random::RandomStream;
use lanewise_pcie::splitting;
use lanewise_pcie::tlp::ECRC;
use lanewise_units::{Bytes, Time};
use std::collections::VecDeque;

/// One root complex.
pub(crate) struct RootComplex {
    pub(crate) config: RootComplexConfig,
    pub(crate) ports: Vec<PortId>,
    pub(crate) routes: Routes,
    pub(crate) reads: Server,
    pub(crate) writes: Server,
    pub(crate) memory: Server,
    jitter: RandomStream,
    pub(crate) engines_free: u32,
    /// How long engines were in use, and reads waited for one or for room in a shared outbound queue.
    pub(crate) engines: Places,
    /// Read requests that wait for an engine, in order of arrival over all root ports.
    pub(crate) waiting_reads: VecDeque<PacketId>,
    /// The outbound queue that root ports share, if they do: port index and packet.
    pub(crate) outbound: VecDeque<(u16, PacketId)>,
    /// Packets of the shared queue's head that each root port has taken over.
    pub(crate) staged: Vec<u32>,
    /// Other sockets and address translation, where there are any.
    pub(crate) path: Option<Box<MemoryPath>>,
    /// Reads that it does not answer, or not well, where there are any.
    pub(crate) errors: Option<Box<DeviceErrors>>,
}

impl RootComplex {
    pub(crate) fn new(
        config: RootComplexConfig,
        ports: Vec<PortId>,
        routes: Routes,
        jitter: RandomStream,
    ) -> Self {
        Self {
            reads: Server::new(config.read_bandwidth),
            writes: Server::new(config.write_bandwidth),
            memory: Server::new(config.memory_bandwidth),
            jitter,
            engines_free: config.read_engines,
            engines: Places::default(),
            waiting_reads: VecDeque::new(),
            outbound: VecDeque::new(),
            staged: vec![0; ports.len()],
            path: MemoryPath::new(&config, ports.len()),
            errors: DeviceErrors::new(&config.errors),
            ports,
            routes,
            config,
        }
    }

    /// When memory has taken a posted write that arrives now, and its buffer space is free.
    #[inline]
    pub(crate) fn write(&mut self, now: Time, payload: Bytes) -> Time {
        let span = self.config.write_bandwidth.span_ceil(payload) + self.config.write_overhead;
        let in_order = self.writes.serve_for(now, span);
        in_order.max(self.memory.serve(now, payload)) + self.config.write_latency
    }

    /// As [`Self::write`], for a write that came in at root port `port` and has a way to go to memory.
    pub(crate) fn write_afar(&mut self, now: Time, packet: &Packet, port: u16) -> Time {
        let free_at = self.write(now, packet.payload());
        let path = self.path.as_mut().expect("asked for only where there is a path");
        path.write(now, packet, port, &mut self.memory, free_at)
    }

    /// When a packet from root port `ingress` may leave root port `egress`, with a path between them.
    #[cold]
    pub(crate) fn forward_afar(&mut self, now: Time, packet: &Packet, ingress: u16, egress: u16) -> Time {
        let path = self.path.as_mut().expect("asked for only where there is a path");
        path.forward(now, packet, ingress, egress, &mut self.memory)
    }

    /// Whether a waiting read may start: an engine, and room in a shared outbound queue.
    pub(crate) fn can_start_read(&self) -> bool {
        let room = self.config.shared_outbound_queue.is_none_or(|limit| self.outbound.len() < limit as usize);
        self.engines_free > 0 && room && !self.waiting_reads.is_empty()
    }

    /// Whether every engine is free, and nothing waits for one or in the queue that root ports share.
    pub(crate) fn is_quiet(&self) -> bool {
        self.engines_free == self.config.read_engines
            && self.waiting_reads.is_empty()
            && self.outbound.is_empty()
            && self.staged.iter().all(|staged| *staged == 0)
    }

    /// ECRC bytes of every TLP it sends.
    pub(crate) fn digest_bytes(&self) -> u8 {
        if self.config.ecrc { ECRC.get() as u8 } else { 0 }
    }

    /// Starts a read: makes its completions, each with the time at which its data is there.
    pub(crate) fn read(
        &mut self,
        now: Time,
        request: &Packet,
        port: u16,
        mps: Bytes,
        packets: &mut PacketPool,
        made: &mut Vec<PacketId>,
    ) {
        let mut latency = self.config.memory_latency;
        if !self.config.memory_latency_jitter.is_zero() {
            latency += self.jitter.exponential(self.config.memory_latency_jitter);
        }
        if let Some(path) = &mut self.path {
            latency += path.read(now, request, port, &mut self.memory);
        }
        let length = Bytes::new(u64::from(request.length));
        let combine = self.config.completion_combine_max.min(mps);
        let chunks = splitting::completions(request.address, length, self.config.rcb, combine);
        let digest = self.digest_bytes();
        for mut completion in completions(request, Address::HOST, now, chunks) {
            completion.header_bytes += digest;
            completion.has_ecrc = self.config.ecrc;
            // Bandwidth is taken when the read starts, not when its data comes: a read whose data is far away
            // does not keep others from memory.
            let read = self.reads.serve(now, completion.payload());
            completion.eligible_at = read.max(self.memory.serve(now, completion.payload())) + latency;
            if let Some(path) = &mut self.path {
                completion.eligible_at = path.bring(now, &completion, port, completion.eligible_at, latency);
            }
            made.push(packets.insert(completion));
        }
    }
}

/// Completions with data that answer `request`, one per chunk.
pub(crate) fn completions(
    request: &Packet,
    completer: Address,
    now: Time,
    chunks: splitting::Completions,
) -> impl Iterator<Item = Packet> {
    let mut left = u64::from(request.length);
    let request = *request;
    chunks.map(move |chunk| {
        left -= chunk.length.get();
        let mut completion = Packet::new(Kind::Completion, request.requester, completer, now);
        completion.issued_at = request.issued_at;
        completion.context = request.context;
        completion.read = request.read;
        completion.traffic_class = request.traffic_class;
        completion.carry(chunk.address, chunk.length);
        completion.header_bytes = 12;
        completion.flags = request.flags.only(Flags::RELAXED.with(Flags::MMIO));
        if left == 0 {
            completion.flags = completion.flags.with(Flags::LAST);
        }
        completion
    })
}
