//! What a device with nothing to ask for waits for, as its instrument knows it and results show it.

use crate::platform::Platform;
use lanewise_fabric::workload::DeviceId;
use lanewise_observe::RequesterState;

/// What a device was last said to wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    said: RequesterState,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { said: RequesterState::NothingAsked }
    }
}

impl Waiting {
    /// Says what the device waits for from now on, if that is something else.
    #[inline]
    pub(crate) fn say<P: Platform>(&mut self, state: RequesterState, device: DeviceId, platform: &mut P) {
        if state != self.said {
            self.said = state;
            platform.waits_for(device, state);
        }
    }
}
