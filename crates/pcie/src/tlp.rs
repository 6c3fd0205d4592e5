//! Transaction layer packets: what they do, where they go, sizes on the wire and credits. PCIe Base chapter
//! 2.
//!
//! Leaves out: the data themselves, local prefixes but that of IDE (`ide.rs`), TPH, Unordered I/O, byte enables with
//! gaps.

mod kind;
mod size;

pub use kind::{FlowClass, HeaderFormat, TlpKind};
pub use size::{
    Credits, DATA_CREDIT, DWORD, ECRC, FRAMING_NON_FLIT, LONGEST, PREFIX, SEQUENCE_AND_LCRC, STP_TOKEN,
    TlpCost, whole_dwords,
};

use crate::tag::Tag;
use core::fmt;
use lanewise_units::Bytes;

/// A function of a device: bus, device and function number. As requester or completer of a TLP its Requester
/// ID or Completer ID. PCIe Base §2.2.6.2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FunctionId(u16);

impl FunctionId {
    /// Bus 0 to 255, device 0 to 31, function 0 to 7.
    ///
    /// # Panics
    /// When device or function number are larger.
    pub const fn new(bus: u8, device: u8, function: u8) -> Self {
        assert!(device < 32 && function < 8, "5 bits of device number, 3 of function number");
        Self((bus as u16) << 8 | (device as u16) << 3 | function as u16)
    }

    /// With these 16 bits: with Alternative Routing-ID Interpretation the lower eight are a function number. PCIe Base §6.13.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The 16 bits of the field.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for FunctionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}:{:02x}.{}", self.0 >> 8, self.0 >> 3 & 31, self.0 & 7)
    }
}

/// How switches find the way of a TLP. PCIe Base §2.2.4, §2.2.8.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Routing {
    /// By the address of its first byte: requests to memory and I/O.
    Address(u64),
    /// By ID: completions and configuration requests.
    Id {
        /// The requester of what is answered, or the function whose configuration space is meant.
        target: FunctionId,
        /// Where the first byte is: Lower Address of a completion (7 bits), or offset in configuration space.
        offset: u16,
    },
    /// By what it is: messages to or from the root complex, or to the other end of the link.
    Implicit,
}

/// The three bits of the Attr field. PCIe Base §2.2.6.3 to §2.2.6.5.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Attributes(u8);

impl Attributes {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// Hardware need not keep caches coherent.
    pub const NO_SNOOP: Self = Self(1);
    /// Relaxed Ordering.
    pub const RELAXED_ORDERING: Self = Self(2);
    /// ID-based Ordering.
    pub const ID_BASED_ORDERING: Self = Self(4);

    /// These and those.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// The bits of the field.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Those of the lowest three bits, as the field has them.
    #[inline]
    pub const fn of_bits(bits: u8) -> Self {
        Self(bits & 7)
    }
}

/// How a completer answers: the codes of the Completion Status field. PCIe Base Table 2-39.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CompletionStatus {
    /// SC.
    #[default]
    Successful = 0b000,
    /// UR.
    UnsupportedRequest = 0b001,
    /// RRS: the request is to be made again.
    RequestRetry = 0b010,
    /// CA.
    CompleterAbort = 0b100,
}

impl CompletionStatus {
    /// The status with a code; a reserved one is taken for UR (PCIe Base §2.3.2).
    #[inline]
    pub const fn of_code(code: u8) -> Self {
        match code {
            0b000 => Self::Successful,
            0b010 => Self::RequestRetry,
            0b100 => Self::CompleterAbort,
            _ => Self::UnsupportedRequest,
        }
    }
}

/// One TLP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tlp {
    /// What it does.
    pub kind: TlpKind,
    /// Where it goes.
    pub routing: Routing,
    /// The requester; of a completion, the completer.
    pub requester: FunctionId,
    /// Which of its requester's requests it is or answers.
    pub tag: Tag,
    /// Ordering and coherence.
    pub attributes: Attributes,
    /// TC0 to TC7.
    pub traffic_class: u8,
    /// Bytes from the first that is meant to the last: written, brought, or of a read request asked for.
    pub length: Bytes,
    /// The TD bit: it ends in an ECRC.
    pub digest: bool,
    /// End-end prefixes, at most 4: a PASID, and others behind it.
    pub prefixes: u8,
    /// The EP bit: its data are known to be wrong.
    pub poisoned: bool,
    /// How a completion answers.
    pub status: CompletionStatus,
}

impl Tlp {
    /// A TLP of function 00:00.0 with tag 0 in TC0, without attributes, prefixes or digest; a completion is
    /// successful.
    #[inline(always)]
    pub const fn new(kind: TlpKind, routing: Routing, length: Bytes) -> Self {
        Self {
            kind,
            routing,
            requester: FunctionId(0),
            tag: Tag::ZERO,
            attributes: Attributes::NONE,
            traffic_class: 0,
            length,
            digest: false,
            prefixes: 0,
            poisoned: false,
            status: CompletionStatus::Successful,
        }
    }

    /// A memory write of `length` bytes to `address`. One of a DW is an MSI or MSI-X interrupt too.
    #[inline(always)]
    pub const fn memory_write(address: u64, length: Bytes) -> Self {
        Self::new(TlpKind::MemoryWrite, Routing::Address(address), length)
    }

    /// A request for `length` bytes at `address`.
    #[inline(always)]
    pub const fn memory_read(address: u64, length: Bytes) -> Self {
        Self::new(TlpKind::MemoryRead, Routing::Address(address), length)
    }

    /// A completion with `length` bytes that were at `address`; without data when there are none.
    #[inline(always)]
    pub const fn completion(address: u64, length: Bytes) -> Self {
        let kind = if length.get() == 0 { TlpKind::Completion } else { TlpKind::CompletionWithData };
        // Lower Address has 7 bits: PCIe Base §2.2.9.1.
        Self::new(kind, Routing::Id { target: FunctionId(0), offset: (address & 0x7f) as u16 }, length)
    }

    /// The same with these attributes.
    #[inline(always)]
    #[must_use]
    pub const fn with_attributes(mut self, attributes: Attributes) -> Self {
        self.attributes = attributes;
        self
    }

    /// The same in another traffic class.
    #[inline(always)]
    #[must_use]
    pub const fn with_traffic_class(mut self, traffic_class: u8) -> Self {
        self.traffic_class = traffic_class;
        self
    }

    /// The same with an ECRC, or without.
    #[inline(always)]
    #[must_use]
    pub const fn with_digest(mut self, digest: bool) -> Self {
        self.digest = digest;
        self
    }

    /// The same with so many end-end prefixes.
    #[inline(always)]
    #[must_use]
    pub const fn with_prefixes(mut self, prefixes: u8) -> Self {
        self.prefixes = prefixes;
        self
    }

    /// A completion with this status.
    #[inline(always)]
    #[must_use]
    pub const fn with_status(mut self, status: CompletionStatus) -> Self {
        self.status = status;
        self
    }

    /// Position of its first byte in a DW, 0 to 3: what the first DW's byte enables or Lower Address say.
    #[inline]
    pub const fn first_byte(&self) -> u8 {
        let at = match self.routing {
            Routing::Address(address) => address,
            Routing::Id { offset, .. } => offset as u64,
            Routing::Implicit => 0,
        };
        (at % DWORD.get()) as u8
    }

    /// Position of its last byte in a DW, 0 to 3; of none at all, that of the first.
    #[inline]
    pub const fn last_byte(&self) -> u8 {
        let behind = self.length.get().saturating_sub(1);
        ((self.first_byte() as u64 + behind) % DWORD.get()) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: u64 = 0x1000;
    const HIGH: u64 = 1 << 32;
    const CONFIG: Routing = Routing::Id { target: FunctionId::new(1, 0, 0), offset: 0x10 };

    const fn bytes(bytes: u64) -> Bytes {
        Bytes::new(bytes)
    }

    #[test]
    fn fields_are_read_as_they_are_written() {
        for bits in 0..8 {
            assert_eq!(Attributes::of_bits(bits).bits(), bits);
        }
        for code in 0..8 {
            let written = CompletionStatus::of_code(code) as u8;
            let is_reserved = !matches!(code, 0b000 | 0b001 | 0b010 | 0b100);
            assert_eq!(written, if is_reserved { CompletionStatus::UnsupportedRequest as u8 } else { code });
        }
    }

    fn atomic(address: u64, operands: u64) -> Tlp {
        Tlp::new(TlpKind::CompareAndSwap, Routing::Address(address), bytes(operands))
    }

    fn config_read() -> Tlp {
        Tlp::new(TlpKind::ConfigRead0, CONFIG, DWORD)
    }

    fn config_write() -> Tlp {
        Tlp::new(TlpKind::ConfigWrite0, CONFIG, DWORD)
    }

    fn message() -> Tlp {
        Tlp::new(TlpKind::Message, Routing::Implicit, Bytes::ZERO)
    }

    /// Three bits of the header, PCIe Base §2.2.6.3 to §2.2.6.5: each is there or not, however often it is asked for.
    #[test]
    fn attributes_are_a_set() {
        let all = Attributes::NO_SNOOP.with(Attributes::RELAXED_ORDERING).with(Attributes::ID_BASED_ORDERING);
        assert_eq!(all.bits(), 7);
        assert_eq!(all.with(Attributes::RELAXED_ORDERING), all);
    }

    /// Every row of the packet size table: (TLP, header, payload on the wire, wire bytes), PCIe Base Table
    /// 2-5.
    #[test]
    fn non_flit_sizes_match_the_table() {
        let rows = [
            (Tlp::memory_write(LOW, bytes(128)), 12, 128, 148),
            (Tlp::memory_write(HIGH, bytes(128)), 16, 128, 152),
            (Tlp::memory_read(LOW, bytes(512)), 12, 0, 20),
            (Tlp::memory_read(HIGH, bytes(512)), 16, 0, 24),
            (Tlp::completion(LOW, bytes(64)), 12, 64, 84),
            (Tlp::completion(LOW, Bytes::ZERO), 12, 0, 20),
            (Tlp::memory_write(LOW, DWORD), 12, 4, 24),
            (Tlp::memory_write(HIGH, DWORD), 16, 4, 28),
            (message(), 16, 0, 24),
            (atomic(LOW, 8), 12, 8, 28),
            (atomic(HIGH, 8), 16, 8, 32),
            (config_read(), 12, 0, 20),
            (config_write(), 12, 4, 24),
        ];
        for (tlp, header, payload, wire) in rows {
            assert_eq!(tlp.header().bytes(), bytes(header), "{tlp:?}");
            assert_eq!(tlp.payload_on_wire(), bytes(payload), "{tlp:?}");
            assert_eq!(tlp.wire_bytes_non_flit(), bytes(wire), "{tlp:?}");
            let cost = tlp.cost(false);
            assert_eq!((cost.header(), cost.payload()), (bytes(header), bytes(payload)), "{tlp:?}");
            assert_eq!(cost.in_retry_buffer(), bytes(wire - 2), "{tlp:?}");
            assert_eq!(TlpCost::from_bits(cost.to_bits()), cost, "{tlp:?}");
        }
    }

    #[test]
    fn digest_prefixes_and_padding_add_whole_dwords() {
        let odd = Tlp::memory_write(LOW, bytes(5));
        assert_eq!(odd.wire_bytes_non_flit(), bytes(28));
        assert_eq!(odd.with_digest(true).with_prefixes(2).wire_bytes_non_flit(), bytes(40));
        // Six bytes from the last of a DW on touch three.
        assert_eq!(Tlp::memory_write(LOW + 3, bytes(6)).wire_bytes_non_flit(), bytes(32));
    }

    #[test]
    fn flit_mode_sends_no_framing_but_what_a_header_base_lacks() {
        let rows = [
            (Tlp::memory_write(LOW, bytes(256)), 268),
            (Tlp::memory_write(HIGH, bytes(5)), 28),
            (Tlp::memory_write(LOW + 2, bytes(4)), 24),
            (Tlp::memory_read(LOW, bytes(64)), 12),
            (Tlp::memory_read(LOW, bytes(65)), 16),
            (Tlp::memory_read(LOW, Bytes::ZERO), 16),
            (Tlp::memory_read(LOW, bytes(64)).with_digest(true), 16),
            (Tlp::memory_read(LOW, bytes(64)).with_prefixes(1), 16),
            (Tlp::memory_read(LOW + 1, bytes(64)).with_prefixes(1), 16),
            (Tlp::memory_read(LOW + 1, bytes(64)).with_prefixes(2), 20),
            (Tlp::memory_read(LOW, bytes(64)).with_prefixes(3), 24),
            (Tlp::memory_read(HIGH, bytes(64)).with_prefixes(4).with_digest(true), 40),
            (Tlp::completion(LOW, bytes(65)), 80),
            (Tlp::completion(LOW + 1, bytes(64)), 84),
            (Tlp::completion(0, Bytes::ZERO).with_status(CompletionStatus::UnsupportedRequest), 16),
            (atomic(LOW, 8), 20),
            (message(), 16),
            (config_read(), 16),
            (config_write(), 20),
        ];
        for (tlp, in_flits) in rows {
            assert_eq!(tlp.wire_bytes_flit(), bytes(in_flits), "{tlp:?}");
        }
    }

    /// PCIe Base Table 2-49.
    #[test]
    fn credits_follow_the_payload() {
        let rows = [
            (Tlp::memory_read(LOW, bytes(512)), FlowClass::NonPosted, 0),
            (Tlp::memory_write(LOW, bytes(257)), FlowClass::Posted, 17),
            (message(), FlowClass::Posted, 0),
            (config_write(), FlowClass::NonPosted, 1),
            (atomic(LOW, 32), FlowClass::NonPosted, 2),
            (Tlp::completion(LOW, bytes(64)), FlowClass::Completion, 4),
            (Tlp::completion(LOW, Bytes::ZERO), FlowClass::Completion, 0),
        ];
        for (tlp, class, data) in rows {
            assert_eq!(tlp.cost(true).class(), class, "{tlp:?}");
            assert_eq!(tlp.credits(), Credits::new(1, data), "{tlp:?}");
            assert_eq!(tlp.payload().get() > 0, data > 0, "{tlp:?}");
        }
        assert_eq!(Credits::of_tlp(16).buffer_space(), bytes(272));
    }

    #[test]
    fn other_data_cost_what_they_would_have_from_the_start() {
        for (address, length) in [(LOW, 0), (LOW + 3, 2), (LOW + 1, 63), (LOW, 64)] {
            let whole = Tlp::memory_write(LOW, bytes(256)).with_prefixes(1);
            let cut = Tlp::memory_write(address, bytes(length)).with_prefixes(1);
            assert_eq!(whole.cost(false).with_data(address, bytes(length)), cut.cost(false));
        }
    }

    /// A request that is moved to another address has the header of that one, whichever it had.
    #[test]
    fn a_request_at_another_address_costs_what_it_would_cost_there() {
        let (low, high) = (0x1000, 1 << 40);
        for flit in [false, true] {
            for (before, after) in [(low, low), (low, high), (high, low), (high, high)] {
                for request in [Tlp::memory_read, Tlp::memory_write] {
                    let cost = |address| request(address, bytes(64)).cost(flit);
                    assert_eq!(cost(before).with_address(before, after), cost(after), "{before:x} {after:x}");
                }
            }
        }
    }

    #[test]
    fn byte_positions_wrap_at_a_dword() {
        let positions = |tlp: Tlp| (tlp.first_byte(), tlp.last_byte());
        assert_eq!(positions(Tlp::memory_write(LOW, bytes(64))), (0, 3));
        assert_eq!(positions(Tlp::memory_read(HIGH + 3, bytes(2))), (3, 0));
        assert_eq!(positions(Tlp::completion(LOW + 0xfe, bytes(1))), (2, 2));
        assert_eq!(positions(message()), (0, 0));
    }

    #[test]
    fn functions_are_written_as_lspci_writes_them() {
        let id = FunctionId::new(0x17, 0x1f, 7);
        assert_eq!((id.to_string(), id.get()), ("17:1f.7".to_owned(), 0x17ff));
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
                Tlp::completion(0, payload),
                Tlp::memory_write(HIGH, payload),
                Tlp::memory_write(HIGH, payload).with_digest(true),
            ];
            for (shape, percent) in shapes.into_iter().zip(published) {
                let exact = 100.0 * payload.get() as f64 / shape.wire_bytes_non_flit().get() as f64;
                assert_eq!(format!("{exact:.2}"), format!("{percent:.2}"), "{shape:?}");
            }
        }
    }
}
