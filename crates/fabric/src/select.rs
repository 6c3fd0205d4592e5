//! Which of the packets that wait in one place for one virtual channel may go next.
//!
//! The oldest packet goes if it has credits. If it cannot, a younger one of another class goes when the ordering
//! table lets it pass everything older that stays behind (PCIe Base 6.3 §2.4.1, Table 2-42). With ID-based ordering that
//! depends on whose the older packets are, all of them and not only the first.

use crate::link::{DllpSet, Hold};
use crate::packet::{ClassQueues, Flags, Packet, PacketPool};
use crate::port::Port;
use crate::wait::Wait;
use lanewise_observe::Use;
use lanewise_pcie::flow_control::Blocked;
use lanewise_pcie::ordering::{OrderingAttributes, Passing, may_pass};
use lanewise_pcie::tlp::{FlowClass, TlpCost};
use lanewise_units::Time;

/// Picks among the heads of `queues`, one of which is not empty, for `channel` of the wire of `port`.
#[inline(always)]
pub(crate) fn select_class(
    queues: &ClassQueues,
    packets: &PacketPool,
    port: &Port,
    channel: u8,
    now: Time,
) -> Result<FlowClass, Wait> {
    match queues.only_head() {
        Some(id) => {
            let packet = &packets[id];
            may_leave(packet, port, channel, now).map(|()| packet.class())
        }
        None => select_among(queues, packets, port, channel, now),
    }
}

/// The class of a request that may go before the completions that wait with it, of a root port at which it is a request's turn.
///
/// Requests of cores and peers and completions of memory come to a root port by ways of their own, and a request may pass completions
/// (Table 2-42, A5 and B5).
#[inline]
pub(crate) fn select_request(
    queues: &ClassQueues,
    packets: &PacketPool,
    port: &Port,
    channel: u8,
    now: Time,
) -> Option<FlowClass> {
    queues.head(FlowClass::Completion)?;
    let goes = |packet: &Packet| may_leave(packet, port, channel, now).is_ok().then(|| packet.class());
    match [FlowClass::Posted, FlowClass::NonPosted].map(|class| queues.head(class).map(|id| &packets[id])) {
        [None, None] => None,
        [Some(only), None] | [None, Some(only)] => goes(only),
        // Stamps wrap around. A posted request passes others, and is passed by those alone that may pass any.
        [Some(posted), Some(other)] if posted.order.wrapping_sub(other.order) < 1 << 31 => {
            goes(other).or_else(|| goes(posted))
        }
        [Some(posted), Some(other)] => goes(posted)
            .or_else(|| goes(other).filter(|_| passes_older(other, FlowClass::Posted, queues, packets))),
    }
}

/// Whether any of those that wait in `queues` may go, or would but for credits or the retry buffer.
pub(crate) fn wants_the_wire(
    queues: &ClassQueues,
    packets: &PacketPool,
    port: &Port,
    channel: u8,
    now: Time,
) -> bool {
    select_class(queues, packets, port, channel, now).map_or_else(|wait| !wait.dllps.is_none(), |_| true)
}

/// [`select_class`] where several classes wait, or none.
#[inline(never)]
fn select_among(
    queues: &ClassQueues,
    packets: &PacketPool,
    port: &Port,
    channel: u8,
    now: Time,
) -> Result<FlowClass, Wait> {
    if let [Some(a), Some(b), None] | [Some(a), None, Some(b)] | [None, Some(a), Some(b)] =
        FlowClass::ALL.map(|class| queues.head(class))
    {
        return select_of_two([&packets[a], &packets[b]], queues, packets, port, channel, now);
    }
    let mut heads = [(0u32, FlowClass::Posted); 3];
    let mut waiting = 0;
    for class in FlowClass::ALL {
        if let Some(id) = queues.head(class) {
            heads[waiting] = (packets[id].order, class);
            waiting += 1;
        }
    }
    let heads = &mut heads[..waiting];
    if waiting > 1 {
        // Stamps wrap around; packets in one queue are never 2^31 apart.
        let newest =
            heads.iter().fold(heads[0].0, |a, (b, _)| if b.wrapping_sub(a) < 1 << 31 { *b } else { a });
        // Two or three: a sort for any number would be much more code.
        for from in (1..waiting).chain(1..waiting - 1) {
            let age = |(order, _): (u32, FlowClass)| newest.wrapping_sub(order);
            if age(heads[from - 1]) < age(heads[from]) {
                heads.swap(from - 1, from);
            }
        }
    }
    let mut wait = Wait::NOTHING;
    for (position, (_, class)) in heads.iter().enumerate() {
        let packet = &packets[queues.head(*class).expect("only waiting classes are listed")];
        let mut older = heads[..position].iter();
        if !older.all(|(_, older)| passes_older(packet, *older, queues, packets)) {
            continue;
        }
        match may_leave(packet, port, channel, now) {
            Ok(()) => return Ok(*class),
            Err(found) => wait = wait.or(found),
        }
    }
    Err(wait)
}

/// [`select_class`] where two classes wait, with these in front.
#[inline(always)]
fn select_of_two(
    [mut older, mut younger]: [&Packet; 2],
    queues: &ClassQueues,
    packets: &PacketPool,
    port: &Port,
    channel: u8,
    now: Time,
) -> Result<FlowClass, Wait> {
    if older.order.wrapping_sub(younger.order) < 1 << 31 {
        (older, younger) = (younger, older); // Stamps wrap around.
    }
    let Err(wait) = may_leave(older, port, channel, now) else { return Ok(older.class()) };
    let first = older.class();
    if !passes(younger, first) && !passes_by_id(younger, first, queues, packets) {
        return Err(wait);
    }
    may_leave(younger, port, channel, now).map(|()| younger.class()).map_err(|found| wait.or(found))
}

/// What keeps this packet off the wire of `port` now, if anything.
#[inline(always)]
fn may_leave(packet: &Packet, port: &Port, channel: u8, now: Time) -> Result<(), Wait> {
    if packet.eligible_at > now {
        return Err(Wait::until(packet.eligible_at));
    }
    if packet.flags.has(Flags::NULLIFIED) {
        return Ok(()); // Takes no credits and is not kept for replay.
    }
    may_be_sent(packet.cost, port, channel)
}

/// What keeps a TLP that costs so much, has come, and is not nullified, off the wire of `port`, if anything.
#[inline(always)]
pub(crate) fn may_be_sent(cost: TlpCost, port: &Port, channel: u8) -> Result<(), Wait> {
    let (class, need, kept) = (cost.class(), cost.credits(), cost.in_retry_buffer());
    port.transmitter.gate(port.credits_of(channel), class, need, kept).map_err(|hold| match hold {
        Hold::Credits(pool) => {
            let on = Use::blocked_on(class, pool == Blocked::Data);
            Wait::held(on, DllpSet::update_of(channel, class))
        }
        Hold::RetryBuffer => Wait::held(Use::BlockedRetryBuffer, DllpSet::ACK),
    })
}

/// Whether `packet` may pass all older ones of another class that wait here.
#[inline(always)]
pub(crate) fn passes_older(
    packet: &Packet,
    older: FlowClass,
    queues: &ClassQueues,
    packets: &PacketPool,
) -> bool {
    passes(packet, older) || passes_by_id(packet, older, queues, packets)
}

/// Whether `packet` may pass an older one of another class: the ordering table, columns by class.
#[inline]
fn passes(packet: &Packet, older: FlowClass) -> bool {
    let attributes = OrderingAttributes { relaxed: packet.flags.has(Flags::RELAXED), ..Default::default() };
    allowed(packet, attributes, older)
}

#[inline]
fn allowed(packet: &Packet, attributes: OrderingAttributes, older: FlowClass) -> bool {
    may_pass(packet.kind.ordering_class(), attributes, older.ordering_column()) != Passing::No
}

/// Whether `packet` may pass all older ones of another class that wait here because each comes from another requester.
#[inline]
fn passes_by_id(packet: &Packet, older: FlowClass, queues: &ClassQueues, packets: &PacketPool) -> bool {
    packet.flags.has(Flags::ID_ORDERED) && {
        let other_source = all_from_others(packet, older, queues, packets);
        let attributes = OrderingAttributes { id_based: true, other_source, ..Default::default() };
        allowed(packet, attributes, older)
    }
}

#[cold]
fn all_from_others(packet: &Packet, older: FlowClass, queues: &ClassQueues, packets: &PacketPool) -> bool {
    // A completion's source is its completer, which its packet has in the requester's place. Stamps wrap around.
    let came_before = |other: &&Packet| packet.order.wrapping_sub(other.order) < 1 << 31;
    queues.of_class(packets, older).take_while(came_before).all(|other| other.requester != packet.requester)
}
