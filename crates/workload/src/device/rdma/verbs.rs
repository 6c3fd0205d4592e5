//! What software asks of the network, and what it is told.

use lanewise_fabric::workload::Target;
use lanewise_units::{Bytes, Time};

/// One end of a reliable connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EndId(pub u32);

impl EndId {
    /// The other end of the connection.
    pub const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// What a work request does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Opcode {
    /// Writes into the peer's memory; its CPU is not told.
    Write,
    /// The same, and the peer's software sees the last byte because it polls the memory that it is written to.
    WritePolled,
    /// Reads from the peer's memory.
    Read,
    /// Delivers into a receive buffer of the peer, which gets a completion entry.
    Send,
    /// The same without acknowledgement: done when it has left. Segments of a TCP in software are sent so.
    Datagram,
}

/// A work request.
#[derive(Clone, Copy, Debug)]
pub struct WorkRequest {
    /// What it does.
    pub opcode: Opcode,
    /// Payload; may be nothing.
    pub length: Bytes,
    /// Where the payload is, or goes, in the requester's memory.
    pub local: u64,
    /// Where it goes, or is, in the peer's memory.
    pub remote: u64,
    /// Whose memory that is on either side: of the host, or of a device that the adapter reaches peer to peer.
    pub memory: [Target; 2],
    /// The payload travels inside the work request. It fits `inline_max`; never for a read.
    pub inline: bool,
    /// A completion entry is written when the request is done; without one nothing is told.
    pub signaled: bool,
    /// Given back in completions.
    pub id: u64,
}

/// Both sides of a work request in the memory of their hosts.
pub const HOST_MEMORY: [Target; 2] = [Target::HostMemory; 2];

/// What software sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompletionKind {
    /// At the requester: the request is done, and with it all earlier ones of the same end.
    Done,
    /// At the peer of a send: the payload is in its receive buffer.
    Received,
    /// At the peer of a polled write: the payload is in its memory.
    Written,
}

/// Something that software sees when it polls. It happened at the time of the event in which it is handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The end whose software sees it.
    pub end: EndId,
    /// What it sees.
    pub kind: CompletionKind,
    /// As given in the work request, also at the peer: it stands for what the payload says.
    pub id: u64,
    /// Payload.
    pub length: Bytes,
    /// When the CPU wrote the doorbell of the request.
    pub posted: Time,
}
