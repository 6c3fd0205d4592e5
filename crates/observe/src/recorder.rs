//! Keeps the last so many facts about wires, of those that are asked for, or what led to something that is looked for.

use crate::selection::{Around, Selection, TraceKind};
use crate::{
    Cause, Fact, FlowId, Joined, Observer, OnWire, RequestId, Transmission, Waits, What, WireFact, WireTlp,
};
use lanewise_units::{Span, Time};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// One fact that was kept.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When: a thing starts, somebody begins or ceases to be held up, a TLP could leave, an error is noticed.
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

/// What was kept.
#[derive(Clone, Copy, Debug)]
pub enum EntryOf {
    /// A thing on a wire, who is held up, who waits.
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
/// Who added its [`listener`](Recorder::listener) to the observers reads it through [`Recorder::entries`].
#[derive(Clone)]
pub struct Recorder(Rc<RefCell<Ring>>);

struct Ring {
    selection: Selection,
    records: VecDeque<Record>,
    most: usize,
    seen: u64,
    waits: Waits,
    /// Reused.
    joined: Vec<Joined>,
    search: Option<Search>,
}

/// One fact that is kept. What a TLP waited for is worked out when somebody reads it.
struct Record {
    told_at: Time,
    at: Time,
    port: u32,
    kind: TraceKind,
    depth: Option<u32>,
    what: EntryOf,
}

/// What is looked for, and how far that is.
struct Search {
    what: Around,
    /// It counts from then on. What led there may be older.
    begins: Time,
    /// So much before is kept, and so much after.
    before: Span,
    after: Span,
    found: Option<Found>,
    /// What led there, of requests: taken out when it was found, because a later one may be worse.
    kept: Vec<Entry>,
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

    /// Looks for something within the selected time and keeps what happened so long `before` it and so long `after`, no more than `most`
    /// facts of the selection. Of a request, what is kept begins with its issue at the latest and ends with its completion.
    ///
    /// # Panics
    /// When `most` is zero.
    pub fn around(selection: Selection, most: usize, what: Around, before: Span, after: Span) -> Self {
        let begins = selection.from;
        let search = Search { what, begins, before, after, found: None, kept: Vec::new(), requests: 0 };
        Self::of(Selection { from: Time::ZERO, ..selection }, most, Some(search))
    }

    fn of(selection: Selection, most: usize, search: Option<Search>) -> Self {
        assert!(most > 0, "a recorder keeps something");
        Self(Rc::new(RefCell::new(Ring {
            selection,
            records: VecDeque::new(),
            most,
            seen: 0,
            waits: Waits::default(),
            joined: Vec::new(),
            search,
        })))
    }

    /// What listens for it.
    pub fn listener(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    /// Facts of the selection, kept or not.
    pub fn seen(&self) -> u64 {
        self.0.borrow().seen
    }

    /// What was looked for, as far as it is known now.
    pub fn found(&self) -> Option<Found> {
        self.0.borrow().search.as_ref().and_then(|search| search.found)
    }

    /// Whether nothing that happens from `now` on can change what is kept.
    pub fn is_done(&self, now: Time) -> bool {
        let ring = self.0.borrow();
        ring.search.as_ref().is_some_and(|search| match (search.what, search.found) {
            (Around::Request(_), Some(_)) => true,
            (Around::Replay | Around::FirstBlocked, Some(found)) => now > found.until,
            _ => false,
        })
    }

    /// What was kept, by time, then by port; at one time and port in the order in which it was stated. Around what was not found,
    /// nothing.
    pub fn entries(&self) -> Vec<Entry> {
        let mut ring = self.0.borrow_mut();
        ring.keep_the_rest();
        let mut entries = match &ring.search {
            None => ring.between(Time::ZERO, Time::NEVER),
            Some(Search { found: None, .. }) => Vec::new(),
            Some(search) if search.what.is_of_requests() => search.kept.clone(),
            Some(Search { found: Some(found), .. }) => ring.between(found.from, found.until),
        };
        entries.sort_by_key(|entry| (entry.at, entry.port));
        entries
    }

    /// Takes out what was kept, in the order in which it was stated: facts of one port nearly in order of time. Who joined a queue comes
    /// when it is known how many there are; with the `last` call, after which nothing more is stated, whoever is left.
    pub fn drain(&self, last: bool) -> Vec<Entry> {
        let mut ring = self.0.borrow_mut();
        if last {
            ring.keep_the_rest();
        }
        let entries = ring.records.iter().map(|record| ring.entry(record)).collect();
        let first = ring.seen - ring.records.len() as u64;
        for (number, record) in (first..).zip(std::mem::take(&mut ring.records)) {
            if record.what.first_transmission().is_some() {
                ring.waits.forget(record.port, number);
            }
        }
        entries
    }

    /// Whether facts that are missing in [`Recorder::entries`] were there and had to make room.
    pub fn has_lost(&self) -> bool {
        let ring = self.0.borrow();
        ring.seen > ring.records.len() as u64
    }
}

impl Ring {
    fn keep(
        &mut self,
        (told_at, at): (Time, Time),
        port: u32,
        kind: TraceKind,
        depth: Option<u32>,
        what: EntryOf,
    ) {
        if self.records.len() == self.most
            && let Some(first) = self.records.pop_front()
            && first.what.first_transmission().is_some()
        {
            self.waits.forget(first.port, self.seen - self.most as u64);
        }
        self.records.push_back(Record { told_at, at, port, kind, depth, what });
        self.seen += 1;
    }

    fn wire(&mut self, now: Time, fact: &WireFact) {
        let (at, port, kind) = TraceKind::of_wire(fact);
        if self.selection.has_port(port) {
            // Who joins a queue is kept when it is known how many there are.
            if kind != TraceKind::Queued && self.selection.takes(at, port, kind) {
                let what = EntryOf::Wire(*fact);
                let behind = what.first_transmission().map(|tlp| {
                    self.waits.remember(port, self.seen, tlp.ready_at);
                    self.waits.behind(port, tlp.cost.class(), at)
                });
                self.keep((now, at), port, kind, behind, what);
            }
            let mut joined = std::mem::take(&mut self.joined);
            self.waits.observe(now, fact, &mut joined);
            self.keep_joined(&mut joined);
            self.joined = joined;
        }
        if self.search.is_some() {
            self.search_wire(at, port, fact);
        }
    }

    fn keep_joined(&mut self, joined: &mut Vec<Joined>) {
        for Joined { queued, depth } in joined.drain(..) {
            let fact = WireFact::Queued(queued);
            let (at, port, kind) = TraceKind::of_wire(&fact);
            if self.selection.takes(at, port, kind) {
                let what = EntryOf::Wire(fact);
                self.keep((at, at), port, kind, Some(depth), what);
            }
        }
    }

    fn keep_the_rest(&mut self) {
        let mut joined = std::mem::take(&mut self.joined);
        self.waits.rest(&mut joined);
        self.keep_joined(&mut joined);
    }

    fn fact(&mut self, now: Time, fact: &Fact) {
        if let Some(port) = TraceKind::port_of_error(fact)
            && self.selection.takes(now, port, TraceKind::Error)
        {
            self.keep((now, now), port, TraceKind::Error, None, EntryOf::Error(*fact));
        }
        if self.search.is_some() {
            self.search_fact(now, fact);
        }
    }

    /// What happened from a time to another, both included.
    ///
    /// Facts are stated nearly in the order in which things happen, so of what is older than the time, only the end is looked at.
    fn between(&self, from: Time, until: Time) -> Vec<Entry> {
        let (mut entries, mut older) = (Vec::new(), 0);
        for record in self.records.iter().rev() {
            older = if record.at < from { older + 1 } else { 0 };
            if older > OLDER_IN_A_ROW {
                break;
            }
            if from <= record.at && record.at <= until {
                entries.push(self.entry(record));
            }
        }
        entries.reverse();
        entries
    }

    fn entry(&self, record: &Record) -> Entry {
        let Record { told_at, at, port, kind, depth, what } = *record;
        let waited = what.first_transmission().map_or_else(Vec::new, |tlp| {
            let parts = Cause::ALL.into_iter().zip(self.waits.of(port, tlp, (told_at, at)));
            parts
                .filter(|(_, ticks)| *ticks > 0)
                .map(|(cause, ticks)| (cause, Span::from_ticks(ticks)))
                .collect()
        });
        Entry { at, port, kind, what, waited, depth }
    }

    fn search_wire(&mut self, at: Time, port: u32, fact: &WireFact) {
        let Some(search) = &mut self.search else { return };
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
            Fact::RequestDone { flow, latency, request } if search.what.is_of_requests() => {
                search.requests += 1;
                let longest = search.found.and_then(|found| found.request).map(|(.., latency)| latency);
                let is_it = match search.what {
                    Around::Request(number) => search.requests == number,
                    _ => longest.is_none_or(|longest| latency > longest),
                };
                if is_it {
                    let from = search.at(now).from.min(request.issued_at);
                    let found = Found { at: now, from, until: now, request: Some((flow, request, latency)) };
                    search.found = Some(found);
                    let kept = self.between(from, now);
                    self.search.iter_mut().for_each(|search| search.kept.clone_from(&kept));
                }
            }
            _ => {}
        }
    }
}

/// So many facts in a row that are older than what is asked for: all before them are.
const OLDER_IN_A_ROW: usize = 4096;

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
