//! Queues of packets: one for each flow class, chained through the packets, so that nothing is allocated.

use super::{Packet, PacketId, PacketPool};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

/// First in, first out, one queue per flow class, chained through the packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassQueues {
    head: [PacketId; 3],
    tail: [PacketId; 3],
}

impl Default for ClassQueues {
    fn default() -> Self {
        Self { head: [PacketId::NONE; 3], tail: [PacketId::NONE; 3] }
    }
}

impl ClassQueues {
    /// Puts a packet behind those of its class. True when there are none: only then can it change what may leave.
    #[inline(always)]
    pub(crate) fn push(&mut self, packets: &mut PacketPool, id: PacketId) -> bool {
        let order = packets.stamp();
        let packet = &mut packets[id];
        packet.order = order;
        packet.next = PacketId::NONE;
        let class = packet.class().index();
        let first = self.head[class] == PacketId::NONE;
        if first {
            self.head[class] = id;
        } else {
            packets[self.tail[class]].next = id;
        }
        self.tail[class] = id;
        first
    }

    /// Puts a packet behind one of its class that waits, or first of all. True when it is the first.
    pub(crate) fn insert_behind(
        &mut self,
        packets: &mut PacketPool,
        before: Option<PacketId>,
        id: PacketId,
    ) -> bool {
        let order = packets.stamp();
        let class = packets[id].class().index();
        let next = before.map_or(self.head[class], |before| packets[before].next);
        (packets[id].order, packets[id].next) = (order, next);
        match before {
            Some(before) => packets[before].next = id,
            None => self.head[class] = id,
        }
        if next == PacketId::NONE {
            self.tail[class] = id;
        }
        before.is_none()
    }

    /// Puts a packet in front of those of its class, in the place of one that has left, which came as the `order`th.
    #[inline(always)]
    pub(crate) fn put_first(&mut self, packets: &mut PacketPool, id: PacketId, order: u32) {
        let packet = &mut packets[id];
        let class = packet.class().index();
        (packet.order, packet.next) = (order, self.head[class]);
        if packet.next == PacketId::NONE {
            self.tail[class] = id;
        }
        self.head[class] = id;
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self, packets: &PacketPool, class: FlowClass) -> Option<PacketId> {
        let id = self.head(class)?;
        self.head[class.index()] = packets[id].next;
        Some(id)
    }

    /// Packets of a class in the order in which they came.
    pub(crate) fn of_class<'p>(
        &self,
        packets: &'p PacketPool,
        class: FlowClass,
    ) -> impl Iterator<Item = &'p Packet> {
        self.ids_of_class(packets, class).map(|id| &packets[id])
    }

    /// The same, by where they are.
    pub(crate) fn ids_of_class<'p>(
        &self,
        packets: &'p PacketPool,
        class: FlowClass,
    ) -> impl Iterator<Item = PacketId> + use<'p> {
        let some = |id: PacketId| (id != PacketId::NONE).then_some(id);
        std::iter::successors(some(self.head[class.index()]), move |last| some(packets[*last].next))
    }

    #[inline]
    pub(crate) fn head(&self, class: FlowClass) -> Option<PacketId> {
        let id = self.head[class.index()];
        (id != PacketId::NONE).then_some(id)
    }

    /// The oldest packet, when only one class waits.
    #[inline(always)]
    pub(crate) fn only_head(&self) -> Option<PacketId> {
        // None is all ones: where two of the three are none, all of them together are the third.
        let waiting: u32 = self.head.iter().map(|id| u32::from(*id != PacketId::NONE)).sum();
        let [posted, non_posted, completion] = self.head.map(|id| id.0);
        (waiting == 1).then_some(PacketId(posted & non_posted & completion))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == [PacketId::NONE; 3]
    }

    /// Whether a request waits, posted or not.
    #[inline(always)]
    pub(crate) fn has_requests(&self) -> bool {
        self.head[..FlowClass::Completion.index()] != [PacketId::NONE; 2]
    }

    /// When something that waits here may leave, if anything does; not later than that.
    #[inline(always)]
    pub(crate) fn next_start(&self, packets: &PacketPool) -> Time {
        match self.only_head() {
            Some(id) => packets[id].eligible_at,
            None => self.start_of_several(),
        }
    }

    /// The same where several classes wait, or none.
    #[inline(always)]
    pub(crate) fn start_of_several(&self) -> Time {
        if self.is_empty() { Time::NEVER } else { Time::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::RouteEnd;
    use lanewise_pcie::tlp::Tlp;
    use lanewise_units::Bytes;

    fn write(length: u64) -> Packet {
        Packet::new(&Tlp::memory_write(0, Bytes::new(length)), RouteEnd::HOST, RouteEnd(1), Time::ZERO)
    }

    #[test]
    fn classes_queue_apart_and_in_order() {
        let mut pool = PacketPool::default();
        let mut queues = ClassQueues::default();
        let ids: Vec<PacketId> = (1..4).map(|length| pool.insert(write(length))).collect();
        let first: Vec<bool> = ids.iter().map(|id| queues.push(&mut pool, *id)).collect();
        assert_eq!(first, [true, false, false]);
        assert_eq!(queues.head(FlowClass::NonPosted), None);
        let popped: Vec<PacketId> = std::iter::from_fn(|| queues.pop(&pool, FlowClass::Posted)).collect();
        assert_eq!(popped, ids);
        assert!(queues.is_empty());
    }
}
