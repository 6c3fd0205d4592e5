//! What models say happened.

use crate::{FlowId, Place, Use};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Bytes, Span, Time};

/// Something that happened at the current time. `port` is always the index of the port it happened at; a link
/// direction is named by its transmitting port.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    /// A link direction carried a TLP for the first time: ticks of payload, header and framing.
    TlpSent {
        /// Transmitting port.
        port: u32,
        /// Sequence number.
        sequence: u16,
        /// Time for the payload bytes.
        payload: Span,
        /// Time for header, prefixes and digest.
        header: Span,
        /// Time for start token, sequence number, LCRC and end symbol; in Flit Mode, the CRC and ECC share.
        framing: Span,
    },
    /// A link direction spent time on something other than a new TLP, or on nothing.
    Spent {
        /// Transmitting port.
        port: u32,
        /// On what.
        on: Use,
        /// How long.
        span: Span,
    },
    /// A DLLP went onto the wire (its time is stated apart).
    DllpSent {
        /// Transmitting port.
        port: u32,
    },
    /// A TLP or flit arrived with a bad LCRC or CRC, or out of order.
    BadTlp {
        /// Receiving port.
        port: u32,
        /// The number that it has.
        sequence: u16,
    },
    /// A DLLP arrived with a bad CRC and was dropped.
    BadDllp {
        /// Receiving port.
        port: u32,
    },
    /// A Nak was sent.
    NakSent {
        /// Receiving port, which sends it.
        port: u32,
    },
    /// A duplicate TLP or flit was discarded.
    Duplicate {
        /// Receiving port.
        port: u32,
        /// Its number.
        sequence: u16,
    },
    /// A replay started.
    ReplayStarted {
        /// Transmitting port.
        port: u32,
        /// The replay timer ran out, rather than a Nak arriving.
        by_timer: bool,
    },
    /// Replays without progress, four, or eight of flits at 64 GT/s and up: the link retrains through Recovery.
    ReplayNumRollover {
        /// Transmitting port.
        port: u32,
    },
    /// A nullified TLP was forwarded or dropped.
    Nullified {
        /// Receiving port that dropped it.
        port: u32,
    },
    /// Payload of a flow reached the end of its journey.
    Delivered {
        /// The flow.
        flow: FlowId,
        /// Payload bytes.
        payload: Bytes,
    },
    /// A request of a flow is complete.
    RequestDone {
        /// The flow.
        flow: FlowId,
        /// Issue to completion (read) or to arrival at the target (write).
        latency: Span,
        /// Which.
        request: RequestId,
    },
    /// An operation of a flow, as its instrument counts them, is complete.
    OperationDone {
        /// The flow.
        flow: FlowId,
        /// As the instrument measures it.
        latency: Span,
    },
    /// An ingress buffer took in a TLP.
    BufferFilled {
        /// Receiving port.
        port: u32,
        /// Which of the three buffers.
        class: FlowClass,
        /// Bytes as credits count them: a header unit of 16 B and data units of 16 B.
        bytes: u32,
        /// Number of the TLP, or of the flit that handed it over.
        sequence: u16,
    },
    /// An ingress buffer let go of a TLP.
    BufferFreed {
        /// Receiving port.
        port: u32,
        /// Which of the three buffers.
        class: FlowClass,
        /// Bytes, as in [`Fact::BufferFilled`].
        bytes: u32,
    },
    /// An error of the transaction layer was detected and reported.
    Error {
        /// Port of the device that detected it.
        port: u32,
        /// Which.
        error: TransactionError,
    },
    /// A requester's answer to "what holds you back?" changed.
    Requester {
        /// Index among the endpoints.
        endpoint: u32,
        /// From now on.
        state: RequesterState,
    },
}

impl Fact {
    /// Whether it is about errors of a link, or a request that is complete: what a trace lists or looks for.
    #[inline(always)]
    pub(crate) const fn is_for_traces(&self) -> bool {
        matches!(
            self,
            Self::BadTlp { .. }
                | Self::BadDllp { .. }
                | Self::Duplicate { .. }
                | Self::Nullified { .. }
                | Self::ReplayStarted { .. }
                | Self::ReplayNumRollover { .. }
                | Self::RequestDone { .. }
        )
    }
}

/// Which request of its requester: what its TLPs say on every wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestId {
    /// As in [`crate::WireTlp::issued_at`].
    pub issued_at: Time,
    /// Packed, so that a fact is no larger: the highest bit, the requester and the tag of a request that is answered; else an address
    /// within it.
    which: u64,
}

impl RequestId {
    const IS_ANSWERED: u64 = 1 << 63;

    const HOST: u32 = u32::MAX;
    const NO_DEVICE: u32 = u32::MAX - 1;

    /// A request that is answered, with this tag of its requester's.
    #[inline(always)]
    pub const fn answered(issued_at: Time, requester: Place, tag: u16) -> Self {
        let requester = match requester {
            Place::Endpoint(number) => number,
            Place::Host => Self::HOST,
            Place::NoDevice => Self::NO_DEVICE,
        };
        Self { issued_at, which: Self::IS_ANSWERED | (requester as u64) << 16 | tag as u64 }
    }

    /// The endpoint or host that issued a request that is answered.
    pub const fn requester(self) -> Option<Place> {
        if self.which & Self::IS_ANSWERED == 0 {
            return None;
        }
        Some(match (self.which >> 16) as u32 {
            Self::HOST => Place::Host,
            Self::NO_DEVICE => Place::NoDevice,
            number => Place::Endpoint(number),
        })
    }

    /// A posted request that has this address within it; the highest bit of an address says nothing here.
    #[inline(always)]
    pub const fn posted(issued_at: Time, address: u64) -> Self {
        Self { issued_at, which: address & !Self::IS_ANSWERED }
    }

    /// The tag of a request that is answered.
    pub const fn tag(self) -> Option<u16> {
        if self.which & Self::IS_ANSWERED == 0 { None } else { Some(self.which as u16) }
    }

    /// Whether it is a posted request of so many bytes from an address on, or a piece that was cut off it.
    pub const fn is_posted_within(self, address: u64, length: u16) -> bool {
        let bytes = if length == 0 { 1 } else { length as u64 };
        self.which & Self::IS_ANSWERED == 0 && self.which.wrapping_sub(address) < bytes
    }
}

/// Errors of the transaction layer, as Advanced Error Reporting tells them apart. All are uncorrectable, and non-fatal unless
/// software sets another severity (PCIe Base 6.3 §6.2, Table 6-5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TransactionError {
    /// A TLP with data known to be wrong arrived where it was to go.
    PoisonedTlp,
    /// A packet with a wrong ECRC arrived where it was to go.
    Ecrc,
    /// A read was not answered in time.
    CompletionTimeout,
    /// A completion arrived for which no request is open.
    UnexpectedCompletion,
    /// A request arrived for an address that no device has.
    UnsupportedRequest,
}

impl TransactionError {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PoisonedTlp => "poisoned_tlp",
            Self::Ecrc => "ecrc_error",
            Self::CompletionTimeout => "completion_timeout",
            Self::UnexpectedCompletion => "unexpected_completion",
            Self::UnsupportedRequest => "unsupported_request",
        }
    }

    /// Bit in the Uncorrectable Error Status register. Source: PCIe Base 6.3 §7.8.4.2.
    pub const fn status_bit(self) -> u8 {
        match self {
            Self::PoisonedTlp => 12,
            Self::Ecrc => 19,
            Self::CompletionTimeout => 14,
            Self::UnexpectedCompletion => 16,
            Self::UnsupportedRequest => 20,
        }
    }
}

/// What holds a requester back.
///
/// The first five the fabric sees by itself. The others are what a device with nothing to ask for waits for instead:
/// its instrument knows, and says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RequesterState {
    /// It was asked for nothing.
    NothingAsked = 0,
    /// A request of its own waits for the egress port: wire, credits or retry buffer.
    Port = 1,
    /// Every tag is in use.
    Tags = 2,
    /// All it was asked for is in flight: a longer window, or less latency of host and path, would help.
    Window = 3,
    /// Its own request rate.
    RequestInterval = 4,
    /// The device's own inside: its processor, its internal path.
    Device = 5,
    /// The wire on the far side of the device: Fibre Channel, SAS, Ethernet, InfiniBand.
    Wire = 6,
    /// The medium: disk, flash.
    Media = 7,
    /// Software of the host.
    Cpu = 8,
}

impl RequesterState {
    /// Number of states.
    pub const COUNT: usize = 9;
    /// Every state.
    pub const ALL: [Self; Self::COUNT] = [
        Self::NothingAsked,
        Self::Port,
        Self::Tags,
        Self::Window,
        Self::RequestInterval,
        Self::Device,
        Self::Wire,
        Self::Media,
        Self::Cpu,
    ];

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NothingAsked => "nothing_asked",
            Self::Port => "port",
            Self::Tags => "tags",
            Self::Window => "window",
            Self::RequestInterval => "request_interval",
            Self::Device => "device",
            Self::Wire => "wire",
            Self::Media => "media",
            Self::Cpu => "cpu",
        }
    }

    /// What held a requester back, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NothingAsked => "nothing was asked for",
            Self::Port => "the link took requests as fast as it could, or waited for credits",
            Self::Tags => "all tags were in use",
            Self::Window => "as much was outstanding as may be",
            Self::RequestInterval => "the engine makes requests no faster",
            Self::Device => "the device was busy with something else",
            Self::Wire => "the wire behind the adapter was busy",
            Self::Media => "the drive's media were busy",
            Self::Cpu => "software was busy",
        }
    }
}
