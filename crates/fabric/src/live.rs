//! Settings that may change while a run goes on, and changing them.
//!
//! Rates and latencies of devices, and bit error rates: what is asked for each time that it is needed. What was asked for before
//! the change stays as it was: a piece of work that a server has booked ends when it was to end. Everything else is built into
//! the fabric: sizes of buffers and tables, what link training and firmware settled, what is plugged in where. And what is not
//! there at all cannot get a rate: a link without errors is simulated without faults, a device without a pace without an engine.

use crate::completion_queue::Lines;
use crate::config::{
    DeviceKind, EndpointConfig, FabricConfig, FaultConfig, LinkConfig, RootComplexConfig, SwitchConfig,
};
use crate::endpoint::Endpoint;
use crate::fabric::Fabric;
use crate::packet::Packet;
use crate::port::{Owner, PortId};
use crate::root_complex::RootComplex;
use crate::server::Server;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Rate, Time};
use std::sync::Arc;

impl FabricConfig {
    /// This configuration, with everything that may change while a run goes on as in `other`: then equal to it if nothing else is
    /// different.
    #[must_use]
    pub fn with_live_settings_of(&self, other: &Self) -> Self {
        let mut mixed = self.clone();
        for (device, from) in mixed.devices.iter_mut().zip(&other.devices) {
            match (&mut device.kind, &from.kind) {
                (DeviceKind::RootComplex(to), DeviceKind::RootComplex(from)) => to.take_live_settings(from),
                (DeviceKind::Switch(to), DeviceKind::Switch(from)) => to.take_live_settings(from),
                (DeviceKind::Endpoint(to), DeviceKind::Endpoint(from)) => to.take_live_settings(from),
                _ => {}
            }
        }
        for (link, from) in mixed.links.iter_mut().zip(&other.links) {
            link.faults_upstream.take_live_settings(&from.faults_upstream);
            link.faults_downstream.take_live_settings(&from.faults_downstream);
        }
        mixed
    }
}

/// A rate that is there takes another one; one that is not there stays away.
fn take_rate(to: &mut Option<Rate>, from: Option<Rate>) {
    if let (Some(to), Some(from)) = (to, from) {
        *to = from;
    }
}

impl RootComplexConfig {
    fn take_live_settings(&mut self, from: &Self) {
        self.core_latency = from.core_latency;
        self.memory_latency = from.memory_latency;
        self.memory_latency_jitter = from.memory_latency_jitter;
        self.read_bandwidth = from.read_bandwidth;
        self.write_bandwidth = from.write_bandwidth;
        self.write_overhead = from.write_overhead;
        self.write_latency = from.write_latency;
        self.forward_latency = from.forward_latency;
        self.memory.rate = from.memory.rate;
        take_rate(&mut self.stack.read_bandwidth, from.stack.read_bandwidth);
        take_rate(&mut self.stack.write_bandwidth, from.stack.write_bandwidth);
        take_rate(&mut self.stack.peer_rate, from.stack.peer_rate);
        if let (Some(to), Some(from)) = (&mut self.cache, &from.cache) {
            to.latency = from.latency;
            take_rate(&mut to.read_bandwidth, from.read_bandwidth);
        }
    }
}

impl SwitchConfig {
    fn take_live_settings(&mut self, from: &Self) {
        self.latency = from.latency;
    }
}

impl EndpointConfig {
    fn take_live_settings(&mut self, from: &Self) {
        self.mmio_read_latency = from.mmio_read_latency;
        self.memory_read_latency = from.memory_read_latency;
        take_rate(&mut self.memory_read_rate, from.memory_read_rate);
        self.request_interval = from.request_interval;
        self.write_drain = from.write_drain;
        // Engines of their own are there from the start or not at all.
        if self.has_engines() && from.has_engines() {
            self.dma.read_interval = from.dma.read_interval;
            self.dma.write_interval = from.dma.write_interval;
            self.dma.path_latency = from.dma.path_latency;
            take_rate(&mut self.dma.path_rate, from.dma.path_rate);
        }
    }
}

impl FaultConfig {
    fn take_live_settings(&mut self, from: &Self) {
        if self.bit_error_rate > 0.0 && from.bit_error_rate > 0.0 {
            self.bit_error_rate = from.bit_error_rate;
        }
    }
}

impl Fabric {
    /// Makes everything that may change as it is in a configuration that differs in nothing else.
    pub(crate) fn take_live_settings(&mut self, config: &FabricConfig) {
        for (index, device) in config.devices.iter().enumerate() {
            match (self.devices[index].owner, &device.kind) {
                (Owner::RootComplex(at), DeviceKind::RootComplex(to)) => {
                    let before = self.root_complexes[at as usize].config.forward_latency;
                    self.root_complexes[at as usize].take_live_settings(to);
                    if to.forward_latency < before {
                        self.keep_completions_in_order(at);
                    }
                }
                (Owner::Switch(at), DeviceKind::Switch(to)) => {
                    self.switches[at as usize].config.take_live_settings(to);
                }
                (Owner::Endpoint(at), DeviceKind::Endpoint(to)) => {
                    self.endpoints[at as usize].take_live_settings(to);
                }
                (owner, _) => panic!("device {index} is {owner:?}, and the configuration has something else"),
            }
        }
        config.links.iter().for_each(|link| self.take_error_rates(link));
    }

    /// A root complex forwards packets sooner from now on. Completions wait at a root port in the order in which they may leave, and yet none
    /// passes one that came the same way before: both may answer one read (PCIe Base 6.3 §2.3.1.1).
    fn keep_completions_in_order(&mut self, index: u32) {
        let root_complex = &self.root_complexes[index as usize];
        let at_port = |(egress, id): (u16, &PortId)| {
            let (port, packets) = (&self.ports[id.index()], &self.packets);
            let queues = port.channel_numbers().map(|channel| port.queues_of(channel));
            let queued = queues.flat_map(|queues| queues.ids_of_class(packets, FlowClass::Completion));
            let lines = root_complex.lines.get(usize::from(egress)).into_iter().flat_map(Lines::waiting);
            queued.chain(lines).map(|packet| (egress, packet)).collect::<Vec<_>>()
        };
        let shared = root_complex.outbound.iter().flat_map(|outbound| outbound.waiting());
        let waiting: Vec<_> = (0..).zip(&root_complex.ports).flat_map(at_port).chain(shared).collect();
        let mut not_before: Vec<((u16, u16), Time)> = Vec::new();
        for (egress, packet) in waiting {
            let packet = &self.packets[packet];
            let Some(came_in) = self.came_in_at(packet) else { continue };
            let way = (self.ports[came_in.index()].index, egress);
            match not_before.iter_mut().find(|(of, _)| *of == way) {
                Some((_, at)) => *at = packet.eligible_at.max(*at),
                None => not_before.push((way, packet.eligible_at)),
            }
        }
        self.root_complexes[index as usize].not_before = not_before;
    }

    /// The root port at which a completion came in, if it came from a peer. Of a packet in pieces the last piece knows.
    fn came_in_at(&self, packet: &Packet) -> Option<PortId> {
        match packet.ingress {
            _ if packet.class() != FlowClass::Completion || packet.ingress == Packet::ORIGINATED => None,
            cut if cut & Packet::CUT != 0 => Some(self.cut_packets.get(cut & !Packet::CUT).port),
            port => Some(PortId(port)),
        }
    }

    fn take_error_rates(&mut self, link: &LinkConfig) {
        for ((device, port), faults) in
            [(link.upper, &link.faults_downstream), (link.lower, &link.faults_upstream)]
        {
            let id = self.device_ports[device][port];
            if let Some(made) = &mut self.ports[id.index()].faults {
                made.take_bit_error_rate(faults, link.mode);
            }
        }
        if let Some(cxl) = &mut self.cxl {
            cxl.take_error_rates(link);
        }
    }
}

impl RootComplex {
    fn take_live_settings(&mut self, to: &RootComplexConfig) {
        self.config = to.clone();
        self.reads.set_rate(to.read_bandwidth);
        self.writes.set_rate(to.write_bandwidth);
        for stack in &mut self.stacks {
            take_server_rate(&mut stack.reads, to.stack.read_bandwidth);
            take_server_rate(&mut stack.writes, to.stack.write_bandwidth);
            take_server_rate(&mut stack.peers_in, to.stack.peer_rate);
            take_server_rate(&mut stack.peers_out, to.stack.peer_rate);
        }
        for (number, socket) in (0..).zip(&mut self.sockets) {
            socket.memory.set_rate(to.memory_of(number).rate);
            if let (Some(cache), Some(to)) = (&mut socket.cache, &to.cache) {
                cache.set_latency(to.latency);
                take_server_rate(&mut cache.reads, to.read_bandwidth);
            }
        }
        if let Some(path) = &mut self.path {
            path.set_latencies(to.write_latency, to.forward_latency);
        }
    }
}

impl Endpoint {
    fn take_live_settings(&mut self, to: &EndpointConfig) {
        if *self.config == *to {
            return;
        }
        self.config = Arc::new(to.clone());
        self.drain.set_rate(to.write_drain);
        take_server_rate(&mut self.memory, to.memory_read_rate);
        if let Some(dma) = &mut self.dma {
            dma.take_live_settings(&to.dma);
        }
    }
}

fn take_server_rate(server: &mut Option<Server>, rate: Option<Rate>) {
    if let (Some(server), Some(rate)) = (server, rate) {
        server.set_rate(rate);
    }
}
