//! Settings of an Ethernet adapter.

use lanewise_fabric::workload::DeviceId;
use lanewise_network::ethernet::EthernetRate;
use lanewise_units::{Bytes, Span};

/// Settings of an Ethernet adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct NicConfig {
    /// Its name.
    pub name: String,
    /// The endpoint that it is.
    pub device: DeviceId,
    /// Ports, all alike.
    pub ports: u32,
    /// Rate of each line.
    pub rate: EthernetRate,
    /// Bytes of a descriptor.
    pub descriptor: Bytes,
    /// Receive descriptors of a port.
    pub receive_ring: u32,
    /// Transmit descriptors of a port.
    pub transmit_ring: u32,
    /// Descriptors that are fetched with one read at most, and that a port holds on chip.
    pub descriptor_prefetch: u32,
    /// Descriptors that are written back together at most.
    pub write_back_batch: u32,
    /// Room for frames between line and DMA, of a port.
    pub receive_fifo: Bytes,
    /// Room for frames between DMA and line, of a port.
    pub transmit_fifo: Bytes,
    /// Frames that are read from memory at a time, over all ports.
    pub transmit_frames: u32,
    /// Time of the transmit engine for each frame, beside reading it.
    pub frame_time: Span,
    /// Least time between two interrupts of a port.
    pub interrupt_interval: Span,
    /// Bytes of a register.
    pub register: Bytes,
}
