//! Flit Mode: TLPs packed into 256 B flits, with a sequence number, replay and CRC for each flit.
//!
//! A flit leaves when the wire is free and there is something to put into it; otherwise the link sends NOP flits,
//! which are idle time here; what becomes ready meanwhile goes into the NOP flit on the wire, at the next 4 DW. The DLP bytes
//! of every flit carry one DLLP, and an Ack, for nothing. A receiver acts on a TLP once the flit that ends it has been decoded
//! and checked; a cut-through switch forwards a TLP flit by flit from the one with its header on. Source: PCIe Base 6.3 §4.2.3.
//!
//! Left out: what becomes of a TLP that a switch has begun to forward when one of its later flits has to come again (it goes on
//! as if that had been good), shared and merged credits (the six pools stay apart), selective Nak, L0p, nullified TLPs,
//! orthogonal header content.

use crate::books::Books;
use crate::channels::VC0;
use crate::event::Event;
use crate::fabric::Fabric;
use crate::link::{DllpSet, Fate, InFlight};
use crate::packet::{Packet, PacketId, PacketRef};
use crate::port::{Flying, Owner, Port, PortId};
use crate::receive::overflows;
use crate::wait::Wait;
use lanewise_observe::{Fact, Use};
use lanewise_pcie::ack_nak::{
    FLIT_REPLAY_TIMEOUT_FLITS, ReceiveSequence, RetryBuffer, Sequence, SequenceSpace, Verdict,
    flit_ack_latency,
};
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flit::{CRC_BYTES, DLP_BYTES, FEC_BYTES, FLIT_BYTES, FlitPacker, TLP_BYTES};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// What a port keeps in Flit Mode beside what every port keeps.
pub(crate) struct FlitPort {
    packer: FlitPacker,
    /// Flits filled since the link came up, and flits sent: filled is ahead while a TLP spans several.
    filled: u64,
    sent: u64,
    /// TLPs packed, with the flit that hands each over.
    packed: VecDeque<(u64, Packed)>,
    /// The peer acts on a TLP when the flit in which it begins is there, and not only the one in which it ends.
    peer_cuts_through: bool,
    /// Header and payload bytes packed and not yet on the wire.
    header_left: u64,
    payload_left: u64,
    /// Padding of the flit being filled.
    padding: u64,
    /// Flits not yet acknowledged: how many TLPs each hands over.
    pub(crate) retry: RetryBuffer<u8>,
    /// These TLPs, in order.
    retained: VecDeque<Packed>,
    /// How many of these have been replayed in the replay under way.
    replayed: usize,
    /// Next DLP bytes that no DLLP has taken.
    dllp_slot_at: Time,
    flit_span: Span,
    ack_latency: Span,

    sequence: ReceiveSequence,
    arriving: VecDeque<ArrivingFlit>,
}

/// A TLP in flits.
#[derive(Clone, Copy, Debug)]
struct Packed {
    reference: PacketRef,
    parts: FlitParts,
}

/// How the bytes of a TLP lie in flits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlitParts {
    /// Bytes in the flit in which it begins.
    pub(crate) first: u16,
    /// Flits after that.
    pub(crate) more: u16,
}

/// A flit on its way to this port.
#[derive(Clone, Copy, Debug)]
struct ArrivingFlit {
    sequence: Sequence,
    damaged: bool,
    /// TLPs that it hands over.
    tlps: u8,
}

impl FlitPort {
    /// For a link in Flit Mode.
    pub(crate) fn new(mode: LinkMode, flit_span: Span, retry_buffer: Bytes) -> Self {
        Self {
            packer: FlitPacker::new(),
            filled: 0,
            sent: 0,
            packed: VecDeque::new(),
            peer_cuts_through: false,
            header_left: 0,
            payload_left: 0,
            padding: 0,
            retry: RetryBuffer::for_flits(retry_buffer, mode.generation),
            retained: VecDeque::new(),
            replayed: 0,
            dllp_slot_at: Time::ZERO,
            flit_span,
            ack_latency: flit_ack_latency(mode.width),
            sequence: ReceiveSequence::for_flits(),
            arriving: VecDeque::new(),
        }
    }

    /// Whether nothing is packed, unacknowledged or arriving.
    pub(crate) fn is_quiet(&self) -> bool {
        self.packed.is_empty() && self.retry.is_empty() && self.arriving.is_empty()
    }

    /// Whether TLP bytes wait for a flit.
    pub(crate) fn has_more(&self) -> bool {
        self.filled > self.sent || !self.packer.is_empty() || self.retry.replaying()
    }

    /// Whether the books of this transmitter and of its receiver agree, given how many TLPs are on their way; what is wrong if
    /// not.
    pub(crate) fn audit(&self, peer: &Self, on_the_way: usize) -> Result<(), String> {
        if !self.retry.adds_up() {
            return Err(format!("the retry buffer holds other flits than it counts: {:?}", self.retry));
        }
        let (acknowledged, received) = (self.retry.acknowledged(), peer.sequence.last_accepted());
        let behind = usize::from(SequenceSpace::Flit.distance(acknowledged, received));
        if behind > self.retry.unacknowledged() {
            let unacknowledged = self.retry.unacknowledged();
            return Err(format!(
                "flit {received:?} is received, {acknowledged:?} acknowledged, and {unacknowledged} are unacknowledged"
            ));
        }
        let arriving: usize = peer.arriving.iter().map(|flit| usize::from(flit.tlps)).sum();
        if arriving != on_the_way {
            return Err(format!("{on_the_way} TLPs are on the way, in flits with {arriving}"));
        }
        Ok(())
    }

    /// Heap memory, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Self>()
            + self.packed.capacity() * size_of::<(u64, Packed)>()
            + self.retained.capacity() * size_of::<Packed>()
            + self.arriving.capacity() * size_of::<ArrivingFlit>()
    }

    /// Packs a TLP behind what is packed already.
    fn pack(&mut self, reference: PacketRef, packet: &Packet) {
        let tlp = packet.cost.tlp();
        let before = self.packer.remaining();
        let packed = self.packer.pack(tlp);
        self.padding += packed.padding.get();
        self.header_left += packet.cost.header().get();
        self.payload_left += packet.cost.payload().get();
        // NOPs to the end of a flit push it into the next.
        let pushed = packed.padding > Bytes::ZERO && packed.padding == before;
        let begins_in = self.filled + u64::from(pushed);
        let room = if pushed { TLP_BYTES } else { before - packed.padding };
        self.filled += u64::from(packed.flits_completed);
        // A TLP that ends exactly with a flit ends in the one before the flit that is filled next.
        let ends_in = if self.packer.is_empty() { self.filled - 1 } else { self.filled };
        let parts = FlitParts { first: tlp.min(room).get() as u16, more: (ends_in - begins_in) as u16 };
        let handed_over_by = if self.peer_cuts_through { begins_in } else { ends_in };
        self.packed.push_back((handed_over_by, Packed { reference, parts }));
    }

    /// The peer is a switch that forwards TLPs flit by flit.
    pub(crate) fn hand_over_early(&mut self) {
        self.peer_cuts_through = true;
    }

    /// Ends the flit being filled with NOP TLPs.
    fn close(&mut self) {
        self.padding += self.packer.close().get();
        self.filled += 1;
    }

    /// TLP bytes of the next flit to be sent: header, payload and padding.
    fn take_contents(&mut self) -> (Bytes, Bytes, Bytes) {
        let padding = self.padding.min(TLP_BYTES.get());
        self.padding -= padding;
        let header = self.header_left.min(TLP_BYTES.get() - padding);
        self.header_left -= header;
        let payload = TLP_BYTES.get() - padding - header;
        assert!(payload <= self.payload_left, "a flit carries what was packed");
        self.payload_left -= payload;
        (Bytes::new(header), Bytes::new(payload), Bytes::new(padding))
    }
}

impl Port {
    #[inline(never)]
    pub(crate) fn free_for_dllps_in_flits_at(&self) -> Time {
        self.flit.as_ref().map_or(Time::ZERO, |flit| flit.dllp_slot_at).max(self.transmitter.busy_until)
    }
}

impl Fabric {
    /// Sends the next flit that carries TLP bytes, if there is one.
    #[inline(never)]
    pub(crate) fn send_flit(&mut self, id: PortId, now: Time) -> Result<(), Wait> {
        if self.flit_port(id).retry.replaying() {
            self.replay_flit(id, now);
            return Ok(());
        }
        if !self.flit_port(id).retry.fits(FLIT_BYTES) {
            return Err(Wait::held(Use::BlockedRetryBuffer, DllpSet::ALL));
        }
        let gone = self.join_flit(id);
        let wait = self.fill_flit(id, now);
        let state = self.flit_port(id);
        if state.filled == state.sent {
            if state.header_left + state.payload_left == 0 {
                self.leave_flit(id, now, gone);
                return Err(wait);
            }
            state.close();
        }
        self.launch_flit(id, now, gone);
        Ok(())
    }

    /// A silent link sends NOP flits; what is to be sent can go into the one on the wire, at the next 4 DW. Returns how much of
    /// that flit is gone.
    fn join_flit(&mut self, id: PortId) -> Span {
        let port = &mut self.ports[id.index()];
        let (wire, state) = (&port.settings.wire, port.flit.as_mut().expect("a port in Flit Mode"));
        if !port.transmitter.silent || !state.packer.is_empty() || state.filled > state.sent {
            return Span::ZERO;
        }
        let next = wire.next_boundary(port.transmitter.boundary, port.transmitter.busy_until);
        let (left, byte) = (next - port.transmitter.busy_until, wire.span(Bytes::new(1)));
        if left.is_zero() {
            return Span::ZERO;
        }
        let gone = state.flit_span - left;
        let Some(packer) = FlitPacker::after_nops(Bytes::new(gone.div_ceil(byte))) else {
            return Span::ZERO;
        };
        state.padding = (TLP_BYTES - packer.remaining()).get();
        state.packer = packer;
        let start = next - state.flit_span;
        (port.transmitter.busy_until, port.transmitter.boundary, port.transmitter.silent) =
            (start, start, false);
        gone
    }

    /// There is nothing to send after all.
    fn leave_flit(&mut self, id: PortId, now: Time, gone: Span) {
        if gone.is_zero() {
            return;
        }
        let port = &mut self.ports[id.index()];
        (port.transmitter.busy_until, port.transmitter.silent) = (now, true);
        let state = self.flit_port(id);
        (state.packer, state.padding) = (FlitPacker::new(), 0);
    }

    /// Packs TLPs until the flit being filled is full, or none may go. Returns why no more could.
    fn fill_flit(&mut self, id: PortId, now: Time) -> Wait {
        loop {
            let state = self.flit_port(id);
            if state.filled > state.sent {
                return Wait::NOTHING;
            }
            let packet_id = match self.next_packet::<false>(id, now) {
                Ok(packet_id) => packet_id,
                Err(wait) => return wait,
            };
            let packet = self.packets[packet_id];
            let reference = self.packets.reference(packet_id);
            let port = &mut self.ports[id.index()];
            port.transmitter.credits[packet.class().index()].consume(packet.credits());
            let state = port.flit.as_mut().expect("a port in Flit Mode");
            state.pack(reference, &packet);
            let gone_at = port.transmitter.busy_until + state.flit_span * (state.filled - state.sent + 1);
            // Time is stated flit by flit; this states the TLP.
            let fact = Fact::TlpSent {
                port: id.0,
                sequence: state.retry.next_sequence().get(),
                payload: Span::ZERO,
                header: Span::ZERO,
                framing: Span::ZERO,
            };
            let owner = port.owner;
            self.observers.observe(now, fact);
            self.gone(&packet, gone_at);
            self.on_dequeued(owner, id, &packet);
        }
    }

    /// Puts a full flit on the wire; NOPs of it that are `gone` have been there and are accounted for.
    fn launch_flit(&mut self, id: PortId, now: Time, gone: Span) {
        let port = &mut self.ports[id.index()];
        port.align(id, now, &mut self.observers);
        let state = port.flit.as_mut().expect("a port in Flit Mode");
        let (header, payload, padding) = state.take_contents();
        let number = state.sent;
        state.sent += 1;
        let mut tlps = 0;
        while let Some((flit, packed)) = state.packed.front().copied()
            && flit == number
        {
            state.packed.pop_front();
            state.retained.push_back(packed);
            tlps += 1;
        }
        let sequence = state.retry.push(tlps, FLIT_BYTES);
        let uses = [
            (Use::Header, header),
            (Use::Payload, payload),
            (Use::Idle, padding),
            (Use::Dllp, DLP_BYTES),
            (Use::Framing, CRC_BYTES + FEC_BYTES),
        ];
        for (on, bytes) in uses {
            let mut span = self.ports[id.index()].settings.wire.span(bytes);
            if on == Use::Idle {
                span -= gone;
            }
            self.observers.observe(now, Fact::Spent { port: id.0, on, span });
        }
        let first = self.flit_port(id).retained.len() - usize::from(tlps);
        self.fly_flit(id, sequence, first, tlps);
        self.arm_replay_timer(id);
    }

    /// Sends the next unacknowledged flit again.
    fn replay_flit(&mut self, id: PortId, now: Time) {
        let port = &mut self.ports[id.index()];
        port.align(id, now, &mut self.observers);
        let state = port.flit.as_mut().expect("a port in Flit Mode");
        let (sequence, tlps, _) = state.retry.next_replay().expect("a replay is under way");
        let first = state.replayed;
        state.replayed += usize::from(tlps);
        let span = state.flit_span;
        self.observers.observe(now, Fact::Spent { port: id.0, on: Use::Replay, span });
        self.fly_flit(id, sequence, first, tlps);
        self.restart_replay_timer(id, now);
    }

    /// Hands a flit, and the TLPs that go with it, to the peer's pins.
    fn fly_flit(&mut self, id: PortId, sequence: Sequence, first: usize, tlps: u8) {
        let port = &mut self.ports[id.index()];
        let damage = port.faults.as_mut().and_then(|faults| faults.damage_to_tlp(FLIT_BYTES));
        let state = port.flit.as_mut().expect("a port in Flit Mode");
        port.transmitter.busy_until += state.flit_span;
        let at_pins = port.transmitter.busy_until + port.settings.wire.propagation;
        let peer_id = port.peer;
        let packed: Vec<Packed> = state.retained.range(first..first + usize::from(tlps)).copied().collect();
        let checked = at_pins + self.ports[peer_id.index()].settings.receive_latency;
        for Packed { reference, parts } in packed {
            let mut in_flight = InFlight {
                packet: reference,
                eligible_at: checked,
                checked,
                sequence,
                fate: Fate::of(damage),
                egress: 0,
                channel: VC0,
                class: FlowClass::Posted,
                data_credits: 0,
            };
            if let Some(packet_id) = self.packets.resolve(reference) {
                let packet = &self.packets[packet_id];
                (in_flight.class, in_flight.data_credits) = (packet.class(), packet.credits().data);
                self.route_in_flits(peer_id, &mut in_flight, (at_pins, parts), packet_id);
            }
            self.ports[peer_id.index()].receiver.expect(in_flight);
        }
        let damaged = damage.is_some();
        self.flit_port(peer_id).arriving.push_back(ArrivingFlit { sequence, damaged, tlps });
        self.engine.schedule(checked, Event::Arrival(peer_id).pack());
    }

    /// Where a TLP will go whose header is in a flit that is in by `at_pins`, and from when on it may.
    fn route_in_flits(
        &self,
        peer_id: PortId,
        in_flight: &mut Flying,
        (at_pins, parts): (Time, FlitParts),
        packet_id: PacketId,
    ) {
        let peer = &self.ports[peer_id.index()];
        let Owner::Switch(index) = peer.owner else { return };
        let switch = &self.switches[index as usize];
        if !switch.cuts_through() {
            return self.route(peer_id, in_flight, Span::ZERO, packet_id);
        }
        let egress = switch.egress(self.packets[packet_id].destination, peer.index);
        let flit = peer.settings.wire.span(FLIT_BYTES);
        in_flight.egress = egress as u8; // There are no more than MAX_SWITCH_PORTS.
        in_flight.eligible_at = switch.eligible_in_flits(at_pins, parts, flit, egress).max(in_flight.checked);
    }

    /// A flit has been decoded: its TLPs are accepted or discarded together, and it is acknowledged for nothing.
    #[inline(never)]
    pub(crate) fn on_flit(&mut self, id: PortId) {
        let now = self.engine.now();
        let state = self.flit_port(id);
        let flit = state.arriving.pop_front().expect("an arrival was scheduled for each flit sent");
        let verdict = state.sequence.receive(flit.sequence, !flit.damaged);
        for _ in 0..flit.tlps {
            let port = &mut self.ports[id.index()];
            let arrived = port.receiver.take_next();
            if verdict == Verdict::Accept {
                let mut books = Books { port: id, observers: &mut self.observers };
                if let Err(overflow) = port.receiver.fill(&arrived, now, &mut books) {
                    overflows(id, now, &arrived, overflow);
                }
                self.deliver(id, &arrived, now);
            }
        }
        match verdict {
            Verdict::Accept => self.answer_flit(id, Dllp::Ack(flit.sequence), now),
            Verdict::DiscardDuplicate => {
                self.observers.observe(now, Fact::Duplicate { port: id.0 });
                let last = self.flit_port(id).sequence.last_accepted();
                self.answer_flit(id, Dllp::Ack(last), now);
            }
            Verdict::DiscardNak(sequence) => {
                self.observers.observe(now, Fact::BadTlp { port: id.0 });
                self.observers.observe(now, Fact::NakSent { port: id.0 });
                self.answer_flit(id, Dllp::Nak(sequence), now);
            }
            Verdict::DiscardSilently => {
                if flit.damaged {
                    self.observers.observe(now, Fact::BadTlp { port: id.0 });
                }
            }
        }
    }

    /// An Ack or Nak rides in the next flit of the other direction.
    fn answer_flit(&mut self, id: PortId, answer: Dllp, now: Time) {
        let latency = self.flit_port(id).ack_latency;
        let at = now + latency;
        self.ride(id, answer, at);
    }

    /// Gives a DLLP to the DLP bytes of the first flit from `at` on that has room for one.
    #[inline(never)]
    pub(crate) fn ride_in_next_flit(&mut self, id: PortId, dllp: Dllp, now: Time) {
        let state = self.flit_port(id);
        let at = state.dllp_slot_at.max(now);
        state.dllp_slot_at = at + state.flit_span;
        self.observers.observe(now, Fact::DllpSent { port: id.0 });
        self.ride(id, dllp, at);
    }

    /// Puts a DLLP into the mailbox of the peer, a flit after `at`.
    fn ride(&mut self, id: PortId, dllp: Dllp, at: Time) {
        let span = self.flit_port(id).flit_span;
        let port = &self.ports[id.index()];
        let at_pins = at + span + port.settings.wire.propagation;
        self.post(id, dllp, at_pins);
    }

    /// When the next flit that is not lost reaches the pins of the peer, after one that was lost at `at_pins`. None if so many are
    /// lost that the peer replays before.
    #[cold]
    pub(crate) fn arrival_of_next_flit(&mut self, id: PortId, at_pins: Time) -> Option<Time> {
        let span = self.flit_port(id).flit_span;
        let faults = self.ports[id.index()].faults.as_mut()?;
        let lost = (0..FLIT_REPLAY_TIMEOUT_FLITS).find(|_| !faults.damages_dllp())?;
        Some(at_pins + span * (lost + 1))
    }

    fn flit_port(&mut self, id: PortId) -> &mut FlitPort {
        self.ports[id.index()].flit.as_mut().expect("a port in Flit Mode")
    }

    /// Forgets flits that the peer has; true when that is progress.
    #[inline(never)]
    pub(crate) fn acknowledge_flits(&mut self, id: PortId, sequence: Sequence) -> bool {
        let state = self.flit_port(id);
        let mut gone = 0;
        let purged = state.retry.acknowledge_with(sequence, |tlps| gone += usize::from(tlps));
        state.retained.drain(..gone);
        state.replayed = state.replayed.saturating_sub(gone);
        purged > 0
    }

    /// A replay starts again from the oldest unacknowledged flit.
    pub(crate) fn rewind_flits(&mut self, id: PortId) -> lanewise_pcie::ack_nak::ReplayOutcome {
        let state = self.flit_port(id);
        state.replayed = 0;
        state.retry.start_replay();
        state.retry.on_replay_started()
    }
}
