//! Transport headers of InfiniBand packets, which RoCE carries too: what each kind of packet of a reliable connection
//! costs besides its payload; and TCP segments, for software that uses plain Ethernet.
//!
//! Leaves out: unreliable and datagram services, atomics, immediate data, headers of routed subnets (GRH).
//! Source: InfiniBand Architecture Specification, volume 1, chapters 5 and 9.

use lanewise_units::Bytes;

/// Base transport header: every packet has one.
pub const BASE_HEADER: Bytes = Bytes::new(12);
/// RDMA extended transport header: address, key and length of the memory meant.
pub const RDMA_HEADER: Bytes = Bytes::new(16);
/// Acknowledgement extended transport header.
pub const ACK_HEADER: Bytes = Bytes::new(4);
/// Invariant CRC, over what no switch changes.
pub const INVARIANT_CRC: Bytes = Bytes::new(4);
/// TCP header with the time stamp option (RFC 9293, RFC 7323).
pub const TCP_HEADER: Bytes = Bytes::new(32);

/// Kind of a packet of a reliable connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PacketKind {
    /// First, or only, packet of an RDMA write: it says where the data goes.
    WriteFirst,
    /// A packet of a send, or a later one of an RDMA write.
    Data,
    /// Asks for an RDMA read; no payload.
    ReadRequest,
    /// First or last packet of an RDMA read's answer.
    ReadResponseEdge,
    /// A packet in the middle of an RDMA read's answer.
    ReadResponseMiddle,
    /// Acknowledges all packets up to one; no payload.
    Acknowledge,
    /// A TCP segment, on Ethernet only; TCP acknowledges it in segments of its own.
    Segment,
}

impl PacketKind {
    /// Transport headers, and the invariant CRC where there is one.
    pub const fn transport_bytes(self) -> Bytes {
        let extension = match self {
            Self::Segment => return TCP_HEADER,
            Self::WriteFirst | Self::ReadRequest => RDMA_HEADER.get(),
            Self::ReadResponseEdge | Self::Acknowledge => ACK_HEADER.get(),
            Self::Data | Self::ReadResponseMiddle => 0,
        };
        Bytes::new(BASE_HEADER.get() + extension + INVARIANT_CRC.get())
    }
}
