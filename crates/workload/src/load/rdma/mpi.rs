//! Two MPI ranks over a connection: small messages go eagerly, large ones by rendezvous.
//!
//! Eager: the sender copies into a registered buffer and writes it, with a header, into a ring of the receiver, which
//! polls it and copies it out; or it sends it, and the receiver polls the completion entry. The send call is over when the
//! request is posted. Rendezvous: a request to send (RTS) goes the same way; then either the receiver grants it (CTS), the
//! sender writes the data and after it a FIN, or the receiver reads the data and sends a FIN. Data is not copied. Both sides
//! poll all the time. A doorbell's stores take a while to leave the core: a library over verbs waits for them, UCX not before
//! it stores the next doorbell.
//! Leaves out: registration (buffers are cached), matching beyond its cost, unexpected messages, credits of the rings.
//! Source: MVAPICH user guides, "RDMA fast path" and "rendezvous protocols" (RPUT, RGET); UCX, `src/uct/ib/mlx5/rc` (sends).

use super::driver::{At, ToolNeeds, taking};
use crate::device::rdma::{Completion, CompletionKind, EndId, HOST_MEMORY, Opcode, WorkRequest};
use crate::host::memory::PAGE;
use crate::host::{MpiHostConfig, VerbsHostConfig};
use crate::token::{Kind, kinds};
use lanewise_fabric::{Slots, Station};
use lanewise_units::{Bytes, Span, Time};

/// How the data of a large message moves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rendezvous {
    /// The sender writes, after the receiver has said where (RPUT).
    Write,
    /// The receiver reads, after the sender has said from where (RGET).
    Read,
}

/// Settings of the library.
#[derive(Clone, Debug, PartialEq)]
pub struct MpiConfig {
    /// Largest message that goes eagerly.
    pub eager_max: Bytes,
    /// Header of an eager message, and the whole of a control message; not zero.
    pub header: Bytes,
    /// Whether these go by a send; if not, by a write into a ring that the receiver polls.
    pub eager_by_send: bool,
    /// How larger ones go.
    pub rendezvous: Rendezvous,
    /// Largest write that travels inside its work request; what both adapters take.
    pub inline_max: Bytes,
}

/// Distance of the buffers of neighbouring messages.
const BUFFERS: u64 = 64;

kinds! {
    /// What a message of the library is, in the top byte of its id.
    enum Wire {
        /// Header and data.
        Eager,
        /// RTS.
        RequestToSend,
        /// CTS.
        ClearToSend,
        /// The data of a large message.
        Data,
        /// FIN.
        Finished,
    }
}

/// What a rank has achieved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MpiEvent {
    /// A message that it sent is out of its hands.
    Sent,
    /// A message has been received.
    Received,
}

/// What a thread will have done when its time comes.
#[derive(Clone, Copy, Debug)]
enum Work {
    Done(usize, MpiEvent),
    Handle(usize, Wire, u64),
}

/// Both ranks of a pair of processes.
#[derive(Debug)]
pub(super) struct Mpi {
    config: MpiConfig,
    hosts: [(VerbsHostConfig, MpiHostConfig); 2],
    ends: Option<[EndId; 2]>,
    threads: [Station; 2],
    /// When the stores of each rank's last doorbell have left its core.
    left: [Time; 2],
    works: Slots<Work>,
    ring: u64,
    buffers: u64,
    sent: [u64; 2],
}

impl Mpi {
    pub(super) fn new(config: MpiConfig, hosts: [(VerbsHostConfig, MpiHostConfig); 2]) -> Self {
        Self {
            config,
            hosts,
            ends: None,
            threads: [Station::default(); 2],
            left: [Time::ZERO; 2],
            works: Slots::default(),
            ring: 0,
            buffers: 0,
            sent: [0; 2],
        }
    }

    /// The connection of the two ranks.
    pub(super) fn connected(&mut self, ends: [EndId; 2]) {
        self.ends = Some(ends);
    }

    /// Buffers may be placed from here on.
    pub(super) fn place_buffers(&mut self, first: u64) {
        self.ring = first;
        self.buffers = first + (2 << 20);
    }

    fn end(&self, rank: usize) -> EndId {
        self.ends.expect("the ranks are connected before they send")[rank]
    }

    fn rank(&self, end: EndId) -> usize {
        usize::from(self.end(1) == end)
    }

    fn copy(&self, rank: usize, size: u64) -> Span {
        self.hosts[rank].1.copy_bandwidth.span_ceil(Bytes::new(size))
    }

    /// A rank calls send; [`MpiEvent::Sent`] follows.
    pub(super) fn send<M: ToolNeeds>(&mut self, rank: usize, size: Bytes, at: &mut At<'_, M>) {
        let eager = size <= self.config.eager_max;
        let (verbs, mpi) = &self.hosts[rank];
        let mut cost = mpi.send_cost + verbs.post_cost;
        if eager {
            cost += self.copy(rank, size.get());
        }
        let made = self.threads[rank].occupy(at.now(), cost);
        let done = self.ring_doorbell(rank, made);
        if eager {
            self.write(rank, Wire::Eager, size.get(), self.config.header + size, done, at);
            self.later(done, Work::Done(rank, MpiEvent::Sent), at);
        } else {
            self.write(rank, Wire::RequestToSend, size.get(), self.config.header, done, at);
        }
    }

    /// A rank has made a request: when its doorbell is stored. The stores before it have left the core by then.
    fn ring_doorbell(&mut self, rank: usize, made: Time) -> Time {
        let (verbs, mpi) = &self.hosts[rank];
        let stored = self.threads[rank].occupy(made, self.left[rank].saturating_since(made));
        self.left[rank] = stored + verbs.doorbell_cost;
        if mpi.waits_for_doorbell {
            self.threads[rank].occupy(stored, verbs.doorbell_cost);
        }
        stored
    }

    /// Writes into the other rank's ring, or sends to it; the core has stored the doorbell at `done`.
    fn write<M: ToolNeeds>(
        &mut self,
        rank: usize,
        what: Wire,
        size: u64,
        length: Bytes,
        done: Time,
        at: &mut At<'_, M>,
    ) {
        let request = WorkRequest {
            opcode: if self.config.eager_by_send { Opcode::Send } else { Opcode::WritePolled },
            length,
            local: self.ring,
            remote: self.ring,
            memory: HOST_MEMORY,
            inline: length <= self.config.inline_max,
            signaled: false,
            id: id(what, size),
        };
        self.post(rank, request, done, at);
    }

    /// Moves the data of a large message.
    fn move_data<M: ToolNeeds>(
        &mut self,
        rank: usize,
        opcode: Opcode,
        size: u64,
        done: Time,
        at: &mut At<'_, M>,
    ) {
        let stride = Bytes::new(size).round_up_to(PAGE).get();
        let buffer = self.buffers + self.sent[rank] % BUFFERS * stride;
        self.sent[rank] += 1;
        let request = WorkRequest {
            opcode,
            length: Bytes::new(size),
            local: buffer,
            remote: buffer,
            memory: HOST_MEMORY,
            inline: false,
            signaled: true,
            id: id(Wire::Data, size),
        };
        self.post(rank, request, done, at);
    }

    fn post<M: ToolNeeds>(&mut self, rank: usize, request: WorkRequest, done: Time, at: &mut At<'_, M>) {
        at.post(done, self.end(rank), request);
    }

    fn later<M: ToolNeeds>(&mut self, when: Time, work: Work, at: &mut At<'_, M>) {
        let work = self.works.insert(work);
        at.set_timer(when, work);
    }

    /// The threads of both ranks.
    pub(super) fn threads(&self) -> &[Station; 2] {
        &self.threads
    }

    /// Something arrived for a rank: its thread sees it and deals with it.
    pub(super) fn completion<M: ToolNeeds>(&mut self, completion: Completion, at: &mut At<'_, M>) {
        let rank = self.rank(completion.end);
        let (what, size) = split_id(completion.id);
        let (verbs, mpi) = &self.hosts[rank];
        let mut cost = taking(verbs, completion.kind);
        if completion.kind != CompletionKind::Done {
            cost += mpi.receive_cost;
        }
        if what == Wire::Eager {
            cost += self.copy(rank, size);
        }
        if self.answers(what) {
            cost += verbs.post_cost;
        }
        let seen = at.now() + verbs.poll_latency;
        let mut done = self.threads[rank].occupy(seen, cost);
        if self.answers(what) {
            done = self.ring_doorbell(rank, done);
        }
        self.later(done, Work::Handle(rank, what, size), at);
    }

    /// Whether dealing with it posts something.
    fn answers(&self, what: Wire) -> bool {
        match what {
            Wire::RequestToSend | Wire::ClearToSend => true,
            Wire::Data => self.config.rendezvous == Rendezvous::Read,
            Wire::Eager | Wire::Finished => false,
        }
    }

    /// A thread has done what it was at; what its rank has achieved with that.
    pub(super) fn timer<M: ToolNeeds>(
        &mut self,
        detail: u32,
        at: &mut At<'_, M>,
    ) -> Option<(usize, MpiEvent)> {
        let (rank, what, size) = match self.works.take(detail) {
            Work::Done(rank, event) => return Some((rank, event)),
            Work::Handle(rank, what, size) => (rank, what, size),
        };
        let now = at.now();
        match (what, self.config.rendezvous) {
            (Wire::Eager, _) | (Wire::Finished, Rendezvous::Write) => Some((rank, MpiEvent::Received)),
            (Wire::Data, Rendezvous::Write) | (Wire::Finished, Rendezvous::Read) => {
                Some((rank, MpiEvent::Sent))
            }
            (Wire::RequestToSend, Rendezvous::Write) => {
                self.write(rank, Wire::ClearToSend, size, self.config.header, now, at);
                None
            }
            (Wire::RequestToSend, Rendezvous::Read) => {
                self.move_data(rank, Opcode::Read, size, now, at);
                None
            }
            (Wire::ClearToSend, _) => {
                self.move_data(rank, Opcode::Write, size, now, at);
                self.write(rank, Wire::Finished, size, self.config.header, now, at);
                None
            }
            (Wire::Data, Rendezvous::Read) => {
                self.write(rank, Wire::Finished, size, self.config.header, now, at);
                Some((rank, MpiEvent::Received))
            }
        }
    }
}

/// Kind and size of a message as an id.
fn id(what: Wire, size: u64) -> u64 {
    (what.number() as u64) << 56 | size
}

fn split_id(id: u64) -> (Wire, u64) {
    (Wire::of((id >> 56) as usize), id & ((1 << 56) - 1))
}
