//! What a fabric does at the links between its part and others.
//!
//! The far end of such a link lies here at rest, and keeps what is sent to it: DLLPs in its mailbox, TLPs in its ring of what is on its
//! way. From there both are taken for the part that has it. It never wakes, for it is as if it had a wake-up for the first instant.

use super::exchange::{Mail, Report};
use crate::event::Event;
use crate::fabric::Fabric;
use crate::link::DllpSet;
use crate::packet::{Flags, Packet, PacketId};
use crate::port::{Carries, Flying, Owner, PortId};
use crate::transmit::route;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Time, order};
use std::collections::VecDeque;

/// A link that is cut.
struct Cut {
    /// The end that this part has.
    near: PortId,
    far: PortId,
    /// The part that has the other end.
    part: usize,
    /// The far end is a root port.
    is_upwards: bool,
    /// Posted writes of this part that have not come to the far end.
    writes: VecDeque<PacketId>,
}

/// A part of a fabric, as the fabric of that part knows it.
pub(crate) struct Border {
    /// By port, whether it is of this part.
    mine: Vec<bool>,
    /// In the order of far ends.
    cuts: Vec<Cut>,
    /// Events that another part has too.
    shared_events: u64,
    /// Events up to the end of the window before.
    events_before: u64,
}

impl Border {
    /// Part `me` of a fabric, given the part of each port and the links between parts, upper end first.
    pub(crate) fn new(me: usize, of_port: &[u16], links: &[[PortId; 2]]) -> Box<Self> {
        let part = |port: PortId| usize::from(of_port[port.index()]);
        let mut cuts = Vec::new();
        for [upper, lower] in links.iter().copied() {
            for (near, far, is_upwards) in [(upper, lower, false), (lower, upper, true)] {
                if part(near) == me {
                    cuts.push(Cut { near, far, part: part(far), is_upwards, writes: VecDeque::new() });
                }
            }
        }
        order::sort_by_key(&mut cuts, |cut| cut.far);
        let mine = of_port.iter().map(|part| usize::from(*part) == me).collect();
        Box::new(Self { mine, cuts, shared_events: 0, events_before: 0 })
    }

    /// Whether a port is of this part.
    pub(crate) fn has(&self, port: PortId) -> bool {
        self.mine[port.index()]
    }

    /// Whether both ends of the link of a port are.
    pub(crate) fn has_both(&self, port: PortId, peer: PortId) -> bool {
        self.has(port) && self.has(peer)
    }
}

impl Fabric {
    /// Becomes a part, before the run.
    pub(crate) fn become_part(&mut self, border: Box<Border>) {
        for cut in &border.cuts {
            // At the far end nothing waits for the near one to be woken.
            self.ports[cut.near.index()].peer_waits_for = DllpSet::NONE;
            let far = &mut self.ports[cut.far.index()];
            far.carries = Carries::Messages;
            far.delivers_ahead = true;
            far.wake_at = Time::ZERO;
            far.peer_waits_for = DllpSet::NONE;
            // Not a switch, which would look for the way of a TLP now.
            far.owner = Owner::RootComplex(u32::MAX);
        }
        self.border = Some(border);
    }

    /// Whether this fabric simulates a port.
    pub(crate) fn has(&self, port: PortId) -> bool {
        self.border.as_ref().is_none_or(|border| border.has(port))
    }

    /// Everything up to `end` has happened in this part: what the ends of its links owe by then goes out, and all that is on its way to
    /// others is put into their mail.
    pub(crate) fn put_into_mail(&mut self, end: Time, mail: &mut [Mail]) -> bool {
        let Some(mut border) = self.border.take() else { return false };
        let mut sent = false;
        for cut in &mut border.cuts {
            self.advance_to(cut.near, end);
            sent |= self.mail_of(cut, &mut mail[cut.part]);
        }
        let (at, port) = (self.now(), self.ready.first());
        assert!(port.is_none(), "what goes out at {at:?} lets {port:?} of this part act");
        self.border = Some(border);
        sent
    }

    /// Takes what is on its way to the far end of a cut link.
    fn mail_of(&mut self, cut: &mut Cut, mail: &mut Mail) -> bool {
        let far = &mut self.ports[cut.far.index()];
        let mut sent = false;
        let latency = far.settings.receive_latency;
        while let Some((arrival, dllp)) = far.mailbox.pop_front() {
            mail.dllps.push((cut.far, dllp, arrival - latency));
            sent = true;
        }
        while far.receiver.in_flight().len() > 0 {
            let mut in_flight = far.receiver.take_next_ahead();
            let arrives_at = in_flight.checked;
            let id = self.packets.resolve(in_flight.packet).expect("it has not arrived");
            let mut packet = self.packets[id];
            // As it is on the wire: when its first byte is there, and its last.
            let wire = &far.settings.wire;
            in_flight.checked = arrives_at - latency;
            let span = wire.span(packet.cost.payload()) + wire.span(packet.cost.header()) + wire.framing;
            in_flight.eligible_at = in_flight.checked - span;
            if cut.is_upwards && packet.class() == FlowClass::Posted {
                cut.writes.push_back(id);
                self.engine.schedule(arrives_at, Event::Arrival(cut.far).pack());
                packet.flags = packet.flags.with(Flags::ELSEWHERE);
            } else {
                self.packets.remove(id);
            }
            mail.tlps.push((cut.far, in_flight, packet));
            sent = true;
        }
        sent
    }

    /// Takes in what other parts have sent, when everything up to `reached` has happened in this one: it acts later.
    ///
    /// # Panics
    /// When it would have acted before.
    pub(crate) fn take_mail(&mut self, reached: Time, mail: &mut Mail) {
        for (to, dllp, at_pins) in mail.dllps.drain(..) {
            let acts_at = at_pins + self.ports[to.index()].settings.receive_latency;
            assert!(acts_at > reached, "{dllp:?} is at {to:?} at {acts_at:?}, and this part at {reached:?}");
            self.arrives(to, dllp, at_pins);
        }
        for (to, mut in_flight, packet) in mail.tlps.drain(..) {
            let acts_at = self.acts_at(to, in_flight, &packet);
            assert!(
                acts_at > reached,
                "{packet:?} is at {to:?} at {acts_at:?}, and this part at {reached:?}"
            );
            let id = self.packets.insert(packet);
            in_flight.packet = self.packets.reference(id);
            self.launch(to, in_flight, id, &packet);
        }
    }

    /// When a TLP on its way to a port is checked there, or a switch may forward it.
    fn acts_at(&self, to: PortId, mut in_flight: Flying, packet: &Packet) -> Time {
        let (port, span) = (&self.ports[to.index()], in_flight.checked - in_flight.eligible_at);
        in_flight.checked += port.settings.receive_latency;
        route(port, &self.switches, packet, &mut in_flight, span);
        in_flight.eligible_at.min(in_flight.checked)
    }

    /// A posted write of this part has come to a root port that another part has: its requester hears of it.
    #[cold]
    pub(crate) fn on_arrival_elsewhere(&mut self, far: PortId) {
        let border = self.border.as_mut().expect("only a part has such ports");
        border.shared_events += 1;
        let place = border.cuts.binary_search_by_key(&far, |cut| cut.far).expect("a link that is cut");
        let id =
            border.cuts[place].writes.pop_front().expect("they arrive in the order in which they were sent");
        let packet = self.packets.remove(id);
        let now = self.now();
        self.write_arrived(far, &packet, now);
    }

    /// What others need to know of this part when everything up to now has happened in it.
    pub(crate) fn how_far(&mut self, sent: bool) -> Report {
        let handled = self.engine.events_handled();
        let Some(border) = &mut self.border else { return Report::default() };
        let events_of_window = handled - std::mem::replace(&mut border.events_before, handled);
        let owed = border.cuts.iter().map(|cut| self.ports[cut.near.index()].receiver.acts_at());
        let owed = owed.min().unwrap_or(Time::NEVER);
        let events = handled - border.shared_events;
        let next = self.engine.next_time().unwrap_or(Time::NEVER).min(owed);
        let timers = self.timers_pending() as u64;
        Report {
            next: if sent { Time::ZERO } else { next },
            is_over: next == Time::NEVER && !sent,
            events,
            events_of_window,
            hops: self.observers.tlp_hops(),
            open: self.transfers.open() as u64 + self.mmio.taken() as u64 + timers,
            timers,
        }
    }
}

impl Fabric {
    /// Whether the books of a port can be compared with those of its peer: both are of this part.
    pub(crate) fn may_audit(&self, port: PortId) -> bool {
        let peer = self.ports[port.index()].peer;
        self.border.as_ref().is_none_or(|border| border.has_both(port, peer))
    }
}
