//! A TLP on its way to the receiver of a link.

use crate::wire::Damage;
use lanewise_pcie::ack_nak::Sequence;
use lanewise_pcie::flow_control::Credits;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

/// A TLP on its way to a receiver: half a cache line. `T` names the packet, for the fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InFlight<T> {
    pub(crate) packet: T,
    /// A switch may forward it from then on.
    pub(crate) eligible_at: Time,
    /// Last byte checked by the data link layer of the receiver.
    pub(crate) checked: Time,
    pub(crate) sequence: Sequence,
    /// The port through which a switch will forward it.
    pub(crate) egress: u8,
    /// Virtual channel that carries it.
    pub(crate) channel: u8,
    /// Data credits it takes, beside one for its header.
    pub(crate) data_credits: u16,
    pub(crate) class: FlowClass,
    pub(crate) fate: Fate,
}

impl<T> InFlight<T> {
    #[inline]
    pub(crate) fn credits(&self) -> Credits {
        Credits::of_tlp(self.data_credits)
    }
}

/// In which state a TLP arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Good,
    Damaged,
    /// Damaged where it begins: the receiver takes the link through Recovery.
    Misframed,
    Nullified,
}

impl Fate {
    #[inline]
    pub(crate) const fn of(damage: Option<Damage>) -> Self {
        match damage {
            None => Self::Good,
            Some(Damage::Contents) => Self::Damaged,
            Some(Damage::Token) => Self::Misframed,
        }
    }
}

/// Space that a TLP takes up in the buffers of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Space {
    pub(crate) channel: u8,
    pub(crate) class: FlowClass,
    pub(crate) credits: Credits,
}
