//! Ports that are to decide at this instant, in the order of their numbers.

use crate::port::PortId;
use std::collections::VecDeque;

/// Ports that are to decide at this instant. Nearly always there is one.
#[derive(Default)]
pub(crate) struct Ready {
    first: Option<PortId>,
    /// In order; one may be there more than once.
    others: VecDeque<PortId>,
}

impl Ready {
    /// Adds a port.
    #[inline(always)]
    pub(crate) fn add(&mut self, port: PortId) {
        match self.first {
            None => self.first = Some(port),
            Some(first) => self.add_beside(first, port),
        }
    }

    /// Those that come at one instant are few, or come in order.
    #[inline(never)]
    fn add_beside(&mut self, first: PortId, port: PortId) {
        if port < first {
            self.first = Some(port);
            return self.others.push_front(first);
        }
        self.others.push_back(port);
        let mut place = self.others.len() - 1;
        while place > 0 && self.others[place - 1] > port {
            self.others.swap(place - 1, place);
            place -= 1;
        }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The port that comes next.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<PortId> {
        self.first
    }

    /// Takes it out.
    #[inline(always)]
    pub(crate) fn take_first(&mut self) {
        self.first = if self.others.is_empty() { None } else { self.others.pop_front() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_come_in_the_order_of_their_numbers() {
        let mut ready = Ready::default();
        [5, 2, 9, 2].map(PortId).into_iter().for_each(|port| ready.add(port));
        let order = std::iter::from_fn(|| {
            let first = ready.first();
            ready.take_first();
            first
        });
        assert_eq!(order.collect::<Vec<_>>(), [2, 2, 5, 9].map(PortId));
        assert!(ready.is_empty());
    }
}
