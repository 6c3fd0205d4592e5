//! An endpoint with a translation cache: what waits for translations, and requests for them (`ats.rs`).

use super::Endpoint;
use crate::ats::Translations;
use crate::packet::{Flags, Packet, RouteEnd};
use lanewise_pcie::tlp::{Routing, Tlp, TlpKind};
use lanewise_units::Time;

impl Endpoint {
    /// Its translation cache, if it has one.
    pub(super) fn translations(&mut self) -> Option<&mut Translations> {
        self.dma.as_mut().and_then(|dma| dma.translations.as_deref_mut())
    }

    /// Whether the next request of a queue, whose turn it is, has its translation. One that has not takes no turns until it comes.
    pub(super) fn is_translated(&mut self, queue: u32) -> bool {
        let rest = self.queues[queue as usize].current;
        let Some(translations) = self.dma.as_mut().and_then(|dma| dma.translations.as_mut()) else {
            return true;
        };
        let may_go = rest.is_none_or(|rest| translations.may_go(rest.transfer, rest.address));
        if !may_go {
            translations.park(queue);
        }
        may_go
    }

    /// The next translation request, if there is one, and a tag for it.
    pub(crate) fn next_translation(&mut self, now: Time) -> Option<Packet> {
        if !self.translations()?.has_to_ask() {
            return None;
        }
        let tag = self.reads.tags.take()?;
        let slot = tag.index(self.reads.tags.width()) as u16;
        let (transfer, address, length) = self.translations()?.ask_next(slot, now);
        let tlp = Tlp::new(TlpKind::MemoryRead, Routing::Address(address), length)
            .with_attributes(self.attributes)
            .with_prefixes(self.prefixes)
            .with_digest(self.digest);
        let mut packet = Packet::new(&tlp, RouteEnd::HOST, self.route_end, now);
        packet.flags = packet.flags.with(Flags::TRANSLATION);
        packet.context = transfer;
        packet.read = self.reads.enter(tag, packet.length, now);
        self.seal(&mut packet);
        if let Some(errors) = &mut self.errors {
            errors.watch(&packet, now, 0);
        }
        Some(packet)
    }

    /// A translation request is given up: its tag is free, and its pages are asked for again.
    pub(crate) fn translation_lost(&mut self, slot: u16, now: Time) {
        self.abandon(slot, now);
        self.translations().expect("it asked for them").ask_again(slot, now);
    }

    /// Translations have come: their tag is free, and queues that waited take turns again.
    pub(crate) fn translations_came(&mut self, packet: &Packet, now: Time) {
        self.count_completion(packet);
        self.reads.end(packet.read, now);
        let queues = self.translations().expect("it asked for them").came(packet.read, now);
        for queue in queues {
            if let Some(rest) = self.queues[queue as usize].current {
                self.takes_turns(queue, rest.direction);
            }
        }
    }
}
