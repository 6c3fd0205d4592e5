//! Keeps the last so many facts about wires, of those that are asked for, or what led to something that is looked for.
//!
//! While a run goes on, facts are put down in few words, port by port (`log.rs`, `packed.rs`), with what they need of what led up to them.
//! What TLPs waited for, and how deep queues were, is worked out when they are read (`reader.rs`).

use crate::log::{Kept, PortLog};
use crate::reader::Reader;
use crate::selection::{Around, Selection, TraceKind, TraceKinds};
use crate::{Cause, Fact, FlowId, Observer, OnWire, RequestId, Transmission, What, WireFact, WireTlp};
use lanewise_units::{Span, Time, order};
use std::cell::RefCell;
use std::rc::Rc;

/// One fact that was kept.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When: a thing starts, a component begins or ceases to be held up, a TLP could leave, an error is noticed.
    pub at: Time,
    /// The port it is about: the transmitter, or of a receiver's error its own.
    pub port: u32,
    /// Which kind.
    pub kind: TraceKind,
    /// What.
    pub what: EntryOf,
    /// Of a TLP that leaves, what it waited for: adds up to the time since it could leave.
    pub waited: Vec<(Cause, Span)>,
    /// TLPs of its class that wait for the port: of one that joins them, itself included; of one that leaves, those behind it.
    pub depth: Option<u32>,
}

impl Entry {
    /// Sorts entries by time, then by port; those of one time and port stay in their order.
    pub fn sort(entries: &mut [Self]) {
        order::sort_by_key(entries, |entry| (entry.at, entry.port));
    }
}

/// What was kept.
#[derive(Clone, Copy, Debug)]
pub enum EntryOf {
    /// A thing on a wire, what is held up, what waits.
    Wire(WireFact),
    /// An error of a link, or what is done about it.
    Error(Fact),
}

impl EntryOf {
    /// The TLP that is sent for the first time, if that is what it is.
    pub fn first_transmission(&self) -> Option<&WireTlp> {
        match self {
            Self::Wire(WireFact::OnWire(OnWire { what: What::Tlp(tlp), .. })) => {
                (tlp.transmission == Transmission::First).then_some(tlp)
            }
            _ => None,
        }
    }
}

/// What was looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// When.
    pub at: Time,
    /// What is kept begins then, if the recorder held as much.
    pub from: Time,
    /// And ends then.
    pub until: Time,
    /// The request, where one was looked for: its flow, which it is, its latency.
    pub request: Option<(FlowId, RequestId, Span)>,
}

/// The last so many facts of a selection.
///
/// The owner of its [`listener`](Recorder::listener) reads it through [`Recorder::entries`].
#[derive(Clone)]
pub struct Recorder(Rc<RefCell<Ring>>);

struct Ring {
    selection: Selection,
    /// Nothing is looked for, and whatever is stated is asked for.
    takes_everything: bool,
    /// Kinds that waits and depths need beside those that are selected.
    needed: TraceKinds,
    logs: Vec<PortLog>,
    most: u64,
    /// Facts of the selection, kept or not, and how many of them logs keep.
    kept: Kept,
    /// Of what was drained; none while all is kept until it is read.
    reader: Option<Reader>,
    search: Option<Search>,
}

/// What is looked for, and how far that is.
struct Search {
    what: Around,
    /// Of requests, those of these flows; of all without a list.
    flows: Option<Vec<FlowId>>,
    /// It counts from then on. What led there may be older.
    begins: Time,
    /// So much before is kept, and so much after.
    before: Span,
    after: Span,
    found: Option<Found>,
    /// What led there, of requests: taken out before it makes room, because a later one may be worse.
    kept: Vec<Entry>,
    /// Facts seen when it was found, while what led there has not been taken out.
    not_kept_at: Option<u64>,
    requests: u64,
}

impl Recorder {
    /// Keeps the last `most` facts of a selection.
    ///
    /// # Panics
    /// When `most` is zero.
    pub fn new(selection: Selection, most: usize) -> Self {
        Self::of(selection, most, None)
    }

    /// Keeps every fact of a selection until it is [drained](Self::drain).
    pub fn drained(selection: Selection) -> Self {
        let recorder = Self::of(selection, usize::MAX, None);
        let mut ring = recorder.0.borrow_mut();
        (ring.kept.most, ring.reader) = (None, Some(Reader::of(1..=u64::MAX)));
        drop(ring);
        recorder
    }

    /// Looks for something within the selected time and keeps what happened so long `before` it and so long `after`, no more than `most`
    /// facts of the selection. Of a request, what is kept begins with its issue at the latest and ends with its completion.
    ///
    /// # Panics
    /// When `most` is zero.
    pub fn around(selection: Selection, most: usize, what: Around, before: Span, after: Span) -> Self {
        let begins = selection.from;
        let search = Search {
            what,
            flows: None,
            begins,
            before,
            after,
            found: None,
            kept: Vec::new(),
            not_kept_at: None,
            requests: 0,
        };
        Self::of(Selection { from: Time::ZERO, ..selection }, most, Some(search))
    }

    /// Of requests, looks at those of these flows only.
    pub fn of_flows(self, flows: Vec<FlowId>) -> Self {
        if let Some(search) = &mut self.0.borrow_mut().search {
            search.flows = Some(flows);
        }
        self
    }

    fn of(selection: Selection, most: usize, search: Option<Search>) -> Self {
        assert!(most > 0, "a recorder keeps something");
        let asks = |kind| selection.kinds.contain(kind);
        let kinds: &[TraceKind] = match (asks(TraceKind::Tlp), asks(TraceKind::Queued)) {
            (true, _) => &FOR_WAITS,
            (false, true) => &FOR_DEPTHS,
            (false, false) => &[],
        };
        let (needed, most) = (kinds.iter().copied().collect(), most as u64);
        let takes_everything = search.is_none() && selection == Selection::everything();
        // What led to a request may be read when as much again has been seen.
        let kept = Kept { seen: 0, most: Some(if search.is_some() { most.saturating_mul(2) } else { most }) };
        let (logs, reader) = (Vec::new(), None);
        let ring = Ring { selection, takes_everything, needed, logs, most, kept, reader, search };
        Self(Rc::new(RefCell::new(ring)))
    }

    /// What listens for it.
    pub fn listener(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    /// Facts of the selection, kept or not.
    pub fn seen(&self) -> u64 {
        self.0.borrow().kept.seen
    }

    /// What was looked for, as far as it is known now.
    pub fn found(&self) -> Option<Found> {
        self.0.borrow().search.as_ref().and_then(|search| search.found)
    }

    /// Whether nothing that happens from `now` on can change what is kept.
    pub fn is_done(&self, now: Time) -> bool {
        let ring = self.0.borrow();
        ring.search.as_ref().is_some_and(|search| match (search.what, search.found) {
            (Around::Request(_) | Around::Of(_), Some(_)) => true,
            (Around::Replay | Around::FirstBlocked, Some(found)) => now > found.until,
            _ => false,
        })
    }

    /// What was kept, by time, then by port; at one time and port in the order in which it was stated. Around what was not found,
    /// nothing.
    pub fn entries(&self) -> Vec<Entry> {
        let mut ring = self.0.borrow_mut();
        ring.keep_what_led_there();
        let mut entries = match &ring.search {
            None => ring.read((Time::ZERO, Time::NEVER), ring.kept.seen),
            Some(Search { found: None, .. }) => Vec::new(),
            Some(search) if search.what.is_of_requests() => search.kept.clone(),
            Some(Search { found: Some(found), .. }) => ring.read((found.from, found.until), ring.kept.seen),
        };
        Entry::sort(&mut entries);
        entries
    }

    /// Takes out what was recorded, port by port in the order in which it was stated: of one port nearly in order of time. What joined a
    /// queue comes when it is known how many there are; with the `last` call, after which nothing more is stated, all that are left.
    ///
    /// # Panics
    /// When it was not made to be [`drained`](Self::drained).
    pub fn drain(&self, last: bool) -> Vec<Entry> {
        let mut ring = self.0.borrow_mut();
        let mut reader = ring.reader.take().expect("made to be drained");
        let (mut entries, seen) = (Vec::new(), ring.kept.seen);
        for (log, port) in ring.logs.iter_mut().zip(0..) {
            log.records(port).for_each(|(number, record)| reader.take_in(port, number, record, &mut entries));
            log.clear(seen);
        }
        if last {
            reader.rest(&mut entries);
        }
        ring.reader = Some(reader);
        entries
    }

    /// Whether facts that are missing in [`Recorder::entries`] were there and had to make room.
    pub fn has_lost(&self) -> bool {
        let ring = self.0.borrow();
        ring.kept.seen > ring.most
    }
}

/// What a TLP waits for, besides other TLPs.
const FOR_WAITS: [TraceKind; 6] = [
    TraceKind::Tlp,
    TraceKind::Dllp,
    TraceKind::OrderedSet,
    TraceKind::Flit,
    TraceKind::Blocked,
    TraceKind::Queued,
];

/// How deep a queue is.
const FOR_DEPTHS: [TraceKind; 2] = [TraceKind::Tlp, TraceKind::Queued];

impl Ring {
    #[inline(always)]
    fn wire(&mut self, now: Time, fact: &WireFact) {
        if !self.takes_everything {
            return self.wire_if_asked(now, fact);
        }
        self.kept.seen += 1;
        log_of(&mut self.logs, fact.port()).push(now, fact, &self.kept);
    }

    #[inline(never)]
    fn wire_if_asked(&mut self, now: Time, fact: &WireFact) {
        let (at, port, kind) = TraceKind::of_wire(fact);
        if self.selection.takes(at, port, kind) {
            self.kept.seen += 1;
            log_of(&mut self.logs, port).push(now, fact, &self.kept);
        } else if self.needed.contain(kind) && self.selection.has_port(port) {
            log_of(&mut self.logs, port).push_unasked(now, fact, &self.kept);
        }
        if self.search.is_some() {
            self.search_wire(at, port, fact);
        }
    }

    #[cold]
    fn fact(&mut self, now: Time, fact: &Fact) {
        if let Some(port) = TraceKind::port_of_error(fact)
            && self.selection.takes(now, port, TraceKind::Error)
        {
            self.kept.seen += 1;
            log_of(&mut self.logs, port).push_error(now, fact, &self.kept);
        }
        if self.search.is_some() {
            self.search_fact(now, fact);
        }
    }

    /// What happened from a time to another, both included, of the last that were kept when so many had been seen.
    fn read(&self, (from, until): (Time, Time), seen: u64) -> Vec<Entry> {
        let mut reader = Reader::of(seen.saturating_sub(self.most) + 1..=seen);
        let mut entries = Vec::new();
        for (log, port) in self.logs.iter().zip(0..) {
            log.records(port).for_each(|(number, record)| reader.take_in(port, number, record, &mut entries));
        }
        reader.rest(&mut entries);
        entries.retain(|entry| from <= entry.at && entry.at <= until);
        entries
    }

    /// What led to the request that was found last is taken out, if it was not yet.
    fn keep_what_led_there(&mut self) {
        let Some(Search { found: Some(found), not_kept_at: Some(seen), .. }) = self.search else { return };
        let kept = self.read((found.from, found.until), seen);
        if let Some(search) = &mut self.search {
            (search.kept, search.not_kept_at) = (kept, None);
        }
    }

    fn search_wire(&mut self, at: Time, port: u32, fact: &WireFact) {
        let Some(search) = &mut self.search else { return };
        // Before any of it makes room.
        if search.not_kept_at.is_some_and(|seen| self.kept.seen - seen >= self.most) {
            return self.keep_what_led_there();
        }
        let again = search.what == Around::Stall; // The last of all.
        if (search.found.is_none() || again)
            && search.begins <= at
            && at < self.selection.until
            && (again || self.selection.has_port(port))
            && search.what.is_found_in(fact)
        {
            let found = search.at(at);
            search.found = Some(found);
            if !again {
                self.ends_after(found.until);
            }
        }
    }

    /// What comes later takes no room.
    fn ends_after(&mut self, until: Time) {
        self.selection.until = self.selection.until.min(until + Span::from_ticks(1));
    }

    fn search_fact(&mut self, now: Time, fact: &Fact) {
        let Some(search) = &mut self.search else { return };
        if now < search.begins || now >= self.selection.until {
            return;
        }
        match *fact {
            Fact::ReplayStarted { port, .. }
                if search.what == Around::Replay
                    && search.found.is_none()
                    && self.selection.has_port(port) =>
            {
                let found = search.at(now);
                search.found = Some(found);
                self.ends_after(found.until);
            }
            Fact::RequestDone { flow, .. }
                if search.flows.as_ref().is_some_and(|flows| !flows.contains(&flow)) => {}
            Fact::RequestDone { flow, latency, request } if search.what.is_of_requests() => {
                search.requests += 1;
                let longest = search.found.and_then(|found| found.request).map(|(.., latency)| latency);
                let is_it = match search.what {
                    Around::Request(number) => search.requests == number,
                    Around::Of(sought) => search.found.is_none() && sought.is(request),
                    _ => longest.is_none_or(|longest| latency > longest),
                };
                if is_it {
                    let from = search.at(now).from.min(request.issued_at);
                    let found = Found { at: now, from, until: now, request: Some((flow, request, latency)) };
                    search.found = Some(found);
                    search.not_kept_at = Some(self.kept.seen);
                }
            }
            _ => {}
        }
    }
}

#[inline(always)]
fn log_of(logs: &mut Vec<PortLog>, port: u32) -> &mut PortLog {
    let index = port as usize;
    if index >= logs.len() {
        add_logs(logs, index);
    }
    &mut logs[index]
}

#[cold]
fn add_logs(logs: &mut Vec<PortLog>, index: usize) {
    logs.resize_with(index + 1, PortLog::default);
}

impl Search {
    fn at(&self, at: Time) -> Found {
        let from = Time::from_ticks(at.ticks().saturating_sub(self.before.ticks()));
        Found { at, from, until: at + self.after, request: None }
    }
}

impl Observer for Recorder {
    fn hears_every_fact(&self) -> bool {
        false
    }

    fn observe(&mut self, now: Time, fact: &Fact) {
        self.0.borrow_mut().fact(now, fact);
    }

    fn observe_wire(&mut self, now: Time, fact: &WireFact) {
        self.0.borrow_mut().wire(now, fact);
    }
}

#[cfg(test)]
mod tests;
