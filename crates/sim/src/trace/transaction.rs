//! A split transaction: a request with its completions, and its time at each station from its issue to its end.
//!
//! A station begins where the one before has ended, so they add up to the latency, exactly. Of several completions the last one ends the
//! request: its way is listed, and how many there were.

use super::names::{Direction, Names};
use super::rows::TraceWait;
use lanewise_observe::{
    Entry, EntryOf, FlowId, FlowSpec, HeldUp, OnWire, RequestId, Transmission, What, WireFact, WireTlp,
};
use lanewise_pcie::tlp::FlowClass;
use lanewise_units::{Span, Time, order};
use schemars::JsonSchema;
use serde::Serialize;

/// A request with its completions.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Transaction {
    /// Type of the request, in the specification's short words.
    pub what: String,
    /// Device that asked.
    pub requester: String,
    /// Flow that it belongs to.
    pub flow: String,
    /// Number of its tag among its requester's; none for a posted request.
    pub tag: Option<u16>,
    /// Address of its first byte, hexadecimal.
    pub address: String,
    /// Bytes that it asked for or carried.
    pub length_bytes: u16,
    /// Completions that it had.
    pub completions: u32,
    /// When it was issued, simulated time.
    pub issued_at_ns: f64,
    /// The same in ticks of 2⁻¹⁰ ps.
    pub issued_at_ticks: u64,
    /// From its issue to its end, as latencies of the flow count it: of a read until its last data can be used, of a write until it is at
    /// its target.
    pub latency_ns: f64,
    /// The same in ticks: the sum of `span_ticks` of the stations.
    pub latency_ticks: u64,
    /// Where it was, one after the other, without a gap.
    pub stations: Vec<Station>,
}

/// Where a request or its last completion was for a while.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
pub struct Station {
    /// Device or link.
    pub place: String,
    /// Of `forward`, the switch behind the link.
    pub then: Option<String>,
    /// `issue` (before it could leave its requester), `queue` (could leave, and waited), `link` (until the receiver has checked it), `forward`
    /// (link and switch, as one, where a switch cuts through: until it could leave that), `device` (work in a device, until its answer could
    /// leave), `entry` (waits for an entry or room in the host), `use` (until the requester can use the data), `unknown` (not recorded).
    pub stage: &'static str,
    /// Type of the TLP that was there, in the specification's short words.
    pub what: String,
    /// From when on; ticks of 2⁻¹⁰ ps.
    pub at_ticks: u64,
    /// How long; ticks.
    pub span_ticks: u64,
    /// Of a `queue` or an `entry`, what it waited for: adds up to `span_ticks`.
    pub waits: Vec<TraceWait>,
}

/// A TLP of the request as one wire had it.
struct Hop<'a> {
    entry: &'a Entry,
    thing: &'a OnWire,
    tlp: &'a WireTlp,
    direction: &'a Direction,
    /// It was sent again.
    replayed: bool,
}

impl Names {
    /// What the entries have of a request: its TLPs on all wires and its completions, and its wait within a host.
    pub(super) fn of_request(&self, entries: &[Entry], flow: &FlowSpec, id: RequestId) -> Vec<Entry> {
        // A host may cut what it forwards: then the whole has the piece's address within it.
        let is_it = |class, issued_at, tag: u16, (address, length): (u64, u16)| {
            issued_at == id.issued_at
                && match class {
                    FlowClass::Posted => id.is_posted_within(address, length),
                    FlowClass::NonPosted | FlowClass::Completion => id.tag() == Some(tag),
                }
        };
        let requester_of = |entry: &Entry| match &entry.what {
            EntryOf::Wire(WireFact::OnWire(OnWire { what: What::Tlp(tlp), .. })) => {
                is_it(tlp.cost.class(), tlp.issued_at, tlp.tag, (tlp.address, tlp.length))
                    .then(|| tlp.requester())
            }
            EntryOf::Wire(
                WireFact::Blocked { whom: HeldUp::Read(_), waiting: Some(tlp), .. }
                | WireFact::Unblocked { whom: HeldUp::Read(_), waiting: Some(tlp), .. },
            ) => is_it(tlp.class, tlp.issued_at, tlp.tag, (tlp.address, 0)).then(|| tlp.requester()),
            _ => None,
        };
        // A flow of several devices, as of fio over drives, does not say which of them wrote: the one whose TLP came last.
        let of_flow = id.requester().or_else(|| self.place_of(&flow.devices.label));
        let Some(requester) = of_flow.or_else(|| entries.iter().rev().find_map(requester_of)) else {
            return Vec::new();
        };
        entries.iter().filter(|entry| requester_of(entry) == Some(requester)).cloned().collect()
    }

    /// The request that these entries are of, with the time at each station.
    pub(super) fn transaction(
        &self,
        entries: &[Entry],
        flow: &FlowSpec,
        (_, id, latency): (FlowId, RequestId, Span),
    ) -> Transaction {
        let hops = self.hops(entries);
        let is_answer = |hop: &&Hop<'_>| hop.tlp.cost.class() == FlowClass::Completion;
        let last = hops.iter().rfind(is_answer).map(|hop| hop.tlp.address);
        let answers = order::set(hops.iter().filter(is_answer).map(|hop| hop.tlp.address));
        let way: Vec<&Hop<'_>> =
            hops.iter().filter(|hop| !is_answer(hop) || Some(hop.tlp.address) == last).collect();
        let first = way.first().map(|hop| hop.tlp);
        let knows_the_start =
            way.first().is_some_and(|hop| hop.direction.from == self.place(hop.tlp.requester()));
        Transaction {
            what: first.map_or_else(String::new, |tlp| tlp.kind.mnemonic().to_owned()),
            requester: first.map_or_else(|| flow.devices.label.clone(), |tlp| self.place(tlp.requester())),
            flow: flow.name.clone(),
            tag: first.filter(|tlp| tlp.cost.class() != FlowClass::Posted).map(|tlp| tlp.tag),
            address: first.map_or_else(String::new, |tlp| format!("{:#x}", tlp.address)),
            length_bytes: first.map_or(0, |tlp| tlp.length),
            completions: answers.len() as u32,
            issued_at_ns: (id.issued_at - Time::ZERO).as_ns(),
            issued_at_ticks: (id.issued_at - Time::ZERO).ticks(),
            latency_ns: latency.as_ns(),
            latency_ticks: latency.ticks(),
            stations: stations(
                &way,
                knows_the_start,
                waits_within(entries),
                (id.issued_at, id.issued_at + latency),
            ),
        }
    }

    fn hops<'a>(&'a self, entries: &'a [Entry]) -> Vec<Hop<'a>> {
        let mut hops: Vec<Hop<'a>> = Vec::new();
        for entry in entries {
            let EntryOf::Wire(WireFact::OnWire(thing)) = &entry.what else { continue };
            let (What::Tlp(tlp), Some(direction)) = (&thing.what, self.direction(entry.port)) else {
                continue;
            };
            match tlp.transmission {
                Transmission::First => hops.push(Hop { entry, thing, tlp, direction, replayed: false }),
                Transmission::Again => {
                    let same = hops
                        .iter_mut()
                        .rfind(|hop| (hop.entry.port, hop.tlp.address) == (entry.port, tlp.address));
                    same.into_iter().for_each(|hop| hop.replayed = true);
                }
                Transmission::Nullified => {}
            }
        }
        hops
    }
}

/// Waits of reads within a root complex.
fn waits_within(entries: &[Entry]) -> Vec<(Time, Time, TraceWait)> {
    let of = |entry: &Entry| match entry.what {
        EntryOf::Wire(WireFact::Unblocked { whom: HeldUp::Read(_), by, since, until, .. }) => {
            Some((since, until, TraceWait::of(by, until - since)))
        }
        _ => None,
    };
    entries.iter().filter_map(of).collect()
}

/// Where the time goes from the issue to the end.
fn stations(
    way: &[&Hop<'_>],
    knows_the_start: bool,
    within: Vec<(Time, Time, TraceWait)>,
    (issued_at, done_at): (Time, Time),
) -> Vec<Station> {
    let mut book = Book { stations: Vec::new(), at: issued_at };
    let Some(first) = way.first() else {
        book.until(done_at, "", "unknown", "", Vec::new());
        return book.stations;
    };
    let stage = if knows_the_start { "issue" } else { "unknown" };
    book.until(first.tlp.ready_at, &first.direction.from, stage, first.name(), Vec::new());
    for (place, hop) in way.iter().enumerate() {
        let waits = hop.entry.waited.iter().map(|(cause, span)| TraceWait::of(*cause, *span)).collect();
        book.until(hop.thing.start, &hop.direction.from, "queue", hop.name(), waits);
        let next = way.get(place + 1).map_or(done_at, |next| next.tlp.ready_at);
        let checked = hop.direction.travel.map(|travel| hop.thing.end() + travel);
        let checked = checked.filter(|at| !hop.replayed && *at <= next);
        let Some(checked) = checked else {
            // A switch cuts through, the link replays, or flits hide when its last byte is there.
            match place + 1 < way.len() {
                true => book.forward(next, hop.direction, hop.name()),
                false => book.until(next, &hop.direction.link, "link", hop.name(), Vec::new()),
            }
            continue;
        };
        book.until(checked, &hop.direction.link, "link", hop.name(), Vec::new());
        for (since, until, wait) in
            within.iter().filter(|(since, until, _)| *since >= checked && *until <= next)
        {
            book.until(*since, &hop.direction.to, "device", hop.name(), Vec::new());
            book.until(*until, &hop.direction.to, "entry", hop.name(), vec![wait.clone()]);
        }
        let stage = if place + 1 < way.len() { "device" } else { "use" };
        book.until(next, &hop.direction.to, stage, hop.name(), Vec::new());
    }
    book.stations
}

impl Hop<'_> {
    fn name(&self) -> &'static str {
        self.tlp.kind.mnemonic()
    }
}

/// Stations so far, and up to when.
struct Book {
    stations: Vec<Station>,
    at: Time,
}

impl Book {
    /// It is there until then; nothing is noted of no time.
    fn until(&mut self, until: Time, place: &str, stage: &'static str, what: &str, waits: Vec<TraceWait>) {
        let (place, what) = (place.to_owned(), what.to_owned());
        self.put(until, Station { place, stage, what, waits, ..Station::default() });
    }

    /// It is on a link, and in the switch behind it, until then.
    fn forward(&mut self, until: Time, direction: &Direction, what: &str) {
        let (place, then) = (direction.link.clone(), Some(direction.to.clone()));
        self.put(
            until,
            Station { place, then, stage: "forward", what: what.to_owned(), ..Station::default() },
        );
    }

    fn put(&mut self, until: Time, station: Station) {
        let span = until.saturating_since(self.at);
        if !span.is_zero() {
            let (at_ticks, span_ticks) = ((self.at - Time::ZERO).ticks(), span.ticks());
            self.stations.push(Station { at_ticks, span_ticks, ..station });
            self.at = until;
        }
    }
}
