//! One direction of a link as time: how long bytes take, when ordered sets are due, which bits arrive wrong.
//!
//! The next-free time of a wire is arithmetic, not an event. Sync headers of 128b/130b are spread evenly over the
//! bytes (PCIe Base 6.3 §4.2.2); lane-to-lane skew is left out.

use crate::config::{FaultConfig, LinkConfig};
use lanewise_engine::random::RandomStream;
use lanewise_pcie::encoding::{LineCode, LinkMode};
use lanewise_pcie::fec::flit_error_rate;
use lanewise_pcie::flit::{FLIT_BYTES, TLP_SHARE};
use lanewise_pcie::tlp::{FRAMING_NON_FLIT, STP_TOKEN};
use lanewise_units::{Bytes, Span, Time, order};
use std::num::NonZeroU32;

/// Timing of one link, the same in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WireTiming {
    /// One symbol on every lane, sync header included.
    pub(crate) symbol: Span,
    lanes: u32,
    /// One byte, when that takes whole ticks: not on x12.
    byte: Option<Span>,
    /// What the data link layer adds to a TLP.
    pub(crate) framing: Span,
    /// One DLLP.
    pub(crate) dllp: Span,
    /// Transmitter pin to receiver pin.
    pub(crate) propagation: Span,
    /// SKP ordered sets: how often, and how long.
    pub(crate) skip_interval: Span,
    pub(crate) skip: Span,
    /// What ends the data stream before an ordered set that is a block; none where ordered sets follow packets at once.
    eds: Option<Span>,
    /// Retrain through Recovery.
    pub(crate) recovery: Span,
    /// Flit Mode: fixed flits instead of framed packets.
    pub(crate) flit: Option<LinkMode>,
    /// Where a packet may start after logical idle: a symbol boundary, or in Flit Mode a flit boundary.
    grid: Span,
}

impl WireTiming {
    pub(crate) fn new(link: &LinkConfig) -> Self {
        let skips = link.mode.ordered_sets(link.clocking);
        let lanes = link.mode.width.lanes() as u32;
        let quicker = |span: Span| Span::from_ticks(span.ticks() / u64::from(link.quicker.max(1)));
        let symbol = quicker(link.mode.symbol_span());
        let byte = Span::from_ticks(symbol.ticks() / u64::from(lanes));
        let mut timing = Self {
            symbol,
            lanes,
            byte: (byte * u64::from(lanes) == symbol).then_some(byte),
            framing: Span::ZERO,
            dllp: Span::ZERO,
            propagation: link.propagation,
            skip_interval: quicker(link.skip_interval.unwrap_or(skips.interval)),
            skip: quicker(skips.span),
            eds: None,
            recovery: link.recovery_time,
            flit: link.mode.flit.then_some(link.mode),
            grid: symbol,
        };
        timing.framing = timing.span(FRAMING_NON_FLIT);
        timing.dllp = timing.span(lanewise_pcie::dllp::DLLP_BYTES);
        // However often they are due, one is over before the next: silence is then accounted for in whole periods.
        timing.skip_interval = timing.skip_interval.max(timing.skip * 2);
        if skips.eds > Bytes::ZERO {
            timing.eds = Some(timing.span(skips.eds));
            // A transmitter counts blocks.
            timing.skip_interval = timing.skip * timing.skip_interval.div_floor(timing.skip).max(2);
        }
        if timing.flit.is_some() {
            timing.grid = timing.span(FLIT_BYTES);
        }
        timing
    }

    /// Timing of a port without a link: nothing is ever due, nothing is ever sent.
    pub(crate) fn unconnected() -> Self {
        Self {
            symbol: Span::from_ns(4),
            lanes: 1,
            byte: Some(Span::from_ns(4)),
            framing: Span::ZERO,
            dllp: Span::ZERO,
            propagation: Span::ZERO,
            skip_interval: Span::from_ticks(u64::MAX / 4),
            skip: Span::ZERO,
            eds: None,
            recovery: Span::ZERO,
            flit: None,
            grid: Span::from_ns(4),
        }
    }

    /// Time that bytes striped over all lanes take; rounded up to a tick on x12.
    #[inline(always)]
    pub(crate) fn span(&self, bytes: Bytes) -> Span {
        match self.byte {
            Some(byte) => byte * bytes.get(),
            None => self.odd_span(bytes),
        }
    }

    /// Time that a TLP of so many bytes takes outside Flit Mode, framed.
    #[inline(always)]
    pub(crate) fn framed_span(&self, tlp: Bytes) -> Span {
        self.span(tlp) + self.framing
    }

    /// Ticks that a byte of a TLP takes, where those are whole, fit and there are no flits: then [`Self::tlp_span`] is so many times that.
    pub(crate) fn tlp_byte(&self) -> Option<NonZeroU32> {
        if self.flit.is_some() { None } else { NonZeroU32::new(self.byte?.ticks().try_into().ok()?) }
    }

    /// Time that bytes of TLPs, framing included, take: in Flit Mode with their share of the flit.
    #[inline(always)]
    pub(crate) fn tlp_span(&self, bytes: Bytes) -> Span {
        if self.flit.is_none() { self.span(bytes) } else { self.span_in_flits(bytes) }
    }

    #[cold]
    fn span_in_flits(&self, bytes: Bytes) -> Span {
        let (tlp, whole) = TLP_SHARE;
        Span::from_ticks(self.span(bytes).ticks() * whole / tlp)
    }

    #[cold]
    fn odd_span(&self, bytes: Bytes) -> Span {
        Span::from_ticks((bytes.get() * self.symbol.ticks()).div_ceil(u64::from(self.lanes)))
    }

    /// When an SKP ordered set starts that is due since `due`, behind a packet that ends at `at`, not before `due`.
    ///
    /// With 128b/130b it is a block: the block in which the packet ends is filled with logical idle, and an EDS token is its
    /// last DW, or that of the next block where there is no room (PCIe Base 6.3 §4.2.2.3). Due times are block boundaries.
    pub(crate) fn skip_behind(&self, due: Time, at: Time) -> Time {
        match self.eds {
            Some(eds) => due + self.skip * (at + eds - due).div_ceil(self.skip),
            None => at,
        }
    }

    /// Whether ordered sets are blocks on all lanes, as with 128b/130b outside Flit Mode, and end the data stream.
    pub(crate) fn skips_are_blocks(&self) -> bool {
        self.eds.is_some()
    }

    /// Whether symbols or flits are counted from the end of an ordered set.
    pub(crate) fn skips_set_the_grid(&self) -> bool {
        self.eds.is_some() || self.flit.is_some()
    }

    /// Longest time from the end of a packet to the end of an SKP ordered set that is due.
    pub(crate) fn longest_skip(&self) -> Span {
        self.skip + self.eds.map_or(Span::ZERO, |eds| self.skip + eds)
    }

    /// Longest time that ordered sets take before packets of so much time are over: one that is under way, and those that fall due
    /// meanwhile.
    pub(crate) fn most_skips(&self, packets: Span) -> Span {
        // They have half of the wire at most, and then what fills blocks before them.
        let most = (packets + self.longest_skip() * 2) * 4;
        self.longest_skip() * (1 + most.div_floor(self.skip_interval))
    }

    /// First boundary at or after `at` where a packet may start after logical idle, given an earlier boundary: the
    /// shorter the span between them, the faster the division.
    #[inline]
    pub(crate) fn next_boundary(&self, earlier: Time, at: Time) -> Time {
        earlier + self.grid * (at - earlier).div_ceil(self.grid)
    }
}

/// What bit errors do to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Damage {
    /// Its LCRC or CRC tells.
    Contents,
    /// The token that it starts with is not one: the receiver is lost, and the link retrains.
    Token,
}

/// Which packets of one direction arrive damaged.
pub(crate) struct Faults {
    corrupt_tlps: Vec<u64>,
    tlps_sent: u64,
    bit_errors: Option<BitErrors>,
    unit: Unit,
}

/// What errors are drawn for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    /// Bits of packets whose framing symbols stand by themselves.
    Bit,
    /// Bits of packets that begin with a token.
    TokenBit,
    /// Flits, whose error correction has done what it can.
    Flit,
}

impl Unit {
    /// How probable it is that one is wrong, where bits are with this probability.
    fn rate(self, bit_error_rate: f64, mode: LinkMode) -> f64 {
        match self {
            Self::Flit => flit_error_rate(mode, bit_error_rate),
            Self::Bit | Self::TokenBit => bit_error_rate,
        }
    }
}

/// Bits of the token that a TLP starts with outside Flit Mode, with 128b/130b.
const TOKEN_BITS: u64 = STP_TOKEN.get() * 8;

struct BitErrors {
    stream: RandomStream,
    rate: f64,
    good_to_next: u64,
}

impl Faults {
    /// None for a direction without faults, which then costs nothing.
    pub(crate) fn new(
        config: &FaultConfig,
        mode: LinkMode,
        stream: impl FnOnce() -> RandomStream,
    ) -> Option<Box<Self>> {
        if config.bit_error_rate <= 0.0 && config.corrupt_tlps.is_empty() {
            return None;
        }
        let mut corrupt_tlps = config.corrupt_tlps.clone();
        order::sort(&mut corrupt_tlps);
        let unit = match (mode.flit, mode.line_code()) {
            (true, _) => Unit::Flit,
            (false, LineCode::Code128b130b) => Unit::TokenBit,
            (false, _) => Unit::Bit,
        };
        let rate = unit.rate(config.bit_error_rate, mode);
        let bit_errors = (config.bit_error_rate > 0.0).then(|| BitErrors::new(stream(), rate));
        Some(Box::new(Self { corrupt_tlps, tlps_sent: 0, bit_errors, unit }))
    }

    /// Bits are wrong with another probability from now on, where they are wrong by chance at all. A bit does not remember how
    /// many were right before it, so the next wrong one is drawn anew.
    pub(crate) fn take_bit_error_rate(&mut self, config: &FaultConfig, mode: LinkMode) {
        let rate = self.unit.rate(config.bit_error_rate, mode);
        if let Some(errors) = self.bit_errors.as_mut().filter(|errors| errors.rate != rate) {
            errors.rate = rate;
            errors.good_to_next = errors.draw();
        }
    }

    /// What becomes of the next TLP, of so many bytes on the wire, or of the next flit.
    #[cold]
    pub(crate) fn damage_to_tlp(&mut self, bytes: Bytes) -> Option<Damage> {
        let listed = self.corrupt_tlps.binary_search(&self.tlps_sent).is_ok();
        self.tlps_sent += 1;
        match self.first_wrong(bytes) {
            Some(bit) if self.unit == Unit::TokenBit && bit < TOKEN_BITS => Some(Damage::Token),
            Some(_) => Some(Damage::Contents),
            None => listed.then_some(Damage::Contents),
        }
    }

    /// Whether the next DLLP arrives damaged; in Flit Mode, the flit that it rides in.
    #[cold]
    pub(crate) fn damages_dllp(&mut self) -> bool {
        self.first_wrong(lanewise_pcie::dllp::DLLP_BYTES).is_some()
    }

    /// The first wrong bit of so many bytes, if any is wrong.
    fn first_wrong(&mut self, bytes: Bytes) -> Option<u64> {
        let trials = if self.unit == Unit::Flit { 1 } else { bytes.get() * 8 };
        self.bit_errors.as_mut().and_then(|errors| errors.hit(trials))
    }
}

impl BitErrors {
    fn new(stream: RandomStream, rate: f64) -> Self {
        let mut errors = Self { stream, rate, good_to_next: 0 };
        errors.good_to_next = errors.draw();
        errors
    }

    /// Good ones before the next wrong one: geometric, drawn with a portable logarithm.
    fn draw(&mut self) -> u64 {
        self.stream.geometric(self.rate)
    }

    fn hit(&mut self, trials: u64) -> Option<u64> {
        if self.good_to_next >= trials {
            self.good_to_next -= trials;
            return None;
        }
        // More than one wrong bit in a packet is no worse than one.
        let first = self.good_to_next;
        let mut position = first;
        while position < trials {
            position = position.saturating_add(1).saturating_add(self.draw());
        }
        self.good_to_next = position - trials;
        Some(first)
    }
}
