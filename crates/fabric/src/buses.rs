//! The buses of a switch: one that all its ports share, or one for each group of ports and a crossbar between them.
//!
//! A transfer takes the bus of its ingress and the bus of its egress for the same time, as there is no buffer in between;
//! where both are one, that. Egresses that wait for a bus have it in turn. One that needs two and has its turn on both
//! keeps the bus that is free first until the other is, or transfers within the groups could keep it out for ever.
//!
//! Assumed: the round robin; how the buses of real parts are given out is not published.

use crate::server::Book;
use lanewise_units::{Span, SpanSum, Time};

/// The least time there is.
const TICK: Span = Span::from_ticks(1);

/// One bus.
#[derive(Clone, Default)]
struct Bus {
    free_at: Time,
    /// Egress ports that were refused since they last had it, a bit each.
    waiting: u128,
    /// Whose turn it is when it is free. An egress that does not come at that instant has missed it.
    next: Option<u16>,
    book: Book,
    /// When the number of those that wait last changed.
    counted_at: Time,
}

impl Bus {
    /// Whether `egress` may have it at `at`, when it is free.
    fn is_open_to(&self, egress: u16, at: Time) -> bool {
        self.next.is_none_or(|next| next == egress) || at > self.free_at
    }

    fn refuse(&mut self, egress: u16, now: Time) {
        self.count(now);
        self.waiting |= 1 << egress;
        self.next.get_or_insert(egress);
    }

    fn give(&mut self, egress: u16, now: Time, until: Time) {
        self.count(now);
        self.book.enter(now, now, until - now);
        self.free_at = until;
        self.waiting &= !(1 << egress);
        let above = self.waiting & (u128::MAX << egress);
        let first = if above != 0 { above } else { self.waiting };
        self.next = (first != 0).then(|| first.trailing_zeros() as u16);
    }

    /// Enters how long those that wait have waited up to `now`.
    fn count(&mut self, now: Time) {
        self.book.waited += SpanSum::from(now - self.counted_at) * u64::from(self.waiting.count_ones());
        self.counted_at = now;
    }

    fn book_at(&self, at: Time) -> Book {
        let mut bus = self.clone();
        bus.count(at.max(bus.counted_at));
        bus.book.busy = bus.book.busy.saturating_sub(bus.free_at.saturating_since(at));
        bus.book
    }
}

/// All buses of a switch.
pub(crate) struct Buses {
    of_port: Box<[u16]>,
    buses: Vec<Bus>,
}

impl Buses {
    /// Free buses; ports beyond the end of `of_port` are on the first.
    pub(crate) fn new(of_port: &[u16]) -> Self {
        let count = of_port.iter().max().map_or(1, |last| usize::from(*last) + 1);
        Self { of_port: of_port.into(), buses: vec![Bus::default(); count] }
    }

    /// The buses of two ports: one where both are on the same.
    fn between(&self, ingress: u16, egress: u16) -> impl Iterator<Item = usize> + Clone + use<> {
        let bus_of =
            |port: u16| usize::from(self.of_port.get(usize::from(port)).copied().unwrap_or_default());
        let (first, second) = (bus_of(ingress), bus_of(egress));
        std::iter::once(first).chain((second != first).then_some(second))
    }

    /// Whether `egress` may take the buses between two ports now.
    pub(crate) fn are_free(&self, ingress: u16, egress: u16, now: Time) -> bool {
        let mut pair = self.between(ingress, egress).map(|bus| &self.buses[bus]);
        pair.all(|bus| bus.free_at <= now && bus.is_open_to(egress, now))
    }

    /// Takes the buses between two ports for so long, or says when to ask again.
    pub(crate) fn take(&mut self, ingress: u16, egress: u16, span: Span, now: Time) -> Result<(), Time> {
        let pair = self.between(ingress, egress);
        let at = pair.clone().map(|bus| self.buses[bus].free_at).fold(now, Time::max);
        if !pair.clone().all(|bus| self.buses[bus].is_open_to(egress, at)) {
            pair.for_each(|bus| self.buses[bus].refuse(egress, now));
            return Err(at + TICK); // After the one whose turn it is.
        }
        for bus in pair {
            let bus = &mut self.buses[bus];
            if at == now {
                bus.give(egress, now, now + span);
            } else {
                bus.refuse(egress, now);
                bus.free_at = at;
            }
        }
        if at == now { Ok(()) } else { Err(at) }
    }

    /// What each bus has done up to `at`.
    pub(crate) fn books_at(&self, at: Time) -> impl Iterator<Item = Book> {
        self.buses.iter().map(move |bus| bus.book_at(at))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.of_port) + size_of_val(&*self.buses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_that_both_ports_are_on_is_taken_once() {
        let (now, span) = (Time::ZERO, Span::from_ns(10));
        for (of_port, expected) in [([0, 0], vec![1]), ([0, 1], vec![1, 1])] {
            let mut buses = Buses::new(&of_port);
            assert_eq!(buses.take(0, 1, span, now), Ok(()));
            let books: Vec<Book> = buses.books_at(now + span).collect();
            assert_eq!(books.iter().map(|book| book.served).collect::<Vec<_>>(), expected);
            assert!(books.iter().all(|book| book.busy == span.into()), "{books:?}");
        }
    }
}
