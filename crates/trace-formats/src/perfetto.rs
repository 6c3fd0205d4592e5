//! Perfetto: tracks of each direction of each link, counters, and arrows from a request to its completions.
//!
//! One track event for each row. Time is in picoseconds where Perfetto has nanoseconds; each event says its exact time in ns, too.

mod credits;
mod lanes;
mod messages;
mod packets;
mod tags;

use crate::directions::Directions;
use credits::Limit;
use lanes::{Kind, Lane};
use lanewise_observe::{OnWire, Queued, Transmission, What, WireFact, WireTlp};
use lanewise_pcie::dllp::Dllp;
use lanewise_pcie::tlp::FlowClass;
use lanewise_sim::{TraceDirection, TraceEnd, TraceForm, TraceFrame, TraceRow, TraceWait};
use lanewise_units::{Span, Time};
use packets::{Annotations, Packets, Track, Value};
use std::collections::BTreeMap;
use tags::Tags;

/// A trace for <https://ui.perfetto.dev> and for Perfetto's trace processor.
#[derive(Default)]
pub struct Perfetto {
    /// From the beginning on.
    writer: Option<Writer>,
}

/// A file at work.
struct Writer {
    packets: Packets,
    directions: Directions,
    from: u64,
    until: u64,
    links: BTreeMap<String, Track>,
    /// By the numbers of their directions.
    lanes: Vec<Option<Lane>>,
    requesters: Option<Track>,
    tags: BTreeMap<String, Tags>,
    tags_at_start: Option<BTreeMap<String, u32>>,
}

/// Where tracks without a parent stand: what the file is about, links in their order, requesters.
const RANK_OF_LINKS: usize = 1;
const RANK_OF_REQUESTERS: usize = 1 << 20;

impl Writer {
    fn begin(frame: &TraceFrame) -> Self {
        let mut packets = Packets::default();
        let about = packets.track(None, "1 ns here is 1 ps of the run", 0);
        let from = Span::from_ticks(frame.from_ticks);
        let annotations = vec![
            ("scenario", Value::Text(frame.title.clone())),
            ("start_ns", Value::Ns(from.as_ns())),
            ("written_by", Value::Text(concat!("lanewise ", env!("CARGO_PKG_VERSION")).to_owned())),
        ];
        packets.instant(about, frame.from_ticks, "start of the trace", annotations);
        Self {
            packets,
            directions: Directions::of(frame),
            from: frame.from_ticks,
            until: frame.until_ticks,
            links: BTreeMap::new(),
            lanes: frame.directions.iter().map(|_| None).collect(),
            requesters: None,
            tags: BTreeMap::new(),
            tags_at_start: frame.tags_at_start.clone(),
        }
    }

    fn lane(&mut self, number: usize) -> (&mut Lane, &mut Packets, &TraceDirection) {
        let direction = &self.directions.all()[number];
        let packets = &mut self.packets;
        let lane = self.lanes[number].get_or_insert_with(|| {
            let TraceDirection { link, way, from, to, mode, .. } = direction;
            let link = match self.links.get(link) {
                Some(track) => *track,
                None => {
                    let rank = RANK_OF_LINKS + self.links.len();
                    let track = packets.track(None, &format!("link {link}, {mode}"), rank);
                    self.links.insert(link.clone(), track);
                    track
                }
            };
            let rank = usize::from(*way == "downstream");
            let track = packets.track(Some(link), &format!("{way}, {from} to {to}"), rank);
            Lane::new(track)
        });
        (lane, packets, direction)
    }

    /// A row on the track of its kind.
    fn event(&mut self, number: usize, row: &TraceRow, kind: Kind, flow: Option<u64>) {
        let until = self.until;
        let (lane, packets, _) = self.lane(number);
        let track = lane.track(packets, kind);
        if let Some(WireFact::OnWire(OnWire { what: What::OrderedSets { count, every }, .. })) = &row.fact {
            // One slice of many that follow each other in silence: of a long one there would be more than memory holds.
            let last = row.at_ticks + (count - 1) * every.ticks();
            let end = last + row.span_ticks / count;
            let end = if *count > 1 { end.min(until) } else { end };
            let name = if *count > 1 { "SKP, several" } else { &row.what };
            return packets.slice(track, (row.at_ticks, end), name, None, annotations(row));
        }
        packets.slice(track, (row.at_ticks, row.at_ticks + row.span_ticks), &row.what, flow, annotations(row))
    }

    fn tlp(&mut self, number: usize, row: &TraceRow, tlp: &WireTlp) {
        self.event(number, row, Kind::Tlps, Some(flow_of(row, tlp)));
        let class = tlp.cost.class();
        let (lane, packets, direction) = self.lane(number);
        let (left, cost) = (tlp.credits_left, tlp.cost.credits());
        for (left, cost, of_data) in [(left.header, cost.header, false), (left.data, cost.data, true)] {
            if let Some(left) = left {
                let credits = lane.credits(packets, direction, (tlp.channel, class, of_data));
                // What is sent again has been paid for.
                let cost = if tlp.transmission == Transmission::Again { 0 } else { cost };
                credits.after_tlp(packets, row.at_ticks, (cost, left));
            }
        }
        if let Some(depth) = row.queue_depth {
            let track = lane.waiting(packets, class);
            packets.count(track, row.at_ticks, i64::from(depth));
        }
        if tlp.transmission == Transmission::First {
            self.count_tag(number, row, tlp);
        }
    }

    /// The counter of a requester's tags, from now on.
    fn open_tags(&mut self, requester: &str) {
        if self.tags.contains_key(requester) {
            return;
        }
        let packets = &mut self.packets;
        let parent = match self.requesters {
            Some(track) => track,
            None => packets.track(None, "requesters", RANK_OF_REQUESTERS),
        };
        self.requesters = Some(parent);
        let at_start = self.tags_at_start.as_ref().and_then(|tags| tags.get(requester).copied());
        let tags = tags_of(packets, parent, requester, self.tags.len(), self.from, at_start);
        self.tags.insert(requester.to_owned(), tags);
    }

    fn count_tag(&mut self, number: usize, row: &TraceRow, tlp: &WireTlp) {
        let direction = &self.directions.all()[number];
        let Some(requester) = &row.requester else { return };
        let issued_at = (tlp.issued_at - Time::ZERO).ticks();
        match tlp.cost.class() {
            FlowClass::NonPosted if direction.from == *requester => {
                let answers = self.directions.opposite(number).map(|back| &self.directions.all()[back]);
                if !answers.is_some_and(|back| back.travel.is_some() && !back.has_faults) {
                    return;
                }
                self.open_tags(requester);
                let tags = self.tags.get_mut(requester).expect("it is there now");
                tags.left(&mut self.packets, tlp.tag, issued_at)
            }
            FlowClass::Completion if direction.to == *requester && tlp.is_last_completion => {
                // A read that was under way at the start may end before the requester asks again.
                let is_counted = self.tags_at_start.as_ref().is_some_and(|tags| tags.contains_key(requester));
                if is_counted && direction.travel.is_some() && !direction.has_faults {
                    self.open_tags(requester);
                }
                let direction = &self.directions.all()[number];
                if let (Some(tags), Some(travel)) = (self.tags.get_mut(requester), direction.travel) {
                    let arrives_at = row.at_ticks + row.span_ticks + travel.ticks();
                    tags.completes(tlp.tag, issued_at, arrives_at);
                }
            }
            _ => {}
        }
    }

    /// A limit that a DLLP says is of the credits of the other direction.
    fn limit(&mut self, number: usize, row: &TraceRow, dllp: Dllp) {
        let (channel, class, headers, data) = match dllp {
            Dllp::UpdateFlowControl { channel, class, header, data } => {
                (channel, class, Some(Limit::Then(header)), Some(Limit::Then(data)))
            }
            Dllp::InitFlowControl1 { channel, class, header, data }
            | Dllp::InitFlowControl2 { channel, class, header, data } => {
                let finite = |credits: u16| (credits != 0).then_some(Limit::First(credits));
                (channel, class, finite(header), finite(data))
            }
            Dllp::Ack(_) | Dllp::Nak(_) => return,
        };
        let direction = &self.directions.all()[number];
        let (Some(travel), false) = (direction.travel, direction.has_faults) else { return };
        let arrives_at = row.at_ticks + row.span_ticks + travel.ticks();
        let Some(opposite) = self.directions.opposite(number) else { return };
        let (lane, packets, direction) = self.lane(opposite);
        for (limit, of_data) in [(headers, false), (data, true)] {
            // An UpdateFC has a number for infinite credits, too.
            let is_known =
                lane.has_credits((channel, class, of_data)) || matches!(limit, Some(Limit::First(_)));
            if let Some(limit) = limit.filter(|_| is_known) {
                let credits = lane.credits(packets, direction, (channel, class, of_data));
                credits.arrive(packets, row.at_ticks);
                credits.comes(arrives_at, limit);
            }
        }
    }

    fn queued(&mut self, number: usize, row: &TraceRow, queued: &Queued) {
        let Some(depth) = row.queue_depth else { return };
        let (lane, packets, _) = self.lane(number);
        let track = lane.waiting(packets, queued.tlp.class);
        packets.count(track, row.at_ticks, i64::from(depth))
    }
}

impl TraceForm for Perfetto {
    fn begin(&mut self, frame: &TraceFrame, out: &mut Vec<u8>) {
        let writer = self.writer.insert(Writer::begin(frame));
        writer.packets.hand_over(out);
    }

    fn rows(&mut self, rows: &[TraceRow], out: &mut Vec<u8>) {
        let writer = self.writer.as_mut().expect("it was begun");
        rows.iter().for_each(|row| writer.row(row));
        writer.packets.hand_over(out);
    }

    fn end(&mut self, end: &TraceEnd, out: &mut Vec<u8>) {
        let mut writer = self.writer.take().expect("it was begun");
        writer.end(end);
        writer.packets.hand_over(out);
    }
}

impl Writer {
    fn row(&mut self, row: &TraceRow) {
        let Some(number) = self.directions.number(row) else { return };
        match &row.fact {
            Some(WireFact::OnWire(OnWire { what: What::Tlp(tlp), .. })) => self.tlp(number, row, tlp),
            Some(WireFact::OnWire(OnWire { what: What::Dllp(dllp), .. })) => {
                self.event(number, row, Kind::Dllps, None);
                self.limit(number, row, *dllp)
            }
            Some(WireFact::Queued(queued)) => self.queued(number, row, queued),
            Some(WireFact::Blocked { whom, by, .. }) => {
                let (lane, packets, _) = self.lane(number);
                let track = lane.is_held(packets, *whom);
                packets.begin_slice(track, row.at_ticks, by.words(), annotations(row))
            }
            Some(WireFact::Unblocked { whom, by, since, .. }) => {
                let from = self.from.max((*since - Time::ZERO).ticks());
                let (lane, packets, _) = self.lane(number);
                match lane.goes_on(*whom) {
                    Some(track) => packets.end_slice(track, row.at_ticks),
                    None => {
                        // It began before the trace did.
                        let track = lane.is_held(packets, *whom);
                        lane.goes_on(*whom);
                        packets.slice(track, (from, row.at_ticks), by.words(), None, annotations(row))
                    }
                }
            }
            _ => Kind::of(row.kind).into_iter().for_each(|kind| self.event(number, row, kind, None)),
        }
    }

    fn end(&mut self, end: &TraceEnd) {
        let until = end.until_ticks;
        for lane in self.lanes.iter_mut().flatten() {
            for track in lane.still_held() {
                self.packets.end_slice(track, until);
            }
            for credits in lane.all_credits() {
                credits.arrive(&mut self.packets, until);
            }
        }
        for (requester, tags) in &mut self.tags {
            let at_end = end.tags_at_end.as_ref().and_then(|tags| tags.get(requester).copied());
            tags.end(&mut self.packets, until, at_end);
        }
    }
}

fn tags_of(
    packets: &mut Packets,
    parent: Track,
    requester: &str,
    rank: usize,
    from: u64,
    at_start: Option<u32>,
) -> Tags {
    let what = if at_start.is_some() { "tags in use" } else { "tags in use, of requests in the trace" };
    let track = packets.counter(parent, &format!("{requester}, {what}"), rank, "tags");
    let tags = Tags::new(track, from, at_start);
    tags.begin(packets);
    tags
}

/// The same number for a request on every wire and for all of its completions: FNV-1a of what tells requests apart.
fn flow_of(row: &TraceRow, tlp: &WireTlp) -> u64 {
    let issued_at = (tlp.issued_at - Time::ZERO).ticks();
    let which = match tlp.cost.class() {
        FlowClass::Posted => tlp.address ^ 1 << 63,
        FlowClass::NonPosted | FlowClass::Completion => u64::from(tlp.tag),
    };
    let requester = row.requester.as_deref().unwrap_or_default().bytes();
    let bytes = requester.chain(issued_at.to_le_bytes()).chain(which.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// All that a row says, in the names of the columns.
fn annotations(row: &TraceRow) -> Annotations {
    let ns = |ticks: u64| Span::from_ticks(ticks).as_ns();
    let mut all = vec![("at_ns", Value::Ns(row.at_ns))];
    if row.span_ticks > 0 {
        all.push(("span_ns", Value::Ns(ns(row.span_ticks))));
    }
    let mut add = |name, value: Option<Value>| all.extend(value.map(|value| (name, value)));
    let number = |value: Option<u16>| value.map(|value| Value::Number(value.into()));
    let text = |value: &Option<String>| value.clone().map(Value::Text);
    add("sequence", number(row.sequence));
    add("requester", text(&row.requester));
    add("requester_id", text(&row.requester_id));
    add("tag", number(row.tag));
    let address = row.address.as_ref().and_then(|address| u64::from_str_radix(address.get(2..)?, 16).ok());
    add("address", address.map(Value::Address));
    add("length_bytes", number(row.length_bytes));
    add("traffic_class", number(row.traffic_class.map(u16::from)));
    add("channel", number(row.channel.map(u16::from)));
    add("header_credits", number(row.header_credits));
    add("data_credits", number(row.data_credits));
    add("issued_at_ns", row.issued_at_ticks.map(|ticks| Value::Ns(ns(ticks))));
    add("ready_at_ns", row.ready_at_ticks.map(|ticks| Value::Ns(ns(ticks))));
    let part = |wait: &TraceWait| (wait.cause, Value::Ns(ns(wait.ticks)));
    add("waits_ns", (!row.waits.is_empty()).then(|| Value::Parts(row.waits.iter().map(part).collect())));
    add("queue_depth", row.queue_depth.map(|depth| Value::Number(depth.into())));
    add("note", (!row.note.is_empty()).then(|| Value::Text(row.note.clone())));
    all
}

#[cfg(test)]
mod tests;
