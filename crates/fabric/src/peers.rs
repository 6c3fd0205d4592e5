//! Peer to peer through a root complex.
//!
//! A root complex may cut what it forwards between hierarchies into smaller packets (PCIe Base 6.3 §1.3.1), and its way from
//! one stack to another has a rate and a latency of its own. What ACS redirected takes the same way back down the port that
//! it came up. Left out: requests to read, which are forwarded whole; only their data are cut.

use crate::fabric::Fabric;
use crate::packet::{Flags, Packet, PacketId};
use crate::port::PortId;
use lanewise_units::{Bytes, Time};

/// A packet of which only pieces are left, and the port whose buffer it takes up until the last of them has gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutPacket {
    pub(crate) port: PortId,
    whole: Packet,
}

impl Fabric {
    /// Peer to peer through the root complex.
    ///
    /// What ACS redirected goes back down the port it came up, which every root complex does; from one root port to
    /// another only one that forwards between them (PCIe Base 6.3 §6.12.2; that no redirect is refused is Assumed).
    pub(crate) fn forward_between_root_ports(
        &mut self,
        index: u32,
        id: PortId,
        packet_id: PacketId,
        now: Time,
    ) {
        let root_complex = &self.root_complexes[index as usize];
        let destination = self.packets[packet_id].destination;
        let Some(egress) = root_complex.routes.port_to(destination) else {
            return self.unsupported(index, id, packet_id, now);
        };
        let ingress = self.ports[id.index()].index;
        assert!(
            egress == ingress || root_complex.config.peer_to_peer,
            "the scenario keeps peers below one root port"
        );
        let largest = root_complex.config.largest_forwarded;
        let packet = &mut self.packets[packet_id];
        packet.ingress = id.0;
        let packet = *packet;
        let eligible_at = self.root_complexes[index as usize].forward(now, &packet, ingress, egress);
        self.packets[packet_id].eligible_at = eligible_at;
        match largest {
            Some(largest) if packet.payload() > largest => {
                self.forward_in_pieces(index, egress, packet_id, largest);
            }
            _ => self.queue_at_root_port(index, egress, packet_id, eligible_at),
        }
    }

    /// Cuts a packet at multiples of `largest`. Its buffer space is free when the last piece has left.
    fn forward_in_pieces(&mut self, index: u32, egress: u16, packet_id: PacketId, largest: Bytes) {
        let whole = self.packets.remove(packet_id);
        let cut = self.cut_packets.insert(CutPacket { port: PortId(whole.ingress), whole });
        let end = whole.address + whole.payload().get();
        let mut address = whole.address;
        while address < end {
            let next = ((address / largest.get() + 1) * largest.get()).min(end);
            let mut piece = whole;
            piece.carry(address, Bytes::new(next - address));
            piece.ingress = Packet::ORIGINATED;
            if next == end {
                piece.ingress = Packet::CUT | cut;
            } else {
                piece.flags = piece.flags.without(Flags::LAST).with(Flags::PIECE);
            }
            let piece_id = self.packets.insert(piece);
            self.queue_at_root_port(index, egress, piece_id, whole.eligible_at);
            address = next;
        }
    }

    /// The last piece of a packet has left at `gone_at`.
    pub(crate) fn last_piece_gone(&mut self, ingress: u32, gone_at: Time) {
        let cut = self.cut_packets.take(ingress & !Packet::CUT);
        self.drain(cut.port, &cut.whole, gone_at);
    }
}
