//! What a receiver advertises: pools, legal minimum and maximum, and when the peer must hear of more. PCIe Base §2.6.1.

use super::Scale;
use crate::tlp::{Credits, DATA_CREDIT, FlowClass};
use core::fmt;
use lanewise_units::Bytes;

/// A number of credits of one class; `None` is infinite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CreditPool {
    /// Header credits.
    pub header: Option<u16>,
    /// Data credits of 16 bytes.
    pub data: Option<u16>,
}

impl CreditPool {
    /// Never blocks. On the wire an advertisement of zero.
    pub const INFINITE: Self = Self { header: None, data: None };

    /// So many of each.
    #[inline]
    pub const fn finite(header: u16, data: u16) -> Self {
        Self { header: Some(header), data: Some(data) }
    }

    /// The two fields of an InitFC, where zero means infinite.
    pub const fn to_advertisement(self) -> (u16, u16) {
        const fn field(credits: Option<u16>) -> u16 {
            match credits {
                Some(finite) => finite,
                None => 0,
            }
        }
        (field(self.header), field(self.data))
    }

    /// What the two fields of an InitFC say.
    pub const fn from_advertisement(header: u16, data: u16) -> Self {
        const fn credits(field: u16) -> Option<u16> {
            if field == 0 { None } else { Some(field) }
        }
        Self { header: credits(header), data: credits(data) }
    }
}

impl fmt::Display for CreditPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |credits: Option<u16>| credits.map_or("infinite".into(), |n| n.to_string());
        write!(f, "{} headers, {} data", part(self.header), part(self.data))
    }
}

/// What kind of port receives, as far as completion credits care.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReceiverKind {
    /// An endpoint: it asked for every completion it gets, so its completion credits are infinite.
    Endpoint,
    /// A root port that never forwards between root ports: the same.
    RootPort,
    /// A root port that forwards peer-to-peer traffic.
    PeerToPeerRootPort,
    /// Any port of a switch.
    Switch,
}

/// The smallest advertisement the specification allows for a receiver of TLPs up to `mps`.
///
/// At scale 1: one header, and one MPS of data (one unit for non-posted requests); at scale 4 and 16 one
/// step, and one step more than the MPS. Source: PCIe Base Table 2-50, revision 6; up to 3.x a switch could
/// advertise less completion data. Leaves out: the second NPD unit of a completer of 128-bit AtomicOps, and
/// Flit Mode's shared pools.
pub const fn minimum_advertisement(
    class: FlowClass,
    mps: Bytes,
    scale: Scale,
    receiver: ReceiverKind,
) -> CreditPool {
    let step = scale.factor();
    match (class, receiver) {
        (FlowClass::Completion, ReceiverKind::Endpoint | ReceiverKind::RootPort) => CreditPool::INFINITE,
        (FlowClass::NonPosted, _) => CreditPool::finite(step, step),
        _ => CreditPool::finite(step, one_mps_of_data(mps, scale)),
    }
}

const fn one_mps_of_data(mps: Bytes, scale: Scale) -> u16 {
    let step = scale.factor();
    let steps = mps.div_ceil(Bytes::new(DATA_CREDIT.get() * step as u64)) as u16;
    match scale {
        Scale::One => steps,
        Scale::Four | Scale::Sixteen => step * (steps + 1),
    }
}

/// The most that may be outstanding: half the counter's range less one step.
///
/// 127/2047, 508/8188 or 2032/32752. Source: PCIe Base §2.6.1.1, Table 2-51.
pub const fn largest_advertisement(scale: Scale) -> CreditPool {
    CreditPool::finite(127 * scale.factor(), 2047 * scale.factor())
}

/// Credits of a class below which the peer may be starved, so that an UpdateFC of what is freed goes out at once: a step of
/// the scale, and of data an MPS, but a single unit for non-posted requests. Source: PCIe Base §2.6.1.2.
pub const fn low_credit_threshold(class: FlowClass, mps: Bytes, scale: Scale) -> Credits {
    let payload = match class {
        FlowClass::Posted | FlowClass::Completion => mps,
        FlowClass::NonPosted => DATA_CREDIT,
    };
    let (step, units) = (scale.factor(), payload.div_ceil(DATA_CREDIT) as u16);
    Credits { header: step, data: if units > step { units } else { step } }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PCIe Base Table 2-50: posted and switch completion data for each MPS at scale 1, 4 and 16.
    #[test]
    fn minimum_data_matches_the_table() {
        let rows = [
            (128, [8, 12, 32]),
            (256, [16, 20, 32]),
            (512, [32, 36, 48]),
            (1024, [64, 68, 80]),
            (2048, [128, 132, 144]),
            (4096, [256, 260, 272]),
        ];
        for (mps, cells) in rows {
            for (scale, data) in Scale::ALL.into_iter().zip(cells) {
                for class in [FlowClass::Posted, FlowClass::Completion] {
                    let pool = minimum_advertisement(class, Bytes::new(mps), scale, ReceiverKind::Switch);
                    assert_eq!(pool, CreditPool::finite(scale.factor(), data), "{class} MPS {mps}");
                }
            }
        }
    }

    #[test]
    fn endpoints_take_any_number_of_completions() {
        let of = |class, kind| minimum_advertisement(class, Bytes::new(128), Scale::One, kind);
        assert_eq!(of(FlowClass::Completion, ReceiverKind::Endpoint), CreditPool::INFINITE);
        assert_eq!(of(FlowClass::Completion, ReceiverKind::RootPort), CreditPool::INFINITE);
        assert_eq!(of(FlowClass::NonPosted, ReceiverKind::Endpoint), CreditPool::finite(1, 1));
        assert_eq!(of(FlowClass::Completion, ReceiverKind::PeerToPeerRootPort), CreditPool::finite(1, 8));
    }

    #[test]
    fn an_advertisement_of_zero_is_infinite() {
        assert_eq!(CreditPool::from_advertisement(0, 64), CreditPool { header: None, data: Some(64) });
        assert_eq!(CreditPool::INFINITE.to_advertisement(), (0, 0));
        assert_eq!(CreditPool::finite(32, 0x7ff).to_advertisement(), (32, 0x7ff));
        assert_eq!(CreditPool { header: None, data: Some(64) }.to_advertisement(), (0, 64));
        assert_eq!(CreditPool::from_advertisement(0, 64).to_string(), "infinite headers, 64 data");
    }

    #[test]
    fn less_than_a_packet_of_credits_is_starving() {
        let below = |class, scale| low_credit_threshold(class, Bytes::new(256), scale);
        assert_eq!(below(FlowClass::Posted, Scale::One), Credits::new(1, 16));
        assert_eq!(below(FlowClass::NonPosted, Scale::One), Credits::new(1, 1));
        assert_eq!(below(FlowClass::NonPosted, Scale::Four), Credits::new(4, 4));
    }
}
