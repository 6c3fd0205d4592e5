//! What waits for what when requests are open and nothing moves.

use crate::config::FabricConfig;
use crate::fabric::Fabric;
use crate::link::LinkState;
use crate::port::{Owner, PortId};
use lanewise_observe::{FlowTally, Use};

/// A port: index of its device in the configuration, and its own in the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Which device.
    pub device: usize,
    /// Which of its ports.
    pub port: usize,
}

impl Place {
    fn name(self, config: &FabricConfig) -> String {
        config.port_path((self.device, self.port))
    }
}

/// A component that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waiter {
    /// A port has something to send, and its link is not up.
    Link {
        /// Which port.
        port: Place,
        /// The other end.
        peer: Place,
    },
    /// A port has something to send that is held back.
    Port {
        /// Which port.
        port: Place,
        /// The other end.
        peer: Place,
        /// By what.
        on: Use,
    },
    /// A port sends the same again and again, and none of it is acknowledged.
    Replayer {
        /// Which port.
        port: Place,
        /// The other end.
        peer: Place,
        /// Replays of the whole run.
        replays: u32,
        /// TLPs and flits, of the whole run, that the other end found damaged.
        damaged: u32,
    },
    /// A device has read, and not all has come back.
    Reader {
        /// Which device.
        device: usize,
        /// Read requests that are open.
        reads: u32,
    },
    /// The CPU has accessed a device that does not answer.
    Cpu {
        /// Which device.
        device: usize,
        /// Accesses that are open.
        accesses: u32,
    },
    /// Reads wait at a root complex for an entry that keeps track of them, or for room in its outbound queue.
    Entries {
        /// Which root complex.
        device: usize,
        /// How many reads.
        reads: usize,
    },
    /// Transfers have been asked for and not ended.
    Transfers {
        /// Name of their flow.
        flow: String,
        /// Name of the device that it belongs to.
        device: String,
        /// How many.
        transfers: usize,
    },
}

impl Waiter {
    /// Whether it is busy all the same.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Replayer { .. })
    }

    /// What waits for what, by the names that `config` has for them: that of the fabric.
    pub fn describe(&self, config: &FabricConfig) -> String {
        let name = |device: usize| &config.devices[device].name;
        match self {
            Self::Link { port, peer } => {
                format!("{} waits for its link to {}", port.name(config), peer.name(config))
            }
            Self::Port { port, peer, on } => {
                format!("{} waits for {}", port.name(config), wanted(*on, &peer.name(config)))
            }
            Self::Replayer { port, peer, replays, damaged } => {
                let (port, peer) = (port.name(config), peer.name(config));
                let why = match damaged {
                    0 => {
                        format!("{peer} has found none of it damaged, so its Acks come too late or are lost")
                    }
                    _ => format!("{peer} has found {} damaged", counted(*damaged as usize, "TLP or flit")),
                };
                let replays = counted(*replays as usize, "replay");
                format!("{port} waits for an Ack of {peer} after {replays}: {why}")
            }
            Self::Transfers { flow, device, transfers } => {
                let transfers = counted(*transfers, "transfer");
                format!("`{flow}` of {device} waits for the end of {transfers}")
            }
            Self::Reader { device, reads } => {
                format!("{} waits for data of {}", name(*device), counted(*reads as usize, "read"))
            }
            Self::Cpu { device, accesses } => {
                let accesses = counted(*accesses as usize, "access");
                format!("the CPU waits for the end of {accesses} to {}", name(*device))
            }
            Self::Entries { device, reads } => {
                format!("{} at {} for an entry of its stack", waits(*reads, "read"), name(*device))
            }
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "access") => format!("{count} accesses"),
        (_, "TLP or flit") => format!("{count} TLPs or flits"),
        _ => format!("{count} {what}s"),
    }
}

fn waits(count: usize, who: &str) -> String {
    format!("{} {}", counted(count, who), if count == 1 { "waits" } else { "wait" })
}

/// What lets something go that is held back like this.
fn wanted(on: Use, peer: &str) -> String {
    let credits = match on {
        Use::BlockedPostedHeader => "posted header",
        Use::BlockedPostedData => "posted data",
        Use::BlockedNonPostedHeader => "non-posted header",
        Use::BlockedNonPostedData => "non-posted data",
        Use::BlockedCompletionHeader => "completion header",
        Use::BlockedCompletionData => "completion data",
        Use::BlockedRetryBuffer => return format!("an Ack of {peer}: its retry buffer is full"),
        Use::BlockedCore => return "the core of its switch".to_owned(),
        _ => return format!("a DLLP of {peer}"),
    };
    format!("{credits} credits of {peer}")
}

impl Fabric {
    /// Every component that waits.
    pub(crate) fn stall_report(&self) -> Vec<Waiter> {
        let ports = (0..self.ports.len()).filter_map(|index| self.port_that_waits(PortId(index as u32)));
        let devices = self.devices.iter().enumerate();
        let named: Vec<Waiter> = ports
            .chain(devices.flat_map(|(index, device)| self.requests_that_wait(index, device.owner)))
            .collect();
        // A component waits, or nothing would be open.
        if named.is_empty() { self.transfers_that_wait() } else { named }
    }

    /// What workloads have asked for that has not ended, by flow.
    fn transfers_that_wait(&self) -> Vec<Waiter> {
        let mut open = vec![0; self.observers.flows().len()];
        self.transfers.all_open().for_each(|one| open[one.transfer.flow.0 as usize] += 1);
        let flows = self.observers.flows().iter().zip(open).filter(|(_, transfers)| *transfers > 0);
        let waiter = |(flow, transfers): (&FlowTally, usize)| Waiter::Transfers {
            flow: flow.spec.name.clone(),
            device: flow.spec.devices.label.clone(),
            transfers,
        };
        flows.map(waiter).collect()
    }

    fn port_that_waits(&self, id: PortId) -> Option<Waiter> {
        let port = &self.ports[id.index()];
        if port.transmitter.state == LinkState::Active && !port.nothing_to_replay() {
            let replays = self.observers.counters(id.index()).errors.replays;
            if replays > 0 {
                let damaged = self.observers.counters(port.peer.index()).errors.bad_tlps;
                let (port, peer) = (self.place_of(id), self.place_of(port.peer));
                return Some(Waiter::Replayer { port, peer, replays, damaged });
            }
        }
        // A link that is down on purpose keeps nothing waiting, unless something is sent there all the same.
        let waits = match port.transmitter.state {
            LinkState::Active => !port.transmitter.waiting_for.is_none(),
            _ => !port.transmitter.is_down() || !port.nothing_queued(),
        };
        waits.then(|| {
            let (here, peer) = (self.place_of(id), self.place_of(port.peer));
            match port.transmitter.state {
                LinkState::Active => Waiter::Port { port: here, peer, on: port.transmitter.idle_cause },
                _ => Waiter::Link { port: here, peer },
            }
        })
    }

    /// What a device, or the CPU of it, has asked for and not got.
    fn requests_that_wait(&self, device: usize, owner: Owner) -> Vec<Waiter> {
        let mut found = Vec::new();
        match owner {
            Owner::Switch(_) => {}
            Owner::Endpoint(index) => {
                let endpoint = &self.endpoints[index as usize];
                let lines = self.cxl.as_ref().map_or(0, |cxl| cxl.open_at(device));
                let (reads, accesses) = (endpoint.outstanding_reads(), endpoint.mmio_open + lines);
                found.extend((reads > 0).then_some(Waiter::Reader { device, reads }));
                found.extend((accesses > 0).then_some(Waiter::Cpu { device, accesses }));
            }
            Owner::RootComplex(index) => {
                let reads = self.root_complexes[index as usize].waiting_reads();
                found.extend((reads > 0).then_some(Waiter::Entries { device, reads }));
            }
        }
        found
    }

    pub(crate) fn place_of(&self, id: PortId) -> Place {
        let mut devices = self.device_ports.iter().enumerate();
        let found = devices.find_map(|(device, ports)| {
            ports.iter().position(|port| *port == id).map(|port| Place { device, port })
        });
        found.expect("every port belongs to a device")
    }
}
