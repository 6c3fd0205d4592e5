//! RoCE version 2: InfiniBand transport packets inside UDP over Ethernet; and IP packets on Ethernet as such.
//!
//! Leaves out: VLAN tags, and priority flow control as a mechanism of its own: the receiver's buffer holds a sender
//! back as credits do on InfiniBand, which is what pause frames come to on a wire without other traffic.
//! Source: InfiniBand Architecture Specification, volume 1, annex A17; what Ethernet puts around it is in [`crate::ethernet`].

use crate::ethernet::{FRAME_CHECK_SEQUENCE, SMALLEST_FRAME, line_bytes};
use lanewise_units::Bytes;

/// Destination, source and type.
pub const ETHERNET_HEADER: Bytes = Bytes::new(14);
/// IPv4 without options.
pub const IPV4_HEADER: Bytes = Bytes::new(20);
/// UDP.
pub const UDP_HEADER: Bytes = Bytes::new(8);

/// Bytes that an InfiniBand transport packet takes on the wire, gap included: headers, CRC and payload are given.
pub const fn wire_bytes(transport: Bytes, payload: Bytes) -> Bytes {
    ip_wire_bytes(Bytes::new(UDP_HEADER.get() + transport.get()), payload)
}

/// Bytes that an IPv4 packet takes on the wire, gap included: the headers after IP and the payload are given.
pub const fn ip_wire_bytes(headers: Bytes, payload: Bytes) -> Bytes {
    let around = ETHERNET_HEADER.get() + FRAME_CHECK_SEQUENCE.get();
    let frame = IPV4_HEADER.get() + headers.get() + payload.get() + around;
    let padded = if frame < SMALLEST_FRAME.get() { SMALLEST_FRAME } else { Bytes::new(frame) };
    line_bytes(padded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::PacketKind;

    #[test]
    fn a_packet_costs_82_bytes_and_the_first_of_a_write_16_more() {
        let payload = Bytes::new(1024);
        assert_eq!(wire_bytes(PacketKind::Data.transport_bytes(), payload), Bytes::new(1024 + 82));
        assert_eq!(wire_bytes(PacketKind::WriteFirst.transport_bytes(), payload), Bytes::new(1024 + 98));
    }

    #[test]
    fn an_acknowledgement_is_padded_to_the_smallest_frame() {
        let bytes = wire_bytes(PacketKind::Acknowledge.transport_bytes(), Bytes::ZERO);
        assert_eq!(bytes, Bytes::new(66 + 20), "66 B of headers exceed the smallest frame");
        assert_eq!(wire_bytes(Bytes::new(16), Bytes::ZERO), Bytes::new(64 + 20));
    }
}
