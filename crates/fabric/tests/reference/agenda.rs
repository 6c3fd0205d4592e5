//! What will happen, in order: a binary heap, and nothing is ever taken out of it early.
//!
//! The order at one instant is (rank, number of the direction or stack, order of scheduling). The ranks are the rules of one instant; the
//! head of `main.rs` lists them.

use super::flits::FlitArrival;
use super::port::Dllp;
use super::tlp::{Arrival, Credits};
use lanewise_units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Something that happens at a time.
#[derive(Clone, Debug)]
pub enum Event {
    /// Buffer space of a class on a channel of a port is free.
    Freed { port: usize, channel: usize, class: usize, credits: Credits },
    /// A good DLLP is at a port, and checked.
    DllpArrives { port: usize, dllp: Dllp, life: u32 },
    /// A TLP that a switch took in before has been checked.
    Checked { port: usize },
    /// A TLP that came before has been checked, and is dropped: an Ack is due.
    DuplicateChecked { port: usize },
    /// A SKP ordered set falls due.
    SkipDue { port: usize },
    /// A DLLP may be due, or the wire may be free for one.
    DllpDue { port: usize },
    /// A TLP is taken in.
    Arrives { port: usize, arrival: Box<Arrival> },
    /// A flit has been checked.
    FlitArrives { port: usize, arrival: Box<FlitArrival> },
    /// The next TLP of a flit that was accepted at this instant is acted on.
    TakeFromFlit { port: usize },
    /// A port looks for a TLP to send.
    Look { port: usize },
    /// The replay timer may have run out.
    ReplayTimer { port: usize },
    /// A tracking entry of a stack is free.
    Entry { device: usize, stack: usize },
    /// The data of a read can be used, so its tag is free.
    TagFree { device: usize, read: usize },
    /// A device is asked for a transfer.
    Asked { step: usize },
    /// A device is taken away or brought back.
    Plug { plug: usize },
}

/// Places in the order of one instant.
pub mod rank {
    pub const FACTS: u8 = 0;
    pub const DLLPS: u8 = 1;
    pub const SWITCH_TAKES: u8 = 2;
    pub const ARRIVALS: u8 = 3;
    pub const ENTRIES: u8 = 4;
    pub const TAGS: u8 = 5;
    pub const REPLAY_TIMERS: u8 = 6;
    pub const ASKED: u8 = 7;
    pub const LOOKS: u8 = 8;
}

impl Event {
    /// Among events of its rank: the number of its direction or stack, where it has one.
    fn place(&self) -> (usize, usize) {
        match self {
            Self::Arrives { port, .. } | Self::FlitArrives { port, .. } => (*port, 0),
            Self::TakeFromFlit { port } | Self::Look { port } | Self::ReplayTimer { port } => (*port, 0),
            Self::Entry { device, stack } => (*device, *stack),
            _ => (0, 0),
        }
    }
}

struct Entry {
    key: (Time, u8, (usize, usize), u64),
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// Everything that will happen.
#[derive(Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<Entry>>,
    scheduled: u64,
    /// Looks that will happen: a port looks once for all that ask it to.
    looks: BTreeSet<(Time, usize)>,
}

impl Agenda {
    /// Puts an event at a time, behind those of its rank and place.
    pub fn add(&mut self, at: Time, rank: u8, event: Event) {
        if let Event::Look { port } = event
            && !self.looks.insert((at, port))
        {
            return;
        }
        self.scheduled += 1;
        self.heap.push(Reverse(Entry { key: (at, rank, event.place(), self.scheduled), event }));
    }

    /// Whether something will happen of which this is so.
    pub fn holds(&self, is_so: impl Fn(&Event) -> bool) -> bool {
        self.heap.iter().any(|Reverse(entry)| is_so(&entry.event))
    }

    /// The next event, if it is not later than `limit`.
    pub fn next(&mut self, limit: Time) -> Option<(Time, Event)> {
        if self.heap.peek()?.0.key.0 > limit {
            return None;
        }
        let Reverse(Entry { key: (at, ..), event }) = self.heap.pop()?;
        if let Event::Look { port } = event {
            self.looks.remove(&(at, port));
        }
        Some((at, event))
    }
}
