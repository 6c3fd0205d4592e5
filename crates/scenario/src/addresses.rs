//! Numbers and addresses of devices as firmware gives them out, for `explain`: what `lspci` would show of such a machine.

use lanewise_fabric::Machines;
use lanewise_fabric::config::{Bar, DeviceKind, FabricConfig};
use lanewise_pcie::enumeration::{Function, Header, Programmed};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::Range;

/// What a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum FunctionKind {
    /// A slot of a host.
    #[serde(rename = "root port")]
    RootPort,
    /// Port 0 of a switch.
    #[serde(rename = "upstream port")]
    UpstreamPort,
    /// Another port of a switch.
    #[serde(rename = "downstream port")]
    DownstreamPort,
    /// A device at a leaf.
    #[serde(rename = "endpoint")]
    Endpoint,
    /// A virtual function of a device at a leaf.
    #[serde(rename = "virtual function")]
    VirtualFunction,
}

/// Addresses that follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Window {
    /// The first, hexadecimal.
    #[schemars(regex(pattern = "^0x[0-9a-f]+$"))]
    pub start: String,
    /// How many.
    pub size_bytes: u64,
}

/// A base address register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Region {
    /// Its number: the first of two for one of 64 bits.
    pub number: u8,
    /// Width of the address: 32 or 64; those of 64 are prefetchable.
    pub bits: u8,
    /// Its first address, hexadecimal.
    #[schemars(regex(pattern = "^0x[0-9a-f]+$"))]
    pub start: String,
    /// Addresses that it has.
    pub size_bytes: u64,
}

/// A function of a machine: a port of a host or switch, or an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AddressedFunction {
    /// Segment, bus, device and function, as `lspci -D` writes them. Bus, device and function are its Requester ID.
    #[schemars(regex(pattern = "^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]$"))]
    pub address: String,
    /// The host that it is below.
    pub host: String,
    /// The port, as `sw0.port1`, or the endpoint.
    pub name: String,
    /// What it is.
    pub kind: FunctionKind,
    /// Of a port, the bus right below it.
    pub secondary_bus: Option<u8>,
    /// Of a port, the last bus below it. A hierarchy with more than 256 goes on in the next segment, which no real one can.
    pub subordinate_bus: Option<u8>,
    /// Of a port, its window below 4 GiB; none when it is closed.
    pub memory: Option<Window>,
    /// Of a port, its prefetchable window; none when it is closed.
    pub prefetchable: Option<Window>,
    /// Of an endpoint, its memory.
    pub regions: Vec<Region>,
}

/// Every function of every host, depth first.
pub(crate) fn functions(fabric: &FabricConfig) -> Vec<AddressedFunction> {
    let machines = Machines::of(fabric).expect("resolving has made sure of it");
    let mut rows = Vec::new();
    for machine in &machines.all {
        let host = &fabric.devices[machine.root].name;
        for ((place, function), programmed) in
            machine.ports.iter().zip(&machine.functions).zip(&machine.programmed.functions)
        {
            let (device, port) = *place;
            let config = &fabric.devices[device];
            let (kind, name) = match (&config.kind, port) {
                (DeviceKind::Endpoint(_), _) => (FunctionKind::Endpoint, config.name.clone()),
                (kind, _) => {
                    let kind = match (kind, port) {
                        (DeviceKind::RootComplex(_), _) => FunctionKind::RootPort,
                        (_, 0) => FunctionKind::UpstreamPort,
                        _ => FunctionKind::DownstreamPort,
                    };
                    (kind, fabric.port_path(*place))
                }
            };
            rows.push(row(host, name, kind, function, programmed));
            if let DeviceKind::Endpoint(endpoint) = &config.kind
                && let Some(functions) = &endpoint.dma.functions
            {
                let numbers = 0..functions.count;
                rows.extend(numbers.map(|number| {
                    virtual_function(host, (&config.name, number), programmed, functions.offset_and_stride)
                }));
            }
        }
    }
    rows
}

fn row(
    host: &str,
    name: String,
    kind: FunctionKind,
    function: &Function,
    programmed: &Programmed,
) -> AddressedFunction {
    let bars: &[Bar] = match &function.header {
        Header::Device(bars) => bars,
        Header::Bridge => &[],
    };
    let mut number = 0;
    let regions = bars.iter().zip(&programmed.bars).map(|(bar, start)| {
        let own = number;
        number += if bar.is_wide { 2 } else { 1 };
        let bits = if bar.is_wide { 64 } else { 32 };
        Region { number: own, bits, start: format!("{start:#x}"), size_bytes: bar.size }
    });
    AddressedFunction {
        address: programmed.location().to_string(),
        host: host.to_owned(),
        name,
        kind,
        secondary_bus: programmed.buses.map(|buses| buses.secondary as u8),
        subordinate_bus: programmed.buses.map(|buses| buses.subordinate as u8),
        memory: window(&programmed.memory),
        prefetchable: window(&programmed.prefetchable),
        regions: regions.collect(),
    }
}

/// A virtual function, whose BARs are left out.
fn virtual_function(
    host: &str,
    (device, number): (&str, u8),
    physical: &Programmed,
    offset_and_stride: (u16, u16),
) -> AddressedFunction {
    let location = physical.location().virtual_function(offset_and_stride, u16::from(number));
    AddressedFunction {
        address: location.to_string(),
        host: host.to_owned(),
        name: format!("{device}.vf[{number}]"),
        kind: FunctionKind::VirtualFunction,
        secondary_bus: None,
        subordinate_bus: None,
        memory: None,
        prefetchable: None,
        regions: Vec::new(),
    }
}

fn window(range: &Range<u64>) -> Option<Window> {
    (!range.is_empty())
        .then(|| Window { start: format!("{:#x}", range.start), size_bytes: range.end - range.start })
}
