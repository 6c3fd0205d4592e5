//! Which facts a recorder keeps.

use crate::{Fact, HeldUp, Place, RequestId, What, WireFact};
use lanewise_units::Time;

/// Which facts a recorder keeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection {
    /// From then on, by when a thing starts.
    pub from: Time,
    /// Before then.
    pub until: Time,
    /// Of these transmitting ports, of all without a list. Errors that a receiver notices are those of its own port.
    pub ports: Option<Vec<u32>>,
    /// Of these kinds.
    pub kinds: TraceKinds,
}

impl Selection {
    /// All there is.
    pub fn everything() -> Self {
        Self { from: Time::ZERO, until: Time::NEVER, ports: None, kinds: TraceKinds::all() }
    }

    /// Whether something of a port is asked for, at a time, of a kind.
    pub(crate) fn takes(&self, at: Time, port: u32, kind: TraceKind) -> bool {
        self.from <= at && at < self.until && self.kinds.contain(kind) && self.has_port(port)
    }

    pub(crate) fn has_port(&self, port: u32) -> bool {
        self.ports.as_ref().is_none_or(|ports| ports.contains(&port))
    }
}

/// Kinds of facts that can be asked for apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceKind {
    /// TLPs, whatever they are sent for.
    Tlp,
    /// DLLPs, those in flits included.
    Dllp,
    /// SKP ordered sets.
    OrderedSet,
    /// Flits.
    Flit,
    /// What is held up at a port, and no longer.
    Blocked,
    /// TLPs that join those that wait for a port.
    Queued,
    /// What arrived damaged or twice, and replays.
    Error,
}

impl TraceKind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Tlp, Self::Dllp, Self::OrderedSet, Self::Flit, Self::Blocked, Self::Queued, Self::Error];

    /// Name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tlp => "tlp",
            Self::Dllp => "dllp",
            Self::OrderedSet => "skp",
            Self::Flit => "flit",
            Self::Blocked => "blocked",
            Self::Queued => "queued",
            Self::Error => "error",
        }
    }

    /// Of a fact about a wire: when it happens, at which port, and its kind.
    pub(crate) const fn of_wire(fact: &WireFact) -> (Time, u32, Self) {
        match fact {
            WireFact::OnWire(thing) => (thing.start, thing.direction, Self::of_thing(&thing.what)),
            WireFact::Queued(queued) => (queued.tlp.ready_at, queued.port, Self::Queued),
            WireFact::Blocked { port, since, .. } => (*since, *port, Self::Blocked),
            WireFact::Unblocked { port, until, .. } => (*until, *port, Self::Blocked),
        }
    }

    const fn of_thing(what: &What) -> Self {
        match what {
            What::Tlp(_) | What::Duplicate { .. } => Self::Tlp,
            What::Dllp(_) | What::DllpInFlit(_) | What::AnswerInFlit(_) => Self::Dllp,
            What::OrderedSets { .. } => Self::OrderedSet,
            What::Flit { .. } => Self::Flit,
        }
    }

    /// The port of an error of a link, or of what is done about it; none for other facts.
    pub(crate) const fn port_of_error(fact: &Fact) -> Option<u32> {
        match *fact {
            Fact::BadTlp { port, .. }
            | Fact::BadDllp { port }
            | Fact::Duplicate { port, .. }
            | Fact::Nullified { port }
            | Fact::ReplayStarted { port, .. }
            | Fact::ReplayNumRollover { port } => Some(port),
            _ => None,
        }
    }
}

/// A set of kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceKinds(u8);

impl TraceKinds {
    /// Every kind.
    pub fn all() -> Self {
        TraceKind::ALL.into_iter().collect()
    }

    /// What an analyzer lists, and what is held up; not each TLP that joins a queue, which says when it leaves how long it waited.
    pub fn usual() -> Self {
        TraceKind::ALL.into_iter().filter(|kind| *kind != TraceKind::Queued).collect()
    }

    /// Whether it is among them.
    pub const fn contain(self, kind: TraceKind) -> bool {
        self.0 >> kind as u8 & 1 == 1
    }
}

impl FromIterator<TraceKind> for TraceKinds {
    fn from_iter<I: IntoIterator<Item = TraceKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |set, kind| set | 1 << kind as u8))
    }
}

/// What of a run is looked for, to keep what led there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Around {
    /// The request that took longest, of those that complete in the selected time.
    WorstLatency,
    /// The request that completes n-th in the selected time, counted from 1.
    Request(u64),
    /// This request, if it completes in the selected time.
    Of(Sought),
    /// The last TLP that moved on any link, of a run in which nothing moves any more.
    Stall,
    /// The first replay on a selected link.
    Replay,
    /// The first time on a selected link that a limit holds up TLPs or requests: credits, retry buffer, ordering, a switch core, a shared
    /// queue, tags, tracking entries.
    FirstBlocked,
}

impl Around {
    pub(crate) const fn is_of_requests(self) -> bool {
        matches!(self, Self::WorstLatency | Self::Request(_) | Self::Of(_))
    }

    /// Whether a fact is what is looked for.
    pub(crate) fn is_found_in(self, fact: &WireFact) -> bool {
        match (self, fact) {
            (Self::FirstBlocked, WireFact::Blocked { by, .. }) => by.is_a_limit(),
            (Self::Stall, WireFact::OnWire(thing)) => matches!(thing.what, What::Tlp(_)),
            _ => false,
        }
    }
}

/// A request, by what its TLPs say on every wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sought {
    /// As in [`crate::WireTlp::issued_at`].
    pub issued_at: Time,
    /// Which of those that were issued then.
    pub whose: Whose,
}

/// What tells requests of one time apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// Of one that is answered.
    Answered {
        /// The endpoint or host that issued it.
        requester: Place,
        /// Number of the tag among its requester's.
        tag: u16,
    },
    /// Of a posted one, or of a piece that was cut off it.
    Posted {
        /// Of its first byte.
        address: u64,
        /// Bytes.
        length: u16,
    },
}

impl Sought {
    pub(crate) fn is(self, request: RequestId) -> bool {
        request.issued_at == self.issued_at
            && match self.whose {
                Whose::Answered { requester, tag } => {
                    request.tag() == Some(tag) && request.requester() == Some(requester)
                }
                Whose::Posted { address, length } => request.is_posted_within(address, length),
            }
    }
}

impl HeldUp {
    /// Reads inside a root complex are meant, which came in the direction that the port receives: it concerns what came into a port, and not what would leave through it.
    pub const fn came_in(self) -> bool {
        matches!(self, Self::Read(_))
    }
}
