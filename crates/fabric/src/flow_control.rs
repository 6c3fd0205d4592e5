//! Initialisation of flow control: the InitFC handshake after which TLPs may flow (PCIe Base 6.3 §3.4), of all virtual
//! channels together.

use crate::fabric::Fabric;
use crate::link::{InitFlowControl, LinkState};
use crate::port::PortId;
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

impl Fabric {
    /// Sends the InitFC triplets of the present state when it is due: on entry, and again every 34 us.
    ///
    /// Source: PCIe Base 6.3 §3.4.
    #[inline(never)]
    pub(crate) fn initialise_flow_control(&mut self, id: PortId, now: Time) {
        let port = &mut self.ports[id.index()];
        if let Some(which) = port.transmitter.take_init(now) {
            for channel in port.channel_numbers() {
                self.send_init_triplet(id, channel, which, now);
            }
        }
        if self.observers.are_heard() {
            self.tell_link_down(id, now);
        }
        let port = &self.ports[id.index()];
        let (due_at, _) = port.transmitter.next_deadline(0);
        let next = port.mailbox.front().map_or(due_at, |(at, _)| due_at.min(*at));
        self.wake(id, next);
    }

    fn send_init_triplet(&mut self, id: PortId, channel: u8, which: InitFlowControl, now: Time) {
        for class in FlowClass::ALL {
            let port = &self.ports[id.index()];
            let (header, data) = port.receiver.buffer(channel, class).credits.limit();
            let dllp = match which {
                InitFlowControl::First => Dllp::InitFlowControl1 { channel, class, header, data },
                InitFlowControl::Second => Dllp::InitFlowControl2 { channel, class, header, data },
            };
            self.send_dllp(id, dllp, now);
        }
    }

    /// The peer has left FC_INIT1, which ends FC_INIT2 here: TLPs may flow.
    pub(crate) fn flow_control_initialised(&mut self, id: PortId, now: Time) {
        let port = &mut self.ports[id.index()];
        if port.transmitter.state != LinkState::InitFlowControl2 {
            return;
        }
        let peer = port.peer;
        self.settle(peer, now);
        self.settle(id, now);
        let port = &mut self.ports[id.index()];
        // The peer still waits for the InitFC2 of this side, if that has not gone out yet.
        if port.transmitter.next_deadline(0).0 <= now {
            self.initialise_flow_control(id, now);
        }
        if self.observers.are_heard() {
            self.tell_link_up(id, now);
        }
        let port = &mut self.ports[id.index()];
        port.transmitter.become_active(now);
        port.receiver.start_updates(now, port.settings.receiver.update.period);
    }
}
