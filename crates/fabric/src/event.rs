//! What can happen at a point in time, in four bytes.

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

impl Event {
    #[inline]
    pub(crate) fn pack(self) -> PackedEvent {
        let (kind, index) = match self {
            Self::Wake(port) => (0, port.0),
            Self::Arrival(port) => (1, port.0),
            Self::ReplayTimer(port) => (2, port.0),
            Self::Timer(index) => (3, index),
            Self::Watch(index) => (4, index),
            Self::Entry(index) => (5, index),
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
        let index = self.0 & ((1 << INDEX_BITS) - 1);
        match self.0 >> INDEX_BITS {
            0 => Event::Wake(PortId(index)),
            1 => Event::Arrival(PortId(index)),
            2 => Event::ReplayTimer(PortId(index)),
            3 => Event::Timer(index),
            4 => Event::Watch(index),
            _ => Event::Entry(index),
        }
    }
}
