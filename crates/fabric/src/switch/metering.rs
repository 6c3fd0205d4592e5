//! Request metering: a non-posted request waits until the completions of the one before it, from the same port, have had time to
//! cross the link to the requester.
//!
//! Without it a narrow device with many reads under way fills the buffer of the upstream port with its completions, which are as
//! fast as the upstream link there, and those of its neighbours wait behind them. The logic stands between the ingress buffer and
//! the core: it looks at the request in front of the non-posted queue of a port, lets it through when a timer has run out, and
//! starts the timer with an estimate of the time that the completions take.
//!
//! Source: IDT 89HPES32NT24xG2 user manual (January 2013), chapter 4, "Request Metering". As there, data count in units of a data
//! credit, 16 B, and requests that bring no data back count as a header.
//!
//! Assumed: the overhead is that of completions of one size, which a setting has; the parts have an overhead factor for it, which
//! firmware tunes. Leaves out: the steps of 4 ns in which the timer of that part counts, and ports for which it is off while it is
//! on for others.

use super::Switch;
use crate::packet::{Flags, Packet, PacketId, PacketPool};
use crate::server::Book;
use crate::wire::WireTiming;
use lanewise_pcie::tlp::{DATA_CREDIT, DWORD, FRAMING_NON_FLIT, FlowClass, TlpKind, whole_dwords};
use lanewise_units::{Bytes, Span, SpanSum, Time};

/// The timers of a switch.
pub(super) struct Meters {
    /// Data of each completion that is expected.
    completion: Bytes,
    ports: Vec<Meter>,
}

/// The timer of one ingress.
#[derive(Clone, Copy, Default)]
struct Meter {
    /// From when on the next non-posted request may enter the core.
    opens_at: Time,
    /// Requests that started the timer, and how long it ran for them.
    book: Book,
}

impl Meters {
    pub(super) fn new(completion: Bytes, ports: usize) -> Self {
        Self { completion, ports: vec![Meter::default(); ports] }
    }

    /// From when on the next non-posted request of an ingress may enter the core.
    pub(super) fn opens_at(&self, ingress: u16) -> Time {
        self.ports[usize::from(ingress)].opens_at
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.ports)
    }
}

impl Switch {
    /// Whether a packet that enters the core starts a timer. A nullified copy does not: what it is a copy of comes again.
    #[inline(always)]
    pub(crate) fn meters(&self, packet: &Packet) -> bool {
        self.config.request_metering.is_some()
            && packet.class() == FlowClass::NonPosted
            && !packet.flags.has(Flags::NULLIFIED)
    }

    /// Such a packet that came in at `ingress` enters the core: the next non-posted one from there has to wait, in whatever queue it is.
    #[cold]
    pub(crate) fn meter(&mut self, packets: &mut PacketPool, id: PacketId, ingress: u16, now: Time) {
        let request = packets[id];
        let Some(meters) = self.special.as_mut().and_then(|special| special.meters.as_mut()) else { return };
        let wire = &self.settings[usize::from(ingress)].wire;
        let span = completion_time(&request, meters.completion, wire);
        let meter = &mut meters.ports[usize::from(ingress)];
        meter.book.enter(now, now, span);
        let opens_at = now + span;
        meter.opens_at = opens_at;
        for row in &self.rows {
            if row.waiting.0[FlowClass::NonPosted as usize] >> ingress & 1 == 0 {
                continue;
            }
            let queue = &mut self.queues[row.slot(usize::from(ingress))];
            let mut queued = queue.packets.head(FlowClass::NonPosted);
            // Nullified copies in front may be dropped before their time.
            while let Some(next) = queued {
                packets[next].eligible_at = packets[next].eligible_at.max(opens_at);
                self.memory.iter_mut().for_each(|memory| memory.not_before(next, opens_at));
                queued = packets[next].flags.has(Flags::NULLIFIED).then(|| packets.behind(next)).flatten();
            }
            queue.settle(packets);
        }
    }

    /// By ingress, the data of each completion that metering expects, and how long its timer has run up to `at`. Who waited for it is
    /// seen at the port: its peer has no credits.
    pub(crate) fn metering_books(&self, at: Time) -> impl Iterator<Item = (Bytes, Book)> {
        let meters = self.special.iter().filter_map(|special| special.meters.as_ref());
        meters.flat_map(move |meters| {
            meters.ports.iter().map(move |meter| {
                let ahead = SpanSum::from(meter.opens_at.saturating_since(at));
                let busy = meter.book.busy.saturating_sub(ahead);
                (meters.completion, Book { busy, ..meter.book })
            })
        })
    }
}

/// Time that the completions of a request take on the link to its requester, as a switch estimates it that expects so much data in
/// each of them.
fn completion_time(request: &Packet, completion: Bytes, wire: &WireTiming) -> Span {
    let data = match request.kind {
        TlpKind::MemoryRead => whole_dwords(request.address, Bytes::new(u64::from(request.length))),
        _ => Bytes::ZERO,
    };
    let data = DATA_CREDIT * data.div_ceil(DATA_CREDIT);
    let framing = if wire.flit.is_some() { Bytes::ZERO } else { FRAMING_NON_FLIT };
    let header = DWORD * 3 + framing;
    wire.tlp_span(data + header * data.div_ceil(completion).max(1))
}
