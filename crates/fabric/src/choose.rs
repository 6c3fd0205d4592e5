//! Who of those that wait in one place may go next.
//!
//! The oldest packet goes if it has credits. If it cannot, a younger one of another class goes when the ordering
//! table lets it pass everything older that stays behind (PCIe Base 6.3 §2.4.1, Table 2-42).

use crate::packet::{ClassQueues, Flags, Packet, PacketPool};
use crate::port::{Answers, Obstacle, Port};
use lanewise_observe::Use;
use lanewise_pcie::flow_control::Blocked;
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::Time;

/// What one set of queues has to offer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pick {
    /// The head of this class may go.
    Head(FlowClass),
    /// Something waits.
    Blocked(Obstacle),
    /// Something waits that may leave from then on.
    NotBefore(Time),
    /// Nothing waits.
    Nothing,
}

impl Pick {
    /// Of two picks that send nothing, the one that says more: what blocks, then when to come back.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, other) => other,
            (other, Self::Nothing) => other,
            (Self::NotBefore(a), Self::NotBefore(b)) => Self::NotBefore(a.min(b)),
            (Self::NotBefore(at), Self::Blocked(obstacle))
            | (Self::Blocked(obstacle), Self::NotBefore(at)) => {
                Self::Blocked(Obstacle { until: obstacle.until.min(at), ..obstacle })
            }
            (Self::Blocked(a), Self::Blocked(b)) => Self::Blocked(Obstacle {
                on: a.on,
                answers: a.answers.and(b.answers),
                until: a.until.min(b.until),
            }),
            (Self::Head(_), _) | (_, Self::Head(_)) => self,
        }
    }
}

/// Picks among the heads of `queues` for the wire of `port`.
#[inline(always)]
pub(crate) fn pick(queues: &ClassQueues, packets: &PacketPool, port: &Port, now: Time) -> Pick {
    match queues.only_head() {
        Some(id) => {
            let packet = &packets[id];
            obstacle(packet, port, now).unwrap_or(Pick::Head(packet.class()))
        }
        None => pick_among(queues, packets, port, now),
    }
}

/// [`pick`] where several classes wait, or none.
#[inline(never)]
fn pick_among(queues: &ClassQueues, packets: &PacketPool, port: &Port, now: Time) -> Pick {
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
        heads.sort_unstable_by_key(|(order, _)| std::cmp::Reverse(newest.wrapping_sub(*order)));
    }
    let mut best = Pick::Nothing;
    for (position, (_, class)) in heads.iter().enumerate() {
        let packet = &packets[queues.head(*class).expect("only waiting classes are listed")];
        if !heads[..position].iter().all(|(_, older)| passes(packet, *older)) {
            continue;
        }
        match obstacle(packet, port, now) {
            None => return Pick::Head(*class),
            Some(found) => best = best.or(found),
        }
    }
    best
}

/// What keeps this packet off the wire of `port` now.
#[inline(always)]
fn obstacle(packet: &Packet, port: &Port, now: Time) -> Option<Pick> {
    if packet.eligible_at > now {
        return Some(Pick::NotBefore(packet.eligible_at));
    }
    if packet.flags.has(Flags::NULLIFIED) {
        return None; // Takes no credits and is not kept for replay.
    }
    let class = packet.class();
    match port.credits[class.index()].gate(packet.credits()) {
        Err(pool) => {
            let on = Use::blocked_on(class, pool == Blocked::Data);
            let answers = Answers::update_of(class);
            return Some(Pick::Blocked(Obstacle { on, answers, until: Time::NEVER }));
        }
        Ok(()) => {}
    }
    let full = !port.retry.fits(port.wire.retry_bytes(packet));
    let obstacle = Obstacle { on: Use::BlockedRetryBuffer, answers: Answers::ACK, until: Time::NEVER };
    full.then_some(Pick::Blocked(obstacle))
}

/// Whether `packet` may pass an older one of another class: the ordering table, columns by class.
#[inline]
fn passes(packet: &Packet, older: FlowClass) -> bool {
    use lanewise_pcie::ordering::{OrderingAttributes, OrderingClass, Passing, may_pass};
    let class = |of| match of {
        FlowClass::Posted => OrderingClass::Posted,
        FlowClass::NonPosted => OrderingClass::ReadRequest,
        FlowClass::Completion => OrderingClass::Completion,
    };
    let attributes = OrderingAttributes { relaxed: packet.flags.has(Flags::RELAXED), ..Default::default() };
    may_pass(class(packet.class()), attributes, class(older)) != Passing::No
}
