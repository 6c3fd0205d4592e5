//! Reading a fabric from outside: settling the books, conservation.

use crate::books::Books;
use crate::fabric::Fabric;
use crate::port::{Owner, Port, PortId};
use crate::workload::DeviceId;
use lanewise_observe::Observer;
use lanewise_observe::Observers;
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::flow_control::Credits;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

/// An event that waits, in a heap that grows by doubling: 16 B of it and its time, up to three times.
const BYTES_PER_EVENT: u64 = 48;

impl Fabric {
    /// Accounts for the time of every link direction, and for drained buffers, up to `at`. All ports have been advanced to then.
    pub(crate) fn settle_all(&mut self, at: Time) {
        for index in 0..self.ports.len() {
            let id = PortId(index as u32);
            for class in FlowClass::ALL {
                let mut books = Books { port: id, observers: &mut self.observers };
                self.ports[index].receiver.release_drained(class, at, &mut books);
            }
            self.settle(id, at);
        }
    }

    /// Port of a device, as the observers number them.
    pub fn port_index(&self, device: DeviceId, port: usize) -> usize {
        self.device_ports[device.0 as usize][port].index()
    }

    /// Number of ports, as the observers number them: those without a link too.
    pub fn port_count(&self) -> usize {
        self.ports.len()
    }

    /// Index of an endpoint among the endpoints, as the observers number them.
    pub fn requester_index(&self, device: DeviceId) -> Option<usize> {
        match self.devices[device.0 as usize].owner {
            Owner::Endpoint(index) => Some(index as usize),
            Owner::RootComplex(_) | Owner::Switch(_) => None,
        }
    }

    /// Heap and inline memory of all ports, in bytes: what an idle port costs.
    pub fn port_memory(&self) -> usize {
        self.ports.iter().map(|port| size_of_val(port) + port.heap_bytes()).sum()
    }

    /// Memory of the whole fabric at rest, observers and switches included, per port, in bytes.
    pub fn bytes_per_port(&self) -> f64 {
        let switches: usize = self.switches.iter().map(|switch| switch.heap_bytes()).sum();
        let per_port = Observers::BYTES_PER_PORT * self.ports.len();
        (self.port_memory() + switches + per_port) as f64 / self.ports.len().max(1) as f64
    }

    /// Bytes that the caches of all hosts have.
    pub(crate) fn cached(&self) -> u64 {
        let sockets = self.root_complexes.iter().flat_map(|root_complex| &root_complex.sockets);
        sockets.filter_map(|socket| socket.cache.as_ref()).map(|cache| cache.holds().get()).sum()
    }

    /// Memory of what is under way, in bytes, when there is a little more of it: everything that grows with load.
    pub(crate) fn bytes_under_way(&self) -> u64 {
        let tables = [
            self.packets.bytes(),
            self.transfers.bytes(),
            self.mmio.bytes(),
            self.pending.bytes(),
            self.beside.bytes(),
            self.watches.bytes(),
            self.cut_packets.bytes(),
            self.root_complexes.iter().map(|root_complex| root_complex.unmade.bytes()).sum(),
        ];
        tables.iter().sum::<u64>() + self.engine.pending() as u64 * BYTES_PER_EVENT
    }

    /// Checks what must hold between events, whatever the faults; panics when it does not.
    ///
    /// Credits, sequence numbers, tags, bytes, and the time of every link direction. A run does the same by itself, every so
    /// many events.
    ///
    /// # Panics
    /// When something is not conserved: a bug in this crate.
    pub fn check_conservation(&self) {
        self.audit().unwrap_or_else(|found| panic!("{:?}: {}", found.port, found.what));
    }

    /// Whether nothing is under way any more: no packet, transfer, access of the CPU, tag or unacknowledged TLP, and no read
    /// or queue of a root complex in use.
    pub fn is_quiet(&self) -> bool {
        self.packets.live() == 0
            && self.transfers.open() == 0
            && self.mmio.taken() == 0
            && self.ports.iter().all(|port| port.is_quiet())
            && self.switches.iter().all(|switch| switch.is_quiet())
            && self.root_complexes.iter().all(|root_complex| root_complex.is_quiet(self.now()))
            && self.endpoints.iter().all(|endpoint| endpoint.mmio_open == 0)
    }

    /// Whether every credit is where it started: nothing is held, and every transmitter has been told so.
    ///
    /// True some time after the last TLP; a fraction of a scaled step stays with the receiver.
    pub fn all_credits_returned(&self) -> bool {
        let linked = |(index, port): &(usize, &Port)| port.peer.index() != *index;
        self.ports.iter().enumerate().filter(linked).all(|(_, port)| {
            let peer = &self.ports[port.peer.index()];
            port.channel_numbers().all(|channel| {
                FlowClass::ALL.iter().all(|class| all_credits_returned(port, peer, channel, *class))
            })
        })
    }

    /// Read requests of an endpoint that have a tag and are not complete.
    pub fn outstanding_reads(&self, device: DeviceId) -> u32 {
        let endpoint = self.requester_index(device).map(|index| &self.endpoints[index]);
        endpoint.map_or(0, |endpoint| endpoint.outstanding_reads())
    }

    /// Lets one more observer hear every fact from now on.
    pub fn add_observer(&mut self, observer: Box<dyn Observer>) {
        self.observers.add(observer);
    }
}

/// Whether a receiver holds nothing of a class, and its peer knows.
fn all_credits_returned(port: &Port, peer: &Port, channel: u8, class: FlowClass) -> bool {
    let received = &port.receiver.buffer(channel, class).credits;
    let mut told = peer.credits_of(channel)[class.index()];
    for (_, dllp) in peer.mailbox.iter() {
        match dllp {
            Dllp::UpdateFlowControl { channel: on, class: of, header, data }
                if (*on, *of) == (channel, class) =>
            {
                told.update(*header, *data);
            }
            _ => {}
        }
    }
    received.held() == Credits::NONE
        && received.unreported() == Credits::NONE
        && told.available() == received.available_to_peer()
}
