//! Why nothing leaves a port, and what may change that.

use crate::link::DllpSet;
use lanewise_observe::Use;
use lanewise_units::Time;

/// Why nothing leaves, and what may change that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    /// What silence is put down to; [`Use::Idle`] when nothing but time has to pass, or nothing waits.
    pub(crate) on: Use,
    /// DLLPs that may let something go.
    pub(crate) dllps: DllpSet,
    /// When something may leave without any of them.
    pub(crate) until: Time,
}

impl Wait {
    /// Nothing waits.
    pub(crate) const NOTHING: Self = Self::until(Time::NEVER);

    /// Something may leave from then on.
    #[inline]
    pub(crate) const fn until(until: Time) -> Self {
        Self { on: Use::Idle, dllps: DllpSet::NONE, until }
    }

    /// Something is held up until a DLLP comes.
    #[inline]
    pub(crate) const fn held(on: Use, dllps: DllpSet) -> Self {
        Self { on, dllps, until: Time::NEVER }
    }

    /// Of two places where nothing may leave: whichever may first. An obstacle says more than time to pass.
    #[inline]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            on: if self.on == Use::Idle { other.on } else { self.on },
            dllps: self.dllps.and(other.dllps),
            until: self.until.min(other.until),
        }
    }
}
