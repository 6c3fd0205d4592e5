//! The queue that all root ports of a root complex share for what they send to devices, where it has one.
//!
//! Packets leave it in the order in which they came, each for the few places of its own root port. When the head has to wait for
//! one, everything behind it waits too, whichever root port it is for. A read starts only while a place is free, and then all of
//! its completions join: so the queue may hold more than it has places for, which counts as full.

use crate::config::RootComplexConfig;
use crate::packet::PacketId;
use crate::server::{Book, Level};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{SpanSum, Time};
use std::collections::VecDeque;

/// One shared queue, and what each root port has taken over from it.
pub(crate) struct OutboundQueue {
    places: u32,
    /// Index of the root port, and packet.
    waiting: VecDeque<(u16, PacketId)>,
    /// By root port, packets that have left the queue and not the port: of each kind that is counted apart.
    staged: Vec<[u32; 2]>,
    /// Places taken.
    taken: Level,
    /// Time that reads waited for a place.
    waited: SpanSum,
    /// Packets that have joined.
    joined: u64,
}

impl OutboundQueue {
    /// The queue of a root complex with so many root ports; none where each port has a queue of its own.
    pub(crate) fn new(config: &RootComplexConfig, ports: usize) -> Option<Box<Self>> {
        let places = config.shared_outbound_queue?;
        Some(Box::new(Self {
            places,
            waiting: VecDeque::new(),
            staged: vec![[0; 2]; ports],
            taken: Level::default(),
            waited: SpanSum::default(),
            joined: 0,
        }))
    }

    /// Places.
    pub(crate) fn places(&self) -> u32 {
        self.places
    }

    /// Whether a read may start.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.len() < self.places as usize
    }

    /// A read that came at `since` starts now that there is room.
    pub(crate) fn let_in(&mut self, since: Time, now: Time) {
        self.waited += now - since;
    }

    /// A packet for a root port joins the end.
    pub(crate) fn join(&mut self, now: Time, port: u16, packet: PacketId) {
        self.waiting.push_back((port, packet));
        self.joined += 1;
        self.count(now);
    }

    /// Root ports and packets, in the order in which they came.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u16, PacketId)> {
        self.waiting.iter().copied()
    }

    /// The root port and the packet at the head.
    pub(crate) fn head(&self) -> Option<(u16, PacketId)> {
        self.waiting.front().copied()
    }

    /// The head, of this class, goes to its root port if that has a place for it. Returns whether it does.
    pub(crate) fn stage_head(&mut self, now: Time, class: FlowClass, config: &RootComplexConfig) -> bool {
        let Some((port, _)) = self.head() else { return false };
        let (kind, most) = config.staging(class);
        let staged = &mut self.staged[usize::from(port)][kind];
        if *staged >= most {
            return false;
        }
        *staged += 1;
        self.waiting.pop_front();
        self.count(now);
        true
    }

    /// A packet of a kind ([`RootComplexConfig::staging`]) has left its root port.
    pub(crate) fn left(&mut self, port: usize, kind: usize) {
        self.staged[port][kind] -= 1;
    }

    /// What the places have done up to `at`.
    pub(crate) fn book_at(&self, at: Time) -> Book {
        Book { busy: self.taken.area_at(at), waited: self.waited, served: self.joined }
    }

    /// Whether nothing is in the queue or at a root port.
    pub(crate) fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.staged.iter().all(|staged| *staged == [0; 2])
    }

    fn count(&mut self, now: Time) {
        self.taken.set(self.waiting.len().min(self.places as usize) as u64, now);
    }
}
