//! Links that go down and come up while the run goes on, because a device is taken away or brought.
//!
//! Only devices at rest are taken away: nothing of theirs is under way, so nothing is lost and no credit or sequence
//! number has to be given up. The data link layer goes to DL_Inactive, all time is accounted as the link being down, and
//! when the link comes up flow control is initialised afresh (PCIe Base 6.3 §3.2.1, §3.4).
//!
//! Leaves out: surprise removal, in which outstanding requests end as Unsupported Request or time out (§2.9.1), what the
//! training sets of a hot reset put on the wire, and Flit Mode.

use crate::books::Books;
use crate::fabric::Fabric;
use crate::phases::Change;
use crate::port::{Owner, PortId};
use crate::ports::HotPlug;
use crate::workload::{DeviceId, Direction};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

impl Fabric {
    /// Both ends of the link above an endpoint: its own port first.
    fn ends(&self, device: DeviceId) -> [PortId; 2] {
        let lower = self.device_ports[device.0 as usize][0];
        [lower, self.ports[lower.index()].peer]
    }

    /// Accounts for both ends before either changes: what one of them does decides whether the other was asleep.
    fn settle_ends(&mut self, device: DeviceId, now: Time) {
        for id in self.ends(device) {
            self.settle(id, now);
        }
    }
}

impl HotPlug for Fabric {
    fn is_at_rest(&mut self, device: DeviceId) -> bool {
        let now = self.now();
        let ends = self.ends(device);
        for id in ends {
            self.advance_to(id, now);
        }
        for id in ends {
            // Nothing else: a Nak that is read out of turn would change the run for being asked.
            self.take_in_acknowledgements(id, now);
        }
        let endpoint = &self.endpoints[self.endpoint_index(device) as usize];
        let asks = endpoint.wants(Direction::Read) || endpoint.wants(Direction::Write);
        let waits_above = match self.ports[ends[1].index()].owner {
            Owner::Switch(index) => {
                let port = self.ports[ends[1].index()].index;
                self.switches[index as usize].has_packets_between(&self.packets, port, now)
            }
            Owner::RootComplex(_) | Owner::Endpoint(_) => false,
        };
        endpoint.mmio_open == 0
            && endpoint.outstanding_reads() == 0
            && !asks
            && !waits_above
            && ends.iter().all(|id| {
                let port = &self.ports[id.index()];
                port.is_quiet() && port.receiver.all_buffers().all(|(buffer, _)| buffer.is_empty_by(now))
            })
    }

    fn disconnect(&mut self, device: DeviceId) {
        assert!(
            self.is_at_rest(device),
            "{:?}: device {} is taken away with work to do",
            self.now(),
            device.0
        );
        let now = self.now();
        for id in self.ends(device) {
            let port = &mut self.ports[id.index()];
            assert!(!port.flit_mode(), "links in Flit Mode stay up");
            for class in FlowClass::ALL {
                let mut books = Books { port: id, observers: &mut self.observers };
                port.receiver.release_drained(class, now, &mut books);
            }
        }
        self.settle_ends(device, now);
        for id in self.ends(device) {
            self.ports[id.index()].go_down();
        }
    }

    fn connect(&mut self, device: DeviceId) {
        let now = self.now();
        self.settle_ends(device, now);
        for id in self.ends(device) {
            self.ports[id.index()].come_up(now);
        }
        for id in self.ends(device) {
            self.wake(id, now);
        }
    }

    fn expect_changes(&mut self, count: usize) {
        self.changes.expect(count);
    }

    fn changed(&mut self, name: String) {
        let (at, counts) = (self.now(), self.flow_counts());
        self.changes.saw(Change { at, name, counts });
    }
}
