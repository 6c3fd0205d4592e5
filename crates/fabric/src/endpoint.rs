//! Endpoints: DMA channels that cut transfers into requests, tags, and the completer behind a BAR.
//!
//! Channels take turns packet by packet. A channel issues the requests of its transfers in order and does not wait
//! for one transfer to complete before the next starts. Left out: functions, interrupts other than the memory writes
//! that MSI are, address translation.

use crate::channels::VC0;
use crate::config::{EndpointConfig, EngineConfig};
use crate::dma::DmaEngines;
use crate::errors::DeviceErrors;
use crate::packet::{Address, Flags, Packet};
use crate::port::PortId;
use crate::server::Server;
use crate::slots::Slots;
use crate::workload::{Direction, Notify, Target, Transfer, WorkloadId};
use lanewise_observe::RequesterState;
use lanewise_pcie::splitting;
use lanewise_pcie::tag::{Tag, TagPool};
use lanewise_pcie::tlp::{Attributes, Routing, Tlp, TlpKind};
use lanewise_pcie::virtual_channel::ChannelMap;
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

impl EndpointConfig {
    /// Ordering attributes of every packet it makes, but Relaxed Ordering of completions, which is the requester's.
    fn attributes(&self) -> Attributes {
        let relaxed = if self.relaxed_ordering { Attributes::RELAXED_ORDERING } else { Attributes::NONE };
        relaxed.with(self.id_ordering())
    }

    /// ID-based ordering, if it asks for it.
    pub(crate) fn id_ordering(&self) -> Attributes {
        if self.id_based_ordering { Attributes::ID_BASED_ORDERING } else { Attributes::NONE }
    }
}

/// A transfer and how far it has come: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct ActiveTransfer {
    pub(crate) transfer: Transfer,
    pub(crate) workload: WorkloadId,
    /// Bytes that arrived: in the device (read), at the target (write).
    pub(crate) arrived: u64,
    /// First byte of the transfer, in the target's address space.
    address: u64,
    destination: Address,
}

/// What is left to ask for of the transfer whose turn it is.
#[derive(Clone, Copy, Debug)]
struct Rest {
    transfer: u32,
    destination: Address,
    address: u64,
    bytes: u64,
    direction: Direction,
}

/// A queue of transfers that still have requests to make.
#[derive(Debug, Default)]
struct Channel {
    current: Option<Rest>,
    waiting: VecDeque<u32>,
}

/// Channels whose current transfer is a read, and a write; each takes one request in its turn. There is seldom more than one
/// of either: the others are kept elsewhere.
#[derive(Debug, Default)]
struct Turns {
    first: [Option<u32>; 2],
    others: Option<Box<[VecDeque<u32>; 2]>>,
}

impl Turns {
    #[inline]
    fn push(&mut self, direction: Direction, channel: u32) {
        let direction = direction as usize;
        match self.first[direction] {
            None => self.first[direction] = Some(channel),
            Some(_) => self.others.get_or_insert_default()[direction].push_back(channel),
        }
    }

    #[inline]
    fn pop(&mut self, direction: Direction) -> Option<u32> {
        let direction = direction as usize;
        let first = self.first[direction].take()?;
        self.first[direction] = self.others.as_mut().and_then(|others| others[direction].pop_front());
        Some(first)
    }

    #[inline]
    fn is_empty(&self, direction: Direction) -> bool {
        self.first[direction as usize].is_none()
    }
}

/// Every transfer of the fabric that is not complete.
#[derive(Default)]
pub(crate) struct Transfers {
    active: Slots<ActiveTransfer>,
    /// Bytes of those that are complete.
    complete: u64,
}

impl Transfers {
    pub(crate) fn insert(
        &mut self,
        transfer: Transfer,
        workload: WorkloadId,
        address: u64,
        destination: Address,
    ) -> u32 {
        self.active.insert(ActiveTransfer { transfer, workload, arrived: 0, address, destination })
    }

    pub(crate) fn get(&mut self, index: u32) -> &mut ActiveTransfer {
        self.active.get_mut(index)
    }

    /// The whole of a transfer, of which nothing was asked for yet.
    fn whole(&self, index: u32) -> Rest {
        let ActiveTransfer { transfer, address, destination, .. } = *self.active.get(index);
        let (bytes, direction) = (transfer.length.get(), transfer.direction);
        Rest { transfer: index, destination, address, bytes, direction }
    }

    pub(crate) fn remove(&mut self, index: u32) {
        let over = self.active.get_mut(index);
        self.complete += over.arrived;
        (over.arrived, over.transfer.length) = (0, Bytes::ZERO);
        self.active.take(index);
    }

    /// Transfers that are not complete.
    pub(crate) fn open(&self) -> usize {
        self.active.taken()
    }

    /// Memory that they take when there are more, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.active.bytes()
    }

    /// Those that are not complete.
    pub(crate) fn all_open(&self) -> impl Iterator<Item = &ActiveTransfer> {
        self.active.places().iter().filter(|one| one.transfer.length > Bytes::ZERO)
    }

    /// Bytes that arrived of all that there ever were.
    pub(crate) fn arrived(&self) -> u64 {
        self.complete + self.active.places().iter().map(|one| one.arrived).sum::<u64>()
    }

    /// The most that were open at a time.
    pub(crate) fn places(&self) -> usize {
        self.active.places().len()
    }
}

/// A read request whose completions have not all come back.
#[derive(Clone, Copy, Debug, Default)]
struct OutstandingRead {
    /// When it got its tag.
    since: Time,
    left: u16,
    tag: Option<Tag>,
}

/// Tags, and the read that each is out with.
#[repr(align(64))]
struct Reads {
    tags: TagPool,
    out: Vec<OutstandingRead>,
    times: ReadTimes,
}

/// Sums for Little's law, in ticks modulo 2⁶⁴: what is added up to more than that still balances.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadTimes {
    /// Instants at which reads gave their tag back, less those at which they took it.
    left_less_entered: u64,
    /// How long reads had their tag, of those that gave it back.
    with_tag: u64,
    /// The same of those whose latency was stated when they did, with what the device adds.
    stated: u64,
}

impl ReadTimes {
    /// How long the latencies should be that were stated of these reads, added up.
    pub(crate) fn stated(&self) -> u64 {
        self.stated
    }
}

impl Reads {
    /// Enters a read of so many bytes. Returns its slot.
    #[inline(always)]
    fn enter(&mut self, tag: Tag, bytes: u16, now: Time) -> u16 {
        let slot = tag.index(self.tags.width());
        if self.out.len() <= slot {
            self.out.resize(slot + 1, OutstandingRead::default());
        }
        self.out[slot] = OutstandingRead { since: now, left: bytes, tag: Some(tag) };
        self.times.left_less_entered = self.times.left_less_entered.wrapping_sub(now.ticks());
        slot as u16
    }

    /// The read of a slot is over: its tag is free again. Returns how long it had it, and the bytes that did not come.
    #[inline]
    fn end(&mut self, slot: u16, now: Time) -> (Span, u16) {
        let read = &mut self.out[usize::from(slot)];
        self.tags.give(read.tag.take().expect("an outstanding read has a tag"));
        let with_tag = now - read.since;
        self.times.with_tag = self.times.with_tag.wrapping_add(with_tag.ticks());
        self.times.left_less_entered = self.times.left_less_entered.wrapping_add(now.ticks());
        (with_tag, std::mem::take(&mut read.left))
    }

    /// Little's law: reads that have a tag, over all time, and the time that each had it, added up, are the same. The first
    /// comes from the number of tags and the instants at which it changed, the second from the entries.
    fn number_and_time(&self, now: Time) -> [u64; 2] {
        let out = u64::from(self.tags.in_flight());
        let number = out.wrapping_mul(now.ticks()).wrapping_add(self.times.left_less_entered);
        let still_out =
            self.out.iter().filter(|read| read.tag.is_some()).map(|read| (now - read.since).ticks());
        [number, still_out.fold(self.times.with_tag, u64::wrapping_add)]
    }
}

/// One endpoint.
///
/// Fields lie in cache lines by who uses them: what every request is made from; whose turn it is; what is kept of reads; what
/// others find at it.
#[repr(C, align(64))]
pub(crate) struct Endpoint {
    /// The same for all that are alike.
    pub(crate) config: Arc<EndpointConfig>,
    channels: Vec<Channel>,
    next_request_at: Time,
    /// Largest write and read request.
    units: [u16; 2],
    pub(crate) port: PortId,
    pub(crate) ordinal: Address,
    /// What the header of every request says.
    attributes: Attributes,
    prefixes: u8,
    digest: bool,
    /// What the device waits for when it has nothing to ask for.
    pub(crate) waits_for: RequesterState,
    /// Accesses of the CPU to it that have not ended.
    pub(crate) mmio_open: u32,

    /// Who takes turns on VC0.
    turns: Turns,
    /// Faults of its own, and its completion timeout, where it has any.
    pub(crate) errors: Option<Box<DeviceErrors>>,
    /// Traffic classes other than TC0, and virtual channels other than VC0, where there are any.
    classes: Option<Box<TrafficClasses>>,
    /// Engines, paces and a data path of its own, where it has any.
    pub(crate) dma: Option<Box<DmaEngines>>,

    reads: Reads,

    /// Internal path of posted writes that arrive.
    pub(crate) drain: Server,
    /// Its memory, as peers read it; none where that is never the limit.
    pub(crate) memory: Option<Server>,
}

/// Traffic classes of an endpoint's channels, and who takes turns on which virtual channel.
struct TrafficClasses {
    map: ChannelMap,
    /// By channel of the endpoint.
    of_channel: Vec<u8>,
    /// Who takes turns on VC1, VC2 and so on.
    beyond_vc0: Vec<Turns>,
}

impl TrafficClasses {
    /// With so many channels of TC0 open.
    fn new(map: ChannelMap, open: usize) -> Box<Self> {
        let beyond_vc0 = (1..map.channels()).map(|_| Default::default()).collect();
        Box::new(Self { map, of_channel: vec![0; open], beyond_vc0 })
    }

    fn add(&mut self, class: u8) {
        self.of_channel.push(class);
    }

    fn virtual_channel(&self, channel: u32) -> u8 {
        self.map.channel_of(self.of_channel[channel as usize])
    }

    fn want(&self, direction: Direction) -> bool {
        self.beyond_vc0.iter().any(|turns| !turns.is_empty(direction))
    }
}

impl Endpoint {
    pub(crate) fn new(config: Arc<EndpointConfig>, port: PortId, ordinal: Address, mps: Bytes) -> Self {
        let limit = config.tags.min(u32::from(u16::MAX)) as u16;
        let (read_unit, write_unit) = (config.dma.read_unit, config.dma.write_unit);
        let units = [read_unit.unwrap_or(config.mrrs).min(config.mrrs), write_unit.unwrap_or(mps).min(mps)];
        Self {
            reads: Reads {
                tags: TagPool::new(config.tag_width, limit),
                out: Vec::new(),
                times: ReadTimes::default(),
            },
            drain: Server::new(config.write_drain),
            attributes: config.attributes(),
            prefixes: config.tlp_prefixes,
            digest: config.ecrc,
            memory: config.memory_read_rate.map(Server::new),
            errors: DeviceErrors::new(&config.errors),
            dma: DmaEngines::new(&config.dma, config.completion_latency),
            units: units.map(checked_unit),
            classes: (config.traffic_class != 0).then(|| TrafficClasses::new(ChannelMap::ONLY_VC0, 0)),
            config,
            port,
            ordinal,
            channels: Vec::new(),
            turns: Default::default(),
            mmio_open: 0,
            next_request_at: Time::ZERO,
            waits_for: RequesterState::NothingAsked,
        }
    }

    /// It watches over nothing, has one traffic class, and its DMA does nothing but cut.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.errors.is_none() && self.classes.is_none() && self.dma.is_none()
    }

    pub(crate) fn open_channel(&mut self) -> u32 {
        self.channels.push(Channel::default());
        if let Some(dma) = &mut self.dma {
            dma.open_channel(&EngineConfig::default());
        }
        if let Some(classes) = &mut self.classes {
            classes.add(self.config.traffic_class);
        }
        self.channels.len() as u32 - 1
    }

    /// Opens a channel whose requests carry this traffic class.
    pub(crate) fn open_channel_of(&mut self, traffic_class: u8) -> u32 {
        if traffic_class == self.config.traffic_class {
            return self.open_channel();
        }
        let open = self.channels.len();
        self.channels.push(Channel::default());
        if let Some(dma) = &mut self.dma {
            dma.open_channel(&EngineConfig::default());
        }
        let classes = self.classes.get_or_insert_with(|| TrafficClasses::new(ChannelMap::ONLY_VC0, open));
        classes.add(traffic_class);
        open as u32
    }

    /// Opens a channel with an engine of its own.
    pub(crate) fn open_channel_with(&mut self, engine: &EngineConfig, mps: Bytes) -> u32 {
        let open = self.channels.len();
        let with_channels = || Box::new(DmaEngines::with_channels(&self.config.dma, open));
        [engine.write_unit, engine.read_unit].into_iter().flatten().for_each(|unit| _ = checked_unit(unit));
        let engine = EngineConfig {
            write_unit: engine.write_unit.map(|unit| unit.min(mps)),
            read_unit: engine.read_unit.map(|unit| unit.min(self.config.mrrs)),
            outstanding: engine.outstanding,
        };
        self.dma.get_or_insert_with(with_channels).open_channel(&engine);
        self.channels.push(Channel::default());
        if let Some(classes) = &mut self.classes {
            classes.add(self.config.traffic_class);
        }
        open as u32
    }

    /// Completions may be lost on their way: it has to know which reads are broken.
    pub(crate) fn watch_all_reads(&mut self) {
        self.errors.get_or_insert_with(|| Box::new(DeviceErrors::watching(&self.config.errors)));
    }

    /// Its link has these virtual channels.
    pub(crate) fn use_channels(&mut self, map: ChannelMap) {
        self.classes = Some(TrafficClasses::new(map, 0));
    }

    /// Queues a transfer behind the others of its channel.
    pub(crate) fn submit(&mut self, channel: u32, index: u32, now: Time, transfers: &Transfers) {
        if let Some(dma) = &mut self.dma {
            dma.asked(channel, now);
        }
        let queue = &mut self.channels[channel as usize];
        if queue.current.is_some() {
            return queue.waiting.push_back(index);
        }
        let rest = transfers.whole(index);
        queue.current = Some(rest);
        self.takes_turns(channel, rest.direction);
    }

    /// A channel has something to ask for: it takes turns with the others on its virtual channel.
    #[inline(always)]
    fn takes_turns(&mut self, channel: u32, direction: Direction) {
        let vc = self.classes.as_ref().map_or(VC0, |classes| classes.virtual_channel(channel));
        self.turns_on(vc).push(direction, channel);
    }

    #[inline(always)]
    fn turns_on(&mut self, vc: u8) -> &mut Turns {
        match &mut self.classes {
            Some(classes) if vc != VC0 => &mut classes.beyond_vc0[usize::from(vc) - 1],
            _ => &mut self.turns,
        }
    }

    /// Whether any channel has a request of this direction to make.
    #[inline]
    pub(crate) fn wants(&self, direction: Direction) -> bool {
        let on_vc0 = !self.turns.is_empty(direction);
        on_vc0 || self.classes.as_ref().is_some_and(|classes| classes.want(direction))
    }

    /// Read requests in flight.
    pub(crate) fn outstanding_reads(&self) -> u32 {
        u32::from(self.reads.tags.in_flight())
    }

    /// Reads with a tag, added up over time: their number, and the time of each. What each was stated to take.
    pub(crate) fn reads_over_time(&self, now: Time) -> ([u64; 2], &ReadTimes) {
        (self.reads.number_and_time(now), &self.reads.times)
    }

    /// A read is taken for older than it is, for a test of who notices.
    #[cfg(test)]
    pub(crate) fn age_a_read(&mut self, by: Span) {
        let read = self.reads.out.iter_mut().find(|read| read.tag.is_some()).expect("a read is out");
        read.since = read.since - by;
    }

    /// A tag goes astray, for a test of who notices.
    #[cfg(test)]
    pub(crate) fn leak_tag(&mut self) {
        self.reads.tags.take().expect("a tag is free");
    }

    /// Entries in the table of reads that are out: as many as there are [`Self::outstanding_reads`].
    pub(crate) fn reads_entered(&self) -> usize {
        self.reads.out.iter().filter(|read| read.tag.is_some()).count()
    }

    /// What holds the endpoint back while no request of its own waits at the port.
    pub(crate) fn idle_state(&self) -> RequesterState {
        if self.wants(Direction::Read) || self.dma.as_ref().is_some_and(|dma| dma.anybody_parked()) {
            RequesterState::Tags
        } else if self.outstanding_reads() > 0 {
            RequesterState::Window
        } else {
            self.waits_for
        }
    }

    /// The next posted write, from the channel whose turn it is.
    #[inline(always)]
    pub(crate) fn next_write(&mut self, now: Time, transfers: &Transfers) -> Option<Packet> {
        let channel = self.turns_on(VC0).pop(Direction::Write)?;
        Some(self.next_request(TlpKind::MemoryWrite, channel, self.units[1], now, transfers))
    }

    /// [`Self::next_write`] of an endpoint that is not plain: for a virtual channel, and perhaps poisoned.
    pub(crate) fn next_write_on(&mut self, vc: u8, now: Time, transfers: &Transfers) -> Option<Packet> {
        let channel = self.turns_on(vc).pop(Direction::Write)?;
        let unit = self.unit(channel, Direction::Write);
        let mut packet = self.next_request(TlpKind::MemoryWrite, channel, unit, now, transfers);
        self.start_on_engine(channel, Direction::Write, now, &mut packet);
        packet.traffic_class = self.class_of(channel);
        if let Some(errors) = &mut self.errors {
            errors.inject(&mut packet);
        }
        Some(packet)
    }

    /// [`Self::next_read`] of an endpoint that is not plain: for a virtual channel, watched where the endpoint does so, and
    /// asking again for what did not come.
    pub(crate) fn next_read_on(&mut self, vc: u8, now: Time, transfers: &Transfers) -> Option<Packet> {
        let map = self.classes.as_ref().map_or(ChannelMap::ONLY_VC0, |classes| classes.map);
        let again = self.errors.as_ref().and_then(|errors| errors.class_of_next_again());
        let asks_again = again.is_some_and(|class| map.channel_of(class) == vc);
        let (packet, first_issued, attempts) = if asks_again {
            let tag = self.reads.tags.take()?;
            let (mut packet, first_issued, attempts) = self.errors.as_mut()?.take_again()?;
            packet.issued_at = now;
            packet.eligible_at = self.next_request_at.max(now);
            packet.flags = packet.flags.without(Flags::LAST);
            self.next_request_at = packet.eligible_at + self.config.request_interval;
            packet.read = self.reads.enter(tag, packet.length, now);
            (packet, first_issued, attempts)
        } else {
            let packet = self.new_read(vc, now, transfers)?;
            (packet, packet.issued_at, 0)
        };
        if let Some(errors) = &mut self.errors {
            errors.watch(&packet, first_issued, attempts);
        }
        Some(packet)
    }

    /// The next memory read request, if there is a tag for it.
    #[inline(always)]
    pub(crate) fn next_read(&mut self, now: Time, transfers: &Transfers) -> Option<Packet> {
        if self.turns.is_empty(Direction::Read) {
            return None;
        }
        let tag = self.reads.tags.take()?;
        let channel = self.turns_on(VC0).pop(Direction::Read).expect("checked above");
        let mut packet = self.next_request(TlpKind::MemoryRead, channel, self.units[0], now, transfers);
        packet.read = self.reads.enter(tag, packet.length, now);
        Some(packet)
    }

    /// The next read of data that was not asked for before, of an endpoint that is not plain.
    fn new_read(&mut self, vc: u8, now: Time, transfers: &Transfers) -> Option<Packet> {
        if self.turns_on(vc).is_empty(Direction::Read) || !self.reads.tags.has_free() {
            return None;
        }
        let channel = loop {
            let channel = self.turns_on(vc).pop(Direction::Read)?;
            let unit = Bytes::new(u64::from(self.unit(channel, Direction::Read)));
            if self.dma.as_mut().is_none_or(|dma| dma.may_read(channel, unit)) {
                break channel;
            }
        };
        let tag = self.reads.tags.take().expect("there is one");
        let unit = self.unit(channel, Direction::Read);
        let mut packet = self.next_request(TlpKind::MemoryRead, channel, unit, now, transfers);
        self.start_on_engine(channel, Direction::Read, now, &mut packet);
        packet.traffic_class = self.class_of(channel);
        packet.read = self.reads.enter(tag, packet.length, now);
        if let Some(dma) = &mut self.dma {
            dma.began(channel, packet.read, Bytes::new(u64::from(packet.length)));
        }
        Some(packet)
    }

    /// Largest request of a channel.
    fn unit(&self, channel: u32, direction: Direction) -> u16 {
        let own = self.dma.as_ref().and_then(|dma| dma.unit(channel, direction));
        own.map_or(self.units[direction as usize], |unit| unit.get() as u16)
    }

    /// The channel's engine starts a request when its pace, and the data path, let it.
    fn start_on_engine(&mut self, channel: u32, direction: Direction, now: Time, packet: &mut Packet) {
        let Some(dma) = &mut self.dma else { return };
        let at = packet.eligible_at.max(now);
        let is_last = packet.flags.has(Flags::LAST);
        packet.eligible_at =
            dma.start((channel, direction), at, Bytes::new(u64::from(packet.length)), is_last);
    }

    fn class_of(&self, channel: u32) -> u8 {
        self.classes.as_ref().map_or(0, |classes| classes.of_channel[channel as usize])
    }

    /// Bytes of a read that have not come.
    pub(crate) fn left_of(&self, slot: u16) -> u16 {
        self.reads.out[usize::from(slot)].left
    }

    /// Gives a read up: its tag is free again. Returns the bytes that did not come.
    pub(crate) fn abandon(&mut self, slot: u16, now: Time) -> u16 {
        let (_, missing) = self.reads.end(slot, now);
        if let Some(channel) = self.dma.as_mut().and_then(|dma| dma.ended(slot)) {
            self.takes_turns(channel, Direction::Read);
        }
        missing
    }

    /// Cuts the next request off the current transfer of `channel`, which then waits for its next turn.
    #[inline(always)]
    fn next_request(
        &mut self,
        kind: TlpKind,
        channel: u32,
        unit: u16,
        now: Time,
        transfers: &Transfers,
    ) -> Packet {
        let queue = &mut self.channels[channel as usize];
        let rest = queue.current.as_mut().expect("a channel takes turns only with a transfer");
        let (address, left) = (rest.address, Bytes::new(rest.bytes));
        let length = splitting::first_aligned(address, left, Bytes::new(u64::from(unit)));
        rest.address += length.get();
        rest.bytes -= length.get();

        let tlp = Tlp::new(kind, Routing::Address(address), length)
            .with_attributes(self.attributes)
            .with_prefixes(self.prefixes)
            .with_digest(self.digest);
        let mut packet = Packet::new(&tlp, rest.destination, self.ordinal, now);
        packet.eligible_at = self.next_request_at.max(now);
        packet.context = rest.transfer;
        self.next_request_at = packet.eligible_at + self.config.request_interval;

        if length == left {
            packet.flags = packet.flags.with(Flags::LAST);
            queue.current = queue.waiting.pop_front().map(|next| transfers.whole(next));
        }
        if let Some(Rest { direction, .. }) = queue.current {
            self.takes_turns(channel, direction);
        }
        packet
    }

    /// When the data of a completion of another's read is there, for a read that arrived `now`.
    pub(crate) fn data_at(&mut self, now: Time, completion: &Packet) -> Time {
        if completion.flags.has(Flags::MMIO) {
            return now + self.config.mmio_read_latency;
        }
        // As in a root complex: bandwidth is taken when the read starts, not when its data comes.
        let read = self.memory.as_mut().map_or(now, |memory| memory.serve(now, completion.payload()));
        read + self.config.memory_read_latency
    }

    /// Takes in part of a read's data. True when the request is complete and its tag free again: its latency, with what the
    /// device adds, is to be stated.
    #[inline]
    pub(crate) fn completion(&mut self, packet: &Packet, now: Time) -> bool {
        let done = self.count_completion(packet);
        if done {
            let (with_tag, _) = self.reads.end(packet.read, now);
            let latency = with_tag + self.config.completion_latency;
            self.reads.times.stated = self.reads.times.stated.wrapping_add(latency.ticks());
        }
        done
    }

    /// Takes in part of a read's data. True when the request is complete: its tag is still to be given back.
    #[inline]
    pub(crate) fn count_completion(&mut self, packet: &Packet) -> bool {
        let slot = packet.read;
        let read = &mut self.reads.out[usize::from(slot)];
        assert!(
            read.left >= packet.length,
            "read {}: {} B arrive, {} B were outstanding",
            slot,
            packet.length,
            read.left
        );
        read.left -= packet.length;
        let done = read.left == 0;
        assert_eq!(done, packet.flags.has(Flags::LAST), "read {slot}: last completion out of order");
        done
    }
}

/// The largest request of a kind.
fn checked_unit(unit: Bytes) -> u16 {
    let unit = unit.get();
    assert!(unit.is_power_of_two() && (32..=4096).contains(&unit), "units are 32 to 4096 B");
    unit as u16
}

/// Address of a transfer's first byte and who answers it.
pub(crate) fn resolve_target(
    target: Target,
    offset: u64,
    host_memory: u64,
    peer: Option<Address>,
) -> (u64, Address) {
    match target {
        Target::HostMemory => (host_memory + offset, Address::HOST),
        Target::Endpoint(_) => (BAR_ABOVE_4_GIB + offset, peer.unwrap_or(Address::HOST)),
        Target::Nobody => (BAR_ABOVE_4_GIB + offset, Address::NOBODY),
    }
}

/// Where 64-bit BARs lie: above 4 GiB, so that they are addressed with 4 DW headers. Peers' memory always does (Assumed).
pub(crate) const BAR_ABOVE_4_GIB: u64 = 1 << 40;

/// Whether a transfer asks to hear of this.
pub(crate) fn wants_notice(transfer: &Transfer, notify: Notify) -> bool {
    transfer.notify == notify
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn what_a_request_is_cut_from_fits_cache_lines() {
        assert_eq!(size_of::<ActiveTransfer>(), 64);
        assert_eq!(size_of::<Channel>(), 64);
        assert_eq!([offset_of!(Endpoint, turns), offset_of!(Endpoint, reads)], [64, 128]);
    }

    #[test]
    fn turns_are_taken_in_order() {
        let mut turns = Turns::default();
        [3, 1, 2].into_iter().for_each(|channel| turns.push(Direction::Read, channel));
        turns.push(Direction::Write, 4);
        let first = turns.pop(Direction::Read).expect("there are three");
        turns.push(Direction::Read, first);
        assert_eq!(std::iter::from_fn(|| turns.pop(Direction::Read)).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(turns.is_empty(Direction::Read) && !turns.is_empty(Direction::Write));
    }
}
