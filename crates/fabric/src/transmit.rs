//! What a port does when its wire is free: ordered sets, DLLPs, replays, new TLPs, in this order of priority
//! (PCIe Base 6.3 §3.6.2.1); and how a TLP gets onto the wire and to the peer's pins.

use crate::alarms::Alarms;
use crate::books::Books;
use crate::channels::VC0;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::link::{Departure, DllpSet, Fate, InFlight, LinkState, TlpSpans};
use crate::packet::{Flags, Packet, PacketId, PacketPool};
use crate::port::{Flying, Owner, Port, PortId};
use crate::select::{select_class, select_request};
use crate::switch::Switch;
use crate::wait::Wait;
use lanewise_observe::{Transmission, Use};
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};

/// TLPs after which a port that was held up looks ahead. Those that follow at once are often held up too; of a port that never
/// is, nothing is asked. Two costs as few instructions as four or eight.
const LOOKS_AHEAD: u8 = 2;

impl Fabric {
    /// The wire of `id` may be free, and there may be something to do with it.
    #[inline]
    pub(crate) fn on_wake(&mut self, id: PortId) {
        let now = self.engine.now();
        let port = &mut self.ports[id.index()];
        if port.wake_at != now {
            return; // An earlier wake-up has taken its place.
        }
        // Until it plans its next look, it is up: its peer need not wake it for this instant or later.
        let (peer, idle) = (port.peer, port.transmitter.busy_until <= now && port.receiver.acts_at() > now);
        if !idle && !self.free_the_wire(id, now) {
            return;
        }
        self.advance_peer_of_awake(peer, now);
        let port = &self.ports[id.index()];
        let sleeps = port.sleeps;
        if port.mailbox.front().is_some_and(|(at, _)| *at <= now) {
            let (was_active, busy_until) =
                (port.transmitter.state == LinkState::Active, port.transmitter.busy_until);
            self.take_in_dllps(id, now);
            let port = &mut self.ports[id.index()];
            if was_active && port.transmitter.busy_until > busy_until {
                port.wake_at = Time::NEVER;
                return self.wake(id, now); // A Nak took the link into Recovery: what goes first is decided after it.
            }
            if !was_active && port.transmitter.state == LinkState::Active {
                self.advance_to(id, now); // What was owed before it came up goes first.
            }
        }
        if sleeps && !self.is_awake(id, now) {
            return;
        }
        let port = &mut self.ports[id.index()];
        port.settle(id, now, &mut self.observers);
        if port.transmitter.state != LinkState::Active {
            port.wake_at = Time::NEVER;
            return self.initialise_flow_control(id, now);
        }
        let sent = if !port.is_plain() {
            self.send_specially(id, now)
        } else if now < port.blocked_until {
            Err(port.still_waits())
        } else if port.transmitter.retry.replaying() {
            self.replay_next(id, now)
        } else {
            self.send_next::<false>(id, now)
        };
        match sent {
            Ok(()) => self.plan_after_sending(id),
            Err(wait) => self.plan_after_waiting(id, wait),
        }
        if sleeps {
            self.plan_for_sleep(id, now);
        }
    }

    /// Sends the DLLPs that are due before anything else. False when a packet that began before now is still on the wire, or a DLLP that
    /// is due begins to wake it: then the port wakes when it can be used.
    #[inline(never)]
    fn free_the_wire(&mut self, id: PortId, now: Time) -> bool {
        self.advance_to(id, now);
        let port = &self.ports[id.index()];
        if port.transmitter.decides_at(now) > now {
            self.ports[id.index()].wake_at = Time::NEVER;
            self.wake(id, now);
            return false;
        }
        true
    }

    /// Sends the next flit, or the next TLP of a port with several channels.
    #[inline(never)]
    pub(crate) fn send_specially(&mut self, id: PortId, now: Time) -> Result<(), Wait> {
        let port = &mut self.ports[id.index()];
        if port.flit_mode() {
            self.send_flit(id, now)
        } else if now < port.blocked_until {
            Err(port.still_waits())
        } else if port.transmitter.retry.replaying() {
            self.replay_next(id, now)
        } else {
            self.send_next::<true>(id, now)
        }
    }

    /// Sends the next TLP, if any may go; of a port with several `CHANNELS`, or with VC0 alone.
    #[inline(always)]
    pub(crate) fn send_next<const CHANNELS: bool>(&mut self, id: PortId, now: Time) -> Result<(), Wait> {
        let packet_id = self.next_packet::<CHANNELS>(id, now)?;
        self.send_tlp::<CHANNELS>(id, packet_id, now);
        Ok(())
    }

    /// Takes the next TLP out of the queues of this port, if any may go.
    #[inline(always)]
    fn next_packet<const CHANNELS: bool>(&mut self, id: PortId, now: Time) -> Result<PacketId, Wait> {
        let port = &mut self.ports[id.index()];
        let Owner::Switch(index) = port.owner else {
            return match CHANNELS {
                false => own_queues(port, VC0, &self.packets, now),
                true => own_queues_by_channel(port, &self.packets, now),
            };
        };
        self.next_of_switch(id, index, now, |switch, packets, port| match CHANNELS {
            false => switch.arbitrate(packets, port, now),
            true => switch.arbitrate_by_channel(packets, port, now),
        })
    }

    /// Takes the next TLP for a flit that begins now out of the queues of this port, if any may go.
    pub(crate) fn next_packet_for_flit(&mut self, id: PortId, now: Time) -> Result<PacketId, Wait> {
        let port = &mut self.ports[id.index()];
        let Owner::Switch(index) = port.owner else {
            return own_queues(port, VC0, &self.packets, now);
        };
        self.next_of_switch(id, index, now, |switch, packets, port| {
            switch.arbitrate_for_flit(packets, port, now)
        })
    }

    /// Takes the next TLP that `arbitrate` finds for an egress of a switch, if any may go.
    #[inline(always)]
    fn next_of_switch(
        &mut self,
        id: PortId,
        index: u32,
        now: Time,
        arbitrate: impl Fn(&mut Switch, &PacketPool, &Port) -> Result<PacketId, Wait>,
    ) -> Result<PacketId, Wait> {
        loop {
            let switch = &mut self.switches[index as usize];
            let packet_id = arbitrate(switch, &self.packets, &self.ports[id.index()])?;
            if !switch.has_nullified || !Switch::is_stale(&self.packets, packet_id, now) {
                if switch.meters(&self.packets[packet_id]) {
                    self.meter(index, packet_id, now);
                }
                return Ok(packet_id);
            }
            self.packets.remove(packet_id);
        }
    }

    /// A request enters the core of a switch that meters them. Another from the same ingress waits for the meter now, and not for credits,
    /// for which its link stayed awake.
    #[cold]
    #[inline(never)]
    fn meter(&mut self, index: u32, packet_id: PacketId, now: Time) {
        let switch = &mut self.switches[index as usize];
        let ingress = self.ports[self.packets[packet_id].ingress as usize].index;
        switch.meter(&mut self.packets, packet_id, ingress, now);
        for id in &switch.ports {
            let port = &mut self.ports[id.index()];
            if port.sleeps && !port.transmitter.waiting_for.is_none() {
                Alarms { engine: &mut self.engine, ready: &mut self.ready }.offer(port, *id, now);
            }
        }
    }

    /// Puts a TLP on the wire for the first time.
    #[inline(always)]
    fn send_tlp<const CHANNELS: bool>(&mut self, id: PortId, packet_id: PacketId, now: Time) {
        let packet = self.packets[packet_id];
        let nullified = packet.flags.has(Flags::NULLIFIED);
        let reference = packet.reference(packet_id);
        let port = &mut self.ports[id.index()];
        port.align(id, now, &mut self.observers);

        let wire = &port.settings.wire;
        let spans = TlpSpans {
            payload: wire.span(packet.cost.payload()),
            header: wire.span(packet.cost.header()),
            framing: wire.framing,
        };
        let mut channel = VC0;
        let mut books = Books { port: id, observers: &mut self.observers };
        let Departure { sequence, head, tail } = if nullified {
            port.transmitter.send_nullified(spans, now, &port.settings.wire, &mut books)
        } else {
            if CHANNELS {
                channel = port.spend_on_channel(&packet);
            } else {
                port.transmitter.credits[packet.class().index()].consume(packet.credits());
            }
            let kept = packet.cost.in_retry_buffer();
            port.transmitter.send(reference, kept, spans, now, &port.settings.wire, &mut books)
        };
        let damage = match port.error_free_non_flit {
            true => None,
            false => port.faults.as_mut().and_then(|faults| faults.damage_to_tlp(packet.cost.on_wire())),
        };
        if CHANNELS {
            port.leave_gap();
        }
        let (owner, peer_id, gone_at) = (port.owner, port.peer, port.transmitter.busy_until);
        if !nullified && let Some(at) = port.arm_replay_timer() {
            self.engine.schedule(at, Event::ReplayTimer(id).pack());
        }
        if self.observers.are_heard() {
            let why = if nullified { Transmission::Nullified } else { Transmission::First };
            self.tell_of_tlp(id, packet_id, why, Departure { sequence, head, tail }, now);
        }
        let in_flight = InFlight {
            packet: reference,
            eligible_at: head,
            checked: tail,
            sequence,
            egress: 0,
            channel,
            data_credits: packet.credits().data,
            class: packet.class(),
            fate: if nullified { Fate::Nullified } else { Fate::of(damage) },
        };
        if !nullified {
            self.gone(id, &packet, gone_at);
        }
        self.launch(peer_id, in_flight, packet_id, &packet);
        self.on_dequeued(owner, id, &packet);
    }

    /// The last byte of a TLP will have left this device through `id` at `gone_at`: the buffer space that it took up is free then.
    #[inline(always)]
    pub(crate) fn gone(&mut self, id: PortId, packet: &Packet, gone_at: Time) {
        if packet.ingress & Packet::CUT == 0 {
            self.drain(PortId(packet.ingress), packet, gone_at);
        } else if packet.ingress != Packet::ORIGINATED {
            // Without the packet, which is in registers here.
            self.gone_from_elsewhere(id, (packet.ingress, packet.order), packet.class(), gone_at);
        }
    }

    /// The same for what was cut, or given to storage.
    #[cold]
    #[inline(never)]
    fn gone_from_elsewhere(
        &mut self,
        id: PortId,
        (ingress, order): (u32, u32),
        class: FlowClass,
        gone_at: Time,
    ) {
        match ingress & Packet::STORED {
            Packet::STORED => self.leaves_storage(id, order, class, gone_at),
            _ => self.last_piece_gone(ingress, gone_at),
        }
    }

    /// A TLP has left the queue of this port: its device may have more.
    #[inline(always)]
    pub(crate) fn on_dequeued(&mut self, owner: Owner, id: PortId, packet: &Packet) {
        match owner {
            Owner::Switch(_) => {}
            Owner::Endpoint(index) => self.left_endpoint(index, packet),
            Owner::RootComplex(index) => {
                if packet.class() == FlowClass::Posted && packet.flags.has(Flags::MMIO) {
                    self.mmio_write_left(packet);
                }
                self.left_root_port(index, id, packet);
            }
        }
    }

    /// Hands a TLP to the pins of the peer, `id`, and plans when the peer acts on it.
    ///
    /// A cut-through switch acts as soon as it may forward, everybody else when the LCRC has been checked; both
    /// happen in the order in which the TLPs were sent.
    #[inline(always)]
    pub(crate) fn launch(&mut self, id: PortId, mut in_flight: Flying, packet_id: PacketId, packet: &Packet) {
        let span = in_flight.checked - in_flight.eligible_at;
        let port = &mut self.ports[id.index()];
        in_flight.checked += port.settings.receive_latency;
        route(port, &self.switches, packet, &mut in_flight, span);
        if port.delivers_ahead {
            return self.deliver_ahead(id, in_flight, packet_id);
        }
        let at = in_flight.eligible_at.min(in_flight.checked);
        port.receiver.expect(in_flight);
        self.engine.schedule(at, Event::Arrival(id).pack());
    }

    /// Puts a TLP that is sure to arrive into the queues of the switch that it will arrive at.
    ///
    /// That is before its time, which `eligible_at` keeps. TLPs of a link stay in the order in which they were sent.
    #[inline(always)]
    fn deliver_ahead(&mut self, id: PortId, mut in_flight: Flying, packet_id: PacketId) {
        let port = &mut self.ports[id.index()];
        let last_arrival = port.receiver.last_arrival();
        let eligible_at = in_flight.eligible_at.max(last_arrival);
        in_flight.eligible_at = eligible_at.min(in_flight.checked.max(last_arrival));
        port.receiver.expect_ahead(in_flight);
        if in_flight.fate == Fate::Good
            && let Owner::Switch(index) = port.owner
        {
            let ingress = (id, port.index);
            self.switch_takes(index, ingress, packet_id, eligible_at, u16::from(in_flight.egress));
        }
    }
    /// Something went out: the port wakes when the wire is free again and something else may leave.
    #[inline(always)]
    fn plan_after_sending(&mut self, id: PortId) {
        let now = self.engine.now();
        let port = &mut self.ports[id.index()];
        port.wake_at = Time::NEVER; // It plans anew.
        if port.looks_ahead > 0
            && let Some(wait) = self.look_ahead(id)
        {
            return self.plan_after_waiting(id, wait);
        }
        let next = self.next_start(id);
        let port = &mut self.ports[id.index()];
        port.blocked_until = Time::ZERO;
        port.transmitter.idle_cause = Use::Idle; // Unless a look at what waits says otherwise.
        if !port.is_plain() && next > now && next == port.silent_until() {
            port.transmitter.idle_cause = Use::TlpGap;
            if self.observers.are_heard() {
                self.tell_what_waits(id, now);
            }
        }
        let port = &mut self.ports[id.index()];
        let awaited = std::mem::replace(&mut port.transmitter.waiting_for, DllpSet::NONE);
        let (peer, error_free) = (port.peer, port.error_free_non_flit);
        let peer_waits = !port.peer_waits_for.is_none();
        if next != Time::NEVER {
            let free_at = port.transmitter.busy_until; // A packet is on the wire: nothing is decided before.
            let mut alarms = Alarms { engine: &mut self.engine, ready: &mut self.ready };
            alarms.wake_then(port, id, next.max(free_at));
        }
        if !error_free {
            self.plan_for_nak(id);
        }
        if peer_waits {
            self.plan_peer_wake(id);
        }
        if error_free && !awaited.is_none() {
            self.ports[peer.index()].peer_waits_for = DllpSet::NONE;
        }
    }

    /// The port wakes for a Nak that is on its way, whether or not anything else waits.
    #[cold]
    fn plan_for_nak(&mut self, id: PortId) {
        let is_nak = |(_, dllp): &&(Time, Dllp)| matches!(dllp, Dllp::Nak(_));
        let at = self.ports[id.index()].mailbox.iter().find(is_nak).map(|(at, _)| *at);
        if let Some(at) = at {
            self.wake(id, at);
        }
    }

    /// What will hold up all that waits when the wire is free again, unless a DLLP or a packet comes meanwhile: then there is no
    /// need to look before one does. None if something may leave, or that cannot be told.
    #[inline(never)]
    fn look_ahead(&mut self, id: PortId) -> Option<Wait> {
        let port = &mut self.ports[id.index()];
        port.looks_ahead -= 1;
        if !port.error_free_non_flit || !port.is_plain() || port.sleeps || port.transmitter.retry.replaying()
        {
            return None;
        }
        let (packets, at) = (&self.packets, port.transmitter.busy_until);
        let wait = match port.owner {
            Owner::Switch(index) => self.switches[index as usize].look_ahead(packets, port, at)?,
            Owner::RootComplex(_) | Owner::Endpoint(_) => {
                select_class(&port.queues, packets, port, VC0, at).err()?
            }
        };
        (!wait.dllps.is_none()).then_some(wait)
    }

    /// Nothing may leave: the port wakes when what it waits for may have come.
    fn plan_after_waiting(&mut self, id: PortId, wait: Wait) {
        let now = self.engine.now();
        let port = &mut self.ports[id.index()];
        port.wake_at = Time::NEVER; // It plans anew.
        port.blocked_until = wait.until;
        if port.sleeps {
            self.change_wait(id, !wait.dllps.is_none(), now);
        }
        let port = &mut self.ports[id.index()];
        port.transmitter.waiting_for = wait.dllps;
        if !wait.dllps.is_none() {
            port.looks_ahead = LOOKS_AHEAD;
        }
        let (cause, mut next) = match port.owner {
            Owner::Switch(index) if wait.on == Use::Idle => {
                self.switches[index as usize].silence(&self.packets, port, now, wait.until)
            }
            _ => (wait.on, wait.until),
        };
        port.transmitter.idle_cause = cause;
        if self.observers.are_heard() {
            self.tell_what_waits(id, now);
        }
        let port = &mut self.ports[id.index()];
        // A Nak is acted on whether or not anything waits.
        if (!wait.dllps.is_none() || !port.error_free_non_flit)
            && let Some((at, _)) = port.mailbox.iter().find(|(_, dllp)| port.may_unblock(dllp))
        {
            next = next.min(*at);
        }
        let (peer, error_free) = (port.peer, port.error_free_non_flit);
        if next != Time::NEVER {
            self.wake(id, next);
        }
        self.schedule_peer_wake(id);
        if error_free {
            // Of the peer's DLLPs these are worth an event, and no others.
            self.ports[peer.index()].peer_waits_for = wait.dllps;
            self.schedule_peer_wake(peer);
        }
    }

    /// When something that waits at this port may leave, replays included, if anything does; not later than that.
    #[inline(always)]
    pub(crate) fn next_start(&self, id: PortId) -> Time {
        let port = &self.ports[id.index()];
        if port.transmitter.retry.replaying() {
            return Time::ZERO;
        }
        if !port.is_plain() {
            return self.next_special_start(port);
        }
        self.next_start_on(port, VC0)
    }

    #[inline(never)]
    fn next_special_start(&self, port: &Port) -> Time {
        if port.flits.as_ref().is_some_and(|flits| flits.transmitter.has_more()) {
            return Time::ZERO;
        }
        let starts = port.channel_numbers().map(|channel| self.next_start_on(port, channel));
        let next = starts.min().unwrap_or(Time::NEVER);
        next.max(port.silent_until())
    }

    #[inline(always)]
    fn next_start_on(&self, port: &Port, channel: u8) -> Time {
        match port.owner {
            Owner::Switch(index) => self.switches[index as usize].next_start(port.index, channel),
            Owner::RootComplex(_) | Owner::Endpoint(_) => port.queues_of(channel).next_start(&self.packets),
        }
    }
}

/// Decides where a TLP will go from `port` and from when on it may, given its first byte in `eligible_at` and the time from there
/// to its last byte.
///
/// Everybody but a switch acts on a TLP when it has been checked.
#[inline(always)]
pub(crate) fn route(port: &Port, switches: &[Switch], packet: &Packet, in_flight: &mut Flying, span: Span) {
    let Owner::Switch(index) = port.owner else {
        in_flight.eligible_at = in_flight.checked;
        return;
    };
    let switch = &switches[index as usize];
    let egress = switch.egress(packet.destination, port.index);
    in_flight.egress = egress as u8; // There are no more than MAX_SWITCH_PORTS.
    let bytes = packet.cost.on_wire();
    let (head, tail) = (in_flight.eligible_at, in_flight.checked);
    if in_flight.fate == Fate::Misframed {
        in_flight.eligible_at = tail; // No port sees a header.
        return;
    }
    in_flight.eligible_at = switch.eligible_at(head, tail, span, egress, bytes);
}

/// The next packet of an endpoint or root port for one channel.
#[inline(always)]
fn own_queues(port: &mut Port, channel: u8, packets: &PacketPool, now: Time) -> Result<PacketId, Wait> {
    if port.queues_of(channel).is_empty() {
        return Err(Wait::NOTHING);
    }
    let queues = port.queues_of(channel);
    let request = match port.requests_turn {
        true => select_request(queues, packets, port, channel, now),
        false => None,
    };
    let class = request.map_or_else(|| select_class(queues, packets, port, channel, now), Ok)?;
    Ok(port.queues_of_mut(channel).pop(packets, class).expect("the head was there"))
}

/// The next packet of the first channel, in the order of arbitration, that may send one.
fn own_queues_by_channel(port: &mut Port, packets: &PacketPool, now: Time) -> Result<PacketId, Wait> {
    if now < port.silent_until() {
        let starts = port.channel_numbers().map(|channel| port.queues_of(channel).next_start(packets));
        return Err(match starts.min() {
            Some(at) if at <= now => Wait { on: Use::TlpGap, ..Wait::until(port.silent_until()) },
            at => Wait::until(at.unwrap_or(Time::NEVER)),
        });
    }
    let mut wait = Wait::NOTHING;
    for channel in port.channel_order() {
        match own_queues(port, channel, packets, now) {
            Ok(id) => return Ok(id),
            Err(found) => wait = wait.or(found),
        }
    }
    Err(wait)
}
