//! The next request of an endpoint, cut off the transfer of the queue whose turn it is.

use super::Endpoint;
use super::transfers::{Rest, Transfers};
use crate::channels::VC0;
use crate::dma::Turn;
use crate::packet::{Flags, Packet};
use crate::workload::Direction;
use lanewise_pcie::splitting;
use lanewise_pcie::tlp::{Routing, Tlp, TlpKind};
use lanewise_pcie::virtual_channel::ChannelMap;
use lanewise_units::{Bytes, Time};

impl Endpoint {
    /// The next posted write, from the queue whose turn it is.
    #[inline(always)]
    pub(crate) fn next_write(&mut self, now: Time, transfers: &Transfers) -> Option<Packet> {
        let queue = self.turns_on(VC0).pop(Direction::Write)?;
        Some(self.next_request(TlpKind::MemoryWrite, queue, self.units[1], now, transfers))
    }

    /// [`Self::next_write`] of an endpoint that is not plain: for a virtual channel, and perhaps poisoned.
    pub(crate) fn next_write_on(&mut self, vc: u8, now: Time, transfers: &Transfers) -> Option<Packet> {
        let queue = loop {
            let queue = self.turns_on(vc).pop(Direction::Write)?;
            if self.is_translated(queue) {
                break queue;
            }
        };
        if let Some(dma) = &mut self.dma {
            dma.writes_on(vc, queue);
        }
        let unit = self.unit(queue, Direction::Write);
        let mut packet = self.next_request(TlpKind::MemoryWrite, queue, unit, now, transfers);
        self.start_on_engine(queue, Direction::Write, now, &mut packet);
        self.seal(&mut packet);
        packet.traffic_class = self.class_of(queue);
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
        let queue = self.turns_on(VC0).pop(Direction::Read).expect("checked above");
        let mut packet = self.next_request(TlpKind::MemoryRead, queue, self.units[0], now, transfers);
        packet.read = self.reads.enter(tag, packet.length, now);
        Some(packet)
    }

    /// The next read of data that was not asked for before, of an endpoint that is not plain.
    fn new_read(&mut self, vc: u8, now: Time, transfers: &Transfers) -> Option<Packet> {
        if self.turns_on(vc).is_empty(Direction::Read) || !self.reads.tags.has_free() {
            return None;
        }
        let queue = loop {
            let queue = self.turns_on(vc).pop(Direction::Read)?;
            if !self.is_translated(queue) {
                continue;
            }
            let unit = Bytes::new(u64::from(self.unit(queue, Direction::Read)));
            match self.dma.as_mut().map_or(Turn::Reads, |dma| dma.turn_to_read(queue, unit)) {
                Turn::Reads => break queue,
                Turn::PassesTo(other) => {
                    other.into_iter().for_each(|other| self.takes_turns(other, Direction::Read));
                }
            }
        };
        let tag = self.reads.tags.take().expect("there is one");
        let unit = self.unit(queue, Direction::Read);
        let mut packet = self.next_request(TlpKind::MemoryRead, queue, unit, now, transfers);
        self.start_on_engine(queue, Direction::Read, now, &mut packet);
        self.seal(&mut packet);
        packet.traffic_class = self.class_of(queue);
        packet.read = self.reads.enter(tag, packet.length, now);
        if let Some(dma) = &mut self.dma {
            dma.began(queue, packet.read, Bytes::new(u64::from(packet.length)));
        }
        Some(packet)
    }

    /// Largest request of a queue.
    fn unit(&self, queue: u32, direction: Direction) -> u16 {
        let own = self.dma.as_ref().and_then(|dma| dma.unit(queue, direction));
        own.map_or(self.units[direction as usize], |unit| unit.get() as u16)
    }

    /// The queue's engine starts a request when its pace, and the data path, let it.
    fn start_on_engine(&mut self, queue: u32, direction: Direction, now: Time, packet: &mut Packet) {
        let Some(dma) = &mut self.dma else { return };
        let at = packet.eligible_at.max(now);
        let is_last = packet.flags.has(Flags::LAST);
        if let (true, Some(translations)) = (is_last, &mut dma.translations) {
            translations.over(packet.context);
        }
        packet.eligible_at =
            dma.start((queue, direction), (at, now), Bytes::new(u64::from(packet.length)), is_last);
    }

    /// A request carries what the device's IDE stream adds.
    pub(super) fn seal(&mut self, packet: &mut Packet) {
        if let Some(ide) = self.dma.as_mut().and_then(|dma| dma.ide.as_mut()) {
            ide.seal(packet);
        }
    }

    fn class_of(&self, queue: u32) -> u8 {
        self.classes.as_ref().map_or(0, |classes| classes.of_queue[queue as usize])
    }

    #[inline(always)]
    fn next_request(
        &mut self,
        kind: TlpKind,
        queue: u32,
        unit: u16,
        now: Time,
        transfers: &Transfers,
    ) -> Packet {
        let own = &mut self.queues[queue as usize];
        let rest = own.current.as_mut().expect("a queue takes turns only with a transfer");
        let (address, left) = (rest.address, Bytes::new(rest.bytes));
        let length = splitting::first_request(address, left, Bytes::new(u64::from(unit)));
        rest.address += length.get();
        rest.bytes -= length.get();

        let tlp = Tlp::new(kind, Routing::Address(address), length)
            .with_attributes(self.attributes)
            .with_prefixes(self.prefixes)
            .with_digest(self.digest);
        let mut packet = Packet::new(&tlp, rest.destination, self.route_end, now);
        packet.eligible_at = self.next_request_at.max(now);
        packet.context = rest.transfer;
        self.next_request_at = packet.eligible_at + self.config.request_interval;

        if length == left {
            packet.flags = packet.flags.with(Flags::LAST);
            own.current = own.waiting.pop_front().map(|next| transfers.whole(next));
        }
        if let Some(Rest { direction, .. }) = own.current {
            self.takes_turns(queue, direction);
        }
        packet
    }
}
