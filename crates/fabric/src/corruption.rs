//! Bytes that change inside a switch, where no LCRC covers them: a packet is checked as it comes in and gets a new LCRC as it
//! goes out. Only an ECRC, which goes from end to end, tells (PCIe Base 6.3 §2.7.1).
//!
//! The final receiver of a packet with a bad ECRC reports it and drops it: data of a write are lost, a request is not answered, and
//! a read one of whose completions is dropped waits for its completion timeout. Without an ECRC no device notices, and the
//! packet counts as any other. Leaves out: changed headers, which could send a packet anywhere.

use crate::config::{CorruptionConfig, FabricConfig};
use crate::fabric::Fabric;
use crate::ordinals::Ordinals;
use crate::packet::{Flags, Packet, PacketId};
use crate::port::PortId;
use lanewise_engine::random::RandomStream;
use lanewise_observe::TransactionError;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time};

/// Which packets a switch damages.
pub(crate) struct Corruption {
    listed: Ordinals,
    stream: RandomStream,
    probability: f64,
    /// Packets that pass before the next one that is damaged by chance.
    sound: u64,
}

impl Corruption {
    /// Nothing where a switch damages nothing.
    pub(crate) fn new(settings: &CorruptionConfig, name: &str, seed: u64) -> Option<Self> {
        if settings.is_none() {
            return None;
        }
        let mut stream = RandomStream::new(seed, name, "corruption");
        let sound = stream.geometric(settings.probability);
        Some(Self { listed: Ordinals::new(&settings.tlps), stream, probability: settings.probability, sound })
    }

    /// A packet enters the switch; some are not the same afterwards.
    #[cold]
    pub(crate) fn inject(&mut self, packet: &mut Packet) {
        let by_chance = self.sound == 0;
        self.sound = match by_chance {
            true => self.stream.geometric(self.probability),
            false => self.sound - 1,
        };
        if self.listed.should_inject() || by_chance {
            packet.flags = packet.flags.with(Flags::DAMAGED);
        }
    }
}

/// Whether any switch damages packets: then every endpoint watches its reads.
pub(crate) fn anywhere(config: &FabricConfig) -> bool {
    use crate::config::DeviceKind;
    let damages =
        |kind: &DeviceKind| matches!(kind, DeviceKind::Switch(switch) if !switch.corruption.is_none());
    config.devices.iter().any(|device| damages(&device.kind))
}

impl Fabric {
    /// A damaged packet is where it was to go. False when it goes on as if nothing had happened: it has no ECRC.
    #[cold]
    #[inline(never)]
    pub(crate) fn ecrc_fails(&mut self, id: PortId, packet_id: PacketId, free_at: Time) -> bool {
        if !self.packets[packet_id].flags.has(Flags::DIGEST) {
            return false;
        }
        let packet = self.packets.remove(packet_id);
        self.drain(id, &packet, free_at);
        self.report(id, TransactionError::Ecrc);
        match (packet.class(), packet.flags.has(Flags::MMIO)) {
            (FlowClass::Posted, true) => self.mmio_write_arrived(&packet),
            (FlowClass::Posted, false) => self.transfer_progressed(&packet, Span::ZERO),
            // No device answers it.
            (FlowClass::NonPosted, _) => {}
            // The root complex makes up something for a processor that waits.
            (FlowClass::Completion, true) if packet.flags.has(Flags::LAST) => self.mmio_read_done(&packet),
            (FlowClass::Completion, true) => {}
            (FlowClass::Completion, false) => self.completion_lost(id, &packet),
        }
        true
    }
}
