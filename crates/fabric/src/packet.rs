//! TLPs in the simulation: one cache line each, in a slab, chained into queues without allocation.
//!
//! A packet is owned by one place at a time: a queue, a wire, or a device that is working on it. The retry buffer
//! of a link does not own it: it remembers the packet's slot and generation. When the receiver has taken the packet
//! over and finished with it, the generation no longer matches, and a replay is a duplicate of which only the size
//! still matters.

mod queues;

pub(crate) use queues::ClassQueues;

use crate::slots::bytes_when_grown;
use lanewise_pcie::flow_control::Credits;
use lanewise_pcie::tlp::{Attributes, CompletionStatus, FlowClass, Routing, Tlp, TlpCost, TlpKind};
use lanewise_units::{Bytes, Time};

/// Slot of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketId(u32);

impl PacketId {
    /// No packet.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// Its slot.
    #[inline(always)]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A slot and the generation it had: stale when the packet is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketRef {
    id: PacketId,
    generation: u32,
}

/// Where the way of a packet begins or ends: what its address, or an ID in its header, is compiled to. The number of an endpoint, depth
/// first, which is the order of buses; or the host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct RouteEnd(pub(crate) u32);

impl RouteEnd {
    /// The root complex above.
    pub(crate) const HOST: Self = Self(u32::MAX);
    /// An address in no window: requests for it go up to the root complex, where nothing has it.
    pub(crate) const NOBODY: Self = Self(u32::MAX - 1);
}

/// Yes-or-no properties of a packet: fields of its header as they are there, and what the simulation notes beside them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Flags(u16);

impl Flags {
    /// Attr: the lowest three bits.
    pub(crate) const RELAXED: Self = Self::of(Attributes::RELAXED_ORDERING);
    /// ID-based ordering: it may pass what comes from others.
    pub(crate) const ID_ORDERED: Self = Self::of(Attributes::ID_BASED_ORDERING);
    /// Completion Status: the next three bits, of which no more than one is set.
    pub(crate) const UNSUPPORTED: Self = Self::answered(CompletionStatus::UnsupportedRequest);
    /// The EP bit: its data are known to be wrong.
    pub(crate) const POISONED: Self = Self(1 << 6);
    /// The TD bit: it has an ECRC at its end.
    pub(crate) const DIGEST: Self = Self(1 << 7);
    /// Last request of its transfer, or last completion of its request.
    pub(crate) const LAST: Self = Self(1 << 8);
    /// Will be nullified: it arrived damaged while a cut-through switch was already forwarding it.
    pub(crate) const NULLIFIED: Self = Self(1 << 9);
    /// Issued by the CPU, or the answer to it.
    pub(crate) const MMIO: Self = Self(1 << 10);
    /// A root complex cut it off a larger packet, of which more follows.
    pub(crate) const PIECE: Self = Self(1 << 11);
    /// Its data were changed inside a switch.
    pub(crate) const DAMAGED: Self = Self(1 << 12);
    /// Listeners know that its maker wants to send it.
    pub(crate) const TOLD: Self = Self(1 << 13);
    /// Another thread simulates its requester, and tells it.
    pub(crate) const ELSEWHERE: Self = Self(1 << 14);
    /// AT 01b: it asks for translations, or brings them.
    pub(crate) const TRANSLATION: Self = Self(1 << 15);

    /// These attributes.
    pub(crate) const fn of(attributes: Attributes) -> Self {
        Self(attributes.bits() as u16)
    }

    /// This completion status.
    const fn answered(status: CompletionStatus) -> Self {
        Self((status as u16) << 3)
    }

    /// All that a header says.
    #[inline(always)]
    const fn of_header(tlp: &Tlp) -> Self {
        let digest = if tlp.digest { Self::DIGEST.0 } else { 0 };
        let poisoned = if tlp.poisoned { Self::POISONED.0 } else { 0 };
        Self(Self::of(tlp.attributes).0 | Self::answered(tlp.status).0 | digest | poisoned)
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn only(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// One TLP on its way, packed: what its header says, what it costs, and where the simulation has it. `requester` and `destination` are
/// what [`Tlp::requester`] and [`Tlp::routing`] are compiled to; [`crate::addresses`] has the IDs.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Packet {
    /// Where its first byte is in memory, of a completion too, whose header says no more than the lowest bits.
    pub(crate) address: u64,
    /// May leave this device from then on.
    pub(crate) eligible_at: Time,
    /// When the request that it belongs to was issued.
    pub(crate) issued_at: Time,
    /// Next in the queue.
    next: PacketId,
    generation: u32,
    /// Counts up with each entry into a queue: which came first.
    pub(crate) order: u32,
    pub(crate) destination: RouteEnd,
    pub(crate) requester: RouteEnd,
    /// The transfer or MMIO operation that it belongs to, in its requester's table.
    pub(crate) context: u32,
    /// Port at which it entered this device, maybe with [`Packet::STORED`]; [`Packet::ORIGINATED`]; or a cut packet's slot with
    /// [`Packet::CUT`].
    pub(crate) ingress: u32,
    /// Bytes from the first that is meant to the last: carried, or of a memory read asked for. See [`Self::carry`].
    pub(crate) length: u16,
    /// Slot of the outstanding read it belongs to, at its requester.
    pub(crate) read: u16,
    pub(crate) flags: Flags,
    /// On a link outside Flit Mode; see [`Self::cost_in_flits`].
    pub(crate) cost: TlpCost,
    pub(crate) kind: TlpKind,
    /// TC0 to TC7; the answer to a request has that of the request.
    pub(crate) traffic_class: u8,
}

impl Packet {
    /// `ingress` of a packet that this device made itself.
    pub(crate) const ORIGINATED: u32 = u32::MAX;
    /// `ingress` of the last piece of a packet that was cut: this bit, and the slot of what is left of the whole.
    pub(crate) const CUT: u32 = 1 << 31;
    /// Beside the port in `ingress`: given to the storage of the switch where it is (`switch/storage.rs`). With the bit of what
    /// was cut, so that one question tells what few packets are from the others.
    pub(crate) const STORED: u32 = Self::CUT | 1 << 30;

    /// A packet made now; its maker fills in what the simulation notes beside the header.
    #[inline(always)]
    pub(crate) fn new(tlp: &Tlp, destination: RouteEnd, requester: RouteEnd, now: Time) -> Self {
        let address = match tlp.routing {
            Routing::Address(address) => address,
            Routing::Id { offset, .. } => u64::from(offset),
            Routing::Implicit => 0,
        };
        Self {
            address,
            eligible_at: now,
            issued_at: now,
            next: PacketId::NONE,
            generation: 0,
            order: 0,
            destination,
            requester,
            context: 0,
            ingress: Self::ORIGINATED,
            length: tlp.length.get() as u16,
            read: 0,
            flags: Flags::of_header(tlp),
            cost: tlp.cost(false),
            kind: tlp.kind,
            traffic_class: tlp.traffic_class,
        }
    }

    /// Port at which it entered the switch where it is, if it came from elsewhere and is whole.
    pub(crate) const fn came_in_at(&self) -> Option<u32> {
        match self.ingress {
            Self::ORIGINATED => None,
            port if port & Self::STORED == Self::STORED => Some(port & !Self::STORED),
            port if port & Self::CUT == 0 => Some(port),
            _ => None,
        }
    }

    /// Has it move other bytes: so many from `address` on.
    #[inline]
    pub(crate) fn carry(&mut self, address: u64, length: Bytes) {
        self.address = address;
        self.length = length.get() as u16;
        if self.kind.carries_data() {
            self.cost = self.cost.with_data(address, length);
        }
    }

    /// Has a request begin elsewhere, where its header may be one DW longer or shorter.
    pub(crate) fn readdress(&mut self, address: u64) {
        self.cost = self.cost.with_address(self.address, address);
        self.address = address;
    }

    /// Makes a completion one without data that says why there are none.
    pub(crate) fn fail(&mut self, status: CompletionStatus) {
        self.carry(self.address, Bytes::ZERO);
        self.kind = TlpKind::Completion;
        self.flags = self.flags.with(Flags::answered(status));
    }

    /// Bytes of data that mean something.
    #[inline]
    pub(crate) fn payload(&self) -> Bytes {
        if self.kind.carries_data() { Bytes::new(u64::from(self.length)) } else { Bytes::ZERO }
    }

    /// What it costs on a link in Flit Mode: orthogonal header content in place of prefixes, and where the header has no byte enables.
    pub(crate) fn cost_in_flits(&self) -> TlpCost {
        let is_successful = self.status() == CompletionStatus::Successful;
        let length = Bytes::new(u64::from(self.length));
        self.cost.in_flits(self.kind.has_ohc_a(self.address, length, is_successful))
    }

    /// The Attr field.
    pub(crate) fn attributes(&self) -> Attributes {
        Attributes::of_bits(self.flags.0 as u8)
    }

    /// The Completion Status field.
    pub(crate) fn status(&self) -> CompletionStatus {
        CompletionStatus::of_code((self.flags.0 >> 3 & 7) as u8)
    }

    /// What refers to it in its slot, `id`.
    #[inline(always)]
    pub(crate) fn reference(&self, id: PacketId) -> PacketRef {
        PacketRef { id, generation: self.generation }
    }

    /// Credits it takes.
    #[inline(always)]
    pub(crate) fn credits(&self) -> Credits {
        self.cost.credits()
    }

    #[inline(always)]
    pub(crate) fn class(&self) -> FlowClass {
        self.cost.class()
    }
}

/// Slab of packets.
#[derive(Default)]
pub(crate) struct PacketPool {
    slots: Vec<Packet>,
    free: Vec<PacketId>,
    next_order: u32,
}

impl PacketPool {
    /// Takes a packet in.
    #[inline(always)]
    pub(crate) fn insert(&mut self, mut packet: Packet) -> PacketId {
        match self.free.pop() {
            Some(id) => {
                let slot = &mut self.slots[id.index()];
                packet.generation = slot.generation;
                *slot = packet;
                id
            }
            None => {
                self.slots.push(packet);
                PacketId(self.slots.len() as u32 - 1)
            }
        }
    }

    /// Lets a packet go; every [`PacketRef`] to it becomes stale.
    #[inline(always)]
    pub(crate) fn remove(&mut self, id: PacketId) -> Packet {
        let slot = &mut self.slots[id.index()];
        let packet = *slot;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id);
        packet
    }

    /// Every [`PacketRef`] to a packet becomes stale, and it stays where it is.
    pub(crate) fn renew(&mut self, id: PacketId) {
        let slot = &mut self.slots[id.index()];
        slot.generation = slot.generation.wrapping_add(1);
    }

    #[inline]
    pub(crate) fn reference(&self, id: PacketId) -> PacketRef {
        self.slots[id.index()].reference(id)
    }

    /// The packet, if it is still the one that was referred to.
    #[inline]
    pub(crate) fn resolve(&self, reference: PacketRef) -> Option<PacketId> {
        let alive = self.slots[reference.id.index()].generation == reference.generation;
        alive.then_some(reference.id)
    }

    /// What waits behind a packet, of its class in the same queue.
    pub(crate) fn behind(&self, id: PacketId) -> Option<PacketId> {
        let next = self.slots[id.index()].next;
        (next != PacketId::NONE).then_some(next)
    }

    /// Packets that a port owns.
    pub(crate) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Memory that it takes when it grows next, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        bytes_when_grown(&self.slots) + bytes_when_grown(&self.free)
    }

    /// Those packets.
    pub(crate) fn all_live(&self) -> Vec<&Packet> {
        let mut live: Vec<bool> = vec![true; self.slots.len()];
        self.free.iter().for_each(|id| live[id.index()] = false);
        self.slots.iter().zip(live).filter(|(_, live)| *live).map(|(packet, _)| packet).collect()
    }

    #[inline]
    fn stamp(&mut self) -> u32 {
        self.next_order = self.next_order.wrapping_add(1);
        self.next_order
    }
}

impl std::ops::Index<PacketId> for PacketPool {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.slots[id.index()]
    }
}

impl std::ops::IndexMut<PacketId> for PacketPool {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slots[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_pcie::tlp::DWORD;

    fn write(length: u64) -> Packet {
        Packet::new(&Tlp::memory_write(0, Bytes::new(length)), RouteEnd::HOST, RouteEnd(1), Time::ZERO)
    }

    #[test]
    fn a_packet_fits_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
    }

    #[test]
    fn references_go_stale_when_the_packet_is_gone() {
        let mut pool = PacketPool::default();
        let first = pool.insert(write(4));
        let reference = pool.reference(first);
        assert_eq!(pool.resolve(reference), Some(first));
        pool.remove(first);
        let second = pool.insert(write(8));
        assert_eq!(first, second, "the slot is used again");
        assert_eq!(pool.resolve(reference), None);
    }

    #[test]
    fn a_packet_says_what_its_tlp_said() {
        let tlp = Tlp {
            digest: true,
            poisoned: true,
            status: CompletionStatus::CompleterAbort,
            attributes: Attributes::ID_BASED_ORDERING,
            ..Tlp::completion(0x1003, Bytes::new(17)).with_traffic_class(5)
        };
        let packet = Packet::new(&tlp, RouteEnd(1), RouteEnd::HOST, Time::ZERO);
        let said = Flags::ID_ORDERED.with(Flags::POISONED).with(Flags::DIGEST);
        assert_eq!(packet.flags, said.with(Flags::answered(CompletionStatus::CompleterAbort)));
        assert!(!packet.flags.has(Flags::UNSUPPORTED.with(Flags::RELAXED).with(Flags::LAST)));
        assert_eq!((packet.kind, packet.traffic_class), (TlpKind::CompletionWithData, 5));
        assert_eq!((packet.payload(), packet.cost), (Bytes::new(17), tlp.cost(false)));
        assert_eq!((packet.cost.tlp(), packet.credits()), (Bytes::new(12 + 20 + 4), Credits::new(1, 2)));
    }

    #[test]
    fn in_flits_a_packet_costs_what_its_tlp_does() {
        let aligned = Tlp::memory_write(0x1000, Bytes::new(64));
        let failed = Tlp {
            status: CompletionStatus::CompleterAbort,
            kind: TlpKind::Completion,
            ..Tlp::completion(0x1000, Bytes::new(4))
        };
        let tlps = [
            aligned,
            Tlp::memory_write(0x1001, Bytes::new(64)),
            Tlp::memory_write(0x1000, Bytes::new(63)),
            Tlp { digest: true, ..Tlp::memory_write(0x1_0000_1002, Bytes::new(2)) },
            Tlp::memory_read(0x1000, Bytes::new(512)),
            Tlp::memory_read(0x1004, Bytes::new(510)),
            Tlp::memory_read(0x1004, Bytes::new(510)).with_prefixes(1),
            Tlp::memory_read(0x1004, Bytes::new(512)).with_prefixes(4),
            Tlp::completion(0x1000, Bytes::new(63)),
            Tlp::completion(0x1001, Bytes::new(63)),
            failed,
        ];
        let cost = |tlp: &Tlp| Packet::new(tlp, RouteEnd(1), RouteEnd::HOST, Time::ZERO).cost_in_flits();
        for tlp in &tlps {
            assert_eq!(cost(tlp), tlp.cost(true), "{tlp:?}");
        }
        assert_eq!(cost(&tlps[1]).header() - cost(&aligned).header(), DWORD);
    }

    #[test]
    fn what_a_packet_carries_changes_its_cost_but_not_that_of_a_read() {
        let mut cut = write(256);
        cut.carry(0x1003, Bytes::new(2));
        assert_eq!((cut.payload(), cut.cost.payload()), (Bytes::new(2), Bytes::new(8)));
        let request = Tlp::memory_read(0, Bytes::new(512));
        let mut read = Packet::new(&request, RouteEnd::HOST, RouteEnd(1), Time::ZERO);
        read.carry(64, Bytes::new(448));
        assert_eq!((read.length, read.payload(), read.cost), (448, Bytes::ZERO, request.cost(false)));
        let mut failed =
            Packet::new(&Tlp::completion(0, Bytes::new(1)), RouteEnd(1), RouteEnd::HOST, Time::ZERO);
        failed.fail(CompletionStatus::UnsupportedRequest);
        assert_eq!((failed.kind, failed.cost.tlp()), (TlpKind::Completion, Bytes::new(12)));
        assert!(failed.flags.has(Flags::UNSUPPORTED));
    }
}
