//! What firmware programs into the devices of a configuration: numbers, BARs and windows, a machine for each root complex.
//!
//! Every slot of a host is a root port, every switch an upstream port and its downstream ports, every endpoint one function with up to two
//! BARs: its registers, and memory that others may address. The rules are [`lanewise_pcie::enumeration`]'s.

use crate::assembly::{self, AssemblyError, PortLinks};
use crate::config::{DeviceKind, EndpointConfig, FabricConfig};
use lanewise_pcie::enumeration::{Bar, Enumeration, Function, Header, Programmed, enumerate};

/// A root complex and all below it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The root complex: its index among the devices.
    pub root: usize,
    /// By function, depth first, the device and the port that it is.
    pub ports: Vec<(usize, usize)>,
    /// By function, what firmware finds.
    pub functions: Vec<Function>,
    /// By function, what firmware programs.
    pub programmed: Enumeration,
    /// Endpoints in the machines before.
    first_endpoint: u32,
    /// Function of each endpoint, depth first: the order of their buses.
    endpoints: Vec<usize>,
}

impl Machine {
    /// What is programmed into each endpoint, depth first.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &Programmed> {
        self.endpoints.iter().map(|function| &self.programmed.functions[*function])
    }

    /// The BARs of an endpoint as firmware found them.
    pub(crate) fn bars_of(&self, index: usize) -> &[Bar] {
        match &self.functions[self.endpoints[index]].header {
            Header::Device(bars) => bars,
            Header::Bridge => &[],
        }
    }

    /// The first endpoint below a bridge, counted through all machines, and one past the last: those whose buses are below it.
    fn endpoints_below(&self, bridge: &Programmed) -> (u32, u32) {
        let buses = bridge.buses.expect("a bridge has buses below");
        let before = |end: u32| {
            let is_before = |function: &usize| self.programmed.functions[*function].bus < end;
            self.first_endpoint + self.endpoints.partition_point(is_before) as u32
        };
        (before(buses.secondary), before(buses.subordinate + 1))
    }
}

/// All machines of a configuration.
#[derive(Clone, Debug)]
pub struct Machines {
    /// In the order of the names of their root complexes.
    pub all: Vec<Machine>,
    /// By device, its machine and the functions of its ports.
    of_device: Vec<(usize, Vec<usize>)>,
}

impl Machines {
    /// Enumerates every machine of a configuration.
    ///
    /// # Errors
    /// When the configuration is no fabric, or has more BARs of 32 bits than fit below 4 GiB.
    pub fn of(config: &FabricConfig) -> Result<Self, AssemblyError> {
        let assembly::Trees { links, order, .. } = assembly::checked_trees(config)?;
        Self::build(config, &links, &order)
    }

    /// The same of a configuration whose links are known to form trees.
    pub(crate) fn build(
        config: &FabricConfig,
        links: &PortLinks,
        order: &[usize],
    ) -> Result<Self, AssemblyError> {
        let mut made = Self { all: Vec::new(), of_device: vec![(0, Vec::new()); config.devices.len()] };
        let mut first_endpoint = 0;
        for index in order.iter().copied() {
            let DeviceKind::RootComplex(settings) = &config.devices[index].kind else { continue };
            let mut walk = Walk {
                config,
                links,
                machine: made.all.len(),
                found: &mut made.of_device,
                ports: Vec::new(),
                functions: Vec::new(),
            };
            for port in 0..config.devices[index].ports.len() {
                walk.bridge(index, port, None);
            }
            let Walk { ports, functions, .. } = walk;
            let programmed = enumerate(&functions, settings.mmio_base).map_err(|no_room| {
                AssemblyError::NoRoomBelow4Gib { device: config.devices[index].name.clone(), no_room }
            })?;
            let is_endpoint = |function: &usize| functions[*function].header != Header::Bridge;
            let endpoints: Vec<usize> = (0..functions.len()).filter(is_endpoint).collect();
            let count = endpoints.len() as u32;
            made.all.push(Machine { root: index, ports, functions, programmed, first_endpoint, endpoints });
            first_endpoint += count;
        }
        Ok(made)
    }

    /// What is programmed into a port of a host or switch, or into an endpoint, whose port is 0.
    pub fn port(&self, device: usize, port: usize) -> &Programmed {
        let (machine, functions) = &self.of_device[device];
        &self.all[*machine].programmed.functions[functions[port]]
    }

    /// The number of the first endpoint below a port that faces downstream, and one past that of the last.
    pub(crate) fn endpoints_below(&self, device: usize, port: usize) -> (u32, u32) {
        self.all[self.of_device[device].0].endpoints_below(self.port(device, port))
    }

    /// The number of an endpoint: its place among all, depth first.
    pub(crate) fn endpoint(&self, device: usize) -> u32 {
        let (machine, functions) = &self.of_device[device];
        let machine = &self.all[*machine];
        machine.first_endpoint + machine.endpoints.partition_point(|function| *function < functions[0]) as u32
    }
}

/// A walk through one machine.
struct Walk<'c> {
    config: &'c FabricConfig,
    links: &'c PortLinks,
    machine: usize,
    found: &'c mut Vec<(usize, Vec<usize>)>,
    ports: Vec<(usize, usize)>,
    functions: Vec<Function>,
}

impl Walk<'_> {
    fn add(&mut self, device: usize, port: usize, function: Function) -> usize {
        self.ports.push((device, port));
        self.functions.push(function);
        let (machine, functions) = &mut self.found[device];
        *machine = self.machine;
        functions.push(self.functions.len() - 1);
        self.functions.len() - 1
    }

    /// A port that faces downstream, and all below it.
    fn bridge(&mut self, device: usize, port: usize, above: Option<usize>) {
        let own = self.add(device, port, Function { above, header: Header::Bridge });
        let Some((link, true)) = self.links[device][port] else { return };
        let lower = self.config.links[link].lower.0;
        let ports = self.config.devices[lower].ports.len();
        match &self.config.devices[lower].kind {
            DeviceKind::Endpoint(endpoint) => {
                let header = Header::Device(endpoint.bars());
                self.add(lower, 0, Function { above: Some(own), header });
            }
            DeviceKind::Switch(_) => {
                let upstream = self.add(lower, 0, Function { above: Some(own), header: Header::Bridge });
                (1..ports).for_each(|port| self.bridge(lower, port, Some(upstream)));
            }
            DeviceKind::RootComplex(_) => {}
        }
    }
}

impl EndpointConfig {
    /// Its BARs: registers, then memory that others may address, if there is any.
    fn bars(&self) -> Vec<Bar> {
        let memory = self.memory_bar.map(|size| Bar { size: size.get(), is_wide: true });
        core::iter::once(self.registers).chain(memory).collect()
    }
}
