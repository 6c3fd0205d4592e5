//! Ports that are to decide at this instant, in the order of their numbers.

use crate::port::PortId;
use std::collections::VecDeque;

/// Ports that are to decide at this instant.
#[derive(Default)]
pub(crate) struct Ready {
    /// In order; one may be there more than once.
    ports: VecDeque<PortId>,
}

impl Ready {
    /// Adds a port. Those that come at one instant are few, or come in order.
    #[inline]
    pub(crate) fn add(&mut self, port: PortId) {
        self.ports.push_back(port);
        let mut place = self.ports.len() - 1;
        while place > 0 && self.ports[place - 1] > port {
            self.ports.swap(place - 1, place);
            place -= 1;
        }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// The port that comes next.
    #[inline]
    pub(crate) fn first(&self) -> Option<PortId> {
        self.ports.front().copied()
    }

    /// Takes it out.
    #[inline]
    pub(crate) fn take_first(&mut self) {
        self.ports.pop_front();
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
