//! Non-transparent bridges: one chip that is an endpoint in each of two machines, and hides each from the other.
//!
//! What the host of one side, or a device below it, sends to the BAR of that side leaves at the other side as a request of that
//! side: it is for memory of the other host, at the same place as in the BAR, and has a Requester ID and tag of the other side,
//! which notes who asked. Completions are given back to whom they are for. In between packets are where they would be in a
//! switch of two ports: its buffers, ordering rules and latency ([`crate::switch`]) are the bridge's.
//!
//! Source: NVIDIA, DRIVE OS 5.1 Linux SDK Developer Guide, "Non-Transparent Bridging" (two functions with Type 0 headers that a
//! bridging function joins, of a Microsemi PM8534); Linux, `Documentation/driver-api/ntb.rst` (windows that translate addresses).
//!
//! Left out: windows to devices of the other host; doorbells, scratchpads and messages, which carry next to nothing; engines
//! that move data in the chip itself; limits of the table of requesters, and of room for completions, which endpoints do not have.

use crate::addresses::{Addresses, Window};
use crate::packet::{Flags, Packet, PacketId, PacketPool, RouteEnd};
use crate::slots::Slots;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Bytes;

/// A read that left at a side, as who asked for it knows it.
#[derive(Clone, Copy, Debug)]
struct Asked {
    requester: RouteEnd,
    read: u16,
    /// From the address beyond the bridge to that before it.
    back: u64,
}

#[derive(Debug)]
struct Side {
    /// By which packets of its machine find it.
    route_end: RouteEnd,
    window: Window,
    /// Reads that left here.
    asked: Slots<Asked>,
}

/// What packets become on their way through a bridge.
#[derive(Debug)]
pub(crate) struct Bridge {
    sides: [Side; 2],
}

impl Bridge {
    /// Between two endpoints, each below the root complex that is given with it.
    pub(crate) fn new(ends: [(RouteEnd, u32); 2], addresses: &Addresses) -> Self {
        let side = |near: usize| {
            let ((route_end, _), (_, beyond)) = (ends[near], ends[1 - near]);
            Side { route_end, window: addresses.window(route_end, beyond), asked: Slots::default() }
        };
        Self { sides: [side(0), side(1)] }
    }

    /// A packet that came in at one side is what it will be at the other. A copy that will be nullified is nobody's.
    ///
    /// It is another packet from then on: if it is replayed, the one that comes again is a duplicate.
    #[cold]
    pub(crate) fn cross(&mut self, packets: &mut PacketPool, id: PacketId, ingress: u16) {
        if packets[id].flags.has(Flags::NULLIFIED) {
            return;
        }
        packets.renew(id);
        let (packet, near) = (&mut packets[id], usize::from(ingress));
        let beyond = self.sides[1 - near].route_end;
        if packet.class() == FlowClass::Completion {
            self.give_back(packet, near);
        } else {
            let length = Bytes::new(u64::from(packet.length));
            let address = self.sides[near].window.beyond(packet.address, length);
            if packet.class() == FlowClass::NonPosted {
                let back = packet.address.wrapping_sub(address);
                let asked = Asked { requester: packet.requester, read: packet.read, back };
                let slot = self.sides[1 - near].asked.insert(asked);
                packet.read = u16::try_from(slot).expect("a bridge has room for 65,536 reads");
            }
            packet.readdress(address);
            packet.destination = RouteEnd::HOST;
        }
        packet.requester = beyond;
    }

    /// A completion is for whom asked at the side where it came in.
    fn give_back(&mut self, packet: &mut Packet, near: usize) {
        let (asked, slot) = (&mut self.sides[near].asked, u32::from(packet.read));
        let Asked { requester, read, back } =
            if packet.flags.has(Flags::LAST) { asked.take(slot) } else { *asked.get(slot) };
        packet.address = packet.address.wrapping_add(back);
        (packet.destination, packet.read) = (requester, read);
    }
}
