//! The way from a root port to memory, where it is longer than the host bridge: address translation, then another socket. What goes
//! back to a device may be encrypted.
//!
//! Only root complexes with one of these have such a path; to all others it costs a look at a null pointer. As for
//! memory itself, bandwidth is taken when a request arrives and latency comes on top, so that a request that has far to go
//! does not keep others from the link.

use crate::config::RootComplexConfig;
use crate::ide::IdeEnds;
use crate::iommu::Iommu;
use crate::memory::Memory;
use crate::packet::{Packet, RouteEnd};
use crate::root_complex;
use crate::sockets::Sockets;
use lanewise_pcie::splitting;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Span, Time};

/// What lies between the root ports of one root complex and memory.
pub(crate) struct MemoryPath {
    pub(crate) sockets: Option<Sockets>,
    pub(crate) iommu: Option<Iommu>,
    /// IDE streams that end here.
    pub(crate) ide: IdeEnds,
    rcb: Bytes,
    write_latency: Span,
    forward_latency: Span,
}

impl MemoryPath {
    pub(crate) fn new(config: &RootComplexConfig, ports: usize) -> Option<Box<Self>> {
        (config.sockets.is_some() || config.iommu.is_some()).then(|| Self::of(config, ports))
    }

    /// The same of a root complex that has need of one.
    pub(crate) fn of(config: &RootComplexConfig, ports: usize) -> Box<Self> {
        Box::new(Self {
            sockets: config.sockets.as_ref().map(Sockets::new),
            iommu: config.iommu.as_ref().map(|iommu| Iommu::new(iommu, ports)),
            ide: IdeEnds::default(),
            rcb: config.rcb,
            write_latency: config.write_latency,
            forward_latency: config.forward_latency,
        })
    }

    /// Other latencies of what it adds itself, from now on.
    pub(crate) fn set_latencies(&mut self, write: Span, forward: Span) {
        (self.write_latency, self.forward_latency) = (write, forward);
    }

    /// The buffers of an endpoint are in the memory of `socket`. Before the run.
    pub(crate) fn place_memory(&mut self, endpoint: RouteEnd, socket: u16) {
        if let Some(sockets) = &mut self.sockets {
            sockets.place_memory(endpoint, socket);
        }
    }

    /// Sockets whose memory may be used.
    pub(crate) fn sockets(&self) -> usize {
        self.sockets.as_ref().map_or(1, |sockets| sockets.count())
    }

    /// The socket of a root port.
    pub(crate) fn socket_of(&self, port: u16) -> u16 {
        self.sockets.as_ref().map_or(0, |sockets| sockets.of(port))
    }

    /// The socket in whose memory the buffers of a requester are, for a request at root port `port`.
    pub(crate) fn home(&self, requester: RouteEnd, port: u16) -> u16 {
        let Some(sockets) = &self.sockets else { return 0 };
        sockets.to_memory(requester, port).map_or_else(|| sockets.of(port), |way| way.to)
    }

    /// When the buffer space of a posted write is free that would be so at `free_at` with memory next to the root port.
    pub(crate) fn write(
        &mut self,
        now: Time,
        packet: &Packet,
        port: u16,
        memory: &mut Memory,
        free_at: Time,
    ) -> Time {
        let translated = match &mut self.iommu {
            Some(iommu) => iommu.posted(now, packet, port, memory),
            None => now,
        };
        let mut free_at = free_at + (translated - now);
        if let Some(sockets) = &mut self.sockets
            && let Some(way) = sockets.to_memory(packet.requester, port)
        {
            let crossed = sockets.carry(now, way, packet.address, packet.payload());
            let answered = sockets.answer(now, way, packet.address, packet.payload());
            free_at = free_at.max(crossed.max(answered) + (translated - now) + self.write_latency);
        }
        free_at
    }

    /// The completion of a translation request, eligible when all of its translations are found. It is one, and no longer than the RCB
    /// and so than MPS: its translations are of consecutive pages, but they lie in no memory that it could be cut by.
    pub(crate) fn answer_translation(&mut self, now: Time, request: &Packet, memory: &mut Memory) -> Packet {
        let length = Bytes::new(u64::from(request.length));
        assert!(length <= self.rcb, "a translation request asks for the RCB at most");
        let chunks = splitting::completions(request.address, length, self.rcb, self.rcb);
        let mut answers = root_complex::completions(request, RouteEnd::HOST, now, chunks, false);
        let mut completion =
            answers.next().expect("no more translations are asked for than one completion holds");
        if let Some(iommu) = &mut self.iommu {
            completion.eligible_at = iommu.translate_for(now, request, memory);
        }
        self.ide.seal_and_wait(&mut completion);
        completion
    }

    /// What a read takes longer than with memory next to the root port, apart from waiting for its data on the link.
    pub(crate) fn read(&mut self, now: Time, request: &Packet, port: u16, memory: &mut Memory) -> Span {
        let translated = match &mut self.iommu {
            Some(iommu) => iommu.translate(now, request, memory),
            None => now,
        };
        let mut longer = translated - now;
        if let Some(sockets) = &mut self.sockets
            && let Some(way) = sockets.to_memory(request.requester, port)
        {
            let length = Bytes::new(u64::from(request.length));
            longer += sockets.ask(now, way, request.address, length) - now + sockets.round_trip();
        }
        longer
    }

    /// When data of a read are at the root port that would be there at `ready` but for the link between sockets;
    /// `latency` is what they take once the link has them.
    pub(crate) fn bring(
        &mut self,
        now: Time,
        completion: &Packet,
        port: u16,
        ready: Time,
        latency: Span,
    ) -> Time {
        let Some(sockets) = &mut self.sockets else { return ready };
        // A completion's destination is the requester's address.
        match sockets.to_memory(completion.destination, port) {
            Some(way) => {
                let crossed = sockets.bring(now, way, completion.address, completion.payload());
                ready.max(crossed + latency)
            }
            None => ready,
        }
    }

    /// When a packet from one root port may leave another. The translation unit sees peers' requests too.
    pub(crate) fn forward(
        &mut self,
        now: Time,
        packet: &Packet,
        ingress: u16,
        egress: u16,
        memory: &mut Memory,
    ) -> Time {
        let translated = match (&mut self.iommu, packet.class()) {
            (None, _) | (_, FlowClass::Completion) => now,
            (Some(iommu), FlowClass::Posted) => iommu.posted(now, packet, ingress, memory),
            (Some(iommu), FlowClass::NonPosted) => iommu.translate(now, packet, memory),
        };
        let latency = self.forward_latency + (translated - now);
        let Some(sockets) = &mut self.sockets else { return now + latency };
        match sockets.between(ingress, egress) {
            Some(way) => {
                let crossed = sockets.forward(now, way, packet.address, packet.payload());
                crossed + latency + sockets.one_way()
            }
            None => now + latency,
        }
    }
}
