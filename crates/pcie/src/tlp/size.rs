//! What a TLP costs: bytes on a link in either mode, and credits. PCIe Base §2.2.1, §2.6.1, §3.6.2.1.

use super::{CompletionStatus, FlowClass, HeaderFormat, Routing, Tlp, TlpKind};
use core::ops::Add;
use lanewise_units::Bytes;

/// One DW, the unit in which headers and payloads are laid out.
pub const DWORD: Bytes = Bytes::new(4);
/// What one data credit pays for: 4 DW. Source: PCIe Base §2.6.1.
pub const DATA_CREDIT: Bytes = Bytes::new(16);
/// A TLP digest (ECRC); in Flit Mode a one-DW trailer. Source: PCIe Base §2.7.1, §2.2.1.2.
pub const ECRC: Bytes = DWORD;
/// One TLP prefix. Source: PCIe Base §2.2.10.
pub const PREFIX: Bytes = DWORD;
/// Sequence number and LCRC, which the data link layer adds in Non-Flit Mode and keeps in the retry buffer.
///
/// Source: PCIe Base §3.6.1.
pub const SEQUENCE_AND_LCRC: Bytes = Bytes::new(2 + 4);
/// All that goes around a TLP on the wire in Non-Flit Mode: start, sequence number, LCRC and end.
///
/// 1 + 2 + 4 + 1 bytes with 8b/10b, a 4-byte STP token and a 4-byte LCRC with 128b/130b: the same 8 bytes.
/// Source: PCIe Base §3.6.2.1, §4.2.1.3, §4.2.2.3.
pub const FRAMING_NON_FLIT: Bytes = Bytes::new(SEQUENCE_AND_LCRC.get() + 2);
/// The token that a TLP begins with, with 128b/130b outside Flit Mode. Source: PCIe Base §4.2.2.3.1.
pub const STP_TOKEN: Bytes = DWORD;

/// Longest payload, and most bytes that a request can ask for: 1,024 DW. Source: PCIe Base §2.2.2.
pub const LONGEST: Bytes = Bytes::from_kib(4);

/// Bytes of the whole DW that `length` bytes from `address` on touch: what the Length field says.
#[inline]
pub const fn whole_dwords(address: u64, length: Bytes) -> Bytes {
    if length.get() == 0 {
        return Bytes::ZERO;
    }
    let mask = DWORD.get() - 1;
    Bytes::new(((address & mask) + length.get() + mask) & !mask)
}

/// Flow-control credits: a cost, or a number freed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Credits {
    /// Header credits; a TLP costs one.
    pub header: u16,
    /// Data credits of 16 bytes.
    pub data: u16,
}

impl Credits {
    /// None at all.
    pub const NONE: Self = Self { header: 0, data: 0 };

    /// So many of each.
    #[inline]
    pub const fn new(header: u16, data: u16) -> Self {
        Self { header, data }
    }

    /// Those of one TLP, given its data credits.
    #[inline]
    pub const fn of_tlp(data: u16) -> Self {
        Self { header: 1, data }
    }

    /// Receive buffer that they stand for. Assumed: a header takes as much room as a unit of data.
    #[inline]
    pub const fn buffer_space(self) -> Bytes {
        Bytes::new(DATA_CREDIT.get() * (self.header as u64 + self.data as u64))
    }
}

impl Add for Credits {
    type Output = Credits;
    fn add(self, other: Credits) -> Credits {
        Credits { header: self.header + other.header, data: self.data + other.data }
    }
}

/// What a TLP costs on every link of one mode, worked out once: four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TlpCost {
    payload: u16,
    /// DW of all but the payload in the lower half, prefixes in the upper one.
    around: u8,
    class: FlowClass,
}

/// The half of [`TlpCost::around`] that counts DW: 15 at most, of a header of four, four prefixes as five DW of OHC, a digest, and
/// the five DW of IDE.
const DWORDS: u8 = 15;

impl TlpCost {
    /// All of it in 32 bits, for callers that keep many.
    #[inline(always)]
    pub const fn to_bits(self) -> u32 {
        self.payload as u32 | (self.around as u32) << 16 | (self.class as u32) << 24
    }

    /// What [`to_bits`](Self::to_bits) made.
    ///
    /// # Panics
    /// When it did not make them: there are three classes.
    pub const fn from_bits(bits: u32) -> Self {
        let class = FlowClass::ALL[(bits >> 24) as usize];
        Self { payload: bits as u16, around: (bits >> 16) as u8, class }
    }

    /// Whose credits pay for it.
    #[inline(always)]
    pub const fn class(self) -> FlowClass {
        self.class
    }

    /// Bytes of all but the payload: header, prefixes and digest; in Flit Mode header base, OHC and trailer.
    #[inline(always)]
    pub const fn header(self) -> Bytes {
        Bytes::new((self.around & DWORDS) as u64 * DWORD.get())
    }

    /// Payload bytes as they cross the wire: whole DW, from that of the first byte to that of the last.
    #[inline(always)]
    pub const fn payload(self) -> Bytes {
        Bytes::new(self.payload as u64)
    }

    /// The transaction layer's part, [`Self::header`] and [`Self::payload`]. In Flit Mode that is all there
    /// is.
    #[inline(always)]
    pub const fn tlp(self) -> Bytes {
        Bytes::new(self.header().get() + self.payload as u64)
    }

    /// Bytes in a retry buffer in Non-Flit Mode.
    #[inline(always)]
    pub const fn in_retry_buffer(self) -> Bytes {
        Bytes::new(self.tlp().get() + SEQUENCE_AND_LCRC.get())
    }

    /// Bytes on the wire in Non-Flit Mode, framing included.
    #[inline(always)]
    pub const fn on_wire(self) -> Bytes {
        Bytes::new(self.tlp().get() + FRAMING_NON_FLIT.get())
    }

    /// What sending it costs. Source: PCIe Base Table 2-49.
    #[inline(always)]
    pub const fn credits(self) -> Credits {
        const UNIT: u16 = DATA_CREDIT.get() as u16;
        Credits::of_tlp((self.payload + (UNIT - 1)) >> UNIT.trailing_zeros())
    }

    /// The same TLP with so many bytes more around its data.
    #[inline(always)]
    #[must_use]
    pub const fn with_more(self, bytes: Bytes) -> Self {
        debug_assert!(bytes.get().is_multiple_of(DWORD.get()), "TLPs are whole DW");
        Self { around: self.around + (bytes.get() / DWORD.get()) as u8, ..self }
    }

    /// What this cost outside Flit Mode is in it, of a TLP that needs OHC-A for what its header base lacks, or not.
    #[inline]
    #[must_use]
    pub const fn in_flits(self, has_ohc_a: bool) -> Self {
        let prefixes = (self.around >> DWORDS.count_ones()) as u64;
        self.with_more(Bytes::new((ohc_dwords(prefixes, has_ohc_a) - prefixes) * DWORD.get()))
    }

    /// The same memory request to another address, with the header that is meant for it.
    #[inline]
    #[must_use]
    pub const fn with_address(self, before: u64, address: u64) -> Self {
        let now = HeaderFormat::for_address(address).bytes().get() / DWORD.get();
        let then = HeaderFormat::for_address(before).bytes().get() / DWORD.get();
        Self { around: self.around + now as u8 - then as u8, ..self }
    }

    /// The same TLP with other data: so many bytes, the first of them at `address`.
    #[inline(always)]
    #[must_use]
    pub const fn with_data(self, address: u64, length: Bytes) -> Self {
        Self { payload: whole_dwords(address, length).get() as u16, ..self }
    }
}

impl Tlp {
    /// What it costs on a link in Flit Mode (`flit`) or not.
    #[inline(always)]
    pub const fn cost(&self, flit: bool) -> TlpCost {
        let digest = if self.digest { ECRC.get() } else { 0 };
        debug_assert!(self.length_field().get() <= LONGEST.get(), "the Length field says at most 1,024 DW");
        let around = self.header().bytes().get() + PREFIX.get() * self.prefixes as u64 + digest;
        let cost = TlpCost {
            payload: self.payload_on_wire().get() as u16,
            around: (around / DWORD.get()) as u8 | self.prefixes << DWORDS.count_ones(),
            class: self.kind.flow_class(),
        };
        if flit { cost.in_flits(self.has_ohc_a()) } else { cost }
    }

    /// Format of its header: by kind, or by the address that it is routed by.
    #[inline]
    pub const fn header(&self) -> HeaderFormat {
        match (self.kind.fixed_header(), self.routing) {
            (Some(header), _) => header,
            (None, Routing::Address(address)) => HeaderFormat::for_address(address),
            (None, Routing::Id { .. } | Routing::Implicit) => panic!("memory requests are routed by address"),
        }
    }

    /// Bytes of payload that mean something: none where the kind carries no data.
    #[inline]
    pub const fn payload(&self) -> Bytes {
        if self.kind.carries_data() { self.length } else { Bytes::ZERO }
    }

    /// Payload as it is sent: whole DW, from that of the first byte to that of the last.
    #[inline]
    pub const fn payload_on_wire(&self) -> Bytes {
        if self.kind.carries_data() { self.length_field() } else { Bytes::ZERO }
    }

    /// What the Length field says, in bytes: those of the whole DW that are written or asked for.
    #[inline]
    pub const fn length_field(&self) -> Bytes {
        whole_dwords(self.first_byte() as u64, self.length)
    }

    /// Bytes on the link in Non-Flit Mode: framing, prefixes, header, payload and digest.
    #[inline]
    pub const fn wire_bytes_non_flit(&self) -> Bytes {
        self.cost(false).on_wire()
    }

    /// TLP bytes of a flit in Flit Mode: header base, OHC, payload and trailer; no framing.
    ///
    /// Source: PCIe Base §2.2.1.2, §4.2.3.4.1.
    #[inline]
    pub const fn wire_bytes_flit(&self) -> Bytes {
        self.cost(true).tlp()
    }

    /// Bytes on the link in either mode.
    #[inline]
    pub const fn wire_bytes(&self, flit: bool) -> Bytes {
        if flit { self.wire_bytes_flit() } else { self.wire_bytes_non_flit() }
    }

    /// What sending it costs. Source: PCIe Base Table 2-49.
    #[inline]
    pub const fn credits(&self) -> Credits {
        self.cost(false).credits()
    }

    /// Whether its header base lacks what OHC-A says, prefixes aside.
    const fn has_ohc_a(&self) -> bool {
        let is_successful = matches!(self.status, CompletionStatus::Successful);
        self.kind.has_ohc_a(self.first_byte() as u64, self.length, is_successful)
    }
}

/// DW of orthogonal header content in Flit Mode, of a TLP with so many end-end prefixes outside it.
///
/// The first prefix is a PASID, which is in OHC-A, beside the byte enables; the others are in OHC-E of 1, 2 or 4 DW. Source: PCIe
/// Base §2.2.1.2, Table 2-6. Left out: OHC-B (hints), segments. OHC-C of a TLP with IDE is counted by [`crate::ide`].
const fn ohc_dwords(prefixes: u64, has_ohc_a: bool) -> u64 {
    match prefixes {
        0 => has_ohc_a as u64,
        few @ 1..=3 => few,
        _ => 5,
    }
}

impl TlpKind {
    /// Whether a TLP of this kind has OHC-A, one DW, in Flit Mode: `length` bytes from `address` on, and `is_successful` of a completion.
    ///
    /// It goes with every I/O and configuration request; with a memory request whose byte enables are not the implied ones,
    /// all of its DW; with a completion that is not successful or whose first byte is not the first of a DW. Source: PCIe
    /// Base Table 2-6, §2.2.5.2, §2.2.9.2.
    #[inline]
    pub const fn has_ohc_a(self, address: u64, length: Bytes, is_successful: bool) -> bool {
        match self {
            Self::MemoryRead | Self::MemoryReadLocked | Self::MemoryWrite | Self::DeferrableMemoryWrite => {
                length.get() == 0 || whole_dwords(address, length).get() != length.get()
            }
            Self::IoRead
            | Self::IoWrite
            | Self::ConfigRead0
            | Self::ConfigWrite0
            | Self::ConfigRead1
            | Self::ConfigWrite1 => true,
            Self::Completion
            | Self::CompletionWithData
            | Self::LockedCompletion
            | Self::LockedCompletionWithData => !is_successful || !address.is_multiple_of(DWORD.get()),
            // Byte enables of AtomicOps are reserved; messages have none.
            Self::FetchAdd | Self::Swap | Self::CompareAndSwap | Self::Message | Self::MessageWithData => {
                false
            }
        }
    }
}
