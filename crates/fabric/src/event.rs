//! What can happen at a point in time, in four bytes, and the order of what happens at one instant.
//!
//! What comes in is first, by kind and then by the number of its direction, device or stack: TLPs that arrive, entries of stacks and
//! whatever else devices wait for, replay timers, timers of workloads. Workloads are told of it at once. Then ports decide what they
//! send, in the order of their numbers, which follow from the paths of their devices. Nothing depends on what was scheduled when; only
//! timers of one instant come in the order in which they were set.

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
    /// Something that may have gone wrong is looked at.
    Watch(u32),
    /// An entry that keeps track of reads may be free: root complex and stack.
    Entry(u32),
}

/// An event in four bytes: the event queue's entries decide how much fits a cache line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PackedEvent(u32);

const INDEX_BITS: u32 = 29;
const INDEX: u32 = (1 << INDEX_BITS) - 1;
const WATCH: u32 = 3;
const TIMER: u32 = 5;

impl Event {
    #[inline]
    pub(crate) fn pack(self) -> PackedEvent {
        let (kind, index) = match self {
            Self::Wake(port) => (0, port.0),
            Self::Arrival(port) => (1, port.0),
            Self::Entry(index) => (2, index),
            Self::Watch(index) => (WATCH, index),
            Self::ReplayTimer(port) => (4, port.0),
            Self::Timer(index) => (TIMER, index),
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
            4 => Event::ReplayTimer(PortId(index)),
            _ => Event::Timer(index),
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
