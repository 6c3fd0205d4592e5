//! One port as it is now, for a display of the run. Only reads: a run that is watched is the run that is not.
//!
//! A port does some things only when the run looks at it (`advance.rs`), and being read is no look. So a reading is as the port
//! last knew: DLLPs that have arrived since then are counted, those that the other end has not put on the wire yet are not.

use crate::channels::VC0;
use crate::fabric::Fabric;
use crate::link::LinkState;
use crate::port::{Owner, Port, PortId};
use lanewise_observe::Use;
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::flow_control::{CreditPool, Credits};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Time};

/// State of a link, as its data link layer has it (PCIe Base 6.3 §3.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkUp {
    /// TLPs may flow: DL_Active.
    Active,
    /// Flow control is being initialised: DL_Init.
    Initialising,
    /// It was taken down: DL_Inactive.
    Down,
}

/// The transmitter of a port, and what its peer's receiver holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortReading {
    /// State of its link.
    pub link: LinkUp,
    /// Time of its direction is stated to observers up to here: before the present when the wire has been silent since, after
    /// it while something is on the wire.
    pub stated_until: Time,
    /// What silence since then is put down to.
    pub silence: Use,
    /// TLPs that wait here to be sent, by flow class: at an endpoint or root port its own, at a switch those for this egress, from
    /// the moment that they are on their way there.
    pub queued: [u32; 3],
    /// TLPs, or flits in Flit Mode, that are sent and not acknowledged.
    pub unacknowledged: u32,
    /// Bytes that these take in the retry buffer.
    pub retry_buffer: Bytes,
    /// By flow class on VC0, credits that it may spend; none where they are infinite.
    pub credits: [CreditPool; 3],
    /// By flow class on VC0, credits of what lies in the receive buffers of its peer.
    pub held_by_peer: [Credits; 3],
}

impl Fabric {
    /// A port that has a link, by its number among the observers', at `now`.
    pub fn port_reading(&self, index: usize, now: Time) -> PortReading {
        let port = &self.ports[index];
        let peer = &self.ports[port.peer.index()];
        let (unacknowledged, retry_buffer) = match &port.flits {
            Some(flits) => {
                let retry = &flits.transmitter.retry;
                (retry.unacknowledged(), retry.unacknowledged_bytes())
            }
            None => (port.transmitter.retry.unacknowledged(), port.transmitter.retry.unacknowledged_bytes()),
        };
        PortReading {
            link: match port.transmitter.state {
                LinkState::Active => LinkUp::Active,
                _ if port.transmitter.is_down() => LinkUp::Down,
                _ => LinkUp::Initialising,
            },
            stated_until: port.transmitter.busy_until,
            silence: port.transmitter.idle_cause,
            queued: self.queued_at(PortId(index as u32)),
            unacknowledged: unacknowledged as u32,
            retry_buffer,
            credits: credits_at(port, now),
            held_by_peer: FlowClass::ALL.map(|class| peer.receiver.buffer(VC0, class).credits.held()),
        }
    }

    /// Packets of a class in the queues of an endpoint's or root port's own, those not counted that are made later.
    fn queued_made(&self, port: &Port, class: FlowClass) -> usize {
        let of_channel = |channel| port.queues_of(channel).of_class(&self.packets, class).count();
        port.channel_numbers().map(of_channel).sum()
    }

    fn queued_at(&self, id: PortId) -> [u32; 3] {
        let port = &self.ports[id.index()];
        FlowClass::ALL.map(|class| {
            let count = match port.owner {
                Owner::Switch(index) => {
                    self.switches[index as usize].queued_for(&self.packets, port.index, class)
                }
                Owner::Endpoint(_) => self.queued_made(port, class),
                Owner::RootComplex(index) => {
                    let root_complex = &self.root_complexes[index as usize];
                    let unmade = match class {
                        FlowClass::Completion => root_complex.unmade_at(port.index),
                        FlowClass::Posted | FlowClass::NonPosted => 0,
                    };
                    self.queued_made(port, class) + unmade
                }
            };
            count as u32
        })
    }
}

/// Credits that a transmitter may spend, UpdateFCs that have arrived counted.
fn credits_at(port: &Port, now: Time) -> [CreditPool; 3] {
    let mut credits = port.transmitter.credits;
    for (arrived, dllp) in port.mailbox.iter() {
        if *arrived <= now
            && let Dllp::UpdateFlowControl { channel: 0, class, header, data } = dllp
        {
            credits[class.index()].update(*header, *data);
        }
    }
    credits.map(|credits| credits.available())
}
