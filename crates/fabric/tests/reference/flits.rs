//! A link in Flit Mode: TLPs are laid into flits of 256 B, which have sequence numbers, are acknowledged and come again as a whole; DLLPs
//! ride in them and take no time of their own.
//!
//! Rules: docs/explanation/flit-mode.md; PCIe Base 6.3 §4.2.3.

use super::agenda::{Event, rank};
use super::port::Dllp;
use super::record::Sent;
use super::system::{Kind, System};
use super::tlp::{Arrival, Fate, Kind as TlpKind, Tlp};
use lanewise_fabric::config::{Forwarding, LinkConfig};
use lanewise_pcie::ack_nak::flit_ack_latency;
use lanewise_units::{Generation, Span, Time};
use std::collections::VecDeque;

/// A flit, and its first bytes, which carry TLPs (PCIe Base 6.3 §4.2.3.3).
pub const FLIT: u64 = 256;
const TLP_PART: u64 = 236;
/// The first half of a flit ends here, and in each half there are no more TLPs than that, parts of TLPs included (§4.2.3.4.1).
const HALF: u64 = 128;
const TLPS_PER_HALF: usize = 8;
/// Behind NOPs that have gone out a TLP begins at a multiple of this (§4.2.3.4.1).
const BEHIND_NOPS: u64 = 16;
const DW: u64 = 4;
/// Flits have numbers from 1 on, and at most so many wait for an Ack (§4.2.3.4.2.1).
const NUMBERS: u64 = 1023;
const WINDOW: usize = 511;

/// A flit that is filled from the front.
#[derive(Clone, Debug, Default)]
struct Flit {
    filled: u64,
    /// By half.
    tlps: [usize; 2],
    begins: Vec<Laid>,
    ends: Vec<Tlp>,
    /// Its first bytes were the NOPs of a silent wire: it began then.
    began: Option<Time>,
}

/// A TLP that begins in a flit, and how many of its bytes lie in that flit and in each of those that follow.
#[derive(Clone, Debug)]
struct Laid {
    tlp: Tlp,
    bytes: Vec<u64>,
}

impl Flit {
    fn is_full(&self) -> bool {
        self.filled == TLP_PART
    }

    fn half(&self) -> usize {
        usize::from(self.filled >= HALF)
    }

    /// The NOP flit that is on the wire since `began`, of which so many bytes are gone; one that has not begun where a TLP does not fit
    /// behind them.
    fn behind_nops(began: Time, gone: u64) -> Self {
        match gone.div_ceil(BEHIND_NOPS) * BEHIND_NOPS {
            filled if filled < TLP_PART => Self { filled, began: Some(began), ..Self::default() },
            _ => Self::default(),
        }
    }
}

/// A flit that is not acknowledged.
#[derive(Clone, Debug)]
struct KeptFlit {
    sequence: u64,
    flit: Flit,
}

/// What a port in Flit Mode has.
pub struct Flits {
    ack_latency: Span,
    /// Replays without progress before the link goes through Recovery (§4.2.3.4.2.1.7).
    pub replays: u32,
    /// Flits into which TLPs were laid and that have not gone, in order. All but the last are full.
    laid: VecDeque<Flit>,
    kept: VecDeque<KeptFlit>,
    /// TLPs of a flit that was accepted at this instant, and not yet acted on.
    taken: VecDeque<(Tlp, Time)>,
    /// The next flit that carries no DLLP begins then at the earliest.
    pub dllps_from: Time,
}

impl Flits {
    /// None for a link that is not in Flit Mode.
    pub fn new(link: &LinkConfig) -> Option<Self> {
        link.mode.flit.then(|| Self {
            ack_latency: flit_ack_latency(link.mode.width),
            replays: if link.mode.generation >= Generation::Gen6 { 8 } else { 4 },
            laid: VecDeque::new(),
            kept: VecDeque::new(),
            taken: VecDeque::new(),
            dllps_from: Time::ZERO,
        })
    }

    /// The first flit that is not acknowledged.
    pub fn oldest(&self) -> Option<u64> {
        self.kept.front().map(|kept| kept.sequence)
    }

    /// The peer has all flits before this one. Whether that is news.
    pub fn forget_before(&mut self, sequence: u64) -> bool {
        let before = self.kept.len();
        self.kept.retain(|kept| kept.sequence >= sequence);
        self.kept.len() < before
    }

    fn has_full(&self) -> bool {
        self.laid.front().is_some_and(Flit::is_full)
    }

    fn last(&mut self) -> &mut Flit {
        if self.laid.back().is_none_or(Flit::is_full) {
            self.laid.push_back(Flit::default());
        }
        self.laid.back_mut().expect("one was added")
    }

    /// Lays a TLP behind those that are laid, DW by DW.
    fn lay(&mut self, tlp: &Tlp) {
        let last = self.last();
        if last.tlps[last.half()] == TLPS_PER_HALF {
            last.filled = [HALF, TLP_PART][last.half()]; // NOPs.
        }
        let mut laid = Laid { tlp: tlp.clone(), bytes: Vec::new() };
        let mut halves = Vec::new();
        let first = self.laid.len() - usize::from(!self.last_is_full());
        for _ in 0..bytes_in_flits(tlp) / DW {
            let flit = self.last();
            let half = flit.half();
            flit.filled += DW;
            let place = self.laid.len() - 1;
            if !halves.contains(&(place, half)) {
                halves.push((place, half));
                self.laid[place].tlps[half] += 1;
            }
            laid.bytes.resize(place - first + 1, 0);
            laid.bytes[place - first] += DW;
        }
        self.last_laid().ends.push(tlp.clone());
        self.laid[first].begins.push(laid);
    }

    fn last_is_full(&self) -> bool {
        self.laid.back().is_some_and(Flit::is_full)
    }

    fn last_laid(&mut self) -> &mut Flit {
        self.laid.back_mut().expect("something was laid")
    }
}

/// Bytes of a TLP in flits: a DW more than elsewhere where the header has no byte enables and not all bytes are meant (OHC-A; PCIe
/// Base 6.3 §2.2.5.2, §2.2.9.2). A PASID is in that DW too, in place of its prefix (Table 2-6).
pub fn bytes_in_flits(tlp: &Tlp) -> u64 {
    let is_partial = match tlp.kind {
        TlpKind::Completion => !tlp.address.is_multiple_of(DW),
        TlpKind::Write | TlpKind::Read => !tlp.address.is_multiple_of(DW) || !tlp.length.is_multiple_of(DW),
    };
    tlp.bytes() + if is_partial && !tlp.has_pasid { DW } else { 0 }
}

/// A flit on its way to a port, with the TLPs that its receiver acts on, each with the time from which a switch may forward it.
#[derive(Clone, Debug)]
pub struct FlitArrival {
    sequence: u64,
    is_damaged: bool,
    tlps: Vec<(Tlp, Time)>,
}

impl System {
    fn flits(&mut self, port: usize) -> &mut Flits {
        self.ports[port].flits.as_mut().expect("a port in Flit Mode")
    }

    // --- what goes out -----------------------------------------------------------------------------------------

    /// Sends the next flit, if any TLP may go: TLPs are laid into it until it is full or none may, and NOPs behind them.
    pub fn send_flit(&mut self, port: usize) {
        let now = self.now;
        let room = self.ports[port].config.retry_buffer.get() / FLIT;
        let flits = self.flits(port);
        if flits.kept.len() as u64 >= room || flits.kept.len() >= WINDOW {
            return;
        }
        if flits.laid.is_empty() {
            let wire = &mut self.ports[port].wire;
            let byte = wire.span(1);
            let nops = wire.nop_flit(now).map(|began| Flit::behind_nops(began, (now - began).div_ceil(byte)));
            self.flits(port).laid.push_back(nops.unwrap_or_default());
        }
        while !self.flits(port).has_full()
            && let Some(tlp) = self.choose(port)
        {
            self.lay(port, tlp);
        }
        let flits = self.flits(port);
        let mut flit = flits.laid.pop_front().expect("one is there");
        if flit.tlps == [0; 2] {
            return; // A NOP flit.
        }
        flit.filled = TLP_PART;
        let sequence = self.ports[port].next_sequence;
        self.ports[port].next_sequence += 1;
        self.flits(port).kept.push_back(KeptFlit { sequence, flit: Flit { began: None, ..flit.clone() } });
        let is_only = self.flits(port).kept.len() == 1;
        self.put_flit_on_wire(port, &flit, sequence, Sent::Flit);
        let end = self.ports[port].wire.end;
        if is_only {
            self.restart_replay_timer(port, end);
        }
        for tlp in &flit.ends {
            if let Some(ingress) = tlp.came_in {
                self.has_left(port, ingress, tlp, end);
            }
        }
    }

    fn lay(&mut self, port: usize, tlp: Tlp) {
        let own = &mut self.ports[port];
        own.channels[0].credits[tlp.class()].consume(tlp.credits());
        let sequence = (own.next_sequence % NUMBERS + 1) as u16;
        let [payload, header, framing] = [Span::ZERO; 3]; // Their time is that of the flit.
        let what = Sent::Tlp { sequence, payload, header, framing };
        self.record.sent(port, self.now, what, Span::ZERO);
        self.flits(port).lay(&tlp);
        let device = self.ports[port].device;
        if matches!(self.devices[device].kind, Kind::Endpoint(_)) && tlp.class() != super::tlp::COMPLETION {
            self.refill(device);
        }
    }

    /// Sends the next flit of a replay.
    pub fn replay_flit(&mut self, port: usize) {
        let sequence = self.ports[port].replay_from.expect("a replay is under way");
        let kept = &self.flits(port).kept;
        let flit = kept.iter().find(|kept| kept.sequence == sequence).expect("not acknowledged").flit.clone();
        let next = kept.iter().map(|kept| kept.sequence).find(|next| *next > sequence);
        self.ports[port].replay_from = next;
        self.put_flit_on_wire(port, &flit, sequence, Sent::Replay);
        self.restart_replay_timer(port, self.now);
    }

    fn put_flit_on_wire(&mut self, port: usize, flit: &Flit, sequence: u64, what: Sent) {
        let own = &mut self.ports[port];
        let span = own.wire.span(FLIT);
        let start = own.wire.begin_flit(self.now, flit.began, span);
        own.tlp_begun = self.now;
        let is_damaged = own.faults.as_mut().is_some_and(|faults| faults.of_tlp(FLIT) != Fate::Good);
        let (peer, end) = (own.peer, start + span);
        let at_pins = end + own.wire.propagation;
        // The NOPs of a silent wire are silence.
        let recorded = start.max(self.now);
        self.record.sent(port, recorded, what, end - recorded);
        self.wire_is_free_at(port, end);
        let checked = at_pins + self.ports[peer].config.receive_latency;
        let tlps = self.taken_from(peer, flit, at_pins, checked);
        let arrival = Box::new(FlitArrival { sequence, is_damaged, tlps });
        self.agenda.add(checked, rank::ARRIVALS, Event::FlitArrives { port: peer, arrival });
    }

    /// TLPs that a port takes from a flit: a cut-through switch those that begin in it, everybody else those that end there.
    fn taken_from(&self, port: usize, flit: &Flit, at_pins: Time, checked: Time) -> Vec<(Tlp, Time)> {
        let device = self.ports[port].device;
        let Kind::Switch(switch) = &self.devices[device].kind else {
            return flit.ends.iter().map(|tlp| (tlp.clone(), checked)).collect();
        };
        let latency = switch.config.latency;
        if switch.config.forwarding == Forwarding::StoreAndForward {
            return flit.ends.iter().map(|tlp| (tlp.clone(), checked + latency)).collect();
        }
        let each = self.ports[port].wire.span(FLIT);
        let eligible = |laid: &Laid| {
            let out = &self.ports[self.egress(device, port, &laid.tlp)].wire;
            // No byte leaves before its flit is in, if the flits follow each other.
            let (mut before, mut wait) = (0, Span::ZERO);
            for (bytes, later) in laid.bytes.iter().zip(1..).take(laid.bytes.len() - 1) {
                before += bytes;
                wait = wait.max((each * later).saturating_sub(out.tlp_span(before)));
            }
            (at_pins + latency + wait).max(checked)
        };
        flit.begins.iter().map(|laid| (laid.tlp.clone(), eligible(laid))).collect()
    }

    // --- what arrives ------------------------------------------------------------------------------------------

    /// A flit has been checked: its TLPs are taken or refused together, and the next flit of the other direction says so.
    pub fn take_in_flit(&mut self, port: usize, flit: FlitArrival) {
        let now = self.now;
        self.send_due_dllps(port);
        let own = &mut self.ports[port];
        if !flit.is_damaged && flit.sequence == own.expected {
            own.expected += 1;
            own.nak_scheduled = false;
            self.flits(port).taken.extend(flit.tlps);
            return self.take_from_flit(port);
        }
        if !flit.is_damaged && flit.sequence < own.expected {
            let expected = own.expected;
            return self.answer_flit(port, Dllp::Ack(expected));
        }
        // The one that is waited for can be bad again only in a replay.
        let again = flit.sequence == own.expected;
        if again || !own.nak_scheduled {
            own.nak_scheduled = true;
            let expected = own.expected;
            self.record.sent(port, now, Sent::Nak, Span::ZERO);
            self.answer_flit(port, Dllp::Nak(expected));
        }
    }

    /// The next TLP of a flit that was accepted. Each is acted on in its turn, with the DLLPs that are due before it.
    pub fn take_from_flit(&mut self, port: usize) {
        let now = self.now;
        self.send_due_dllps(port);
        if let Some((tlp, eligible)) = self.flits(port).taken.pop_front() {
            self.ports[port].channels[0].buffers[tlp.class()].fill(tlp.credits(), now);
            self.plan_dllps(port);
            let sequence = self.ports[port].expected - 1;
            self.hand_over(port, Arrival { tlp, sequence, fate: Fate::Good, checked: now, eligible });
        }
        if self.flits(port).taken.is_empty() {
            let expected = self.ports[port].expected;
            return self.answer_flit(port, Dllp::Ack(expected));
        }
        self.agenda.add(now, rank::ARRIVALS, Event::TakeFromFlit { port });
    }

    /// An Ack or Nak goes with each flit of the other direction, so the next one says what a lost one did.
    fn answer_flit(&mut self, port: usize, answer: Dllp) {
        let mut at = self.now + self.flits(port).ack_latency;
        while self.is_flit_lost(port) {
            at += self.ports[port].wire.span(FLIT);
        }
        self.arrives_in_flit(port, answer, at);
    }

    /// A DLLP goes into the first flit that has none.
    pub fn send_dllp_in_flit(&mut self, port: usize, dllp: Dllp) {
        let (now, span) = (self.now, self.ports[port].wire.span(FLIT));
        let at = self.flits(port).dllps_from.max(now);
        self.flits(port).dllps_from = at + span;
        self.record.sent(port, now, Sent::Dllp, Span::ZERO);
        if !self.is_flit_lost(port) {
            self.arrives_in_flit(port, dllp, at);
        }
    }

    fn is_flit_lost(&mut self, port: usize) -> bool {
        self.ports[port].faults.as_mut().is_some_and(|faults| faults.of_dllp())
    }

    /// A DLLP is in a good flit that begins at `at`.
    fn arrives_in_flit(&mut self, port: usize, dllp: Dllp, at: Time) {
        let own = &self.ports[port];
        let (peer, at_pins) = (own.peer, at + own.wire.span(FLIT) + own.wire.propagation);
        let at = at_pins + self.ports[peer].config.receive_latency;
        let life = self.ports[peer].lives;
        self.agenda.add(at, rank::FACTS, Event::DllpArrives { port: peer, dllp, life });
        self.agenda.add(at, rank::LOOKS, Event::Look { port: peer });
    }
}
