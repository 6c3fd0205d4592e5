//! What goes over a wire: one [`OnWire`] for each thing that is there, with all that it says.
//!
//! Times are exact, and one thing is on the wire of a direction at a time: each starts when the one before has ended, or later. What an
//! analyzer shows and the fabric does not have is left out: the data themselves, and the bits of framing, CRC and ordered sets.

use crate::Cause;
use core::fmt;
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::enumeration::Location;
use lanewise_pcie::flow_control::CreditPool;
use lanewise_pcie::tlp::{Attributes, CompletionStatus, FlowClass, TlpCost, TlpKind};
use lanewise_units::{Span, Time};

/// What is stated only while a listener is there, beside the [`crate::Fact`]s that are always stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireFact {
    /// Something went onto a wire.
    OnWire(OnWire),
    /// A TLP waits for a port from some time on.
    Queued(Queued),
    /// Something that could leave a port, or start there, may not. Stated once, until it changes; it may be known later than it began.
    Blocked {
        /// Transmitting port; for reads within a root complex the root port at which they came in.
        port: u32,
        /// What is held up.
        whom: HeldUp,
        /// By what.
        by: Cause,
        /// From when on.
        since: Time,
        /// The TLP that waits longest of those that this holds up, where there is one.
        waiting: Option<WaitingTlp>,
    },
    /// What held them up does so no longer.
    Unblocked {
        /// As in [`WireFact::Blocked`].
        port: u32,
        /// As there.
        whom: HeldUp,
        /// What held them up.
        by: Cause,
        /// Since when.
        since: Time,
        /// Until when.
        until: Time,
        /// As in [`WireFact::Blocked`].
        waiting: Option<WaitingTlp>,
    },
}

impl WireFact {
    /// The port it is about: the transmitter; of reads within a root complex the one at which they came in.
    pub const fn port(&self) -> u32 {
        match self {
            Self::OnWire(thing) => thing.direction,
            Self::Queued(queued) => queued.port,
            Self::Blocked { port, .. } | Self::Unblocked { port, .. } => *port,
        }
    }
}

/// What is held up at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeldUp {
    /// Whatever would leave.
    Everything,
    /// TLPs of a flow class on a virtual channel.
    Class {
        /// Virtual channel.
        channel: u8,
        /// Flow class.
        class: FlowClass,
    },
    /// One read that has arrived at a root complex; a number of its own there.
    Read(u64),
}

/// A TLP joins those that wait for a port: until the [`OnWire`] with which it leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queued {
    /// Port that it is to leave through.
    pub port: u32,
    /// Virtual channel there.
    pub channel: u8,
    /// When it stands in line for the port, and it is known: no more than [`WaitingTlp::ready_at`] but behind a queue that root ports share, or
    /// where data of a read wait for a place.
    pub joined: Time,
    /// What it waits for until then: [`Cause::SharedQueue`] or [`Cause::CompletionQueue`].
    pub behind: Cause,
    /// Which.
    pub tlp: WaitingTlp,
}

/// One thing on one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnWire {
    /// Transmitting port, which names the direction.
    pub direction: u32,
    /// Its first byte leaves the pins of the transmitter.
    pub start: Time,
    /// How long it takes the wire: until its last byte has left. Zero for what rides in a flit, whose time is the flit's.
    pub span: Span,
    /// What it is.
    pub what: What,
}

impl OnWire {
    /// Its last byte has left the pins of the transmitter.
    pub fn end(&self) -> Time {
        self.start + self.span
    }
}

/// What is on a wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A TLP. In Flit Mode it has no time of its own: `start` is when it was put into a flit.
    Tlp(WireTlp),
    /// A TLP that is sent again and that the receiver has done with already: of it, the number and the size are known.
    Duplicate {
        /// Its sequence number.
        sequence: u16,
    },
    /// A DLLP on a link outside Flit Mode.
    Dllp(Dllp),
    /// A DLLP in the DLP bytes of a flit, which starts at `start`.
    DllpInFlit(Dllp),
    /// An Ack or Nak in the DLP bytes of a flit, which every flit has room for beside a DLLP. It is not counted as a DLLP.
    AnswerInFlit(Dllp),
    /// SKP ordered sets, with what ends the data stream before each; through a silence as many as fell due in it.
    OrderedSets {
        /// How many.
        count: u64,
        /// From the start of one to that of the next. `span` is theirs alone, without the silence between them.
        every: Span,
    },
    /// A flit that carries TLP bytes. Those that carry none are silence; one that began so, and that a TLP joined, starts where it began.
    Flit {
        /// Its sequence number.
        sequence: u16,
        /// It is sent again.
        again: bool,
        /// TLPs that it hands over to the receiver: those that end in it, or where a switch cuts through, begin in it.
        tlps: u8,
    },
}

/// Why a TLP is on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transmission {
    /// For the first time.
    First,
    /// Again, in a replay.
    Again,
    /// Its transmitter takes it back at its end: it arrived damaged while a switch was forwarding it.
    Nullified,
}

/// Where a TLP comes from or goes to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// The root complex above.
    Host,
    /// An endpoint: its number among all endpoints of the fabric, depth first.
    Endpoint(u32),
    /// An address in no window.
    NoDevice,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Endpoint(number) => write!(f, "end{number}"),
            Self::NoDevice => f.write_str("nobody"),
        }
    }
}

/// A TLP as one wire has it.
///
/// (`requester()`, `tag`, `issued_at`) is the same for a request with an answer on every wire, and for all of its answers; of posted
/// requests with `address` in the place of `tag`. From `issued_at` to `ready_at` at the first port, to `start` there, to `ready_at` at the
/// next port and so on are the parts of its latency, which add up exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireTlp {
    /// Sequence number on this link; in Flit Mode that of the flit that it was put into.
    pub sequence: u16,
    /// Why it is on the wire.
    pub transmission: Transmission,
    /// What it does.
    pub kind: TlpKind,
    /// Address of the first byte, in memory; for completions, too, whose header has its lowest bits only.
    pub address: u64,
    /// Bytes from the first that is meant to the last: carried, or of a read asked for.
    pub length: u16,
    /// Bytes of header and payload, in whole DW, as on a link outside Flit Mode, and flow class.
    pub cost: TlpCost,
    /// What made it: the requester of a request, the completer of a completion.
    pub source: Place,
    /// Where it goes: the completer of a request, the requester of a completion.
    pub destination: Place,
    /// The Requester ID: of the requester, in completions too, which find the way by it.
    pub requester_id: Location,
    /// The ID of the other end: of a completion its Completer ID, of a request that of the device it is for.
    pub completer_id: Location,
    /// Number of the tag among its requester's, of requests that are answered and of their answers; of others zero.
    pub tag: u16,
    /// Ordering and coherence.
    pub attributes: Attributes,
    /// TC0 to TC7.
    pub traffic_class: u8,
    /// Virtual channel.
    pub channel: u8,
    /// Port of the device through which it came in, by its number there; none where the device made it.
    pub ingress: Option<u16>,
    /// Its data are known to be wrong (EP).
    pub poisoned: bool,
    /// It has an ECRC (TD).
    pub digest: bool,
    /// How a completion answers.
    pub status: CompletionStatus,
    /// No other completion of its request comes after it.
    pub is_last_completion: bool,
    /// When the request was issued that it is, or answers.
    pub issued_at: Time,
    /// From when on it could have left this device; until `start` it waited here: [`crate::Waits`] says what for.
    pub ready_at: Time,
    /// What is left of the credits of its class and channel when it has been sent. None of a kind that is infinite.
    pub credits_left: CreditPool,
}

impl WireTlp {
    /// Who asked for it.
    pub fn requester(&self) -> Place {
        match self.cost.class() {
            FlowClass::Completion => self.destination,
            FlowClass::Posted | FlowClass::NonPosted => self.source,
        }
    }
}

/// A TLP that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitingTlp {
    /// What it does.
    pub kind: TlpKind,
    /// Its flow class.
    pub class: FlowClass,
    /// Who made it.
    pub source: Place,
    /// Where it goes.
    pub destination: Place,
    /// As in [`WireTlp::tag`].
    pub tag: u16,
    /// As in [`WireTlp::address`].
    pub address: u64,
    /// As in [`WireTlp::issued_at`].
    pub issued_at: Time,
    /// From when on it could leave this device, or since when it waits within it.
    pub ready_at: Time,
}

impl WaitingTlp {
    /// Who asked for it.
    pub fn requester(&self) -> Place {
        match self.class {
            FlowClass::Completion => self.destination,
            FlowClass::Posted | FlowClass::NonPosted => self.source,
        }
    }
}
