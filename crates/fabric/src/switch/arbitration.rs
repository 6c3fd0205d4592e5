//! Which ingress sends what next through an egress of a switch, and why none does.

use super::{Feed, Row, Switch};
use crate::channels::VC0;
use crate::config::{Arbitration, SwitchCore};
use crate::link::DllpSet;
use crate::packet::{ClassQueues, Flags, Packet, PacketId, PacketPool};
use crate::port::Port;
use crate::select::{may_be_sent, select_class};
use crate::shared_memory::SharedMemory;
use crate::wait::Wait;
use lanewise_observe::Use;
use lanewise_pcie::flow_control::Credits;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Rate, Time, wide};

/// A row, and the virtual channel of its egress that it is for: VC0 of a plain port, or any of a `SPECIAL` one, with several
/// channels or in Flit Mode.
#[derive(Clone, Copy)]
struct VcEgress<const SPECIAL: bool> {
    row: usize,
    channel: u8,
}

impl VcEgress<false> {
    /// That of a port with VC0 alone.
    #[inline(always)]
    fn only(port: &Port) -> Self {
        Self { row: usize::from(port.index), channel: VC0 }
    }
}

impl<const SPECIAL: bool> VcEgress<SPECIAL> {
    #[inline(always)]
    fn channel(self) -> u8 {
        if SPECIAL { self.channel } else { VC0 }
    }

    /// From when on an ingress of a crossbar that feeds others until `free_at` may feed `port`, this egress.
    #[inline(always)]
    fn may_feed_at(self, port: &Port, free_at: Time) -> Time {
        match SPECIAL {
            true => Time::ZERO + free_at.saturating_since(Time::ZERO + port.asks_the_core_ahead()),
            false => free_at,
        }
    }
}

/// Which ingress sends what next.
struct Found {
    ingress: usize,
    class: FlowClass,
}

impl Switch {
    /// The next packet for the wire of `port`, which has VC0 alone, taken out of its queue; or why there is none.
    #[inline(always)]
    pub(crate) fn arbitrate(
        &mut self,
        packets: &PacketPool,
        port: &Port,
        now: Time,
    ) -> Result<PacketId, Wait> {
        self.arbitrate_in(VcEgress::only(port), packets, port, now)
    }

    /// Why nothing that waits now may leave at `at` through `port`, which has VC0 alone; none if something may.
    #[inline(never)]
    pub(crate) fn look_ahead(&mut self, packets: &PacketPool, port: &Port, at: Time) -> Option<Wait> {
        match self.buses {
            Some(_) => None, // An egress that asks for a bus has it, or stands in line for it.
            None => self.find(VcEgress::only(port), packets, port, at).err(),
        }
    }

    /// The next packet of the first channel, in the order of arbitration, that may send one.
    #[inline(never)]
    pub(crate) fn arbitrate_by_channel(
        &mut self,
        packets: &PacketPool,
        port: &Port,
        now: Time,
    ) -> Result<PacketId, Wait> {
        let mut wait = Wait::NOTHING;
        for channel in port.channel_order() {
            let row = self.row_of(port.index, channel);
            match self.arbitrate_in(VcEgress::<true> { row, channel }, packets, port, now) {
                Ok(id) => return Ok(id),
                Err(found) => wait = wait.or(found),
            }
        }
        Err(wait)
    }

    /// The next packet for a flit of `port` that begins now.
    ///
    /// A flit takes what it carries all at once, and the crossbar brings one after the other: what is asked of it ahead, up to a flit, waits
    /// at the egress, so that it falls behind no more than its rate makes it.
    #[inline(never)]
    pub(crate) fn arbitrate_for_flit(
        &mut self,
        packets: &PacketPool,
        port: &Port,
        now: Time,
    ) -> Result<PacketId, Wait> {
        let vc_egress = VcEgress::<true> { row: usize::from(port.index), channel: VC0 };
        self.arbitrate_in(vc_egress, packets, port, now)
    }

    #[inline(always)]
    fn row_of(&self, egress: u16, channel: u8) -> usize {
        let egress = usize::from(egress);
        let more = || self.special.as_ref()?.rows.as_ref();
        match channel {
            VC0 => egress,
            _ => more().map_or(egress, |more| usize::from(more.of_vc1[egress]) + usize::from(channel) - 1),
        }
    }

    #[inline(always)]
    fn arbitrate_in<const SPECIAL: bool>(
        &mut self,
        vc_egress: VcEgress<SPECIAL>,
        packets: &PacketPool,
        port: &Port,
        now: Time,
    ) -> Result<PacketId, Wait> {
        let found = self.find(vc_egress, packets, port, now)?;
        let slot = self.rows[vc_egress.row].slot(found.ingress);
        let queue = &mut self.queues[slot];
        let id = queue.packets.pop(packets, found.class).expect("the head was there");
        queue.settle(packets);
        let was_last = queue.packets.head(found.class).is_none();
        self.granted(packets, id, found.ingress, was_last, vc_egress, now);
        Ok(id)
    }

    /// Whose turn it is to send what, of those that may at `at`; or why none may.
    #[inline(always)]
    fn find<const SPECIAL: bool>(
        &mut self,
        vc_egress: VcEgress<SPECIAL>,
        packets: &PacketPool,
        port: &Port,
        at: Time,
    ) -> Result<Found, Wait> {
        let Row { waiting, arbiter, .. } = &self.rows[vc_egress.row];
        let (waiting, turn) = (waiting.of_any_class(), arbiter.whose());
        if waiting == 0 {
            return Err(Wait::NOTHING);
        }
        let first = if self.config.arbitration == Arbitration::Strict { 0 } else { turn };
        let candidate = wide::next_from(waiting, u32::from(first));
        let wait = match self.try_ingress(candidate as usize, vc_egress, packets, port, at) {
            Ok(found) => return Ok(found),
            Err(wait) => wait,
        };
        if wide::only(waiting).is_some() {
            return Err(wait);
        }
        // Ports from `first` up, then those below it.
        let from_first = waiting & wide::bit(u32::from(first)).wrapping_neg();
        let below_first = waiting ^ from_first;
        let others = self.others(vc_egress, port, wait) & !wide::bit(candidate);
        self.find_among([from_first & others, below_first & others], vc_egress, wait, packets, port, at)
    }

    /// Ingress ports to look at after one that has to `wait`. An ingress that has nothing but packets of a class without credits
    /// cannot go either.
    fn others<const SPECIAL: bool>(&self, vc_egress: VcEgress<SPECIAL>, port: &Port, wait: Wait) -> u128 {
        let exhausted = match self.has_nullified {
            true => [false; 3],
            false => exhausted(port, vc_egress.channel(), wait, self.least_data[vc_egress.row]),
        };
        self.rows[vc_egress.row].waiting.beside(exhausted)
    }

    /// [`Self::find`] when the first ingress of the turn has nothing that may go: looks at the others.
    #[inline(never)]
    fn find_among<const SPECIAL: bool>(
        &mut self,
        halves: [u128; 2],
        vc_egress: VcEgress<SPECIAL>,
        mut wait: Wait,
        packets: &PacketPool,
        port: &Port,
        at: Time,
    ) -> Result<Found, Wait> {
        for mut rest in halves {
            while rest != 0 {
                let ingress = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                match self.try_ingress(ingress, vc_egress, packets, port, at) {
                    Ok(found) => return Ok(found),
                    Err(found) => wait = wait.or(found),
                }
            }
        }
        Err(wait)
    }

    /// What `ingress` may send next on the wire of `port`, if it may and the core is free for it.
    #[inline(always)]
    fn try_ingress<const SPECIAL: bool>(
        &mut self,
        ingress: usize,
        vc_egress: VcEgress<SPECIAL>,
        packets: &PacketPool,
        port: &Port,
        at: Time,
    ) -> Result<Found, Wait> {
        let queue = &self.queues[self.rows[vc_egress.row].slot(ingress)];
        if queue.not_before > at {
            return Err(Wait::until(queue.not_before));
        }
        let queues = &queue.packets;
        let class = match queue.cost {
            Some(cost) => may_be_sent(cost, port, vc_egress.channel()).map(|()| cost.class())?,
            None => select_class(queues, packets, port, vc_egress.channel(), at)?,
        };
        let busy_until = match self.config.core {
            SwitchCore::Crossbar { .. } => vc_egress.may_feed_at(port, self.feeds[ingress].free_at),
            SwitchCore::SharedMemory { .. } => at, // Paid for when written and when read.
            SwitchCore::Buses { rate, .. } => {
                let head = queues.head(class).expect("the head was there");
                self.take_buses(rate, [ingress as u16, port.index], &packets[head], at)
            }
        };
        if busy_until > at {
            return Err(Wait { on: Use::BlockedCore, dllps: DllpSet::NONE, until: busy_until });
        }
        Ok(Found { ingress, class })
    }

    /// Takes the buses for a packet, or says until when they are taken: then it is later than `now`.
    #[inline(never)]
    fn take_buses(&mut self, rate: Rate, [ingress, egress]: [u16; 2], packet: &Packet, now: Time) -> Time {
        let span = rate.span_ceil(packet.cost.tlp());
        let buses = self.buses.as_mut().expect("the core has buses");
        buses.take(ingress, egress, span, now).err().unwrap_or(now)
    }

    /// Books a crossbar or memory for the packet, the last of its class from there or not, and passes the turn on.
    #[inline(always)]
    fn granted<const SPECIAL: bool>(
        &mut self,
        packets: &PacketPool,
        id: PacketId,
        ingress: usize,
        was_last: bool,
        vc_egress: VcEgress<SPECIAL>,
        now: Time,
    ) {
        let row = vc_egress.row;
        let packet = &packets[id];
        let bytes = packet.cost.tlp();
        // A nullified copy whose time is over leaves no more: neither the core nor the turn is taken for it.
        let leaves = !self.has_nullified || !Self::is_stale(packets, id, now);
        match self.config.core {
            _ if !leaves => {}
            SwitchCore::Crossbar { port_rate } => {
                let span = port_rate.span_ceil(bytes);
                let feed = &mut self.feeds[ingress];
                let from = if SPECIAL { feed.free_at.max(now) } else { now };
                *feed = Feed { busy: feed.busy + span, served: feed.served + 1, free_at: from + span };
            }
            SwitchCore::Buses { .. } => {} // Taken when they were found free.
            SwitchCore::SharedMemory { .. } => {
                self.memory.as_mut().expect("the core is a memory").read(bytes, now);
            }
        }
        let class = packet.class();
        if was_last {
            self.rows[row].waiting.0[class as usize] &= !wide::bit(ingress as u32);
        }
        if leaves {
            self.rows[row].arbiter.served(ingress as u8, self.ports.len(), self.config.arbitration.weights());
        }
    }

    /// What `port` waits for whose packets may leave from `until` on, if it has any: a shared memory that writes one that
    /// might have left already, or just for time to pass; and how long that is the answer.
    #[inline(always)]
    pub(crate) fn silence(&self, packets: &PacketPool, port: &Port, now: Time, until: Time) -> (Use, Time) {
        match &self.memory {
            None => (Use::Idle, until),
            Some(memory) => self.silence_of_memory(memory, packets, port, now, until),
        }
    }

    #[inline(never)]
    fn silence_of_memory(
        &self,
        memory: &SharedMemory,
        packets: &PacketPool,
        port: &Port,
        now: Time,
        mut until: Time,
    ) -> (Use, Time) {
        let mut on = Use::Idle;
        for channel in port.channel_numbers() {
            for id in self.heads(self.row_of(port.index, channel)) {
                let ready_at = memory.ready_at(id);
                if ready_at > now {
                    until = until.min(ready_at);
                } else if packets[id].eligible_at > now {
                    on = Use::BlockedCore;
                }
            }
        }
        (on, until)
    }

    /// The queues of a row in which packets wait.
    fn queues_of(&self, row: usize) -> impl Iterator<Item = &ClassQueues> {
        let waiting = self.rows[row].waiting.of_any_class();
        let ingresses = (0..self.ports.len()).filter(move |ingress| waiting >> ingress & 1 == 1);
        ingresses.map(move |ingress| &self.queues[self.rows[row].slot(ingress)].packets)
    }

    /// The queues in which packets wait for a channel of `egress`, one for each ingress.
    pub(crate) fn queues_for(&self, egress: u16, channel: u8) -> impl Iterator<Item = &ClassQueues> {
        self.queues_of(self.row_of(egress, channel))
    }

    /// The oldest packet of each class of each ingress that waits in a row.
    fn heads(&self, row: usize) -> impl Iterator<Item = PacketId> {
        self.queues_of(row)
            .flat_map(|queues| FlowClass::ALL.into_iter().filter_map(|class| queues.head(class)))
    }

    /// When something that waits for a channel of `egress` may leave, if anything does; not later than that.
    #[inline(always)]
    pub(crate) fn next_start(&self, egress: u16, channel: u8) -> Time {
        let row = self.row_of(egress, channel);
        let waiting = self.rows[row].waiting.of_any_class();
        if waiting == 0 {
            return Time::NEVER;
        }
        if let Some(memory) = &self.memory {
            return self.heads(row).map(|id| memory.ready_at(id)).min().unwrap_or(Time::NEVER);
        }
        let Some(ingress) = wide::only(waiting) else {
            return Time::ZERO; // Several ingress ports: arbitration will look.
        };
        self.queues[self.rows[row].slot(ingress as usize)].not_before
    }

    /// Whether anything that waits for `port` may leave now and has the core, or lacks only credits or room in the retry buffer.
    pub(crate) fn wants_the_wire(&self, packets: &PacketPool, port: &Port, now: Time) -> bool {
        port.channel_numbers().any(|channel| {
            let row = self.row_of(port.index, channel);
            let waiting = self.rows[row].waiting.of_any_class();
            let mut ingresses = (0..self.ports.len()).filter(|ingress| waiting >> ingress & 1 == 1);
            ingresses.any(|ingress| {
                let queues = &self.queues[self.rows[row].slot(ingress)].packets;
                match select_class(queues, packets, port, channel, now) {
                    Ok(_) => self.core_is_free(ingress, port, now),
                    Err(wait) => !wait.dllps.is_none(), // The port does not sleep while it waits for these.
                }
            })
        })
    }

    fn core_is_free(&self, ingress: usize, egress: &Port, now: Time) -> bool {
        match &self.buses {
            Some(buses) => buses.are_free(ingress as u16, egress.index, now),
            None => self.feeds[ingress].free_at <= now + egress.asks_the_core_ahead(),
        }
    }

    /// Takes out what waits in front for `port` and never leaves: nullified copies whose time is over.
    #[cold]
    pub(crate) fn drop_stale(&mut self, packets: &mut PacketPool, port: &Port, now: Time) {
        for channel in port.channel_numbers() {
            let row = self.row_of(port.index, channel);
            for ingress in 0..self.rows[row].slots().len() {
                let slot = self.rows[row].slot(ingress);
                for class in FlowClass::ALL {
                    while let Some(id) =
                        self.queues[slot].packets.head(class).filter(|id| Self::is_stale(packets, *id, now))
                    {
                        let queue = &mut self.queues[slot];
                        queue.packets.pop(packets, class);
                        queue.settle(packets);
                        packets.remove(id);
                        if queue.packets.head(class).is_none() {
                            self.rows[row].waiting.0[class as usize] &= !wide::bit(ingress as u32);
                        }
                    }
                }
            }
        }
    }

    /// When the next of the nullified copies in front for `port` is stale: one behind it may lack nothing but credits from then on, and
    /// that keeps a link awake.
    #[cold]
    pub(crate) fn next_stale(&self, packets: &PacketPool, port: &Port, now: Time) -> Time {
        let rows = port.channel_numbers().map(|channel| self.row_of(port.index, channel));
        let copies =
            rows.flat_map(|row| self.heads(row)).filter(|id| packets[*id].flags.has(Flags::NULLIFIED));
        copies.map(|id| packets[id].issued_at).filter(|at| *at > now).min().unwrap_or(Time::NEVER)
    }

    /// Whether this is a nullified copy that had not started to leave when its damaged original ended.
    pub(crate) fn is_stale(packets: &PacketPool, id: PacketId, now: Time) -> bool {
        packets[id].flags.has(Flags::NULLIFIED) && packets[id].issued_at <= now
    }
}

/// Classes of which a packet waits for credits, when the peer of `port` has not enough for a TLP with the `least` data of that class.
fn exhausted(port: &Port, channel: u8, wait: Wait, least: [u16; 3]) -> [bool; 3] {
    FlowClass::ALL.map(|class| {
        let smallest = Credits { header: 1, data: least[class as usize] };
        let awaited = wait.dllps.include(DllpSet::update_of(channel, class));
        awaited && port.credits_of(channel)[class as usize].gate(smallest).is_err()
    })
}
