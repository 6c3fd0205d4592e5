//! Transaction layer packets: kinds, header formats, sizes on the wire and credits. PCIe Base chapter 2.
//!
//! A [`TlpShape`] is all that timing and flow control need to know of a packet. Leaves out: field contents,
//! local prefixes, TPH, IDE (MAC trailers) and deferrable memory writes.

use core::fmt;
use core::ops::{Add, AddAssign};
use lanewise_units::Bytes;

/// One DW, the unit in which headers and payloads are laid out.
pub const DWORD: Bytes = Bytes::new(4);
/// What one data credit pays for: 4 DW. Source: PCIe Base §2.6.1.
pub const DATA_CREDIT: Bytes = Bytes::new(16);
/// Start, sequence number, LCRC and end of a TLP in Non-Flit Mode.
///
/// 1 + 2 + 4 + 1 bytes with 8b/10b, a 4-byte STP token and a 4-byte LCRC with 128b/130b: the same 8 bytes.
/// Source: PCIe Base §3.6.2.1, §4.2.1.3, §4.2.2.3.
pub const FRAMING_NON_FLIT: Bytes = Bytes::new(8);
/// A TLP digest (ECRC); in Flit Mode a one-DW trailer. Source: PCIe Base §2.7.1, §2.2.1.2.
pub const ECRC: Bytes = DWORD;
/// One TLP prefix. Source: PCIe Base §2.2.10.
pub const PREFIX: Bytes = DWORD;

/// The three kinds of traffic that flow control keeps apart. PCIe Base §2.6.1.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FlowClass {
    /// Memory writes and messages: nobody answers.
    Posted = 0,
    /// Requests that are answered by completions.
    NonPosted = 1,
    /// The answers.
    Completion = 2,
}

impl FlowClass {
    /// Every class, in index order.
    pub const ALL: [Self; 3] = [Self::Posted, Self::NonPosted, Self::Completion];

    /// Place in an array of three.
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for FlowClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Posted => "posted",
            Self::NonPosted => "non-posted",
            Self::Completion => "completion",
        })
    }
}

/// What a TLP does. PCIe Base Table 2-5.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TlpKind {
    /// MRd.
    MemoryRead,
    /// MWr; also MSI and MSI-X.
    MemoryWrite,
    /// IORd.
    IoRead,
    /// IOWr, always one DW of data.
    IoWrite,
    /// CfgRd0 and CfgRd1.
    ConfigRead,
    /// CfgWr0 and CfgWr1, always one DW of data.
    ConfigWrite,
    /// FetchAdd, Swap and CAS.
    AtomicOp,
    /// Msg: INTx, PME, errors.
    Message,
    /// MsgD.
    MessageWithData,
    /// Cpl: completion without data.
    Completion,
    /// CplD.
    CompletionWithData,
}

impl TlpKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::MemoryRead,
        Self::MemoryWrite,
        Self::IoRead,
        Self::IoWrite,
        Self::ConfigRead,
        Self::ConfigWrite,
        Self::AtomicOp,
        Self::Message,
        Self::MessageWithData,
        Self::Completion,
        Self::CompletionWithData,
    ];

    /// The credits that pay for it. Source: PCIe Base Table 2-49.
    #[inline]
    pub const fn flow_class(self) -> FlowClass {
        match self {
            Self::MemoryWrite | Self::Message | Self::MessageWithData => FlowClass::Posted,
            Self::Completion | Self::CompletionWithData => FlowClass::Completion,
            _ => FlowClass::NonPosted,
        }
    }

    /// Whether a payload follows the header.
    #[inline]
    pub const fn carries_data(self) -> bool {
        matches!(
            self,
            Self::MemoryWrite
                | Self::IoWrite
                | Self::ConfigWrite
                | Self::AtomicOp
                | Self::MessageWithData
                | Self::CompletionWithData
        )
    }

    /// The only header format this kind comes in, or `None` where the address decides.
    ///
    /// Source: PCIe Base Table 2-5.
    pub const fn fixed_header(self) -> Option<HeaderFormat> {
        match self {
            Self::MemoryRead | Self::MemoryWrite | Self::AtomicOp => None,
            Self::Message | Self::MessageWithData => Some(HeaderFormat::FourDw),
            _ => Some(HeaderFormat::ThreeDw),
        }
    }
}

/// Length of a TLP header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HeaderFormat {
    /// 12 bytes: 32-bit addresses, completions, configuration and I/O.
    ThreeDw,
    /// 16 bytes: 64-bit addresses, messages.
    FourDw,
}

impl HeaderFormat {
    /// The format a memory request to `address` must use: three DW below 4 GiB.
    ///
    /// Source: PCIe Base §2.2.4.1.
    #[inline]
    pub const fn for_address(address: u64) -> Self {
        if address < 1 << 32 { Self::ThreeDw } else { Self::FourDw }
    }

    /// Bytes of the header.
    #[inline]
    pub const fn bytes(self) -> Bytes {
        match self {
            Self::ThreeDw => Bytes::new(12),
            Self::FourDw => Bytes::new(16),
        }
    }
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

    /// Whether nothing is left.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.header == 0 && self.data == 0
    }
}

impl Add for Credits {
    type Output = Credits;
    fn add(self, other: Credits) -> Credits {
        Credits { header: self.header + other.header, data: self.data + other.data }
    }
}

impl AddAssign for Credits {
    fn add_assign(&mut self, other: Credits) {
        *self = *self + other;
    }
}

/// Everything about a TLP that costs time or credits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TlpShape {
    /// What it does.
    pub kind: TlpKind,
    /// Length of its header.
    pub header: HeaderFormat,
    /// Payload bytes that mean something; zero for kinds that carry no data.
    pub payload: Bytes,
    /// Whether it ends in a digest.
    pub ecrc: bool,
    /// End-end prefixes (PASID is one), at most 4.
    pub prefixes: u8,
}

impl TlpShape {
    /// A memory write of `payload` bytes to `address`.
    pub const fn memory_write(address: u64, payload: Bytes) -> Self {
        Self::plain(TlpKind::MemoryWrite, HeaderFormat::for_address(address), payload)
    }

    /// A memory read request of any length at `address`.
    pub const fn memory_read(address: u64) -> Self {
        Self::plain(TlpKind::MemoryRead, HeaderFormat::for_address(address), Bytes::ZERO)
    }

    /// An AtomicOp with `operands` bytes at `address`.
    pub const fn atomic(address: u64, operands: Bytes) -> Self {
        Self::plain(TlpKind::AtomicOp, HeaderFormat::for_address(address), operands)
    }

    /// A completion; without data when `payload` is empty.
    pub const fn completion(payload: Bytes) -> Self {
        let kind = if payload.get() == 0 { TlpKind::Completion } else { TlpKind::CompletionWithData };
        Self::plain(kind, HeaderFormat::ThreeDw, payload)
    }

    /// A message; without data when `payload` is empty.
    pub const fn message(payload: Bytes) -> Self {
        let kind = if payload.get() == 0 { TlpKind::Message } else { TlpKind::MessageWithData };
        Self::plain(kind, HeaderFormat::FourDw, payload)
    }

    /// A configuration read request.
    pub const fn config_read() -> Self {
        Self::plain(TlpKind::ConfigRead, HeaderFormat::ThreeDw, Bytes::ZERO)
    }

    /// A configuration write of one DW.
    pub const fn config_write() -> Self {
        Self::plain(TlpKind::ConfigWrite, HeaderFormat::ThreeDw, DWORD)
    }

    /// An MSI or MSI-X interrupt: a one-DW memory write to `address`.
    pub const fn message_signalled_interrupt(address: u64) -> Self {
        Self::memory_write(address, DWORD)
    }

    /// The same with an ECRC digest, or without.
    #[must_use]
    pub const fn with_ecrc(mut self, ecrc: bool) -> Self {
        self.ecrc = ecrc;
        self
    }

    /// The same with so many end-end prefixes.
    #[must_use]
    pub const fn with_prefixes(mut self, prefixes: u8) -> Self {
        self.prefixes = prefixes;
        self
    }

    const fn plain(kind: TlpKind, header: HeaderFormat, payload: Bytes) -> Self {
        Self { kind, header, payload, ecrc: false, prefixes: 0 }
    }

    /// Bytes of the header alone, prefixes and digest not counted.
    #[inline]
    pub const fn header_bytes(&self) -> Bytes {
        self.header.bytes()
    }

    /// Payload rounded up to whole DW, as it is sent.
    ///
    /// For a payload that starts inside a DW, ask [`crate::splitting::Chunk::dwords`] instead.
    #[inline]
    pub const fn payload_on_wire(&self) -> Bytes {
        self.payload.round_up_to(DWORD)
    }

    /// Bytes on the link in Non-Flit Mode: framing, prefixes, header, payload and digest.
    #[inline]
    pub const fn wire_bytes_non_flit(&self) -> Bytes {
        Bytes::new(
            FRAMING_NON_FLIT.get()
                + PREFIX.get() * self.prefixes as u64
                + self.header.bytes().get()
                + self.payload_on_wire().get()
                + self.ecrc_bytes(),
        )
    }

    /// TLP bytes of a flit in Flit Mode: header base, OHC, payload and trailer; no framing.
    ///
    /// Source: PCIe Base §2.2.1.2, §4.2.3.4.1.
    #[inline]
    pub const fn wire_bytes_flit(&self) -> Bytes {
        Bytes::new(
            self.header.bytes().get()
                + self.ohc_dwords() * DWORD.get()
                + self.payload_on_wire().get()
                + self.ecrc_bytes(),
        )
    }

    /// Bytes on the link in either mode.
    #[inline]
    pub const fn wire_bytes(&self, flit: bool) -> Bytes {
        if flit { self.wire_bytes_flit() } else { self.wire_bytes_non_flit() }
    }

    /// What sending it costs. Source: PCIe Base Table 2-49.
    #[inline]
    pub const fn credits(&self) -> Credits {
        Credits { header: 1, data: self.payload.div_ceil(DATA_CREDIT) as u16 }
    }

    const fn ecrc_bytes(&self) -> u64 {
        if self.ecrc { ECRC.get() } else { 0 }
    }

    /// DW of orthogonal header content in Flit Mode.
    ///
    /// OHC-A is there for configuration and I/O requests, which always need byte enables, and for payloads
    /// that are not whole DW. Prefixes travel as OHC-E of 1, 2 or 4 DW. Source: PCIe Base Table 2-6. Assumed:
    /// a memory request whose length is whole DW has no explicit byte enables.
    const fn ohc_dwords(&self) -> u64 {
        let always = matches!(
            self.kind,
            TlpKind::IoRead | TlpKind::IoWrite | TlpKind::ConfigRead | TlpKind::ConfigWrite
        );
        let partial = !self.payload.get().is_multiple_of(DWORD.get());
        let byte_enables = (always || partial) as u64;
        let prefixes = match self.prefixes {
            3.. => 4,
            few => few as u64,
        };
        byte_enables + prefixes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: u64 = 0x1000;
    const HIGH: u64 = 1 << 32;

    /// Every row of the packet size table: (shape, header, payload on the wire, wire bytes), PCIe Base Table
    /// 2-5.
    #[test]
    fn non_flit_sizes_match_the_table() {
        let bytes = Bytes::new;
        let rows = [
            (TlpShape::memory_write(LOW, bytes(128)), 12, 128, 148),
            (TlpShape::memory_write(HIGH, bytes(128)), 16, 128, 152),
            (TlpShape::memory_read(LOW), 12, 0, 20),
            (TlpShape::memory_read(HIGH), 16, 0, 24),
            (TlpShape::completion(bytes(64)), 12, 64, 84),
            (TlpShape::completion(Bytes::ZERO), 12, 0, 20),
            (TlpShape::message_signalled_interrupt(LOW), 12, 4, 24),
            (TlpShape::message_signalled_interrupt(HIGH), 16, 4, 28),
            (TlpShape::message(Bytes::ZERO), 16, 0, 24),
            (TlpShape::atomic(LOW, bytes(8)), 12, 8, 28),
            (TlpShape::atomic(HIGH, bytes(8)), 16, 8, 32),
            (TlpShape::config_read(), 12, 0, 20),
            (TlpShape::config_write(), 12, 4, 24),
        ];
        for (shape, header, payload, wire) in rows {
            assert_eq!(shape.header_bytes(), bytes(header), "{shape:?}");
            assert_eq!(shape.payload_on_wire(), bytes(payload), "{shape:?}");
            assert_eq!(shape.wire_bytes_non_flit(), bytes(wire), "{shape:?}");
        }
    }

    #[test]
    fn digest_prefixes_and_padding_add_whole_dwords() {
        let odd = TlpShape::memory_write(LOW, Bytes::new(5));
        assert_eq!(odd.wire_bytes_non_flit(), Bytes::new(28));
        assert_eq!(odd.with_ecrc(true).with_prefixes(2).wire_bytes_non_flit(), Bytes::new(40));
    }

    #[test]
    fn flit_mode_sends_no_framing_but_explicit_byte_enables() {
        assert_eq!(TlpShape::memory_write(LOW, Bytes::new(256)).wire_bytes_flit(), Bytes::new(268));
        assert_eq!(TlpShape::memory_write(HIGH, Bytes::new(5)).wire_bytes_flit(), Bytes::new(28));
        assert_eq!(TlpShape::memory_read(LOW).with_ecrc(true).wire_bytes_flit(), Bytes::new(16));
        assert_eq!(TlpShape::config_read().wire_bytes_flit(), Bytes::new(16));
        assert_eq!(TlpShape::memory_read(LOW).with_prefixes(3).wire_bytes_flit(), Bytes::new(28));
    }

    /// PCIe Base Table 2-49.
    #[test]
    fn credits_follow_the_payload() {
        let rows = [
            (TlpShape::memory_read(LOW), FlowClass::NonPosted, 0),
            (TlpShape::memory_write(LOW, Bytes::new(257)), FlowClass::Posted, 17),
            (TlpShape::message(Bytes::ZERO), FlowClass::Posted, 0),
            (TlpShape::config_write(), FlowClass::NonPosted, 1),
            (TlpShape::atomic(LOW, Bytes::new(32)), FlowClass::NonPosted, 2),
            (TlpShape::completion(Bytes::new(64)), FlowClass::Completion, 4),
            (TlpShape::completion(Bytes::ZERO), FlowClass::Completion, 0),
        ];
        for (shape, class, data) in rows {
            assert_eq!(shape.kind.flow_class(), class, "{shape:?}");
            assert_eq!(shape.credits(), Credits::new(1, data), "{shape:?}");
            assert_eq!(shape.kind.carries_data(), data > 0, "{shape:?}");
        }
    }

    #[test]
    fn only_memory_requests_choose_their_header_by_address() {
        assert_eq!(HeaderFormat::for_address((1 << 32) - 1), HeaderFormat::ThreeDw);
        assert_eq!(HeaderFormat::for_address(1 << 32), HeaderFormat::FourDw);
        let free: Vec<TlpKind> =
            TlpKind::ALL.into_iter().filter(|kind| kind.fixed_header().is_none()).collect();
        assert_eq!(free, [TlpKind::MemoryRead, TlpKind::MemoryWrite, TlpKind::AtomicOp]);
    }

    /// Payload efficiency in percent for overheads of 20, 24 and 28 bytes: derived, before ordered sets and
    /// DLLPs.
    #[test]
    fn payload_efficiency_matches_the_table() {
        let rows = [
            (4, [16.67, 14.29, 12.50]),
            (64, [76.19, 72.73, 69.57]),
            (128, [86.49, 84.21, 82.05]),
            (256, [92.75, 91.43, 90.14]),
            (512, [96.24, 95.52, 94.81]),
            (1024, [98.08, 97.71, 97.34]),
            (2048, [99.03, 98.84, 98.65]),
            (4096, [99.51, 99.42, 99.32]),
        ];
        for (payload, published) in rows {
            let payload = Bytes::new(payload);
            let shapes = [
                TlpShape::completion(payload),
                TlpShape::memory_write(HIGH, payload),
                TlpShape::memory_write(HIGH, payload).with_ecrc(true),
            ];
            for (shape, percent) in shapes.into_iter().zip(published) {
                let exact = 100.0 * payload.get() as f64 / shape.wire_bytes_non_flit().get() as f64;
                assert_eq!(format!("{exact:.2}"), format!("{percent:.2}"), "{shape:?}");
            }
        }
    }
}
