//! The memory of a switch that writes every packet to it and reads it again: one transfer at a time, as they come.
//!
//! Left out: banks, a width that packets do not fill, and reads that go before writes.

use crate::packet::{Packet, PacketId};
use crate::server::{Book, Server};
use lanewise_units::{Bytes, Rate, Time};

/// What all ports of a switch share.
pub(crate) struct SharedMemory {
    transfers: Server,
    /// By packet, from when on it might leave if it had not to be written first.
    ready_at: Vec<Time>,
}

impl SharedMemory {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { transfers: Server::new(rate), ready_at: Vec::new() }
    }

    /// Writes a packet: it may leave when it is in. Returns when it might have left otherwise.
    pub(crate) fn write(&mut self, id: PacketId, packet: &mut Packet) -> Time {
        let (ready, slot) = (packet.eligible_at, id.index());
        if self.ready_at.len() <= slot {
            self.ready_at.resize(slot + 1, Time::NEVER);
        }
        self.ready_at[slot] = ready;
        packet.eligible_at = self.transfers.serve(ready, packet.cost.tlp());
        ready
    }

    /// A packet that was written would not have left before `at`, either.
    pub(crate) fn not_before(&mut self, id: PacketId, at: Time) {
        let ready_at = &mut self.ready_at[id.index()];
        *ready_at = (*ready_at).max(at);
    }

    /// Reads a packet that leaves from `now` on.
    pub(crate) fn read(&mut self, bytes: Bytes, now: Time) {
        self.transfers.serve(now, bytes);
    }

    /// What it has done up to `at`.
    pub(crate) fn book_at(&self, at: Time) -> Book {
        self.transfers.book_at(at)
    }

    /// From when on a packet that was written might have left otherwise.
    pub(crate) fn ready_at(&self, id: PacketId) -> Time {
        self.ready_at[id.index()]
    }

    /// Heap memory, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.ready_at)
    }
}
