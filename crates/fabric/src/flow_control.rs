//! Initialisation of flow control: the InitFC handshake after which TLPs may flow (PCIe Base 6.3 §3.4), of all virtual
//! channels together.

use crate::fabric::Fabric;
use crate::port::{LinkState, PortId};
use lanewise_pcie::dllp::{Dllp, INIT_FLOW_CONTROL_INTERVAL};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

impl Fabric {
    /// Sends the InitFC triplets of the present state when it is due: on entry, and again every 34 us.
    ///
    /// Source: PCIe Base 6.3 §3.4.
    #[inline(never)]
    pub(crate) fn initialise_flow_control(&mut self, id: PortId, now: Time) {
        let port = &mut self.ports[id.index()];
        if port.init_due_at <= now {
            port.init_due_at = now + INIT_FLOW_CONTROL_INTERVAL;
            let second = port.state != LinkState::InitFlowControl1;
            for channel in port.channel_numbers() {
                self.send_init_triplet(id, channel, second, now);
            }
        }
        let port = &self.ports[id.index()];
        let next = port.mailbox.front().map_or(port.init_due_at, |(at, _)| port.init_due_at.min(*at));
        self.wake(id, next);
    }

    fn send_init_triplet(&mut self, id: PortId, channel: u8, second: bool, now: Time) {
        for class in FlowClass::ALL {
            let port = &self.ports[id.index()];
            let (header, data) = port.receiver.buffer(channel, class).credits.limit();
            let dllp = match second {
                false => Dllp::InitFlowControl1 { channel, class, header, data },
                true => Dllp::InitFlowControl2 { channel, class, header, data },
            };
            self.send_dllp(id, dllp, now);
        }
    }

    /// The peer has left FC_INIT1, which ends FC_INIT2 here: TLPs may flow.
    pub(crate) fn flow_control_initialised(&mut self, id: PortId, now: Time) {
        let port = &mut self.ports[id.index()];
        if port.state != LinkState::InitFlowControl2 {
            return;
        }
        port.settle(id, now, &mut self.observers);
        // The peer still waits for the InitFC2 of this side, if that has not gone out yet.
        if port.init_due_at <= now {
            self.initialise_flow_control(id, now);
        }
        let port = &mut self.ports[id.index()];
        port.state = LinkState::Active;
        port.receiver.start_updates(now, port.settings.receiver.update.period);
    }
}
