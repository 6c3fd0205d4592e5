//! Packets one after the other, with each text written once.

use super::messages::{
    CounterDescriptor, DebugAnnotation, EXPLICIT_ORDER, INCREMENTAL_STATE_CLEARED, Interned, InternedData,
    NEEDS_INCREMENTAL_STATE, PACKET, TracePacket, TrackDescriptor, TrackEvent, Type,
};
use prost::Message;
use prost::encoding::{WireType, encode_key};
use std::collections::BTreeMap;

/// A track that was described.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Track(u64);

/// What an annotation says.
pub(super) enum Value {
    Number(u64),
    /// Shown in hexadecimal.
    Address(u64),
    Ns(f64),
    Text(String),
    Parts(Vec<(&'static str, Value)>),
}

/// Annotations of an event, by name.
pub(super) type Annotations = Vec<(&'static str, Value)>;

/// Packets that were not handed over.
#[derive(Default)]
pub(super) struct Packets {
    out: Vec<u8>,
    tracks: u64,
    packets: u64,
    names: Texts,
    keys: Texts,
    values: Texts,
}

/// Texts that were written, and those that go with the next packet.
#[derive(Default)]
struct Texts {
    known: BTreeMap<String, u64>,
    news: Vec<Interned>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        let number = self.known.len() as u64 + 1;
        self.known.insert(text.to_owned(), number);
        self.news.push(Interned { iid: Some(number), name: Some(text.to_owned()) });
        number
    }
}

impl Packets {
    /// Describes a track below another; `rank` orders it among those there, and its own are in the order of theirs.
    pub(super) fn track(&mut self, parent: Option<Track>, name: &str, rank: usize) -> Track {
        self.describe(parent, name, rank, None)
    }

    /// The same of a counter.
    pub(super) fn counter(&mut self, parent: Track, name: &str, rank: usize, unit: &str) -> Track {
        self.describe(Some(parent), name, rank, Some(CounterDescriptor { unit_name: Some(unit.to_owned()) }))
    }

    fn describe(
        &mut self,
        parent: Option<Track>,
        name: &str,
        rank: usize,
        counter: Option<CounterDescriptor>,
    ) -> Track {
        self.tracks += 1;
        let track = Track(self.tracks);
        let descriptor = TrackDescriptor {
            uuid: Some(track.0),
            name: Some(name.to_owned()),
            parent_uuid: parent.map(|Track(parent)| parent),
            child_ordering: counter.is_none().then_some(EXPLICIT_ORDER),
            counter,
            sibling_order_rank: Some(i32::try_from(rank).unwrap_or(i32::MAX)),
            description: None,
        };
        self.write(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() });
        track
    }

    /// A slice from a tick to another; an instant where they are the same.
    pub(super) fn slice(
        &mut self,
        track: Track,
        (from, until): (u64, u64),
        name: &str,
        flow: Option<u64>,
        annotations: Annotations,
    ) {
        if from == until {
            return self.named(Type::Instant, track, from, name, flow, annotations);
        }
        self.named(Type::SliceBegin, track, from, name, flow, annotations);
        self.end_slice(track, until)
    }

    /// An instant.
    pub(super) fn instant(&mut self, track: Track, at: u64, name: &str, annotations: Annotations) {
        self.named(Type::Instant, track, at, name, None, annotations)
    }

    /// A slice begins whose end is not known.
    pub(super) fn begin_slice(&mut self, track: Track, at: u64, name: &str, annotations: Annotations) {
        self.named(Type::SliceBegin, track, at, name, None, annotations)
    }

    /// The slice of a track ends that began last.
    pub(super) fn end_slice(&mut self, track: Track, at: u64) {
        self.event(at, TrackEvent { track_uuid: Some(track.0), ..of_type(Type::SliceEnd) })
    }

    /// A counter has a value from a tick on.
    pub(super) fn count(&mut self, track: Track, at: u64, value: i64) {
        let event = of_type(Type::Counter);
        self.event(at, TrackEvent { track_uuid: Some(track.0), counter_value: Some(value), ..event })
    }

    /// Moves what was written behind what `out` has.
    pub(super) fn hand_over(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
    }

    fn named(
        &mut self,
        kind: Type,
        track: Track,
        at: u64,
        name: &str,
        flow: Option<u64>,
        annotations: Annotations,
    ) {
        let event = TrackEvent {
            track_uuid: Some(track.0),
            name_iid: Some(self.names.number(name)),
            flow_ids: flow.into_iter().collect(),
            debug_annotations: self.annotations(annotations),
            ..of_type(kind)
        };
        self.event(at, event)
    }

    fn annotations(&mut self, annotations: Annotations) -> Vec<DebugAnnotation> {
        annotations.into_iter().map(|(name, value)| self.annotation(name, value)).collect()
    }

    fn annotation(&mut self, name: &str, value: Value) -> DebugAnnotation {
        let mut annotation =
            DebugAnnotation { name_iid: Some(self.keys.number(name)), ..DebugAnnotation::default() };
        match value {
            Value::Number(number) => annotation.uint_value = Some(number),
            Value::Address(address) => annotation.pointer_value = Some(address),
            Value::Ns(ns) => annotation.double_value = Some(ns),
            Value::Text(text) => annotation.string_value_iid = Some(self.values.number(&text)),
            Value::Parts(parts) => annotation.dict_entries = self.annotations(parts),
        }
        annotation
    }

    fn event(&mut self, at_ticks: u64, event: TrackEvent) {
        let timestamp = Some(at_ticks >> TICKS_OF_A_PICOSECOND_LOG2);
        self.write(TracePacket { timestamp, track_event: Some(event), ..TracePacket::default() })
    }

    fn write(&mut self, mut packet: TracePacket) {
        let is_first = self.packets == 0;
        self.packets += 1;
        packet.trusted_packet_sequence_id = Some(1);
        packet.sequence_flags =
            Some(if is_first { INCREMENTAL_STATE_CLEARED } else { NEEDS_INCREMENTAL_STATE });
        if [&self.names, &self.keys, &self.values].iter().any(|texts| !texts.news.is_empty()) {
            packet.interned_data = Some(InternedData {
                event_names: std::mem::take(&mut self.names.news),
                debug_annotation_names: std::mem::take(&mut self.keys.news),
                debug_annotation_string_values: std::mem::take(&mut self.values.news),
            });
        }
        encode_key(PACKET, WireType::LengthDelimited, &mut self.out);
        packet.encode_length_delimited(&mut self.out).expect("a vector takes all");
    }
}

/// A tick is 2⁻¹⁰ ps, and a nanosecond of the viewer is a picosecond: the half of what is on a fast wire takes less than 1 ns.
const TICKS_OF_A_PICOSECOND_LOG2: u32 = 10;

fn of_type(kind: Type) -> TrackEvent {
    TrackEvent { r#type: Some(kind as i32), ..TrackEvent::default() }
}
