//! What ports and places of a trace are called.

use lanewise_fabric::Simulation;
use lanewise_fabric::config::{DeviceConfig, LinkConfig};
use lanewise_fabric::workload::DeviceId;
use lanewise_observe::Place;
use lanewise_pcie::LinkMode;
use lanewise_pcie::flow_control::Scale;
use lanewise_scenario::Scenario;
use lanewise_units::{Span, order};
use std::collections::BTreeMap;

/// What ports and places are called.
pub(super) struct Names {
    ports: BTreeMap<u32, Direction>,
    places: BTreeMap<Place, String>,
}

/// One direction of a link, by its transmitting port.
#[derive(Clone, PartialEq, Debug)]
pub struct Direction {
    /// Name of the link: that of the device below.
    pub link: String,
    /// `upstream` or `downstream`.
    pub way: &'static str,
    /// Name of the device whose port transmits.
    pub from: String,
    /// Name of the device that receives.
    pub to: String,
    /// From a byte at the transmitter's pins until it is at the receiver's.
    pub propagation: Span,
    /// From the last byte at the transmitter's pins until the receiver has checked it. None in Flit Mode, where a flit ends later.
    pub travel: Option<Span>,
    /// Generation, width and mode of the link.
    pub mode: LinkMode,
    /// By class, in which steps the receiver of this direction tells of its credits: DLLPs of the other direction do.
    pub scale: [Scale; 3],
    /// By class, in which steps DLLPs of this direction tell of the transmitter's own credits.
    pub own_scale: [Scale; 3],
    /// What is sent may arrive damaged.
    pub has_faults: bool,
}

impl Names {
    pub(super) fn of(scenario: &Scenario, simulation: &Simulation) -> Self {
        let (fabric, devices) = (&simulation.fabric, &scenario.fabric.devices);
        let mut ports = BTreeMap::new();
        for link in &scenario.fabric.links {
            let ends = [(link.lower, link.upper, "upstream"), (link.upper, link.lower, "downstream")];
            for (from, to, way) in ends {
                let index = fabric.port_index(DeviceId(from.0 as u32), from.1) as u32;
                ports.insert(index, Direction::of(devices, link, from, to, way));
            }
        }
        let named = devices.iter().zip(0..);
        let place = |(device, index): (&DeviceConfig, u32)| {
            Some((fabric.place(DeviceId(index))?, device.name.clone()))
        };
        Self { ports, places: order::map(named.filter_map(place)) }
    }

    pub(super) fn ports_of(&self, links: &[String]) -> Option<Vec<u32>> {
        let of = |(port, direction): (&u32, &Direction)| links.contains(&direction.link).then_some(*port);
        (!links.is_empty()).then(|| self.ports.iter().filter_map(of).collect())
    }

    /// Every direction of every link.
    pub(super) fn directions(&self) -> Vec<Direction> {
        self.ports.values().cloned().collect()
    }

    pub(super) fn direction(&self, port: u32) -> Option<&Direction> {
        self.ports.get(&port)
    }

    pub(super) fn place(&self, place: Place) -> String {
        self.places.get(&place).cloned().unwrap_or_else(|| place.to_string())
    }

    /// The place of a device, if TLPs come from it or go to it.
    pub(super) fn place_of(&self, device: &str) -> Option<Place> {
        self.places.iter().find(|(_, name)| *name == device).map(|(place, _)| *place)
    }
}

impl Direction {
    fn of(
        devices: &[DeviceConfig],
        link: &LinkConfig,
        from: (usize, usize),
        to: (usize, usize),
        way: &'static str,
    ) -> Self {
        let faults = if way == "upstream" { &link.faults_upstream } else { &link.faults_downstream };
        let travel = link.propagation + devices[to.0].ports[to.1].receive_latency;
        Self {
            link: devices[link.lower.0].name.clone(),
            way,
            from: devices[from.0].name.clone(),
            to: devices[to.0].name.clone(),
            propagation: link.propagation,
            travel: (!link.mode.flit).then_some(travel),
            mode: link.mode,
            scale: devices[to.0].ports[to.1].scale,
            own_scale: devices[from.0].ports[from.1].scale,
            has_faults: faults.bit_error_rate > 0.0 || !faults.corrupt_tlps.is_empty(),
        }
    }
}
