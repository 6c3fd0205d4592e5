//! What is held up at a port, and by what, as far as it is told: TLPs of a flow class whose oldest could leave but for credits, the retry
//! buffer, or an older one that it may not pass; everything; reads that have no tag, or no tracking entry at the host.
//!
//! A port looks here after each TLP that leaves, before and after each DLLP that it reads, which is known to have come at a certain
//! time, and when nothing may leave. Between two looks nothing but time changes whether a TLP could leave, so what is found to be held
//! up now was so since the look before, or since the TLP could leave.

use crate::fabric::Fabric;
use crate::link::{Hold, LinkState};
use crate::packet::{ClassQueues, Flags, PacketId};
use crate::port::{Owner, Port, PortId};
use crate::select::passes_older;
use crate::stack::WaitingRead;
use lanewise_observe::{Cause, HeldUp, Use, WireFact};
use lanewise_pcie::flit::FLIT_BYTES;
use lanewise_pcie::flow_control::{Blocked, Credits};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Time};

/// The oldest TLP of a class that could leave as far as time goes, and what holds it up.
type Oldest = Option<(PacketId, Option<Cause>)>;

impl Fabric {
    /// Nothing leaves a port, as its transmitter has been told.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_what_waits(&mut self, id: PortId, now: Time) {
        let transmitter = &self.ports[id.index()].transmitter;
        let since = transmitter.busy_until.max(now);
        let by = match transmitter.idle_cause {
            Use::BlockedCore => Some(Cause::Core),
            Use::TlpGap => Some(Cause::TlpGap),
            _ => None,
        };
        match by {
            Some(by) => self.observers.held_up(now, id.0, (HeldUp::Everything, by), since, || None),
            None => self.observers.let_go(now, id.0, HeldUp::Everything, since),
        }
        self.tell_holds(id, now);
    }

    /// The link is not up. A port without a link, its own peer, holds nothing up.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_link_down(&mut self, id: PortId, now: Time) {
        if self.ports[id.index()].peer == id {
            return;
        }
        self.observers.held_up(now, id.0, (HeldUp::Everything, Cause::Down), now, || None);
    }

    /// The link is up.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_link_up(&mut self, id: PortId, now: Time) {
        self.observers.let_go(now, id.0, HeldUp::Everything, now);
    }

    /// Nothing can leave a port for a while that is known beforehand.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_pause(&mut self, id: PortId, by: Cause, (since, until): (Time, Time), now: Time) {
        self.observers.held_up(now, id.0, (HeldUp::Everything, by), since, || None);
        self.observers.let_go(now, id.0, HeldUp::Everything, until);
    }

    /// A read has waited at a root complex, and starts now; `by` what it waited for last.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_of_waiting_read(&mut self, read: &WaitingRead, by: Cause, now: Time) {
        let packet = &self.packets[read.request];
        let (port, whom, since) = (packet.ingress, HeldUp::Read(read.order), read.since);
        let mut tlp = packet.waiting();
        tlp.ready_at = since;
        let waiting = Some(tlp);
        self.observers.tell(now, &WireFact::Blocked { port, whom, by, since, waiting });
        self.observers.tell(now, &WireFact::Unblocked { port, whom, by, since, until: now, waiting });
    }

    /// Looks what is held up at a port at a time, and tells what is new.
    #[inline(never)]
    pub(crate) fn tell_holds(&mut self, id: PortId, at: Time) {
        let port = &self.ports[id.index()];
        if port.transmitter.state != LinkState::Active {
            return;
        }
        let before = self.observers.looks_for_holds(id.0, at);
        if !self.observers.anybody_held_up(id.0) && self.has_plenty(port) {
            return;
        }
        self.tell_holds_of_classes(id, at, before);
    }

    /// What was found to be held up was so since `before` at the earliest.
    #[inline(never)]
    fn tell_holds_of_classes(&mut self, id: PortId, at: Time, before: Time) {
        for channel in self.ports[id.index()].channel_numbers() {
            let oldest = self.oldest(id, channel, at);
            for (class, oldest) in FlowClass::ALL.into_iter().zip(oldest) {
                let whom = HeldUp::Class { channel, class };
                match oldest {
                    Some((packet_id, Some(by))) => {
                        let packet = &self.packets[packet_id];
                        let since = packet.eligible_at.max(before).min(at);
                        self.observers.held_up(at, id.0, (whom, by), since, || Some(packet.waiting()));
                    }
                    None if self.lacks_tags(id, channel, class) => {
                        self.observers.held_up(at, id.0, (whom, Cause::Tags), at, || None);
                    }
                    _ => self.observers.let_go(at, id.0, whom, at),
                }
            }
        }
    }

    /// Whether nothing that a TLP could need is scarce.
    fn has_plenty(&self, port: &Port) -> bool {
        let most = most_credits(port);
        let enough = |channel: u8| port.credits_of(channel).iter().all(|credits| credits.gate(most).is_ok());
        let tags = match port.owner {
            Owner::Endpoint(index) => !self.endpoints[index as usize].lacks_tags(),
            Owner::Switch(_) | Owner::RootComplex(_) => true,
        };
        retry_buffer_has_room(port) && tags && port.channel_numbers().all(enough)
    }

    /// Whether an endpoint would ask for data and has no tag.
    fn lacks_tags(&self, id: PortId, channel: u8, class: FlowClass) -> bool {
        let port = &self.ports[id.index()];
        match port.owner {
            Owner::Endpoint(index) if class == FlowClass::NonPosted => {
                port.queues_of(channel).head(class).is_none() && self.endpoints[index as usize].lacks_tags()
            }
            _ => false,
        }
    }

    /// By class, the oldest TLP for a channel of a port that could leave at `at` as far as time goes.
    fn oldest(&self, id: PortId, channel: u8, at: Time) -> [Oldest; 3] {
        let port = &self.ports[id.index()];
        let mut oldest: [Option<(PacketId, &ClassQueues)>; 3] = [None; 3];
        let mut look = |queues| {
            for (class, oldest) in FlowClass::ALL.into_iter().zip(&mut oldest) {
                if let Some(head) = ClassQueues::head(queues, class)
                    && self.packets[head].eligible_at <= at
                    && oldest.is_none_or(|(other, _)| {
                        self.packets[head].eligible_at < self.packets[other].eligible_at
                    })
                {
                    *oldest = Some((head, queues));
                }
            }
        };
        match port.owner {
            Owner::Switch(index) => {
                self.switches[index as usize].queues_for(port.index, channel).for_each(look);
            }
            Owner::RootComplex(_) | Owner::Endpoint(_) => look(port.queues_of(channel)),
        }
        oldest.map(|found| {
            found.map(|(packet_id, queues)| (packet_id, self.hold_of(port, channel, packet_id, queues, at)))
        })
    }

    /// What holds up a TLP that stands first of its class in some queues.
    fn hold_of(
        &self,
        port: &Port,
        channel: u8,
        packet_id: PacketId,
        queues: &ClassQueues,
        at: Time,
    ) -> Option<Cause> {
        let packet = &self.packets[packet_id];
        if packet.flags.has(Flags::NULLIFIED) {
            return None;
        }
        self.gate_of(port, channel, packet_id).or_else(|| {
            if queues.only_head().is_some() {
                return None;
            }
            let older = FlowClass::ALL.into_iter().filter_map(|class| queues.head(class));
            let in_the_way = |older: PacketId| {
                older != packet_id
                    && packet.order.wrapping_sub(self.packets[older].order) < 1 << 31
                    && (self.packets[older].eligible_at > at || self.gate_of(port, channel, older).is_some())
                    && !passes_older(packet, self.packets[older].class(), queues, &self.packets)
            };
            older.into_iter().any(in_the_way).then_some(Cause::Ordering)
        })
    }

    /// What a TLP lacks itself.
    fn gate_of(&self, port: &Port, channel: u8, packet_id: PacketId) -> Option<Cause> {
        let packet = &self.packets[packet_id];
        if port.flits.as_ref().is_some_and(|flits| !flits.transmitter.retry.fits(FLIT_BYTES)) {
            return Some(Cause::RetryBuffer);
        }
        let (class, credits, kept) = (packet.class(), packet.credits(), packet.cost.in_retry_buffer());
        let hold = port.transmitter.gate(port.credits_of(channel), class, credits, kept).err()?;
        Some(match hold {
            Hold::Credits(pool) => Cause::credits(class, pool == Blocked::Data),
            Hold::RetryBuffer => Cause::RetryBuffer,
        })
    }
}

/// What the largest TLP takes.
fn most_credits(port: &Port) -> Credits {
    Credits { header: 1, data: port.settings.mps.get().div_ceil(16) as u16 }
}

/// For the largest TLP, with any header, prefixes and digest.
fn retry_buffer_has_room(port: &Port) -> bool {
    match &port.flits {
        Some(flits) => flits.transmitter.retry.fits(FLIT_BYTES),
        None => port.transmitter.retry.fits(port.settings.mps + Bytes::new(64)),
    }
}
