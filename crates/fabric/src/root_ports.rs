//! What root ports do with TLPs: hand them to memory, start reads, queue what goes out to devices.

use crate::event::Event;
use crate::fabric::Fabric;
use crate::packet::{ClassQueues, Flags, Packet, PacketId, PacketPool, RouteEnd};
use crate::port::{Port, PortId};
use crate::ring::Ring;
use crate::root_complex::InLine;
use crate::stack::WaitingRead;
use crate::unmade::Unmade;
use crate::wire::WireTiming;
use lanewise_observe::Cause;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};

/// Bits of the index of a stack in an event; the root complex has the other seventeen. A scenario has at most 1,024 slots in a
/// host, each with a stack of its own at most, and 32,768 in all.
pub(crate) const STACK_BITS: u32 = 12;

impl Fabric {
    #[inline]
    pub(crate) fn root_complex_takes(&mut self, index: u32, id: PortId, packet_id: PacketId, now: Time) {
        let packet = self.packets[packet_id];
        if packet.destination != RouteEnd::HOST {
            return self.forward_between_root_ports(index, id, packet_id, now);
        }
        if packet.flags.has(Flags::DAMAGED) && self.ecrc_fails(id, packet_id, now) {
            return;
        }
        let port = self.ports[id.index()].index;
        let root_complex = &mut self.root_complexes[index as usize];
        match packet.class() {
            FlowClass::Posted => {
                if root_complex.path.is_some() {
                    return self.write_remote(index, id, packet_id, now);
                }
                let free_at = root_complex.write(now, &packet, port);
                self.packets.remove(packet_id);
                self.drain(id, &packet, free_at);
                self.write_arrived(id, &packet, now);
            }
            FlowClass::NonPosted => {
                self.packets[packet_id].ingress = id.0;
                let stack = root_complex.stack_of(port);
                match root_complex.take_read(now, packet_id, stack) {
                    Some(read) => self.start_read(index, stack, read, now),
                    None => self.start_reads_of(index, stack),
                }
            }
            FlowClass::Completion => {
                self.packets.remove(packet_id);
                self.drain(id, &packet, now);
                if packet.flags.has(Flags::POISONED) {
                    self.poisoned_load(id);
                }
                if packet.flags.has(Flags::LAST) {
                    self.mmio_read_done(&packet);
                }
            }
        }
    }

    /// A posted write for memory that is not next to the root port, or whose address is translated.
    #[cold]
    #[inline(never)]
    fn write_remote(&mut self, index: u32, id: PortId, packet_id: PacketId, now: Time) {
        let packet = self.packets.remove(packet_id);
        let port = self.ports[id.index()].index;
        let free_at = self.root_complexes[index as usize].write_remote(now, &packet, port);
        self.drain(id, &packet, free_at);
        self.write_arrived(id, &packet, now);
    }

    /// Starts the reads of one stack that wait, as far as there are entries and room.
    #[inline]
    pub(crate) fn start_reads_of(&mut self, index: u32, stack: usize) {
        let now = self.engine.now();
        loop {
            let root_complex = &mut self.root_complexes[index as usize];
            let trackers = &mut root_complex.stacks[stack].trackers;
            if trackers.waiting.is_empty() {
                return;
            }
            if !trackers.has_room(now) {
                return self.look_for_an_entry(index, stack);
            }
            if !root_complex.has_room() {
                return; // The read that makes room starts the next.
            }
            self.start_oldest_read(index, stack, Cause::Entries, now);
        }
    }

    /// Starts reads of all stacks, those first that have waited longest: there may be room in the queue that they share.
    fn start_reads(&mut self, index: u32) {
        let now = self.engine.now();
        while self.root_complexes[index as usize].has_room() {
            let Some(stack) = self.root_complexes[index as usize].next_stack(now) else { break };
            self.start_oldest_read(index, stack, Cause::SharedQueue, now);
        }
        for stack in 0..self.root_complexes[index as usize].stacks.len() {
            let trackers = &mut self.root_complexes[index as usize].stacks[stack].trackers;
            if !trackers.waiting.is_empty() && !trackers.has_room(now) {
                self.look_for_an_entry(index, stack);
            }
        }
    }

    /// Starts the read of a stack that has waited longest, `after` what it waited for last, with an entry that is free.
    fn start_oldest_read(&mut self, index: u32, stack: usize, after: Cause, now: Time) {
        let root_complex = &mut self.root_complexes[index as usize];
        let waiting = &mut root_complex.stacks[stack].trackers.waiting;
        let mut read = waiting.pop_front().expect("asked for only where a read waits");
        if self.observers.are_heard() && read.since < now {
            self.tell_of_waiting_read(&read, after, now);
        }
        let outbound = &mut self.root_complexes[index as usize].outbound;
        if let (Cause::SharedQueue, Some(outbound)) = (after, outbound) {
            outbound.let_in(read.since, now);
            read.since = now; // It did not wait for an entry.
        }
        self.start_read(index, stack, read, now);
    }

    /// Starts a read with an entry of its stack that is free.
    #[inline]
    fn start_read(&mut self, index: u32, stack: usize, read: WaitingRead, now: Time) {
        let root_complex = &mut self.root_complexes[index as usize];
        let request = self.packets.remove(read.request);
        let is_data = !request.flags.has(Flags::TRANSLATION);
        if root_complex.errors.is_some() && is_data && !self.answers_now(index, &request) {
            return;
        }
        self.drain(PortId(request.ingress), &request, now);
        let queued_at = self.complete_read(index, &request);
        self.root_complexes[index as usize].stacks[stack].trackers.take(read.since, now, queued_at);
    }

    /// Has the root complex look at the reads that wait when the next entry is free.
    #[cold]
    #[inline(never)]
    fn look_for_an_entry(&mut self, index: u32, stack: usize) {
        let trackers = &mut self.root_complexes[index as usize].stacks[stack].trackers;
        if let Some(at) = trackers.next_free()
            && at < trackers.looks_at
        {
            trackers.looks_at = at;
            self.engine.schedule(at, Event::Entry(index << STACK_BITS | stack as u32).pack());
        }
    }

    /// An entry of a stack may be free.
    #[cold]
    pub(crate) fn on_entry(&mut self, packed: u32) {
        let (index, stack) = (packed >> STACK_BITS, packed & ((1 << STACK_BITS) - 1));
        let now = self.engine.now();
        let trackers = &mut self.root_complexes[index as usize].stacks[stack as usize].trackers;
        if trackers.looks_at <= now {
            trackers.looks_at = Time::NEVER;
        }
        self.start_reads_of(index, stack as usize);
    }

    /// Makes the completions of a read and queues them. Returns when the last of its data is there.
    ///
    /// A completion has its turn when its data are there, or as much earlier as the completions before it, of the same read,
    /// take on the wire: then they stay together, and none waits for data that are not there yet.
    #[inline(always)]
    pub(crate) fn complete_read(&mut self, index: u32, request: &Packet) -> Time {
        let now = self.engine.now();
        let ingress = &self.ports[PortId(request.ingress).index()];
        let (mps, egress, by_lines) =
            (ingress.settings.mps, ingress.index, self.leaves_by_lines(index, ingress));
        let root_complex = &mut self.root_complexes[index as usize];
        let config = &root_complex.config;
        let combines = config.combine_long_reads || u64::from(request.length) <= mps.get();
        let most = if by_lines || !combines { config.rcb } else { config.completion_combine_max.min(mps) };
        let at_rates = root_complex.read_at_rates(now, request, egress, most);
        let id = PortId(request.ingress);
        if let Some((last, first, unmade)) = &at_rates
            && !by_lines
            && self.first_stands_for_all(index, id, first, unmade.as_ref())
        {
            self.queue_first(index, egress, id, first, *unmade);
            return *last;
        }
        let mut completions = std::mem::take(&mut self.scratch);
        let last = match at_rates {
            Some((last, first, unmade)) => {
                completions.extend(Unmade::all(first, unmade).map(|packet| self.packets.insert(packet)));
                last
            }
            None => {
                let root_complex = &mut self.root_complexes[index as usize];
                root_complex.read(now, request, egress, most, &mut self.packets, &mut completions)
            }
        };
        let root_complex = &self.root_complexes[index as usize];
        if root_complex.errors.is_some() && !request.flags.has(Flags::TRANSLATION) {
            self.inject_into_completions(index, &completions);
        }
        self.queue_completions(index, egress, id, &mut completions);
        self.scratch = completions;
        last
    }

    /// Whether the first completion of a read, `first`, may stand in the queue of its root port, `id`, for those behind it, until
    /// it has left: if all have their turn together, nothing else is done to them, and nobody wants to be told of each.
    #[inline]
    fn first_stands_for_all(&self, index: u32, id: PortId, first: &Packet, unmade: Option<&Unmade>) -> bool {
        let (root_complex, port) = (&self.root_complexes[index as usize], &self.ports[id.index()]);
        root_complex.errors.is_none()
            && root_complex.outbound.is_none()
            && !port.more_channels()
            && !self.observers.are_heard()
            && unmade.is_none_or(|unmade| unmade.follow_at_once(first, &port.settings.wire))
    }

    /// Queues the first completion of a read at its root port, `id`, for those behind it as well.
    #[inline]
    fn queue_first(&mut self, index: u32, egress: u16, id: PortId, first: &Packet, unmade: Option<Unmade>) {
        let root_complex = &mut self.root_complexes[index as usize];
        let turn = first.eligible_at;
        let unmade = unmade.map_or(InLine::NONE, |unmade| root_complex.unmade.insert(unmade));
        let place = InLine { turn, packet: self.packets.insert(*first), unmade };
        let ready = &mut root_complex.ready[usize::from(egress)];
        if stand_in_line(ready, &mut self.ports[id.index()].queues, &mut self.packets, place) {
            self.offer(id, turn);
        }
    }

    /// Whether lines of reads wait for places in the queue of this root port.
    #[inline(always)]
    pub(crate) fn leaves_by_lines(&self, index: u32, port: &Port) -> bool {
        !self.root_complexes[index as usize].lines.is_empty() && !port.more_channels()
    }

    /// Whether a packet for this root port waits for a place among lines: completions of peers do, in their turn.
    #[cold]
    fn takes_place(&self, index: u32, id: PortId, packet_id: PacketId) -> bool {
        self.packets[packet_id].class() == FlowClass::Completion
            && self.leaves_by_lines(index, &self.ports[id.index()])
    }

    /// Queues the completions of one read at its root port, `id`.
    #[inline(always)]
    fn queue_completions(&mut self, index: u32, egress: u16, id: PortId, completions: &mut Vec<PacketId>) {
        let root_complex = &self.root_complexes[index as usize];
        let (mut turn, mut sent) = (Time::ZERO, Span::ZERO);
        let mut take_turn = |packet: &Packet, wire: &WireTiming| {
            turn = turn.max(Time::from_ticks(packet.eligible_at.ticks().saturating_sub(sent.ticks())));
            sent += wire.framed_span(packet.cost.tlp());
            turn
        };
        if self.leaves_by_lines(index, &self.ports[id.index()]) {
            let wire = &self.ports[id.index()].settings.wire;
            let lines = &mut self.root_complexes[index as usize].lines[usize::from(egress)];
            for line in completions.drain(..) {
                lines.add(take_turn(&self.packets[line], wire), line);
            }
            return self.take_places(index, egress, id);
        }
        if root_complex.outbound.is_some() || self.ports[id.index()].more_channels() {
            for completion in completions.drain(..) {
                let wire = &self.ports[id.index()].settings.wire;
                let turn = take_turn(&self.packets[completion], wire);
                self.queue_at_root_port(index, egress, completion, turn);
            }
            return;
        }
        if self.observers.are_heard() {
            self.tell_of_all_queued(id, completions);
        }
        let ready = &mut self.root_complexes[index as usize].ready[usize::from(egress)];
        let port = &mut self.ports[id.index()];
        let mut first = None;
        for completion in completions.drain(..) {
            let turn = take_turn(&self.packets[completion], &port.settings.wire);
            let place = InLine { turn, packet: completion, unmade: InLine::NONE };
            if stand_in_line(ready, &mut port.queues, &mut self.packets, place) {
                first = Some(self.packets[completion].eligible_at);
            }
        }
        if let Some(at) = first {
            self.offer(id, at);
        }
    }

    /// Queues a packet for a root port: in its own queue, or in the one that all root ports share. A completion has its `turn`
    /// among others; of all other packets it means nothing.
    #[inline]
    pub(crate) fn queue_at_root_port(&mut self, index: u32, egress: u16, packet_id: PacketId, turn: Time) {
        let root_complex = &mut self.root_complexes[index as usize];
        if let Some(outbound) = &mut root_complex.outbound {
            outbound.join(self.engine.now(), egress, packet_id);
            self.stage_outbound(index);
            return;
        }
        let id = root_complex.ports[usize::from(egress)];
        if !root_complex.lines.is_empty() && self.takes_place(index, id, packet_id) {
            self.root_complexes[index as usize].lines[usize::from(egress)].add(turn, packet_id);
            self.take_places(index, egress, id);
        } else if self.stand_in_line(index, egress, packet_id, turn) {
            let at = self.packets[packet_id].eligible_at;
            self.offer(id, at);
        }
    }

    /// Puts a packet into the queue of a root port: a completion in the order in which data are there, whatever request they
    /// belong to (PCIe Base 6.3 §2.4.1, Table 2-42: completions of different requests may pass each other); all else in the order
    /// in which it comes. True when it is the first of its class.
    #[inline(always)]
    pub(crate) fn stand_in_line(&mut self, index: u32, egress: u16, packet_id: PacketId, turn: Time) -> bool {
        let id = self.root_complexes[index as usize].ports[usize::from(egress)];
        if self.observers.are_heard() {
            self.tell_of_queued(id, packet_id);
        }
        let root_complex = &mut self.root_complexes[index as usize];
        let port = &mut self.ports[id.index()];
        if self.packets[packet_id].class() != FlowClass::Completion {
            return port.queue(&mut self.packets, packet_id);
        }
        if port.more_channels() {
            return port.queue_when_ready(&mut self.packets, packet_id);
        }
        let ready = &mut root_complex.ready[usize::from(egress)];
        let place = InLine { turn, packet: packet_id, unmade: InLine::NONE };
        stand_in_line(ready, &mut port.queues, &mut self.packets, place)
    }

    /// Moves packets from the head of the shared outbound queue to their root ports, until the head has to wait:
    /// then everything behind it waits too, whichever root port it is for.
    pub(crate) fn stage_outbound(&mut self, index: u32) {
        let now = self.engine.now();
        loop {
            let root_complex = &mut self.root_complexes[index as usize];
            let Some(outbound) = &mut root_complex.outbound else { break };
            let Some((egress, packet_id)) = outbound.head() else { break };
            if !outbound.stage_head(now, self.packets[packet_id].class(), &root_complex.config) {
                break;
            }
            let id = root_complex.ports[usize::from(egress)];
            let at = self.packets[packet_id].eligible_at;
            self.stand_in_line(index, egress, packet_id, at);
            self.ports[id.index()].blocked_until = Time::ZERO;
            self.wake(id, at);
        }
    }

    /// A packet has left a root port: its place in the shared queue is free.
    #[inline]
    pub(crate) fn left_root_port(&mut self, index: u32, id: PortId, packet: &Packet) {
        let port = &mut self.ports[id.index()];
        let (egress, in_line) = (usize::from(port.index), !port.more_channels());
        let root_complex = &mut self.root_complexes[index as usize];
        let is_completion = packet.class() == FlowClass::Completion;
        port.requests_turn = is_completion && root_complex.outbound.is_none();
        if is_completion && in_line {
            let place = root_complex.ready[egress].front_mut().expect("it stood in line");
            if place.unmade != InLine::NONE {
                let (next, is_last) = root_complex.unmade.get_mut(place.unmade).make(packet);
                if is_last {
                    root_complex.unmade.take(place.unmade);
                    place.unmade = InLine::NONE;
                }
                place.packet = self.packets.insert(next);
                let queues = &mut self.ports[id.index()].queues;
                return queues.put_first(&mut self.packets, place.packet, packet.order);
            }
            root_complex.ready[egress].drop_front();
            if root_complex.lines.get(egress).is_some_and(|lines| !lines.is_empty()) {
                return self.take_places(index, egress as u16, id);
            }
        }
        if let Some(outbound) = &mut root_complex.outbound {
            outbound.left(egress, root_complex.config.staging(packet.class()).0);
            self.stage_outbound(index);
            self.start_reads(index);
        }
    }
}

/// Puts a completion into the queue of a root port by its turn, and notes that in `ready`. True when it is the first.
#[inline(always)]
fn stand_in_line(
    ready: &mut Ring<InLine>,
    queues: &mut ClassQueues,
    packets: &mut PacketPool,
    place: InLine,
) -> bool {
    let InLine { turn, packet, .. } = place;
    if ready.back().is_none_or(|last| last.turn <= turn) {
        ready.push_back(place);
        return queues.push(packets, packet);
    }
    let before = ready.push_before(place, |other| other.turn > turn).map(|before| before.packet);
    queues.insert_behind(packets, before, packet)
}
