//! Switches: virtual output queues at each ingress, a core that joins the ports, arbitration at each egress.
//!
//! An egress pulls: when its wire is free it takes the next packet straight out of an ingress buffer, whose credits
//! are free again once the tail has left, or sooner where there is storage behind it (`storage.rs`). Packets leave
//! unmodified (PCIe Base 6.3 §2.4.1 forbids splitting and merging). Each virtual channel of an egress has a row of queues, and a turn among the ingress ports, of its own: who sends
//! next is in `arbitration.rs`; how requests are held back for the sake of their completions, in `metering.rs`.
//!
//! Left out: an arbitration between ports for each channel that differs from that of the others, multicast.

use crate::bridge::Bridge;
use crate::buses::Buses;
use crate::config::{Arbitration, Forwarding, SwitchConfig, SwitchCore};
use crate::corruption::Corruption;
use crate::link::FlitParts;
use crate::packet::{ClassQueues, Flags, PacketId, PacketPool, RouteEnd};
use crate::port::{PortId, PortSettings};
use crate::routing::Routes;
use crate::server::Book;
use crate::shared_memory::SharedMemory;
use lanewise_pcie::arbitration::Arbiter;
use lanewise_pcie::flit::TLP_BYTES;
use lanewise_pcie::tlp::{FlowClass, TlpCost};
use lanewise_pcie::virtual_channel::{ChannelMap, TRAFFIC_CLASSES};
use lanewise_units::{Bytes, Span, SpanSum, Time, wide};
use metering::Meters;
use std::num::NonZeroU32;
use std::sync::Arc;
use storage::Storage;

mod arbitration;
mod metering;
mod storage;

/// Most ports a switch may have: one bit each in a word.
pub const MAX_SWITCH_PORTS: usize = 128;

/// Ingress ports with something for one egress: a bit each, by class.
#[derive(Clone, Copy, Default)]
struct Waiting([u128; 3]);

impl Waiting {
    #[inline(always)]
    fn of_any_class(&self) -> u128 {
        self.0[0] | self.0[1] | self.0[2]
    }

    /// Those that have something of a class that is not `exhausted`.
    fn beside(&self, exhausted: [bool; 3]) -> u128 {
        let of_class = |class: usize| if exhausted[class] { 0 } else { self.0[class] };
        of_class(0) | of_class(1) | of_class(2)
    }
}

/// What arbitration between ingress ports keeps of one channel of one egress, and what a packet for it asks first, in one cache line.
#[repr(align(64))]
struct Row {
    /// By class, which ingress ports have something for it.
    waiting: Waiting,
    port: PortId,
    /// At which ingress arbitration looks first.
    arbiter: Arbiter,
    /// How many queues of its own it has, and the first of them.
    queues: u8,
    first_queue: u32,
    /// Of an egress, [`WireTiming::tlp_byte`] of its wire.
    byte: Option<NonZeroU32>,
}

const _: () = assert!(size_of::<Row>() == 64);

/// What waits at an ingress for a row.
#[derive(Clone, Copy, Default)]
struct Queue {
    packets: ClassQueues,
    /// Nothing may leave before: [`ClassQueues::next_start`].
    not_before: Time,
    /// What the first costs, of the only class that waits, unless it is nullified. With that, arbitration need not look at each packet
    /// that is still on its way or lacks credits, a cache line each.
    cost: Option<TlpCost>,
}

impl Queue {
    /// What waits first is another, or changed.
    #[inline(always)]
    fn settle(&mut self, packets: &PacketPool) {
        (self.not_before, self.cost) = match self.packets.only_head() {
            Some(id) => {
                let first = &packets[id];
                (first.eligible_at, (!first.flags.has(Flags::NULLIFIED)).then_some(first.cost))
            }
            None => (self.packets.start_of_several(), None),
        };
    }
}

/// How long an ingress fed the crossbar, how often, and from when on it can again.
#[derive(Clone, Copy, Default)]
struct Feed {
    busy: SpanSum,
    served: u64,
    free_at: Time,
}

impl Row {
    fn new(port: PortId, arbitration: &Arbitration) -> Self {
        Self {
            waiting: Waiting::default(),
            port,
            arbiter: Arbiter::first(arbitration.weights()),
            queues: 0,
            first_queue: 0,
            byte: None,
        }
    }

    /// Where the queue of an ingress is that has had packets for this row.
    #[inline(always)]
    fn slot(&self, ingress: usize) -> usize {
        self.first_queue as usize + ingress
    }

    /// Where all its queues are, by ingress.
    fn slots(&self) -> std::ops::Range<usize> {
        self.slot(0)..self.slot(usize::from(self.queues))
    }
}

/// What few switches have.
#[derive(Default)]
struct Special {
    rows: Option<MoreRows>,
    corruption: Option<Corruption>,
    meters: Option<Meters>,
    bridge: Option<Bridge>,
}

/// Rows of channels other than VC0, where a link has any.
struct MoreRows {
    /// By egress and traffic class, the row.
    of_class: Vec<[u16; TRAFFIC_CLASSES]>,
    /// By egress, the row of VC1; the others follow.
    of_vc1: Vec<u16>,
}

impl Special {
    /// From when on a packet of this class may enter the core, where that is metered.
    fn opens_at(&self, class: FlowClass, ingress: u16) -> Option<Time> {
        let meters = self.meters.as_ref().filter(|_| class == FlowClass::NonPosted)?;
        Some(meters.opens_at(ingress))
    }

    /// The row of a packet from an ingress for an egress. Damages it, if it is its turn; at a bridge it becomes what it is beyond.
    #[cold]
    fn row_for(&mut self, packets: &mut PacketPool, id: PacketId, (ingress, egress): (u16, u16)) -> u16 {
        if let Some(bridge) = &mut self.bridge {
            bridge.cross(packets, id, ingress);
        }
        if let Some(corruption) = &mut self.corruption {
            corruption.inject(&mut packets[id]);
        }
        match &self.rows {
            None => egress,
            Some(more) => more.of_class[usize::from(egress)][usize::from(packets[id].traffic_class)],
        }
    }
}

/// One switch. Port 0 faces upstream.
pub(crate) struct Switch {
    pub(crate) config: SwitchConfig,
    pub(crate) ports: Vec<PortId>,
    pub(crate) routes: Routes,
    /// Settings of each port, so that looking ahead to an egress does not touch the port itself.
    settings: Vec<Arc<PortSettings>>,
    /// Queues of packets that came in at one port and leave through another. Each row has a stretch of them, for the ports up to
    /// the last that ever had something for it: of a large switch most pairs of ports never have.
    queues: Vec<Queue>,
    /// By row and class, no more data credits than any packet needs that waits.
    least_data: Vec<[u16; 3]>,
    /// VC0 of each egress, then the other channels of those that have any.
    rows: Vec<Row>,
    special: Option<Box<Special>>,
    /// A nullified copy has been queued at some time: those need no credits.
    pub(crate) has_nullified: bool,
    /// Crossbar: each ingress feeds one egress at a time.
    feeds: Vec<Feed>,
    pub(crate) memory: Option<Box<SharedMemory>>,
    pub(crate) buses: Option<Box<Buses>>,
    pub(crate) storage: Option<Box<Storage>>,
}

impl Switch {
    pub(crate) fn new(config: SwitchConfig, ports: Vec<PortId>, routes: Routes) -> Self {
        let count = ports.len();
        assert!(count <= MAX_SWITCH_PORTS, "checked when the fabric was built");
        let (memory, buses) = match &config.core {
            SwitchCore::Crossbar { .. } => (None, None),
            SwitchCore::SharedMemory { rate } => (Some(Box::new(SharedMemory::new(*rate))), None),
            SwitchCore::Buses { of_port, .. } => (None, Some(Box::new(Buses::new(of_port)))),
        };
        let storage = Storage::new(config.storage, count).map(Box::new);
        let meters = config.request_metering.map(|completion| Meters::new(completion, count));
        let special = meters.map(|meters| Box::new(Special { meters: Some(meters), ..Special::default() }));
        Self {
            rows: ports.iter().map(|port| Row::new(*port, &config.arbitration)).collect(),
            config,
            special,
            ports,
            routes,
            settings: Vec::new(),
            queues: Vec::new(),
            least_data: vec![[0; 3]; count],
            has_nullified: false,
            feeds: vec![Feed::default(); count],
            memory,
            buses,
            storage,
        }
    }

    /// Takes the settings of its next port.
    pub(crate) fn add_settings(&mut self, settings: Arc<PortSettings>) {
        self.rows[self.settings.len()].byte = settings.wire.tlp_byte();
        self.settings.push(settings);
    }

    /// Makes it the inside of a bridge between two machines.
    pub(crate) fn bridge(&mut self, bridge: Bridge) {
        self.special.get_or_insert_default().bridge = Some(bridge);
    }

    /// Damages some of the packets that enter.
    pub(crate) fn corrupt(&mut self, corruption: Corruption) {
        self.special.get_or_insert_default().corruption = Some(corruption);
    }

    /// Makes rows for the channels other than VC0 of a port.
    pub(crate) fn add_channels(&mut self, egress: u16, map: &ChannelMap) {
        let ports = self.ports.len();
        let more = self.special.get_or_insert_default().rows.get_or_insert_with(|| {
            let of_class = (0..ports as u16).map(|egress| [egress; TRAFFIC_CLASSES]).collect();
            MoreRows { of_class, of_vc1: vec![0; ports] }
        });
        let (index, vc1) = (usize::from(egress), self.rows.len() as u16);
        more.of_vc1[index] = vc1;
        for channel in 1..map.channels() as u8 {
            let row = vc1 + u16::from(channel) - 1;
            map.classes(channel).for_each(|class| more.of_class[index][usize::from(class)] = row);
            self.rows.push(Row::new(self.ports[index], &self.config.arbitration));
            self.least_data.push([0; 3]);
        }
    }

    /// The port at this index.
    #[inline(always)]
    pub(crate) fn port(&self, egress: u16) -> PortId {
        self.rows[usize::from(egress)].port
    }

    /// Egress for a packet that came in at `ingress`.
    #[inline(always)]
    pub(crate) fn egress(&self, destination: RouteEnd, ingress: u16) -> u16 {
        match self.routes.port_to(destination) {
            Some(port) if ingress == 0 || !self.config.acs_redirect => port,
            _ => 0,
        }
    }

    /// When forwarding of a packet may start: `head` is its first byte in, `tail` its last byte checked, `span_in` the
    /// time between its first byte and its last on the ingress link.
    ///
    /// Cut-through: every byte takes the latency, so a packet that leaves faster than it came starts later by the
    /// difference, P × (1/R_in − 1/R_out), and its last byte is out the latency after it was in.
    #[inline(always)]
    pub(crate) fn eligible_at(
        &self,
        head: Time,
        tail: Time,
        span_in: Span,
        egress: u16,
        bytes: Bytes,
    ) -> Time {
        match self.config.forwarding {
            Forwarding::StoreAndForward => tail + self.config.latency,
            Forwarding::CutThrough => {
                let span_out = match self.rows[usize::from(egress)].byte {
                    Some(byte) => Span::from_ticks(u64::from(byte.get())) * bytes.get(),
                    None => self.settings[usize::from(egress)].wire.tlp_span(bytes),
                };
                head + self.config.latency + span_in.saturating_sub(span_out)
            }
        }
    }

    /// The same when the ingress is in Flit Mode: `first` is the end of the flit with the header, which has so many bytes of the
    /// packet; as many flits as `more` follow it without a gap.
    ///
    /// Bytes can leave once their flit is in, so none may be due out before.
    pub(crate) fn eligible_in_flits(&self, first: Time, parts: FlitParts, flit: Span, egress: u16) -> Time {
        let wire = &self.settings[usize::from(egress)].wire;
        let wait = |flits: u16| {
            let before = u64::from(parts.first) + u64::from(flits - 1) * TLP_BYTES.get();
            (flit * u64::from(flits)).saturating_sub(wire.tlp_span(Bytes::new(before)))
        };
        let wait = if parts.more == 0 { Span::ZERO } else { wait(1).max(wait(parts.more)) };
        first + self.config.latency + wait
    }

    /// Whether what comes takes its place in something that all ports share: then it does so when it is there, not before.
    pub(crate) fn takes_in_turn(&self) -> bool {
        let bridges = || self.special.as_ref().is_some_and(|special| special.bridge.is_some());
        self.memory.is_some() || self.storage.is_some() || bridges()
    }

    /// Whether packets may leave before they are in.
    pub(crate) fn cuts_through(&self) -> bool {
        self.config.forwarding == Forwarding::CutThrough
    }

    /// Takes in a packet. A shared memory first writes it.
    ///
    /// Returns when the egress is to look at it, unless it waits behind another of its class: then that one is known there, and leaves,
    /// if it is no nullified copy.
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        packets: &mut PacketPool,
        id: PacketId,
        ingress: u16,
        egress: u16,
    ) -> Option<Time> {
        let packet = &mut packets[id];
        let class = packet.class();
        let mut ready_at = match &mut self.memory {
            None => packet.eligible_at,
            Some(memory) => memory.write(id, packet),
        };
        let row = match &mut self.special {
            None => egress,
            Some(special) => {
                if let Some(opens_at) = special.opens_at(class, ingress) {
                    packet.eligible_at = packet.eligible_at.max(opens_at);
                    ready_at = ready_at.max(opens_at);
                    self.memory.iter_mut().for_each(|memory| memory.not_before(id, opens_at));
                }
                special.row_for(packets, id, (ingress, egress))
            }
        };
        let of_row = &self.rows[usize::from(row)];
        if u16::from(of_row.queues) <= ingress {
            self.add_queues(row, ingress);
        }
        let of_row = &mut self.rows[usize::from(row)];
        let (least, need) =
            (&mut self.least_data[usize::from(row)][class as usize], packets[id].credits().data);
        *least = if of_row.waiting.0[class as usize] == 0 { need } else { need.min(*least) };
        of_row.waiting.0[class as usize] |= wide::bit(ingress as u32);
        let slot = of_row.slot(usize::from(ingress));
        let queue = &mut self.queues[slot];
        let first = queue.packets.push(packets, id);
        if first {
            queue.settle(packets);
        }
        (first || self.has_nullified).then_some(ready_at)
    }

    /// Makes queues of a row for the ports up to `ingress` at least, which has its first packet for it.
    ///
    /// They are twice as many as before, and lie behind those of all rows. Where they were before, nothing lies any more: over a
    /// run a row leaves behind less than it has.
    #[cold]
    #[inline(never)]
    fn add_queues(&mut self, row: u16, ingress: u16) {
        let row = &mut self.rows[usize::from(row)];
        let count = (usize::from(ingress) + 1).max(2 * usize::from(row.queues)).min(self.ports.len());
        let start = self.queues.len();
        self.queues.extend_from_within(row.slots());
        self.queues.resize(start + count, Queue::default());
        (row.first_queue, row.queues) = (start as u32, count as u8);
    }

    /// Whether packets wait that came in at `port` or will leave through it; a stale copy never does.
    pub(crate) fn has_packets_between(&self, packets: &PacketPool, port: u16, now: Time) -> bool {
        let id = self.ports[usize::from(port)];
        let waits = |row: &Row, ingress: usize| {
            let queues = &self.queues[row.slot(ingress)].packets;
            let ids = |class| queues.ids_of_class(packets, class);
            FlowClass::ALL.into_iter().flat_map(ids).any(|id| !Self::is_stale(packets, id, now))
        };
        self.rows.iter().any(|row| {
            let waiting = row.waiting.of_any_class();
            let mut ingresses = (0..self.ports.len()).filter(|ingress| waiting >> ingress & 1 == 1);
            ingresses.any(|ingress| (row.port == id || ingress == usize::from(port)) && waits(row, ingress))
        })
    }

    /// Whether no egress has anything to send.
    pub(crate) fn is_quiet(&self) -> bool {
        self.rows.iter().all(|row| row.waiting.of_any_class() == 0)
    }

    /// What each ingress of a crossbar has done up to `at`. A wait for one is seen at the egress: its direction of the
    /// link is held by the core.
    pub(crate) fn ingress_books(&self, at: Time) -> impl Iterator<Item = Book> {
        self.feeds.iter().map(move |feed| Book {
            busy: feed.busy.saturating_sub(feed.free_at.saturating_since(at)),
            waited: SpanSum::ZERO,
            served: feed.served,
        })
    }

    /// Packets of a class that wait to leave through a port, whatever their virtual channel.
    pub(crate) fn queued_for(&self, packets: &PacketPool, egress: u16, class: FlowClass) -> usize {
        let id = self.ports[usize::from(egress)];
        let of_egress =
            self.rows.iter().filter(|row| row.port == id).flat_map(|row| &self.queues[row.slots()]);
        of_egress.map(|queue| queue.packets.of_class(packets, class).count()).sum()
    }

    /// Memory of the switch itself, its ports not counted, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let ports = self.ports.len();
        size_of::<Self>()
            + self.queues.capacity() * size_of::<Queue>()
            + self.routes.heap_bytes()
            + self.buses.as_ref().map_or(0, |buses| buses.heap_bytes())
            + self.memory.as_ref().map_or(0, |memory| memory.heap_bytes())
            + self.storage.as_ref().map_or(0, |storage| storage.heap_bytes())
            + self.special.as_ref().and_then(|special| special.meters.as_ref()).map_or(0, Meters::heap_bytes)
            + size_of_val(&*self.rows)
            + size_of_val(&*self.least_data)
            + ports * (size_of::<Feed>() + size_of::<usize>() + size_of::<PortId>())
    }
}
