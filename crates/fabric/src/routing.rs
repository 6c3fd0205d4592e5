//! Which egress leads to which endpoint.
//!
//! Endpoints are numbered depth first, so that each downstream port owns one interval, as memory windows and bus
//! number ranges do (PCIe Base 6.3 §2.2.4, §7.5.1.3). Anything outside belongs upstream.

use crate::packet::Address;

/// Intervals of endpoint ordinals, one per port that leads downstream, in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    windows: Vec<Window>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    first: u32,
    end: u32,
    port: u16,
}

impl Routes {
    /// Adds the next port: ordinals from `first` up to but not including `end`.
    pub(crate) fn add(&mut self, port: u16, first: u32, end: u32) {
        if first < end {
            debug_assert!(self.windows.last().is_none_or(|last| last.end <= first), "windows ascend");
            self.windows.push(Window { first, end, port });
        }
    }

    /// Port that leads to `destination`; none when that lies upstream.
    #[inline]
    pub(crate) fn port_to(&self, destination: Address) -> Option<u16> {
        let after = self.windows.partition_point(|window| window.first <= destination.0);
        let window = self.windows.get(after.checked_sub(1)?)?;
        (destination.0 < window.end).then_some(window.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_decide_and_the_rest_goes_upstream() {
        let mut routes = Routes::default();
        routes.add(1, 4, 6);
        routes.add(2, 6, 6);
        routes.add(3, 6, 9);
        assert_eq!(routes.port_to(Address(5)), Some(1));
        assert_eq!(routes.port_to(Address(6)), Some(3));
        assert_eq!(routes.port_to(Address(9)), None);
        assert_eq!(routes.port_to(Address(3)), None);
        assert_eq!(routes.port_to(Address::HOST), None);
    }
}
