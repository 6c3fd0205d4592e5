//! Which egress leads to which endpoint: windows and bus ranges of a switch's ports, compiled.
//!
//! Endpoints are numbered depth first, as buses are, so that the buses below a downstream port are an interval of endpoints; and its
//! windows are the hull of their BARs, so an address in a BAR leads the same way (PCIe Base 6.3 §2.2.4, §7.5.1.3). Anything outside
//! belongs upstream. A table with an entry per endpoint below is one look-up per packet, where a search through the windows would
//! be a handful of unforeseeable branches.

use crate::packet::RouteEnd;

/// The port for each endpoint from the first one below on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    first: u32,
    ports: Vec<u16>,
}

/// An endpoint between two intervals.
const NOWHERE: u16 = u16::MAX;

impl Routes {
    /// Adds the next port: endpoints from `first` up to but not including `end`. Intervals ascend.
    pub(crate) fn add(&mut self, port: u16, first: u32, end: u32) {
        if first < end {
            if self.ports.is_empty() {
                self.first = first;
            }
            assert!(self.first as usize + self.ports.len() <= first as usize, "intervals ascend");
            self.ports.resize((first - self.first) as usize, NOWHERE);
            self.ports.resize((end - self.first) as usize, port);
        }
    }

    /// Heap memory, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.ports)
    }

    /// Port that leads to `destination`; none when that lies upstream.
    #[inline]
    pub(crate) fn port_to(&self, destination: RouteEnd) -> Option<u16> {
        let port = *self.ports.get(destination.0.wrapping_sub(self.first) as usize)?;
        (port != NOWHERE).then_some(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_decide_and_the_rest_goes_upstream() {
        let mut routes = Routes::default();
        routes.add(1, 4, 6);
        routes.add(2, 6, 6);
        routes.add(3, 6, 9);
        assert_eq!(routes.port_to(RouteEnd(5)), Some(1));
        assert_eq!(routes.port_to(RouteEnd(6)), Some(3));
        assert_eq!(routes.port_to(RouteEnd(9)), None);
        assert_eq!(routes.port_to(RouteEnd(3)), None);
        routes.add(4, 12, 13);
        assert_eq!(routes.port_to(RouteEnd(11)), None);
        assert_eq!(routes.port_to(RouteEnd(12)), Some(4));
        assert_eq!(routes.port_to(RouteEnd::HOST), None);
    }
}
