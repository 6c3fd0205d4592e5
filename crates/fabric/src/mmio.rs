//! Loads and stores of the CPU: one TLP each from the root complex to an endpoint, and the answer to a load.

use crate::fabric::Fabric;
use crate::packet::{Address, Flags, Kind, Packet};
use crate::workload::{DeviceId, WorkloadEvent, WorkloadId};
use lanewise_units::{Bytes, Span};

/// An MMIO operation of the CPU that has not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MmioOperation {
    workload: WorkloadId,
    token: u64,
    endpoint: u32,
}

impl Fabric {
    /// The CPU above `device` writes to its BAR; [`WorkloadEvent::MmioWriteArrived`] follows.
    ///
    /// # Panics
    /// When the write does not fit one TLP.
    pub fn mmio_write(&mut self, device: DeviceId, bytes: Bytes, token: u64) {
        self.mmio(Kind::MemoryWrite, device, bytes, token);
    }

    /// The CPU above `device` reads from its BAR; [`WorkloadEvent::MmioReadDone`] follows.
    ///
    /// # Panics
    /// When the answer does not fit one TLP.
    pub fn mmio_read(&mut self, device: DeviceId, bytes: Bytes, token: u64) {
        self.mmio(Kind::MemoryRead, device, bytes, token);
    }

    fn mmio(&mut self, kind: Kind, device: DeviceId, bytes: Bytes, token: u64) {
        let now = self.now();
        let endpoint = self.endpoint_index(device);
        let operation = MmioOperation { workload: self.current, token, endpoint };
        let context = self.mmio.insert(operation);
        self.endpoints[endpoint as usize].mmio_open += 1;
        let destination = self.endpoints[endpoint as usize].ordinal;
        let mut packet = Packet::new(kind, destination, Address::HOST, now);
        packet.carry(0, bytes);
        packet.context = context;
        // Registers sit in a 32-bit BAR (Assumed), hence 3 DW headers.
        packet.flags = Flags::MMIO.with(Flags::LAST);
        let index = self.devices[device.0 as usize].root_complex;
        packet.header_bytes += self.root_complexes[index as usize].digest_bytes();
        packet.has_ecrc = self.root_complexes[index as usize].config.ecrc;
        let packet_id = self.packets.insert(packet);
        let egress = self.root_complexes[index as usize].routes.port_to(destination);
        let egress = egress.expect("every endpoint is below a root port");
        let port = self.root_complexes[index as usize].ports[usize::from(egress)];
        let mps = self.ports[port.index()].settings.mps;
        assert!(bytes > Bytes::ZERO && bytes <= mps, "a load or store is one TLP of 1 to {mps}, not {bytes}");
        self.queue_at_root_port(index, egress, packet_id, now);
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
        self.notify(operation.workload, WorkloadEvent::MmioReadDone { token: operation.token }, Span::ZERO);
    }

    fn mmio_done(&mut self, packet: &Packet) -> MmioOperation {
        let operation = self.mmio.take(packet.context);
        self.endpoints[operation.endpoint as usize].mmio_open -= 1;
        operation
    }
}
