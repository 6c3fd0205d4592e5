//! Both halves of a direction in Flit Mode: TLPs packed into 256 B flits, each with a sequence number, kept until it is acknowledged.
//!
//! They stand beside [`Transmitter`], whose wire and credits they use, and [`super::Receiver`], whose buffers they use; its retry
//! buffer, sequence numbers and Acks stay idle. Source: PCIe Base 6.3 §4.2.3.

use super::effect::{Effect, Effects};
use super::transmitter::Transmitter;
use crate::wire::WireTiming;
use lanewise_observe::Use;
use lanewise_pcie::ack_nak::{
    ReceiveSequence, ReplayOutcome, RetryBuffer, Sequence, SequenceSpace, Verdict, flit_ack_latency,
};
use lanewise_pcie::encoding::LinkMode;
use lanewise_pcie::flit::{CRC_BYTES, DLP_BYTES, FEC_BYTES, FLIT_BYTES, FlitPacker, TLP_BYTES};
use lanewise_pcie::tlp::TlpCost;
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

#[cfg(test)]
mod tests;

/// What both directions of a link in Flit Mode have at one end.
pub(crate) struct Flits<T, L> {
    pub(crate) transmitter: FlitTransmitter<T, L>,
    pub(crate) receiver: FlitReceiver,
}

/// The transmitter's flits. `T` names a packet, for the fabric; `L` is what it wants to know of one that has left.
pub(crate) struct FlitTransmitter<T, L> {
    packer: FlitPacker,
    /// Flits filled since the link came up, and flits sent: filled is ahead while a TLP spans several.
    filled: u64,
    sent: u64,
    /// TLPs packed, with the flit that hands each over.
    packed: VecDeque<(u64, Packed<T>)>,
    /// What is said of TLPs that have not left, with the flit that ends each.
    leaving: VecDeque<(u64, L)>,
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
    retained: VecDeque<Packed<T>>,
    /// How many of these have been replayed in the replay under way.
    replayed: usize,
    /// Next DLP bytes that no DLLP has taken.
    dllp_slot_at: Time,
    pub(crate) flit_span: Span,
}

/// The receiver's flits.
pub(crate) struct FlitReceiver {
    pub(crate) ack_latency: Span,
    sequence: ReceiveSequence,
    arriving: VecDeque<ArrivingFlit>,
}

/// A TLP in flits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<T> {
    pub(crate) packet: T,
    pub(crate) parts: FlitParts,
}

/// How the bytes of a TLP lie in flits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FlitParts {
    /// Bytes in the flit in which it begins.
    pub(crate) first: u16,
    /// Flits after that.
    pub(crate) more: u16,
}

/// A flit that goes out, and its TLPs among those that are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SentFlit {
    pub(crate) sequence: Sequence,
    pub(crate) first: usize,
    pub(crate) tlps: u8,
}

/// A flit on its way to this receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivingFlit {
    pub(crate) sequence: Sequence,
    pub(crate) damaged: bool,
    /// TLPs that it hands over.
    pub(crate) tlps: u8,
}

impl<T: Copy, L: Copy> Flits<T, L> {
    /// For a link in Flit Mode.
    pub(crate) fn new(mode: LinkMode, flit_span: Span, retry_buffer: Bytes) -> Self {
        let transmitter = FlitTransmitter {
            packer: FlitPacker::new(),
            filled: 0,
            sent: 0,
            packed: VecDeque::new(),
            leaving: VecDeque::new(),
            peer_cuts_through: false,
            header_left: 0,
            payload_left: 0,
            padding: 0,
            retry: RetryBuffer::for_flits(retry_buffer, mode.generation),
            retained: VecDeque::new(),
            replayed: 0,
            dllp_slot_at: Time::ZERO,
            flit_span,
        };
        let receiver = FlitReceiver {
            ack_latency: flit_ack_latency(mode.width),
            sequence: ReceiveSequence::for_flits(),
            arriving: VecDeque::new(),
        };
        Self { transmitter, receiver }
    }

    /// Whether nothing is packed, unacknowledged or arriving.
    pub(crate) fn is_quiet(&self) -> bool {
        let sent = &self.transmitter;
        sent.packed.is_empty() && sent.retry.is_empty() && self.receiver.arriving.is_empty()
    }

    /// Heap memory, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Self>()
            + self.transmitter.packed.capacity() * size_of::<(u64, Packed<T>)>()
            + self.transmitter.leaving.capacity() * size_of::<(u64, L)>()
            + self.transmitter.retained.capacity() * size_of::<Packed<T>>()
            + self.receiver.arriving.capacity() * size_of::<ArrivingFlit>()
    }
}

impl<T: Copy, L: Copy> FlitTransmitter<T, L> {
    /// The peer is a switch that forwards TLPs flit by flit.
    pub(crate) fn hand_over_early(&mut self) {
        self.peer_cuts_through = true;
    }

    /// Whether TLP bytes wait for a flit.
    pub(crate) fn has_more(&self) -> bool {
        self.has_filled() || !self.packer.is_empty() || self.retry.replaying()
    }

    /// Whether a flit is full and has not left.
    pub(crate) fn has_filled(&self) -> bool {
        self.filled > self.sent
    }

    // --- filling flits -----------------------------------------------------------------------------------------

    /// A silent link sends NOP flits; what is to be sent can go into the one on the wire, at the next 4 DW. Returns how much of
    /// that flit is gone.
    pub(crate) fn join(&mut self, transmitter: &mut Transmitter<T>, wire: &WireTiming) -> Span {
        if !transmitter.is_silent() || !self.packer.is_empty() || self.has_filled() {
            return Span::ZERO;
        }
        let next = wire.next_boundary(transmitter.boundary, transmitter.busy_until);
        let (left, byte) = (next - transmitter.busy_until, wire.span(Bytes::new(1)));
        if left.is_zero() {
            return Span::ZERO;
        }
        let gone = self.flit_span - left;
        let Some(packer) = FlitPacker::after_nops(Bytes::new(gone.div_ceil(byte))) else {
            return Span::ZERO;
        };
        self.padding = (TLP_BYTES - packer.remaining()).get();
        self.packer = packer;
        let start = next - self.flit_span;
        transmitter.set_back(start, false);
        transmitter.boundary = start;
        gone
    }

    /// There is nothing to send after all, and so much of the flit is gone that it [joined](Self::join).
    pub(crate) fn leave(&mut self, transmitter: &mut Transmitter<T>, now: Time, gone: Span) {
        if gone.is_zero() {
            return;
        }
        transmitter.set_back(now, true);
        (self.packer, self.padding) = (FlitPacker::new(), 0);
    }

    /// Packs a TLP behind what is packed already, and keeps `left` until the flit that ends it is on the wire.
    pub(crate) fn pack(&mut self, packet: T, cost: TlpCost, left: Option<L>) {
        let tlp = cost.tlp();
        let before = self.packer.remaining();
        let packed = self.packer.pack(tlp);
        self.padding += packed.padding.get();
        self.header_left += cost.header().get();
        self.payload_left += cost.payload().get();
        // NOPs to the end of a flit push it into the next.
        let pushed = packed.padding == before;
        let begins_in = self.filled + u64::from(pushed);
        let room = if pushed { TLP_BYTES } else { before - packed.padding };
        self.filled += u64::from(packed.flits_completed);
        // A TLP that ends exactly with a flit ends in the one before the flit that is filled next.
        let ends_in = if self.packer.is_empty() { self.filled - 1 } else { self.filled };
        let parts = FlitParts { first: tlp.min(room).get() as u16, more: (ends_in - begins_in) as u16 };
        let handed_over_by = if self.peer_cuts_through { begins_in } else { ends_in };
        self.packed.push_back((handed_over_by, Packed { packet, parts }));
        self.leaving.extend(left.map(|left| (ends_in, left)));
    }

    /// What was to be kept of the next TLP whose last byte is in a flit that was sent, if there is one.
    pub(crate) fn take_left(&mut self) -> Option<L> {
        self.leaving.front().filter(|(flit, _)| *flit < self.sent)?;
        self.leaving.pop_front().map(|(_, left)| left)
    }

    /// Ends the flit being filled with NOP TLPs, so that it can leave. False when there is nothing in it.
    pub(crate) fn close(&mut self) -> bool {
        if self.header_left + self.payload_left == 0 {
            return false;
        }
        self.padding += self.packer.close().get();
        self.filled += 1;
        true
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

    // --- flits on the wire -------------------------------------------------------------------------------------

    /// Puts a full flit on the wire; NOPs of it that are `gone` have been there and are accounted for.
    pub(crate) fn send(
        &mut self,
        transmitter: &mut Transmitter<T>,
        gone: Span,
        now: Time,
        wire: &WireTiming,
        effects: &mut impl Effects,
    ) -> SentFlit {
        transmitter.idle_cause = Use::Idle; // What waits for the boundary is held up by nothing else.
        transmitter.align(now, wire, effects);
        let (header, payload, padding) = self.take_contents();
        let number = self.sent;
        self.sent += 1;
        let mut tlps = 0;
        while let Some((flit, packed)) = self.packed.front().copied()
            && flit == number
        {
            self.packed.pop_front();
            self.retained.push_back(packed);
            tlps += 1;
        }
        let sequence = self.retry.push(tlps, FLIT_BYTES);
        let uses = [
            (Use::Header, header),
            (Use::Payload, payload),
            (Use::Idle, padding),
            (Use::Dllp, DLP_BYTES),
            (Use::Framing, CRC_BYTES + FEC_BYTES),
        ];
        for (on, bytes) in uses {
            let mut span = wire.span(bytes);
            if on == Use::Idle {
                span -= gone;
            }
            effects.push(now, Effect::Spent { on, span });
        }
        transmitter.take(self.flit_span);
        SentFlit { sequence, first: self.retained.len() - usize::from(tlps), tlps }
    }

    /// Puts the next unacknowledged flit on the wire again.
    ///
    /// # Panics
    /// When no replay is under way.
    pub(crate) fn send_again(
        &mut self,
        transmitter: &mut Transmitter<T>,
        now: Time,
        wire: &WireTiming,
        effects: &mut impl Effects,
    ) -> SentFlit {
        transmitter.align(now, wire, effects);
        let (sequence, tlps, _) = self.retry.next_replay().expect("a replay is under way");
        let first = self.replayed;
        self.replayed += usize::from(tlps);
        effects.push(now, Effect::Spent { on: Use::Replay, span: self.flit_span });
        transmitter.take(self.flit_span);
        SentFlit { sequence, first, tlps }
    }

    /// TLPs of a flit that has just gone out.
    pub(crate) fn tlps_of(&self, flit: SentFlit) -> impl Iterator<Item = &Packed<T>> {
        self.retained.range(flit.first..flit.first + usize::from(flit.tlps))
    }

    /// Forgets flits that the peer has; true when that is progress.
    pub(crate) fn acknowledge(&mut self, sequence: Sequence) -> bool {
        let mut gone = 0;
        let purged = self.retry.acknowledge_with(sequence, |tlps| gone += usize::from(tlps));
        self.retained.drain(..gone);
        self.replayed = self.replayed.saturating_sub(gone);
        purged > 0
    }

    /// A replay starts again from the oldest unacknowledged flit.
    pub(crate) fn rewind(&mut self) -> ReplayOutcome {
        self.replayed = 0;
        self.retry.start_replay();
        self.retry.on_replay_started()
    }

    // --- DLLPs in flits ----------------------------------------------------------------------------------------

    /// From when on a flit has room for a DLLP.
    pub(crate) fn free_for_dllps_at(&self) -> Time {
        self.dllp_slot_at
    }

    /// Takes the DLP bytes of the first flit from `now` on that has room for a DLLP. Returns when it begins.
    pub(crate) fn take_dllp_slot(&mut self, now: Time) -> Time {
        let at = self.dllp_slot_at.max(now);
        self.dllp_slot_at = at + self.flit_span;
        at
    }

    /// Whether the books of this transmitter and of its receiver agree, given how many TLPs are on their way; what is wrong if
    /// not.
    pub(crate) fn audit(&self, peer: &FlitReceiver, on_the_way: usize) -> Result<(), String> {
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
}

impl FlitReceiver {
    /// A flit is on its way; the driver knows when it is there.
    pub(crate) fn expect(&mut self, flit: ArrivingFlit) {
        self.arriving.push_back(flit);
    }

    /// The oldest flit on its way is there: judges it.
    ///
    /// # Panics
    /// When none is on its way.
    pub(crate) fn receive_next(&mut self) -> (ArrivingFlit, Verdict) {
        let flit = self.arriving.pop_front().expect("what arrives was on its way");
        (flit, self.sequence.receive(flit.sequence, !flit.damaged))
    }

    /// The last flit that was accepted.
    pub(crate) fn last_accepted(&self) -> Sequence {
        self.sequence.last_accepted()
    }
}
