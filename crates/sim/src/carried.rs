//! What a wire behind a network adapter carries of packets that are sent back to back: sizes alone, with nothing simulated.

use crate::rungs::NoSuchLink;
use lanewise_network::Framing;
use lanewise_network::ethernet::{LARGEST_JUMBO_FRAME, SMALLEST_FRAME, line_bytes};
use lanewise_units::Bytes;
use serde::{Deserialize, Serialize};

/// Packets of one size on a wire, back to back.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SteadyPackets {
    /// Ethernet frames, 64 to 9,018 B with their check sequence.
    Frames {
        /// Of a whole frame.
        frame_bytes: u64,
    },
    /// RDMA writes over InfiniBand, inside one subnet.
    InfinibandWrites {
        /// Payload of a write, 1 B to 2 GiB.
        size_bytes: u64,
        /// Payload of a packet: 256, 512, 1024, 2048 or 4096.
        mtu_bytes: u64,
    },
    /// RDMA writes over RoCE version 2.
    RoceWrites {
        /// Payload of a write, 1 B to 2 GiB.
        size_bytes: u64,
        /// Payload of a packet: 256, 512, 1024, 2048 or 4096.
        mtu_bytes: u64,
    },
}

/// What such a wire carries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Carried {
    /// Part of the bytes of the wire: of frames with all that is in them, of writes their payload.
    pub fraction: f64,
}

/// InfiniBand Architecture Specification, volume 1, 9.7.7: a message has at most 2³¹ bytes.
const LONGEST_MESSAGE: u64 = 1 << 31;

/// What a wire carries of packets of one size.
///
/// # Errors
/// For sizes that no such packets have.
pub fn carried(of: &SteadyPackets) -> Result<Carried, NoSuchLink> {
    let wrong = |name, found, allowed| NoSuchLink { name, found, allowed };
    let (framing, size, mtu) = match *of {
        SteadyPackets::Frames { frame_bytes } => {
            if !(SMALLEST_FRAME.get()..=LARGEST_JUMBO_FRAME.get()).contains(&frame_bytes) {
                return Err(wrong("frame_bytes", frame_bytes, "64 to 9018"));
            }
            let line = line_bytes(Bytes::new(frame_bytes));
            return Ok(Carried { fraction: frame_bytes as f64 / line.get() as f64 });
        }
        SteadyPackets::InfinibandWrites { size_bytes, mtu_bytes } => {
            (Framing::Infiniband, size_bytes, mtu_bytes)
        }
        SteadyPackets::RoceWrites { size_bytes, mtu_bytes } => (Framing::Roce, size_bytes, mtu_bytes),
    };
    if !(1..=LONGEST_MESSAGE).contains(&size) {
        return Err(wrong("size_bytes", size, "1 to 2147483648"));
    }
    if ![256, 512, 1024, 2048, 4096].contains(&mtu) {
        return Err(wrong("mtu_bytes", mtu, "256, 512, 1024, 2048 or 4096"));
    }
    let wire = framing.write_bytes(Bytes::new(size), Bytes::new(mtu));
    Ok(Carried { fraction: size as f64 / wire.get() as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_carried_is_the_share_that_is_not_framing() {
        let share = |of| carried(&of).unwrap().fraction;
        assert_eq!(share(SteadyPackets::Frames { frame_bytes: 1518 }), 1518.0 / 1538.0);
        let (size_bytes, mtu_bytes) = (65_536, 4096);
        let infiniband = SteadyPackets::InfinibandWrites { size_bytes, mtu_bytes };
        assert_eq!(share(infiniband), 65_536.0 / (65_536.0 + 16.0 * 26.0 + 16.0));
        let roce = SteadyPackets::RoceWrites { size_bytes: 64, mtu_bytes };
        assert_eq!(share(roce), 64.0 / (64.0 + 98.0));
    }

    #[test]
    fn sizes_that_no_packets_have_are_named() {
        for (odd, name) in [
            (SteadyPackets::Frames { frame_bytes: 63 }, "frame_bytes"),
            (SteadyPackets::RoceWrites { size_bytes: 0, mtu_bytes: 4096 }, "size_bytes"),
            (SteadyPackets::InfinibandWrites { size_bytes: 1, mtu_bytes: 4000 }, "mtu_bytes"),
        ] {
            assert_eq!(carried(&odd).unwrap_err().name, name, "{odd:?}");
        }
    }
}
