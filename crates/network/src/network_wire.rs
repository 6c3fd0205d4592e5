//! The wire between two adapters: how long each packet takes on it.

use crate::infiniband::{FLOW_CONTROL_PACKET, InfinibandRate, LOCAL_ROUTE_HEADER, VARIANT_CRC};
use crate::roce;
use crate::transport::PacketKind;
use lanewise_units::{Bytes, Rate, Span};

/// InfiniBand pads payload to words of four bytes.
const WORD: Bytes = Bytes::new(4);

/// What stands around a packet on a wire between two adapters, whatever its rate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Framing {
    /// InfiniBand inside one subnet.
    Infiniband,
    /// RoCE version 2 over Ethernet.
    Roce,
    /// TCP segments over Ethernet.
    Ethernet,
}

impl Framing {
    /// Bytes on the wire of a packet with so much payload.
    pub const fn packet_bytes(self, kind: PacketKind, payload: Bytes) -> Bytes {
        let transport = kind.transport_bytes();
        let words = payload.round_up_to(WORD);
        match self {
            Self::Infiniband => {
                Bytes::new(LOCAL_ROUTE_HEADER.get() + transport.get() + words.get() + VARIANT_CRC.get())
            }
            Self::Roce => roce::wire_bytes(transport, words),
            Self::Ethernet => roce::ip_wire_bytes(transport, payload),
        }
    }

    /// Bytes on the wire of an RDMA write of `size` in packets of `mtu`.
    pub fn write_bytes(self, size: Bytes, mtu: Bytes) -> Bytes {
        write_packets(size, mtu)
            .fold(Bytes::ZERO, |sum, (kind, payload)| sum + self.packet_bytes(kind, payload))
    }
}

/// Kind and payload of each packet of an RDMA write.
fn write_packets(size: Bytes, mtu: Bytes) -> impl Iterator<Item = (PacketKind, Bytes)> {
    (0..size.get()).step_by(mtu.get() as usize).map(move |start| {
        let kind = if start == 0 { PacketKind::WriteFirst } else { PacketKind::Data };
        (kind, mtu.min(Bytes::new(size.get() - start)))
    })
}

/// Kind and speed of a wire between two adapters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NetworkWire {
    /// InfiniBand inside one subnet.
    Infiniband {
        /// Speed grade.
        rate: InfinibandRate,
        /// Lanes: 1, 4, 8 or 12.
        lanes: u32,
    },
    /// RoCE version 2 over Ethernet.
    Roce {
        /// Data rate of the Ethernet link.
        rate: Rate,
    },
    /// TCP segments over Ethernet.
    Ethernet {
        /// Data rate.
        rate: Rate,
    },
}

impl NetworkWire {
    /// Bytes on the wire of a packet with so much payload.
    pub const fn packet_bytes(self, kind: PacketKind, payload: Bytes) -> Bytes {
        self.framing().packet_bytes(kind, payload)
    }

    /// What stands around its packets.
    pub const fn framing(self) -> Framing {
        match self {
            Self::Infiniband { .. } => Framing::Infiniband,
            Self::Roce { .. } => Framing::Roce,
            Self::Ethernet { .. } => Framing::Ethernet,
        }
    }

    /// Time of a packet on the wire.
    pub const fn packet_span(self, kind: PacketKind, payload: Bytes) -> Span {
        self.byte_span(self.packet_bytes(kind, payload))
    }

    /// Time of a flow control packet that returns credits; Ethernet has none.
    pub const fn flow_control_span(self) -> Span {
        match self {
            Self::Infiniband { .. } => self.byte_span(FLOW_CONTROL_PACKET),
            Self::Roce { .. } | Self::Ethernet { .. } => Span::ZERO,
        }
    }

    /// Time of bytes on the wire.
    pub const fn byte_span(self, bytes: Bytes) -> Span {
        match self {
            Self::Infiniband { rate, lanes } => rate.byte_span(bytes, lanes),
            Self::Roce { rate } | Self::Ethernet { rate } => rate.span_ceil(bytes),
        }
    }

    /// Data rate, for a reader: to four digits behind the point.
    pub fn rate_in_words(self) -> String {
        let gb_per_s = 1.0 / self.byte_span(Bytes::new(1_000_000_000)).as_seconds();
        format!("{} GB/s", (gb_per_s * 1e4).round() / 1e4)
    }

    /// Time of an RDMA write of `size` in packets of `mtu`, back to back.
    pub fn write_span(self, size: Bytes, mtu: Bytes) -> Span {
        write_packets(size, mtu)
            .fold(Span::ZERO, |sum, (kind, payload)| sum + self.packet_span(kind, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QDR: NetworkWire = NetworkWire::Infiniband { rate: InfinibandRate::Qdr, lanes: 4 };
    const FDR: NetworkWire = NetworkWire::Infiniband { rate: InfinibandRate::Fdr, lanes: 4 };
    const EDR: NetworkWire = NetworkWire::Infiniband { rate: InfinibandRate::Edr, lanes: 4 };
    const ROCE: NetworkWire = NetworkWire::Roce { rate: Rate::from_bytes_per_second(12_500_000_000) };

    /// Payload rate of full packets in GB/s.
    fn ceiling(wire: NetworkWire, mtu: u64) -> f64 {
        let payload = Bytes::new(mtu);
        mtu as f64 / wire.packet_span(PacketKind::Data, payload).as_ns()
    }

    #[test]
    fn payload_ceilings_are_the_published_ones() {
        let golden = [(QDR, 2048, 3.950), (FDR, 2048, 6.733), (EDR, 4096, 12.421), (ROCE, 1024, 11.573)];
        for (wire, mtu, expected) in golden {
            let simulated = ceiling(wire, mtu);
            assert!((simulated - expected).abs() < 0.0005, "{wire:?} at {mtu}: {simulated}");
        }
    }

    #[test]
    fn a_write_of_64_kib_carries_the_published_share() {
        // Share of the data rate of EDR in percent, by MTU.
        for (mtu, expected) in [(1024, 97.50), (2048, 98.72), (4096, 99.35)] {
            let size = Bytes::from_kib(64);
            let share = 100.0 * EDR.byte_span(size).as_ns() / EDR.write_span(size, Bytes::new(mtu)).as_ns();
            assert!((share - expected).abs() < 0.005, "MTU {mtu}: {share} %");
        }
    }

    #[test]
    fn a_write_costs_each_packet_its_headers_and_the_first_those_of_rdma() {
        let (size, mtu) = (Bytes::from_kib(64), Bytes::new(4096));
        assert_eq!(Framing::Infiniband.write_bytes(size, mtu), Bytes::new(65_536 + 16 * 26 + 16));
        assert_eq!(Framing::Roce.write_bytes(size, mtu), Bytes::new(65_536 + 16 * 82 + 16));
        assert_eq!(Framing::Roce.write_bytes(Bytes::new(4097), mtu), Bytes::new(4096 + 4 + 2 * 82 + 16));
    }

    #[test]
    fn roce_ceilings_at_100_gigabit() {
        for (mtu, expected) in [(1024, 11.57), (2048, 12.02), (4096, 12.26)] {
            assert!((ceiling(ROCE, mtu) - expected).abs() < 0.01, "MTU {mtu}");
        }
    }

    #[test]
    fn tcp_over_gigabit_ethernet_has_the_published_ceiling() {
        // 949.3 Mb/s without options at 1,460 B; 1,448 B with time stamps: 941.5 Mb/s.
        let wire = NetworkWire::Ethernet { rate: Rate::from_bytes_per_second(125_000_000) };
        let payload = Bytes::new(1448);
        assert_eq!(wire.packet_bytes(PacketKind::Segment, payload), Bytes::new(1538));
        let mbit_per_s = 8e3 * 1448.0 / wire.packet_span(PacketKind::Segment, payload).as_ns();
        assert!((mbit_per_s - 941.5).abs() < 0.05, "{mbit_per_s}");
    }

    #[test]
    fn small_packets() {
        assert_eq!(EDR.packet_bytes(PacketKind::Acknowledge, Bytes::ZERO), Bytes::new(30));
        assert_eq!(EDR.packet_bytes(PacketKind::ReadRequest, Bytes::ZERO), Bytes::new(42));
        assert_eq!(
            EDR.packet_bytes(PacketKind::WriteFirst, Bytes::new(2)),
            Bytes::new(46),
            "padded to a word"
        );
        assert_eq!(ROCE.flow_control_span(), Span::ZERO);
    }
}
