//! Loads and stores of the CPU: one TLP each from a core over the root complex to an endpoint, and the answer to a load.
//!
//! Between core and root port lies the processor's own interconnect, each way so long. Left out: what it does under load, and
//! that it is nearer to some cores than to others, and which register of a BAR is meant: all are the first.

use crate::errors::Watch;
use crate::fabric::Fabric;
use crate::packet::{Flags, Packet, PacketId, RouteEnd};
use crate::ports::Mmio;
use crate::workload::{DeviceId, WorkloadEvent, WorkloadId};
use lanewise_pcie::tlp::{Routing, Tlp, TlpKind};
use lanewise_units::{Bytes, Span};

/// An MMIO operation of the CPU that has not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MmioOperation {
    workload: WorkloadId,
    token: u64,
    endpoint: u32,
    /// From the root port to the core.
    core_latency: Span,
    /// It asked to hear when the store leaves.
    is_followed: bool,
}

impl Mmio for Fabric {
    #[inline]
    fn mmio_write(&mut self, device: DeviceId, bytes: Bytes, token: u64) {
        self.mmio(TlpKind::MemoryWrite, device, bytes, token, false);
    }

    #[inline]
    fn mmio_write_followed(&mut self, device: DeviceId, bytes: Bytes, token: u64) {
        self.mmio(TlpKind::MemoryWrite, device, bytes, token, true);
    }

    #[inline]
    fn mmio_read(&mut self, device: DeviceId, bytes: Bytes, token: u64) {
        self.mmio(TlpKind::MemoryRead, device, bytes, token, false);
    }
}

impl Fabric {
    fn mmio(&mut self, kind: TlpKind, device: DeviceId, bytes: Bytes, token: u64, is_followed: bool) {
        let now = self.now();
        let endpoint = self.endpoint_index(device);
        let index = self.devices[device.0 as usize].root_complex;
        let settings = &self.root_complexes[index as usize].config;
        let (core_latency, digest) = (settings.core_latency, settings.ecrc);
        let workload = self.current;
        let context =
            self.mmio.insert(MmioOperation { workload, token, endpoint, core_latency, is_followed });
        self.endpoints[endpoint as usize].mmio_open += 1;
        let (address, destination) =
            self.addresses.of_registers(index, self.endpoints[endpoint as usize].route_end);
        let tlp = Tlp::new(kind, Routing::Address(address), bytes).with_digest(digest);
        let mut packet = Packet::new(&tlp, destination, RouteEnd::HOST, now);
        packet.context = context;
        packet.flags = packet.flags.with(Flags::MMIO).with(Flags::LAST);
        let port = self.root_port_above(index, destination).1;
        let mps = self.ports[port].settings.mps;
        assert!(bytes > Bytes::ZERO && bytes <= mps, "a load or store is one TLP of 1 to {mps}, not {bytes}");
        let packet_id = self.packets.insert(packet);
        if core_latency.is_zero() {
            self.mmio_at_root_port(index, packet_id);
        } else {
            self.watch_at(now + core_latency, Watch::Mmio { root_complex: index, packet: packet_id });
        }
    }

    /// Which port of a root complex an endpoint is below: as the root complex and as the fabric number it.
    fn root_port_above(&self, index: u32, destination: RouteEnd) -> (u16, usize) {
        let root_complex = &self.root_complexes[index as usize];
        let egress = root_complex.routes.port_to(destination).expect("every endpoint is below a root port");
        (egress, root_complex.ports[usize::from(egress)].index())
    }

    /// A load or store has come from its core to the root port.
    pub(crate) fn mmio_at_root_port(&mut self, index: u32, packet: PacketId) {
        let now = self.engine.now();
        self.packets[packet].eligible_at = now;
        if let Some(path) = &mut self.root_complexes[index as usize].path {
            path.ide.seal_and_wait(&mut self.packets[packet]);
        }
        let (egress, _) = self.root_port_above(index, self.packets[packet].destination);
        self.queue_at_root_port(index, egress, packet, now);
    }

    /// A store has left its root port.
    pub(crate) fn mmio_write_left(&mut self, packet: &Packet) {
        let operation = *self.mmio.get(packet.context);
        if operation.is_followed {
            let event = WorkloadEvent::MmioWriteLeft { token: operation.token };
            self.notify(operation.workload, event, Span::ZERO);
        }
    }

    pub(crate) fn mmio_write_arrived(&mut self, packet: &Packet) {
        let operation = self.mmio_done(packet);
        self.notify(
            operation.workload,
            WorkloadEvent::MmioWriteArrived { token: operation.token },
            Span::ZERO,
        );
    }

    pub(crate) fn mmio_read_done(&mut self, packet: &Packet) {
        let operation = self.mmio_done(packet);
        let done = WorkloadEvent::MmioReadDone { token: operation.token };
        self.notify(operation.workload, done, operation.core_latency);
    }

    fn mmio_done(&mut self, packet: &Packet) -> MmioOperation {
        let operation = self.mmio.take(packet.context);
        self.endpoints[operation.endpoint as usize].mmio_open -= 1;
        operation
    }
}
