//! What each TLP waited for at a port, worked out from what was on the wire meanwhile and what was held up.
//!
//! Every instant from when a TLP could have left until it does has one cause. Until it has joined the queue of its port, that is the queue
//! that root ports share. While the wire carries TLPs that were before it in its own queue, it is the wire. Else, if its flow class is held up, what holds it up: it could not have left whatever the wire did. Else
//! what the wire carries; and in silence what holds up the whole port, or just the boundary at which packets start. So the parts add
//! up to the wait, exactly.

use crate::{Cause, HeldUp, OnWire, Queued, Transmission, What, WireFact, WireTlp};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};
use std::collections::VecDeque;

/// Keeps what TLPs that wait now, and those that a reader may still ask about, need to know.
#[derive(Default)]
pub struct Waits(Vec<PortWaits>);

/// A TLP that joined a queue, with how many of its class there were when it could leave, itself included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Joined {
    /// The fact.
    pub queued: Queued,
    /// Its number, as it was given with it.
    pub number: u64,
    /// TLPs of its class that waited for the port, for all channels together.
    pub depth: u32,
}

#[derive(Default)]
struct PortWaits {
    wire: VecDeque<Piece>,
    /// By what was held up, one after the other.
    held: Vec<(HeldUp, VecDeque<Hold>)>,
    /// Of each class, the TLPs that wait, by when they could leave.
    inside: [VecDeque<Time>; 3],
    /// Since when a TLP that waits behind a queue shared by root ports has been known, where that is later than it could leave.
    joined_late: Vec<(WaitingAt, Time, Cause)>,
    /// Of those that joined, the ones whose number in the queue is not known yet, by when they could leave.
    joining: VecDeque<(Queued, u64)>,
}

/// Which TLP: when it could leave, its tag and address.
type WaitingAt = (Time, u16, u64);

/// The wire carries something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) start: Time,
    pub(crate) end: Time,
    pub(crate) what: Carries,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Carries {
    Tlp { channel: u8, class: FlowClass, ingress: Option<u16> },
    Other(Cause),
}

/// A TLP leaves for the first time: what others need to know of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Left {
    pub(crate) piece: Piece,
    pub(crate) class: FlowClass,
    pub(crate) ready_at: Time,
}

impl Piece {
    /// What is on a wire, if it has time of its own or ends a wait; of several ordered sets the first to the last.
    pub(crate) fn of(thing: &OnWire) -> Option<Self> {
        let what = match &thing.what {
            What::Tlp(tlp) if tlp.transmission == Transmission::First => {
                Carries::Tlp { channel: tlp.channel, class: tlp.cost.class(), ingress: tlp.ingress }
            }
            What::Tlp(_) | What::Duplicate { .. } | What::Flit { again: true, .. } => {
                Carries::Other(Cause::Replay)
            }
            What::Flit { again: false, .. } => Carries::Other(Cause::Wire),
            What::Dllp(_) => Carries::Other(Cause::Dllp),
            What::OrderedSets { .. } => Carries::Other(Cause::OrderedSet),
            What::DllpInFlit(_) | What::AnswerInFlit(_) => return None,
        };
        Some(Self { start: thing.start, end: thing.end(), what })
    }
}

#[derive(Clone, Copy)]
struct Hold {
    by: Cause,
    since: Time,
    until: Time,
}

impl Waits {
    /// Takes in a fact. What became known of TLPs that joined queues is put into `joined`; `number` comes back with this one.
    pub fn observe(&mut self, now: Time, fact: &WireFact, number: u64, joined: &mut Vec<Joined>) {
        match *fact {
            WireFact::Queued(queued) => self.port(queued.port).queue(queued, number),
            WireFact::Blocked { whom: HeldUp::Read(_), .. }
            | WireFact::Unblocked { whom: HeldUp::Read(_), .. } => {}
            WireFact::Blocked { port, whom, by, since, .. } => {
                self.port(port).holds_of(whom).push_back(Hold { by, since, until: Time::NEVER });
            }
            WireFact::Unblocked { port, whom, until, .. } => {
                if let Some(hold) = self.port(port).holds_of(whom).back_mut() {
                    hold.until = until;
                }
            }
            WireFact::OnWire(thing) => self.port(thing.direction).carry(now, &thing, joined),
        }
    }

    /// What a TLP waited for that was `chosen` at a time and left at `start`: ticks by [`Cause`], which add up to the time from `ready_at`
    /// to `start`. It is known when it leaves, before the fact that it does is taken in.
    pub fn of(&self, port: u32, tlp: &WireTlp, (chosen, start): (Time, Time)) -> [u64; Cause::COUNT] {
        let mut ticks = [0; Cause::COUNT];
        if let Some(port) = self.0.get(port as usize) {
            port.parts(tlp, (chosen, start), &mut ticks);
        }
        ticks
    }

    /// Of a TLP that leaves, before the fact that it does is taken in: how many of its class could leave as well and stay behind, for
    /// all channels together.
    pub fn behind(&self, port: u32, class: FlowClass, start: Time) -> u32 {
        let inside = self.0.get(port as usize).map(|port| &port.inside[class as usize]);
        inside.map_or(0, |inside| inside.partition_point(|ready| *ready <= start).saturating_sub(1) as u32)
    }

    /// A TLP leaves a port of which no more is known.
    pub(crate) fn leave(&mut self, port: u32, now: Time, left: &Left, joined: &mut Vec<Joined>) {
        let port = self.port(port);
        port.tell_joined(left.piece.start, joined);
        port.leave(left.class, left.ready_at);
        port.carry_piece(now, left.piece);
    }

    /// The wire of a port carries something of which no more is known.
    pub(crate) fn carry(&mut self, port: u32, now: Time, piece: Piece) {
        self.port(port).carry_piece(now, piece);
    }

    /// Of all TLPs that joined queues and have not been put out, how many there were in each: nothing more leaves.
    pub fn rest(&mut self, joined: &mut Vec<Joined>) {
        self.0.iter_mut().for_each(|port| port.tell_joined(Time::NEVER, joined));
    }

    fn port(&mut self, port: u32) -> &mut PortWaits {
        let index = port as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, PortWaits::default);
        }
        &mut self.0[index]
    }
}

impl PortWaits {
    fn holds_of(&mut self, whom: HeldUp) -> &mut VecDeque<Hold> {
        let place = self.held.iter().position(|(of, _)| *of == whom).unwrap_or_else(|| {
            self.held.push((whom, VecDeque::new()));
            self.held.len() - 1
        });
        &mut self.held[place].1
    }

    fn queue(&mut self, queued: Queued, number: u64) {
        let tlp = &queued.tlp;
        let inside = &mut self.inside[tlp.class as usize];
        match inside.back() {
            Some(last) if *last > tlp.ready_at => {
                inside.insert(inside.partition_point(|ready| *ready <= tlp.ready_at), tlp.ready_at);
            }
            _ => inside.push_back(tlp.ready_at),
        }
        if queued.joined > tlp.ready_at {
            self.joined_late.push(((tlp.ready_at, tlp.tag, tlp.address), queued.joined, queued.behind));
        }
        match self.joining.back() {
            Some((last, _)) if last.tlp.ready_at > tlp.ready_at => {
                let place = self.joining.partition_point(|(other, _)| other.tlp.ready_at <= tlp.ready_at);
                self.joining.insert(place, (queued, number));
            }
            _ => self.joining.push_back((queued, number)),
        }
    }

    /// Something goes onto the wire.
    fn carry(&mut self, now: Time, thing: &OnWire, joined: &mut Vec<Joined>) {
        if let What::Tlp(tlp) = &thing.what
            && tlp.transmission == Transmission::First
        {
            self.tell_joined(thing.start, joined);
            self.leave(tlp.cost.class(), tlp.ready_at);
        }
        let Some(piece) = Piece::of(thing) else { return };
        match thing.what {
            What::OrderedSets { count, every } if count > 1 => {
                let needed = self.needed_from(now);
                self.forget_before(needed);
                let one = Span::from_ticks(thing.span.ticks() / count);
                (0..count)
                    .map(|nth| thing.start + every * nth)
                    .filter(|start| *start + one > needed)
                    .for_each(|start| {
                        self.wire.push_back(Piece { start, end: start + one, what: piece.what })
                    });
            }
            _ => self.carry_piece(now, piece),
        }
    }

    fn carry_piece(&mut self, now: Time, piece: Piece) {
        let needed = self.needed_from(now);
        self.forget_before(needed);
        if piece.end > piece.start {
            self.put(piece);
        }
    }

    /// One behind the other of the same kind are one.
    fn put(&mut self, piece: Piece) {
        match self.wire.back_mut() {
            Some(last) if last.end == piece.start && last.what == piece.what => last.end = piece.end,
            _ => self.wire.push_back(piece),
        }
    }

    /// What ended before is of no use to a packet that waits here, or may come.
    fn needed_from(&self, now: Time) -> Time {
        self.inside.iter().filter_map(|class| class.front()).fold(now, |first, ready| first.min(*ready))
    }

    fn forget_before(&mut self, needed: Time) {
        while self.wire.front().is_some_and(|piece| piece.end <= needed) {
            self.wire.pop_front();
        }
        for (_, holds) in &mut self.held {
            while holds.front().is_some_and(|hold| hold.until <= needed) {
                holds.pop_front();
            }
        }
        if !self.joined_late.is_empty() {
            self.joined_late.retain(|((ready, ..), ..)| *ready >= needed);
        }
    }

    fn leave(&mut self, class: FlowClass, ready_at: Time) {
        let inside = &mut self.inside[class as usize];
        if inside.front() == Some(&ready_at) {
            inside.pop_front();
        } else if let Ok(place) = inside.binary_search(&ready_at) {
            inside.remove(place);
        }
    }

    /// Those that could leave by `until`, before which nothing more leaves.
    fn tell_joined(&mut self, until: Time, joined: &mut Vec<Joined>) {
        while let Some((queued, number)) =
            self.joining.front().filter(|(queued, _)| queued.tlp.ready_at <= until).copied()
        {
            self.joining.pop_front();
            let waiting = &self.inside[queued.tlp.class as usize];
            let depth = waiting.partition_point(|ready| *ready <= queued.tlp.ready_at) as u32;
            joined.push(Joined { queued, number, depth });
        }
    }

    fn parts(&self, tlp: &WireTlp, (chosen, start): (Time, Time), ticks: &mut [u64; Cause::COUNT]) {
        let who = Carries::Tlp { channel: tlp.channel, class: tlp.cost.class(), ingress: tlp.ingress };
        let whom = HeldUp::Class { channel: tlp.channel, class: tlp.cost.class() };
        let (mut at, mut own) = (tlp.ready_at, 0);
        if let Some((_, joined, behind)) =
            self.joined_late.iter().find(|(which, ..)| *which == (tlp.ready_at, tlp.tag, tlp.address))
        {
            let joined = (*joined).min(start);
            ticks[*behind as usize] += joined.saturating_since(at).ticks();
            at = at.max(joined);
        }
        // What holds up those behind it from when it was chosen is nothing to it.
        let mut split = |from: Time, to: Time, otherwise: Cause| {
            let held_until = to.min(chosen.max(from));
            self.split(whom, (from, held_until), otherwise, ticks);
            ticks[otherwise as usize] += to.saturating_since(held_until).ticks();
        };
        let first = self.wire.partition_point(|piece| piece.end <= at);
        for piece in self.wire.range(first..) {
            if piece.start >= start {
                break;
            }
            if piece.start > at {
                split(at, piece.start, Cause::Boundary);
            }
            let (from, to) = (piece.start.max(at), piece.end.min(start));
            match piece.what {
                what if what == who => own += (to - from).ticks(),
                Carries::Tlp { .. } => split(from, to, Cause::Arbitration),
                Carries::Other(cause) => split(from, to, cause),
            }
            at = to;
        }
        if at < start {
            split(at, start, Cause::Boundary);
        }
        ticks[Cause::Wire as usize] += own;
    }

    /// Puts a time down to what held up a class in it, and in silence the port; the rest to something else.
    fn split(
        &self,
        whom: HeldUp,
        (from, to): (Time, Time),
        otherwise: Cause,
        ticks: &mut [u64; Cause::COUNT],
    ) {
        let mut at = from;
        while at < to {
            let (hold, until) = self.first_hold(whom, at, to);
            let (hold, until) = match hold {
                None if otherwise == Cause::Boundary => self.first_hold(HeldUp::Everything, at, until),
                found => (found, until),
            };
            ticks[hold.unwrap_or(otherwise) as usize] += (until - at).ticks();
            at = until;
        }
    }

    /// What holds a packet up at a time, and until when that, or that nothing does, is so; not later than `to`.
    fn first_hold(&self, whom: HeldUp, at: Time, to: Time) -> (Option<Cause>, Time) {
        let Some((_, holds)) = self.held.iter().find(|(of, _)| *of == whom) else { return (None, to) };
        match holds.get(holds.partition_point(|hold| hold.until <= at)) {
            Some(hold) if hold.since <= at => (Some(hold.by), hold.until.min(to)),
            Some(hold) => (None, hold.since.min(to)),
            None => (None, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, WaitingTlp};
    use lanewise_pcie::dllp::Dllp;
    use lanewise_pcie::flow_control::CreditPool;
    use lanewise_pcie::tlp::{Attributes, CompletionStatus, Tlp, TlpKind};
    use lanewise_units::Bytes;

    const POSTED: HeldUp = HeldUp::Class { channel: 0, class: FlowClass::Posted };

    fn ns(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    /// A write of 64 B that came in through a port of a switch.
    fn write(ingress: u16, ready_ns: u64) -> WireTlp {
        WireTlp {
            sequence: 0,
            transmission: Transmission::First,
            kind: TlpKind::MemoryWrite,
            address: 64,
            length: 64,
            cost: Tlp::memory_write(64, Bytes::new(64)).cost(false),
            source: Place::Endpoint(u32::from(ingress)),
            destination: Place::Host,
            requester_id: lanewise_pcie::enumeration::Location::default(),
            completer_id: lanewise_pcie::enumeration::Location::default(),
            tag: 0,
            attributes: Attributes::NONE,
            traffic_class: 0,
            channel: 0,
            ingress: Some(ingress),
            poisoned: false,
            digest: false,
            status: CompletionStatus::Successful,
            is_last_completion: false,
            issued_at: ns(0),
            ready_at: ns(ready_ns),
            credits_left: CreditPool::INFINITE,
        }
    }

    fn queued(tlp: &WireTlp) -> WireFact {
        let waiting = WaitingTlp {
            kind: tlp.kind,
            class: tlp.cost.class(),
            source: tlp.source,
            destination: tlp.destination,
            tag: tlp.tag,
            address: tlp.address,
            issued_at: tlp.issued_at,
            ready_at: tlp.ready_at,
        };
        WireFact::Queued(Queued {
            port: 0,
            channel: 0,
            joined: tlp.ready_at,
            behind: Cause::SharedQueue,
            tlp: waiting,
        })
    }

    fn on_wire(from_ns: u64, to_ns: u64, what: What) -> WireFact {
        WireFact::OnWire(OnWire { direction: 0, start: ns(from_ns), span: ns(to_ns) - ns(from_ns), what })
    }

    fn held(whom: HeldUp, by: Cause, from_ns: u64, to_ns: u64) -> [WireFact; 2] {
        let (since, until, waiting) = (ns(from_ns), ns(to_ns), None);
        [
            WireFact::Blocked { port: 0, whom, by, since, waiting },
            WireFact::Unblocked { port: 0, whom, by, since, until, waiting },
        ]
    }

    fn parts(waits: &Waits, tlp: &WireTlp, start_ns: u64) -> Vec<(Cause, u64)> {
        let ticks = waits.of(0, tlp, (ns(start_ns), ns(start_ns)));
        let some = Cause::ALL.into_iter().zip(ticks).filter(|(_, ticks)| *ticks > 0);
        some.map(|(cause, ticks)| (cause, ticks / Span::from_ns(1).ticks())).collect()
    }

    #[test]
    fn each_instant_has_the_first_cause_that_applies() {
        let (mut waits, mut joined) = (Waits::default(), Vec::new());
        let tlp = write(1, 10);
        let mut facts = vec![queued(&write(1, 0)), queued(&write(2, 5)), queued(&tlp)];
        facts.extend([
            on_wire(0, 20, What::Tlp(write(1, 0))), // Before it in its own queue: from 10 to 20.
            on_wire(20, 30, What::Tlp(write(2, 5))), // Of another ingress.
        ]);
        facts.extend(held(POSTED, Cause::PostedHeader, 28, 40)); // Whatever the wire does.
        facts.push(on_wire(34, 36, What::Dllp(Dllp::Ack(lanewise_pcie::ack_nak::Sequence::ZERO))));
        facts.push(on_wire(40, 42, What::Dllp(Dllp::Ack(lanewise_pcie::ack_nak::Sequence::ZERO))));
        facts.extend(held(HeldUp::Everything, Cause::Core, 41, 47)); // In silence only.
        for fact in &facts {
            waits.observe(ns(0), fact, 0, &mut joined);
        }
        let expected = [
            (Cause::Wire, 10),
            (Cause::Arbitration, 8),
            (Cause::Dllp, 2),
            (Cause::PostedHeader, 12),
            (Cause::Core, 5),
            (Cause::Boundary, 3),
        ];
        assert_eq!(parts(&waits, &tlp, 50), expected);
        assert_eq!(parts(&waits, &tlp, 10), [], "it need not wait");
        let chosen_earlier = waits.of(0, &tlp, (ns(28), ns(34)));
        assert_eq!(chosen_earlier[Cause::PostedHeader as usize], 0, "others are held up when it is chosen");
    }

    #[test]
    fn a_queue_is_as_deep_as_those_that_could_leave() {
        let (mut waits, mut joined) = (Waits::default(), Vec::new());
        let tlps = [0, 0, 4, 30].map(|ready| write(1, ready));
        tlps.iter().for_each(|tlp| waits.observe(ns(0), &queued(tlp), 0, &mut joined));
        let behind = |waits: &Waits, start| waits.behind(0, FlowClass::Posted, ns(start));
        assert_eq!(behind(&waits, 0), 1);
        waits.observe(ns(0), &on_wire(0, 10, What::Tlp(tlps[0])), 0, &mut joined);
        assert_eq!(behind(&waits, 10), 1, "one comes later");
        waits.observe(ns(10), &on_wire(10, 20, What::Tlp(tlps[1])), 0, &mut joined);
        assert_eq!(joined.iter().map(|joined| joined.depth).collect::<Vec<_>>(), [2, 2, 2]);
        waits.rest(&mut joined);
        assert_eq!(joined.last().map(|joined| joined.depth), Some(2));
    }

    #[test]
    fn what_nobody_needs_any_more_is_forgotten() {
        let (mut waits, mut joined) = (Waits::default(), Vec::new());
        for at in 0..10_000 {
            let tlp = write(1, at * 20);
            waits.observe(ns(at * 20), &queued(&tlp), 0, &mut joined);
            held(POSTED, Cause::PostedData, at * 20, at * 20 + 1)
                .iter()
                .for_each(|fact| waits.observe(ns(at * 20), fact, 0, &mut joined));
            assert_eq!(parts(&waits, &tlp, at * 20 + 2), [(Cause::PostedData, 1), (Cause::Boundary, 1)]);
            waits.observe(
                ns(at * 20 + 2),
                &on_wire(at * 20 + 2, at * 20 + 9, What::Tlp(tlp)),
                0,
                &mut joined,
            );
        }
        let port = waits.port(0);
        assert!(port.wire.len() + port.held[0].1.len() + port.joining.len() < 10);
    }
}
