//! DLLPs that a transmitter waits for.

use lanewise_pcie::tlp::FlowClass;

/// A bit for each class.
pub(crate) const ALL_CLASSES: u8 = 0b111;

/// Which DLLPs a transmitter that is blocked waits for: one bit for the UpdateFC of each class, one for Acks, one for every
/// UpdateFC of channels other than VC0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DllpSet(u8);

impl DllpSet {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ACK: Self = Self(8);
    pub(crate) const OTHER_CHANNELS: Self = Self(16);
    pub(crate) const ALL: Self = Self(31);

    #[inline(always)]
    pub(crate) const fn update_of(channel: u8, class: FlowClass) -> Self {
        if channel == 0 { Self(1 << class as u8) } else { Self::OTHER_CHANNELS }
    }

    /// Indices of the classes of VC0 whose UpdateFC is among them.
    #[inline(always)]
    pub(crate) fn classes(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0 & ALL_CLASSES;
        std::iter::from_fn(move || {
            let class = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(class)
        })
    }

    #[inline]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(crate) const fn include(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self == Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_vc0_whose_updates_are_waited_for() {
        let classes = |dllps: DllpSet| dllps.classes().collect::<Vec<_>>();
        let updates = [FlowClass::NonPosted, FlowClass::Completion].map(|class| DllpSet::update_of(0, class));
        assert_eq!(classes(updates[0].and(updates[1]).and(DllpSet::ACK)), [1, 2]);
        assert_eq!(classes(DllpSet::update_of(1, FlowClass::Posted).and(DllpSet::ACK)), []);
        assert_eq!(classes(DllpSet::ALL), [0, 1, 2]);
    }
}
