//! Data link layer packets: what they say and how big they are. PCIe Base §3.5.
//!
//! Leaves out: the CRC; power-management, feature and vendor DLLPs.

use crate::ack_nak::Sequence;
use crate::tlp::FlowClass;
use lanewise_units::{Bytes, Span};

/// One DLLP on the link in Non-Flit Mode, start, CRC and end included. Source: PCIe Base §3.5.
///
/// In Flit Mode a DLLP rides in a fixed place of every flit and costs nothing; see [`crate::flit`].
pub const DLLP_BYTES: Bytes = Bytes::new(8);

/// Longest gap between repeated InitFC triplets until both sides are done. Source: PCIe Base §3.4.
pub const INIT_FLOW_CONTROL_INTERVAL: Span = Span::from_us(34);

/// A data link layer packet.
///
/// Credit values are the full counters, modulo their width; an advertisement of zero means infinite, as on
/// the wire. See [`crate::flow_control`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dllp {
    /// Everything up to this sequence number arrived.
    Ack(Sequence),
    /// Everything up to this sequence number arrived and something after it did not: replay.
    Nak(Sequence),
    /// New credit limits of one class.
    UpdateFlowControl {
        /// Virtual channel.
        channel: u8,
        /// Which credits.
        class: FlowClass,
        /// CREDIT_LIMIT for headers.
        header: u16,
        /// CREDIT_LIMIT for data.
        data: u16,
    },
    /// First advertisement of one class.
    InitFlowControl1 {
        /// Virtual channel.
        channel: u8,
        /// Which credits.
        class: FlowClass,
        /// Header credits; zero is infinite.
        header: u16,
        /// Data credits; zero is infinite.
        data: u16,
    },
    /// Repetition that confirms the peer's first advertisement was seen.
    InitFlowControl2 {
        /// Virtual channel.
        channel: u8,
        /// Which credits.
        class: FlowClass,
        /// Header credits; zero is infinite.
        header: u16,
        /// Data credits; zero is infinite.
        data: u16,
    },
}

impl Dllp {
    /// As the specification abbreviates it, with the class of credits. PCIe Base §3.5.1.
    pub const fn mnemonic(self) -> &'static str {
        const fn of(class: FlowClass, names: [&'static str; 3]) -> &'static str {
            names[class.index()]
        }
        match self {
            Self::Ack(_) => "Ack",
            Self::Nak(_) => "Nak",
            Self::UpdateFlowControl { class, .. } => of(class, ["UpdateFC-P", "UpdateFC-NP", "UpdateFC-Cpl"]),
            Self::InitFlowControl1 { class, .. } => of(class, ["InitFC1-P", "InitFC1-NP", "InitFC1-Cpl"]),
            Self::InitFlowControl2 { class, .. } => of(class, ["InitFC2-P", "InitFC2-NP", "InitFC2-Cpl"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dllp_stays_within_eight_bytes_of_memory() {
        assert!(size_of::<Dllp>() <= 8, "{}", size_of::<Dllp>());
    }

    #[test]
    fn dllps_are_called_as_in_the_specification() {
        let (channel, header, data) = (0, 1, 1);
        assert_eq!(Dllp::Ack(Sequence::new(7)).mnemonic(), "Ack");
        assert_eq!(Dllp::Nak(Sequence::new(7)).mnemonic(), "Nak");
        for (class, end) in FlowClass::ALL.into_iter().zip(["P", "NP", "Cpl"]) {
            let named = [
                (Dllp::UpdateFlowControl { channel, class, header, data }, "UpdateFC"),
                (Dllp::InitFlowControl1 { channel, class, header, data }, "InitFC1"),
                (Dllp::InitFlowControl2 { channel, class, header, data }, "InitFC2"),
            ];
            for (dllp, begin) in named {
                assert_eq!(dllp.mnemonic(), format!("{begin}-{end}"));
            }
        }
    }
}
