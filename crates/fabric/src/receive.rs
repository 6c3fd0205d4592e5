//! What a port does with a TLP that arrives: check, acknowledge, account credits, hand over to the device.

use crate::alarms::Alarms;
use crate::books::Books;
use crate::endpoint::wants_notice;
use crate::errors::Watch;
use crate::fabric::Fabric;
use crate::link::{DllpSet, Fate, LinkState, Outcome, Space};
use crate::packet::{Flags, Packet, PacketId};
use crate::port::{Carries, Flying, Owner, Port, PortId};
use crate::root_complex;
use crate::workload::{Notify, WorkloadEvent};
use lanewise_observe::Fact;
use lanewise_pcie::flow_control::Overflow;
use lanewise_pcie::splitting;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Span, Time};

impl Fabric {
    /// The oldest TLP on its way to `id` is acted on.
    #[inline(always)]
    pub(crate) fn on_arrival(&mut self, id: PortId) {
        let now = self.engine.now();
        self.advance_to(id, now);
        let port = &mut self.ports[id.index()];
        if !port.is_plain() && self.arrives_specially(id) {
            return;
        }
        let port = &mut self.ports[id.index()];
        let mut books = Books { port: id, observers: &mut self.observers };
        let arrived = port.receiver.take_next();
        match port.receiver.receive(&arrived, now, &port.settings.receiver.ack, &mut books) {
            Outcome::Accepted => self.deliver(id, &arrived, now),
            Outcome::Duplicate if arrived.checked > now => {
                self.watch_at(arrived.checked, Watch::DuplicateChecked(id));
            }
            Outcome::Duplicate => self.drop_duplicate(id, now),
            Outcome::Nullified => return self.drop_nullified(&arrived),
            Outcome::Refused => {
                // The header said whether it was the next one: others are not forwarded.
                if now < arrived.checked
                    && arrived.sequence == self.ports[id.index()].receiver.sequence().next_expected()
                {
                    self.forward_damaged(id, &arrived, now);
                }
                self.wake(id, arrived.checked);
            }
            Outcome::RefusedAgain => {}
            Outcome::Overflow(overflow) => overflows(id, now, &arrived, overflow),
        }
        if arrived.fate == Fate::Misframed {
            // A framing error of 128b/130b: PCIe Base 6.3 §4.2.2.3.4.
            self.retrain(id, now);
        }
    }

    /// Acts on an arrival other than that of a TLP; false if it is one.
    #[inline(never)]
    fn arrives_specially(&mut self, id: PortId) -> bool {
        match self.ports[id.index()].carries {
            Carries::Packets | Carries::Channels => return false,
            Carries::Flits => self.on_flit(id),
            Carries::Messages => self.on_arrival_elsewhere(id),
        }
        true
    }

    /// The oldest TLP on its way to `id` arrived at `at`. It waits in the switch's queues already; on a link where
    /// nothing can go wrong it is accepted, or a duplicate, or was nullified before.
    #[inline(always)]
    pub(crate) fn take_delivered_ahead(&mut self, id: PortId, at: Time) {
        let port = &mut self.ports[id.index()];
        let mut books = Books { port: id, observers: &mut self.observers };
        let arrived = port.receiver.take_next_ahead();
        match port.receiver.receive(&arrived, at, &port.settings.receiver.ack, &mut books) {
            Outcome::Accepted => {}
            Outcome::Duplicate => self.drop_duplicate(id, at),
            Outcome::Nullified => self.drop_nullified(&arrived),
            Outcome::Overflow(overflow) => overflows(id, at, &arrived, overflow),
            Outcome::Refused | Outcome::RefusedAgain => {
                panic!("{at:?}: port {} refuses {:?}, delivered ahead", id.0, arrived.sequence)
            }
        }
    }

    /// A TLP that came before has been checked, and is dropped. A cut-through switch that took it in before that did not look at it.
    pub(crate) fn duplicate_checked(&mut self, id: PortId) {
        let now = self.engine.now();
        self.advance_to(id, now);
        self.drop_duplicate(id, now);
    }

    fn drop_duplicate(&mut self, id: PortId, at: Time) {
        self.ports[id.index()].receiver.drop_duplicate(at);
        self.wake(id, self.ports[id.index()].receiver.ack_at());
    }

    /// Makes sure that what the peer waits for is not overlooked, after something that may have brought it forward.
    #[inline(always)]
    pub(crate) fn schedule_peer_wake(&mut self, id: PortId) {
        if !self.ports[id.index()].peer_waits_for.is_none() {
            self.plan_peer_wake(id);
        }
    }

    /// The peer wakes when it may have what it waits for, and has this port catch up then: nothing else needs an event. Where DLLPs
    /// may be lost, or the link may sleep, this port wakes to send it.
    #[inline(never)]
    pub(crate) fn plan_peer_wake(&mut self, id: PortId) {
        let port = &self.ports[id.index()];
        let mut at = port.next_awaited_at();
        if port.peer_waits_for == DllpSet::ALL && self.peer_initialises(port) {
            at = at.min(port.receiver.acts_at());
        }
        if at == Time::NEVER {
            return;
        }
        if !port.error_free_non_flit || port.sleeps {
            return self.wake(id, at.max(port.free_for_dllps_at()));
        }
        if port.wake_at > at {
            let (peer_id, at_pins) = (port.peer, port.awaited_at_pins(at));
            let peer = &mut self.ports[peer_id.index()];
            let arrival = at_pins + peer.settings.receive_latency;
            Alarms { engine: &mut self.engine, ready: &mut self.ready }.wake(peer, peer_id, arrival);
        }
    }

    /// Whether this end is up and the other not quite: there any UpdateFC ends the initialisation, also one that repeats what is known.
    #[cold]
    fn peer_initialises(&self, port: &Port) -> bool {
        let peer = &self.ports[port.peer.index()].transmitter;
        port.transmitter.state == LinkState::Active && peer.state == LinkState::InitFlowControl2
    }

    /// Gives a TLP that is in the buffer to the device.
    #[inline]
    pub(crate) fn deliver(&mut self, id: PortId, arrived: &Flying, now: Time) {
        self.schedule_peer_wake(id);
        let packet_id = self.packets.resolve(arrived.packet).expect("nobody else owns an undelivered packet");
        match self.ports[id.index()].owner {
            Owner::Switch(index) => {
                let ingress = (id, self.ports[id.index()].index);
                self.switch_takes(index, ingress, packet_id, arrived.eligible_at, u16::from(arrived.egress));
                if self.switches[index as usize].storage.is_some() {
                    self.store(index, packet_id, u16::from(arrived.egress));
                }
            }
            Owner::RootComplex(index) => self.root_complex_takes(index, id, packet_id, now),
            Owner::Endpoint(index) => self.endpoint_takes(index, id, packet_id, now),
        }
    }

    /// A packet that came in at a port, which is so many there, waits for its egress, which it may use from `eligible_at` on.
    #[inline(always)]
    pub(crate) fn switch_takes(
        &mut self,
        index: u32,
        (id, ingress): (PortId, u16),
        packet_id: PacketId,
        eligible_at: Time,
        egress: u16,
    ) {
        let switch = &mut self.switches[index as usize];
        let packet = &mut self.packets[packet_id];
        packet.eligible_at = eligible_at;
        packet.ingress = id.0;
        let egress_id = switch.port(egress);
        let (traffic_class, class, credits) = (packet.traffic_class, packet.class(), packet.credits());
        let offered = switch.enqueue(&mut self.packets, packet_id, ingress, egress);
        if self.observers.are_heard() {
            self.tell_of_queued(egress_id, packet_id);
        }
        if let Some(at) = offered {
            let port = &mut self.ports[egress_id.index()];
            if !port.is_held_up_alike(traffic_class, class, credits) {
                Alarms { engine: &mut self.engine, ready: &mut self.ready }.offer(port, egress_id, at);
            }
        }
    }

    /// A cut-through switch has begun to forward a TLP whose LCRC turns out bad: the copy will be nullified.
    fn forward_damaged(&mut self, id: PortId, arrived: &Flying, now: Time) {
        let Owner::Switch(index) = self.ports[id.index()].owner else { return };
        let Some(original) = self.packets.resolve(arrived.packet) else { return };
        let mut copy = self.packets[original];
        let ingress = self.ports[id.index()].index;
        let switch = &mut self.switches[index as usize];
        let egress = switch.egress(copy.destination, ingress);
        let egress_id = switch.ports[usize::from(egress)];
        if self.ports[egress_id.index()].flit_mode() {
            return; // Nullified TLPs are left out of Flit Mode.
        }
        copy.flags = copy.flags.with(Flags::NULLIFIED);
        copy.eligible_at = now;
        copy.issued_at = arrived.checked; // If it has not left by then, it never will.
        copy.ingress = Packet::ORIGINATED;
        let copy_id = self.packets.insert(copy);
        switch.has_nullified = true;
        switch.enqueue(&mut self.packets, copy_id, ingress, egress);
        self.offer(egress_id, now);
    }

    fn drop_nullified(&mut self, arrived: &Flying) {
        if let Some(copy) = self.packets.resolve(arrived.packet) {
            self.packets.remove(copy);
        }
    }

    fn endpoint_takes(&mut self, index: u32, id: PortId, packet_id: PacketId, now: Time) {
        let packet = self.packets[packet_id];
        let hold = self.endpoints[index as usize].config.buffer_hold;
        if packet.flags.has(Flags::DAMAGED) && self.ecrc_fails(id, packet_id, now + hold) {
            return;
        }
        match packet.class() {
            FlowClass::Posted => {
                self.packets.remove(packet_id);
                let free_at = self.endpoints[index as usize].drain.serve(now, packet.payload());
                self.drain(id, &packet, free_at + hold);
                self.write_arrived(id, &packet, now);
            }
            FlowClass::NonPosted => {
                self.packets.remove(packet_id);
                self.drain(id, &packet, now + hold);
                self.answer_read(index, id, &packet, now);
            }
            FlowClass::Completion => {
                self.packets.remove(packet_id);
                self.drain(id, &packet, now + hold);
                self.completion_arrived(index, &packet, now);
            }
        }
    }

    /// An endpoint answers a read of its memory: an MMIO read by the CPU, or a peer's.
    fn answer_read(&mut self, index: u32, id: PortId, request: &Packet, now: Time) {
        if self.endpoints[index as usize].errors.is_some() && !self.endpoint_answers(index) {
            return;
        }
        let endpoint = &self.endpoints[index as usize];
        let route_end = endpoint.route_end;
        let (digest, id_ordering) = (endpoint.config.ecrc, Flags::of(endpoint.config.id_ordering()));
        let length = Bytes::new(u64::from(request.length));
        let mps = self.ports[id.index()].settings.mps;
        let chunks = splitting::completions(request.address, length, splitting::RCB, mps);
        let mut first = Time::NEVER;
        for mut completion in root_complex::completions(request, route_end, now, chunks, digest) {
            completion.eligible_at = self.endpoints[index as usize].data_at(now, &completion);
            completion.flags = completion.flags.with(id_ordering);
            if let Some(ide) = self.endpoints[index as usize].dma.as_mut().and_then(|dma| dma.ide.as_mut()) {
                ide.seal_and_wait(&mut completion);
            }
            first = first.min(completion.eligible_at);
            if let Some(errors) = &mut self.endpoints[index as usize].errors {
                errors.inject(&mut completion);
            }
            let completion_id = self.packets.insert(completion);
            self.ports[id.index()].queue_before_unstarted_write(&mut self.packets, completion_id);
            if self.observers.are_heard() {
                self.tell_of_queued(id, completion_id);
            }
        }
        self.offer(id, first);
    }

    fn completion_arrived(&mut self, index: u32, packet: &Packet, now: Time) {
        let bad = packet.flags.has(Flags::UNSUPPORTED.with(Flags::POISONED));
        let endpoint = &self.endpoints[index as usize];
        if bad || endpoint.errors.is_some() {
            return self.completion_examined(index, packet, now);
        }
        if endpoint.dma.is_some() {
            return self.completion_on_path(index, packet, now);
        }
        let flow = self.transfers.get(packet.context).transfer.flow;
        self.observers.observe(now, Fact::Delivered { flow, payload: packet.payload() });
        let endpoint = &mut self.endpoints[index as usize];
        let request_done = endpoint.completion(packet, now);
        let delay = endpoint.config.completion_latency;
        if request_done {
            let latency = now - packet.issued_at + delay;
            let request = packet.request_id();
            self.observers.observe(now, Fact::RequestDone { flow, latency, request });
        }
        self.transfer_progressed(packet, delay);
        if request_done {
            self.refill(index);
        }
    }

    /// A posted write is at its target.
    #[inline(always)]
    pub(crate) fn write_arrived(&mut self, id: PortId, packet: &Packet, now: Time) {
        if packet.flags.has(Flags::MMIO.with(Flags::POISONED).with(Flags::ELSEWHERE)) {
            if packet.flags.has(Flags::ELSEWHERE) {
                return;
            }
            if packet.flags.has(Flags::POISONED) {
                return self.poisoned_write_arrived(id, packet);
            }
            self.mmio_write_arrived(packet);
            return;
        }
        let flow = self.transfers.get(packet.context).transfer.flow;
        self.observers.observe(now, Fact::Delivered { flow, payload: packet.payload() });
        if !packet.flags.has(Flags::PIECE) {
            self.own_books.writes.leave(now);
            let (latency, request) = (now - packet.issued_at, packet.request_id());
            self.observers.observe(now, Fact::RequestDone { flow, latency, request });
        }
        self.transfer_progressed(packet, Span::ZERO);
    }

    /// Bytes of a transfer arrived; the last ones complete it.
    #[inline]
    pub(crate) fn transfer_progressed(&mut self, packet: &Packet, delay: Span) {
        let active = self.transfers.get(packet.context);
        active.arrived += u64::from(packet.length);
        let total = active.transfer.length.get();
        assert!(active.arrived <= total, "more bytes arrive than were asked for");
        if active.arrived == total {
            let (transfer, workload) = (active.transfer, active.workload);
            self.transfers.remove(packet.context);
            if wants_notice(&transfer, Notify::Done) {
                self.notify(workload, WorkloadEvent::TransferDone { token: transfer.token }, delay);
            }
        }
    }

    /// A TLP's ingress buffer space will be free at `free_at`.
    #[inline(always)]
    pub(crate) fn drain(&mut self, id: PortId, packet: &Packet, free_at: Time) {
        let now = self.engine.now();
        let port = &self.ports[id.index()];
        if port.sleeps || port.receiver.acts_at() <= now {
            self.advance_for_space(id, now);
        }
        let port = &mut self.ports[id.index()];
        let (channel, class) = (port.channel_of(packet.traffic_class), packet.class());
        let space = Space { channel, class, credits: packet.credits() };
        let mut books = Books { port: id, observers: &mut self.observers };
        port.receiver.drain(space, free_at, now, &port.settings.receiver.update, &mut books);
        if !port.peer_waits_for.is_none() {
            self.plan_peer_wake(id);
        }
    }

    /// Brings the receiver of a port up to date before space becomes free. On a link that sleeps a DLLP that the peer owed may have
    /// woken it, and started the periods of this end's UpdateFCs anew.
    #[inline(never)]
    fn advance_for_space(&mut self, id: PortId, now: Time) {
        let port = &self.ports[id.index()];
        if port.sleeps {
            self.advance_receiver(port.peer, now);
        }
        self.advance_receiver(id, now);
    }

    /// A request has left an endpoint's queue: tells the workload if it asked, and stages the next.
    pub(crate) fn left_endpoint(&mut self, index: u32, packet: &Packet) {
        if packet.class() != FlowClass::Completion {
            if packet.flags.has(Flags::LAST) {
                let active = *self.transfers.get(packet.context);
                if wants_notice(&active.transfer, Notify::Sent) {
                    let event = WorkloadEvent::TransferSent { token: active.transfer.token };
                    self.notify(active.workload, event, Span::ZERO);
                }
            }
            if self.endpoints[index as usize].errors.is_some() {
                self.watched_request_left(index, packet);
            }
            self.refill(index);
        }
    }
}

/// A peer has sent a TLP without credits for it, which is a bug in this crate.
#[cold]
pub(crate) fn overflows(id: PortId, at: Time, arrived: &Flying, overflow: Overflow) -> ! {
    let (class, sequence) = (arrived.class, arrived.sequence);
    panic!("{at:?}: {sequence:?} overflows the {class} {overflow:?} buffer of port {}", id.0);
}
