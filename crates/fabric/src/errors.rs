//! Errors of the transaction layer: reads without an answer, poisoned data, requests for addresses that no device has.
//!
//! A requester with a completion timeout gives a read up when it runs out (PCIe Base 6.3 §2.8), takes its tag back and
//! reports it; a completion that comes after all is an unexpected one. A TLP with the EP bit has data that its sender knows
//! to be wrong (§2.7.2): it takes its way like any other, and its final receiver reports it and discards the data. A read of
//! an address that no device has is completed without data, with the status Unsupported Request (§2.3.1); a posted write there
//! is dropped. What is lost is asked for again so many times, by the device, or is lost for good: the transfer then ends
//! without it. Left out: timeouts of the processor's own loads, advisory classes, the messages and interrupts that report to
//! software, containment (DPC), Completer Abort and Request Retry.
//!
//! All of it is cold: devices with none of these settings have a null pointer instead.

use crate::config::ErrorConfig;
use crate::cxl::Place;
use crate::fabric::Fabric;
use crate::ordinals::Ordinals;
use crate::packet::{Flags, Packet, PacketId};
use crate::port::{Owner, PortId};
use crate::root_complex;
use lanewise_observe::{Fact, TransactionError};
use lanewise_pcie::splitting;
use lanewise_pcie::tlp::{CompletionStatus, FlowClass};
use lanewise_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// What becomes of a read at a completer with faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Now,
    Late(Span),
    Never,
}

/// A read that waits for its completions.
#[derive(Clone, Copy, Debug)]
struct Watched {
    request: Packet,
    /// When it, or the first request that it repeats, was issued.
    first_issued: Time,
    deadline: Time,
    attempts: u32,
    /// One of its completions was dropped: those that follow are of no use, and it waits for its deadline.
    is_broken: bool,
}

/// Data to ask for again.
#[derive(Clone, Copy, Debug)]
struct Again {
    request: Packet,
    first_issued: Time,
    attempts: u32,
}

/// Faults of one device, and what it does about those of others.
#[derive(Debug)]
pub(crate) struct DeviceErrors {
    unanswered: Ordinals,
    late: Ordinals,
    late_by: Span,
    poisoned: Ordinals,
    timeout: Option<Span>,
    retries: u32,
    /// By slot of the outstanding read.
    watched: Vec<Option<Watched>>,
    /// Deadlines of watched reads with their slots. Reads leave one after the other and all have the same time, so they stand in
    /// order; those of reads that are over stay until they are at the front, or until there are too many.
    deadlines: VecDeque<(Time, u16)>,
    again: VecDeque<Again>,
    /// When the endpoint looks at the deadlines next.
    armed: Time,
}

impl DeviceErrors {
    /// The state of a device with these settings; nothing when nothing can come of them.
    pub(crate) fn new(config: &ErrorConfig) -> Option<Box<Self>> {
        (!config.is_none()).then(|| Box::new(Self::watching(config)))
    }

    /// The state of a device that watches its reads whatever its settings.
    pub(crate) fn watching(config: &ErrorConfig) -> Self {
        Self {
            unanswered: Ordinals::new(&config.unanswered_reads),
            late: Ordinals::new(&config.late_reads),
            late_by: config.late_by,
            poisoned: Ordinals::new(&config.poisoned),
            timeout: config.completion_timeout,
            retries: config.retries,
            watched: Vec::new(),
            deadlines: VecDeque::new(),
            again: VecDeque::new(),
            armed: Time::NEVER,
        }
    }

    fn answer(&mut self) -> Answer {
        let (never, late) = (self.unanswered.should_inject(), self.late.should_inject());
        match (never, late) {
            (true, _) => Answer::Never,
            (false, true) => Answer::Late(self.late_by),
            (false, false) => Answer::Now,
        }
    }

    /// Poisons a packet with data if it is its turn.
    pub(crate) fn inject(&mut self, packet: &mut Packet) {
        if self.poisoned.should_inject() {
            packet.flags = packet.flags.with(Flags::POISONED);
        }
    }

    /// Traffic class of the next data to ask for again, if there are any.
    pub(crate) fn class_of_next_again(&self) -> Option<u8> {
        self.again.front().map(|again| again.request.traffic_class)
    }

    /// A request for the oldest data to ask for again; the caller gives it a slot and a time.
    pub(crate) fn take_again(&mut self) -> Option<(Packet, Time, u32)> {
        self.again.pop_front().map(|again| (again.request, again.first_issued, again.attempts))
    }

    /// Watches over a read that has a slot. Its time runs from when it has left the device.
    pub(crate) fn watch(&mut self, request: &Packet, first_issued: Time, attempts: u32) {
        let slot = usize::from(request.read);
        if self.watched.len() <= slot {
            self.watched.resize(slot + 1, None);
        }
        let deadline = Time::NEVER;
        self.watched[slot] =
            Some(Watched { request: *request, first_issued, deadline, attempts, is_broken: false });
    }

    /// A read that is watched has left the device.
    fn left(&mut self, request: &Packet, at: Time) {
        if let (Some(timeout), Some(watched)) = (self.timeout, &mut self.watched[usize::from(request.read)]) {
            watched.deadline = at + timeout;
            if self.deadlines.len() >= 2 * self.watched.len() {
                let watched = &self.watched;
                self.deadlines.retain(|deadline| is_pending(watched, deadline));
            }
            self.deadlines.push_back((at + timeout, request.read));
        }
    }

    /// The read that a completion answers; none when it was given up.
    fn answered(&self, completion: &Packet) -> Option<Watched> {
        let watched = (*self.watched.get(usize::from(completion.read))?)?;
        (watched.request.issued_at == completion.issued_at).then_some(watched)
    }

    /// The earliest deadline of a read that still waits.
    fn next_deadline(&mut self) -> Time {
        while let Some(first) = self.deadlines.front() {
            if is_pending(&self.watched, first) {
                return first.0;
            }
            self.deadlines.pop_front();
        }
        Time::NEVER
    }

    /// A read that has waited too long, if there is another. It is to be given up.
    fn take_expired(&mut self, now: Time) -> Option<Watched> {
        if self.next_deadline() > now {
            return None;
        }
        let (_, slot) = self.deadlines.pop_front()?;
        self.watched[usize::from(slot)]
    }
}

/// Whether the read in that slot still waits with that deadline.
fn is_pending(watched: &[Option<Watched>], (deadline, slot): &(Time, u16)) -> bool {
    watched[usize::from(*slot)].is_some_and(|watched| watched.deadline == *deadline)
}

/// What is put off: looked at, or done, when its time has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Watch {
    /// Deadlines of the reads of an endpoint.
    Deadlines(u32),
    /// A read that a root complex answers late.
    Late {
        /// The root complex.
        root_complex: u32,
        /// The request, which has left its buffer.
        request: PacketId,
    },
    /// A load or store of the processor has come to the root port.
    Mmio {
        /// The root complex.
        root_complex: u32,
        /// Its packet.
        packet: PacketId,
    },
    /// Read data have passed the internal path of an endpoint.
    TakenIn(PacketId),
    /// Data of a line may be there, at a root port with a queue for completions.
    Lines {
        /// The root complex.
        root_complex: u32,
        /// Index of the port there.
        port: u16,
    },
    /// A tag of an endpoint is free again.
    TagFree {
        /// The endpoint.
        endpoint: u32,
        /// Slot of the read that is over.
        slot: u16,
    },
    /// A TLP that this port took in before, and had already, has been checked.
    DuplicateChecked(PortId),
    /// A message of CXL.mem joins the queue of a direction.
    CxlQueue(Place, u32),
}

impl Fabric {
    pub(crate) fn report(&mut self, port: PortId, error: TransactionError) {
        let now = self.engine.now();
        self.observers.observe(now, Fact::Error { port: port.0, error });
    }

    /// A request has left an endpoint that watches its reads.
    #[cold]
    pub(crate) fn watched_request_left(&mut self, index: u32, request: &Packet) {
        let now = self.engine.now();
        if let (FlowClass::NonPosted, Some(errors)) =
            (request.class(), &mut self.endpoints[index as usize].errors)
        {
            errors.left(request, now);
        }
    }

    /// Schedules a look at the deadlines of an endpoint in time.
    #[cold]
    pub(crate) fn arm_deadlines(&mut self, index: u32) {
        let Some(errors) = &mut self.endpoints[index as usize].errors else { return };
        let deadline = errors.next_deadline();
        if deadline < errors.armed {
            errors.armed = deadline;
            self.watch_at(deadline, Watch::Deadlines(index));
        }
    }

    pub(crate) fn on_watch(&mut self, watch: Watch) {
        match watch {
            Watch::Deadlines(index) => self.look_at_deadlines(index),
            Watch::Late { root_complex, request } => self.answer_late(root_complex, request),
            Watch::Mmio { root_complex, packet } => self.mmio_at_root_port(root_complex, packet),
            Watch::TakenIn(packet) => self.taken_in(packet),
            Watch::Lines { root_complex, port } => self.look_for_lines(root_complex, port),
            Watch::TagFree { endpoint, slot } => self.tag_free(endpoint, slot),
            Watch::DuplicateChecked(port) => self.duplicate_checked(port),
            Watch::CxlQueue(place, number) => self.cxl_queues(place, number),
        }
    }

    fn look_at_deadlines(&mut self, index: u32) {
        let now = self.engine.now();
        let Some(errors) = &mut self.endpoints[index as usize].errors else { return };
        if errors.armed > now {
            return; // There was a look since this was asked for.
        }
        errors.armed = Time::NEVER;
        let expired: Vec<Watched> = std::iter::from_fn(|| errors.take_expired(now)).collect();
        for watched in expired {
            let port = self.endpoints[index as usize].port;
            self.report(port, TransactionError::CompletionTimeout);
            self.give_up(index, &watched, true);
        }
        self.arm_deadlines(index);
        self.refill(index);
    }

    /// Ends a read without the data that have not come, and asks for them again if that helps.
    fn give_up(&mut self, index: u32, watched: &Watched, may_ask_again: bool) {
        let now = self.engine.now();
        let endpoint = &mut self.endpoints[index as usize];
        if let Some(errors) = &mut endpoint.errors {
            errors.watched[usize::from(watched.request.read)] = None;
        }
        if watched.request.flags.has(Flags::TRANSLATION) {
            return endpoint.translation_lost(watched.request.read, now);
        }
        let missing = endpoint.abandon(watched.request.read, now);
        // Completions of one request come in the order of addresses (PCIe Base 6.3 §2.3.1.1).
        let from = watched.request.address + u64::from(watched.request.length - missing);
        self.lose(index, watched, from, missing, may_ask_again);
    }

    /// Data of a read are lost: it asks again for them, or its transfer ends without them.
    fn lose(&mut self, index: u32, watched: &Watched, address: u64, missing: u16, may_ask_again: bool) {
        let mut request = watched.request;
        request.carry(address, Bytes::new(u64::from(missing)));
        match &mut self.endpoints[index as usize].errors {
            Some(errors) if may_ask_again && watched.attempts < errors.retries => {
                let (first_issued, attempts) = (watched.first_issued, watched.attempts + 1);
                errors.again.push_back(Again { request, first_issued, attempts });
            }
            _ => {
                self.transfer_progressed(&request, Span::ZERO);
                // What was lost may be all that the rest waited for.
                self.move_on_if_whole(index, request.context, self.engine.now());
            }
        }
    }

    /// A completion arrived at an endpoint that watches its reads, or one that brings no good data.
    #[cold]
    pub(crate) fn completion_examined(&mut self, index: u32, packet: &Packet, now: Time) {
        let endpoint = &mut self.endpoints[index as usize];
        let port = endpoint.port;
        if packet.flags.has(Flags::TRANSLATION) {
            if let Some(errors) = &mut endpoint.errors {
                if errors.answered(packet).is_none() {
                    return self.report(port, TransactionError::UnexpectedCompletion);
                }
                errors.watched[usize::from(packet.read)] = None;
            }
            return self.translations_came(index, packet, now);
        }
        let watched = match &endpoint.errors {
            Some(errors) => match errors.answered(packet) {
                Some(watched) => watched,
                None => return self.report(port, TransactionError::UnexpectedCompletion),
            },
            None => Watched {
                request: *packet,
                first_issued: packet.issued_at,
                deadline: Time::NEVER,
                attempts: 0,
                is_broken: false,
            },
        };
        if watched.is_broken {
            return;
        }
        if packet.flags.has(Flags::UNSUPPORTED) {
            let length = endpoint.left_of(packet.read);
            let mut watched = watched;
            watched.request.carry(watched.request.address, Bytes::new(u64::from(length)));
            self.give_up(index, &watched, false);
            return self.refill(index);
        }
        let request_done = endpoint.count_completion(packet);
        if request_done && let Some(errors) = &mut endpoint.errors {
            errors.watched[usize::from(packet.read)] = None;
        }
        let mut usable_at = now;
        if packet.flags.has(Flags::POISONED) {
            self.report(port, TransactionError::PoisonedTlp);
            self.lose(index, &watched, packet.address, packet.length, true);
        } else {
            let mut first = *packet;
            first.issued_at = watched.first_issued;
            usable_at = self.take_in(index, &first, now);
        }
        if request_done {
            self.end_read(index, packet.read, now, usable_at);
        }
    }

    /// A completion was dropped at an endpoint, which watches its reads: the one that it belongs to will time out.
    pub(crate) fn completion_lost(&mut self, id: PortId, packet: &Packet) {
        let Owner::Endpoint(index) = self.ports[id.index()].owner else { return };
        let Some(errors) = &mut self.endpoints[index as usize].errors else { return };
        if errors.answered(packet).is_some()
            && let Some(watched) = &mut errors.watched[usize::from(packet.read)]
        {
            watched.is_broken = true;
        }
    }

    /// Poisoned data of a posted write are at their target, which discards them.
    #[cold]
    pub(crate) fn poisoned_write_arrived(&mut self, id: PortId, packet: &Packet) {
        self.report(id, TransactionError::PoisonedTlp);
        match packet.flags.has(Flags::MMIO) {
            true => self.mmio_write_arrived(packet),
            false => self.transfer_progressed(packet, Span::ZERO),
        }
    }

    /// Poisoned data of a load are at the root port. The processor gets them, and a machine check in reality.
    #[cold]
    pub(crate) fn poisoned_load(&mut self, id: PortId) {
        self.report(id, TransactionError::PoisonedTlp);
    }

    /// A root complex with faults takes up a read. True when it answers now.
    #[cold]
    pub(crate) fn answers_now(&mut self, index: u32, request: &Packet) -> bool {
        let now = self.engine.now();
        let errors = self.root_complexes[index as usize].errors.as_mut();
        let answer = errors.map_or(Answer::Now, |errors| errors.answer());
        if answer == Answer::Now {
            return true;
        }
        self.drain(PortId(request.ingress), request, now);
        if let Answer::Late(by) = answer {
            let request = self.packets.insert(*request);
            self.watch_at(now + by, Watch::Late { root_complex: index, request });
        }
        false
    }

    /// Poisons completions of a root complex whose turn it is.
    #[cold]
    pub(crate) fn inject_into_completions(&mut self, index: u32, completions: &[PacketId]) {
        if let Some(errors) = &mut self.root_complexes[index as usize].errors {
            completions.iter().for_each(|id| errors.inject(&mut self.packets[*id]));
        }
    }

    fn answer_late(&mut self, index: u32, request: PacketId) {
        let request = self.packets.remove(request);
        // Its entry has been free since it was put off.
        self.complete_read(index, &request);
    }

    /// An endpoint with faults is to answer a read. False when it never does.
    #[cold]
    pub(crate) fn endpoint_answers(&mut self, index: u32) -> bool {
        let errors = self.endpoints[index as usize].errors.as_mut();
        errors.is_none_or(|errors| errors.answer() != Answer::Never)
    }

    /// A request came to a root complex for an address that no device has.
    #[cold]
    pub(crate) fn unsupported(&mut self, index: u32, id: PortId, packet_id: PacketId, now: Time) {
        let packet = self.packets.remove(packet_id);
        self.drain(id, &packet, now);
        match packet.class() {
            FlowClass::Completion => self.report(id, TransactionError::UnexpectedCompletion),
            FlowClass::Posted => {
                self.report(id, TransactionError::UnsupportedRequest);
                self.transfer_progressed(&packet, Span::ZERO);
            }
            FlowClass::NonPosted => {
                self.report(id, TransactionError::UnsupportedRequest);
                let nothing =
                    splitting::completions(packet.address, Bytes::new(1), Bytes::new(64), Bytes::new(64));
                let made = root_complex::completions(&packet, packet.destination, now, nothing, false).next();
                let mut completion = made.expect("one byte is one completion");
                completion.fail(CompletionStatus::UnsupportedRequest);
                completion.flags = completion.flags.with(Flags::LAST);
                let at = now + self.root_complexes[index as usize].config.forward_latency;
                completion.eligible_at = at;
                let completion = self.packets.insert(completion);
                let egress = self.ports[id.index()].index;
                self.queue_at_root_port(index, egress, completion, at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::RouteEnd;
    use lanewise_pcie::tlp::Tlp;

    const TIMEOUT: Span = Span::from_us(50);

    /// Has a read in that slot leave then.
    fn leave(errors: &mut DeviceErrors, slot: u16, at: Time) {
        let tlp = Tlp::memory_read(0x1000, Bytes::new(64));
        let mut request = Packet::new(&tlp, RouteEnd::HOST, RouteEnd(1), at);
        request.read = slot;
        errors.watch(&request, at, 0);
        errors.left(&request, at);
    }

    fn watching() -> DeviceErrors {
        let config = ErrorConfig { completion_timeout: Some(TIMEOUT), ..ErrorConfig::default() };
        DeviceErrors::watching(&config)
    }

    #[test]
    fn the_earliest_deadline_is_that_of_the_oldest_read_that_waits() {
        let at = |ns: u64| Time::ZERO + Span::from_ns(ns);
        let mut errors = watching();
        for (slot, ns) in [(2, 10), (0, 20), (1, 30)] {
            leave(&mut errors, slot, at(ns));
        }
        assert_eq!(errors.next_deadline(), at(10) + TIMEOUT);
        errors.watched[2] = None;
        assert_eq!(errors.next_deadline(), at(20) + TIMEOUT);
        // Its slot is another read's now, which has more time.
        errors.watched[0] = None;
        leave(&mut errors, 0, at(40));
        assert_eq!(errors.next_deadline(), at(30) + TIMEOUT);
        let mut expired = || errors.take_expired(at(40) + TIMEOUT).map(|watched| watched.request.read);
        assert_eq!([expired(), expired(), expired()], [Some(1), Some(0), None]);
        assert_eq!(errors.next_deadline(), Time::NEVER);
    }

    /// Those that are over stand behind one that nobody answers; there are no more of them than a few for each slot.
    #[test]
    fn reads_that_are_over_do_not_pile_up_behind_one_that_waits() {
        let mut errors = watching();
        leave(&mut errors, 0, Time::ZERO);
        for ns in 1..10_000 {
            leave(&mut errors, 1, Time::ZERO + Span::from_ns(ns));
            errors.watched[1] = None;
        }
        assert_eq!(errors.next_deadline(), Time::ZERO + TIMEOUT);
        assert!(errors.deadlines.len() <= 2 * errors.watched.len(), "{}", errors.deadlines.len());
    }
}
