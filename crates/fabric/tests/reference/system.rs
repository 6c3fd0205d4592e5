//! The whole system: devices and ports, the loop over events, and what was written down.

use super::agenda::{Agenda, Event, rank};
use super::endpoint::Endpoint;
use super::host::Host;
use super::hot_plug::Plug;
use super::port::Port;
use super::record::Record;
use super::switch::Switch;
use super::tlp::Credits;
use super::wire::Faults;
use lanewise_engine::random::RandomStream;
use lanewise_fabric::Machines;
use lanewise_fabric::config::*;
use lanewise_units::{Bytes, Time};
use std::collections::BTreeSet;

/// A transfer that a device is asked for; its index is its flow.
#[derive(Clone, Debug)]
pub struct Step {
    pub at: Time,
    pub device: usize,
    pub channel: usize,
    pub traffic_class: u8,
    pub is_read: bool,
    /// The endpoint whose memory it is; none for host memory.
    pub target: Option<usize>,
    pub offset: u64,
    pub length: u64,
}

/// What a device is.
pub enum Kind {
    Host(Box<Host>),
    Switch(Box<Switch>),
    Endpoint(Box<Endpoint>),
}

/// A device.
pub struct Device {
    pub kind: Kind,
    pub ports: Vec<usize>,
    /// The device above, and the port there.
    pub above: Option<(usize, usize)>,
}

/// The reference.
pub struct System {
    pub now: Time,
    pub agenda: Agenda,
    pub ports: Vec<Port>,
    pub devices: Vec<Device>,
    /// Bus numbers, BARs and windows.
    pub machines: Machines,
    pub steps: Vec<Step>,
    pub plugs: Vec<Plug>,
    /// Devices that were taken away.
    pub is_away: BTreeSet<usize>,
    pub record: Record,
    entered: u64,
    has_started: bool,
}

/// Why this reference does not play a configuration.
pub fn refusal(config: &FabricConfig) -> Option<&'static str> {
    let link = |link: &LinkConfig| {
        [
            (link.quicker != 1, "quicker wires"),
            (link.mode.flit && link.power != LinkPower::default(), "sleep in Flit Mode"),
        ]
    };
    let device = |device: &DeviceConfig| match &device.kind {
        DeviceKind::RootComplex(root) => vec![
            (root.cache.is_some(), "a last-level cache"),
            (root.shared_outbound_queue.is_some(), "a shared outbound queue"),
            (root.largest_forwarded.is_some(), "cut peer packets"),
            (root.stack.peer_rate.is_some(), "a rate of peers"),
            (root.sockets.is_some(), "sockets"),
            (root.errors != ErrorConfig::default(), "errors of the transaction layer"),
        ],
        DeviceKind::Switch(switch) => vec![
            (!matches!(switch.core, SwitchCore::Crossbar { .. }), "buses and shared memories"),
            (!switch.corruption.is_none(), "damage inside switches"),
        ],
        DeviceKind::Endpoint(endpoint) => vec![
            (endpoint.dma != DmaConfig::default(), "DMA engines and translation caches"),
            (endpoint.bridge.is_some(), "bridges between hosts"),
            (endpoint.traffic_class != 0, "a traffic class of a device"),
            (endpoint.warm_buffers || endpoint.memory_socket.is_some(), "placed buffers"),
            (endpoint.errors != ErrorConfig::default(), "errors of the transaction layer"),
        ],
    };
    let of_links = config.links.iter().flat_map(link);
    let mut all = of_links.chain(config.devices.iter().flat_map(device));
    all.find(|(is_left_out, _)| *is_left_out).map(|(_, what)| what)
}

impl System {
    /// # Panics
    /// When something of the configuration is left out here, with its name.
    pub fn new(config: &FabricConfig, steps: Vec<Step>, plugs: Vec<Plug>) -> Self {
        if let Some(what) = refusal(config) {
            panic!("left out of the reference: {what}");
        }
        let machines = Machines::of(config).expect("a tree");
        let first_ports = first_ports(config);
        let id = |(device, port): (usize, usize)| first_ports[device] + port;
        let devices: Vec<Device> = config
            .devices
            .iter()
            .enumerate()
            .map(|(index, device)| {
                let kind = match &device.kind {
                    DeviceKind::RootComplex(root) => {
                        let numbers = numbers(config, &machines);
                        let jitter = RandomStream::new(config.seed, &device.name, "memory latency");
                        Kind::Host(Box::new(Host::new(root, device.ports.len(), numbers, jitter)))
                    }
                    DeviceKind::Switch(switch) => {
                        let channels: Vec<usize> =
                            device.ports.iter().map(|port| 1 + port.more_credits.len()).collect();
                        Kind::Switch(Box::new(Switch::new(switch, &channels)))
                    }
                    DeviceKind::Endpoint(endpoint) => {
                        let channels = 1 + device.ports[0].more_credits.len();
                        Kind::Endpoint(Box::new(Endpoint::new(
                            endpoint,
                            channels,
                            &device.ports[0].channel_arbitration,
                        )))
                    }
                };
                let above = config.links.iter().find(|link| link.lower.0 == index).map(|link| link.upper);
                let ports = (0..device.ports.len()).map(|port| id((index, port))).collect();
                Device { kind, ports, above }
            })
            .collect();
        let mut ports: Vec<Option<Port>> = Vec::new();
        ports.resize_with(config.devices.iter().map(|device| device.ports.len()).sum(), || None);
        for link in &config.links {
            for (own, other, is_upper) in [(link.upper, link.lower, true), (link.lower, link.upper, false)] {
                let mut port = Port::new(own.0, own.1, id(other), &config.devices[own.0].ports[own.1], link);
                let (faults, name) = match is_upper {
                    true => (&link.faults_downstream, "bit errors downstream"),
                    false => (&link.faults_upstream, "bit errors upstream"),
                };
                let stream = RandomStream::new(config.seed, &config.devices[link.lower.0].name, name);
                port.faults = Faults::new(faults, link.mode, stream);
                let none =
                    |faults: &FaultConfig| faults.bit_error_rate <= 0.0 && faults.corrupt_tlps.is_empty();
                port.error_free = none(&link.faults_downstream) && none(&link.faults_upstream);
                ports[id(own)] = Some(port);
            }
        }
        let ports: Vec<Port> = ports.into_iter().map(|port| port.expect("every port has a link")).collect();
        let record = Record::new(ports.len(), steps.len());
        Self {
            now: Time::ZERO,
            agenda: Agenda::default(),
            ports,
            devices,
            machines,
            steps,
            plugs,
            is_away: BTreeSet::new(),
            record,
            entered: 0,
            has_started: false,
        }
    }

    /// What changes while the run goes on: rates and latencies of devices, and bit error rates. What was asked for before stays as it was.
    pub fn change(&mut self, config: &FabricConfig) {
        for (device, to) in self.devices.iter_mut().zip(&config.devices) {
            match (&mut device.kind, &to.kind) {
                (Kind::Host(host), DeviceKind::RootComplex(to)) => host.change(to),
                (Kind::Switch(switch), DeviceKind::Switch(to)) => switch.config = to.clone(),
                (Kind::Endpoint(endpoint), DeviceKind::Endpoint(to)) => endpoint.change(to),
                _ => panic!("another kind of device"),
            }
        }
        let first_ports = first_ports(config);
        for link in &config.links {
            let ends = [(link.upper, &link.faults_downstream), (link.lower, &link.faults_upstream)];
            for ((device, port), faults) in ends {
                if let Some(own) = &mut self.ports[first_ports[device] + port].faults {
                    own.change(faults, link.mode);
                }
            }
        }
    }

    /// Runs up to and including `limit`.
    pub fn run(&mut self, limit: Time) {
        if !std::mem::replace(&mut self.has_started, true) {
            self.start();
        }
        while let Some((now, event)) = self.agenda.next(limit) {
            self.now = now;
            self.handle(event);
        }
    }

    fn start(&mut self) {
        for port in 0..self.ports.len() {
            self.agenda.add(self.ports[port].wire.next_skip, rank::FACTS, Event::SkipDue { port });
            self.agenda.add(Time::ZERO, rank::LOOKS, Event::Look { port });
        }
        for step in 0..self.steps.len() {
            self.agenda.add(self.steps[step].at, rank::ASKED, Event::Asked { step });
        }
        for plug in 0..self.plugs.len() {
            self.agenda.add(self.plugs[plug].at, rank::ASKED, Event::Plug { plug });
        }
    }

    fn handle(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Freed { port, channel, class, credits } => self.is_free(port, channel, class, credits),
            Event::DllpArrives { port, dllp, life } => {
                let own = &mut self.ports[port];
                own.inbox.extend((own.lives == life).then_some((now, dllp)));
            }
            Event::Checked { port } => {
                self.ports[port].count_checked(now);
                self.plan_dllps(port);
            }
            Event::DuplicateChecked { port } => {
                self.ports[port].ack_due = self.ports[port].ack_due.min(now);
                self.plan_dllps(port);
            }
            Event::SkipDue { port } => {
                // A sleeping link sends none.
                if self.ports[port].wire.next_skip == now && !self.is_asleep(port) {
                    let next = self.ports[port].wire.skip_due(now);
                    self.agenda.add(next, rank::FACTS, Event::SkipDue { port });
                }
            }
            Event::DllpDue { port } => {
                self.ports[port].wire.send_skips(now);
                self.send_due_dllps(port);
            }
            Event::Arrives { port, arrival } => {
                self.take_in(port, *arrival);
            }
            Event::FlitArrives { port, arrival } => self.take_in_flit(port, *arrival),
            Event::TakeFromFlit { port } => self.take_from_flit(port),
            Event::Look { port } => {
                self.look(port);
            }
            Event::ReplayTimer { port } => self.on_replay_timer(port),
            Event::Entry { device, stack } => self.start_reads(device, stack),
            Event::TagFree { device, read } => self.tag_is_free(device, read),
            Event::Asked { step } => self.on_asked(step),
            Event::Plug { plug } => self.on_plug(plug),
        }
    }

    /// A TLP enters a queue.
    pub fn next_order(&mut self) -> u64 {
        self.entered += 1;
        self.entered
    }

    /// Has a port look at a time; now, once everything else of this instant has happened.
    pub fn look_at(&mut self, port: usize, at: Time) {
        self.agenda.add(at.max(self.now), rank::LOOKS, Event::Look { port });
    }

    /// The buffer space of a TLP that came in at `port` is free at `at`. DLLPs that are due now go without it.
    pub fn free_at(&mut self, port: usize, tlp: &super::tlp::Tlp, at: Time) {
        self.send_due_dllps(port);
        let (channel, class, credits) = (self.ports[port].channel_of(tlp), tlp.class(), tlp.credits());
        if self.ports[port].channels[channel].buffers[class].is_infinite() {
        } else if at <= self.now {
            self.is_free(port, channel, class, credits);
        } else {
            self.agenda.add(at, rank::FACTS, Event::Freed { port, channel, class, credits });
        }
    }

    fn is_free(&mut self, port: usize, channel: usize, class: usize, credits: Credits) {
        let Port { channels, config, .. } = &mut self.ports[port];
        channels[channel].buffers[class].free(credits, self.now, config);
        self.plan_dllps(port);
    }

    pub fn host(&mut self, device: usize) -> &mut Host {
        match &mut self.devices[device].kind {
            Kind::Host(host) => host,
            _ => panic!("device {device} is no host"),
        }
    }

    pub fn switch(&mut self, device: usize) -> &mut Switch {
        match &mut self.devices[device].kind {
            Kind::Switch(switch) => switch,
            _ => panic!("device {device} is no switch"),
        }
    }

    pub fn endpoint(&mut self, device: usize) -> &mut Endpoint {
        match &mut self.devices[device].kind {
            Kind::Endpoint(endpoint) => endpoint,
            _ => panic!("device {device} is no endpoint"),
        }
    }

    /// Largest payload of a device's ports.
    pub fn mps(&self, port: usize) -> u64 {
        let mps: Bytes = self.ports[port].config.mps;
        mps.get()
    }
}

/// By device, how many endpoints of its machine have lower bus numbers.
fn numbers(config: &FabricConfig, machines: &Machines) -> Vec<u64> {
    let is_end = |device: &usize| matches!(config.devices[*device].kind, DeviceKind::Endpoint(_));
    let bus = |device: usize| machines.port(device, 0).bus;
    let before = |device: usize| {
        (0..config.devices.len()).filter(is_end).filter(|other| bus(*other) < bus(device)).count()
    };
    (0..config.devices.len()).map(|device| before(device) as u64).collect()
}

/// By port, whether its link is in Flit Mode.
pub fn ports_in_flit_mode(config: &FabricConfig) -> Vec<bool> {
    let first_ports = first_ports(config);
    let mut flits = vec![false; config.devices.iter().map(|device| device.ports.len()).sum()];
    for link in &config.links {
        for (device, port) in [link.upper, link.lower] {
            flits[first_ports[device] + port] = link.mode.flit;
        }
    }
    flits
}

/// The number of each device's first port: devices are numbered by their levels below hosts, by the names of hosts, and by the
/// ports that lead down to them.
fn first_ports(config: &FabricConfig) -> Vec<usize> {
    let path = |device: usize| {
        let (mut at, mut ports) = (device, Vec::new());
        while let Some(link) = config.links.iter().find(|link| link.lower.0 == at) {
            ports.insert(0, link.upper.1);
            at = link.upper.0;
        }
        (ports.len(), &config.devices[at].name, ports)
    };
    let mut order: Vec<usize> = (0..config.devices.len()).collect();
    order.sort_by_key(|device| path(*device));
    let mut first = vec![0; order.len()];
    for pair in order.windows(2) {
        first[pair[1]] = first[pair[0]] + config.devices[pair[0]].ports.len();
    }
    first
}
