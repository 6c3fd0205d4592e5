//! A root port's queue of completions with a number of places, where the host has one: which lines of memory leave together.
//!
//! Lines (as much as the Read Completion Boundary) come from memory one by one. One that finds a place in the queue leaves as a
//! packet of its own. Those that come while all places are taken wait; when a place is free, those of them that follow each other
//! in one read and in one block of the largest completion take it together. So reads of few lines leave line by line, and many
//! lines at once leave in large packets. Without such a queue a root complex joins whatever it may (`root_complex.rs`).
//!
//! Completions of peers take places in their turn, as they are. Left out: ports with several virtual channels and queues that root
//! ports share, which join whatever they may; lines of an IDE stream are sealed one by one and not joined.

use crate::errors::Watch;
use crate::fabric::Fabric;
use crate::packet::{Flags, Packet, PacketId};
use crate::port::PortId;
use crate::ring::Ring;
use lanewise_units::{Bytes, Time};

/// Lines that have no place yet, of one root port.
pub(crate) struct Lines {
    /// With their turns, in that order.
    waiting: Ring<(Time, PacketId)>,
    /// When the port looks next whether the first is there.
    looks_at: Time,
}

impl Default for Lines {
    fn default() -> Self {
        Self { waiting: Ring::default(), looks_at: Time::NEVER }
    }
}

impl Lines {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Puts a line behind those whose turn is not later.
    pub(crate) fn add(&mut self, turn: Time, line: PacketId) {
        self.waiting.push_before((turn, line), |(other, _)| *other > turn);
    }

    /// Those that wait, in the order of their turns.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = PacketId> {
        self.waiting.iter().map(|(_, line)| *line)
    }

    fn first(&self) -> Option<PacketId> {
        self.waiting.front().map(|(_, line)| *line)
    }
}

/// Whether a packet is a line of memory, and not a completion that a peer has sent.
fn is_line(packet: &Packet) -> bool {
    packet.ingress == Packet::ORIGINATED && !packet.flags.has(Flags::PIECE)
}

/// Whether a line follows `before` in its read, in the same block of so many bytes.
fn follows(line: &Packet, before: &Packet, block: Bytes) -> bool {
    let end = before.address + u64::from(before.length);
    let of_read = |packet: &Packet| (packet.requester, packet.context, packet.read);
    is_line(line)
        && line.address == end
        && line.address / block.get() == before.address / block.get()
        && of_read(line) == of_read(before)
        && line.flags.without(Flags::LAST) == before.flags
}

impl Fabric {
    /// Lines take the places that are free in the queue of a root port, `id`, as far as their data are there.
    pub(crate) fn take_places(&mut self, index: u32, egress: u16, id: PortId) {
        let now = self.engine.now();
        let block = self.ports[id.index()].settings.mps;
        loop {
            let root_complex = &mut self.root_complexes[index as usize];
            let (places, block) = root_complex.completion_queue(block);
            let lines = &mut root_complex.lines[usize::from(egress)];
            let Some(first) = lines.first() else { return };
            if root_complex.ready[usize::from(egress)].len() >= places {
                return; // The packet that leaves next makes room.
            }
            let ready_at = self.packets[first].eligible_at;
            if ready_at > now {
                if ready_at < lines.looks_at {
                    lines.looks_at = ready_at;
                    self.watch_at(ready_at, Watch::Lines { root_complex: index, port: egress });
                }
                return;
            }
            lines.waiting.drop_front();
            if ready_at < now && self.may_be_joined(index, first) {
                self.join_lines(index, egress, (first, block));
            }
            if self.stand_in_line(index, egress, first, now) {
                self.offer(id, now);
            }
        }
    }

    fn may_be_joined(&self, index: u32, line: PacketId) -> bool {
        let line = &self.packets[line];
        let path = self.root_complexes[index as usize].path.as_ref();
        is_line(line) && path.is_none_or(|path| !path.ide.has(line.destination))
    }

    /// Joins to a line that has waited for a place those behind it that have, too.
    fn join_lines(&mut self, index: u32, egress: u16, (first, block): (PacketId, Bytes)) {
        let now = self.engine.now();
        let lines = &mut self.root_complexes[index as usize].lines[usize::from(egress)];
        while let Some(next) = lines.first() {
            let (line, joined) = (self.packets[next], &mut self.packets[first]);
            if line.eligible_at > now || !follows(&line, joined, block) {
                return;
            }
            joined.carry(joined.address, joined.payload() + line.payload());
            (joined.flags, joined.eligible_at) = (line.flags, joined.eligible_at.max(line.eligible_at));
            self.packets.remove(next);
            lines.waiting.drop_front();
        }
    }

    /// Data of a line may be there.
    #[cold]
    pub(crate) fn look_for_lines(&mut self, index: u32, egress: u16) {
        let root_complex = &mut self.root_complexes[index as usize];
        let id = root_complex.ports[usize::from(egress)];
        let lines = &mut root_complex.lines[usize::from(egress)];
        if lines.looks_at <= self.engine.now() {
            lines.looks_at = Time::NEVER;
        }
        self.take_places(index, egress, id);
    }
}
