//! What a device with nothing to ask for waits for, as its instrument knows it and results show it.

use crate::ports::Ports;
use crate::token::Kind;
use lanewise_fabric::ports::Dma;
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
    pub(crate) fn say<M: Dma, K: Kind>(
        &mut self,
        state: RequesterState,
        device: DeviceId,
        ports: &mut Ports<'_, M, K>,
    ) {
        if state != self.said {
            self.said = state;
            ports.waits_for(device, state);
        }
    }
}
