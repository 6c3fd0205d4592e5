//! Completions that a root port makes when the one before has left.
//!
//! A read of 4 KiB is 64 completions where lines are not joined. Made at once, those of many reads lie in a queue for long, a cache
//! line each, and are cold when they leave. Where nothing but rates is in the way of data, what their times are is arithmetic; and
//! where memory keeps up with the wire, all of a read have their turn together (`docs/adr/0010-completions-by-turn.md`). Then the
//! first stands in the queue for those behind it.

use crate::packet::{Flags, Packet};
use crate::server::Server;
use crate::wire::WireTiming;
use lanewise_units::{Bytes, Span, Time};

/// The completions of a read behind one that is made: all as long as may be, but for the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unmade {
    /// Bytes that they carry together; not zero.
    left: Bytes,
    /// Bytes of each but the last.
    most: Bytes,
    /// When either server has served the next, if that is not the last, and its data are there.
    served_at: [Time; 2],
    /// What either server takes for each but the last.
    steps: [Span; 2],
    /// When the data of the last are there.
    last_at: Time,
}

impl Unmade {
    /// Has two servers serve, from `now` on, what a read returns: `first` carries the first of it, and `left` bytes are left, `most` in
    /// a completion. Data are there `latency` after both have served them: those of `first`, as it says then, and the last of all,
    /// which is returned with the completions behind it, if there are any.
    #[inline]
    pub(crate) fn serve(
        now: Time,
        first: &mut Packet,
        (left, most): (Bytes, Bytes),
        servers: [&mut Server; 2],
        latency: Span,
    ) -> (Time, Option<Self>) {
        let unserved = Self { left, most, served_at: [Time::ZERO; 2], steps: [Span::ZERO; 2], last_at: now };
        let mut unmade = unserved;
        let (full, last) = unmade.full_and_last();
        for (place, server) in servers.into_iter().enumerate() {
            first.eligible_at = first.eligible_at.max(server.serve(now, first.payload()) + latency);
            if left == Bytes::ZERO {
                continue;
            }
            if full > 0 {
                let step = server.rate().span_ceil(most);
                unmade.steps[place] = step;
                unmade.served_at[place] = server.serve_in_turn(now, step, full) + latency;
            }
            unmade.last_at = unmade.last_at.max(server.serve(now, last) + latency);
        }
        if left == Bytes::ZERO { (first.eligible_at, None) } else { (unmade.last_at, Some(unmade)) }
    }

    /// How many are as long as may be and not the last; and bytes of the last.
    #[inline]
    fn full_and_last(&self) -> (u64, Bytes) {
        let full = self.left.get().saturating_sub(1) / self.most.get();
        (full, Bytes::new(self.left.get() - full * self.most.get()))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.full_and_last().0 + 1
    }

    /// Whether all have their turn together with `first`: data of none come later than those before it are sent on `wire`.
    ///
    /// The time of data grows evenly or, from where the slower server is behind, faster, and that on the wire evenly. So if it is not
    /// too late for the second, for the last but one, and for the last, it is for none.
    #[inline]
    pub(crate) fn follow_at_once(&self, first: &Packet, wire: &WireTiming) -> bool {
        let (full, _) = self.full_and_last();
        let mut sent_at = first.eligible_at + wire.framed_span(first.cost.tlp());
        if full > 0 {
            let each = wire.framed_span(first.cost.with_data(0, self.most).tlp());
            let [a, b] = self.served_at;
            let until = [0, 1].map(|place| self.served_at[place] + self.steps[place] * (full - 1));
            if a.max(b) > sent_at || until[0].max(until[1]) > sent_at + each * (full - 1) {
                return false;
            }
            sent_at += each * full;
        }
        self.last_at <= sent_at
    }

    /// Makes the completion behind `before`. True when it is the last.
    #[inline]
    pub(crate) fn make(&mut self, before: &Packet) -> (Packet, bool) {
        let length = self.left.min(self.most);
        self.left = self.left.saturating_sub(length);
        let is_last = self.left == Bytes::ZERO;
        let mut next = *before;
        next.carry(before.address + u64::from(before.length), length);
        if is_last {
            next.flags = next.flags.with(Flags::LAST);
            next.eligible_at = self.last_at;
        } else {
            let [a, b] = self.served_at;
            next.eligible_at = a.max(b);
            self.served_at = [a + self.steps[0], b + self.steps[1]];
        }
        (next, is_last)
    }

    /// All completions of a read: `first`, and those behind it.
    pub(crate) fn all(first: Packet, unmade: Option<Self>) -> impl Iterator<Item = Packet> {
        std::iter::successors(Some((first, unmade)), |(before, unmade)| {
            let mut unmade = (*unmade)?;
            let (next, is_last) = unmade.make(before);
            Some((next, (!is_last).then_some(unmade)))
        })
        .map(|(packet, _)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::link;
    use crate::packet::RouteEnd;
    use lanewise_pcie::encoding::LinkMode;
    use lanewise_pcie::splitting;
    use lanewise_pcie::tlp::Tlp;
    use lanewise_units::{Generation, Rate, Width};
    use proptest::prelude::*;

    fn server(rate: u64, busy: Span) -> Server {
        let mut server = Server::new(Rate::from_bytes_per_second(rate));
        server.serve_for(Time::ZERO, busy);
        server
    }

    proptest! {
        /// What is worked out is what comes of serving one after the other.
        #[test]
        fn unmade_completions_are_those_that_are_served_one_by_one(
            address in 0_u64..4096,
            longest in 1_u64..=4096,
            (rcb, most) in prop::sample::select(vec![(64_u64, 64_u64), (64, 128), (64, 192), (128, 128), (128, 256)]),
            rates in prop::array::uniform2(1_000_000_000_u64..200_000_000_000),
            busy in prop::array::uniform2(0_u64..500),
        ) {
            let length = longest.min(4096 - address); // No read crosses 4 KiB.
            let busy = busy.map(Span::from_ns);
            let (now, latency) = (Time::ZERO + Span::from_ns(100), Span::from_ns(300));
            let [mut a, mut b] = [0, 1].map(|of| server(rates[of], busy[of]));
            let mut chunks = splitting::completions(address, Bytes::new(length), Bytes::new(rcb), Bytes::new(most));
            let whole = Packet::new(&Tlp::completion(address, Bytes::new(length)), RouteEnd(1), RouteEnd::HOST, now);
            let mut expected = Vec::new();
            let mut ready = now;
            for chunk in chunks.clone() {
                ready = ready.max(a.serve(now, chunk.length).max(b.serve(now, chunk.length)) + latency);
                expected.push((chunk.address, chunk.length, ready));
            }

            let [mut c, mut d] = [0, 1].map(|of| server(rates[of], busy[of]));
            let mut first = whole;
            let chunk = chunks.next().expect("not empty");
            first.carry(chunk.address, chunk.length);
            let left = chunks.byte_count();
            let (last, unmade) = Unmade::serve(now, &mut first, (left, Bytes::new(most)), [&mut c, &mut d], latency);
            prop_assert_eq!(unmade.map_or(0, |unmade| unmade.count()) as usize, expected.len() - 1);
            let made: Vec<Packet> = Unmade::all(first, unmade).collect();
            let said = made.iter().map(|packet| (packet.address, packet.payload(), packet.eligible_at));
            prop_assert_eq!(said.collect::<Vec<_>>(), expected);
            prop_assert_eq!(last, ready);
            prop_assert_eq!([c, d].map(|server| server.station.book), [a, b].map(|server| server.station.book));

            let wire = WireTiming::new(&link((0, 0), (1, 0), LinkMode::new(Generation::Gen3, Width::X8)));
            let mut sent_at = first.eligible_at;
            let mut at_once = true;
            for packet in &made {
                at_once &= packet.eligible_at <= sent_at;
                sent_at += wire.span(packet.cost.tlp()) + wire.framing;
            }
            if let Some(unmade) = unmade {
                prop_assert_eq!(unmade.follow_at_once(&first, &wire), at_once);
            }
        }
    }
}
