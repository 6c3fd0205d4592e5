//! The queues of a switch's egress: one of each ingress, served a packet at a time in turn.

use lanewise_units::Time;
use std::collections::VecDeque;

/// A packet at an egress.
#[derive(Clone, Copy, Debug)]
pub struct Queued<P> {
    /// The packet.
    pub packet: P,
    /// The ingress that it came in by, and whose buffer it is in.
    pub ingress: u32,
    /// When it may leave at the earliest.
    pub from: Time,
}

/// What an egress does next.
#[derive(Clone, Copy, Debug)]
pub enum Next<P> {
    /// Nothing waits.
    Empty,
    /// Nothing may leave before this time.
    At(Time),
    /// The next in turn may leave as far as time goes, and the other side has no room for it; an urgent one may at that time.
    Blocked(Option<Time>),
    /// This one leaves.
    Send(Queued<P>),
}

/// An egress.
#[derive(Clone, Debug)]
pub struct Egress<P> {
    /// Packets that go before all others and need no room at the other side.
    urgent: VecDeque<Queued<P>>,
    /// By ingress.
    queues: Vec<VecDeque<Queued<P>>>,
    /// Ingresses whose queue is not empty, the next in turn first.
    turns: VecDeque<u32>,
}

impl<P: Copy> Egress<P> {
    /// An egress that so many ingresses send to.
    pub fn new(ingresses: usize) -> Self {
        let queues = std::iter::repeat_with(VecDeque::new).take(ingresses).collect();
        Self { urgent: VecDeque::new(), queues, turns: VecDeque::new() }
    }

    /// A packet waits for its turn, behind those of the same ingress. `ingress` counts within the switch.
    pub fn push(&mut self, ingress: usize, queued: Queued<P>) {
        let queue = &mut self.queues[ingress];
        if queue.is_empty() {
            self.turns.push_back(ingress as u32);
        }
        queue.push_back(queued);
    }

    /// A packet goes before all that wait for a turn.
    pub fn push_urgent(&mut self, queued: Queued<P>) {
        self.urgent.push_back(queued);
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.turns.is_empty()
    }

    /// What leaves now; `fits` says whether the other side has room. The one whose turn it is keeps it while there is no room, so
    /// that small packets do not starve large ones.
    pub fn next(&mut self, now: Time, fits: impl FnOnce(&P) -> bool) -> Next<P> {
        if self.urgent.front().is_some_and(|first| first.from <= now) {
            return self.urgent.pop_front().map_or(Next::Empty, Next::Send);
        }
        let head = |ingress: &u32| self.queues[*ingress as usize].front();
        let heads = self.turns.iter().filter_map(head).chain(self.urgent.front());
        let Some(earliest) = heads.map(|queued| queued.from).min() else { return Next::Empty };
        let may_go = |ingress: &u32| head(ingress).is_some_and(|queued| queued.from <= now);
        let Some(turn) = self.turns.iter().position(may_go) else { return Next::At(earliest) };
        let ingress = self.turns[turn];
        let queue = &mut self.queues[ingress as usize];
        let Some(queued) = queue.front().copied() else { return Next::Empty };
        if !fits(&queued.packet) {
            return Next::Blocked(self.urgent.front().map(|first| first.from));
        }
        queue.pop_front();
        let more = !queue.is_empty();
        self.turns.remove(turn);
        if more {
            self.turns.push_back(ingress);
        }
        Next::Send(queued)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanewise_units::Span;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    fn queued(packet: u32, ingress: u32, ns: u64) -> Queued<u32> {
        Queued { packet, ingress, from: at(ns) }
    }

    fn sent(egress: &mut Egress<u32>, now: Time) -> Option<u32> {
        match egress.next(now, |_| true) {
            Next::Send(queued) => Some(queued.packet),
            _ => None,
        }
    }

    #[test]
    fn ingresses_take_turns_packet_by_packet() {
        let mut egress = Egress::new(3);
        (0..3).for_each(|packet| egress.push(0, queued(packet, 0, 0)));
        (10..12).for_each(|packet| egress.push(2, queued(packet, 2, 0)));
        let order: Vec<u32> = std::iter::from_fn(|| sent(&mut egress, at(1))).collect();
        assert_eq!(order, [0, 10, 1, 11, 2]);
        assert!(egress.is_empty());
    }

    #[test]
    fn what_may_not_leave_yet_lets_others_pass() {
        let mut egress = Egress::new(2);
        egress.push(0, queued(1, 0, 50));
        egress.push(1, queued(2, 1, 20));
        assert!(matches!(egress.next(at(10), |_| true), Next::At(time) if time == at(20)));
        assert_eq!(sent(&mut egress, at(20)), Some(2));
        assert_eq!(sent(&mut egress, at(49)), None);
        assert_eq!(sent(&mut egress, at(50)), Some(1));
    }

    #[test]
    fn without_room_the_turn_is_kept_and_only_urgent_packets_leave() {
        let mut egress = Egress::new(2);
        egress.push(0, queued(9000, 0, 0));
        egress.push(1, queued(1, 1, 0));
        assert!(matches!(egress.next(at(1), |size| *size < 10), Next::Blocked(None)));
        egress.push_urgent(queued(7, 1, 5));
        let later = egress.next(at(1), |size| *size < 10);
        assert!(
            matches!(later, Next::Blocked(Some(time)) if time == at(5)),
            "it waits for no room: {later:?}"
        );
        assert_eq!(sent(&mut egress, at(5)), Some(7));
        assert_eq!(sent(&mut egress, at(5)), Some(9000));
    }
}
