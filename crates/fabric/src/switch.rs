//! Switches: virtual output queues at each ingress, a core that joins the ports, arbitration at each egress.
//!
//! An egress pulls: when its wire is free it takes the next packet straight out of an ingress buffer, whose credits
//! are free again once the tail has left. Packets leave unmodified (PCIe Base 6.3 §2.4.1 forbids splitting and
//! merging). Each virtual channel of an egress has a row of queues, and a turn among the ingress ports, of its own.
//!
//! Left out: an arbitration between ports for each channel that differs from that of the others, multicast, egress buffers
//! beyond the retry buffer.

use crate::buses::Buses;
use crate::channels::VC0;
use crate::select::{select_class, wants_the_wire};

use crate::config::{Arbitration, Forwarding, SwitchConfig, SwitchCore};
use crate::corruption::Corruption;
use crate::flit::FlitParts;
use crate::link::DllpSet;
use crate::packet::{Address, ClassQueues, Flags, Packet, PacketId, PacketPool};
use crate::port::{Port, PortId, PortSettings};
use crate::routing::Routes;
use crate::server::Book;
use crate::shared_memory::SharedMemory;
use crate::wait::Wait;
use lanewise_observe::Use;
use lanewise_pcie::arbitration::Arbiter;
use lanewise_pcie::flit::TLP_BYTES;
use lanewise_pcie::flow_control::Credits;
use lanewise_pcie::tlp::FlowClass;
use lanewise_pcie::virtual_channel::{ChannelMap, TRAFFIC_CLASSES};
use lanewise_units::{Bytes, Rate, Span, SpanSum, Time, wide};
use std::sync::Arc;

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

/// What arbitration between ingress ports keeps of one channel of one egress, in one cache line.
#[repr(align(64))]
struct Row {
    /// By class, which ingress ports have something for it.
    waiting: Waiting,
    port: PortId,
    /// At which ingress arbitration looks first.
    arbiter: Arbiter,
}

impl Row {
    fn new(port: PortId, arbitration: &Arbitration) -> Self {
        Self { waiting: Waiting::default(), port, arbiter: Arbiter::first(arbitration.weights()) }
    }
}

/// A row, and the virtual channel of its egress that it is for: one of `SEVERAL`, or VC0.
#[derive(Clone, Copy)]
struct VcEgress<const SEVERAL: bool> {
    row: usize,
    channel: u8,
}

impl VcEgress<false> {
    /// That of a port with VC0 alone.
    #[inline(always)]
    fn only(port: &Port) -> Self {
        Self { row: usize::from(port.index), channel: VC0 }
    }
}

impl<const SEVERAL: bool> VcEgress<SEVERAL> {
    #[inline(always)]
    fn channel(self) -> u8 {
        if SEVERAL { self.channel } else { VC0 }
    }
}

/// Who sends what next.
struct Found {
    ingress: usize,
    class: FlowClass,
}

/// What few switches have.
#[derive(Default)]
struct Special {
    rows: Option<MoreRows>,
    corruption: Option<Corruption>,
}

/// Rows of channels other than VC0, where a link has any.
struct MoreRows {
    /// By egress and traffic class, the row.
    of_class: Vec<[u16; TRAFFIC_CLASSES]>,
    /// By egress, the row of VC1; the others follow.
    of_vc1: Vec<u16>,
}

impl Special {
    /// The row of a packet for `egress`; damages it, if it is its turn.
    #[cold]
    fn row_for(&mut self, packet: &mut Packet, egress: u16) -> u16 {
        if let Some(corruption) = &mut self.corruption {
            corruption.inject(packet);
        }
        match &self.rows {
            None => egress,
            Some(more) => more.of_class[usize::from(egress)][usize::from(packet.traffic_class)],
        }
    }
}

/// One switch. Port 0 faces upstream.
pub(crate) struct Switch {
    pub(crate) config: SwitchConfig,
    pub(crate) ports: Vec<PortId>,
    pub(crate) routes: Routes,
    /// Settings of each port, so that looking ahead to an egress does not touch the port itself.
    pub(crate) settings: Vec<Arc<PortSettings>>,
    /// Queues of packets that came in at one port and leave through another: `row × ports + ingress`.
    queues: Vec<ClassQueues>,
    /// VC0 of each egress, then the other channels of those that have any.
    rows: Vec<Row>,
    special: Option<Box<Special>>,
    /// A nullified copy has been queued at some time: those need no credits.
    pub(crate) has_nullified: bool,
    /// Crossbar: each ingress feeds one egress at a time.
    ingress_free_at: Vec<Time>,
    /// How long each ingress fed the crossbar.
    ingress_busy: Vec<(SpanSum, u64)>,
    pub(crate) memory: Option<Box<SharedMemory>>,
    pub(crate) buses: Option<Box<Buses>>,
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
        Self {
            rows: ports.iter().map(|port| Row::new(*port, &config.arbitration)).collect(),
            config,
            special: None,
            ports,
            routes,
            settings: Vec::new(),
            queues: vec![ClassQueues::default(); count * count],
            has_nullified: false,
            ingress_free_at: vec![Time::ZERO; count],
            ingress_busy: vec![(SpanSum::ZERO, 0); count],
            memory,
            buses,
        }
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
            self.queues.extend(std::iter::repeat_n(ClassQueues::default(), ports));
        }
    }

    /// The port at this index.
    #[inline(always)]
    pub(crate) fn port(&self, egress: u16) -> PortId {
        self.rows[usize::from(egress)].port
    }

    /// Egress for a packet that came in at `ingress`.
    #[inline(always)]
    pub(crate) fn egress(&self, destination: Address, ingress: u16) -> u16 {
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
                let span_out = self.settings[usize::from(egress)].wire.tlp_span(bytes);
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

    /// Whether packets may leave before they are in.
    pub(crate) fn cuts_through(&self) -> bool {
        self.config.forwarding == Forwarding::CutThrough
    }

    /// Takes in a packet. A shared memory first writes it.
    ///
    /// Returns when the egress is to look at it, unless it waits behind another of its class: then that one is known there.
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        packets: &mut PacketPool,
        id: PacketId,
        ingress: u16,
        egress: u16,
    ) -> Option<Time> {
        let ready_at = match &mut self.memory {
            None => packets[id].eligible_at,
            Some(memory) => memory.write(id, &mut packets[id]),
        };
        let row = match &mut self.special {
            None => egress,
            Some(special) => special.row_for(&mut packets[id], egress),
        };
        let slot = usize::from(row) * self.ports.len() + usize::from(ingress);
        let first = self.queues[slot].push(packets, id);
        self.rows[usize::from(row)].waiting.0[packets[id].class() as usize] |= wide::bit(ingress as u32);
        first.then_some(ready_at)
    }

    /// Whether packets wait that came in at `port` or will leave through it.
    pub(crate) fn has_packets_between(&self, port: u16) -> bool {
        let id = self.ports[usize::from(port)];
        self.rows.iter().any(|row| {
            let waiting = row.waiting.of_any_class();
            waiting >> port & 1 == 1 || waiting != 0 && row.port == id
        })
    }

    /// Whether no egress has anything to send.
    pub(crate) fn is_quiet(&self) -> bool {
        self.rows.iter().all(|row| row.waiting.of_any_class() == 0)
    }

    /// What each ingress of a crossbar has done up to `at`. Who waits for one is seen at the egress: its direction of the
    /// link is held by the core.
    pub(crate) fn ingress_books(&self, at: Time) -> impl Iterator<Item = Book> {
        let pairs = self.ingress_busy.iter().zip(&self.ingress_free_at);
        pairs.map(move |((busy, served), free_at)| Book {
            busy: busy.saturating_sub(free_at.saturating_since(at)),
            waited: SpanSum::ZERO,
            served: *served,
        })
    }

    /// Packets of a class that wait to leave through a port, whatever their virtual channel.
    pub(crate) fn queued_for(&self, packets: &PacketPool, egress: u16, class: FlowClass) -> usize {
        let (id, ports) = (self.ports[usize::from(egress)], self.ports.len());
        let rows = self.rows.iter().zip(self.queues.chunks_exact(ports));
        let of_egress = rows.filter(|(row, _)| row.port == id).flat_map(|(_, queues)| queues);
        of_egress.map(|queues| queues.of_class(packets, class).count()).sum()
    }

    /// Memory of the switch itself, its ports not counted, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let ports = self.ports.len();
        size_of::<Self>()
            + size_of_val(&*self.queues)
            + self.routes.heap_bytes()
            + self.buses.as_ref().map_or(0, |buses| buses.heap_bytes())
            + self.memory.as_ref().map_or(0, |memory| memory.heap_bytes())
            + size_of_val(&*self.rows)
            + ports * (size_of::<Time>() + size_of::<usize>() + size_of::<PortId>())
    }

    /// The next packet for the wire of `port`, which has VC0 alone, taken out of its queue; or why there is none.
    #[inline(always)]
    pub(crate) fn arbitrate(
        &mut self,
        packets: &PacketPool,
        port: &Port,
        now: Time,
    ) -> Result<PacketId, Wait> {
        self.arbitrate_in(VcEgress::only(port), packets, port, now)
    }

    /// Why nothing that waits now may leave at `at` through `port`, which has VC0 alone; none if something may.
    #[inline(never)]
    pub(crate) fn look_ahead(&mut self, packets: &PacketPool, port: &Port, at: Time) -> Option<Wait> {
        match self.buses {
            Some(_) => None, // Who asks for a bus has it, or stands in line for it.
            None => self.find(VcEgress::only(port), packets, port, at).err(),
        }
    }

    /// The next packet of the first channel, in the order of arbitration, that may send one.
    #[inline(never)]
    pub(crate) fn arbitrate_by_channel(
        &mut self,
        packets: &PacketPool,
        port: &Port,
        now: Time,
    ) -> Result<PacketId, Wait> {
        let mut wait = Wait::NOTHING;
        for channel in port.channel_order() {
            let row = self.row_of(port.index, channel);
            match self.arbitrate_in(VcEgress::<true> { row, channel }, packets, port, now) {
                Ok(id) => return Ok(id),
                Err(found) => wait = wait.or(found),
            }
        }
        Err(wait)
    }

    #[inline(always)]
    fn row_of(&self, egress: u16, channel: u8) -> usize {
        let egress = usize::from(egress);
        let more = || self.special.as_ref()?.rows.as_ref();
        match channel {
            VC0 => egress,
            _ => more().map_or(egress, |more| usize::from(more.of_vc1[egress]) + usize::from(channel) - 1),
        }
    }

    #[inline(always)]
    fn arbitrate_in<const SEVERAL: bool>(
        &mut self,
        vc_egress: VcEgress<SEVERAL>,
        packets: &PacketPool,
        port: &Port,
        now: Time,
    ) -> Result<PacketId, Wait> {
        let found = self.find(vc_egress, packets, port, now)?;
        let slot = vc_egress.row * self.ports.len() + found.ingress;
        let id = self.queues[slot].pop(packets, found.class).expect("the head was there");
        self.granted(packets, id, found.ingress, slot, vc_egress.row, now);
        Ok(id)
    }

    /// Whose turn it is to send what, of those that may at `at`; or why nobody may.
    #[inline(always)]
    fn find<const SEVERAL: bool>(
        &mut self,
        vc_egress: VcEgress<SEVERAL>,
        packets: &PacketPool,
        port: &Port,
        at: Time,
    ) -> Result<Found, Wait> {
        let Row { waiting, arbiter, .. } = &self.rows[vc_egress.row];
        let (waiting, turn) = (waiting.of_any_class(), arbiter.whose());
        if waiting == 0 {
            return Err(Wait::NOTHING);
        }
        let first = if self.config.arbitration == Arbitration::Strict { 0 } else { turn };
        // Ports from `first` up, then those below it.
        let from_first = waiting & wide::bit(first as u32).wrapping_neg();
        let below_first = waiting ^ from_first;
        let candidate = if from_first != 0 { from_first } else { below_first }.trailing_zeros();
        let wait = match self.try_ingress(candidate as usize, vc_egress, packets, port, at) {
            Ok(found) => return Ok(found),
            Err(wait) => wait,
        };
        if waiting & (waiting - 1) == 0 {
            return Err(wait);
        }
        let others = self.others(vc_egress, port, wait) & !wide::bit(candidate);
        self.find_among([from_first & others, below_first & others], vc_egress, wait, packets, port, at)
    }

    /// Ingress ports to look at after one that has to `wait`. Who has nothing but packets of a class without credits
    /// cannot go either.
    fn others<const SEVERAL: bool>(&self, vc_egress: VcEgress<SEVERAL>, port: &Port, wait: Wait) -> u128 {
        let exhausted =
            if self.has_nullified { [false; 3] } else { exhausted(port, vc_egress.channel(), wait) };
        self.rows[vc_egress.row].waiting.beside(exhausted)
    }

    /// [`Self::find`] when the first ingress of the turn has nothing that may go: looks at the others.
    #[inline(never)]
    fn find_among<const SEVERAL: bool>(
        &mut self,
        halves: [u128; 2],
        vc_egress: VcEgress<SEVERAL>,
        mut wait: Wait,
        packets: &PacketPool,
        port: &Port,
        at: Time,
    ) -> Result<Found, Wait> {
        for mut rest in halves {
            while rest != 0 {
                let ingress = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                match self.try_ingress(ingress, vc_egress, packets, port, at) {
                    Ok(found) => return Ok(found),
                    Err(found) => wait = wait.or(found),
                }
            }
        }
        Err(wait)
    }

    /// What `ingress` may send next on the wire of `port`, if it may and the core is free for it.
    #[inline(always)]
    fn try_ingress<const SEVERAL: bool>(
        &mut self,
        ingress: usize,
        vc_egress: VcEgress<SEVERAL>,
        packets: &PacketPool,
        port: &Port,
        at: Time,
    ) -> Result<Found, Wait> {
        let slot = vc_egress.row * self.ports.len() + ingress;
        let class = select_class(&self.queues[slot], packets, port, vc_egress.channel(), at)?;
        let busy_until = match self.config.core {
            SwitchCore::Crossbar { .. } => self.ingress_free_at[ingress],
            SwitchCore::SharedMemory { .. } => at, // Paid for when written and when read.
            SwitchCore::Buses { rate, .. } => {
                self.take_buses(rate, [ingress as u16, port.index], (slot, class), packets, at)
            }
        };
        if busy_until > at {
            return Err(Wait { on: Use::BlockedCore, dllps: DllpSet::NONE, until: busy_until });
        }
        Ok(Found { ingress, class })
    }

    /// Takes the buses for the head of a queue, or says until when they are taken: then it is later than `now`.
    #[inline(never)]
    fn take_buses(
        &mut self,
        rate: Rate,
        [ingress, egress]: [u16; 2],
        (slot, class): (usize, FlowClass),
        packets: &PacketPool,
        now: Time,
    ) -> Time {
        let head = self.queues[slot].head(class).expect("the head was there");
        let span = rate.span_ceil(packets[head].cost.tlp());
        let buses = self.buses.as_mut().expect("the core has buses");
        buses.take(ingress, egress, span, now).err().unwrap_or(now)
    }

    /// Books a crossbar or memory for the packet and passes the turn on.
    #[inline(always)]
    fn granted(
        &mut self,
        packets: &PacketPool,
        id: PacketId,
        ingress: usize,
        slot: usize,
        row: usize,
        now: Time,
    ) {
        let packet = &packets[id];
        let bytes = packet.cost.tlp();
        // A nullified copy whose time is over leaves no more: neither the core nor the turn is taken for it.
        let leaves = !self.has_nullified || !Self::is_stale(packets, id, now);
        match self.config.core {
            _ if !leaves => {}
            SwitchCore::Crossbar { port_rate } => {
                let span = port_rate.span_ceil(bytes);
                self.ingress_free_at[ingress] = now + span;
                let busy = &mut self.ingress_busy[ingress];
                *busy = (busy.0 + span, busy.1 + 1);
            }
            SwitchCore::Buses { .. } => {} // Taken when they were found free.
            SwitchCore::SharedMemory { .. } => {
                self.memory.as_mut().expect("the core is a memory").read(bytes, now);
            }
        }
        let class = packet.class();
        if self.queues[slot].head(class).is_none() {
            self.rows[row].waiting.0[class as usize] &= !wide::bit(ingress as u32);
        }
        if leaves {
            self.rows[row].arbiter.served(ingress as u8, self.ports.len(), self.config.arbitration.weights());
        }
    }

    /// What `port` waits for whose packets may leave from `until` on, if it has any: a shared memory that writes one that
    /// might have left already, or just for time to pass; and how long that is the answer.
    #[inline(always)]
    pub(crate) fn silence(&self, packets: &PacketPool, port: &Port, now: Time, until: Time) -> (Use, Time) {
        match &self.memory {
            None => (Use::Idle, until),
            Some(memory) => self.silence_of_memory(memory, packets, port, now, until),
        }
    }

    #[inline(never)]
    fn silence_of_memory(
        &self,
        memory: &SharedMemory,
        packets: &PacketPool,
        port: &Port,
        now: Time,
        mut until: Time,
    ) -> (Use, Time) {
        let mut on = Use::Idle;
        for channel in port.channel_numbers() {
            for id in self.heads(self.row_of(port.index, channel)) {
                let ready_at = memory.ready_at(id);
                if ready_at > now {
                    until = until.min(ready_at);
                } else if packets[id].eligible_at > now {
                    on = Use::BlockedCore;
                }
            }
        }
        (on, until)
    }

    /// The oldest packet of each class of each ingress that waits in a row.
    fn heads(&self, row: usize) -> impl Iterator<Item = PacketId> {
        let ports = self.ports.len();
        let waiting = self.rows[row].waiting.of_any_class();
        let ingresses = (0..ports).filter(move |ingress| waiting >> ingress & 1 == 1);
        let queues = ingresses.map(move |ingress| &self.queues[row * ports + ingress]);
        queues.flat_map(|queues| FlowClass::ALL.into_iter().filter_map(|class| queues.head(class)))
    }

    /// When something that waits for a channel of `egress` may leave, if anything does; not later than that.
    #[inline(always)]
    pub(crate) fn next_start(&self, packets: &PacketPool, egress: u16, channel: u8) -> Time {
        let row = self.row_of(egress, channel);
        let waiting = self.rows[row].waiting.of_any_class();
        if waiting == 0 {
            return Time::NEVER;
        }
        if let Some(memory) = &self.memory {
            return self.heads(row).map(|id| memory.ready_at(id)).min().unwrap_or(Time::NEVER);
        }
        if waiting & (waiting - 1) != 0 {
            return Time::ZERO; // Several ingress ports: arbitration will look.
        }
        let slot = row * self.ports.len() + waiting.trailing_zeros() as usize;
        self.queues[slot].next_start(packets)
    }

    /// Whether anything that waits for `port` may leave now, or would but for credits or the retry buffer.
    pub(crate) fn wants_the_wire(&self, packets: &PacketPool, port: &Port, now: Time) -> bool {
        port.channel_numbers().any(|channel| {
            let row = self.row_of(port.index, channel);
            let waiting = self.rows[row].waiting.of_any_class();
            let mut ingresses = (0..self.ports.len()).filter(|ingress| waiting >> ingress & 1 == 1);
            ingresses.any(|ingress| {
                let queues = &self.queues[row * self.ports.len() + ingress];
                self.core_is_free(ingress, port.index, now)
                    && wants_the_wire(queues, packets, port, channel, now)
            })
        })
    }

    fn core_is_free(&self, ingress: usize, egress: u16, now: Time) -> bool {
        match &self.buses {
            Some(buses) => buses.are_free(ingress as u16, egress, now),
            None => self.ingress_free_at[ingress] <= now,
        }
    }

    /// Takes out a nullified copy that has not started to leave when its damaged original ends.
    pub(crate) fn is_stale(packets: &PacketPool, id: PacketId, now: Time) -> bool {
        packets[id].flags.has(Flags::NULLIFIED) && packets[id].issued_at <= now
    }
}

/// Classes that a packet waits for credits of when the peer of `port` has none left for the smallest TLP of that class.
fn exhausted(port: &Port, channel: u8, wait: Wait) -> [bool; 3] {
    FlowClass::ALL.map(|class| {
        let smallest = Credits { header: 1, data: u16::from(class != FlowClass::NonPosted) };
        let awaited = wait.dllps.include(DllpSet::update_of(channel, class));
        awaited && port.credits_of(channel)[class as usize].gate(smallest).is_err()
    })
}
