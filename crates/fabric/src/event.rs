//! What can happen at a point in time, in four bytes, and the order of what happens at one instant.
//!
//! What comes in is first, by kind and then by the number of its direction, device or stack: TLPs that arrive, entries of stacks and
//! whatever else devices wait for, flits of CXL.mem, replay timers, timers of workloads. Workloads are told of it at once. Then directions
//! of CXL.mem and ports decide what they send, in the order of their numbers, which follow from the paths of their devices. Nothing depends
//! on what was scheduled when; only timers, and watches, of one instant come in the order in which they were set.

use crate::cxl::{CxlStep, Place};
use crate::port::PortId;

/// What can happen at a point in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A port looks at its wire.
    Wake(PortId),
    /// The oldest TLP on its way to a port is acted on.
    Arrival(PortId),
    /// The replay timer of a port may have run out.
    ReplayTimer(PortId),
    /// A timer of a workload.
    Timer(u32),
    /// Something that was put off: its place in the table of these.
    Watch(u32),
    /// Something comes to an end of a direction of CXL.mem.
    Cxl(CxlStep),
    /// A direction of CXL.mem may send its next flit.
    CxlSend(Place),
    /// An entry that keeps track of reads may be free: root complex and stack.
    Entry(u32),
}

/// An event in four bytes: the event queue's entries decide how much fits a cache line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PackedEvent(u32);

const INDEX_BITS: u32 = 29;
const INDEX: u32 = (1 << INDEX_BITS) - 1;
const WATCH: u32 = 3;
const CXL: u32 = 4;
const TIMER: u32 = 6;
const CXL_SEND: u32 = 7;

impl Event {
    #[inline]
    pub(crate) fn pack(self) -> PackedEvent {
        let (kind, index) = match self {
            Self::Wake(port) => (0, port.0),
            Self::Arrival(port) => (1, port.0),
            Self::Entry(index) => (2, index),
            Self::Watch(index) => (WATCH, index),
            Self::Cxl(step) => (CXL, step.number()),
            Self::ReplayTimer(port) => (5, port.0),
            Self::Timer(index) => (TIMER, index),
            Self::CxlSend(place) => (CXL_SEND, place.number()),
        };
        debug_assert!(index < 1 << INDEX_BITS);
        PackedEvent(kind << INDEX_BITS | index)
    }
}

impl PackedEvent {
    /// The port that it wakes, if that is what it is: nearly all are.
    #[inline(always)]
    pub(crate) fn as_wake(self) -> Option<PortId> {
        (self.0 < 1 << INDEX_BITS).then_some(PortId(self.0))
    }

    #[inline]
    pub(crate) fn unpack(self) -> Event {
        let index = self.0 & INDEX;
        match self.0 >> INDEX_BITS {
            0 => Event::Wake(PortId(index)),
            1 => Event::Arrival(PortId(index)),
            2 => Event::Entry(index),
            WATCH => Event::Watch(index),
            CXL => Event::Cxl(CxlStep::of(index)),
            5 => Event::ReplayTimer(PortId(index)),
            TIMER => Event::Timer(index),
            _ => Event::CxlSend(Place::of(index)),
        }
    }
}

impl lanewise_engine::Event for PackedEvent {
    /// Kind and number; of timers and watches, whose numbers are places in a table, only the kind. Decisions of ports, which are kind 0
    /// because most events are, come last.
    #[inline(always)]
    fn rank(self) -> u32 {
        let placed = match self.0 >> INDEX_BITS {
            WATCH | TIMER => self.0 & !INDEX,
            _ => self.0,
        };
        placed.wrapping_sub(1 << INDEX_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_cxl::message::{Class, Way};
    use lanewise_engine::Event as _;

    /// What comes in by kind, then by number; then what directions of CXL.mem send, and what ports send.
    #[test]
    fn decisions_come_after_what_comes_in() {
        let [m2s, s2m] = Way::ALL.map(|way| Place { link: 300, way });
        let later = Place { link: 301, way: Way::M2s };
        let in_order = [
            Event::Arrival(PortId(9)),
            Event::Entry(8),
            Event::Watch(7),
            Event::Cxl(CxlStep::Flush(m2s)),
            Event::Cxl(CxlStep::Flush(later)),
            Event::Cxl(CxlStep::Arrive(m2s)),
            Event::Cxl(CxlStep::Arrive(s2m)),
            Event::Cxl(CxlStep::Arrive(later)),
            Event::Cxl(CxlStep::Served(m2s, Class::Plain)),
            Event::Cxl(CxlStep::Served(m2s, Class::Data)),
            Event::ReplayTimer(PortId(6)),
            Event::Timer(5),
            Event::CxlSend(m2s),
            Event::CxlSend(s2m),
            Event::CxlSend(later),
            Event::Wake(PortId(0)),
        ];
        let packed = in_order.map(Event::pack);
        assert_eq!(packed.map(PackedEvent::unpack), in_order);
        assert!(packed.is_sorted_by(|one, next| one.rank() < next.rank()));
    }

    /// Numbers of timers and watches are places in a table, and say nothing.
    #[test]
    fn timers_of_one_instant_are_alike() {
        assert_eq!(Event::Timer(1).pack().rank(), Event::Timer(2).pack().rank());
        assert_eq!(Event::Watch(1).pack().rank(), Event::Watch(2).pack().rank());
    }
}
