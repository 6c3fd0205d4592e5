//! Memory of a switch behind the credits of its ports: a packet whose egress is busy moves out of the ingress buffer, and its
//! credits are returned then, before it leaves.
//!
//! Each egress has room for so many bytes of each class. Packets take it in the order in which they come, from whatever ingress.
//! A packet has moved when it would have left through an egress that was idle: its bytes need the `latency` of the switch, and the
//! time that they take on the wire of the egress. So a flow that nothing holds up has its credits back no sooner than without.
//! A packet that finds no room stays in its ingress buffer until there is some, which is when the last byte of another leaves; or
//! until it leaves itself, straight out of that buffer. What goes next is chosen among all that wait for an egress, wherever
//! they lie: so the rules of ordering hold as they do without, no packet waits for room that might leave, and none is ever dropped.
//!
//! Sources: PLX PEX 8532 data book 1.6 (February 2007), chapter 8, Table 8-1: packet RAM of each station for what comes in, and more
//! for what leaves, shared out among its egress ports. IDT 89HPES64H16G2 user manual (April 2013), chapter 3: buffers for what comes
//! in, a crossbar, buffers for what leaves, and ordering at the end of both. That credits are returned when a packet has moved,
//! not when it has left: US patent 7,953,024.
//!
//! Assumed: room of a class is for that class alone; it is counted as credits count. Requests that metering may hold back stay in
//! front of the core, in the ingress buffer.
//!
//! Leaves out: a core that is busy with moves, instead of with packets as they leave; that an egress chooses only among what has
//! moved; room that egress ports share.

use super::Switch;
use crate::fabric::Fabric;
use crate::packet::{Packet, PacketId};
use crate::port::{Owner, PortId};
use crate::server::Book;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, SpanSum, Time};
use std::collections::VecDeque;

/// What is behind the ports of a switch: by egress and class.
pub(crate) struct Storage {
    rooms: Vec<[Room; 3]>,
}

/// Room for packets of one class that leave through one egress.
struct Room {
    size: u64,
    free: u64,
    /// More is free from then on: its packet is on the wire until then.
    freed: (Time, u64),
    /// Packets that have moved, or will for sure.
    inside: VecDeque<Inside>,
    /// Packets without room, in the order in which they came, each with the time from which it could have moved.
    outside: VecDeque<(Time, Packet)>,
    /// Packets on the wire, or a moment ago, each with the time at which it has left.
    leaving: Vec<(Inside, Time)>,
    /// Bytes times the time that they were inside, of packets that have left.
    book: Book,
}

/// A packet that moves at `from`; `order` is its place among all that ever entered a queue.
struct Inside {
    order: u32,
    from: Time,
    bytes: u64,
}

/// Bytes that a packet takes up.
fn bytes_of(packet: &Packet) -> u64 {
    packet.credits().buffer_space().get()
}

/// Port at which a packet in the storage came in.
fn came_in_at(packet: &Packet) -> PortId {
    PortId(packet.came_in_at().expect("what is stored came in"))
}

impl Storage {
    /// Empty room of these sizes by class at each of so many egress ports; none where all are zero.
    pub(crate) fn new(sizes: [Bytes; 3], ports: usize) -> Option<Self> {
        let of_egress = || sizes.map(|size| Room::new(size.get()));
        sizes
            .iter()
            .any(|size| *size > Bytes::ZERO)
            .then(|| Self { rooms: (0..ports).map(|_| of_egress()).collect() })
    }

    /// Room of a class at an egress.
    fn room(&mut self, egress: u16, class: FlowClass) -> &mut Room {
        &mut self.rooms[usize::from(egress)][class.index()]
    }

    /// By egress and class, how much room there is, and what it has held up to `at`.
    pub(crate) fn books(&self, at: Time) -> impl Iterator<Item = [(Bytes, Book); 3]> {
        self.rooms
            .iter()
            .map(move |rooms| rooms.each_ref().map(|room| (Bytes::new(room.size), room.book_at(at))))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let lists = |room: &Room| {
            room.inside.capacity() * size_of::<Inside>()
                + room.outside.capacity() * size_of::<(Time, Packet)>()
                + room.leaving.capacity() * size_of::<(Inside, Time)>()
        };
        size_of_val(&*self.rooms) + self.rooms.iter().flatten().map(lists).sum::<usize>()
    }
}

impl Room {
    fn new(size: u64) -> Self {
        Self {
            size,
            free: size,
            freed: (Time::ZERO, 0),
            inside: VecDeque::new(),
            outside: VecDeque::new(),
            leaving: Vec::new(),
            book: Book::default(),
        }
    }

    /// From when on so many bytes are free; takes them.
    fn take(&mut self, bytes: u64, now: Time) -> Option<Time> {
        self.settle(now);
        if bytes <= self.free {
            self.free -= bytes;
            return Some(now);
        }
        self.freed.1 = self.freed.1.checked_sub(bytes - self.free)?;
        self.free = 0;
        Some(self.freed.0)
    }

    /// A packet came that could move at `ready`. Returns when it does, if there is room.
    fn enter(&mut self, packet: &Packet, ready: Time, now: Time) -> Option<Time> {
        self.outside.push_back((ready, *packet));
        let (moved, at) = self.next_to_move(now, now)?;
        debug_assert_eq!(moved.order, packet.order, "those in front of it found no room");
        Some(at)
    }

    /// The packet that has been without room for longest, and when it moves: not before the one in front of it, which has gone by
    /// `after`. None if there is no room yet.
    fn next_to_move(&mut self, after: Time, now: Time) -> Option<(Packet, Time)> {
        let (ready, packet) = *self.outside.front()?;
        let bytes = bytes_of(&packet);
        let at = self.take(bytes, now)?.max(ready).max(after);
        self.outside.pop_front();
        self.inside.push_back(Inside { order: packet.order, from: at, bytes });
        self.book.waited += at - ready;
        self.book.served += 1;
        Some((packet, at))
    }

    /// The packet of this `order` will have left at `gone_at`. Returns it if it leaves straight out of its ingress buffer.
    fn leave(&mut self, order: u32, gone_at: Time, now: Time) -> Option<Packet> {
        if let Some(place) = self.inside.iter().position(|inside| inside.order == order) {
            let inside = self.inside.remove(place).expect("it was found there");
            self.settle(now);
            self.freed = (gone_at.max(self.freed.0), self.freed.1 + inside.bytes);
            self.leaving.push((inside, gone_at));
            return None;
        }
        let place = self.outside.iter().position(|(_, outside)| outside.order == order);
        let found = self.outside.remove(place.expect("it is inside or outside"));
        let (ready, packet) = found.expect("it was found there");
        self.book.waited += gone_at.saturating_since(ready);
        self.book.served += 1;
        Some(packet)
    }

    /// What packets that have left by now took up is free.
    fn settle(&mut self, now: Time) {
        if self.freed.0 <= now {
            self.free += std::mem::take(&mut self.freed.1);
            let left = self.leaving.drain(..);
            self.book.busy = left.fold(self.book.busy, |busy, (inside, until)| busy + inside.held(until));
        }
    }

    fn book_at(&self, at: Time) -> Book {
        let inside = self.inside.iter().map(|inside| inside.held(at));
        let leaving = self.leaving.iter().map(|(inside, until)| inside.held(at.min(*until)));
        let outside = self.outside.iter().map(|(ready, _)| at.saturating_since(*ready));
        Book {
            busy: inside.chain(leaving).fold(self.book.busy, |a, b| a + b),
            waited: outside.fold(self.book.waited, |sum, waited| sum + waited),
            served: self.book.served + self.outside.len() as u64,
        }
    }
}

impl Inside {
    /// Its bytes times the time that they have been inside at `at`.
    fn held(&self, at: Time) -> SpanSum {
        SpanSum::from(at.saturating_since(self.from)) * self.bytes
    }
}

impl Switch {
    /// When a packet that waits for `egress` could move to the memory behind the ports, if packets of its class do.
    fn moves_at(&self, packet: &Packet, egress: u16) -> Option<Time> {
        let class = packet.class();
        let stays = class == FlowClass::NonPosted && self.config.request_metering.is_some();
        let moves = self.config.storage[class.index()] > Bytes::ZERO && !stays;
        let wire = &self.settings[usize::from(egress)].wire;
        let bytes = || match wire.flit {
            None => packet.cost.on_wire(),
            Some(_) => packet.cost_in_flits().tlp(),
        };
        moves.then(|| packet.eligible_at + wire.tlp_span(bytes()))
    }

    /// By egress and class, what the memory behind the ports holds.
    pub(crate) fn storage_books(&self, at: Time) -> impl Iterator<Item = [(Bytes, Book); 3]> {
        self.storage.iter().flat_map(move |storage| storage.books(at))
    }
}

impl Fabric {
    /// A port of a switch with storage has a packet for `egress`: it takes room there, or waits for some.
    #[cold]
    #[inline(never)]
    pub(crate) fn store(&mut self, index: u32, packet_id: PacketId, egress: u16) {
        let (now, switch) = (self.engine.now(), &mut self.switches[index as usize]);
        let packet = &mut self.packets[packet_id];
        let Some(ready) = switch.moves_at(packet, egress) else { return };
        packet.ingress |= Packet::STORED;
        let packet = *packet;
        if let Some(at) = self.room_of(index, egress, packet.class()).enter(&packet, ready, now) {
            self.drain(came_in_at(&packet), &packet, at);
        }
    }

    /// A packet of this `order` that was given to the storage will have left through `id` at `gone_at`: others move up.
    pub(crate) fn leaves_storage(&mut self, id: PortId, order: u32, class: FlowClass, gone_at: Time) {
        let (now, port) = (self.engine.now(), &self.ports[id.index()]);
        let (owner, egress) = (port.owner, port.index);
        let Owner::Switch(index) = owner else { panic!("{owner:?} has no storage") };
        if let Some(packet) = self.room_of(index, egress, class).leave(order, gone_at, now) {
            self.drain(came_in_at(&packet), &packet, gone_at);
        }
        while let Some((next, at)) = self.room_of(index, egress, class).next_to_move(gone_at, now) {
            self.drain(came_in_at(&next), &next, at);
        }
    }

    fn room_of(&mut self, switch: u32, egress: u16, class: FlowClass) -> &mut Room {
        let storage = self.switches[switch as usize].storage.as_mut();
        storage.expect("only a switch with storage gives packets to it").room(egress, class)
    }
}
